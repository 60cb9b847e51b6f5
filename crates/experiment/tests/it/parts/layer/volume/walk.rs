//! For tests: goes through a stale range as a rebuild does, and compares each answer with the state of single blocks.

use headstack_block::layer::volume::plan::Plan;
use headstack_block::layer::volume::state::State;
use headstack_block::layer::volume::{Placement, Repair};
use std::ops::Range;

/// What is true of one block of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truth {
    Unused,
    Lost,
    Held,
}

/// Goes through a stale range in windows, with every answer checked by `truth` of its blocks; returns the number of
/// answers, the windows apart, and the number of blocks that can be rewritten.
pub(crate) fn walk(
    placement: &mut dyn Placement,
    state: &State,
    member: u32,
    range: Range<u64>,
    window: u64,
    truth: &dyn Fn(u64) -> Truth,
) -> (u64, u64) {
    let (mut answers, mut held) = (0, 0);
    let mut at = range.start;
    while at < range.end {
        let mut plan = Plan::default();
        let answer = placement.repair(state, member, at..range.end, window, &mut plan);
        let (part, want) = match answer {
            Repair::Planned(part) => {
                assert!(!plan.writes.ios.is_empty(), "a window is written");
                assert!(part.end - at <= window + 8, "{part:?} of {window}");
                held += part.end.min(range.end) - at;
                (part, Truth::Held)
            }
            Repair::Unused(part) => (part, Truth::Unused),
            Repair::Impossible(part) => (part, Truth::Lost),
        };
        answers += u64::from(want != Truth::Held);
        assert!(part.start <= at && part.end > at, "{part:?} at {at}");
        // Of a long part, its ends.
        let ends = (at..part.end.min(at + 500)).chain(part.end.saturating_sub(500).max(at)..part.end);
        for block in ends.filter(|b| *b < range.end) {
            assert_eq!(truth(block), want, "block {block} of {part:?}, member {member}");
        }
        at = part.end;
    }
    (answers, held)
}

/// Random stale ranges of `members` members of `blocks` blocks, some of which are gone; `member` is stale as a whole.
pub(crate) fn damaged(members: usize, blocks: u64, member: u32, random: &mut dyn FnMut(u64) -> u64) -> State {
    let mut state = State::new(members);
    for other in 0..members as u32 {
        if other != member && random(5) == 0 {
            state.set_gone(other, true);
        }
        for _ in 0..random(6) {
            let start = random(blocks);
            let end = start + 1 + random(blocks / 3 + 1);
            state.set_stale(other, start..end.min(blocks));
        }
    }
    state.set_stale(member, 0..blocks);
    state
}

/// A generator of numbers below a bound, from a seed.
pub(crate) fn noise(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x % below
    }
}
