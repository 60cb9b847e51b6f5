//! `headstack-iscsi`: a simulated drive as a SCSI disk over iSCSI, without Python.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    headstack_live::program::run(linux::Iscsi::default())
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
    use headstack_live::arguments::{text, value, Arguments};
    use headstack_live::counters::Counters;
    use headstack_live::program::{say, Program};
    use headstack_live::LiveError;
    use headstack_nbd::address::Address;
    use headstack_nbd::tls::TlsOptions;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    const HELP: &str = "\
headstack-iscsi: serves a simulated drive, array or shelf as SCSI disks over iSCSI, in real time

Usage: headstack-iscsi DRIVE|EXPERIMENT [OPTIONS]

DRIVE is the name of a drive, or the path of a drive file; EXPERIMENT is a file of an experiment (.toml).

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
  headstack-iscsi exos-2x18-sata
  qemu-img info $(headstack-iscsi exos-x18 --iscsi 127.0.0.1:0 | head -1)
";

    /// Its own arguments.
    #[derive(Default)]
    pub struct Iscsi {
        nbd: Option<String>,
        iscsi: server::Options,
    }

    impl Program for Iscsi {
        const NAME: &'static str = "headstack-iscsi";
        const HELP: &'static str = HELP;
        const MORE_HELP: &'static str = MORE_HELP;
        type Error = ServeError;

        fn is_input(error: &ServeError) -> bool {
            error.is_input()
        }

        fn take(&mut self, name: &str, given: &mut lexopt::Parser) -> Result<bool, String> {
            let iscsi = &mut self.iscsi;
            match name {
                "nbd" => self.nbd = Some(text(given)?),
                "iscsi" => iscsi.address = Some(text(given)?),
                "iscsi-initiator" => iscsi.admission.initiators.push(text(given)?),
                "iscsi-chap" => {
                    let secrets = Secrets::read(Path::new(&value(given)?))?;
                    iscsi.admission.secrets = Some(secrets);
                }
                "iscsi-apart" => iscsi.apart = true,
                "iscsi-window" => {
                    let number = lexopt::ValueExt::parse(&value(given)?);
                    iscsi.window = Some(number.map_err(|e| e.to_string())?);
                }
                _ => return Ok(false),
            }
            Ok(true)
        }

        fn serve(mut self, shared: Arguments, stop: Arc<AtomicBool>) -> Result<(Counters, u64), ServeError> {
            self.iscsi.remote = shared.remote;
            let nbd = (self.nbd).map(|text| Address::parse(Some(&text), shared.remote));
            let options = Options {
                nbd: nbd.transpose()?.map(|address| (address, TlsOptions::default())),
                iscsi: Some(self.iscsi),
                system: shared.finish().map_err(LiveError::Argument)?,
            };
            let emulation = Emulation::start(&options, stop)?;
            let lines = emulation.urls().into_iter().chain(emulation.uri());
            say(&lines.map(|line| line + "\n").collect::<String>())?;
            let served = emulation.serve()?;
            Ok((served.counters, served.clients))
        }
    }
}
