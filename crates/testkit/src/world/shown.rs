//! A world as an experiment.

use super::{Deed, World};
use headstack_drive::Command;
use std::fmt::Write;
use toml::Table;

/// The experiment and its trace, whose files are written for `headstack run`. What a trace cannot say (changes, hints) is
/// a comment.
pub(super) fn shown(world: &World, drive: Table) -> String {
    let (mut trace, mut beside) = ("time_ns,device,op,lba,blocks\n".to_string(), String::new());
    for (at, deed) in &world.deeds {
        // Writing to a string cannot fail.
        let _ = match deed {
            Deed::Submit(r) => {
                let op = match r.command {
                    Command::Read | Command::ReadThrough => "R",
                    Command::Write => "W",
                    Command::WriteThrough => "write-through",
                    Command::Flush => "F",
                };
                writeln!(trace, "{at},0,{op},{},{}", r.lba.0, r.blocks)
            }
            other => writeln!(beside, "# at {at} ns: {other:?}"),
        };
    }
    let system = Table::from_iter([("drive".to_string(), drive.into()), ("seed".into(), (world.seed as i64).into())]);
    let experiment = Table::from_iter([("system".to_string(), system.into())]);
    let text = format!("{beside}[workload]\ntrace = \"trace.csv\"\n\n{experiment}");
    let written = tempfile::tempdir().and_then(|folder| {
        std::fs::write(folder.path().join("trace.csv"), &trace)?;
        std::fs::write(folder.path().join("experiment.toml"), &text)?;
        Ok(folder.keep())
    });
    let run = written.map_or_else(|e| e.to_string(), |f| format!("headstack run {}/experiment.toml", f.display()));
    format!("{run}\n{text}\n{trace}{:?}", world.deeds)
}
