//! The heads of a drive as physical elements: how many blocks are on each, and what a removal takes out of use.
//!
//! # Model
//! An element is a surface with its head. A removal takes no time here, since no data move: zones that have a block on the
//! surface go offline, and the head is out of use.
//!
//! # Validity
//! Drives with one arm assembly that reaches all surfaces, whose blocks stay in their places. Which blocks are on a surface is
//! found by a walk over all tracks, when somebody asks for the first time: up to a second of processor time for drives
//! of 20 TB, in which others wait.

use headstack_array::layer::{Becomes, FailedZone, Setting};
use headstack_drive::layout::{self, Place};
use headstack_drive::parallelism::Dash;
use headstack_drive::zoned::{ReportingOptions, ZoneCondition, ZoneDescriptor};
use headstack_drive::{Drive, Part};
use headstack_live::live::Live;
use headstack_scsi::commands::elements::{listed, no_such_element, Element, ElementCall, Health};
use headstack_scsi::commands::Status;
use headstack_scsi::unit::{Ending, Unit};
use headstack_scsi::BLOCK;
use headstack_units::Lba;
use std::collections::BTreeSet;
use std::ops::Range;

/// What is known of the elements of a drive.
#[derive(Debug, Default)]
pub struct Elements {
    /// Logical blocks on each.
    blocks: Option<Vec<u64>>,
    removed: BTreeSet<u32>,
}

/// Number of elements of a drive; 0 if they are not known.
pub fn number(drive: &Drive) -> u32 {
    let spec = drive.design().spec();
    let model = spec.mapping.get("model").and_then(|model| model.as_str());
    match spec.dash == Dash::default() && matches!(model, None | Some("zoned")) {
        true => spec.geometry.surfaces,
        false => 0,
    }
}

/// Calls `each` with the surface and the logical blocks of every track of a drive, in order of address.
fn tracks(drive: &Drive, mut each: impl FnMut(u16, Range<u64>)) {
    let design = drive.design();
    let geometry = &design.spec().geometry;
    // It was built before.
    let Ok(layout) = layout::build(geometry, &design.models().layouts) else {
        return;
    };
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
    pub fn carry_out(
        &mut self,
        live: &mut Live,
        device: usize,
        unit: &Unit,
        call: ElementCall,
    ) -> Ending {
        let (now, system) = live.system();
        let path = system.view(now, device).drive.map(|(path, _)| path);
        let Some((drive, path)) = system.drive(device).zip(path) else {
            return unit.check(&no_such_element());
        };
        let element = match call {
            ElementCall::Report {
                from,
                only_bad,
                length,
            } => {
                let all = self.all(drive);
                let data = listed(&all, from, only_bad, length);
                return Ending {
                    data,
                    ..Ending::of(Status::Good)
                };
            }
            ElementCall::Remove(element) => element,
        };
        let is_last = self.removed.len() + 1 >= number(drive) as usize;
        if is_last || !self.removed.insert(element) {
            return unit.check(&no_such_element());
        }
        for block in zones_on(drive, element) {
            let becomes = Becomes::Offline;
            // Zones without a write pointer have no such condition: what is on the head cannot be read there.
            let _ = live.set(&path, Setting::FailZone(FailedZone { block, becomes }));
        }
        let part = Part {
            stack: 0,
            arm: 0,
            surface: Some(element - 1),
            warning: true,
        };
        // It may have failed already.
        let _ = live.set(&path, Setting::FailPart(part));
        Ending::of(Status::Good)
    }

    /// All elements of a drive.
    fn all(&mut self, drive: &Drive) -> Vec<Element> {
        let failed: BTreeSet<u32> = drive.faults().iter().filter_map(|f| f.surface).collect();
        let removed = self.removed.clone();
        let health = |number: u32| match removed.contains(&number) {
            true => Health::Removed,
            false if failed.contains(&(number - 1)) => Health::Failed,
            false => Health::Good,
        };
        let blocks = self.blocks(drive).iter().zip(1..);
        let element = |(blocks, number): (&u64, u32)| Element {
            number,
            health: health(number),
            blocks: *blocks,
        };
        blocks.map(element).collect()
    }
}

/// First blocks of the zones that have a block on an element.
fn zones_on(drive: &Drive, element: u32) -> Vec<u64> {
    let all: Vec<ZoneDescriptor> = drive.report_zones(Lba(0), ReportingOptions::All).collect();
    let Some(size) = all.first().map(|zone| zone.blocks) else {
        return Vec::new();
    };
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
