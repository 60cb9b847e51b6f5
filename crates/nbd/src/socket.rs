//! Sockets of clients, whatever their kind.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// A connected socket that never waits.
#[derive(Debug)]
pub enum Socket {
    /// To a port.
    Tcp(TcpStream),
    /// To a path.
    Unix(UnixStream),
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
