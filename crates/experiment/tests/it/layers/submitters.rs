//! Layers are told which client or thread submits a request.

use super::mock::{constants, tree};
use headstack_block::layer::{self, ANYONE};
use headstack_block::organisation::{Context, PLUGINS};
use headstack_schema::{Parameter, Params};
use headstack_sim::{simulate, Options};
use headstack_trace::{Arrivals, ClosedLoop, Command, Each, Job, Request, TraceError};
use headstack_units::{Lba, Span, Time};
use serde_json::json;
use std::collections::BTreeSet;

const BLOCKS: u64 = 1 << 20;
const MS: u64 = 1_000_000;

/// What a drive with constant service times saw: the time and the submitter of each request.
fn seen(arrivals: Arrivals, n: u64) -> Vec<(Time, u32)> {
    let (drives, log) = constants(1, BLOCKS, 3 * MS);
    let organisations = &*PLUGINS;
    let independent = organisations.get("independent").expect("an organisation");
    let context = Context { member_blocks: vec![BLOCKS], ..Context::default() };
    let organisation = independent.build(&Params::new(), &context).expect("one drive");
    let options = Options { arrivals, ..Options::default() };
    let requests = (0..n).map(|i| {
        Ok::<_, TraceError>(Request {
            time: Time(i * MS),
            lba: Lba(8 * i),
            blocks: 8,
            op: Command::Read,
            ..Request::default()
        })
    });
    let layers = &*layer::PLUGINS;
    let entry = layers.get("independent").expect("a layer");
    let mut members = [tree(entry, drives, Default::default()).expect("a tree")];
    simulate(&mut Each(requests), &mut members, &*organisation, &options, None).expect("a run");
    let log = log.lock().expect("the log");
    log.iter().map(|(at, _, r)| (*at, r.submitter)).collect()
}

/// A client of a closed loop, or a thread, has one request at a time: after its request its next one comes a service time
/// of 3 ms and a think time later at the earliest.
fn each_waits(seen: &[(Time, u32)], think: u64) {
    for (i, (at, who)) in seen.iter().enumerate() {
        let next = seen[i + 1..].iter().find(|later| later.1 == *who);
        let soon = next.filter(|later| later.0 .0 < at.0 + 3 * MS + think);
        assert_eq!(soon, None, "submitter {who}, request {i} at {at:?}");
    }
}

#[test]
fn a_closed_loop_has_as_many_clients_as_requests_outstanding() {
    for think in [0, 5 * MS] {
        let closed = ClosedLoop::fixed(3, Span(think as i64));
        let seen = seen(Arrivals::Closed(closed), 200);
        assert_eq!(seen.len(), 200);
        let clients: BTreeSet<u32> = seen.iter().map(|s| s.1).collect();
        assert_eq!(clients, BTreeSet::from([0, 1, 2]), "think time {think}");
        each_waits(&seen, think);
    }
}

#[test]
fn threads_have_numbers_over_all_jobs() {
    let job = json!({ "threads": 2, "think_time": "1 ms", "duration": "1 s" });
    let jobs = Vec::<Job>::read(&json!([job, job])).expect("jobs");
    let arrivals = Arrivals::Jobs { jobs, processors: None, seed: 7 };
    let seen = seen(arrivals, 0);
    let threads: BTreeSet<u32> = seen.iter().map(|s| s.1).collect();
    assert_eq!(threads, BTreeSet::from([0, 1, 2, 3]));
    each_waits(&seen, MS);
}

#[test]
fn open_arrivals_belong_to_no_thread() {
    let seen = seen(Arrivals::Open, 50);
    assert_eq!(seen.len(), 50);
    assert!(seen.iter().all(|s| s.1 == ANYONE));
}
