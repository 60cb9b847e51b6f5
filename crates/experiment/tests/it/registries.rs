//! Models and elevators that are made at run time and passed to a run.
//!
//! Each is built by a closure that captures a value, and no list has a built-in entry. The results depend only
//! on the captured values.

#![allow(clippy::result_large_err)]

use headstack_block::layer::elevator::{Elevator, Queued};
use headstack_drive::cost::{CostModel, CostRange, Parts};
use headstack_drive::layout::{Layout, Place};
use headstack_drive::mapping::cleaning::{Cleaner, Segment, Target};
use headstack_drive::mapping::policy::{Policy, Search, Slot};
use headstack_drive::power::{LowPower, PowerModel, Shape, StateWatts};
use headstack_drive::queue::Queue;
use headstack_drive::roles::{Mode, RolePolicy};
use headstack_drive::scheduler::{Choice, Scheduler, View};
use headstack_drive::seek::SeekModel;
use headstack_drive::spec::{GeometrySpec, Role};
use headstack_drive::Models;
use headstack_experiment::{run, Experiment, Inputs, Opened, RunError, RunOptions, RunResult};
use headstack_schema::{ModelKind, NoParameters, Plugin, Plugins, SpecError};
use headstack_trace::{Each, Request};
use headstack_units::{Lba, Span, Time, Turn};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Sectors of every track; the numbers in the zones have no effect.
const SECTORS: u64 = 100;
const SEEK: Span = Span(3_000_000);
const WATTS: f64 = 7.25;
const DOLLARS: f64 = 123.0;
const CYLINDER: u32 = 150;
const SWITCH_AFTER: u32 = 2;

/// A log with a policy made at run time, before the drive's costs.
const LOG: &str = r#"mapping = { model = "log", policy = "own-policy", initial_blocks = 3, initial = "written" }
cost = {"#;

/// Two arms with a role policy made at run time, before the drive's costs.
const ROLES: &str = r#"dash = "D1A2S1H1"
parallelism = { roles = { policy = "own-roles" } }
cost = {"#;

/// First blocks of the commands that a scheduler or an elevator has chosen.
type Chosen = Arc<Mutex<Vec<u64>>>;

/// One surface, a fixed number of sectors on every track, no skew.
struct Plain {
    sectors: u64,
    cylinders: u64,
    turn_ns: f64,
}

impl Layout for Plain {
    fn capacity(&self) -> u64 {
        self.sectors * self.cylinders
    }
    fn locate_into(&self, sector: u64, place: &mut Place) -> bool {
        let (cylinder, at) = (sector / self.sectors, sector % self.sectors);
        if cylinder >= self.cylinders {
            return false;
        }
        *place = Place {
            cylinder: cylinder as u32,
            sector: at as u32,
            sectors_per_track: self.sectors as u32,
            run: (self.sectors - at) as u32,
            before: at as u32,
            angle: Turn(((u128::from(at) << 64) / u128::from(self.sectors)) as u64),
            sector_ns: self.turn_ns / self.sectors as f64,
            ..Place::default()
        };
        true
    }
    fn address_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let inside = head == 0 && u64::from(cylinder) < self.cylinders && u64::from(sector) < self.sectors;
        inside.then(|| u64::from(cylinder) * self.sectors + u64::from(sector))
    }
    fn track_sectors(&self, cylinder: u32, head: u32) -> u32 {
        let inside = head == 0 && u64::from(cylinder) < self.cylinders;
        if inside {
            self.sectors as u32
        } else {
            0
        }
    }
    fn track_bounds(&self, sector: u64) -> (u64, u64) {
        let first = sector / self.sectors * self.sectors;
        (first, first + self.sectors - 1)
    }
}

struct Same(Span);

impl SeekModel for Same {
    fn seek(&self, distance: u32) -> Span {
        match distance {
            0 => Span::ZERO,
            _ => self.0,
        }
    }
}

/// The newest command first.
struct Newest(Chosen);

impl Scheduler for Newest {
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let index = queue.by_age().last().expect("a waiting command");
        let lba = queue.items[index].request.lba.0;
        self.0.lock().expect("a list").push(lba);
        Choice { index, arm: view.best_arm(queue, index) }
    }
    fn picks_lone(&self) -> bool {
        true
    }
}

/// The same watts in every state, proportional to the speed.
struct Level {
    watts: f64,
    rpm: f64,
}

impl PowerModel for Level {
    fn watts(&self, shape: &Shape) -> StateWatts {
        let watts = self.watts * shape.rotation_speed.0 / self.rpm;
        StateWatts {
            idle: watts,
            seek: watts,
            rotation: watts,
            transfer: watts,
            standby: 0.0,
            low_power: LowPower::default(),
        }
    }
}

struct PerArm(f64);

impl CostModel for PerArm {
    fn cost(&self, parts: &Parts) -> Result<CostRange, SpecError> {
        let usd = self.0 * f64::from(parts.arms);
        Ok(CostRange { low: usd, high: usd })
    }
}

/// The first free slot at or after a cylinder; the cylinder under the heads at each choice is listed.
#[derive(Debug)]
struct From {
    cylinder: u32,
    heads_at: Chosen,
}

impl Policy for From {
    fn choose(&self, search: &mut Search) -> Option<Slot> {
        let here = u64::from(search.from.arm.cylinder);
        self.heads_at.lock().expect("a list").push(here);
        let cylinder = search.next(self.cylinder)?;
        search.soonest_of(&[cylinder])
    }
}

/// One arm reads; after a number of commands it is the other one, for ever.
#[derive(Debug)]
struct Countdown {
    left: u32,
}

impl RolePolicy for Countdown {
    fn modes(&self, _arms: u32) -> Vec<Mode> {
        let both = vec![Role::Read, Role::Write];
        let mode = |name, roles| Mode { name, roles };
        vec![mode("first", vec![both.clone(), vec![Role::Write]]), mode("second", vec![vec![Role::Write], both])]
    }
    fn note(&mut self, _now: Time, _write: bool) {
        self.left = self.left.saturating_sub(1);
    }
    fn wanted(&mut self, _now: Time, _current: usize) -> usize {
        usize::from(self.left == 0)
    }
    fn switch_time(&self) -> Span {
        SEEK
    }
}

/// The newest request first.
struct Stack {
    waiting: Vec<Queued>,
    chosen: Chosen,
}

impl Elevator for Stack {
    fn add(&mut self, _now: Time, request: &Queued) {
        self.waiting.push(*request);
    }
    fn take(&mut self, _now: Time) -> Option<u32> {
        let newest = self.waiting.pop()?;
        self.chosen.lock().expect("a list").push(newest.lba);
        Some(newest.slot)
    }
    fn resort(&mut self, request: &Queued) {
        let same = self.waiting.iter_mut().find(|w| w.slot == request.slot);
        *same.expect("a waiting request") = *request;
    }
    fn absorb(&mut self, _survivor: u32, gone: u32) {
        self.waiting.retain(|w| w.slot != gone);
    }
    fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// A list of one model without parameters, which is built by a closure.
fn list<T: ?Sized + ModelKind<Facts = (), Error = SpecError>>(
    name: &str,
    build: impl Fn(T::For<'_>) -> Result<Box<T>, SpecError> + Send + Sync + 'static,
) -> Plugins<T> {
    Plugins::new([Plugin::<T>::new(name.to_string(), "made at run time", "", move |NoParameters {}, of| build(of))])
}

/// Empties the first cylinder that can be emptied.
#[derive(Debug)]
struct Lowest;

impl Cleaner for Lowest {
    fn worth(&self, _: &Segment) -> f64 {
        0.0
    }

    fn target(&self) -> Target {
        Target::Holes
    }
}

/// Lists in which every entry captures a value; choices of schedulers are added to `chosen`, the cylinders at
/// which a policy was asked to `heads_at`.
fn models(chosen: &Chosen, heads_at: &Chosen) -> Models {
    let (sectors, seek, watts, dollars, chosen) = (SECTORS, SEEK, WATTS, DOLLARS, chosen.clone());
    let (cylinder, heads_at) = (CYLINDER, heads_at.clone());
    Models {
        layouts: list("own-layout", move |spec: &GeometrySpec| {
            Ok(Box::new(Plain { sectors, cylinders: u64::from(spec.cylinders), turn_ns: 60e9 / spec.rotation_speed.0 })
                as Box<dyn Layout>)
        }),
        seek: list("own-seek", move |()| Ok(Box::new(Same(seek)) as Box<dyn SeekModel>)),
        schedulers: list("own-scheduler", move |()| Ok(Box::new(Newest(chosen.clone())) as Box<dyn Scheduler>)),
        power: list("own-power", move |()| Ok(Box::new(Level { watts, rpm: 6000.0 }) as Box<dyn PowerModel>)),
        cost: list("own-cost", move |()| Ok(Box::new(PerArm(dollars)) as Box<dyn CostModel>)),
        policies: list("own-policy", move |()| {
            let heads_at = heads_at.clone();
            Ok(Box::new(From { cylinder, heads_at }) as Box<dyn Policy>)
        }),
        roles: list("own-roles", move |()| {
            let left = SWITCH_AFTER;
            Ok(Box::new(Countdown { left }) as Box<dyn RolePolicy>)
        }),
        cleaning: list("own-cleaning", move |()| Ok(Box::new(Lowest) as Box<dyn Cleaner>)),
    }
}

/// One elevator; its choices are added to `chosen`.
fn elevators(chosen: &Chosen) -> Plugins<dyn Elevator> {
    let chosen = chosen.clone();
    list::<dyn Elevator>("own-elevator", move |_| Ok(Box::new(Stack { waiting: Vec::new(), chosen: chosen.clone() })))
}

/// A system of one drive with the models of these lists; `keys` are further keys of the system.
fn experiment(keys: &str) -> String {
    format!(
        r#"
[workload]
synthetic = {{ three = true }}
[system]
{keys}
[system.drive]
name = "made-up"
geometry = {{ layout = "own-layout", rotation_speed = "6000 rpm", surfaces = 1, cylinders = 200, zones = [{{ first_cylinder = 0, last_cylinder = 199, sectors_per_track = 7 }}] }}
seek = {{ model = "own-seek" }}
queue = {{ scheduler = "own-scheduler" }}
power = {{ model = "own-power" }}
cost = {{ model = "own-cost" }}
"#
    )
}

/// Choices and results of a run.
struct Ran {
    result: RunResult,
    by_scheduler: Vec<u64>,
    by_elevator: Vec<u64>,
    /// The cylinders at which a policy was asked.
    heads_at: Vec<u64>,
}

/// Three reads of half a track each, a millisecond apart, of cylinders 10, 20 and 30.
fn go(text: &str) -> Result<Ran, RunError> {
    let experiment = Experiment::from_toml(text, Path::new("e.toml"))?;
    let (by_scheduler, by_elevator) = (Chosen::default(), Chosen::default());
    let heads_at = Chosen::default();
    let inputs = Inputs {
        models: models(&by_scheduler, &heads_at),
        elevators: elevators(&by_elevator),
        open: &|_| {
            let read = |i: u64| {
                Ok(Request {
                    time: Time(i * 1_000_000),
                    lba: Lba((i + 1) * 10 * SECTORS),
                    blocks: 50,
                    ..Request::default()
                })
            };
            Ok(Opened::new(Box::new(Each((0..3).map(read)))))
        },
        ..Inputs::new(Vec::new())
    };
    let result = run(&experiment, &inputs, &RunOptions::default())?;
    let taken = |chosen: Chosen| std::mem::take(&mut *chosen.lock().expect("a list"));
    Ok(Ran { result, by_scheduler: taken(by_scheduler), by_elevator: taken(by_elevator), heads_at: taken(heads_at) })
}

/// Every seek takes the captured time, half of the 100 captured sectors take half a turn, and the newest
/// command is served first.
#[test]
fn models_made_at_run_time_decide_what_a_run_gives() {
    let ran = go(&experiment("")).unwrap_or_else(|e| panic!("{e}"));
    let system = &ran.result.systems[0];
    assert_eq!((system.n_requests, system.n_errors), (3, 0));
    assert_eq!(ran.by_scheduler, [1000, 3000, 2000]);
    assert!((system.components_s.seek - SEEK.as_secs_f64()).abs() < 1e-12);
    assert!((system.components_s.transfer - 5e-3).abs() < 1e-8);
    assert!((system.power_w.mean - WATTS).abs() < 1e-9);
    assert_eq!((system.cost_usd.low, system.cost_usd.high), (Some(DOLLARS), Some(DOLLARS)));
    assert!(ran.by_elevator.is_empty());
}

#[test]
fn an_elevator_made_at_run_time_orders_a_host_queue() {
    let layers = r#"layers = [{ name = "host-queue", elevator = "own-elevator", depth = 1 }]"#;
    let ran = go(&experiment(layers)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(ran.by_elevator, [1000, 3000, 2000]);
    assert_eq!(ran.by_scheduler, [1000, 3000, 2000]);
    assert_eq!(ran.result.systems[0].n_requests, 3);
}

/// A policy made at run time places the blocks that a log writes before the run: the first is chosen at cylinder
/// 0, the others at the captured cylinder, where the one before was written.
#[test]
fn a_policy_made_at_run_time_places_the_blocks_of_a_log() {
    let ran = go(&experiment("").replace("cost = {", LOG)).unwrap_or_else(|e| panic!("{e}"));
    let cylinder = u64::from(CYLINDER);
    assert!(ran.heads_at.starts_with(&[0, cylinder, cylinder]), "{:?}", ran.heads_at);
}

/// The third read is the first one after the change: it is served after the switch, and by the other arm.
#[test]
fn a_role_policy_made_at_run_time_changes_which_arm_reads() {
    let ran = go(&experiment("").replace("cost = {", ROLES)).unwrap_or_else(|e| panic!("{e}"));
    let system = &ran.result.systems[0];
    assert_eq!((system.n_requests, system.n_errors), (3, 0));
    let roles = system.drives[0].roles.clone().expect("roles that change");
    assert_eq!((roles.n_switches, roles.n_forced), (1, 0));
    assert!((roles.switching_s - 2.0 * SEEK.as_secs_f64()).abs() < 1e-12);
    let names: Vec<&str> = roles.modes.iter().map(|m| m.name).collect();
    assert_eq!(names, ["first", "second"]);
    assert!(roles.modes.iter().all(|m| m.time_s > 0.0), "{roles:?}");
}

/// A running drive looks up schedulers, and its power at another speed, in the lists with which it was built.
#[test]
fn changes_of_a_running_drive_use_the_passed_lists() {
    let half = r#"change = [
        { at = "0.5 ms", scheduler = "own-scheduler" },
        { at = "1 ms", spindle_speed = { speed = "3000 rpm" } },
    ]"#;
    let ran = go(&experiment(half)).unwrap_or_else(|e| panic!("{e}"));
    let system = &ran.result.systems[0];
    assert_eq!(ran.by_scheduler, [1000, 3000, 2000]);
    let mean = system.power_w.mean;
    assert!(WATTS / 2.0 < mean && mean < WATTS * 0.9, "{mean}");
    let change = r#"change = [{ at = "1 ms", scheduler = "fcfs" }]"#;
    let error = go(&experiment(change)).err().expect("an error").to_string();
    assert!(error.contains("got \"fcfs\", need one of own-scheduler"), "{error}");
}

#[test]
fn unknown_names_get_the_passed_lists() {
    let host_queue = "layers = [{ name = \"host-queue\", elevator = \"own-elevator\" }]";
    for (own, other) in [
        ("own-layout", "cylinder-major"),
        ("own-seek", "constant"),
        ("own-scheduler", "fcfs"),
        ("own-power", "modes"),
        ("own-cost", "price"),
        ("own-elevator", "none"),
        ("own-policy", "eager"),
        ("own-roles", "fixed"),
    ] {
        let experiment = |keys| {
            let log = experiment(keys).replace("cost = {", LOG);
            log.replace("cost = {", ROLES)
        };
        let text = experiment(host_queue).replace(own, other);
        let error = go(&text).err().expect(other).to_string();
        let want = format!("got \"{other}\", need one of {own}");
        assert!(error.ends_with(&want), "{error}");
        // The error suggests a passed name.
        let error = go(&experiment(host_queue).replace(own, &own[1..]));
        let error = error.err().expect(own).to_string();
        let hint = format!("need one of {own}; did you mean \"{own}\"?");
        assert!(error.ends_with(&hint), "{error}");
    }
}

/// The passed layout determines the keys of a geometry, also if the misspelt key is a required one.
#[test]
fn a_misspelt_key_is_one_that_the_passed_layout_does_not_know() {
    let text = experiment("").replace("cylinders = 200", "cylindrs = 200");
    let error = go(&text).err().expect("an error").to_string();
    assert!(
        error.starts_with("system[0].drive.geometry: got key \"cylindrs\", need one of ")
            && error.ends_with("; did you mean \"cylinders\"?"),
        "{error}"
    );
}
