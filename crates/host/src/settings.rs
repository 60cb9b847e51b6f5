//! Commands as values of files, and back.

use crate::knobs::{Knob, Knobs};
use crate::worker::NO_ELEVATOR;
use headstack_control::{Command, Device, RateLimit, LEAST_NR_REQUESTS, MOST_READ_EXPIRE};
use headstack_units::{Bandwidth, Frequency, Span};
use std::collections::BTreeMap;
use std::io;

/// The values of a drive's settings, as its files have them. Settings that it does not have are absent.
pub type Values = BTreeMap<Knob, String>;

/// All settings of a drive.
///
/// # Errors
/// A drive that is gone, or files that may not be read.
pub fn read_all(knobs: &dyn Knobs) -> io::Result<Values> {
    let mut values = Values::new();
    for knob in Knob::ALL {
        if let Some(value) = knobs.read(knob)? {
            values.insert(knob, value);
        }
    }
    Ok(values)
}

/// What the files of a drive must have for a command. `originals` are its values without capping, which hold where the
/// command limits nothing.
pub fn values_of(command: &Command, originals: &Values) -> Values {
    let mut values = Values::new();
    let mut set = |knob: Knob, value: String| {
        if originals.contains_key(&knob) {
            values.insert(knob, value);
        }
    };
    set(Knob::NrRequests, command.nr_requests.to_string());
    set(Knob::QueueDepth, command.queue_depth.to_string());
    if let Some(expire) = command.read_expire {
        let ms = expire.non_negative() / 1_000_000;
        set(Knob::ReadExpire, ms.to_string());
    }
    let limits = match command.rate_limit {
        RateLimit::Unlimited => originals.get(&Knob::IoMax).cloned(),
        RateLimit::Requests(Frequency(rate)) => {
            let n = rate.ceil().max(1.0);
            Some(format!("rbps=max wbps=max riops={n} wiops={n}"))
        }
        RateLimit::Bytes(Bandwidth(rate)) => {
            let n = rate.ceil().max(1.0);
            Some(format!("rbps={n} wbps={n} riops=max wiops=max"))
        }
    };
    if let Some(limits) = limits {
        set(Knob::IoMax, limits);
    }
    values
}

/// Bounds of the configuration for one drive.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// Of `nr_requests`.
    pub nr_requests: Option<(u32, u32)>,
    /// Of `queue_depth`.
    pub queue_depth: Option<(u32, u32)>,
}

/// A drive as policies see it: its present settings are those without capping. Without an elevator `nr_requests` stays
/// as it is, because a change would resize the queues of every drive of the adapter.
///
/// # Errors
/// Text that says which setting is absent or no number.
pub fn device_of(values: &Values, elevator: &str, bounds: Bounds) -> Result<Device, String> {
    let number = |knob: Knob| -> Result<u32, String> {
        let text = values.get(&knob).map_or("nothing", String::as_str);
        let number = text.parse();
        number.map_err(|_| format!("{}: got {text:?}, need a number", knob.name()))
    };
    let (nr_requests, queue_depth) = (number(Knob::NrRequests)?, number(Knob::QueueDepth)?);
    let read_expire = match values.get(&Knob::ReadExpire) {
        None => None,
        Some(_) => Some(Span(i64::from(number(Knob::ReadExpire)?) * 1_000_000)),
    };
    let usual = Device::default();
    let open = Command { nr_requests, queue_depth, read_expire, ..usual.open };
    let (mut least_nr, mut most_nr) = bounds.nr_requests.unwrap_or((LEAST_NR_REQUESTS, usual.most_nr_requests));
    if elevator == NO_ELEVATOR {
        (least_nr, most_nr) = (nr_requests, nr_requests);
    }
    // Linux does not tell the adapter's limit; what the drive has is possible.
    let (least_depth, most_depth) = bounds.queue_depth.unwrap_or((1, queue_depth));
    Ok(Device {
        open,
        least_nr_requests: least_nr,
        most_nr_requests: most_nr.max(nr_requests),
        least_queue_depth: least_depth,
        most_queue_depth: most_depth.max(queue_depth),
        most_read_expire: read_expire.map(|e| MOST_READ_EXPIRE.max(e)),
        can_limit: values.contains_key(&Knob::IoMax),
        can_unload: false,
        can_stop: false,
        ..usual
    })
}

/// Whether the file has what was written: Linux shows limits in its own order.
pub fn is_same(knob: Knob, is: &str, want: &str) -> bool {
    let parts = |text: &str| {
        let mut parts: Vec<String> = text.split_whitespace().map(str::to_string).collect();
        parts.sort();
        parts
    };
    match knob {
        Knob::IoMax => parts(is) == parts(want),
        _ => is.trim() == want.trim(),
    }
}
