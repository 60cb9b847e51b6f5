//! The simulation loop against closed forms, with a drive of constant service time.

use headstack_block::controlled::ControlledDrive;
use headstack_block::layer::Setting;
use headstack_block::measured::MemberOutcome;
use headstack_block::organisation::{Context, Organisation, PLUGINS};
use headstack_block::target::Target;
use headstack_block::{Adjust, Clock, Member, Meter};
use headstack_drive::{Command, Completion, Components, DriveEnergy, DriveRequest, Hint};
use headstack_schema::{Params, SpecError};
use headstack_sim::crew::Crew;
use headstack_sim::simulate::{Log, OutOfRangePolicy, Record, SimulateError, WarmUp};
use headstack_sim::{simulate, Options, Outcome};
use headstack_testkit::commands::sum;
use headstack_testkit::memory::peak_bytes;
use headstack_testkit::SplitMix;
use headstack_trace::{Arrivals, ClosedLoop, Each, Ioprio, Request, TraceError};
use headstack_units::{Lba, Span, Time};
use std::collections::VecDeque;

/// First come first served, constant service time, 1 W idle and 3 W busy.
struct Constant {
    blocks: u64,
    service: u64,
    free_at: Time,
    waiting: VecDeque<(Time, DriveRequest)>,
    // Busy intervals that had not ended at the last reset.
    busy: Vec<(u64, u64)>,
    reset: Time,
    // Commands submitted to it.
    seen: Vec<Command>,
    // Requests that begin at this block or after it fail.
    bad_from: u64,
}

impl Constant {
    fn new(blocks: u64, service: u64) -> Constant {
        Constant {
            blocks,
            service,
            free_at: Time::ZERO,
            waiting: VecDeque::new(),
            busy: Vec::new(),
            reset: Time::ZERO,
            seen: Vec::new(),
            bad_from: u64::MAX,
        }
    }
}

impl Clock for Constant {
    type Report = Completion;
    fn next_event(&self) -> Time {
        self.waiting.front().map_or(Time::NEVER, |w| w.0.max(self.free_at))
    }
    fn advance(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        while self.next_event() < until {
            let start = self.next_event();
            let (arrival, request) = self.waiting.pop_front().unwrap();
            let transfer = Span(self.service as i64);
            self.free_at = start.after(transfer);
            self.busy.push((start.0, self.free_at.0));
            sink(&Completion {
                id: request.id,
                arrival,
                completion: self.free_at,
                components: Components { queue: start.span_from(arrival), transfer, ..Components::default() },
                cache_hit: false,
                mechanical: true,
                seek_distance: (request.lba.0 % 2) as u32,
                arm: 0,
                error: request.lba.0 + request.blocks as u64 > self.blocks || request.lba.0 >= self.bad_from,
                ..Completion::default()
            });
        }
    }
}

impl Meter for Constant {
    fn energy(&mut self, until: Time) -> DriveEnergy {
        let busy: u64 = self.busy.iter().map(|b| b.1.min(until.0).saturating_sub(b.0.max(self.reset.0))).sum();
        let busy_s = busy as f64 * 1e-9;
        let idle_s = until.since(self.reset).as_secs_f64() - busy_s;
        DriveEnergy { idle_s, transfer_s: busy_s, idle_j: idle_s, transfer_j: 3.0 * busy_s, ..DriveEnergy::default() }
    }
    fn drive_joules(&mut self, until: Time, sums: &mut Vec<f64>) {
        sums.push(self.joules(until).total());
    }
    fn observe(&self, _until: Time, _outcome: &mut MemberOutcome) {}
    fn reset_statistics(&mut self, now: Time) {
        self.reset = now;
        self.busy.retain(|b| b.1 > now.0);
    }
}

impl Adjust for Constant {
    fn controlled_drives(&self) -> Vec<ControlledDrive> {
        vec![ControlledDrive { arms: 1, ..ControlledDrive::default() }]
    }
    fn is_meant(&self, target: &Target, index: u32) -> bool {
        target.has_drive(index)
    }
    fn change(&mut self, _now: Time, _target: &Target, _setting: &Setting) -> Result<(), SpecError> {
        unimplemented!("a constant drive has no settings")
    }
    fn apply(&mut self, _now: Time, _way: &[u32], _setting: &Setting) -> Result<(), SpecError> {
        unimplemented!("a constant drive has no settings")
    }
    fn is_draining(&self, _way: &[u32]) -> bool {
        false
    }
}

impl Member for Constant {
    const TELLS_SUBMITTERS_APART: bool = false;
    fn logical_units(&self) -> Vec<u64> {
        vec![self.blocks]
    }
    fn hint(&self, _priority: Ioprio) -> Hint {
        Hint::None
    }
    fn submit(&mut self, now: Time, request: DriveRequest, _submitter: u32) {
        self.waiting.push_back((now, request));
        self.seen.push(request.command);
    }
    fn queue_len(&self) -> usize {
        self.waiting.len()
    }
}

fn poisson(n: usize, mean_ns: f64, devices: u64, size: u64) -> Vec<Request> {
    let mut noise = SplitMix(42);
    let mut time = 0.0;
    (0..n)
        .map(|_| {
            time += -mean_ns * noise.unit().ln();
            Request {
                time: Time(time as u64),
                device: (noise.draw() % devices) as u32,
                lba: Lba(noise.draw() % (size - 64)),
                blocks: 1 + (noise.draw() % 64) as u32,
                ..Request::default()
            }
        })
        .collect()
}

fn drives(n: usize, blocks: u64, service: u64) -> Vec<Constant> {
    (0..n).map(|_| Constant::new(blocks, service)).collect()
}

fn organisation(name: &str, members: &[Constant], devices: &[u64]) -> Box<dyn Organisation> {
    let context =
        Context { member_blocks: members.iter().map(|m| m.blocks).collect(), device_blocks: devices.to_vec() };
    PLUGINS.get(name).unwrap().build(&Params::new(), &context).unwrap()
}

fn run(
    requests: Vec<Request>,
    mut members: Vec<Constant>,
    organisation: &dyn Organisation,
    options: &Options,
    log: Option<&mut Log>,
) -> Outcome {
    simulate(&mut Each(requests.into_iter().map(Ok)), &mut members, organisation, options, log).unwrap()
}

#[test]
fn drives_are_asked_for_what_the_workload_asks() {
    let ops = [Command::Read, Command::Write, Command::WriteThrough, Command::Flush];
    let request = |op| Request { blocks: if op == Command::Flush { 0 } else { 8 }, op, ..Request::default() };
    for name in ["independent", "concatenate"] {
        let mut members = drives(1, 1 << 20, 1_000_000);
        let o = organisation(name, &members, &[1 << 20]);
        let mut source = Each(ops.map(request).into_iter().map(Ok));
        let options = Options::default();
        let outcome = simulate(&mut source, &mut members, &*o, &options, None).unwrap();
        assert_eq!((outcome.sums.n_requests, outcome.bytes()), (4, 3 * 8 * 512), "{name}");
        let want = [Command::Read, Command::Write, Command::WriteThrough, Command::Flush];
        assert_eq!(members[0].seen, want, "{name}");
    }
}

#[test]
fn open_arrivals_wait_as_pollaczek_and_khinchine_say() {
    // M/D/1: mean wait = rho·s / (2·(1 - rho)).
    for rho in [0.3, 0.7] {
        let service = 1_000_000u64;
        let members = drives(1, 1 << 30, service);
        let o = organisation("independent", &members, &[]);
        let requests = poisson(400_000, service as f64 / rho, 1, 1 << 30);
        let outcome = run(requests, members, &*o, &Options::default(), None);
        let n = outcome.sums.n_requests as f64;
        let wait = outcome.sums.component_ns[0] as f64 / n;
        let want = rho * service as f64 / (2.0 * (1.0 - rho));
        assert!((wait / want - 1.0).abs() < 0.02, "{rho}: {wait} {want}");
        // Little's law: the series' mean number in the system is arrival rate times response time.
        let mut outcome = outcome;
        let points = outcome.series.points();
        let area: f64 = points.iter().map(|p| p.queue_depth * p.width_s).sum();
        let sum = outcome.response.sum_ns() as f64 * 1e-9;
        assert!((area / sum - 1.0).abs() < 1e-9, "{area} {sum}");
        // Power: idle 1 W, busy 3 W.
        let energy = outcome.members[0].energy;
        let busy = n * service as f64 * 1e-9;
        let length = outcome.end.since(outcome.start).as_secs_f64();
        assert!((energy.transfer_j - 3.0 * busy).abs() < 1e-6 * busy);
        let series: f64 = points.iter().map(|p| p.power_w.total() * p.width_s).sum();
        assert!((series - (length - busy) - 3.0 * busy).abs() < 1e-6 * series);
    }
}

#[test]
fn closed_arrivals_keep_the_drives_as_busy_as_they_can() {
    let service = 2_000_000u64;
    for (outstanding, drives_n, think, want) in [
        // One drive is always busy: 1 / s.
        (4u32, 1usize, 0i64, 500.0),
        // One request with a think time as long as its service.
        (1, 1, 2_000_000, 250.0),
        // Three requests, spread over time, do not meet at the drive if the think time is nine services.
        (3, 1, 18_000_000, 150.0),
    ] {
        let members = drives(drives_n, 1 << 30, service);
        let o = organisation("independent", &members, &[]);
        let options = Options {
            arrivals: Arrivals::Closed(ClosedLoop::fixed(outstanding, Span(think))),
            warm_up: WarmUp::Requests(100),
            ..Options::default()
        };
        let requests = poisson(20_000, 1.0, 1, 1 << 30);
        let outcome = run(requests, members, &*o, &options, None);
        let length = outcome.end.since(outcome.start).as_secs_f64();
        let rate = outcome.sums.n_requests as f64 / length;
        assert!((rate / want - 1.0).abs() < 0.002, "{rate} {want}");
    }
}

#[test]
fn shares_add_up_and_fragments_join() {
    let members = drives(4, 1 << 20, 700_000);
    let o = organisation("raid0", &members, &[]);
    let requests = poisson(20_000, 400_000.0, 1, 1 << 21);
    let mut records = Vec::new();
    let mut log = |r: &headstack_sim::simulate::Record| {
        records.push(*r);
        Ok(())
    };
    let options = Options::default();
    let outcome = run(requests.clone(), members, &*o, &options, Some(&mut log));
    assert_eq!(records.len(), 20_000);
    for r in &records {
        assert_eq!(sum(&r.answer.components), r.answer.completion.since(r.request.time).0 as u64);
    }
    let parts: u64 = outcome.members.iter().map(|m| m.served.n_requests).sum();
    assert!(parts > 20_000);
    // Brute force: each part waits in its drive's queue; the request ends with the last part.
    let mut free = [0u64; 4];
    records.sort_by_key(|r| r.answer.id);
    for (r, request) in records.iter().zip(&requests) {
        let mut done = 0;
        let touched: std::collections::BTreeSet<u64> =
            (0..request.blocks as u64).map(|b| (request.lba.0 + b) / 128 % 4).collect();
        for d in touched {
            let start = free[d as usize].max(request.time.0);
            free[d as usize] = start + 700_000;
            done = done.max(free[d as usize]);
        }
        assert_eq!(r.answer.completion.0, done, "request {}", r.answer.id);
    }
}

#[test]
fn warm_up_past_end_and_limits() {
    let requests = poisson(10_000, 1e6, 1, 1 << 20);
    let go = |options: Options, blocks| {
        let members = drives(1, blocks, 1000);
        let o = organisation("independent", &members, &[]);
        run(requests.clone(), members, &*o, &options, None)
    };
    let half = requests.iter().filter(|r| r.lba.0 + r.blocks as u64 > 1 << 19).count() as u64;
    let o = go(Options::default(), 1 << 19);
    assert_eq!((o.sums.n_requests, o.n_errors()), (10_000, half));
    let drop = Options { past_end: OutOfRangePolicy::DropCounted, ..Options::default() };
    let o = go(drop, 1 << 19);
    assert_eq!((o.sums.n_requests, o.n_errors(), o.seen.n_dropped), (10_000 - half, 0, half));
    let wrap = Options { past_end: OutOfRangePolicy::Wrap, ..Options::default() };
    let o = go(wrap, 1 << 19);
    assert_eq!((o.sums.n_requests, o.n_errors()), (10_000, 0));
    let warm = Options { warm_up: WarmUp::Time(Span(5_000_000_000)), max_requests: Some(9_000), ..Options::default() };
    let first = requests[0].time.0;
    let late = requests[..9_000].iter().filter(|r| r.time.0 >= first + 5_000_000_000).count() as u64;
    let o = go(warm, 1 << 20);
    assert_eq!(o.sums.n_requests, late);
    assert_eq!(o.start, Time(first + 5_000_000_000));
}

/// A device of 1000 blocks: a request is inside when its last block is at most number 999, also after the first request
/// of the device, at which its size is looked up.
#[test]
fn a_device_ends_with_its_last_block() {
    for (lba, blocks, inside) in
        [(999, 1, true), (1000, 1, false), (992, 8, true), (993, 8, false), (0, 1000, true), (1, 1000, false)]
    {
        let members = drives(1, 1000, 1000);
        let o = organisation("independent", &members, &[]);
        let request = Request { lba: Lba(lba), blocks, ..Request::default() };
        let options = Options { past_end: OutOfRangePolicy::DropCounted, ..Options::default() };
        let outcome = run(vec![request; 2], members, &*o, &options, None);
        let counts = (outcome.sums.n_requests, outcome.seen.n_dropped);
        let want = if inside { (2, 0) } else { (0, 2) };
        assert_eq!(counts, want, "{lba} {blocks}");
    }
}

/// Requests that fail after a service, by hand. Three requests of 1 ms each arrive together, and the second fails: they end
/// at 1, 2 and 3 ms. Response times are those of the two that succeed, 2 ms on average. All three were in the system:
/// (1 + 2 + 3) / 3 requests on average, for the system, over time and for the drive (Little's law).
#[test]
fn failed_requests_count_in_the_queue_but_not_in_response_times() {
    let requests: Vec<Request> =
        [0, 500, 0].map(|lba| Request { lba: Lba(lba), blocks: 1, ..Request::default() }).into();
    for closed in [false, true] {
        let options = Options {
            arrivals: match closed {
                true => Arrivals::Closed(ClosedLoop::fixed(3, Span::ZERO)),
                false => Arrivals::Open,
            },
            ..Options::default()
        };
        let mut members = drives(1, 1000, 1_000_000);
        members[0].bad_from = 500;
        let o = organisation("independent", &members, &[]);
        let outcome = run(requests.clone(), members, &*o, &options, None);
        let names = ["drive".to_string()];
        let (result, points) = headstack_experiment::result::summarise(&names, &Default::default(), &[], outcome);
        assert_eq!((result.n_requests, result.n_errors), (3, 1));
        let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-9, "{got} {want}");
        near(result.duration_s, 0.003);
        near(result.response_time_s.mean, 0.002);
        near(result.throughput_iops, 2.0 / 0.003);
        near(result.queue_depth_mean, 2.0);
        near(result.drives[0].queue_depth_mean, 2.0);
        near(result.drives[0].response_time_mean_s, 0.002);
        assert_eq!(points.len(), 1);
        near(points[0].queue_depth, 2.0);
        near(points[0].response_time_mean_s, 0.002);
    }
}

#[test]
fn cancel_gives_what_was_done() {
    let options = Options::default();
    let watch = options.progress.clone();
    let mut seen = 0;
    let mut log = |_: &headstack_sim::simulate::Record| {
        seen += 1;
        if seen == 3000 {
            watch.cancel();
        }
        Ok(())
    };
    let members = drives(1, 1 << 20, 1000);
    let o = organisation("independent", &members, &[]);
    let requests = poisson(100_000, 1e6, 1, 1 << 20);
    let outcome = run(requests, members, &*o, &options, Some(&mut log));
    assert!(outcome.partial);
    assert!(outcome.sums.n_requests >= 3000 && outcome.sums.n_requests < 5000);
}

/// Requests are taken from their source in batches. A wrong request ends the run after those before it, and a
/// limit is exact.
#[test]
fn a_wrong_request_ends_the_run_where_it_stands() {
    for good in [0, 1, 255, 256, 257, 1000] {
        let members = drives(1, 1 << 20, 1000);
        let o = organisation("independent", &members, &[]);
        let mut taken = 0;
        let mut source = Each((0..2000u64).map(|i| {
            taken = i + 1;
            if i == good {
                return Err(TraceError::Input {
                    path: "requests".into(),
                    got: "something else".into(),
                    need: "a request".into(),
                });
            }
            Ok(Request { time: Time(i * 10_000), blocks: 8, ..Request::default() })
        }));
        let mut logged = 0;
        let mut log = |_: &headstack_sim::simulate::Record| {
            logged += 1;
            Ok(())
        };
        let mut members = members;
        let result = simulate(&mut source, &mut members, &*o, &Options::default(), Some(&mut log));
        assert!(matches!(result, Err(SimulateError::Trace(_))), "{good}");
        assert_eq!(taken, good + 1);
        // The last request was still in the drive.
        assert_eq!(logged, good.saturating_sub(1));

        let members = drives(1, 1 << 20, 1000);
        let o = organisation("independent", &members, &[]);
        let options = Options { max_requests: Some(good), ..Options::default() };
        let requests = poisson(2000, 1e4, 1, 1 << 20);
        let outcome = run(requests, members, &*o, &options, None);
        assert_eq!(outcome.sums.n_requests, good);
    }
}

/// A closed loop of very many outstanding requests on a workload of few needs memory for the few only.
#[test]
fn a_loop_wider_than_its_workload() {
    let before = peak_bytes();
    for outstanding in [1000, 50_000_000] {
        let mut members = drives(1, 1 << 20, 1_000_000);
        let options =
            Options { arrivals: Arrivals::Closed(ClosedLoop::fixed(outstanding, Span::ZERO)), ..Options::default() };
        let requests = poisson(1000, 1e6, 1, 1 << 20);
        let organisation = PLUGINS
            .get("independent")
            .unwrap()
            .build(&Params::new(), &Context { member_blocks: vec![1 << 20], ..Context::default() });
        let mut source = Each(requests.into_iter().map(Ok));
        let organisation = organisation.unwrap();
        let outcome = simulate(&mut source, &mut members, organisation.as_ref(), &options, None);
        let outcome = outcome.unwrap();
        // All of them wait from the beginning; one is served each millisecond.
        assert_eq!((outcome.sums.n_requests, outcome.end), (1000, Time(1_000_000_000)));
    }
    match before.zip(peak_bytes()) {
        // One word for each outstanding request would be 400 MB.
        Some((before, after)) => assert!(after - before < 200 << 20, "{} B", after - before),
        None => eprintln!("skipped: the system does not tell how much memory is used"),
    }
}

/// The order in which a host that gives each request at once to its drive gets to know of completions: when it advances a
/// drive to the time of a request, and at the end in order of the drives' events, each beyond the last arrival.
fn known_in_order(requests: &[Request], members: &mut [Constant]) -> Vec<u64> {
    let mut known = Vec::new();
    for (id, r) in requests.iter().enumerate() {
        let drive = &mut members[r.device as usize];
        drive.advance(r.time, &mut |c| known.push(c.id));
        let request = DriveRequest {
            id: id as u64,
            command: Command::Read,
            lba: r.lba,
            blocks: r.blocks,
            ..DriveRequest::default()
        };
        drive.submit(r.time, request, u32::MAX);
    }
    let last = requests.last().map_or(Time::ZERO, |r| r.time);
    loop {
        let next = members.iter_mut().min_by_key(|m| m.next_event());
        match next.filter(|m| m.next_event() != Time::NEVER) {
            Some(drive) => {
                let until = drive.next_event().max(last);
                drive.advance(Time(until.0 + 1), &mut |c| known.push(c.id));
            }
            None => return known,
        }
    }
}

/// More requests than are dealt at once, on few drives and on many, with and without other threads.
#[test]
fn dealt_requests_are_logged_in_the_order_in_which_they_are_known() {
    for n in [2, 100] {
        let requests = poisson(150_000, 2e6 / n as f64, n as u64, 1 << 20);
        let want = known_in_order(&requests, &mut drives(n, 1 << 20, 1_500_000));
        for threads in [1, 2] {
            let members = drives(n, 1 << 20, 1_500_000);
            let o = organisation("independent", &members, &[]);
            let options = Options {
                crew: Crew::new(threads, 1),
                // No sample before the end, at which all drives would be advanced.
                series_width_ns: 1 << 60,
                ..Options::default()
            };
            let mut known = Vec::new();
            let mut log = |r: &Record| {
                known.push(r.answer.id);
                Ok(())
            };
            run(requests.clone(), members, &*o, &options, Some(&mut log));
            assert!(known == want, "{n} drives, {threads} threads");
        }
    }
}
