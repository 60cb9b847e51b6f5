//! A whole parameter file as an experiment: its drives, what stands over them, and its workload.
//!
//! # Model
//! | in the file | in the experiment |
//! |---|---|
//! | disks of the topology, in its order | drives; all spindles in phase, as DiskSim's |
//! | a bus with several disks that takes time | `link`, half duplex |
//! | driver without queueing in the subsystem | the driver's policy as each drive's scheduler, over all that waits |
//! | logorgs | organisation or layers, see `organisation.rs` |
//! | synthetic load, or a trace that is given | workload, see `workload.rs` |
//! | `Real Seed`, `Maximum time of trace generated` | `seed`, `duration` of the run |
//! # Source
//! DiskSim 4.0 reference manual.
//! # Validity
//! Parameters without a counterpart are reported. Those whose absence would change the system essentially are
//! errors.

mod organisation;
mod workload;

use crate::ast::{Block, Document, Item, Node};
use crate::convert::fields::{self, Fields};
use crate::convert::{controller, Import, Note, Treatment};
use crate::error::{Error, Position};
use crate::loader::{FileLoader, Loader, Sources};
use crate::parser::parse;
use headstack_engine::{SpecError, Warning};
use headstack_experiment::Experiment;
use headstack_units::Span;
use organisation::Organisation;
use serde_json::{json, Map, Value};
use std::path::Path;

/// A parameter file converted to an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemImport {
    /// The experiment as a document; its drives are whole tables.
    pub document: Value,
    /// The drives, each with its own report.
    pub drives: Vec<Import>,
    /// The treatment of each parameter that belongs to no drive.
    pub report: Vec<Note>,
}

impl SystemImport {
    /// The experiment; a trace's path starts from `base`.
    ///
    /// # Errors
    /// Values that an experiment does not allow.
    pub fn experiment(&self, base: &Path) -> Result<Experiment, SpecError> {
        Experiment::from_value(self.document.clone(), base)
    }

    /// One for each value that was tolerated, and for each parameter of the system that is not modelled:
    /// the place, what was got, and what is used instead.
    pub fn warnings(&self) -> Vec<Warning> {
        use Treatment::{NotModelled, Tolerated, Unknown};
        let warned = |n: &&Note| matches!(n.treatment, Tolerated | NotModelled | Unknown);
        let own = self.report.iter().filter(warned).map(Note::warning);
        let drives = self.drives.iter().flat_map(Import::warnings);
        drives.chain(own).collect()
    }
}

/// Reads a parameter file as an experiment; `trace` is used instead of its synthetic load.
///
/// # Errors
/// Text outside the grammar, impossible values, and systems that cannot be simulated, with file, line and
/// column.
pub fn import_experiment(path: &Path, trace: Option<&str>, sources: Sources) -> Result<SystemImport, Error> {
    let loader = FileLoader { sources, ..FileLoader::default() };
    parse(path, &loader)?.experiment(&loader, trace)
}

impl Document {
    /// The system of the document, under its synthetic load or under `trace`.
    ///
    /// # Errors
    /// As [`Document::disks`]; also systems that have no counterpart.
    pub fn experiment(&self, loader: &dyn Loader, trace: Option<&str>) -> Result<SystemImport, Error> {
        self.read_experiment(loader, trace).map_err(|e| Error {
            parameter: match e.parameter.as_str() {
                "" => self.parameter_at(&e.at).unwrap_or_default(),
                _ => e.parameter,
            },
            ..e
        })
    }

    fn read_experiment(&self, loader: &dyn Loader, trace: Option<&str>) -> Result<SystemImport, Error> {
        let mut report = Vec::new();
        let mut drives = self.disks(loader)?;
        let disks = self.disks_in_order();
        if disks.is_empty() {
            let need = "a topology with a node of type disksim_disk";
            return Err(Error::new(self.at.clone(), "no disk in it", need));
        }
        let mut over = organisation::read(self, &disks, &mut report)?;
        self.shared_bus(&mut drives, &mut over, &mut report)?;
        let name = self.at.file.file_stem().unwrap_or_default();
        let mut system = system_of(&name.to_string_lossy(), &drives, &over);
        self.driver(&mut system, &mut report)?;
        let mut run = self.global(&mut report)?;
        let work = workload::read(self, &over, trace, &mut report)?;
        if let Some(duration) = work.duration {
            run.insert("duration".into(), duration.into());
        }
        if let Some(n) = work.max_requests {
            run.insert("max_requests".into(), n.into());
        }
        let mut workload = work.table;
        if let Some(warm_up) = run.remove("warm_up") {
            workload.insert("warm_up".into(), warm_up);
        }
        self.rest(&mut report);
        Ok(SystemImport { document: json!({ "workload": [workload], "system": [system], "run": run }), drives, report })
    }

    /// Names of the disks in the order of the topology.
    fn disks_in_order(&self) -> Vec<String> {
        fn below(node: &Node, names: &mut Vec<String>) {
            if node.kind == "disksim_disk" {
                names.push(node.name.clone());
            }
            node.children.iter().for_each(|n| below(n, names));
        }
        let mut names = Vec::new();
        for item in &self.items {
            if let Item::Topology(node) = item {
                below(node, &mut names);
            }
        }
        names
    }

    /// The bus that a disk is on.
    fn bus_of(&self, disk: &str) -> Option<&str> {
        self.nearest(disk, "disksim_bus")
    }

    /// The nearest component of this kind above a disk.
    fn nearest(&self, disk: &str, kind: &str) -> Option<&str> {
        let above = self.above(disk);
        let found = above.into_iter().find(|n| n.kind == kind);
        found.map(|n| n.name.as_str())
    }

    /// Whether each `width` consecutive disks share one bus, and all buses are of one kind.
    fn share_buses(&self, disks: &[String], width: usize) -> bool {
        let kind = |disk: &String| {
            let bus = self.bus_of(disk).and_then(|b| self.block_of_instance(b));
            bus.map(|block| block as *const Block)
        };
        disks.chunks(width).all(|group| {
            group.len() == width
                && group.iter().all(|d| self.bus_of(d) == self.bus_of(&group[0]))
                && kind(&group[0]) == kind(&disks[0])
        })
    }

    /// Converts a bus with several disks to a link over them, and removes it from the drives.
    fn shared_bus(&self, drives: &mut [Import], over: &mut Organisation, report: &mut Vec<Note>) -> Result<(), Error> {
        let first = over.drives.first().and_then(|disk| self.bus_of(disk));
        let Some(bus) = first.and_then(|b| self.block_of_instance(b)) else { return Ok(()) };
        let on_first = |disk: &&String| self.bus_of(disk) == first;
        let width = over.drives.iter().take_while(on_first).count();
        let mut fields = Fields::new(bus, bus.name.as_deref().unwrap_or("bus"));
        let name = "Read block transfer time";
        let read = fields.ms(name, false)?;
        let write = fields.ms("Write block transfer time", false)?;
        if width < 2 || read.max(write) == 0.0 {
            return Ok(());
        }
        let controller = self.nearest(&over.drives[0], "disksim_ctlr");
        let controller = controller.and_then(|c| self.block_of_instance(c));
        let controller = controller.map_or(Ok(0.0), |c| Fields::new(c, "").ms("Bulk sector transfer time", false))?;
        let slowest = read.max(write).max(controller);
        let is_link = self.share_buses(&over.drives, width) && over.stands_on(width);
        if !is_link {
            let why = "each drive has the bus to itself: a link stands under whole volumes and buses alike";
            fields.note(name, Treatment::NotModelled, why);
        } else if read != write {
            let why = "the slower direction's time is taken for both";
            fields.note(name, Treatment::NotModelled, why);
        }
        report.extend(fields.notes());
        if is_link {
            for drive in drives {
                self.take_bus_away(drive)?;
            }
            let bandwidth = format!("{} B/s", 512.0 / (slowest * 1e-3));
            let link = json!({ "name": "link", "bandwidth": bandwidth, "duplex": "half" });
            over.put_under(width, link);
        }
        Ok(())
    }

    /// The drive's link keeps only the disk's own time for a sector.
    fn take_bus_away(&self, drive: &mut Import) -> Result<(), Error> {
        let name = Some(&drive.spec.name);
        let block = self.blocks().find(|b| b.name.as_ref() == name);
        let own = block.map_or(Ok(0.0), |b| Fields::new(b, "").ms("Bulk sector transfer time", false))?;
        drive.spec.link.read_sector_time = Some(Span::from_ms(own));
        drive.spec.link.write_sector_time = Some(Span::from_ms(own));
        Ok(())
    }

    /// Converts the driver's queue: if the subsystem has none, each drive schedules by the driver's policy.
    fn driver(&self, system: &mut Map<String, Value>, report: &mut Vec<Note>) -> Result<(), Error> {
        let Some(block) = self.blocks().find(|b| b.kind == "disksim_iodriver") else { return Ok(()) };
        let name = block.name.as_deref().unwrap_or("driver");
        let mut fields = Fields::new(block, name);
        fields.no_effect(&["type"], "there is one kind")?;
        fields.only("Constant access time", 0.0, "drives are simulated, whatever the driver says of their times")?;
        let below = fields.flag("Use queueing in subsystem")?;
        let mut notes = Vec::new();
        let queue = controller::queue(&mut fields, 1, &mut notes)?;
        if below {
            if queue.scheduler != "fcfs" {
                let why = "what a drive has no place for waits in order of arrival";
                fields.note("Scheduler", Treatment::NotModelled, why);
            }
        } else {
            system.insert("scheduler".into(), queue.scheduler.into());
            if !queue.scheduler_parameters.is_empty() {
                let parameters = Value::Object(queue.scheduler_parameters);
                system.insert("scheduler_parameters".into(), parameters);
            }
            system.insert("queue_depth".into(), 0.into());
            report.extend(notes);
        }
        fields.finish(report);
        Ok(())
    }

    /// Seed and warm-up.
    fn global(&self, report: &mut Vec<Note>) -> Result<Map<String, Value>, Error> {
        let mut run = Map::new();
        let Some(block) = self.blocks().find(|b| b.kind == "disksim_global") else { return Ok(run) };
        let mut fields = Fields::new(block, block.name.as_deref().unwrap_or("global"));
        if let Some(seed) = fields.get("Real Seed") {
            run.insert("seed".into(), seed.integer()?.unsigned_abs().into());
        }
        fields.no_effect(&["Init Seed"], "the seed of the load is that of the run")?;
        let warm_up = fields.real("Statistic warm-up period")?;
        if warm_up > 0.0 {
            run.insert("warm_up".into(), format!("{warm_up} s").into());
        }
        for name in ["Stat definition file", "Detailed execution trace"] {
            fields.note(name, Treatment::NoTimingEffect, "printing only");
        }
        fields.finish(report);
        Ok(run)
    }

    /// Reports blocks that were not read.
    fn rest(&self, report: &mut Vec<Note>) {
        for block in self.blocks() {
            let known = [
                "disksim_global",
                "disksim_stats",
                "disksim_iodriver",
                "disksim_bus",
                "disksim_ctlr",
                "disksim_disk",
                "dm_disk",
                "disksim_logorg",
                "disksim_pf",
                "disksim_synthio",
                "disksim_iosim",
            ];
            if !known.contains(&block.kind.as_str()) {
                report.push(Note::of_block(block, Treatment::NotModelled, "nothing is made of it"));
            }
        }
    }
}

/// The system's table: drives, organisation, layers.
fn system_of(name: &str, drives: &[Import], over: &Organisation) -> Map<String, Value> {
    let mut system = Map::new();
    system.insert("name".into(), name.into());
    let mut kinds: Vec<(&Import, u32)> = Vec::new();
    for disk in &over.drives {
        let Some(import) = drives.iter().find(|d| d.instances.contains(disk)) else { continue };
        match kinds.last_mut() {
            Some((last, n)) if std::ptr::eq(*last, import) => *n += 1,
            _ => kinds.push((import, 1)),
        }
    }
    // A description is always a table of plain values.
    let table = |import: &Import| serde_json::to_value(&import.spec).unwrap_or_default();
    if let [(import, n)] = &kinds[..] {
        system.insert("drive".into(), table(import));
        system.insert("count".into(), (*n).into());
    } else {
        let list = kinds.iter().map(|(import, n)| json!({ "drive": table(import), "count": n }));
        system.insert("drives".into(), list.collect());
    }
    system.insert("organisation".into(), over.organisation.clone());
    if !over.layers.is_empty() {
        system.insert("layers".into(), over.layers.clone().into());
    }
    system.insert("spindles".into(), "synchronized".into());
    system
}

/// A parameter that must be one of these words; the first if absent.
fn one_of<'a>(fields: &mut Fields, name: &str, words: &[&'a str]) -> Result<&'a str, Error> {
    let Some(value) = fields.get(name) else { return Ok(words[0]) };
    let word = value.word()?;
    words.iter().copied().find(|w| *w == word).ok_or_else(|| {
        let need = format!("{}: nothing else has a counterpart", words.join(" or "));
        Error::new(value.at.clone(), value.show(), need)
    })
}

/// The words of a list.
fn words(value: &crate::ast::Value) -> Result<Vec<(String, Position)>, Error> {
    let one = |v: &crate::ast::Value| Ok((v.word()?.to_string(), v.at.clone()));
    value.list()?.iter().map(one).collect()
}

/// Blocks of 512 bytes as a size.
fn blocks(n: impl Into<f64>) -> Value {
    format!("{} B", n.into() * 512.0).into()
}

/// A count that must be given.
fn count(fields: &mut Fields, name: &str, least: u32) -> Result<u32, Error> {
    fields::count_of(fields.need(name)?, least, u32::MAX)
}

impl Note {
    /// A note on a whole block.
    fn of_block(block: &Block, treatment: Treatment, detail: &str) -> Note {
        Note {
            parameter: format!("{} {}", block.kind, block.name.as_deref().unwrap_or("")),
            value: "a block".into(),
            at: block.at.to_string(),
            treatment,
            detail: detail.into(),
        }
    }
}
