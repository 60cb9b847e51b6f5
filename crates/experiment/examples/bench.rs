//! The figures of `make bench`, one case per run: `bench CASE REQUESTS [DRIVE.json]` prints one
//! JSON line with requests (or lines, or drives) per second and the peak of resident memory; of whole experiments also
//! how many requests reached the drives, so that instructions per request can be counted.
//!
//! Each case runs in its own process, so that the peak of memory is its own. Times are processor time of one
//! thread, so that other load on the machine has little effect; on several threads, wall time.

use headstack_block::organisation::{Context, PLUGINS};
use headstack_drive::{Command, Drive, DriveDesign, DriveOptions, DriveRequest, DriveSpec, Models};
use headstack_experiment::{Experiment, Inputs, RunOptions};
use headstack_sim::simulate::simulate_drives;
use headstack_sim::Options;
use headstack_trace::{spc_reader, ReadOptions, Synthetic};
use headstack_units::{Lba, Time};
use rustix::time::{clock_gettime, ClockId, Timespec};
use std::fmt::Write;
use std::time::Instant;

fn main() {
    if let Err(message) = run() {
        eprintln!("bench: {message}");
        std::process::exit(2);
    }
}

fn run() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [case, n, rest @ ..] = args.as_slice() else {
        return Err("got too few arguments, need CASE REQUESTS [DRIVE.json]".into());
    };
    let n: u64 = n.parse().map_err(|e| format!("requests {n:?}: {e}"))?;
    let mut drive_requests = None;
    let mut whole = |(per_s, requests)| {
        drive_requests = Some(requests);
        (per_s, f64::NAN)
    };
    let (per_s, mean_queue) = match case.as_str() {
        "spc" => (parse_spc(n)?, f64::NAN),
        "drive" => simulate(n, rest)?,
        "raid" => raid(n, rest)?,
        "log" => logging(n, rest)?,
        "depth" => (at_depth(n, rest)?, f64::NAN),
        "build" => (build(n, rest)?, f64::NAN),
        "cap" => whole(cap(n, rest)?),
        "raid5" => whole(raid5(n, rest)?),
        "closed" => whole(many(n, rest, "closed\"\noutstanding = ")?),
        "open" => whole(many(n, rest, "poisson\"\nrate = ")?),
        other => {
            return Err(format!(
                "got case {other:?}, need spc, drive, log, raid, raid5, depth, build, cap, closed or open"
            ))
        }
    };
    println!(
        "{{\"per_s\": {per_s}, \"queue_mean\": {}, \"drive_requests\": {}, \"peak_rss_bytes\": {}}}",
        if mean_queue.is_finite() { mean_queue.to_string() } else { "null".into() },
        drive_requests.map_or("null".into(), |n: u64| n.to_string()),
        peak_rss_bytes()?
    );
    Ok(())
}

fn read_spec(path: &str) -> Result<DriveSpec, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    serde_json::from_str(&text).map_err(|e| format!("{path}: {e}"))
}

/// `bench drive N DRIVE.json RATE`: open 4 KiB random reads and writes at a rate per second.
fn simulate(n: u64, rest: &[String]) -> Result<(f64, f64), String> {
    let [path, rate] = rest else {
        return Err("got no drive and rate, need both".into());
    };
    let drive = drive(path)?;
    let blocks = drive.design.capacity_blocks() / 8;
    small(n, drive, "0.66", rate, blocks)
}

fn drive(path: &str) -> Result<Drive, String> {
    Drive::builtin(&read_spec(path)?, &DriveOptions::default()).map_err(|e| e.to_string())
}

/// Requests of 4 KiB to one drive, at random among so many blocks of that size.
fn small(n: u64, drive: Drive, reads: &str, rate: &str, blocks: u64) -> Result<(f64, f64), String> {
    let workload = format!(
        "n_requests = {n}\nreads = {reads}\nsize = \"4 KiB\"\narrivals = \"poisson\"\n\
         rate = \"{rate} /s\"\nfootprint = \"{} B\"\n",
        blocks * 4096
    );
    let capacity = drive.design.capacity_blocks();
    timed(n, &workload, vec![drive], "independent", vec![capacity], "")
}

/// `bench log N DRIVE.json READS BLOCKS`: the workload of Chandy's dual-actuator paper, 4 KiB requests to the
/// first BLOCKS blocks, READS of them reads, 10 per second.
fn logging(n: u64, rest: &[String]) -> Result<(f64, f64), String> {
    let [path, reads, blocks] = rest else {
        return Err("got no drive, share of reads and number of blocks, need all".into());
    };
    let blocks: u64 = blocks.parse().map_err(|e| format!("blocks {blocks:?}: {e}"))?;
    small(n, drive(path)?, reads, "10", blocks)
}

/// `bench raid N DRIVE.json RATE DRIVES`: 60 % reads, 20 % sequential, striped over the first
/// 100 GB.
fn raid(n: u64, rest: &[String]) -> Result<(f64, f64), String> {
    let [path, rate, drives] = rest else {
        return Err("got no drive, rate and number of drives, need all".into());
    };
    let spec = read_spec(path)?;
    let drives: usize = drives.parse().map_err(|e| format!("{drives:?}: {e}"))?;
    let design = DriveDesign::new(&spec, &Models::builtin()).map_err(|e| e.to_string())?;
    let members = (0..drives)
        .map(|_| design.drive(&DriveOptions::default()).map_err(|e| e.to_string()))
        .collect::<Result<Vec<Drive>, String>>()?;
    let workload = format!(
        "n_requests = {n}\nreads = 0.6\nsequential = 0.2\nsize = \"4 KiB\"\n\
         arrivals = \"poisson\"\nrate = \"{rate} /s\"\nfootprint = \"99 GB\"\n"
    );
    let footprint = "footprint = \"100 GB\"\nstripe_unit = \"64 KiB\"";
    timed(n, &workload, members, "raid0", Vec::new(), footprint)
}

/// `bench depth N DRIVE.json DEPTH`: random 4 KiB reads with DEPTH commands always waiting.
fn at_depth(n: u64, rest: &[String]) -> Result<f64, String> {
    let [path, depth] = rest else {
        return Err("got no drive and depth, need both".into());
    };
    let depth: u64 = depth.parse().map_err(|e| format!("{depth:?}: {e}"))?;
    let mut drive = drive(path)?;
    let places = drive.design.capacity_blocks() / 8;
    let mut next = 0u64;
    let mut command = || {
        next += 1;
        DriveRequest {
            id: next,
            command: Command::Read,
            // Weyl's sequence with the golden ratio spreads addresses evenly and is cheap to compute.
            lba: Lba((next.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % places * 8),
            blocks: 8,
            ..DriveRequest::default()
        }
    };
    let mut now = Time::ZERO;
    for _ in 0..depth {
        drive.submit(now, command());
    }
    let begun = Watch::start();
    let mut done = 0;
    while done < n {
        let until = Time(drive.next_event().max(now).0 + 1);
        drive.advance(until, &mut |_| done += 1);
        now = until;
        drive.submit(now, command());
    }
    Ok(n as f64 / begun.core_seconds())
}

/// `bench build N DRIVE.json`: N equal drives from one description, per second.
fn build(n: u64, rest: &[String]) -> Result<f64, String> {
    let [path] = rest else {
        return Err("got no drive, need one".into());
    };
    let begun = Watch::start();
    let design = DriveDesign::new(&read_spec(path)?, &Models::builtin()).map_err(|e| e.to_string())?;
    let drives = (0..n)
        .map(|seed| {
            let options = DriveOptions { seed, ..DriveOptions::default() };
            design.drive(&options).map_err(|e| e.to_string())
        })
        .collect::<Result<Vec<Drive>, String>>()?;
    Ok(drives.len() as f64 / begun.core_seconds())
}

/// The system of Figure 10 of Khatib and Bandic, FAST 2016: 16 drives in three tiers under the caps of one power
/// meter, 128 threads of random reads on each. Its duration comes before it.
const SHELF: &str = r#"
threads = 128
devices = 16
think_time = "60 us"
requests = { reads = 1.0, size = "4 KiB", footprint = "4000787030016 B" }

[[system]]
drive = "ultrastar-7k4000-pcap"
count = 16
layers = [{ name = "host-queue", elevator = "deadline", merge = false, wake_time = "50 us" }]

[system.capping]
policy = "pcap-s"
parameters = { tiers = [5, 5, 6] }
efficiency = 0.83
noise = "0.05 W"
resolution = "0.1 W"
tolerance = "1 W"
caps = [
  { at = "600 s", cap = "200 W" },
  { at = "900 s", cap = "190 W" },
  { at = "1200 s", cap = "185 W" },
  { at = "1500 s", cap = "170 W" },
  { at = "1800 s", cap = "195 W" },
  { at = "2100 s", cap = "150 W" },
  { at = "2700 s", cap = "180 W" },
  { at = "3000 s", cap = "205 W" },
]
"#;

/// `bench cap N THREADS`: N simulated seconds of [`SHELF`], per second on so many threads; and the requests to the drives.
fn cap(n: u64, rest: &[String]) -> Result<(f64, u64), String> {
    let [threads] = rest else {
        return Err("got no number of threads, need one".into());
    };
    let threads = threads.parse().map_err(|e| format!("{threads:?}: {e}"))?;
    let text = format!("[[workload.jobs]]\nduration = \"{n} s\"{SHELF}");
    let (requests, seconds) = whole_run(&text, threads)?;
    Ok((n as f64 / seconds, requests))
}

/// Small reads and writes on a RAID-5 of eight drives, each about half busy. Their number comes before it.
const PARITY: &str = r#"
reads = 0.7
size = "4 KiB"
footprint = "4 TB"
arrivals = "poisson"
rate = "250 /s"

[[system]]
drive = "barracuda-es-750"
count = 8
organisation = "concatenate"
layers = ["raid5"]
"#;

/// `bench raid5 N`: N requests of [`PARITY`]; how many of the requests that they become to drives are done per second,
/// and their number.
fn raid5(n: u64, rest: &[String]) -> Result<(f64, u64), String> {
    if let Some(more) = rest.first() {
        return Err(format!("got {more:?} after the requests, need nothing"));
    }
    let (requests, seconds) = whole_run(&format!("[workload.synthetic]\nn_requests = {n}{PARITY}"), 1)?;
    Ok((requests as f64 / seconds, requests))
}

/// `bench closed N DRIVES OUTSTANDING THREADS [DRIVE]`: N random 4 KiB reads and writes on equal drives, OUTSTANDING of
/// them always in flight; `bench open N DRIVES RATE THREADS [DRIVE]`: the same at so many a second. How many are done
/// per second on so many threads, and their number.
fn many(n: u64, rest: &[String], arrivals: &str) -> Result<(f64, u64), String> {
    let [drives, load, threads, more @ ..] = rest else {
        return Err("got no drives, load and threads, need all".into());
    };
    let drive = more.first().map_or("cheetah-10k-19g", String::as_str);
    let threads = threads.parse().map_err(|e| format!("{threads:?}: {e}"))?;
    let load = match arrivals.contains("rate") {
        true => format!("\"{load} /s\""),
        false => load.clone(),
    };
    let text = format!(
        "[workload.synthetic]\nn_requests = {n}\nreads = 0.66\nsize = \"4 KiB\"\nfootprint = \"8 GB\"\n\
         devices = {drives}\narrivals = \"{arrivals}{load}\n\
         [[system]]\ndrive = \"{drive}\"\ncount = {drives}\n"
    );
    let (requests, seconds) = whole_run(&text, threads)?;
    Ok((requests as f64 / seconds, requests))
}

/// Runs an experiment of one system; requests to its drives, and seconds: processor time on one thread, else wall time.
fn whole_run(text: &str, threads: usize) -> Result<(u64, f64), String> {
    let experiment = Experiment::from_toml(text, "bench.toml".as_ref()).map_err(|e| e.to_string())?;
    let drives = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives");
    let inputs = Inputs::new(vec![drives.into()]);
    let options = RunOptions { threads: Some(threads), ..RunOptions::default() };
    let (begun, clock) = (Watch::start(), Instant::now());
    let result = headstack_experiment::run(&experiment, &inputs, &options).map_err(|e| e.to_string())?;
    let seconds = match threads {
        1 => begun.core_seconds(),
        _ => clock.elapsed().as_secs_f64(),
    };
    let drives = result.systems.iter().flat_map(|s| &s.drives);
    Ok((drives.map(|d| d.n_requests).sum(), seconds))
}

/// Requests per second of wall time, and their mean number in the system.
fn timed(
    n: u64,
    workload: &str,
    mut members: Vec<Drive>,
    organisation: &str,
    device_blocks: Vec<u64>,
    params: &str,
) -> Result<(f64, f64), String> {
    let synthetic: Synthetic = toml::from_str(workload).map_err(|e| e.to_string())?;
    let mut source = synthetic.source(1).map_err(|e| e.to_string())?;
    let all = &*PLUGINS;
    let entry = all.find("organisation", organisation).map_err(|e| e.to_string())?;
    let context =
        Context { member_blocks: members.iter().map(|d| d.design.capacity_blocks()).collect(), device_blocks };
    let params = toml::from_str(params).map_err(|e| e.to_string())?;
    let organisation = entry.build(&params, &context).map_err(|e| e.to_string())?;
    let begun = Watch::start();
    let (organisation, options) = (organisation.as_ref(), Options::default());
    let outcome =
        simulate_drives(&mut source, &mut members, organisation, &options, None).map_err(|e| e.to_string())?;
    let seconds = begun.core_seconds();
    // Little's law: mean number in the system, the one in service included.
    let elapsed_ns = (outcome.end.0 - outcome.start.0) as f64;
    Ok((n as f64 / seconds, outcome.response.sum_ns() as f64 / elapsed_ns))
}

fn parse_spc(n: u64) -> Result<f64, String> {
    let mut text = String::new();
    for i in 0..n {
        let lba = (i * 2_654_435_761) % 40_000_000;
        let op = if i % 3 == 0 { 'W' } else { 'R' };
        let _ = writeln!(text, "{},{lba},{},{op},{:.6}", i % 3, 4096 << (i % 3), i as f64 * 1e-4);
    }
    let begun = Watch::start();
    let options = ReadOptions::default();
    let mut blocks = 0u64;
    for request in spc_reader(text.as_bytes(), "generated", &options) {
        blocks += request.map_err(|e| e.to_string())?.blocks as u64;
    }
    let seconds = begun.core_seconds();
    if blocks == 0 {
        return Err("got no blocks, need some".into());
    }
    Ok(n as f64 / seconds)
}

/// Processor time of this thread, so that other threads do not count.
struct Watch(Timespec);

impl Watch {
    fn start() -> Watch {
        Watch(Watch::on_core())
    }
    fn on_core() -> Timespec {
        clock_gettime(ClockId::ThreadCPUTime)
    }
    fn core_seconds(&self) -> f64 {
        let spent = Watch::on_core() - self.0;
        spent.tv_sec as f64 + spent.tv_nsec as f64 * 1e-9
    }
}

/// The kernel's high-water mark of resident memory.
fn peak_rss_bytes() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|e| e.to_string())?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kib: u64 = line.split_whitespace().nth(1).and_then(|w| w.parse().ok()).ok_or("VmHWM is not a number")?;
    Ok(kib * 1024)
}
