//! Power from the 5 V and 12 V currents that manuals print per workload.
//!
//! # Model
//! A row `[a5, a12]` is `5 a5` and `12 a12` watts; D5 and D12 are a row's rises over the idle row.
//! - `transfer = idle + D5(sequential) + D12(sequential)`: sequential work only transfers.
//! - Random work spends `seek_share` = s moving, `transfer_share` = x transferring and the rest
//!   waiting. Its 5 V rise (the channel) is the same while moving and waiting, its 12 V rise (the
//!   voice coil) occurs only while moving:
//!   `e = (D5(random) - x D5(sequential)) / (1 - x)`,
//!   `v = (D12(random) - x D12(sequential)) / s`;
//!   `rotation = idle + e`, `seek = idle + e + v`.
//! - Rows are `read_ratio` times the read row plus the rest of the write row.
//! - `idle` at another speed: its 12 V part times `(speed / rotation_speed)^2.8`.
//! # Source
//! The rows: for example the Constellation ES.3 SAS manual, table 2. The shape (random work costs
//! 12 V, sequential work 5 V) is read off those rows; the equations are ours.
//! # Validity
//! The random and the sequential row come out exactly for the shares assumed. The shares are
//! assumptions (0.6 and 0.01 by default: 4 KiB at 170 per second with seeks of some 3.5 ms), and the
//! split between seek and rotation is no better than they are. Mean power, not peaks.

use super::{check_speed, or_zero, reference_speed, spindle_ratio, PowerModel, StateWatts};
use crate::error::SpecError;
use crate::plugin::{params, Plugin};
use headstack_units::{Rpm, Watts};
use serde::Deserialize;

/// The registry entry.
pub const PLUGIN: Plugin<dyn PowerModel> = Plugin {
    name: "rails",
    summary: "from the 5 V and 12 V currents per workload in a manual",
    example: "idle = [0.37, 0.51]\nrandom_read = [0.50, 0.78]\nsequential_read = [0.82, 0.55]\n\
              standby = [0.24, 0.0]",
    build: |table| {
        let p: Params = params(table)?;
        Ok(Box::new(solve(&p)?))
    },
};

/// Amperes on the 5 V and the 12 V rail.
type Row = [f64; 2];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Idle, heads loaded.
    idle: Row,
    /// Random reads.
    random_read: Row,
    /// Sequential reads.
    sequential_read: Row,
    /// Random writes; needed if `read_ratio` is below 1.
    random_write: Option<Row>,
    /// Sequential writes; needed if `read_ratio` is below 1.
    sequential_write: Option<Row>,
    /// Spun down.
    standby: Row,
    /// Share of reads in the work whose power is wanted.
    #[serde(default = "one")]
    read_ratio: f64,
    /// Share of time that random work spends moving the arm.
    #[serde(default = "seek_share")]
    seek_share: f64,
    /// Share of time that random work spends transferring.
    #[serde(default = "transfer_share")]
    transfer_share: f64,
    /// Speed at which the currents were measured.
    #[serde(default = "reference_speed")]
    rotation_speed: Rpm,
    /// Added all the time for each arm assembly beyond those of the measured drive.
    per_extra_arm: Option<Watts>,
    /// Arm assemblies of the measured drive.
    #[serde(default = "one_arm")]
    measured_arms: u32,
}

fn one() -> f64 {
    1.0
}
fn one_arm() -> u32 {
    1
}
fn seek_share() -> f64 {
    0.6
}
fn transfer_share() -> f64 {
    0.01
}

/// Watts on the 5 V and the 12 V rail.
fn watts(row: Row) -> Row {
    [5.0 * row[0], 12.0 * row[1]]
}

fn solve(p: &Params) -> Result<Rails, SpecError> {
    check_speed(p.rotation_speed)?;
    let rows = [
        ("idle", Some(p.idle)),
        ("random_read", Some(p.random_read)),
        ("sequential_read", Some(p.sequential_read)),
        ("random_write", p.random_write),
        ("sequential_write", p.sequential_write),
        ("standby", Some(p.standby)),
    ];
    for (key, row) in rows {
        for a in row.into_iter().flatten() {
            if !(a >= 0.0 && a.is_finite()) {
                return Err(SpecError::new(key, a, "amperes, zero or more"));
            }
        }
    }
    let (s, x) = (p.seek_share, p.transfer_share);
    if !(0.0..=1.0).contains(&p.read_ratio) {
        return Err(SpecError::new("read_ratio", p.read_ratio, "a share from 0 to 1"));
    }
    if !(s > 0.0 && s <= 1.0) {
        return Err(SpecError::new("seek_share", s, "a share above 0 and at most 1"));
    }
    if !((0.0..1.0).contains(&x) && s + x <= 1.0) {
        return Err(SpecError::new(
            "transfer_share",
            x,
            "a share from 0 to below 1, at most 1 with seek_share",
        ));
    }
    let blend = |read: Row, write: Option<Row>, key: &str| -> Result<Row, SpecError> {
        if p.read_ratio == 1.0 {
            return Ok(watts(read));
        }
        let write = write
            .ok_or_else(|| SpecError::new(key, "nothing", "amperes, as read_ratio is below 1"))?;
        let (r, w) = (watts(read), watts(write));
        Ok([0, 1].map(|i| p.read_ratio * r[i] + (1.0 - p.read_ratio) * w[i]))
    };
    let idle = watts(p.idle);
    let random = blend(p.random_read, p.random_write, "random_write")?;
    let sequential = blend(p.sequential_read, p.sequential_write, "sequential_write")?;
    let d_random = [random[0] - idle[0], random[1] - idle[1]];
    let d_seq = [sequential[0] - idle[0], sequential[1] - idle[1]];
    let channel = (d_random[0] - x * d_seq[0]) / (1.0 - x);
    let coil = (d_random[1] - x * d_seq[1]) / s;
    let transfer = d_seq[0] + d_seq[1];
    for (key, adder) in [
        ("random_read", channel),
        ("random_read", channel + coil),
        ("sequential_read", transfer),
    ] {
        if adder < 0.0 {
            return Err(SpecError::new(
                key,
                format!("currents that put an active state {:.3} W below idle", -adder),
                "at least the idle row",
            ));
        }
    }
    Ok(Rails {
        rotation_speed: p.rotation_speed,
        idle,
        channel,
        coil,
        transfer,
        standby: watts(p.standby).iter().sum(),
        per_extra_arm: or_zero(p.per_extra_arm),
        measured_arms: p.measured_arms,
    })
}

struct Rails {
    rotation_speed: Rpm,
    idle: Row,
    channel: f64,
    coil: f64,
    transfer: f64,
    standby: f64,
    per_extra_arm: f64,
    measured_arms: u32,
}

impl PowerModel for Rails {
    fn watts(&self, rotation_speed: Rpm, arms: u32) -> StateWatts {
        let idle = self.idle[0]
            + self.idle[1] * spindle_ratio(rotation_speed, self.rotation_speed)
            + self.per_extra_arm * f64::from(arms.saturating_sub(self.measured_arms));
        StateWatts {
            idle,
            seek: idle + self.channel + self.coil,
            rotation: idle + self.channel,
            transfer: idle + self.transfer,
            standby: self.standby,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PLUGIN;
    use crate::power::tests::watts;

    fn es3(more: &str) -> String {
        format!("model = \"rails\"\n{}\n{more}", PLUGIN.example)
    }

    /// Constellation ES.3 4 TB: the manual's rows in watts come back for the assumed shares.
    #[test]
    fn rows_come_back() {
        for (s, x) in [(0.6, 0.01), (0.4, 0.2), (0.9, 0.1)] {
            let toml = es3(&format!("seek_share = {s}\ntransfer_share = {x}"));
            let w = watts(&toml, 7200.0, 1).unwrap();
            assert!((w.idle - 7.97).abs() < 1e-9);
            assert!((w.transfer - 10.70).abs() < 1e-9);
            assert!((w.mix(s, 1.0 - s - x, x) - 11.86).abs() < 1e-9);
            assert!((w.standby - 1.20).abs() < 1e-9);
            assert!(w.seek > w.rotation && w.rotation > w.idle);
        }
    }

    /// The same for equal reads and writes: (11.86 + 10.76) / 2 and (10.70 + 10.43) / 2.
    #[test]
    fn reads_and_writes_blend() {
        let rows = "random_write = [0.52, 0.68]\nsequential_write = [0.67, 0.59]\nread_ratio = 0.5";
        let w = watts(&es3(rows), 7200.0, 1).unwrap();
        assert!((w.mix(0.6, 0.39, 0.01) - 11.31).abs() < 1e-9);
        assert!((w.transfer - 10.565).abs() < 0.003);
    }

    #[test]
    fn refuses_impossible_rows_and_shares() {
        for (more, key) in [
            ("seek_share = 0.0", "power.seek_share"),
            ("transfer_share = 0.5", "power.transfer_share"),
            ("read_ratio = 0.5", "power.random_write"),
            ("read_ratio = 2.0", "power.read_ratio"),
        ] {
            assert_eq!(watts(&es3(more), 7200.0, 1).unwrap_err().key, key);
        }
        let low = es3("").replace("[0.82, 0.55]", "[0.1, 0.1]");
        assert_eq!(watts(&low, 7200.0, 1).unwrap_err().key, "power.sequential_read");
        let below = es3("").replace("0.24", "-0.24");
        assert_eq!(watts(&below, 7200.0, 1).unwrap_err().key, "power.standby");
    }
}
