//! The machine's own floor: a server that computes nothing.
//!
//! It answers each request so long after it has read it as a list says, and waits for that in the same way as the server
//! that is measured. What a client of it sees beyond those times is due to the machine: waking up, calls of the system,
//! other work.

use super::{timeout, watched, WATCH};
use rustix::event::epoll;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Serves the requests of `drives` clients until they leave. `times.txt` of the folder has a line for each request, the
/// time to its reply in nanoseconds.
pub fn serve(folder: &Path, drives: u64, busy: bool) -> io::Result<()> {
    let times: Vec<Duration> = std::fs::read_to_string(folder.join("times.txt"))?
        .lines()
        .map(|line| line.parse().map(Duration::from_nanos))
        .collect::<Result<_, _>>()
        .map_err(io::Error::other)?;
    let listener = UnixListener::bind(folder.join("socket"))?;
    println!("ready");
    let mut clients = Vec::new();
    for _ in 0..drives {
        clients.push(welcome(&listener)?);
    }
    let poll = watched(clients.iter())?;
    // As the server that is measured does.
    let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
    let mut due: BinaryHeap<Reverse<(Instant, usize, u64)>> = BinaryHeap::new();
    let mut events = Vec::with_capacity(64);
    let (mut left, mut buffer) = (clients.len(), [0; 1 << 16]);
    while left > 0 {
        while let Some(Reverse((at, client, cookie))) = due.peek() {
            if *at > Instant::now() {
                break;
            }
            clients[*client].write_all(&reply(*cookie))?;
            due.pop();
        }
        let wait = match due.peek() {
            _ if busy => Duration::ZERO,
            Some(Reverse((at, ..))) => at.saturating_duration_since(Instant::now()),
            None => Duration::from_millis(100),
        };
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        epoll::wait(&poll, room, Some(&timeout(wait.saturating_sub(WATCH))))?;
        for event in &events {
            let client = event.data.u64() as usize;
            let n = clients[client].read(&mut buffer)?;
            left -= usize::from(n == 0);
            if n == 0 {
                epoll::delete(&poll, &clients[client])?;
            }
            // A request is sent and read as a whole.
            for request in buffer[..n].chunks(28) {
                let cookie = u64::from_be_bytes(std::array::from_fn(|i| request[8 + i]));
                let at = Instant::now() + times[cookie as usize];
                due.push(Reverse((at, client, cookie)));
            }
        }
    }
    Ok(())
}

/// The handshake that the client of this program expects.
fn welcome(listener: &UnixListener) -> io::Result<UnixStream> {
    let (mut stream, _) = listener.accept()?;
    stream.write_all(b"NBDMAGICIHAVEOPT\0\x03")?;
    let mut head = [0; 20];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes(std::array::from_fn(|i| head[16 + i]));
    stream.read_exact(&mut vec![0; length as usize])?;
    stream.write_all(&(1u64 << 40).to_be_bytes())?;
    stream.write_all(&[0; 2])?;
    Ok(stream)
}

/// A simple reply with 4 KiB.
fn reply(cookie: u64) -> [u8; 16 + 4096] {
    let mut all = [0; 16 + 4096];
    all[..4].copy_from_slice(&0x6744_6698u32.to_be_bytes());
    all[8..16].copy_from_slice(&cookie.to_be_bytes());
    all
}
