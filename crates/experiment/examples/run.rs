//! Runs an experiment without Python: `run EXPERIMENT.toml` prints the document that `headstack run --out`
//! writes to `result.json`.
//!
//! An experiment is a TOML file, or a DiskSim parameter file (`.parv`) with the files it names in the same folder.
//! Drives are found as by the command line: in the folders of `$HEADSTACK_DRIVES`, then among those of the project.
//! They may be DiskSim parameter files.

use headstack_disksim::{import_experiment, import_file, Sources};
use headstack_experiment::{run, Experiment, Inputs, Overrides, RunOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

fn main() {
    if let Err(message) = print_result() {
        eprintln!("{message}");
        std::process::exit(2);
    }
}

fn open(file: &Path) -> Result<Experiment, String> {
    let overrides = Overrides::default();
    if file.extension() != Some("parv".as_ref()) {
        return Experiment::open(file, &overrides).map_err(|e| e.to_string());
    }
    let import = import_experiment(file, None, Sources::Inside).map_err(|e| e.to_string())?;
    import.warnings().iter().for_each(|w| eprintln!("{w}"));
    Experiment::of_document(import.document, file, &overrides).map_err(|e| e.to_string())
}

fn print_result() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file] = args.as_slice() else {
        return Err(format!("run: got {} arguments, need EXPERIMENT.toml", args.len()));
    };
    let own = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives"));
    let more = std::env::var_os("HEADSTACK_DRIVES").unwrap_or_default();
    let inputs = Inputs {
        other_drive: &|path| match import_file(path) {
            Ok(import) => Ok(import.spec),
            Err(e) => Err(e.to_string()),
        },
        ..Inputs::new(std::env::split_paths(&more).chain([own]).collect())
    };
    let experiment = open(Path::new(file))?;
    let result = run(&experiment, &inputs, &RunOptions::default()).map_err(|e| e.to_string())?;
    let json = result.to_json().map_err(|e| e.to_string())?;
    match writeln!(std::io::stdout(), "{json}") {
        // Whoever reads has seen enough, as `head` does.
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|e| format!("standard output: {e}")),
    }
}
