//! Making what fails smaller.

/// The shortest list found that still fails: parts of it are left out, halves first, then ever smaller ones, down to
/// single entries, until none can be left out (the algorithm `ddmin` without its tests of small parts alone: Zeller and
/// Hildebrandt, IEEE Transactions on Software Engineering 28(2), 2002).
pub fn smaller<T: Clone>(mut list: Vec<T>, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut size = list.len().div_ceil(2);
    while size > 0 {
        let (mut past, before) = (list.len(), list.len());
        // From the end, because what comes first is what the rest depends on.
        while past > 0 {
            let from = past.saturating_sub(size);
            let without = [&list[..from], &list[past..]].concat();
            if fails(&without) {
                list = without;
            }
            past = from;
        }
        if size > 1 || list.len() == before {
            size /= 2;
        }
    }
    list
}
