//! `headstack-nbd`: a simulated drive as a network block device, without Python.

#[cfg(target_os = "linux")]
fn main() {
    if let Err(e) = linux::run() {
        eprintln!("headstack-nbd: {e}");
        std::process::exit(if e.is_input() { 2 } else { 1 });
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
    use headstack_live::power::PowerLosses;
    use headstack_live::LiveError;
    use headstack_nbd::address::Address;
    use headstack_nbd::emulate::{Emulation, Options};
    use headstack_nbd::process::{allow_sockets, end_with_parent};
    use headstack_nbd::server::Served;
    use headstack_nbd::tls::TlsOptions;
    use headstack_nbd::ServeError;
    use lexopt::prelude::*;
    use std::io::Write;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    const HELP: &str = "\
headstack-nbd: serves a simulated drive, array or shelf as network block devices, in real time

Usage: headstack-nbd DRIVE|EXPERIMENT [OPTIONS]

DRIVE is a name in a folder of drive files, or the path to one; EXPERIMENT is a file of an experiment (.toml).

  --nbd ADDRESS      unix:PATH, HOST:PORT or systemd (default: systemd if sockets were passed to this process, else
                     127.0.0.1:10809; port 0 is any free one)
  --allow-remote     lets other machines connect
  --tls MODE         off, on (if the client asks for it) or require (default: require if there are certificates)
  --tls-certificates DIR
                     a folder with server-cert.pem, server-key.pem and, for --tls-verify-peer, ca-cert.pem
  --tls-verify-peer  clients need a certificate of an authority in ca-cert.pem
  --store FILE       keeps the data in a sparse file; several devices in FILE-0, FILE-1 (default: in memory)
  --speed X          simulated seconds in a second (default 1; 0: as fast as possible)
  --system NAME      the system of an experiment
  --seed N           replaces the experiment's seed
  --record FILE.csv  writes the requests as a trace, with their response times
  --control DIR      shows files as of /sys/block/DEVICE there (FUSE); changes and faults are written to them
  --metrics ADDRESS  serves metrics for Prometheus there: HOST:PORT, or unix:PATH
  --torn-writes      a loss of power loses what is not on the medium; see the file power_loss of the control directory
  --power-loss-at TIME       loses power at this simulated time, such as 2s; may be repeated
  --power-loss-at-write N    loses power when the N-th write or flush is at the drive; may be repeated
  --power-loss-seed N        chooses what survives (default 0)
  --after-power-loss WORD    disconnect clients (the default), or continue: what is outstanding fails
  --drives DIR       a folder of drive files, searched first; also those of $HEADSTACK_DRIVES
  --exit-with-parent ends with the process that started it
  -h, --help         prints this
  -V, --version      prints the version

Standard output gets one line, the URI. Standard error gets what was done, at the end. SIGINT and SIGTERM end it once
everything outstanding is answered.

Exit status: 0 ended as asked for, 1 a file, a socket or the system failed, 2 an argument or a file of input is wrong.

Examples:
  headstack-nbd drives/exos-x18.toml
  headstack-nbd exos-x18 --nbd unix:/run/disk --store /var/tmp/disk.img
  nbdcopy -- [ headstack-nbd exos-x18 ] copy.img
";

    const NO_KEYS: &str =
        "--tls-psk: got pre-shared keys, which are not supported, need --tls-certificates";

    /// Reads the arguments, and serves.
    pub fn run() -> Result<(), ServeError> {
        let (options, exits_with_parent) = match asked().map_err(LiveError::Argument)? {
            Asked::Help => return say(HELP),
            Asked::Version => {
                return say(concat!("headstack-nbd ", env!("CARGO_PKG_VERSION"), "\n"))
            }
            Asked::Serve(options, exits_with_parent) => (*options, exits_with_parent),
        };
        if exits_with_parent {
            end_with_parent().map_err(LiveError::System)?;
        }
        allow_sockets();
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, stop.clone()).map_err(LiveError::System)?;
        }
        let emulation = Emulation::start(&options, stop)?;
        say(&format!("{}\n", emulation.uri()))?;
        let served = emulation.serve()?;
        eprintln!("{}", summary(&served));
        Ok(())
    }

    /// Prints on standard output. Nobody may read it: a program that starts a server for itself does not.
    fn say(text: &str) -> Result<(), ServeError> {
        let mut out = std::io::stdout();
        let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match done {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(LiveError::System(e).into())
            }
            _ => Ok(()),
        }
    }

    /// What it did, in one line, and a second one if the machine was too slow.
    fn summary(served: &Served) -> String {
        let counters = &served.counters;
        let us = |ns: u64| ns as f64 / 1e3;
        let late = |q: f64| us(counters.lateness_ns.value_at_quantile(q));
        let mut text = format!(
            "{} requests of {} clients; replies late by {:.0} us (half of them), {:.0} us (99.9 %), {:.0} us at most",
            counters.requests(),
            served.clients,
            late(0.5),
            late(0.999),
            us(counters.lateness_ns.max())
        );
        if let Some(warning) = counters.warning() {
            text.push_str(&format!("\nwarning: {warning}"));
        }
        text
    }

    enum Asked {
        Help,
        Version,
        /// And whether it ends with its parent.
        Serve(Box<Options>, bool),
    }

    fn asked() -> Result<Asked, String> {
        let (mut target, mut system, mut seed, mut record) = (None, None, None, None);
        let (mut address, mut remote, mut parent) = (None::<String>, false, false);
        let mut tls = TlsOptions::default();
        let (mut store, mut speed) = (Kept::Memory, 1.0);
        let (mut control, mut metrics) = (None, None);
        let (mut torn, mut at, mut at_write) = (false, Vec::new(), Vec::new());
        let (mut loss_seed, mut afterwards) = (0, "disconnect".to_string());
        let mut drive_dirs: Vec<PathBuf> = Vec::new();
        let mut arguments = lexopt::Parser::from_env();
        let said = |e: lexopt::Error| e.to_string();
        while let Some(argument) = arguments.next().map_err(said)? {
            match argument {
                Long("help") | Short('h') => return Ok(Asked::Help),
                Long("version") | Short('V') => return Ok(Asked::Version),
                Long("exit-with-parent") => parent = true,
                Long("nbd") => address = Some(value(&mut arguments)?.string().map_err(said)?),
                Long("tls") => {
                    let mode = value(&mut arguments)?.string().map_err(said)?;
                    tls.mode = Some(mode.parse().map_err(|e: ServeError| e.to_string())?);
                }
                Long("tls-certificates") => tls.certificates = Some(value(&mut arguments)?.into()),
                Long("tls-verify-peer") => tls.verify_peer = true,
                Long("tls-psk") => return Err(NO_KEYS.into()),
                Long("allow-remote") => remote = true,
                Long("store") => store = Kept::File(value(&mut arguments)?.into()),
                Long("speed") => speed = value(&mut arguments)?.parse().map_err(said)?,
                Long("system") => system = Some(value(&mut arguments)?.string().map_err(said)?),
                Long("seed") => seed = Some(value(&mut arguments)?.parse().map_err(said)?),
                Long("record") => record = Some(value(&mut arguments)?.into()),
                Long("control") => control = Some(value(&mut arguments)?.into()),
                Long("metrics") => metrics = Some(value(&mut arguments)?.string().map_err(said)?),
                Long("torn-writes") => torn = true,
                Long("power-loss-at") => at.push(value(&mut arguments)?.string().map_err(said)?),
                Long("power-loss-at-write") => {
                    at_write.push(value(&mut arguments)?.parse().map_err(said)?);
                }
                Long("power-loss-seed") => {
                    loss_seed = value(&mut arguments)?.parse().map_err(said)?;
                }
                Long("after-power-loss") => {
                    afterwards = value(&mut arguments)?.string().map_err(said)?;
                }
                Long("drives") => drive_dirs.push(value(&mut arguments)?.into()),
                Value(given) if target.is_none() => target = Some(given.string().map_err(said)?),
                other => return Err(other.unexpected().to_string()),
            }
        }
        let more = std::env::var_os("HEADSTACK_DRIVES").unwrap_or_default();
        drive_dirs.extend(std::env::split_paths(&more));
        let options = Options {
            live: open::Options {
                target: target.ok_or("got no drive, need DRIVE or EXPERIMENT; see --help")?,
                system,
                drive_dirs,
                seed,
                store,
                speed,
                record,
                losses: PowerLosses::read(torn, &at, &at_write, loss_seed, &afterwards)
                    .map_err(|e| e.to_string())?,
            },
            address: Address::parse(address.as_deref(), remote).map_err(|e| e.to_string())?,
            tls,
            control,
            metrics: metrics.map(|at| (at, remote)),
        };
        Ok(Asked::Serve(Box::new(options), parent))
    }

    fn value(arguments: &mut lexopt::Parser) -> Result<std::ffi::OsString, String> {
        arguments.value().map_err(|e| e.to_string())
    }
}
