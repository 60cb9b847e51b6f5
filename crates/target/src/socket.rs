//! Sockets, whatever their kind: those that listen, and those of clients. None of them ever waits.

use headstack_metrics::SocketPath;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// A connected socket.
#[derive(Debug)]
pub enum Socket {
    /// To a port.
    Tcp(TcpStream),
    /// To a path.
    Unix(UnixStream),
}

impl Socket {
    /// The address that the client has connected to, for people.
    ///
    /// # Errors
    /// The client has left.
    pub fn local_address(&self) -> io::Result<String> {
        Ok(match self {
            Socket::Tcp(s) => s.local_addr()?.to_string(),
            Socket::Unix(s) => format!("{:?}", s.local_addr()?),
        })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(s) => s.as_fd(),
            Socket::Unix(s) => s.as_fd(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.read(buffer),
            Socket::Unix(s) => s.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.write(data),
            Socket::Unix(s) => s.write(data),
        }
    }

    fn write_vectored(&mut self, data: &[io::IoSlice]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.write_vectored(data),
            Socket::Unix(s) => s.write_vectored(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads `HOST:PORT`; addresses that other machines can reach need `remote`.
///
/// # Errors
/// What would do, after "need": `form`, or an address of this machine.
pub fn parse_port(text: &str, form: &str, remote: bool) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok().and_then(|mut all| all.next());
    let address = found.ok_or(form)?;
    match address.ip().is_loopback() || remote {
        true => Ok(address),
        false => Err("an address of this machine alone, or --allow-remote".into()),
    }
}

/// Whether an address cannot be used because the machine has no IPv4, or not this address.
fn has_no_ipv4(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    [Errno::ADDRNOTAVAIL, Errno::AFNOSUPPORT].map(|e| Some(e.raw_os_error())).contains(&code)
}

/// A socket for new clients. That of a path is removed at the end.
#[derive(Debug)]
pub enum Listener {
    /// At a path; with its place if that is this server's own.
    Unix(UnixListener, Option<SocketPath>),
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
    /// Listens at a path. A socket there on which nobody listens is replaced.
    ///
    /// # Errors
    /// The path is in use, or may not be used.
    pub fn at_path(path: &Path) -> io::Result<Listener> {
        let (listener, place) = SocketPath::listen(path)?;
        Listener::Unix(listener, Some(place)).ready()
    }

    /// Listens at a port. On a machine with IPv6 alone, `[::1]` takes the place of `127.0.0.1`.
    ///
    /// # Errors
    /// The port is in use, or may not be used.
    pub fn at_port(address: SocketAddr) -> io::Result<Listener> {
        let bound = match TcpListener::bind(address) {
            Err(e) if address.ip() == Ipv4Addr::LOCALHOST && has_no_ipv4(&e) => {
                TcpListener::bind((Ipv6Addr::LOCALHOST, address.port()))
            }
            bound => bound,
        };
        Listener::Tcp(bound?).ready()
    }

    /// A socket that listens already. It never waits from now on.
    ///
    /// # Errors
    /// The system refuses.
    pub fn ready(self) -> io::Result<Listener> {
        match &self {
            Listener::Unix(listener, _) => listener.set_nonblocking(true)?,
            Listener::Tcp(listener) => listener.set_nonblocking(true)?,
        }
        Ok(self)
    }

    /// The port at which it listens.
    ///
    /// # Errors
    /// It listens at a path.
    pub fn port(&self) -> io::Result<SocketAddr> {
        match self {
            Listener::Unix(..) => Err(io::ErrorKind::Unsupported.into()),
            Listener::Tcp(listener) => listener.local_addr(),
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
                // A client whose machine has gone is noticed after some hours.
                rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
                Socket::Tcp(socket)
            }
        })
    }
}
