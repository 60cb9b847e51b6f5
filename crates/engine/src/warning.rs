//! Warnings: what is true of a run or a trace and makes its numbers mislead.
//!
//! Each kind of warning is a [`Check`] with a stable name. A check that fires gives a [`Warning`]: a sentence with
//! its numbers, and a way out.

use serde::Serialize;

/// One entry of a list of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Stable name, for programs and documentation.
    pub name: &'static str,
    /// What it finds.
    pub summary: &'static str,
    /// What to do about it.
    pub way_out: &'static str,
}

impl Check {
    /// A warning of this check, with its general way out.
    pub fn warn(&self, text: impl Into<String>) -> Warning {
        Warning { name: self.name, system: None, workload: None, text: text.into(), way_out: self.way_out.into() }
    }
}

/// A check that has fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Name of its check.
    pub name: &'static str,
    /// The system that it is about; `null`: several, or none.
    pub system: Option<String>,
    /// The workload that it is about; `null`: several, or none.
    pub workload: Option<String>,
    /// What was found, with numbers.
    pub text: String,
    /// What to do.
    pub way_out: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Warning {
    /// The same, about this system.
    #[must_use]
    pub fn of_system(mut self, system: &str) -> Warning {
        self.system = Some(system.into());
        self
    }

    /// The same, about this workload.
    #[must_use]
    pub fn on(mut self, workload: &str) -> Warning {
        self.workload = Some(workload.into());
        self
    }

    /// The same, with a way out that fits what was found.
    #[must_use]
    pub fn with_way_out(mut self, way_out: impl Into<String>) -> Warning {
        self.way_out = way_out.into();
        self
    }
}
