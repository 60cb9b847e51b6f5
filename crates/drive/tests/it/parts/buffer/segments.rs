use headstack_drive::buffer::segments::*;

/// Every small segment compared with the definition, sector by sector.
#[test]
fn segments_hold_and_overlap_by_definition() {
    for (start, end) in (0..6).flat_map(|s| (s..6).map(move |e| (s, e))) {
        let mut s = Segment::default();
        (s.start, s.end) = (start, end);
        let held = |sector: u64| start <= sector && sector < end;
        assert_eq!(s.is_empty(), !(0..8).any(held));
        for from in 0..8 {
            assert_eq!(s.holds(from), held(from), "[{start}, {end}) {from}");
            for to in from + 1..8 {
                let any = (from..to).any(held);
                if !s.is_empty() {
                    assert_eq!(s.overlaps(from, to), any, "[{start}, {end}) [{from}, {to})");
                }
            }
        }
        s.bound(2);
        let kept: Vec<u64> = (0..8).filter(|i| s.holds(*i)).collect();
        let newest: Vec<u64> = (0..8).filter(|i| held(*i) && i + 2 >= end).collect();
        assert_eq!(kept, newest, "[{start}, {end})");
    }
}

/// The victim is an empty segment, else the least recently used. Segment 0 is one only if it is not
/// reserved for writes.
#[test]
fn the_one_used_longest_ago_goes() {
    for separate in [false, true] {
        let first = usize::from(separate);
        let mut s = Segments::new(4, 16, separate);
        assert_eq!(s.victim(), Some(first));
        for i in [2, 0, 3, 1] {
            s.touch(i);
            s.extend(i, 100 * i as u64 + 50);
        }
        assert_eq!(s.list[2].start, 250 - 16);
        assert_eq!(s.victim(), Some(2));
        assert_eq!(s.find(249), Some(2));
        assert_eq!(s.find(250), None);
        assert_eq!(s.find(49), (!separate).then_some(0));
        s.touch(2);
        assert_eq!(s.victim(), Some(if separate { 3 } else { 0 }));
        s.invalidate(345, 346, None);
        assert_eq!(s.victim(), Some(3));
        s.invalidate(140, 150, Some(1));
        assert_eq!(s.find(149), Some(1));
    }
}
