use crate::parts::layer::volume::walk::{damaged, noise, walk, Truth};
use headstack_block::layer::volume::parity::*;
use headstack_block::layer::volume::state::State;
use headstack_block::layer::volume::Placement;

fn parity(n: u64, chunk: u64, unit: u64, stripes: u64) -> Parity {
    Parity {
        layout: Layout::LeftSymmetric,
        rmw: RmwLevel::IfLess,
        n,
        chunk,
        unit,
        stripes,
        cuts: Vec::new(),
        pieces: Vec::new(),
    }
}

/// Rows of 8 blocks, chunks of 32, four members: a stripe has 96 blocks of data. A write inside one chunk locks its
/// rows, also if it ends with the chunk; one that goes on in the next chunk locks the stripe's rows, and one over
/// several stripes all of theirs.
#[test]
fn a_write_locks_its_rows() {
    let parity = parity(4, 32, 8, 10);
    for (lba, blocks, want) in [
        (0, 1, 0..8),
        (0, 8, 0..8),
        (7, 2, 0..16),
        (24, 8, 24..32),
        (0, 32, 0..32),
        (31, 2, 0..32),
        // The last blocks of the second chunk, and the first of the third.
        (60, 4, 24..32),
        (60, 5, 0..32),
        (64, 1, 0..8),
        (88, 8, 24..32),
        (96, 3, 32..40),
        (95, 2, 0..64),
        (96 + 33, 16, 32..56),
        (90, 200, 0..128),
    ] {
        let lock = parity.write_lock(lba, blocks);
        assert_eq!(lock, Some(want), "{blocks} blocks at {lba}");
    }
}

/// Random damage: what is said of each part of a stale member is true of each of its blocks, and all blocks that the
/// others hold are rewritten.
#[test]
fn rebuilds_exactly_what_the_other_members_hold() {
    for seed in 1..400 {
        let mut random = noise(seed);
        let n = 3 + random(3);
        let unit = [1, 4, 8][random(3) as usize];
        let chunk = unit * (1 + random(6));
        let stripes = 1 + random(20);
        let blocks = stripes * chunk + random(2 * chunk);
        let member = random(n) as u32;
        let state = damaged(n as usize, blocks, member, &mut random);
        let truth = |block: u64| {
            let row = block / unit * unit;
            let mut others = (0..n as u32).filter(|m| *m != member);
            match others.all(|m| state.is_fresh(m, row, unit)) {
                _ if block >= stripes * chunk => Truth::Unused,
                true => Truth::Held,
                false => Truth::Lost,
            }
        };
        let mut parity = parity(n, chunk, unit, stripes);
        let from = random(blocks);
        let (_, held) = walk(&mut parity, &state, member, from..blocks, 16, &truth);
        let want = (from..blocks).filter(|b| truth(*b) == Truth::Held).count();
        assert_eq!(held, want as u64, "seed {seed}");
    }
}

/// 20 TB that nobody holds, and as much behind the last stripe, are passed over in one step each; a stale range of
/// another member adds one.
#[test]
fn what_cannot_be_rebuilt_costs_nothing() {
    let blocks = 20_000_000_000_000 / 512;
    let mut parity = parity(5, 1024, 8, blocks / 1024);
    let used = parity.stripes * parity.chunk;
    let truth = |block: u64| match block < used {
        true => Truth::Lost,
        false => Truth::Unused,
    };
    let mut state = State::new(5);
    state.set_stale(2, 0..2 * blocks);
    state.set_gone(4, true);
    let walked = walk(&mut parity, &state, 2, 0..2 * blocks, 128, &truth);
    assert_eq!(walked, (2, 0));
    // Present, but all of it is stale.
    state.set_gone(4, false);
    state.set_stale(4, 0..blocks / 2);
    state.set_stale(1, blocks / 2..blocks);
    let walked = walk(&mut parity, &state, 2, 0..2 * blocks, 128, &truth);
    assert_eq!(walked, (2, 0));
}
