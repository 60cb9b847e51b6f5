//! Faults and losses of power, as a client sees them. Times are simulated; nothing waits.

use crate::nbd::client::{folder, options, Client, Server, DRIVES, FLUSH, READ, TRIM, WRITE, WRITE_ZEROES};
use headstack_block::layer::{FaultSetting, Setting, Slow};
use headstack_schema::Parameter;
use headstack_sim::change::Change;
use headstack_target::history::Torn;
use headstack_target::live::Live;
use headstack_target::power::Afterwards;
use headstack_units::Span;
use serde_json::json;

/// A drive that acknowledges writes once they are in its buffer.
const BUFFERED: &str = "exos-x18";

fn change(server: &Server, table: serde_json::Value) -> Result<(), String> {
    let change = Change::read(&table).map_err(|e| e.to_string())?;
    let done = server.handle().ask(move |live| live.change(change));
    done.expect("the server runs").map_err(|e| e.to_string())
}

fn torn(drive: &str, seed: u64, afterwards: Afterwards) -> Server {
    let folder = folder();
    let mut options = options(&folder, drive, 0.0);
    options.live.losses.is_possible = true;
    options.live.losses.seed = seed;
    options.live.losses.afterwards = afterwards;
    Server::with(folder, &options)
}

fn lose_power(server: &Server) -> Torn {
    let done = server.handle().ask(Live::lose_power);
    done.expect("the server runs").expect("power can be lost")
}

#[test]
fn a_bad_block_is_an_error_until_it_is_written() {
    let server = Server::start(BUFFERED, 0.0);
    let mut client = server.client(true);
    let bad = json!({ "at": "0 s", "layer": "fault", "bad": { "block": 17 } });
    change(&server, bad).unwrap();
    assert_eq!(client.ask(READ, 8192, 4096, b"").0, 5);
    assert_eq!(client.ask(READ, 9216, 4096, b"").0, 0);
    assert_eq!(client.ask(WRITE, 8192, 1024, &[1; 1024]).0, 0);
    assert_eq!(client.read(8192, 1024), [1; 1024]);
}

#[test]
fn a_drive_goes_and_comes_back_with_its_data() {
    let server = Server::start(BUFFERED, 0.0);
    let mut client = server.client(false);
    client.write(0, b"kept");
    let gone = |gone: bool| json!({ "at": "0 s", "layer": "fault", "gone": gone });
    change(&server, gone(true)).unwrap();
    assert_eq!(client.ask(READ, 0, 4, b"").0, 5);
    assert_eq!(client.ask(FLUSH, 0, 0, b"").0, 5);
    assert_eq!(client.ask(WRITE, 0, 4, b"lost").0, 5);
    change(&server, gone(false)).unwrap();
    assert_eq!(client.read(0, 4), b"kept");
}

/// ZBC-2: a write beside the pointer of its zone is refused. SBC-4: of a failed write nothing is to be read by others.
#[test]
fn a_refused_write_changes_nothing() {
    let kept = folder();
    let zoned = kept.path().join("zoned.toml");
    let drive = std::fs::read_to_string(DRIVES.to_owned() + "/exos-x18.toml").unwrap();
    let mapping = "[mapping]\nmodel = \"zoned\"\nconventional_zones = 0\nunrestricted_reads = true";
    std::fs::write(&zoned, format!("{drive}\n{mapping}\n")).unwrap();
    let zoned = zoned.to_string_lossy().into_owned();
    let bad = json!({ "at": "0 s", "layer": "fault", "bad": { "block": 9, "fails": "writes" } });
    let gone = json!({ "at": "0 s", "layer": "fault", "gone": true });
    for (drive, fault) in [(BUFFERED, Some(bad)), (BUFFERED, Some(gone)), (&*zoned, None)] {
        let server = torn(drive, 3, Afterwards::Continue);
        let mut client = server.client(false);
        client.write(0, &[1; 8192]);
        assert_eq!(client.ask(FLUSH, 0, 0, b"").0, 0);
        let fault = fault.map(|fault| change(&server, fault).unwrap());
        for (flags, command) in [(0, WRITE), (1, WRITE), (0, WRITE_ZEROES), (2, WRITE_ZEROES)] {
            let data: &[u8] = if command == WRITE { &[2; 8192] } else { b"" };
            client.send(flags, command, 0, 8192, data);
            assert_eq!(client.reply().0, 5, "{drive}");
        }
        if fault.is_some() {
            let back = json!({ "at": "0 s", "layer": "fault", "gone": false });
            change(&server, back).unwrap();
        }
        assert_eq!(client.read(0, 8192), [1; 8192], "{drive}");
        assert_eq!(lose_power(&server), Torn::default());
        assert_eq!(client.read(0, 8192), [1; 8192], "{drive}");
    }
}

#[test]
fn flushed_trims_are_never_undone() {
    let server = torn(BUFFERED, 1, Afterwards::Continue);
    let mut client = server.client(false);
    for loss in 0..40 {
        client.write(4096, &[1; 4096]);
        for (command, length) in [(FLUSH, 0), (TRIM, 4096), (FLUSH, 0)] {
            let offset = u64::from(length);
            assert_eq!(client.ask(command, offset, length, b"").0, 0);
        }
        lose_power(&server);
        assert_eq!(client.read(4096, 4096), [0; 4096], "loss {loss}");
    }
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let server = Server::start(BUFFERED, 0.0);
    for (table, said) in [
        (json!({ "at": "0 s" }), "one of queue_depth"),
        (json!({ "at": "0 s", "queue_depth": 4, "drives": [7] }), "drives[0]: got 7, need a drive below 1"),
        (json!({ "at": "0 s", "layer": "fault", "bad": { "block": u64::MAX } }), "need 1 or more, inside"),
        (json!({ "at": "0 s", "nr_requests": 4, "layer": "host-queue" }), "need one of 0 (fault)"),
    ] {
        let error = change(&server, table).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let done = server.handle().ask(Live::lose_power).unwrap();
    let error = done.unwrap_err().to_string();
    assert!(error.contains("need one that was started with it"), "{error}");
}

/// Recorded response times are exactly so much longer.
#[test]
fn slow_requests_are_as_late_as_asked_for() {
    let times = |by_ms: i64| -> Vec<u64> {
        let server = Server::start("ibm-18es", 0.0);
        let mut client = server.client(false);
        let slow = Setting::Fault(FaultSetting::Slow(Slow { ratio: 1.0, by: Span(by_ms * 1_000_000), lasts: None }));
        let set = move |live: &mut Live| live.set_fault(&[], slow);
        server.handle().ask(set).unwrap().unwrap();
        // One read: what follows would find the platter at another angle.
        client.read(server.bytes / 2, 512);
        let mut found = Vec::new();
        server.end_and(|folder| {
            let text = std::fs::read_to_string(folder.join("record.csv")).unwrap();
            let last = |line: &str| line.rsplit(',').next().unwrap().parse::<u64>().unwrap();
            found = text.lines().skip(1).map(last).collect();
        });
        found
    };
    assert_eq!(times(50)[0], times(0)[0] + 50_000_000);
}

#[test]
fn what_was_flushed_or_forced_survives_every_loss() {
    for seed in 0..6 {
        println!("seed {seed}");
        let server = torn(BUFFERED, seed, Afterwards::Disconnect);
        let mut client = server.client(false);
        for i in 0..8u64 {
            client.write(i * 4096, &[1; 4096]);
        }
        assert_eq!(client.ask(FLUSH, 0, 0, b"").0, 0);
        client.send(1, WRITE, 8 * 4096, 4096, &[2; 4096]);
        assert_eq!(client.reply().0, 0);
        let found = lose_power(&server);
        assert_eq!(found, Torn::default());
        let mut again = server.client(false);
        for i in 0..8u64 {
            assert_eq!(again.read(i * 4096, 4096), [1; 4096]);
        }
        assert_eq!(again.read(8 * 4096, 4096), [2; 4096]);
    }
}

/// What eight writes of a sector left on a medium that had ones: `false` for the new value.
fn survivors(seed: u64) -> Vec<bool> {
    let server = torn(BUFFERED, seed, Afterwards::Continue);
    let mut client = server.client(false);
    client.write(0, &[1; 8 * 512]);
    assert_eq!(client.ask(FLUSH, 0, 0, b"").0, 0);
    for i in 0..8u64 {
        client.write(i * 512, &[2; 512]);
    }
    let torn = lose_power(&server);
    assert_eq!(torn.kept + torn.lost, 8, "nothing was destaged at once");
    let after = |i: u64, client: &mut Client| match client.read(i * 512, 512)[0] {
        byte @ 1..=2 => byte == 1,
        other => panic!("got {other}"),
    };
    let lost: Vec<bool> = (0..8).map(|i| after(i, &mut client)).collect();
    assert_eq!(lost.iter().filter(|l| **l).count() as u64, torn.lost);
    lost
}

#[test]
fn any_subset_of_what_was_not_flushed_is_lost_and_the_seed_says_which() {
    let all: Vec<Vec<bool>> = (0..14).map(survivors).collect();
    assert_eq!(all[7], survivors(7));
    for i in 0..8 {
        let lost = all.iter().filter(|l| l[i]).count();
        assert!((1..14).contains(&lost), "write {i}: {lost} of 14");
    }
    // Order does not matter: an earlier one may be lost and a later one be there, and the other way round.
    assert!(all.iter().any(|l| l[0] && !l[7]));
    assert!(all.iter().any(|l| !l[0] && l[7]));
}

/// A drive without a write buffer acknowledges what is on the medium.
#[test]
fn a_drive_that_writes_through_loses_nothing_that_it_acknowledged() {
    for seed in 0..5 {
        let server = torn("conner-cp3100", seed, Afterwards::Continue);
        let mut client = server.client(false);
        for i in 0..8u64 {
            client.write(i * 4096, &[3; 4096]);
        }
        assert_eq!(lose_power(&server), Torn::default());
        for i in 0..8u64 {
            assert_eq!(client.read(i * 4096, 4096), [3; 4096]);
        }
    }
}

/// By schedule: the third write is at the drive when power is lost.
#[test]
fn power_is_lost_at_a_write() {
    let folder = folder();
    let mut options = options(&folder, BUFFERED, 0.0);
    options.live.losses.is_possible = true;
    options.live.losses.at_write = vec![3];
    options.live.losses.afterwards = Afterwards::Continue;
    let server = Server::with(folder, &options);
    let mut client = server.client(false);
    for i in 1..=4u64 {
        let error = client.ask(WRITE, i * 4096, 4096, &[4; 4096]).0;
        assert_eq!(error, if i == 3 { 5 } else { 0 }, "write {i}");
    }
    let served = server.end();
    assert_eq!(served.counters.power_losses, 1);
}
