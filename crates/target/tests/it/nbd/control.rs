//! The control directory and the page of metrics: what is read is true, what is written takes effect or is refused.

use crate::nbd::client::{folder, options, Server, READ};
use headstack_target::emulate::Emulation;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// Two drives, each under a host queue.
fn experiment(drive: &str) -> String {
    format!(
        r#"
[workload]
synthetic = {{ n_requests = 1, rate = "1/s" }}
[[system]]
name = "shelf"
drive = "{drive}"
count = 2
layers = [{{ name = "host-queue", elevator = "mq-deadline", nr_requests = 64, depth = 32 }}]
"#
    )
}

/// A server with a control directory; `None`, with a message, where there is no FUSE.
fn shelf(drive: &str) -> Option<(Server, PathBuf)> {
    let folder = folder();
    let (file, control) = (folder.path().join("shelf.toml"), folder.path().join("control"));
    std::fs::write(&file, experiment(drive)).unwrap();
    let mut options = options(&folder, &file.to_string_lossy(), 0.0);
    options.control = Some(control.clone());
    match Emulation::start(&options, Arc::new(AtomicBool::new(false))) {
        Err(e) if e.to_string().starts_with("control") => {
            println!("skipped: {e}");
            return None;
        }
        Err(e) => panic!("{e}"),
        Ok(first) => drop(first),
    }
    Some((Server::with(folder, &options), control))
}

fn read(folder: &Path, file: &str) -> String {
    let text = std::fs::read_to_string(folder.join(file));
    text.unwrap_or_else(|e| panic!("{file}: {e}")).trim_end().into()
}

fn write(folder: &Path, file: &str, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).truncate(true).open(folder.join(file))?;
    file.write_all(format!("{text}\n").as_bytes())
}

#[test]
fn files_say_what_is_and_set_what_is_written() {
    let Some((server, dir)) = shelf("exos-2x18-sata") else { return };
    let blocks = server.bytes / 512;
    for (file, want) in [
        ("0/size", blocks.to_string().as_str()),
        ("1/queue/nr_requests", "64"),
        ("0/queue/scheduler", "none deadline [mq-deadline] ranges bfq"),
        ("0/queue/rotational", "1"),
        ("0/device/queue_depth", "32"),
        ("0/queue/iosched/read_expire", "500"),
        ("0/device/model", "exos-2x18-sata"),
        ("1/device/model", "exos-2x18-sata"),
        ("0/device/state", "running"),
        ("0/device/cdl_supported", "0"),
        ("0/queue/independent_access_ranges/0/sector", "0"),
        ("0/queue/independent_access_ranges/1/sector", &(blocks / 2).to_string()),
        ("0/queue/independent_access_ranges/1/nr_sectors", &(blocks / 2).to_string()),
        ("1/health", "good"),
        ("error", ""),
    ] {
        assert_eq!(read(&dir, file), want, "{file}");
    }
    for (file, value) in [
        ("1/queue/nr_requests", "16"),
        ("0/device/queue_depth", "4"),
        ("0/queue/iosched/read_expire", "2000"),
        ("0/hwmon/power1_average_interval", "5000"),
        ("0/device/state", "blocked"),
        ("0/device/state", "running"),
    ] {
        write(&dir, file, value).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(read(&dir, file), value, "{file}");
    }
    // An elevator without deadlines; its places are the usual ones. With another one they are there again.
    write(&dir, "0/queue/scheduler", "bfq").unwrap();
    let shown = read(&dir, "0/queue/scheduler");
    assert_eq!(shown, "none deadline mq-deadline ranges [bfq]");
    write(&dir, "0/queue/iosched/read_expire", "100").unwrap_err();
    write(&dir, "0/queue/scheduler", "mq-deadline").unwrap();
    assert_eq!(read(&dir, "0/queue/iosched/read_expire"), "500");
    // The other one is as before.
    let shown = read(&dir, "1/queue/scheduler");
    assert_eq!(shown, "none deadline [mq-deadline] ranges bfq");
    assert_eq!(read(&dir, "0/queue/nr_requests"), "64");
    assert_eq!(read(&dir, "1/device/queue_depth"), "32");
}

#[test]
fn what_does_not_fit_is_einval_and_said_in_words() {
    let Some((_server, dir)) = shelf("exos-2x18-sata") else { return };
    for (file, value, said) in [
        ("0/queue/nr_requests", "many", "got \"many\", need a whole number"),
        ("0/queue/scheduler", "cfq", "got \"cfq\", need one of none, deadline, mq-deadline"),
        ("0/device/queue_depth", "0", "got 0, need 1 to 32, the drive's commands"),
        ("0/device/queue_depth", "33", "got 33, need 1 to 32, the drive's commands"),
        ("0/queue/iosched/read_expire", "2147483648", "got 2147483648, need at most 2147483647"),
        ("0/device/state", "broken", "need running, offline or blocked"),
        ("0/device/cdl_enable", "1", "no command duration limits"),
        ("change", "queue_depht = 3", "did you mean"),
        ("power_loss", "1", "need one that was started with it"),
    ] {
        let error = write(&dir, file, value).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{file}: {error}");
        let why = read(&dir, "error");
        assert!(why.starts_with(file) && why.contains(said), "{why}");
    }
    // A shell's printf writes line by line.
    let error = write(&dir, "change", "layer = \"fault\"").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(read(&dir, "error").contains("printf ... | dd of=change"));
    write(&dir, "0/device/queue_depth", "16").unwrap();
    assert_eq!(read(&dir, "error"), "");
    let denied = write(&dir, "0/size", "1").unwrap_err();
    // Root may open it; then the write is refused.
    let kinds = [ErrorKind::PermissionDenied, ErrorKind::InvalidInput];
    assert!(kinds.contains(&denied.kind()), "{denied}");
}

/// Nothing is shown that would be refused, and a drive whose queue has no limit takes a depth, with a host queue or not.
#[test]
fn a_queue_without_limit_takes_a_depth() {
    let folder = folder();
    let control = folder.path().join("control");
    let mut options = options(&folder, "barracuda-es-750", 0.0);
    options.control = Some(control.clone());
    if Emulation::start(&options, Arc::default()).is_err() {
        return println!("skipped: no FUSE");
    }
    let single = Server::with(folder, &options);
    let shelf = shelf("barracuda-es-750").unwrap();
    for dir in [&control, &shelf.1] {
        let before = read(dir, "0/device/queue_depth");
        for depth in ["4", "32", &before] {
            write(dir, "0/device/queue_depth", depth).unwrap();
            assert_eq!(read(dir, "0/device/queue_depth"), depth);
        }
        write(dir, "0/device/queue_depth", "65537").unwrap_err();
    }
    drop(single);
}

#[test]
fn faults_and_counts_show_there() {
    let Some((server, dir)) = shelf("exos-x18") else { return };
    let mut client = server.client(false);
    client.write(0, &[7; 4096]);
    client.read(0, 8192);
    let stat: Vec<u64> = read(&dir, "0/stat").split_whitespace().map(|n| n.parse().unwrap()).collect();
    assert_eq!(stat.len(), 17);
    assert_eq!((stat[0], stat[2], stat[4], stat[6], stat[8]), (1, 16, 1, 8, 0));
    write(&dir, "change", "layer = \"fault\"\nbad = { block = 16 }").unwrap();
    assert_eq!(client.ask(READ, 8192, 512, b"").0, 5);
    assert_eq!(read(&dir, "0/health"), "last error: medium, sense 3h/11h/00h");
    write(&dir, "change", "drives = [1]\nfail = { surface = 3, warning = true }").unwrap();
    assert!(read(&dir, "1/health").contains("head 3 of arm 0 of stack 0 out of use since"));
    // Both drives turn.
    let energy: f64 = read(&dir, "1/hwmon/energy1_input").parse().unwrap();
    assert!(energy > 0.0);
    let metrics = read(&dir, "metrics");
    for line in [
        "headstack_requests_total{device=\"0\",op=\"read\"} 2",
        "headstack_failed_requests_total{device=\"0\",op=\"read\"} 1",
        "headstack_bytes_total{device=\"0\",op=\"write\"} 4096",
        "headstack_response_seconds_count{device=\"0\",op=\"write\"} 1",
        "headstack_errors_total{kind=\"medium\"} 1",
        "headstack_lateness_seconds_count 3",
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line} in\n{metrics}");
    }
}

#[test]
fn metrics_are_served_over_http() {
    let folder = folder();
    let mut options = options(&folder, "ibm-18es", 0.0);
    options.metrics = Some(("127.0.0.1:0".into(), false));
    let server = Server::with(folder, &options);
    let at = server.metrics().unwrap();
    let (host, _) = at.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let ask = |head: &str| {
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let page = ask("GET /metrics");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("text/plain; version=0.0.4"), "{page}");
    assert!(page.contains("# TYPE headstack_lateness_seconds histogram"), "{page}");
    assert!(ask("GET /").starts_with("HTTP/1.1 404"));
    assert!(ask("POST /metrics").starts_with("HTTP/1.1 405"));
    // Each bucket holds those before it.
    let buckets: Vec<f64> = page
        .lines()
        .filter(|l| l.starts_with("headstack_lateness_seconds_bucket"))
        .map(|l| l.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(buckets.len() > 5 && buckets.windows(2).all(|w| w[0] <= w[1]));
}

#[test]
fn addresses_of_other_machines_are_refused() {
    let folder = folder();
    let mut options = options(&folder, "ibm-18es", 0.0);
    options.metrics = Some(("0.0.0.0:0".into(), false));
    let started = Emulation::start(&options, Arc::new(AtomicBool::new(false)));
    let error = started.err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("metrics") && error.contains("--allow-remote"), "{error}");
}
