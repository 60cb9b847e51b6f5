//! Converts disk blocks to drive specifications, with a report on every parameter.

pub(crate) mod controller;
pub(crate) mod fields;
mod geometry;
mod mechanics;

use crate::ast::{Block, Document, Node, ValueKind};
use crate::checks::{NOT_MODELLED, TOLERATED};
use crate::error::Error;
use crate::loader::Loader;
use controller::Controller;
use fields::Fields;
use headstack_drive::spec::{LinkSpec, Params};
use headstack_drive::DriveSpec;
use headstack_engine::Warning;
use headstack_units::Span;
use serde::Serialize;
use std::collections::BTreeMap;

/// A drive read from parameter files.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The drive, with the name of its block.
    pub spec: DriveSpec,
    /// Its instances, in order of instantiation.
    pub instances: Vec<String>,
    /// The treatment of each parameter, in the order of reading.
    pub report: Vec<Note>,
}

impl Import {
    /// One for each value that was tolerated: the place, what was got, and what is used instead.
    pub fn warnings(&self) -> Vec<Warning> {
        let tolerated = |n: &&Note| n.treatment == Treatment::Tolerated;
        self.report.iter().filter(tolerated).map(Note::warning).collect()
    }
}

impl Note {
    /// The place, what was got, and what is used instead.
    pub(crate) fn warning(&self) -> Warning {
        let check = match self.treatment {
            Treatment::Tolerated => TOLERATED,
            _ => NOT_MODELLED,
        };
        check.warn(format!("{}: {}: got {}: {}", self.at, self.parameter, self.value, self.detail))
    }
}

/// The treatment of one parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The parameter's name in the file, after the names of the blocks that contain it.
    pub parameter: String,
    /// The value given, shortened.
    pub value: String,
    /// File, line and column.
    pub at: String,
    /// Its treatment.
    pub treatment: Treatment,
    /// The reason or the method; may be empty.
    pub detail: String,
}

/// Treatments of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// The drive uses the value.
    Honoured,
    /// It has no effect on response times.
    NoTimingEffect,
    /// The value is impossible, but DiskSim accepts it; `detail` states what is used instead.
    Tolerated,
    /// The model does not have this feature, and the value enables it.
    NotModelled,
    /// It describes the system around the drive, not the drive.
    NotOfTheDrive,
    /// No block of this type has such a parameter.
    Unknown,
}

impl Document {
    /// Every disk of the document: first instantiated ones in order of instantiation, then the other disk
    /// blocks. Copies of one block are one [`Import`]. A document with `dm_disk` blocks only results in drives
    /// without cache, overhead and queue.
    ///
    /// # Errors
    /// Missing or impossible values and unreadable seek tables and layout maps.
    pub fn disks(&self, loader: &dyn Loader) -> Result<Vec<Import>, Error> {
        let mut chosen: Vec<(&Block, Vec<String>)> = Vec::new();
        let is_disk = |block: &&Block| block.kind == "disksim_disk";
        for instance in self.instances() {
            let Some(block) = self.block(&instance.of).filter(is_disk) else { continue };
            match chosen.iter_mut().find(|(b, _)| std::ptr::eq(*b, block)) {
                Some((_, names)) => names.extend(instance.names.iter().cloned()),
                None => chosen.push((block, instance.names.clone())),
            }
        }
        for block in self.blocks().filter(is_disk) {
            if !chosen.iter().any(|(b, _)| std::ptr::eq(*b, block)) {
                chosen.push((block, Vec::new()));
            }
        }
        if chosen.is_empty() {
            let models = self.blocks().filter(|b| b.kind == "dm_disk");
            chosen.extend(models.map(|b| (b, Vec::new())));
        }
        chosen
            .into_iter()
            .map(|(block, names)| self.import(block, names, loader))
            .collect::<Result<_, _>>()
            .map_err(|e| Error { parameter: self.parameter_at(&e.at).unwrap_or_default(), ..e })
    }

    fn import(&self, block: &Block, instances: Vec<String>, loader: &dyn Loader) -> Result<Import, Error> {
        let mut report = Vec::new();
        let mut sources = BTreeMap::new();
        let mut source = |key: &str, from: &Block| {
            let file = from.at.file.file_name().unwrap_or(from.at.file.as_os_str());
            let text = format!("DiskSim parameter file {}", file.to_string_lossy());
            sources.insert(key.to_string(), text);
        };
        let (model, controller) = match block.kind.as_str() {
            "dm_disk" => (block, Controller::default()),
            _ => {
                for key in ["cache", "overhead", "queue", "link"] {
                    source(key, block);
                }
                self.disk(block, &instances, &mut report)?
            }
        };
        if model.kind != "dm_disk" {
            let got = format!("a block {}", model.kind);
            return Err(Error::new(model.at.clone(), got, "a block dm_disk"));
        }
        let (layout, mechanics, shape) = blocks(model, &mut report)?;
        let mechanics = mechanics::read(mechanics, shape.cylinders, loader, &mut report)?;
        let mut geometry = geometry::read(layout, &shape, loader, &mut report)?;
        geometry.rotation_speed = mechanics.rotation_speed;
        let mut positioning = mechanics.positioning;
        positioning.minimum_write = controller.minimum_write;
        for key in ["geometry", "seek", "positioning"] {
            source(key, model);
        }
        if positioning.minimum_write != Span::ZERO {
            source("positioning.minimum_write", block);
        }
        self.surroundings(block, model, &mut report);
        sources.insert("power".into(), "chosen: DiskSim parameter files hold no power".into());
        let name = block.name.clone().unwrap_or_else(|| block.kind.clone());
        let spec = DriveSpec {
            name,
            title: String::new(),
            description: String::new(),
            year: None,
            dash: Default::default(),
            parallelism: Default::default(),
            geometry,
            seek: mechanics.seek,
            positioning,
            mapping: Default::default(),
            media_scan: Default::default(),
            cache: controller.cache,
            overhead: controller.overhead,
            link: controller.link,
            queue: controller.queue,
            duration_limits: Default::default(),
            power: default_power(),
            cost: Params::new(),
            sources,
        };
        Ok(Import { spec, instances, report })
    }

    /// The block `dm_disk` of a disk, and the rest of its parameters.
    fn disk<'a>(
        &'a self,
        block: &'a Block,
        instances: &[String],
        report: &mut Vec<Note>,
    ) -> Result<(&'a Block, Controller), Error> {
        let mut fields = Fields::new(block, "");
        let value = fields.need("Model")?;
        let model = match &value.kind {
            ValueKind::Word(name) => self.block(name).ok_or_else(|| {
                let need = "the name of a dm_disk block";
                Error::new(value.at.clone(), value.show(), need)
            })?,
            _ => value.block()?,
        };
        let mut controller = controller::read(&mut fields, report)?;
        fields.finish(report);
        self.bus(instances, controller.sector_ms, &mut controller.link, report)?;
        Ok((model, controller))
    }

    /// The slowest of disk, nearest bus and nearest controller determines the time of a sector.
    fn bus(
        &self,
        instances: &[String],
        disk_ms: f64,
        link: &mut LinkSpec,
        report: &mut Vec<Note>,
    ) -> Result<(), Error> {
        let (mut read, mut write) = (disk_ms, disk_ms);
        let above = instances.first().map(|name| self.above(name)).unwrap_or_default();
        let nearest = |kind: &str| {
            let node = above.iter().find(|n: &&&Node| n.kind == kind)?;
            self.block_of_instance(&node.name).or(self.block(&node.name))
        };
        if let Some(bus) = nearest("disksim_bus") {
            let mut fields = Fields::new(bus, bus.name.as_deref().unwrap_or("bus"));
            read = read.max(fields.ms("Read block transfer time", false)?);
            write = write.max(fields.ms("Write block transfer time", false)?);
            fields.only("Arbitration time", 0.0, "buses are granted at once")?;
            fields.no_effect(&["type", "Arbitration type"], "the drive has its link alone")?;
            fields.no_effect(&["Print stats"], "printing only")?;
            fields.finish(report);
        }
        if let Some(controller) = nearest("disksim_ctlr") {
            let mut fields = Fields::new(controller, controller.name.as_deref().unwrap_or("ctlr"));
            let ms = fields.ms("Bulk sector transfer time", false)?;
            (read, write) = (read.max(ms), write.max(ms));
            fields.only("type", 1.0, "controllers only pass requests through")?;
            fields.only("Scale for delays", 0.0, "controllers pass requests at once")?;
            fields.only("Maximum queue length", 0.0, "controllers hold no queue")?;
            let queue = "controllers hold no queue and no cache";
            for name in ["Max per-disk pending count", "Scheduler", "Cache"] {
                fields.note(name, Treatment::NotModelled, queue);
            }
            fields.no_effect(&["Print stats"], "printing only")?;
            fields.finish(report);
        }
        link.read_sector_time = Some(Span::from_ms(read));
        link.write_sector_time = Some(Span::from_ms(write));
        Ok(())
    }

    /// One note for each block that does not concern this drive.
    fn surroundings(&self, disk: &Block, model: &Block, report: &mut Vec<Note>) {
        for block in self.blocks() {
            let name = block.name.as_deref().unwrap_or("");
            let told = |n: &Note| n.parameter.starts_with(&format!("{name}: "));
            if std::ptr::eq(block, disk) || std::ptr::eq(block, model) {
                continue;
            }
            if matches!(block.kind.as_str(), "disksim_bus" | "disksim_ctlr") && report.iter().any(told) {
                continue;
            }
            let detail = match block.kind.as_str() {
                "disksim_stats" => "printing only",
                "disksim_global" => "random streams and statistics of a run",
                "disksim_disk" | "dm_disk" => "another drive",
                _ => "the system round the drive",
            };
            report.push(Note {
                parameter: format!("{} {name}", block.kind),
                value: "a block".into(),
                at: block.at.to_string(),
                treatment: Treatment::NotOfTheDrive,
                detail: detail.into(),
            });
        }
    }
}

/// The layout, the mechanics and the shape of a block `dm_disk`.
fn blocks<'a>(model: &'a Block, report: &mut Vec<Note>) -> Result<(&'a Block, &'a Block, geometry::Shape), Error> {
    let mut fields = Fields::new(model, "");
    fields.no_effect(&["Block count"], "informative: the capacity is the sum over the zones")?;
    let layout = fields.need("Layout Model")?.block()?;
    let mechanics = fields.need("Mechanical Model")?.block()?;
    let (surfaces, cylinders) = ("Number of data surfaces", "Number of cylinders");
    let shape = geometry::Shape {
        surfaces: fields::count_of(fields.need(surfaces)?, 1, 1000)?,
        cylinders: fields::count_of(fields.need(cylinders)?, 1, geometry::MOST_CYLINDERS)?,
    };
    fields.finish(report);
    Ok((layout, mechanics, shape))
}

fn default_power() -> Params {
    let mut params = Params::new();
    params.insert("model".into(), "modes".into());
    params
}

/// Milliseconds as an exact text in the form of drive files.
fn ms_text(ms: f64) -> serde_json::Value {
    format!("{ms} ms").into()
}
