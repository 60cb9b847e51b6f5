//! The mapping of addresses to places: where on the medium the sectors of a host address lie.
//!
//! # Model
//! A drive's buffer, its queue and its host count sectors by address. The mechanics count places. The mapping of the
//! unit says which place an address has. With `identity` this is always the place of the layout. With `log` a write
//! gets its place when its service begins. With `media-cache` it goes to a cache on the medium, and later to its final
//! place (`media_cache`). With `zoned` the place is that of the layout, but the drive refuses commands that break the
//! rules of its zones (`zoned`).
//!
//! A unit has one mapping for all its assemblies. The mapping is an enum: each call is one branch, which the processor
//! predicts, and no virtual call.

mod beside;
pub mod cleaning;
#[doc(hidden)]
pub mod log;
#[doc(hidden)]
pub mod media_cache;
mod moves;
#[doc(hidden)]
pub mod parameters;
pub mod policy;
pub mod zoned;

pub(crate) use log::write::Writer;
pub(crate) use log::{From, Log, Move, Mover};
pub(crate) use media_cache::MediaCache;
pub use parameters::MODELS;
pub(crate) use parameters::{tables, KIND};

use crate::counters::Counters;
use crate::layout::Place;
use crate::mechanics::{Arm, Mechanics};
use crate::models::Models;
use crate::service::pass::{AccessRequest, Places};
use crate::spec::DriveSpec;
use crate::unit_plan::UnitPlan;
use headstack_engine::SpecError;
use headstack_units::{Span, Time};
use moves::Moves;

/// The mapping of a unit.
#[derive(Debug, Default)]
pub(crate) enum Mapping {
    /// Every address has a fixed place: that of the layout.
    #[default]
    Identity,
    /// A block is written to the free slot that the heads reach first.
    Log(Box<Log>),
    /// Writes go to a cache on the medium. Cleaning moves them to their band.
    MediaCache(Box<MediaCache>),
}

impl Mapping {
    /// The mapping of a unit of a drive; `together`: several commands may be in service at once.
    ///
    /// # Errors
    /// Settings that do not fit the drive, by dotted key.
    pub fn new(
        spec: &DriveSpec,
        models: &Models,
        plan: &UnitPlan,
        m: &Mechanics,
        together: bool,
    ) -> Result<Mapping, SpecError> {
        let minimum = spec.positioning.minimum_write;
        if let Some(p) = media_cache::read(spec)? {
            let media = MediaCache::new(&p, m, spec.geometry.sector_size.0, minimum)?;
            return Ok(Mapping::MediaCache(Box::new(media)));
        }
        Ok(match parameters::read(spec)? {
            None => Mapping::Identity,
            Some(p) => {
                let policy = parameters::build_policy(&p, &models.policies)?;
                let mut log = Log::new(&p, m, &plan.geometry, policy, minimum, together)?;
                if p.cleaning.is_on() {
                    let cleaner = p.cleaning.build(&models.cleaning)?;
                    log.clean_with(&p.cleaning, cleaner, m);
                }
                Mapping::Log(Box::new(log))
            }
        })
    }

    /// Number of physical sectors that have an address.
    #[inline]
    pub fn capacity(&self, m: &Mechanics) -> u64 {
        match self {
            Mapping::Identity => m.layout.capacity(),
            Mapping::Log(log) => log.capacity(),
            Mapping::MediaCache(media) => media.capacity,
        }
    }

    /// Writes the present place of the address `sector` into `place`. Past the end it writes nothing and returns false.
    /// [`Place::run`] and [`Place::before`] count sectors with consecutive addresses.
    #[inline(always)]
    pub fn locate_into(&self, m: &Mechanics, sector: u64, place: &mut Place) -> bool {
        match self {
            Mapping::Identity => m.layout.locate_into(sector, place),
            Mapping::Log(log) => log.locate_into(m, sector, u32::MAX, place),
            Mapping::MediaCache(media) => media.locate_into(m, sector, place),
        }
    }

    /// The present place of the address `sector`; `None` past the end.
    #[inline(always)]
    pub fn locate(&self, m: &Mechanics, sector: u64) -> Option<Place> {
        let mut place = Place::default();
        self.locate_into(m, sector, &mut place).then_some(place)
    }

    /// The first and the last of the consecutive addresses around `sector` on its track. `sector` must be below the
    /// capacity.
    #[inline]
    pub fn track_bounds(&self, m: &Mechanics, sector: u64) -> (u64, u64) {
        match self {
            Mapping::Identity => m.layout.track_bounds(sector),
            Mapping::Log(log) => log.track_bounds(m, sector),
            Mapping::MediaCache(media) => media.track_bounds(m, sector),
        }
    }

    /// Whether blocks wait to be moved by cleaning.
    pub fn wants_cleaning(&self) -> bool {
        match self {
            Mapping::Identity => false,
            Mapping::Log(log) => log.wants_cleaning(),
            Mapping::MediaCache(media) => media.wants_cleaning(),
        }
    }

    /// The time from which a part of a checkpoint may be written; `None` if none is due.
    #[inline]
    pub fn checkpoint_from(&self) -> Option<Time> {
        match self {
            Mapping::Identity | Mapping::MediaCache(_) => None,
            Mapping::Log(log) => log.checkpoint_from(),
        }
    }

    /// What it has counted up to now.
    pub fn counted(&self, m: &Mechanics) -> Counters {
        match self {
            Mapping::Identity | Mapping::MediaCache(_) => Counters::default(),
            Mapping::Log(log) => Counters { recovery_scan_s: log.scan_time(m).map(Span::as_secs_f64), ..log.counted },
        }
    }

    /// Whether a write chooses its place when its service begins.
    #[inline]
    pub fn moves_writes(&self) -> bool {
        matches!(self, Mapping::Log(_) | Mapping::MediaCache(_))
    }

    /// What has moved; `None` where nothing does.
    fn moves(&mut self) -> Option<&mut Moves> {
        match self {
            Mapping::Identity => None,
            Mapping::Log(log) => Some(&mut log.moves),
            Mapping::MediaCache(media) => Some(&mut media.moves),
        }
    }

    /// Forgets which addresses have moved so far. From now on, moves are recorded if `watched` is true.
    pub fn watch(&mut self, watched: bool) {
        if let Some(moves) = self.moves() {
            moves.watch(watched);
        }
    }

    /// A range of addresses that have moved since the last call: the first one, and the one after the last.
    pub fn next_moved(&mut self) -> Option<(u64, u64)> {
        self.moves()?.list.pop()
    }
}

impl Places for &Mapping {
    #[inline(always)]
    fn place(&mut self, m: &Mechanics, order: &AccessRequest, done: u32, _: &Arm, _: Time) -> Option<Place> {
        self.locate(m, order.sector + u64::from(done))
    }
}

/// The assembly of a unit that writes the checkpoints of a log: the first one that always writes, as `writers` says for
/// each assembly. `None` without checkpoints.
///
/// # Errors
/// As for reading `[mapping]`.
pub(crate) fn checkpoints_by(spec: &DriveSpec, writers: &[bool]) -> Result<Option<usize>, SpecError> {
    let found = parameters::read(spec)?;
    let found = found.filter(|p| p.recovery.model == parameters::RecoveryModel::Checkpoint);
    Ok(found.map(|_| cleaning::first_writer(writers)))
}

/// The assembly of a unit that cleans a log, and how long the mechanism must have been idle before it moves a
/// block; `None` if nothing is cleaned.
///
/// # Errors
/// As for reading `[mapping]`, and an arm that does not always write.
pub(crate) fn cleaning_of(spec: &DriveSpec, writers: &[bool]) -> Result<Option<(usize, Span)>, SpecError> {
    let Some(p) = parameters::read(spec)?.filter(|p| p.cleaning.is_on()) else { return Ok(None) };
    Ok(Some((p.cleaning.assembly(writers)?, p.cleaning.idle_after)))
}

/// The number of blocks that a log writes before the run, and the mean time between two; `None` if it writes none.
///
/// # Errors
/// As for reading `[mapping]`.
pub(crate) fn initial_writes(spec: &DriveSpec) -> Result<Option<(u64, Span)>, SpecError> {
    Ok(parameters::read(spec)?.and_then(|p| p.written_first()))
}

/// Number of physical sectors that a unit of a drive offers, if its layout has `capacity` of them.
///
/// # Errors
/// As for reading `[mapping]`.
pub(crate) fn offered_sectors(spec: &DriveSpec, capacity: u64) -> Result<u64, SpecError> {
    let sector = spec.geometry.sector_size.0;
    if let Some(p) = media_cache::read(spec)? {
        return Ok(media_cache::offered_sectors(&p, sector, capacity));
    }
    Ok(match parameters::read(spec)? {
        None => capacity,
        Some(p) => log::offered_sectors(&p, sector, capacity),
    })
}
