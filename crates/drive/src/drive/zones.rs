//! The zones of a host-managed drive, as its host sees them.

use super::Drive;
use crate::command::{Completion, DriveRequest};
use crate::mapping::zoned::{ReportingOptions, Sense, ZoneAction, ZoneCondition, ZoneDescriptor, ZoneId};
use headstack_units::{Lba, Time};
use std::ops::Range;

/// What the host of a host-managed drive has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneRules {
    /// The largest number of zones with a write pointer that may be open; `None`: no limit.
    pub most_open: Option<u32>,
    /// Whether reads may cross zones and pass write pointers (URSWRZ).
    pub unrestricted_reads: bool,
}

impl Drive {
    /// The rules of the zones; `None` for a drive without zones that its host manages.
    pub fn zone_rules(&self) -> Option<ZoneRules> {
        self.zones.as_ref().map(|zones| zones.rules())
    }

    /// REPORT ZONES: the zones that match `options`, in order of address, starting with the zone that holds `from`.
    /// Empty for a drive without zones.
    pub fn report_zones(&self, from: Lba, options: ReportingOptions) -> impl Iterator<Item = ZoneDescriptor> + '_ {
        let zones = self.zones.iter();
        zones.flat_map(move |z| z.report(from, options))
    }

    /// OPEN ZONE, CLOSE ZONE, FINISH ZONE, RESET WRITE POINTER. It takes effect at once, after all commands
    /// that were submitted before, and takes no time.
    ///
    /// # Errors
    /// The rule that the command breaks; then nothing has changed. On a drive without zones every command is an error.
    pub fn manage_zones(&mut self, action: ZoneAction, id: ZoneId) -> Result<(), Sense> {
        match &mut self.zones {
            Some(zones) => zones.manage(action, id),
            None => Err(Sense::InvalidFieldInCdb),
        }
    }

    /// A zone fails: `to` is [`ZoneCondition::ReadOnly`] or [`ZoneCondition::Offline`]. Commands that wait are
    /// still served.
    ///
    /// # Errors
    /// Another condition, or no zone with a write pointer begins at `start`.
    pub fn fail_zone(&mut self, start: Lba, to: ZoneCondition) -> Result<(), Sense> {
        match &mut self.zones {
            Some(zones) => zones.fail(start, to),
            None => Err(Sense::InvalidFieldInCdb),
        }
    }

    /// The zones become those of an equal drive after a loss of power. What was open is closed; a write pointer stands at the
    /// first block of its zone that was lost, which `lost` names for a range of 512-byte blocks, or where it was.
    pub fn recover_zones(&mut self, before: &Drive, lost: &mut dyn FnMut(Range<u64>) -> Option<u64>) {
        if let (Some(zones), Some(before)) = (&mut self.zones, &before.zones) {
            zones.recover(before, lost);
        }
    }

    /// Checks a command that arrives at `now`. False if it breaks a rule; then it has completed with an error.
    pub(super) fn admit_to_zones(&mut self, now: Time, request: &DriveRequest) -> bool {
        let Some(Err(sense)) = self.zones.as_mut().map(|z| z.admit(request)) else { return true };
        if let Some(control) = &mut self.control {
            control.completes(now);
        }
        self.done.push(Completion { sense: Some(sense), ..Completion::refused(request, now) });
        false
    }
}
