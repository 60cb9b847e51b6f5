//! `headstack-iscsi`: a simulated drive as a SCSI disk over iSCSI, without Python.

#[cfg(target_os = "linux")]
fn main() {
    if let Err(e) = linux::run() {
        eprintln!("headstack-iscsi: {e}");
        std::process::exit(if e.is_input() { 2 } else { 1 });
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("headstack-iscsi: not supported on this system, need Linux");
    std::process::exit(2);
}

#[cfg(target_os = "linux")]
mod linux {
    use headstack_iscsi::chap::Secrets;
    use headstack_iscsi::emulate::{Emulation, Options};
    use headstack_iscsi::{server, ServeError};
    use headstack_live::arguments::{self, summary, text, value, Arguments};
    use headstack_live::process::{allow_sockets, end_with_parent};
    use headstack_live::LiveError;
    use headstack_nbd::address::Address;
    use headstack_nbd::tls::TlsOptions;
    use lexopt::prelude::*;
    use std::io::Write;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    const HELP: &str = "\
headstack-iscsi: serves a simulated drive, array or shelf as SCSI disks over iSCSI, in real time

Usage: headstack-iscsi DRIVE|EXPERIMENT [OPTIONS]

DRIVE is a name in a folder of drive files, or the path to one; EXPERIMENT is a file of an experiment (.toml).

  --iscsi ADDRESS    HOST:PORT (default 127.0.0.1:3260; port 0 is any free one)
  --iscsi-initiator NAME     only initiators of this name may log in; may be repeated
  --iscsi-chap FILE  initiators must know the secret in this file (TOML: name, secret; mutual_name, mutual_secret)
  --iscsi-apart      each device is a target of its own, instead of a unit (LUN) of one target
  --iscsi-window N   commands that a session may have at once (default: those that the drives hold)
  --nbd ADDRESS      serves the same devices as network block devices as well, without encryption
";

    const MORE_HELP: &str = "
Standard output gets one line for each device, its URL. Standard error gets what was done, at the end. SIGINT and
SIGTERM end it once everything outstanding is answered.

Exit status: 0 ended as asked for, 1 a file, a socket or the system failed, 2 an argument or a file of input is wrong.

Examples:
  headstack-iscsi drives/exos-2x18-sata.toml
  qemu-img info $(headstack-iscsi exos-x18 --iscsi 127.0.0.1:0 | head -1)
";

    /// Reads the arguments, and serves.
    pub fn run() -> Result<(), ServeError> {
        let (options, exits_with_parent) = match asked().map_err(ServeError::Argument)? {
            Asked::Help => {
                return say(&format!("{HELP}{}{MORE_HELP}", arguments::HELP));
            }
            Asked::Version => {
                return say(concat!("headstack-iscsi ", env!("CARGO_PKG_VERSION"), "\n"))
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
        let lines = emulation.urls().into_iter().chain(emulation.uri());
        say(&lines.map(|line| line + "\n").collect::<String>())?;
        let served = emulation.serve()?;
        eprintln!("{}", summary(&served.counters, served.clients));
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

    enum Asked {
        Help,
        Version,
        /// And whether it ends with its parent.
        Serve(Box<Options>, bool),
    }

    fn asked() -> Result<Asked, String> {
        let (mut nbd, mut iscsi) = (None::<String>, server::Options::default());
        let (mut shared, mut given) = (Arguments::new(), lexopt::Parser::from_env());
        while let Some(argument) = given.next().map_err(|e| e.to_string())? {
            match argument {
                Long("help") | Short('h') => return Ok(Asked::Help),
                Long("version") | Short('V') => return Ok(Asked::Version),
                Long("nbd") => nbd = Some(text(&mut given)?),
                Long("iscsi") => iscsi.address = Some(text(&mut given)?),
                Long("iscsi-initiator") => {
                    iscsi.admission.initiators.push(text(&mut given)?);
                }
                Long("iscsi-chap") => {
                    let secrets = Secrets::read(Path::new(&value(&mut given)?))?;
                    iscsi.admission.secrets = Some(secrets);
                }
                Long("iscsi-apart") => iscsi.apart = true,
                Long("iscsi-window") => {
                    let number = value(&mut given)?.parse().map_err(|e| e.to_string())?;
                    iscsi.window = Some(number);
                }
                Long(name) => {
                    let name = name.to_string();
                    shared.take(&name, &mut given)?;
                }
                Value(target) => shared.take_target(target)?,
                other => return Err(other.unexpected().to_string()),
            }
        }
        let (parent, remote) = (shared.exits_with_parent, shared.remote);
        let nbd = nbd.map(|text| Address::parse(Some(&text), remote));
        let nbd = nbd.transpose().map_err(|e| e.to_string())?;
        let system = shared.finish()?;
        iscsi.remote = remote;
        let options = Options {
            nbd: nbd.map(|address| (address, TlsOptions::default())),
            iscsi: Some(iscsi),
            system,
        };
        Ok(Asked::Serve(Box::new(options), parent))
    }
}
