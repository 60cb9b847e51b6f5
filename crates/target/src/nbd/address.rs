//! Where a server listens.

use crate::nbd::tls::Mode;
use crate::process::is_activated;
use crate::socket::{parse_port, Listener};
use crate::TargetError;
use listenfd::ListenFd;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// An address: `unix:PATH`, `HOST:PORT` or `systemd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A port of this machine. Port 0 is any free one.
    Tcp(SocketAddr),
    /// Sockets that listen already, passed by who started this process (systemd's `LISTEN_FDS`).
    Systemd,
}

/// The port of the protocol, on this machine alone.
const STANDARD: &str = "127.0.0.1:10809";

impl Address {
    /// Reads an address. Others than this machine's own need `remote`. Without an address it is `systemd` if sockets
    /// were passed to this process, else the protocol's port of this machine.
    ///
    /// # Errors
    /// A text that is no address, or one that others can reach without `remote`.
    pub fn parse(text: Option<&str>, remote: bool) -> Result<Address, TargetError> {
        let text = match text {
            Some(text) => text,
            None if is_activated() => return Ok(Address::Systemd),
            None => STANDARD,
        };
        let wrong = |need: &str| TargetError::Address { protocol: "nbd", got: text.into(), need: need.into() };
        if text == "systemd" {
            return match is_activated() {
                true => Ok(Address::Systemd),
                false => Err(wrong("LISTEN_FDS and LISTEN_PID of this process")),
            };
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.is_empty() || path.contains('\0') {
                true => Err(wrong("a path after unix:")),
                false => Ok(Address::Unix(path.into())),
            };
        }
        let form = "unix:PATH, systemd or HOST:PORT, such as 127.0.0.1:10809";
        let address = parse_port(text, form, remote).map_err(|need| wrong(&need))?;
        Ok(Address::Tcp(address))
    }

    /// Begins to listen. There is at least one listener.
    ///
    /// # Errors
    /// The address is in use, or may not be used.
    pub fn listen(&self) -> Result<Vec<Listener>, TargetError> {
        let failed =
            |e: io::Error| TargetError::Listen { protocol: "nbd", address: self.to_string(), why: e.to_string() };
        Ok(match self {
            Address::Unix(path) => vec![Listener::at_path(path).map_err(failed)?],
            Address::Tcp(address) => vec![Listener::at_port(*address).map_err(failed)?],
            Address::Systemd => passed().map_err(|e| TargetError::Address {
                protocol: "nbd",
                got: self.to_string(),
                need: format!("sockets that listen: {e}"),
            })?,
        })
    }
}

/// The sockets that were passed to this process. They can be taken once.
fn passed() -> io::Result<Vec<Listener>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let wrong = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(wrong("the sockets are in use already".into()));
    }
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut found = ListenFd::from_env();
    let number = found.len();
    let take = |i: usize| {
        let listener = match found.take_unix_listener(i) {
            Ok(Some(listener)) => Listener::Unix(listener, None),
            _ => match found.take_tcp_listener(i) {
                Ok(Some(listener)) => Listener::Tcp(listener),
                Ok(None) => return Err(wrong(format!("socket {i} is absent"))),
                Err(e) => return Err(e),
            },
        };
        let accepts = rustix::net::sockopt::socket_acceptconn(listener.as_fd())?;
        let name = names.split(':').nth(i).unwrap_or_default();
        match accepts {
            true => listener.ready(),
            // Of a unit with `Accept=yes`.
            false => Err(wrong(format!("socket {i} {name:?} does not listen"))),
        }
    };
    (0..number).map(take).collect()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(address) => address.fmt(f),
            Address::Systemd => f.write_str("systemd"),
        }
    }
}

/// What clients are given to connect to a listener.
pub fn uri(listener: &Listener, tls: Mode) -> String {
    let scheme = match tls {
        Mode::Require => "nbds",
        Mode::Off | Mode::On => "nbd",
    };
    match listener {
        Listener::Unix(listener, _) => {
            let address = listener.local_addr().ok();
            let path = address.and_then(|a| a.as_pathname().map(PathBuf::from));
            // One without a name has no URI.
            let path = path.unwrap_or_default();
            let path = std::path::absolute(&path).unwrap_or(path);
            let path = escaped(&path.to_string_lossy());
            format!("{scheme}+unix:///?socket={path}")
        }
        Listener::Tcp(listener) => match listener.local_addr() {
            Ok(address) => format!("{scheme}://{address}"),
            Err(_) => format!("{scheme}://"),
        },
    }
}

/// A path in the query of a URI.
#[doc(hidden)]
pub fn escaped(path: &str) -> String {
    let mut found = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                found.push(char::from(byte));
            }
            _ => found.push_str(&format!("%{byte:02X}")),
        }
    }
    found
}
