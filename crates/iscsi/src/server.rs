//! iSCSI as a front end: its initiators and their sockets.

use crate::connection::{Connection, Shared, IN_BYTES};
use crate::login::Admission;
use crate::session::Session;
use crate::shelf::{disk_of, Order, Shelf, Target};
use crate::ServeError;
use headstack_live::front_end::{EventFlags, FrontEnd, Watch};
use headstack_live::live::{Done, Live};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Most connections at once; further ones are closed.
const MOST_CLIENTS: usize = 1024;
/// Commands of all sessions that are taken at once, shared out evenly to those that log in.
const ALL_PLACES: u32 = 1 << 13;
/// A login that takes longer is closed.
const LOGIN: Duration = Duration::from_secs(10);
/// Data that were asked for and do not come so long end the connection: they keep room from others.
const DATA: Duration = Duration::from_secs(30);
/// Time between two looks for both.
const LOOK: Duration = Duration::from_millis(100);
/// Keys of connections begin here; 0 is the listening socket.
const CLIENTS: u64 = 1 << 16;
/// The port of the protocol, on this machine alone.
const STANDARD: &str = "127.0.0.1:3260";
/// Names of targets begin with it.
const AUTHORITY: &str = "iqn.2026-11.org.headstack";

/// What is served, and to whom.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `HOST:PORT`; the protocol's port of this machine if absent, and port 0 is any free one.
    pub address: Option<String>,
    /// Other machines may connect.
    pub remote: bool,
    /// Each device is a target of its own; otherwise one target has them as units.
    pub apart: bool,
    /// Who may log in.
    pub admission: Admission,
    /// Commands that a session may have at once, in place of those that the drives hold.
    pub window: Option<u32>,
}

struct Client {
    socket: TcpStream,
    connection: Connection,
    since: Instant,
    watched: EventFlags,
    is_readable: bool,
    /// Power was lost, or another session has ended it.
    is_lost: bool,
}

/// The initiators of a system.
pub struct Iscsi {
    listener: TcpListener,
    address: String,
    admission: Admission,
    window: Option<u32>,
    shelf: Shelf,
    clients: BTreeMap<u64, Client>,
    next_client: u64,
    busy: BTreeSet<u64>,
    buffer: Box<[u8]>,
    next_look: Instant,
    is_short: bool,
    sessions: u64,
    ends: bool,
}

/// A name with the characters that a target's may have.
fn target_name(of: &str) -> String {
    // Of a drive that was named by its file, the stem.
    let stem = of
        .rsplit('/')
        .next()
        .unwrap_or(of)
        .trim_end_matches(".toml");
    let plain = stem.to_lowercase();
    let allowed = plain.chars().map(|c| match c {
        'a'..='z' | '0'..='9' | '.' | '-' => c,
        _ => '-',
    });
    format!("{AUTHORITY}:{}", allowed.take(150).collect::<String>())
}

fn listen(text: &str, remote: bool) -> Result<TcpListener, ServeError> {
    let wrong = |need: &str| ServeError::Address {
        got: text.into(),
        need: need.into(),
    };
    let form = "HOST:PORT, such as 127.0.0.1:3260";
    let found = text.to_socket_addrs().map_err(|_| wrong(form))?.next();
    let address = found.ok_or_else(|| wrong(form))?;
    if !address.ip().is_loopback() && !remote {
        return Err(wrong("an address of this machine alone, or --allow-remote"));
    }
    let failed = |e: io::Error| ServeError::Listen {
        address: text.into(),
        why: e.to_string(),
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

impl Iscsi {
    /// Makes the devices of a system to targets, and begins to listen.
    ///
    /// # Errors
    /// An address that may not be used, or is in use.
    pub fn open(options: &Options, live: &mut Live) -> Result<Iscsi, ServeError> {
        let listener = listen(
            options.address.as_deref().unwrap_or(STANDARD),
            options.remote,
        )?;
        let address = listener.local_addr().map_err(|e| ServeError::Listen {
            address: options.address.clone().unwrap_or_default(),
            why: e.to_string(),
        })?;
        if options.window == Some(0) {
            let text = "iscsi-window: got 0, need 1 or more".into();
            return Err(ServeError::Argument(text));
        }
        let name = target_name(live.name());
        let number = live.devices().len();
        let targets: Vec<Target> = match options.apart && number > 1 {
            true => (0..number)
                .map(|i| Target {
                    name: format!("{name}.{i}"),
                    units: i..i + 1,
                })
                .collect(),
            false => vec![Target {
                name,
                units: 0..number,
            }],
        };
        let mut disks = Vec::new();
        for target in &targets {
            for device in target.units.clone() {
                disks.push(disk_of(live, device, target));
            }
        }
        Ok(Iscsi {
            listener,
            address: address.to_string(),
            admission: options.admission.clone(),
            window: options.window,
            shelf: Shelf::new(targets, disks),
            clients: BTreeMap::new(),
            next_client: CLIENTS,
            busy: BTreeSet::new(),
            buffer: vec![0; IN_BYTES].into_boxed_slice(),
            next_look: Instant::now(),
            is_short: false,
            sessions: 0,
            ends: false,
        })
    }

    /// What initiators are given, for each device: `iscsi://HOST:PORT/TARGET/LUN`.
    pub fn urls(&self) -> Vec<String> {
        let each = |target: &Target| {
            let of = format!("iscsi://{}/{}", self.address, target.name);
            let units = 0..target.units.len();
            units.map(|lun| format!("{of}/{lun}")).collect::<Vec<_>>()
        };
        self.shelf.targets().iter().flat_map(each).collect()
    }

    /// Sessions that were served.
    pub fn sessions(&self) -> u64 {
        self.sessions
    }

    /// Closes connections that take too long, and accepts again if sockets were short.
    fn look(&mut self, watch: Watch, now: Instant) {
        for (key, client) in &mut self.clients {
            let session = client.connection.session_ref();
            let asked = session.and_then(|s| s.asked_since);
            let is_late = client.connection.is_new() && now - client.since > LOGIN
                || asked.is_some_and(|since| now.saturating_duration_since(since) > DATA);
            if is_late {
                client.is_lost = true;
                self.busy.insert(*key);
            }
        }
        if std::mem::take(&mut self.is_short) && !self.ends {
            // It is under watch, so nothing fails.
            let _ = watch.change(self.listener.as_fd(), 0, EventFlags::IN);
        }
    }

    fn accept(&mut self, watch: Watch) {
        loop {
            match self.listener.accept() {
                Ok(_) if self.clients.len() >= MOST_CLIENTS => {}
                // What this initiator lacks, it alone misses.
                Ok((socket, _)) => drop(self.add(watch, socket)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) => {
                    use rustix::io::Errno;
                    let short = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
                    if Errno::from_io_error(&e).is_some_and(|e| short.contains(&e)) {
                        self.is_short = true;
                        let none = EventFlags::empty();
                        let _ = watch.change(self.listener.as_fd(), 0, none);
                        return;
                    }
                }
            }
        }
    }

    fn add(&mut self, watch: Watch, socket: TcpStream) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        // An initiator whose machine has gone is noticed after some hours.
        rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
        let key = self.next_client;
        self.next_client += 1;
        let watched = EventFlags::IN;
        watch.add(socket.as_fd(), key, watched)?;
        let address = socket.local_addr()?.to_string();
        let client = Client {
            socket,
            connection: Connection::new(key, address),
            since: Instant::now(),
            watched,
            is_readable: false,
            is_lost: false,
        };
        self.clients.insert(key, client);
        Ok(())
    }

    /// Most commands of a session that logs in now.
    fn most_places(&self) -> u32 {
        let share = (ALL_PLACES / (self.clients.len() as u32 + 1)).max(2);
        self.window.map_or(share, |window| window.min(share))
    }

    /// Reads, answers and writes as far as a socket allows.
    ///
    /// # Errors
    /// The connection must be closed.
    fn serve_client(
        &mut self,
        watch: Watch,
        live: &mut Live,
        key: u64,
        client: &mut Client,
    ) -> io::Result<()> {
        if client.is_lost {
            return Err(ErrorKind::ConnectionReset.into());
        }
        let most_places = self.most_places();
        let connection = &mut client.connection;
        if client.is_readable && connection.can_receive() {
            client.is_readable = connection.receive(&mut client.socket, &mut self.buffer)?;
        }
        let mut shared = Shared {
            shelf: &mut self.shelf,
            admission: &self.admission,
            most_places,
        };
        if connection.step(&mut shared, live) {
            self.sessions += 1;
            self.replace_others(connection.session_ref(), key);
        }
        let is_blocked = connection.send(&mut client.socket, live)?;
        // What was sent may have made room for what was received already.
        let may_go_on = connection.step(&mut shared_of(self, most_places), live);
        debug_assert!(!may_go_on || connection.session_ref().is_some());
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

    /// A session with the name of an older one takes its place.
    fn replace_others(&mut self, new: Option<&Session>, key: u64) {
        let Some(new) = new.filter(|s| s.target.is_some()) else {
            return;
        };
        for (other, client) in &mut self.clients {
            let session = client.connection.session_ref();
            let is_same = session.is_some_and(|s| s.port == new.port && s.target == new.target);
            if *other != key && is_same {
                client.is_lost = true;
                self.busy.insert(*other);
            }
        }
    }

    /// Carries out what sessions have asked for that concerns others.
    fn carry_out(&mut self, live: &mut Live) {
        for order in self.shelf.take_orders() {
            for (key, client) in &mut self.clients {
                let Some(session) = client.connection.session() else {
                    continue;
                };
                match &order {
                    Order::Clear { units, by, ends } if key != by => {
                        session.abort_units(units, &mut self.shelf, live);
                        let of = session
                            .target
                            .map(|t| self.shelf.targets()[t].units.clone());
                        client.is_lost |= *ends && of.as_ref() == Some(units);
                    }
                    Order::Abort { unit, port } if session.port == *port => {
                        session.abort_units(&(*unit..*unit + 1), &mut self.shelf, live);
                    }
                    _ => continue,
                }
                self.busy.insert(*key);
            }
        }
    }
}

fn shared_of(of: &mut Iscsi, most_places: u32) -> Shared<'_> {
    Shared {
        shelf: &mut of.shelf,
        admission: &of.admission,
        most_places,
    }
}

impl FrontEnd for Iscsi {
    fn begin(&mut self, watch: Watch) -> io::Result<()> {
        self.shelf.set_front_end(watch.front_end());
        watch.add(self.listener.as_fd(), 0, EventFlags::IN)
    }

    fn ready(&mut self, watch: Watch, key: u64) {
        match key < CLIENTS {
            true => self.accept(watch),
            false => {
                self.busy.insert(key);
                if let Some(client) = self.clients.get_mut(&key) {
                    client.is_readable = true;
                }
            }
        }
    }

    fn completed(&mut self, live: &mut Live, done: &Done) {
        self.shelf.completed(live, done);
        for finished in self.shelf.take_finished() {
            let (key, done) = (finished.owner.session, finished.done);
            let client = self.clients.get_mut(&key);
            // The initiator may have left.
            let Some(session) = client.and_then(|c| c.connection.session()) else {
                continue;
            };
            if session.finished(finished, &mut self.shelf) {
                self.busy.insert(key);
                live.answered(&done);
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
            match self.serve_client(watch, live, key, &mut client) {
                Ok(()) => drop(self.clients.insert(key, client)),
                Err(_) => client.connection.close(&mut self.shelf, live),
            }
            self.carry_out(live);
        }
        for (key, client) in &mut self.clients {
            let session = client.connection.session();
            if let Some(session) = session.filter(|s| s.waits_for_room()) {
                session.ask_again(&mut self.shelf, live);
                if session.has_replies() {
                    self.busy.insert(*key);
                }
            }
        }
    }

    fn has_work(&self) -> bool {
        !self.busy.is_empty()
    }

    fn disconnect(&mut self) {
        self.shelf.lose_power();
        for (key, client) in &mut self.clients {
            client.is_lost = true;
            self.busy.insert(*key);
        }
    }

    fn end(&mut self, watch: Watch) {
        self.ends = true;
        watch.remove(self.listener.as_fd());
        for (key, client) in &mut self.clients {
            client.connection.refuse();
            self.busy.insert(*key);
        }
    }

    fn is_idle(&self) -> bool {
        self.clients.values().all(|c| c.connection.is_idle())
    }
}
