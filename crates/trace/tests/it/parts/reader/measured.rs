use headstack_trace::reader::blktrace;
use headstack_trace::reader::measured::*;
use headstack_trace::request::Command;

type Row = (Command, u64, u32, i64, i64);

fn read(name: &str, bytes: &[u8]) -> Result<Vec<Row>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let found = read_measured(&path).map_err(|e| e.to_string())?.into_iter();
    Ok(found.map(|r| (r.op, r.lba.0, r.blocks, r.measured.0, r.think.0)).collect())
}

const ROWS: [Row; 3] = [
    (Command::Read, 2048, 8, 3_000_000, 2_000_000),
    (Command::Write, 64, 16, 500_000, 4_500_000),
    (Command::Read, 8, 1, 12_000_000, 0),
];

/// By hand: sent at 1, 6 and 11 ms, which is when the flush between the last two is over.
#[test]
fn columns_with_response_times() {
    let text = b"time_ns,device,lba,blocks,op,response_ns\n1000000,0,2048,8,R,3000000\n\
        7000000,0,0,0,F,4000000\n6000000,0,64,16,W,500000\n11000000,0,8,1,R,12000000\n";
    assert_eq!(read("a", text).unwrap(), ROWS);
    for (text, message) in [
        (",lba\n1,0,R,8,5", ":1: got no response times, need a column response_s"),
        (",lba,response_ms\n1,0,R,8,0,x", ":2: column 6 \"response\": got \"x\""),
        (",lba,response_ms\n1,0,R,8,0,1\n3,1,R,8,0,1", "got device 1, need requests of one device"),
        (
            ",lba,response_ms\n1,0,R,8,0,5\n3,0,R,8,0,5",
            "got a request at 3000000 ns, before the one before it ended at 6000000 ns, need one",
        ),
    ] {
        let e = read("b", format!("time_ms,device,op,blocks{text}\n").as_bytes()).unwrap_err();
        assert!(e.contains(message), "{e}");
    }
}

/// Completions in the milliseconds 4, 4, 6 and 30 of requests that took 3, 0.5, 1.9 and 12 ms: the first ended at 4 ms, the
/// second half a millisecond later without a pause, the third at 6.4 and the last at 30 ms after 11.6 ms.
#[test]
fn latency_logs_of_fio() {
    let text = b"4, 3000000, 0, 4096, 1048576, 0\n4, 500000, 1, 8192, 32768, 0\n\
        5, 100, 2, 4096, 0, 0\n6, 1900000, 0, 512, 4096, 0x0000\n30, 12000000, 0, 512, 4096, 0\n";
    let want = [
        (Command::Read, 2048, 8, 3_000_000, 0),
        (Command::Write, 64, 16, 500_000, 0),
        (Command::Read, 8, 1, 1_900_000, 11_600_000),
        (Command::Read, 8, 1, 12_000_000, 0),
    ];
    assert_eq!(read("g", text).unwrap(), want);
    let e = read("h", b"4, 3000000, 0, 4096, 0\n").unwrap_err();
    assert!(e.contains("log_offset=1"), "{e}");
}

/// Events Q, D and C as in blktrace_api.h: a request takes from D to C; one is issued again, one never ends.
#[test]
fn issues_and_completions_of_blktrace() {
    let events = [
        (500_000, 2048, 8, 'Q', "R"),
        (900_000, 2048, 8, 'D', "R"),
        (1_000_000, 2048, 8, 'D', "R"),
        (4_000_000, 2048, 8, 'C', "R"),
        (6_000_000, 64, 16, 'D', "W"),
        (6_500_000, 64, 16, 'C', "W"),
        (11_000_000, 8, 1, 'D', "R"),
        (23_000_000, 8, 1, 'C', "R"),
        (24_000_000, 9, 1, 'D', "R"),
    ];
    let number = |letter| [(1, 'Q'), (7, 'D'), (8, 'C')].iter().find(|e| e.1 == letter).unwrap().0;
    let binary = events.map(|(t, sector, blocks, letter, rw)| {
        let action = number(letter) | if rw == "W" { 0x2_0000 } else { 0x1_0000 };
        blktrace::event(true, (t, sector), 512 * blocks, action, 0)
    });
    assert_eq!(read("i", &binary.concat()).unwrap(), ROWS);
    let text = events
        .map(|(t, sector, blocks, letter, rw)| format!("8,0 1 1 0.{t:09} 77 {letter} {rw} {sector} + {blocks} [x]\n"));
    assert_eq!(read("j", text.concat().as_bytes()).unwrap(), ROWS);
}
