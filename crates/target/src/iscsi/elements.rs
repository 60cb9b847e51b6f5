//! The heads of a drive as physical elements: how many blocks are on each, and what a removal takes out of use.
//!
//! # Model
//! An element is a surface with its head; elements keep their numbers. With zones a removal takes no time, since no data move: zones
//! that have a block on the surface go offline, and the head is out of use. Without zones the drive becomes a smaller one, and writes
//! itself anew ([`crate::remake`]).
//!
//! # Validity
//! Drives with one arm assembly that reaches all surfaces, whose blocks stay in their places. Which blocks of zones are on a surface
//! is found by a walk over all tracks: up to a second of processor time for drives of 20 TB, in which others wait.

use crate::live::Live;
use crate::remake::{Progress, Remake};
use headstack_block::layer::{Becomes, FailedZone, FailureSetting, Setting};
use headstack_drive::layout::{self, Place};
use headstack_drive::parallelism::Dash;
use headstack_drive::zoned::{ReportingOptions, ZoneCondition, ZoneDescriptor};
use headstack_drive::{depopulation, Drive, Failure};
use headstack_scsi::commands::elements::{listed, no_such_element, Element, ElementCall, Health};
use headstack_scsi::sense::{Code, Key, Sense};
use headstack_scsi::status::Status;
use headstack_scsi::unit::{Away, Ending, Unit};
use headstack_scsi::BLOCK;
use headstack_units::Lba;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;

/// What is known of the elements of a drive.
#[derive(Debug, Default)]
pub struct Elements {
    /// Logical blocks on each; of a drive that was not changed yet.
    blocks: Option<Vec<u64>>,
    /// Those that were removed from a drive with zones.
    removed: BTreeSet<u32>,
}

/// Number of elements of a drive; 0 if they are not known.
pub fn number(drive: &Drive) -> u32 {
    let spec = drive.design.spec();
    let model = spec.mapping.get("model").and_then(|model| model.as_str());
    match spec.dash == Dash::default() && matches!(model, None | Some("zoned")) {
        true => spec.geometry.surfaces,
        false => 0,
    }
}

/// Whether a drive can become a smaller one.
pub fn truncates(drive: &Drive) -> bool {
    let spec = serde_json::to_value(drive.design.spec());
    let is_supported = |spec: Value| depopulation::check(&spec).is_ok();
    number(drive) > 1 && drive.zone_rules().is_none() && spec.is_ok_and(is_supported)
}

/// Why a unit is away, if its drive removes or restores elements.
pub fn away_for(remake: &Remake) -> Away {
    let restores = remake.heads.is_subset(&remake.before);
    let (under_way, failed) = match restores {
        true => (Code::DEPOPULATION_RESTORATION_IN_PROGRESS, Code::DEPOPULATION_RESTORATION_FAILED),
        false => (Code::DEPOPULATION_IN_PROGRESS, Code::DEPOPULATION_FAILED),
    };
    match remake.progress {
        Progress::Writes { done, of } => {
            let parts = u128::from(done) * 0x1_0000 / u128::from(of.max(1));
            Away { sense: Sense::new(Key::NotReady, under_way).with_progress(parts as u16), has_failed: false }
        }
        Progress::Failed => Away { sense: Sense::new(Key::MediumError, failed), has_failed: true },
    }
}

/// Calls `each` with the surface and the logical blocks of every track of a drive, in order of address.
fn tracks(drive: &Drive, mut each: impl FnMut(u16, Range<u64>)) {
    let design = &drive.design;
    let geometry = &design.spec().geometry;
    // It was built before.
    let Ok(layout) = layout::build(geometry, &design.models().layouts) else { return };
    let of_sector = (geometry.sector_size.0 / u64::from(BLOCK)).max(1);
    let end = design.capacity_blocks() / of_sector;
    let (mut at, mut place) = (0, Place::default());
    while at < end {
        let past = match layout.locate_into(at, &mut place) {
            true => layout.track_bounds(at).1.clamp(at + 1, end),
            false => at + 1,
        };
        each(place.head, at * of_sector..past * of_sector);
        at = past;
    }
}

impl Elements {
    /// Blocks of each element, as the whole drive has them.
    fn blocks(&mut self, drive: &Drive) -> &[u64] {
        self.blocks.get_or_insert_with(|| {
            let mut sums = vec![0; number(drive) as usize];
            tracks(drive, |head, blocks| {
                if let Some(sum) = sums.get_mut(usize::from(head)) {
                    *sum += blocks.end - blocks.start;
                }
            });
            sums
        })
    }

    /// Carries out what the elements of a device are asked for.
    pub fn carry_out(&mut self, live: &mut Live, device: usize, unit: &Unit, call: ElementCall) -> Ending {
        let (now, system) = live.system();
        let path = system.view(now, device).drive.map(|(path, _)| path);
        let system = live.system_as_it_is();
        let Some((drive, path)) = system.tree.drive_of(device).zip(path) else {
            return unit.check(&no_such_element());
        };
        let element = match call {
            ElementCall::Report { from, only_bad, length } => {
                let all = self.all(drive, &system.removed_heads(device), live.remake_of(device));
                let data = listed(&all, from, only_bad, length);
                return Ending { data, ..Ending::of(Status::Good) };
            }
            ElementCall::Remove(element) => element,
            ElementCall::Truncate { element, blocks } => {
                let mut heads = system.removed_heads(device);
                if !heads.insert(element - 1) && live.remake_of(device).is_none() {
                    return unit.check(&no_such_element());
                }
                return self.remake(live, device, unit, &heads, blocks);
            }
            ElementCall::Restore => {
                return self.remake(live, device, unit, &BTreeSet::new(), None);
            }
        };
        let is_last = self.removed.len() + 1 >= number(drive) as usize;
        if is_last || !self.removed.insert(element) {
            return unit.check(&no_such_element());
        }
        for block in zones_on(drive, element) {
            let becomes = Becomes::Offline;
            // Zones without a write pointer have no such condition: what is on the head cannot be read there.
            let _ = live.set(&path, Setting::Failure(FailureSetting::Zone(FailedZone { block, becomes })));
        }
        let part = Failure { stack: 0, arm: 0, surface: Some(element - 1), warning: true };
        // It may have failed already.
        let _ = live.set(&path, Setting::Failure(FailureSetting::Part(part)));
        Ending::of(Status::Good)
    }

    /// The drive of a device becomes one without these heads, or with no more blocks than are asked for.
    fn remake(
        &mut self,
        live: &mut Live,
        device: usize,
        unit: &Unit,
        heads: &BTreeSet<u32>,
        blocks: Option<u64>,
    ) -> Ending {
        // They are known only as long as all are there.
        if let Some(drive) = live.system_as_it_is().tree.drive_of(device) {
            self.blocks(drive);
        }
        match live.remake(device, heads, blocks) {
            Ok(()) => Ending::of(Status::Good),
            Err(e) if e.key == "capacity" => unit.check(&Sense::in_cdb(2, 7)),
            Err(_) => unit.check(&no_such_element()),
        }
    }

    /// All elements of a drive, of which these heads were removed.
    fn all(&mut self, drive: &Drive, heads: &BTreeSet<u32>, remake: Option<&Remake>) -> Vec<Element> {
        let mut left = (0u32..).filter(|head| !heads.contains(head));
        let surfaces: Vec<u32> = (0..number(drive)).filter_map(|_| left.next()).collect();
        let faults = drive.faults().into_iter().filter_map(|f| f.surface);
        let failed: BTreeSet<u32> = faults.filter_map(|surface| surfaces.get(surface as usize).copied()).collect();
        let removed = self.removed.clone();
        let health = |number: u32| {
            let head = number - 1;
            if let Some(remake) = remake {
                let (was, will) = (remake.before.contains(&head), remake.heads.contains(&head));
                match (was, will, remake.progress) {
                    (false, true, Progress::Writes { .. }) => return Health::Removing,
                    (false, true, Progress::Failed) => return Health::NotRemoved,
                    (true, false, Progress::Writes { .. }) => return Health::Restoring,
                    (true, false, Progress::Failed) => return Health::NotRestored,
                    _ => {}
                }
            }
            match removed.contains(&number) || heads.contains(&head) {
                true => Health::Removed,
                false if failed.contains(&head) => Health::Failed,
                false => Health::Good,
            }
        };
        let is_under_way = remake.is_some_and(|r| r.progress != Progress::Failed);
        let is_restorable = |number: u32| !is_under_way && heads.contains(&(number - 1));
        let blocks = self.blocks(drive).iter().zip(1..);
        let element = |(blocks, number): (&u64, u32)| Element {
            number,
            health: health(number),
            blocks: *blocks,
            is_restorable: is_restorable(number),
        };
        blocks.map(element).collect()
    }
}

/// First blocks of the zones that have a block on an element.
fn zones_on(drive: &Drive, element: u32) -> Vec<u64> {
    let all: Vec<ZoneDescriptor> = drive.report_zones(Lba(0), ReportingOptions::All).collect();
    let Some(size) = all.first().map(|zone| zone.blocks) else { return Vec::new() };
    let mut found = BTreeSet::new();
    tracks(drive, |head, blocks| {
        if u32::from(head) + 1 == element {
            found.extend(blocks.start / size..=(blocks.end - 1) / size);
        }
    });
    let zones = found.into_iter().filter_map(|i| all.get(i as usize));
    let usable = zones.filter(|zone| zone.condition != ZoneCondition::Offline);
    usable.map(|zone| zone.start.0).collect()
}
