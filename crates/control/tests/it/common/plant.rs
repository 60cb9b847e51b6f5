//! A minimal model of a drive under random reads. Power and throughput are looked up in tables by the queue
//! sizes in force. A command takes effect after a second. The meter averages over a second, with noise and
//! rounding.
//!
//! The tables are those of a model of the paper's drive that was fitted to the text of FAST 2016 (section 5.2, 4 and
//! 7.2): power and throughput by both queues with 128 threads, by the rate of a throttle, and by few threads. Those for
//! longer expiries of reads are simulated (`expiry.rs`).

use super::expiry::tables;
use headstack_control::ultrastar_7k4000::{look_up, Longer, IOPS, P99_S, POWER_W};
use headstack_control::{Actuator, Command, Held, Policy, Progress, RateLimit, Sample, Sensor, Work};
use headstack_control::{Controller, Device, Status};
use headstack_units::{Frequency, Span, Time, Watts};
use std::fmt::Write;

/// Minutes 5 to 45 of Figures 4 to 6: lengths in seconds and caps in watts. The paper does not state the caps after
/// minute 25.
pub const FIGURE_5: [(u32, Option<f64>); 8] = [
    (300, None),
    (300, Some(9.0)),
    (300, Some(8.5)),
    (300, Some(7.5)),
    (300, Some(10.5)),
    (300, Some(9.5)),
    (300, Some(9.0)),
    (300, Some(10.0)),
];

/// Requests per second of a paced throttle at (128, 32) against power.
const THROTTLED: [(f64, f64); 14] = [
    (0.0, 7.1),
    (10.0, 7.55),
    (20.0, 8.0),
    (30.0, 8.44),
    (40.0, 8.9),
    (50.0, 9.35),
    (60.0, 9.79),
    (70.0, 10.25),
    (80.0, 10.55),
    (90.0, 10.58),
    (120.0, 10.21),
    (150.0, 9.8),
    (180.0, 9.44),
    (198.0, 9.15),
];
/// With one and two threads nothing can be reordered.
const FEW_THREADS_W: f64 = 10.7;

/// Params of a drive and its load.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Requests outstanding.
    pub threads: u32,
    /// Watts added to every setting.
    pub offset_w: f64,
    /// Factor on the part of the power above 7.1 W.
    pub scale: f64,
    /// Standard deviation of the meter.
    pub noise_w: f64,
    /// Whether the host's queue has an elevator. Without one only the drive orders requests.
    pub has_elevator: bool,
}

impl Default for Kind {
    fn default() -> Kind {
        Kind { threads: 128, offset_w: 0.0, scale: 1.0, noise_w: 0.05, has_elevator: true }
    }
}

impl Kind {
    /// The used sizes of the queues, which the number of threads limits.
    fn filled(&self, command: &Command) -> (f64, f64) {
        let threads = f64::from(self.threads);
        let host = f64::from(command.nr_requests).min(threads);
        let drive = f64::from(command.queue_depth).min(host);
        match self.has_elevator {
            true => (host, drive),
            false => (drive.max(4.0), drive),
        }
    }

    pub fn iops(&self, command: &Command) -> f64 {
        let (host, drive) = self.filled(command);
        let free = match tables(command.read_expire, host) {
            Some(longer) => Longer::look_up(&longer.iops, host, drive),
            None => look_up(&IOPS, host, drive),
        };
        match command.rate_limit {
            RateLimit::Requests(Frequency(rate)) => free.min(rate),
            _ => free,
        }
    }

    pub fn watts(&self, command: &Command) -> f64 {
        let (host, drive) = self.filled(command);
        let watts = match command.rate_limit {
            RateLimit::Requests(Frequency(rate)) => throttled(rate),
            _ if self.threads < 4 => FEW_THREADS_W,
            _ => match tables(command.read_expire, host) {
                Some(longer) => Longer::look_up(&longer.power_w, host, drive),
                None => look_up(&POWER_W, host, drive),
            },
        };
        7.1 + (watts - 7.1) * self.scale + self.offset_w
    }

    /// 99 % of the response times from admission are not longer.
    pub fn p99_s(&self, command: &Command) -> f64 {
        let (host, drive) = self.filled(command);
        match tables(command.read_expire, host) {
            Some(longer) => Longer::look_up(&longer.p99_s, host, drive),
            None => look_up(&P99_S, host, drive),
        }
    }

    /// Little's law: admitted requests divided by throughput.
    pub fn response_time_s(&self, command: &Command) -> f64 {
        let admitted = f64::from(command.nr_requests.min(self.threads));
        admitted / self.iops(command)
    }
}

fn throttled(rate: f64) -> f64 {
    let rate = rate.min(198.0);
    let row = THROTTLED.iter().rposition(|(r, _)| *r <= rate).expect("from zero");
    let (r, w) = THROTTLED[row.min(THROTTLED.len() - 2)];
    let (r1, w1) = THROTTLED[row.min(THROTTLED.len() - 2) + 1];
    w + (w1 - w) * (rate - r) / (r1 - r)
}

/// Splitmix64, and approximately normal numbers computed from it.
pub struct Noise(pub u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// The reading for the next step.
struct Meter(Sample);

impl Sensor for Meter {
    fn read(&mut self, _: Time) -> Sample {
        self.0
    }
}

/// Commands to the drives: they take effect in the next second.
struct Knobs {
    next: Vec<Command>,
    changes: usize,
}

impl Actuator for Knobs {
    fn apply(&mut self, drive: usize, command: &Command) -> Progress {
        self.next[drive] = *command;
        self.changes += 1;
        Progress::Done
    }

    fn poll(&mut self, _: usize) -> Progress {
        Progress::Done
    }

    fn read(&mut self, drive: usize, command: &Command) -> Held {
        match self.next[drive] == *command {
            true => Held::Same,
            false => Held::Other,
        }
    }
}

/// One second of a run.
#[derive(Clone)]
pub struct Second {
    pub cap: Option<f64>,
    /// True power at the meter, without noise.
    pub watts: f64,
    pub iops: f64,
    /// Response time from admission, in seconds: the mean, or p99.
    pub response_time_s: f64,
    pub commands: Vec<Command>,
    pub drive_watts: Vec<f64>,
    /// Commands applied in this second.
    pub changes: usize,
    pub status: Status,
}

/// A map with these errors of its powers, as TOML, of 36 settings.
pub fn map_text(wrong: impl FnMut(u32, u32, f64) -> f64) -> String {
    format!("map = {}", map_of(&Kind::default(), wrong))
}

/// The list of its points, of this kind of drive.
pub fn map_of(kind: &Kind, mut wrong: impl FnMut(u32, u32, f64) -> f64) -> String {
    let mut toml = String::from("[");
    for nr_requests in [4, 8, 16, 32, 64, 128] {
        for queue_depth in [1, 2, 4, 8, 16, 32] {
            let command = Command { nr_requests, queue_depth, ..Command::default() };
            let power = wrong(nr_requests, queue_depth, kind.watts(&command));
            let iops = kind.iops(&command);
            let done = write!(
                toml,
                "{{ nr_requests = {nr_requests}, queue_depth = {queue_depth}, power = \"{power} W\", iops = {iops} }},"
            );
            done.expect("text");
        }
    }
    toml + "]"
}

/// A run: drives, schedule, and faults of the readings.
pub struct Run {
    pub kinds: Vec<Kind>,
    /// The settings that each drive accepts.
    pub device: Device,
    pub efficiency: f64,
    pub seed: u64,
    /// `(seconds, cap)`, one after another.
    pub phases: Vec<(u32, Option<f64>)>,
    /// Requests outstanding by second, for all drives; `None`: those of `kinds`.
    pub threads: Option<fn(usize) -> u32>,
    /// Whether samples contain response times, and whether those are p99 instead of means.
    pub tells_response_times: bool,
    pub tells_p99: bool,
}

impl Run {
    /// Sixteen drives behind one meter and a supply of 83 %, without response times.
    pub fn shelf(seed: u64, phases: &[(u32, Option<f64>)]) -> Run {
        Run {
            kinds: vec![Kind::default(); 16],
            efficiency: 0.83,
            tells_response_times: false,
            ..Run::one(Kind::default(), seed, phases)
        }
    }

    pub fn one(kind: Kind, seed: u64, phases: &[(u32, Option<f64>)]) -> Run {
        Run {
            kinds: vec![kind],
            device: Device::default(),
            efficiency: 1.0,
            seed,
            phases: phases.to_vec(),
            threads: None,
            tells_response_times: false,
            tells_p99: false,
        }
    }

    /// The drives in second `i`.
    fn kinds_at(&self, i: usize) -> Vec<Kind> {
        let at = |kind: &Kind| Kind { threads: self.threads.map_or(kind.threads, |threads| threads(i)), ..*kind };
        self.kinds.iter().map(at).collect()
    }

    pub fn with(&self, policy: Box<dyn Policy>) -> Vec<Second> {
        self.damaged(policy, |_, sample| sample)
    }

    /// As [`Run::with`]; `damage` changes samples, by second.
    pub fn damaged(&self, policy: Box<dyn Policy>, damage: impl Fn(usize, Sample) -> Sample) -> Vec<Second> {
        let n = self.kinds.len();
        let mut controller = Controller::new(policy, &vec![self.device; n]);
        let mut noise = Noise(self.seed);
        let mut knobs = Knobs { next: vec![self.device.open; n], changes: 0 };
        let mut seconds: Vec<Second> = Vec::new();
        let caps = self.phases.iter().flat_map(|(s, cap)| std::iter::repeat_n(*cap, *s as usize));
        for (i, cap) in caps.enumerate() {
            let now = Time(1_000_000_000 * (i as u64 + 1));
            let commands = knobs.next.clone();
            let kinds = self.kinds_at(i);
            let pairs = || kinds.iter().zip(&commands);
            let drive_watts: Vec<f64> = pairs().map(|(k, c)| k.watts(c)).collect();
            let watts = drive_watts.iter().sum::<f64>() / self.efficiency;
            let time = |(k, c): (&Kind, &Command)| if self.tells_p99 { k.p99_s(c) } else { k.response_time_s(c) };
            let response_time_s = pairs().map(time).sum::<f64>() / n as f64;
            let shown = watts + self.kinds[0].noise_w * (n as f64).sqrt() * noise.normal();
            let mut sample = Sample::new(now, Watts((shown * 10.0).round() / 10.0));
            if self.tells_response_times {
                sample.work = Some(Work {
                    response_time: Span::from_secs_f64(response_time_s),
                    rate: Some(Frequency(pairs().map(|(k, c)| k.iops(c)).sum())),
                });
            }
            knobs.changes = 0;
            let mut meter = Meter(damage(i, sample));
            let status = controller.step(now, cap.map(Watts), &mut meter, &mut knobs);
            seconds.push(Second {
                cap,
                watts,
                iops: pairs().map(|(k, c)| k.iops(c)).sum(),
                response_time_s,
                commands: commands.clone(),
                drive_watts,
                changes: knobs.changes,
                status,
            });
        }
        seconds
    }
}

/// Mean of `what` over seconds.
pub fn mean(seconds: &[Second], what: impl Fn(&Second) -> f64) -> f64 {
    seconds.iter().map(what).sum::<f64>() / seconds.len() as f64
}

/// Energy above the cap and its tolerance, in joules.
pub fn over_cap_j(seconds: &[Second], tolerance_w: f64) -> f64 {
    let over = |s: &Second| s.cap.map_or(0.0, |cap| (s.watts - cap - tolerance_w).max(0.0));
    seconds.iter().map(over).sum()
}

/// Number of changes of settings.
pub fn changes(seconds: &[Second]) -> usize {
    seconds.iter().map(|s| s.changes).sum()
}
