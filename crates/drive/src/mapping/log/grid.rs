//! Where slots begin on a disk whose tracks all share one grid of sectors.

use crate::mechanics::{Mechanics, REACHED};
use headstack_units::Turn;

/// The angles at which slots begin: integer multiples of one angle, the same on all tracks. All slots are whole. So a
/// slot in a farther cylinder is never reached earlier, on any surface.
#[derive(Debug, Clone, Copy)]
pub struct SlotGrid {
    offset: Turn,
    /// Number of slots of a track.
    slots: u32,
    /// Angle from one slot to the next, as a fraction of 2^64, rounded down.
    slot_angle: u64,
}

impl SlotGrid {
    /// The grid of the slots of `1 << shift` sectors; `None` if there is none. Seek times must never decrease with
    /// distance.
    pub fn new(m: &Mechanics, shift: u32) -> Option<SlotGrid> {
        let grid = m.layout.grid()?;
        let slots = grid.sectors_per_track >> shift;
        let whole = slots > 1 && slots << shift == grid.sectors_per_track;
        let hides_switches = m.head_switch <= m.seek.time(1);
        (whole && hides_switches && !m.scales_rotation()).then(|| SlotGrid {
            offset: grid.offset,
            slots,
            slot_angle: ((1u128 << 64) / u128::from(grid.sectors_per_track)) as u64 * (1 << shift),
        })
    }

    /// The number, on its track, of the slot that begins next, and the angle by which the platter turns until then. An
    /// angle that is slightly behind the head counts as reached, as in the mechanics.
    #[inline]
    pub fn next(&self, under: Turn) -> (u32, Turn) {
        let x = under.since(self.offset).0;
        let from = x.saturating_sub(u64::MAX - REACHED);
        let up = u128::from(u64::MAX);
        let next = ((u128::from(from) * u128::from(self.slots) + up) >> 64) as u32;
        // After the last slot the first one follows, at the angle 0.
        let next = if next < self.slots { next } else { 0 };
        let ahead = (u64::from(next) * self.slot_angle).wrapping_sub(x);
        (next, Turn(if ahead > REACHED { 0 } else { ahead }))
    }
}
