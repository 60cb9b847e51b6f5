//! NBD as a front end: its clients and their sockets.

use crate::clients::{share_of_writes, Client, Clients, Connection as _};
use crate::front_end::{FrontEnd, Watch};
use crate::live::{Access, Done, Live, Ticket};
use crate::nbd::address;
use crate::nbd::connection::Connection;
use crate::nbd::protocol::{command, Failure};
use crate::nbd::session::{Request, MAX_REQUESTS};
use crate::nbd::tls::Tls;
use crate::socket::Listener;
use headstack_drive::{Command, Hint};
use slab::Slab;
use std::io;

/// Requests of all clients that are served at once, shared out evenly.
const ALL_REQUESTS: usize = 1 << 14;

/// A request at a device.
struct Open {
    client: u64,
    request: Request,
}

/// The clients of a system, over NBD.
pub struct Nbd {
    tls: Tls,
    clients: Clients<Connection>,
    open: Slab<Open>,
    /// Bytes of memory for writes that still arrive.
    arriving: u64,
    /// Number of clients that have chosen an export.
    pub served: u64,
}

impl Nbd {
    /// Listens already; there is at least one listener.
    pub fn new(listeners: Vec<Listener>, tls: Tls) -> Nbd {
        Nbd { tls, clients: Clients::new(listeners), open: Slab::new(), arriving: 0, served: 0 }
    }

    /// What clients are given.
    pub fn uri(&self) -> String {
        address::uri(&self.clients.listeners[0], self.tls.mode)
    }

    /// Reads, answers and writes as far as a client's socket allows.
    ///
    /// # Errors
    /// The client has left, or must be closed.
    fn serve_client(&mut self, watch: Watch, live: &mut Live, client: &mut Client<Connection>) -> io::Result<()> {
        let clients = self.clients.clients.len() + 1;
        let left = ALL_REQUESTS.saturating_sub(self.open.len());
        let requests = left.min(ALL_REQUESTS / clients).min(MAX_REQUESTS);
        let all_written = live.held + self.arriving;
        let others = all_written.saturating_sub(client.connection.written());
        client.connection.share(requests, share_of_writes(clients, others as usize) as u64);
        let share = self.clients.share();
        self.clients.receive(client)?;
        let (key, connection) = (client.key, &mut client.connection);
        let was_new = connection.is_new();
        let open = &mut self.open;
        connection.step(&self.tls, live, share, &mut client.work, |live, device, request, content| {
            let client = key;
            let tag = open.insert(Open { client, request }) as u64;
            let front_end = watch.front_end;
            let ticket = Ticket { front_end, tag };
            live.submit(ticket, access(device, &request), content);
        })?;
        if was_new && connection.is_served() {
            self.served += 1;
        }
        let is_blocked = connection.send(&mut client.socket, live, share, &mut client.work)?;
        self.clients.end_turn(watch, client, is_blocked)
    }
}

impl FrontEnd for Nbd {
    fn begin(&mut self, watch: Watch) -> io::Result<()> {
        self.clients.begin(watch)
    }

    fn ready(&mut self, watch: Watch, key: u64) {
        let tls = &self.tls;
        let make = |_, _: &_| Ok(Connection::new(tls));
        self.clients.ready(watch, key, make);
    }

    fn completed(&mut self, live: &mut Live, done: &Done) {
        let open = self.open.remove(done.ticket.tag as usize);
        // The client may have left.
        if let Some(connection) = self.clients.get(open.client) {
            let failure = done.error.map(|_| Failure::Io);
            if connection.ended(&open.request, failure) {
                self.clients.wake(open.client);
                live.answered(done);
            }
        }
    }

    fn work(&mut self, watch: Watch, live: &mut Live) {
        self.clients.look(watch, |_, _| false);
        self.clients.begin_pass();
        while let Some(mut client) = self.clients.next_turn() {
            self.arriving -= client.connection.arriving();
            if self.serve_client(watch, live, &mut client).is_ok() {
                self.arriving += client.connection.arriving();
                self.clients.put_back(client);
            }
        }
    }

    fn has_work(&self) -> bool {
        self.clients.has_work()
    }

    fn disconnect(&mut self) {
        self.clients.clear();
        self.arriving = 0;
    }

    fn end(&mut self, watch: Watch) {
        self.clients.end(watch);
    }

    fn is_idle(&self) -> bool {
        self.clients.is_idle()
    }
}

/// What a request asks of a device.
fn access(device: usize, request: &Request) -> Access {
    Access {
        hint: Hint::None,
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
