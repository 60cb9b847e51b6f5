//! A socket that takes little.

use std::io;

/// Takes so many bytes more, and keeps them.
#[derive(Debug)]
pub struct Takes(
    /// Their number.
    pub usize,
    /// Those that it has taken.
    pub Vec<u8>,
);

impl io::Write for Takes {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let n = data.len().min(self.0);
        self.0 -= n;
        self.1.extend_from_slice(&data[..n]);
        let blocks = io::ErrorKind::WouldBlock.into();
        (n > 0).then_some(n).ok_or(blocks)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
