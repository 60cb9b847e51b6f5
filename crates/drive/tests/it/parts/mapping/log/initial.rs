use headstack_drive::mapping::log::initial::*;
use std::collections::BTreeSet;

/// Different blocks have different slots, in order; the gaps between them differ by one slot at most.
#[test]
fn free_slots_are_spread_evenly() {
    for (count, slots) in [(0, 10), (1, 10), (3, 10), (9, 10), (10, 10), (999, 1000), (7, 1 << 40)] {
        let initial = InOrder::spread(count, slots);
        let taken: Vec<u64> = (0..count).filter_map(|b| initial.slot(b)).collect();
        assert_eq!(taken.len() as u64, count);
        assert!(taken.is_sorted_by(|a, b| a < b) && taken.iter().all(|s| *s < slots));
        let set: BTreeSet<u64> = taken.iter().copied().collect();
        for slot in 0..slots.min(1100) {
            let block = taken.iter().position(|s| *s == slot).map(|b| b as u64);
            assert_eq!(initial.block(slot), block, "{slot} of {slots}");
            let before = set.range(..slot).count() as u64;
            assert_eq!(initial.before(slot), before, "{slot} of {slots}");
        }
        for range in [0..5, 3..8, 0..1100, 9..10, 500..501, 998..2000] {
            let mut found = Vec::new();
            initial.each_in(range.clone(), |slot| found.push(slot));
            let wanted: Vec<u64> = set.range(range).copied().collect();
            assert_eq!(found, wanted, "of {slots}");
        }
        let gaps: BTreeSet<u64> = taken.windows(2).map(|w| w[1] - w[0]).collect();
        if let (Some(least), Some(most)) = (gaps.first(), gaps.last()) {
            assert!(most - least <= 1, "{gaps:?}");
        }
        assert_eq!(initial.past(), taken.last().map_or(0, |s| s + 1));
        assert_eq!(initial.slot(count), None);
    }
    assert!((0..5).all(|s| InOrder::dense(5).slot(s) == Some(s)));
    assert_eq!(InOrder::dense(5).block(5), None);
    assert_eq!(InOrder::dense(5).block(4), Some(4));
    assert_eq!(InOrder::dense(5).before(9), 5);
}
