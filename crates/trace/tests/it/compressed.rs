//! Traces compressed by gzip, bzip2, xz and zstd: whole, cut short and damaged.
//!
//! The files in this folder were made by those programs: `lines` has 40 requests, number i at block 8i, every
//! third one a write; `long` has 40,000, number i at block 8 (i mod 1009).

use headstack_testkit::memory::peak_bytes;
use headstack_trace::reader::{open_with, Input};
use headstack_trace::{open, Command, ReadOptions, Request, TraceError};
use headstack_units::{Lba, Time};
use std::path::{Path, PathBuf};

const KINDS: [&str; 4] = ["gz", "bz2", "xz", "zst"];

fn file(name: &str, kind: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compressed");
    Path::new(folder).join(format!("{name}.spc.{kind}"))
}

fn packed(name: &str, kind: &str) -> Vec<u8> {
    std::fs::read(file(name, kind)).expect("a packed trace")
}

fn request(i: u64, period: u64, written: bool) -> Request {
    Request {
        time: Time(1_500_000_000),
        device: 0,
        lba: Lba(i % period * 8),
        blocks: 8,
        op: if written && i % 3 == 0 { Command::Write } else { Command::Read },
        ..Request::default()
    }
}

fn lines() -> Vec<Request> {
    (0..40).map(|i| request(i, 40, true)).collect()
}

/// Reads compressed bytes; returns the requests, and the error at their end, if there is one.
fn unpack(bytes: Vec<u8>) -> (Vec<Request>, Option<TraceError>) {
    let format = headstack_trace::reader::PLUGINS.get("spc");
    let source =
        Input::from_packed(bytes, "packed").and_then(|input| open_with(input, format, &ReadOptions::default()));
    let mut source = match source {
        Ok(source) => source,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut requests = Vec::new();
    for request in source.by_ref() {
        match request {
            Ok(request) => requests.push(request),
            Err(error) => {
                assert!(source.next().is_none(), "something follows an error");
                return (requests, Some(error));
            }
        }
    }
    (requests, None)
}

#[test]
fn packed_files_read_as_they_are() {
    for kind in KINDS {
        let all: Result<Vec<Request>, _> = open(&file("lines", kind), None, &ReadOptions::default()).unwrap().collect();
        assert_eq!(all.unwrap(), lines(), "{kind}");
        let long = open(&file("long", kind), None, &ReadOptions::default()).unwrap();
        let mut n = 0;
        for (i, got) in long.enumerate() {
            assert_eq!(got.unwrap(), request(i as u64, 1009, false), "{kind}");
            n += 1;
        }
        assert_eq!(n, 40_000, "{kind}");
    }
}

/// As made by `cat a.gz b.gz`.
#[test]
fn packed_files_one_after_the_other_are_one_trace() {
    for kind in KINDS {
        let (got, error) = unpack(packed("lines", kind).repeat(2));
        assert!(error.is_none(), "{kind}: {error:?}");
        assert_eq!(got, [lines(), lines()].concat(), "{kind}");
    }
}

#[test]
fn a_stream_cut_short_is_an_error_wherever_it_is_cut() {
    for kind in KINDS {
        let bytes = packed("lines", kind);
        for end in 1..bytes.len() {
            let (got, error) = unpack(bytes[..end].to_vec());
            assert!(error.is_some(), "{kind}: {end} of {} bytes: {got:?}", bytes.len());
            assert!(lines().starts_with(&got), "{kind}: {end}");
        }
        // In a long file, the requests of good blocks come first, then the error.
        let bytes = packed("long", kind);
        let (got, error) = unpack(bytes[..bytes.len() - 9].to_vec());
        let said = error.map(|e| e.to_string()).unwrap_or_default();
        assert!(
            said.starts_with("packed: got an end in the middle (")
                && said.ends_with(", need a whole file, packed by gzip, zstd, bzip2 or xz"),
            "{kind}: {} requests, {said:?}",
            got.len()
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("half.{kind}"));
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let last = open(&path, Some("spc"), &ReadOptions::default()).map(|s| s.last());
        assert!(!matches!(last, Ok(None | Some(Ok(_)))), "{kind}: {last:?}");
    }
}

/// A stream by hand (The .xz File Format 1.2), without checksums: each block has a dictionary, and a text in a chunk of
/// LZMA2 that is not packed.
fn xz(blocks: &[(u8, &[u8])]) -> Vec<u8> {
    let sum = |bytes: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum().to_le_bytes()
    };
    let mut stream = [&[0xfd, b'7', b'z', b'X', b'Z', 0, 0, 0][..], &sum(&[0, 0])].concat();
    let mut index = vec![0, blocks.len() as u8];
    for (dictionary, text) in blocks {
        let header = [2, 0, 0x21, 1, *dictionary, 0, 0, 0];
        stream.extend([&header[..], &sum(&header), &[1, 0, text.len() as u8 - 1], text, &[0]].concat());
        index.extend([12 + 4 + text.len() as u8, text.len() as u8]);
        stream.resize(stream.len().next_multiple_of(4), 0);
    }
    index.resize(index.len().next_multiple_of(4), 0);
    let footer = [(index.len() / 4) as u8, 0, 0, 0, 0, 0];
    [&stream[..], &index, &sum(&index), &sum(&footer), &footer, b"YZ"].concat()
}

/// 4 GiB less a byte are what the format allows (40), 128 MiB (30) what is read: also in a later block, and a later stream.
#[test]
fn a_dictionary_of_xz_is_bounded() {
    let line = b"0,8,4096,r,1.5\n";
    let good = xz(&[(0, line), (30, line)]);
    let (got, error) = unpack([&good[..], &[0; 8], &good].concat());
    assert_eq!((got.len(), error.map(|e| e.to_string())), (4, None));
    for (bytes, lines) in [
        (xz(&[(40, line)]), 0),
        (xz(&[(31, line)]), 0),
        (xz(&[(0, line), (40, line)]), 1),
        ([good, xz(&[(40, line)])].concat(), 2),
    ] {
        let before = peak_bytes().expect("memory");
        let (got, error) = unpack(bytes);
        let text = error.expect("an error").to_string();
        assert!(
            text.starts_with("packed: got a dictionary of ") && text.ends_with(" bytes, need at most 128 MiB"),
            "{text}"
        );
        assert!(got.len() <= lines && peak_bytes().expect("memory") - before < 16 << 20);
    }
}

/// Every byte is damaged in turn. Checksums detect changes of the data; a changed time stamp or name of the
/// compressed file may remain undetected.
#[test]
fn a_damaged_stream_is_an_error_or_says_the_same() {
    for kind in KINDS {
        let bytes = packed("lines", kind);
        let mut found = 0;
        for at in 0..bytes.len() {
            for mask in [1, 0x10, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= mask;
                match unpack(damaged) {
                    (_, Some(_)) => found += 1,
                    (got, None) => assert_eq!(got, lines(), "{kind}: byte {at} ^ {mask}"),
                }
            }
        }
        assert!(found > 2 * bytes.len(), "{kind}: {found}");
    }
}
