//! NBD as a front end: its clients and their sockets.

use crate::address::Listener;
use crate::handshake::{Handshake, Next};
use crate::protocol::{command, Failure};
use crate::session::{Event, Request, Session};
use crate::ServeError;
use bytes::BytesMut;
use headstack_drive::Command;
use headstack_live::front_end::{self, EventFlags, FrontEnd, Watch};
use headstack_live::live::{Access, Done, Lateness, Live, Ticket};
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Most clients at once; further ones are closed.
const MAX_CLIENTS: usize = 1024;
/// A client that has not chosen an export by then is closed.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Bytes that are read from a socket at once.
const IN_BYTES: usize = 64 << 10;
/// The key of the listening socket.
const LISTENER: u64 = 0;

/// What a server has done.
#[derive(Debug, Clone)]
pub struct Served {
    /// Requests that the devices have ended.
    pub requests: u64,
    /// How long after its simulated end each reply was handed to the socket, nanoseconds.
    pub lateness_ns: Lateness,
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
    watched: EventFlags,
    /// Nothing more comes from it.
    is_silent: bool,
}

/// A request at a device.
struct Open {
    client: u64,
    request: Request,
}

/// The clients of a system, over NBD.
struct Nbd {
    listener: Listener,
    clients: BTreeMap<u64, Client>,
    next_client: u64,
    open: Slab<Open>,
    /// Clients with something to do.
    busy: BTreeSet<u64>,
    /// Number of clients that have chosen an export.
    served: u64,
    /// The end was asked for.
    ends: bool,
}

/// Serves until `stop` is set; then what is outstanding is answered.
///
/// # Errors
/// The system has no more sockets, or the record cannot be written.
pub fn serve(live: Live, listener: Listener, stop: &AtomicBool) -> Result<Served, ServeError> {
    let mut nbd = Nbd {
        listener,
        clients: BTreeMap::new(),
        next_client: LISTENER + 1,
        open: Slab::new(),
        busy: BTreeSet::new(),
        served: 0,
        ends: false,
    };
    let served = front_end::serve(live, &mut [&mut nbd], stop)?;
    Ok(Served {
        requests: served.requests,
        lateness_ns: served.lateness_ns,
        clients: nbd.served,
    })
}

impl FrontEnd for Nbd {
    fn begin(&mut self, watch: Watch) -> io::Result<()> {
        watch.add(self.listener.as_fd(), LISTENER, EventFlags::IN)
    }

    fn ready(&mut self, watch: Watch, key: u64) {
        match key {
            LISTENER => self.accept(watch),
            client => {
                self.busy.insert(client);
            }
        }
    }

    fn completed(&mut self, live: &mut Live, done: &Done) {
        let open = self.open.remove(done.ticket.tag as usize);
        // The client may have left.
        if let Some(client) = self.clients.get_mut(&open.client) {
            if let Stage::Session(session) = &mut client.stage {
                session.ended(&open.request, done.error.map(|_| Failure::Io));
                self.busy.insert(open.client);
                live.answered(done);
            }
        }
    }

    fn work(&mut self, watch: Watch, live: &mut Live) {
        self.close_slow_handshakes();
        for key in std::mem::take(&mut self.busy) {
            let Some(mut client) = self.clients.remove(&key) else {
                continue;
            };
            if self.serve_client(watch, live, key, &mut client).is_ok() {
                self.clients.insert(key, client);
            }
        }
    }

    fn has_work(&self) -> bool {
        !self.busy.is_empty()
    }

    fn end(&mut self, watch: Watch) {
        self.ends = true;
        watch.remove(self.listener.as_fd());
        for client in self.clients.values_mut() {
            if let Stage::Session(session) = &mut client.stage {
                session.ends = true;
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.clients.values().all(|c| match &c.stage {
            Stage::Session(session) => session.is_idle() && c.output.is_empty(),
            Stage::Handshake(_) => true,
            Stage::Leaving => c.output.is_empty(),
        })
    }
}

impl Nbd {
    fn close_slow_handshakes(&mut self) {
        let slow =
            |c: &Client| matches!(c.stage, Stage::Handshake(_)) && c.since.elapsed() > HANDSHAKE;
        self.clients.retain(|_, c| !slow(c));
    }

    fn accept(&mut self, watch: Watch) {
        loop {
            let accepted = match &self.listener {
                Listener::Tcp(l) => l.accept().map(|(s, _)| Socket::Tcp(s)),
                Listener::Unix(l, _) => l.accept().map(|(s, _)| Socket::Unix(s)),
            };
            match accepted {
                // A client beyond the limit is closed at once.
                Ok(_) if self.clients.len() >= MAX_CLIENTS => {}
                // What this client lacks, it alone misses.
                Ok(socket) => drop(self.add(watch, socket)),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // Nobody waits, or there are no more sockets: the others are served.
                Err(_) => return,
            }
        }
    }

    fn add(&mut self, watch: Watch, socket: Socket) -> io::Result<()> {
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
        let watched = EventFlags::IN;
        watch.add(socket.as_fd(), key, watched)?;
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

    /// Reads, answers and writes as far as a client's socket allows.
    ///
    /// # Errors
    /// The client has left, or must be closed.
    fn serve_client(
        &mut self,
        watch: Watch,
        live: &mut Live,
        key: u64,
        client: &mut Client,
    ) -> io::Result<()> {
        let mut is_full = false;
        if !client.is_silent && client.input.len() < IN_BYTES {
            is_full = read_some(client)?;
        }
        self.take_requests(watch, live, key, client)?;
        if let Stage::Session(session) = &mut client.stage {
            session.fill(&mut client.output, live.store(session.export))?;
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
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, !is_waiting && !client.is_silent);
        wanted.set(EventFlags::OUT, is_blocked);
        if wanted != client.watched {
            watch.change(client.socket.as_fd(), key, wanted)?;
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

    fn take_requests(
        &mut self,
        watch: Watch,
        live: &mut Live,
        key: u64,
        client: &mut Client,
    ) -> io::Result<()> {
        if let Stage::Handshake(handshake) = &mut client.stage {
            match handshake.step(&mut client.input, &mut client.output, live.devices()) {
                Next::More => return Ok(()),
                Next::Close => client.stage = Stage::Leaving,
                Next::Use(negotiated) => {
                    let mut session = Session::new(negotiated);
                    session.ends = self.ends;
                    client.stage = Stage::Session(session);
                    self.served += 1;
                }
            }
        }
        while let Stage::Session(session) = &mut client.stage {
            let (device, store) = live.device_and_store(session.export);
            match session.next(&mut client.input, store, device.bytes) {
                Event::Wait => break,
                Event::Leaves => client.stage = Stage::Leaving,
                Event::Request(request) if request.command == command::TRIM => {
                    session.ended(&request, None);
                }
                Event::Request(request) => {
                    let tag = self.open.insert(Open {
                        client: key,
                        request,
                    });
                    let ticket = Ticket {
                        front_end: watch.front_end(),
                        tag: tag as u64,
                    };
                    live.submit(ticket, access(session.export, &request));
                }
            }
        }
        Ok(())
    }
}

/// What a request asks of a device.
fn access(device: usize, request: &Request) -> Access {
    Access {
        device,
        command: match request.command {
            command::READ => Command::Read,
            command::FLUSH => Command::Flush,
            _ if request.is_forced() => Command::WriteThrough,
            _ => Command::Write,
        },
        offset: request.offset,
        length: u64::from(request.length),
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
