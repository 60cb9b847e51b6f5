//! Caps as people give them: as text, and in a file that is read at each step.

use crate::text_file;
use headstack_units::Watts;
use tracing::error;

/// A cap as people write it: watts, with or without a unit; nothing or `none` is no cap.
///
/// # Errors
/// What is needed.
pub fn parse_cap(text: &str) -> Result<Option<Watts>, &'static str> {
    const NEED: &str = "watts, such as 150 or \"150 W\", or none";
    match text.trim() {
        "" | "none" => Ok(None),
        text => {
            let watts = match text.parse::<f64>() {
                Ok(number) => Watts(number),
                Err(_) => text.parse().map_err(|_| NEED)?,
            };
            let is_power = watts.0.is_finite() && watts.0 > 0.0;
            if is_power {
                Ok(Some(watts))
            } else {
                Err(NEED)
            }
        }
    }
}

/// A file with a cap.
#[derive(Debug, Default)]
pub struct CapFile {
    path: Option<String>,
    /// What was read last.
    text: Option<String>,
}

impl CapFile {
    /// This file, if there is one.
    pub fn new(path: Option<&String>) -> CapFile {
        CapFile { path: path.cloned(), text: None }
    }

    /// The cap in the file, if the file has changed. What cannot be read is logged, and changes nothing.
    pub fn changed(&mut self) -> Option<Option<Watts>> {
        let file = self.path.as_ref()?;
        let text = match text_file::read(file.as_ref()) {
            Ok((text, _)) => text.trim().to_string(),
            Err(e) => format!("unreadable: {e}"),
        };
        if self.text.as_ref() == Some(&text) {
            return None;
        }
        let cap = parse_cap(&text);
        let cap = cap.map_err(|need| error!(file, "cap file: got {text:?}, need {need}"));
        self.text = Some(text);
        cap.ok()
    }
}
