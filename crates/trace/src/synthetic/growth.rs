//! Data that grow: reads and updates of what is there, and writes that add to it.
//!
//! # Model
//! There are N records, one after the other from the start of the space, each of the size of a request. A
//! read takes any of them, evenly. So does a write that is an update. With probability `new` a write is no
//! update: it is record N + 1, and there is one more from then on. When the space is full, all writes are
//! updates.
//! # Source
//! J. A. Chandy, "A Dual Actuator Logging Disk Architecture", section 3: the new write frequency, eta.
//! # Validity
//! One device, requests of one size, and no sequential or local requests.

use super::{below, refuse, Synthetic};
use crate::error::TraceError;
use crate::request::Command;
use headstack_engine::random::stream;
use headstack_schema::Parameter;
use headstack_schema::Table;
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

/// How data grow.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Growth {
    /// Records at the start, at most what the footprint holds.
    #[param(range = 1..=u64::MAX)]
    pub initial: u64,
    /// The share of the writes that add a record.
    #[param(range = 0.0..=1.0)]
    pub new: f64,
}

/// The records that there are.
#[derive(Debug, Clone)]
pub(super) struct Records {
    count: u64,
    most: u64,
    new: f64,
    random: Xoshiro256PlusPlus,
}

impl Records {
    /// The records of a workload whose requests are `record` units long each, in a space of `units`.
    ///
    /// # Errors
    /// Names the key that cannot be used.
    pub fn of(workload: &Synthetic, (units, record): (u64, u64), seed: u64) -> Result<Option<Records>, TraceError> {
        let Some(growth) = &workload.growth else { return Ok(None) };
        let need = |key: &str, got: Value, need: &str| Err(refuse(key, got, &format!("{need} with growth")));
        if record == 0 {
            return need("size", workload.size.write(), "one size");
        }
        if workload.devices != 1 {
            return need("devices", workload.devices.into(), "1");
        }
        if workload.zipf.is_some() {
            return need("zipf", "an exponent".into(), "none");
        }
        let follows =
            |sequential: Option<f64>, local: Option<f64>| sequential.unwrap_or(0.0) > 0.0 || local.unwrap_or(0.0) > 0.0;
        let phases = workload.phases.iter();
        if follows(Some(workload.sequential), Some(workload.local))
            || phases.clone().any(|p| follows(p.sequential, p.local))
        {
            return need("sequential + local", "a probability above 0".into(), "0");
        }
        if phases.into_iter().any(|p| p.size.is_some()) {
            return need("phases.size", "another size".into(), "none");
        }
        let most = units / record;
        if !(1..=most).contains(&growth.initial) {
            return Err(refuse(
                "growth.initial",
                growth.initial.into(),
                &format!("1 to {most}, which the footprint holds"),
            ));
        }
        Ok(Some(Records { count: growth.initial, most, new: growth.new, random: stream(seed, "synthetic.growth") }))
    }

    /// The record of a request; `place` draws among those that there are.
    #[inline]
    pub fn draw(&mut self, op: Command, place: &mut Xoshiro256PlusPlus) -> u64 {
        // Both are always drawn, so that workloads with other shares of new writes stay alike.
        let record = below(place, self.count);
        let new = self.random.random::<f64>() < self.new;
        if op == Command::Read || !new || self.count == self.most {
            return record;
        }
        self.count += 1;
        self.count - 1
    }
}
