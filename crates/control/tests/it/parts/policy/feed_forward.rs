use headstack_control::map::Point;
use headstack_control::policy::feed_forward::*;
use headstack_control::policy::{Input, Policy};
use headstack_control::{Command, Device, Params, Sample};
use headstack_schema::read_table;
use headstack_units::{Time, Watts};

fn step(policy: &mut FeedForward, s: u64, cap: Option<f64>, watts: f64) {
    let now = Time(s * 1_000_000_000);
    let input = Input { now, cap: cap.map(Watts), sample: Sample::new(now, Watts(watts)) };
    policy.step(&input, &mut [Command::default()]);
}

/// The largest correction after a change at 5 s that is measured at 11 s; `interruption` is the cap at 6 s.
fn corrected(interruption: Option<f64>) -> f64 {
    let device = Device::default();
    let mut policy =
        FeedForward::new(&mut read_table(&Params::new()).expect("they fit"), &[device]).expect("it builds");
    step(&mut policy, 0, Some(8.5), 9.15);
    step(&mut policy, 5, Some(8.5), 9.15);
    step(&mut policy, 6, interruption, 9.15);
    step(&mut policy, 11, Some(8.5), 11.0);
    let tier = &policy.tiers[0];
    let off = |(power, point): (&f64, &Point)| (power - point.power_w).abs();
    tier.power_w.iter().zip(&policy.maps[0]).map(off).fold(0.0, f64::max)
}

/// An interruption between a change and its measurement is not an error of the map.
#[test]
fn learns_from_changes_that_nothing_interrupted() {
    assert!(corrected(Some(8.5)) > 0.9, "11 W instead of 8.5 W: half of 2 W");
    assert_eq!(corrected(None), 0.0);
}

/// Exactly the tolerance from the cap, on both sides, is within it: nothing changes. A little more is not. All numbers
/// are sums of powers of two, so that their differences are exact.
#[test]
fn the_tolerance_itself_is_within_it() {
    let table = "tolerance = \"0.25 W\"\nlearn = \"off\"\nmap = [\
        { nr_requests = 128, queue_depth = 32, power = \"9.5 W\", iops = 200 },\
        { nr_requests = 128, queue_depth = 4, power = \"8.5 W\", iops = 150 },\
        { nr_requests = 128, queue_depth = 1, power = \"7.5 W\", iops = 100 }]";
    let table: Params = toml::from_str(table).expect("TOML");
    // The first cap leads to the middle point, the second is in force for several periods.
    let settled = |watts: f64| {
        let device = Device::default();
        let mut policy = FeedForward::new(&mut read_table(&table).expect("they fit"), &[device]).expect("it builds");
        let begun = (0..=15).map(|s| (s, 8.75, 8.5));
        let rest = (16..=60).map(|s| (s, 8.5, watts));
        let mut seen = Vec::new();
        for (s, cap, watts) in begun.chain(rest) {
            let watts = if policy.tiers[0].at == 0 { 9.5 } else { watts };
            step(&mut policy, s, Some(cap), watts);
            seen.push(policy.tiers[0].at);
        }
        assert_eq!(seen[15], 1, "{seen:?}");
        *seen.last().expect("steps")
    };
    assert_eq!(settled(8.75), 1);
    assert_eq!(settled(8.765625), 2);
}

/// Errors of the map beyond all bounds: its own point is corrected by 1 W for each change, and by 3 W in all, in both
/// directions.
#[test]
fn corrections_reach_their_bounds() {
    let device = Device::default();
    let mut policy =
        FeedForward::new(&mut read_table(&Params::new()).expect("they fit"), &[device]).expect("it builds");
    let at = policy.latency.best(&policy.maps[0]);
    let point_w = policy.maps[0][at].power_w;
    for (error_w, want) in
        [(100.0, [1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0]), (-100.0, [2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -3.0])]
    {
        for want in want {
            (policy.tiers[0].at, policy.tiers[0].before) = (at, lowest(&policy.maps[0]));
            policy.seen.mean_before_w = Some(9.0);
            policy.learn_from(9.0 + error_w);
            let off_w = policy.tiers[0].power_w[at] - point_w;
            assert!((off_w - want).abs() < 1e-9, "{off_w} {want}");
        }
    }
}
