//! Contract tests of every format, and tests of the properties of each.

mod footer;
mod measured;
mod parse;

use headstack_schema::Parameter;
use headstack_trace::error::TraceError;
use headstack_trace::options::ReadOptions;
use headstack_trace::reader::*;
use headstack_trace::{Command, OnError, Order, Request};
use headstack_units::{Lba, Time};
use std::path::Path;

fn read(format: &str, bytes: &[u8], options: &ReadOptions) -> Vec<Result<Request, TraceError>> {
    let input = Input::from_bytes(bytes.to_vec(), "test");
    match open_with(input, Some(PLUGINS.find("format", format).unwrap()), options) {
        Ok(source) => source.collect(),
        Err(error) => vec![Err(error)],
    }
}

/// Options with parameters of the format, as TOML.
fn with(parameters: &str) -> ReadOptions {
    ReadOptions { parameters: toml::from_str(parameters).unwrap(), ..ReadOptions::default() }
}

fn good(format: &str, bytes: &[u8], options: &ReadOptions) -> Vec<(u64, u32, u64, u32, Command)> {
    read(format, bytes, options)
        .into_iter()
        .map(|r| r.unwrap())
        .map(|r| (r.time.0, r.device, r.lba.0, r.blocks, r.op))
        .collect()
}

#[test]
fn every_format_reads_and_detects_its_example() {
    for format in PLUGINS.iter() {
        let bytes = (format.facts.sample)();
        let options = ReadOptions::default();
        let requests = good(format.name(), &bytes, &options);
        assert!(requests.len() >= 2, "{}: {requests:?}", format.name());
        assert_eq!(options.counters.counts().read, requests.len() as u64);
        assert!(requests.windows(2).all(|w| w[0].0 <= w[1].0), "{}", format.name());
        let name = if format.name() == "oracle-general" { "x.oracleGeneral.bin" } else { "x" };
        let found = detect(&bytes, name, &PLUGINS).map(|f| f.name());
        assert_eq!(found, Some(format.name()));
        assert_eq!(PLUGINS.find("format", format.name()).unwrap().name(), format.name());
        assert!(!format.summary().is_empty());
    }
}

#[test]
fn every_format_survives_truncation_at_every_byte() {
    for format in PLUGINS.iter() {
        let bytes = (format.facts.sample)();
        for end in 0..bytes.len() {
            let count = read(format.name(), &bytes[..end], &ReadOptions::default()).len();
            assert!(count <= 10, "{}", format.name());
        }
    }
}

#[test]
fn every_text_format_names_a_wrong_line_and_can_skip_it() {
    for format in PLUGINS.iter() {
        let mut bytes = (format.facts.sample)();
        let text = std::str::from_utf8(&bytes).is_ok_and(|t| !t.contains('\0'));
        if !text || format.name() == "blkparse" {
            continue;
        }
        let lines = bytes.iter().filter(|&&b| b == b'\n').count();
        bytes.extend(b"@!\n");
        let all = read(format.name(), &bytes, &ReadOptions::default());
        let error = all.last().unwrap().as_ref().unwrap_err().to_string();
        assert!(error.starts_with(&format!("test:{}: ", lines + 1)), "{}: {error}", format.name());
        assert!(error.contains("need"), "{error}");
        let options = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
        good(format.name(), &bytes, &options);
        assert_eq!(options.counters.counts().skipped, 1, "{}", format.name());
    }
}

/// A binary trace that ends inside a record is an error; one that ends between records is just shorter.
#[test]
fn binary_records_cut_short_are_errors() {
    // The lengths of the records of each example, including headers.
    for (name, records) in [("blktrace", vec![48, 48, 51]), ("oracle-general", vec![24, 24]), ("vscsi", vec![32, 32])] {
        let bytes = (PLUGINS.find("format", name).unwrap().facts.sample)();
        assert_eq!(bytes.len(), records.iter().sum::<usize>(), "{name}");
        let ends: Vec<usize> = records
            .iter()
            .scan(0, |sum, n| {
                *sum += n;
                Some(*sum)
            })
            .collect();
        for end in 1..bytes.len() {
            for on_error in [OnError::Fail, OnError::Skip] {
                let options = ReadOptions { on_error, ..ReadOptions::default() };
                let all = read(name, &bytes[..end], &options);
                let failed = all.last().is_some_and(|r| r.is_err());
                assert_eq!(failed, !ends.contains(&end), "{name}: {end} bytes");
            }
        }
    }
    let bytes = (PLUGINS.get("parquet").expect("it is listed").facts.sample)();
    for end in 1..bytes.len() {
        let all = read("parquet", &bytes[..end], &ReadOptions::default());
        assert!(all.last().is_some_and(|r| r.is_err()), "parquet: {end}");
    }
}

#[test]
fn a_wrong_field_is_named_with_line_and_column() {
    let all = read("spc", b"0,1,512,R,0.5\n0,1,4k,R,0.6\n", &ReadOptions::default());
    assert_eq!(all.len(), 2);
    assert_eq!(
        all[1].as_ref().unwrap_err().to_string(),
        "test:2: column 3 \"size\": got \"4k\", need an integer that is not negative, without a letter for its unit"
    );
}

#[test]
fn time_running_backwards_has_its_three_answers() {
    let bytes = b"0,1,512,R,5\n0,2,512,R,1\n0,3,512,R,4\n";
    assert!(read("spc", bytes, &ReadOptions::default())[1].is_err());
    let mut options = ReadOptions { order: Order::Sort(2), ..ReadOptions::default() };
    let times: Vec<u64> = good("spc", bytes, &options).iter().map(|r| r.0 / 1_000_000_000).collect();
    assert_eq!(times, [1, 4, 5]);
    options = ReadOptions { order: Order::Sort(1), ..ReadOptions::default() };
    let times: Vec<u64> = good("spc", bytes, &options).iter().map(|r| r.0 / 1_000_000_000).collect();
    assert_eq!(times, [5, 5, 5]);
    assert_eq!(options.counters.counts().clamped, 2);
}

#[test]
fn the_order_of_times_is_asked_for_in_words() {
    let order = |text: &str| Order::read(&text.into()).map_err(|e| e.to_string());
    assert_eq!(order("format"), Ok(Order::Format));
    assert_eq!(order("strict"), Ok(Order::Strict));
    assert_eq!(order("sort"), Ok(Order::Sort(Order::SORTED)));
    assert_eq!(order("sort:1"), Ok(Order::Sort(1)));
    assert_eq!(order("sort:4194304"), Ok(Order::Sort(Order::MOST_SORTED)));
    for wrong in ["", "sorted", "sort:", "sort:0", "sort:-1", "sort:4194305", "strict:2"] {
        let error = order(wrong).unwrap_err();
        let got = format!("got {wrong:?}").replace("\"\"", "empty text");
        assert!(error.starts_with(&format!("{got}, need format, strict")), "{error}");
    }
    // The option that the error suggests works.
    let bytes = b"0,1,512,R,5\n0,2,512,R,1\n";
    let error = read("spc", bytes, &ReadOptions::default()).pop().unwrap();
    let error = error.unwrap_err().to_string();
    let (_, hint) = error.split_once("hint: order = \"").unwrap();
    let options = ReadOptions { order: order(hint.split_once('"').unwrap().0).unwrap(), ..ReadOptions::default() };
    let times: Vec<u64> = good("spc", bytes, &options).iter().map(|r| r.0).collect();
    assert_eq!(times, [1_000_000_000, 5_000_000_000]);
}

#[test]
fn zero_sizes_and_other_devices_are_left_out_and_counted() {
    let options = ReadOptions { devices: vec![1], ..ReadOptions::default() };
    let bytes = b"0,1,512,R,1\n1,1,0,R,2\n1,7,512,W,3\n";
    assert_eq!(good("spc", bytes, &options), [(3_000_000_000, 1, 7, 1, Command::Write)]);
    assert_eq!((options.counters.counts().zero_sized, options.counters.counts().filtered), (1, 1));
}

#[test]
fn addresses_that_no_device_has_are_wrong() {
    for line in [&b"0,36028797018963969,512,R,1\n"[..], b"0,18446744073709551615,512,R,1\n"] {
        assert!(read("spc", line, &ReadOptions::default())[0].is_err());
    }
}

#[test]
fn long_lines_cost_no_memory() {
    let mut bytes = vec![b'1'; 10 << 20];
    bytes.extend(b"\n0,1,512,R,1\n");
    let options = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    assert_eq!(good("spc", &bytes, &options).len(), 1);
    assert_eq!(options.counters.counts().skipped, 1);
}

#[test]
fn blktrace_reads_both_byte_orders() {
    for little in [true, false] {
        let bytes = blktrace::example(little);
        let requests = good("blktrace", &bytes, &ReadOptions::default());
        assert_eq!(requests, [(1000, 0, 2048, 8, Command::Read), (2000, 0, 8, 1, Command::Write)]);
    }
}

/// Who issued a request: columns of csv and parquet, the fifth column of blkparse, the bytes 32 to 35 of blktrace (77 in the example).
#[test]
fn processes_and_priorities_are_read() {
    let of = |format: &str, bytes: &[u8]| {
        let all = read(format, bytes, &ReadOptions::default());
        let said = |r: Request| (r.process.0, r.priority.0);
        all.into_iter().map(|r| said(r.unwrap())).collect::<Vec<_>>()
    };
    let csv = |lines: &str| of("csv", lines.as_bytes());
    let blocks = "ioprio,time_ns,lba,process,blocks,op\n0x,1,2,3,4,R\n";
    let wrong = read("csv", blocks.as_bytes(), &ReadOptions::default());
    assert!(wrong[0].as_ref().is_err_and(|e| e.to_string().contains("ioprio")));
    assert_eq!(csv("ioprio,time_ns,lba,process,blocks,op\n16412,1,2,3,4,R\n0,1,2,0,4,W\n"), [(3, 16412), (0, 0)]);
    // By bytes, where the request is made elsewhere.
    assert_eq!(csv("time_ns,offset_bytes,size_bytes,op,process\n1,512,512,R,9\n"), [(9, 0)]);
    let unknown = headstack_trace::Process::UNKNOWN.0;
    assert_eq!(csv("time_ns,lba,blocks,op\n1,2,4,R\n"), [(unknown, 0)]);
    for line in ["70000,1,2,3,4,R", "1,1,2,4294967295,4,R"] {
        let text = format!("ioprio,time_ns,lba,process,blocks,op\n{line}\n");
        assert!(read("csv", text.as_bytes(), &ReadOptions::default())[0].is_err());
    }
    let blkparse = (PLUGINS.find("format", "blkparse").unwrap().facts.sample)();
    assert_eq!(of("blkparse", &blkparse), [(697, 0); 3]);
    let blktrace = (PLUGINS.find("format", "blktrace").unwrap().facts.sample)();
    assert_eq!(of("blktrace", &blktrace)[0], (77, 0));
    let spc = (PLUGINS.find("format", "spc").unwrap().facts.sample)();
    assert_eq!(of("spc", &spc)[0], (unknown, 0));
}

#[test]
fn blkparse_takes_one_action() {
    let bytes = (PLUGINS.get("blkparse").expect("it is listed").facts.sample)();
    let requests = good("blkparse", &bytes, &ReadOptions::default());
    assert_eq!(
        requests,
        [(0, 0, 223_490, 8, Command::Write), (10_000, 1, 100, 16, Command::Read), (20_000, 0, 0, 0, Command::Flush)]
    );
    let options = with(r#"action = "issue""#);
    let lines = b"8,0 3 1 0.000000000 697 D W 8 + 8 [x]\n8,0 3 1 0.1 697 Q W 8 + 8 [x]\n";
    assert_eq!(good("blkparse", lines, &options).len(), 1);
    assert!(read("blkparse", b"8,0 3 1 0.1 697 C W 8 + 8 [x]\n", &options)[0].is_err());
}

/// The letters are those of the kernel's `blk_fill_rwbs`: a flush before, the direction, forced unit
/// access, read-ahead, synchronous, metadata.
#[test]
fn blkparse_tells_forced_unit_access_from_a_flush_before() {
    for (rwbs, op) in [
        ("W", Command::Write),
        ("WS", Command::Write),
        ("WSM", Command::Write),
        ("WF", Command::WriteThrough),
        ("WFS", Command::WriteThrough),
        ("WFSM", Command::WriteThrough),
        ("FW", Command::Write),
        ("FWS", Command::Write),
        ("FWFS", Command::WriteThrough),
        ("FWFSM", Command::WriteThrough),
        ("R", Command::Read),
        ("RF", Command::Read),
        ("RAM", Command::Read),
    ] {
        let line = format!("8,0 3 1 0.000000007 697 Q {rwbs} 64 + 8 [x]\n");
        let requests = good("blkparse", line.as_bytes(), &ReadOptions::default());
        assert_eq!(requests, [(7, 0, 64, 8, op)], "{rwbs}");
    }
    let line = b"8,0 3 1 0.000000007 697 Q FWFS [x]\n";
    let requests = good("blkparse", line, &ReadOptions::default());
    assert_eq!(requests, [(7, 0, 0, 0, Command::Flush)]);
}

/// The bits of the upper half of the action, as in `blktrace_api.h`: write 2, flush 4, synchronous 8,
/// queue 0x10, forced unit access 0x8000.
#[test]
fn blktrace_tells_forced_unit_access_from_a_flush_before() {
    for little in [true, false] {
        for (bits, bytes, op) in [
            (0x12u32, 4096, Command::Write),
            (0x1a, 4096, Command::Write),
            (0x8012, 4096, Command::WriteThrough),
            (0x801a, 4096, Command::WriteThrough),
            (0x16, 4096, Command::Write),
            (0x8016, 4096, Command::WriteThrough),
            (0x8011, 4096, Command::Read),
            (0x14, 0, Command::Flush),
            (0x8016, 0, Command::Flush),
        ] {
            let record = blktrace::event(little, (9, 64), bytes, bits << 16 | 1, 0);
            let requests = good("blktrace", &record, &ReadOptions::default());
            let blocks = bytes / 512;
            assert_eq!(requests, [(9, 0, 64, blocks, op)], "{bits:#x}");
        }
    }
}

#[test]
fn fio_wait_is_read_both_ways() {
    let bytes = b"fio version 2 iolog\nf add\nf open\nf wait 5\nf wait 200\nf read 0 512\nf close\n";
    let time = |wait: &str| good("fio-iolog", bytes, &with(&format!("wait = {wait:?}")))[0].0;
    assert_eq!(time("milliseconds-since-start"), 200_000_000);
    assert_eq!(time("microseconds-since-wait"), 200_000);
    // Lines of version 3 have times of their own.
    let third = |waits: &str| format!("fio version 3 iolog\n0 f add\n{waits}5 f read 0 512\n").into_bytes();
    let read = |waits| good("fio-iolog", &third(waits), &ReadOptions::default());
    assert_eq!(read("3 f wait\n"), read(""));
}

#[test]
fn seconds_are_spread_evenly_on_request() {
    let bytes = b"10,0,8,0,1\n10,8,8,0,1\n11,0,8,1,1\n";
    let options = with("spread_seconds = true");
    let times: Vec<u64> = good("tencent", bytes, &options).iter().map(|r| r.0).collect();
    assert_eq!(times, [0, 500_000_000, 1_000_000_000]);
}

#[test]
fn writers_round_trip_what_they_hold() {
    use proptest::prelude::*;
    use std::sync::{Arc, Mutex};
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Shared {
        fn write(&mut self, b: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(b);
            Ok(b.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let request = (
        0u64..1 << 40,
        0u32..5,
        0u64..1 << 50,
        1u32..1 << 20,
        prop::sample::select(vec![Command::Read, Command::Write, Command::WriteThrough, Command::Flush]),
    );
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) };
    proptest!(config, |(gaps in prop::collection::vec(request, 1..50))| {
        for (format, ..) in headstack_trace::writer::WRITERS {
            // fio's log counts microseconds and numbers devices in order of appearance.
            let fio = *format == "fio-iolog";
            let holds = |op| match op {
                Command::Read | Command::Write => true,
                Command::ReadThrough => false,
                Command::WriteThrough => ["csv", "parquet"].contains(format),
                Command::Flush => fio || ["csv", "parquet"].contains(format),
            };
            let mut now = 0;
            let mut requests: Vec<_> = gaps.iter().map(|&(gap, device, lba, blocks, op)| {
                now += if fio { gap / 1000 * 1000 } else { gap };
                let flush = op == Command::Flush;
                Request {
                    time: Time(now),
                    device: if fio { 0 } else { device },
                    lba: Lba(if flush { 0 } else { lba }),
                    blocks: if flush { 0 } else { blocks },
                    op, ..Request::default() }
            }).collect();
            let out = Shared::default();
            let mut writer = headstack_trace::writer::create_on(format, out.clone(), "out").unwrap();
            for r in &requests {
                let written = writer.write(r);
                prop_assert_eq!(written.is_ok(), holds(r.op), "{}", format);
                if let Err(e) = written {
                    let named = format!("got a {}", r.op.name());
                    prop_assert!(e.to_string().contains(&named), "{}", e);
                }
            }
            requests.retain(|r| holds(r.op));
            writer.finish().unwrap();
            let bytes = out.0.lock().unwrap().clone();
            let back: Vec<Request> = read(format, &bytes, &ReadOptions::default())
                .into_iter().map(|r| r.unwrap()).collect();
            prop_assert_eq!(&back, &requests, "{}", format);
        }
    });
}

/// 2^62 ns are 4611686018.427387904 s. In the order of the file and sorted, the first record after this time,
/// counted from the trace's origin, is a wrong record.
#[test]
fn times_past_the_end_of_simulated_time_are_wrong_records() {
    let csv = b"time_ns,device,lba,blocks,op\n5,0,0,8,read\n4611686018427387904,0,0,8,read\n4611686018427387905,0,0,8,read\n9223372036854775808,0,0,8,read\n";
    let late = "got time 4611686018427387905 ns, need at most 2^62 ns (146 years)";
    for order in [Order::Strict, Order::Sort(2), Order::Sort(100)] {
        let options = |on_error| ReadOptions { on_error, order, ..ReadOptions::default() };
        let all = read("csv", csv, &options(OnError::Fail));
        assert_eq!(all.len(), 3);
        let error = all[2].as_ref().unwrap_err().to_string();
        assert!(error.ends_with(late) && error.contains(":4: "), "{error}");
        let skip = options(OnError::Skip);
        assert_eq!(good("csv", csv, &skip).len(), 2);
        assert_eq!(skip.counters.counts().skipped, 2);
    }
    // Dates count from the first request: here both are beyond 2^63 ns since 1601.
    let msr = b"128166372003061629,src1,0,Read,0,512,0\n128166372003061639,src1,0,Read,0,512,0\n";
    let times: Vec<u64> = good("msr", msr, &ReadOptions::default()).iter().map(|r| r.0).collect();
    assert_eq!(times, [0, 1000]);
}

#[test]
fn every_format_takes_its_parameters_and_refuses_others() {
    for format in PLUGINS.iter() {
        let bytes = (format.facts.sample)();
        for first in read(format.name(), &bytes, &with(format.example())) {
            // The number of events in a trace depends on the parameter.
            let asked = format.example().starts_with("action");
            assert!(first.is_ok() || asked, "{}: {first:?}", format.name());
        }
        let refused = |parameters: &str| {
            let all = read(format.name(), &bytes, &with(parameters));
            assert_eq!(all.len(), 1, "{}: {parameters}", format.name());
            all[0].as_ref().unwrap_err().to_string()
        };
        let error = refused("no_such_key = 1");
        let start = format!("format_parameters: got key \"no_such_key\" for {}, need ", format.name());
        assert!(error.starts_with(&start), "{error}");
        if let Some((key, _)) = format.example().split_once(" = ") {
            let misspelt = format!("{}{} = 1", &key[1..2], key);
            let error = refused(&misspelt);
            assert!(error.ends_with(&format!("did you mean {key:?}?")), "{error}");
            let error = refused(&format!("{key} = []"));
            assert!(error.starts_with(&format!("format_parameters.{key}: got ")), "{error}");
        }
    }
}

/// A window of 100 MiB of a file fits in 128 MiB, but not in the usual 64 MiB.
#[test]
fn files_get_the_extent_that_is_asked_for() {
    let bytes = b"filename,file_offset,op_type,request_io_size_bytes,disk_io_size_bytes,start_time\n\
        a,104857600,READ,512,512,1.0\nb,0,READ,512,512,2.0\n";
    let requests = good("thesios", bytes, &with(r#"file_extent = "128 MiB""#));
    let places: Vec<u64> = requests.iter().map(|r| r.2).collect();
    assert_eq!(places, [100 << 11, 128 << 11]);
    let error = read("thesios", bytes, &ReadOptions::default())[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("hint: format_parameters = { file_extent = "), "{error}");
}

/// The example of each text format, alone and after other first bytes.
fn texts() -> Vec<(&'static Format, String)> {
    let text = |f: &'static Format| Some((f, String::from_utf8((f.facts.sample)()).ok()?));
    PLUGINS.iter().filter_map(text).collect()
}

#[test]
fn a_byte_order_mark_changes_nothing() {
    let options = ReadOptions::default();
    for (format, text) in texts() {
        let read = |bytes: Vec<u8>, named| -> Vec<Request> {
            let input = Input::from_bytes(bytes, "test");
            let source = open_with(input, named, &options);
            let source = source.unwrap_or_else(|e| panic!("{}: {e}", format.name()));
            source.map(|r| r.unwrap()).collect()
        };
        let plain = read(text.clone().into_bytes(), Some(format));
        let marked = [BYTE_ORDER_MARK, text.as_bytes()].concat();
        assert_eq!(read(marked.clone(), Some(format)), plain, "{}", format.name());
        // If the format is detected without the byte-order mark, it is also detected with it.
        let found = detect(text.as_bytes(), "test", &PLUGINS).map(|f| f.name());
        let again = detect(&marked, "test", &PLUGINS).map(|f| f.name());
        assert_eq!(found, again, "{}", format.name());
    }
}

#[test]
fn one_wrong_line_does_not_hide_the_format() {
    let mut hidden = 0;
    for (format, text) in texts() {
        // In these formats the first line describes the others.
        if ["csv", "systor17", "thesios", "fio-iolog"].contains(&format.name()) {
            continue;
        }
        let lines = text.lines().next().unwrap();
        for wrong in 0..3 {
            let mut all = [lines; 3];
            all[wrong] = "wrong";
            let bytes = all.join("\n") + "\n";
            let found = detect(bytes.as_bytes(), "test", &PLUGINS).map(|f| f.name());
            let alone = detect(lines.as_bytes(), "test", &PLUGINS).map(|f| f.name());
            assert_eq!(found, alone, "{}: line {wrong}", format.name());
            hidden += usize::from(found == Some(format.name()));
        }
        // With more wrong lines than right ones, the format is not detected, except blkparse, which has lines
        // of any kind.
        let bytes = format!("wrong\n{lines}\nwrong\n");
        let found = detect(bytes.as_bytes(), "test", &PLUGINS).map(|f| f.name());
        assert_eq!(found, (format.name() == "blkparse").then_some("blkparse"));
    }
    assert!(hidden > 12, "{hidden}");
}

#[test]
fn reading_can_be_ended_from_outside() {
    let options = ReadOptions::default();
    options.counters.stop();
    let path = Path::new("/dev/zero");
    if path.exists() {
        let error = open(path, Some("csv"), &options).err().map(|e| e.to_string());
        assert!(error.is_some_and(|e| e.contains("the reading was ended")));
    }
}

#[test]
fn what_is_no_trace_is_told_in_plain_words() {
    const LIST: &str = "need a trace in one of alibaba,";
    for (bytes, want) in [
        (&b""[..], format!("got an empty file, {LIST}")),
        (b"\x89PNG\r\n\x1a\n\0\0", format!("got a binary file of an unknown kind, {LIST}")),
        (b"a\xffb\n", format!("got a binary file of an unknown kind, {LIST}")),
        (b"<!DOCTYPE html>\n<html>", format!("got a page of HTML, {LIST}")),
        (b"Dear Sir,\n", format!("got \"Dear Sir,\\n\", {LIST}")),
        (
            b"time_us;lba;blocks;op\n1;2;8;R\n",
            "1: got columns separated by semicolons, need commas, as in time_us,lba,blocks,op".into(),
        ),
        (
            b"Time_us,LBA,Blocks,Op\n",
            "1: got columns Time_us, LBA, Blocks, Op, need names in small letters, as in time_us,".into(),
        ),
        (
            b"timestamp,sector,length,type\n",
            "1: got columns timestamp, sector, length, type, need those of a csv trace, as in time_us,".into(),
        ),
        (b"1,2,8,R\n", "1: got \"1,2,8,R\", need a first line with the names of the columns, as in time_us,".into()),
    ] {
        let input = Input::from_bytes(bytes.to_vec(), "test");
        let error = match open_with(input, None, &ReadOptions::default()) {
            Ok(_) => panic!("a trace: {bytes:?}"),
            Err(error) => error.to_string(),
        };
        let error = error.trim_start_matches("test:").trim_start();
        assert!(error.starts_with(&want), "{error}");
    }
}
