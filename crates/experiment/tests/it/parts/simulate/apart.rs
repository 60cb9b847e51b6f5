use headstack_block::organisation::{Context, PLUGINS};
use headstack_schema::{Parameter, Params};
use headstack_sim::simulate::apart::*;
use headstack_sim::simulate::{Options, WarmUp};
use headstack_trace::Arrivals;
use headstack_trace::Job;
use headstack_units::Span;
use serde_json::{json, Value};
use std::ops::Range;

/// The division of six drives, one of which has two units, under jobs.
fn parts(organisation: &str, jobs: Value, change: impl Fn(&mut Options)) -> Option<Vec<Range<usize>>> {
    let context = Context { member_blocks: vec![1 << 20; 7], ..Context::default() };
    let all = &*PLUGINS;
    let entry = all.get(organisation).expect("an organisation");
    let organisation = entry.build(&Params::new(), &context).expect("an organisation");
    let jobs = Vec::<Job>::read(&jobs).expect("jobs");
    let mut options = Options { arrivals: Arrivals::Jobs { jobs, processors: None, seed: 0 }, ..Options::default() };
    change(&mut options);
    let is_logged = true;
    divide(&options, &*organisation, &[1, 1, 2, 1, 1, 1], is_logged)
}

#[test]
fn drives_are_together_that_threads_connect() {
    let of = |jobs: Value| parts("independent", jobs, |_| {});
    let alone = json!([{ "threads": 2, "devices": 7, "duration": "1 s" }]);
    assert_eq!(of(alone.clone()), Some(vec![0..1, 1..2, 2..3, 3..4, 4..5, 5..6]));
    // Devices 2 and 3 are units of the drive 2; device 4 is the drive 3.
    let any = json!([
        { "threads": 2, "devices": 2, "first_device": 1, "any_device": true, "duration": "1 s" },
        { "threads": 2, "devices": 2, "first_device": 3, "think_time": "1 ms", "duration": "1 s" },
    ]);
    assert_eq!(of(any), Some(vec![0..1, 1..3, 3..4, 4..5, 5..6]));
    let drawn = json!({ "distribution": "exponential", "mean": "1 ms" });
    let drawn = json!([{ "threads": 1, "devices": 3, "first_device": 4, "think_time": drawn, "duration": "1 s" }]);
    assert_eq!(of(drawn), Some(vec![0..1, 1..2, 2..3, 3..6]));
    let waits = json!([{ "threads": 1, "devices": 6, "blocking": 0.5, "think_time": "1 ms", "duration": "1 s" }]);
    assert_eq!(of(waits), Some(vec![0..5, 5..6]));
    assert_eq!(parts("concatenate", alone, |_| {}), None);
}

#[test]
fn runs_that_depend_on_the_order_of_all_requests_are_not_divided() {
    let jobs = || json!([{ "threads": 2, "devices": 7, "duration": "1 s" }]);
    let of = |change: fn(&mut Options)| parts("independent", jobs(), change);
    assert!(of(|o| o.warm_up = WarmUp::Time(Span(5))).is_some());
    assert!(of(|o| o.warm_up = WarmUp::Requests(1)).is_none());
    assert!(of(|o| o.max_requests = Some(1 << 40)).is_none());
    assert!(of(|o| o.arrivals = Arrivals::Open).is_none());
    let on_processors = |o: &mut Options| {
        if let Arrivals::Jobs { processors, .. } = &mut o.arrivals {
            *processors = Some(4);
        }
    };
    assert!(of(on_processors).is_none());
    let bursts = json!([{ "threads": 2, "devices": 7, "duration": "1 s", "bursts": 2, "every": "2 s" }]);
    assert!(parts("independent", bursts, |_| {}).is_none());
    // A device without a drive is an error that says which request it was.
    let beyond = json!([{ "threads": 2, "devices": 8, "duration": "1 s" }]);
    assert!(parts("independent", beyond, |_| {}).is_none());
}

#[test]
fn many_drives_make_parts_of_neighbours() {
    let parts = grouped(&vec![false; 1000]);
    assert_eq!(parts.len(), MOST);
    assert!(parts.iter().all(|p| (15..=16).contains(&p.len())), "{parts:?}");
    assert!(parts.windows(2).all(|w| w[0].end == w[1].start));
    assert_eq!((parts[0].start, parts[MOST - 1].end), (0, 1000));
}
