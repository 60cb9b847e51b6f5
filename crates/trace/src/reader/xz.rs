//! Finds the dictionaries of xz before the library takes memory for them: it has no limit of its own.

use std::io::{Error, ErrorKind, Read, Result};

/// Most bytes of a dictionary: what zstd accepts, and twice what `xz -9` uses.
const MOST: u64 = 128 << 20;

/// The parts of the format (The .xz File Format 1.2; for chunks LZMA2) that may come next.
enum Next {
    Stream,
    Block,
    /// A chunk of a block, which had so many bytes.
    Chunk(u64),
    /// So many numbers of the index, which had so many bytes; the first says how many follow.
    Index(Option<u64>, u64),
    /// What is damaged: the library says so.
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

    /// Adds up to `count` bytes to the part; false at the end of the input.
    fn take(&mut self, count: u64) -> Result<bool> {
        let got = self.input.by_ref().take(count).read_to_end(&mut self.part)?;
        Ok(got as u64 == count)
    }

    /// A number of seven bits a byte, the lowest first.
    fn number(&mut self) -> Result<u64> {
        let from = self.part.len();
        while self.take(1)? && self.part[self.part.len() - 1] & 0x80 > 0 && self.part.len() < from + 9 {}
        Ok(number(&mut &self.part[from..]).unwrap_or(0))
    }

    /// Looks at the next part.
    fn look(&mut self) -> Result<()> {
        self.part.clear();
        self.given = 0;
        (self.next, self.left) = match self.next {
            Next::Stream => {
                let padding = self.take(4)? && self.part == [0; 4];
                if padding {
                    (Next::Stream, 0)
                } else {
                    let whole = self.take(8)?;
                    let kind = self.part.get(7).map_or(0, |flags| flags & 0x0f);
                    self.check = [0, 4, 8, 16, 32, 64][usize::from(kind).div_ceil(3)];
                    (if whole { Next::Block } else { Next::Anything }, 0)
                }
            }
            Next::Block => {
                self.take(1)?;
                match self.part.first() {
                    Some(0) => (Next::Index(None, 1), 0),
                    Some(size) => {
                        self.take(u64::from(*size) * 4 + 3)?;
                        let bytes = dictionary(&self.part).unwrap_or(0);
                        if bytes > MOST {
                            let text = format!("a dictionary of {bytes} bytes");
                            return Err(Error::new(ErrorKind::OutOfMemory, text));
                        }
                        (Next::Chunk(0), 0)
                    }
                    None => (Next::Anything, 0),
                }
            }
            Next::Chunk(before) => {
                self.take(1)?;
                let control = self.part.first().copied();
                let sizes = if control >= Some(0x80) { 4 } else { 2 };
                match control {
                    Some(0) => (Next::Block, before.wrapping_add(1).wrapping_neg() % 4 + self.check),
                    Some(1 | 2 | 0x80..) if self.take(sizes)? => {
                        let last = self.part.len() - 2;
                        let size = u64::from(self.part[last]) << 8 | u64::from(self.part[last + 1]);
                        let left = size + 1 + u64::from(control >= Some(0xc0));
                        (Next::Chunk(before + 1 + sizes + left), left)
                    }
                    _ => (Next::Anything, 0),
                }
            }
            // Padding, a checksum, and the end of the stream.
            Next::Index(Some(0), bytes) => (Next::Stream, bytes.wrapping_neg() % 4 + 16),
            Next::Index(numbers, bytes) => {
                let number = self.number()?;
                let left = numbers.map_or(number.saturating_mul(2), |n| n - 1);
                (Next::Index(Some(left), bytes + self.part.len() as u64), 0)
            }
            Next::Anything => (Next::Anything, u64::MAX),
        };
        Ok(())
    }
}

/// Takes a number of seven bits a byte.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The bytes of the dictionary in the header of a block.
fn dictionary(header: &[u8]) -> Option<u64> {
    let flags = *header.get(1)?;
    let mut rest = header.get(2..)?;
    for flag in [0x40, 0x80] {
        if flags & flag > 0 {
            number(&mut rest)?;
        }
    }
    for _ in 0..=flags & 3 {
        let (filter, size) = (number(&mut rest)?, number(&mut rest)?);
        let properties = rest.get(..usize::try_from(size).ok()?)?;
        rest = &rest[properties.len()..];
        if filter == 0x21 {
            let bits = u32::from(*properties.first()?);
            return Some((2 | u64::from(bits & 1)) << (bits.min(40) / 2 + 11));
        }
    }
    None
}

impl<R: Read> Read for Blocks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while self.given == self.part.len() && self.left == 0 {
            self.look()?;
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
        self.left = if n == 0 && most > 0 { 0 } else { self.left - n as u64 };
        Ok(n)
    }
}
