//! Clients that want much, or nothing: others are served.

use crate::nbd::client::{connect, folder, greet, read_u32, request, send_option, Client, READ};
use headstack_testkit::rig::Program;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The program with one drive, in memory.
struct Flooded {
    program: Program,
    folder: TempDir,
}

impl Flooded {
    /// With this before it in a shell.
    fn start(limit: &str) -> Flooded {
        headstack_target::process::allow_sockets();
        let folder = folder();
        let address = format!("unix:{}", folder.path().join("socket").display());
        let script =
            format!("{limit} exec {} exos-x18 --speed 0 --nbd {address}", env!("CARGO_BIN_EXE_headstack-target"));
        let mut command = Command::new("sh");
        let mut program = Program::start(command.args(["-c", &script]).stderr(Stdio::null()));
        program.line();
        Flooded { program, folder }
    }

    fn connect(&self) -> UnixStream {
        connect(&self.folder.path().join("socket"))
    }

    fn client(&self, structured: bool) -> Client {
        Client::new(greet(self.connect()), structured)
    }
}

#[test]
fn one_who_asks_for_much_does_not_starve_another() {
    let program = Flooded::start("");
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
    patient.stream.write_all(&request(0, READ, 7, 0, 4096)[..20]).unwrap();
    for _ in 0..100 {
        greedy.stream.write_all(&request(0, READ, 7, 0, 32 << 20)).unwrap();
    }
    for i in 0..20 {
        good.write(i * 4096, &[i as u8; 4096]);
        assert_eq!(good.read(i * 4096, 4096), [i as u8; 4096]);
    }
    // The rest of a request that came in two parts.
    patient.stream.write_all(&request(0, READ, 7, 0, 4096)[20..]).unwrap();
    assert_eq!(read_u32(&mut patient.stream), 0x668e33ef);
    greedy.stream.shutdown(std::net::Shutdown::Both).unwrap();
    println!("the greedy one took {} bytes", thread.join().unwrap());
}

#[test]
fn sockets_that_run_short_come_back() {
    // A server that may open 40 files; it raises its limit to that.
    let program = Flooded::start("ulimit -n 40 &&");
    let mut good = program.client(false);
    let crowd: Vec<_> = (0..60).map(|_| program.connect()).collect();
    good.write(0, b"served");
    let before = program.program.processor_time();
    std::thread::sleep(Duration::from_millis(500));
    let used = program.program.processor_time() - before;
    assert!(used < 25, "{used} hundredths of a second while it can do nothing");
    drop(crowd);
    // One that waited is accepted now.
    let mut late = greet(program.connect());
    send_option(&mut late, 3, b"");
    assert_eq!(good.read(0, 6), b"served");
}
