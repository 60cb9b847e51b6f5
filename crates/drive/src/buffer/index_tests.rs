//! Segments with an index compared with a search through all of them.

use super::segments::{Segment, Segments};
use headstack_testkit::SplitMix;

/// A buffer with an index, and one without.
struct Pair {
    indexed: Segments,
    plain: Segments,
}

impl Pair {
    /// Does the same with both; the answers and then the segments are the same.
    fn both<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        act: impl Fn(&mut Segments) -> T,
    ) -> T {
        let (found, want) = (act(&mut self.indexed), act(&mut self.plain));
        assert_eq!(found, want, "{what}");
        assert_eq!(self.indexed.list(), self.plain.list(), "{what}");
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
    let list = pair.plain.list();
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
        6 => pair.both(&what("complete"), |s| s.complete_tracks(now)),
        7 => pair.both(&what("discard"), |s| {
            s.change(i, |s| {
                s.start = s.start.max(start);
                s.end = s.end.max(s.start);
            })
        }),
        8 => drop(pair.both(&what("hold"), |s| s.holds_at(now, start, end))),
        9 => drop(pair.both(&what("written"), |s| s.for_written(start, end, None))),
        _ => {
            let Some(victim) = pair.both(&what("victim"), |s| s.victim()) else {
                return;
            };
            let whole = now + noise.below(100);
            pair.both(&what("read"), |s| {
                s.reuse(victim, |s| {
                    (s.start, s.end, s.visible_at) = (start, end, now + 5);
                    (s.whole_track, s.track_start) = (whole, start.saturating_sub(7));
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

#[test]
fn an_index_answers_as_a_search_through_all() {
    for seed in 1..=24u64 {
        println!("seed {seed}");
        let mut noise = SplitMix(seed);
        let count = noise.of(&[33, 64, 128, 200]);
        // Sizes that are a power of two, and others.
        let size = noise.of(&[1, 5, 16, 100, 512]);
        let separate = noise.one_in(2);
        let mut pair = Pair {
            indexed: Segments::new(count, size, separate),
            plain: Segments::unindexed(count, size, separate),
        };
        assert!(pair.indexed.is_indexed() && !pair.plain.is_indexed());
        for now in 0..4000 {
            step(&mut pair, &mut noise, now);
        }
    }
}
