use headstack_target::content::Content;
use headstack_target::devices::Bytes;
use headstack_target::extents::Extents;
use headstack_target::history::History;
use headstack_target::store::*;

fn write(store: &mut Store, number: u64, offset: u64, length: u64, content: Content) {
    let place = Bytes { offset, length };
    store.write(number, place, &content).unwrap();
}

/// A search costs extents, not pages, and what is not settled costs its writes, not its bytes.
#[test]
fn extents_are_known() {
    let (mut store, pages) = (Store::memory(), 4096);
    // In an order in which each is beside none before.
    for i in 0..pages {
        let data = Content::Data(vec![1].into());
        write(&mut store, i, i * 2731 % pages * PAGE, 1, data);
    }
    let extent = |pages, hole| Extent { bytes: pages * PAGE, hole };
    let Kept::Memory(_, runs) = &store.kept else { unreachable!("it is in memory") };
    assert_eq!(runs.len(), 1);
    let found = store.extents(0, 2 * pages * PAGE, 9).unwrap();
    assert_eq!(found, [extent(pages, false), extent(pages, true)]);
    store.keep_history();
    // Trims leave nothing behind, whatever their number and length; zeroes that are written leave one extent each.
    for i in 0..1_000_000 {
        store.discard(i % 7 * PAGE, 4 << 30).unwrap();
    }
    assert!(store.history.as_mut().unwrap().is_empty());
    for i in 0..100 {
        write(&mut store, i, i << 32, 1 << 32, Content::Zeroes { keep: false });
    }
    let versions = store.history.iter().flat_map(History::versions);
    assert_eq!(versions.map(Extents::len).sum::<usize>(), 100);
    assert_eq!(store.extents(0, 100 << 32, 9).unwrap(), [extent(100 << 16, true)]);
}
