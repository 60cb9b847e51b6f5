//! The rules of zones are compared with a naive model of single blocks, and with the tests of `libzbc`.

use headstack_drive::command::{Command, DriveRequest};
use headstack_drive::mapping::zoned::ZoneCondition::{
    Closed, Empty, ExplicitlyOpened, Full, ImplicitlyOpened, NotWritePointer, Offline, ReadOnly,
};
use headstack_drive::mapping::zoned::*;
use headstack_testkit::XorShift;
use headstack_units::{Bytes, Lba};
use std::collections::{BTreeSet, HashSet};

/// A command to a drive with zones. Addresses and lengths are in blocks.
#[derive(Debug, Clone, Copy)]
enum Op {
    Read(u64, u64),
    Write(u64, u64),
    Manage(ZoneAction, ZoneId),
    Fail(u64, ZoneCondition),
}

fn apply(zones: &mut Zones, op: Op) -> Result<(), Sense> {
    let request = |command, first, past| DriveRequest {
        id: 0,
        command,
        lba: Lba(first),
        blocks: (past - first) as u32,
        ..DriveRequest::default()
    };
    match op {
        Op::Read(first, past) => zones.admit(&request(Command::Read, first, past)),
        Op::Write(first, past) => zones.admit(&request(Command::Write, first, past)),
        Op::Manage(action, id) => zones.manage(action, id),
        Op::Fail(lba, to) => zones.fail(Lba(lba), to),
    }
}

/// A zone that remembers each block that was written.
#[derive(Debug, Clone)]
struct Plain {
    blocks: Vec<u64>,
    condition: ZoneCondition,
    written: BTreeSet<u64>,
    /// When it was opened.
    opened: u64,
}

impl Plain {
    fn is_sequential(&self) -> bool {
        self.condition != NotWritePointer
    }
    fn is_open(&self) -> bool {
        [ImplicitlyOpened, ExplicitlyOpened].contains(&self.condition)
    }
    fn next(&self) -> Option<u64> {
        let mut free = self.blocks.iter().filter(|b| !self.written.contains(b));
        free.next().copied()
    }
    fn can_be_read(&self, block: u64) -> bool {
        [NotWritePointer, Full, ReadOnly].contains(&self.condition) || self.written.contains(&block)
    }
}

/// The rules, each as a sentence about single blocks.
#[derive(Debug, Clone)]
struct Naive {
    zones: Vec<Plain>,
    max_open: usize,
    unrestricted: bool,
    sector: u64,
    clock: u64,
}

impl Naive {
    fn apply(&mut self, op: Op) -> Result<(), Sense> {
        self.clock += 1;
        match op {
            Op::Read(first, past) => self.read(first, past),
            Op::Write(first, past) => self.write(first, past),
            Op::Manage(action, ZoneId::All) => self.all(action),
            Op::Manage(action, ZoneId::At(lba)) => {
                let z = self.named(lba.0)?;
                match self.zones[z].condition {
                    ReadOnly => Err(Sense::ZoneIsReadOnly),
                    Offline => Err(Sense::ZoneIsOffline),
                    _ => self.one(action, z),
                }
            }
            Op::Fail(lba, to) => {
                let z = self.named(lba)?;
                match self.zones[z].condition {
                    Offline => Err(Sense::ZoneIsOffline),
                    _ => {
                        self.zones[z].condition = to;
                        Ok(())
                    }
                }
            }
        }
    }

    fn named(&self, lba: u64) -> Result<usize, Sense> {
        let mut zones = self.zones.iter();
        let found = zones.position(|z| z.blocks[0] == lba && z.is_sequential());
        found.ok_or(Sense::InvalidFieldInCdb)
    }

    fn touched(&self, first: u64, past: u64) -> Vec<usize> {
        let holds = |z: &Plain| (first..past).any(|b| z.blocks.contains(&b));
        (0..self.zones.len()).filter(|z| holds(&self.zones[*z])).collect()
    }

    fn read(&self, first: u64, past: u64) -> Result<(), Sense> {
        let zones: Vec<&Plain> = self.touched(first, past).iter().map(|z| &self.zones[*z]).collect();
        if zones.iter().any(|z| z.condition == Offline) {
            return Err(Sense::ZoneIsOffline);
        }
        let sequential = zones.iter().filter(|z| z.is_sequential()).count();
        if sequential != 0 && sequential != zones.len() {
            return Err(Sense::AttemptToReadInvalidData);
        }
        if self.unrestricted || sequential == 0 {
            return Ok(());
        }
        if zones.len() > 1 {
            return Err(Sense::ReadBoundaryViolation);
        }
        match (first..past).all(|b| zones[0].can_be_read(b)) {
            true => Ok(()),
            false => Err(Sense::AttemptToReadInvalidData),
        }
    }

    fn write(&mut self, first: u64, past: u64) -> Result<(), Sense> {
        let touched = self.touched(first, past);
        for (condition, sense) in [(Offline, Sense::ZoneIsOffline), (ReadOnly, Sense::ZoneIsReadOnly)] {
            if touched.iter().any(|z| self.zones[*z].condition == condition) {
                return Err(sense);
            }
        }
        let sequential = touched.iter().filter(|z| self.zones[**z].is_sequential()).count();
        if sequential == 0 {
            return Ok(());
        }
        if touched.len() > 1 {
            return Err(Sense::WriteBoundaryViolation);
        }
        let z = touched[0];
        if self.zones[z].condition == Full {
            return Err(Sense::InvalidFieldInCdb);
        }
        let end = self.zones.last().and_then(|z| z.blocks.last()).map(|b| b + 1);
        if self.zones[z].next() != Some(first) || (past % self.sector != 0 && Some(past) != end) {
            return Err(Sense::UnalignedWriteCommand);
        }
        if !self.zones[z].is_open() {
            self.open_one_more()?;
            self.zones[z].condition = ImplicitlyOpened;
            self.zones[z].opened = self.clock;
        }
        self.zones[z].written.extend(first..past);
        if self.zones[z].next().is_none() {
            self.zones[z].condition = Full;
        }
        Ok(())
    }

    fn open_one_more(&mut self) -> Result<(), Sense> {
        if self.zones.iter().filter(|z| z.is_open()).count() < self.max_open {
            return Ok(());
        }
        let implicit = self.zones.iter_mut().filter(|z| z.condition == ImplicitlyOpened);
        let oldest = implicit.min_by_key(|z| z.opened);
        oldest.ok_or(Sense::InsufficientZoneResources)?.condition = Closed;
        Ok(())
    }

    fn one(&mut self, action: ZoneAction, z: usize) -> Result<(), Sense> {
        let condition = self.zones[z].condition;
        match (action, condition) {
            (ZoneAction::Open, Empty | Closed) => self.open_one_more()?,
            (ZoneAction::Close, Empty | Closed | Full) => return Ok(()),
            (ZoneAction::Open, Full | ExplicitlyOpened) => return Ok(()),
            _ => {}
        }
        let zone = &mut self.zones[z];
        match action {
            ZoneAction::Open => zone.condition = ExplicitlyOpened,
            ZoneAction::Close if zone.written.is_empty() => zone.condition = Empty,
            ZoneAction::Close => zone.condition = Closed,
            ZoneAction::Finish => zone.condition = Full,
            ZoneAction::Reset => {
                zone.condition = Empty;
                zone.written.clear();
            }
        }
        Ok(())
    }

    fn all(&mut self, action: ZoneAction) -> Result<(), Sense> {
        let before = self.clone();
        for z in 0..self.zones.len() {
            let meant: &[ZoneCondition] = match action {
                ZoneAction::Open => &[Closed],
                ZoneAction::Close => &[ImplicitlyOpened, ExplicitlyOpened],
                ZoneAction::Finish => &[ImplicitlyOpened, ExplicitlyOpened, Closed],
                ZoneAction::Reset => &[Empty, ImplicitlyOpened, ExplicitlyOpened, Closed, Full],
            };
            if !meant.contains(&before.zones[z].condition) {
                continue;
            }
            if let Err(sense) = self.one(action, z) {
                *self = before;
                return Err(sense);
            }
        }
        Ok(())
    }

    /// Condition and write pointer of each zone, as REPORT ZONES gives them.
    fn report(&self) -> Vec<(ZoneCondition, Option<u64>)> {
        let zones = self.zones.iter().map(|z| {
            let valid = [Empty, ImplicitlyOpened, ExplicitlyOpened, Closed].contains(&z.condition);
            (z.condition, z.next().filter(|_| valid))
        });
        zones.collect()
    }
}

/// Both models of a drive of `capacity` blocks; `size` blocks are a zone.
fn both(
    (size, capacity, sector): (u64, u64, u64),
    conventional: u64,
    max_open: u32,
    unrestricted: bool,
) -> (Zones, Naive) {
    let p = Zoned {
        zone_size: Bytes(size * 512),
        conventional_zones: Some(conventional),
        max_open_zones: max_open,
        unrestricted_reads: unrestricted,
        initial: Initial::Empty,
    };
    let zones = (0..capacity.div_ceil(size)).map(|z| Plain {
        blocks: (z * size..capacity.min((z + 1) * size)).collect(),
        condition: if z < conventional { NotWritePointer } else { Empty },
        written: BTreeSet::new(),
        opened: 0,
    });
    let naive = Naive {
        zones: zones.collect(),
        max_open: match max_open {
            0 => usize::MAX,
            n => n as usize,
        },
        unrestricted,
        sector,
        clock: 0,
    };
    (Zones::new(&p, capacity, sector).expect("zones"), naive)
}

fn check(zones: &mut Zones, naive: &mut Naive, op: Op, what: &str) {
    let before = zones.clone();
    let said = apply(zones, op);
    assert_eq!(said, naive.apply(op), "{what}: {op:?} after {before:?}");
    if said.is_err() {
        assert_eq!(*zones, before, "{what}: a refused command changes nothing: {op:?}");
    }
    let report = zones.report(Lba(0), ReportingOptions::All).map(|z| (z.condition, z.write_pointer.map(|b| b.0)));
    let report: Vec<_> = report.collect();
    assert_eq!(report, naive.report(), "{what}: {op:?} after {before:?}");
}

const ACTIONS: [ZoneAction; 4] = [ZoneAction::Open, ZoneAction::Close, ZoneAction::Finish, ZoneAction::Reset];

/// Every command in every state that can be reached, for a conventional zone and three others of two blocks.
#[test]
fn every_command_in_every_state() {
    let blocks = 8;
    let mut ops = Vec::new();
    for first in 0..blocks {
        for past in first + 1..=blocks {
            ops.extend([Op::Read(first, past), Op::Write(first, past)]);
        }
        for action in ACTIONS {
            ops.push(Op::Manage(action, ZoneId::At(Lba(first))));
        }
        ops.extend([Op::Fail(first, ReadOnly), Op::Fail(first, Offline)]);
    }
    ops.extend(ACTIONS.map(|a| Op::Manage(a, ZoneId::All)));
    for (max_open, unrestricted) in [(1, false), (2, false), (2, true), (0, false)] {
        let start = both((2, blocks, 1), 1, max_open, unrestricted);
        let mut seen = HashSet::from([start.0.clone()]);
        let mut open = vec![start];
        while let Some((zones, naive)) = open.pop() {
            for op in &ops {
                let (mut zones, mut naive) = (zones.clone(), naive.clone());
                check(&mut zones, &mut naive, *op, &format!("{max_open} open"));
                if seen.insert(zones.clone()) {
                    open.push((zones, naive));
                }
            }
        }
        assert!(seen.len() > 300, "{} states", seen.len());
    }
}

/// Random commands to more zones, with sectors of several blocks and a last zone that is smaller.
#[test]
fn random_commands_agree_with_the_naive_model() {
    let mut noise = XorShift::default();
    let mut refused = BTreeSet::new();
    for run in 0..60 {
        let sector = [1, 8][run % 2];
        let size = 128;
        let capacity = size * 11 + 40;
        let unrestricted = run % 3 == 0;
        let (mut zones, mut naive) = both((size, capacity, sector), 3, 1 + run as u32 % 5, unrestricted);
        for _ in 0..1500 {
            let z = noise.below(12);
            let start = z * size;
            // Mostly at the write pointer.
            let next = naive.zones[z as usize].next().unwrap_or(start);
            let first = match noise.below(4) {
                0 => noise.below(capacity),
                1 => start,
                _ => next,
            };
            let most = [8, 16, 64, 200][noise.below(4) as usize];
            let count = match noise.below(3) {
                0 => 1 + noise.below(most),
                _ => 8 * (1 + noise.below(most / 8)),
            };
            let past = (first + count).min(capacity);
            let id = match noise.below(30) {
                0 => ZoneId::All,
                1 => ZoneId::At(Lba(start + 1)),
                _ => ZoneId::At(Lba(start)),
            };
            let op = match noise.below(300) {
                0 => Op::Fail(start, [ReadOnly, Offline][noise.below(2) as usize]),
                1..=89 => Op::Read(first, past),
                90..=249 => Op::Write(first, past),
                _ => Op::Manage(ACTIONS[noise.below(4) as usize], id),
            };
            let before = zones.clone();
            check(&mut zones, &mut naive, op, &format!("run {run}"));
            refused.extend(apply(&mut before.clone(), op).err());
        }
    }
    assert_eq!(refused.len(), Sense::ALL.len(), "{refused:?}");
}

/// What the tests of `libzbc` (scripts/01_sk_ascq_check) expect of a host-managed drive, by their numbers.
#[test]
fn the_errors_are_those_that_libzbc_expects() {
    let size = 256;
    let at = |z: u64| ZoneId::At(Lba(z * size));
    use ZoneAction::{Close, Finish, Open, Reset};
    let first = size;
    let cases: &[(&str, &[Op], Op, Option<Sense>)] = &[
        (
            "050 reset, not the start of a zone",
            &[],
            Op::Manage(Reset, ZoneId::At(Lba(first + 1))),
            Some(Sense::InvalidFieldInCdb),
        ),
        ("042 finish past the end (ZBC-1)", &[], Op::Manage(Finish, at(8)), Some(Sense::InvalidFieldInCdb)),
        ("024 open past the end (ZBC-1)", &[], Op::Manage(Open, at(8)), Some(Sense::InvalidFieldInCdb)),
        ("032 close past the end (ZBC-1)", &[], Op::Manage(Close, at(8)), Some(Sense::InvalidFieldInCdb)),
        (
            "060 read behind the write pointer",
            &[Op::Write(first, first + 8)],
            Op::Read(first, first + 9),
            Some(Sense::AttemptToReadInvalidData),
        ),
        (
            "061 read across zones, first full",
            &[Op::Manage(Finish, at(1))],
            Op::Read(2 * size - 1, 2 * size + 1),
            Some(Sense::ReadBoundaryViolation),
        ),
        (
            "063 read across full zones",
            &[Op::Manage(Finish, at(1)), Op::Manage(Finish, at(2))],
            Op::Read(2 * size - 1, 2 * size + 1),
            Some(Sense::ReadBoundaryViolation),
        ),
        ("064 read across types", &[], Op::Read(size - 1, size + 1), Some(Sense::AttemptToReadInvalidData)),
        (
            "073 write to a full zone",
            &[Op::Manage(Finish, at(1))],
            Op::Write(first, first + 8),
            Some(Sense::InvalidFieldInCdb),
        ),
        ("074 write across types", &[], Op::Write(size - 1, size + 1), Some(Sense::WriteBoundaryViolation)),
        (
            "076 write to a closed zone, all explicitly open",
            &[Op::Write(first, first + 8), Op::Manage(Close, at(1)), Op::Manage(Open, at(2)), Op::Manage(Open, at(3))],
            Op::Write(first + 8, first + 16),
            Some(Sense::InsufficientZoneResources),
        ),
        ("043 finish all", &[Op::Write(first, first + 8)], Op::Manage(Finish, ZoneId::All), None),
    ];
    for (name, before, op, expected) in cases {
        let (mut zones, _) = both((size, 8 * size, 8), 1, 2, false);
        for op in *before {
            assert_eq!(apply(&mut zones, *op), Ok(()), "{name}: {op:?}");
        }
        assert_eq!(apply(&mut zones, *op).err(), *expected, "{name}");
    }
}

/// The codes of the standard's table of additional sense codes.
#[test]
fn every_sense_has_its_own_code_and_name() {
    let codes: BTreeSet<_> = Sense::ALL.iter().map(|s| s.code()).collect();
    let names: BTreeSet<_> = Sense::ALL.iter().map(|s| s.name()).collect();
    assert_eq!((codes.len(), names.len()), (8, 8));
    assert_eq!(Sense::UnalignedWriteCommand.code(), (0x5, 0x21, 0x04));
    assert_eq!(Sense::InsufficientZoneResources.code(), (0x7, 0x55, 0x0E));
}

/// Each reporting option lists those of all zones that have its condition, starting with the zone that holds the first
/// block. Its number is that of the standard.
#[test]
fn reports_list_the_zones_of_a_condition() {
    let size = 16;
    let (mut zones, _) = both((size, 9 * size, 8), 1, 3, false);
    let at = |z: u64| ZoneId::At(Lba(z * size));
    for op in [
        Op::Write(2 * size, 2 * size + 8),
        Op::Manage(ZoneAction::Open, at(3)),
        Op::Write(4 * size, 4 * size + 8),
        Op::Manage(ZoneAction::Close, at(4)),
        Op::Manage(ZoneAction::Finish, at(5)),
        Op::Fail(6 * size, ReadOnly),
        Op::Fail(7 * size, Offline),
    ] {
        assert_eq!(apply(&mut zones, op), Ok(()), "{op:?}");
    }
    use ReportingOptions as Options;
    for (options, number, listed) in [
        (Options::All, 0, vec![0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (Options::Empty, 1, vec![1, 8]),
        (Options::ImplicitlyOpened, 2, vec![2]),
        (Options::ExplicitlyOpened, 3, vec![3]),
        (Options::Closed, 4, vec![4]),
        (Options::Full, 5, vec![5]),
        (Options::ReadOnly, 6, vec![6]),
        (Options::Offline, 7, vec![7]),
        (Options::NotWritePointer, 0x3F, vec![0]),
    ] {
        assert_eq!(options as u8, number);
        for from in 0..10 * size {
            let found = zones.report(Lba(from), options);
            let found: Vec<u64> = found.map(|z| z.start.0 / size).collect();
            let expected = listed.iter().filter(|z| **z >= from / size);
            assert!(found.iter().eq(expected), "{options:?} from {from}: {found:?}");
        }
    }
}
