//! Where a server listens.

use crate::ServeError;
use std::fmt;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// An address: `unix:PATH` or `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A port of this machine. Port 0 is any free one.
    Tcp(SocketAddr),
}

impl Address {
    /// Reads an address. Others than this machine's own need `remote`.
    ///
    /// # Errors
    /// A text that is no address, or one that others can reach without `remote`.
    pub fn parse(text: &str, remote: bool) -> Result<Address, ServeError> {
        let wrong = |need: &str| ServeError::Address {
            got: text.into(),
            need: need.into(),
        };
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.is_empty() || path.contains('\0') {
                true => Err(wrong("a path after unix:")),
                false => Ok(Address::Unix(path.into())),
            };
        }
        let form = "unix:PATH or HOST:PORT, such as 127.0.0.1:10809";
        let found = text.to_socket_addrs().map_err(|_| wrong(form))?.next();
        let address = found.ok_or_else(|| wrong(form))?;
        match address.ip().is_loopback() || remote {
            true => Ok(Address::Tcp(address)),
            false => Err(wrong("an address of this machine alone, or --allow-remote")),
        }
    }

    /// Begins to listen.
    ///
    /// # Errors
    /// The address is in use, or may not be used.
    pub fn listen(&self) -> Result<Listener, ServeError> {
        let failed = |e: std::io::Error| ServeError::Listen {
            address: self.to_string(),
            why: e.to_string(),
        };
        Ok(match self {
            Address::Unix(path) => {
                remove_stale(path);
                let listener = UnixListener::bind(path).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                Listener::Unix(listener, path.clone())
            }
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                Listener::Tcp(listener)
            }
        })
    }
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
        }
    }
}

/// A socket for new clients. That of a path is removed at the end.
#[derive(Debug)]
pub enum Listener {
    /// At a path.
    Unix(UnixListener, PathBuf),
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
    pub fn uri(&self) -> String {
        match self {
            Listener::Unix(_, path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                format!("nbd+unix:///?socket={}", escaped(&path.to_string_lossy()))
            }
            Listener::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("nbd://{address}"),
                Err(_) => "nbd://".into(),
            },
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
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
        let unix = Address::parse("unix:/tmp/a b", false).unwrap();
        assert_eq!(unix, Address::Unix("/tmp/a b".into()));
        let tcp = Address::parse("127.0.0.1:10809", false).unwrap();
        assert_eq!(tcp.to_string(), "127.0.0.1:10809");
        for (text, need) in [
            ("unix:", "a path"),
            ("10809", "unix:PATH or HOST:PORT"),
            ("0.0.0.0:10809", "--allow-remote"),
        ] {
            let error = Address::parse(text, false).unwrap_err().to_string();
            assert!(error.contains(need), "{error}");
        }
        assert!(Address::parse("0.0.0.0:10809", true).is_ok());
        assert_eq!(escaped("/tmp/a b%"), "/tmp/a%20b%25");
    }
}
