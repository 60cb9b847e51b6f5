//! Mode pages: the settings of a disk, as structures.

use crate::disk::Disk;
use crate::limits::{self, LimitPage};
use crate::sense::Sense;
use headstack_drive::power::conditions::Condition;
use headstack_drive::LimitsSpec;
use headstack_units::Span;
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

crate::structures! {
    /// Read-write error recovery (01h). `flags`: AWRE, ARRE, TB, RC, EER, PER, DTE, DCR.
    pub ErrorRecovery {
        code: u8, length: u8, flags: u8, read_retries: u8, obsolete: [u8; 3], lbpere: u8, write_retries: u8,
        reserved: u8, time_limit: U16,
    }
    /// Disconnect-reconnect (02h).
    pub Reconnect {
        code: u8, length: u8, ratios: [u8; 2], limits: [U16; 3], most_burst: U16, flags: u8, reserved: u8,
        first_burst: U16,
    }
    /// Caching (08h). `flags`: bit 2: WCE, the write cache is on.
    pub Caching { code: u8, length: u8, flags: u8, priorities: u8, prefetch: [U16; 4], more: [u8; 8] }
    /// Control (0Ah). `flags`: bit 2: D_SENSE, sense data in descriptor format; bit 1: GLTSD; `queue`: queue algorithm
    /// in the upper 4 bits: 1, commands may be reordered; `protection`: bit 3: SWP, writes are refused.
    pub Control {
        code: u8, length: u8, flags: u8, queue: u8, protection: u8, more: u8, obsolete: U16, busy_timeout: U16,
        self_test_s: U16,
    }
    /// Power condition (1Ah). Timers are in units of 100 ms. `enabled`: IDLE_C, IDLE_B, IDLE_A and STANDBY_Z from bit 3
    /// on.
    pub PowerCondition {
        code: u8, length: u8, standby_y: u8, enabled: u8, idle_a: U32, standby_z: U32, idle_b: U32, idle_c: U32,
        standby_y_timer: U32, more: [u8; 15], check: u8,
    }
    /// Informational exceptions (1Ch). `flags`: bit 3: DEXCPT, none is reported; `method`: MRIE: how they are reported.
    pub Exceptions { code: u8, length: u8, flags: u8, method: u8, interval: U32, count: U32 }
}

/// A mode page with its four kinds of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    current: Vec<u8>,
    changeable: Vec<u8>,
    default: Vec<u8>,
    saved: Vec<u8>,
}

/// Which values MODE SENSE asks for. The numbers are those of the field PC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// In force.
    Current,
    /// Ones where MODE SELECT may change something.
    Changeable,
    /// As the disk was made.
    Default,
    /// After a reset.
    Saved,
}

impl Values {
    /// The values with this number, below 4.
    pub fn of(number: u8) -> Values {
        match number {
            0 => Values::Current,
            1 => Values::Changeable,
            2 => Values::Default,
            _ => Values::Saved,
        }
    }
}

impl Page {
    fn new(default: &impl AsPage, changeable: &impl AsPage) -> Page {
        let (default, changeable) = (default.page(), changeable.page());
        Page { current: default.clone(), saved: default.clone(), changeable, default }
    }

    /// Its code.
    pub fn code(&self) -> u8 {
        self.default[0] & 0x3f
    }

    /// Its subpage; 0 of a page without.
    pub fn subpage(&self) -> u8 {
        match self.default[0] & SPF {
            0 => 0,
            _ => self.default[1],
        }
    }

    /// Its bytes.
    pub fn values(&self, which: Values) -> &[u8] {
        match which {
            Values::Current => &self.current,
            Values::Changeable => &self.changeable,
            Values::Default => &self.default,
            Values::Saved => &self.saved,
        }
    }

    /// Whether these bytes, which begin at `at` of the data, change only what may be changed.
    ///
    /// # Errors
    /// The first byte that does not.
    fn check(&self, new: &[u8], at: usize) -> Result<(), Sense> {
        if new.len() != self.default.len() || new[1] != self.default[1] {
            return Err(Sense::in_parameters(at as u16 + 1));
        }
        let differs = |i: &usize| (new[*i] ^ self.current[*i]) & !self.changeable[*i] != 0;
        match (2..new.len()).find(differs) {
            Some(i) => Err(Sense::in_parameters((at + i) as u16)),
            None => Ok(()),
        }
    }

    fn set(&mut self, new: &[u8], save: bool) {
        self.current[2..].copy_from_slice(&new[2..]);
        if save {
            self.saved.copy_from_slice(&self.current);
        }
    }
}

/// A structure as the bytes of a page.
trait AsPage {
    fn page(&self) -> Vec<u8>;
}

impl<T: IntoBytes + Immutable> AsPage for T {
    fn page(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

/// A page as structure.
fn view<T: FromBytes + KnownLayout + Immutable + Unaligned + Copy>(page: &Page) -> Option<T> {
    T::ref_from_bytes(&page.current).ok().copied()
}

/// All pages of a disk, in order of their codes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pages {
    /// In order of their codes.
    pub pages: Vec<Page>,
    /// Duration limits of which the pages show the bytes, perhaps rounded: those with which the disk was made, and those that
    /// were set in another way than by MODE SELECT.
    known: Vec<LimitsSpec>,
}

const ERROR_RECOVERY: u8 = 0x01;
const RECONNECT: u8 = 0x02;
const CACHING: u8 = 0x08;
const CONTROL: u8 = 0x0a;
const POWER_CONDITION: u8 = 0x1a;
const EXCEPTIONS: u8 = 0x1c;
/// The bit SPF: the page has a subpage.
const SPF: u8 = 0x40;
/// Ways to report exceptions that there are: not at all, as a unit attention, on request.
const METHODS: [u8; 3] = [0, 2, 6];
/// The bit PS: the page can be saved.
const PS: u8 = 0x80;
/// PER of the error recovery page.
const PER: u8 = 0x04;
/// DEXCPT of the exceptions page.
const DEXCPT: u8 = 0x08;
/// WCE of the caching page.
const WCE: u8 = 0x04;

impl Pages {
    /// The pages as the disk is made.
    pub fn new(disk: &Disk) -> Pages {
        let mut pages = vec![error_recovery(), reconnect(), caching(disk), control()];
        if let Some(limits) = &disk.limits {
            let page = |writes| {
                let page = LimitPage::of(limits, writes);
                Page::new(&page, &LimitPage::changeable(writes))
            };
            pages.extend([page(false), page(true)]);
        }
        if !disk.conditions.is_empty() {
            pages.push(power_condition(disk));
        }
        pages.push(exceptions());
        Pages { pages, known: disk.limits.iter().cloned().collect() }
    }

    /// The page with this code and subpage.
    pub fn get(&self, code: u8, subpage: u8) -> Option<&Page> {
        let is_it = |p: &&Page| p.code() == code && p.subpage() == subpage;
        self.pages.iter().find(is_it)
    }

    /// What MODE SELECT sends, which begins at `at` of its data. All pages are checked before one is changed. Zeros after
    /// the last page are ignored: some programs send a buffer back as long as they asked for.
    ///
    /// # Errors
    /// A page that is not there, or a value that cannot be changed.
    pub fn select(&mut self, mut data: &[u8], mut at: usize, save: bool) -> Result<(), Sense> {
        let (mut new, first) = (self.clone(), at);
        while !data.is_empty() && (at == first || data.iter().any(|b| *b != 0)) {
            let length = match data {
                [first, _, high, low, ..] if first & SPF != 0 => 4 + usize::from(u16::from_be_bytes([*high, *low])),
                [first, length, ..] if first & SPF == 0 => 2 + usize::from(*length),
                _ => usize::MAX,
            };
            if length > data.len() {
                return Err(Sense::illegal(crate::sense::Code::PARAMETER_LIST_LENGTH_ERROR));
            }
            let (page, rest) = data.split_at(length);
            let subpage = if page[0] & SPF != 0 { page[1] } else { 0 };
            let is_it = |p: &&mut Page| p.code() == page[0] & 0x3f && p.subpage() == subpage;
            let found = new.pages.iter_mut().find(is_it);
            let found = found.ok_or(Sense::in_parameters(at as u16))?;
            found.check(page, at)?;
            if page[0] & 0x3f == EXCEPTIONS && !METHODS.contains(&(page[3] & 0x0f)) {
                return Err(Sense::in_parameters((at + 3) as u16));
            }
            found.set(page, save);
            if (page[0] & 0x3f, subpage > 0) == (limits::CODE, true) {
                let limits = new.limits_or_byte();
                limits.map_err(|byte| limits::refused(at, byte))?;
            }
            (data, at) = (rest, at + page.len());
        }
        *self = new;
        Ok(())
    }

    /// A reset: what was saved is in force.
    pub fn restore(&mut self) {
        for page in &mut self.pages {
            page.current.copy_from_slice(&page.saved);
        }
    }

    fn of<T: FromBytes + KnownLayout + Immutable + Unaligned + Copy>(&self, code: u8) -> Option<T> {
        self.get(code, 0).and_then(view)
    }

    /// The duration limits in force; `None` of a disk without.
    pub fn limits(&self) -> Option<LimitsSpec> {
        // What a page has was accepted.
        self.limits_or_byte().ok().flatten()
    }

    /// The same.
    ///
    /// # Errors
    /// The byte of a page with a value that is not allowed.
    fn limits_or_byte(&self) -> Result<Option<LimitsSpec>, usize> {
        let Some(last) = self.known.last() else { return Ok(None) };
        let mut limits = last.clone();
        for (number, writes) in [(limits::T2A, false), (limits::T2B, true)] {
            let Some(page) = self.get(limits::CODE, number) else { continue };
            // A page that was not changed stands for its limits, also where the page has them rounded.
            let is_of = |l: &&LimitsSpec| LimitPage::of(l, writes).as_bytes() == page.current;
            match (self.known.iter().rev().find(is_of), writes) {
                (Some(known), false) => {
                    limits.reads.clone_from(&known.reads);
                    limits.performance = known.performance;
                }
                (Some(known), true) => limits.writes.clone_from(&known.writes),
                (None, _) => {
                    let page = view::<LimitPage>(page);
                    page.map_or(Ok(()), |p| p.apply(&mut limits))?;
                }
            }
        }
        Ok(Some(limits))
    }

    /// The duration limits were set in another way than by MODE SELECT. False if they are those of the pages.
    pub fn follow(&mut self, limits: &LimitsSpec) -> bool {
        if self.limits().as_ref() == Some(limits) {
            return false;
        }
        self.known.truncate(1);
        self.known.push(limits.clone());
        for (number, writes) in [(limits::T2A, false), (limits::T2B, true)] {
            let is_it = |p: &&mut Page| (p.code(), p.subpage()) == (limits::CODE, number);
            if let Some(page) = self.pages.iter_mut().find(is_it) {
                page.current = LimitPage::of(limits, writes).as_bytes().to_vec();
            }
        }
        true
    }

    /// Whether the write cache is on.
    pub fn write_cache(&self) -> bool {
        (self.of::<Caching>(CACHING)).is_some_and(|page| page.flags & WCE != 0)
    }

    /// Whether sense data have descriptors.
    pub fn descriptor_sense(&self) -> bool {
        (self.of::<Control>(CONTROL)).is_some_and(|page| page.flags & 0x04 != 0)
    }

    /// Whether errors that the drive has recovered are reported (PER).
    pub fn reports_recovered(&self) -> bool {
        (self.of::<ErrorRecovery>(ERROR_RECOVERY)).is_some_and(|page| page.flags & PER != 0)
    }

    /// Whether a predicted failure is told as a unit attention: not by default.
    pub fn tells_exceptions(&self) -> bool {
        (self.of::<Exceptions>(EXCEPTIONS)).is_some_and(|page| page.flags & DEXCPT == 0 && page.method == 2)
    }

    /// Whether writes are refused.
    pub fn is_protected(&self) -> bool {
        (self.of::<Control>(CONTROL)).is_some_and(|page| page.protection & 0x08 != 0)
    }

    /// The timers of power conditions that the disk has; `None`: it is off.
    pub fn timers(&self, disk: &Disk) -> Vec<(Condition, Option<Span>)> {
        let Some(page) = self.of::<PowerCondition>(POWER_CONDITION) else { return Vec::new() };
        let timers = [
            (Condition::IdleA, 0x02, page.idle_a),
            (Condition::IdleB, 0x04, page.idle_b),
            (Condition::IdleC, 0x08, page.idle_c),
            (Condition::Standby, 0x01, page.standby_z),
        ];
        let there = timers.into_iter().filter(|(c, ..)| disk.has(*c));
        there
            .map(|(condition, bit, tenths)| {
                let span = Span(i64::from(tenths.get()) * 100_000_000);
                let on = page.enabled & bit != 0 && span > Span::ZERO;
                (condition, on.then_some(span))
            })
            .collect()
    }
}

fn error_recovery() -> Page {
    let page = ErrorRecovery {
        code: PS | ERROR_RECOVERY,
        length: 10,
        // Blocks that cannot be read become good when they are written (AWRE).
        flags: 0x80,
        ..FromZeros::new_zeroed()
    };
    let changeable = ErrorRecovery { flags: PER, ..page };
    Page::new(&page, &changeable)
}

fn reconnect() -> Page {
    let page = Reconnect { code: PS | RECONNECT, length: 14, ..FromZeros::new_zeroed() };
    Page::new(&page, &page)
}

fn caching(disk: &Disk) -> Page {
    let flags = if disk.write_cache { WCE } else { 0 };
    let page =
        Caching { code: PS | CACHING, length: 18, flags, priorities: 0, prefetch: [U16::new(0); 4], more: [0; 8] };
    // A drive without a write cache cannot switch one on: WCE is changeable where there is one.
    Page::new(&page, &page)
}

fn control() -> Page {
    let page = Control {
        code: PS | CONTROL,
        length: 10,
        // No log is saved (GLTSD).
        flags: 0x02,
        queue: 0x10,
        busy_timeout: U16::MAX_VALUE,
        ..FromZeros::new_zeroed()
    };
    let changeable = Control { flags: 0x04, queue: 0, protection: 0x08, busy_timeout: 0.into(), ..page };
    Page::new(&page, &changeable)
}

/// Timers in the page: the drive's own, rounded to 100 ms.
fn power_condition(disk: &Disk) -> Page {
    let timer = |condition| {
        let found = disk.conditions.iter().find(|(c, _)| *c == condition);
        let span = found.and_then(|(_, timer)| *timer);
        span.map_or(0, |s| (s.0 as u64).div_ceil(100_000_000) as u32)
    };
    let bit = |condition, bit: u8| if timer(condition) > 0 { bit } else { 0 };
    let there = |condition, bit: u8| if disk.has(condition) { bit } else { 0 };
    let mask = |condition| if disk.has(condition) { U32::MAX_VALUE } else { U32::new(0) };
    use Condition::{IdleA, IdleB, IdleC, Standby};
    let page = PowerCondition {
        code: PS | POWER_CONDITION,
        length: 38,
        enabled: bit(IdleA, 0x02) | bit(IdleB, 0x04) | bit(IdleC, 0x08) | bit(Standby, 0x01),
        idle_a: timer(IdleA).into(),
        standby_z: timer(Standby).into(),
        idle_b: timer(IdleB).into(),
        idle_c: timer(IdleC).into(),
        ..FromZeros::new_zeroed()
    };
    let changeable = PowerCondition {
        enabled: there(IdleA, 0x02) | there(IdleB, 0x04) | there(IdleC, 0x08) | there(Standby, 0x01),
        idle_a: mask(IdleA),
        standby_z: mask(Standby),
        idle_b: mask(IdleB),
        idle_c: mask(IdleC),
        ..page
    };
    Page::new(&page, &changeable)
}

fn exceptions() -> Page {
    let page = Exceptions {
        code: PS | EXCEPTIONS,
        length: 10,
        // Only when they are asked for.
        method: 6,
        ..FromZeros::new_zeroed()
    };
    let changeable = Exceptions { flags: DEXCPT, method: 0x0f, ..page };
    Page::new(&page, &changeable)
}
