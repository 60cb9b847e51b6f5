//! `dm_mech_g1`: seek, settling, head switch, rotation.

use super::fields::{count_of, ms_of, Fields};
use super::{ms_text, Note, Treatment};
use crate::ast::{Block, Value};
use crate::error::{Error, Position};
use crate::loader::Loader;
use headstack_drive::spec::{Params, PositioningSpec};
use headstack_units::{Rpm, Span};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// The parameters of the mechanics block.
pub(super) struct Mechanics {
    pub seek: Params,
    pub positioning: PositioningSpec,
    pub rotation_speed: Rpm,
}

pub(super) fn read(
    block: &Block,
    cylinders: u32,
    loader: &dyn Loader,
    report: &mut Vec<Note>,
) -> Result<Mechanics, Error> {
    if block.kind != "dm_mech_g1" {
        let got = format!("a block {}", block.kind);
        return Err(Error::new(block.at.clone(), got, "a block dm_mech_g1"));
    }
    let mut fields = Fields::new(block, "Mechanical Model");
    if let Some(access) = fields.get("Access time type") {
        if access.word()? != "trackSwitchPlusRotation" {
            fields.note("Access time type", Treatment::NotModelled, "positions of platter and arm are always followed");
        }
    }
    fields.only("Constant access time", 0.0, "positions of platter and arm are always followed")?;
    let seek = seek(&mut fields, cylinders, loader)?;
    let positioning = PositioningSpec {
        head_switch: fields.span("Head switch time", 1.0)?,
        write_settle: Span::from_ms(fields.ms("Add. write settling delay", true)?),
        ..PositioningSpec::default()
    };
    let rpm = fields.need("Rotation speed (in rpms)")?;
    let speed = rpm.real()?;
    if !(1.0..=1e6).contains(&speed) {
        return Err(Error::new(rpm.at.clone(), rpm.show(), "turns per minute from 1 to 1000000"));
    }
    fields.no_effect(&["Percent error in rpms"], "inert in DiskSim 4.0 too: the speed is exact")?;
    fields.finish(report);
    Ok(Mechanics { seek, positioning, rotation_speed: Rpm(speed) })
}

const TIMES: [&str; 7] = [
    "Full seek curve",
    "Single cylinder seek time",
    "Average seek time",
    "Full strobe seek time",
    "Constant seek time",
    "First ten seek times",
    "HPL seek equation values",
];

fn seek(fields: &mut Fields, cylinders: u32, loader: &dyn Loader) -> Result<Params, Error> {
    let kind = fields.need("Seek type")?;
    let unused = format!("seek type {} does not use it", kind.show());
    for name in TIMES {
        fields.note(name, Treatment::NoTimingEffect, &unused);
    }
    let time = |fields: &mut Fields, name: &str| -> Result<serde_json::Value, Error> {
        Ok(ms_text(ms_of(fields.need(name)?, false)?))
    };
    let params = match kind.word()? {
        "extracted" => {
            let value = fields.need("Full seek curve")?;
            json!({"model": "table", "points": table(value, loader)?})
        }
        "constant" => json!({"model": "constant", "time": time(fields, "Constant seek time")?}),
        "linear" => json!({
            "model": "linear",
            "single": time(fields, "Single cylinder seek time")?,
            "full": time(fields, "Full strobe seek time")?,
            "cylinders": cylinders,
        }),
        "curve" => json!({
            "model": "three-point",
            "single": time(fields, "Single cylinder seek time")?,
            "average": time(fields, "Average seek time")?,
            "full": time(fields, "Full strobe seek time")?,
            "cylinders": cylinders,
        }),
        "hpl" => hpl(fields, false)?,
        "hplplus10" => hpl(fields, true)?,
        _ => {
            return Err(Error::new(
                kind.at.clone(),
                kind.show(),
                "one of extracted, constant, linear, curve, hpl, hplplus10",
            ))
        }
    };
    match params {
        serde_json::Value::Object(map) => Ok(map),
        _ => unreachable!("json! of braces is an object"),
    }
}

fn fixed(value: &Value, n: usize) -> Result<&[Value], Error> {
    let list = value.list()?;
    if list.len() == n {
        Ok(list)
    } else {
        Err(Error::new(value.at.clone(), value.show(), format!("a list of {n}")))
    }
}

/// `[v1 … v6]`: square root below v1 cylinders, linear from there on; v6 is the time for one cylinder.
fn hpl(fields: &mut Fields, plus_ten: bool) -> Result<serde_json::Value, Error> {
    let values = fixed(fields.need("HPL seek equation values")?, 6)?;
    let mut params = json!({
        "model": "hpl",
        "short_limit": count_of(&values[0], 0, 10_000_000)?,
        "short_base": ms_text(ms_of(&values[1], true)?),
        "short_sqrt": ms_text(ms_of(&values[2], true)?),
        "long_base": ms_text(ms_of(&values[3], true)?),
        "long_slope": ms_text(ms_of(&values[4], true)?),
    });
    if plus_ten {
        let first = fixed(fields.need("First ten seek times")?, 10)?;
        let times: Result<Vec<_>, Error> = first.iter().map(|v| Ok(ms_text(ms_of(v, false)?))).collect();
        params["first"] = times?.into();
    } else {
        let single = values[5].real()?;
        if single != -1.0 {
            params["single"] = ms_text(ms_of(&values[5], false)?);
        }
        fields.note(
            "HPL seek equation values",
            Treatment::Honoured,
            "as the equation is published: DiskSim 4.0 never fills in where the square root ends",
        );
    }
    Ok(params)
}

/// The points of a seek table: a line with their number, then `cylinders, milliseconds`.
fn table(value: &Value, loader: &dyn Loader) -> Result<serde_json::Value, Error> {
    let name = value.word()?;
    let (path, text) = loader
        .load(name, Some(&value.at.file))
        .map_err(|why| Error::new(value.at.clone(), format!("{name:?}: {why}"), "a seek table"))?;
    let points = points(&path, &text)?;
    let rows = points.into_iter().map(|(cylinders, ms)| json!([cylinders, ms_text(ms)]));
    Ok(rows.collect::<Vec<_>>().into())
}

fn points(path: &Path, text: &str) -> Result<Vec<(u32, f64)>, Error> {
    let file = Arc::new(path.to_path_buf());
    let fail = |line: usize, got: &str, need: &str| {
        let at = Position { file: file.clone(), line: line as u32 + 1, column: 1 };
        let got: String = got.chars().take(60).collect();
        Err(Error::new(at, format!("{got:?}"), need))
    };
    let mut lines = text.lines().enumerate();
    let (_, first) = lines.next().unwrap_or((0, ""));
    let count = first.strip_prefix("Seek distances measured:").and_then(|n| n.trim().parse::<usize>().ok());
    let Some(count) = count.filter(|n| *n > 0) else {
        return fail(0, first, "\"Seek distances measured: \" and a count from 1 on");
    };
    let mut points: Vec<(u32, f64)> = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        if points.len() == count {
            break;
        }
        let mut columns = line.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        let cylinders = columns.next().and_then(|w| w.parse::<u32>().ok());
        let ms = columns.next().and_then(|w| w.parse::<f64>().ok());
        let (Some(cylinders @ 1..), Some(ms)) = (cylinders, ms) else {
            return fail(number, line, "cylinders from 1 on and milliseconds");
        };
        if !(ms > 0.0 && ms <= 4000.0) {
            return fail(number, line, "a time above 0 and up to 4000 ms");
        }
        if points.last().is_some_and(|last| last.0 >= cylinders) {
            return fail(number, line, "rising numbers of cylinders");
        }
        points.push((cylinders, ms));
    }
    if points.len() < count {
        let got = format!("{} points", points.len());
        return fail(text.lines().count(), &got, &format!("the {count} that the first line says"));
    }
    Ok(points)
}
