//! The immutable description of a drive, shared by all equal drives.
//!
//! A [`DriveDesign`] holds the description, the layouts, the seek tables and the mapping of addresses to
//! units. It never changes. Ten thousand drives of a design share it and add ten thousand small states.

use crate::buffer::SectorSize;
use crate::drive::Drive;
use crate::layout::adaptive::{Adaptive, Density};
use crate::mapping;
use crate::mechanics::Mechanics;
use crate::models::Models;
use crate::options::DriveOptions;
use crate::power::conditions::Conditions;
use crate::power::seek_energy::SeekEnergy;
use crate::power::{self, PowerModel, Shape, StateWatts};
use crate::service::Shared;
use crate::spec::{ArmShare, DriveSpec, MediaScanMode, Params};
use crate::unit::ServiceUnit;
use crate::unit_plan::{self, UnitPlan};
use headstack_engine::random;
use headstack_engine::SpecError;
use headstack_schema::Plugins;
use headstack_units::{Rpm, Turn};
use rand::RngCore;
use serde_json::json;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// A checked description with all tables that drives of this kind share.
pub struct DriveDesign {
    pub(crate) common: Arc<Common>,
    pub(crate) addresses: Addresses,
    pub(crate) own_queues: bool,
    /// The designs of this drive at other spindle speeds, while a drive uses them.
    speeds: Speeds,
    /// The plan and the mechanics of each unit.
    pub(crate) units: Vec<(Arc<UnitPlan>, Mechanics)>,
    /// The densities of the surfaces, if they are not those of the shared description; and the description
    /// with them, once somebody has asked for it.
    density: Option<Box<[Density]>>,
    spec: OnceLock<Box<DriveSpec>>,
}

/// What designs share that differ in the density of their surfaces only.
pub(crate) struct Common {
    pub spec: DriveSpec,
    models: Models,
    shared: Arc<Shared>,
    pub watts: StateWatts,
    pub conditions: Conditions,
    /// Energy of seeks by distance, if the description has it.
    seek_energy: Option<SeekEnergy>,
}

/// How the power by state is found: [`power::build`], or its variant for other speeds.
type PowerOf = fn(&Params, &Shape, &Plugins<dyn PowerModel>) -> Result<StateWatts, SpecError>;

/// Designs that differ only in spindle speed, by the bits of the speed.
type Speeds = Arc<Mutex<Vec<(u64, Weak<DriveDesign>)>>>;

/// The mapping of addresses to units. Sizes are in 512-byte blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addresses {
    /// Size of one unit, units per stack, number of stacks.
    unit: u64,
    pub shares: u64,
    stacks: u64,
    /// Size of the pieces that go to the stacks in turn.
    stripe: u64,
}

impl Addresses {
    pub fn capacity(&self) -> u64 {
        self.unit * self.shares * self.stacks
    }

    /// The unit of an address, its block there, and the number of blocks that follow contiguously.
    pub fn locate(&self, lba: u64) -> (usize, u64, u64) {
        let stack_blocks = self.unit * self.shares;
        // Stripes fill the stacks up to here. The rest of each stack follows, in order of the stacks.
        let even = stack_blocks / self.stripe * self.stripe * self.stacks;
        let (stack, at, run) = if lba < even {
            let (number, inside) = (lba / self.stripe, lba % self.stripe);
            let at = number / self.stacks * self.stripe + inside;
            (number % self.stacks, at, self.stripe - inside)
        } else {
            let rest = stack_blocks % self.stripe;
            let (stack, inside) = ((lba - even) / rest, (lba - even) % rest);
            (stack, stack_blocks - rest + inside, rest - inside)
        };
        let (share, inside) = (at / self.unit, at % self.unit);
        let unit = stack * self.shares + share;
        (unit as usize, inside, run.min(self.unit - inside))
    }
}

impl DriveDesign {
    /// The parts of the 512-byte blocks that different actuators serve, as a drive reports them (concurrent positioning
    /// ranges); one part if an actuator serves all, or if addresses go to several stacks in turn.
    pub fn access_ranges(&self) -> Vec<Range<u64>> {
        let a = &self.addresses;
        match a.stacks == 1 && !self.own_queues {
            true => (0..a.shares).map(|i| i * a.unit..(i + 1) * a.unit).collect(),
            false => {
                let all = 0..self.capacity_blocks();
                vec![all]
            }
        }
    }

    /// Checks a description, which can name any of `models`, and builds everything that its drives share.
    ///
    /// # Errors
    /// Values that do not fit together, by dotted key.
    pub fn new(spec: &DriveSpec, models: &Models) -> Result<Arc<DriveDesign>, SpecError> {
        DriveDesign::of_power(spec, models, power::build, Speeds::default())
    }

    /// The same drive at another spindle speed. Angles, seek times and addresses stay the same; the length of
    /// a turn and the spindle's power change. Low-power conditions draw at most the idle power at that speed.
    ///
    /// # Errors
    /// A speed outside the bounds, or one that other values do not allow, by its key.
    pub fn at_speed(self: &Arc<Self>, speed: Rpm) -> Result<Arc<DriveDesign>, SpecError> {
        if speed == self.common.spec.geometry.rotation_speed {
            return Ok(self.clone());
        }
        let lock = || self.speeds.lock().unwrap_or_else(PoisonError::into_inner);
        let bits = speed.0.to_bits();
        let known = lock().iter().find(|(b, _)| *b == bits).and_then(|(_, d)| d.upgrade());
        if let Some(design) = known {
            return Ok(design);
        }
        let mut spec = self.spec().clone();
        spec.geometry.rotation_speed = speed;
        let design = DriveDesign::of_power(&spec, &self.common.models, power::build_bounded, self.speeds.clone())?;
        let mut speeds = lock();
        speeds.retain(|(_, d)| d.strong_count() > 0);
        for d in [self, &design] {
            speeds.push((d.common.spec.geometry.rotation_speed.0.to_bits(), Arc::downgrade(d)));
        }
        drop(speeds);
        Ok(design)
    }

    fn of_power(
        spec: &DriveSpec,
        models: &Models,
        power: PowerOf,
        speeds: Speeds,
    ) -> Result<Arc<DriveDesign>, SpecError> {
        let mut units: Vec<(Arc<UnitPlan>, Mechanics)> = Vec::new();
        for plan in unit_plan::units(spec)? {
            let alike = units.iter().find(|(p, _)| p.geometry == plan.geometry);
            let mechanics = match alike {
                Some((_, mechanics)) => mechanics.clone(),
                None => models.mechanics(spec, &plan.geometry, Turn(0))?,
            };
            units.push((Arc::new(plan), mechanics));
        }
        spec.check_room()?;
        let watts = power(&spec.power, &Shape::of(spec), &models.power)?;
        let common = Arc::new(Common {
            conditions: Conditions::new(&spec.power, &watts)?,
            seek_energy: SeekEnergy::read(&spec.power, spec.geometry.cylinders)?,
            watts,
            models: models.clone(),
            shared: Arc::new(Shared::new(spec)?),
            spec: spec.clone(),
        });
        let design = DriveDesign::of_units(common, units, speeds)?;
        let design = Arc::new(design);
        // Some errors are found only when units are built, so they are built here.
        design.new_units(&DriveOptions::default())?;
        design.zones()?;
        Ok(design)
    }

    fn of_units(
        common: Arc<Common>,
        units: Vec<(Arc<UnitPlan>, Mechanics)>,
        speeds: Speeds,
    ) -> Result<DriveDesign, SpecError> {
        let spec = &common.spec;
        let size = SectorSize::of(spec.geometry.sector_size);
        let least = units.iter().map(|(_, m)| m.layout.capacity()).min();
        let unit = mapping::offered_sectors(spec, least.unwrap_or(0))? * size.blocks();
        let shares = match spec.parallelism.arm_share {
            ArmShare::All => 1,
            ArmShare::OwnShare => spec.dash.arms as u64,
        };
        let stack_blocks = unit * shares;
        let stripe = match spec.parallelism.stack_unit.0 / 512 {
            0 => stack_blocks,
            n => n.min(stack_blocks),
        };
        Ok(DriveDesign {
            addresses: Addresses { unit, shares, stacks: spec.dash.stacks as u64, stripe },
            own_queues: spec.parallelism.logical_units,
            speeds,
            units,
            density: None,
            spec: OnceLock::new(),
            common,
        })
    }

    /// The same drive with surfaces of other densities: one for each, or one for all. The two designs share
    /// their seek times and everything else that does not depend on it. Only for the layout `adaptive`, whose
    /// `density` and `surface_zones` it replaces.
    ///
    /// # Errors
    /// Another layout, and densities that do not fit the geometry, by dotted key.
    pub fn with_density(&self, density: &[Density]) -> Result<Arc<DriveDesign>, SpecError> {
        let spec = &self.common.spec;
        let mut units: Vec<(Arc<UnitPlan>, Mechanics)> = Vec::with_capacity(self.units.len());
        for (plan, mechanics) in &self.units {
            let alike = units.iter().find(|(p, _)| p.geometry == plan.geometry);
            let own = match alike {
                Some((_, mechanics)) => mechanics.clone(),
                None => {
                    let layout = Adaptive::of_density(&plan.geometry, density)?;
                    mechanics.with_layout(Box::new(layout))
                }
            };
            units.push((plan.clone(), own));
        }
        let speeds = Speeds::default();
        let design =
            DriveDesign { density: Some(density.into()), ..DriveDesign::of_units(self.common.clone(), units, speeds)? };
        let design = Arc::new(design);
        if spec.media_scan.mode != MediaScanMode::None || !spec.mapping.is_empty() {
            // A scan and a log depend on the tracks.
            design.drive(&DriveOptions::default())?;
        }
        Ok(design)
    }

    /// A new drive of this design: arms at their initial positions, buffer empty, platter at the start phase.
    ///
    /// # Errors
    /// None: [`DriveDesign::new`] has found them all.
    pub fn drive(self: &Arc<Self>, options: &DriveOptions) -> Result<Drive, SpecError> {
        let mut units = self.new_units(options)?;
        for unit in &mut units {
            unit.server.write_initial_blocks(&self.common.spec, options.seed)?;
        }
        Ok(Drive::of_units(self.clone(), units, self.zones()?))
    }

    /// The zones of a host-managed drive.
    fn zones(&self) -> Result<Option<mapping::zoned::Zones>, SpecError> {
        let spec = &self.common.spec;
        let sector_blocks = SectorSize::of(spec.geometry.sector_size).blocks();
        let zones = mapping::zoned::read(spec)?;
        let built = zones.map(|z| mapping::zoned::Zones::new(&z, self.capacity_blocks(), sector_blocks));
        built.transpose()
    }

    /// The units of a drive, before the blocks that a log mapping has from the start are written.
    fn new_units(&self, options: &DriveOptions) -> Result<Vec<ServiceUnit>, SpecError> {
        let mut units = Vec::with_capacity(self.units.len());
        let mut first_assembly = 0;
        for (plan, mechanics) in &self.units {
            let phase = if plan.stack == 0 || options.synchronized_spindles {
                options.start_phase
            } else {
                let mut stream = random::stream(options.seed, &format!("spindle-{}", plan.stack));
                Turn(stream.next_u64())
            };
            let mut unit = ServiceUnit::new(
                &self.common.spec,
                &self.common.shared,
                &self.common.models,
                plan,
                mechanics.with_phase(phase),
                options,
            )?;
            if let Some(law) = self.common.seek_energy {
                unit.weigh_seeks(law);
            }
            unit.first_assembly = first_assembly;
            first_assembly += plan.arms.len() as u32;
            units.push(unit);
        }
        Ok(units)
    }

    /// The mechanics of the first unit.
    #[doc(hidden)]
    pub fn mechanics(&self) -> &Mechanics {
        &self.units[0].1
    }

    /// The description of the drive.
    pub fn spec(&self) -> &DriveSpec {
        let Some(density) = &self.density else { return &self.common.spec };
        self.spec.get_or_init(|| {
            let mut spec = self.common.spec.clone();
            let own = &mut spec.geometry.layout_parameters;
            own.remove("surface_zones");
            let list = density.iter().map(|d| json!({"bpi": d.bpi, "tpi": d.tpi})).collect();
            own.insert("density".into(), list);
            Box::new(spec)
        })
    }

    /// The power conditions that a drive can be in.
    pub fn conditions(&self) -> &Conditions {
        &self.common.conditions
    }

    /// The models that the description, and changes while a drive runs, can name.
    pub fn models(&self) -> &Models {
        &self.common.models
    }

    /// Number of 512-byte blocks that a drive offers.
    pub fn capacity_blocks(&self) -> u64 {
        self.addresses.capacity()
    }

    /// Sizes, in 512-byte blocks, of the logical units that the host sees, in order of the drive's addresses.
    /// Most drives have one. Stacks over which addresses are striped form one unit.
    pub fn logical_units(&self) -> Vec<u64> {
        let a = &self.addresses;
        let in_order = a.stacks == 1 || a.stripe == a.unit * a.shares;
        if self.own_queues && a.shares > 1 && in_order {
            vec![a.unit; (a.shares * a.stacks) as usize]
        } else {
            vec![self.capacity_blocks()]
        }
    }
}
