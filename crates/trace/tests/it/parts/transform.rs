use headstack_schema::Parameter;
use headstack_trace::error::TraceError;
use headstack_trace::request::{Command, Request};
use headstack_trace::source::Each;
use headstack_trace::source::{Requests, Source};
use headstack_trace::transform::*;
use headstack_units::{Lba, Time};

fn requests() -> Source {
    let all = (0..6u64).map(|i| Request {
        time: Time(i * 1_000_000_000),
        device: (i % 3) as u32,
        lba: Lba(10 * i),
        blocks: 5,
        ..Request::default()
    });
    Box::new(Each(all.map(Ok)))
}

fn run(toml: &str) -> Vec<(u64, u32, u64)> {
    let transform: Transform = toml::from_str(toml).unwrap();
    let source = transform.open(|| Ok(requests())).unwrap();
    let all: Vec<(u64, u32, u64)> =
        source.map(|r| r.unwrap()).map(|r| (r.time.0 / 1_000_000, r.device, r.lba.0)).collect();
    if let Some(kept) = transform.keeps(6) {
        assert_eq!(kept, all.len() as u64, "{toml}");
    }
    all
}

#[test]
fn each_key_does_what_it_says() {
    assert_eq!(run("devices = [1]"), [(1000, 1, 10), (4000, 1, 40)]);
    assert_eq!(run("start = '2 s'\nend = '4 s'"), [(2000, 2, 20), (3000, 0, 30)]);
    assert_eq!(run("skip = 4\ncount = 1"), [(4000, 1, 40)]);
    assert_eq!(run("skip = 5\nstart_at_zero = true"), [(0, 2, 50)]);
    assert_eq!(run("skip = 5\nremap = [[2, 9]]"), [(5000, 9, 50)]);
    assert_eq!(run("skip = 5\ntime_scale = 2.0"), [(10000, 2, 50)]);
    assert_eq!(run("skip = 5\nspace_scale = 0.5"), [(5000, 2, 25)]);
    assert_eq!(run("skip = 5\nshift = -7"), [(5000, 2, 43)]);
    assert_eq!(run("skip = 5\nshift = '4 KiB'"), [(5000, 2, 58)]);
    assert_eq!(run("skip = 5\nshift = '-4 KiB'"), [(5000, 2, 42)]);
    // Addresses move before they are scaled, and are aligned after that: (50 + 7) * 0.5 = 28.
    let all = "skip = 5\nshift = 7\nspace_scale = 0.5\nalign = '4 KiB'\ntime_scale = 2.0";
    assert_eq!(run(all), [(10000, 2, 24)]);
    let moved = "shift = 3\nconcatenate = 'measured'\nskip = 4";
    // Ends of the last two requests: device 1 at 48, device 2 at 58.
    assert_eq!(run(moved), [(4000, 0, 43), (5000, 0, 48 + 53)]);
    // Ends: device 0 at 35, device 1 at 45, device 2 at 55.
    let bases: Vec<u64> = run("concatenate = 'measured'").iter().map(|r| r.2).collect();
    assert_eq!(bases, [0, 35 + 10, 35 + 45 + 20, 30, 35 + 40, 35 + 45 + 50]);
    let bases: Vec<u64> = run("concatenate = ['51200 B', '51200 B', '51200 B']").iter().map(|r| r.2).collect();
    assert_eq!(bases, [0, 110, 220, 30, 140, 250]);
}

fn change_one(toml: &str, lba: u64, blocks: u32, op: Command) -> Result<(u64, u32), String> {
    let transform: Transform = toml::from_str(toml).unwrap();
    let one = Request { lba: Lba(lba), blocks, op, ..Request::default() };
    let source: Source = Box::new(Each(std::iter::once(Ok(one))));
    let mut source = transform.apply(source).map_err(|e| e.to_string())?;
    let changed = source.next().unwrap().map_err(|e| e.to_string())?;
    Ok((changed.lba.0, changed.blocks))
}

/// By hand: sectors of 8 blocks begin at 0, 8, 16, 24.
#[test]
fn aligned_requests_cover_whole_sectors() {
    for (lba, blocks, want) in
        [(0, 8, (0, 8)), (7, 8, (0, 8)), (63, 16, (56, 16)), (9, 1, (8, 8)), (16, 9, (16, 16)), (23, 2, (16, 8))]
    {
        let got = change_one("align = '4 KiB'", lba, blocks, Command::Write);
        assert_eq!(got, Ok(want), "{lba} {blocks}");
    }
    // What follows a request still follows it.
    let (a, n) = change_one("align = '4 KiB'", 63, 24, Command::Read).unwrap();
    assert_eq!(change_one("align = '4 KiB'", 63 + 24, 24, Command::Read), Ok((a + u64::from(n), n)));
    let flush = change_one("align = '4 KiB'\nshift = 7", 0, 0, Command::Flush);
    assert_eq!(flush, Ok((0, 0)));
}

/// Blocks below zero are beyond every device, whatever is done to them after the shift.
#[test]
fn a_shift_below_zero_is_outside_the_device() {
    let below = |toml: &str| change_one(toml, 6, 8, Command::Read).unwrap().0 as i64;
    assert_eq!(below("shift = -7"), -1);
    assert_eq!(below("shift = -7\nalign = '4 KiB'"), -8);
    assert_eq!(below("shift = -8\nspace_scale = 2.0"), -4);
    assert_eq!(below("shift = -6"), 0);
    for sizes in ["'measured'", "['1 MB']"] {
        let toml = format!("shift = -7\nconcatenate = {sizes}");
        let transform: Transform = toml::from_str(&toml).unwrap();
        let one = || -> Result<Source, TraceError> {
            let request = Request { lba: Lba(6), blocks: 8, ..Request::default() };
            Ok(Box::new(Each(std::iter::once(Ok(request)))))
        };
        let mut source = transform.open(one).unwrap();
        let error = source.next().unwrap().unwrap_err().to_string();
        assert!(error.starts_with("transform.shift:1: got block 6"), "{error}");
    }
}

/// Batches contain the same requests as one at a time, up to the end or an error.
#[test]
fn batches_are_requests_one_by_one() {
    let long = |wrong: u64| -> Source {
        let all = (0..1000u64).map(move |i| match i {
            i if i == wrong => {
                Err(TraceError::Input { path: "here".into(), got: i.to_string(), need: "a request".into() })
            }
            i => Ok(Request {
                time: Time(i * 1_000_000_000),
                device: (i * 7 % 5) as u32,
                lba: Lba(i * 13 % 400),
                blocks: 8,
                ..Request::default()
            }),
        });
        Box::new(Each(all))
    };
    for toml in [
        "",
        "devices = [1, 3]",
        "shift = -7\nalign = '4 KiB'",
        "start = '20 s'\nend = '700 s'\nskip = 30",
        "count = 77\nstart_at_zero = false",
        "count = 0",
        // Device 4 has no size.
        "concatenate = ['1 MB', '1 MB', '1 MB', '1 MB']",
        "remap = [[4, 0]]\nconcatenate = ['1 MB', '1 MB', '1 MB', '1 MB']\ntime_scale = 0.5",
    ] {
        let transform: Transform = toml::from_str(toml).unwrap();
        for wrong in [0, 1, 256, 999, 1000] {
            // An unchanged source is returned as it is: it ends itself after an error.
            let end = if toml.is_empty() { wrong + 1 } else { 1000 };
            let long = |wrong| -> Source { Box::new(Each(long(wrong).take(end as usize))) };
            let (mut want, mut want_error) = (Vec::new(), None);
            for request in transform.apply(long(wrong)).unwrap() {
                match request {
                    Ok(request) => want.push(request),
                    Err(e) => want_error = Some(e.to_string()),
                }
            }
            for most in [1, 3, 256, 5000] {
                let mut source = transform.apply(long(wrong)).unwrap();
                let mut got = Vec::new();
                let error = loop {
                    let before = got.len();
                    match source.fill(&mut got, most) {
                        Err(e) => break Some(e.to_string()),
                        Ok(()) if got.len() < before + most => break None,
                        Ok(()) => {}
                    }
                };
                assert_eq!((&got, &error), (&want, &want_error), "{toml:?} {wrong} {most}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    for (toml, need) in [
        ("time_scale = 0.0", "transform.time_scale"),
        ("align = '1 kB'", "transform.align: got 1000 B, need a multiple of 512 bytes"),
        ("align = '0 B'", "transform.align: got 0 B, need a multiple of 512 bytes"),
        ("align = '2 GiB'", "transform.align: got 2147483648 B, need a multiple"),
        ("shift = 36028797018963968", "transform.shift:1: got block 0, need blocks below 2^55"),
        ("concatenate = ['51200 B']", "device 1"),
        ("concatenate = ['512 B', '512 B', '512 B']", "1 blocks"),
        // 5 s times 10^9 are 158 years; 4 s are 127.
        ("time_scale = 1e9", "transform.time_scale:6: got time 5000000000 ns times 1000000000, need at most 2^62 ns"),
        ("space_scale = 1e15", "transform.space_scale:5: got block 40 times 1000000000000000, need blocks below 2^55"),
    ] {
        let error = match Transform::read(&toml::from_str(toml).unwrap()) {
            Err(error) => error.within("transform").into(),
            Ok(transform) => match transform.open(|| Ok(requests())) {
                Err(error) => error,
                Ok(source) => source.map(Result::err).find_map(|e| e).unwrap(),
            },
        };
        assert!(error.to_string().contains(need), "{error}");
    }
    for (value, need) in [
        ("\"7\"", "got \"7\", need a size such as \"-4 KiB\""),
        ("\"7 kB\"", "got \"7 kB\", need a multiple of 512 bytes"),
        ("1.5", "got 1.5, need a whole number of blocks, or a size such as \"-4 KiB\""),
        ("9223372036854775807", "need less than 2^55 blocks"),
        ("true", "got true, need a whole number of blocks"),
    ] {
        let table = serde_json::from_str(&format!("{{\"shift\": {value}}}")).unwrap();
        let error = Transform::read(&table).unwrap_err().to_string();
        assert!(error.starts_with("shift: ") && error.contains(need), "{error}");
    }
}
