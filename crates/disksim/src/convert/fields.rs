//! Reads the parameters of one block and records the treatment of each.

use super::{Note, Treatment};
use crate::ast::{Block, Value};
use crate::error::Error;
use headstack_units::Span;
use std::collections::HashSet;

/// The longest time a parameter may give, in milliseconds: about an hour.
const MAX_MS: f64 = 4e6;

/// The longest overhead, in milliseconds.
const MAX_SPAN_MS: f64 = 1e4;

/// One block being read.
pub(crate) struct Fields<'a> {
    pub block: &'a Block,
    path: String,
    seen: HashSet<&'a str>,
    notes: Vec<Note>,
}

impl<'a> Fields<'a> {
    /// `path` is prefixed to the names of parameters in the report.
    pub fn new(block: &'a Block, path: &str) -> Fields<'a> {
        let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
        Fields { block, path, seen: HashSet::new(), notes: Vec::new() }
    }

    /// The value of a parameter without a note. If it returns a value, the caller must add a `note`.
    fn value(&mut self, name: &str) -> Option<&'a Value> {
        let param = self.block.params.iter().find(|p| p.names.iter().any(|n| n == name))?;
        let own = param.names.iter().find(|n| *n == name)?;
        self.seen.insert(own);
        Some(&param.value)
    }

    /// Records the treatment of a parameter that the block has.
    pub fn note(&mut self, name: &str, treatment: Treatment, detail: &str) {
        let Some(value) = self.value(name) else { return };
        let note = Note {
            parameter: format!("{}{name}", self.path),
            value: value.show(),
            at: value.at.to_string(),
            treatment,
            detail: detail.to_string(),
        };
        match self.notes.iter_mut().find(|n| n.parameter == note.parameter) {
            Some(earlier) => *earlier = note,
            None => self.notes.push(note),
        }
    }

    /// As [`Fields::note`], for a parameter that was not read before.
    pub fn note_if_new(&mut self, name: &str, treatment: Treatment, detail: &str) {
        if !self.seen.contains(name) {
            self.note(name, treatment, detail);
        }
    }

    /// The notes so far, when other code reads the rest of the block.
    pub fn notes(self) -> Vec<Note> {
        self.notes
    }

    /// An honoured parameter.
    pub fn get(&mut self, name: &str) -> Option<&'a Value> {
        let value = self.value(name);
        self.note(name, Treatment::Honoured, "");
        value
    }

    /// A parameter that must be there.
    pub fn need(&mut self, name: &str) -> Result<&'a Value, Error> {
        let at = self.block.at.clone();
        let got = format!("{} without {name:?}", self.block.kind);
        self.get(name).ok_or_else(|| Error::new(at, got, "this parameter"))
    }

    /// A number; zero if absent.
    pub fn real(&mut self, name: &str) -> Result<f64, Error> {
        self.get(name).map_or(Ok(0.0), Value::real)
    }

    /// Milliseconds; zero if absent.
    pub fn ms(&mut self, name: &str, negative: bool) -> Result<f64, Error> {
        match self.get(name) {
            None => Ok(0.0),
            Some(value) => ms_of(value, negative),
        }
    }

    /// A time times `scale`; zero if absent.
    pub fn span(&mut self, name: &str, scale: f64) -> Result<Span, Error> {
        let ms = self.ms(name, false)? * scale;
        match self.value(name) {
            Some(value) if ms > MAX_SPAN_MS => {
                let need = format!("at most {} ms", MAX_SPAN_MS / scale);
                Err(Error::new(value.at.clone(), value.show(), need))
            }
            _ => Ok(Span::from_ms(ms)),
        }
    }

    /// A count up to `high`; larger values count as `high`, because they have the same effect.
    pub fn count_up_to(&mut self, name: &str, high: u32, absent: u32) -> Result<u32, Error> {
        let n = self.count(name, 0, u32::MAX, absent)?;
        if n > high {
            let detail = format!("taken as {high}, which is as good");
            self.note(name, Treatment::Tolerated, &detail);
        }
        Ok(n.min(high))
    }

    /// A count between bounds; `absent` if absent.
    pub fn count(&mut self, name: &str, low: u32, high: u32, absent: u32) -> Result<u32, Error> {
        match self.get(name) {
            None => Ok(absent),
            Some(value) => count_of(value, low, high),
        }
    }

    /// True if not 0; false if absent.
    pub fn flag(&mut self, name: &str) -> Result<bool, Error> {
        Ok(self.get(name).map_or(Ok(0), Value::integer)? != 0)
    }

    /// Numbers without an effect on response times.
    pub fn no_effect(&mut self, names: &[&str], why: &str) -> Result<(), Error> {
        for name in names {
            self.value(name).map_or(Ok(0.0), Value::real)?;
            self.note(name, Treatment::NoTimingEffect, why);
        }
        Ok(())
    }

    /// A parameter for which the model has only one value.
    pub fn only(&mut self, name: &str, neutral: f64, why: &str) -> Result<(), Error> {
        let Some(value) = self.get(name) else { return Ok(()) };
        if value.real()? != neutral {
            self.note(name, Treatment::NotModelled, why);
        }
        Ok(())
    }

    /// Reports all parameters that were not read as unknown.
    pub fn finish(self, report: &mut Vec<Note>) {
        let Fields { block, path, seen, notes } = self;
        report.extend(notes);
        for param in &block.params {
            for name in param.names.iter().filter(|n| !seen.contains(n.as_str())) {
                report.push(Note {
                    parameter: format!("{path}{name}"),
                    value: param.value.show(),
                    at: param.at.to_string(),
                    treatment: Treatment::Unknown,
                    detail: format!("{} has no such parameter", block.kind),
                });
            }
        }
    }
}

/// A time in milliseconds within bounds.
pub(crate) fn ms_of(value: &Value, negative: bool) -> Result<f64, Error> {
    let ms = value.real()?;
    let low = if negative { -MAX_MS } else { 0.0 };
    if (low..=MAX_MS).contains(&ms) {
        Ok(ms)
    } else {
        let need = format!("milliseconds between {low} and {MAX_MS}");
        Err(Error::new(value.at.clone(), value.show(), need))
    }
}

/// An integer within bounds.
pub(crate) fn count_of(value: &Value, low: u32, high: u32) -> Result<u32, Error> {
    let n = value.integer()?;
    if n >= low as i64 && n <= high as i64 {
        Ok(n as u32)
    } else {
        let need = format!("an integer between {low} and {high}");
        Err(Error::new(value.at.clone(), value.show(), need))
    }
}

/// A list of integers that are not negative.
pub(crate) fn indices_of(value: &Value) -> Result<Vec<u64>, Error> {
    let one = |v: &Value| {
        let n = v.integer()?;
        u64::try_from(n).map_err(|_| Error::new(v.at.clone(), v.show(), "an index from 0 on"))
    };
    value.list()?.iter().map(one).collect()
}
