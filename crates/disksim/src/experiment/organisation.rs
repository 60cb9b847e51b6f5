//! `disksim_logorg`: the mapping of the workload's devices to disks.
//!
//! # Model
//! | addressing, distribution, redundancy | becomes |
//! |---|---|
//! | `Parts`, `Asis`, `Noredun` | `independent`: device *i* is disk *i* of the topology |
//! | `Array`, `Asis`, `Noredun` | `concatenate` |
//! | `Array`, `Striped`, `Noredun` | `raid0` |
//! | `Array`, `Asis` or `Striped`, `Shadowed` | `raid1` over each set of copies, `concatenate` or `raid0` over those |
//! | `Array`, `Asis` or `Striped`, `Parity_rotated` | `raid5` |
//!
//! What one logorg becomes is the organisation, if it is one; several, and mirrors under other spaces, are layers.
//!
//! Several equal logorgs become devices 0, 1, ... in their order. Anything else is an error.

use super::{blocks, count, one_of, words};
use crate::ast::{Block, Document};
use crate::convert::fields::Fields;
use crate::convert::{Note, Treatment};
use crate::error::Error;
use serde_json::{json, Value};

/// Organisation and layers over the drives.
pub(super) struct Organisation {
    /// The disks in the order of the drives.
    pub drives: Vec<String>,
    pub organisation: Value,
    /// Layers, from the host down.
    pub layers: Vec<Value>,
    /// Number of drives below each instance of the lowest layer.
    width: usize,
    /// The names of the workload's devices: names of logorgs or of disks.
    devices: Vec<String>,
    /// Logorgs that pass device numbers through, with their disks.
    parts: Vec<(String, Vec<String>)>,
}

impl Organisation {
    /// The numbers of the devices with this name.
    pub fn numbers(&self, name: &str) -> Vec<u32> {
        let parts = self.parts.iter().find(|(org, _)| org == name);
        let names = match parts {
            Some((_, disks)) => disks.clone(),
            None => vec![name.to_string()],
        };
        let number = |name: &String| self.devices.iter().position(|d| d == name);
        names.iter().filter_map(number).map(|n| n as u32).collect()
    }

    /// Whether layers over `width` drives each can be inserted below the existing layers.
    pub fn stands_on(&self, width: usize) -> bool {
        self.layers.is_empty() || self.width % width == 0
    }

    /// Inserts layers over `width` drives each below the existing layers.
    pub fn put_under(&mut self, width: usize, mut layer: Value) {
        let of = |layer: &mut Value, n: usize, all: usize| {
            if let (true, Value::Object(table)) = (n != all, layer) {
                table.insert("of".into(), n.into());
            }
        };
        let n = self.drives.len();
        if let Some(Value::Object(lowest)) = self.layers.last_mut() {
            if lowest.contains_key("of") {
                lowest.insert("of".into(), (self.width / width).into());
            }
        }
        of(&mut layer, width, n);
        self.layers.push(layer);
        self.width = width;
    }
}

/// The parameters of a logorg except its name and disks.
#[derive(PartialEq)]
struct Scheme {
    array: bool,
    striped: bool,
    redundancy: &'static str,
    stripe_unit: Value,
    copies: usize,
    raid1: Value,
    raid5: Value,
}

pub(super) fn read(document: &Document, disks: &[String], report: &mut Vec<Note>) -> Result<Organisation, Error> {
    let mut over = Organisation {
        drives: disks.to_vec(),
        organisation: "independent".into(),
        layers: Vec::new(),
        width: disks.len(),
        devices: disks.to_vec(),
        parts: Vec::new(),
    };
    let mut first: Option<(Scheme, usize)> = None;
    let mut arrays: Vec<(String, Vec<String>)> = Vec::new();
    for block in document.blocks().filter(|b| b.kind == "disksim_logorg") {
        let name = block.name.clone().unwrap_or_default();
        let (scheme, devices) = logorg(block, disks, report)?;
        match scheme.array {
            true => arrays.push((name, devices.clone())),
            false => over.parts.push((name, devices.clone())),
        }
        let n = devices.len();
        match &first {
            None => first = Some((scheme, n)),
            Some((other, m)) if *other == scheme && (!scheme.array || n == *m) => {}
            Some(_) => {
                let got = format!("{} that differs from the first", block.kind);
                let need = "logorgs alike: a system has one organisation";
                return Err(Error::new(block.at.clone(), got, need));
            }
        }
    }
    let Some((scheme, n)) = first.filter(|(scheme, _)| scheme.array) else { return Ok(over) };
    over.devices = arrays.iter().map(|(name, _)| name.clone()).collect();
    over.drives = arrays.into_iter().flat_map(|(_, disks)| disks).collect();
    stack(&mut over, &scheme, n);
    Ok(over)
}

/// Adds the layers for logorgs of `n` disks each.
fn stack(over: &mut Organisation, scheme: &Scheme, n: usize) {
    let place = || match scheme.striped {
        true => json!({ "name": "raid0", "stripe_unit": scheme.stripe_unit }),
        false => json!({ "name": "concatenate" }),
    };
    let alone = over.drives.len() == n;
    let of = |mut layer: Value, n: usize, all: usize| {
        if n != all {
            layer["of"] = n.into();
        }
        layer
    };
    let all = over.drives.len();
    over.width = n;
    match scheme.redundancy {
        "Noredun" if alone => over.organisation = place(),
        "Noredun" => over.layers = vec![of(place(), n, all)],
        "Shadowed" => {
            over.width = scheme.copies;
            let sets = n / scheme.copies;
            let mirror = of(scheme.raid1.clone(), scheme.copies, all);
            match sets {
                1 if alone => over.organisation = mirror,
                1 => over.layers = vec![mirror],
                sets => over.layers = vec![of(place(), sets, all / scheme.copies), mirror],
            }
        }
        _ if alone => over.organisation = scheme.raid5.clone(),
        _ => over.layers = vec![of(scheme.raid5.clone(), n, all)],
    }
}

/// The disks of a logorg.
fn members(fields: &mut Fields, disks: &[String]) -> Result<Vec<String>, Error> {
    let mut devices = Vec::new();
    for (name, at) in words(fields.need("devices")?)? {
        if !disks.contains(&name) || devices.contains(&name) {
            let need = "disks of the topology, each once";
            return Err(Error::new(at, name, need));
        }
        devices.push(name);
    }
    Ok(devices)
}

/// The parameters of one logorg, and its disks.
fn logorg(block: &Block, disks: &[String], report: &mut Vec<Note>) -> Result<(Scheme, Vec<String>), Error> {
    let mut fields = Fields::new(block, block.name.as_deref().unwrap_or("logorg"));
    let array = one_of(&mut fields, "Addressing mode", &["Parts", "Array"])? == "Array";
    let distribution = fields.get("Distribution scheme").map(|v| v.at.clone());
    let striped = one_of(&mut fields, "Distribution scheme", &["Asis", "Striped"])? == "Striped";
    let redundancy = one_of(&mut fields, "Redundancy scheme", &["Noredun", "Shadowed", "Parity_rotated"])?;
    if !array && (striped || redundancy != "Noredun") {
        let at = distribution.unwrap_or(block.at.clone());
        let got = "Parts with a distribution or redundancy";
        return Err(Error::new(at, got, "Array, or Asis and Noredun"));
    }
    let devices = members(&mut fields, disks)?;
    let mut scheme = Scheme {
        array,
        striped,
        redundancy,
        stripe_unit: Value::Null,
        copies: 1,
        raid1: Value::Null,
        raid5: Value::Null,
    };
    if striped {
        scheme.stripe_unit = blocks(count(&mut fields, "Stripe unit", 1)?);
    }
    match redundancy {
        "Shadowed" => {
            let at = fields.block.at.clone();
            scheme.copies = count(&mut fields, "Number of copies", 2)? as usize;
            if devices.len() % scheme.copies != 0 {
                let got = format!("{} copies on {} disks", scheme.copies, devices.len());
                return Err(Error::new(at, got, "whole sets of copies"));
            }
            scheme.raid1 = json!({ "name": "raid1", "read_policy": read_policy(&mut fields)? });
        }
        "Parity_rotated" => scheme.raid5 = raid5(&mut fields, striped)?,
        _ => {}
    }
    fields.only("Synch writes for safety", 0.0, "writes of data and parity go out together")?;
    for name in [
        "Stripe unit",
        "Number of copies",
        "Copy choice on read",
        "RMW vs. reconstruct",
        "Parity stripe unit",
        "Parity rotation type",
    ] {
        let why = "this organisation has none";
        fields.note_if_new(name, Treatment::NoTimingEffect, why);
    }
    for name in ["interval", "start time", "stop time", "file name"] {
        let name = format!("Time stamp {name}");
        fields.note(&name, Treatment::NoTimingEffect, "printing only");
    }
    fields.finish(report);
    Ok((scheme, devices))
}

/// The read policy of a mirror for DiskSim's choice of a copy.
fn read_policy(fields: &mut Fields) -> Result<&'static str, Error> {
    let name = "Copy choice on read";
    let (policy, differs) = match fields.count(name, 1, 6, 1)? {
        1 => ("first", ""),
        2 => ("round-robin", "taken as round-robin: copies are not drawn"),
        3 => ("round-robin", ""),
        4 => ("nearest", ""),
        5 => ("fewest-pending", ""),
        _ => ("fewest-pending", "taken as fewest-pending: of queues of one length the first is taken"),
    };
    if !differs.is_empty() {
        fields.note(name, Treatment::NotModelled, differs);
    }
    Ok(policy)
}

/// A RAID-5 with parity units of one block, as in DiskSim.
fn raid5(fields: &mut Fields, striped: bool) -> Result<Value, Error> {
    let chunk = count(fields, "Parity stripe unit", 1)?;
    if let Some(value) = fields.get("Stripe unit") {
        if striped && value.integer()? != i64::from(chunk) {
            let why = "the unit of the parity is taken for the data, too";
            fields.note("Stripe unit", Treatment::NotModelled, why);
        }
    }
    if !striped {
        let why = "data are striped by the unit of the parity";
        fields.note("Distribution scheme", Treatment::NotModelled, why);
    }
    let layout = match fields.count("Parity rotation type", 1, 4, 1)? {
        1 => "left-symmetric",
        2 => "left-asymmetric",
        3 => "right-asymmetric",
        _ => "right-symmetric",
    };
    let share = match fields.get("RMW vs. reconstruct") {
        Some(value) => value.real()?,
        None => 0.5,
    };
    if share != 0.5 && share != 0.0 {
        let why = "taken as 0.5: the way is taken that reads less";
        fields.note("RMW vs. reconstruct", Treatment::NotModelled, why);
    }
    let level = u8::from(share != 0.0);
    Ok(json!({
        "name": "raid5", "chunk": blocks(chunk), "unit": "512 B", "layout": layout, "rmw_level": level,
        "stripe_cache": false,
    }))
}
