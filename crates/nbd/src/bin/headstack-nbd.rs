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
    use headstack_live::arguments::{self, summary, text, value, Arguments};
    use headstack_live::process::{allow_sockets, end_with_parent};
    use headstack_live::LiveError;
    use headstack_nbd::address::Address;
    use headstack_nbd::emulate::{Emulation, Options};
    use headstack_nbd::tls::TlsOptions;
    use headstack_nbd::ServeError;
    use lexopt::prelude::*;
    use std::io::Write;
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    const HELP: &str = "\
headstack-nbd: serves a simulated drive, array or shelf as network block devices, in real time

Usage: headstack-nbd DRIVE|EXPERIMENT [OPTIONS]

DRIVE is a name in a folder of drive files, or the path to one; EXPERIMENT is a file of an experiment (.toml).

  --nbd ADDRESS      unix:PATH, HOST:PORT or systemd (default: systemd if sockets were passed to this process, else
                     127.0.0.1:10809; port 0 is any free one)
  --tls MODE         off, on (if the client asks for it) or require (default: require if there are certificates)
  --tls-certificates DIR
                     a folder with server-cert.pem, server-key.pem and, for --tls-verify-peer, ca-cert.pem
  --tls-verify-peer  clients need a certificate of an authority in ca-cert.pem
";

    const MORE_HELP: &str = "\
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
            Asked::Help => return say(&format!("{HELP}{}{MORE_HELP}", arguments::HELP)),
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
        let (mut address, mut tls) = (None::<String>, TlsOptions::default());
        let (mut shared, mut given) = (Arguments::new(), lexopt::Parser::from_env());
        while let Some(argument) = given.next().map_err(|e| e.to_string())? {
            match argument {
                Long("help") | Short('h') => return Ok(Asked::Help),
                Long("version") | Short('V') => return Ok(Asked::Version),
                Long("nbd") => address = Some(text(&mut given)?),
                Long("tls") => {
                    let mode = text(&mut given)?;
                    tls.mode = Some(mode.parse().map_err(|e: ServeError| e.to_string())?);
                }
                Long("tls-certificates") => tls.certificates = Some(value(&mut given)?.into()),
                Long("tls-verify-peer") => tls.verify_peer = true,
                Long("tls-psk") => return Err(NO_KEYS.into()),
                Long(name) => {
                    let name = name.to_string();
                    shared.take(&name, &mut given)?;
                }
                Value(target) => shared.take_target(target)?,
                other => return Err(other.unexpected().to_string()),
            }
        }
        let parent = shared.exits_with_parent;
        let address = Address::parse(address.as_deref(), shared.remote);
        let options = Options {
            address: address.map_err(|e| e.to_string())?,
            tls,
            system: shared.finish()?,
        };
        Ok(Asked::Serve(Box::new(options), parent))
    }
}
