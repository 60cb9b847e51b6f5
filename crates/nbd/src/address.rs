//! Where a server listens.

use crate::socket::Socket;
use crate::tls::Mode;
use crate::ServeError;
use listenfd::ListenFd;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
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
    pub fn parse(text: Option<&str>, remote: bool) -> Result<Address, ServeError> {
        let text = match text {
            Some(text) => text,
            None if is_activated() => return Ok(Address::Systemd),
            None => STANDARD,
        };
        let wrong = |need: &str| ServeError::Address {
            got: text.into(),
            need: need.into(),
        };
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
        let found = text.to_socket_addrs().map_err(|_| wrong(form))?.next();
        let address = found.ok_or_else(|| wrong(form))?;
        match address.ip().is_loopback() || remote {
            true => Ok(Address::Tcp(address)),
            false => Err(wrong("an address of this machine alone, or --allow-remote")),
        }
    }

    /// Begins to listen. There is at least one listener.
    ///
    /// # Errors
    /// The address is in use, or may not be used.
    pub fn listen(&self) -> Result<Vec<Listener>, ServeError> {
        let failed = |e: io::Error| ServeError::Listen {
            address: self.to_string(),
            why: e.to_string(),
        };
        Ok(match self {
            Address::Unix(path) => {
                remove_stale(path);
                let listener = UnixListener::bind(path).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                vec![Listener::Unix(listener, Some(path.clone()))]
            }
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                vec![Listener::Tcp(listener)]
            }
            Address::Systemd => passed().map_err(|e| ServeError::Address {
                got: self.to_string(),
                need: format!("sockets that listen: {e}"),
            })?,
        })
    }
}

/// Whether sockets were passed to this process.
fn is_activated() -> bool {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    number("LISTEN_PID") == Some(std::process::id()) && number("LISTEN_FDS").is_some_and(|n| n > 0)
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
            true => listener.set_nonblocking().map(|()| listener),
            // Of a unit with `Accept=yes`.
            false => Err(wrong(format!("socket {i} {name:?} does not listen"))),
        }
    };
    (0..number).map(take).collect()
}

/// Removes a socket on which nobody listens, left by a server that was killed.
fn remove_stale(path: &PathBuf) {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        // If that fails, so does binding, which says why.
        let _ = std::fs::remove_file(path);
    }
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

/// A socket for new clients. That of a path is removed at the end.
#[derive(Debug)]
pub enum Listener {
    /// At a path; with the path if it is this server's own.
    Unix(UnixListener, Option<PathBuf>),
    /// At a port.
    Tcp(TcpListener),
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(l, _) => l.as_fd(),
            Listener::Tcp(l) => l.as_fd(),
        }
    }
}

impl Listener {
    /// What clients are given.
    pub fn uri(&self, tls: Mode) -> String {
        let scheme = match tls {
            Mode::Require => "nbds",
            Mode::Off | Mode::On => "nbd",
        };
        match self {
            Listener::Unix(listener, path) => {
                let path = path.clone().or_else(|| {
                    let address = listener.local_addr().ok()?;
                    address.as_pathname().map(Into::into)
                });
                // One without a name has no URI.
                let path = path.unwrap_or_default();
                let path = std::path::absolute(&path).unwrap_or(path);
                format!(
                    "{scheme}+unix:///?socket={}",
                    escaped(&path.to_string_lossy())
                )
            }
            Listener::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("{scheme}://{address}"),
                Err(_) => format!("{scheme}://"),
            },
        }
    }

    /// Takes a client.
    ///
    /// # Errors
    /// Nobody waits, or the system has no more sockets.
    pub fn accept(&self) -> io::Result<Socket> {
        Ok(match self {
            Listener::Unix(listener, _) => {
                let (socket, _) = listener.accept()?;
                socket.set_nonblocking(true)?;
                Socket::Unix(socket)
            }
            Listener::Tcp(listener) => {
                let (socket, _) = listener.accept()?;
                socket.set_nonblocking(true)?;
                socket.set_nodelay(true)?;
                Socket::Tcp(socket)
            }
        })
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Listener::Unix(listener, _) => listener.set_nonblocking(true),
            Listener::Tcp(listener) => listener.set_nonblocking(true),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, Some(path)) = self {
            // It may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A path in the query of a URI.
fn escaped(path: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let unix = Address::parse(Some("unix:/tmp/a b"), false).unwrap();
        assert_eq!(unix, Address::Unix("/tmp/a b".into()));
        let tcp = Address::parse(None, false).unwrap();
        assert_eq!(tcp.to_string(), "127.0.0.1:10809");
        for (text, need) in [
            ("unix:", "a path"),
            ("10809", "unix:PATH, systemd or HOST:PORT"),
            ("systemd", "LISTEN_FDS"),
            ("0.0.0.0:10809", "--allow-remote"),
        ] {
            let error = Address::parse(Some(text), false).unwrap_err().to_string();
            assert!(error.contains(need), "{error}");
        }
        assert!(Address::parse(Some("0.0.0.0:10809"), true).is_ok());
        assert_eq!(escaped("/tmp/a b%"), "/tmp/a%20b%25");
    }
}
