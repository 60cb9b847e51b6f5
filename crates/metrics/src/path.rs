//! A Unix socket at a path: nothing but a socket of nobody is ever removed for it.

use rustix::fd::OwnedFd;
use rustix::net::{connect, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The place of a socket that listens. At its end it is removed, unless something else is there by then.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// Device and number of the file.
    file: (u64, u64),
}

impl SocketPath {
    /// Listens at a path. A socket there on which nobody listens is replaced.
    ///
    /// # Errors
    /// `AddrInUse` if somebody listens there, or if it is no socket; or the path may not be used.
    pub fn listen(path: &Path) -> io::Result<(UnixListener, SocketPath)> {
        if is_stale(path) {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        let file = number(path)?;
        let path = path.into();
        Ok((listener, SocketPath { path, file }))
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        if number(&self.path).is_ok_and(|file| file == self.file) {
            // It may be gone already.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn number(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|m| (m.dev(), m.ino()))
}

/// Whether there is a socket on which nobody listens, left by a program that was killed.
fn is_stale(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
    // A listener whose queue is full would hold up a socket that waits.
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let refused = || -> rustix::io::Result<()> {
        let socket: OwnedFd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)
    };
    is_socket && refused() == Err(rustix::io::Errno::CONNREFUSED)
}
