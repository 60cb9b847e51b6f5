//! The loop of the server: sockets, simulated devices and the clock, in one thread.

use crate::address::Listener;
use crate::clock::Clock;
use crate::devices::{Bytes, Devices, Ended};
use crate::handshake::{Export, Handshake, Next};
use crate::protocol::{command, Failure};
use crate::record::Record;
use crate::session::{Event, Request, Session};
use crate::store::Store;
use crate::ServeError;
use bytes::BytesMut;
use hdrhistogram::Histogram;
use headstack_drive::Command;
use headstack_units::Time;
use rustix::event::{epoll, Timespec};
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most clients at once; further ones are closed.
const MAX_CLIENTS: usize = 1024;
/// A client that has not chosen an export by then is closed.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Clients that do not take their replies are closed so long after the end was asked for.
const DRAIN: Duration = Duration::from_secs(5);
/// Bytes that are read from a socket at once.
const IN_BYTES: usize = 64 << 10;
/// Longest sleep, so that the end is noticed.
const NAP: Duration = Duration::from_millis(100);
/// Before an event, the loop watches without sleeping: waking up takes longer than that.
const WATCH: Duration = Duration::from_micros(80);
/// The key of the listening socket.
const LISTENER: u64 = 0;

/// What a server is made of.
pub struct Parts {
    /// The simulated devices.
    pub devices: Devices,
    /// Their names, in the same order.
    pub exports: Vec<Export>,
    /// Their data.
    pub stores: Vec<Store>,
    /// The time of the devices.
    pub clock: Clock,
    /// Where finished requests are written.
    pub record: Option<Record>,
    /// Set to end: what is outstanding is answered first.
    pub stop: Arc<AtomicBool>,
}

/// What a server has done.
#[derive(Debug, Clone)]
pub struct Served {
    /// Requests that the devices have ended.
    pub requests: u64,
    /// How long after its simulated end each reply was handed to the socket, nanoseconds.
    pub lateness_ns: Histogram<u64>,
    /// Clients that were served.
    pub clients: u64,
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(s) => s.as_fd(),
            Socket::Unix(s) => s.as_fd(),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.read(buffer),
            Socket::Unix(s) => s.read(buffer),
        }
    }

    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.write(data),
            Socket::Unix(s) => s.write(data),
        }
    }
}

/// What a client does.
enum Stage {
    Handshake(Handshake),
    Session(Session),
    /// The rest is sent, then the connection ends.
    Leaving,
}

struct Client {
    socket: Socket,
    stage: Stage,
    since: Instant,
    input: BytesMut,
    output: BytesMut,
    /// What the poll was asked for.
    watched: epoll::EventFlags,
    /// Nothing more comes from it.
    is_silent: bool,
}

/// A request at a device.
struct Open {
    client: u64,
    request: Request,
    arrival: Time,
    device: usize,
}

struct Server {
    parts: Parts,
    listener: Listener,
    poll: OwnedFd,
    clients: BTreeMap<u64, Client>,
    next_client: u64,
    open: Slab<Open>,
    /// Clients with something to do.
    busy: BTreeSet<u64>,
    served: Served,
    ending: Option<Instant>,
}

/// Serves until `stop` is set; then what is outstanding is answered.
///
/// # Errors
/// The system has no more sockets, or the record cannot be written.
pub fn serve(parts: Parts, listener: Listener) -> Result<Served, ServeError> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
    let fd = match &listener {
        Listener::Tcp(l) => l.as_fd(),
        Listener::Unix(l, _) => l.as_fd(),
    };
    let data = epoll::EventData::new_u64(LISTENER);
    epoll::add(&poll, fd, data, epoll::EventFlags::IN).map_err(io::Error::from)?;
    let mut server = Server {
        parts,
        listener,
        poll,
        clients: BTreeMap::new(),
        next_client: LISTENER + 1,
        open: Slab::new(),
        busy: BTreeSet::new(),
        served: Served {
            requests: 0,
            lateness_ns: Histogram::new(3).map_err(|e| io::Error::other(e.to_string()))?,
            clients: 0,
        },
        ending: None,
    };
    server.run()?;
    if let Some(record) = &mut server.parts.record {
        record.finish()?;
    }
    Ok(server.served)
}

impl Server {
    fn run(&mut self) -> Result<(), ServeError> {
        let mut events = Vec::with_capacity(256);
        loop {
            self.answer_ended()?;
            self.serve_busy();
            if self.is_over() {
                return Ok(());
            }
            let wait = self.wait();
            let timeout = Timespec {
                tv_sec: wait.as_secs() as i64,
                tv_nsec: i64::from(wait.subsec_nanos()),
            };
            events.clear();
            match epoll::wait(
                &self.poll,
                rustix::buffer::spare_capacity(&mut events),
                Some(&timeout),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(io::Error::from(e).into()),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    client => {
                        self.busy.insert(client);
                    }
                }
            }
            if events.is_empty() && !self.open.is_empty() {
                // Nothing comes before the next event.
                self.parts.clock.jump(self.parts.devices.next_event());
            }
        }
    }

    /// How long nothing has to be done.
    fn wait(&self) -> Duration {
        if !self.busy.is_empty() {
            return Duration::ZERO;
        }
        if self.open.is_empty() && matches!(self.parts.clock, Clock::Jumping(_)) {
            return NAP;
        }
        match self.parts.devices.next_event() {
            Time::NEVER => NAP,
            at => self.parts.clock.until(at).saturating_sub(WATCH).min(NAP),
        }
    }

    /// Whether the end was asked for and nothing is left to do.
    fn is_over(&mut self) -> bool {
        if self.ending.is_none() && self.parts.stop.load(Ordering::Relaxed) {
            self.ending = Some(Instant::now());
            let _ = epoll::delete(
                &self.poll,
                match &self.listener {
                    Listener::Tcp(l) => l.as_fd(),
                    Listener::Unix(l, _) => l.as_fd(),
                },
            );
            for client in self.clients.values_mut() {
                if let Stage::Session(session) = &mut client.stage {
                    session.ends = true;
                }
            }
        }
        self.close_slow_handshakes();
        let Some(since) = self.ending else {
            return false;
        };
        let idle = |c: &Client| match &c.stage {
            Stage::Session(session) => session.is_idle() && c.output.is_empty(),
            Stage::Handshake(_) => true,
            Stage::Leaving => c.output.is_empty(),
        };
        since.elapsed() > DRAIN || self.clients.values().all(idle)
    }

    fn close_slow_handshakes(&mut self) {
        let slow =
            |c: &Client| matches!(c.stage, Stage::Handshake(_)) && c.since.elapsed() > HANDSHAKE;
        self.clients.retain(|_, c| !slow(c));
    }

    fn accept(&mut self) {
        loop {
            let accepted = match &self.listener {
                Listener::Tcp(l) => l.accept().map(|(s, _)| Socket::Tcp(s)),
                Listener::Unix(l, _) => l.accept().map(|(s, _)| Socket::Unix(s)),
            };
            match accepted {
                // A client beyond the limit is closed at once.
                Ok(_) if self.clients.len() >= MAX_CLIENTS => {}
                // What this client lacks, it alone misses.
                Ok(socket) => drop(self.add(socket)),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // Nobody waits, or there are no more sockets: the others are served.
                Err(_) => return,
            }
        }
    }

    fn add(&mut self, socket: Socket) -> io::Result<()> {
        match &socket {
            Socket::Tcp(s) => {
                s.set_nonblocking(true)?;
                s.set_nodelay(true)?;
            }
            Socket::Unix(s) => s.set_nonblocking(true)?,
        }
        let key = self.next_client;
        self.next_client += 1;
        let mut output = BytesMut::new();
        let handshake = Handshake::begin(&mut output);
        let watched = epoll::EventFlags::IN;
        epoll::add(
            &self.poll,
            socket.as_fd(),
            epoll::EventData::new_u64(key),
            watched,
        )?;
        self.clients.insert(
            key,
            Client {
                socket,
                stage: Stage::Handshake(handshake),
                since: Instant::now(),
                input: BytesMut::new(),
                output,
                watched,
                is_silent: false,
            },
        );
        self.busy.insert(key);
        Ok(())
    }

    /// Answers what has ended by now.
    fn answer_ended(&mut self) -> Result<(), ServeError> {
        let now = self.parts.clock.now();
        self.parts.devices.advance(now);
        while let Some(ended) = self.parts.devices.ended(now) {
            self.answer(ended)?;
        }
        Ok(())
    }

    fn answer(&mut self, ended: Ended) -> Result<(), ServeError> {
        let open = self.open.remove(ended.id as usize);
        self.served.requests += 1;
        if let Some(record) = &mut self.parts.record {
            record.add(open.device, &open.request, open.arrival, ended.at)?;
        }
        // The client may have left.
        if let Some(client) = self.clients.get_mut(&open.client) {
            if let Stage::Session(session) = &mut client.stage {
                session.ended(&open.request, ended.failed.then_some(Failure::Io));
                self.busy.insert(open.client);
                let late = self.parts.clock.lateness(ended.at, self.parts.clock.now());
                self.served
                    .lateness_ns
                    .saturating_record(late.as_nanos() as u64);
            }
        }
        Ok(())
    }

    fn serve_busy(&mut self) {
        for key in std::mem::take(&mut self.busy) {
            let Some(mut client) = self.clients.remove(&key) else {
                continue;
            };
            if self.serve_client(key, &mut client).is_ok() {
                self.clients.insert(key, client);
            }
        }
    }

    /// Reads, answers and writes as far as a client's socket allows.
    ///
    /// # Errors
    /// The client has left, or must be closed.
    fn serve_client(&mut self, key: u64, client: &mut Client) -> io::Result<()> {
        let mut is_full = false;
        if !client.is_silent && client.input.len() < IN_BYTES {
            is_full = read_some(client)?;
        }
        self.take_requests(key, client)?;
        if let Stage::Session(session) = &mut client.stage {
            session.fill(&mut client.output, &self.parts.stores[session.export])?;
        }
        let is_blocked = write_some(client)?;
        let is_waiting = match &client.stage {
            Stage::Session(session) => !session.has_room(),
            _ => false,
        };
        let is_left = matches!(client.stage, Stage::Leaving) || client.is_silent;
        if is_left && client.output.is_empty() && !self.has_replies(client) {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        let mut wanted = epoll::EventFlags::empty();
        wanted.set(epoll::EventFlags::IN, !is_waiting && !client.is_silent);
        wanted.set(epoll::EventFlags::OUT, is_blocked);
        if wanted != client.watched {
            let data = epoll::EventData::new_u64(key);
            epoll::modify(&self.poll, client.socket.as_fd(), data, wanted)?;
            client.watched = wanted;
        }
        let more = !is_blocked && self.has_more(client);
        if (is_full && !is_waiting) || more {
            self.busy.insert(key);
        }
        Ok(())
    }

    /// Whether a client gets more replies.
    fn has_replies(&self, client: &Client) -> bool {
        match &client.stage {
            Stage::Session(session) => !session.is_idle(),
            _ => false,
        }
    }

    /// Whether replies are ready that were not yet taken from the store.
    fn has_more(&self, client: &Client) -> bool {
        match &client.stage {
            Stage::Session(session) => session.has_replies(),
            _ => false,
        }
    }

    fn take_requests(&mut self, key: u64, client: &mut Client) -> io::Result<()> {
        if let Stage::Handshake(handshake) = &mut client.stage {
            let exports = &self.parts.exports;
            match handshake.step(&mut client.input, &mut client.output, exports) {
                Next::More => return Ok(()),
                Next::Close => client.stage = Stage::Leaving,
                Next::Use(negotiated) => {
                    let mut session = Session::new(negotiated);
                    session.ends = self.ending.is_some();
                    client.stage = Stage::Session(session);
                    self.served.clients += 1;
                }
            }
        }
        while let Stage::Session(session) = &mut client.stage {
            let device = session.export;
            let (store, bytes) = (
                &mut self.parts.stores[device],
                self.parts.exports[device].bytes,
            );
            match session.next(&mut client.input, store, bytes) {
                Event::Wait => break,
                Event::Leaves => client.stage = Stage::Leaving,
                Event::Request(request) if request.command == command::TRIM => {
                    session.ended(&request, None);
                }
                Event::Request(request) => self.submit(key, device, request),
            }
        }
        Ok(())
    }

    fn submit(&mut self, client: u64, device: usize, request: Request) {
        let now = self.parts.clock.now();
        self.parts.devices.advance(now);
        let id = self.open.insert(Open {
            client,
            request,
            arrival: now,
            device,
        });
        let command = match request.command {
            command::READ => Command::Read,
            command::FLUSH => Command::Flush,
            _ if request.is_forced() => Command::WriteThrough,
            _ => Command::Write,
        };
        let bytes = match command {
            Command::Flush => Bytes {
                offset: 0,
                length: 0,
            },
            _ => Bytes {
                offset: request.offset,
                length: u64::from(request.length),
            },
        };
        self.parts
            .devices
            .submit(now, device, id as u64, command, bytes);
    }
}

/// Reads what a socket has, up to a limit; true if there may be more.
fn read_some(client: &mut Client) -> io::Result<bool> {
    let start = client.input.len();
    client.input.resize(start + IN_BYTES, 0);
    let read = client.socket.read(&mut client.input[start..]);
    client.input.truncate(start + *read.as_ref().unwrap_or(&0));
    match read {
        Ok(0) => {
            client.is_silent = true;
            Ok(false)
        }
        Ok(n) => Ok(n == IN_BYTES),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Writes what a socket takes; true if some is left.
fn write_some(client: &mut Client) -> io::Result<bool> {
    while !client.output.is_empty() {
        match client.socket.write(&client.output) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => drop(client.output.split_to(n)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(false)
}
