//! Policies that choose one of several copies for a read.
//!
//! # Contract
//! A [`Choose`] function gets at least one readable copy, in ascending order of the copies, and returns the
//! index of one of them.
//!
//! The head of a member is assumed to be behind the last request that the volume submitted to it.
//!
//! # Source
//! Linux md (`raid1.c`, `raid10.c`) for the policies that name it; the others are textbook.

use super::state::State;
use headstack_schema::{did_you_mean, Kind, SpecError, Word};

/// One copy of the blocks to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copy {
    pub member: u32,
    /// First 512-byte block on the member.
    pub lba: u64,
}

/// A policy. The counter is the caller's; policies that take turns use it.
pub(crate) type Choose = fn(&[Copy], &State, &mut u64) -> usize;

/// Every policy, by name.
pub(crate) const POLICIES: &[(&str, &str, Choose)] = &[
    ("first", "the first copy that can be read", first),
    ("round-robin", "the copies in turn", round_robin),
    (
        "nearest",
        "the nearest head; of equal ones the first",
        nearest,
    ),
    (
        "fewest-pending",
        "the fewest requests; of equal ones the first",
        fewest_pending,
    ),
    (
        "md-raid1",
        "the copy that continues the member's last request; else the first idle member; else the nearest head",
        md_raid1,
    ),
    (
        "md-raid10-near",
        "the first copy whose member is idle; else the nearest head",
        idle_or_nearest,
    ),
    (
        "md-raid10-far",
        "the lowest address on the member",
        lowest_address,
    ),
];

/// The policies as words of a parameter.
pub(crate) fn kind() -> Kind {
    let words = POLICIES.iter().map(|(name, doc, _)| Word { name, doc });
    Kind::Choice(words.collect())
}

/// The policy of this name.
///
/// # Errors
/// An unknown name; the error lists the known names and hints at the nearest one.
pub(crate) fn find(name: &str) -> Result<Choose, SpecError> {
    let found = POLICIES.iter().find(|p| p.0 == name);
    found.map(|p| p.2).ok_or_else(|| {
        let names: Vec<&str> = POLICIES.iter().map(|p| p.0).collect();
        let hint = did_you_mean(name, names.iter().copied());
        let need = format!("one of {}{hint}", names.join(", "));
        SpecError::new("read_policy", format!("{name:?}"), need)
    })
}

fn by_key<K: Ord>(copies: &[Copy], key: impl Fn(&Copy) -> K) -> usize {
    let keys = copies.iter().map(key).enumerate();
    keys.min_by(|a, b| a.1.cmp(&b.1)).map_or(0, |(i, _)| i)
}

fn distance(copy: &Copy, state: &State) -> u64 {
    state.members[copy.member as usize].head.abs_diff(copy.lba)
}

fn first(_: &[Copy], _: &State, _: &mut u64) -> usize {
    0
}

fn round_robin(copies: &[Copy], _: &State, turn: &mut u64) -> usize {
    let i = *turn % copies.len() as u64;
    *turn += 1;
    i as usize
}

fn nearest(copies: &[Copy], state: &State, _: &mut u64) -> usize {
    by_key(copies, |c| distance(c, state))
}

fn fewest_pending(copies: &[Copy], state: &State, _: &mut u64) -> usize {
    by_key(copies, |c| state.members[c.member as usize].pending)
}

fn md_raid1(copies: &[Copy], state: &State, turn: &mut u64) -> usize {
    match copies.iter().position(|c| distance(c, state) == 0) {
        Some(reads_on) => reads_on,
        None => idle_or_nearest(copies, state, turn),
    }
}

fn idle_or_nearest(copies: &[Copy], state: &State, turn: &mut u64) -> usize {
    let idle = |c: &Copy| state.members[c.member as usize].pending == 0;
    match copies.iter().position(idle) {
        Some(idle) => idle,
        None => nearest(copies, state, turn),
    }
}

fn lowest_address(copies: &[Copy], _: &State, _: &mut u64) -> usize {
    by_key(copies, |c| c.lba)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: three members with heads at 100, 500 and 900, and 2, 0 and 1 pending requests.
    #[test]
    fn policies_choose_as_they_say() {
        let mut state = State::new(3);
        for (m, (head, pending)) in [(100, 2), (500, 0), (900, 1)].into_iter().enumerate() {
            (state.members[m].head, state.members[m].pending) = (head, pending);
        }
        let copies = |lba: [u64; 3]| {
            [0, 1, 2].map(|m| Copy {
                member: m,
                lba: lba[m as usize],
            })
        };
        let mut turn = 0;
        let mut choose =
            |name: &str, copies: &[Copy]| find(name).expect("a policy")(copies, &state, &mut turn);
        let at = |lba| copies([lba; 3]);
        assert_eq!(choose("first", &at(890)), 0);
        assert_eq!([0; 4].map(|_| choose("round-robin", &at(0))), [0, 1, 2, 0]);
        assert_eq!(choose("nearest", &at(290)), 0);
        assert_eq!(choose("nearest", &at(700)), 1, "a tie goes to the first");
        assert_eq!(choose("nearest", &at(701)), 2);
        assert_eq!(choose("fewest-pending", &at(100)), 1);
        assert_eq!(choose("md-raid1", &at(100)), 0, "reads on");
        assert_eq!(choose("md-raid1", &at(101)), 1, "has nothing to do");
        assert_eq!(choose("md-raid10-near", &at(100)), 1);
        let busy = [copies([0, 0, 880])[0], copies([0, 0, 880])[2]];
        assert_eq!(choose("md-raid1", &busy), 1, "all busy: the nearest");
        assert_eq!(choose("md-raid10-far", &copies([30, 40, 20])), 2);
        assert!(find("nearst")
            .unwrap_err()
            .to_string()
            .contains("did you mean \"nearest\""));
    }
}
