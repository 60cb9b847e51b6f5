//! How exactly an emulated shelf keeps the times of its simulated drives, as a client sees it at its sockets.
//!
//! ```text
//! cargo run --release -p headstack-target --example accuracy -- [--iscsi] [--busy] [--sleep] [DRIVES] [SECONDS] [RATE...]
//! nice -n -20 ...          the same, before other work of the machine
//! ```
//!
//! One process serves the drives, over NBD on Unix sockets or with `--iscsi` over iSCSI on the loopback interface, another one is the client: reads of 4 KiB at random places, at random
//! times (Poisson) of so many requests per second and drive, each from its send call to the end of its reply. The simulated
//! time of each request is that of the record. A request is exact if both differ by less than 1 % or 50 us. Places lie in
//! the first hundredth of each drive, so that a drive can do 400 requests a second.
//!
//! With `--busy` the server watches without sleeping. The client always does, so that it sees a reply when it comes; with
//! `--sleep` it sleeps until a reply wakes it, and what it sees has that time in it.
//!
//! The second line of each rate of NBD is the machine's floor: the same requests to a server that computes nothing and answers
//! after the simulated times of the first (`floor.rs`).
//!
//! The first reply of each drive is not counted: it waits for the pages of a new process.

mod floor;
// The initiator of the tests, of which not all is needed here.
#[allow(dead_code)]
#[path = "../../tests/it/iscsi/initiator.rs"]
mod initiator;
mod wire;

use headstack_target::emulate::{Emulation, Options};
use headstack_target::iscsi::server;
use headstack_target::nbd::address::Address;
use headstack_target::nbd::tls::TlsOptions;
use headstack_target::open;
use headstack_testkit::XorShift;
use rustix::event::{epoll, Timespec};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::Drive;

const DRIVE: &str = "constellation-es3-2tb";
/// Before the next request is due, a client that sleeps watches without sleeping.
const WATCH: Duration = Duration::from_micros(80);

fn main() -> io::Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut takes = |word: &str| {
        let before = arguments.len();
        arguments.retain(|a| a != word);
        arguments.len() < before
    };
    let (busy, sleeps) = (takes("--busy"), takes("--sleep"));
    let (serves, idles, iscsi) = (takes("--serve"), takes("--floor"), takes("--iscsi"));
    let number = |i: usize, usual: u64| arguments.get(i).and_then(|a| a.parse().ok()).unwrap_or(usual);
    if serves || idles {
        let folder = arguments.last().cloned().unwrap_or_default();
        return match serves {
            true => serve(Path::new(&folder), busy, iscsi),
            false => floor::serve(Path::new(&folder), number(0, 16), busy),
        };
    }
    let (drives, seconds) = (number(0, 16), number(1, 10));
    let rates: Vec<u64> = match arguments.get(2..) {
        Some([_, ..]) => arguments[2..].iter().filter_map(|a| a.parse().ok()).collect(),
        _ => vec![50, 100, 200, 400],
    };
    let protocol = if iscsi { "iSCSI" } else { "NBD" };
    println!("{drives} drives {DRIVE} over {protocol}, {seconds} s each; lateness at the socket of the client");
    println!("| requests/s a drive | server | requests | response, mean | late, median | 99 % | 99.9 % | most | within 1 % or 50 us | early |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for rate in rates {
        match iscsi {
            true => measure_iscsi(drives, seconds, rate, (busy, sleeps))?,
            false => measure(drives, seconds, rate, (busy, sleeps))?,
        }
    }
    Ok(())
}

/// Serves the shelf of a folder until standard input ends. Prints a line for each device of iSCSI, and `ready`.
fn serve(folder: &Path, busy: bool, iscsi: bool) -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drives");
    let options = Options {
        live: open::Options {
            target: folder.join("shelf.toml").to_string_lossy().into(),
            drive_dirs: vec![root],
            seed: Some(1),
            speed: 1.0,
            busy,
            record: Some(folder.join("record.csv")),
            ..open::Options::default()
        },
        nbd: (!iscsi).then(|| (Address::Unix(folder.join("socket")), TlsOptions::default())),
        iscsi: iscsi.then(|| server::Options { address: Some("127.0.0.1:0".into()), ..server::Options::default() }),
        ..Options::default()
    };
    let stop = Arc::new(AtomicBool::new(false));
    let emulation = Emulation::start(&options, stop.clone()).map_err(io::Error::other)?;
    emulation.urls().iter().for_each(|url| println!("{url}"));
    println!("ready");
    std::thread::spawn(move || {
        let _ = io::stdin().read(&mut [0]);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let served = emulation.serve().map_err(io::Error::other)?;
    let late = &served.counters.lateness_ns;
    eprintln!(
        "server: replies late by {} us (half), {} us (99.9 %), {} us at most",
        late.value_at_quantile(0.5) / 1000,
        late.value_at_quantile(0.999) / 1000,
        late.max() / 1000
    );
    Ok(())
}

/// Writes the experiment of a shelf.
fn describe(folder: &Path, drives: u64) -> io::Result<()> {
    let text = format!(
        "[workload]\nsynthetic = {{ n_requests = 1, rate = \"1/s\" }}\n\
         [[system]]\nname = \"shelf\"\ndrive = \"{DRIVE}\"\ncount = {drives}\n"
    );
    std::fs::write(folder.join("shelf.toml"), text)
}

/// Starts a server process and waits until it listens. Returns the addresses that it prints.
fn server(arguments: &[&str], folder: &Path, busy: bool) -> io::Result<(Child, Vec<String>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments)
        .args(busy.then_some("--busy"))
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut urls = Vec::new();
    for line in BufReader::new(output).lines() {
        match line? {
            ready if ready == "ready" => return Ok((child, urls)),
            url => urls.push(url),
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

/// A poll that watches sockets by their numbers.
fn watched<'a, S: AsFd + 'a>(sockets: impl Iterator<Item = &'a S>) -> io::Result<OwnedFd> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (i, socket) in sockets.enumerate() {
        let data = epoll::EventData::new_u64(i as u64);
        epoll::add(&poll, socket, data, epoll::EventFlags::IN)?;
    }
    Ok(poll)
}

fn timeout(wait: Duration) -> Timespec {
    Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
}

/// A request of the client.
struct Sent {
    drive: u64,
    /// In units of 4 KiB.
    block: u64,
    at: Instant,
    took: Option<Duration>,
}

/// Sends requests at their times and takes the replies.
fn client(mut all: Vec<Drive>, seconds: u64, rate: u64, sleeps: bool) -> io::Result<Vec<Sent>> {
    let drives = all.len() as u64;
    let poll = watched(all.iter())?;
    let mut rng = XorShift::seeded(rate);
    let mut gap = || -(1.0 - rng.below(1 << 53) as f64 / (1u64 << 53) as f64).ln();
    let (start, mut at, mut arrivals) = (Instant::now() + Duration::from_millis(50), 0.0, Vec::new());
    while at < seconds as f64 {
        at += gap() / (rate * drives) as f64;
        arrivals.push(Duration::from_secs_f64(at));
    }
    let mut places = XorShift::seeded(rate + 1);
    let mut sent: Vec<Sent> = Vec::with_capacity(arrivals.len());
    let (mut outstanding, mut events) = (0usize, Vec::with_capacity(64));
    let mut next = arrivals.into_iter().peekable();
    while next.peek().is_some() || outstanding > 0 {
        while let Some(due) = next.next_if(|due| start + *due <= Instant::now()) {
            let drive = places.below(drives);
            // Places are unlike one another, so that the record can be compared.
            let blocks = all[drive as usize].bytes / 4096 / 100;
            let block = (sent.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ due.as_nanos() as u64) % blocks;
            let at = Instant::now();
            all[drive as usize].send(sent.len() as u32, block)?;
            sent.push(Sent { drive, block, at, took: None });
            outstanding += 1;
        }
        let wait = match (sleeps, next.peek()) {
            (false, _) => Duration::ZERO,
            (true, None) => Duration::from_millis(100),
            (true, Some(due)) => (start + *due).saturating_duration_since(Instant::now()).saturating_sub(WATCH),
        };
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&poll, room, Some(&timeout(wait))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        for event in &events {
            for cookie in all[event.data.u64() as usize].replies()? {
                let request = &mut sent[cookie as usize];
                request.took = Some(request.at.elapsed());
                outstanding -= 1;
            }
        }
    }
    Ok(sent)
}

/// Measures both servers with the same requests at the same times.
fn measure(drives: u64, seconds: u64, rate: u64, (busy, sleeps): (bool, bool)) -> io::Result<()> {
    let temporary = tempfile::tempdir()?;
    let folder = temporary.path();
    describe(folder, drives)?;
    let over_nbd = || (0..drives).map(|i| Drive::nbd(folder, i)).collect::<io::Result<Vec<_>>>();
    let (mut child, _) = server(&["--serve"], folder, busy)?;
    let sent = client(over_nbd()?, seconds, rate, sleeps)?;
    drop(child.stdin.take());
    child.wait()?;
    let times = simulated(folder, &sent)?;
    report(rate, "headstack", drives, &sent, &times);
    let list = times.iter().map(|t| format!("{}\n", t.unwrap_or(0)));
    std::fs::write(folder.join("times.txt"), list.collect::<String>())?;
    let _ = std::fs::remove_file(folder.join("socket"));
    let (mut child, _) = server(&["--floor", &drives.to_string()], folder, busy)?;
    let sent = client(over_nbd()?, seconds, rate, sleeps)?;
    child.wait()?;
    report(rate, "floor", drives, &sent, &times);
    temporary.close()
}

/// Measures the server over iSCSI.
fn measure_iscsi(drives: u64, seconds: u64, rate: u64, (busy, sleeps): (bool, bool)) -> io::Result<()> {
    let temporary = tempfile::tempdir()?;
    let folder = temporary.path();
    describe(folder, drives)?;
    let (mut child, urls) = server(&["--serve", "--iscsi"], folder, busy)?;
    let all = urls.iter().map(|url| Drive::iscsi(url));
    let sent = client(all.collect::<io::Result<_>>()?, seconds, rate, sleeps)?;
    drop(child.stdin.take());
    child.wait()?;
    let times = simulated(folder, &sent)?;
    report(rate, "headstack", drives, &sent, &times);
    temporary.close()
}

/// The simulated response time of each request, if the record can say it, in nanoseconds.
fn simulated(folder: &Path, sent: &[Sent]) -> io::Result<Vec<Option<u64>>> {
    // Device and first block of each recorded request; the same place may be read twice.
    let mut times: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    for line in std::fs::read_to_string(folder.join("record.csv"))?.lines().skip(1) {
        let part: Vec<&str> = line.split(',').collect();
        let number = |i: usize| part.get(i).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let place = (number(1), number(2));
        times.entry(place).or_default().push(number(5));
    }
    let of = |request: &Sent| match times.get(&(request.drive, request.block * 8)) {
        Some(found) if found.len() == 1 => Some(found[0]),
        _ => None,
    };
    Ok(sent.iter().map(of).collect())
}

/// Prints how late the replies were.
fn report(rate: u64, server: &str, drives: u64, sent: &[Sent], times: &[Option<u64>]) {
    let (mut late, mut exact, mut early, mut sum) = (Vec::new(), 0usize, 0usize, 0.0);
    let mut is_first = vec![true; drives as usize];
    for (request, time) in sent.iter().zip(times) {
        let (Some(simulated), Some(took)) = (*time, request.took) else { continue };
        if std::mem::take(&mut is_first[request.drive as usize]) {
            continue;
        }
        let difference = took.as_nanos() as f64 - simulated as f64;
        sum += simulated as f64;
        exact += usize::from(difference.abs() <= (0.01 * simulated as f64).max(50_000.0));
        early += usize::from(difference < 0.0);
        late.push(difference);
    }
    late.sort_by(f64::total_cmp);
    let n = late.len();
    let us = |q: f64| late[((n as f64 * q) as usize).min(n - 1)] / 1e3;
    println!(
        "| {rate} | {server} | {n} | {:.2} ms | {:.0} us | {:.0} us | {:.0} us | {:.0} us | {:.3} % | {early} |",
        sum / n as f64 / 1e6,
        us(0.5),
        us(0.99),
        us(0.999),
        late[n - 1] / 1e3,
        100.0 * exact as f64 / n as f64
    );
}
