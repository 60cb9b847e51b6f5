use headstack_block::layer::elevator::sorted::by_address::*;
use std::collections::BTreeSet;

/// Against a set of the standard library, with more keys than a chunk has and many equal addresses.
#[test]
fn agrees_with_a_set() {
    let mut line = ByAddress::default();
    let mut set: BTreeSet<(u64, u64, u32)> = BTreeSet::new();
    let mut x = 88_172_645_463_325_252u64;
    for step in 0..30_000u64 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let grows = (step / 2000) % 2 == 0;
        let from = (x >> 40 & 255, x >> 20 & 0xffff, 0);
        let found = set.range(from..).next().copied();
        match found {
            Some((lba, order, slot)) if x % 4 > u64::from(grows) * 2 => {
                set.remove(&(lba, order, slot));
                let behind = set.range((lba, order, slot)..).next().map(|k| k.2);
                assert_eq!(line.remove(Key { lba, order, slot }), behind, "step {step}");
            }
            _ => {
                let (lba, slot) = (x >> 48 & 255, (x >> 8) as u32);
                set.insert((lba, step, slot));
                let order = step;
                line.insert(Key { lba, order, slot });
            }
        }
        let at = x >> 33 & 255;
        let want = set.range((at, 0, 0)..).next().map(|k| k.2);
        assert_eq!(line.at_or_behind(at), want, "step {step}");
        if let Some((lba, order, slot)) = found.filter(|k| set.contains(k)) {
            let next = set.range((lba, order + 1, 0)..).next().map(|k| k.2);
            assert_eq!(line.behind(Key { lba, order, slot }), next, "step {step}");
        }
        let n: usize = line.chunks.iter().map(Vec::len).sum();
        assert_eq!(n, set.len(), "step {step}");
    }
    assert!(set.len() > 4 * MOST, "{} keys are few", set.len());
    // From here on only removals.
    while let Some((lba, order, slot)) = set.pop_first() {
        let next = set.first().map(|k| k.2);
        assert_eq!(line.remove(Key { lba, order, slot }), next);
    }
    assert_eq!(line.at_or_behind(0), None);
    assert!(line.chunks.is_empty());
}
