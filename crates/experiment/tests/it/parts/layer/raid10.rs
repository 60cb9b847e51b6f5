use crate::parts::layer::volume::walk::{damaged, noise, walk, Truth};
use headstack_block::layer::raid10::*;
use headstack_block::layer::volume::choice::ReadPolicy;
use headstack_block::layer::volume::copies::{Copies, CopyMap};
use headstack_block::layer::volume::state::State;

fn map(n: u64, near: u64, far: u64, offset: bool) -> Striped {
    // Twelve chunk rows of eight blocks on each member.
    let rows = 12 / far;
    Striped { n, near, far, offset, chunk: 8, rows, chunks: rows * n / near }
}

/// Member and chunk row of every copy of the first chunks, by hand from md's layouts for three members.
#[test]
fn layouts_by_hand() {
    // The second section of a far layout begins at row 6.
    let near: [[(u32, u64); 2]; 4] = [[(0, 0), (1, 0)], [(2, 0), (0, 1)], [(1, 1), (2, 1)], [(0, 2), (1, 2)]];
    let far = [[(0, 0), (1, 6)], [(1, 0), (2, 6)], [(2, 0), (0, 6)], [(0, 1), (1, 7)]];
    let offset = [[(0, 0), (1, 1)], [(1, 0), (2, 1)], [(2, 0), (0, 1)], [(0, 2), (1, 3)]];
    for (map, want) in [(map(3, 2, 1, false), near), (map(3, 1, 2, false), far), (map(3, 1, 2, true), offset)] {
        for (number, want) in want.iter().enumerate() {
            for (copy, want) in want.iter().enumerate() {
                let at = number as u64 * 8 + 3;
                let (got, end) = map.place(at, copy as u32);
                assert_eq!((got.member, got.lba), (want.0, want.1 * 8 + 3));
                assert_eq!(end, number as u64 * 8 + 8);
            }
        }
    }
}

/// The state of block `lba` of a member, by its copies.
fn truth(map: &Striped, state: &State, member: u32, lba: u64) -> Truth {
    let Some(at) = map.at(member, lba).0 else {
        return Truth::Unused;
    };
    let mut copies = (0..map.copies()).map(|i| map.place(at, i).0);
    match copies.any(|c| state.is_fresh(c.member, c.lba, 1)) {
        true => Truth::Held,
        false => Truth::Lost,
    }
}

/// Random damage in every layout: what is said of each part of a stale member is true of each of its blocks, and all
/// blocks of which there is a copy are rewritten.
#[test]
fn rebuilds_exactly_what_there_are_copies_of() {
    for seed in 1..600 {
        let mut random = noise(seed);
        let n = 2 + random(6);
        let near = 1 + random(n.min(4));
        let far = 1 + random(n / near);
        if near * far < 2 {
            continue;
        }
        let offset = random(2) == 0;
        let map = || map(n, near, far, offset);
        let blocks = 13 * 8 + random(40);
        let member = random(n) as u32;
        let state = damaged(n as usize, blocks, member, &mut random);
        let from = random(blocks);
        let truth = |lba: u64| truth(&map(), &state, member, lba);
        let want = (from..blocks).filter(|b| truth(*b) == Truth::Held).count();
        let mut copies = Copies::new(map(), ReadPolicy::First);
        let (_, held) = walk(&mut copies, &state, member, from..blocks, 16, &truth);
        assert_eq!(held, want as u64, "seed {seed}");
    }
}

/// 18 TB of which no copy is left are passed over in a few steps, whatever the layout: one for each section of a far
/// layout, one for the end of the member.
#[test]
fn what_has_no_copies_costs_nothing() {
    let chunk = 1024;
    let rows = 18_000_000_000_000 / 512 / chunk;
    for (n, near, far, offset) in
        [(4u64, 3, 1, false), (4, 2, 1, false), (5, 2, 1, false), (3, 1, 2, false), (5, 1, 3, true), (6, 2, 2, false)]
    {
        let map = |rows: u64| Striped { n, near, far, offset, chunk, rows, chunks: rows * n / near };
        let blocks = rows * chunk;
        for gone in [true, false] {
            let mut state = State::new(n as usize);
            for other in 1..n as u32 {
                state.set_stale(other, 0..blocks);
                state.set_gone(other, gone);
            }
            state.set_stale(0, 0..blocks);
            let map = || map(rows / far);
            let mut copies = Copies::new(map(), ReadPolicy::First);
            let truth = |lba: u64| truth(&map(), &state, 0, lba);
            let (answers, held) = walk(&mut copies, &state, 0, 0..blocks, 128, &truth);
            assert_eq!(held, 0);
            assert!(answers <= far + 2, "{n} {near} {far} {offset} {gone}: {answers}");
        }
    }
}

/// Every copy of every block has its own place, inside a member; copies of one block are on different
/// members. The inverse finds them, and no other block of a member is in use.
#[test]
fn places_are_one_to_one() {
    for n in 2..=6u64 {
        for (near, far, offset) in
            [(2, 1, false), (3, 1, false), (1, 2, false), (1, 2, true), (2, 2, false), (2, 2, true)]
        {
            if near * far > n {
                continue;
            }
            let map = map(n, near, far, offset);
            let mut used = std::collections::BTreeMap::new();
            for at in 0..map.blocks() {
                let mut members = std::collections::BTreeSet::new();
                for copy in 0..map.copies() {
                    let (place, _) = map.place(at, copy);
                    assert!(place.lba < 12 * 8 && u64::from(place.member) < n);
                    assert!(members.insert(place.member), "{n} {near} {far} {offset}");
                    assert_eq!(used.insert((place.member, place.lba), at), None);
                }
            }
            for member in 0..n as u32 {
                for lba in 0..14 * 8 {
                    let want = used.get(&(member, lba)).copied();
                    assert_eq!(map.at(member, lba).0, want, "{n} {near} {far} {offset}");
                }
            }
        }
    }
}
