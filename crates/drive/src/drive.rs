//! A drive as its host sees it: requests go in, completions with every share of their time come out.

use headstack_units::{Lba, Time};

/// What the host asks of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Read blocks.
    Read,
    /// Write blocks.
    Write,
    /// Put everything written before on the medium.
    Flush,
}

/// One command to a drive. Blocks are 512 bytes whatever the physical sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveRequest {
    /// The host's name for it; comes back in the [`Completion`].
    pub id: u64,
    /// What to do.
    pub command: Command,
    /// First 512-byte block.
    pub lba: Lba,
    /// Number of 512-byte blocks; ignored by [`Command::Flush`].
    pub blocks: u32,
}

/// Where the response time of one request went, in nanoseconds. The six shares add up to the
/// response time exactly; work that overlaps is charged to the part that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Components {
    /// Waiting for other requests, and for the mechanism to come free.
    pub queue: u64,
    /// Command processing.
    pub overhead: u64,
    /// Arm movement, head switch and settling.
    pub seek: u64,
    /// Waiting for the platter.
    pub rotation: u64,
    /// Sectors passing under the head, track switches inside the transfer included.
    pub transfer: u64,
    /// The link, where it is not hidden behind the medium.
    pub bus: u64,
}

/// One request done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The host's name for the request.
    pub id: u64,
    /// When it reached the drive.
    pub arrival: Time,
    /// When the host was told that it is done.
    pub completion: Time,
    /// Where the time went.
    pub components: Components,
    /// Served wholly from the buffer (reads) or completed in it (writes).
    pub cache_hit: bool,
    /// Whether the request itself used the mechanism before it completed.
    pub mechanical: bool,
    /// Cylinders that the arm moved for it.
    pub seek_distance: u32,
    /// Which arm assembly served it.
    pub arm: u8,
    /// Set when it could not be served: outside the drive, or nothing reaches the surface.
    pub error: bool,
}

/// Time in each state and the energy of it, from time zero to `until`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DriveEnergy {
    /// Seconds spinning without positioning or transferring.
    pub idle_s: f64,
    /// Seconds seeking (switches and settling included), background work included.
    pub seek_s: f64,
    /// Seconds waiting for rotation.
    pub rotation_s: f64,
    /// Seconds transferring.
    pub transfer_s: f64,
    /// Seconds spun down.
    pub standby_s: f64,
    /// Joules in each of these states, same order.
    pub idle_j: f64,
    /// See `idle_j`.
    pub seek_j: f64,
    /// See `idle_j`.
    pub rotation_j: f64,
    /// See `idle_j`.
    pub transfer_j: f64,
    /// See `idle_j`.
    pub standby_j: f64,
}

use crate::error::SpecError;
use crate::layout::Place;
use crate::mechanics::Mechanics;
use crate::queue::{Queue, Waiting};
use crate::scheduler::{self, Choice, Scheduler, View};
use crate::service::{Core, Outcome, Task};
use crate::spec::{DriveSpec, HitCheck};
use headstack_units::{Rpm, Turn};
use std::collections::VecDeque;

/// What a run may ask of a drive besides its description.
#[derive(Debug, Clone, Copy, Default)]
pub struct DriveOptions {
    /// Imitate DiskSim 4.0: the switches that it leaves inert (free reads, read and write on
    /// arrival) stay off, and stopping read-ahead adds to the command overhead.
    pub compat_disksim_40: bool,
    /// Seed of whatever the drive draws at random (nothing yet).
    pub seed: u64,
    /// The angle under the heads at time zero.
    pub start_phase: Turn,
}

/// One drive: mechanics, buffer, queue and clock.
pub struct Drive {
    core: Core,
    queue: Queue,
    /// Commands beyond the queue depth, in order of arrival.
    beyond: VecDeque<Waiting>,
    depth: usize,
    scheduler: Box<dyn Scheduler>,
    fcfs: bool,
    age_limit: u64,
    per_request: u64,
    check_arrivals: bool,
    /// Blocks of 512 bytes per physical sector, as a shift.
    shift: u32,
    capacity_blocks: u64,
    /// When the command in service completes.
    free: u64,
    done: Vec<Completion>,
    watts: StateWatts,
    counted_from: u64,
    counted: crate::service::Busy,
}

use crate::power::StateWatts;

impl Drive {
    /// Builds a drive at rest: arms at cylinder 0, buffer empty, platter at the start phase.
    ///
    /// # Errors
    /// Whatever in the description does not fit together, by dotted key.
    pub fn new(spec: &DriveSpec, options: &DriveOptions) -> Result<Drive, SpecError> {
        let mechanics = Mechanics::new(spec, options.start_phase)?;
        let shift = (spec.geometry.sector_size.0 / 512).trailing_zeros();
        let capacity_blocks = mechanics.layout.capacity() << shift;
        let core = Core::new(spec, mechanics, options.compat_disksim_40)?;
        let arms = core.arms.len() as u32;
        let watts = crate::power::build(&spec.power, Rpm(spec.geometry.rotation_speed.0), arms)?;
        Ok(Drive {
            queue: Queue::default(),
            beyond: VecDeque::new(),
            depth: if spec.queue.depth == 0 {
                usize::MAX
            } else {
                spec.queue.depth as usize
            },
            scheduler: scheduler::build(&spec.queue)?,
            fcfs: spec.queue.scheduler == "fcfs",
            age_limit: match spec.queue.age_limit.non_negative() {
                0 => u64::MAX,
                t => t,
            },
            per_request: spec.overhead.per_request.non_negative(),
            check_arrivals: spec.cache.enabled && spec.cache.hit_check == HitCheck::Arrival,
            shift,
            capacity_blocks,
            free: 0,
            done: Vec::new(),
            watts,
            counted_from: 0,
            counted: Default::default(),
            core,
        })
    }

    /// Number of 512-byte blocks that the drive offers.
    pub fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    /// The moving parts, for formulas and plots.
    pub fn mechanics(&self) -> &Mechanics {
        &self.core.mechanics
    }

    /// Commands that wait, the one in service not counted.
    pub fn queue_len(&self) -> usize {
        self.queue.len() + self.beyond.len()
    }

    /// Gives the drive a command at `now`, which never decreases from call to call.
    ///
    /// A request that is empty or reaches past the end completes at once as an error.
    #[inline]
    pub fn submit(&mut self, now: Time, request: DriveRequest) {
        let arrival = now.0;
        let mut waiting = Waiting {
            request,
            arrival,
            sector: 0,
            count: 0,
            place: Place::default(),
        };
        if request.command != Command::Flush {
            let past = request.lba.0.checked_add(request.blocks as u64);
            if request.blocks == 0 || past.is_none_or(|p| p > self.capacity_blocks) {
                self.done.push(refused(&request, now));
                return;
            }
            let past = request.lba.0 + request.blocks as u64;
            waiting.sector = request.lba.0 >> self.shift;
            let up = (1u64 << self.shift) - 1;
            waiting.count = (((past + up) >> self.shift) - waiting.sector) as u32;
            if self.check_arrivals && request.command == Command::Read {
                self.core.run_background(arrival);
                if let Some(o) = self
                    .core
                    .read_at_arrival(arrival, waiting.sector, waiting.count)
                {
                    self.done.push(completion(&waiting, 0, o, self.core.active));
                    return;
                }
            }
            match self.core.mechanics.layout.locate(waiting.sector) {
                Some(place) => waiting.place = place,
                None => {
                    self.done.push(refused(&request, now));
                    return;
                }
            }
        }
        if self.queue.len() < self.depth && self.beyond.is_empty() {
            self.queue.push(waiting);
        } else {
            self.beyond.push_back(waiting);
        }
    }

    /// The earliest time at which [`Drive::advance`] would do something.
    #[inline]
    pub fn next_event(&self) -> Time {
        if !self.done.is_empty() {
            return Time::ZERO;
        }
        if self.queue.is_empty() {
            return Time::NEVER;
        }
        let first = self.queue.items()[self.queue.oldest()].arrival + self.per_request;
        Time(first.max(self.free))
    }

    /// Starts the service of every command whose service begins before `until`; what arrives at
    /// `until` itself is to be submitted first. Completions may lie after `until`.
    #[inline]
    pub fn advance(&mut self, until: Time, sink: &mut impl FnMut(Completion)) {
        for c in self.done.drain(..) {
            sink(c);
        }
        while !self.queue.is_empty() {
            let oldest = self.queue.oldest();
            let start = (self.queue.items()[oldest].arrival + self.per_request).max(self.free);
            if start >= until.0 {
                return;
            }
            let choice = self.choose(start, oldest);
            let waiting = self.queue.remove(choice.index);
            if let Some(next) = self.beyond.pop_front() {
                self.queue.push(next);
            }
            if self.core.arms.len() > 1 && choice.arm as usize != self.core.active {
                // Another arm takes over: what the first one read ahead ends here.
                let free = self.core.stop_read_ahead(start);
                self.core.mechanism_free = self.core.mechanism_free.max(free);
                self.core.active = choice.arm as usize;
            }
            let task = Task {
                start,
                sector: waiting.sector,
                count: waiting.count,
                place: Some(waiting.place),
                via: self.scheduler.via(),
                partial: self.shift > 0
                    && waiting.request.command == Command::Write
                    && (waiting.request.lba.0 | waiting.request.blocks as u64)
                        & ((1 << self.shift) - 1)
                        != 0,
            };
            let outcome = match waiting.request.command {
                Command::Read => self.core.read(&task),
                Command::Write => self.core.write(&task),
                Command::Flush => self.core.flush(start),
            };
            self.free = outcome.completion;
            sink(completion(&waiting, start, outcome, self.core.active));
        }
    }

    #[inline]
    fn choose(&mut self, start: u64, oldest: usize) -> Choice {
        let single = self.queue.len() == 1;
        let given = self.fcfs || (single && !self.scheduler.picks_lone());
        if given && self.core.arms.len() == 1 {
            return Choice {
                index: if single { 0 } else { oldest },
                arm: 0,
            };
        }
        // A flush is a barrier: what came before it is served first, then it.
        if self.queue.items()[oldest].request.command == Command::Flush {
            return Choice {
                index: oldest,
                arm: self.core.active as u8,
            };
        }
        if start - self.queue.items()[oldest].arrival > self.age_limit {
            return Choice {
                index: oldest,
                arm: self.core.active as u8,
            };
        }
        self.core.run_background(start);
        let core = &self.core;
        let queue = &self.queue;
        let hit = |i: usize| {
            let w: &Waiting = &queue.items()[i];
            w.request.command == Command::Read
                && core.would_hit(w.sector, w.sector + w.count as u64)
        };
        let view = View {
            mechanics: &core.mechanics,
            arms: &core.arms,
            now: start,
            start: core.earliest_moves(start),
            last_end: core.previous_end.min(u64::MAX - 1),
            hit: &hit,
        };
        let choice = self.scheduler.pick(queue, &view);
        let chosen = &queue.items()[choice.index];
        if chosen.request.command == Command::Flush {
            // Everything that arrived before a flush goes first, in order of age and directly.
            self.scheduler.via();
            return Choice {
                index: oldest,
                arm: choice.arm,
            };
        }
        choice
    }

    /// Time and energy by state since the last [`Drive::reset_statistics`], up to `until`.
    pub fn energy(&mut self, until: Time) -> DriveEnergy {
        let busy = self.core.busy_until(until.0);
        let s = |a: u64, b: u64| a.saturating_sub(b) as f64 * 1e-9;
        let seek_s = s(busy.seek, self.counted.seek);
        let rotation_s = s(busy.rotation, self.counted.rotation);
        let transfer_s = s(busy.transfer, self.counted.transfer);
        let total = s(until.0, self.counted_from);
        let idle_s = (total - seek_s - rotation_s - transfer_s).max(0.0);
        DriveEnergy {
            idle_s,
            seek_s,
            rotation_s,
            transfer_s,
            standby_s: 0.0,
            idle_j: idle_s * self.watts.idle,
            seek_j: seek_s * self.watts.seek,
            rotation_j: rotation_s * self.watts.rotation,
            transfer_j: transfer_s * self.watts.transfer,
            standby_j: 0.0,
        }
    }

    /// Starts counting time and energy anew at `now`, as at the end of a warm-up.
    pub fn reset_statistics(&mut self, now: Time) {
        self.counted = self.core.busy_until(now.0);
        self.counted_from = now.0;
    }

    /// Whether written data are still on their way to the medium.
    pub fn destage_pending(&self) -> bool {
        self.core.destage_pending()
    }
}

fn refused(request: &DriveRequest, now: Time) -> Completion {
    Completion {
        id: request.id,
        arrival: now,
        completion: now,
        components: Components::default(),
        cache_hit: false,
        mechanical: false,
        seek_distance: 0,
        arm: 0,
        error: true,
    }
}

#[inline]
fn completion(waiting: &Waiting, start: u64, outcome: Outcome, arm: usize) -> Completion {
    let mut components = outcome.components;
    components.queue += start.saturating_sub(waiting.arrival);
    Completion {
        id: waiting.request.id,
        arrival: Time(waiting.arrival),
        completion: Time(outcome.completion),
        components,
        cache_hit: outcome.hit,
        mechanical: outcome.mechanical,
        seek_distance: outcome.distance,
        arm: arm as u8,
        error: false,
    }
}
