//! The steps of a drive that writes itself anew; see [`crate::remake`].

use super::{Access, ByHand, Live, Open, Ticket};
use crate::devices::{Asked, Bytes, BLOCK};
use crate::remake::{Progress, Remake, Remaking, OWN, PIECE};
use headstack_drive::{Command, Hint};
use headstack_schema::SpecError;
use std::collections::BTreeSet;

impl Live {
    /// The drive of a device removes heads, so that those of `heads` are not in use, and offers at most `most` blocks; or it takes
    /// heads back. All data are lost.
    ///
    /// # Errors
    /// The device is not one drive, such a drive cannot be, or the drive is away already.
    pub fn remake(&mut self, device: usize, heads: &BTreeSet<u32>, most: Option<u64>) -> Result<(), SpecError> {
        let is_under_way = |r: &Remaking| r.told.progress != Progress::Failed;
        if self.remakes.get(&device).is_some_and(is_under_way) {
            let need = "a drive that is not away";
            return Err(SpecError::new("device", device, need));
        }
        let (_, system) = self.system();
        let next = system.without_heads(device, heads, most)?;
        let told = Remake {
            heads: heads.clone(),
            before: system.removed_heads(device),
            progress: Progress::Writes { done: 0, of: 0 },
        };
        system.note_change();
        self.changed.push(ByHand::Heads(device, heads.clone(), most));
        let remaking = Remaking { told, next: Some(next) };
        self.remakes.insert(device, remaking);
        self.begin_remake(device);
        Ok(())
    }

    /// The removal that is under way at a device, or has failed.
    pub fn remake_of(&self, device: usize) -> Option<&Remake> {
        self.remakes.get(&device).map(|r| &r.told)
    }

    /// The drive that remains takes its place, if nothing is outstanding.
    pub(super) fn begin_remake(&mut self, device: usize) {
        let is_busy = self.open.iter().any(|(_, o)| o.access.device == device);
        let remaking = self.remakes.get_mut(&device).filter(|_| !is_busy);
        let Some(next) = remaking.and_then(|r| r.next.take()) else { return };
        let before = self.joules();
        let (now, system) = self.system();
        system.exchange(now, device, next);
        let bytes = system.devices()[device] * BLOCK;
        let drives = system.view(now, device).drives;
        self.joules_continue(&before, &drives);
        if self.blank(device, bytes).is_err() {
            return self.end_remake(device, true);
        }
        self.write_piece(device, 0, bytes);
    }

    /// One piece was written, or could not be.
    pub(super) fn piece_ended(&mut self, open: &Open, failed: bool) {
        let device = open.access.device;
        let done = open.access.offset + open.access.length;
        let of = self.devices()[device].bytes;
        match failed || done >= of {
            true => self.end_remake(device, failed),
            false => self.write_piece(device, done, of),
        }
    }

    fn write_piece(&mut self, device: usize, done: u64, of: u64) {
        if let Some(remaking) = self.remakes.get_mut(&device) {
            remaking.told.progress = Progress::Writes { done, of };
        }
        let access = Access {
            device,
            command: Command::WriteThrough,
            hint: Hint::default(),
            offset: done,
            length: PIECE.min(of - done),
        };
        let ticket = Ticket { front_end: OWN, tag: device as u64 };
        let asked = Asked { command: access.command, hint: access.hint };
        let bytes = Bytes { offset: access.offset, length: access.length };
        self.submit_own(ticket, access, asked, bytes);
    }

    fn end_remake(&mut self, device: usize, failed: bool) {
        match self.remakes.get_mut(&device) {
            Some(remaking) if failed => remaking.told.progress = Progress::Failed,
            _ => drop(self.remakes.remove(&device)),
        }
        self.system().1.note_change();
    }

    /// Power was lost: what was under way has failed.
    pub(super) fn fail_remakes(&mut self) {
        for remaking in self.remakes.values_mut() {
            remaking.told.progress = Progress::Failed;
            remaking.next = None;
        }
    }
}
