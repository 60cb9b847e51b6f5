//! The controller applies each command once, loses none, and keeps all within bounds.

use crate::common::build;
use headstack_control::{Actuator, Command, Controller, Device, Held, Input, Policy, Progress, RateLimit};
use headstack_control::{Rest, Sample, Sensor, Status, REST_AFTER};
use headstack_units::{Frequency, Span, Time, Watts};

/// A policy with a fixed command.
struct Fixed(Command);

impl Policy for Fixed {
    fn step(&mut self, _: &Input, commands: &mut [Command]) -> Status {
        commands.fill(self.0);
        Status::Regulating
    }
}

struct Silent;

impl Sensor for Silent {
    fn read(&mut self, now: Time) -> Sample {
        Sample::missing(now)
    }
}

/// Records commands, and refuses the first `refusals` of them.
#[derive(Default)]
struct Log {
    given: Vec<(usize, Command)>,
    refusals: usize,
    /// What is read back, one after another; then the command is held.
    seen: Vec<Held>,
    reads: usize,
}

impl Actuator for Log {
    fn apply(&mut self, drive: usize, command: &Command) -> Progress {
        self.given.push((drive, *command));
        match self.given.len() <= self.refusals {
            true => Progress::REFUSED,
            false => Progress::Done,
        }
    }

    fn poll(&mut self, _: usize) -> Progress {
        Progress::Done
    }

    fn read(&mut self, _: usize, _: &Command) -> Held {
        self.reads += 1;
        self.seen.get(self.reads - 1).copied().unwrap_or(Held::Same)
    }
}

/// A setting that somebody else has changed is made again once that is known: given at 1 s, read back at 11 s, 12 s and 13 s,
/// given again then, and read back at 23 s and 33 s.
#[test]
fn another_writer_is_overruled() {
    let mut controller = Controller::new(Box::new(Fixed(Command::default())), &[Device::default()]);
    let mut log = Log { seen: vec![Held::Unknown, Held::Unknown, Held::Other], ..Log::default() };
    let step = |controller: &mut Controller, log: &mut Log, s: u64| {
        controller.step(Time(s * 1_000_000_000), Some(Watts(9.0)), &mut Silent, log);
        (log.given.len(), log.reads)
    };
    let seen: Vec<(usize, usize)> = (1..=34).map(|s| step(&mut controller, &mut log, s)).collect();
    let want = [(1, (1, 0)), (10, (1, 0)), (12, (1, 2)), (13, (2, 3)), (22, (2, 3)), (23, (2, 4)), (34, (2, 5))];
    for (s, want) in want {
        assert_eq!(seen[s - 1], want, "at {s} s: commands, reads");
    }
}

fn steps(controller: &mut Controller, log: &mut Log, n: u64) {
    for s in 1..=n {
        controller.step(Time(s * 1_000_000_000), Some(Watts(9.0)), &mut Silent, log);
    }
}

#[test]
fn commands_are_clamped_and_given_once() {
    let wild = Command {
        nr_requests: 1,
        queue_depth: 99,
        read_expire: Some(headstack_units::Span(7)),
        arms: 0,
        rate_limit: RateLimit::Requests(Frequency(f64::NAN)),
        rest: Rest::Standby { after: Span(0) },
    };
    let mut controller = Controller::new(Box::new(Fixed(wild)), &[Device::default(); 2]);
    let mut log = Log::default();
    steps(&mut controller, &mut log, 5);
    let wanted = Command {
        nr_requests: 4,
        queue_depth: 32,
        read_expire: None,
        arms: 1,
        rate_limit: RateLimit::Unlimited,
        rest: Rest::Standby { after: REST_AFTER.0 },
    };
    assert_eq!(log.given, [(0, wanted), (1, wanted)]);
    assert!(controller.in_force().eq([Some(wanted), Some(wanted)]));
}

#[test]
fn a_refused_command_is_given_again_until_it_is_taken() {
    let command = Command::default();
    let mut controller = Controller::new(Box::new(Fixed(command)), &[Device::default()]);
    let mut log = Log { refusals: 3, ..Log::default() };
    steps(&mut controller, &mut log, 3);
    assert!(controller.in_force().eq([None]));
    steps(&mut controller, &mut log, 5);
    assert_eq!(log.given.len(), 4);
    assert!(controller.in_force().eq([Some(command)]));
}

/// One step with one reading per period.
fn after(policy: &mut dyn Policy, s: u64, cap: Option<f64>, watts: f64) -> (u32, u32) {
    let mut commands = [Command::default()];
    let now = Time(s * 1_000_000_000);
    let sample = Sample::new(now, Watts(watts));
    let input = Input { now, cap: cap.map(Watts), sample };
    policy.step(&input, &mut commands);
    (commands[0].nr_requests, commands[0].queue_depth)
}

/// When the cap is removed, the drive gets its setting without a cap.
#[test]
fn no_cap_releases_the_drive() {
    for (name, toml, open) in [
        ("pcap-base", "", (4, 1)),
        ("pcap-agile", "", (4, 1)),
        ("pcap-agile", "mode = \"throughput\"", (128, 32)),
        ("pcap-s", "period = \"5 s\"", (4, 1)),
        ("feed-forward", "", (128, 32)),
    ] {
        let mut policy = build(name, toml, 1);
        for s in [0, 5, 10, 15, 20, 25] {
            after(policy.as_mut(), s, Some(8.0), 10.6);
        }
        assert_ne!(after(policy.as_mut(), 30, Some(8.0), 10.6), open, "{name} {toml}");
        assert_eq!(after(policy.as_mut(), 31, None, 10.6), open, "{name} {toml}");
    }
}

/// The safe setting of each policy that has one.
#[test]
fn the_safe_side_is_the_setting_with_the_lowest_power() {
    for (name, toml, safe) in [
        ("pcap-base", "", (128, 1)),
        ("pcap-agile", "", (32, 1)),
        ("pcap-agile", "mode = \"throughput\"", (128, 1)),
        ("pcap-s", "", (32, 1)),
        ("feed-forward", "", (128, 1)),
        ("pcap-base", "on_loss = \"open\"", (128, 32)),
        ("pcap-s", "on_loss = \"open\"", (128, 32)),
        ("feed-forward", "on_loss = \"open\"", (128, 32)),
    ] {
        let mut policy = build(name, toml, 1);
        after(policy.as_mut(), 0, Some(9.0), 9.0);
        assert_eq!(after(policy.as_mut(), 100, Some(9.0), f64::NAN), safe, "{name} {toml}");
    }
}

/// By hand: 2 W too high at the wall, at an efficiency of one half, are 1 W at the drive; 1 / 2 * 16 = 8
/// places.
#[test]
fn a_shelf_counts_what_its_power_supply_loses() {
    for (efficiency, places) in [("1.0", 4 + 16), ("0.5", 4 + 8)] {
        let mut policy = build("pcap-s", &format!("efficiency = {efficiency}"), 1);
        after(policy.as_mut(), 0, Some(9.0), 11.0);
        after(policy.as_mut(), 5, Some(9.0), 11.0);
        assert_eq!(after(policy.as_mut(), 10, Some(9.0), 11.0), (places, 1));
    }
}

/// Control periods count from the first step; a late step acts once, not several times.
#[test]
fn a_late_step_acts_once() {
    let mut policy = build("pcap-agile", "", 1);
    after(policy.as_mut(), 0, Some(9.0), 10.0);
    // 1 / 2 * 16 = 8 places for one action.
    assert_eq!(after(policy.as_mut(), 14, Some(9.0), 10.0), (12, 1));
    assert_eq!(after(policy.as_mut(), 15, Some(9.0), 10.0), (12, 1));
}
