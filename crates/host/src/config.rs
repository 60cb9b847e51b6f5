//! The daemon's configuration, a file of TOML.

use crate::group_state::State;
use headstack_control::policy::{Drives, Need, PLUGINS};
use headstack_control::rack::Split;
use headstack_control::Policy;
use headstack_schema::document::{located, read_text, toml_value, TOML};
use headstack_schema::{chosen, read, shown, Choice, Kind, Params, Plugin, SpecError, Table};
use headstack_units::{Joules, Span, Watts};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The whole file.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Config {
    /// Whether settings are written. Without it all is computed and logged, and nothing is touched.
    #[param(default)]
    pub apply: bool,
    /// Time between two steps of the control loop.
    #[param(default = Span(1_000_000_000), range = Span(50_000_000)..=Span(60_000_000_000))]
    pub interval: Span,
    /// File in which the settings of the time before are kept until they are restored.
    #[param(default = "/var/lib/headstack-capd/originals.json".into())]
    pub originals: String,
    /// File in which caps that it was given, and where its policies stand, are kept for the next start; by default beside
    /// `originals`, with `.state` after its name.
    pub state: Option<String>,
    /// Unix socket for `headstack-capd status` and `headstack-capd cap`.
    #[param(default = "/run/headstack-capd/socket".into())]
    pub socket: String,
    /// Where metrics for Prometheus are served: `127.0.0.1:9743`, or `unix:PATH`.
    pub metrics: Option<String>,
    /// Drives that share a meter and a cap.
    pub group: Vec<Group>,
    /// Groups that share a cap.
    #[param(default)]
    pub rack: Vec<Rack>,
}

/// Groups that share a cap, each with meters of its own.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Rack {
    /// Its name in messages, metrics and commands.
    pub name: String,
    /// The highest power of all groups and of `base`; none if absent, until one is set.
    pub cap: Option<Watts>,
    /// A file with the cap in watts, which is read at each step; an empty one means no cap.
    pub cap_file: Option<String>,
    /// What draws besides the groups, and is on none of their meters.
    #[param(default, range = Watts(0.0)..=Watts(1e6))]
    pub base: Watts,
    /// Who gets the watts for which several groups ask.
    #[param(default)]
    pub split: Split,
    /// What a group asks for above its power: more than twice of what its policy leaves below a cap.
    #[param(default = Watts(5.0), range = Watts(0.01)..=Watts(1e4))]
    pub headroom: Watts,
    /// Time between two divisions; no shorter than the period of the groups' policies.
    #[param(default = Span(10_000_000_000), range = Span(50_000_000)..=Span(3_600_000_000_000))]
    pub period: Span,
    /// Its groups, with `split = "strict"` the first the best.
    pub member: Vec<Member>,
}

/// A group of a rack.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Member {
    /// Name of the group. The cap of the group itself is the most that it gets.
    pub group: String,
    /// The power that it always gets, at its meters: what it draws at its lowest settings.
    #[param(range = Watts(0.0)..=Watts(1e6))]
    pub least: Watts,
    /// Its weight in the division.
    #[param(default = 1.0, range = 1e-3..=1e3)]
    pub weight: f64,
}

/// Drives that share a meter and a cap.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Group {
    /// Its name in messages, metrics and commands.
    pub name: String,
    /// The highest power that the meters should show; none if absent, until one is set.
    pub cap: Option<Watts>,
    /// A file with the cap in watts, which is read at each step; an empty one means no cap.
    pub cap_file: Option<String>,
    /// A higher cap for a short time.
    pub burst: Option<Burst>,
    /// Programs that run when it is in some states.
    #[param(default)]
    pub hook: Vec<Hook>,
    /// Sends drives to a low-power condition where no setting of the queues keeps the cap.
    pub emergency: Option<Emergency>,
    /// Name of the policy.
    #[param(default = "learning".into(), kind = Kind::Name("capping policy"))]
    pub policy: String,
    /// Parameters of the policy. `tiers` follow from the drives' `tier`.
    #[param(default, kind = Kind::Parameters("capping policy"))]
    pub parameters: Params,
    /// Meters, whose readings are added.
    pub meter: Vec<Meter>,
    /// What the meters count besides the drives: the cap of the drives is so much lower.
    #[param(default, range = Watts(0.0)..=Watts(1e6))]
    pub base: Watts,
    /// Readings below this are wrong.
    #[param(default, range = Watts(0.0)..=Watts(1e6))]
    pub least: Watts,
    /// How far above the cap a reading may be without counting as over it.
    #[param(default = Watts(0.5), range = Watts(0.0)..=Watts(1e4))]
    pub tolerance: Watts,
    /// Time over the cap after which the state is `unreachable`.
    #[param(default = Span(60_000_000_000), range = Span(1_000_000_000)..=Span(3_600_000_000_000))]
    pub unreachable_after: Span,
    /// File in which a policy that learns keeps what it has learned, for each model of drives.
    pub learned: Option<String>,
    /// Maps of power and throughput for the models of drives, for policies that have maps.
    #[param(default)]
    pub map: Vec<ModelMap>,
    /// What happens when somebody else changes a setting.
    #[param(default)]
    pub on_conflict: OnConflict,
    /// The drives.
    pub drive: Vec<Drive>,
}

/// A short window beside the long one of the cap.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct Burst {
    /// The highest power for a short time.
    pub cap: Watts,
    /// Time constant of the mean that the group's own cap bounds.
    #[param(default = Span(60_000_000_000), range = Span(1_000_000_000)..=Span(3_600_000_000_000))]
    pub over: Span,
}

/// A program that runs when the group is in a state.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Hook {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The states.
    #[param(default = ["unreachable", "meter-lost", "drive-refuses", "wrong-sign"].map(String::from).into())]
    pub states: Vec<String>,
    /// For how long it must have been in one of them.
    #[param(default, range = Span(0)..=Span(3_600_000_000_000))]
    pub after: Span,
}

/// What is done with drives where no setting of the queues keeps the cap.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct Emergency {
    /// Where they are sent.
    pub condition: Condition,
    /// How long the group must be `unreachable` before that, and again before each further tier. Longer than a command may take.
    #[param(default = Span(30_000_000_000), range = Span(15_000_000_000)..=Span(3_600_000_000_000))]
    pub after: Span,
    /// How long it must not be `unreachable` before they follow their own timers again.
    #[param(default = Span(600_000_000_000), range = Span(0)..=Span(86_400_000_000_000))]
    pub lasts: Span,
}

/// A low-power condition, which drives leave by themselves with the next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
pub enum Condition {
    /// Part of the electronics is off.
    #[choice("idle_a")]
    IdleA,
    /// Heads unloaded as well.
    #[choice("idle_b")]
    IdleB,
    /// Lower spindle speed as well.
    #[choice("idle_c")]
    IdleC,
    /// Spun down.
    Standby,
}

/// A map of the drives of one model.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct ModelMap {
    /// The model, as the drives name themselves (`device/model`).
    pub model: String,
    /// A file of TOML with the list `map`, as the parameter of the policy.
    pub file: String,
}

/// No drive draws more, also while it spins up: two amperes at 12 V, and what its electronics take.
const MOST_DRIVE_W: f64 = 50.0;

/// What happens when somebody else changes a setting that the daemon has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum OnConflict {
    /// The setting is made again, at most once every ten seconds.
    #[default]
    Reassert,
    /// The drive is left alone until the daemon starts again.
    Yield,
}

/// A drive.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Drive {
    /// Its name below /dev/disk/by-id, such as `wwn-0x5000c500a1b2c3d4`: it stays the same when device names change.
    pub id: Option<String>,
    /// Its folder, such as `/sys/block/sda` or that of an emulated drive, in place of `id`.
    pub path: Option<String>,
    /// Whether its settings may be changed. If not it is behind the meters all the same, and what it draws is left to it.
    #[param(default = true)]
    pub control: bool,
    /// With `control = false`, its power by what Linux counts. Without, its power belongs to `base` of the group.
    pub model: Option<Model>,
    /// Its tier, 1 the best: policies for several drives slow the others first.
    #[param(default = 1, range = 1..=100)]
    pub tier: u32,
    /// Least and most places of the host's queue that it may get; by default what Linux accepts.
    pub nr_requests: Option<Vec<u32>>,
    /// Least and most commands that it may hold.
    pub queue_depth: Option<Vec<u32>>,
    /// A folder of control group 2 whose `io.max` limits the drive, for policies that limit rates.
    pub cgroup: Option<String>,
}

/// A meter: one of `hwmon`, `file`, `command` and `model`.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Meter {
    /// A file with microwatts, such as `/sys/class/hwmon/hwmon3/power1_average`.
    pub hwmon: Option<String>,
    /// A file with watts.
    pub file: Option<String>,
    /// A program and its arguments that print watts, such as `["ipmitool", "dcmi", "power", "reading"]`.
    pub command: Option<Vec<String>>,
    /// What stands before the number in what the program prints; by default the first number counts.
    pub after: Option<String>,
    /// Where the number stands in JSON that the program prints, such as `/PowerControl/0/PowerConsumedWatts`.
    pub json: Option<String>,
    /// Time after which the program is ended.
    #[param(default = Span(10_000_000_000), range = Span(100_000_000)..=Span(600_000_000_000))]
    pub timeout: Span,
    /// Time between two readings.
    #[param(default = Span(1_000_000_000), range = Span(50_000_000)..=Span(600_000_000_000))]
    pub interval: Span,
    /// No meter: the power of each drive is computed from its statistics.
    pub model: Option<Model>,
    /// Follows the load between two readings of a slow meter.
    pub fuse: Option<Fuse>,
}

/// A slow meter together with a model of the drives: the model follows the load at once, and the meter corrects it. For meters
/// that show nothing but the group's drives and what is steady.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct Fuse {
    /// Power of one drive, from what Linux counts.
    pub model: Model,
    /// Time between two readings of both together.
    #[param(default = Span(1_000_000_000), range = Span(50_000_000)..=Span(60_000_000_000))]
    pub every: Span,
    /// Time constant with which the model is corrected by the meter; no shorter than the meter's interval.
    #[param(default = Span(60_000_000_000), range = Span(100_000_000)..=Span(3_600_000_000_000))]
    pub over: Span,
}

/// Power of one drive from what Linux counts in `stat`. It knows how long a drive was busy and how many requests it
/// served, but not how far it sought: it cannot see what shorter queues save.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct Model {
    /// Without work.
    #[param(range = Watts(0.0)..=Watts(1000.0))]
    pub idle: Watts,
    /// More than that while a request is outstanding.
    #[param(default, range = Watts(0.0)..=Watts(1000.0))]
    pub busy: Watts,
    /// Energy of a read.
    #[param(default, range = Joules(0.0)..=Joules(100.0))]
    pub read: Joules,
    /// Energy of a write.
    #[param(default, range = Joules(0.0)..=Joules(100.0))]
    pub write: Joules,
}

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// With file, line and what is needed.
    pub fn open(file: &Path) -> Result<Config, SpecError> {
        let text = read_text(file, TOML)?;
        let value = toml_value(&text, file)?;
        let config = read::<Config>(&value).and_then(|config| {
            config.check_all()?;
            Ok(config)
        });
        config.map_err(|e| located(e, file, Some(&text)))
    }

    /// The file of the state.
    pub fn state_file(&self) -> PathBuf {
        match &self.state {
            Some(file) => file.into(),
            None => format!("{}.state", self.originals).into(),
        }
    }

    fn check_all(&self) -> Result<(), SpecError> {
        if self.group.is_empty() {
            return Err(SpecError::new("group", "none", "one or several [[group]]"));
        }
        let mut names = BTreeSet::new();
        let mut drives = BTreeSet::new();
        for (i, group) in self.group.iter().enumerate() {
            let place = format!("group[{i}]");
            if !names.insert(group.name.as_str()) {
                let e = SpecError::new("name", format!("{:?} again", group.name), "another name");
                return Err(e.within(&place));
            }
            group.check_all().map_err(|e| e.within(&place))?;
            for (d, drive) in group.drive.iter().enumerate() {
                if !drives.insert(drive.name()) {
                    let got = format!("{} a second time", drive.name());
                    let e = SpecError::new("", got, "each drive in one group");
                    return Err(e.within(&format!("{place}.drive[{d}]")));
                }
            }
        }
        self.check_racks(names)
    }

    /// `names` are those of the groups.
    fn check_racks<'a>(&'a self, mut names: BTreeSet<&'a str>) -> Result<(), SpecError> {
        let mut members = BTreeSet::new();
        for (i, rack) in self.rack.iter().enumerate() {
            let place = format!("rack[{i}]");
            if !names.insert(rack.name.as_str()) {
                let got = format!("{:?} again", rack.name);
                let e = SpecError::new("name", got, "another name than groups and racks have");
                return Err(e.within(&place));
            }
            let checked = rack.check_all(&self.group, &mut members);
            checked.map_err(|e| e.within(&place))?;
        }
        Ok(())
    }
}

impl Rack {
    /// `taken` are the groups that have a rack.
    fn check_all<'a>(&'a self, groups: &[Group], taken: &mut BTreeSet<&'a str>) -> Result<(), SpecError> {
        if self.member.is_empty() {
            let need = "one or several [[rack.member]]";
            return Err(SpecError::new("member", "none", need));
        }
        let names: Vec<&str> = groups.iter().map(|g| g.name.as_str()).collect();
        for (i, member) in self.member.iter().enumerate() {
            let within = |e: SpecError| e.within(&format!("member[{i}]"));
            chosen("group", &names, Some(&member.group)).map_err(within)?;
            if !taken.insert(member.group.as_str()) {
                let got = format!("{:?} a second time", member.group);
                return Err(within(SpecError::new("group", got, "each group in one rack")));
            }
            let group = groups.iter().find(|g| g.name == member.group);
            let base = group.map_or(Watts(0.0), |g| g.base);
            if member.least <= base {
                let need = format!("more than base of the group, {base}");
                return Err(within(SpecError::new("least", member.least, need)));
            }
        }
        self.check_cap(self.cap)
    }

    /// More than this its groups do not draw, with `base`.
    pub fn most_cap(&self, groups: &[Group]) -> Watts {
        let is_member = |g: &&Group| self.member.iter().any(|m| m.group == g.name);
        let of_groups = groups.iter().filter(is_member).map(|g| g.most_cap().0);
        let least: f64 = self.member.iter().map(|m| m.least.0).sum();
        Watts(self.base.0 + of_groups.sum::<f64>().max(2.0 * least))
    }

    /// Whether the groups can have what they always get.
    ///
    /// # Errors
    /// A cap that is too low, or no number.
    pub fn check_cap(&self, cap: Option<Watts>) -> Result<(), SpecError> {
        let needed = self.base.0 + self.member.iter().map(|m| m.least.0).sum::<f64>();
        match cap {
            Some(cap) if !(cap.0 >= needed && cap.0.is_finite()) => {
                let need = format!("base and the least of all members, {}", Watts(needed));
                Err(SpecError::new("cap", cap, format!("at least {need}")))
            }
            _ => Ok(()),
        }
    }
}

impl Group {
    fn check_all(&self) -> Result<(), SpecError> {
        let plugin = self.plugin()?;
        let n = self.controlled().count();
        if n == 0 {
            let need = "one or several [[group.drive]] whose settings may be changed";
            return Err(SpecError::new("drive", "none", need));
        }
        if plugin.facts.drives == Drives::One && n > 1 {
            let got = format!("{n} drives with {}", plugin.name());
            let need = "one drive, or a policy for several, such as pcap-s or feed-forward";
            return Err(SpecError::new("policy", got, need));
        }
        if self.meter.is_empty() {
            return Err(SpecError::new("meter", "none", "one or several [[group.meter]]"));
        }
        for (i, map) in self.map.iter().enumerate() {
            let place = format!("map[{i}]");
            if !has_maps(plugin) {
                let need = "a policy with maps, such as learning or feed-forward";
                return Err(SpecError::new("", format!("it with {}", plugin.name()), need).within(&place));
            }
            if self.map[..i].iter().any(|m| m.model == map.model) {
                let got = format!("{:?} a second time", map.model);
                return Err(SpecError::new("model", got, "one map for each model").within(&place));
            }
            map.read().map_err(|e| e.within(&place))?;
        }
        if let Some(burst) = self.burst.filter(|b| self.cap.is_some_and(|cap| b.cap <= cap)) {
            let e = SpecError::new("cap", burst.cap, "more than cap of the group");
            return Err(e.within("burst"));
        }
        for (i, hook) in self.hook.iter().enumerate() {
            hook.check_all().map_err(|e| e.within(&format!("hook[{i}]")))?;
        }
        for (i, meter) in self.meter.iter().enumerate() {
            meter.check_all().map_err(|e| e.within(&format!("meter[{i}]")))?;
        }
        for (i, drive) in self.drive.iter().enumerate() {
            let place = format!("drive[{i}]");
            drive.check_all().map_err(|e| e.within(&place))?;
            if drive.model.is_some() && self.meter.iter().all(|m| m.model.is_some()) {
                let need = "a meter that shows this drive: a model has only those that are controlled";
                return Err(SpecError::new("model", "it", need).within(&place));
            }
            let needs_limit = drive.control && plugin.facts.needs.contains(&Need::RateLimit);
            if needs_limit && drive.cgroup.is_none() {
                let need = format!("a folder of a control group, for the policy {}", plugin.name());
                return Err(SpecError::new("cgroup", "none", need).within(&place));
            }
        }
        if let Some(cap) = self.cap.filter(|cap| cap.0 <= self.base.0) {
            let need = format!("more than base, {}", self.base);
            return Err(SpecError::new("cap", cap, need));
        }
        Ok(())
    }

    /// More than this no group of so many drives draws, with `base`: a cap above it is a mistake.
    pub fn most_cap(&self) -> Watts {
        Watts(self.base.0 + MOST_DRIVE_W * self.drive.len() as f64)
    }

    /// The drives whose settings may be changed.
    pub fn controlled(&self) -> impl Iterator<Item = &Drive> {
        self.drive.iter().filter(|d| d.control)
    }

    /// The policy.
    ///
    /// # Errors
    /// A name that no policy has.
    pub fn plugin(&self) -> Result<&'static Plugin<dyn Policy>, SpecError> {
        PLUGINS.find("policy", &self.policy)
    }

    /// Whether the policy has a map for each model of drives.
    ///
    /// # Errors
    /// A name that no policy has.
    pub fn has_maps(&self) -> Result<bool, SpecError> {
        self.plugin().map(has_maps)
    }

    /// The policy's parameters for drives with these tiers, best first, and models; and the models in the order of their maps.
    ///
    /// # Errors
    /// A file with a map that cannot be read.
    pub fn parameters_for(&self, drives: &[(u32, &str)]) -> Result<(Params, Vec<String>), SpecError> {
        let mut parameters = self.parameters.clone();
        let mut models: Vec<String> = Vec::new();
        for (_, model) in drives {
            if !models.iter().any(|m| m == model) {
                models.push(model.to_string());
            }
        }
        let given = |key: &str| self.parameters.contains_key(key);
        if self.plugin()?.facts.drives != Drives::Several || given("tiers") || given("maps") {
            return Ok((parameters, models));
        }
        let has_file = self.map.iter().any(|m| models.contains(&m.model));
        let is_by_model = self.has_maps()? && (models.len() > 1 || has_file);
        let split = split(drives, is_by_model);
        // One tier is what policies have without.
        if split.len() > 1 {
            let sizes: Vec<usize> = split.iter().map(|s| s.size).collect();
            parameters.insert("tiers".into(), sizes.into());
        }
        if is_by_model {
            self.add_maps(&mut parameters, &models)?;
            let place = |s: &Part| models.iter().position(|m| m == s.model).unwrap_or(0);
            let places: Vec<usize> = split.iter().map(place).collect();
            parameters.insert("models".into(), places.into());
            spread(&mut parameters, &split);
        }
        Ok((parameters, models))
    }

    /// Puts the map of each model into the parameters: that of its file, else the one for all, else the built-in one.
    fn add_maps(&self, parameters: &mut Params, models: &[String]) -> Result<(), SpecError> {
        let usual = parameters.remove("map");
        let usual = usual.unwrap_or_else(|| Value::Array(Vec::new()));
        let map = |model: &String| match self.map.iter().find(|m| m.model == *model) {
            Some(map) => map.read(),
            None => Ok(usual.clone()),
        };
        let maps: Result<Vec<Value>, SpecError> = models.iter().map(map).collect();
        parameters.insert("maps".into(), maps?.into());
        Ok(())
    }
}

fn has_maps(plugin: &Plugin<dyn Policy>) -> bool {
    let parameters = plugin.parameters();
    parameters.fields.iter().any(|f| f.key == "maps")
}

/// Drives with one setting: of one tier, and of one model where the policy has a map for each.
struct Part<'a> {
    tier: u32,
    model: &'a str,
    size: usize,
}

fn split<'a>(drives: &[(u32, &'a str)], is_by_model: bool) -> Vec<Part<'a>> {
    let mut all: Vec<Part> = Vec::new();
    for (tier, model) in drives {
        match all.last_mut() {
            Some(s) if s.tier == *tier && (!is_by_model || s.model == *model) => s.size += 1,
            _ => all.push(Part { tier: *tier, model, size: 1 }),
        }
    }
    all
}

/// Parameters with a value for each tier of the configuration get one for each part of a tier: weights are those of the tier, watts
/// are divided by number of drives.
fn spread(parameters: &mut Params, split: &[Part]) {
    let mut tiers: Vec<u32> = split.iter().map(|s| s.tier).collect();
    tiers.dedup();
    let of_tier = |tier: u32| split.iter().filter(move |s| s.tier == tier);
    for (key, is_divided) in [("weights", false), ("tier_caps_w", true)] {
        let Some(Value::Array(values)) = parameters.get(key) else { continue };
        let values: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
        // A list of another length is an error of the policy.
        let Some(values) = values.filter(|v| v.len() == tiers.len()) else { continue };
        let part = |s: &Part| {
            let whole = tiers.iter().position(|t| *t == s.tier).map_or(0.0, |i| values[i]);
            let drives: usize = of_tier(s.tier).map(|s| s.size).sum();
            match is_divided {
                true => whole * s.size as f64 / drives as f64,
                false => whole,
            }
        };
        let parts: Vec<f64> = split.iter().map(part).collect();
        parameters.insert(key.into(), parts.into());
    }
}

impl ModelMap {
    /// The map in its file.
    ///
    /// # Errors
    /// A file that cannot be read, or has no list `map`.
    pub(crate) fn read(&self) -> Result<Value, SpecError> {
        let file = Path::new(&self.file);
        let text = read_text(file, TOML)?;
        let value = toml_value(&text, file)?;
        match value.get("map") {
            Some(Value::Array(points)) if !points.is_empty() => Ok(Value::Array(points.clone())),
            got => {
                let got = got.map_or("nothing".to_string(), shown);
                let need = "a list of tables with nr_requests, queue_depth, power and iops";
                Err(SpecError::new("map", got, need).in_file(file.display()))
            }
        }
    }
}

impl Drive {
    /// What it is called in messages.
    pub fn name(&self) -> &str {
        let name = self.id.as_deref().or(self.path.as_deref());
        name.unwrap_or_default()
    }

    /// Its folder, if it is there.
    pub fn folder(&self) -> Option<PathBuf> {
        if let Some(path) = &self.path {
            return Some(PathBuf::from(path)).filter(|p| p.is_dir());
        }
        let link = Path::new("/dev/disk/by-id").join(self.id.as_ref()?);
        let device = std::fs::canonicalize(link).ok()?;
        let folder = Path::new("/sys/block").join(device.file_name()?);
        Some(folder).filter(|p| p.is_dir())
    }

    /// Its file, such as `/dev/sda`, if it is there.
    pub fn device(&self) -> Option<String> {
        let folder = self.folder()?.canonicalize().ok()?;
        Some(format!("/dev/{}", folder.file_name()?.to_str()?))
    }

    fn check_all(&self) -> Result<(), SpecError> {
        let wrong_id = |id: &String| id.is_empty() || id.contains('/');
        match (&self.id, &self.path) {
            (Some(id), None) if wrong_id(id) => {
                let need = "a name below /dev/disk/by-id, such as \"wwn-0x5000c500a1b2c3d4\"";
                return Err(SpecError::new("id", format!("{id:?}"), need));
            }
            (Some(_), None) | (None, Some(_)) => {}
            (None, None) => return Err(SpecError::new("", "neither id nor path", "one of them")),
            (Some(_), Some(_)) => return Err(SpecError::new("", "id and path", "one of them")),
        }
        if self.control && self.model.is_some() {
            let need = "control = false, for a drive that is only measured";
            return Err(SpecError::new("model", "it with control = true", need));
        }
        for (key, range) in [("nr_requests", &self.nr_requests), ("queue_depth", &self.queue_depth)] {
            match range.as_deref() {
                None => {}
                Some([least, most]) if 1 <= *least && least <= most => {}
                Some(got) => {
                    let need = "the least and the most, such as [4, 128]";
                    return Err(SpecError::new(key, format!("{got:?}"), need));
                }
            }
        }
        Ok(())
    }
}

impl Hook {
    fn check_all(&self) -> Result<(), SpecError> {
        if self.command.is_empty() {
            let need = "a program and its arguments";
            return Err(SpecError::new("command", "[]", need));
        }
        match self.states.iter().find(|s| !State::NAMES.contains(&s.as_str())) {
            None => Ok(()),
            Some(got) => {
                let need = format!("some of {}", State::NAMES.join(", "));
                Err(SpecError::new("states", format!("{got:?}"), need))
            }
        }
    }
}

impl Meter {
    pub(crate) fn check_all(&self) -> Result<(), SpecError> {
        let given = [
            ("hwmon", self.hwmon.is_some()),
            ("file", self.file.is_some()),
            ("command", self.command.is_some()),
            ("model", self.model.is_some()),
        ];
        let given: Vec<&str> = given.iter().filter(|g| g.1).map(|g| g.0).collect();
        if given.len() != 1 {
            let got = match given.len() {
                0 => "none of them".to_string(),
                _ => given.join(" and "),
            };
            return Err(SpecError::new("", got, "one of hwmon, file, command and model"));
        }
        if self.command.as_ref().is_some_and(Vec::is_empty) {
            return Err(SpecError::new("command", "[]", "a program and its arguments"));
        }
        if let Some(fuse) = self.fuse {
            if self.model.is_some() {
                return Err(SpecError::new("fuse", "it with model", "it with a meter"));
            }
            if fuse.over < self.interval {
                let need = format!("at least the interval of the meter, {}", self.interval);
                return Err(SpecError::new("over", fuse.over, need).within("fuse"));
            }
        }
        for (key, value) in [("after", &self.after), ("json", &self.json)] {
            if value.is_some() && self.command.is_none() {
                return Err(SpecError::new(key, format!("it with {}", given[0]), "it with command"));
            }
        }
        Ok(())
    }
}

/// Whether somebody who asks for a cap cannot mean it, because nothing can draw as much as `most`.
///
/// # Errors
/// A cap above that.
pub fn check_most(cap: Option<Watts>, most: Watts) -> Result<(), SpecError> {
    match cap.filter(|cap| cap.0 > most.0) {
        None => Ok(()),
        Some(cap) => {
            let need = format!("at most {most}, more than it could draw; none for no cap");
            Err(SpecError::new("cap", cap, need))
        }
    }
}
