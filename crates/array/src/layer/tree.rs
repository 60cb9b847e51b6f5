//! Trees of layers: built from their description, and used by the simulation as one member.

use super::below::LowerLayers;
use super::{
    independent, throttle, Context, DriveLayer, Elevators, Entry, ErrorKind, Layer,
    LayerCompletion, LayerResult, LowerCount, Request, Setting, Statistics, ANYONE,
};
use crate::capping::ControlledDrive;
use crate::change::Target;
use crate::member::{CompletionReport, Member};
use crate::simulate::MemberOutcome;
use headstack_drive::spec::Params;
use headstack_drive::{Completion, DriveEnergy, DriveRequest};
use headstack_schema::{Registry, SpecError};
use headstack_units::Time;
use serde_json::Value;
use std::num::NonZeroU64;

/// One entry of a system's list of layers: a name, or a table with `name`, `of` and parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerSpec {
    /// The layer's name.
    pub name: String,
    /// How many lower layers each layer of this entry takes; all if absent.
    pub of: Option<u32>,
    /// The layer's parameters.
    pub params: Params,
    /// Whether it is the system's organisation, and not an entry of its list of layers.
    pub is_organisation: bool,
}

impl LayerSpec {
    /// Reads one entry.
    ///
    /// # Errors
    /// A table without a name, or an `of` that is not a positive integer.
    pub fn from_value(value: &Value) -> Result<LayerSpec, SpecError> {
        let (name, mut params) = match value {
            Value::String(name) => (name.clone(), Params::new()),
            Value::Object(table) => {
                let mut table = table.clone();
                match table.remove("name") {
                    Some(Value::String(name)) => (name, table),
                    other => {
                        let got = other.map_or("nothing".into(), |v| v.to_string());
                        return Err(SpecError::new("name", got, "a name"));
                    }
                }
            }
            other => return Err(SpecError::new("", other, "a name or a table")),
        };
        let of = match params.remove("of") {
            None => None,
            Some(of) => {
                let n = of.as_u64().and_then(|n| u32::try_from(n).ok());
                let n = n.filter(|n| *n > 0);
                Some(n.ok_or_else(|| SpecError::new("of", of, "a whole number, 1 or more"))?)
            }
        };
        Ok(LayerSpec {
            name,
            of,
            params,
            is_organisation: false,
        })
    }

    /// The registry's entry of this name.
    fn entry<'a>(&self, entries: &'a Registry<Entry>) -> Result<&'a Entry, SpecError> {
        let entry = entries.find("name", &self.name)?;
        match (entry.lower, self.of) {
            (LowerCount::One, Some(of)) if of != 1 => {
                let need = format!("1: a {} stands on one layer", self.name);
                Err(SpecError::new("of", of, need))
            }
            _ => Ok(entry),
        }
    }
}

/// The key of layer `i` in the table of its system: `organisation`, or its entry of `layers`.
pub(crate) fn key_of(specs: &[LayerSpec], i: usize) -> String {
    match specs[i].is_organisation {
        true => "organisation".into(),
        false => format!("layers[{}]", i - listed_from(specs)),
    }
}

/// The first of the layers that the system lists: the organisation is before them, if it is a layer.
pub(crate) fn listed_from(specs: &[LayerSpec]) -> usize {
    specs.iter().take_while(|s| s.is_organisation).count()
}

/// Checks that every named layer is one of `entries`.
///
/// # Errors
/// The first unknown name, at `layers[i]`.
pub fn check(specs: &[LayerSpec], entries: &Registry<Entry>) -> Result<(), SpecError> {
    let mut all = specs.iter().enumerate();
    all.try_for_each(|(i, spec)| {
        let found = spec.entry(entries).map(drop);
        found.map_err(|e| e.within(&key_of(specs, i)))
    })
}

/// Builds layers over drives. `specs` begins at the host: each entry takes the layers of the next entry, the last one
/// takes the drives. Layers are of `entries`, elevators of `elevators`. Returns the uppermost layers.
///
/// # Errors
/// Unknown names and settings that a layer refuses, at `layers[i]`.
pub fn compose(
    drives: Vec<Box<dyn Layer>>,
    specs: &[LayerSpec],
    entries: &Registry<Entry>,
    elevators: &Elevators,
) -> Result<Vec<Box<dyn Layer>>, SpecError> {
    let mut below = drives;
    for (i, spec) in specs.iter().enumerate().rev() {
        let made = spec
            .entry(entries)
            .and_then(|e| one_height(below, spec, e, elevators));
        below = made.map_err(|e| e.within(&key_of(specs, i)))?;
    }
    match below.is_empty() {
        true => Err(SpecError::new("layers", "no drives", "at least one")),
        false => Ok(below),
    }
}

/// Builds all layers of one entry.
fn one_height(
    below: Vec<Box<dyn Layer>>,
    spec: &LayerSpec,
    entry: &Entry,
    elevators: &Elevators,
) -> Result<Vec<Box<dyn Layer>>, SpecError> {
    let width = match (entry.lower, spec.of) {
        (LowerCount::One, _) => 1,
        (LowerCount::Many, Some(of)) => of as usize,
        (LowerCount::Many, None) => below.len().max(1),
    };
    if below.is_empty() || below.len() % width != 0 {
        let need = format!("a divisor of the {} layers below", below.len());
        return Err(SpecError::new("of", width, need));
    }
    let mut made = Vec::with_capacity(below.len() / width);
    let mut below = below.into_iter();
    loop {
        let group: Vec<Box<dyn Layer>> = below.by_ref().take(width).collect();
        if group.is_empty() {
            return Ok(made);
        }
        let params = spec.params.clone();
        made.push((entry.build)(Context {
            below: group,
            params,
            elevators,
        })?);
    }
}

/// Trees of layers as one member of a simulation. Its logical units are the units of the roots, in order; a root's
/// path is its number.
pub struct Tree {
    roots: LowerLayers,
    /// First block and size of each unit, in 512-byte blocks.
    units: Vec<(u64, u64)>,
    /// Size of every unit, if all have the same.
    equal: Option<NonZeroU64>,
    /// Number of requests submitted.
    submitted: u64,
    announced: u64,
}

/// A completion that a tree announces.
#[derive(Debug, Clone, Copy)]
pub struct TreeCompletion {
    completion: Completion,
    done: LayerCompletion,
}

impl CompletionReport for TreeCompletion {
    // A drive's completion lacks the drive, the kind of error and whether an arm moved; `done` has them.
    const IS_COMPLETION: bool = false;
    fn completion(&self) -> &Completion {
        &self.completion
    }
    fn done(&self, _member: u32) -> LayerCompletion {
        self.done
    }
}

impl Tree {
    /// Builds what `specs` describe over `drives`.
    ///
    /// # Errors
    /// As [`compose`].
    pub fn new<M>(
        drives: Vec<M>,
        specs: &[LayerSpec],
        entries: &Registry<Entry>,
        elevators: &Elevators,
    ) -> Result<Tree, SpecError>
    where
        M: Member<Report = Completion> + Send + 'static,
    {
        let drives = drives.into_iter().enumerate();
        let drives = drives
            .map(|(i, drive)| Box::new(DriveLayer::new(drive, i as u32)) as Box<dyn Layer>)
            .collect();
        Ok(Tree::over(compose(drives, specs, entries, elevators)?))
    }

    /// Trees with these roots.
    pub fn over(roots: Vec<Box<dyn Layer>>) -> Tree {
        let roots = LowerLayers::new(roots);
        let mut first = 0u64;
        let mut units = Vec::new();
        for blocks in roots.member_blocks() {
            units.push((first, blocks));
            first = first.saturating_add(blocks);
        }
        let equal = units.first().and_then(|u| NonZeroU64::new(u.1));
        Tree {
            roots,
            equal: equal.filter(|size| units.iter().all(|u| u.1 == size.get())),
            units,
            submitted: 0,
            announced: 0,
        }
    }

    /// Trees of one root each.
    pub(crate) fn split(self) -> Vec<Tree> {
        let roots = self.roots.into_layers().into_iter();
        roots.map(|root| Tree::over(vec![root])).collect()
    }

    /// One tree with the roots of all, in order.
    pub(crate) fn join(trees: Vec<Tree>) -> Tree {
        let roots = trees.into_iter().flat_map(|t| t.roots.into_layers());
        Tree::over(roots.collect())
    }

    /// Number of units of each root.
    pub(crate) fn units_of_roots(&self) -> Vec<usize> {
        let roots = self.roots.layers().iter();
        roots.map(|root| root.units().len()).collect()
    }

    /// The paths of the layers that are `steps` levels below the roots, in order.
    fn paths(&self, steps: usize) -> Vec<Vec<u32>> {
        let roots = self.roots.layers().iter().enumerate();
        let mut level: Vec<(Vec<u32>, &dyn Layer)> =
            roots.map(|(i, root)| (vec![i as u32], &**root)).collect();
        for _ in 0..steps {
            let below = |(path, layer): &(Vec<u32>, &dyn Layer)| {
                let path = path.clone();
                (0..layer.below().len() as u32).map(move |i| [&path[..], &[i]].concat())
            };
            let paths = level.iter().flat_map(below);
            let layers = level.iter().flat_map(|(_, l)| l.below());
            level = paths.zip(layers.map(|l| &**l)).collect();
        }
        level.into_iter().map(|(path, _)| path).collect()
    }

    /// Levels from the roots to the drives.
    fn depth(&self) -> usize {
        let mut below = self.roots.layers();
        let mut depth = 0;
        while let Some(layer) = below.first().filter(|l| !l.below().is_empty()) {
            below = layer.below();
            depth += 1;
        }
        depth
    }

    /// The paths of the layers that a change applies to.
    ///
    /// # Errors
    /// Layers that do not exist.
    fn targets(&self, target: &Target) -> Result<Vec<Vec<u32>>, SpecError> {
        let (level, numbers) = match target {
            Target::Drives(drives) => (0, drives),
            Target::Layers { level, instances } => (*level as usize, instances),
        };
        let all = self.paths(self.depth().saturating_sub(level));
        if numbers.is_empty() {
            return Ok(all);
        }
        let n = all.len();
        let named = numbers.iter().enumerate().map(|(i, number)| {
            let path = all.get(*number as usize).cloned();
            path.ok_or_else(|| {
                let need = format!("one of the {n} layers, counted from 0");
                SpecError::new(format!("instances[{i}]"), number, need)
            })
        });
        named.collect()
    }

    /// Measurements of each drive up to `until`, in order of the drives.
    pub fn drives(&mut self, until: Time) -> Vec<MemberOutcome> {
        let mut all = Vec::new();
        for root in self.roots.layers_mut() {
            collect_drives(&mut **root, until, &mut all);
        }
        all
    }

    /// Statistics of the layers, from the host down; layers of the same name and level are added up. Several roots
    /// count as members of a layer `independent`.
    pub fn results(&self) -> Vec<LayerResult> {
        let mut results = Vec::new();
        let mut level: Vec<&dyn Layer> = self.roots.layers().iter().map(|l| &**l).collect();
        if level.len() > 1 {
            let mut sum = Statistics::default();
            level.iter().for_each(|l| sum.add_requests(&l.statistics()));
            results.push(sum.result(independent::NAME, 1));
        }
        while let Some(first) = level.first() {
            let name = first.name();
            let mut sum = first.statistics();
            level[1..].iter().for_each(|l| sum.add(&l.statistics()));
            results.push(sum.result(name, level.len() as u64));
            level = level
                .iter()
                .flat_map(|l| l.below().iter().map(|b| &**b))
                .collect();
        }
        results
    }
}

fn collect_drives(layer: &mut dyn Layer, until: Time, all: &mut Vec<MemberOutcome>) {
    all.extend(layer.drive_outcome(until));
    for below in layer.below_mut() {
        collect_drives(&mut **below, until, all);
    }
}

/// Appends the settings of each drive below `layer`. `above` has the settings found on the path to this layer;
/// `above.drive` is this path. A queue or a throttle over several drives belongs to none of them.
fn find_knobs(layer: &dyn Layer, above: &ControlledDrive, found: &mut Vec<ControlledDrive>) {
    if let Some(arms) = layer.arms() {
        found.push(ControlledDrive {
            arms,
            conditions: layer.conditions(),
            ..above.clone()
        });
        return;
    }
    let mut own = above.clone();
    if let Some((nr_requests, depth)) = layer.queue_sizes() {
        own.queue = Some((own.drive.clone(), nr_requests, depth));
        own.read_expire = layer.read_expire();
    }
    if layer.name() == throttle::NAME {
        own.throttle = Some(own.drive.clone());
    }
    let below = layer.below();
    if below.len() > 1 {
        (own.queue, own.read_expire, own.throttle) = (None, None, None);
    }
    for (i, layer) in below.iter().enumerate() {
        let drive = [&own.drive[..], &[i as u32]].concat();
        let own = ControlledDrive {
            drive,
            ..own.clone()
        };
        find_knobs(&**layer, &own, found);
    }
}

impl Member for Tree {
    type Report = TreeCompletion;

    fn capacity_blocks(&self) -> u64 {
        self.units.last().map_or(0, |u| u.0.saturating_add(u.1))
    }

    fn logical_units(&self) -> Vec<u64> {
        self.units.iter().map(|u| u.1).collect()
    }

    fn submit(&mut self, now: Time, request: DriveRequest) {
        self.submitted += 1;
        let at = request.lba.0;
        let unit = match self.equal {
            Some(size) => ((at / size) as usize).min(self.units.len() - 1),
            None => self.units.partition_point(|u| u.0 <= at).max(1) - 1,
        };
        let first = self.units.get(unit).map_or(0, |u| u.0);
        let request = Request {
            id: request.id,
            command: request.command,
            unit: unit as u32,
            lba: at - first,
            blocks: request.blocks,
            submitter: ANYONE,
        };
        self.roots.submit(now, unit as u32, request);
    }

    fn next_event(&self) -> Time {
        self.roots.next_event()
    }

    fn advance(&mut self, until: Time, sink: &mut impl FnMut(&TreeCompletion)) {
        let announced = &mut self.announced;
        let mut pass = |done: &LayerCompletion| {
            *announced += 1;
            let completion = Completion {
                id: done.id,
                arrival: done.arrival,
                completion: done.completion,
                components: done.components,
                cache_hit: done.cache_hit,
                mechanical: done.moved,
                seek_distance: done.seek_distance,
                arm: done.arm,
                error: done.error.is_some(),
                sense: match done.error {
                    Some(ErrorKind::Zone(sense)) => Some(sense),
                    _ => None,
                },
            };
            sink(&TreeCompletion {
                completion,
                done: *done,
            });
        };
        while self.roots.next_event() < until {
            self.roots.step_until(until, &mut pass);
        }
    }

    fn queue_len(&self) -> usize {
        (self.submitted - self.announced) as usize
    }

    fn energy(&mut self, until: Time) -> DriveEnergy {
        self.roots.meter(until)
    }

    fn reset_statistics(&mut self, now: Time) {
        self.roots.reset_statistics(now);
    }

    fn drive_joules(&mut self, until: Time, sums: &mut Vec<f64>) {
        for root in self.roots.layers_mut() {
            root.drive_joules(until, sums);
        }
    }

    fn controlled_drives(&self) -> Vec<ControlledDrive> {
        let mut found = Vec::new();
        for (i, root) in self.roots.layers().iter().enumerate() {
            let above = ControlledDrive {
                drive: vec![i as u32],
                ..ControlledDrive::default()
            };
            find_knobs(&**root, &above, &mut found);
        }
        found
    }

    fn apply(&mut self, now: Time, way: &[u32], setting: &Setting) -> Result<(), SpecError> {
        self.roots.pass_on(now, way, setting)
    }

    fn is_meant(&self, _target: &Target, _index: u32) -> bool {
        true
    }

    fn change(&mut self, now: Time, target: &Target, setting: &Setting) -> Result<(), SpecError> {
        let mut paths = self.targets(target)?.into_iter();
        paths.try_for_each(|path| self.roots.pass_on(now, &path, setting))
    }
}
