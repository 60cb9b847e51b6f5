//! A layer for tests: servers, a queue, service times by a rule, and a log of its requests.

use headstack_block::layer::{
    elevator, Branch, Context, ErrorKind, Flow, Layer, LayerCompletion, Request, Setting, Tree, ANYONE,
};
use headstack_block::Clock;
use headstack_drive::{Components, Hint};
use headstack_engine::SpecError;
use headstack_schema::Plugin;
use headstack_units::Time;
use std::sync::{Arc, Mutex};

/// The behaviour of a mock.
pub trait Behaviour: Send {
    /// A request has arrived.
    fn arrives(&mut self, _now: Time, _request: &Request) {}
    /// Index of the waiting request that is served next.
    fn pick(&mut self, _waiting: &[Waiting]) -> usize {
        0
    }
    /// Begins a service; returns its end, and its error if it fails.
    fn serve(&mut self, start: Time, request: &Request) -> (Time, Option<ErrorKind>);
    /// Whether a waiting request can be aborted.
    fn abort(&mut self, _request: &Request) -> bool {
        true
    }
}

/// A request that waits.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    pub arrival: Time,
    pub request: Request,
}

pub struct Mock<B> {
    pub units: Vec<u64>,
    pub servers: usize,
    pub behaviour: B,
    pub index: u32,
    waiting: Vec<Waiting>,
    busy: Vec<Time>,
    now: Time,
}

impl<B: Behaviour> Mock<B> {
    pub fn new(blocks: u64, servers: usize, index: u32, behaviour: B) -> Mock<B> {
        Mock { units: vec![blocks], servers, behaviour, index, waiting: Vec::new(), busy: Vec::new(), now: Time::ZERO }
    }

    /// The mock as a member of a volume.
    pub fn branch(self) -> Branch
    where
        B: 'static,
    {
        Branch::new(Box::new(self), Vec::new())
    }

    fn end(&self, w: &Waiting, start: Time, end: Time, error: Option<ErrorKind>, flow: &mut Flow) {
        let number = w.request.id as u32;
        flow[number].done = LayerCompletion {
            id: w.request.id,
            arrival: w.arrival,
            admitted: w.arrival,
            completion: end,
            components: Components {
                queue: start.span_from(w.arrival),
                transfer: end.span_from(start),
                ..Default::default()
            },
            moved: true,
            seek_distance: 1,
            drive: self.index,
            error,
            ..LayerCompletion::default()
        };
        flow.end(number);
    }

    /// Time at which the next service can begin.
    fn next_start(&self) -> Time {
        let Some(first) = self.waiting.iter().map(|w| w.arrival).min() else {
            return Time::NEVER;
        };
        let at_work = self.busy.iter().filter(|end| **end > self.now).count();
        let free = match at_work < self.servers {
            true => self.now,
            false => self.busy.iter().copied().filter(|end| *end > self.now).min().unwrap_or(self.now),
        };
        free.max(first)
    }
}

impl<B: Behaviour> Layer for Mock<B> {
    fn name(&self) -> &'static str {
        "mock"
    }
    fn units(&self) -> Vec<u64> {
        self.units.clone()
    }
    fn submit(&mut self, number: u32, flow: &mut Flow) {
        let (now, request) = (flow.now, flow[number].request);
        assert_eq!(request.id, u64::from(number));
        assert!(now >= self.now, "submitted at {now:?} after {:?}", self.now);
        self.now = now;
        self.behaviour.arrives(now, &request);
        self.waiting.push(Waiting { arrival: now, request });
    }
    fn ended(&mut self, _number: u32, _flow: &mut Flow) {}
    fn next_event(&self) -> Time {
        self.next_start()
    }
    fn happen(&mut self, flow: &mut Flow) {
        while self.next_start() <= flow.now {
            let start = self.next_start();
            self.now = start;
            self.busy.retain(|end| *end > start);
            let present: Vec<Waiting> = self.waiting.iter().filter(|w| w.arrival <= start).copied().collect();
            let picked = present[self.behaviour.pick(&present)];
            self.waiting.retain(|w| w.request.id != picked.request.id);
            let (end, error) = self.behaviour.serve(start, &picked.request);
            self.busy.push(end);
            self.end(&picked, start, end, error, flow);
        }
    }
    fn abort(&mut self, number: u32, flow: &mut Flow) {
        let now = flow.now;
        self.now = now;
        let id = u64::from(number);
        let found = self.waiting.iter().position(|w| w.request.id == id);
        let behaviour = &mut self.behaviour;
        if let Some(i) = found.filter(|i| behaviour.abort(&self.waiting[*i].request)) {
            let w = self.waiting.remove(i);
            self.end(&w, now, now, Some(ErrorKind::Aborted), flow);
        }
    }
    fn set(&mut self, setting: &Setting, _flow: &mut Flow) -> Result<(), SpecError> {
        let got = format!("{setting:?}");
        Err(SpecError::new("setting", got, "something else"))
    }
}

/// All requests to a set of mocks: time, index of the mock, request.
pub type Log = Arc<Mutex<Vec<(Time, u32, Request)>>>;

/// Constant service time; requests are logged.
pub struct Constant {
    pub index: u32,
    pub service: u64,
    pub log: Log,
}

impl Behaviour for Constant {
    fn arrives(&mut self, now: Time, request: &Request) {
        let mut log = self.log.lock().expect("the log");
        log.push((now, self.index, *request));
    }
    fn serve(&mut self, start: Time, _: &Request) -> (Time, Option<ErrorKind>) {
        (Time(start.0 + self.service), None)
    }
}

/// Mocks of constant service time, and their log.
pub fn constants(n: u32, blocks: u64, service: u64) -> (Vec<Branch>, Log) {
    let log = Log::default();
    let mocks = (0..n).map(|index| {
        let behaviour = Constant { index, service, log: log.clone() };
        Mock::new(blocks, 1, index, behaviour).branch()
    });
    (mocks.collect(), log)
}

/// Advances a tree until it has no more events; returns the completions in the order in which they were
/// announced.
pub fn finish(layer: &mut Tree) -> Vec<LayerCompletion> {
    let mut all = Vec::new();
    while layer.next_event() != Time::NEVER {
        let next = layer.next_event();
        layer.advance(Time(next.0 + 1), &mut |done| all.push(*done));
    }
    all
}

/// A layer of a registry over these, as a tree.
pub fn tree(
    entry: &Plugin<dyn Layer>,
    below: Vec<Branch>,
    params: headstack_drive::spec::Params,
) -> Result<Tree, SpecError> {
    let members = below.iter().flat_map(|b| b.layer.units()).collect();
    let layer = entry.build(&params, Context { members, elevators: &elevator::PLUGINS })?;
    Ok(Tree::over(vec![Branch::new(layer, below)]))
}

/// A request of no process.
pub fn request(id: u64, command: headstack_drive::Command, lba: u64, blocks: u32) -> Request {
    Request { id, command, unit: 0, lba, blocks, submitter: ANYONE, hint: Hint::None }
}
