//! Carrying out what a host does, and looking at the drive meanwhile.

use super::{Deed, World, MS};
use crate::SplitMix;
use headstack_drive::spec::MediaScanMode;
use headstack_drive::zoned::{ReportingOptions, ZoneId};
use headstack_drive::{Command, Completion, Drive, DriveEnergy, DriveOptions, DriveRequest, Phase};
use headstack_units::{Lba, Time};
use std::collections::BTreeSet;

/// The number of the flush at the end.
pub const FLUSH: u64 = u64::MAX - 1;

/// When the energy of a drive is asked for on the way.
#[derive(Debug, Clone, Copy)]
pub enum Looks<'a> {
    /// Never.
    Never,
    /// Never, and all commands are served by the code for all kinds of units.
    Generally,
    /// Never, and commands are served when they arrive, where the drive can.
    AtOnce,
    /// So often before each deed, at random times; the drive keeps no phases.
    Often(u64),
    /// At these times. Each asks for the phases, and resets what was counted.
    At(&'a BTreeSet<u64>),
}

/// What a drive has done.
pub struct Ran {
    /// In order of their numbers; the last one is that of a flush at the end.
    pub done: Vec<Completion>,
    /// In order of time.
    pub phases: Vec<Phase>,
    /// Energy from the time before to each of these times.
    pub readings: Vec<(u64, DriveEnergy)>,
    /// Energy of the whole time.
    pub energy: DriveEnergy,
    /// When it was looked at last, long after all work.
    pub end: u64,
    /// Commands that were served when they arrived.
    pub at_once: u32,
    /// The drive at the end.
    pub drive: Drive,
}

impl Ran {
    fn advance(&mut self, until: u64) {
        let done = &mut self.done;
        self.drive.advance(Time(until), &mut |c| done.push(*c));
    }

    /// Looks at the drive.
    fn look(&mut self, now: u64, looks: &Looks) {
        self.advance(now);
        let e = self.drive.energy(Time(now));
        assert_eq!(self.drive.joules(Time(now)), e.joules());
        let phases = &mut self.phases;
        match looks {
            Looks::At(_) => {
                self.drive.reset_statistics(Time(now));
                self.drive.tell_phases(Time(now), &mut |p| phases.push(*p));
                self.energy.add(&e);
                self.readings.push((now, e));
            }
            _ => {
                crate::checks::grows(&self.energy, &e, now);
                self.energy = e;
            }
        }
    }

    /// Serves a command that arrives at `now`, if the drive can before it is changed at `next`.
    fn serves_at_once(&mut self, now: u64, deed: &Deed, next: u64) -> bool {
        let Deed::Submit(request) = deed else { return false };
        let served = self.drive.serve_at_once(Time(now), request, Time(next)).copied();
        self.at_once += u32::from(served.is_some());
        self.done.extend(served);
        served.is_some()
    }

    fn carry_out(&mut self, now: u64, deed: &Deed) {
        let (drive, at) = (&mut self.drive, Time(now));
        match deed {
            Deed::Submit(request) => drive.submit(at, *request),
            // Refused changes leave the drive as it was.
            Deed::Set(setting) => drop(drive.set(at, setting.clone())),
            Deed::Abort(id) => {
                drive.abort(at, *id);
            }
            Deed::Fail(part) => drop(drive.fail(at, *part)),
            Deed::Zones(action, at) => {
                let _ = drive.manage_zones(*action, at.map_or(ZoneId::All, |at| ZoneId::At(Lba(at))));
                for zone in drive.report_zones(Lba(0), ReportingOptions::All) {
                    let past = zone.start.0 + zone.blocks;
                    let inside = zone.write_pointer.is_none_or(|p| zone.start <= p && p.0 <= past);
                    assert!(inside, "{zone:?}");
                }
            }
        }
    }
}

impl World {
    /// Carries out the deeds and a flush at the end, after which nothing waits to be written.
    pub fn run(&self, looks: &Looks) -> Ran {
        let options = DriveOptions { seed: self.seed, ..DriveOptions::default() };
        let drive = self.design.drive(&options).expect("built before");
        let (done, phases, readings) = Default::default();
        let mut ran = Ran { done, phases, readings, energy: DriveEnergy::default(), end: 0, at_once: 0, drive };
        if matches!(looks, Looks::Generally) {
            ran.drive.serve_generally();
        }
        if !matches!(looks, Looks::Often(_)) {
            ran.drive.listen(Time::ZERO);
        }
        let (mut draw, mut now) = (SplitMix(self.seed ^ 0x5eed), 0);
        for (i, (at, deed)) in self.deeds.iter().enumerate() {
            looks.between(now, *at, &mut draw).into_iter().for_each(|t| ran.look(t, looks));
            now = *at;
            ran.advance(now);
            let mut later = self.deeds[i + 1..].iter();
            let next = later.find(|deed| !matches!(deed.1, Deed::Submit(_))).map_or(Time::NEVER.0, |deed| deed.0);
            if !matches!(looks, Looks::AtOnce) || !ran.serves_at_once(now, deed, next) {
                ran.carry_out(now, deed);
            }
        }
        let mut steps = 0;
        while ran.drive.next_event() != Time::NEVER {
            let next = now.max(ran.drive.next_event().0.saturating_add(1));
            looks.between(now, next - 1, &mut draw).into_iter().for_each(|t| ran.look(t, looks));
            now = next;
            ran.advance(now);
            steps += 1;
            assert!(steps < 200_000, "no end");
        }
        let last = ran.done.iter().map(|c| c.completion.0).max().unwrap_or(0);
        let end = last.max(now) + 1;
        ran.advance(end);
        let request = DriveRequest { id: FLUSH, command: Command::Flush, ..DriveRequest::default() };
        ran.drive.submit(Time(end), request);
        if let Looks::At(times) = looks {
            times.range(end..).for_each(|t| ran.look(*t, looks));
        }
        ran.advance(Time::NEVER.0);
        let (drive, event) = (&ran.drive, ran.drive.next_event());
        assert!(!drive.destage_pending(), "after a flush: {:?}, {event:?}, {:?}", ran.done.last(), drive.faults());
        let last = ran.done.iter().map(|c| c.completion.0).max().unwrap_or(0).max(end);
        // Long enough for all timers of power conditions. A scan goes on for ever.
        let rest = if self.spec().media_scan.mode == MediaScanMode::None { 20_000 } else { 2_000 };
        ran.end = last + rest * MS;
        ran.look(ran.end, looks);
        let phases = &mut ran.phases;
        ran.drive.tell_phases(Time(ran.end), &mut |p| phases.push(*p));
        ran.phases.sort_by_key(|p| (p.from, p.to, p.assembly));
        ran.done.sort_by_key(|c| c.id);
        ran
    }
}

impl Looks<'_> {
    /// The times from `now` to `until` at which the drive is looked at.
    fn between(&self, now: u64, until: u64, draw: &mut SplitMix) -> Vec<u64> {
        match self {
            _ if until < now => Vec::new(),
            Looks::Never | Looks::Generally | Looks::AtOnce => Vec::new(),
            Looks::Often(n) => {
                let mut at = now;
                let mut later = || {
                    at += draw.below(until - at + 1);
                    at
                };
                (0..*n).map(|_| later()).collect()
            }
            Looks::At(times) => times.range(now..=until).copied().collect(),
        }
    }
}
