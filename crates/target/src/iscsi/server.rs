//! iSCSI as a front end: its initiators and their sockets.

use crate::clients::{Client, Clients, Turn};
use crate::front_end::{FrontEnd, Watch};
use crate::iscsi::connection::{Connection, Shared};
use crate::iscsi::login::Admission;
use crate::iscsi::session::Session;
use crate::iscsi::shelf::{disk_of, Order, Shelf, Target};
use crate::live::{Done, Live};
use crate::socket::{parse_port, Listener};
use crate::TargetError;
use std::io;
use std::time::Duration;

/// Commands of all sessions that are taken at once, shared out evenly to those that log in.
const ALL_PLACES: u32 = 1 << 13;
/// Data that were asked for and have not all come so long after end the connection.
const DATA: Duration = Duration::from_secs(30);
/// The same while others wait for room.
const DATA_OTHERS_WAIT: Duration = Duration::from_secs(2);
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

/// The initiators of a system.
pub struct Iscsi {
    address: String,
    admission: Admission,
    window: Option<u32>,
    shelf: Shelf,
    clients: Clients<Connection>,
    /// Sessions that were served.
    pub sessions: u64,
}

/// A name with the characters that a target's may have.
fn target_name(of: &str) -> String {
    // Of a drive that was named by its file, the stem.
    let stem = of.rsplit('/').next().unwrap_or(of).trim_end_matches(".toml");
    let plain = stem.to_lowercase();
    let allowed = plain.chars().map(|c| match c {
        'a'..='z' | '0'..='9' | '.' | '-' => c,
        _ => '-',
    });
    format!("{AUTHORITY}:{}", allowed.take(150).collect::<String>())
}

/// Begins to listen; returns the address as well, where port 0 has become a number.
fn listen(text: &str, remote: bool) -> Result<(Listener, String), TargetError> {
    let wrong = |need| TargetError::Address { protocol: "iscsi address", got: text.into(), need };
    let form = "HOST:PORT, such as 127.0.0.1:3260";
    let address = parse_port(text, form, remote).map_err(wrong)?;
    let failed =
        |e: io::Error| TargetError::Listen { protocol: "iscsi address", address: text.into(), why: e.to_string() };
    let listener = Listener::at_port(address).map_err(failed)?;
    let address = listener.port().map_err(failed)?;
    Ok((listener, address.to_string()))
}

impl Iscsi {
    /// Makes the devices of a system to targets, and begins to listen.
    ///
    /// # Errors
    /// An address that may not be used, or is in use.
    pub fn open(options: &Options, live: &mut Live) -> Result<Iscsi, TargetError> {
        let text = options.address.as_deref().unwrap_or(STANDARD);
        let (listener, address) = listen(text, options.remote)?;
        let name = target_name(live.name());
        let number = live.devices().len();
        let targets: Vec<Target> = match options.apart && number > 1 {
            true => (0..number).map(|i| Target { name: format!("{name}.{i}"), units: i..i + 1 }).collect(),
            false => vec![Target { name, units: 0..number }],
        };
        let mut disks = Vec::new();
        for target in &targets {
            for device in target.units.clone() {
                disks.push(disk_of(live, device, target));
            }
        }
        Ok(Iscsi {
            address,
            admission: options.admission.clone(),
            window: options.window,
            shelf: Shelf::new(targets, disks),
            clients: Clients::new(vec![listener]),
            sessions: 0,
        })
    }

    /// What initiators are given, for each device: `iscsi://HOST:PORT/TARGET/LUN`.
    pub fn urls(&self) -> Vec<String> {
        let each = |target: &Target| {
            let of = format!("iscsi://{}/{}", self.address, target.name);
            let units = 0..target.units.len();
            units.map(|lun| format!("{of}/{lun}")).collect::<Vec<_>>()
        };
        self.shelf.targets.iter().flat_map(each).collect()
    }

    /// Most commands of a session that logs in now.
    fn most_places(&self) -> u32 {
        let share = (ALL_PLACES / (self.clients.clients.len() as u32 + 1)).max(2);
        self.window.map_or(share, |window| window.min(share))
    }

    /// Reads, answers and writes as far as a socket allows.
    ///
    /// # Errors
    /// The connection must be closed.
    fn serve_client(&mut self, watch: Watch, live: &mut Live, client: &mut Client<Connection>) -> io::Result<()> {
        let (most_places, share) = (self.most_places(), self.clients.share());
        self.shelf.room.sessions = self.clients.clients.len() + 1;
        self.clients.receive(client)?;
        let (key, connection) = (client.key, &mut client.connection);
        let mut shared = Shared { shelf: &mut self.shelf, admission: &self.admission, most_places, share };
        if connection.step(&mut shared, live, &mut client.work) {
            self.sessions += 1;
            self.replace_others(connection.session_ref(), key);
        }
        let is_blocked = connection.send(&mut client.socket, live, share, &mut client.work)?;
        self.clients.end_turn(watch, client, is_blocked)
    }

    /// A session with the name of an older one takes its place.
    fn replace_others(&mut self, new: Option<&Session>, key: u64) {
        let Some(new) = new.filter(|s| s.target.is_some()) else { return };
        self.clients.each(|other, connection| {
            let session = connection.session_ref();
            let is_same = session.is_some_and(|s| s.port == new.port && s.target == new.target);
            match other != key && is_same {
                true => Turn::Last,
                false => Turn::None,
            }
        });
    }

    /// Carries out what sessions have asked for that concerns others.
    fn carry_out(&mut self, live: &mut Live) {
        let shelf = &mut self.shelf;
        for order in shelf.take_orders() {
            self.clients.each(|key, connection| {
                let Some(session) = connection.session() else { return Turn::None };
                match &order {
                    Order::Clear { units, by, ends } if key != *by => {
                        session.abort_units(units, shelf, live);
                        let of = session.target.map(|t| shelf.targets[t].units.clone());
                        match *ends && of.as_ref() == Some(units) {
                            true => Turn::Last,
                            false => Turn::Next,
                        }
                    }
                    Order::Abort { unit, port } if session.port == *port => {
                        session.abort_units(&(*unit..*unit + 1), shelf, live);
                        Turn::Next
                    }
                    _ => Turn::None,
                }
            });
        }
    }
}

impl FrontEnd for Iscsi {
    fn begin(&mut self, watch: Watch) -> io::Result<()> {
        self.shelf.front_end = watch.front_end;
        self.clients.begin(watch)
    }

    fn ready(&mut self, watch: Watch, key: u64) {
        self.clients.ready(watch, key, |key, socket| Ok(Connection::new(key, socket.local_address()?)));
    }

    fn completed(&mut self, live: &mut Live, done: &Done) {
        self.shelf.completed(live, done);
        for finished in self.shelf.take_finished() {
            let (key, done) = (finished.owner.session, finished.done);
            // The initiator may have left.
            let Some(session) = self.clients.get(key).and_then(Connection::session) else { continue };
            if session.finished(finished, &mut self.shelf) {
                self.clients.wake(key);
                live.answered(&done);
            }
        }
    }

    fn work(&mut self, watch: Watch, live: &mut Live) {
        let most = if self.shelf.room.is_short { DATA_OTHERS_WAIT } else { DATA };
        self.clients.look(watch, |connection, now| {
            let asked = connection.session_ref().and_then(Session::asked_since);
            asked.is_some_and(|since| now.saturating_duration_since(since) > most)
        });
        self.clients.begin_pass();
        while let Some(mut client) = self.clients.next_turn() {
            match self.serve_client(watch, live, &mut client) {
                Ok(()) => self.clients.put_back(client),
                Err(_) => client.connection.close(&mut self.shelf, live),
            }
            self.carry_out(live);
        }
        let shelf = &mut self.shelf;
        if !std::mem::take(&mut shelf.room.is_short) {
            return;
        }
        self.clients.each(|_, connection| {
            let Some(session) = connection.session().filter(|s| s.waits_for_room()) else { return Turn::None };
            session.ask_again(shelf, live);
            match session.has_replies() {
                true => Turn::Next,
                false => Turn::None,
            }
        });
    }

    fn has_work(&self) -> bool {
        self.clients.has_work()
    }

    fn disconnect(&mut self) {
        self.shelf.lose_power();
        self.clients.each(|_, _| Turn::Last);
    }

    fn end(&mut self, watch: Watch) {
        self.clients.end(watch);
    }

    fn is_idle(&self) -> bool {
        self.clients.is_idle()
    }
}
