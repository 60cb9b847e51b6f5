//! Times of a drive's electronics and of its link, in nanoseconds, prepared for the service.

use crate::spec::{AfterPrevious, DriveSpec, ExtraDisconnect};
use headstack_engine::SpecError;
use headstack_units::Span;

/// Overheads by direction of the previous command, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ByPrevious([u64; 2]);

impl ByPrevious {
    fn new(pair: &AfterPrevious) -> ByPrevious {
        ByPrevious([pair.after_read.non_negative(), pair.after_write.non_negative()])
    }
    #[inline]
    pub fn of(&self, previous_write: bool) -> u64 {
        self.0[previous_write as usize]
    }
}

/// The overheads of [`DriveSpec::overhead`] and the sector times of the link. On a link that stays connected,
/// disconnection and reselection take no time.
// It has more fields than other types because it is a list: one field for each time of the description.
#[derive(Debug)]
pub(super) struct Timing {
    pub read_hit: ByPrevious,
    pub read_miss: ByPrevious,
    /// Overheads of writes: `write_hit` if they complete in the buffer, else `write_miss`.
    pub write: ByPrevious,
    pub read_disconnect: ByPrevious,
    pub write_disconnect: u64,
    pub extra_write_disconnect: Option<ExtraDisconnect>,
    pub first_reselect: u64,
    pub other_reselect: u64,
    pub preparation: u64,
    pub read_completion: u64,
    pub write_completion: u64,
    /// Lower bounds of the time of movements.
    pub minimum_read: ByPrevious,
    pub minimum_write: u64,
    /// Link time of one physical sector.
    pub link_read_ns: f64,
    pub link_write_ns: f64,
    pub never_disconnect: bool,
}

impl Timing {
    pub fn new(spec: &DriveSpec) -> Result<Timing, SpecError> {
        let sector = spec.geometry.sector_size.0 as f64;
        let from_rate = match spec.link.rate {
            Some(rate) if rate.0 > 0.0 => Some(sector * 1e9 / rate.0),
            Some(rate) => return Err(SpecError::new("link.rate", rate, "more than zero")),
            None => None,
        };
        let sector_ns = |given: Option<Span>| given.map(|s| s.non_negative() as f64).or(from_rate).unwrap_or(0.0);
        let connected = spec.link.never_disconnect;
        let unless_connected = |span: Span| if connected { 0 } else { span.non_negative() };
        let o = &spec.overhead;
        let p = &spec.positioning;
        Ok(Timing {
            read_hit: ByPrevious::new(&o.read_hit),
            read_miss: ByPrevious::new(&o.read_miss),
            write: ByPrevious::new(if spec.cache.write_back { &o.write_hit } else { &o.write_miss }),
            read_disconnect: if connected { ByPrevious::default() } else { ByPrevious::new(&o.read_disconnect) },
            write_disconnect: unless_connected(o.write_disconnect),
            extra_write_disconnect: o.extra_write_disconnect,
            first_reselect: unless_connected(o.first_reselect),
            other_reselect: unless_connected(o.other_reselect),
            preparation: o.data_preparation.non_negative(),
            read_completion: o.read_completion.non_negative(),
            write_completion: o.write_completion.non_negative(),
            minimum_read: ByPrevious([
                p.minimum_read_after_read.non_negative(),
                p.minimum_read_after_write.non_negative(),
            ]),
            minimum_write: p.minimum_write.non_negative(),
            link_read_ns: sector_ns(spec.link.read_sector_time),
            link_write_ns: sector_ns(spec.link.write_sector_time),
            never_disconnect: connected,
        })
    }
}
