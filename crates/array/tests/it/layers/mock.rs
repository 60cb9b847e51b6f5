//! A layer for tests: servers, a queue, service times by a rule, and a log of its requests.

use headstack_array::layer::{
    ErrorKind, Layer, LayerCompletion, Request, Setting, Statistics, ANYONE,
};
use headstack_drive::{Components, DriveEnergy};
use headstack_engine::SpecError;
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
    ready: Vec<LayerCompletion>,
}

impl<B: Behaviour> Mock<B> {
    pub fn new(blocks: u64, servers: usize, index: u32, behaviour: B) -> Mock<B> {
        Mock {
            units: vec![blocks],
            servers,
            behaviour,
            index,
            waiting: Vec::new(),
            busy: Vec::new(),
            now: Time::ZERO,
            ready: Vec::new(),
        }
    }

    fn done(
        &self,
        w: &Waiting,
        start: Time,
        end: Time,
        error: Option<ErrorKind>,
    ) -> LayerCompletion {
        LayerCompletion {
            id: w.request.id,
            arrival: w.arrival,
            admitted: w.arrival,
            completion: end,
            components: Components {
                queue: start.0 - w.arrival.0,
                transfer: end.0 - start.0,
                ..Components::default()
            },
            moved: true,
            seek_distance: 1,
            drive: self.index,
            error,
            ..LayerCompletion::default()
        }
    }

    /// Time at which the next service can begin.
    fn next_start(&self) -> Time {
        let Some(first) = self.waiting.iter().map(|w| w.arrival).min() else {
            return Time::NEVER;
        };
        let at_work = self.busy.iter().filter(|end| **end > self.now).count();
        let free = match at_work < self.servers {
            true => self.now,
            false => self
                .busy
                .iter()
                .copied()
                .filter(|end| *end > self.now)
                .min()
                .unwrap_or(self.now),
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
    fn submit(&mut self, now: Time, request: Request) {
        assert!(now >= self.now, "submitted at {now:?} after {:?}", self.now);
        self.now = now;
        self.behaviour.arrives(now, &request);
        let waiting = Waiting {
            arrival: now,
            request,
        };
        if request.is_inside(self.units[request.unit as usize]) {
            self.waiting.push(waiting);
        } else {
            let done = self.done(&waiting, now, now, Some(ErrorKind::OutOfRange));
            self.ready.push(done);
        }
    }
    fn next_event(&self) -> Time {
        match self.ready.is_empty() {
            true => self.next_start(),
            false => self.now,
        }
    }
    fn advance(&mut self, until: Time, sink: &mut dyn FnMut(&LayerCompletion)) {
        if self.now < until {
            self.ready.drain(..).for_each(|done| sink(&done));
        }
        while self.next_start() < until {
            let start = self.next_start();
            self.now = start;
            self.busy.retain(|end| *end > start);
            let present: Vec<Waiting> = self
                .waiting
                .iter()
                .filter(|w| w.arrival <= start)
                .copied()
                .collect();
            let picked = present[self.behaviour.pick(&present)];
            self.waiting.retain(|w| w.request.id != picked.request.id);
            let (end, error) = self.behaviour.serve(start, &picked.request);
            self.busy.push(end);
            sink(&self.done(&picked, start, end, error));
        }
    }
    fn set(&mut self, now: Time, _path: &[u32], setting: &Setting) -> Result<(), SpecError> {
        self.now = self.now.max(now);
        if let Setting::Abort { id } = setting {
            let found = self.waiting.iter().position(|w| w.request.id == *id);
            let behaviour = &mut self.behaviour;
            let aborted = found.filter(|i| behaviour.abort(&self.waiting[*i].request));
            if let Some(i) = aborted {
                let w = self.waiting.remove(i);
                let done = self.done(&w, now, now, Some(ErrorKind::Aborted));
                self.ready.push(done);
                return Ok(());
            }
        }
        Err(SpecError::new(
            "setting",
            format!("{setting:?}"),
            "something else",
        ))
    }
    fn meter(&mut self, _until: Time) -> DriveEnergy {
        DriveEnergy::default()
    }
    fn reset_statistics(&mut self, _now: Time) {}
    fn statistics(&self) -> Statistics {
        Statistics::default()
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
pub fn constants(n: u32, blocks: u64, service: u64) -> (Vec<Box<dyn Layer>>, Log) {
    let log = Log::default();
    let mocks = (0..n).map(|index| {
        let behaviour = Constant {
            index,
            service,
            log: log.clone(),
        };
        Box::new(Mock::new(blocks, 1, index, behaviour)) as Box<dyn Layer>
    });
    (mocks.collect(), log)
}

/// Advances a layer until it has no more events; returns the completions in the order in which they were
/// announced.
pub fn finish(layer: &mut dyn Layer) -> Vec<LayerCompletion> {
    let mut all = Vec::new();
    while layer.next_event() != Time::NEVER {
        let next = layer.next_event();
        layer.advance(Time(next.0 + 1), &mut |done| all.push(*done));
    }
    all
}

/// A request of no process.
pub fn request(id: u64, command: headstack_drive::Command, lba: u64, blocks: u32) -> Request {
    Request {
        id,
        command,
        unit: 0,
        lba,
        blocks,
        submitter: ANYONE,
    }
}
