//! Times of a drive's electronics and of its link, prepared for the service.

use crate::spec::{AfterPrevious, DriveSpec, ExtraDisconnect};
use headstack_engine::SpecError;
use headstack_units::Span;

/// Overheads by direction of the previous command.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ByPrevious([Span; 2]);

impl ByPrevious {
    fn new(pair: &AfterPrevious) -> ByPrevious {
        ByPrevious([pair.after_read, pair.after_write])
    }
    #[inline]
    pub fn of(&self, previous_write: bool) -> Span {
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
    pub write_disconnect: Span,
    pub extra_write_disconnect: Option<ExtraDisconnect>,
    pub first_reselect: Span,
    pub other_reselect: Span,
    pub preparation: Span,
    pub read_completion: Span,
    pub write_completion: Span,
    /// Lower bounds of the time of movements.
    pub minimum_read: ByPrevious,
    pub minimum_write: Span,
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
        let sector_ns = |given: Option<Span>| given.map(|s| s.0 as f64).or(from_rate).unwrap_or(0.0);
        let connected = spec.link.never_disconnect;
        let unless_connected = |span: Span| if connected { Span::ZERO } else { span };
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
            preparation: o.data_preparation,
            read_completion: o.read_completion,
            write_completion: o.write_completion,
            minimum_read: ByPrevious([p.minimum_read_after_read, p.minimum_read_after_write]),
            minimum_write: p.minimum_write,
            link_read_ns: sector_ns(spec.link.read_sector_time),
            link_write_ns: sector_ns(spec.link.write_sector_time),
            never_disconnect: connected,
        })
    }
}
