//! Commands of a batch that a server has, by the numbers that its answers carry.

use crate::batch::{Batch, Status};

/// A command that was sent.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    is_open: bool,
    /// Bytes that have not arrived.
    missing: u64,
    status: Status,
}

/// The commands of a batch. It takes no memory between [`Flight::begin`] and the end of the batch.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    /// The number of the first command: those of earlier batches are others.
    first: u32,
    sent: Vec<Sent>,
    open: usize,
}

impl Flight {
    /// A new batch. Nothing is open.
    pub fn begin(&mut self, batch: &Batch) {
        self.first = self.first.wrapping_add(self.sent.len() as u32) & 0x3fff_ffff;
        self.open = 0;
        self.sent.clear();
        self.sent.resize(batch.len(), Sent::default());
    }

    /// A command is sent that asks for so many bytes. Returns its number.
    pub fn send(&mut self, i: usize, bytes: u64) -> u32 {
        self.sent[i] = Sent { is_open: true, missing: bytes, status: Status::Good };
        self.open += 1;
        self.first + i as u32
    }

    /// The place of the open command with this number; `None` if there is none.
    pub fn place(&self, number: u64) -> Option<usize> {
        let i = number.checked_sub(u64::from(self.first))?;
        let i = usize::try_from(i).ok()?;
        self.sent.get(i).filter(|s| s.is_open).map(|_| i)
    }

    /// Bytes of a command have arrived. False if they are more than it asked for.
    pub fn arrived(&mut self, i: usize, bytes: u64) -> bool {
        let left = self.sent[i].missing.checked_sub(bytes);
        self.sent[i].missing = left.unwrap_or(0);
        left.is_some()
    }

    /// Bytes of a command that have not arrived.
    pub fn missing(&self, i: usize) -> u64 {
        self.sent[i].missing
    }

    /// A command has failed, but has not ended.
    pub fn fail(&mut self, i: usize, status: Status) {
        self.sent[i].status = status;
    }

    /// A command has ended. Without all its bytes it has not ended well.
    pub fn end(&mut self, i: usize) -> (usize, Status) {
        let sent = &mut self.sent[i];
        sent.is_open = false;
        self.open -= 1;
        match sent.status {
            Status::Good if sent.missing > 0 => (i, Status::Other),
            status => (i, status),
        }
    }
}
