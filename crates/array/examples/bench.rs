//! The figures of `make bench`, one case per run: `bench CASE REQUESTS [DRIVE.json]` prints one
//! JSON line with requests (or lines) per second and the peak of resident memory.
//!
//! Each case runs in a process of its own, so that the memory is its own.

use headstack_array::organisation::{find, Context};
use headstack_array::simulate::bench_open_fcfs;
use headstack_drive::{Drive, DriveOptions, DriveSpec};
use headstack_trace::{spc_reader, ReadOptions, Synthetic};
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
    let (per_s, mean_queue) = match case.as_str() {
        "spc" => (parse_spc(n)?, f64::NAN),
        "drive" => simulate(n, rest)?,
        other => return Err(format!("got case {other:?}, need spc or drive")),
    };
    println!(
        "{{\"per_s\": {per_s}, \"queue_mean\": {}, \"peak_rss_bytes\": {}}}",
        if mean_queue.is_finite() {
            mean_queue.to_string()
        } else {
            "null".into()
        },
        peak_rss_bytes()?
    );
    Ok(())
}

/// `bench drive N DRIVE.json RATE`: open 4 KiB random reads and writes at a rate per second.
fn simulate(n: u64, rest: &[String]) -> Result<(f64, f64), String> {
    let [path, rate] = rest else {
        return Err("got no drive and rate, need both".into());
    };
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let spec: DriveSpec = serde_json::from_str(&text).map_err(|e| format!("{path}: {e}"))?;
    let drive = Drive::new(&spec, &DriveOptions::default()).map_err(|e| e.to_string())?;
    let capacity = drive.capacity_blocks();
    let synthetic: Synthetic = toml::from_str(&format!(
        "n_requests = {n}\nreads = 0.66\nsize = \"4 KiB\"\narrivals = \"poisson\"\n\
         rate = \"{rate} /s\"\nfootprint = \"{} B\"\n",
        capacity / 8 * 4096
    ))
    .map_err(|e| e.to_string())?;
    let mut source = synthetic.generator(1).map_err(|e| e.to_string())?.map(Ok);
    let entry = find("independent").map_err(|e| e.to_string())?;
    let context = Context {
        member_blocks: vec![capacity],
        device_blocks: vec![capacity],
        params: Default::default(),
    };
    let organisation = (entry.build)(&context).map_err(|e| e.to_string())?;
    let mut members = vec![drive];
    let begun = Instant::now();
    let outcome = bench_open_fcfs(&mut source, &mut members, organisation.as_ref())
        .map_err(|e| e.to_string())?;
    let seconds = begun.elapsed().as_secs_f64();
    // Little's law: mean number in the system, the one in service included.
    let elapsed_ns = (outcome.end.0 - outcome.start.0) as f64;
    Ok((
        n as f64 / seconds,
        outcome.response.sum_ns() as f64 / elapsed_ns,
    ))
}

fn parse_spc(n: u64) -> Result<f64, String> {
    let mut text = String::new();
    for i in 0..n {
        let lba = (i * 2_654_435_761) % 40_000_000;
        let op = if i % 3 == 0 { 'W' } else { 'R' };
        let _ = writeln!(
            text,
            "{},{lba},{},{op},{:.6}",
            i % 3,
            4096 << (i % 3),
            i as f64 * 1e-4
        );
    }
    let begun = Instant::now();
    let options = ReadOptions::default();
    let mut blocks = 0u64;
    for request in spc_reader(text.as_bytes(), "generated", &options) {
        blocks += request.map_err(|e| e.to_string())?.blocks as u64;
    }
    let seconds = begun.elapsed().as_secs_f64();
    if blocks == 0 {
        return Err("got no blocks, need some".into());
    }
    Ok(n as f64 / seconds)
}

/// The kernel's high-water mark of resident memory.
fn peak_rss_bytes() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|e| e.to_string())?;
    let line = status
        .lines()
        .find(|l| l.starts_with("VmHWM:"))
        .ok_or("no VmHWM")?;
    let kib: u64 = line
        .split_whitespace()
        .nth(1)
        .and_then(|w| w.parse().ok())
        .ok_or("VmHWM is not a number")?;
    Ok(kib * 1024)
}
