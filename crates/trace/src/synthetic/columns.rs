//! Generates batches of requests, column by column.
//!
//! If all requests begin at random places, then times, shapes and places come from independent random streams.
//! Each is drawn in its own loop, with its state in registers. The numbers are the same as for one request at a
//! time.

use super::{below, Gaps, SyntheticSource};
use crate::request::{Command, Request};
use headstack_units::{Lba, Time};
use rand::{Rng, RngCore};
use rand_distr::{Distribution as _, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

/// 2^53: a random `f64` is an integer below this, divided by it.
const WHOLE: f64 = 9_007_199_254_740_992.0;

impl SyntheticSource {
    /// Whether no request depends on the one before it or on its phase.
    pub(super) fn is_independent(&self) -> bool {
        self.profile.local == 0.0 && self.phases.end == f64::INFINITY && self.records.is_none()
    }

    /// Appends the next requests, up to `most`, of a source that [`SyntheticSource::is_independent`].
    pub(super) fn fill_columns(&mut self, batch: &mut Vec<Request>, most: usize) {
        let n = self.left.min(most as u64) as usize;
        self.left -= n as u64;
        let first = batch.len();
        let alike = Request { blocks: (self.profile.same_units * self.area.block) as u32, ..Request::default() };
        batch.resize(first + n, alike);
        let batch = &mut batch[first..];
        match self.gaps {
            Gaps::Poisson => self.fill_times(batch, |random| Exp1.sample(random)),
            Gaps::Constant => self.fill_times(batch, |_| 1.0),
            Gaps::Uniform => self.fill_times(batch, |random| 2.0 * random.random::<f64>()),
            Gaps::Drawn(gap) => self.fill_times(batch, |random| gap.draw_positive(random)),
            Gaps::Closed => {}
        }
        self.fill_shapes(batch);
        self.fill_places(batch);
    }

    /// Computes times from gaps in units of the mean gap; see [`SyntheticSource::advance`].
    #[inline]
    fn fill_times(&mut self, batch: &mut [Request], mut draw: impl FnMut(&mut Xoshiro256PlusPlus) -> f64) {
        let gap = self.profile.gap;
        let mut random = self.random.arrival.clone();
        let (mut now, mut whole) = (self.now, self.whole);
        for request in batch {
            now += draw(&mut random) * gap;
            if now >= 1e9 {
                let seconds = now.floor();
                whole = whole.saturating_add(seconds as u64);
                now -= seconds;
            }
            request.time = Time(whole.saturating_add(now as i64 as u64));
        }
        (self.random.arrival, self.now, self.whole) = (random, now, whole);
    }

    fn fill_shapes(&mut self, batch: &mut [Request]) {
        if self.profile.same_units == 0 || self.write_through > 0.0 {
            for request in batch {
                request.blocks = (self.draw_units() * self.area.block) as u32;
                request.op = self.draw_op();
            }
            return;
        }
        // An integer divided by 2^53 is below the share if the integer is below this number. So no
        // floating-point arithmetic, and no rounding, is needed.
        let reads = (self.profile.reads * WHOLE).ceil() as u64;
        let mut random = self.random.shape.clone();
        for request in batch {
            request.op = if random.next_u64() >> 11 < reads { Command::Read } else { Command::Write };
        }
        self.random.shape = random;
    }

    /// Draws the places of requests whose sizes are known.
    fn fill_places(&mut self, batch: &mut [Request]) {
        let same = self.profile.same_units;
        if self.area.devices > 1 || self.zipf.is_some() || same == 0 {
            for request in batch {
                if self.area.devices > 1 {
                    request.device = below(&mut self.random.place, u64::from(self.area.devices)) as u32;
                }
                let units = match same {
                    0 => u64::from(request.blocks) / self.area.block,
                    same => same,
                };
                request.lba = Lba(self.anywhere(units) * self.area.block);
            }
            return;
        }
        let (places, block) = (self.area.units - same + 1, self.area.block);
        let mut random = self.random.place.clone();
        for request in batch {
            request.lba = Lba(below(&mut random, places) * block);
        }
        self.random.place = random;
    }
}
