//! What `headstack-capd check` says: each drive and each meter is read once, and what a group can hold is computed from what is
//! known of its drives.

use crate::clock;
use crate::config::{Config, Drive, Group};
use crate::daemon::open_drive;
use crate::drive::shown;
use crate::emergency;
use crate::knobs::{Files, Knob, Knobs};
use crate::learned::Learned;
use crate::meter::command::output;
use crate::meter::Meters;
use crate::settings::{device_of, read_all, Bounds};
use crate::stat::Stat;
use headstack_units::Watts;
use serde_json::Value;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Lines for people, and how many of them say that something cannot be used.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Said {
    pub text: String,
    pub problems: usize,
}

impl Said {
    fn judge(&mut self, what: &str, found: Result<String, String>) {
        self.problems += usize::from(found.is_err());
        let found = found.unwrap_or_else(|why| format!("cannot be used: {why}"));
        self.text += &format!("  {what}: {found}\n");
    }
}

/// Reads all drives and meters of a configuration. It takes as long as the slowest meter.
///
/// # Errors
/// The system has no more threads.
pub fn check(config: &Config) -> io::Result<Said> {
    let mut said = Said::default();
    for group in &config.group {
        said.text += &format!("{}: policy {}\n", group.name, group.policy);
        for drive in &group.drive {
            said.judge(drive.name(), look(drive, config.apply));
        }
        if group.emergency.is_some() {
            let version = [emergency::PROGRAM, "--version"].map(String::from);
            let found = output(&version, emergency::TIMEOUT, &[]);
            said.judge("emergency", found.map(|_| format!("{} is there", emergency::PROGRAM)));
        }
        let power = meters(group, config, &mut said)?;
        let range = range(group);
        if let (Some(cap), Ok((least, _))) = (group.cap, &range) {
            if cap.0 < *least {
                let why = format!("got {cap}, need at least {least:.0} W, what its drives can hold");
                said.judge("cap", Err(why));
            }
        }
        said.text += &match range {
            Ok((least, most)) => {
                format!("  can hold: {least:.0} to {most:.0} W, by its maps or what was learned\n")
            }
            Err(why) => format!("  can hold: not known, {why}\n"),
        };
        if let Some(power) = power {
            said.text += &format!("  power at the meters: {power:.1} W\n");
        }
    }
    for rack in &config.rack {
        let groups: Vec<&str> = rack.member.iter().map(|m| m.group.as_str()).collect();
        said.text += &format!("{}: a rack of {}\n", rack.name, groups.join(", "));
    }
    Ok(said)
}

/// The settings of a drive, which must be such as can be changed.
fn look(drive: &Drive, apply: bool) -> Result<String, String> {
    let folder = drive.folder().ok_or("it is not there")?;
    let place = folder.display().to_string();
    let files = Files::new(folder, drive.cgroup.as_ref().map(PathBuf::from));
    let of_system = |e: io::Error| e.to_string();
    files.stat().map_err(|e| format!("{place}/stat: {e}"))?;
    if let Some(state) = files.trouble() {
        return Err(format!("its device is {state}"));
    }
    if !drive.control {
        return Ok(format!("{place}, only measured"));
    }
    let values = read_all(&files).map_err(of_system)?;
    device_of(&values, &files.elevator().map_err(of_system)?, Bounds::default())?;
    let locked = Knob::ALL.into_iter().find(|k| values.contains_key(k) && !files.is_writable(*k));
    match locked.filter(|_| apply) {
        Some(knob) => Err(format!("{} cannot be written", knob.name())),
        None => Ok(format!("{place}, {}", shown(&values))),
    }
}

/// Reads the meters of a group; their sum.
fn meters(group: &Group, config: &Config, said: &mut Said) -> io::Result<Option<f64>> {
    let every = Duration::from_nanos(config.interval.non_negative());
    let stats = Stat::start(group.controlled().filter_map(open_drive).collect(), every)?;
    let meters = Meters::start(group, &stats)?;
    // A model compares two readings of counts.
    let programs = group.meter.iter().filter(|m| m.command.is_some());
    let slowest = programs.map(|m| m.timeout.non_negative()).max();
    let longest = Duration::from_nanos(slowest.unwrap_or(0)) + 3 * every + Duration::from_secs(1);
    let begun = Instant::now();
    while begun.elapsed() < longest && !meters.failures(clock::now()).is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    stats.stop();
    let failures = meters.failures(clock::now());
    for failure in &failures {
        let (name, why) = failure.split_once(": ").unwrap_or(("meter", failure));
        said.judge(name, Err(why.into()));
    }
    let readings = meters.readings();
    if failures.is_empty() {
        for (name, watts) in &readings {
            said.judge(name, Ok(format!("{watts:.1} W")));
        }
    }
    Ok((failures.is_empty()).then(|| readings.iter().map(|(_, watts)| watts).sum()))
}

/// The least and the most power at the meters that settings give, as far as it is known: of each drive that which was learned
/// of its model, else that of the map for its model or for all.
fn range(group: &Group) -> Result<(f64, f64), String> {
    let learned = group.learned.as_ref().map(|file| Learned::new(file.as_ref()));
    let learned = learned.map_or(Ok(Default::default()), |l| l.read().map_err(|e| e.to_string()))?;
    let mut sum = (group.base.0, group.base.0);
    for drive in group.controlled() {
        let model = open_drive(drive).ok_or("a drive is not there")?.model();
        let own = group.map.iter().find(|m| m.model == model);
        let points = match (learned.get(&model), own) {
            (Some(kept), _) => kept["learned"]["settings"].clone(),
            (None, Some(map)) => map.read().map_err(|e| e.to_string())?,
            (None, None) => group.parameters.get("map").cloned().unwrap_or_default(),
        };
        let power = |point: &Value| point["power"].as_str()?.parse::<Watts>().ok();
        let powers = points.as_array().into_iter().flatten().filter_map(power);
        let bounds = powers.fold(None, |bounds: Option<(f64, f64)>, Watts(w)| {
            Some(bounds.map_or((w, w), |(least, most)| (least.min(w), most.max(w))))
        });
        let (least, most) = bounds.ok_or_else(|| format!("nothing was learned about {model:?} yet"))?;
        sum = (sum.0 + least, sum.1 + most);
    }
    Ok(sum)
}
