//! A socket to a server, and what has arrived on it.

use crate::{lost, no_target, ProbeError};
use bytes::BytesMut;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{recv, send, RecvFlags, SendFlags};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Longest wait for a server that is to answer or to take bytes.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that are taken at once.
const CHUNK: usize = 1 << 17;

/// A socket.
pub(crate) struct Wire {
    socket: OwnedFd,
    /// What has arrived and was not used.
    pub input: BytesMut,
    chunk: Box<[u8]>,
}

fn failed(e: impl std::fmt::Display) -> ProbeError {
    lost(e.to_string().to_lowercase(), "a server that answers")
}

impl Wire {
    /// Connects to a port.
    pub fn port(address: &str) -> Result<Wire, ProbeError> {
        let absent = |e: std::io::Error| {
            let got = format!("{address}: {}", e.to_string().to_lowercase());
            no_target(got, "a server that listens")
        };
        let found = address.to_socket_addrs().map_err(absent)?;
        let mut error = std::io::Error::other("no address");
        for address in found {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => {
                    stream.set_nodelay(true).map_err(absent)?;
                    return Ok(Wire::of(stream.into()));
                }
                Err(e) => error = e,
            }
        }
        Err(absent(error))
    }

    /// Connects to a socket of the file system.
    pub fn path(path: &str) -> Result<Wire, ProbeError> {
        let absent = |e: std::io::Error| {
            let got = format!("{path}: {}", e.to_string().to_lowercase());
            no_target(got, "a socket with a server")
        };
        Ok(Wire::of(UnixStream::connect(path).map_err(absent)?.into()))
    }

    /// Of a connected socket.
    pub fn of(socket: OwnedFd) -> Wire {
        Wire { socket, input: BytesMut::with_capacity(4 * CHUNK), chunk: vec![0; CHUNK].into() }
    }

    /// Takes what has arrived. False if there is nothing now.
    pub fn fill(&mut self) -> Result<bool, ProbeError> {
        match recv(&self.socket, &mut self.chunk[..], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => Err(failed("the end of the connection")),
            Ok((_, n)) => {
                self.input.extend_from_slice(&self.chunk[..n]);
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(e) => Err(failed(e)),
        }
    }

    /// Sends all of it.
    pub fn send(&mut self, mut bytes: &[u8]) -> Result<(), ProbeError> {
        let begun = Instant::now();
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(n) => bytes = &bytes[n..],
                Err(Errno::AGAIN | Errno::INTR) if begun.elapsed() < PATIENCE => {
                    self.poll(PollFlags::OUT, 1_000_000)?
                }
                Err(e) => return Err(failed(e)),
            }
        }
        Ok(())
    }

    /// Sleeps until something has arrived, at most so long.
    pub fn wait(&self, ns: u64) -> Result<(), ProbeError> {
        self.poll(PollFlags::IN, ns)
    }

    fn poll(&self, flags: PollFlags, ns: u64) -> Result<(), ProbeError> {
        let time = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        match poll(&mut [PollFd::new(&self.socket, flags)], Some(&time)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(e) => Err(failed(e)),
        }
    }

    /// Waits until more has arrived.
    pub fn more(&mut self) -> Result<(), ProbeError> {
        let begun = Instant::now();
        while !self.fill()? {
            if begun.elapsed() > PATIENCE {
                return Err(failed("no answer for 30 s"));
            }
            self.wait(10_000_000)?;
        }
        Ok(())
    }

    /// Waits until so many bytes are there, and takes them.
    pub fn take(&mut self, n: usize) -> Result<BytesMut, ProbeError> {
        while self.input.len() < n {
            self.more()?;
        }
        Ok(self.input.split_to(n))
    }
}
