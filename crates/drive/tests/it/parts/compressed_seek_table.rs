use headstack_drive::compressed_seek_table::*;
use headstack_testkit::XorShift;

fn agrees(numbers: &[u32], is_compact: bool) {
    let list = CompressedSeekTable::new(numbers);
    assert_eq!(list.near.len() < numbers.len(), is_compact);
    for (i, number) in numbers.iter().enumerate() {
        assert_eq!(list.at(i), *number, "number {i} of {}", numbers.len());
    }
    let last = numbers[numbers.len() - 1];
    assert_eq!((list.at(numbers.len()), list.at(usize::MAX)), (last, last));
    assert!(list.iter().eq(numbers.iter().copied()));
}

#[test]
fn compressed_seek_tables_are_compact_and_exact() {
    let root = |d: u32| (f64::from(d).sqrt() * 20_000.0) as u32;
    for n in [PLAIN as u32 + 1, 100_000, 540_744] {
        agrees(&(0..n).map(root).collect::<Vec<_>>(), true);
        agrees(&(0..n).map(|d| 4_000_000_000 - root(d)).collect::<Vec<_>>(), true);
        agrees(&vec![u32::MAX; n as usize], true);
    }
}

#[test]
fn short_and_rough_lists_stay_plain() {
    agrees(&[7], false);
    agrees(&(0..PLAIN as u32).collect::<Vec<_>>(), false);
    let mut noise = XorShift::default();
    let draw = |_| noise.draw() as u32;
    agrees(&(0..50_000).map(draw).collect::<Vec<_>>(), false);
    // One number that is too far from its neighbours.
    let mut numbers: Vec<u32> = (0..50_000).map(|d| 1_000_000 + d).collect();
    numbers[40_000] += 300;
    agrees(&numbers, false);
    numbers[40_000] -= 50;
    agrees(&numbers, true);
    numbers[40_000] = 0;
    agrees(&numbers, false);
}
