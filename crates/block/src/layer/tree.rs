//! Trees of layers: built from their description, and used by the simulation as one member.

use super::flow::{self, Flow, Message, Place, HOST};
use super::independent::Independent;
use super::{
    independent, throttle, Context, DriveLayer, Elevators, ErrorKind, HostQueue, Layer, LayerCompletion, LayerResult,
    LowerCount, Request, Setting, Statistics,
};
use crate::controlled::ControlledDrive;
use crate::measured::MemberOutcome;
use crate::member::{Adjust, Clock, CompletionReport, Member, Meter};
use crate::target::Target;
use crate::timetable::Order;
use headstack_drive::{Completion, Drive, DriveEnergy, DriveRequest, Hint};
use headstack_engine::ByMode;
use headstack_schema::{Plugin, Plugins, SpecError};
use headstack_trace::Ioprio;
use headstack_units::Time;
use std::num::NonZeroU64;

mod passage;
mod removed;
mod spec;

pub(crate) use spec::key_of;
pub use spec::{check, listed_from, AsOrganisation, LayerSpec};

/// A layer with what is below it, to be put into a tree.
pub struct Branch {
    /// The layer itself.
    pub layer: Box<dyn Layer>,
    below: Vec<Branch>,
}

impl Branch {
    /// A layer over these.
    pub fn new(layer: Box<dyn Layer>, below: Vec<Branch>) -> Branch {
        Branch { layer, below }
    }
}

/// Builds layers over drives. `specs` begins at the host: each entry takes the layers of the next entry, the last one
/// takes the drives. Layers are of `entries`, elevators of `elevators`. Returns the uppermost layers.
///
/// # Errors
/// Unknown names and settings that a layer refuses, at `layers[i]`.
pub fn compose(
    drives: Vec<Branch>,
    specs: &[LayerSpec],
    entries: &Plugins<dyn Layer>,
    elevators: &Elevators,
) -> Result<Vec<Branch>, SpecError> {
    let mut below = drives;
    for (i, spec) in specs.iter().enumerate().rev() {
        let made = spec.entry(entries).and_then(|e| one_height(below, spec, e, elevators));
        below = made.map_err(|e| e.within(&key_of(specs, i)))?;
    }
    match below.is_empty() {
        true => Err(SpecError::new("layers", "no drives", "at least one")),
        false => Ok(below),
    }
}

/// How many 512-byte blocks a host can use of drives under these layers, without copies and parity. `drives` has the sizes
/// of each drive's logical units, in blocks.
///
/// # Errors
/// As [`compose`].
pub fn usable_blocks(
    drives: Vec<Vec<u64>>,
    specs: &[LayerSpec],
    entries: &Plugins<dyn Layer>,
    elevators: &Elevators,
) -> Result<u64, SpecError> {
    let drives = drives.into_iter().map(|units| Branch::new(Box::new(Independent(units)), Vec::new()));
    let roots = compose(drives.collect(), specs, entries, elevators)?;
    Ok(roots.iter().flat_map(|root| root.layer.units()).sum())
}

/// Builds all layers of one entry.
fn one_height(
    below: Vec<Branch>,
    spec: &LayerSpec,
    entry: &Plugin<dyn Layer>,
    elevators: &Elevators,
) -> Result<Vec<Branch>, SpecError> {
    let width = match (entry.facts, spec.of) {
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
        let group: Vec<Branch> = below.by_ref().take(width).collect();
        if group.is_empty() {
            return Ok(made);
        }
        let members = group.iter().flat_map(|b| b.layer.units()).collect();
        let layer = entry.build(&spec.params, Context { members, elevators })?;
        made.push(Branch::new(layer, group));
    }
}

/// Trees of layers as one member of a simulation. Its logical units are the units of the roots, in order; a root's
/// path is its number.
pub struct Tree {
    /// The nodes, as [`flow`](super::flow) numbers them.
    nodes: Vec<Box<dyn Layer>>,
    flow: Flow,
    /// The units of the roots, to which the host gives requests.
    units: Vec<flow::Member>,
    /// First block of each.
    firsts: Vec<u64>,
    /// Size of every unit, if all have the same.
    equal: Option<NonZeroU64>,
    /// Whether requests of the host have its numbers as tags: parts of one request, which have one number, go to different
    /// roots, which are no drives.
    gives_tags: bool,
    /// Number of requests under way.
    under_way: usize,
}

impl CompletionReport for LayerCompletion {
    fn of_drive(&self) -> Option<&Completion> {
        None
    }
    #[inline(always)]
    fn made(&self) -> Option<Time> {
        Some(self.announced)
    }
    #[inline(always)]
    fn with<T>(&self, _member: u32, take: impl FnOnce(&LayerCompletion) -> T) -> T {
        take(self)
    }
}

impl Tree {
    /// Builds what `specs` describe over `drives`.
    ///
    /// # Errors
    /// As [`compose`].
    pub fn new(
        drives: Vec<Drive>,
        specs: &[LayerSpec],
        entries: &Plugins<dyn Layer>,
        elevators: &Elevators,
    ) -> Result<Tree, SpecError> {
        let drives = drives.into_iter().enumerate();
        let drives = drives.map(|(i, drive)| DriveLayer::branch(drive, i as u32));
        let roots = compose(drives.collect(), specs, entries, elevators)?;
        Ok(Tree::over(roots))
    }

    /// Trees with these roots.
    pub fn over(roots: Vec<Branch>) -> Tree {
        let mut built = Built::default();
        let units = built.add_all(roots, HOST);
        let mut first = 0u64;
        let starts = units.iter().map(|u| {
            let next = first.saturating_add(u.blocks);
            std::mem::replace(&mut first, next)
        });
        let firsts = starts.collect();
        let equal = units.first().and_then(|u| NonZeroU64::new(u.blocks));
        let order = Order::new(built.nodes.iter().map(|n| n.drive().is_some()));
        let mut tree = Tree {
            gives_tags: units.windows(2).all(|pair| pair[0].node != pair[1].node)
                && units.iter().all(|unit| built.nodes[unit.node as usize].drive().is_none()),
            equal: equal.filter(|size| units.iter().all(|u| u.blocks == size.get())),
            units,
            firsts,
            flow: Flow::new(built.places, built.members, order),
            nodes: built.nodes,
            under_way: 0,
        };
        tree.note_removed(Time::ZERO);
        (0..tree.nodes.len() as u32).for_each(|node| tree.note(node));
        tree
    }

    /// Its parts, to be put into another tree.
    fn into_roots(self) -> Vec<Branch> {
        let (mut nodes, mut at) = (self.nodes.into_iter(), 0);
        let take = || take_branch(&mut nodes, &self.flow.places, &mut at);
        std::iter::from_fn(take).collect()
    }

    /// Trees of one root each. No request may be under way.
    pub fn split(self) -> Vec<Tree> {
        let roots = self.into_roots().into_iter();
        roots.map(|root| Tree::over(vec![root])).collect()
    }

    /// One tree with the roots of all, in order.
    pub fn join(trees: Vec<Tree>) -> Tree {
        let statistics = trees.iter().flat_map(|t| t.flow.statistics.clone());
        let statistics = statistics.collect();
        let mut tree = Tree::over(trees.into_iter().flat_map(Tree::into_roots).collect());
        tree.flow.statistics = statistics;
        tree
    }

    /// The first number of the nodes below one, or of all nodes, and the number after the last.
    fn numbers_below(&self, node: u32) -> (u32, u32) {
        match self.flow.places.get(node as usize) {
            Some(place) => (node + 1, place.end),
            None => (0, self.flow.places.len() as u32),
        }
    }

    /// The nodes directly below one, or the roots.
    fn below(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let places = &self.flow.places;
        let (first, end) = self.numbers_below(node);
        let next = move |at: &u32| Some(places[*at as usize].end).filter(|next| *next < end);
        std::iter::successors(Some(first).filter(|f| *f < end), next)
    }

    /// Number of units of each root.
    pub fn units_of_roots(&self) -> Vec<usize> {
        let roots = self.below(HOST);
        roots.map(|root| self.nodes[root as usize].units().len()).collect()
    }

    /// The nodes that are `steps` levels below the roots, in order.
    fn level(&self, steps: usize) -> Vec<u32> {
        let mut level: Vec<u32> = self.below(HOST).collect();
        for _ in 0..steps {
            level = level.iter().flat_map(|node| self.below(*node)).collect();
        }
        level
    }

    /// Levels from the roots to the drives.
    fn depth(&self) -> usize {
        let mut at = self.below(HOST).next();
        let below = std::iter::from_fn(|| {
            at = self.below(at?).next();
            at
        });
        below.count()
    }

    /// The nodes that a change applies to.
    ///
    /// # Errors
    /// Layers that do not exist.
    fn targets(&self, target: &Target) -> Result<Vec<u32>, SpecError> {
        let (level, numbers) = match target {
            Target::Drives(drives) => (0, drives),
            Target::Layers { level, instances } => (*level as usize, instances),
        };
        let all = self.level(self.depth().saturating_sub(level));
        if numbers.is_empty() {
            return Ok(all);
        }
        let n = all.len();
        let named = numbers.iter().enumerate().map(|(i, number)| {
            let node = all.get(*number as usize).copied();
            node.ok_or_else(|| {
                let need = format!("one of the {n} layers, counted from 0");
                SpecError::new(format!("instances[{i}]"), number, need)
            })
        });
        named.collect()
    }

    /// Changes a setting of a node at `now`, to which the tree must have been advanced. An error names the way to it.
    fn set_node(&mut self, now: Time, node: u32, setting: &Setting) -> Result<(), SpecError> {
        self.flow.now = self.flow.now.max(now);
        let result = self.at(node, |layer, flow| layer.set(setting, flow));
        self.note_set(setting);
        self.settle();
        let mut error = match result {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let mut at = node;
        loop {
            let above = self.flow.places[at as usize].above;
            if above == HOST {
                return Err(error);
            }
            let step = self.below(above).position(|n| n == at);
            error = error.within(&format!("below[{}]", step.unwrap_or_default()));
            at = above;
        }
    }

    /// Changes a setting of the node to which `path` leads: the number of a root, then at each level the number of the
    /// layer below.
    ///
    /// # Errors
    /// The path leads to no layer, or the layer refuses the setting. The layer then remains unchanged.
    pub fn set(&mut self, now: Time, path: &[u32], setting: &Setting) -> Result<(), SpecError> {
        let node = self.node_at(path)?;
        match path.is_empty() {
            true => Err(SpecError::new("setting", "no path", "one below this layer")),
            false => self.set_node(now, node, setting),
        }
    }

    /// The node to which a path leads.
    fn node_at(&self, path: &[u32]) -> Result<u32, SpecError> {
        let mut node = HOST;
        for step in path {
            let mut below = self.below(node);
            let n = self.below(node).count();
            let need = || match n {
                0 => "no more: this is a drive".to_string(),
                n => format!("one of the {n} layers below, counted from 0"),
            };
            let found = below.nth(*step as usize);
            node = found.ok_or_else(|| SpecError::new("setting.path", step, need()))?;
        }
        Ok(node)
    }

    /// Measurements of each drive up to `until`, in order of the drives.
    pub fn drives(&mut self, until: Time) -> Vec<MemberOutcome> {
        let drives = self.nodes.iter_mut().filter_map(|node| node.drive_mut());
        drives.map(|drive| drive.outcome(until)).collect()
    }

    /// The statistics of a node.
    fn statistics(&self, node: u32) -> Statistics {
        let mut own = self.flow.statistics[node as usize].clone();
        self.nodes[node as usize].add_counts(&mut own);
        own
    }

    /// Statistics of the layers, from the host down; layers of the same name and level are added up. Several roots
    /// count as members of a layer `independent`.
    pub fn results(&self) -> Vec<LayerResult> {
        let mut results = Vec::new();
        let mut level: Vec<u32> = self.below(HOST).collect();
        if level.len() > 1 {
            let mut sum = Statistics::default();
            let all = level.iter();
            all.for_each(|n| sum.add_requests(&self.flow.statistics[*n as usize]));
            results.push(sum.result(independent::NAME, 1));
        }
        while let Some((first, others)) = level.split_first() {
            let name = self.nodes[*first as usize].name();
            let mut sum = self.statistics(*first);
            others.iter().for_each(|n| sum.add(&self.statistics(*n)));
            results.push(sum.result(name, level.len() as u64));
            level = level.iter().flat_map(|node| self.below(*node)).collect();
        }
        results
    }

    /// The sum over all drives below a node of what `read` reads from each, added up level by level.
    fn sum_of<T: Default>(&mut self, node: u32, read: &impl Fn(&mut DriveLayer) -> T, add: &impl Fn(&mut T, &T)) -> T {
        let here = self.nodes.get_mut(node as usize);
        if let Some(drive) = here.and_then(|n| n.drive_mut()) {
            let own = read(drive);
            self.note(node);
            return own;
        }
        let (mut at, end) = self.numbers_below(node);
        let mut sum = T::default();
        while at < end {
            add(&mut sum, &self.sum_of(at, read, add));
            at = self.flow.places[at as usize].end;
        }
        sum
    }

    /// Appends the settings of each drive below `node`. `above` has the settings found on the path to this node;
    /// `above.drive` is this path. A queue or a throttle over several drives belongs to none of them.
    fn find_knobs(&self, node: u32, above: &ControlledDrive, found: &mut Vec<ControlledDrive>) {
        let layer = &self.nodes[node as usize];
        if let Some(drive) = layer.drive() {
            return found.push(above.clone().with(&drive.drive));
        }
        let mut own = above.clone();
        if let Some(queue) = layer.host_queue() {
            let sizes = queue.sizes();
            own.queue = sizes.map(|(nr_requests, depth)| (own.drive.clone(), nr_requests, depth));
            own.read_expire = queue.read_expire();
        }
        if layer.name() == throttle::NAME {
            own.throttle = Some(own.drive.clone());
        }
        if self.below(node).count() > 1 {
            (own.queue, own.read_expire, own.throttle) = (None, None, None);
        }
        for (i, node) in self.below(node).enumerate() {
            let drive = [&own.drive[..], &[i as u32]].concat();
            let own = ControlledDrive { drive, ..own.clone() };
            self.find_knobs(node, &own, found);
        }
    }
}

/// The events of a tree.
impl Tree {
    /// A request of the host as one to the unit that has its blocks.
    #[inline]
    fn to_unit(&self, request: DriveRequest, submitter: u32) -> Request {
        let at = request.lba.0;
        let unit = match self.equal {
            Some(size) => ((at / size) as usize).min(self.units.len() - 1),
            None => self.firsts.partition_point(|first| *first <= at).max(1) - 1,
        };
        let first = self.firsts.get(unit).copied().unwrap_or(0);
        Request {
            id: request.id,
            command: request.command,
            unit: unit as u32,
            lba: at - first,
            blocks: request.blocks,
            submitter,
            hint: request.hint,
        }
    }

    /// Gives a request to one of the units at `now`, to which the tree must have been advanced. Returns its number for
    /// [`Tree::abort`].
    #[inline]
    pub fn submit_to(&mut self, now: Time, request: Request) -> u32 {
        let flow = self.flow.of_host();
        let number = if self.gives_tags {
            flow.open_as(request.id as u32, request, u32::MAX)
        } else {
            flow.open(request, u32::MAX)
        };
        self.flow.now = now;
        self.under_way += 1;
        self.flow[number].request.id = request.id;
        match self.units.get(request.unit as usize) {
            Some(unit) => {
                let node = unit.node;
                let message = self.flow.address(*unit, request.unit, number);
                self.tell(message, node, number);
            }
            None => {
                self.flow[number].done.arrival = now;
                self.tell(Message::Refuse, 0, number);
            }
        }
        self.settle();
        number
    }

    /// Has a node do something, and notes when it is due next.
    #[inline(always)]
    fn at<T>(&mut self, node: u32, act: impl FnOnce(&mut dyn Layer, &mut Flow) -> T) -> T {
        self.flow.here = node;
        let layer = &mut *self.nodes[node as usize];
        let done = act(layer, &mut self.flow);
        let own = layer.next_event();
        self.flow.note(node, own);
        done
    }

    fn note(&mut self, node: u32) {
        let own = self.nodes[node as usize].next_event();
        self.flow.note(node, own);
    }

    /// Delivers one message.
    #[inline(always)]
    fn tell(&mut self, message: Message, node: u32, request: u32) {
        self.at(node, |layer, flow| match message {
            Message::Submit => layer.submit(request, flow),
            Message::Refuse => flow.end_at_once(request, Some(ErrorKind::OutOfRange)),
            Message::Ended => layer.ended(request, flow),
            Message::Abort => layer.abort(request, flow),
        });
    }

    /// Delivers all messages, in the order in which they were sent.
    #[inline(always)]
    fn settle(&mut self) {
        let mut next = 0;
        while let Some((message, node, request)) = self.flow.messages.get(next).copied() {
            next += 1;
            self.tell(message, node, request);
        }
        self.flow.messages.clear();
    }

    /// The node of the next event at the present time, at which there is one, after an event of `node`: what happens below
    /// a node is finished before what happens above it.
    #[inline]
    fn next_now(&self, node: u32) -> u32 {
        let order = &self.flow.order;
        let first = order.first();
        let mut at = node;
        while let Some(place) = self.flow.places.get(at as usize) {
            if (at..place.end).contains(&first) {
                return first;
            }
            if let Some(found) = order.first_in(at..place.end) {
                return found;
            }
            at = place.above;
        }
        first
    }

    /// Goes through the events before `until`, through those after `busy` only as long as requests of the host are under
    /// way.
    #[inline]
    fn go_on(&mut self, busy: Time, until: Time, sink: &mut impl FnMut(&LayerCompletion)) {
        if self.flow.now < until && !self.flow.ended.is_empty() {
            self.deliver(sink);
        }
        let mut due = self.flow.order.earliest();
        while due < until && (due <= busy || self.under_way > 0) {
            self.flow.now = due;
            let mut node = self.flow.order.first();
            loop {
                match self.flow.take_kept(node) {
                    Some(request) => self.at(node, |layer, flow| layer.ended(request, flow)),
                    None => self.at(node, |layer, flow| layer.happen(flow)),
                }
                self.settle();
                if !self.flow.ended.is_empty() {
                    self.deliver(sink);
                }
                due = self.flow.order.earliest();
                if due > self.flow.now {
                    break;
                }
                node = self.next_now(node);
            }
        }
    }

    /// Delivers the ends that are announced to the host.
    #[inline]
    fn deliver(&mut self, sink: &mut impl FnMut(&LayerCompletion)) {
        self.under_way -= self.flow.ended.len();
        for i in 0..self.flow.ended.len() {
            let number = self.flow.ended[i];
            let entry = &mut self.flow[number];
            entry.done.id = entry.request.id;
            sink(&entry.done);
            self.flow.of_host().close(number);
        }
        self.flow.ended.clear();
    }
}

/// Nodes and places of a tree that is built.
#[derive(Default)]
struct Built {
    nodes: Vec<Box<dyn Layer>>,
    places: Vec<Place>,
    members: Vec<flow::Member>,
}

impl Built {
    /// Adds branches below a node; returns their units.
    fn add_all(&mut self, branches: Vec<Branch>, above: u32) -> Vec<flow::Member> {
        let mut units = Vec::new();
        for Branch { layer, below } in branches {
            let node = self.nodes.len() as u32;
            let of = |(unit, blocks): (usize, u64)| flow::Member { node, unit: unit as u32, blocks };
            units.extend(layer.units().into_iter().enumerate().map(of));
            self.places.push(Place { above, end: 0, members: 0..0, passes_on: layer.passes_on() });
            self.nodes.push(layer);
            let members = self.add_all(below, node);
            let first = self.members.len() as u32;
            self.members.extend(members);
            let place = &mut self.places[node as usize];
            place.members = first..self.members.len() as u32;
            place.end = self.nodes.len() as u32;
        }
        units
    }
}

/// The branch of the node at `at`, whose nodes are next in `nodes`; `None` if there are no more.
fn take_branch(nodes: &mut impl Iterator<Item = Box<dyn Layer>>, places: &[Place], at: &mut usize) -> Option<Branch> {
    let layer = nodes.next()?;
    let end = places[*at].end as usize;
    *at += 1;
    let mut below = Vec::new();
    while *at < end {
        below.extend(take_branch(nodes, places, at));
    }
    Some(Branch { layer, below })
}

impl Clock for Tree {
    type Report = LayerCompletion;

    #[inline]
    fn next_event(&self) -> Time {
        match self.flow.ended.is_empty() {
            true => self.flow.order.earliest(),
            false => self.flow.now,
        }
    }

    fn advance(&mut self, until: Time, sink: &mut impl FnMut(&LayerCompletion)) {
        self.go_on(Time::NEVER, until, sink);
    }

    fn advance_busy(&mut self, now: Time, until: Time, sink: &mut impl FnMut(&LayerCompletion)) {
        self.go_on(now, until, sink);
    }
}

impl Meter for Tree {
    fn energy(&mut self, until: Time) -> DriveEnergy {
        self.sum_of(HOST, &|drive| drive.energy(until), &DriveEnergy::add)
    }

    fn joules(&mut self, until: Time) -> ByMode {
        self.sum_of(HOST, &|drive| drive.joules(until), &ByMode::add)
    }

    fn drive_joules(&mut self, until: Time, sums: &mut Vec<f64>) {
        for drive in self.nodes.iter_mut().filter_map(|n| n.drive_mut()) {
            sums.push(drive.joules(until).total());
        }
    }

    fn observe(&self, _until: Time, _outcome: &mut MemberOutcome) {}

    fn reset_statistics(&mut self, now: Time) {
        self.nodes.iter_mut().for_each(|n| n.reset_statistics(now));
        self.flow.statistics.iter_mut().for_each(|s| s.reset(now));
    }
}

impl Adjust for Tree {
    fn controlled_drives(&self) -> Vec<ControlledDrive> {
        let mut found = Vec::new();
        for (i, root) in self.below(HOST).enumerate() {
            let above = ControlledDrive { drive: vec![i as u32], ..ControlledDrive::default() };
            self.find_knobs(root, &above, &mut found);
        }
        found
    }

    fn is_meant(&self, _target: &Target, _index: u32) -> bool {
        true
    }

    fn change(&mut self, now: Time, target: &Target, setting: &Setting) -> Result<(), SpecError> {
        let mut nodes = self.targets(target)?.into_iter();
        nodes.try_for_each(|node| self.set_node(now, node, setting))
    }

    fn apply(&mut self, now: Time, way: &[u32], setting: &Setting) -> Result<(), SpecError> {
        self.set(now, way, setting)
    }

    fn is_draining(&self, way: &[u32]) -> bool {
        let layer = self.node_at(way).ok().and_then(|n| self.nodes.get(n as usize));
        layer.and_then(|layer| layer.host_queue()).is_some_and(HostQueue::is_draining)
    }
}

impl Member for Tree {
    const TELLS_SUBMITTERS_APART: bool = true;

    fn logical_units(&self) -> Vec<u64> {
        self.units.iter().map(|u| u.blocks).collect()
    }

    /// The first drive that heeds one decides.
    fn hint(&self, priority: Ioprio) -> Hint {
        let drives = self.nodes.iter().filter_map(|n| n.drive());
        let mut hints = drives.map(|layer| Member::hint(&layer.drive, priority));
        hints.find(|h| *h != Hint::None).unwrap_or(Hint::None)
    }

    fn submit(&mut self, now: Time, request: DriveRequest, submitter: u32) {
        self.submit_to(now, self.to_unit(request, submitter));
    }

    fn queue_len(&self) -> usize {
        self.under_way
    }
}
