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
//! A change of the bandwidth applies to transfers that begin afterwards.
//!
//! Statistics: times `reads_crossing` and `writes_crossing`, and `waited_for_port`.
//! # Source
//! A single server with constant service per byte. SAS: frames carry up to 1 KiB, SATA: up to 8 KiB of data.
//! # Validity
//! Commands and responses take no time. A drive file may have a link of its own. Where both would describe
//! the same wire, give the drive's link no bandwidth, or a larger one. Requests are not interleaved.

use super::{not_supported, Context, Flow, Layer, LowerCount, Request, Setting, Statistics};
use headstack_drive::Command;
use headstack_schema::{Choice, OneOf, SpecError, Table};
use headstack_units::{Bandwidth, Bytes, Time};

/// The layer's name.
const NAME: &str = "link";

/// With the least bandwidth a block takes 1 s, and the time of the longest request fits the clock.
const LEAST: Bandwidth = Bandwidth(512.0);
const MOST: Bandwidth = Bandwidth(1e15);

#[derive(Table)]
#[table(
    model = "lower layers behind one port of finite bandwidth",
    example = "bandwidth = \"600 MB/s\"",
    facts = LowerCount::Many, build = |own, context| Ok(Box::new(Link::new(context, &own)?))
)]
pub(super) struct Parameters {
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

/// A shared port over the layers below.
struct Link {
    members: Vec<u64>,
    bytes_per_ns: f64,
    duplex: Duplex,
    frame: u64,
    frame_overhead: u64,
    /// When the port becomes free for reads, and for writes.
    free: [Time; 2],
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
            members: context.members,
            bytes_per_ns: p.bandwidth.0 * 1e-9,
            duplex: p.duplex,
            frame: p.frame.0,
            frame_overhead: p.frame_overhead.0,
            free: [Time::ZERO; 2],
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
}

/// A setting of a link.
#[derive(Debug, Clone, PartialEq, OneOf)]
pub enum LinkSetting {
    /// Link: bandwidth in each direction, for transfers that begin afterwards.
    // It counts for transfers that begin afterwards.
    Bandwidth(Bandwidth),
}

impl Layer for Link {
    fn name(&self) -> &str {
        NAME
    }

    fn units(&self) -> Vec<u64> {
        self.members.clone()
    }

    fn submit(&mut self, request: u32, flow: &mut Flow) {
        let asked = flow[request].request;
        let given = flow.open_for(request);
        let ns = if asked.command.writes() { self.crossing(&asked) } else { 0 };
        if ns == 0 {
            flow.submit(asked.unit, given);
        } else {
            let end = self.carry(WRITE, flow.now, ns);
            flow[given].member = asked.unit;
            flow.keep(given, end);
        }
    }

    fn ended(&mut self, given: u32, flow: &mut Flow) {
        let asked = flow[given].request;
        if !flow[given].is_announced {
            // The data of a write have crossed on their way down.
            return flow.submit(asked.unit, given);
        }
        let given_at = flow[given].done.arrival;
        let request = flow.take_over(given);
        let now = flow.now;
        let done = &mut flow[request].done;
        let mut end = now;
        if asked.command.reads() && done.error.is_none() {
            let ns = self.crossing(&asked);
            // The transfer may overlap with reading the medium, as far as the port was free.
            let from = Time(now.0.saturating_sub(ns).max(given_at.0));
            end = self.carry(READ, from, ns);
        }
        done.admitted = done.arrival;
        done.completion = end;
        done.components.bus += given_at.span_from(done.arrival) + end.span_from(now);
        flow.end(request);
    }

    fn set(&mut self, setting: &Setting, _flow: &mut Flow) -> Result<(), SpecError> {
        match setting {
            Setting::Link(LinkSetting::Bandwidth(bandwidth)) => {
                if !(LEAST..=MOST).contains(bandwidth) {
                    let need = format!("{LEAST} to {MOST}");
                    return Err(SpecError::new("setting.bandwidth", bandwidth, need));
                }
                self.bytes_per_ns = bandwidth.0 * 1e-9;
                Ok(())
            }
            other => Err(not_supported("a link", other, &LinkSetting::names())),
        }
    }

    fn reset_statistics(&mut self, _now: Time) {
        self.crossing_ns = [0; 2];
        self.waited_ns = 0;
    }

    fn add_counts(&self, all: &mut Statistics) {
        all.add_ns("reads_crossing", self.crossing_ns[READ]);
        all.add_ns("writes_crossing", self.crossing_ns[WRITE]);
        all.add_ns("waited_for_port", self.waited_ns);
    }
}
