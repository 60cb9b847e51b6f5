//! `headstack-nbd`: a simulated drive as a network block device, without Python.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    headstack_live::program::run(linux::Nbd::default())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("headstack-nbd: not supported on this system, need Linux");
    std::process::exit(2);
}

#[cfg(target_os = "linux")]
mod linux {
    use headstack_live::arguments::{text, value, Arguments};
    use headstack_live::counters::Counters;
    use headstack_live::program::{say, Program};
    use headstack_live::LiveError;
    use headstack_nbd::address::Address;
    use headstack_nbd::emulate::{Emulation, Options};
    use headstack_nbd::tls::TlsOptions;
    use headstack_nbd::ServeError;
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    const HELP: &str = "\
headstack-nbd: serves a simulated drive, array or shelf as network block devices, in real time

Usage: headstack-nbd DRIVE|EXPERIMENT [OPTIONS]

DRIVE is the name of a drive, or the path of a drive file; EXPERIMENT is a file of an experiment (.toml).

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
  headstack-nbd exos-x18
  headstack-nbd constellation-es3-4tb --nbd unix:/run/disk --store /var/tmp/disk.img
  nbdcopy -- [ headstack-nbd constellation-es3-4tb --speed 0 ] copy.img
";

    const NO_KEYS: &str = "--tls-psk: got pre-shared keys, which are not supported, need --tls-certificates";

    /// Its own arguments.
    #[derive(Default)]
    pub struct Nbd {
        address: Option<String>,
        tls: TlsOptions,
    }

    impl Program for Nbd {
        const NAME: &'static str = "headstack-nbd";
        const HELP: &'static str = HELP;
        const MORE_HELP: &'static str = MORE_HELP;
        type Error = ServeError;

        fn is_input(error: &ServeError) -> bool {
            error.is_input()
        }

        fn take(&mut self, name: &str, given: &mut lexopt::Parser) -> Result<bool, String> {
            match name {
                "nbd" => self.address = Some(text(given)?),
                "tls" => {
                    let mode = text(given)?;
                    self.tls.mode = Some(mode.parse().map_err(|e: ServeError| e.to_string())?);
                }
                "tls-certificates" => self.tls.certificates = Some(value(given)?.into()),
                "tls-verify-peer" => self.tls.verify_peer = true,
                "tls-psk" => return Err(NO_KEYS.into()),
                _ => return Ok(false),
            }
            Ok(true)
        }

        fn serve(self, shared: Arguments, stop: Arc<AtomicBool>) -> Result<(Counters, u64), ServeError> {
            let options = Options {
                address: Address::parse(self.address.as_deref(), shared.remote)?,
                tls: self.tls,
                system: shared.finish().map_err(LiveError::Argument)?,
            };
            let emulation = Emulation::start(&options, stop)?;
            say(&format!("{}\n", emulation.uri()))?;
            let served = emulation.serve()?;
            Ok((served.counters, served.clients))
        }
    }
}
