//! Where the workload's devices lie on the drives.

use super::SimulateError;
use headstack_block::member::Member;
use headstack_block::organisation::{Organisation, Plan};

/// The workload's devices on the logical units of the drives, as the organisation lays them.
pub(super) struct Devices<'a> {
    pub organisation: &'a dyn Organisation,
    /// For each logical unit (a member of the organisation): its drive and first block.
    pub logical: Vec<(u32, u64)>,
    /// The parts of a request, kept for reuse.
    pub plan: Plan,
    /// Sizes of devices, each stored at its first use; 0 before.
    blocks: Vec<u64>,
    /// For the same devices, their place if they lie on one logical unit; no blocks if a plan is needed.
    pub direct: Vec<Direct>,
}

/// A device that lies on one logical unit, block for block.
#[derive(Clone, Copy, Default)]
pub(super) struct Direct {
    pub blocks: u64,
    /// Its drive, and its first block there.
    pub member: u32,
    pub first: u64,
}

impl<'a> Devices<'a> {
    pub fn new(organisation: &'a dyn Organisation, members: &[impl Member]) -> Devices<'a> {
        let mut logical = Vec::new();
        for (drive, member) in members.iter().enumerate() {
            let mut first = 0;
            for blocks in member.logical_units() {
                logical.push((drive as u32, first));
                first += blocks;
            }
        }
        Devices { organisation, logical, plan: Plan::default(), blocks: Vec::new(), direct: Vec::new() }
    }

    /// Of a part of a system: the same places as in the whole, on drives that are counted from number `first` on.
    pub fn take_part(&mut self, whole: &Devices, first: usize) {
        let places = whole.logical.iter().map(|&(member, block)| {
            let place = (member as usize).checked_sub(first);
            place.map_or((0, 0), |place| (place as u32, block))
        });
        self.logical = places.collect();
    }

    /// The first drive on which a device lies.
    pub fn first_member_of(&self, device: u32) -> usize {
        let unit = self.organisation.members_of(device).start;
        self.logical[unit as usize].0 as usize
    }

    /// Size of a device, stored at its first use; request number `id` is for it.
    ///
    /// # Errors
    /// There is no such device.
    #[inline]
    pub fn blocks_of(&mut self, id: u64, device: u32) -> Result<u64, SimulateError> {
        match self.blocks.get(device as usize) {
            Some(&blocks) if blocks > 0 => Ok(blocks),
            _ => self.ask_blocks(id, device),
        }
    }

    #[cold]
    fn ask_blocks(&mut self, id: u64, device: u32) -> Result<u64, SimulateError> {
        let fail = |message| SimulateError::Device { request: id, message };
        let blocks = self.organisation.device_blocks(device).map_err(fail)?;
        let i = device as usize;
        if i >= self.blocks.len() {
            self.blocks.resize(i + 1, 0);
            self.direct.resize(i + 1, Direct::default());
        }
        if let Some((unit, lba)) = self.organisation.whole(device) {
            let (member, first) = self.logical[unit as usize];
            self.direct[i] = Direct { blocks, member, first: first + lba };
        }
        self.blocks[i] = blocks;
        Ok(blocks)
    }
}
