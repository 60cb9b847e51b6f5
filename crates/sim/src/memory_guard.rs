//! Whether there is memory for what a run keeps.
//!
//! A run keeps the requests that have not completed, and some response times. Where the load is too high the
//! first grow without end. A list that cannot grow would end the whole process, so memory is asked for, and
//! given back, before lists grow.

use crate::simulate::error::SimulateError;

/// Bytes for which there must be room, for each request in flight: more than the lists of host and drives
/// take while the longest of them is moved to a place of twice the size.
const PER_REQUEST: u64 = 1024;

/// The same for each response time that is kept.
const PER_TIME: u64 = 64;

/// Less is not asked for. The GNU allocator takes up to 32 MiB given back as a sign to keep the memory of freed
/// lists, and the process stays larger than it need be.
const LEAST: u64 = 40 << 20;

/// How much may be kept until memory is asked for again.
#[derive(Default)]
pub struct MemoryGuard {
    /// Bytes, as [`MemoryGuard::need`] counts them.
    asked_for: u64,
}

impl MemoryGuard {
    fn need(in_flight: u64, times: u64) -> u64 {
        in_flight.saturating_mul(PER_REQUEST).saturating_add(times.saturating_mul(PER_TIME))
    }

    /// Sees to it that so many requests in flight and response times can be kept.
    ///
    /// # Errors
    /// There is too little memory.
    #[inline]
    pub fn check(&mut self, in_flight: u64, times: u64) -> Result<(), SimulateError> {
        let need = MemoryGuard::need(in_flight, times);
        match need <= self.asked_for {
            true => Ok(()),
            false => self.ask(need, in_flight),
        }
    }

    #[cold]
    fn ask(&mut self, need: u64, in_flight: u64) -> Result<(), SimulateError> {
        let need = need.saturating_add(need / 8).max(LEAST);
        let mut room: Vec<u8> = Vec::new();
        let bytes = usize::try_from(need).unwrap_or(usize::MAX);
        // `black_box` keeps the compiler from removing the reservation.
        if std::hint::black_box(&mut room).try_reserve_exact(bytes).is_err() {
            return Err(SimulateError::Memory { in_flight });
        }
        std::hint::black_box(&room);
        self.asked_for = need;
        Ok(())
    }
}
