//! Lower layers behind one port of finite bandwidth.
//!
//! # Model
//! The data of every request cross one port, which carries one request at a time (in each direction, if it is
//! full duplex), first come first served. A transfer takes `bytes / bandwidth`; each `frame` of data, also a
//! partial one, adds `frame_overhead` bytes. A write reaches the layer below after its transfer. The transfer
//! of a read overlaps with the read of the medium: on an idle port both end together; on a busy port the
//! transfer starts when the requests before it are done. Requests without data do not wait. The units of the
//! layers below are the units of the link, in order.
//!
//! | parameter | means | if absent |
//! |---|---|---|
//! | `bandwidth` | bytes per second in each direction | needed |
//! | `duplex` | `full`: reads and writes have a direction each; `half`: they share the port | `full` |
//! | `frame`, `frame_overhead` | most data in a frame; bytes sent with each frame besides its data | 2 KiB, none |
//!
//! A change of the bandwidth applies to transfers that begin afterwards.
//!
//! Statistics: times `reads_crossing` and `writes_crossing`, and `waited_for_port`.
//! # Source
//! A single server with constant service per byte. SAS: frames carry up to 1 KiB, SATA: up to 8 KiB of data.
//! # Validity
//! Commands and responses take no time. A drive file may have a link of its own. Where both would describe
//! the same wire, give the drive's link no bandwidth, or a larger one. Requests are not interleaved.

use super::below::{LowerLayers, PendingCompletions};
use super::clock::{LayerClock, NextEvent};
use super::{
    not_supported, Context, Entry, Layer, LayerCompletion, LowerCount, Request, Setting, Statistics,
};
use headstack_drive::{Command, DriveEnergy};
use headstack_schema::{Choice, SpecError, Table};
use headstack_units::{Bandwidth, Bytes, Time};
use slab::Slab;

/// The layer's name.
const NAME: &str = "link";

/// The registry's entry.
pub fn entry() -> Entry {
    let summary = "lower layers behind one port of finite bandwidth";
    Entry::new(NAME, summary, LowerCount::Many, |context, p| {
        Ok(Box::new(Link::new(context, &p)?))
    })
    .with_example("bandwidth = \"600 MB/s\"")
}

/// With the least bandwidth a block takes 1 s, and the time of the longest request fits the clock.
const LEAST: Bandwidth = Bandwidth(512.0);
const MOST: Bandwidth = Bandwidth(1e15);

#[derive(Table)]
struct Parameters {
    /// Bandwidth in each direction.
    #[param(range = LEAST..=MOST)]
    bandwidth: Bandwidth,
    /// Whether both directions can be used at once.
    #[param(default)]
    duplex: Duplex,
    /// Data in a frame.
    #[param(default = Bytes(2048), range = Bytes(1)..=Bytes(u64::MAX))]
    frame: Bytes,
    /// Bytes that a frame has besides, at most as many as its data.
    #[param(default)]
    frame_overhead: Bytes,
}

#[derive(Default, Clone, Copy, PartialEq, Choice)]
enum Duplex {
    /// Reads and writes cross at the same time.
    #[default]
    Full,
    /// One transfer at a time.
    Half,
}

/// A request between submission and completion.
struct Transfer {
    request: Request,
    arrival: Time,
    /// True while the data of a write cross the port on their way to the layer below.
    going_down: bool,
    given: Time,
}

/// A shared port over the layers below.
struct Link {
    below: LowerLayers,
    bytes_per_ns: f64,
    duplex: Duplex,
    frame: u64,
    frame_overhead: u64,
    /// When the port becomes free for reads, and for writes.
    free: [Time; 2],
    passing: Slab<Transfer>,
    /// Times at which the data of writes have crossed, and completions announced by the layers below.
    ends: PendingCompletions,
    clock: LayerClock,
    crossing_ns: [u128; 2],
    waited_ns: u128,
}

const READ: usize = 0;
const WRITE: usize = 1;

impl Link {
    fn new(context: Context, p: &Parameters) -> Result<Link, SpecError> {
        if p.frame_overhead.0 > p.frame.0 {
            let need = format!("at most a frame of {}", p.frame);
            return Err(SpecError::new("frame_overhead", p.frame_overhead, need));
        }
        Ok(Link {
            below: LowerLayers::new(context.below),
            bytes_per_ns: p.bandwidth.0 * 1e-9,
            duplex: p.duplex,
            frame: p.frame.0,
            frame_overhead: p.frame_overhead.0,
            free: [Time::ZERO; 2],
            passing: Slab::new(),
            ends: PendingCompletions::default(),
            clock: LayerClock::default(),
            crossing_ns: [0; 2],
            waited_ns: 0,
        })
    }

    /// Time that the data of a request take on the port, in nanoseconds.
    fn crossing(&self, request: &Request) -> u64 {
        if request.command == Command::Flush {
            return 0;
        }
        let data = u64::from(request.blocks) * 512;
        let bytes = data + data.div_ceil(self.frame) * self.frame_overhead;
        (bytes as f64 / self.bytes_per_ns).ceil() as u64
    }

    /// Reserves the port for `ns` nanoseconds, not before `from`. Returns when the last data have crossed.
    fn carry(&mut self, direction: usize, from: Time, ns: u64) -> Time {
        let way = match self.duplex {
            Duplex::Full => direction,
            Duplex::Half => READ,
        };
        let start = self.free[way].max(from);
        let end = Time(start.0.saturating_add(ns));
        self.free[way] = end;
        self.crossing_ns[direction] += u128::from(ns);
        self.waited_ns += u128::from(start.0 - from.0);
        end
    }

    fn give(&mut self, now: Time, slot: u32) {
        let passing = &mut self.passing[slot as usize];
        passing.going_down = false;
        passing.given = now;
        let mut request = passing.request;
        request.id = u64::from(slot);
        self.below.submit(now, passing.request.unit, request);
    }

    /// A request has completed at the layer below at `now`.
    fn ended(&mut self, slot: u32, now: Time) {
        let passing = self.passing.remove(slot as usize);
        let lower = *self.ends.announced(slot);
        let mut end = now;
        if passing.request.command == Command::Read && lower.error.is_none() {
            let ns = self.crossing(&passing.request);
            // The transfer may overlap with reading the medium, as far as the port was free.
            let from = Time(now.0.saturating_sub(ns).max(passing.given.0));
            end = self.carry(READ, from, ns);
        }
        let mut done = LayerCompletion {
            id: passing.request.id,
            arrival: passing.arrival,
            admitted: passing.arrival,
            completion: end,
            ..lower
        };
        done.components.bus += passing.given.0 - passing.arrival.0 + (end.0 - now.0);
        self.clock.finish(done);
    }

    /// Advances the layers below. Completions that they announce are kept until their time.
    fn step_below(&mut self) {
        let (passing, ends) = (&self.passing, &mut self.ends);
        let of = |done: &LayerCompletion| passing[done.id as usize].request.unit;
        self.below.step(&mut |done| ends.announce(of(done), done));
    }

    fn next_crosses(&mut self, now: Time) {
        let Some(slot) = self.ends.pop() else {
            return;
        };
        match self.passing[slot as usize].going_down {
            true => self.give(now, slot),
            false => self.ended(slot, now),
        }
    }
}

impl Layer for Link {
    fn name(&self) -> &str {
        NAME
    }

    fn units(&self) -> Vec<u64> {
        self.below.member_blocks()
    }

    fn submit(&mut self, now: Time, request: Request) {
        self.clock.reach(now);
        let unit = request.unit;
        let inside =
            (unit as usize) < self.below.members() && request.is_inside(self.below.blocks_of(unit));
        if !inside {
            self.clock.refuse(&request, now);
            return;
        }
        let slot = self.passing.insert(Transfer {
            request,
            arrival: now,
            going_down: false,
            given: now,
        }) as u32;
        let ns = match request.command.writes() {
            true => self.crossing(&request),
            false => 0,
        };
        if ns == 0 {
            self.give(now, slot);
        } else {
            self.passing[slot as usize].going_down = true;
            let end = self.carry(WRITE, now, ns);
            self.ends.push(end, unit, slot);
        }
    }

    fn next_event(&self) -> Time {
        let work = self.ends.next().min(self.below.next_event());
        self.clock.next_event(work)
    }

    fn advance(&mut self, until: Time, sink: &mut dyn FnMut(&LayerCompletion)) {
        loop {
            let times = (self.ends.next(), self.below.next_event());
            match self.clock.step(times, until, sink) {
                None => return,
                Some(NextEvent::LowerLayers) => self.step_below(),
                Some(NextEvent::Own(now)) => self.next_crosses(now),
            }
        }
    }

    fn set(&mut self, now: Time, path: &[u32], setting: &Setting) -> Result<(), SpecError> {
        self.clock.reach(now);
        match (path, setting) {
            ([], Setting::Bandwidth(bandwidth)) => {
                if !(LEAST..=MOST).contains(bandwidth) {
                    let need = format!("{LEAST} to {MOST}");
                    return Err(SpecError::new("setting.bandwidth", bandwidth, need));
                }
                self.bytes_per_ns = bandwidth.0 * 1e-9;
                Ok(())
            }
            ([], other) => Err(not_supported("a link", other, &["bandwidth"])),
            (path, setting) => self.below.set(now, path, setting),
        }
    }

    fn meter(&mut self, until: Time) -> DriveEnergy {
        self.below.meter(until)
    }

    fn reset_statistics(&mut self, now: Time) {
        self.clock.statistics.reset(now);
        self.crossing_ns = [0; 2];
        self.waited_ns = 0;
        self.below.reset_statistics(now);
    }

    fn statistics(&self) -> Statistics {
        let mut all = self.clock.statistics.clone();
        all.add_ns("reads_crossing", self.crossing_ns[READ]);
        all.add_ns("writes_crossing", self.crossing_ns[WRITE]);
        all.add_ns("waited_for_port", self.waited_ns);
        all
    }

    fn below(&self) -> &[Box<dyn Layer>] {
        self.below.layers()
    }

    fn below_mut(&mut self) -> &mut [Box<dyn Layer>] {
        self.below.layers_mut()
    }
}
