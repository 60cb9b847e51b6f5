//! The program: arguments, sockets from outside, signals and ends.

use crate::client::{folder, Client};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_headstack-nbd");
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

/// Waits for something that happens soon.
fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ended(child: &mut Child) -> ExitStatus {
    soon("the program ends", || child.try_wait().unwrap())
}

/// A program that is ended with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &pid]).status();
    assert!(sent.unwrap().success());
}

/// A connection to a server that starts: its socket is seen a moment before it listens there.
fn connected(path: &Path) -> UnixStream {
    soon("it listens", || UnixStream::connect(path).ok())
}

fn greeted(path: &Path) -> Client {
    let mut stream = connected(path);
    let limit = Some(Duration::from_secs(60));
    stream.set_read_timeout(limit).unwrap();
    stream.read_exact(&mut [0; 18]).unwrap();
    stream.write_all(&3u32.to_be_bytes()).unwrap();
    Client::new(stream, false)
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
    let version = concat!("headstack-nbd ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(said("--version"), version);
}

#[test]
fn the_exit_status_tells_wrong_input_from_what_the_system_refuses() {
    let folder = folder();
    let busy = folder.join("busy");
    std::fs::create_dir(&busy).unwrap();
    let busy = format!("unix:{}", busy.display());
    let (store, link) = (folder.join("store"), folder.join("link"));
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
        assert!(text.starts_with("headstack-nbd: ") && text.contains(said), "{text}");
        assert!(done.stdout.is_empty());
    }
    let mut data = [0; 4];
    std::fs::File::open(store).unwrap().read_exact(&mut data).unwrap();
    assert_eq!(&data, b"data");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_signal_ends_it_once_everything_is_answered() {
    let folder = folder();
    for name in ["TERM", "INT"] {
        let path = folder.join(name);
        let address = format!("unix:{}", path.display());
        let mut command = program(&["exos-x18", "--nbd", &address]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Started(command.spawn().unwrap());
        let mut line = String::new();
        let mut out = BufReader::new(child.0.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        assert_eq!(line, format!("nbd+unix:///?socket={}\n", path.display()));
        let mut client = greeted(&path);
        // Reads far apart, of which the first takes some milliseconds.
        for i in 0..20 {
            client.send(0, 0, i * 512_000_000_000, 512, b"");
        }
        // The server has taken what came before this reply.
        assert_eq!(client.stream.read(&mut [0; 1]).unwrap(), 1);
        signal(&child.0, name);
        let mut rest = Vec::new();
        client.stream.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.len(), 20 * (16 + 512) - 1);
        assert!(ended(&mut child.0).success());
        let mut said = String::new();
        let mut err = child.0.stderr.take().unwrap();
        err.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("20 requests of 1 clients"), "{said}");
        assert!(!path.exists());
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Starts a server from a shell that waits, and does not replace itself with the program; kills the shell once there was
/// a client. The server's end closes standard output.
fn ends_with_the_shell(script: &str, path: &Path, says: impl FnOnce(&mut dyn BufRead)) {
    let mut parent = Command::new("sh");
    parent.args(["-c", &format!("{script} & wait")]);
    parent.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut parent = Started(parent.stderr(Stdio::null()).spawn().unwrap());
    let mut out = BufReader::new(parent.0.stdout.take().unwrap());
    says(&mut out);
    greeted(path).write(0, b"here");
    parent.0.kill().unwrap();
    parent.0.wait().unwrap();
    out.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_store_is_for_one_server_and_a_full_disk_ends_the_record_alone() {
    let folder = folder();
    let (path, store) = (folder.join("socket"), folder.join("store"));
    let (path, store) = (path.to_str().unwrap(), store.to_str().unwrap());
    let address = format!("unix:{path}");
    let record = ["--speed", "0", "--record", "/dev/full"];
    let mut command = program(&[&[SMALL, "--store", store, "--nbd", &address], &record[..]].concat());
    let mut server = Started(command.stderr(Stdio::piped()).spawn().unwrap());
    connected(Path::new(path));
    let second = program(&[SMALL, "--store", store]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    let holder = format!("process {} (headstack-nbd) uses", server.0.id());
    assert!(second.status.code() == Some(1) && said.contains(&holder), "{said}");
    // More lines than are written at once; and the path has a newer socket at the end.
    let mut client = greeted(Path::new(path));
    (0..5_000).for_each(|i| client.write(i * 512, b"kept"));
    assert_eq!(client.read(4_999 * 512, 4), b"kept");
    std::fs::remove_file(path).unwrap();
    let newer = std::os::unix::net::UnixListener::bind(path).unwrap();
    signal(&server.0, "TERM");
    assert!(ended(&mut server.0).success());
    let mut said = String::new();
    server.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said.matches("the record ended early: record: /dev/full").count(), 1, "{said}");
    UnixStream::connect(path).unwrap();
    drop(newer);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn it_ends_with_its_parent() {
    let folder = folder();
    let path = folder.join("socket");
    let script = format!("{PROGRAM} exos-x18 --exit-with-parent --nbd unix:{}", path.display());
    ends_with_the_shell(&script, &path, |out| {
        out.read_line(&mut String::new()).unwrap();
    });
    assert!(!path.exists());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Libnbd's programs start a server so, and do not end it if they fail.
#[test]
fn a_server_that_a_client_started_for_itself_ends_with_the_client() {
    if !has("systemd-socket-activate") {
        return;
    }
    let folder = folder();
    let path = folder.join("socket");
    let script = format!("systemd-socket-activate -l {} {PROGRAM} exos-x18", path.display());
    ends_with_the_shell(&script, &path, |_| {
        soon("the socket is there", || path.exists().then_some(()));
    });
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_store_longer_than_files_may_be_names_the_limit() {
    let folder = folder();
    let file = std::fs::File::create(folder.join("file")).unwrap();
    if file.set_len(18_000_207_937_536).is_ok() {
        println!("skipped: this file system has files of 18 TB");
    } else {
        let store = folder.join("store").display().to_string();
        let done = program(&["exos-x18", "--store", &store]).output().unwrap();
        let text = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1));
        assert!(text.contains("(ext4: 16 TiB; XFS has more)"), "{text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn systemd_passes_it_sockets() {
    if !has("systemd-socket-activate") {
        return;
    }
    let folder = folder();
    let (path, other) = (folder.join("socket"), folder.join("other"));
    let mut command = Command::new("systemd-socket-activate");
    for path in [&path, &other] {
        command.arg("-l").arg(path);
    }
    command.args([PROGRAM, "exos-x18", "--speed", "0"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    let mut child = Started(command.spawn().unwrap());
    // The program starts with the first client; both sockets lead to the same drive.
    greeted(&path).write(0, b"both");
    assert_eq!(greeted(&other).read(0, 4), b"both");
    signal(&child.0, "TERM");
    assert!(ended(&mut child.0).success());
    let mut said = String::new();
    let mut out = child.0.stdout.take().unwrap();
    out.read_to_string(&mut said).unwrap();
    assert_eq!(said, format!("nbd+unix:///?socket={}\n", path.display()));
    // Sockets of systemd are not the program's to remove.
    assert!(path.exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_connected_socket_is_refused() {
    if !has("systemd-socket-activate") {
        return;
    }
    let folder = folder();
    let path = folder.join("socket");
    let mut command = Command::new("systemd-socket-activate");
    // `-a`: one process for each client, as `Accept=yes` does.
    command.arg("-a").arg("-l").arg(&path);
    command.args([PROGRAM, "exos-x18"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = Started(command.stderr(Stdio::piped()).spawn().unwrap());
    let _client = connected(&path);
    let err = BufReader::new(child.0.stderr.take().unwrap());
    let said = err.lines().map_while(Result::ok).find(|l| l.contains("headstack-nbd: nbd"));
    let said = said.unwrap_or_default();
    assert!(said.contains("does not listen"), "{said}");
    drop(child);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn nbdcopy_and_nbdinfo_start_it_for_themselves() {
    if !has("nbdcopy") || !has("nbdinfo") {
        return;
    }
    let folder = folder();
    let (image, store, back) = (folder.join("image"), folder.join("store"), folder.join("back"));
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
    std::fs::remove_dir_all(folder).unwrap();
}
