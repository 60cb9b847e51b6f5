//! What a server sends may be damaged: that is an error or another answer, and never a panic or an endless wait.

use headstack_probe::{open, Batch, Options, Pace, ProbeError};
use headstack_testkit::damage::damage;
use headstack_testkit::XorShift;
use std::io::{Read, Write};
use std::net::TcpListener;

const READS: u64 = 6;

/// A server that sends this, whatever it is asked. The name of a target is made of its address.
fn probe(sends: &[u8], name: impl Fn(String) -> String) -> Result<usize, ProbeError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = name(listener.local_addr().unwrap().to_string());
    let sends = sends.to_vec();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // The client may have gone before it has all.
        let _ = stream.write_all(&sends).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let found = open(&name, &Options::default()).and_then(|mut target| {
        let lba = (0..READS).map(|i| i * 8).collect();
        let batch = Batch::reads(target.described(), lba, vec![8; READS as usize], Pace::Closed(3), true)?;
        let answers = target.run(&batch, &mut || true)?;
        Ok(answers.status.iter().filter(|s| **s as u8 == 0).count())
    });
    server.join().unwrap();
    found
}

/// The session of a server of NBD, from the protocol's text.
fn nbd(is_structured: bool) -> Vec<u8> {
    let mut all = b"NBDMAGICIHAVEOPT\0\x03".to_vec();
    let mut option = |code: u32, kind: u32, data: &[u8]| {
        all.extend(0x0003_e889_0455_65a9u64.to_be_bytes());
        [code, kind, data.len() as u32].iter().for_each(|n| all.extend(n.to_be_bytes()));
        all.extend(data);
    };
    option(8, if is_structured { 1 } else { 0x8000_0001 }, &[]);
    option(7, 3, &[&[0, 0], &(1u64 << 30).to_be_bytes()[..], &[0, 0x11]].concat());
    option(7, 3, &[&[0, 3], &1u32.to_be_bytes()[..], &4096u32.to_be_bytes(), &(32u32 << 20).to_be_bytes()].concat());
    option(7, 1, &[]);
    for i in 0..READS {
        if !is_structured {
            all.extend([&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0], &i.to_be_bytes()[..], &[7; 4096]].concat());
            continue;
        }
        let mut chunk = |flags: u16, kind: u16, payload: &[u8]| {
            all.extend(0x668e_33efu32.to_be_bytes());
            [flags, kind].iter().for_each(|n| all.extend(n.to_be_bytes()));
            all.extend(i.to_be_bytes());
            all.extend((payload.len() as u32).to_be_bytes());
            all.extend(payload);
        };
        let at = |offset: u64| (i * 4096 + offset).to_be_bytes();
        match i % 3 {
            0 => chunk(1, 1, &[&at(0)[..], &[7; 4096]].concat()),
            1 => {
                chunk(0, 1, &[&at(0)[..], &[7; 1024]].concat());
                chunk(0, 2, &[&at(1024)[..], &3072u32.to_be_bytes()].concat());
                chunk(1, 0, &[]);
            }
            _ => chunk(1, 0x8001, &[&5u32.to_be_bytes()[..], &[0, 0]].concat()),
        }
    }
    all
}

/// The session of a target of iSCSI, from RFC 7143: a login, what a disk says of itself, and reads.
fn iscsi() -> Vec<u8> {
    let mut all = Vec::new();
    let mut unit = |opcode: u8, flags: u8, status: u8, itt: u32, words: [u32; 3], data: &[u8]| {
        let mut header = [0; 48];
        (header[0], header[1], header[3]) = (opcode, flags, status);
        header[5..8].copy_from_slice(&(data.len() as u32).to_be_bytes()[1..]);
        header[16..20].copy_from_slice(&itt.to_be_bytes());
        for (i, word) in words.iter().enumerate() {
            header[24 + 4 * i..28 + 4 * i].copy_from_slice(&word.to_be_bytes());
        }
        all.extend(header);
        all.extend(data);
        all.resize(all.len().next_multiple_of(4), 0);
    };
    unit(0x23, 0x87, 0, 0, [0, 1, 60], b"HeaderDigest=None\0");
    let mut about = [0; 36];
    about[8..36].copy_from_slice(b"MAKER   MODEL           0001");
    let mut capacity = [0; 32];
    capacity[4..12].copy_from_slice(&[0x0f, 0xff, 0xff, 0xff, 0, 0, 2, 0]);
    capacity[13] = 3;
    let serial = *b"\0\x80\0\x04ABCD";
    let mut characteristics = [0; 64];
    characteristics[..6].copy_from_slice(&[0, 0xb1, 0, 60, 0x1c, 0x20]);
    let mut ranges = [0; 128];
    ranges[..4].copy_from_slice(&[0, 0xb9, 0, 124]);
    ranges[80..88].copy_from_slice(&0x0800_0000u64.to_be_bytes());
    ranges[104..112].copy_from_slice(&0x0800_0000u64.to_be_bytes());
    ranges[112..120].copy_from_slice(&0x0800_0000u64.to_be_bytes());
    let answers: [&[u8]; 6] = [&about, &capacity, &serial, &characteristics, &ranges, &[3, 0, 0x10, 0]];
    for (i, data) in answers.iter().enumerate() {
        unit(0x25, 0x81, 0, i as u32, [i as u32 + 1, 1, 60], data);
    }
    for i in 0..READS as u32 {
        let number = 6 + i;
        match i % 3 {
            0 => unit(0x25, 0x81, 0, number, [number, 1, 60], &[7; 4096]),
            1 => {
                unit(0x25, 0x00, 0, number, [number, 1, 60], &[7; 1024]);
                unit(0x25, 0x80, 0, number, [number, 1, 60], &[7; 3072]);
                unit(0x21, 0x80, 0, number, [number, 1, 60], &[]);
            }
            // Fixed sense data: an unrecovered read error.
            _ => unit(0x21, 0x80, 2, number, [number, 1, 60], &[0, 18, 0x70, 0, 3, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x11]),
        }
    }
    all
}

/// Whole sessions are understood, and damaged ones survived.
fn survive(whole: &[u8], name: impl Fn(String) -> String + Copy, good: usize, seed: u64) {
    assert_eq!(probe(whole, name).unwrap(), good);
    let mut noise = XorShift::seeded(seed);
    let mut ended = 0;
    for case in 0..headstack_testkit::cases(300) {
        let mut damaged = whole.to_vec();
        damage(&mut damaged, 8, &[], &mut noise);
        println!("seed {seed}, case {case}");
        ended += usize::from(probe(&damaged, name).is_err());
    }
    assert!(ended > 0, "no damage was noticed");
}

#[test]
fn damaged_replies_of_nbd_are_survived() {
    survive(&nbd(true), |at| format!("nbd://{at}/disk"), 4, 11);
    survive(&nbd(false), |at| format!("nbd://{at}"), 6, 12);
}

#[test]
fn damaged_units_of_iscsi_are_survived() {
    survive(&iscsi(), |at| format!("iscsi://{at}/iqn.2026-11.org.example:disk/0"), 4, 13);
}
