//! The settings of the time before the daemon, kept in a file from before its first write until they are restored.

use crate::knobs::{Knob, Knobs};
use crate::settings::Values;
use crate::worker;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file and what it has.
#[derive(Debug)]
pub struct Originals {
    file: PathBuf,
    boot: String,
    drives: BTreeMap<String, Kept>,
}

/// What is kept of a drive.
#[derive(Debug, Clone, Default)]
struct Kept {
    /// Names the drive itself, where it has such a name.
    serial: Option<String>,
    values: Values,
}

/// The key of the serial number in the file, beside the names of settings.
const SERIAL: &str = "serial";

/// Names a boot of the machine: settings do not outlive it.
pub fn this_boot() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.unwrap_or_default().trim().to_string()
}

impl Originals {
    /// What the file has. Nothing if there is none, or if the machine was started since.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not one of these.
    pub fn open(file: &Path) -> io::Result<Originals> {
        let boot = this_boot();
        let mut originals = Originals { file: file.into(), boot, drives: BTreeMap::new() };
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(originals),
            Err(e) => return Err(e),
        };
        let document: Value = serde_json::from_str(&text).map_err(io::Error::other)?;
        if document["boot"].as_str() != Some(&originals.boot) {
            return Ok(originals);
        }
        let wrong = || io::Error::other("need a file that headstack-capd has written");
        let drives = document["drives"].as_object().ok_or_else(wrong)?;
        for (name, values) in drives {
            let values = values.as_object().ok_or_else(wrong)?;
            let value = |(knob, value): (&String, &Value)| Some((Knob::of(knob)?, value.as_str()?.to_string()));
            let serial = values.get(SERIAL).and_then(Value::as_str);
            let kept = Kept {
                serial: serial.map(String::from),
                values: (values.iter().filter(|(key, _)| *key != SERIAL))
                    .map(value)
                    .collect::<Option<Values>>()
                    .ok_or_else(wrong)?,
            };
            originals.drives.insert(name.clone(), kept);
        }
        Ok(originals)
    }

    /// What a drive had.
    pub fn of(&self, drive: &str) -> Option<&Values> {
        self.drives.get(drive).map(|kept| &kept.values)
    }

    /// What a drive had, unless another one has its name now, as their serial numbers tell.
    pub fn of_same(&self, drive: &str, serial: Option<&String>) -> Option<&Values> {
        let kept = self.drives.get(drive)?;
        let is_other = serial.is_some_and(|now| kept.serial.as_ref().is_some_and(|s| s != now));
        (!is_other).then_some(&kept.values)
    }

    /// The drives whose settings are kept.
    pub fn drives(&self) -> Vec<String> {
        self.drives.keys().cloned().collect()
    }

    /// Keeps those of a drive's settings of which none are kept of the same drive: the first ones hold, also if the drive was gone
    /// meanwhile. It returns when they are on the disk.
    ///
    /// # Errors
    /// They could not be saved; then they are not kept, and the drive must not be changed.
    pub fn keep(&mut self, drive: &str, serial: Option<&String>, values: &Values) -> io::Result<()> {
        let before = self.drives.get(drive).cloned();
        let mut kept = match (&before, self.of_same(drive, serial)) {
            // Some were restored, and the others not yet.
            (_, Some(first)) if values.keys().all(|knob| first.contains_key(knob)) => return Ok(()),
            (Some(kept), Some(_)) => kept.clone(),
            _ => Kept { serial: serial.cloned(), values: Values::new() },
        };
        for (knob, value) in values {
            kept.values.entry(*knob).or_insert_with(|| value.clone());
        }
        self.drives.insert(drive.into(), kept);
        self.save().inspect_err(|_| {
            self.drives.remove(drive);
            self.drives.extend(before.map(|kept| (drive.to_string(), kept)));
        })
    }

    /// Forgets a drive: its settings are restored, or somebody else has it.
    ///
    /// # Errors
    /// The file could not be written; the drive is forgotten all the same.
    pub fn forget(&mut self, drive: &str) -> io::Result<()> {
        match self.drives.remove(drive) {
            Some(_) => self.save(),
            None => Ok(()),
        }
    }

    fn save(&self) -> io::Result<()> {
        let drives: Map<String, Value> = (self.drives.iter())
            .map(|(name, kept)| {
                let values = (kept.values.iter()).map(|(k, v)| (k.name().to_string(), json!(v)));
                let serial = kept.serial.iter().map(|s| (SERIAL.to_string(), json!(s)));
                (name.clone(), Value::Object(values.chain(serial).collect()))
            })
            .collect();
        let folder = self.file.parent().unwrap_or(Path::new("."));
        if self.drives.is_empty() {
            match std::fs::remove_file(&self.file) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => return sync_folder(folder),
            }
        }
        let text = json!({ "boot": self.boot, "drives": drives }).to_string();
        replace_file(&self.file, &text)
    }
}

/// Replaces a file as a whole: after a crash it has its old or its new content. It returns when that is on the disk.
///
/// # Errors
/// The system's; then the file is as it was.
pub(crate) fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    // What is there may be a link to another file.
    match std::fs::remove_file(&new) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = std::fs::File::create_new(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// A file's name is on the disk once its folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match std::fs::File::open(folder) {
        Ok(folder) => folder.sync_all(),
        // Nothing was ever kept there.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// Restores what is kept, each setting by itself. What could not be restored stays in the file; each is named with the reason.
///
/// # Errors
/// The file could not be written.
pub fn restore<K: Knobs>(
    originals: &mut Originals,
    knobs_of: impl Fn(&str) -> Option<K>,
) -> io::Result<Vec<(String, String)>> {
    let mut failed = Vec::new();
    for drive in originals.drives() {
        let Some(knobs) = knobs_of(&drive) else {
            failed.push((drive, "it is not there, or not in the configuration".into()));
            continue;
        };
        let Some(values) = originals.of_same(&drive, knobs.serial().as_ref()).cloned() else {
            failed.push((drive, "another drive is there now".into()));
            continue;
        };
        let claim = knobs.claim();
        let why = match (claim, knobs.held()) {
            (Err(e), _) => e.to_string(),
            (Ok(_), Some(why)) => format!("left alone: {why}"),
            (Ok(_claim), None) => {
                let (_, failures) = worker::write_each(&knobs, &values);
                let failed = |knob: &Knob| failures.iter().any(|(k, _)| k == knob);
                let left = |kept: &mut Kept| kept.values.retain(|k, _| failed(k));
                if failures.is_empty() {
                    originals.forget(&drive)?;
                    continue;
                }
                originals.drives.get_mut(&drive).map(left);
                originals.save()?;
                let texts: Vec<String> = failures.into_iter().map(|(_, f)| f.text).collect();
                texts.join("; ")
            }
        };
        failed.push((drive, why));
    }
    Ok(failed)
}
