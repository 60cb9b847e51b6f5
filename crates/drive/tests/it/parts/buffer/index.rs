//! Segments with an index or a filter compared with a search through all of them.

use headstack_drive::buffer::segments::{Segment, Segments, FEW};
use headstack_testkit::SplitMix;
use headstack_units::Time;

/// A buffer with an index or a filter, and one whose segments are all looked through.
struct Pair {
    fast: Segments,
    plain: Segments,
}

impl Pair {
    /// Does the same with both; the answers and then the segments are the same.
    fn both<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, act: impl Fn(&mut Segments) -> T) -> T {
        let (found, want) = (act(&mut self.fast), act(&mut self.plain));
        assert_eq!(found, want, "{what}");
        assert_eq!(&self.fast.list, &self.plain.list, "{what}");
        want
    }
}

/// A range of sectors: near the beginning, near a segment, or anywhere. Now and then a long one.
fn range(noise: &mut SplitMix, list: &[Segment], size: u64) -> (u64, u64) {
    let near = noise.below(list.len() as u64) as usize;
    let start = match noise.below(4) {
        0 => noise.below(size),
        1 => noise.below(size << 12),
        2 => (list[near].start + noise.below(3)).saturating_sub(noise.below(3)),
        _ => (list[near].end + noise.below(3)).saturating_sub(noise.below(3)),
    };
    let longest = if noise.one_in(20) { size * 40 } else { size };
    (start, start + 1 + noise.below(longest))
}

/// One random operation of those that a drive carries out.
fn step(pair: &mut Pair, noise: &mut SplitMix, now: u64) {
    let list = &pair.plain.list;
    let size = pair.plain.size;
    let (start, end) = range(noise, list, size);
    let i = noise.below(list.len() as u64) as usize;
    let what = |name: &str| format!("{name} {start} {end} {i} at {now}");
    match noise.below(12) {
        0 => drop(pair.both(&what("victim"), |s| s.victim())),
        1 => pair.both(&what("touch"), |s| s.touch(i)),
        2 => pair.both(&what("clear"), |s| s.change(i, Segment::clear)),
        3 => pair.both(&what("extend"), |s| s.extend(i, end)),
        4 => pair.both(&what("invalidate"), |s| s.invalidate(start, end, Some(i))),
        5 => drop(pair.both(&what("place"), |s| s.place_written(start, end))),
        6 => pair.both(&what("complete"), |s| s.complete_tracks(Time(now))),
        7 => pair.both(&what("discard"), |s| {
            s.change(i, |s| {
                s.start = s.start.max(start);
                s.end = s.end.max(s.start);
            })
        }),
        8 => drop(pair.both(&what("hold"), |s| s.holds_at(Time(now), start, end))),
        9 => drop(pair.both(&what("written"), |s| s.for_written(start, end, None))),
        _ => {
            let Some(victim) = pair.both(&what("victim"), |s| s.victim()) else { return };
            let whole = now + noise.below(100);
            pair.both(&what("read"), |s| {
                s.reuse(victim, |s| {
                    (s.start, s.end, s.visible_at) = (start, end, Time(now + 5));
                    (s.whole_track, s.track_start) = (Time(whole), start.saturating_sub(7));
                    s.bound(size);
                });
            });
        }
    }
    // After every step: the segment of each edge of a range.
    for sector in [start, start.saturating_sub(1), end, end + size] {
        pair.both(&what("find"), |s| s.find(sector));
    }
}

/// The segment to be replaced, by the definition: the first one that is empty or was never used, else the one used
/// longest ago.
fn victim(list: &[Segment], separate: bool) -> Option<usize> {
    let own = || list.iter().enumerate().skip(usize::from(separate));
    let vacant = own().find(|(_, s)| s.is_empty() || s.used == 0);
    vacant.or(own().min_by_key(|(_, s)| s.used)).map(|v| v.0)
}

/// Segments that are all looked through: a cell of the filter is as long as all addresses.
fn looked_through(count: usize, size: u64, separate: bool) -> Segments {
    let mut segments = Segments::unindexed(count, 1 << 59, separate);
    segments.size = size;
    segments
}

/// 4,000 random operations with both.
fn compare(noise: &mut SplitMix, count: usize, fast: impl Fn(usize, u64, bool) -> Segments) {
    // Sizes that are a power of two, and others.
    let size = noise.of(&[1, 5, 16, 100, 512]);
    let separate = noise.one_in(2);
    let mut pair = Pair { fast: fast(count, size, separate), plain: looked_through(count, size, separate) };
    for now in 0..4000 {
        step(&mut pair, noise, now);
        assert_eq!(pair.fast.victim(), victim(&pair.plain.list, separate));
    }
}

#[test]
fn an_index_answers_as_a_search_through_all() {
    for seed in 1..=24u64 {
        println!("seed {seed}");
        let mut noise = SplitMix(seed);
        let count = noise.of(&[33, 64, 128, 200]);
        assert!(count > FEW);
        compare(&mut noise, count, Segments::new);
    }
}

#[test]
fn a_filter_answers_as_a_search_through_all() {
    for seed in 1..=48u64 {
        println!("seed {seed}");
        let mut noise = SplitMix(seed);
        let count = noise.of(&[1, 2, 7, 16, 32]);
        assert!(count <= FEW);
        compare(&mut noise, count, Segments::new);
    }
}
