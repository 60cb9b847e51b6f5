//! NBD as a front end: its clients and their sockets.

use crate::address::Listener;
use crate::connection::{Connection, IN_BYTES};
use crate::protocol::{command, Failure};
use crate::session::{Request, MAX_REQUESTS};
use crate::socket::Socket;
use crate::tls::Tls;
use headstack_drive::Command;
use headstack_live::counters::Counters;
use headstack_live::front_end::{EventFlags, FrontEnd, Watch};
use headstack_live::live::{Access, Done, Live, Ticket};
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Most clients at once; further ones are closed.
const MAX_CLIENTS: usize = 1024;
/// Requests of all clients that are served at once, shared out evenly.
const ALL_REQUESTS: usize = 1 << 16;
/// A client that has not chosen an export by then is closed.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Time between two looks for clients that take longer.
const LOOK: Duration = Duration::from_millis(100);
/// Keys of clients begin here; those below are listening sockets.
const CLIENTS: u64 = 1 << 16;

/// What a server has done.
#[derive(Debug, Clone)]
pub struct Served {
    /// What the system has counted.
    pub counters: Counters,
    /// Clients that were served.
    pub clients: u64,
}

struct Client {
    socket: Socket,
    connection: Connection,
    since: Instant,
    /// What the poll was asked for.
    watched: EventFlags,
    /// The socket has something to read.
    is_readable: bool,
}

/// A request at a device.
struct Open {
    client: u64,
    request: Request,
}

/// The clients of a system, over NBD.
pub struct Nbd {
    listeners: Vec<Listener>,
    tls: Tls,
    clients: BTreeMap<u64, Client>,
    next_client: u64,
    open: Slab<Open>,
    /// Clients with something to do.
    busy: BTreeSet<u64>,
    /// What a socket had.
    buffer: Box<[u8]>,
    next_look: Instant,
    /// The system has no more sockets: nobody is accepted until the next look.
    is_short: bool,
    /// Number of clients that have chosen an export.
    served: u64,
    /// The end was asked for.
    ends: bool,
}

impl Nbd {
    /// Listens already; there is at least one listener.
    pub fn new(listeners: Vec<Listener>, tls: Tls) -> Nbd {
        Nbd {
            listeners,
            tls,
            clients: BTreeMap::new(),
            next_client: CLIENTS,
            open: Slab::new(),
            busy: BTreeSet::new(),
            buffer: vec![0; IN_BYTES].into_boxed_slice(),
            next_look: Instant::now(),
            is_short: false,
            served: 0,
            ends: false,
        }
    }

    /// What clients are given.
    pub fn uri(&self) -> String {
        self.listeners[0].uri(self.tls.mode)
    }

    /// Clients that have chosen an export so far.
    pub fn served(&self) -> u64 {
        self.served
    }
}

impl FrontEnd for Nbd {
    fn begin(&mut self, watch: Watch) -> io::Result<()> {
        let mut listeners = self.listeners.iter().enumerate();
        listeners.try_for_each(|(i, l)| watch.add(l.as_fd(), i as u64, EventFlags::IN))
    }

    fn ready(&mut self, watch: Watch, key: u64) {
        match key < CLIENTS {
            true => self.accept(watch, key as usize),
            false => {
                self.busy.insert(key);
                if let Some(client) = self.clients.get_mut(&key) {
                    // Or it can be written; then reading finds nothing.
                    client.is_readable = true;
                }
            }
        }
    }

    fn completed(&mut self, live: &mut Live, done: &Done) {
        let open = self.open.remove(done.ticket.tag as usize);
        // The client may have left.
        if let Some(client) = self.clients.get_mut(&open.client) {
            let failure = done.error.map(|_| Failure::Io);
            if client.connection.ended(&open.request, failure) {
                self.busy.insert(open.client);
                live.answered(done);
            }
        }
    }

    fn work(&mut self, watch: Watch, live: &mut Live) {
        let now = Instant::now();
        if now >= self.next_look {
            self.next_look = now + LOOK;
            self.look(watch, now);
        }
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

    fn disconnect(&mut self) {
        // Their sockets are closed, and no longer watched.
        self.clients.clear();
        self.busy.clear();
    }

    fn end(&mut self, watch: Watch) {
        self.ends = true;
        for listener in &self.listeners {
            watch.remove(listener.as_fd());
        }
        for client in self.clients.values_mut() {
            client.connection.refuse();
        }
    }

    fn is_idle(&self) -> bool {
        self.clients.values().all(|c| c.connection.is_idle())
    }
}

impl Nbd {
    /// Closes clients that take too long to choose an export, and accepts again if sockets were short.
    fn look(&mut self, watch: Watch, now: Instant) {
        self.clients
            .retain(|_, c| !c.connection.is_new() || now - c.since <= HANDSHAKE);
        if std::mem::take(&mut self.is_short) && !self.ends {
            self.listen(watch, EventFlags::IN);
        }
    }

    fn listen(&self, watch: Watch, wanted: EventFlags) {
        for (i, listener) in self.listeners.iter().enumerate() {
            // They are under watch, so nothing fails.
            let _ = watch.change(listener.as_fd(), i as u64, wanted);
        }
    }

    fn accept(&mut self, watch: Watch, listener: usize) {
        loop {
            match self.listeners[listener].accept() {
                // A client beyond the limit is closed at once.
                Ok(_) if self.clients.len() >= MAX_CLIENTS => {}
                // What this client lacks, it alone misses.
                Ok(socket) => drop(self.add(watch, socket)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) => {
                    use rustix::io::Errno;
                    let error = Errno::from_io_error(&e);
                    let short = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
                    // Other errors are those of one client, who has left again.
                    if error.is_some_and(|e| short.contains(&e)) {
                        self.is_short = true;
                        return self.listen(watch, EventFlags::empty());
                    }
                }
            }
        }
    }

    fn add(&mut self, watch: Watch, socket: Socket) -> io::Result<()> {
        let key = self.next_client;
        self.next_client += 1;
        let watched = EventFlags::IN;
        watch.add(socket.as_fd(), key, watched)?;
        let connection = Connection::new(&self.tls);
        let client = Client {
            socket,
            connection,
            since: Instant::now(),
            watched,
            is_readable: false,
        };
        self.clients.insert(key, client);
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
        let connection = &mut client.connection;
        connection.share((ALL_REQUESTS / (self.clients.len() + 1)).min(MAX_REQUESTS));
        if client.is_readable && connection.can_receive() {
            client.is_readable = connection.receive(&mut client.socket, &mut self.buffer)?;
        }
        let was_new = connection.is_new();
        let open = &mut self.open;
        connection.step(&self.tls, live, |live, device, request| {
            let client = key;
            let tag = open.insert(Open { client, request }) as u64;
            let front_end = watch.front_end();
            live.submit(Ticket { front_end, tag }, access(device, &request));
        })?;
        if was_new && connection.is_served() {
            self.served += 1;
        }
        let is_blocked = connection.send(&mut client.socket, live)?;
        if connection.is_over() {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, connection.can_receive());
        wanted.set(EventFlags::OUT, is_blocked);
        if wanted != client.watched {
            watch.change(client.socket.as_fd(), key, wanted)?;
            client.watched = wanted;
        }
        let sends_more = !is_blocked && connection.has_replies();
        if (client.is_readable && connection.can_receive()) || sends_more {
            self.busy.insert(key);
        }
        Ok(())
    }
}

/// What a request asks of a device.
fn access(device: usize, request: &Request) -> Access {
    Access {
        device,
        command: match request.command {
            // Data that will be read soon are read into the buffer of the drive.
            command::READ | command::CACHE => Command::Read,
            command::FLUSH => Command::Flush,
            _ if request.is_forced() => Command::WriteThrough,
            _ => Command::Write,
        },
        offset: request.offset,
        length: request.length,
    }
}
