//! Our clients with our servers.

use crate::{one_by_one, reads};
use headstack_probe::{open, Kind, Options, Pace, Status, Target};
use headstack_target::emulate::{Emulation, Options as Emulated};
use headstack_target::iscsi::server;
use headstack_target::nbd::address::Address;
use headstack_target::nbd::tls::TlsOptions;
use headstack_testkit::rig::Served;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// A drive over NBD and iSCSI.
struct Server {
    uri: String,
    url: String,
    bytes: u64,
    _thread: Served<()>,
}

impl Server {
    fn start(drive: &str, nbd: &str, speed: f64) -> Server {
        let live = headstack_target::open::Options { target: drive.into(), seed: Some(1), speed, ..Default::default() };
        let options = Emulated {
            live,
            nbd: Some((Address::parse(Some(nbd), false).unwrap(), TlsOptions::default())),
            iscsi: Some(server::Options { address: Some("127.0.0.1:0".into()), ..server::Options::default() }),
            ..Emulated::default()
        };
        let stop = Arc::new(AtomicBool::new(false));
        let emulation = Emulation::start(&options, stop.clone()).unwrap();
        let (uri, url, bytes) =
            (emulation.uri().unwrap(), emulation.urls().remove(0), emulation.live.devices()[0].bytes);
        let thread = Served::start(stop, || drop(emulation.serve().unwrap()));
        Server { uri, url, bytes, _thread: thread }
    }
}

fn target(name: &str) -> Box<dyn Target> {
    open(name, &Options::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Every pace, and sizes from a block to a mebibyte; each read ends once and well, in order where one waits for another.
fn reads_of_all_kinds(target: &mut dyn Target) {
    let blocks = target.described().blocks;
    let lba: Vec<u64> = (0..200).map(|i| i * 7919 * 64 % (blocks - 4096)).collect();
    let one = one_by_one(target, &lba, true);
    assert!(one.issued_ns[1..].iter().zip(&one.done_ns).all(|(issued, done)| issued >= done));
    for pace in [Pace::Closed(1), Pace::Closed(32), Pace::Together, Pace::At((0..200).map(|i| i * 10_000).collect())] {
        let answers = reads(target, &lba, pace.clone(), true);
        assert!(answers.issued_ns.iter().zip(&answers.done_ns).all(|(issued, done)| issued < done), "{pace:?}");
        assert!(answers.issued_ns.is_sorted(), "{pace:?}");
        assert!(answers.status.iter().all(|s| *s == Status::Good), "{pace:?}");
    }
    let sizes = [1, 8, 129, 2048];
    let of = target.described();
    let batch = headstack_probe::Batch::reads(of, vec![5, 70, 900, 3], sizes.to_vec(), Pace::Closed(4), false).unwrap();
    assert_eq!(target.run(&batch, &mut || true).unwrap().status, [Status::Good; 4]);
}

#[test]
fn exports_of_nbd_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let at_path = format!("unix:{}/a socket", folder.path().display());
    for address in [&at_path[..], "127.0.0.1:0"] {
        let server = Server::start("wd-re-2tb", address, 0.0);
        let mut target = target(&server.uri);
        let d = target.described().clone();
        assert_eq!((d.kind, d.blocks * 512, d.block_bytes), (Kind::Nbd, server.bytes, 512));
        assert_eq!((d.rotational, d.fua), (Some(true), false));
        reads_of_all_kinds(&mut *target);
    }
}

#[test]
fn units_of_iscsi_are_read_and_say_what_they_are() {
    let server = Server::start("exos-2x18-sata", "127.0.0.1:0", 0.0);
    let mut exos = target(&server.url);
    let d = exos.described().clone();
    let half = d.blocks / 2;
    assert_eq!((d.kind, d.blocks * 512, d.block_bytes, d.physical_bytes), (Kind::Iscsi, server.bytes, 512, 4096));
    assert_eq!((d.rotational, d.fua, d.ranges), (Some(true), true, vec![0..half, half..d.blocks]));
    assert_eq!(d.serial_sha256.len(), 16);
    assert!(!d.model.is_empty() && !d.firmware.is_empty());
    reads_of_all_kinds(&mut *exos);
    let refused = |url: String| open(&url, &Options::default()).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(refused(server.url.replace("iqn.", "iqn.x")).contains("which is not there"));
    assert!(refused(format!("{}7", server.url)).contains("a SCSI disk"));
}

/// A re-read of one block costs a turn if it passes the buffer by, also that of a drive below layers: 21 of them at least 20
/// turns, however late the host is.
#[test]
fn forced_reads_of_iscsi_pass_the_buffer_by() {
    let turn = 60e9 / 7200.0;
    let folder = tempfile::tempdir().unwrap();
    let mirrors = folder.path().join("mirrors.toml");
    let text = "[workload]\nsynthetic = { n_requests = 1, rate = \"1/s\" }\n[[system]]\nname = \"mirrors\"\n\
                drive = \"wd-re-2tb\"\ncount = 2\nlayers = [{ name = \"raid1\", read_policy = \"first\" }, \"host-queue\"]\n";
    std::fs::write(&mirrors, text).unwrap();
    for drive in ["wd-re-2tb", &mirrors.to_string_lossy()] {
        let server = Server::start(drive, "127.0.0.1:0", 1.0);
        let mut target = target(&server.url);
        let answers = one_by_one(&mut *target, &[80_000; 21], true);
        let all = (answers.done_ns[20] - answers.issued_ns[0]) as f64;
        assert!(all >= 20.0 * turn, "{drive}: {all} ns");
    }
}

#[test]
fn a_server_that_ends_is_an_error() {
    let server = Server::start("ibm-18es", "127.0.0.1:0", 0.0);
    let (mut nbd, mut iscsi) = (target(&server.uri), target(&server.url));
    drop(server);
    for target in [&mut *nbd, &mut *iscsi] {
        let batch = headstack_probe::Batch::reads(target.described(), vec![0], vec![8], Pace::Together, true).unwrap();
        let error = target.run(&batch, &mut || true).unwrap_err().to_string();
        assert!(error.starts_with("target: got "), "{error}");
    }
}
