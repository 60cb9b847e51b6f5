//! Times are those of the simulated drive.

use crate::nbd::client::{folder, options, Server, FLUSH};
use headstack_drive::{Command, Hint};
use headstack_experiment::{live_system, Inputs};
use headstack_schema::read_table;
use headstack_target::devices::{Asked, Bytes, Devices};
use headstack_testkit::XorShift;
use headstack_units::Time;
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Arrival, first block, blocks, operation and response time of each recorded request, by arrival.
fn recorded(file: &Path) -> Vec<(u64, u64, u64, String, u64)> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time_ns,device,lba,blocks,op,response_ns"));
    let mut found: Vec<_> = lines
        .map(|line| {
            let part: Vec<&str> = line.split(',').collect();
            let number = |i: usize| part[i].parse::<u64>().unwrap();
            (number(0), number(2), number(3), part[4].to_string(), number(5))
        })
        .collect();
    found.sort();
    found
}

/// The response times of the same requests to a new drive, which is advanced once to each arrival.
fn simulated(requests: &[(u64, u64, u64, String, u64)], drive: &str) -> Vec<u64> {
    let table = serde_json::json!({ "drive": drive });
    let described = read_table(table.as_object().unwrap()).unwrap();
    let drives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drives");
    let system = live_system(&described, Path::new("."), 1, &Inputs::new(vec![drives])).unwrap();
    let mut devices = Devices::new(system);
    for (i, (arrival, lba, blocks, op, _)) in requests.iter().enumerate() {
        let command = match op.as_str() {
            "R" => Command::Read,
            "W" => Command::Write,
            _ => Command::Flush,
        };
        let bytes = Bytes { offset: lba * 512, length: blocks * 512 };
        devices.advance(Time(*arrival));
        let asked = Asked { command, hint: Hint::None };
        devices.submit(Time(*arrival), 0, i as u64, asked, bytes);
    }
    devices.advance(Time::LATEST);
    let mut ends = HashMap::new();
    while let Some(ended) = devices.ended(Time::LATEST) {
        ends.insert(ended.id as usize, ended.at.0);
    }
    requests.iter().enumerate().map(|(i, r)| ends[&i] - r.0).collect()
}

#[test]
fn a_recorded_session_takes_the_same_time_in_a_simulation() {
    for (drive, busy) in [("ibm-18es", false), ("exos-x18", true)] {
        let folder = folder();
        let mut options = options(&folder, drive, 50.0);
        options.live.busy = busy;
        let server = Server::with(folder, &options);
        let clients: Vec<_> = (0..4)
            .map(|i| {
                let (mut client, bytes) = (server.client(i % 2 == 0), server.bytes);
                std::thread::spawn(move || {
                    let mut rng = XorShift::seeded(i);
                    for step in 0..40u64 {
                        let offset = rng.below(bytes / 4096 - 1) * 4096;
                        match (step + i) % 4 {
                            0 => client.write(offset, &[step as u8; 4096]),
                            1 if step % 8 == 1 => assert_eq!(client.ask(FLUSH, 0, 0, b"").0, 0),
                            _ => drop(client.read(offset, 4096)),
                        }
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|c| c.join().unwrap());
        let mut requests = Vec::new();
        let served = server.end_and(|folder| requests = recorded(&folder.join("record.csv")));
        assert_eq!((served.counters.requests(), requests.len()), (160, 160));
        let emulated: Vec<u64> = requests.iter().map(|r| r.4).collect();
        assert_eq!(emulated, simulated(&requests, drive), "{drive}");
    }
}

#[test]
fn no_reply_comes_before_its_time() {
    let server = Server::start("ibm-18es", 10.0);
    let mut client = server.client(false);
    let start = Instant::now();
    for i in 0..20 {
        client.read(server.bytes / 20 * i, 4096);
    }
    let took = start.elapsed();
    let mut requests = Vec::new();
    server.end_and(|folder| requests = recorded(&folder.join("record.csv")));
    let simulated: u64 = requests.iter().map(|r| r.4).sum();
    assert!(simulated > 20 * 500_000, "seeks and turns take time");
    assert!(took >= Duration::from_nanos(simulated / 10), "{took:?} {simulated}");
}
