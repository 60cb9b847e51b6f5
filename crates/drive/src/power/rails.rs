//! Power from the 5 V and 12 V currents that manuals print for each workload.
//!
//! # Model
//! A row `[a5, a12]` means `5 a5` and `12 a12` watts. D5 and D12 are the differences of a row's watts to the
//! idle row. While a row was measured, the drive moved its arm for a share s of the time, waited for a sector
//! for a share r, and transferred for a share x. The 5 V difference (the channel) is the same while moving
//! and waiting. The 12 V difference (the voice coil) occurs only while moving:
//! `D5 = e (s + r) + t5 x`, `D12 = v s + t12 x`;
//! `rotation = idle + e`, `seek = idle + e + v`, `transfer = idle + t5 + t12`.
//! - The four adders are the least-squares fit to all rows, with none below zero. Two rows of different kinds
//!   are met exactly.
//! - The rows are the random one (`seek_share`, `transfer_share`, the rest waiting), the sequential one
//!   (transfer only), and any `points`, which give their shares, or a rate and times per request.
//! - The random and the sequential row are `read_ratio` times the read row plus the rest of the write row;
//!   `points` are used as given.
//! - For another spindle, the 12 V part of `idle` is scaled with speed, diameter, platters and stacks.
//! # Source
//! The rows: for example the Constellation ES.3 SAS manual, table 2. `points` are for curves of power over
//! the rate of requests, which some makers print. The assignment (random work to 12 V, sequential work to 5
//! V) is inferred from those rows; the equations are ours.
//! # Validity
//! The shares are assumptions (0.6 and 0.01 by default: 170 random 4 KiB requests per second with seeks of
//! about 3.5 ms), and the split between seek and rotation is no better than they are. The whole idle current
//! on 12 V is assumed to be the spindle's, though a part of it (holding the arm) is not. Mean power, no
//! peaks.

use super::{power, seconds, Adders, LowPower, Spindle, PAUSES, POWERS};
use headstack_schema::{SpecError, Table};
use headstack_units::{Span, Watts};

/// Largest current of a rail, in amperes.
const MOST_AMPERES: f64 = 1e4;

/// Amperes on the 5 V and the 12 V rail.
type Row = [f64; 2];

#[derive(Table)]
#[table(
    model = "from the 5 V and 12 V currents per workload in a manual",
    example = "idle = [0.37, 0.51]\nrandom_read = [0.50, 0.78]\nsequential_read = [0.82, 0.55]\nstandby = [0.24, 0.0]",
    build = |own, _| Ok(Box::new(solve(&own)?))
)]
pub(super) struct Currents {
    /// Current when idle, heads loaded.
    #[param(range = 0.0..=MOST_AMPERES)]
    idle: [f64; 2],
    /// Current for random reads; needed unless `points` separate seeks and transfers.
    #[param(range = 0.0..=MOST_AMPERES)]
    random_read: Option<[f64; 2]>,
    /// Current for sequential reads; needed unless `points` separate seeks and transfers.
    #[param(range = 0.0..=MOST_AMPERES)]
    sequential_read: Option<[f64; 2]>,
    /// Current for random writes; needed if `read_ratio` is below 1.
    #[param(range = 0.0..=MOST_AMPERES)]
    random_write: Option<[f64; 2]>,
    /// Current for sequential writes; needed if `read_ratio` is below 1.
    #[param(range = 0.0..=MOST_AMPERES)]
    sequential_write: Option<[f64; 2]>,
    /// Further rows, with the work that they were measured under.
    #[param(default, omit = Vec::is_empty)]
    points: Vec<Point>,
    /// Current when idle with part of the electronics off.
    #[param(range = 0.0..=MOST_AMPERES)]
    idle_a: Option<[f64; 2]>,
    /// Current with heads unloaded as well.
    #[param(range = 0.0..=MOST_AMPERES)]
    idle_b: Option<[f64; 2]>,
    /// Current at lower spindle speed as well.
    #[param(range = 0.0..=MOST_AMPERES)]
    idle_c: Option<[f64; 2]>,
    /// Current when spun down.
    #[param(range = 0.0..=MOST_AMPERES)]
    standby: [f64; 2],
    /// Current when spun down with only the link active.
    #[param(range = 0.0..=MOST_AMPERES)]
    sleep: Option<[f64; 2]>,
    /// Peak current while the spindle starts.
    #[param(range = 0.0..=MOST_AMPERES)]
    spin_up: Option<[f64; 2]>,
    /// Time from a command to ready, out of standby.
    #[param(range = PAUSES)]
    spin_up_time: Option<Span>,
    /// Share of reads in the work for which power is wanted.
    #[param(default = 1.0, range = 0.0..=1.0)]
    read_ratio: f64,
    /// Share of time that random work spends moving the arm.
    #[param(default = 0.6, range = 0.0..=1.0)]
    seek_share: f64,
    /// Share of time that random work spends transferring.
    #[param(default = 0.01, range = 0.0..=1.0)]
    transfer_share: f64,
    #[param(flatten)]
    scale: Spindle,
    /// Added at all times for each arm assembly beyond those of the measured drive.
    #[param(range = POWERS)]
    per_extra_arm: Option<Watts>,
    /// Arm assemblies of the measured drive.
    #[param(default = 1, range = 1..=256)]
    measured_arms: u32,
}

/// A row with the shares of time, or the rate, of the work that it was measured under.
#[derive(Table)]
struct Point {
    /// Current in amperes.
    #[param(range = 0.0..=MOST_AMPERES)]
    current: [f64; 2],
    /// Share of time that the arm moves.
    #[param(default, range = 0.0..=1.0)]
    seek: f64,
    /// Share of time that the drive waits for a sector.
    #[param(default, range = 0.0..=1.0)]
    rotation: f64,
    /// Share of time that the drive transfers.
    #[param(default, range = 0.0..=1.0)]
    transfer: f64,
    /// Requests per second, instead of shares.
    #[param(range = 1e-9..=1e9)]
    iops: Option<f64>,
    /// Mean seek time per request at that rate.
    #[param(range = PAUSES)]
    seek_time: Option<Span>,
    /// Mean rotational latency per request at that rate.
    #[param(range = PAUSES)]
    rotation_time: Option<Span>,
    /// Mean transfer time per request at that rate.
    #[param(range = PAUSES)]
    transfer_time: Option<Span>,
}

/// Watts on the 5 V and the 12 V rail.
fn watts(row: Row) -> Row {
    [5.0 * row[0], 12.0 * row[1]]
}

/// Watts of both rails together, of a row that may be absent.
fn total(row: Option<Row>) -> Option<f64> {
    row.map(|r| watts(r).iter().sum())
}

/// An observation: shares of time in seek, rotation and transfer, and watts per rail above idle.
struct Observed {
    shares: [f64; 3],
    watts: Row,
}

fn solve(p: &Currents) -> Result<Adders, SpecError> {
    let idle = watts(p.idle);
    let rows = rows(p, idle.iter().sum())?;
    let fit = |rail: usize, first: fn(&[f64; 3]) -> f64| {
        let rises = rows.iter().map(|o| (first(&o.shares), o.shares[2], o.watts[rail] - idle[rail]));
        non_negative_fit(rises).ok_or_else(|| {
            let need = "a random and a sequential row, or points that differ in kind";
            SpecError::new("points", "rows that do not tell seeks and transfers apart", need)
        })
    };
    let [channel, transfer_5] = fit(0, |[seek, rotation, _]| seek + rotation)?;
    let [coil, transfer_12] = fit(1, |[seek, ..]| *seek)?;
    Ok(Adders {
        scale: p.scale.checked()?,
        electronics: idle[0],
        spindle: idle[1],
        seek: [channel, coil],
        rotation: channel,
        transfer: transfer_5 + transfer_12,
        standby: watts(p.standby).iter().sum(),
        low_power: LowPower {
            idle_a: total(p.idle_a),
            idle_b: total(p.idle_b),
            idle_c: total(p.idle_c),
            sleep: total(p.sleep),
            spin_up: total(p.spin_up),
            spin_up_s: seconds(p.spin_up_time),
        },
        per_extra_arm: power(p.per_extra_arm).unwrap_or(0.0),
        arms: p.measured_arms,
    })
}

/// The rows to which the adders are fitted. None may draw less than `idle` watts.
fn rows(p: &Currents, idle: f64) -> Result<Vec<Observed>, SpecError> {
    let (s, x) = (p.seek_share, p.transfer_share);
    if !(s > 0.0 && s <= 1.0) {
        return Err(SpecError::new("seek_share", s, "a share above 0 and at most 1"));
    }
    if !((0.0..1.0).contains(&x) && s + x <= 1.0) {
        return Err(SpecError::new("transfer_share", x, "a share from 0 to below 1, at most 1 with seek_share"));
    }
    let blend = |read: Row, write: Option<Row>, key: &str| -> Result<Row, SpecError> {
        if p.read_ratio == 1.0 {
            return Ok(watts(read));
        }
        let write = write.ok_or_else(|| SpecError::new(key, "nothing", "amperes, as read_ratio is below 1"))?;
        let (r, w) = (watts(read), watts(write));
        Ok([0, 1].map(|i| p.read_ratio * r[i] + (1.0 - p.read_ratio) * w[i]))
    };
    let mut rows = Vec::with_capacity(2 + p.points.len());
    let mut add = |key: String, shares: [f64; 3], watts: Row| {
        let rise = watts.iter().sum::<f64>() - idle;
        if rise < 0.0 {
            let got = format!("currents that draw {:.3} W less than idle", -rise);
            return Err(SpecError::new(key, got, "at least the idle row"));
        }
        rows.push(Observed { shares, watts });
        Ok(())
    };
    if let Some(read) = p.random_read {
        let row = blend(read, p.random_write, "random_write")?;
        // Rounding may make the remainder slightly negative.
        add("random_read".into(), [s, (1.0 - s - x).max(0.0), x], row)?;
    }
    if let Some(read) = p.sequential_read {
        let row = blend(read, p.sequential_write, "sequential_write")?;
        add("sequential_read".into(), [0.0, 0.0, 1.0], row)?;
    }
    for (i, point) in p.points.iter().enumerate() {
        let key = |k: &str| format!("points[{i}].{k}");
        let given = [point.seek, point.rotation, point.transfer];
        let times = [point.seek_time, point.rotation_time, point.transfer_time];
        let shares = match point.iops {
            None if times.iter().all(Option::is_none) => given,
            None => return Err(SpecError::new(key("iops"), "nothing", "the rate of the times")),
            Some(_) if given != [0.0; 3] => {
                let need = "shares of time, or a rate with times per request";
                return Err(SpecError::new(key("iops"), "both", need));
            }
            Some(iops) => times.map(|time| iops * seconds(time).unwrap_or(0.0)),
        };
        let sum: f64 = shares.iter().sum();
        if !(shares.iter().all(|f| *f >= 0.0) && sum > 0.0 && sum <= 1.0 + 1e-9) {
            let need = "shares of time of zero or more that add up to more than 0 and at most 1";
            return Err(SpecError::new(key("seek"), format!("{shares:?}"), need));
        }
        add(key("current"), shares, watts(point.current))?;
    }
    Ok(rows)
}

/// The `[p, q]`, both at least zero, with the least squares of `p a + q b - c` over rows `(a, b, c)`; `None`
/// if the rows do not determine them.
///
/// With two unknowns, the constrained optimum is the unconstrained one or lies on an axis.
#[doc(hidden)]
pub fn non_negative_fit(rows: impl Iterator<Item = (f64, f64, f64)>) -> Option<[f64; 2]> {
    let (mut aa, mut ab, mut bb, mut ac, mut bc) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (a, b, c) in rows {
        aa += a * a;
        ab += a * b;
        bb += b * b;
        ac += a * c;
        bc += b * c;
    }
    let determinant = aa * bb - ab * ab;
    // Shares have about three significant digits. Rows that differ less than that do not determine the fit.
    if determinant.is_nan() || determinant <= 1e-6 * aa * bb {
        return None;
    }
    let free = [(ac * bb - bc * ab) / determinant, (bc * aa - ac * ab) / determinant];
    if free.iter().all(|adder| *adder >= 0.0) {
        return Some(free);
    }
    let on_axis = [[f64::max(ac / aa, 0.0), 0.0], [0.0, f64::max(bc / bb, 0.0)]];
    let error = |[p, q]: [f64; 2]| aa * p * p + 2.0 * ab * p * q + bb * q * q - 2.0 * (ac * p + bc * q);
    on_axis.into_iter().min_by(|l, r| error(*l).total_cmp(&error(*r)))
}
