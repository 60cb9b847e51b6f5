//! The program: arguments, sockets from outside, signals and ends.

use crate::nbd::client::{folder, greet, Client};
use headstack_testkit::rig::{soon, Program};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_headstack-target");
const SMALL: &str = "ibm-18es";

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    // The drives are part of the program.
    command.args(arguments).env_remove("HEADSTACK_DRIVES");
    command.stdin(Stdio::null());
    command
}

/// Whether a foreign program can be started; says so if not.
fn has(name: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok();
    if !found {
        println!("skipped: {name} is absent");
    }
    found
}

/// A connection to a server that starts: its socket is seen a moment before it listens there.
fn connected(path: &Path) -> UnixStream {
    soon("it listens", || UnixStream::connect(path).ok())
}

fn greeted(path: &Path) -> Client {
    Client::new(greet(connected(path)), false)
}

#[test]
fn help_and_version_are_printed() {
    let said = |argument| {
        let done = program(&[argument]).output().unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stdout).unwrap()
    };
    let help = said("--help");
    assert_eq!(help, said("-h"));
    for option in ["--nbd", "--store", "--speed", "--tls", "Exit status", "Examples"] {
        assert!(help.contains(option), "{option}");
    }
    assert!(help.lines().all(|line| line.len() <= 120));
    let version = concat!("headstack-target ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(said("--version"), version);
}

/// A link with the name of before serves iSCSI, at the protocol's port, which is in use here.
#[test]
fn a_link_with_the_name_of_before_serves_iscsi() {
    let folder = folder();
    let link = folder.path().join("headstack-iscsi");
    std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
    let _other = std::net::TcpListener::bind("127.0.0.1:3260");
    let done = Command::new(link).arg(SMALL).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && said.contains("iscsi address: got 127.0.0.1:3260"), "{said}");
}

#[test]
fn the_exit_status_tells_wrong_input_from_what_the_system_refuses() {
    let folder = folder();
    let busy = folder.path().join("busy");
    std::fs::create_dir(&busy).unwrap();
    let busy = format!("unix:{}", busy.display());
    let (store, link) = (folder.path().join("store"), folder.path().join("link"));
    std::fs::write(&store, b"data").unwrap();
    std::os::unix::fs::symlink(&store, &link).unwrap();
    let (store, link) = (store.to_str().unwrap(), link.to_str().unwrap());
    for (arguments, status, said) in [
        (&["exos-x81"][..], 2, "did you mean \"exos-x18\""),
        (&[], 2, "got no drive"),
        (&["exos-x18", "--speed", "fast"], 2, "fast"),
        (&["exos-x18", "--nbd", "0.0.0.0:0"], 2, "--allow-remote"),
        (&["exos-x18", "--nbd", "systemd"], 2, "LISTEN_FDS"),
        (&["exos-x18", "--tls", "on"], 2, "got no certificates"),
        (&["exos-x18", "--tls-psk", "keys"], 2, "not supported"),
        (&["exos-x18", "--unknown"], 2, "--unknown"),
        (&["exos-x18", "--nbd", &busy], 1, "need one that is free"),
        (&["exos-x18", "--store", "/no/such/file"], 1, "store: "),
        (&[SMALL, "--store", store, "--record", link], 2, "the file of the store"),
    ] {
        let done = program(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(status), "{arguments:?}: {text}");
        assert!(text.starts_with("headstack-target: ") && text.contains(said), "{text}");
        assert!(done.stdout.is_empty());
    }
    let mut data = [0; 4];
    std::fs::File::open(store).unwrap().read_exact(&mut data).unwrap();
    assert_eq!(&data, b"data");
}

#[test]
fn a_signal_ends_it_once_everything_is_answered() {
    let folder = folder();
    for name in ["TERM", "INT"] {
        let path = folder.path().join(name);
        let address = format!("unix:{}", path.display());
        let mut command = program(&["exos-x18", "--nbd", &address]);
        let mut server = Program::start(command.stderr(Stdio::piped()));
        assert_eq!(server.line(), format!("nbd+unix:///?socket={}", path.display()));
        let mut client = greeted(&path);
        // Reads far apart, of which the first takes some milliseconds.
        for i in 0..20 {
            client.send(0, 0, i * 512_000_000_000, 512, b"");
        }
        // The server has taken what came before this reply.
        assert_eq!(client.stream.read(&mut [0; 1]).unwrap(), 1);
        server.signal(name);
        let mut rest = Vec::new();
        client.stream.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.len(), 20 * (16 + 512) - 1);
        assert!(server.ended().success());
        let said = server.errors();
        assert!(said.starts_with("20 requests of 1 clients"), "{said}");
        assert!(!path.exists());
    }
}

/// Starts a server from a shell that waits, and does not replace itself with the program; kills the shell once there was
/// a client. The server's end closes standard output.
fn ends_with_the_shell(script: &str, path: &Path) {
    let script = format!("{script} & wait");
    let mut parent = Program::start(Command::new("sh").args(["-c", &script]).stderr(Stdio::null()));
    greeted(path).write(0, b"here");
    assert!(!parent.end("KILL").success());
    parent.rest();
}

#[test]
fn a_store_is_for_one_server_and_a_full_disk_ends_the_record_alone() {
    let folder = folder();
    let (path, store) = (folder.path().join("socket"), folder.path().join("store"));
    let (path, store) = (path.to_str().unwrap(), store.to_str().unwrap());
    let address = format!("unix:{path}");
    let record = ["--speed", "0", "--record", "/dev/full"];
    let mut command = program(&[&[SMALL, "--store", store, "--nbd", &address], &record[..]].concat());
    let mut server = Program::start(command.stderr(Stdio::piped()));
    connected(Path::new(path));
    let second = program(&[SMALL, "--store", store]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    // The kernel keeps 15 characters of a name.
    let holder = format!("process {} (headstack-targe) uses", server.child.id());
    assert!(second.status.code() == Some(1) && said.contains(&holder), "{said}");
    // More lines than are written at once; and the path has a newer socket at the end.
    let mut client = greeted(Path::new(path));
    (0..5_000).for_each(|i| client.write(i * 512, b"kept"));
    assert_eq!(client.read(4_999 * 512, 4), b"kept");
    std::fs::remove_file(path).unwrap();
    let newer = std::os::unix::net::UnixListener::bind(path).unwrap();
    assert!(server.end("TERM").success());
    let said = server.errors();
    assert_eq!(said.matches("the record ended early: record: /dev/full").count(), 1, "{said}");
    UnixStream::connect(path).unwrap();
    drop(newer);
}

#[test]
fn it_ends_with_its_parent() {
    let folder = folder();
    let path = folder.path().join("socket");
    let script = format!("{PROGRAM} exos-x18 --exit-with-parent --nbd unix:{}", path.display());
    ends_with_the_shell(&script, &path);
    assert!(!path.exists());
}

/// Libnbd's programs start a server so, and do not end it if they fail.
#[test]
fn a_server_that_a_client_started_for_itself_ends_with_the_client() {
    if !has("systemd-socket-activate") {
        return;
    }
    let folder = folder();
    let path = folder.path().join("socket");
    let script = format!("systemd-socket-activate -l {} {PROGRAM} exos-x18", path.display());
    ends_with_the_shell(&script, &path);
}

#[test]
fn a_store_longer_than_files_may_be_names_the_limit() {
    let folder = folder();
    let file = std::fs::File::create(folder.path().join("file")).unwrap();
    if file.set_len(18_000_207_937_536).is_ok() {
        println!("skipped: this file system has files of 18 TB");
    } else {
        let store = folder.path().join("store").display().to_string();
        let done = program(&["exos-x18", "--store", &store]).output().unwrap();
        let text = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1));
        assert!(text.contains("(ext4: 16 TiB; XFS has more)"), "{text}");
    }
}

#[test]
fn systemd_passes_it_sockets() {
    if !has("systemd-socket-activate") {
        return;
    }
    let folder = folder();
    let (path, other) = (folder.path().join("socket"), folder.path().join("other"));
    let mut command = Command::new("systemd-socket-activate");
    for path in [&path, &other] {
        command.arg("-l").arg(path);
    }
    command.args([PROGRAM, "exos-x18", "--speed", "0"]);
    let mut server = Program::start(command.stderr(Stdio::null()));
    // The program starts with the first client; both sockets lead to the same drive.
    greeted(&path).write(0, b"both");
    assert_eq!(greeted(&other).read(0, 4), b"both");
    assert!(server.end("TERM").success());
    assert_eq!(server.rest(), format!("nbd+unix:///?socket={}\n", path.display()));
    // Sockets of systemd are not the program's to remove.
    assert!(path.exists());
}

#[test]
fn a_connected_socket_is_refused() {
    if !has("systemd-socket-activate") {
        return;
    }
    let folder = folder();
    let path = folder.path().join("socket");
    let mut command = Command::new("systemd-socket-activate");
    // `-a`: one process for each client, as `Accept=yes` does.
    command.arg("-a").arg("-l").arg(&path);
    command.args([PROGRAM, "exos-x18"]);
    let mut server = Program::start(command.stderr(Stdio::piped()));
    let _client = connected(&path);
    let err = BufReader::new(server.child.stderr.take().unwrap());
    let said = err.lines().map_while(Result::ok).find(|l| l.contains("headstack-target: nbd"));
    let said = said.unwrap_or_default();
    assert!(said.contains("does not listen"), "{said}");
}

#[test]
fn nbdcopy_and_nbdinfo_start_it_for_themselves() {
    if !has("nbdcopy") || !has("nbdinfo") {
        return;
    }
    let folder = folder();
    let (image, store, back) = (folder.path().join("image"), folder.path().join("store"), folder.path().join("back"));
    let data: Vec<u8> = (0..3_000_000u32).map(|i| (i / 7) as u8).collect();
    std::fs::write(&image, &data).unwrap();
    let serve = ["[", PROGRAM, "conner-cp3100", "--speed", "0", "--store"];
    let ran = |command: &mut Command| {
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    ran(Command::new("nbdcopy").arg("--").arg(&image).args(serve).arg(&store).arg("]"));
    ran(Command::new("nbdcopy").arg("--").args(serve).arg(&store).arg("]").arg(&back));
    let back = std::fs::read(back).unwrap();
    assert!(back.len() > data.len() && back[..data.len()] == data);
    assert!(back[data.len()..].iter().all(|b| *b == 0));
    let said = ran(Command::new("nbdinfo").arg("--").args(serve).arg(&store).arg("]"));
    assert!(said.contains("is_rotational: true"), "{said}");
}
