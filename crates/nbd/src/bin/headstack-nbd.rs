//! `headstack-nbd`: a simulated drive as a network block device, without Python.

#[cfg(target_os = "linux")]
fn main() {
    if let Err(e) = linux::run() {
        eprintln!("headstack-nbd: {e}");
        std::process::exit(2);
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("headstack-nbd: not supported on this system, need Linux");
    std::process::exit(2);
}

#[cfg(target_os = "linux")]
mod linux {
    use headstack_live::open::{self, Kept};
    use headstack_live::LiveError;
    use headstack_nbd::address::Address;
    use headstack_nbd::emulate::{Emulation, Options};
    use headstack_nbd::server::Served;
    use headstack_nbd::ServeError;
    use lexopt::prelude::*;
    use std::io::Write;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    const HELP: &str = "\
headstack-nbd DRIVE|EXPERIMENT [OPTIONS]: serves a simulated drive as a network block device

  --nbd ADDRESS      unix:PATH or HOST:PORT (default 127.0.0.1:10809; port 0 is any free one)
  --allow-remote     lets other machines connect
  --store FILE       keeps the data in a sparse file; several devices in FILE-0, FILE-1 (default: in memory)
  --speed X          simulated seconds in a second (default 1; 0: as fast as possible)
  --system NAME      the system of an experiment
  --seed N           replaces the experiment's seed
  --record FILE.csv  writes the requests as a trace, with their response times
  --drives DIR       a folder of drive files, searched first; also those of $HEADSTACK_DRIVES

Standard output gets one line, the URI. SIGINT and SIGTERM end it once everything outstanding is answered.
";

    /// Reads the arguments, and serves.
    pub fn run() -> Result<(), ServeError> {
        let Some(options) = options().map_err(LiveError::Argument)? else {
            print!("{HELP}");
            return Ok(());
        };
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, stop.clone()).map_err(LiveError::System)?;
        }
        let emulation = Emulation::start(&options, stop)?;
        println!("{}", emulation.uri());
        std::io::stdout().flush().map_err(LiveError::System)?;
        let served = emulation.serve()?;
        eprintln!("{}", summary(&served));
        Ok(())
    }

    /// What it did, in one line.
    fn summary(served: &Served) -> String {
        let us = |q: f64| served.lateness_ns.value_at_quantile(q) as f64 / 1e3;
        format!(
            "{} requests of {} clients; replies late by {:.0} us (half of them), {:.0} us (99.9 %), {:.0} us at most",
            served.requests,
            served.clients,
            us(0.5),
            us(0.999),
            served.lateness_ns.max() as f64 / 1e3
        )
    }

    fn options() -> Result<Option<Options>, String> {
        let (mut target, mut system, mut seed, mut record) = (None, None, None, None);
        let (mut address, mut remote) = ("127.0.0.1:10809".to_string(), false);
        let (mut store, mut speed) = (Kept::Memory, 1.0);
        let mut drive_dirs: Vec<PathBuf> = Vec::new();
        let mut arguments = lexopt::Parser::from_env();
        let said = |e: lexopt::Error| e.to_string();
        while let Some(argument) = arguments.next().map_err(said)? {
            match argument {
                Long("help") | Short('h') => return Ok(None),
                Long("nbd") => address = value(&mut arguments)?.string().map_err(said)?,
                Long("allow-remote") => remote = true,
                Long("store") => store = Kept::File(value(&mut arguments)?.into()),
                Long("speed") => speed = value(&mut arguments)?.parse().map_err(said)?,
                Long("system") => system = Some(value(&mut arguments)?.string().map_err(said)?),
                Long("seed") => seed = Some(value(&mut arguments)?.parse().map_err(said)?),
                Long("record") => record = Some(value(&mut arguments)?.into()),
                Long("drives") => drive_dirs.push(value(&mut arguments)?.into()),
                Value(given) if target.is_none() => target = Some(given.string().map_err(said)?),
                other => return Err(other.unexpected().to_string()),
            }
        }
        let more = std::env::var_os("HEADSTACK_DRIVES").unwrap_or_default();
        drive_dirs.extend(std::env::split_paths(&more));
        Ok(Some(Options {
            live: open::Options {
                target: target.ok_or("got no drive, need DRIVE or EXPERIMENT; see --help")?,
                system,
                drive_dirs,
                seed,
                store,
                speed,
                record,
            },
            address: Address::parse(&address, remote).map_err(|e| e.to_string())?,
        }))
    }

    fn value(arguments: &mut lexopt::Parser) -> Result<std::ffi::OsString, String> {
        arguments.value().map_err(|e| e.to_string())
    }
}
