use headstack_drive::mapping::log::levels::*;
use headstack_testkit::XorShift;
use std::collections::BTreeSet;

/// Compares with a sorted set, for limits around the sizes of words and levels.
#[test]
fn finds_what_a_sorted_set_finds() {
    let mut noise = XorShift::default();
    for limit in [1, 63, 64, 65, 4095, 4096, 4097, 9000, 262_143, 262_145, 300_000] {
        let mut set = Levels::all(limit);
        let mut oracle: BTreeSet<u32> = (0..limit).collect();
        for step in 0..4000 {
            let n = noise.below(u64::from(limit)) as u32;
            // At first mostly removals, so that long gaps occur.
            if noise.below(if step < 3000 { 10 } else { 2 }) == 0 {
                set.insert(n);
                oracle.insert(n);
            } else {
                for n in n..(n + 1 + noise.below(200) as u32).min(limit) {
                    set.remove(n);
                    oracle.remove(&n);
                }
            }
            let at = noise.below(u64::from(limit) + 70) as u32;
            assert_eq!(set.next(at), oracle.range(at..).next().copied(), "{at} of {limit}");
            assert_eq!(set.previous(at), oracle.range(..at).next_back().copied(), "{at} of {limit}");
            assert_eq!(set.contains(at), oracle.contains(&at));
        }
    }
}
