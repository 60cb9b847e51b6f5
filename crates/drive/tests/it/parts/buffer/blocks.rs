use headstack_drive::buffer::blocks::*;
use headstack_units::{Bytes, Lba};

/// By the definition, block by block: a sector is concerned if one of its blocks is, and in part if not all are.
#[test]
fn ranges_and_their_edges() {
    for per_sector in [1u64, 2, 8] {
        let size = SectorSize::of(Bytes(512 * per_sector));
        for start in 0..20u64 {
            for past in start + 1..40 {
                let range = Blocks::new(Lba(start), Lba(past));
                let held = |s: u64| {
                    let own = s * per_sector..(s + 1) * per_sector;
                    own.filter(|b| (start..past).contains(b)).count() as u64
                };
                let concerned: Vec<u64> = (0..60).filter(|s| held(*s) > 0).collect();
                let partial = concerned.iter().filter(|s| held(**s) < per_sector);
                let partial: Vec<PartialSector> = partial.map(|s| PartialSector(*s)).collect();
                let (first, end) = size.sectors_of(range);
                assert!((first..end).eq(concerned), "{range:?} of {per_sector}");
                let (edges, n) = size.edges(range);
                assert_eq!(edges[..n], partial[..], "{range:?} of {per_sector}");
                assert_eq!(size.blocks_of(first, end).start.0, first * per_sector);
                assert_eq!(size.sector_of(range.start), first);
            }
        }
    }
}
