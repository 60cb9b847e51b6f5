use headstack_trace::info::bins::*;

/// Reads of one byte every 3 ms for 3 s: every bin has the count for its width, and none is lost.
#[test]
fn bins_widen_and_keep_their_sum() {
    let mut rates = RateBins::default();
    for i in 0..1000u64 {
        let tally = Tally { reads: 1, read_bytes: 1, ..Tally::default() };
        rates.add(i * 3_000_000, tally);
    }
    let rates = rates.rates();
    // 2.997 s in at most 512 bins of 1 ms times a power of two.
    assert_eq!((rates.bin_s, rates.n_reads.len()), (0.008, 375));
    assert_eq!(rates.n_reads.iter().sum::<u64>(), 1000);
    assert_eq!(rates.read_bytes, rates.n_reads);
    // Bin 1 has 9, 12 and 15 ms; bin 2 has 18 and 21 ms.
    assert_eq!(rates.n_reads[..3], [3, 3, 2]);
    assert!(rates.n_writes.iter().all(|n| *n == 0));
}

#[test]
fn a_very_late_request_is_no_trouble() {
    let mut rates = RateBins::default();
    rates.add(0, Tally::default());
    rates.add(1 << 62, Tally::default());
    assert!(rates.bins.len() <= MOST_BINS);
    let mut map = Map::default();
    map.add(1 << 62, (1 << 55) - 1);
    map.add(0, 0);
    assert_eq!(map.cells.iter().sum::<u64>(), 2);
}

#[test]
fn a_map_by_hand() {
    let mut map = Map::default();
    map.add(0, 0);
    map.add(0, 4096);
    // From here on bins of 2 MiB, and of 2 ms.
    map.add(64_000_000, 2048 * 64);
    let found = map.of(3);
    assert_eq!((found.bin_s, found.bin_bytes, found.device), (0.002, 2 << 20, 3));
    assert_eq!(found.n_requests.len(), 33);
    assert_eq!(found.n_requests[0][..3], [1, 1, 0]);
    assert_eq!(found.n_requests[32][32], 1);
    assert_eq!(found.n_requests[0].len(), 33);
}
