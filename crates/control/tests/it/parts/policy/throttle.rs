use headstack_control::policy::{Input, PLUGINS};
use headstack_control::{Command, Device, RateLimit, Sample};
use headstack_units::{Bandwidth, Frequency, Watts};

fn limit_at(toml: &str, caps: &[Option<f64>]) -> RateLimit {
    let table = toml::from_str(toml).expect("TOML");
    let throttle = PLUGINS.get("throttle").expect("it is listed");
    let mut policy = throttle.build(&table, &[Device::default()]).expect("it builds");
    let mut commands = [Command::default()];
    for cap in caps {
        let input = Input { now: headstack_units::Time::ZERO, cap: cap.map(Watts), sample: Sample::default() };
        policy.step(&input, &mut commands);
    }
    commands[0].rate_limit
}

/// By hand: (9 - 7.1) / 0.045 = 42.2, (8.5 - 7.1) / 0.045 = 31.1, (7.5 - 7.1) / 0.045 = 8.9.
#[test]
fn requests_per_second_for_the_caps_of_figure_6() {
    for (cap, iops) in [(9.0, 42.0), (8.5, 31.0), (7.5, 8.0), (6.0, 1.0)] {
        let wanted = RateLimit::Requests(Frequency(iops));
        assert_eq!(limit_at("", &[Some(cap)]), wanted, "{cap} W");
    }
    for cap in [Some(9.5), Some(10.5), None] {
        assert_eq!(limit_at("", &[cap]), RateLimit::Unlimited);
    }
}

/// Half of the 0.9 W between 7.1 W and 8 W is half of 171 MB/s, 85.5.
#[test]
fn bytes_per_second() {
    let wanted = RateLimit::Bytes(Bandwidth(85e6));
    assert_eq!(limit_at("limit = \"bandwidth\"", &[Some(7.55)]), wanted);
}

#[test]
fn an_unreadable_cap_leaves_the_last_one_and_at_first_the_lowest_limit() {
    let wanted = RateLimit::Requests(Frequency(42.0));
    assert_eq!(limit_at("", &[Some(9.0), Some(f64::NAN), Some(-1.0)]), wanted);
    let lowest = RateLimit::Requests(Frequency(1.0));
    assert_eq!(limit_at("", &[Some(f64::NAN)]), lowest);
    let wanted = RateLimit::Unlimited;
    assert_eq!(limit_at("", &[None, Some(f64::NAN)]), wanted);
}
