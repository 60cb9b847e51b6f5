//! Settings that a policy may command, and the bounds that Linux sets for them.

use headstack_units::{Bandwidth, Frequency, Span};

/// Linux raises smaller values of `nr_requests` to this one (`BLKDEV_MIN_RQ`).
pub const LEAST_NR_REQUESTS: u32 = 4;

/// Linux refuses larger values of `nr_requests` (`MAX_SCHED_RQ`, 16 times the deepest queue of 128).
const MOST_NR_REQUESTS: u32 = 2048;

/// Native command queueing has 32 tags.
const MOST_QUEUE_DEPTH: u32 = 32;

/// Linux refuses longer times to a deadline: `INT_MAX` milliseconds (`deadline_read_expire_store`).
pub const MOST_READ_EXPIRE: Span = Span(i32::MAX as i64 * 1_000_000);

/// A limit on the requests that reach the host queue.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum RateLimit {
    /// No limit.
    #[default]
    Unlimited,
    /// At most this many requests per second, one at a time at equal intervals.
    Requests(Frequency),
    /// At most this many bytes per second.
    Bytes(Bandwidth),
}

/// What a drive does after a time without work, besides what its own timers say. A request ends it, and waits until
/// the drive is ready. (Extended Power Conditions of T10 and T13; `hdparm -S` for standby.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rest {
    /// Nothing.
    #[default]
    Own,
    /// It unloads its heads (`idle_b`).
    Unload {
        /// The time without work.
        after: Span,
    },
    /// It spins down (`standby`).
    Standby {
        /// The time without work.
        after: Span,
    },
}

/// Bounds of the time after which a drive rests: the step of the timers of Extended Power Conditions, and a day.
pub const REST_AFTER: (Span, Span) = (Span(100_000_000), Span(86_400_000_000_000));

/// The complete setting of one drive. A command is not a change, so applying it twice has no further effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Command {
    /// Places of the host's queue (`/sys/block/DEVICE/queue/nr_requests`).
    pub nr_requests: u32,
    /// Commands that the drive may hold (`/sys/block/DEVICE/device/queue_depth`). On SATA, 1 turns off native command
    /// queueing.
    pub queue_depth: u32,
    /// Time from a read's arrival in the host's queue to its deadline, after which the elevator serves it out of turn
    /// (`/sys/block/DEVICE/queue/iosched/read_expire`, in milliseconds). It concerns reads that arrive afterwards, and
    /// the queue need not be emptied. `None`: leave it as it is.
    pub read_expire: Option<Span>,
    /// Arm assemblies that may move at once.
    pub arms: u32,
    /// Limit on the rate of requests or bytes.
    pub rate_limit: RateLimit,
    /// What it does while it has no work.
    pub rest: Rest,
}

impl Default for Command {
    /// The setting of Linux 3.0 for a SATA drive, as in the PCAP paper: 128 places, 32 commands, one arm. The expiry of
    /// reads stays as it is.
    fn default() -> Command {
        Command {
            nr_requests: 128,
            queue_depth: MOST_QUEUE_DEPTH,
            read_expire: None,
            arms: 1,
            rate_limit: RateLimit::Unlimited,
            rest: Rest::Own,
        }
    }
}

/// The settings of a drive without capping, and the bounds of the settings that it accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Device {
    /// The setting without power capping: that of the drive when control began.
    pub open: Command,
    /// The least number of places of the host's queue.
    pub least_nr_requests: u32,
    /// The largest number of places of the host's queue: 2048 with an I/O scheduler, the number of the drive's tags
    /// with `none`.
    pub most_nr_requests: u32,
    /// The least accepted queue depth of the drive: 1, or 2 if command queueing must stay on.
    pub least_queue_depth: u32,
    /// The greatest queue depth of the drive.
    pub most_queue_depth: u32,
    /// The longest time to a read's deadline: [`MOST_READ_EXPIRE`] with the elevators `deadline` and `mq-deadline`.
    /// `None` if the elevator has no deadlines; then `open` has none either.
    pub most_read_expire: Option<Span>,
    /// Arm assemblies that the drive can move at once.
    pub arms: u32,
    /// Whether its rate can be limited.
    pub can_limit: bool,
    /// Whether it can unload its heads by a timer.
    pub can_unload: bool,
    /// Whether it can spin down by a timer.
    pub can_stop: bool,
}

impl Default for Device {
    fn default() -> Device {
        Device {
            open: Command::default(),
            least_nr_requests: LEAST_NR_REQUESTS,
            most_nr_requests: MOST_NR_REQUESTS,
            least_queue_depth: 1,
            most_queue_depth: MOST_QUEUE_DEPTH,
            most_read_expire: None,
            arms: 1,
            can_limit: false,
            can_unload: true,
            can_stop: true,
        }
    }
}

impl Device {
    /// The nearest setting that this drive accepts. What it does not have is removed: a limit that is not finite and
    /// positive, a rest, and the expiry of reads if its elevator has none.
    pub fn clamp(&self, command: Command) -> Command {
        let within = |value: u32, low: u32, high: u32| value.max(low).min(high.max(low));
        let valid = match command.rate_limit {
            RateLimit::Unlimited => true,
            RateLimit::Requests(Frequency(rate)) | RateLimit::Bytes(Bandwidth(rate)) => rate.is_finite() && rate > 0.0,
        };
        Command {
            nr_requests: within(
                command.nr_requests,
                self.least_nr_requests.max(LEAST_NR_REQUESTS),
                self.most_nr_requests,
            ),
            queue_depth: within(command.queue_depth, self.least_queue_depth.max(1), self.most_queue_depth),
            read_expire: command
                .read_expire
                .zip(self.most_read_expire)
                .map(|(expire, most)| expire.min(most).max(Span::ZERO)),
            arms: within(command.arms, 1, self.arms),
            rate_limit: if valid { command.rate_limit } else { RateLimit::Unlimited },
            rest: self.rest(command.rest),
        }
    }

    fn rest(&self, rest: Rest) -> Rest {
        let in_bounds = |after: Span| after.max(REST_AFTER.0).min(REST_AFTER.1);
        match rest {
            Rest::Unload { after } if self.can_unload => Rest::Unload { after: in_bounds(after) },
            Rest::Standby { after } if self.can_stop => Rest::Standby { after: in_bounds(after) },
            _ => Rest::Own,
        }
    }

    /// Whether the drive accepts `command` as it is.
    pub fn accepts(&self, command: &Command) -> bool {
        self.clamp(*command) == *command
    }
}

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It is in force.
    Done,
    /// It is being carried out: Linux empties the queue before it changes `nr_requests`.
    Pending,
    /// It is not in force. Linux answers `EBUSY` while another change of the queue is in progress.
    Failed {
        /// Time after which it may be tried again.
        retry_after: Span,
    },
}

impl Progress {
    /// A failure that may be tried again at the next step.
    pub const REFUSED: Progress = Progress::Failed { retry_after: Span::ZERO };
}

/// Whether a drive still has a command that was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Not known yet: reading takes time.
    Unknown,
    /// It has.
    Same,
    /// Somebody else has changed a setting.
    Other,
}

/// Carries out commands.
pub trait Actuator {
    /// Sets drive number `drive` to `command`. It must not block: what takes long is [`Progress::Pending`]. It is not
    /// called while an earlier command to this drive is pending.
    fn apply(&mut self, drive: usize, command: &Command) -> Progress;

    /// What became of the drive's pending command.
    fn poll(&mut self, drive: usize) -> Progress;

    /// Reads back whether the drive still has this command, which is in force. It must not block: where reading takes long
    /// the first call begins it, and later ones tell what was found. It is not called while a command is pending.
    fn read(&mut self, drive: usize, command: &Command) -> Held;
}
