//! What was learned, as a document that can be kept in a file and given to a later run.
//!
//! ```json
//! { "format": "headstack-learned", "version": 1, "settings": [
//!     { "nr_requests": 128, "queue_depth": 4, "read_expire": "2 s", "arms": 1,
//!       "power": "8.24 W", "spread": "0.03 W", "iops": 199.0, "age": "35 s" } ] }
//! ```
//!
//! Each setting has what was measured there of one drive: `power` with its `spread`, the mean distance of the readings from
//! it; `iops` if the host's queue was full; `age`, the time since. `read_expire` is absent where it is the drive's own.

use super::book::{Book, Measured};
use headstack_schema::{read, shown, SpecError, Table};
use headstack_units::{Span, Watts};
use serde_json::{json, Value};

const FORMAT: &str = "headstack-learned";
const VERSION: u64 = 1;

/// One setting.
#[derive(Table)]
struct Kept {
    /// Places of the host's queue.
    nr_requests: u32,
    /// Depth of the drive's queue.
    queue_depth: u32,
    /// Time from a read's arrival to its deadline; absent: the drive's own.
    read_expire: Option<Span>,
    /// Arms in motion.
    #[param(default = 1)]
    arms: u32,
    /// Power of one drive.
    #[param(range = Watts(0.01)..=Watts(1000.0))]
    power: Watts,
    /// Mean distance of readings from it.
    #[param(default, range = Watts(0.0)..=Watts(1000.0))]
    spread: Watts,
    /// Requests per second of one drive.
    iops: Option<f64>,
    /// Time since.
    #[param(range = Span(0)..=Span(i64::MAX))]
    age: Span,
}

/// The document of a book.
pub(crate) fn document(book: &Book) -> Value {
    let kept = book.seen.iter().filter_map(|k| {
        let (point, m) = (&book.points[*k], book.measured[*k]?);
        let mut entry = json!({
            "nr_requests": point.nr_requests,
            "queue_depth": point.queue_depth,
            "arms": point.arms,
            "power": format!("{} W", m.power_w),
            "spread": format!("{} W", m.spread_w),
            "age": format!("{} s", m.age_s),
        });
        if let Some(expire) = point.read_expire {
            entry["read_expire"] = json!(format!("{} ns", expire.0));
        }
        if let Some(iops) = m.iops {
            entry["iops"] = json!(iops);
        }
        Some(entry)
    });
    let settings: Vec<Value> = kept.collect();
    json!({ "format": FORMAT, "version": VERSION, "settings": settings })
}

/// Takes what a document has into a book; it is older by `since`. Returns the number of settings that were taken: those
/// that the book's map does not have are left out. Measurements that are too old to count as such correct the map's guesses:
/// their own, and the level of all others.
///
/// # Errors
/// Another kind of document, or wrong values; then the book is as it was.
pub(crate) fn recall(book: &mut Book, document: &Value, since: Span) -> Result<usize, SpecError> {
    let format = document.get("format").unwrap_or(&Value::Null);
    if format.as_str() != Some(FORMAT) {
        return Err(SpecError::new("format", shown(format), format!("{FORMAT:?}")));
    }
    let version = document.get("version").unwrap_or(&Value::Null);
    if version.as_u64() != Some(VERSION) {
        return Err(SpecError::new("version", shown(version), VERSION.to_string()));
    }
    let settings = document.get("settings").unwrap_or(&Value::Null);
    let Value::Array(entries) = settings else {
        return Err(SpecError::new("settings", shown(settings), "a list of tables"));
    };
    let mut found: Vec<(usize, Measured)> = Vec::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate() {
        let place = format!("settings[{i}]");
        let kept = one(entry).map_err(|e| e.within(&place))?;
        let like = |k: &usize| {
            let p = &book.points[*k];
            (p.nr_requests, p.queue_depth, p.read_expire, p.arms)
                == (kept.nr_requests, kept.queue_depth, kept.read_expire, kept.arms)
        };
        let Some(k) = (0..book.len()).find(like) else { continue };
        if found.iter().any(|f| f.0 == k) {
            return Err(SpecError::new(place, shown(entry), "a setting that no other entry has"));
        }
        let measured = Measured {
            power_w: kept.power.0,
            spread_w: kept.spread.0,
            iops: kept.iops,
            age_s: kept.age.as_secs_f64() + since.as_secs_f64().max(0.0),
        };
        found.push((k, measured));
    }
    let n = found.len();
    book.take(&found);
    Ok(n)
}

fn one(entry: &Value) -> Result<Kept, SpecError> {
    let kept: Kept = read(entry)?;
    match kept.iops {
        Some(iops) if !(iops > 0.0 && iops <= 1e6) => {
            let need = "more than 0, at most 1000000";
            Err(SpecError::new("iops", iops, need))
        }
        _ => Ok(kept),
    }
}
