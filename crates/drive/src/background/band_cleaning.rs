//! Cleaning of a drive with a media cache: data go from the cache to their bands.
//!
//! # Model
//! Cleaning proceeds in steps. A step reads an extent of the cache, or reads or writes the sectors of a band on one
//! track. With `cleaning = "aggressive"` it begins when no command has come for `clean_after` and the mechanism is
//! idle, and continues step by step. A command waits for the end of the step. After the command, the drive must be idle
//! for `clean_after` again. If a write finds the cache full, the drive cleans until there is room, and the write waits.
//! This work also counts as cleaning.
//! # Source
//! A. Aghayev, P. Desnoyers, "Skylight: A Window on Shingled Disk Operation", FAST 2015. The steps are chosen.
//! # Validity
//! As for [`mapping::media_cache`](crate::mapping::media_cache).

use super::{pass, Activity, BackgroundJob, JobContext};
use crate::buffer::PartialSector;
use crate::mapping::media_cache::Writer;
use crate::mapping::Mapping;
use crate::phase::Work;
use crate::service::pass::{AccessRequest, LayoutPlaces, Pass, Supply};
use headstack_units::{Span, Time};

/// Cleaning by an idle drive.
#[derive(Debug, Default)]
pub(crate) struct BandCleaning {
    /// When the latest step ends or ended.
    latest: Time,
}

impl BackgroundJob for BandCleaning {
    #[inline]
    fn due(&self, context: &JobContext) -> Time {
        match &*context.mapping {
            Mapping::MediaCache(media) if media.wants_cleaning() => {
                let free = context.mechanism.timeline.free;
                let idle_from = free.max(context.times.happened);
                context.unless_wanted(match self.latest > Time::ZERO && idle_from == self.latest {
                    true => free,
                    false => idle_from + media.clean_after,
                })
            }
            _ => Time::NEVER,
        }
    }

    fn begin(&mut self, context: &mut JobContext, at: Time) -> Activity {
        let end = context.clean_on(at);
        self.latest = end.unwrap_or_default();
        Activity::step(end)
    }
}

impl JobContext<'_> {
    /// Carries out the next step of cleaning, not before `at`. Returns its end; `None` if there is nothing to clean.
    fn clean_on(&mut self, at: Time) -> Option<Time> {
        let Mapping::MediaCache(media) = &mut *self.mapping else { return None };
        let step = media.next_step(self.mechanics)?;
        let order = AccessRequest {
            write: step.write,
            minimum_move: if step.write { media.minimum_write } else { Span::ZERO },
            ..AccessRequest::plain(step.sector, step.count, at.max(self.mechanism.timeline.free))
        };
        media.step_ends(&step);
        Some(carry_out!(self, &order, Work::Cleaning, &mut LayoutPlaces).end)
    }

    /// Cleans from `at` on until the cache has room for a write of `count` sectors, or for a quarter of the cache if
    /// that is less. Returns the time at which there is room.
    pub fn make_room(&mut self, at: Time, count: u32) -> Time {
        let mut end = at;
        loop {
            match &*self.mapping {
                Mapping::MediaCache(media) if !media.has_room(count) => {}
                _ => return end,
            }
            match self.clean_on(end) {
                Some(later) => end = later,
                None => return end,
            }
        }
    }

    /// Carries out a pass that writes, piece by piece, to the cache or to the bands. The sectors `partial` are read
    /// first.
    #[inline(never)]
    pub(super) fn write_to_bands(&mut self, order: &AccessRequest, work: Work, partial: &[PartialSector]) -> Pass {
        let mut whole = Pass { end: order.start, ..Pass::default() };
        for PartialSector(sector) in partial {
            let part = self.pass(&AccessRequest::plain(*sector, 1, whole.end), work);
            self.buffer.counted.n_read_modify_writes += 1;
            whole = whole.then(part);
        }
        let mut done = 0;
        while done < order.count {
            let address = order.sector + u64::from(done);
            let Mapping::MediaCache(media) = &*self.mapping else { break };
            let minimum_move = if done == 0 { media.minimum_write } else { Span::ZERO };
            let (count, direct) = media.piece(address, order.count - done);
            let start = if direct { whole.end } else { self.make_room(whole.end, count) };
            let piece = AccessRequest {
                write: true,
                minimum_move,
                link_ns: order.link_ns,
                supply: order.supply.map(|s| Supply {
                    start: s.start.after(Span((f64::from(done) * order.link_ns) as i64)),
                    gate: if done == 0 { s.gate } else { 1 },
                    ..s
                }),
                ..AccessRequest::plain(address, count, start)
            };
            let Mapping::MediaCache(media) = &mut *self.mapping else { break };
            let pass = carry_out!(self, &piece, work, &mut Writer { media, direct });
            whole = whole.then(pass);
            done += count;
        }
        whole
    }
}
