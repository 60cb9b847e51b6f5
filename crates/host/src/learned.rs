//! What policies have learned, kept in a file for each model of drives.
//!
//! ```json
//! { "MODEL": { "kept_at": 1790000000, "learned": { "format": "headstack-learned", ... } } }
//! ```
//!
//! `kept_at` counts seconds since 1970, and `learned` is the document of the policy
//! ([`Policy::memory`](headstack_control::Policy::memory)). A file that cannot be used is left as it is: nothing is learned
//! from it, and nothing is kept in it.

use crate::originals::replace_file;
use headstack_control::Controller;
use headstack_units::Span;
use serde_json::{json, Map, Value};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::{error, info};

/// The file.
#[derive(Debug)]
pub struct Learned {
    file: PathBuf,
    /// Whether its content was understood, or there is none.
    is_usable: bool,
}

/// Seconds since 1970.
fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |s| s.as_secs())
}

impl Learned {
    /// Of this file, which need not be there.
    pub fn new(file: &Path) -> Learned {
        Learned { file: file.into(), is_usable: true }
    }

    /// The tables of all models; none without a file.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not one of these.
    pub(crate) fn read(&self) -> io::Result<Map<String, Value>> {
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(e) => return Err(e),
        };
        match serde_json::from_str(&text) {
            Ok(Value::Object(models)) => Ok(models),
            Ok(_) => Err(io::Error::other("got no table of models, need one that headstack-capd has written")),
            Err(e) => Err(io::Error::other(format!("{e}; need a file that headstack-capd has written"))),
        }
    }

    fn refuse(&mut self, why: &str) {
        let file = self.file.display();
        error!(%file, "learned: {why}; the file is left as it is");
        self.is_usable = false;
    }

    /// Gives a policy what was learned about this model, which has the map in this place. What cannot be used is said.
    pub fn give(&mut self, place: usize, model: &str, controller: &mut Controller) {
        let models = match self.read() {
            Ok(models) => models,
            Err(e) => return self.refuse(&e.to_string()),
        };
        let Some(kept) = models.get(model) else { return };
        let Some(kept_at) = kept["kept_at"].as_u64() else {
            return self.refuse(&format!("{model}: kept_at: got {}, need seconds since 1970", kept["kept_at"]));
        };
        // A clock that was set back makes nothing younger than it was.
        let since_s = today().saturating_sub(kept_at).min(i32::MAX as u64);
        let since = Span::from_secs_f64(since_s as f64);
        match controller.recall(place, &kept["learned"], since) {
            Ok(settings) => info!(model, settings, "settings of before are known"),
            Err(e) => self.refuse(&format!("{model}: {e}")),
        }
    }

    /// Keeps what a policy has learned about this model; nothing, if it has learned nothing.
    pub fn keep(&mut self, place: usize, model: &str, controller: &Controller) {
        let learned = controller.memory(place);
        let is_empty = |l: &Value| l["settings"].as_array().is_some_and(Vec::is_empty);
        let Some(learned) = learned.filter(|l| self.is_usable && !is_empty(l)) else { return };
        let mut models = match self.read() {
            Ok(models) => models,
            Err(e) => return self.refuse(&e.to_string()),
        };
        models.insert(model.into(), json!({ "kept_at": today(), "learned": learned }));
        if let Err(e) = replace_file(&self.file, &Value::Object(models).to_string()) {
            let file = self.file.display();
            error!(%file, "learned: not kept: {e}");
        }
    }
}
