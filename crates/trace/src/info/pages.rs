//! 4 KiB pages: which ones a trace touches, how often, and how many in a window of time; in bounded memory.
//!
//! # Model
//! Adaptive sampling: a page is kept if the first `n` bits of its hash are zero; `n` is 0 at first. When more
//! than [`MOST`] pages are kept, `n` grows by one and about half of them are removed. Pages are sampled, not
//! touches, so a kept page has been counted from its first touch on. The number of kept pages times `2^n`
//! estimates the number of all pages.
//! # Source
//! P. Flajolet, "On adaptive sampling", Computing 43, 1990, who attributes it to M. Wegman.
//! # Validity
//! Exact up to [`MOST`] pages; beyond, the number of pages has a standard error of
//! `1.2/sqrt(MOST)`, 0.2 %. Pages whose hashes are equal count as one.

use serde::Serialize;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Most pages that are kept.
pub const MOST: usize = 1 << 19;
/// First bit of a hash that is used for sampling. The table uses the bits above and below.
const DECIDING_BITS: u32 = 24;

/// A hasher for values that are already hashed.
#[derive(Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are 64-bit integers")
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A kept page.
pub struct Page {
    touches: u32,
    /// The window of its last touch.
    window: u64,
}

/// Pages and how often they were touched.
#[derive(Default)]
pub struct Pages {
    pub kept: HashMap<u64, Page, BuildHasherDefault<Mixed>>,
    zero_bits: u32,
    touches: u64,
    window: u64,
    /// Number of kept pages touched in this window.
    in_window: u64,
    /// For windows that have ended: sum of the numbers of pages, and the highest number.
    windows_sum: u128,
    windows_max: u64,
}

/// One class of numbers of touches.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TouchClass {
    /// Upper bound of the touches, inclusive; the lower bound is that of the class before.
    pub up_to_touches: u64,
    pub n_pages: u64,
}

/// How often pages are touched repeatedly.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reuse {
    /// Size of a page.
    pub page_bytes: u64,
    /// Touches of pages by reads and writes. A request touches each page that it covers at least in part.
    pub n_touches: u64,
    /// Share of touches of pages that were touched before.
    pub repeated_touches_ratio: f64,
    /// Share of pages touched more than once.
    pub pages_touched_again_ratio: f64,
    /// Pages by how often they were touched.
    pub pages: Vec<TouchClass>,
    /// Whether these are estimates from a sample of pages.
    pub is_estimate: bool,
}

/// Bytes in pages touched within windows of one length.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkingSet {
    /// Length of a window; windows follow each other from the first request on.
    pub window_s: f64,
    /// Mean over all windows, those without requests included.
    pub mean: f64,
    pub max: f64,
}

impl Pages {
    /// Counts the touch of a page, by its hash. Windows must not decrease from call to call.
    pub fn touch(&mut self, hash: u64, window: u64) {
        self.touches += 1;
        if (hash >> DECIDING_BITS).trailing_zeros() < self.zero_bits {
            return;
        }
        if window != self.window {
            self.end_window();
            self.window = window;
        }
        let page = self.kept.entry(hash).or_insert(Page { touches: 0, window: u64::MAX });
        page.touches = page.touches.saturating_add(1);
        self.in_window += u64::from(page.window != window);
        page.window = window;
        while self.kept.len() > MOST {
            self.keep_fewer();
        }
    }

    #[cold]
    fn keep_fewer(&mut self) {
        self.zero_bits += 1;
        let (bits, window) = (self.zero_bits, self.window);
        self.kept.retain(|hash, _| (hash >> DECIDING_BITS).trailing_zeros() >= bits);
        self.in_window = self.kept.values().filter(|p| p.window == window).count() as u64;
    }

    fn all(&self, kept: u64) -> u64 {
        kept << self.zero_bits
    }

    fn end_window(&mut self) {
        let pages = self.all(self.in_window);
        self.windows_sum += u128::from(pages);
        self.windows_max = self.windows_max.max(pages);
        self.in_window = 0;
    }

    /// Number of different pages.
    pub fn count(&self) -> u64 {
        self.all(self.kept.len() as u64)
    }

    /// Whether [`Pages::count`] is an estimate.
    pub fn is_estimate(&self) -> bool {
        self.zero_bits > 0
    }

    /// How often pages of this size were touched repeatedly.
    pub fn reuse(&self, page_bytes: u64) -> Reuse {
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let mut classes = [0u64; 33];
        for page in self.kept.values() {
            classes[u64::from(page.touches).next_power_of_two().trailing_zeros() as usize] += 1;
        }
        let kept = self.kept.len() as u64;
        let again = kept - classes[0];
        let repeated = self.touches.saturating_sub(self.count());
        let last = classes.iter().rposition(|n| *n > 0).map_or(0, |i| i + 1);
        Reuse {
            page_bytes,
            n_touches: self.touches,
            repeated_touches_ratio: ratio(repeated as f64, self.touches as f64),
            pages_touched_again_ratio: ratio(again as f64, kept as f64),
            pages: (classes[..last].iter().enumerate())
                .map(|(class, &n)| TouchClass { up_to_touches: 1 << class, n_pages: self.all(n) })
                .collect(),
            is_estimate: self.is_estimate(),
        }
    }

    /// The working set, over `windows` windows of `window_ns` nanoseconds.
    pub fn working_set(&self, window_ns: u64, windows: u64, page_bytes: u64) -> WorkingSet {
        let last = self.all(self.in_window);
        let sum = self.windows_sum + u128::from(last);
        WorkingSet {
            window_s: window_ns as f64 / 1e9,
            mean: (sum * u128::from(page_bytes)) as f64 / windows.max(1) as f64,
            max: (self.windows_max.max(last) * page_bytes) as f64,
        }
    }
}
