//! Several assemblies in one command server: which one serves, and what the others do meanwhile.

use super::channels::Channels;
use super::{CommandServer, BARE};
use crate::assembly::{Assembly, Coupling, Mechanism};
use crate::background::{Activity, BackgroundJob};
use crate::layout::Place;
use crate::mapping::{self, Mapping};
use crate::mechanics::{Arm, Mechanics};
use crate::parallelism::{HeadSet, Parking};
use crate::roles::{self, RoleTable};
use crate::spec::{ArmChoice, Destage, DriveSpec, MediaScanMode};
use crate::unit_plan::UnitPlan;
use headstack_engine::SpecError;
use headstack_units::{Span, Time, Turn};

/// The head sets of a unit, assembly by assembly, with these roles, and their initial positions.
pub(super) fn head_sets(
    spec: &DriveSpec,
    plan: &UnitPlan,
    mechanics: &Mechanics,
    roles: &RoleTable,
) -> Result<(Vec<HeadSet>, Vec<Arm>), SpecError> {
    let (p, g) = (&spec.parallelism, &plan.geometry);
    let positions = mechanics.seek.positions();
    let offsets = p.head_offsets(spec.dash, positions);
    check_combination(spec, plan, plan.arms.len() * offsets.len())?;
    let surfaces = u64::MAX >> (64 - g.surfaces.clamp(1, 64));
    let radial = offsets.iter().any(|o| o.1 > 0);
    let (mut head_sets, mut arms) = (Vec::new(), Vec::new());
    for (a, arm) in plan.arms.iter().enumerate() {
        if arm.start_cylinder >= g.cylinders {
            return Err(SpecError::new(
                format!("parallelism.arms[{a}].start_cylinder"),
                arm.start_cylinder,
                format!("less than {}", g.cylinders),
            ));
        }
        let [reads, writes] = roles::of(roles, plan.first_arm + a as u32);
        for (h, (angle, offset)) in offsets.iter().enumerate() {
            let past = match offsets.get(h + 1) {
                Some(next) if next.1 > *offset => next.1,
                _ => positions,
            };
            head_sets.push(HeadSet {
                assembly: a as u32,
                surfaces,
                cylinders: if radial { (*offset, past) } else { (0, positions) },
                offset: *offset,
                reads,
                writes,
            });
            arms.push(Arm {
                cylinder: mechanics.position_of(arm.start_cylinder) + offset,
                head: 0,
                angle: Turn(arm.angle.0.wrapping_add(angle.0)),
            });
        }
    }
    Ok((head_sets, arms))
}

/// Refuses combinations of settings that are not supported, for `head_sets` head sets.
pub(crate) fn check_combination(spec: &DriveSpec, plan: &UnitPlan, head_sets: usize) -> Result<(), SpecError> {
    let (p, g) = (&spec.parallelism, &plan.geometry);
    if head_sets > 64 {
        return Err(SpecError::new(
            "dash",
            format!("{head_sets} head sets"),
            "at most 64 (assemblies times heads per arm)",
        ));
    }
    let conventional = head_sets == 1
        && p.faults.is_empty()
        && p.arm_choice == ArmChoice::Positioning
        && spec.media_scan.mode == MediaScanMode::None;
    if !conventional && g.surfaces > 64 {
        return Err(SpecError::new(
            "geometry.surfaces",
            g.surfaces,
            "at most 64 where several assemblies, a choice of them, faults or a scan are described",
        ));
    }
    if !p.roles.is_none() && spec.media_scan.mode != MediaScanMode::None {
        return Err(SpecError::new(
            "media_scan.mode",
            "a scan of the medium with parallelism.roles",
            "\"none\": a scan beside assemblies with roles is not supported",
        ));
    }
    let c = &spec.cache;
    if p.arms_in_motion != 1 && !p.faults.is_empty() && c.write_back && c.destage == Destage::Idle {
        return Err(SpecError::new(
            "cache.destage",
            "\"idle\" with faults and several arms in motion",
            "\"immediate\" or arms_in_motion = 1: this combination is not supported",
        ));
    }
    Ok(())
}

/// Whether some head set serves less than all commands, even without faults.
pub(super) fn restricted(head_sets: &[HeadSet]) -> bool {
    head_sets.iter().any(|p| p.offset > 0 || !p.reads || !p.writes)
}

/// The assemblies at rest, each with its head sets.
pub(super) fn at_rest(arms: Vec<Arm>, assemblies: usize, coupled: bool) -> Vec<Assembly> {
    let sets = arms.len() / assemblies;
    arms.chunks(sets)
        .map(|arms| Assembly {
            mechanism: Mechanism {
                arms: arms.to_vec(),
                coupling: coupled.then(Box::<Coupling>::default),
                ..Mechanism::default()
            },
            ..Assembly::default()
        })
        .collect()
}

/// The data channels, if there are fewer than commands in service; else `None`.
pub(super) fn channels(spec: &DriveSpec, at_once: usize) -> Option<Channels> {
    let channels = match spec.parallelism.channels as usize {
        0 => at_once,
        n => n,
    };
    (channels < at_once).then(|| Channels::new(channels))
}

impl CommandServer {
    /// The number of a head set, counted over all assemblies.
    pub fn number_of(&self, assembly: usize, set: usize) -> usize {
        assembly * self.arms.sets + set
    }

    /// The number of the active head set.
    pub fn active_set(&self) -> usize {
        self.number_of(self.arms.active, self.arms.assemblies[self.arms.active].mechanism.active_set)
    }

    /// The state of a head set.
    pub fn arm_of(&self, number: usize) -> &Arm {
        &self.arms.assemblies[number / self.arms.sets].mechanism.arms[number % self.arms.sets]
    }

    /// Writes the blocks that a log mapping has from the start, with the head sets that write. One that was
    /// used stays where it wrote last.
    ///
    /// # Errors
    /// As for reading `[mapping]`.
    pub fn write_initial_blocks(&mut self, spec: &DriveSpec, seed: u64) -> Result<(), SpecError> {
        let Mapping::Log(log) = &mut self.mapping else { return Ok(()) };
        let Some((count, interval)) = mapping::initial_writes(spec)? else { return Ok(()) };
        let writing = |(_, head_set): &(usize, &HeadSet)| head_set.writes;
        let sets: Vec<usize> = self.arms.head_sets.iter().enumerate().filter(writing).map(|p| p.0).collect();
        let mut arms: Vec<Arm> = Vec::new();
        for i in &sets {
            arms.push(self.arms.assemblies[i / self.arms.sets].mechanism.arms[i % self.arms.sets]);
        }
        log.write_initial(&self.mechanics, &mut arms, (count, interval), seed);
        for (i, arm) in sets.into_iter().zip(arms) {
            let set = &mut self.arms.assemblies[i / self.arms.sets].mechanism.arms;
            // The head sets of an assembly move together.
            let used = set[i % self.arms.sets] != arm;
            if used {
                set.iter_mut().for_each(|a| a.cylinder = arm.cylinder);
                set[i % self.arms.sets] = arm;
            }
        }
        Ok(())
    }

    /// Makes head set `number` the active one from `at` on. If assemblies work at the same time, each keeps
    /// its background work. Otherwise the read-ahead of the assembly that acted before ends, and the new one
    /// waits until the old one has come to rest.
    pub fn take_over(&mut self, number: usize, at: Time) {
        if number != self.active_set() {
            self.change_set(number, at);
        }
    }

    fn change_set(&mut self, number: usize, at: Time) {
        if self.kind == BARE {
            let free = self.arms.assemblies[self.arms.active].mechanism.timeline.free;
            let next = &mut self.arms.assemblies[number].mechanism;
            next.timeline.hold_until(free);
            self.arms.active = number;
            return;
        }
        let (to, set) = (number / self.arms.sets, number % self.arms.sets);
        let from = self.arms.active;
        if self.arms.at_once > 1 && to != from {
            if let Some(channels) = &mut self.arms.channels {
                channels.forget(at);
            }
            // Read-ahead by another head set of this assembly ends.
            if self.arms.assemblies[to].mechanism.active_set != set {
                self.end_read_ahead_of(to, at);
            }
        } else {
            self.end_read_ahead_of(from, at);
            if to != from {
                self.hand_over(from, to);
            }
        }
        self.arms.active = to;
        self.arms.assemblies[to].mechanism.active_set = set;
    }

    /// Passes the work in progress from one assembly to the next, where only one assembly moves at a time.
    fn hand_over(&mut self, from: usize, to: usize) {
        let free = self.arms.assemblies[from].mechanism.timeline.free;
        let activity = std::mem::take(&mut self.arms.assemblies[from].jobs.activity);
        let next = &mut self.arms.assemblies[to];
        next.jobs.activity = activity;
        next.mechanism.timeline.hold_until(free);
    }

    /// Applies the movements of assembly `a` to the others. Scaled waits turn the common platter on for all
    /// of them. Idle ones follow, if the drive parks them in that way.
    #[inline]
    pub(super) fn couple(&mut self, a: usize) {
        if self.arms.coupled {
            self.couple_others(a);
        }
    }

    #[inline(never)]
    fn couple_others(&mut self, a: usize) {
        let Some(coupling) = self.arms.assemblies[a].mechanism.coupling.as_deref_mut() else { return };
        let Coupling { turned, moves } = std::mem::take(coupling);
        let follow = self.arms.follows;
        let (now, sets) = (self.times.now, self.arms.sets);
        for (b, other) in self.arms.assemblies.iter_mut().enumerate() {
            if b == a {
                continue;
            }
            for arm in &mut other.mechanism.arms {
                arm.angle = arm.angle.plus(turned);
            }
            // An assembly with background work does not follow.
            if follow && !other.jobs.any_under_way() {
                let head_sets = &self.arms.head_sets[b * sets..(b + 1) * sets];
                for (at, cylinder) in &moves {
                    let m = &self.mechanics;
                    other.mechanism.follow(now, m, head_sets, *at, *cylinder);
                }
            }
        }
    }

    /// The assemblies other than the active one, if assemblies work at the same time; else none.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> {
        let active = self.arms.active;
        let n = if self.arms.at_once > 1 { self.arms.assemblies.len() } else { 0 };
        (0..n).filter(move |a| *a != active)
    }

    /// Brings the background of assemblies that work at the same time up to `until`, in order of time. So it
    /// does not depend on the calls which of them takes buffered data.
    #[inline(never)]
    pub(super) fn run_together(&mut self, until: Time) {
        loop {
            let mut first = (until, None);
            if self.arms.coupled || self.cleans || self.buffer.unwritten.waits() {
                for a in 0..self.arms.assemblies.len() {
                    let (context, jobs) = self.context(a);
                    let at = jobs.next_event(&context);
                    if at < first.0 {
                        first = (at, Some(a));
                    }
                }
            }
            // A job that ends before the next event may let another one start before it.
            let mut ended = false;
            for a in 0..self.arms.assemblies.len() {
                let (mut context, jobs) = self.context(a);
                ended |= jobs.go_on(&mut context, first.0);
                self.couple(a);
            }
            match first.1 {
                _ if ended => {}
                Some(a) => {
                    if self.cleans {
                        self.settle_log(first.0);
                    }
                    let (mut context, jobs) = self.context(a);
                    jobs.run(&mut context, first.0.after(Span(1)));
                    self.couple(a);
                }
                None => return,
            }
        }
    }

    /// Brings the background up to `until` where one assembly works at a time and the active one does not
    /// reach all places. Other assemblies may write buffered data as well; the job that is due first goes
    /// first.
    pub(super) fn run_in_turn(&mut self, until: Time) {
        loop {
            let active = self.arms.active;
            let (mut context, jobs) = self.context(active);
            while jobs.go_on(&mut context, until) {}
            let busy = jobs.any_under_way();
            self.couple(active);
            if busy {
                return;
            }
            let Some((due, a)) = self.due_first().filter(|first| first.0 < until) else { return };
            if a != active {
                self.take_over(self.number_of(a, 0), due);
            }
            let (mut context, jobs) = self.context(a);
            jobs.run(&mut context, due.after(Span(1)));
            self.couple(a);
        }
    }

    /// The job that is due first, among the jobs of the idle active assembly and the destaging of the others:
    /// when, and of which assembly. At equal times the active one's is first.
    fn due_first(&mut self) -> Option<(Time, usize)> {
        let active = self.arms.active;
        let (context, jobs) = self.context(active);
        let mut first = (jobs.next_event(&context), active);
        let free = context.mechanism.timeline.free;
        for a in (0..self.arms.serving).filter(|a| *a != active) {
            // Only one assembly works at a time, so the others also wait for the active one.
            let (context, jobs) = self.context(a);
            context.mechanism.timeline.hold_until(free);
            let due = jobs.destage.due(&context).min(jobs.cleaning.due(&context)).min(jobs.checkpoint.due(&context));
            if due < first.0 {
                first = (due, a);
            }
        }
        (first.0 < Time::NEVER).then_some(first)
    }

    /// Stops read-ahead of the active assembly for a command at `at`. Returns when the mechanism is free.
    #[inline]
    pub fn stop_read_ahead(&mut self, at: Time) -> Time {
        match self.reading_ahead() {
            Some(_) => self.stop_run(at),
            None => Time::ZERO,
        }
    }

    #[inline(never)]
    fn stop_run(&mut self, at: Time) -> Time {
        let active = self.arms.active;
        let assembly = &mut self.arms.assemblies[active];
        let read_ahead = match &assembly.jobs.activity {
            Activity::ReadAhead(r) if !r.must_read_on() => r,
            _ => return self.end_read_ahead_of(active, at),
        };
        let in_sector = self.shared.cache.stop_read_ahead_in_sector;
        let (mechanism, buffer) = (&mut assembly.mechanism, &mut self.buffer);
        let free = read_ahead.stop(self.times.now, mechanism, buffer, in_sector, at);
        assembly.jobs.activity = Activity::None;
        self.couple(active);
        free
    }

    #[inline]
    pub(super) fn end_read_ahead_of(&mut self, a: usize, at: Time) -> Time {
        let (mut context, jobs) = self.context(a);
        let free = jobs.stop_read_ahead(&mut context, at);
        self.couple(a);
        free
    }

    /// Completes the pass of assembly `a` that writes buffered data, and ends its read-ahead at `at`. Returns when
    /// both are done.
    pub fn end_work_of(&mut self, a: usize, at: Time) -> Time {
        let stopped = self.end_read_ahead_of(a, at);
        let (mut context, jobs) = self.context(a);
        let written = jobs.finish_destage(&mut context).map_or(Time::ZERO, |w| w.end);
        jobs.destage.look_again();
        self.couple(a);
        stopped.max(written)
    }

    /// Ends the read-ahead of other assemblies into segment `keep_out` or into sectors `[start, end)`, which
    /// are about to be used otherwise. Returns when their forced read-ahead has ended.
    #[inline]
    pub(super) fn stop_others(&mut self, at: Time, keep_out: Option<usize>, start: u64, end: u64) -> Time {
        match self.arms.at_once {
            1 => Time::ZERO,
            _ => self.stop_others_at_work(at, keep_out, start, end),
        }
    }

    #[inline(never)]
    fn stop_others_at_work(&mut self, at: Time, keep_out: Option<usize>, start: u64, end: u64) -> Time {
        let mut there = Time::ZERO;
        for a in self.others() {
            let reading = self.arms.assemblies[a].jobs.read_ahead();
            if reading.is_some_and(|r| {
                let segment = &self.buffer.segments.list[r.segment];
                r.touches(segment, start, end) || Some(r.segment) == keep_out
            }) {
                there = there.max(self.end_read_ahead_of(a, at));
            }
        }
        there
    }

    /// Whether another assembly is reading ahead into this segment.
    pub(super) fn filled_by_another(&self, segment: usize) -> bool {
        self.others().any(|a| {
            let reading = self.arms.assemblies[a].jobs.read_ahead();
            reading.is_some_and(|r| r.segment == segment)
        })
    }

    /// Lets the scan's own assembly read up to `until`.
    pub fn scan_on(&mut self, until: Time) {
        let last = self.arms.assemblies.len() - 1;
        if let Activity::Scan = self.arms.assemblies[last].jobs.activity {
            let (mut context, jobs) = self.context(last);
            jobs.go_on(&mut context, until);
        }
    }

    /// Lets the scan's own assembly read up to `until`, while the foreground transfers during `busy`.
    pub fn scan_beside(&mut self, until: Time, busy: (Time, Time)) {
        let last = self.arms.assemblies.len() - 1;
        let (mut context, jobs) = self.context(last);
        if let Some(scan) = &mut jobs.media_scan {
            scan.read_on(&mut context, until, busy);
        }
    }

    /// Lets the scan use the rotational wait of the access that began at `begin` with the arm at `before`, if
    /// the access was one movement and one pass.
    pub fn scan_in_wait(&mut self, begin: Time, before: &Arm, target: (u64, &Place, bool)) {
        let (mut context, jobs) = self.context(self.arms.active);
        if context.mechanism.timeline.latest().start != begin {
            return;
        }
        if let Some(scan) = &mut jobs.media_scan {
            scan.use_wait(&mut context, before, target);
        }
    }

    /// Whether a description makes idle assemblies follow.
    pub(super) fn follows(spec: &DriveSpec, plan: &UnitPlan) -> bool {
        spec.parallelism.parking == Parking::Follow && plan.arms.len() > 1
    }
}
