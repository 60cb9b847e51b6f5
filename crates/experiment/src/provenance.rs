//! What a run was made from: files with their hashes, and an identifier of the whole.

use headstack_drive::Described;
use headstack_schema::Columns;
use serde::Serialize;
use serde_json::{json, Value};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// An input file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Input {
    /// `trace`, `drive`, or `caps` of power capping.
    pub kind: &'static str,
    /// The path as the experiment gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Instead of a path: the name of a drive that was found in a drive folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Format of a trace, given or detected; for a drive `toml` or `disksim`; `null` if unknown.
    pub format: Option<String>,
    /// Size; `null` for anything but a regular file, such as a pipe.
    pub bytes: Option<u64>,
    /// SHA-256 of the file on disk in hexadecimal digits; `null` for anything but a regular file.
    pub sha256: Option<String>,
}

impl Input {
    /// A file by its path, with its size and hash, if there are some.
    pub(crate) fn new(kind: &'static str, path: &str, format: Option<String>, hash: Option<(u64, String)>) -> Input {
        let (bytes, sha256) = hash.unzip();
        Input { kind, path: Some(path.into()), name: None, format, bytes, sha256 }
    }

    /// Adds it to a list where each is once.
    pub(crate) fn add_to(self, list: &mut Vec<Input>) {
        if !list.contains(&self) {
            list.push(self);
        }
    }
}

/// A drive's description as it was simulated, with the changes of its system.
#[derive(Debug, Clone, PartialEq, Serialize, Columns)]
#[columns("Description")]
pub struct DriveDescription {
    /// The drive's name.
    pub name: String,
    /// Number of drives with this description.
    pub count: u32,
    /// SHA-256 of the drive's file; `null` if the description is in the experiment.
    pub sha256: Option<String>,
    /// The description; what is neither in its file nor in the experiment is a default.
    #[serde(flatten)]
    pub described: Described,
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Size and SHA-256 of a regular file, read in pieces; none for anything else, if the file cannot be read, or
/// once `stop` returns true.
pub fn hash_file(path: &Path, stop: &dyn Fn() -> bool) -> Option<(u64, String)> {
    const PIECE: usize = 1 << 20;
    // A pipe can be read only once, so only regular files are opened.
    if !path.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let (mut hasher, mut size) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE];
    loop {
        if stop() {
            return None;
        }
        match file.read(&mut piece).ok()? {
            0 => return Some((size, format!("{:x}", hasher.finalize()))),
            n => {
                hasher.update(&piece[..n]);
                size += n as u64;
            }
        }
    }
}

/// A short name of a run: equal for equal experiments, input files, drives and versions, whatever the
/// computer, the threads or the output folder.
pub fn run_id(experiment: &Value, inputs: &[Input], drives: &[Vec<DriveDescription>], version: &str) -> String {
    const DIGITS: usize = 12;
    let whole = json!({
        "experiment": experiment, "inputs": inputs, "drives": drives, "version": version,
    });
    let mut id = sha256(whole.to_string().as_bytes());
    id.truncate(DIGITS);
    id
}
