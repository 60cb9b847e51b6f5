//! Energy of whole drives against integrals by hand, and the bounds that the modes set.

use headstack_drive::power::{self, Shape};
use headstack_drive::spec::DriveSpec;
use headstack_drive::{Command, Completion, Drive, DriveEnergy, DriveOptions, DriveRequest};
use headstack_testkit::commands;
use headstack_testkit::disk::Disk;
use headstack_testkit::XorShift;
use headstack_units::{Lba, Time};

/// 6000 rpm, so a turn of 10 ms; 100 sectors of 0.1 ms; every seek 5 ms; no skew. At 6000 rpm the
/// drive draws 11 W idle, 17 W seeking, 13 W waiting or transferring.
const DISK: Disk = Disk { rpm: 6000, surfaces: 2, cylinders: 1000, sectors: 100, skew: None };

const REST: &str = r#"
    [seek]
    model = "constant"
    time = "5 ms"
    [power]
    rotation_speed = "6000 rpm"
    spindle = "8 W"
    electronics = "3 W"
    voice_coil = "6 W"
    access = "2 W"
"#;

fn drive() -> DriveSpec {
    DISK.drive(REST)
}

fn joules(e: &DriveEnergy) -> f64 {
    e.idle_j + e.seek_j + e.rotation_j + e.transfer_j + e.standby_j
}

fn near(got: f64, need: f64) {
    assert!((got - need).abs() < 1e-9 * need.max(1.0), "got {got}, need {need}");
}

/// A read at time 0 of ten sectors on cylinder 10: 5 ms of seek, then sector 0 is half a turn
/// (5 ms) away, then 1 ms of transfer; the rest of one second idle.
#[test]
fn one_request_by_hand() {
    let mut drive = Drive::builtin(&drive(), &DriveOptions::default()).unwrap();
    let request = commands::command(0, Command::Read, 10 * 200, 10);
    drive.submit(Time(0), request);
    let mut done = None;
    drive.advance(Time(1_000_000_000), &mut |c: &Completion| done = Some(*c));
    assert_eq!(done.expect("a completion").completion, Time(11_000_000));
    let e = drive.energy(Time(1_000_000_000));
    near(e.seek_s, 0.005);
    near(e.rotation_s, 0.005);
    near(e.transfer_s, 0.001);
    near(e.idle_s, 0.989);
    near(e.seek_j, 17.0 * 0.005);
    near(e.rotation_j, 13.0 * 0.005);
    near(e.transfer_j, 13.0 * 0.001);
    near(e.idle_j, 11.0 * 0.989);
    near(joules(&e), 11.0 + 6.0 * 0.005 + 2.0 * 0.006);
    // What was counted before the reset is gone; idling goes on.
    drive.reset_statistics(Time(500_000_000));
    near(joules(&drive.energy(Time(1_500_000_000))), 11.0);
}

/// Random reads of one block on 1, 2 and 4 arms: energy is the sum of each request's times in a
/// mode times the mode's adder, over the idle power of the whole time.
#[test]
fn energy_is_the_sum_over_requests() {
    for arms in [1, 2, 4] {
        let mut spec = drive();
        spec.queue.scheduler = "sptf".into();
        spec.dash.arms = arms;
        let mut drive = Drive::builtin(&spec, &DriveOptions::default()).unwrap();
        let (mut seek, mut rotation, mut transfer, mut last) = (0, 0, 0, 0);
        let mut count = |c: &Completion| {
            seek += c.components.seek.non_negative();
            rotation += c.components.rotation.non_negative();
            transfer += c.components.transfer.non_negative();
            last = last.max(c.completion.0);
        };
        let mut noise = XorShift::default();
        for id in 0..2000 {
            let now = Time(id * 9_000_000);
            drive.advance(now, &mut count);
            let lba = Lba(noise.below(200_000));
            drive.submit(now, DriveRequest { id, command: Command::Read, lba, blocks: 1, ..DriveRequest::default() });
        }
        drive.advance(Time::NEVER, &mut count);
        let s = |ns: u64| ns as f64 * 1e-9;
        let e = drive.energy(Time(last));
        near(joules(&e), 11.0 * s(last) + 6.0 * s(seek) + 2.0 * s(rotation + transfer));
        // With no standing power per arm and one arm in motion, no number of arms draws more than
        // the busiest mode, nor less than idle.
        let mean = joules(&e) / s(last);
        assert!((11.0..=17.0).contains(&mean), "{arms} arms: {mean} W");
    }
}

/// The Barracuda ES and the paper's four-arm projection of it: 9.30 W idle, 34.0 W with four arms
/// moving, 13.0 W for the manual's operating mix, .658 of the spindle's power at 6200 rpm; a mix of
/// modes lies between idle and the dearest mode.
#[test]
fn the_papers_drive() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives/barracuda-es-750.toml");
    let text = std::fs::read_to_string(path).expect("a drive file");
    let mut spec: DriveSpec = toml::from_str(&text).expect("a drive");
    let one = power::build(&spec.power, &Shape::of(&spec), &power::PLUGINS).unwrap();
    let close = |got: f64, need: f64| assert!((got - need).abs() <= 0.1, "{got} W, need {need} W");
    close(one.idle, 9.30);
    close(one.mix(4.0, 0.0, 0.0), 34.0);
    close(one.mix(0.4, 0.2, 0.2), 13.0);
    spec.dash.arms = 4;
    let four = power::build(&spec.power, &Shape::of(&spec), &power::PLUGINS).unwrap();
    assert_eq!(four, one, "arms at rest draw nothing");
    for i in 0..=10 {
        for j in 0..=10 - i {
            let (seek, access) = (f64::from(i) / 10.0, f64::from(j) / 10.0);
            let w = four.mix(seek, access / 2.0, access / 2.0);
            let dearest = four.seek.max(four.rotation).max(four.transfer);
            assert!((four.idle - 1e-9..=dearest + 1e-9).contains(&w), "{w} W");
        }
    }
    let mut slower = Shape::of(&spec);
    slower.rotation_speed.0 = 6200.0;
    let electronics = 5.0 * 0.611;
    let spindle = |w: power::StateWatts| w.idle - electronics;
    let share = spindle(power::build(&spec.power, &slower, &power::PLUGINS).unwrap()) / spindle(one);
    assert!((share - 0.658).abs() < 0.001, "{share}");
}
