use headstack_drive::mapping::log::initial::InOrder;
use headstack_drive::mapping::log::map::*;
use headstack_testkit::XorShift;
use std::collections::HashMap;

/// Compares with a hash map, for entries of 16 to 40 bits.
#[test]
fn remembers_what_was_set() {
    let mut noise = XorShift::default();
    for (slots, bits) in [(1000, 16), (65_535, 16), (65_536, 17), (1 << 33, 34), ((1 << 40) - 1, 40)] {
        let blocks = 5000;
        let in_order = 2500;
        let mut map = BlockMap::new(blocks, slots, InOrder::dense(in_order));
        assert_eq!(BlockMap::bits_for(slots), bits, "{slots} slots");
        let mut oracle: HashMap<u64, u64> = (0..in_order).map(|b| (b, b)).collect();
        for _ in 0..20_000 {
            let (block, slot) = (noise.below(blocks), noise.below(slots));
            map.set(block, slot);
            oracle.insert(block, slot);
            let block = noise.below(blocks);
            assert_eq!(map.get(block), oracle.get(&block).copied());
            if noise.below(8) == 0 {
                map.clear(block);
                oracle.remove(&block);
                assert_eq!(map.get(block), None);
            }
        }
        map.set(1, slots - 1);
        assert_eq!(map.get(1), Some(slots - 1));
    }
}

/// 20 TB in blocks of 4 KiB: the entries take less than 19 GiB.
#[test]
fn the_map_of_20_tb_fits_24_gib() {
    let slots = 20_000_000_000_000u64 / 4096;
    let map = BlockMap::new(slots, slots, InOrder::dense(0));
    let page = (PAGE * u64::from(BlockMap::bits_for(slots))).div_ceil(64) * 8;
    let all = map.pages.len() as u64 * (page + 16);
    assert!(all < 19 << 30, "{all} bytes");
}
