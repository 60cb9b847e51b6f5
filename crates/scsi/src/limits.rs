//! Mode pages of duration limits: T2A for reads (0Ah/07h) and T2B for writes (0Ah/08h), and what they mean.
//!
//! # Model
//! Seven descriptors, each with three times and their policies. A descriptor has one unit for its three times: the finest one
//! that has all of them exactly, or else the finest one in which they fit, rounded up.
//! # Source
//! SPC-6, pages T2A and T2B, as the tools of Western Digital (cdl-tools) read and write them.

use crate::sense::Sense;
use headstack_drive::limits::parameters::PERFORMANCE_CODES;
use headstack_drive::{DurationLimit, LimitIndex, LimitsSpec, Policy};
use headstack_schema::Parameter;
use headstack_units::Span;
use zerocopy::byteorder::big_endian::U16;
use zerocopy::FromZeros;

/// Code of the pages.
pub const CODE: u8 = 0x0a;
/// Subpage of the limits of reads.
pub const T2A: u8 = 0x07;
/// Subpage of the limits of writes.
pub const T2B: u8 = 0x08;
/// The bits PS and SPF: the page can be saved, and has a subpage.
const FORM: u8 = 0xc0;

/// Codes of units of time, with their nanoseconds, from the finest on.
const UNITS: [(u8, u64); 4] = [(0x6, 500), (0x8, 1_000), (0xa, 10_000_000), (0xe, 500_000_000)];
/// No time is given.
const NO_UNIT: u8 = 0x0;

crate::structures! {
    /// One limit. `unit`: the lower 4 bits; `policies`: of the inactive time in the upper 4 bits, of the active time in
    /// the lower ones; `guideline_policy`: the lower 4 bits.
    pub Descriptor {
        unit: u8, reserved: u8, inactive: U16, active: U16, policies: u8, more: [u8; 3], guideline: U16,
        and_more: [u8; 2], guideline_policy: u8, rest: [u8; 17],
    }
    /// The mode page T2A or T2B. `performance`: t2A: the code of what guidelines may cost, in the upper 4 bits.
    pub LimitPage {
        code: u8, subpage: u8, length: U16, reserved: [u8; 3], performance: u8,
        descriptors: [Descriptor; LimitIndex::COUNT],
    }
}

impl Descriptor {
    fn of(limit: &DurationLimit) -> Descriptor {
        let times = [limit.inactive, limit.active, limit.guideline];
        let times = times.map(|t| t.map_or(0, Span::non_negative));
        let fits = |ns: u64| times.iter().all(|t| t.div_ceil(ns) <= u16::MAX.into());
        let exact = |ns: u64| times.iter().all(|t| t % ns == 0);
        let found = UNITS.iter().find(|(_, ns)| fits(*ns) && exact(*ns));
        let found = found.or(UNITS.iter().find(|(_, ns)| fits(*ns)));
        let (unit, ns) = *found.unwrap_or(&UNITS[UNITS.len() - 1]);
        let [inactive, active, guideline] = times.map(|t| U16::new(u16::try_from(t.div_ceil(ns)).unwrap_or(u16::MAX)));
        let is_empty = times == [0; 3];
        Descriptor {
            unit: if is_empty { NO_UNIT } else { unit },
            inactive,
            active,
            policies: limit.inactive_policy.code() << 4 | limit.active_policy.code(),
            guideline,
            guideline_policy: limit.guideline_policy.code(),
            ..Descriptor::new_zeroed()
        }
    }

    /// What it means.
    ///
    /// # Errors
    /// The byte of a reserved code.
    fn limit(&self) -> Result<DurationLimit, usize> {
        let unit = UNITS.iter().find(|(code, _)| *code == self.unit & 0x0f);
        let given = [self.inactive, self.active, self.guideline];
        let is_empty = given.iter().all(|t| t.get() == 0);
        let ns = match (unit, self.unit & 0x0f) {
            (Some((_, ns)), _) => *ns,
            (None, NO_UNIT) if is_empty => 0,
            _ => return Err(0),
        };
        let [inactive, active, guideline] = given.map(|t| {
            let n = u64::from(t.get());
            (n > 0).then_some(Span((n * ns) as i64))
        });
        let policy = |code: u8, byte: usize| Policy::of_code(code).ok_or(byte);
        Ok(DurationLimit {
            inactive,
            inactive_policy: policy(self.policies >> 4, 6)?,
            active,
            active_policy: policy(self.policies & 0x0f, 6)?,
            guideline,
            guideline_policy: policy(self.guideline_policy & 0x0f, 14)?,
        })
    }
}

impl LimitPage {
    /// The page of these limits.
    pub fn of(limits: &LimitsSpec, writes: bool) -> LimitPage {
        let code = PERFORMANCE_CODES.iter().position(|share| *share == limits.performance);
        let mut page = LimitPage::empty(writes);
        if !writes {
            page.performance = (code.unwrap_or(0) as u8) << 4;
        }
        page.descriptors = limits.limits(writes).map(|limit| Descriptor::of(&limit));
        page
    }

    #[doc(hidden)]
    pub fn empty(writes: bool) -> LimitPage {
        LimitPage {
            code: FORM | CODE,
            subpage: if writes { T2B } else { T2A },
            length: U16::new((size_of::<LimitPage>() - 4) as u16),
            ..FromZeros::new_zeroed()
        }
    }

    /// Ones where MODE SELECT may change something.
    pub fn changeable(writes: bool) -> LimitPage {
        let all = Descriptor {
            unit: 0x0f,
            inactive: U16::MAX_VALUE,
            active: U16::MAX_VALUE,
            policies: 0xff,
            guideline: U16::MAX_VALUE,
            guideline_policy: 0x0f,
            ..Descriptor::new_zeroed()
        };
        LimitPage {
            performance: if writes { 0 } else { 0xf0 },
            descriptors: [all; LimitIndex::COUNT],
            ..LimitPage::empty(writes)
        }
    }

    /// Puts the limits of the page into `limits`.
    ///
    /// # Errors
    /// The byte of the page that has a value which is not allowed.
    pub fn apply(&self, limits: &mut LimitsSpec) -> Result<(), usize> {
        let writes = self.subpage == T2B;
        if !writes {
            let code = usize::from(self.performance >> 4);
            limits.performance = *PERFORMANCE_CODES.get(code).ok_or(7usize)?;
        }
        for (i, descriptor) in self.descriptors.iter().enumerate() {
            let at = 8 + i * size_of::<Descriptor>();
            let limit = descriptor.limit().map_err(|byte| at + byte)?;
            let list = if writes { &mut limits.writes } else { &mut limits.reads };
            match list.get_mut(i) {
                Some(place) => *place = limit,
                None => list.push(limit),
            }
            limits.check().map_err(|_| at)?;
        }
        Ok(())
    }
}

/// What a drive has counted of one limit: a parameter of the log page 19h/21h. Of eight numbers of commands the first three are
/// modelled: those that missed the inactive time, the active time, and the guideline.
pub fn statistics(counts: &headstack_drive::limits::LimitCounts) -> Vec<u8> {
    let mut all = Vec::with_capacity(32);
    for n in [counts.n_inactive, counts.n_active, counts.n_guideline] {
        all.extend_from_slice(&u32::try_from(n).unwrap_or(u32::MAX).to_be_bytes());
    }
    all.resize(32, 0);
    all
}

/// The error of a page that begins at `at` of the data of MODE SELECT.
pub(crate) fn refused(at: usize, byte: usize) -> Sense {
    Sense::in_parameters((at + byte) as u16)
}
