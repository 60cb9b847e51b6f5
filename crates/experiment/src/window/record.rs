//! What is recorded of a drive, in the form in which it is written.

use headstack_drive::drive::{ArmShown, Buffered, UnitShown};
use headstack_drive::layout::Place;
use headstack_drive::power::conditions::Condition;
use headstack_drive::{Command, Completion, Drive, DriveRequest, Phase, PhaseKind, Track, Work};
use headstack_units::{Lba, Time};
use serde::Serialize;

/// A drive in a window. Times are in nanoseconds from the start of the run, angles in turns, sizes in 512-byte blocks.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DriveRecord {
    /// The drive's name in results.
    pub name: String,
    /// Size of the drive.
    pub capacity_blocks: u64,
    /// Whether a write gets its place only when its service begins.
    pub moves_writes: bool,
    /// Its units.
    pub units: Vec<UnitRecord>,
    /// How the platters of each unit turn: from each time on, until the next one of the unit.
    pub rotations: Vec<RotationRecord>,
    /// Its arm assemblies, each with the track over which its heads were when the window began.
    pub arms: Vec<ArmRecord>,
    /// What each assembly did, in order of time, without gap or overlap; the first one contains the begin of the
    /// window and the last one its end.
    pub phases: Vec<Vec<PhaseRecord>>,
    /// The commands that were in the drive, in order of arrival.
    pub commands: Vec<CommandRecord>,
    /// Buffer and power.
    pub samples: SampleRecord,
    /// When the last command completed.
    pub last_completion_ns: u64,
}

/// A unit of a drive: one queue and the assemblies that serve it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UnitRecord {
    /// Its stack of platters.
    pub stack: u32,
    /// Number of radial positions, 0 the outermost.
    pub positions: u32,
}

/// How platters turn from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RotationRecord {
    /// The unit.
    pub unit: u32,
    /// From when on.
    pub from_ns: u64,
    /// Time of a turn.
    pub period_ns: f64,
    /// The angle under the angle zero of the drive at `from_ns`.
    pub angle: f64,
}

impl RotationRecord {
    /// How a unit turns from `at` on.
    pub fn of(number: u32, unit: &UnitShown, at: u64) -> RotationRecord {
        RotationRecord {
            unit: number,
            from_ns: at,
            period_ns: unit.rotation.period_ns,
            angle: unit.rotation.angle_at(Time(at)).as_turns(),
        }
    }
}

/// A track with the heads over it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TrackRecord {
    /// Radial position.
    pub cylinder: u32,
    /// Surface; null where no head was used since the heads moved.
    pub head: Option<u16>,
    /// Head set of the assembly.
    pub head_set: u16,
}

impl From<Track> for TrackRecord {
    fn from(track: Track) -> TrackRecord {
        TrackRecord {
            cylinder: track.cylinder,
            head: (track.head != headstack_drive::mechanics::Arm::NO_HEAD).then_some(track.head),
            head_set: track.head_set,
        }
    }
}

/// An arm assembly.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmRecord {
    /// Its unit.
    pub unit: u32,
    /// Where its heads are at first.
    pub track: TrackRecord,
    /// Its head sets.
    pub head_sets: Vec<HeadSetRecord>,
}

/// A head set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeadSetRecord {
    /// Angle around the platter.
    pub angle: f64,
    /// Distance in radial positions inward from the assembly's first head set.
    pub offset: u32,
}

impl From<ArmShown> for ArmRecord {
    fn from(arm: ArmShown) -> ArmRecord {
        let sets = arm.head_sets.iter().map(|s| HeadSetRecord { angle: s.angle.as_turns(), offset: s.offset });
        ArmRecord { unit: arm.unit, track: arm.track.into(), head_sets: sets.collect() }
    }
}

/// A phase of an assembly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PhaseRecord {
    /// `seek`, `settle`, `rotation`, `transfer`, `idle`, `parked`, `standby` or `spin-up`.
    pub kind: &'static str,
    /// What it is for; null without work.
    pub work: Option<&'static str>,
    /// Start.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
    /// The track of the work, at which a seek ends; null without work.
    pub track: Option<TrackRecord>,
    /// The low-power condition.
    pub condition: Option<&'static str>,
}

impl From<&Phase> for PhaseRecord {
    fn from(phase: &Phase) -> PhaseRecord {
        PhaseRecord {
            kind: match phase.kind {
                PhaseKind::Seek => "seek",
                PhaseKind::Settle => "settle",
                PhaseKind::RotationalWait => "rotation",
                PhaseKind::Transfer => "transfer",
                PhaseKind::Idle => "idle",
                PhaseKind::Parked => "parked",
                PhaseKind::Standby => "standby",
                PhaseKind::SpinUp => "spin-up",
            },
            work: phase.work.map(|work| match work {
                Work::Request => "request",
                Work::ReadAhead => "read-ahead",
                Work::Destage => "destage",
                Work::MediaScan => "media-scan",
                Work::Follow => "follow",
                Work::Cleaning => "cleaning",
                Work::Checkpoint => "checkpoint",
            }),
            from_ns: phase.from.0,
            to_ns: phase.to.0,
            track: phase.track.map(TrackRecord::from),
            condition: phase.condition.map(|c| Condition::name(c.condition)),
        }
    }
}

/// Where the first sector of a command lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlaceRecord {
    /// The unit.
    pub unit: u32,
    /// Radial position.
    pub cylinder: u32,
    /// Surface.
    pub head: u16,
    /// Angle of the first sector's leading edge on the platter.
    pub angle: f64,
    /// Angle that its sectors on this track take.
    pub length: f64,
}

impl PlaceRecord {
    /// The present place of `blocks` blocks from `block` on.
    pub fn of(drive: &Drive, block: Lba, blocks: u32) -> Option<PlaceRecord> {
        let (unit, place, per_sector): (u32, Place, u32) = drive.locate(block)?;
        let sectors = blocks.div_ceil(per_sector).min(place.run);
        Some(PlaceRecord {
            unit,
            cylinder: place.cylinder,
            head: place.head,
            angle: place.angle.as_turns(),
            length: f64::from(sectors) / f64::from(place.sectors_per_track.max(1)),
        })
    }
}

/// A command in the drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
pub struct CommandRecord {
    /// `read`, `write` or `flush`.
    pub op: &'static str,
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// When it reached the drive.
    pub arrival_ns: u64,
    /// When the drive began to serve it; null if that is after the window.
    pub chosen_ns: Option<u64>,
    /// When it completed; null with `chosen_ns`.
    pub completion_ns: Option<u64>,
    /// The assembly that served it.
    pub arm: Option<u8>,
    /// Whether the buffer served it.
    pub cache_hit: bool,
    /// Whether it failed.
    pub error: bool,
    /// Where its data lay when it arrived; null for writes that get their place later, and for flushes.
    pub place: Option<PlaceRecord>,
}

impl CommandRecord {
    /// A command that reaches `drive` at `now`.
    pub fn new(drive: &Drive, now: Time, request: &DriveRequest) -> CommandRecord {
        let (op, has_place) = match request.command {
            Command::Read | Command::ReadThrough => ("read", true),
            Command::Write | Command::WriteThrough => ("write", !drive.moves_writes()),
            Command::Flush => ("flush", false),
        };
        CommandRecord {
            op,
            block: request.lba.0,
            blocks: request.blocks,
            arrival_ns: now.0,
            place: match has_place {
                true => PlaceRecord::of(drive, request.lba, request.blocks),
                false => None,
            },
            ..CommandRecord::default()
        }
    }

    /// The command with what its completion says.
    pub fn completed(self, c: &Completion) -> CommandRecord {
        CommandRecord {
            chosen_ns: Some(c.arrival.after(c.components.queue).0),
            completion_ns: Some(c.completion.0),
            arm: Some(c.arm),
            cache_hit: c.cache_hit,
            error: c.error,
            ..self
        }
    }
}

/// Samples at equal distances: entry `i` is for the time `from_ns + i * step_ns`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SampleRecord {
    /// Time of the first sample.
    pub from_ns: u64,
    /// Time between samples.
    pub step_ns: u64,
    /// Mean power until the next sample, in watts: one entry less than the others.
    pub power_w: Vec<f64>,
    /// Blocks in the buffer that are not on the medium.
    pub unwritten_blocks: Vec<u64>,
    /// Most of them that the buffer holds.
    pub unwritten_limit_blocks: u64,
    /// Blocks in the buffer for reads.
    pub read_blocks: Vec<u64>,
}

impl SampleRecord {
    /// Adds what the buffer holds.
    pub fn add(&mut self, held: Buffered) {
        self.unwritten_blocks.push(held.unwritten);
        self.unwritten_limit_blocks = held.limit;
        self.read_blocks.push(held.for_reads);
    }
}
