//! Duration limits as initiators see them: pages, bits of commands, sense data and statistics.

use crate::iscsi::initiator::{sixteen, toml, Answer, Initiator, Server};
use headstack_block::layer::Setting;
use headstack_drive::{DurationLimit, Heeded, LimitsSpec, Setting as DriveSetting};
use headstack_units::Span;

const READ: u8 = 0x88;
const WRITE: u8 = 0x8a;

/// The drive `ultrastar-hc570` with these limits, so many simulated seconds in a second.
fn limited(limits: &str, speed: f64) -> Server {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives/ultrastar-hc570.toml");
    let text = std::fs::read_to_string(source).unwrap();
    let file = toml(&format!("{text}\n[duration_limits]\n{limits}\n"));
    Server::of(file, |options| options.live.speed = speed)
}

const LIMITS: &str = r#"
transport = "sas"
reads = [
  { guideline = "50 ms" },
  { active = "500 us", active_policy = "abort" },
  { active = "500 us", active_policy = "complete-unavailable" },
  { inactive = "1 ms", inactive_policy = "abort" },
  { active = "500 us", active_policy = "abort-recovery" },
]
writes = [{ active = "500 us", active_policy = "abort" }]
"#;

/// READ(16) or WRITE(16) with a limit: SBC-4 has DLD2 in byte 1, and DLD1 and DLD0 in byte 14.
fn with_limit(opcode: u8, lba: u64, limit: u8) -> [u8; 16] {
    let fua = if opcode == WRITE { 0x08 } else { 0 };
    sixteen(opcode, limit >> 2 | fua, lba, 8, (limit & 3) << 6)
}

/// READ(32): action 09h, the limit in byte 11, the block at 12, the number of blocks at 28. What does not fit into the unit's
/// header follows it: RFC 7143, 11.2.2.3.
fn read32(session: &mut Initiator, lba: u64, limit: u8) -> Answer {
    let mut cdb = [0; 32];
    (cdb[0], cdb[7], cdb[9], cdb[11], cdb[31]) = (0x7f, 0x18, 0x09, limit, 8);
    cdb[12..20].copy_from_slice(&lba.to_be_bytes());
    let mut unit = session.command_header(0, 0xc1, &cdb, 4096);
    unit[4] = 5;
    let mut all = [0; 20];
    (all[1], all[2]) = (17, 1);
    all[4..].copy_from_slice(&cdb[16..]);
    use std::io::Write;
    session.stream.write_all(&[&unit[..], &all].concat()).unwrap();
    session.answer(&[])
}

fn mode_page(session: &mut Initiator, code: u8, subpage: u8) -> Answer {
    let mut answer = session.ask(0, &[0x5a, 8, code, subpage, 0, 0, 0, 4, 0, 0], 1024);
    answer.data.drain(..answer.data.len().min(8));
    answer
}

fn select(session: &mut Initiator, page: &[u8], save: u8) -> Answer {
    let list = [&[0; 8], page].concat();
    let length = (list.len() as u16).to_be_bytes();
    let cdb = [0x55, 0x10 | save, 0, 0, 0, 0, 0, length[0], length[1], 0];
    session.put(0, &cdb, &list, 0)
}

/// The three numbers that are modelled, of the parameter of a limit in the log page 19h/21h.
fn counted(session: &mut Initiator, parameter: u8) -> [u32; 3] {
    let cdb = [0x4d, 0, 0x59, 0x21, 0, 0, parameter, 4, 0, 0];
    let data = session.ask(0, &cdb, 1024).data;
    assert_eq!(data[..2], [0x59, 0x21]);
    assert_eq!(data[4..8], [0, parameter, 3, 32]);
    let at = |i: usize| u32::from_be_bytes(data[8 + 4 * i..12 + 4 * i].try_into().unwrap());
    [at(0), at(1), at(2)]
}

/// What Linux looks at (`scsi_cdl_check`): a version of SPC-5 at least, and REPORT SUPPORTED OPERATION CODES.
#[test]
fn a_drive_with_limits_says_so() {
    let server = limited(LIMITS, 0.0);
    let mut session = server.session(1, &[]);
    session.settle(0);
    let inquiry = session.ask(0, &[0x12, 0, 0, 0, 96, 0], 96).data;
    assert_eq!((inquiry[2], &inquiry[60..62]), (7, &[0x05, 0xc0][..]));
    let mut one = |opcode: u8, action: u8| {
        let option = if opcode == 0x7f { 2 } else { 1 };
        let cdb = [0xa3, 0x0c, option, opcode, 0, action, 0, 0, 1, 0, 0, 0];
        session.ask(0, &cdb, 256).data
    };
    // RWCDLP; supported, with CDLP 1 for page T2A and 2 for T2B.
    assert_eq!(one(READ, 0)[..2], [1, 0x0b]);
    assert_eq!(one(WRITE, 0)[..2], [1, 0x13]);
    assert_eq!(one(0x7f, 0x09)[..2], [1, 0x0b]);
    assert_eq!(one(0x7f, 0x0b)[..2], [1, 0x13]);
    assert_eq!(one(0x28, 0)[..2], [0, 3]);
    let all = session.ask(0, &[0xa3, 0x0c, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0], 4096).data;
    let of = |opcode: u8| {
        let found = all[4..].chunks(8).filter(move |c| c[0] == opcode);
        found.map(|c| c[5]).collect::<Vec<_>>()
    };
    assert_eq!((of(READ), of(WRITE)), (vec![0x44], vec![0x48]));

    // A drive without limits has neither the pages nor the bits.
    let plain = Server::start();
    let mut session = plain.session(1, &[]);
    session.settle(0);
    assert_eq!(session.ask(0, &[0x12, 0, 0, 0, 96, 0], 96).data[2], 6);
    assert_eq!(mode_page(&mut session, 0x0a, 7).sense, Some((5, 0x24, 0)));
    for byte in [(1, 0x01), (14, 0x40)] {
        let mut cdb = with_limit(READ, 0, 0);
        cdb[byte.0] |= byte.1;
        assert_eq!(session.ask(0, &cdb, 4096).sense, Some((5, 0x24, 0)));
    }
    let cdb = [0xa3, 0x0c, 1, READ, 0, 0, 0, 0, 1, 0, 0, 0];
    assert_eq!(session.ask(0, &cdb, 256).data[..2], [0, 3]);
}

/// Sense of SPC-6: 2Eh/02h for an active time, 55h/0Ah with the key COMPLETED for data that are not available, which has no data.
#[test]
fn a_missed_active_time_has_the_sense_of_its_policy() {
    let server = limited(LIMITS, 0.0);
    let mut session = server.session(1, &[]);
    session.settle(0);
    let data = [5; 4096];
    assert_eq!(session.put(0, &with_limit(WRITE, 0, 0), &data, 0).status, 0);
    for (limit, sense) in [
        (0, None),
        (1, None),
        (2, Some((0xb, 0x2e, 2))),
        (3, Some((0xf, 0x55, 0x0a))),
        (5, Some((0xb, 0x2e, 2))),
        // No times are given.
        (6, None),
        (7, None),
    ] {
        // Each elsewhere, so that no buffer has it.
        let lba = 1_000_000_000 * u64::from(limit);
        let answer = session.ask(0, &with_limit(READ, lba, limit), 4096);
        assert_eq!(answer.sense, sense, "limit {limit}");
        let length = if sense.is_none() { 4096 } else { 0 };
        assert_eq!(answer.data.len(), length, "limit {limit}");
        let long = read32(&mut session, lba + 500_000_000, limit);
        assert_eq!((long.sense, long.data.len()), (sense, length), "{limit}");
    }
    // Writes have limits of their own: with FUA the medium takes longer than half a millisecond.
    let wrote = session.put(0, &with_limit(WRITE, 8_000_000_000, 1), &data, 0);
    assert_eq!(wrote.sense, Some((0xb, 0x2e, 2)));
    assert_eq!(session.put(0, &with_limit(WRITE, 0, 2), &data, 0).status, 0);
    // Each was exceeded once by READ(16) and once by READ(32).
    assert_eq!(counted(&mut session, 0x12), [0, 2, 0]);
    assert_eq!(counted(&mut session, 0x13), [0, 2, 0]);
    assert_eq!(counted(&mut session, 0x11), [0, 0, 0]);
    assert_eq!(counted(&mut session, 0x21), [0, 1, 0]);
    let pages = session.ask(0, &[0x4d, 0, 0x40, 0xff, 0, 0, 0, 1, 0, 0], 256).data;
    assert!(pages[4..].chunks(2).any(|p| p == [0x19, 0x21]), "{pages:x?}");
}

/// Commands that wait longer than their inactive time end with 2Eh/01h.
#[test]
fn a_missed_inactive_time_ends_what_waits() {
    // A read of 10 ms takes 0.1 s, far longer than the commands take to arrive.
    let server = limited(LIMITS, 0.1);
    let mut session = server.session(1, &[]);
    session.settle(0);
    for i in 0..6 {
        let limit = if i == 0 { 0 } else { 4 };
        let cdb = with_limit(READ, 6_000_000_000 * i, limit);
        let unit = session.command_header(0, 0xc1, &cdb, 4096);
        session.send(&unit, &[]);
    }
    let mut ends = Vec::new();
    while ends.len() < 6 {
        let unit = session.next().unwrap();
        match unit.opcode() {
            0x21 => ends.push((unit.data[4] & 0xf, unit.data[14], unit.data[15])),
            _ if unit.header[1] & 1 != 0 => ends.push((0, 0, 0)),
            _ => {}
        }
    }
    let timed_out = ends.iter().filter(|e| **e == (0xb, 0x2e, 1)).count();
    let good = ends.iter().filter(|e| **e == (0, 0, 0)).count();
    assert_eq!((timed_out + good, timed_out > 0), (6, true), "{ends:?}");
    assert_eq!(counted(&mut session, 0x14), [timed_out as u32, 0, 0]);
}

/// MODE SELECT sets limits for commands that follow; others are told; what was saved is back after a reset.
#[test]
fn limits_are_set_by_mode_select() {
    let server = limited("reads = [{}]", 0.0);
    let (mut one, mut other) = (server.session(1, &[]), server.session(2, &[]));
    one.settle(0);
    other.settle(0);
    let made = mode_page(&mut one, 0x0a, 7).data;
    assert_eq!((made.len(), &made[..4]), (232, &[0xca, 7, 0, 228][..]));
    assert!(made[8..].iter().all(|b| *b == 0), "no limits");
    let both = mode_page(&mut one, 0x0a, 0xff).data;
    assert_eq!(both.len(), 12 + 2 * 232);
    // Pages of the one-time form do not describe these commands.
    assert_eq!(mode_page(&mut one, 0x0a, 3).sense, Some((5, 0x24, 0)));
    // 3 times 10 ms of inactive time and 500 us of active time do not have one unit; 1 us has both.
    let mut page = made.clone();
    page[7] = 0x50;
    page[8 + 32..8 + 32 + 7].copy_from_slice(&[0x8, 0, 0x75, 0x30, 0x01, 0xf4, 0xff]);
    let read = |s: &mut Initiator, lba: u64| s.ask(0, &with_limit(READ, lba, 2), 4096).sense;
    assert_eq!(read(&mut one, 1 << 33), None);
    assert_eq!(select(&mut one, &page, 1).status, 0);
    assert_eq!(mode_page(&mut one, 0x0a, 7).data, page);
    assert_eq!(read(&mut one, 2 << 33), Some((0xb, 0x2e, 2)));
    // Linux' scsi_debug takes a list as long as what was asked for: zeros after the last page change nothing.
    let long = [&page[..], &[0; 512 - 8 - 232]].concat();
    assert_eq!(select(&mut one, &long, 1).status, 0);
    let but_one = [&long[..], &[1]].concat();
    for other in [&but_one[..], &long[232..]] {
        assert_eq!(select(&mut one, other, 0).sense, Some((5, 0x26, 0)));
    }
    assert_eq!(mode_page(&mut one, 0x0a, 7).data, page);
    assert_eq!(other.ask(0, &[0; 6], 0).sense, Some((6, 0x2a, 1)));
    // Not saved: no limit any more, until a reset.
    assert_eq!(select(&mut one, &made, 0).status, 0);
    assert_eq!(read(&mut one, 3 << 33), None);
    assert_eq!(other.ask(0, &[0; 6], 0).sense, Some((6, 0x2a, 1)));
    let reset = crate::iscsi::initiator::header(0x42, 0x80 | 5, 0, 0x7000);
    one.send(&reset, &[]);
    assert_eq!(one.next().unwrap().opcode(), 0x22);
    while one.ask(0, &[0; 6], 0).status != 0 {}
    assert_eq!(mode_page(&mut one, 0x0a, 7).data, page);
    assert_eq!(read(&mut one, 4 << 33), Some((0xb, 0x2e, 2)));

    // What the standard does not allow: the seventh limit has no next one; abort-recovery on SATA.
    for (byte, value) in [(8 + 6 * 32 + 14, 1), (8 + 6, 0x0e), (8, 0x07), (7, 0xd0)] {
        let mut wrong = page.clone();
        wrong[byte] = value;
        let refused = select(&mut one, &wrong, 0).sense;
        assert_eq!(refused, Some((5, 0x26, 0)), "byte {byte}");
    }
    assert_eq!(mode_page(&mut one, 0x0a, 7).data, page);

    // Limits that are set in another way are in the pages, and initiators are told.
    let limits = LimitsSpec {
        enabled: Heeded::Limits,
        reads: vec![DurationLimit { guideline: Some(Span(50_000_000)), ..DurationLimit::default() }],
        ..LimitsSpec::default()
    };
    let set = server.handle.ask(|live| {
        let (now, system) = live.system();
        let (path, _) = system.view(now, 0).drive.unwrap();
        let limits = DriveSetting::DurationLimits(limits);
        live.set(&path, Setting::Drive(limits))
    });
    set.unwrap().unwrap();
    while other.ask(0, &[0; 6], 0).status != 0 {}
    let told = mode_page(&mut other, 0x0a, 7);
    let seen = match told.sense {
        Some(sense) => {
            assert_eq!(sense, (6, 0x2a, 1));
            mode_page(&mut other, 0x0a, 7).data
        }
        None => told.data,
    };
    assert_eq!(seen[7], 0xc0);
    assert_eq!(seen[8..20], [8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0x50]);
}
