//! A server of short requests: one of a connection, whose answer ends it. Clients may be slow, silent or hostile.
//!
//! # Bounds
//! One thread serves all clients and waits for none. There are at most 32 connections, and one more ends the oldest. A
//! request has at most [`MOST_REQUEST_BYTES`]. A client has 10 s from its connection to the end of its answer, and then 1 s to
//! close. The end of the server waits for no client.

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{accept_with, recv, send, shutdown, RecvFlags, SendFlags, Shutdown, SocketFlags};
use std::io;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most bytes of a request.
pub const MOST_REQUEST_BYTES: usize = 8192;

const MOST_THROWN_BYTES: usize = 1 << 16;
const MOST_CLIENTS: usize = 32;
/// Most clients that are taken before others have a turn.
const MOST_NEW: usize = 8;
const CLIENT_TIME: Duration = Duration::from_secs(10);
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// The answer to what a client has sent so far; `None` while more is needed. Of [`MOST_REQUEST_BYTES`] no more comes.
pub type Answer = Box<dyn FnMut(&[u8]) -> Option<Vec<u8>> + Send>;

/// A server that serves until it is dropped.
pub struct Server {
    /// Its other side is closed with this one.
    wake: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves at a socket that listens.
    ///
    /// # Errors
    /// The system has no more descriptors or threads.
    pub fn start(listener: OwnedFd, answer: Answer) -> io::Result<Server> {
        rustix::io::ioctl_fionbio(&listener, true)?;
        let (wake, woken) = UnixStream::pair()?;
        let serving = Serving { listener, answer, clients: Vec::new() };
        let thread = std::thread::Builder::new().name("server".into());
        let thread = thread.spawn(move || serving.run(&woken))?;
        Ok(Server { wake: Some(wake), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // It has no result.
            let _ = thread.join();
        }
    }
}

struct Serving {
    listener: OwnedFd,
    answer: Answer,
    /// The oldest first.
    clients: Vec<Client>,
}

struct Client {
    socket: OwnedFd,
    stage: Stage,
    until: Instant,
}

enum Stage {
    /// What has come of its request.
    Request(Vec<u8>),
    /// What is left of its answer.
    Answer(Vec<u8>),
    /// So many bytes more are read and thrown away until it closes: else the system might take the answer back.
    Closing(usize),
}

impl Serving {
    fn run(mut self, woken: &UnixStream) {
        loop {
            let now = Instant::now();
            self.clients.retain(|c| c.until > now);
            let next = self.clients.iter().map(|c| c.until - now).min();
            let Some(ready) = self.wait(woken, next) else {
                return;
            };
            let mut ready = ready.into_iter();
            let is_new = ready.next() == Some(true);
            let answer = &mut self.answer;
            self.clients.retain_mut(|c| ready.next() != Some(true) || c.serve(answer).is_ok());
            if is_new && self.accept().is_err() {
                // No more descriptors: the clients that are there end in bounded time.
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }

    /// Whether the listener, and then each client, has something to do; `None` at the end.
    fn wait(&self, woken: &UnixStream, longest: Option<Duration>) -> Option<Vec<bool>> {
        let (wake, listener) = (woken.as_fd(), self.listener.as_fd());
        let of = |c: &Client| match c.stage {
            Stage::Answer(_) => PollFlags::OUT,
            _ => PollFlags::IN,
        };
        let mut all =
            vec![PollFd::from_borrowed_fd(wake, PollFlags::IN), PollFd::from_borrowed_fd(listener, PollFlags::IN)];
        let clients = self.clients.iter();
        all.extend(clients.map(|c| PollFd::from_borrowed_fd(c.socket.as_fd(), of(c))));
        // One millisecond more: a poll that is rounded down would turn in a circle.
        let longest = longest.map(|l| l + Duration::from_millis(1));
        let longest = longest.and_then(|l| Timespec::try_from(l).ok());
        if let Err(e) = poll(&mut all, longest.as_ref()) {
            return (e == Errno::INTR).then(Vec::new);
        }
        let mut ready = all.iter().map(|p| !p.revents().is_empty());
        let is_end = ready.next() == Some(true);
        (!is_end).then(|| ready.collect())
    }

    fn accept(&mut self) -> Result<(), Errno> {
        for _ in 0..MOST_NEW {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(&self.listener, flags) {
                Ok(socket) => {
                    if self.clients.len() >= MOST_CLIENTS {
                        self.clients.remove(0);
                    }
                    self.clients.push(Client {
                        socket,
                        stage: Stage::Request(Vec::new()),
                        until: Instant::now() + CLIENT_TIME,
                    });
                }
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

impl Client {
    /// Does what can be done without waiting. An error ends the connection.
    fn serve(&mut self, answer: &mut Answer) -> Result<(), Errno> {
        match self.turn(answer) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            done => done,
        }
    }

    fn turn(&mut self, answer: &mut Answer) -> Result<(), Errno> {
        let mut buffer = [0; MOST_REQUEST_BYTES];
        if let Stage::Request(request) = &mut self.stage {
            let room = MOST_REQUEST_BYTES - request.len();
            let n = receive(&self.socket, &mut buffer[..room])?;
            request.extend_from_slice(&buffer[..n]);
            match answer(request) {
                Some(answer) => self.stage = Stage::Answer(answer),
                None if request.len() < MOST_REQUEST_BYTES => return Ok(()),
                None => return Err(Errno::MSGSIZE),
            }
        }
        if let Stage::Answer(left) = &mut self.stage {
            while !left.is_empty() {
                let n = send(&self.socket, left, SendFlags::NOSIGNAL)?;
                left.drain(..n);
            }
            shutdown(&self.socket, Shutdown::Write)?;
            self.stage = Stage::Closing(MOST_THROWN_BYTES);
            self.until = self.until.min(Instant::now() + CLOSING_TIME);
        }
        if let Stage::Closing(left) = &mut self.stage {
            let n = receive(&self.socket, &mut buffer)?;
            *left = left.checked_sub(n).ok_or(Errno::MSGSIZE)?;
        }
        Ok(())
    }
}

/// At least one byte.
fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    match recv(socket, &mut *buffer, RecvFlags::empty())?.0 {
        0 => Err(Errno::PIPE),
        n => Ok(n),
    }
}
