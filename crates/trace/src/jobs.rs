//! Jobs: threads that issue a request, wait for its end, and issue the next one.
//!
//! # Model
//! A job has `threads` on each of its `devices`, or in all if their requests go to any of the devices (`any_device`). A
//! thread waits for the end of its request, then pauses for `think_time` and issues the next one. With `blocking` below 1
//! it waits only for this share of its requests, drawn for each; after the others it goes on as if they had ended at
//! once. With `flush_every` it follows each such number of its own writes with a flush, at the end of the last of them and
//! before any pause, and waits for that, too. With a `rate` its requests are due at the multiples of `1 / rate` after the beginning of
//! the burst, and a thread that is late issues at once until it has caught up; the threads are due together
//! (`together = true`) or each with an offset of its own, drawn evenly.
//!
//! A job works in bursts. The first begins at `start`, the next ones `every` later, `bursts` in all. A burst ends
//! after `duration`, or when the threads on a device have asked for `volume` there, whichever comes first; without
//! either it lasts until the run ends. A burst that is still under way when the next one is due delays it.
//!
//! Threads may run on a number of *processors*, which all jobs share. Then a think time is computation, before each
//! request, the first included, and needs a processor for all of it. Threads that are ready wait for a processor in
//! order; those that are ready at the same time in the order of the jobs. A thread gives its processor away when it waits
//! for a request and when its burst is over, and never before: one that waits for nothing keeps it.
//! # Source
//! fio's jobs with `iodepth=1` (`numjobs`, `thinktime`, `rate_iops`, `size`, `fsync`), which the paper on PCAP used (FAST 2016).
//! Processors and blocking: the process flow of DiskSim 4.0, where the generators of a load are processes.
//! # Validity
//! Changing from one thread to another and handling the end of a request take no processor time. A thread that became
//! ready gets any processor that is idle; in DiskSim it waits for the one that handled the end of its request.

use crate::arrivals::Pauses;
use crate::classes::{draws, Marks};
use crate::error::TraceError;
use crate::request::{Command, Request};
use crate::synthetic::{ArrivalProcess, Distribution, Synthetic, SyntheticSource};
use crate::ClosedLoop;
use headstack_engine::random::{nth, stream};
use headstack_engine::EventQueue;
use headstack_schema::{Parameter, SpecError, Table};
use headstack_units::{Bytes, Frequency, Span, Time};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// One job, as in an experiment's TOML.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(check = Job::is_possible)]
pub struct Job {
    /// Name in results; `job-` and its number if absent.
    #[param(default)]
    pub name: String,
    /// Threads on each device.
    #[param(range = 1..=MOST)]
    pub threads: u32,
    /// Number of devices.
    #[param(default = 1, range = 1..=MOST)]
    pub devices: u32,
    /// Number of the first device.
    #[param(default, range = 0..=MOST)]
    pub first_device: u32,
    /// Whether each request goes to any of the devices. `threads` is then the number of all threads.
    #[param(default)]
    pub any_device: bool,
    /// Pause of a thread after a request; on processors, computation before it.
    #[param(default = Distribution::Value(Span::ZERO))]
    pub think_time: Distribution<Span>,
    /// Share of its requests that a thread waits for; after the others it goes on at once.
    #[param(default = 1.0, range = 0.0..=1.0)]
    pub blocking: f64,
    /// Writes of a thread after which it issues a flush and waits for its end, as databases do and fio with `fsync`;
    /// never if absent.
    #[param(range = 1..=u32::MAX)]
    pub flush_every: Option<u32>,
    /// Requests per second of each thread, without flushes; a thread that is late issues at once until it has caught
    /// up. If absent, as fast as requests end.
    #[param(range = Frequency(1e-6)..=Frequency(1e6))]
    pub rate: Option<Frequency>,
    /// Whether all threads are due at the same moments; else each has an offset of its own.
    #[param(default)]
    pub together: bool,
    /// Beginning of the first burst.
    #[param(default)]
    pub start: Span,
    /// Length of a burst; no end if absent.
    pub duration: Option<Span>,
    /// Bytes on a device after which a burst ends; no end if absent.
    #[param(range = Bytes(1)..=Bytes(u64::MAX))]
    pub volume: Option<Bytes>,
    /// From the beginning of a burst to that of the next.
    pub every: Option<Span>,
    /// Number of bursts.
    #[param(default = 1, range = 1..=MOST)]
    pub bursts: u32,
    /// First byte that is used on each device.
    #[param(default)]
    pub offset: Bytes,
    /// What the requests are: `reads`, `sequential`, `local`, `size`, `block`, `footprint`, `zipf`, ... as in a
    /// synthetic workload.
    #[param(default)]
    pub requests: Synthetic,
    /// The classes that its requests can have.
    #[param(skip)]
    pub marks: Marks,
}

/// Most threads of a job on a device, and devices of a job.
const MOST: u32 = 65_536;

/// Keys of `requests` that say when requests come: threads decide that.
const NOT_ASKED: [&str; 6] = ["arrivals", "rate", "interarrival", "outstanding", "phases", "devices"];

impl Job {
    /// Checks what its values mean together.
    fn is_possible(&self) -> Result<(), SpecError> {
        let times = [("start", Some(self.start)), ("duration", self.duration), ("every", self.every)];
        for (key, span) in times {
            let least = i64::from(key != "start");
            if let Some(span) = span.filter(|s| !(least..=Time::LATEST.0 as i64).contains(&s.0)) {
                return Err(SpecError::new(key, span, Time::LATEST_SHOWN));
            }
        }
        if self.together && self.rate.is_none() {
            let need = "a rate, with together = true";
            return Err(SpecError::new("rate", "nothing", need));
        }
        match (self.every, self.bursts) {
            (None, 2..) => {
                let need = "a time, with several bursts";
                return Err(SpecError::new("every", "nothing", need));
            }
            (Some(_), 1) => return Err(SpecError::new("bursts", 1, "2 or more, with every")),
            _ => {}
        }
        if self.bursts > 1 && self.duration.is_none() && self.volume.is_none() {
            let need = "duration or volume, with several bursts";
            return Err(SpecError::new("bursts", self.bursts, need));
        }
        if self.offset.0 % 512 != 0 || self.offset.0 > 1 << 62 {
            let need = "a multiple of 512 B, at most 4 EiB";
            return Err(SpecError::new("offset", self.offset, need));
        }
        let thinks = || self.think_time.sampler().map_or(true, |s| s.reach() > 0.0);
        if self.blocking == 0.0 && self.rate.is_none() && !thinks() {
            let need = "think_time or rate, with blocking = 0: nothing else holds its threads up";
            return Err(SpecError::new("think_time", "0 s", need));
        }
        if self.flush_every.is_some() && self.blocking < 1.0 {
            let need = "1, with flush_every: a flush follows the end of a write that its thread waited for";
            return Err(SpecError::new("blocking", self.blocking, need));
        }
        self.check_requests()
    }

    /// Refuses keys of `requests` that have no meaning here.
    fn check_requests(&self) -> Result<(), SpecError> {
        let (usual, given) = (Synthetic::default().write(), self.requests.write());
        match NOT_ASKED.iter().find(|k| usual[**k] != given[**k]) {
            None => Ok(()),
            Some(k) => {
                let need = "no such key: threads say when requests come, and where";
                Err(SpecError::new(format!("requests.{k}"), &given[*k], need))
            }
        }
    }

    /// Whether what one of its devices does has no effect on what its threads do on the others: they draw from no common
    /// stream of random numbers.
    pub fn has_devices_apart(&self) -> bool {
        let is_constant = || {
            let sampler = self.think_time.sampler();
            sampler.is_ok_and(|s| s.least_positive() == s.reach())
        };
        let waits_alike = self.blocking == 0.0 || self.blocking >= 1.0;
        !self.any_device && waits_alike && is_constant()
    }

    /// The end of the duration of a burst that began at `burst`; [`Time::NEVER`] without one.
    fn end_of(&self, burst: Time) -> Time {
        self.duration.map_or(Time::NEVER, |d| burst + d)
    }

    /// Whether it ends by itself.
    pub fn ends(&self) -> bool {
        self.duration.is_some() || self.volume.is_some()
    }
}

/// The threads of a job on one device.
struct Group {
    job: u32,
    device: u32,
    first_block: u64,
    generator: SyntheticSource,
    /// For shares of classes.
    draws: Xoshiro256PlusPlus,
    /// Beginning of the present burst, the end of its duration if it has one, and how many bursts follow it.
    burst: Time,
    until: Time,
    bursts_left: u32,
    /// Bytes that are left of the burst's volume.
    left: u64,
    /// Threads that still work in the present burst.
    working: u32,
    /// When the last thread found the present burst over.
    rested: Time,
}

/// One thread.
#[derive(Clone, Copy)]
struct Thread {
    group: u32,
    /// Its number among the threads of all jobs.
    number: u32,
    /// Offset of its requests, with a rate.
    phase_ns: f64,
    /// Requests that it has issued in the present burst.
    issued: u64,
    /// Writes since its last flush, counted with `flush_every` only.
    writes: u32,
    /// The device on which it flushes next, that of its last write; `None` if no flush is due.
    flushes: Option<u32>,
}

impl Thread {
    /// The flush that is due, if one is. It needs no processor.
    fn flush(&mut self, now: Time) -> Option<Request> {
        let device = self.flushes.take()?;
        self.writes = 0;
        Some(Request { time: now, device, op: Command::Flush, ..Request::default() })
    }
}

/// What a thread is due for.
enum Due {
    /// It is ready to think: it needs a processor.
    Ready(u32),
    /// It issues its next request.
    Issue(u32),
}

impl Due {
    /// The beginning of a thread's burst.
    fn begins(thread: u32, on_processors: bool) -> Due {
        match on_processors {
            true => Due::Ready(thread),
            false => Due::Issue(thread),
        }
    }
}

/// Processors that threads think on.
struct Processors {
    idle: u32,
    /// Threads that wait for one, in order.
    ready: VecDeque<u32>,
}

/// Which of a job's requests its threads wait for.
#[derive(Clone)]
struct Waits {
    share: f64,
    random: Xoshiro256PlusPlus,
}

impl Waits {
    fn draw(&mut self) -> bool {
        self.share >= 1.0 || (self.share > 0.0 && self.random.random::<f64>() < self.share)
    }
}

/// Marks the number of the thread that issued a request as one that does not wait for it.
pub const DETACHED: u32 = 1 << 31;

/// Jobs that run: they say what is issued next, and are told what has ended.
pub struct Jobs {
    jobs: Vec<Job>,
    groups: Vec<Group>,
    threads: Vec<Thread>,
    /// By job.
    pauses: Vec<Pauses>,
    waits: Vec<Waits>,
    processors: Option<Processors>,
    due: EventQueue<Due>,
}

impl Jobs {
    /// The jobs from their beginning, on a number of processors if that is given.
    ///
    /// # Errors
    /// A job that cannot be, by its key (`jobs[0].threads`); no processors.
    pub fn new(jobs: &[Job], processors: Option<u32>, seed: u64) -> Result<Jobs, TraceError> {
        if processors == Some(0) {
            return Err(TraceError::Input { path: "processors".into(), got: "0".into(), need: "1 or more".into() });
        }
        let mut all = Jobs {
            jobs: jobs.to_vec(),
            groups: Vec::new(),
            threads: Vec::new(),
            pauses: Vec::new(),
            waits: Vec::new(),
            processors: processors.map(|idle| Processors { idle, ready: VecDeque::new() }),
            due: EventQueue::new(),
        };
        for (i, job) in all.jobs.iter_mut().enumerate() {
            let place = |e: SpecError| e.within(&format!("jobs[{i}]"));
            job.check().map_err(place)?;
            if let Some(rate) = job.rate.filter(|_| processors.is_some()) {
                let need = "no such key: on processors threads are held up by their think times";
                return Err(place(SpecError::new("rate", rate, need)).into());
            }
            if job.name.is_empty() {
                job.name = format!("job-{i}");
            }
            let pauses = ClosedLoop { outstanding: 1, think_time: job.think_time.clone(), seed: nth(seed, i as u32) };
            all.pauses.push(pauses.pauses().map_err(place)?);
            all.waits.push(Waits { share: job.blocking, random: stream(nth(seed, i as u32), "jobs.blocking") });
        }
        for i in 0..all.jobs.len() {
            all.add(i, nth(seed, i as u32))?;
        }
        Ok(all)
    }

    fn add(&mut self, i: usize, seed: u64) -> Result<(), TraceError> {
        let job = &self.jobs[i];
        let mut phases = stream(seed, "jobs.phase");
        let (groups, each) = if job.any_device { (1, job.devices) } else { (job.devices, 1) };
        let requests =
            Synthetic { arrivals: ArrivalProcess::Closed, n_requests: u64::MAX, devices: each, ..job.requests.clone() };
        let job = job.clone();
        for d in 0..groups {
            let place = |e: TraceError| match e {
                TraceError::Input { path, got, need } => {
                    let path = path.replacen("synthetic.", "", 1);
                    SpecError::new(format!("jobs[{i}].requests.{path}"), got, need).into()
                }
                e => e,
            };
            let group = self.groups.len() as u32;
            let burst = Time::ZERO + job.start;
            self.groups.push(Group {
                job: i as u32,
                device: job.first_device + d,
                first_block: job.offset.0 / 512,
                generator: requests.generator(nth(seed, d)).map_err(place)?,
                draws: draws(nth(seed, d)),
                burst,
                until: job.end_of(burst),
                bursts_left: job.bursts - 1,
                left: job.volume.map_or(u64::MAX, |v| v.0),
                working: job.threads,
                rested: Time::ZERO,
            });
            let gap_ns = job.rate.map_or(0.0, |r| 1e9 / r.0);
            for _ in 0..job.threads {
                let phase_ns = if job.together { 0.0 } else { phases.random::<f64>() * gap_ns };
                let thread = self.threads.len() as u32;
                self.threads.push(Thread { group, number: thread, phase_ns, issued: 0, writes: 0, flushes: None });
                let first = burst + Span(phase_ns as i64);
                let due = Due::begins(thread, self.processors.is_some());
                self.due.push(first, 0, due);
            }
        }
        Ok(())
    }

    /// Divides them by the devices that they use, into `n` that run side by side as all of them together would: `part`
    /// says in which one a device is. Jobs of which [`Job::has_devices_apart`] is false must be in one of them whole, and
    /// there must be no processors.
    pub fn split(mut self, n: usize, part: impl Fn(u32) -> usize) -> Vec<Jobs> {
        let mut parts: Vec<Jobs> = (0..n)
            .map(|_| Jobs {
                jobs: self.jobs.clone(),
                groups: Vec::new(),
                threads: Vec::new(),
                pauses: self.pauses.clone(),
                waits: self.waits.clone(),
                processors: None,
                due: EventQueue::new(),
            })
            .collect();
        let mut places = Vec::with_capacity(self.groups.len());
        for group in self.groups {
            let at = part(group.device);
            places.push((at, parts[at].groups.len() as u32));
            parts[at].groups.push(group);
        }
        let mut numbers = Vec::with_capacity(self.threads.len());
        for thread in self.threads {
            let (at, group) = places[thread.group as usize];
            numbers.push((at, parts[at].threads.len() as u32));
            parts[at].threads.push(Thread { group, ..thread });
        }
        while let Some((time, due)) = self.due.pop() {
            let (Due::Ready(thread) | Due::Issue(thread)) = due;
            let (at, thread) = numbers[thread as usize];
            parts[at].due.push(time, 0, Due::Issue(thread));
        }
        parts
    }

    /// Number of threads of all jobs.
    pub fn n_threads(&self) -> usize {
        self.threads.len()
    }

    /// The number, among the threads of all jobs, of the thread that issued a request.
    pub fn number_of(&self, issuer: u32) -> u32 {
        self.threads[(issuer & !DETACHED) as usize].number
    }

    /// Whether the thread that issued a request waits for its end.
    pub fn waits(&self, issuer: u32) -> bool {
        issuer & DETACHED == 0
    }

    /// Names of the jobs, in order.
    pub fn names(&self) -> Vec<String> {
        self.jobs.iter().map(|j| j.name.clone()).collect()
    }

    /// The job of the thread that issued a request.
    pub fn job_of(&self, issuer: u32) -> usize {
        let thread = &self.threads[(issuer & !DETACHED) as usize];
        self.groups[thread.group as usize].job as usize
    }

    /// No thread is due earlier than this after the end of its request.
    pub fn least_pause(&self) -> Span {
        let least = self.pauses.iter().map(Pauses::least).min();
        least.unwrap_or_default()
    }

    /// A thread is ready: it thinks as soon as a processor is idle.
    fn get_ready(&mut self, thread: u32, now: Time) {
        match &mut self.processors {
            Some(p) if p.idle == 0 => p.ready.push_back(thread),
            Some(p) => {
                p.idle -= 1;
                self.think(thread, now);
            }
            None => self.think(thread, now),
        }
    }

    /// A thread gives its processor away.
    fn leave_processor(&mut self, now: Time) {
        let Some(p) = &mut self.processors else { return };
        match p.ready.pop_front() {
            Some(next) => self.think(next, now),
            None => p.idle += 1,
        }
    }

    /// A thread thinks, then issues its next request; with a rate, when that is due.
    fn think(&mut self, number: u32, now: Time) {
        let thread = &self.threads[number as usize];
        let group = &self.groups[thread.group as usize];
        let job = &self.jobs[group.job as usize];
        let mut next = now + self.pauses[group.job as usize].draw();
        if let Some(rate) = job.rate {
            let due_ns = thread.phase_ns + thread.issued as f64 * 1e9 / rate.0;
            next = next.max(group.burst + Span(due_ns as i64));
        }
        self.due.push(next, 0, Due::Issue(number));
    }

    /// When a thread issues a request next; [`Time::NEVER`] if none does until a request ends. Threads whose burst is
    /// over when they are due issue nothing, so time need not pass to them.
    #[inline]
    pub fn next_time(&mut self) -> Time {
        while let Some((at, due)) = self.due.peek() {
            match (due, &self.processors) {
                (Due::Issue(number), None) if self.is_over(*number, at) => {
                    let number = *number;
                    self.due.pop();
                    self.rest(number, at);
                }
                // A thread gives its processor away at its time, not before.
                _ => return at,
            }
        }
        Time::NEVER
    }

    /// Whether a thread that is due at `at` issues nothing, because its burst is over.
    #[inline]
    fn is_over(&self, number: u32, at: Time) -> bool {
        let thread = &self.threads[number as usize];
        let group = &self.groups[thread.group as usize];
        // The flush after its last write belongs to a burst.
        (group.left == 0 || at >= group.until) && thread.flushes.is_none()
    }

    /// What the thread that is due issues, and the request's issuer, as which its end is told; `None` if it issues
    /// nothing: its burst is over, or it begins to think.
    pub fn take(&mut self) -> Option<(Request, u32)> {
        let (mut request, thread) = self.take_unmarked()?;
        let group = self.threads[(thread & !DETACHED) as usize].group;
        let group = &mut self.groups[group as usize];
        let marks = &self.jobs[group.job as usize].marks;
        marks.mark(&mut request, &mut group.draws);
        Some((request, thread))
    }

    fn take_unmarked(&mut self) -> Option<(Request, u32)> {
        let (now, due) = self.due.pop()?;
        let number = match due {
            Due::Issue(number) => number,
            Due::Ready(number) => {
                self.get_ready(number, now);
                return None;
            }
        };
        if let Some(flush) = self.threads[number as usize].flush(now) {
            return Some((flush, number));
        }
        let over = self.is_over(number, now);
        let thread = &mut self.threads[number as usize];
        let group = &mut self.groups[thread.group as usize];
        let next = if over { None } else { group.generator.next() };
        let Some(mut request) = next else {
            self.leave_processor(now);
            self.rest(number, now);
            return None;
        };
        thread.issued += 1;
        group.left = group.left.saturating_sub(u64::from(request.blocks) * 512);
        request.time = now;
        request.device += group.device;
        if let Some(n) = self.jobs[group.job as usize].flush_every {
            thread.writes += u32::from(request.op.writes());
            thread.flushes = (thread.writes >= n).then_some(request.device);
        }
        request.lba.0 += group.first_block;
        if self.waits[group.job as usize].draw() {
            self.leave_processor(now);
            return Some((request, number));
        }
        self.think(number, now);
        Some((request, number | DETACHED))
    }

    /// A thread's burst is over. The last one starts the next burst.
    fn rest(&mut self, number: u32, now: Time) {
        let at = self.threads[number as usize].group;
        let group = &mut self.groups[at as usize];
        group.working -= 1;
        // Threads are not always told in order of time.
        group.rested = group.rested.max(now);
        if group.working > 0 || group.bursts_left == 0 {
            return;
        }
        let job = &self.jobs[group.job as usize];
        group.bursts_left -= 1;
        group.burst = (group.burst + job.every.unwrap_or_default()).max(group.rested);
        group.until = job.end_of(group.burst);
        group.left = job.volume.map_or(u64::MAX, |v| v.0);
        group.working = job.threads;
        let on_processors = self.processors.is_some();
        let mine = self.threads.iter_mut().enumerate();
        for (i, thread) in mine.filter(|(_, t)| t.group == at) {
            thread.issued = 0;
            let first = group.burst + Span(thread.phase_ns as i64);
            self.due.push(first, 0, Due::begins(i as u32, on_processors));
        }
    }

    /// A request that `issuer` issued ended at `end`.
    pub fn ended(&mut self, issuer: u32, end: Time) {
        if issuer & DETACHED != 0 {
            return;
        }
        match self.processors {
            _ if self.threads[issuer as usize].flushes.is_some() => self.due.push(end, 0, Due::Issue(issuer)),
            Some(_) => self.due.push(end, 0, Due::Ready(issuer)),
            None => self.think(issuer, end),
        }
    }
}
