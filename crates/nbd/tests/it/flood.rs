//! Clients that want much, or nothing: others are served.

use crate::client::{folder, read_u32, send_option, Client, READ};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The program with one drive, in memory; it ends with the test.
struct Program {
    child: Child,
    folder: PathBuf,
}

impl Program {
    fn start() -> Program {
        headstack_live::process::allow_sockets();
        let folder = folder();
        let address = format!("unix:{}", folder.join("socket").display());
        let drives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drives");
        let mut child = Command::new(env!("CARGO_BIN_EXE_headstack-nbd"))
            .args(["exos-x18", "--speed", "0", "--nbd", &address])
            .env("HEADSTACK_DRIVES", drives)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut String::new()).unwrap();
        Program { child, folder }
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.folder.join("socket")).unwrap();
        let limit = Some(Duration::from_secs(120));
        stream.set_read_timeout(limit).unwrap();
        stream
    }

    fn client(&self, structured: bool) -> Client {
        let mut stream = self.connect();
        stream.read_exact(&mut [0; 18]).unwrap();
        stream.write_all(&3u32.to_be_bytes()).unwrap();
        Client::new(stream, structured)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A request as bytes.
fn request(command: u16, offset: u64, length: u32) -> Vec<u8> {
    let mut all = 0x25609513u32.to_be_bytes().to_vec();
    all.extend_from_slice(&[0, 0]);
    all.extend_from_slice(&command.to_be_bytes());
    all.extend_from_slice(&[7; 8]);
    all.extend_from_slice(&offset.to_be_bytes());
    all.extend_from_slice(&length.to_be_bytes());
    all
}

#[test]
fn one_who_asks_for_much_does_not_starve_another() {
    let program = Program::start();
    let mut greedy = program.client(false);
    let mut taker = greedy.stream.try_clone().unwrap();
    // Takes whatever comes, for ever.
    let thread = std::thread::spawn(move || {
        let (mut buffer, mut taken) = (vec![0; 1 << 20], 0u64);
        while let Ok(n) = taker.read(&mut buffer) {
            taken += n as u64;
            if n == 0 {
                break;
            }
        }
        taken
    });
    let mut good = program.client(true);
    let mut patient = program.client(true);
    patient.stream.write_all(&request(READ, 0, 4096)[..20]).unwrap();
    for _ in 0..100 {
        greedy.stream.write_all(&request(READ, 0, 32 << 20)).unwrap();
    }
    for i in 0..20 {
        good.write(i * 4096, &[i as u8; 4096]);
        assert_eq!(good.read(i * 4096, 4096), [i as u8; 4096]);
    }
    // The rest of a request that came in two parts.
    patient.stream.write_all(&request(READ, 0, 4096)[20..]).unwrap();
    assert_eq!(read_u32(&mut patient.stream), 0x668e33ef);
    greedy.stream.shutdown(std::net::Shutdown::Both).unwrap();
    println!("the greedy one took {} bytes", thread.join().unwrap());
}

#[test]
fn sockets_that_run_short_come_back() {
    let folder = folder();
    let socket = folder.join("socket");
    // A server that may open 40 files; it raises its limit to that.
    let script = format!(
        "ulimit -n 40 && exec {} exos-x18 --speed 0 --nbd unix:{}",
        env!("CARGO_BIN_EXE_headstack-nbd"),
        socket.display()
    );
    let drives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drives");
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .env("HEADSTACK_DRIVES", drives)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut String::new()).unwrap();
    let program = Program { child, folder };
    let mut good = program.client(false);
    let crowd: Vec<_> = (0..60).map(|_| program.connect()).collect();
    good.write(0, b"served");
    let spent = |program: &Program| {
        let file = format!("/proc/{}/stat", program.child.id());
        let text = std::fs::read_to_string(file).unwrap();
        // User and system time, in hundredths of a second.
        let fields: Vec<&str> = text.rsplit(')').next().unwrap().split(' ').collect();
        fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
    };
    let before = spent(&program);
    std::thread::sleep(Duration::from_millis(500));
    let used = spent(&program) - before;
    assert!(used < 25, "{used} hundredths of a second while it can do nothing");
    drop(crowd);
    // One that waited is accepted now.
    let mut late = program.connect();
    late.read_exact(&mut [0; 18]).unwrap();
    late.write_all(&3u32.to_be_bytes()).unwrap();
    send_option(&mut late, 3, b"");
    assert_eq!(good.read(0, 6), b"served");
}
