//! The energy of seeks by distance, sampled at any moment: against the phases that the drive tells.

use headstack_drive::power::seek_energy::SeekEnergy;
use headstack_drive::spec::DriveSpec;
use headstack_drive::{Command, Drive, DriveOptions, DriveRequest, Phase, PhaseKind};
use headstack_testkit::commands;
use headstack_testkit::{shipped, XorShift};
use headstack_units::Time;

fn spec(dash: &str, law: bool) -> DriveSpec {
    let (_, text, _) = shipped::files()
        .into_iter()
        .find(|(_, _, spec)| spec.name == "ultrastar-7k4000-pcap")
        .expect("a shipped drive");
    let mut table: toml::Table = toml::from_str(&text).expect("TOML");
    table.insert("dash".into(), dash.into());
    if !law {
        let power = table["power"].as_table_mut().expect("a table");
        power.remove("seek_energy");
    }
    table.try_into().expect("a drive")
}

/// Random reads and writes, in bursts; energy in joules at each time of `at_ns`, and the phases.
fn run(spec: &DriveSpec, seed: u64, at_ns: &[u64]) -> (Vec<f64>, Vec<Phase>) {
    let mut drive = Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
    drive.listen(Time::ZERO);
    let mut random = XorShift::seeded(seed);
    let blocks = drive.design.capacity_blocks() - 8;
    let mut requests: Vec<(u64, DriveRequest)> = (0..400)
        .map(|id| {
            let at = random.below(40) * 100_000_000;
            let command = match random.below(4) {
                0 => Command::Write,
                _ => Command::Read,
            };
            let request = commands::command(id, command, random.below(blocks), 8);
            (at, request)
        })
        .collect();
    requests.sort_by_key(|(at, request)| (*at, request.id));
    let mut next = requests.into_iter().peekable();
    let mut joules = Vec::new();
    for t in at_ns {
        while let Some((at, request)) = next.next_if(|(at, _)| at <= t) {
            drive.advance(Time(at), &mut |_| {});
            drive.submit(Time(at), request);
        }
        drive.advance(Time(*t), &mut |_| {});
        joules.push(drive.energy(Time(*t)).total_j());
        let states = drive.joules(Time(*t));
        let sum = states.idle + states.seek + states.rotation + states.transfer + states.standby;
        assert!((sum - joules[joules.len() - 1]).abs() < 1e-9);
    }
    let mut phases = Vec::new();
    drive.tell_phases(Time(at_ns[at_ns.len() - 1]), &mut |p| phases.push(*p));
    (joules, phases)
}

/// With the law and without it the drive does the same; what the meter shows more is, at any time and so in the
/// middle of movements too, the part of each movement before that time, times its energy.
#[test]
fn the_meter_shows_the_part_of_each_seek_that_is_over() {
    let seed = 20_260_213;
    println!("seed {seed}");
    let at_ns: Vec<u64> = (1..=6000).map(|i| i * 1_234_567).collect();
    for dash in ["D1A1S1H1", "D1A2S1H1", "D2A1S1H1"] {
        let (with, without) = (spec(dash, true), spec(dash, false));
        let (joules, phases) = run(&with, seed, &at_ns);
        let (plain, _) = run(&without, seed, &at_ns);
        let law = SeekEnergy::read(&with.power, with.geometry.cylinders).expect("a law").expect("a law");
        let seeks: Vec<&Phase> = phases.iter().filter(|p| p.kind == PhaseKind::Seek).collect();
        assert!(seeks.len() > 300, "{dash}: {} seeks", seeks.len());
        let mut inside = 0;
        for ((t, with), without) in at_ns.iter().zip(&joules).zip(&plain) {
            let expected: f64 = seeks
                .iter()
                .map(|p| {
                    let part = (t.min(&p.to.0).saturating_sub(p.from.0)) as f64;
                    inside += u32::from(p.from.0 < *t && *t < p.to.0);
                    law.joules(p.distance) * part / (p.to.0 - p.from.0) as f64
                })
                .sum();
            let got = with - without;
            assert!((got - expected).abs() < 1e-6, "{dash}, seed {seed}: at {t} ns {got} J, need {expected} J");
        }
        assert!(inside > 500, "{dash}: {inside} samples inside seeks");
    }
}

/// A movement that takes no time, as in the limit study: its energy is there from its start on.
#[test]
fn a_movement_without_a_time_has_its_energy_at_once() {
    let mut free = spec("D1A1S1H1", true);
    free.positioning.seek_scale = 0.0;
    let mut plain = free.clone();
    plain.power.remove("seek_energy");
    let law = SeekEnergy::read(&free.power, free.geometry.cylinders).expect("a law").expect("a law");
    // The joules at a time, and the distance of the movement.
    let joules = |spec: &DriveSpec, at: u64| {
        let mut drive = Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
        let request = commands::command(0, Command::Read, drive.design.capacity_blocks() - 8, 8);
        drive.submit(Time(1_000_000), request);
        let mut distance = 0;
        drive.advance(Time(1_000_001), &mut |c| distance = c.seek_distance);
        (drive.energy(Time(at)).total_j(), distance)
    };
    for (at, share) in [(500_000, 0.0), (1_000_000, 1.0), (1_000_000_000, 1.0)] {
        let (with, distance) = joules(&free, at);
        assert!(distance > 1000, "{distance}");
        let extra = with - joules(&plain, at).0;
        let need = law.joules(distance) * share;
        assert!((extra - need).abs() < 1e-6, "at {at}: {extra} J, need {need} J");
    }
}
