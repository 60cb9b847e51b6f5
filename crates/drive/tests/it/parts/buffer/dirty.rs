//! Dirty extents compared with a plain list of blocks.

use headstack_drive::buffer::blocks::{Blocks, PartialSector, SectorSize};
use headstack_drive::buffer::dirty::{DirtyExtents, Scope};
use headstack_testkit::XorShift;
use headstack_units::{Bytes, Lba, Span, Time};

fn blocks(start: u64, past: u64) -> Blocks {
    Blocks::new(Lba(start), Lba(past))
}

/// No data, in sectors of so many blocks.
fn nothing(sector: u64, partial_wait: u64) -> DirtyExtents {
    DirtyExtents::new(SectorSize::of(Bytes(512 * sector)), Span(partial_wait as i64))
}

/// The arrival time of each dirty block.
struct Plain {
    blocks: Vec<Option<u64>>,
}

impl Plain {
    /// The maximal runs of dirty blocks.
    fn runs(&self) -> Vec<Blocks> {
        let mut runs: Vec<Blocks> = Vec::new();
        for (i, _) in self.blocks.iter().enumerate().filter(|b| b.1.is_some()) {
            match runs.last_mut() {
                Some(r) if r.past.0 == i as u64 => r.past.0 += 1,
                _ => runs.push(blocks(i as u64, i as u64 + 1)),
            }
        }
        runs
    }

    fn dirty(&self, range: Blocks) -> usize {
        let part = &self.blocks[range.start.0 as usize..range.past.0 as usize];
        part.iter().filter(|b| b.is_some()).count()
    }

    fn set(&mut self, range: Blocks, value: Option<u64>) {
        self.blocks[range.start.0 as usize..range.past.0 as usize].fill(value);
    }

    /// C-LOOK order: the upper part of the run at `from`, runs above, runs below, the lower part.
    fn sweep(&self, from: u64) -> Vec<Blocks> {
        let (mut above, mut below, mut last) = (Vec::new(), Vec::new(), None);
        for r in self.runs() {
            if r.start.0 >= from {
                above.push(r);
            } else if r.past.0 > from {
                above.insert(0, blocks(from, r.past.0));
                last = Some(blocks(r.start.0, from));
            } else {
                below.push(r);
            }
        }
        above.into_iter().chain(below).chain(last).collect()
    }

    fn has_whole_sector(&self, r: &Blocks, sector: u64) -> bool {
        r.start.0.next_multiple_of(sector) < r.past.0 / sector * sector
    }
}

const BLOCKS: u64 = 400;

#[test]
fn extents_are_what_a_list_of_blocks_says() {
    for (seed, sector) in (1..=24u64).zip([1, 8].into_iter().cycle()) {
        let mut noise = XorShift::seeded(seed);
        let mut dirty = nothing(sector, 1000);
        let mut plain = Plain { blocks: vec![None; BLOCKS as usize] };
        let mut now = 0;
        for step in 0..1500 {
            let about = format!("seed {seed}, sector {sector}, step {step}");
            now += noise.below(40);
            let start = noise.below(BLOCKS);
            let most = [3, 20, 90][noise.below(3) as usize];
            let length = 1 + noise.below(most);
            let range = blocks(start, (start + length).min(BLOCKS));
            if noise.below(5) < 3 {
                dirty.insert(range, Time(now));
                plain.set(range, Some(now));
            } else {
                let want = plain.dirty(range) as u64;
                assert_eq!(dirty.remove(range), want, "{about}");
                plain.set(range, None);
            }
            check(&dirty, &plain, &mut noise, &about);
            dirty.promote(Time(now));
            check_due(&dirty, &plain, sector, now, &about);
        }
    }
}

fn check(dirty: &DirtyExtents, plain: &Plain, noise: &mut XorShift, about: &str) {
    let all = blocks(0, BLOCKS);
    assert_eq!(dirty.blocks as usize, plain.dirty(all), "{about}");
    assert_eq!(dirty.extents.len(), plain.runs().len(), "{about}");
    assert_eq!(dirty.extents.is_empty(), plain.runs().is_empty(), "{about}");
    let from = noise.below(BLOCKS + 1);
    let got: Vec<Blocks> = dirty.sweep(Lba(from), Scope::All).collect();
    assert_eq!(got, plain.sweep(from), "{about}, from {from}");
    let start = noise.below(BLOCKS);
    let range = blocks(start, (start + noise.below(30)).min(BLOCKS));
    let held = plain.dirty(range) as u64;
    assert_eq!(dirty.covers(range), held == range.count(), "{about}");
    let first = plain.runs().into_iter().find_map(|r| {
        let cut = Blocks::new(r.start.max(range.start), r.past.min(range.past));
        (cut.start < cut.past).then_some(cut)
    });
    assert_eq!(dirty.first_in(range), first, "{about}");
    // No run is assumed to be younger than both of its ends.
    if let Some(oldest) = dirty.oldest() {
        let of = |b: Lba| plain.blocks[b.0 as usize];
        let ends = plain.runs().into_iter().map(|r| of(r.start).max(of(Lba(r.past.0 - 1))));
        assert!(Some(oldest.0) <= ends.min().flatten(), "{about}");
    }
}

/// Checks a sweep over the extents that are due, and what of them is to be written.
fn check_due(dirty: &DirtyExtents, plain: &Plain, sector: u64, now: u64, about: &str) {
    let visited: Vec<Blocks> = dirty.sweep(Lba(0), Scope::Due).collect();
    assert_eq!(dirty.has(Scope::Due), !visited.is_empty(), "{about}");
    for run in plain.runs() {
        let found = visited.contains(&run);
        let whole = plain.has_whole_sector(&run, sector);
        let (start, past) = (run.start.0, run.past.0);
        let age = |block: u64| now - plain.blocks[block as usize].expect("dirty");
        let head = start % sector != 0;
        let tail = past % sector != 0;
        if whole {
            assert!(found, "{about}: {run:?}");
        } else if (head && age(start) >= 1000) || (tail && age(past - 1) >= 1000) {
            assert!(found, "{about}: {run:?} has waited");
        }
        // With `all`, everything is to be written.
        let everything = blocks(start / sector * sector, past.next_multiple_of(sector));
        assert_eq!(dirty.to_write(run, Time(now), true), Some(everything), "{about}");
        let inner = blocks(start.next_multiple_of(sector), past / sector * sector);
        let part = dirty.to_write(run, Time(now), false);
        if whole {
            let part = part.expect("the whole sectors at least");
            assert!(part.start <= inner.start && inner.past <= part.past);
            assert!(everything.start <= part.start && part.past <= everything.past);
            if tail && age(past - 1) >= 1000 {
                assert_eq!(part.past, everything.past, "{about}");
            }
        }
        // Partial sectors, counted block by block.
        let want: Vec<PartialSector> = (start / sector..past.div_ceil(sector))
            .filter(|s| {
                let first = s * sector;
                let held = plain.dirty(blocks(first, (first + sector).min(BLOCKS))) as u64;
                held > 0 && held < sector
            })
            .map(PartialSector)
            .collect();
        assert_eq!(dirty.partial_sectors(everything), want, "{about}");
    }
}

/// A stream that starts inside a sector leaves its front edge, and an edge at its end that is as young as the
/// last write.
#[test]
fn the_edge_of_a_stream_stays_young() {
    let mut dirty = nothing(8, 1000);
    let mut at = 3;
    for i in 0..200u64 {
        let now = i * 100;
        dirty.insert(blocks(at, at + 128), Time(now));
        at += 128;
        dirty.promote(Time(now));
        let run = dirty.sweep(Lba(8), Scope::Due).next().expect("whole sectors");
        let part = dirty.to_write(run, Time(now), false).expect("whole sectors");
        assert_eq!((part.start.0 % 8, part.past.0), (0, at / 8 * 8), "{i}");
        assert!(dirty.partial_sectors(part).is_empty());
        dirty.remove(part);
        let front = blocks(3, 8);
        assert!(dirty.covers(front));
        assert_eq!(dirty.to_write(front, Time(now), false).is_some(), now >= 1000, "{i}");
    }
    assert_eq!(dirty.blocks, 5 + at % 8);
}

#[test]
fn a_million_extents_are_no_burden() {
    let mut noise = XorShift::seeded(5);
    let mut dirty = nothing(8, 1_000_000);
    let mut held = 0u64;
    for i in 0..1_000_000u64 {
        // Odd and not adjacent: no two merge, and none has a whole sector.
        let start = noise.below(1 << 36) * 64 + 3;
        if dirty.first_in(blocks(start, start + 8)).is_none() {
            held += 8;
        }
        dirty.insert(blocks(start, start + 8), Time(i));
    }
    assert_eq!(dirty.blocks, held);
    assert!(!dirty.has(Scope::Due));
    assert_eq!(dirty.due_from(), Some(Time(1_000_000)));
    dirty.promote(Time(1_499_999));
    let half = dirty.sweep(Lba(0), Scope::Due).count();
    assert!((499_000..=500_000).contains(&half), "{half}");
    // A window at any position takes a few steps.
    let mut from = Lba(0);
    for _ in 0..200_000 {
        let window: Vec<Blocks> = dirty.sweep(from, Scope::Due).take(4).collect();
        assert_eq!(window.len(), 4);
        dirty.remove(window[2]);
        from = window[2].past;
    }
    assert_eq!(dirty.blocks, held - 200_000 * 8);
}
