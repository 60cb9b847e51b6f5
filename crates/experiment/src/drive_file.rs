//! Finds drive files by name or path, and reads them.

use crate::document::{located, read_text, toml_value, TOML};
use crate::inputs::Inputs;
use headstack_drive::{shipped, DriveSpec};
use headstack_schema::{did_you_mean, SpecError};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file that describes a drive, or one of the drives that are part of the program.
pub(crate) struct DriveFile {
    path: PathBuf,
    /// Its text, if it is part of the program.
    shipped: Option<&'static str>,
    /// Whether it was given as a path, and not found by its name.
    pub is_path: bool,
}

impl DriveFile {
    /// A path from `base`, or the file of this name in one of `dirs`, or the shipped drive of this name.
    ///
    /// # Errors
    /// At the key `drive`; the error lists the known drives and the nearest name.
    pub fn find(name: &str, base: &Path, dirs: &[PathBuf]) -> Result<DriveFile, SpecError> {
        let mut candidates = vec![base.join(name)];
        candidates.extend(dirs.iter().map(|d| d.join(format!("{name}.toml"))));
        let place = candidates.iter().position(|p| p.is_file());
        if let (None, Some(text)) = (place, shipped::text(name)) {
            return Ok(DriveFile { path: format!("drives/{name}.toml").into(), shipped: Some(text), is_path: false });
        }
        let place = place.ok_or_else(|| {
            if let Some(got) = absent(name, &candidates[0]) {
                let need = "a file that describes a drive, or the name of one (headstack drives)";
                return SpecError::new("drive", got, need);
            }
            let names = drive_names(dirs);
            let hint = did_you_mean(name, names.iter().map(String::as_str));
            let need = format!("a path or one of {}{hint}", names.join(", "));
            SpecError::new("drive", format!("{name:?}"), need)
        })?;
        Ok(DriveFile { path: candidates.swap_remove(place), shipped: None, is_path: place == 0 })
    }

    /// Whether it is TOML; an importer reads other files.
    pub fn is_toml(&self) -> bool {
        self.path.extension().is_some_and(|e| e == "toml")
    }

    /// The contents of the TOML file.
    ///
    /// # Errors
    /// A file that cannot be read, or is not TOML.
    pub fn table(&self) -> Result<Value, SpecError> {
        toml_value(&self.text()?, &self.path)
    }

    fn text(&self) -> Result<String, SpecError> {
        match self.shipped {
            Some(text) => Ok(text.into()),
            None => read_text(&self.path, TOML),
        }
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>, SpecError> {
        if let Some(text) = self.shipped {
            return Ok(text.into());
        }
        std::fs::read(&self.path).map_err(|e| {
            let got = e.to_string().to_lowercase();
            SpecError::new(self.path.display().to_string(), got, "a readable file")
        })
    }

    /// Reads the drive.
    pub fn read(&self, name: &str, inputs: &Inputs) -> Result<DriveSpec, SpecError> {
        let shown = self.path.display().to_string();
        if !self.is_toml() {
            return (inputs.other_drive)(&shown).map_err(|e| {
                SpecError::new("drive", format!("{name:?}"), format!("a drive file, TOML (.toml) or DiskSim's: {e}"))
            });
        }
        let text = self.text()?;
        let read = DriveSpec::from_value(toml_value(&text, &self.path)?, &inputs.models);
        read.map_err(|e| located(e, &self.path, Some(&text)))
    }
}

/// What was got in place of a drive file, where the name is meant as a path.
fn absent(name: &str, path: &Path) -> Option<String> {
    if path.is_dir() {
        return Some(format!("{name:?}, a directory"));
    }
    let extension = Path::new(name).extension().and_then(|e| e.to_str());
    let is_file = matches!(extension, Some("toml" | "parv" | "diskspecs" | "model"));
    (is_file || name.contains('/')).then(|| {
        let shown = std::path::absolute(path).unwrap_or(path.into());
        format!("{name:?}, no such file ({})", shown.display())
    })
}

/// Finds a drive by name or path.
///
/// # Errors
/// For an unknown drive, at the key `drive`, with the known drives and the nearest name; for a file that does
/// not fit, at the file's path, with its line or key.
pub fn load_drive(name: &str, base: &Path, inputs: &Inputs) -> Result<DriveSpec, SpecError> {
    DriveFile::find(name, base, &inputs.drive_dirs)?.read(name, inputs)
}

/// Names of the drives in these folders and of those that are part of the program, sorted.
pub fn drive_names(dirs: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> = dirs
        .iter()
        .filter_map(|d| std::fs::read_dir(d).ok())
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".toml").map(str::to_string))
        .chain(shipped::FILES.iter().map(|file| file.0.to_string()))
        .collect();
    names.sort();
    names.dedup();
    names
}
