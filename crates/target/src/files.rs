//! The control directory: files as Linux has them in `/sys/block/DEVICE`, and some more. A value that is read is that of
//! the moment; what is written takes effect at once, or is refused.
//!
//! This is the list of files with what they mean; [`crate::fuse`] shows them to the system.

use crate::energy::SAMPLE;
use crate::live::Live;
use crate::metrics;
use headstack_block::layer::{FaultSetting, FaultState, HostQueueSetting, Setting};
use headstack_drive::{Heeded, Setting as DriveSetting};
use headstack_experiment::live::View;
use headstack_schema::Parameter;
use headstack_sim::change::Change;
use headstack_units::Span;
use std::fmt::Write as _;

/// What is read; `None` if this device has no such file.
type Read = fn(&mut Live, usize) -> Option<String>;
/// The same with what it captures.
type Reading = dyn Fn(&mut Live, usize) -> Option<String> + Send + Sync;
/// What is written; an error says why it is refused.
type Write = fn(&mut Live, usize, &str) -> Result<(), String>;

/// A file. Its path has `/` between folders.
pub struct File {
    /// Where it is, in the folder of its device or at the top.
    pub path: String,
    read: Box<Reading>,
    /// `None` if it can only be read.
    pub write: Option<Write>,
    device: usize,
}

impl File {
    /// What it says now.
    pub fn read(&self, live: &mut Live) -> String {
        (self.read)(live, self.device).unwrap_or_default()
    }

    /// Writes a value.
    ///
    /// # Errors
    /// In words, why it is refused. The file `error` has the text until a write succeeds.
    pub fn write(&self, live: &mut Live, text: &str) -> Result<(), String> {
        let write = self.write.ok_or("a file that cannot be written")?;
        let done = write(live, self.device, text.trim());
        live.refused = match &done {
            Ok(()) => String::new(),
            Err(why) => format!("{}: {why}\n", self.path),
        };
        done
    }
}

/// Files of each device, in a folder of the device's name.
const OF_DEVICE: &[(&str, Read, Option<Write>)] = &[
    ("size", size, None),
    ("stat", stat, None),
    ("queue/nr_requests", nr_requests, Some(set_nr_requests)),
    ("queue/iosched/read_expire", read_expire, Some(set_read_expire)),
    ("queue/scheduler", scheduler, Some(set_scheduler)),
    ("queue/rotational", |_, _| one("1"), None),
    ("queue/logical_block_size", |_, _| one("512"), None),
    ("device/queue_depth", queue_depth, Some(set_queue_depth)),
    ("device/model", model, None),
    ("device/state", state, Some(set_state)),
    ("device/cdl_supported", cdl_supported, None),
    ("device/cdl_enable", cdl_enable, Some(set_cdl_enable)),
    ("hwmon/name", |_, _| one("headstack"), None),
    ("hwmon/power1_average", |live, d| power(live, d, None), None),
    ("hwmon/power1_average_interval", interval, Some(set_interval)),
    ("hwmon/power1_input", |live, d| power(live, d, Some(SAMPLE)), None),
    ("hwmon/energy1_input", energy, None),
    ("health", health, None),
];

/// Files of the whole system.
const OF_SYSTEM: &[(&str, Read, Option<Write>)] = &[
    ("change", |_, _| Some(String::new()), Some(change)),
    ("power_loss", power_losses, Some(lose_power)),
    ("metrics", |live, _| Some(metrics::text(live)), None),
    ("error", |live, _| Some(live.refused.clone()), None),
];

/// All files of a system.
pub fn all(live: &mut Live) -> Vec<File> {
    let mut files = Vec::new();
    for device in 0..live.devices().len() {
        let folder = live.devices()[device].name.clone();
        for (path, read, write) in OF_DEVICE {
            if read(live, device).is_some() {
                files.push(File { path: format!("{folder}/{path}"), read: Box::new(*read), write: *write, device });
            }
        }
        ranges(live, device, &folder, &mut files);
    }
    let of_system = OF_SYSTEM.iter().map(|(path, read, write)| File {
        path: (*path).to_string(),
        read: Box::new(*read),
        write: *write,
        device: 0,
    });
    files.extend(of_system);
    files
}

/// The files of `independent_access_ranges`, which a drive with one actuator does not have.
fn ranges(live: &mut Live, device: usize, folder: &str, files: &mut Vec<File>) {
    let facts = view(live, device).drive.map(|(_, facts)| facts);
    let ranges = facts.map(|f| f.access_ranges).unwrap_or_default();
    for (i, range) in ranges.iter().enumerate().filter(|_| ranges.len() > 1) {
        let count = range.end - range.start;
        for (name, value) in [("sector", range.start), ("nr_sectors", count)] {
            files.push(File {
                path: format!("{folder}/queue/independent_access_ranges/{i}/{name}"),
                read: Box::new(move |_, _| one(&value.to_string())),
                write: None,
                device,
            });
        }
    }
}

fn one(value: &str) -> Option<String> {
    Some(format!("{value}\n"))
}

fn view(live: &mut Live, device: usize) -> View {
    let (now, system) = live.system();
    system.view(now, device)
}

fn number(text: &str) -> Result<u32, String> {
    let need = || format!("got {text:?}, need a whole number");
    text.parse().map_err(|_| need())
}

fn size(live: &mut Live, device: usize) -> Option<String> {
    one(&(live.devices()[device].bytes / 512).to_string())
}

/// The fields of Linux's `Documentation/block/stat.rst`, in simulated time.
fn stat(live: &mut Live, device: usize) -> Option<String> {
    let now = live.now();
    let d = &live.counters.devices[device];
    let ms = |ns: u128| ns / 1_000_000;
    let mut line = String::new();
    for ops in [&d.reads, &d.writes] {
        // Merges are those of a host queue, which counts them by itself.
        let (n, sectors) = (ops.requests, ops.bytes.div_ceil(512));
        let _ = write!(line, "{n:>8} {:>8} {sectors:>8} {:>8} ", 0, ms(ops.time_ns));
    }
    let (busy, queue) = (ms(d.busy_ns(now).into()), ms(d.queue_ns(now)));
    let _ = write!(line, "{:>8} {busy:>8} {queue:>8} ", d.in_flight);
    let _ = write!(line, "{:>8} {:>8} {:>8} {:>8} ", 0, 0, 0, 0);
    let _ = write!(line, "{:>8} {:>8}", d.flushes.requests, ms(d.flushes.time_ns));
    one(&line)
}

fn nr_requests(live: &mut Live, device: usize) -> Option<String> {
    let (_, places, _) = view(live, device).queue?;
    one(&places.to_string())
}

fn set_nr_requests(live: &mut Live, device: usize, text: &str) -> Result<(), String> {
    let (path, ..) = view(live, device).queue.ok_or("no host queue")?;
    let set = live.set(&path, Setting::HostQueue(HostQueueSetting::Requests(number(text)?)));
    set.map_err(|e| e.to_string())
}

/// All elevators, that in use in brackets.
fn scheduler(live: &mut Live, device: usize) -> Option<String> {
    let Some((now, all)) = view(live, device).elevators else { return one("[none]") };
    let mark = |name: String| if name == now { format!("[{name}]") } else { name };
    one(&all.into_iter().map(mark).collect::<Vec<_>>().join(" "))
}

fn set_scheduler(live: &mut Live, device: usize, text: &str) -> Result<(), String> {
    let Some((path, ..)) = view(live, device).queue else {
        return match text {
            "none" => Ok(()),
            _ => Err(format!("got {text:?}, need none: there is no host queue")),
        };
    };
    let setting = Setting::HostQueue(HostQueueSetting::Elevator { name: text.into(), parameters: Default::default() });
    live.set(&path, setting).map_err(|e| e.to_string())
}

/// Most commands that a drive takes. One whose queue has no limit takes as many as all clients may have.
fn most_commands(live: &Live, device: usize) -> u32 {
    match live.most_commands[device] {
        0 => 1 << 16,
        most => most,
    }
}

/// That of the drive, so that all of a shelf have the same; of a device of several drives, what it is.
fn model(live: &mut Live, device: usize) -> Option<String> {
    let drive = view(live, device).drive.map(|(_, facts)| facts.model);
    let named = drive.filter(|model| !model.is_empty());
    one(&named.unwrap_or_else(|| live.devices()[device].description.clone()))
}

/// Commands that the host gives the drive at a time. Linux does not take more than the adapter, here the drive, holds.
fn queue_depth(live: &mut Live, device: usize) -> Option<String> {
    let view = view(live, device);
    let (_, facts) = view.drive?;
    let depth = view.queue.map_or(facts.queue_depth, |(_, _, depth)| depth);
    one(&match (depth, most_commands(live, device)) {
        (0, most) => most.to_string(),
        (depth, most) => depth.min(most).to_string(),
    })
}

fn set_queue_depth(live: &mut Live, device: usize, text: &str) -> Result<(), String> {
    let view = view(live, device);
    let (drive, _) = view.drive.ok_or("no single drive")?;
    let (depth, most) = (number(text)?, most_commands(live, device));
    if !(1..=most).contains(&depth) {
        return Err(format!("got {depth}, need 1 to {most}, the drive's commands"));
    }
    // Below a host queue the drive's own depth stays: what the host holds back is what its elevator orders.
    let set = match view.queue {
        None => live.set(&drive, Setting::Drive(DriveSetting::QueueDepth(depth))),
        Some((queue, ..)) => live.set(&queue, Setting::HostQueue(HostQueueSetting::Depth(depth))),
    };
    set.map_err(|e| e.to_string())
}

fn read_expire(live: &mut Live, device: usize) -> Option<String> {
    let expire = view(live, device).read_expire?;
    one(&(expire.non_negative() / 1_000_000).to_string())
}

fn set_read_expire(live: &mut Live, device: usize, text: &str) -> Result<(), String> {
    let (path, ..) = view(live, device).queue.ok_or("no host queue")?;
    let ms = number(text)?;
    if ms > i32::MAX as u32 {
        return Err(format!("got {ms}, need at most {}", i32::MAX));
    }
    let expire = Span(i64::from(ms) * 1_000_000);
    let set = live.set(&path, Setting::HostQueue(HostQueueSetting::ReadExpire(expire)));
    set.map_err(|e| e.to_string())
}

/// The words of a SCSI device's state in Linux.
fn state(live: &mut Live, device: usize) -> Option<String> {
    let (_, state) = view(live, device).fault?;
    one(match state {
        FaultState::Well => "running",
        FaultState::Gone => "offline",
        FaultState::Stuck => "blocked",
    })
}

fn set_state(live: &mut Live, device: usize, text: &str) -> Result<(), String> {
    let (path, _) = view(live, device).fault.ok_or("no single drive")?;
    let setting = match text {
        "running" => Setting::Fault(FaultSetting::Gone(false)),
        "offline" => Setting::Fault(FaultSetting::Gone(true)),
        "blocked" => Setting::Fault(FaultSetting::Stuck(None)),
        _ => return Err(format!("got {text:?}, need running, offline or blocked")),
    };
    live.set(&path, setting).map_err(|e| e.to_string())
}

fn flag(is_set: bool) -> Option<String> {
    one(if is_set { "1" } else { "0" })
}

fn cdl_supported(live: &mut Live, device: usize) -> Option<String> {
    flag(view(live, device).drive.is_some_and(|(_, f)| f.has_limits))
}

fn cdl_enable(live: &mut Live, device: usize) -> Option<String> {
    let drive = view(live, device).drive;
    flag(drive.is_some_and(|(_, f)| f.heeded == Heeded::Limits))
}

/// As Linux does: enabling limits ends priorities, and disabling them enables none.
fn set_cdl_enable(live: &mut Live, device: usize, text: &str) -> Result<(), String> {
    let drive = view(live, device).drive.filter(|(_, f)| f.has_limits);
    let (path, facts) =
        drive.ok_or_else(|| format!("got {text:?}, need no such write: the drive has no command duration limits"))?;
    let heeded = match (text, facts.heeded) {
        ("1", _) => Heeded::Limits,
        ("0", Heeded::Priority) => Heeded::Priority,
        ("0", _) => Heeded::None,
        _ => return Err(format!("got {text:?}, need 0 or 1")),
    };
    let set = live.set(&path, Setting::Drive(DriveSetting::HeededHints(heeded)));
    set.map_err(|e| e.to_string())
}

/// Mean power in microwatts.
fn power(live: &mut Live, device: usize, interval: Option<Span>) -> Option<String> {
    live.sample_now();
    let drives = view(live, device).drives;
    let interval = interval.unwrap_or(live.power_intervals[device]);
    let watts = live.energy.watts(&drives, interval);
    one(&format!("{:.0}", watts * 1e6))
}

fn energy(live: &mut Live, device: usize) -> Option<String> {
    live.sample_now();
    let drives = view(live, device).drives;
    one(&format!("{:.0}", live.energy.joules(&drives) * 1e6))
}

fn interval(live: &mut Live, device: usize) -> Option<String> {
    one(&(live.power_intervals[device].0 / 1_000_000).to_string())
}

fn set_interval(live: &mut Live, device: usize, text: &str) -> Result<(), String> {
    match number(text)? {
        ms @ 100..=300_000 => {
            live.power_intervals[device] = Span(i64::from(ms) * 1_000_000);
            Ok(())
        }
        ms => Err(format!("got {ms}, need 100 to 300000 milliseconds")),
    }
}

/// `good`, or a line for each part that is out of use.
fn health(live: &mut Live, device: usize) -> Option<String> {
    let drives = view(live, device).drives;
    let (now, system) = live.system();
    let outcomes = system.tree.drives(now);
    let mut text = String::new();
    for drive in drives {
        for fault in outcomes.get(drive as usize).map_or(&[][..], |o| &o.faults) {
            let since = fault.deconfigured.0 as f64 * 1e-9;
            let part = match fault.surface {
                Some(surface) => format!("head {surface} of arm {}", fault.arm),
                None => format!("arm {}", fault.arm),
            };
            let stack = fault.stack;
            let _ = writeln!(text, "drive {drive}: {part} of stack {stack} out of use since {since:.3} s");
        }
    }
    if let Some((_, error)) = live.counters.last_error.filter(|(d, _)| *d == device) {
        let _ = writeln!(text, "last error: {}{}", error.name(), sense(&error));
    }
    Some(if text.is_empty() { "good\n".into() } else { text })
}

/// The sense data of an error, as a SCSI drive reports it.
fn sense(error: &headstack_block::layer::ErrorKind) -> String {
    error
        .sense()
        .map_or(String::new(), |(key, code, qualifier)| format!(", sense {key:x}h/{code:02x}h/{qualifier:02x}h"))
}

/// A change as in an experiment, in TOML, without `at`.
fn change(live: &mut Live, _: usize, text: &str) -> Result<(), String> {
    changed(live, text).map_err(|why| {
        format!(
            "{why}; all lines of a change are one write, which printf of a shell alone does not make: \
             printf ... | dd of=change bs=4k iflag=fullblock"
        )
    })
}

fn changed(live: &mut Live, text: &str) -> Result<(), String> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.message().to_string())?;
    let mut value = serde_json::to_value(table).map_err(|e| e.to_string())?;
    if let Some(table) = value.as_object_mut() {
        table.entry("at").or_insert_with(|| "0 s".into());
    }
    let change = Change::read(&value).map_err(|e| e.to_string())?;
    live.change(change).map_err(|e| e.to_string())
}

fn power_losses(live: &mut Live, _: usize) -> Option<String> {
    let counters = &live.counters;
    one(&format!("{} losses, {} sectors kept, {} lost", counters.power_losses, counters.torn.kept, counters.torn.lost))
}

fn lose_power(live: &mut Live, _: usize, _: &str) -> Result<(), String> {
    live.lose_power().map(drop).map_err(|e| e.to_string())
}
