//! Worlds from a seed: a drive, and what its host does to it. A new entry of a registry is drawn unasked.
//!
//! [`World::of`] draws everything, or leaves out what is fixed; [`World::on`] takes a drive as it is. [`World::check`]
//! checks what holds for every drive; a world that fails is printed with the drive as TOML.

mod deeds;
mod drawn;
mod drive;
mod run;
mod shown;

pub use deeds::Deed;
pub use drawn::{blocks, draw_drive, Base, Drawn};
pub use drive::{vary, vary_limits};
pub use run::{Looks, Ran};

use crate::{checks, smaller, SplitMix};
use headstack_drive::spec::Parking;
use headstack_drive::{DriveDesign, DriveSpec, Models, PhaseKind};
use headstack_engine::SpecError;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe};
use std::sync::{Arc, Once};

const MS: u64 = 1_000_000;
/// About so many times of those at which a phase begins or ends a drive is looked at.
const MOST_LOOKS: u64 = 150;

/// A drive and its host.
#[derive(Clone)]
pub struct World {
    /// Of the drive's and the host's random numbers.
    pub seed: u64,
    /// The drive.
    pub design: Arc<DriveDesign>,
    /// What the host does, in order of time.
    pub deeds: Vec<(u64, Deed)>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "seed {}:\n{}\n{:?}", self.seed, drawn::as_table(self.spec()), self.deeds)
    }
}

impl World {
    /// Everything is drawn, but for what the TOML in `fixed` has: its keys and tables take the place of drawn ones.
    ///
    /// # Errors
    /// A drive of such parts cannot be.
    pub fn of(seed: u64, fixed: &str) -> Result<World, SpecError> {
        let mut draw = SplitMix(seed);
        let spec = drawn(&mut draw, fixed);
        World::drawn_on(seed, &spec, &mut draw)
    }

    /// The same with everything that files of real drives set besides.
    ///
    /// # Errors
    /// As [`World::of`].
    pub fn varied(seed: u64, fixed: &str) -> Result<World, SpecError> {
        let mut draw = SplitMix(seed);
        let mut spec = drawn(&mut draw, fixed);
        spec.parallelism.parking = draw.of(&[Parking::Hold, Parking::Follow]);
        let idle = draw.one_in(2);
        vary(&mut draw, &mut spec, idle);
        if draw.one_in(3) {
            vary_limits(&mut draw, &mut spec);
        }
        let mut draw = SplitMix(!seed ^ 1);
        let table = drawn::further(&mut draw, &spec);
        let spec: DriveSpec = table.try_into().map_err(|e| SpecError::new("drawn", e, "a drive"))?;
        // A log is cleaned, and checkpoints are written, while its host rests.
        let rests = spec.mapping.get("model").is_some_and(|m| m == "log") && draw.one_in(2);
        Ok(World::on(seed, &spec)?.paced(usize::MAX, if rests { 8.0 } else { 1.0 }))
    }

    /// This drive, with a host that gives it commands of all kinds and lengths, with hints.
    ///
    /// # Errors
    /// The drive cannot be.
    pub fn on(seed: u64, spec: &DriveSpec) -> Result<World, SpecError> {
        let mut draw = SplitMix(!seed);
        let mut world = World::drawn_on(seed, spec, &mut draw)?;
        let zone = &spec.geometry.zones[0];
        let track = u64::from(zone.sectors_per_track.of(0)) * (spec.geometry.sector_size.0 / 512);
        let capacity = world.design.capacity_blocks();
        deeds::hinted(&mut world.deeds, capacity, (track * 10).min(capacity / 4), &mut draw);
        Ok(world)
    }

    fn drawn_on(seed: u64, spec: &DriveSpec, draw: &mut SplitMix) -> Result<World, SpecError> {
        let design = DriveDesign::new(spec, &Models::builtin())?;
        let deeds = deeds::deeds(design.capacity_blocks(), draw);
        Ok(World { seed, design, deeds })
    }

    /// The host also changes settings all the time.
    pub fn restless(mut self) -> World {
        deeds::restless(&mut self.deeds, &mut SplitMix(self.seed));
        self
    }

    /// The host only gives commands, and only right ones.
    pub fn calm(mut self) -> World {
        let capacity = self.design.capacity_blocks();
        let is_right = |d: &Deed| matches!(d, Deed::Submit(r) if r.blocks > 0 && r.lba.0.checked_add(r.blocks.into()).is_some_and(|p| p <= capacity));
        self.deeds.retain(|(_, deed)| is_right(deed));
        self
    }

    /// The host does all of it so many times, with pauses of 3 s, each time at places a ninth of the
    /// drive further.
    pub fn again(mut self, times: u64) -> World {
        let (once, capacity) = (std::mem::take(&mut self.deeds), self.design.capacity_blocks());
        // Numbers of commands are less than 1000.
        let last = once.last().map_or(0, |d| d.0) + 3000 * MS;
        for nth in 0..times {
            let moved = |deed: &Deed| deed.moved(nth * 1000, nth * (capacity / 9), capacity);
            self.deeds.extend(once.iter().map(|(at, deed)| (at + nth * last, moved(deed))));
        }
        self
    }

    /// The host does so many things at most, and takes so much longer or shorter for them.
    pub fn paced(mut self, most: usize, pace: f64) -> World {
        self.deeds.truncate(most);
        self.deeds.iter_mut().for_each(|(at, _)| *at = (*at as f64 * pace) as u64);
        self
    }

    /// The description of the drive.
    pub fn spec(&self) -> &DriveSpec {
        self.design.spec()
    }

    /// Checks what holds for every drive and host; returns what was done without looking at it.
    ///
    /// # Panics
    /// Something does not hold. The smallest world found of which the same does not hold is printed.
    pub fn check(&self) -> Ran {
        caught(|| self.hold()).unwrap_or_else(|panic| {
            let (world, drive) = self.smaller(&panic);
            println!("{}", shown::shown(&world, drive));
            panic!("seed {}: {}", self.seed, panic.text)
        })
    }

    fn hold(&self) -> Ran {
        let plain = self.run(&Looks::Never);
        checks::completions(self, &plain);
        checks::course(self, &plain);
        self.looked_at(&Looks::Often(2), &plain);
        self.looked_at(&Looks::Generally, &plain);
        let at_once = self.looked_at(&Looks::AtOnce, &plain).at_once;
        // Also exactly when a phase begins or ends: nothing starts earlier because it was looked for.
        let bounds = plain.phases.iter().flat_map(|p| [p.from.0, p.to.0]);
        let (mut draw, n) = (SplitMix(self.seed ^ 1), 2 * plain.phases.len() as u64);
        let mut times: BTreeSet<u64> = bounds.filter(|_| draw.below(n) < MOST_LOOKS).collect();
        let last = plain.done.iter().map(|c| c.completion.0).max().unwrap_or(0);
        times.extend((0..times.len() / 2).map(|_| draw.below(last + 60 * MS)));
        times.insert(plain.end - 1);
        times.retain(|t| *t < plain.end);
        let seen = self.looked_at(&Looks::At(&times), &plain);
        checks::course(self, &seen);
        assert_eq!(joined(&seen), joined(&plain), "looking changed what is done");
        checks::readings(self, &seen);
        Ran { at_once, ..plain }
    }

    /// The smallest world found that fails at the same place, and the keys of its drive that are needed for it.
    fn smaller(&self, panic: &Panic) -> (World, toml::Table) {
        let fails = |world: &World| caught(|| world.hold()).is_err_and(|p| p.place == panic.place);
        let deeds = smaller(self.deeds.clone(), |deeds| fails(&World { deeds: deeds.to_vec(), ..self.clone() }));
        let world = World { deeds, ..self.clone() };
        let keys = smaller(drawn::keys(world.spec()), |keys| {
            let spec: Option<DriveSpec> = drawn::of_keys(keys).try_into().ok();
            let design = spec.and_then(|spec| DriveDesign::new(&spec, &Models::builtin()).ok());
            design.is_some_and(|design| fails(&World { design, ..world.clone() }))
        });
        (world, drawn::of_keys(&keys))
    }

    /// What the drive does while it is looked at: as if it was not.
    fn looked_at(&self, looks: &Looks, plain: &Ran) -> Ran {
        let seen = self.run(looks);
        assert_eq!(seen.done, plain.done, "looking changed what happens: {looks:?}");
        checks::same_energy(&seen.energy, &plain.energy);
        seen
    }
}

/// A panic: its message, and the line of code.
#[derive(Debug)]
pub struct Panic {
    /// The message.
    pub text: String,
    /// File, line and column.
    pub place: String,
}

thread_local! {
    /// The latest panic, if panics of this thread are caught.
    static PANIC: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// Runs something that may panic.
///
/// # Errors
/// Its panic, which is not printed.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            let is_caught = PANIC.with_borrow_mut(|panic| {
                let place = info.location().map(ToString::to_string).unwrap_or_default();
                panic.as_mut().map(|panic| *panic = Panic { text: info.to_string(), place }).is_some()
            });
            if !is_caught {
                usual(info);
            }
        }));
    });
    let before = PANIC.replace(Some(Panic { text: String::new(), place: String::new() }));
    let result = catch_unwind(AssertUnwindSafe(work));
    let panic = PANIC.replace(before);
    result.map_err(|_| panic.unwrap_or_else(|| panic!("a panic")))
}

fn drawn(draw: &mut SplitMix, fixed: &str) -> DriveSpec {
    let mut table: toml::Table = parsed(&drive::text(draw));
    table.extend(parsed::<toml::Table>(fixed));
    table.try_into().unwrap_or_else(|e| panic!("{e}: {fixed}"))
}

fn parsed<T: DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Phases at work, assembly by assembly; waits that go on are one. The scan of an arm of its own tells a wait in as many
/// pieces as it was asked about.
fn joined(ran: &Ran) -> Vec<headstack_drive::Phase> {
    let mut phases = ran.phases.clone();
    phases.retain(|p| p.work.is_some());
    phases.sort_by_key(|p| (p.assembly, p.from, p.to));
    phases.dedup_by(|next, p| {
        let wait = next.kind == PhaseKind::RotationalWait;
        let goes_on = wait && (p.kind, p.work, p.assembly, p.to) == (next.kind, next.work, next.assembly, next.from);
        if goes_on {
            p.to = next.to;
        }
        goes_on
    });
    phases
}

/// Checks the worlds that can be; prints why others cannot. All of them are tried before the test fails.
///
/// # Panics
/// Some world does not hold, or three in four cannot be.
pub fn check_all(worlds: impl IntoIterator<Item = (u64, Result<World, SpecError>)>) -> Vec<(World, Ran)> {
    let (mut held, mut failed, mut refused) = (Vec::new(), Vec::new(), BTreeMap::<String, u64>::new());
    for (seed, world) in worlds {
        match world {
            Ok(world) => match caught(|| world.check()) {
                Ok(ran) => held.push((world, ran)),
                Err(panic) => {
                    println!("{}", panic.text);
                    failed.push(seed);
                }
            },
            Err(e) => *refused.entry(e.to_string()).or_default() += 1,
        }
    }
    refused.iter().for_each(|(text, n)| println!("{n}: {text}"));
    assert!(failed.is_empty(), "{} of {}: seeds {failed:?}", failed.len(), failed.len() + held.len());
    assert!(held.len() as u64 * 3 > refused.values().sum(), "{} could be", held.len());
    held
}
