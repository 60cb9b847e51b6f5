//! Finds the dictionaries of xz before the library takes memory for them: it has no limit of its own.

use super::footer::Thrift;
use std::io::{Error, ErrorKind, Read, Result};

/// Most bytes of a dictionary: what zstd accepts, and twice what `xz -9` uses.
const MOST: u64 = 128 << 20;

/// What comes next (The .xz File Format 1.2): a stream; a block; a chunk of LZMA2 in a block of so many bytes until then;
/// so many numbers of an index, of which the first says how many follow, of so many bytes; or what is damaged.
#[derive(Clone, Copy)]
enum Next {
    Stream,
    Block,
    Chunk(u64),
    Index(Option<u64>, u64),
    Anything,
}

/// Hands xz data on as they are, part after part.
pub(super) struct Blocks<R> {
    input: R,
    next: Next,
    /// Bytes after each block.
    check: u64,
    /// What was looked at and is still to be handed on, and how many bytes follow that are not looked at.
    part: Vec<u8>,
    given: usize,
    left: u64,
}

impl<R: Read> Blocks<R> {
    pub fn new(input: R) -> Blocks<R> {
        Blocks { input, next: Next::Stream, check: 0, part: Vec::new(), given: 0, left: 0 }
    }

    /// Adds `count` bytes to the part; false if the input ends before.
    fn take(&mut self, count: u64) -> Result<bool> {
        Ok(self.input.by_ref().take(count).read_to_end(&mut self.part)? as u64 == count)
    }

    /// Looks at the next part; returns what follows it, and how many bytes come before that.
    fn look(&mut self) -> Result<(Next, u64)> {
        (self.given, self.left) = (0, 0);
        self.part.clear();
        let damaged = (Next::Anything, 0);
        let next = self.next;
        Ok(match next {
            // Streams have zeros behind them.
            Next::Stream if self.take(4)? && self.part == [0; 4] => (Next::Stream, 0),
            Next::Stream if self.take(8)? => {
                self.check = [0, 4, 8, 16, 32, 64][usize::from(self.part[7] & 0x0f).div_ceil(3)];
                (Next::Block, 0)
            }
            Next::Block if self.take(1)? && self.part == [0] => (Next::Index(None, 1), 0),
            Next::Block if !self.part.is_empty() => {
                self.take(u64::from(self.part[0]) * 4 + 3)?;
                match dictionary(&self.part) {
                    Some(bytes) if bytes > MOST => {
                        return Err(Error::new(ErrorKind::OutOfMemory, format!("a dictionary of {bytes} bytes")))
                    }
                    _ => (Next::Chunk(0), 0),
                }
            }
            Next::Chunk(before) if self.take(1)? => match self.part[0] {
                0 => (Next::Block, before.wrapping_add(1).wrapping_neg() % 4 + self.check),
                3..0x80 => damaged,
                control => {
                    let sizes = if control < 0x80 { 2 } else { 4 };
                    if !self.take(sizes)? {
                        return Ok(damaged);
                    }
                    let size = self.part[self.part.len() - 2..].iter().fold(0, |n, b| n << 8 | u64::from(*b));
                    let left = size + 1 + u64::from(control >= 0xc0);
                    (Next::Chunk(before + 1 + sizes + left), left)
                }
            },
            // Padding, a checksum, and the end of the stream.
            Next::Index(Some(0), bytes) => (Next::Stream, bytes.wrapping_neg() % 4 + 16),
            Next::Index(numbers, bytes) => {
                while self.part.len() < 9 && self.take(1)? && self.part[self.part.len() - 1] & 0x80 > 0 {}
                let number = Thrift(&self.part).number().unwrap_or(0);
                let left = numbers.map_or(number.saturating_mul(2), |n| n - 1);
                (Next::Index(Some(left), bytes + self.part.len() as u64), 0)
            }
            Next::Anything => (Next::Anything, u64::MAX),
            _ => damaged,
        })
    }
}

/// The bytes of the dictionary in the header of a block.
fn dictionary(header: &[u8]) -> Option<u64> {
    let (flags, mut rest) = (*header.get(1)?, Thrift(header.get(2..)?));
    for _ in 0..(flags >> 6).count_ones() {
        rest.number()?;
    }
    for _ in 0..=flags & 3 {
        let (filter, size) = (rest.number()?, rest.number()?);
        let first = rest.0.first().copied();
        rest.skip(size)?;
        if filter == 0x21 {
            let bits = u32::from(first?).min(40);
            return Some((2 | u64::from(bits & 1)) << (bits / 2 + 11));
        }
    }
    None
}

impl<R: Read> Read for Blocks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while self.given == self.part.len() && self.left == 0 {
            (self.next, self.left) = self.look()?;
            if self.part.is_empty() && self.left == 0 {
                return Ok(0);
            }
        }
        if self.given < self.part.len() {
            let n = (&self.part[self.given..]).read(buffer)?;
            self.given += n;
            return Ok(n);
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let n = self.input.read(&mut buffer[..most])?;
        self.left = if n == 0 { 0 } else { self.left - n as u64 };
        Ok(n)
    }
}
