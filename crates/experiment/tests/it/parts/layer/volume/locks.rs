use headstack_block::layer::volume::locks::*;
use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::ops::Range;

/// Random locks and releases: locked ranges never overlap, and every request gets its range in the end.
#[test]
fn ranges_exclude_each_other_and_nobody_is_forgotten() {
    for seed in 1..200u64 {
        let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = |below: u64| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x % below
        };
        let mut locks = Locks::default();
        let mut wants: Vec<Range<u64>> = Vec::new();
        let mut held: BTreeSet<u32> = BTreeSet::new();
        let mut got = 0;
        for _ in 0..400 {
            if random(2) == 0 || held.is_empty() {
                let start = random(20);
                let range = start..start + 1 + random(6);
                let who = wants.len() as u32;
                wants.push(range.clone());
                if locks.take(who, range) {
                    held.insert(who);
                    got += 1;
                }
            } else {
                let i = random(held.len() as u64) as usize;
                let who = *held.iter().nth(i).expect("held");
                held.remove(&who);
                let mut next = VecDeque::new();
                locks.release(wants[who as usize].start, &mut next);
                got += next.len();
                held.extend(next);
            }
            let list: Vec<_> = held.iter().map(|w| &wants[*w as usize]).collect();
            for (i, a) in list.iter().enumerate() {
                for b in &list[i + 1..] {
                    assert!(a.end <= b.start || b.end <= a.start, "seed {seed}: {a:?} {b:?}");
                }
            }
        }
        while let Some(who) = held.pop_first() {
            let mut next = VecDeque::new();
            locks.release(wants[who as usize].start, &mut next);
            got += next.len();
            held.extend(next);
        }
        assert_eq!(got, wants.len(), "seed {seed}");
    }
}
