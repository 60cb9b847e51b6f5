//! Drives for whole experiments: a base and what is different from it, as keys that can be left out one by one.

use super::drive::{self, vary, vary_limits};
use crate::{shipped, SplitMix};
use headstack_drive::power::conditions::Condition;
use headstack_drive::spec::ArmShare;
use headstack_drive::{DriveSpec, Models};
use headstack_schema::{ModelKind, Plugins};
use toml::{Table, Value};

/// What a drawn drive is made from.
#[derive(Debug, Clone)]
pub enum Base {
    /// A drive that comes with the project, by name.
    Shipped(String),
    /// A small drive of parts from the registries, as a file has it.
    MadeUp(Table),
}

/// A drive, and what makes it.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// What it is made from.
    pub base: Base,
    /// The description of the base.
    pub spec: DriveSpec,
    /// What is different from the base: dotted keys of a drive file with their values. Each may be left out.
    pub changes: Vec<(String, Value)>,
}

/// About the 512-byte blocks of a drive: those that it states, or that its zones hold.
pub fn blocks(spec: &DriveSpec) -> u64 {
    let g = &spec.geometry;
    let held = g.zones.iter().map(|z| {
        let surfaces = (0..g.surfaces).map(|s| u64::from(z.sectors_per_track.of(s)));
        u64::from(z.last_cylinder - z.first_cylinder) * surfaces.sum::<u64>()
    });
    g.capacity_blocks.unwrap_or(held.sum::<u64>() * g.sector_size.0 / 512)
}

/// Two drives in three are shipped ones. A change may be one that the drive refuses.
pub fn draw_drive(draw: &mut SplitMix) -> Drawn {
    let mut drives = shipped::drives();
    let (base, spec) = match draw.one_in(3) {
        true => {
            let table: Table = super::parsed(&drive::text(draw));
            let spec = table.clone().try_into().unwrap_or_else(|e| panic!("{e}: {table}"));
            (Base::MadeUp(table), spec)
        }
        false => {
            let spec = drives.swap_remove(draw.below(drives.len() as u64) as usize);
            (Base::Shipped(spec.name.clone()), spec)
        }
    };
    let mut changed = spec.clone();
    if matches!(base, Base::Shipped(_)) {
        if draw.one_in(3) {
            let dash = draw.of(&["D1A2S1H1", "D2A1S1H1", "D1A1S1H2", "D1A2S1H2", "D1A1S2H1", "D2A2S2H2", "D1A4S1H1"]);
            changed.dash = dash.parse().unwrap_or_else(|e| panic!("{e}"));
        }
        changed.parallelism.arms_in_motion = draw.of(&[0, 1, 1, 2]);
        if draw.one_in(3) {
            // Tables of a log of small blocks on a large drive are too large for a test.
            let factor = (blocks(&spec) >> 17).max(1).next_power_of_two();
            changed.mapping = super::parsed(&drive::mapping(draw, factor)["[mapping]\n".len()..]);
        }
    }
    let idle = draw.one_in(2);
    vary(draw, &mut changed, idle);
    if draw.one_in(6) {
        vary_limits(draw, &mut changed);
    }
    let table = further(draw, &changed);
    let changes = differences(&as_table(&spec), &table, &WHOLE);
    Drawn { base, spec, changes }
}

/// A description as a file has it.
pub(super) fn as_table(spec: &DriveSpec) -> Table {
    Table::try_from(spec).unwrap_or_else(|e| panic!("{e}"))
}

/// All keys of a drive.
pub(super) fn keys(spec: &DriveSpec) -> Vec<(String, Value)> {
    // Names of sources have dots.
    differences(&Table::new(), &as_table(spec), &["seek", "sources"])
}

/// The description that has these keys.
pub(super) fn of_keys(keys: &[(String, Value)]) -> Table {
    let mut table = Table::new();
    keys.iter().for_each(|(key, value)| set(&mut table, key, value.clone()));
    table
}

/// Tables whose keys depend on each other are one change.
const WHOLE: [&str; 6] = ["mapping", "seek", "power", "media_scan", "duration_limits", "queue"];

/// The keys of `to` that are not as in `from`; those of the tables `whole` together.
fn differences(from: &Table, to: &Table, whole: &[&str]) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (name, value) in to.iter().filter(|(name, value)| from.get(*name) != Some(value)) {
        let keys = match value {
            Value::Table(keys) if !whole.contains(&name.as_str()) => keys,
            whole => {
                all.push((name.clone(), whole.clone()));
                continue;
            }
        };
        let before = from.get(name).and_then(Value::as_table);
        let keys = keys.iter().filter(|(key, value)| before.and_then(|b| b.get(*key)) != Some(value));
        all.extend(keys.map(|(key, value)| (format!("{name}.{key}"), value.clone())));
    }
    all
}

/// Sets a dotted key.
fn set(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => drop(table.insert(key.into(), value)),
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Table::new().into());
            set(inner.as_table_mut().unwrap_or_else(|| panic!("{first} is no table")), rest, value);
        }
    }
}

/// One of the entries of a registry: its example with its name as `key`.
fn example<P: ?Sized + ModelKind>(draw: &mut SplitMix, entries: &Plugins<P>, key: &str) -> Table {
    let entry = &entries[draw.below(entries.len() as u64) as usize];
    let mut table: Table = super::parsed(entry.example());
    table.insert(key.into(), entry.name().into());
    table
}

/// Keys of times that few drives have.
const TIMES: [&str; 11] = [
    "cache.destage_age",
    "cache.partial_wait",
    "link.read_sector_time",
    "overhead.data_preparation",
    "overhead.other_reselect",
    "overhead.read_hit.after_write",
    "overhead.write_completion",
    "positioning.minimum_write",
    "positioning.minimum_read_after_read",
    "positioning.minimum_read_after_write",
    "queue.age_limit",
];

/// The description with what few drives have besides: models of the registries, roles of arms, links that are slow or
/// held, times of the interface, limits of age.
pub(super) fn further(draw: &mut SplitMix, spec: &DriveSpec) -> Table {
    let (mut table, models) = (as_table(spec), Models::builtin());
    let mut keys: Vec<(String, Value)> = Vec::new();
    let mut put = |key: &str, value: Value| keys.push((key.into(), value));
    if draw.one_in(8) {
        let mut seek = example(draw, &models.seek, "model");
        if seek.contains_key("cylinders") {
            seek.insert("cylinders".into(), i64::from(spec.geometry.cylinders).into());
        }
        put("seek", seek.into());
    }
    if draw.one_in(8) {
        put("power", example(draw, &models.power, "model").into());
    }
    for condition in Condition::LOW.map(Condition::name) {
        let low = spec.power.get("conditions").is_some_and(|c| c.get(condition).is_some());
        if low && draw.one_in(4) {
            put(&format!("power.conditions.{condition}.timer"), time(draw));
        }
    }
    if spec.dash.arms > 1 && draw.one_in(3) {
        let roles = match draw.one_in(2) {
            true => (0..spec.dash.arms).map(|i| vec![if i == 0 { "write" } else { "read" }]).collect::<Vec<_>>().into(),
            false => example(draw, &models.roles, "policy").into(),
        };
        put("parallelism.roles", roles);
    }
    if spec.parallelism.arm_share == ArmShare::OwnShare && draw.one_in(3) {
        put("parallelism.logical_units", true.into());
    }
    let model = spec.mapping.get("model").and_then(|m| m.as_str());
    if model == Some("zoned") && draw.one_in(3) {
        put("mapping.conventional_zones", (draw.below(5) as i64).into());
    }
    let few = |draw: &mut SplitMix| draw.one_in(8);
    for key in TIMES {
        if few(draw) {
            put(key, time(draw));
        }
    }
    for (key, values) in [
        ("link.never_disconnect", [Value::from(true), true.into()]),
        ("link.rate", ["1 MB/s".into(), "8 MB/s".into()]),
        ("queue.counts", ["waiting".into(), "waiting".into()]),
        ("cache.destage_window", [1.into(), 30.into()]),
        ("cache.dirty_limit", ["8 KiB".into(), "64 KiB".into()]),
        ("cache.separate_write_segment", [true.into(), false.into()]),
        ("cache.watermark_of_request", [true.into(), false.into()]),
        ("positioning.settle_before_every_write", [true.into(), true.into()]),
        ("positioning.seek_scale", [0.0.into(), 2.0.into()]),
    ] {
        if few(draw) {
            let [one, other] = values;
            put(key, if draw.one_in(2) { one } else { other });
        }
    }
    keys.into_iter().for_each(|(key, value)| set(&mut table, &key, value));
    table
}

/// From a microsecond to some ten milliseconds.
fn time(draw: &mut SplitMix) -> Value {
    let most = draw.of(&[10, 300, 30_000]);
    format!("{} us", 1 + draw.below(most)).into()
}
