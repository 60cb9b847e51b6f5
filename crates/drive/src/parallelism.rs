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
use crate::roles::{self, RolesSpec};
use crate::spec::{Derived, DriveSpec, GeometrySpec, PerSurface, SkewUnit, Sparing};
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
    pub const CONVENTIONAL: Dash = Dash {
        stacks: 1,
        arms: 1,
        surfaces: 1,
        heads: 1,
    };
    /// Largest degree in each dimension.
    pub const MOST: u32 = 16;

    fn need() -> String {
        format!(
            "\"D<stacks>A<arms>S<surfaces>H<heads>\" with numbers from 1 to {}, e.g. \"D1A2S1H1\"",
            Dash::MOST
        )
    }

    /// Number of transfer paths: the product of the four degrees.
    pub fn transfer_paths(self) -> u32 {
        self.stacks * self.arms * self.surfaces * self.heads
    }
}

impl Default for Dash {
    fn default() -> Self {
        Dash::CONVENTIONAL
    }
}

impl fmt::Display for Dash {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "D{}A{}S{}H{}",
            self.stacks, self.arms, self.surfaces, self.heads
        )
    }
}

impl FromStr for Dash {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Dash, SpecError> {
        let fail = || SpecError::new("dash", format!("{text:?}"), Dash::need());
        let mut rest = text.trim();
        let mut degrees = [0; 4];
        for (letter, degree) in ['D', 'A', 'S', 'H'].into_iter().zip(&mut degrees) {
            rest = rest
                .strip_prefix([letter, letter.to_ascii_lowercase()])
                .ok_or_else(fail)?;
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
        Ok(Dash {
            stacks,
            arms,
            surfaces,
            heads,
        })
    }
}

impl Parameter for Dash {
    fn kind() -> Kind {
        Kind::Form {
            need: "the degrees of parallelism: D<stacks>A<arms>S<surfaces>H<heads>",
            example: "D1A2S1H1",
        }
    }
    fn read(value: &Value) -> Result<Dash, SpecError> {
        let Value::String(text) = value else {
            return Err(wrong_kind(value, Dash::need()));
        };
        let wrong = |e: SpecError| SpecError {
            key: String::new(),
            ..e
        };
        text.parse().map_err(wrong)
    }
    fn write(&self) -> Value {
        self.to_string().into()
    }
    fn check(&self) -> Result<(), SpecError> {
        let Dash {
            stacks,
            arms,
            surfaces,
            heads,
        } = *self;
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
    /// What each assembly of a stack may serve, in order: `[["write"], ["read"]]` for an arm that writes and
    /// one that reads. Or a table with `policy`, a name of the `roles` folder, and its parameters. Empty: all
    /// serve reads and writes.
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
pub(crate) struct HeadSet {
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

/// A part of a drive with a queue and assemblies of its own: a stack or, with `own-share`, an assembly and
/// its surfaces.
#[derive(Debug, Clone)]
pub(crate) struct UnitPlan {
    pub geometry: GeometrySpec,
    pub arms: Vec<ArmSpec>,
    /// Index of the disk stack, and of the first assembly in it; used for faults.
    pub stack: u32,
    pub first_arm: u32,
    /// The stack's first surface that belongs to the unit.
    pub first_surface: u32,
}

impl ParallelismSpec {
    /// Checks the degrees of parallelism and these settings against each other.
    pub(crate) fn check(&self, dash: Dash, geometry: &GeometrySpec) -> Result<(), SpecError> {
        let at = |key: &str| format!("parallelism.{key}");
        if !self.arms.is_empty() && self.arms.len() as u32 != dash.arms {
            return Err(SpecError::new(
                at("arms"),
                format!("{} assemblies", self.arms.len()),
                format!("{}, as dash = \"{dash}\" says", dash.arms),
            ));
        }
        for (key, value) in [
            ("arms_in_motion", self.arms_in_motion),
            ("channels", self.channels),
        ] {
            if value > dash.arms {
                return Err(SpecError::new(
                    at(key),
                    value,
                    format!("at most the {} assemblies of a stack (0: all)", dash.arms),
                ));
            }
        }
        if let RolesSpec::Table(table) = &self.roles {
            roles::check(table, self, dash)?;
        }
        if self.arm_share == ArmShare::OwnShare && geometry.surfaces % dash.arms != 0 {
            return Err(SpecError::new(
                at("arm_share"),
                format!(
                    "{} surfaces for {} assemblies",
                    geometry.surfaces, dash.arms
                ),
                "an equal number of surfaces for each",
            ));
        }
        if self.stack_unit.0 % 512 != 0 {
            return Err(SpecError::new(
                at("stack_unit"),
                self.stack_unit,
                "a multiple of 512 B (0: one stack after another)",
            ));
        }
        if !self.faults.is_empty() && geometry.surfaces > 64 {
            return Err(SpecError::new(
                "geometry.surfaces",
                geometry.surfaces,
                "at most 64 where faults are described",
            ));
        }
        for (i, arm) in self.arms.iter().enumerate() {
            bounded(
                at(&format!("arms[{i}].start_cylinder")),
                arm.start_cylinder,
                0..=geometry.cylinders - 1,
            )?;
        }
        self.check_faults(dash, geometry)
    }

    /// Checks when each fault occurs, and that the drive has the part.
    fn check_faults(&self, dash: Dash, geometry: &GeometrySpec) -> Result<(), SpecError> {
        for (i, f) in self.faults.iter().enumerate() {
            let key = |k: &str| format!("parallelism.faults[{i}].{k}");
            match (f.at, f.mean_time_to_failure) {
                (Some(_), None) | (None, Some(_)) => {}
                (a, _) => {
                    let got = if a.is_some() { "both" } else { "neither" };
                    return Err(SpecError::new(
                        key("at"),
                        got,
                        "one of at and mean_time_to_failure",
                    ));
                }
            }
            for (k, value, limit) in [
                ("stack", f.stack, dash.stacks),
                ("arm", f.arm, dash.arms),
                ("surface", f.surface.unwrap_or(0), geometry.surfaces),
            ] {
                if value >= limit {
                    return Err(SpecError::new(
                        key(k),
                        value,
                        format!("less than {limit}: they count from 0"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// The assemblies of one stack.
    fn assemblies(&self, dash: Dash) -> Vec<ArmSpec> {
        if !self.arms.is_empty() {
            return self.arms.clone();
        }
        (0..dash.arms)
            .map(|a| ArmSpec {
                angle: Turn::from_ratio(a as u64, dash.arms as u64),
                start_cylinder: 0,
            })
            .collect()
    }

    /// Angle and cylinder offset of each head of an arm, relative to the assembly.
    pub(crate) fn head_offsets(&self, dash: Dash, cylinders: u32) -> Vec<(Turn, u32)> {
        (0..dash.heads)
            .map(|h| match self.heads {
                HeadOffset::Angular => {
                    let spacing = self
                        .head_spacing
                        .unwrap_or(Turn::from_ratio(1, (dash.arms * dash.heads) as u64));
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

/// The units of a drive in order of address: the stacks, and in each stack the shares.
pub(crate) fn units(spec: &DriveSpec) -> Result<Vec<UnitPlan>, SpecError> {
    spec.check()?;
    let (dash, p) = (spec.dash, &spec.parallelism);
    let arms = p.assemblies(dash);
    let mut plans = Vec::new();
    for stack in 0..dash.stacks {
        if p.arm_share == ArmShare::All {
            plans.push(UnitPlan {
                geometry: ganged(&spec.geometry, dash.surfaces)?,
                arms: arms.clone(),
                stack,
                first_arm: 0,
                first_surface: 0,
            });
            continue;
        }
        let share = spec.geometry.surfaces / dash.arms;
        for (a, arm) in arms.iter().enumerate() {
            let first = share * a as u32;
            let part = surfaces_of(&spec.geometry, first, share, dash.arms);
            plans.push(UnitPlan {
                geometry: ganged(&part, dash.surfaces)?,
                arms: vec![arm.clone()],
                stack,
                first_arm: a as u32,
                first_surface: first,
            });
        }
    }
    Ok(plans)
}

/// The geometry of `count` surfaces from `first` on, one of `shares` equal parts.
fn surfaces_of(geometry: &GeometrySpec, first: u32, count: u32, shares: u32) -> GeometrySpec {
    let mut part = geometry.clone();
    if shares > 1 {
        part.derived = Some(Derived {
            by: "parallelism.arm_share",
            first_surface: first,
            of_surfaces: geometry.surfaces,
        });
    }
    part.surfaces = count;
    for zone in &mut part.zones {
        if let PerSurface::Each(list) = &zone.sectors_per_track {
            let own = list.iter().skip(first as usize).take(count as usize);
            zone.sectors_per_track = PerSurface::Each(own.copied().collect());
        }
    }
    part.capacity_blocks = geometry.capacity_blocks.map(|n| n / shares as u64);
    part
}

/// The geometry in which `m` neighbouring surfaces form one logical track.
fn ganged(geometry: &GeometrySpec, m: u32) -> Result<GeometrySpec, SpecError> {
    if m == 1 {
        return Ok(geometry.clone());
    }
    let movable = matches!(
        geometry.sparing,
        Sparing::None | Sparing::DiskEnd | Sparing::ZoneEnd
    );
    let defects = |z: &crate::spec::ZoneSpec| !z.slips.is_empty() || !z.remaps.is_empty();
    if !movable || geometry.zones.iter().any(defects) {
        return Err(SpecError::new(
            "dash",
            format!("S{m} with slips, remaps or spares on each track or cylinder"),
            "S1: surfaces at once are not supported for such formats",
        ));
    }
    let mut out = geometry.clone();
    let whole = (0, geometry.surfaces);
    let (first_surface, of_surfaces) = geometry
        .derived
        .map_or(whole, |d| (d.first_surface, d.of_surfaces));
    out.derived = Some(Derived {
        by: "dash",
        first_surface,
        of_surfaces,
    });
    out.surfaces = geometry.surfaces.div_ceil(m);
    out.skew_unit = SkewUnit::Turns;
    for zone in &mut out.zones {
        let spt: Vec<u32> = (0..geometry.surfaces)
            .map(|s| zone.sectors_per_track.of(s))
            .collect();
        if geometry.skew_unit == SkewUnit::Sectors {
            // In whole sectors of the first surface, as the layout counts skews.
            let unit = f64::from(spt.first().copied().unwrap_or(1).max(1));
            for skew in [
                &mut zone.track_skew,
                &mut zone.cylinder_skew,
                &mut zone.offset,
            ] {
                *skew = skew.trunc() / unit;
            }
        }
        let gangs: Vec<u32> = spt
            .chunks(m as usize)
            .map(|g| g.iter().fold(0u32, |a, n| a.saturating_add(*n)))
            .collect();
        zone.sectors_per_track = match gangs.first() {
            Some(first) if gangs.iter().all(|g| g == first) => PerSurface::Same(*first),
            _ => PerSurface::Each(gangs),
        };
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dash_reads_what_it_writes() {
        for text in ["D1A1S1H1", "D2A4S1H16", "D16A1S3H2"] {
            assert_eq!(text.parse::<Dash>().unwrap().to_string(), text);
        }
        assert_eq!("d1a2s1h1".parse::<Dash>().unwrap().arms, 2);
        for text in [
            "",
            "D1",
            "D1A1S1",
            "D0A1S1H1",
            "D1A17S1H1",
            "D1A1S1H1x",
            "A1D1S1H1",
            "D1A1S1H99999999999",
        ] {
            let error = text.parse::<Dash>().unwrap_err().to_string();
            assert!(error.contains("e.g. \"D1A2S1H1\""), "{error}");
        }
    }

    /// Figure 1 of the paper: (a) has two transfer paths, (b) four.
    #[test]
    fn figure_1_counts_the_paths() {
        let paths = |text: &str| text.parse::<Dash>().unwrap().transfer_paths();
        assert_eq!(paths("D1A1S1H1"), 1);
        assert_eq!(paths("D1A2S1H1"), 2);
        assert_eq!(paths("D1A2S1H2"), 4);
    }
}
