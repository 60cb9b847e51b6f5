//! The clients of a front end: their sockets, and whose turn it is.
//!
//! # Model
//! A client is *busy* if its socket has something to read or takes more, or if somebody else has something for it. Each
//! busy client has a turn in [`FrontEnd::work`](crate::front_end::FrontEnd::work): it reads once, answers, and writes what
//! its socket takes. At the end of its turn its socket is put under watch for what it can do next.
//!
//! # Bounds
//! One rule for all front ends, in bytes:
//! - A client that has not taken [its share](Clients::share) of what was made for it is not read from, and gets no more
//!   work, until its socket takes some of it.
//! - What was read from a client and not understood yet has the length of the longest unit of its protocol, at most.
//! - What clients write and the drives have not taken is in memory up to their [shares](share_of_writes).
//! - A pass over all clients does work of [`PASS_BYTES`], in equal parts for those who have a turn; then the sockets are looked
//!   at again, and those who had no turn have the next ones. Of those that want more, one has a turn beside the others.

use crate::front_end::{EventFlags, Watch};
use crate::socket::{Listener, Socket};
use bytes::{Buf, BytesMut};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Most clients at once; further ones are closed.
const MOST_CLIENTS: usize = 1024;
/// A client that has not ended its handshake or login by then is closed.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Time between two looks for clients that take longer.
const LOOK: Duration = Duration::from_millis(100);
/// Keys of clients begin here; those below are listening sockets.
const CLIENTS: u64 = 1 << 16;
/// Bytes that are read from a socket at once.
pub const IN_BYTES: usize = 64 << 10;
/// Bytes that one client may leave untaken.
pub const MOST_UNTAKEN: usize = 512 << 10;
/// Bytes that all clients of a front end may leave untaken, in equal shares.
const ALL_UNTAKEN: usize = 16 << 20;
/// Bytes that each may leave untaken in any case: earlier ones may have had larger shares.
const LEAST_UNTAKEN: usize = 32 << 10;
/// Bytes of writes that all clients of a front end may have in memory, in equal shares, until the drives have taken them.
pub const ALL_WRITTEN: usize = 32 << 20;
/// Bytes of them that each may have while there is room.
pub const LEAST_WRITTEN: usize = 64 << 10;
/// Most work of a client in a turn: bytes of its requests and data.
pub const WORK_BYTES: usize = 256 << 10;
/// Work of a request, or of a turn, besides its bytes.
pub const REQUEST_WORK: usize = 8 << 10;
/// Work of a pass.
pub const PASS_BYTES: usize = 1 << 20;

/// What one of so many clients may hold of `all` bytes, if the others hold so many.
fn share(all: usize, least: usize, clients: usize, others: usize) -> usize {
    (all / clients.max(1)).max(least).min(all.saturating_sub(others))
}

/// The same of writes.
pub fn share_of_writes(clients: usize, others: usize) -> usize {
    share(ALL_WRITTEN, LEAST_WRITTEN, clients, others)
}

/// Work that a client may have in its turn: so much with its requests, and as much with replies.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    part: usize,
    done: usize,
}

impl Work {
    /// A turn of so much.
    pub fn of(part: usize) -> Work {
        Work { part, done: 0 }
    }

    /// So much was done.
    pub fn did(&mut self, bytes: usize) {
        self.done += bytes;
    }

    /// Whether there was enough of it.
    pub fn is_over(self) -> bool {
        self.done >= self.part
    }

    /// Bytes of replies that are taken from the store in this turn: whole sectors, so that no second piece follows one that ends
    /// within a sector.
    pub fn to_send(self, share: usize) -> usize {
        self.part.max(REQUEST_WORK).min(share / 2) & !0xfff
    }
}

/// Adds bytes to a buffer of `most` bytes at most, which gets no more memory than that.
pub fn append(buffer: &mut BytesMut, bytes: &[u8], most: usize) {
    if buffer.capacity() - buffer.len() < bytes.len() {
        let needed = buffer.len() + bytes.len();
        let mut grown = BytesMut::with_capacity(needed.max((2 * needed).min(most)));
        grown.extend_from_slice(buffer);
        *buffer = grown;
    }
    buffer.extend_from_slice(bytes);
}

/// Whether a socket has to be tried again later.
pub fn is_later(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Writes what a socket takes; true if some is left.
///
/// # Errors
/// The client has left.
pub fn drain(socket: &mut impl Write, output: &mut BytesMut) -> io::Result<bool> {
    while !output.is_empty() {
        match socket.write(output) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => output.advance(n),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(false)
}

/// Buffers that are empty take no memory.
pub fn release<const N: usize>(buffers: [&mut BytesMut; N]) {
    for buffer in buffers.into_iter().filter(|buffer| buffer.is_empty()) {
        *buffer = BytesMut::new();
    }
}

/// What a front end knows of a client, and does for it.
pub trait Connection {
    /// Whether its handshake or login is not over.
    fn is_new(&self) -> bool;
    /// Bytes that may be read from its socket now, as far as its protocol is concerned.
    fn room(&self) -> usize;
    /// Bytes that were made for it and that its socket has not taken.
    fn untaken(&self) -> usize;
    /// Reads what the socket has, at most as much as `buffer` holds; true if there may be more.
    ///
    /// # Errors
    /// The client has left.
    fn receive(&mut self, socket: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool>;
    /// Whether another turn does more, if its socket takes more: answers were not yet taken from the store, or what was
    /// received was not yet looked at.
    fn has_more(&self) -> bool;
    /// Nothing happens now: buffers that are empty take no memory.
    fn release(&mut self);
    /// Whether the socket can be closed.
    fn is_over(&self) -> bool;
    /// Whether all that was taken is answered.
    fn is_idle(&self) -> bool;
    /// From now on nothing more is taken, because the server ends.
    fn refuse(&mut self);
}

/// A client with its socket.
#[derive(Debug)]
pub struct Client<C> {
    /// Its number; no other client ever has the same.
    pub key: u64,
    /// Its socket.
    pub socket: Socket,
    /// What the front end knows of it.
    pub connection: C,
    /// Work of its turn.
    pub work: Work,
    /// What it had not taken at the end of its last turn, in bytes.
    untaken: usize,
    since: Instant,
    /// What the poll was asked for.
    watched: EventFlags,
    /// The socket may have something to read.
    is_readable: bool,
    /// A turn of it comes.
    waits: bool,
    /// It is to be closed at its next turn.
    is_lost: bool,
}

impl<C> Client<C> {
    /// A client that nothing is known of and that has no turn.
    #[doc(hidden)]
    pub fn new(key: u64, socket: Socket, connection: C) -> Client<C> {
        Client {
            key,
            socket,
            connection,
            work: Work::of(0),
            untaken: 0,
            since: Instant::now(),
            watched: EventFlags::empty(),
            is_readable: false,
            waits: false,
            is_lost: false,
        }
    }

    /// It has a turn, in the order of this queue.
    fn queue(&mut self, queue: &mut VecDeque<u64>) {
        if !std::mem::replace(&mut self.waits, true) {
            queue.push_back(self.key);
        }
    }
}

/// The clients of a front end.
pub struct Clients<C> {
    /// The listeners.
    pub listeners: Vec<Listener>,
    #[doc(hidden)]
    pub clients: BTreeMap<u64, Client<C>>,
    next: u64,
    /// Those who have a turn next, in the order in which they came.
    busy: VecDeque<u64>,
    /// Those who want more: one of them has a turn beside those who are busy.
    later: VecDeque<u64>,
    /// Work that is left of the pass, and the part of each client.
    pass: (usize, usize),
    /// Bytes that all of them have not taken.
    untaken: usize,
    /// What a socket had.
    buffer: Box<[u8]>,
    next_look: Instant,
    /// The system has no more sockets: nobody is accepted until the next look.
    is_short: bool,
    /// The end was asked for.
    ends: bool,
}

impl<C: Connection> Clients<C> {
    /// No clients yet. There is at least one listener.
    pub fn new(listeners: Vec<Listener>) -> Clients<C> {
        Clients {
            listeners,
            clients: BTreeMap::new(),
            next: CLIENTS,
            busy: VecDeque::new(),
            later: VecDeque::new(),
            pass: (0, 0),
            untaken: 0,
            buffer: vec![0; IN_BYTES].into_boxed_slice(),
            next_look: Instant::now(),
            is_short: false,
            ends: false,
        }
    }

    /// Puts the listeners under watch.
    ///
    /// # Errors
    /// The system refuses.
    pub fn begin(&mut self, watch: Watch) -> io::Result<()> {
        let mut listeners = self.listeners.iter().enumerate();
        listeners.try_for_each(|(i, l)| watch.add(l.as_fd(), i as u64, EventFlags::IN))
    }

    /// A socket under watch has something: it is read at the client's next turn, or new clients are accepted. `make` gets
    /// the key and the socket of a new one; if it fails, the client is closed.
    pub fn ready(&mut self, watch: Watch, key: u64, make: impl FnMut(u64, &Socket) -> io::Result<C>) {
        if key < CLIENTS {
            return self.accept(watch, key as usize, make);
        }
        if let Some(client) = self.clients.get_mut(&key) {
            // Or it can be written; then reading finds nothing.
            client.is_readable = true;
            self.wake(key);
        }
    }

    /// Bytes that a client may leave untaken, of which each reply takes half at most.
    pub fn share(&self) -> usize {
        share(ALL_UNTAKEN, LEAST_UNTAKEN, self.clients.len() + 1, self.untaken).clamp(LEAST_UNTAKEN, MOST_UNTAKEN)
    }

    /// Bytes that may be read from a client now.
    fn room(&self, connection: &C) -> usize {
        let share = self.share();
        match connection.untaken() < share {
            true => connection.room().min(IN_BYTES).min(share),
            false => 0,
        }
    }

    fn accept(&mut self, watch: Watch, listener: usize, mut make: impl FnMut(u64, &Socket) -> io::Result<C>) {
        loop {
            match self.listeners[listener].accept() {
                // A client beyond the limit is closed at once.
                Ok(_) if self.clients.len() >= MOST_CLIENTS => {}
                // What this client lacks, it alone misses.
                Ok(socket) => drop(self.add(watch, socket, &mut make)),
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

    fn add(
        &mut self,
        watch: Watch,
        socket: Socket,
        make: &mut impl FnMut(u64, &Socket) -> io::Result<C>,
    ) -> io::Result<()> {
        let key = self.next;
        self.next += 1;
        let watched = EventFlags::IN;
        watch.add(socket.as_fd(), key, watched)?;
        let connection = make(key, &socket)?;
        let client = Client { watched, waits: true, ..Client::new(key, socket, connection) };
        self.clients.insert(key, client);
        self.busy.push_back(key);
        Ok(())
    }

    fn listen(&self, watch: Watch, wanted: EventFlags) {
        for (i, listener) in self.listeners.iter().enumerate() {
            // They are under watch, so nothing fails.
            let _ = watch.change(listener.as_fd(), i as u64, wanted);
        }
    }

    /// From time to time, closes clients whose handshake takes too long and those of whom `is_late` says so, and accepts
    /// again if sockets were short.
    pub fn look(&mut self, watch: Watch, is_late: impl Fn(&C, Instant) -> bool) {
        let now = Instant::now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK;
        for client in self.clients.values_mut() {
            let is_slow = client.connection.is_new() && now - client.since > HANDSHAKE;
            if is_slow || is_late(&client.connection, now) {
                client.is_lost = true;
                client.queue(&mut self.busy);
            }
            client.connection.release();
        }
        if std::mem::take(&mut self.is_short) && !self.ends {
            self.listen(watch, EventFlags::IN);
        }
    }

    /// Begins a pass over those who are busy, and one of those who want more.
    pub fn begin_pass(&mut self) {
        self.busy.extend(self.later.pop_front());
        let part = PASS_BYTES / self.busy.len().max(1);
        self.pass = (PASS_BYTES, part.min(WORK_BYTES));
    }

    /// Takes out the next client for its turn; `None` if the work of the pass is done.
    pub fn next_turn(&mut self) -> Option<Client<C>> {
        while self.pass.0 > 0 {
            // Some have left.
            if let Some(mut client) = self.clients.remove(&self.busy.pop_front()?) {
                client.waits = false;
                client.work = Work::of(self.pass.1);
                self.pass.0 = self.pass.0.saturating_sub(REQUEST_WORK);
                self.untaken -= client.untaken;
                return Some(client);
            }
        }
        None
    }

    /// A client's turn is over, and it stays.
    pub fn put_back(&mut self, mut client: Client<C>) {
        self.pass.0 = self.pass.0.saturating_sub(client.work.done);
        client.untaken = client.connection.untaken();
        self.untaken += client.untaken;
        self.clients.insert(client.key, client);
    }

    /// At the beginning of its turn, reads once what the client has sent.
    ///
    /// # Errors
    /// The client must be closed.
    pub fn receive(&mut self, client: &mut Client<C>) -> io::Result<()> {
        if client.is_lost {
            return Err(ErrorKind::ConnectionReset.into());
        }
        let room = self.room(&client.connection);
        if client.is_readable && room > 0 {
            let connection = &mut client.connection;
            client.is_readable = connection.receive(&mut client.socket, &mut self.buffer[..room])?;
        }
        Ok(())
    }

    /// At the end of its turn: what its socket is watched for, and whether it has another turn at once. `is_blocked`: its
    /// socket takes nothing more.
    ///
    /// # Errors
    /// The client must be closed.
    pub fn end_turn(&mut self, watch: Watch, client: &mut Client<C>, is_blocked: bool) -> io::Result<()> {
        let connection = &client.connection;
        if connection.is_over() {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        let mut wanted = EventFlags::empty();
        let receives = self.room(connection) > 0;
        wanted.set(EventFlags::IN, receives);
        wanted.set(EventFlags::OUT, is_blocked);
        if wanted != client.watched {
            watch.change(client.socket.as_fd(), client.key, wanted)?;
            client.watched = wanted;
        }
        let goes_on = (client.is_readable && receives) || (!is_blocked && connection.has_more());
        if goes_on {
            client.queue(&mut self.later);
        }
        Ok(())
    }

    /// A client that has not left and whose turn it is not.
    pub fn get(&mut self, key: u64) -> Option<&mut C> {
        self.clients.get_mut(&key).map(|c| &mut c.connection)
    }

    /// Something was done for this client, so it has a turn.
    pub fn wake(&mut self, key: u64) {
        if let Some(client) = self.clients.get_mut(&key) {
            client.queue(&mut self.busy);
        }
    }

    /// Gives all clients but the one whose turn it is to `see`, which says what each gets.
    pub fn each(&mut self, mut see: impl FnMut(u64, &mut C) -> Turn) {
        for (key, client) in &mut self.clients {
            match see(*key, &mut client.connection) {
                Turn::None => continue,
                Turn::Next => {}
                Turn::Last => client.is_lost = true,
            }
            client.queue(&mut self.busy);
        }
    }

    /// All connections are closed at once.
    pub fn clear(&mut self) {
        // Their sockets are closed, and no longer watched.
        self.clients.clear();
        self.busy.clear();
        self.later.clear();
        self.untaken = 0;
    }

    /// The end was asked for: nobody is accepted, and nothing more is taken.
    pub fn end(&mut self, watch: Watch) {
        self.ends = true;
        for listener in &self.listeners {
            watch.remove(listener.as_fd());
        }
        for client in self.clients.values_mut() {
            client.connection.refuse();
            client.queue(&mut self.busy);
        }
    }

    /// Whether somebody is busy.
    pub fn has_work(&self) -> bool {
        !self.busy.is_empty() || !self.later.is_empty()
    }

    /// Whether all that was taken is answered.
    pub fn is_idle(&self) -> bool {
        self.clients.values().all(|c| c.connection.is_idle())
    }
}

/// What a client that was looked at gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// No turn: nothing was done for it.
    None,
    /// A turn.
    Next,
    /// A turn in which it is closed.
    Last,
}
