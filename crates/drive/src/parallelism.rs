//! The DASH space: disk stacks, arm assemblies, surfaces accessed at once, heads per arm.
//!
//! # Model
//! A drive is D_k A_l S_m H_n: k stacks, each with its own spindle; l arm assemblies per stack; m surfaces
//! that an assembly reads or writes at once; n heads per arm and surface. `geometry` describes one stack, so
//! k stacks hold k times as much. With m above 1, m neighbouring surfaces form one logical track of their
//! joint length: sectors alternate between them, and head switches lead from one group to the next. The heads
//! of an arm move together. At angular offsets all are over the same cylinder; at radial offsets each serves
//! its own share of the cylinders.
//! # Source
//! S. Sankar, S. Gurumurthi, M. R. Stan, "Intra-Disk Parallelism: An Idea Whose Time Has Come",
//! ISCA 2008, section 4; dual-actuator products: Seagate Exos 2X manuals (an actuator for each
//! half of the addresses).
//! # Validity
//! Ganged surfaces are assumed to stay aligned, which the paper calls hard to build. A transfer that crosses
//! the end of a radial head's share is completed by the same head.

use crate::bounds::{bounded, MOST_LIFE, MOST_MEAN_LIFE, MOST_PAUSE};
use crate::roles::RolesSpec;
use headstack_schema::{wrong_kind, Choice, Kind, Parameter, SpecError, Table};
use headstack_units::{Bytes, Span, Turn};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// Degrees of parallelism, written `D1A4S1H1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dash {
    /// Disk stacks.
    pub stacks: u32,
    /// Arm assemblies per stack.
    pub arms: u32,
    /// Surfaces that an assembly accesses at once.
    pub surfaces: u32,
    /// Heads per arm and surface.
    pub heads: u32,
}

impl Dash {
    /// The conventional drive, D1A1S1H1.
    pub const CONVENTIONAL: Dash = Dash { stacks: 1, arms: 1, surfaces: 1, heads: 1 };
    /// Largest degree in each dimension.
    pub const MOST: u32 = 16;

    fn need() -> String {
        format!("\"D<stacks>A<arms>S<surfaces>H<heads>\" with numbers from 1 to {}, e.g. \"D1A2S1H1\"", Dash::MOST)
    }
}

impl Default for Dash {
    fn default() -> Self {
        Dash::CONVENTIONAL
    }
}

impl fmt::Display for Dash {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "D{}A{}S{}H{}", self.stacks, self.arms, self.surfaces, self.heads)
    }
}

impl FromStr for Dash {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Dash, SpecError> {
        let fail = || SpecError::new("dash", format!("{text:?}"), Dash::need());
        let mut rest = text.trim();
        let mut degrees = [0; 4];
        for (letter, degree) in ['D', 'A', 'S', 'H'].into_iter().zip(&mut degrees) {
            rest = rest.strip_prefix([letter, letter.to_ascii_lowercase()]).ok_or_else(fail)?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            *degree = rest[..digits].parse().map_err(|_| fail())?;
            rest = &rest[digits..];
            if !(1..=Dash::MOST).contains(degree) {
                return Err(fail());
            }
        }
        if !rest.is_empty() {
            return Err(fail());
        }
        let [stacks, arms, surfaces, heads] = degrees;
        Ok(Dash { stacks, arms, surfaces, heads })
    }
}

impl Parameter for Dash {
    fn kind() -> Kind {
        Kind::Form { need: "the degrees of parallelism: D<stacks>A<arms>S<surfaces>H<heads>", example: "D1A2S1H1" }
    }
    fn read(value: &Value) -> Result<Dash, SpecError> {
        let Value::String(text) = value else { return Err(wrong_kind(value, Dash::need())) };
        let wrong = |e: SpecError| SpecError { key: String::new(), ..e };
        text.parse().map_err(wrong)
    }
    fn write(&self) -> Value {
        self.to_string().into()
    }
    fn check(&self) -> Result<(), SpecError> {
        let Dash { stacks, arms, surfaces, heads } = *self;
        for degree in [stacks, arms, surfaces, heads] {
            bounded("", degree, 1..=Dash::MOST)?;
        }
        Ok(())
    }
}

/// Settings that the degrees of parallelism leave open.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct ParallelismSpec {
    /// The assemblies one by one, as many as `dash` says. If empty, they are spaced equally around the
    /// platter.
    #[param(omit = Vec::is_empty)]
    pub arms: Vec<ArmSpec>,
    /// Which surfaces an assembly serves.
    pub arm_share: ArmShare,
    /// With `arm_share = "own-share"`: whether each assembly is a logical unit with its own queue (SAS), or
    /// one queue serves all (SATA).
    pub logical_units: bool,
    /// Whether the heads of an arm have angular or radial offsets.
    pub heads: HeadOffset,
    /// Angle between neighbouring heads of an arm. If absent, all heads of all assemblies are spaced equally.
    pub head_spacing: Option<Turn>,
    /// Commands that the assemblies of a stack serve at once, one each, counted from the start of the
    /// movement to the end of the command. 0: as many as there are assemblies.
    #[param(default = 1)]
    pub arms_in_motion: u32,
    /// Transfers between medium and electronics at once, per stack. 0: as many as there are arms.
    #[param(default = 1)]
    pub channels: u32,
    /// Which of several possible assemblies serves a command.
    pub arm_choice: ArmChoice,
    /// What idle assemblies do.
    pub parking: Parking,
    /// What each assembly of a stack may serve, in order: `[["write"], ["read"]]` for an arm that writes and one that
    /// reads. Or a table with `policy` and its parameters. Empty: all serve reads and writes.
    #[param(omit = RolesSpec::is_none)]
    pub roles: RolesSpec,
    /// Addresses are striped over the stacks in pieces of this size. 0: one stack after another.
    #[param(default = Bytes(64 * 1024), range = Bytes(0)..=Bytes(1 << 40))]
    pub stack_unit: Bytes,
    /// Time that a command loses at a head that has failed without warning, before the drive deconfigures it.
    #[param(default = Span::from_ms(1000.0), range = Span::ZERO..=MOST_PAUSE)]
    pub fault_recovery: Span,
    /// Heads and assemblies that fail.
    #[param(omit = Vec::is_empty)]
    pub faults: Vec<FaultSpec>,
}

/// One arm assembly.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct ArmSpec {
    /// Its angle around the platter.
    pub angle: Turn,
    /// Cylinder at which it starts; a cylinder of the disk.
    pub start_cylinder: u32,
}

/// Which surfaces an assembly serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum ArmShare {
    /// All of them.
    #[default]
    All,
    /// Each an equal share of the surfaces, with the contiguous addresses on them. Such assemblies work
    /// independently of each other.
    OwnShare,
}

/// The offset between the heads of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum HeadOffset {
    /// Over the same cylinder at different angles.
    #[default]
    Angular,
    /// At the same angle over different cylinders; each serves an equal share of them.
    Radial,
}

/// Which of several possible assemblies serves a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum ArmChoice {
    /// The one with the shortest sum of seek time and rotational latency.
    #[default]
    Positioning,
    /// The one with the shortest rotational latency.
    Rotation,
    /// The one with the shortest seek time.
    Seek,
}

/// What an assembly may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
pub enum Role {
    /// Reads.
    Read,
    /// Writes, buffered data included.
    Write,
}

/// What idle assemblies do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Parking {
    /// They stay where they are.
    #[default]
    Hold,
    /// They follow the assembly that works, at the same time; their movement takes energy.
    Follow,
}

/// A head or a whole assembly that fails.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct FaultSpec {
    /// Time of the failure; or give `mean_time_to_failure`. Up to 100 years of 365 days.
    #[param(range = Span::ZERO..=MOST_LIFE)]
    pub at: Option<Span>,
    /// Mean of the exponential distribution from which the time is drawn, with the drive's seed.
    /// Data sheets say 2.5 million hours.
    #[param(range = Span(1)..=MOST_MEAN_LIFE)]
    pub mean_time_to_failure: Option<Span>,
    /// Disk stack, from 0.
    pub stack: u32,
    /// Arm assembly, from 0.
    pub arm: u32,
    /// Surface whose head fails; absent: the whole assembly.
    pub surface: Option<u32>,
    /// Whether the drive is warned, so that it deconfigures the part before a command meets the failure.
    pub warning: bool,
}

/// One way to reach a sector: a head set of an assembly. The head sets of an assembly move together.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct HeadSet {
    pub assembly: u32,
    /// Bit `h` is set if it serves surface (or gang of surfaces) `h`.
    pub surfaces: u64,
    /// The cylinders that it can reach: the first, and the one after the last.
    pub cylinders: (u32, u32),
    /// Distance in cylinders inward from the assembly's first head set.
    pub offset: u32,
    /// Whether its assembly serves reads, and whether it serves writes.
    pub reads: bool,
    pub writes: bool,
}

impl HeadSet {
    /// Whether it serves commands of this kind, can reach a cylinder and has heads on all of these surfaces.
    #[inline]
    pub fn reaches(&self, surfaces: u64, cylinder: u32, write: bool) -> bool {
        self.serves(write)
            && self.surfaces & surfaces == surfaces
            && self.cylinders.0 <= cylinder
            && cylinder < self.cylinders.1
    }

    /// Whether it serves writes, or reads.
    #[inline]
    pub fn serves(&self, write: bool) -> bool {
        if write {
            self.writes
        } else {
            self.reads
        }
    }
}

impl ParallelismSpec {
    /// The assemblies of one stack.
    pub(crate) fn assemblies(&self, dash: Dash) -> Vec<ArmSpec> {
        if !self.arms.is_empty() {
            return self.arms.clone();
        }
        (0..dash.arms)
            .map(|a| ArmSpec { angle: Turn::from_ratio(a as u64, dash.arms as u64), start_cylinder: 0 })
            .collect()
    }

    /// Angle and cylinder offset of each head of an arm, relative to the assembly.
    pub(crate) fn head_offsets(&self, dash: Dash, cylinders: u32) -> Vec<(Turn, u32)> {
        (0..dash.heads)
            .map(|h| match self.heads {
                HeadOffset::Angular => {
                    let spacing = self.head_spacing.unwrap_or(Turn::from_ratio(1, (dash.arms * dash.heads) as u64));
                    (Turn(spacing.0.wrapping_mul(h as u64)), 0)
                }
                HeadOffset::Radial => {
                    let share = cylinders.div_ceil(dash.heads);
                    (Turn(0), (share * h).min(cylinders.saturating_sub(1)))
                }
            })
            .collect()
    }
}
