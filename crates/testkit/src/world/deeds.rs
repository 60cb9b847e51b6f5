//! What a host does to a drive, and when.

use crate::SplitMix;
use headstack_drive::power::conditions::Condition;
use headstack_drive::zoned::ZoneAction;
use headstack_drive::{scheduler, Command, DriveRequest, Failure, Hint, Setting};
use headstack_units::{Lba, Rpm, Span};

use super::MS;
/// Something that the host does.
#[derive(Debug, Clone)]
pub enum Deed {
    /// It submits a command.
    Submit(DriveRequest),
    /// It sets something, which may be refused.
    Set(Setting),
    /// It aborts the command of this number.
    Abort(u64),
    /// A part fails.
    Fail(Failure),
    /// Something is done to the zone at a block, or to all.
    Zones(ZoneAction, Option<u64>),
}

impl Deed {
    /// The same to commands whose numbers are greater by `first`, at places further by `shift` blocks.
    pub(super) fn moved(&self, first: u64, shift: u64, capacity: u64) -> Deed {
        match self.clone() {
            Deed::Submit(r) => {
                let room = capacity.saturating_sub(r.blocks.into()) + 1;
                let lba = Lba(r.lba.0.wrapping_add(shift) % room);
                Deed::Submit(DriveRequest { id: r.id + first, lba, ..r })
            }
            Deed::Abort(id) => Deed::Abort(id + first),
            other => other,
        }
    }
}

fn wrong(id: u64, capacity: u64, draw: &mut SplitMix) -> DriveRequest {
    // On a large drive too, so many blocks are too many.
    let far = if capacity > u64::from(u32::MAX) { capacity - 9 } else { 0 };
    let (lba, blocks) =
        draw.of(&[(0, 0), (capacity, 1), (capacity - 1, 2), (u64::MAX, 1), (u64::MAX - 3, u32::MAX), (far, u32::MAX)]);
    let command = draw.of(&[Command::Read, Command::ReadThrough, Command::Write, Command::WriteThrough]);
    DriveRequest { id, command, lba: Lba(lba), blocks, ..DriveRequest::default() }
}

fn setting(draw: &mut SplitMix) -> Setting {
    match draw.below(6) {
        0 => Setting::QueueDepth(draw.below(4) as u32),
        1 => {
            let plugin = &scheduler::PLUGINS[draw.below(scheduler::PLUGINS.len() as u64) as usize];
            Setting::Scheduler {
                name: plugin.name().into(),
                parameters: toml::from_str(plugin.example()).expect("an example"),
            }
        }
        2 => Setting::ArmsInMotion(draw.below(4) as u32),
        3 => Setting::PowerCondition(draw.of(&[Condition::Active, Condition::IdleB, Condition::Standby])),
        4 => Setting::IdleTimer { condition: Condition::IdleB, after: draw.of(&[None, Some(Span::from_ms(20.0))]) },
        _ => Setting::SpindleSpeed {
            speed: Rpm(draw.of(&[7200.0, 5400.0, 3600.0])),
            takes: Span::from_ms(draw.below(40) as f64),
        },
    }
}

/// A load of everything for a drive of so many blocks.
pub(super) fn deeds(capacity: u64, draw: &mut SplitMix) -> Vec<(u64, Deed)> {
    let (mut now, mut all) = (0, Vec::new());
    // Some seeds change and break the drive, others only give it commands.
    let (changes, fails) = (draw.one_in(3), draw.one_in(6));
    let mut at = 0;
    for id in 0..20 + draw.below(60) {
        let pause = draw.of(&[1, 200_000, 8 * MS, 90 * MS, 900 * MS]);
        now += draw.below(3) * draw.below(pause);
        let deed = match draw.below(40) {
            0 => Deed::Submit(wrong(id, capacity, draw)),
            1 if changes => Deed::Set(setting(draw)),
            2 if changes => Deed::Abort(draw.below(id + 1)),
            3 if fails => Deed::Fail(Failure {
                stack: draw.below(2) as u32,
                arm: draw.below(3) as u32,
                surface: draw.of(&[None, Some(0), Some(1)]),
                warning: draw.one_in(2),
            }),
            4 | 5 => {
                let action = draw.of(&[ZoneAction::Reset, ZoneAction::Finish, ZoneAction::Open, ZoneAction::Close]);
                let at = draw.below(capacity) / 128 * 128;
                Deed::Zones(action, (!draw.one_in(3)).then_some(at))
            }
            kind => {
                let most = draw.of(&[8, 8, 40, 700]).min(capacity);
                let blocks = 1 + draw.below(most);
                let lba = match draw.below(5) {
                    0 => draw.below(capacity - blocks + 1),
                    1 => capacity - blocks,
                    2 => draw.below(capacity - blocks + 1) / 8 * 8,
                    _ => u64::min(at, capacity - blocks),
                };
                at = lba + blocks;
                let command = match kind {
                    6 | 7 => Command::Flush,
                    8..=11 => Command::WriteThrough,
                    12..=14 => Command::ReadThrough,
                    15..=20 => Command::Read,
                    _ => Command::Write,
                };
                Deed::Submit(DriveRequest {
                    id,
                    command,
                    lba: Lba(lba),
                    blocks: blocks as u32,
                    ..DriveRequest::default()
                })
            }
        };
        all.push((now, deed));
    }
    all
}

/// The host also changes settings and aborts commands before every third deed.
pub(super) fn restless(deeds: &mut Vec<(u64, Deed)>, draw: &mut SplitMix) {
    for (at, deed) in std::mem::take(deeds) {
        let change = match (&deed, draw.below(24)) {
            (_, 0..=5) => Some(Deed::Set(setting(draw))),
            (Deed::Submit(request), 6 | 7) => Some(Deed::Abort(request.id.saturating_sub(1 + draw.below(4)))),
            _ => None,
        };
        deeds.extend(change.map(|change| (at, change)));
        deeds.push((at, deed));
    }
}

/// A command in twelve has this length, and two in three have a hint.
pub(super) fn hinted(deeds: &mut [(u64, Deed)], capacity: u64, long: u64, draw: &mut SplitMix) {
    for (_, deed) in deeds {
        let Deed::Submit(request) = deed else { continue };
        request.hint = match draw.below(3) {
            0 => Hint::None,
            1 => Hint::HighPriority,
            _ => Hint::new(1 + draw.below(7) as u8, false).expect("a limit"),
        };
        if draw.one_in(12) && request.lba.0 < capacity - long {
            request.blocks = long as u32;
        }
    }
}
