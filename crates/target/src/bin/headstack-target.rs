//! `headstack-target`: simulated drives as network block devices and SCSI disks, without Python.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("headstack-target: not supported on this system, need Linux");
    std::process::exit(2);
}

#[cfg(target_os = "linux")]
mod linux {
    use headstack_target::arguments::{self, Asked};
    use headstack_target::emulate::{Emulation, Served};
    use headstack_target::process::become_server;
    use headstack_target::TargetError;
    use std::ffi::OsString;
    use std::io::Write;
    use std::process::ExitCode;
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    const HELP: &str = "\
headstack-target: serves a simulated drive, array or shelf in real time, as network block devices or SCSI disks

Usage: headstack-target DRIVE|EXPERIMENT [OPTIONS]

DRIVE is the name of a drive, or the path of a drive file; EXPERIMENT is a file of an experiment (.toml).

";

    const MORE_HELP: &str = "  \
  -h, --help                 Print this.
  -V, --version              Print the version.

Standard output gets the URI of NBD, and of iSCSI one line for each device. Standard error gets what was done, at the
end. SIGINT and SIGTERM end it once everything outstanding is answered. Called as headstack-iscsi it serves iSCSI unless
told otherwise.

Exit status: 0 ended as asked for, 1 a file, a socket or the system failed, 2 an argument or a file of input is wrong.

Examples:
  headstack-target exos-x18
  headstack-target constellation-es3-4tb --nbd unix:/run/disk --store /var/tmp/disk.img
  nbdcopy -- [ headstack-target constellation-es3-4tb --speed 0 ] copy.img
  headstack-target exos-2x18-sata --iscsi standard
";

    /// Reads the arguments of this process, and serves. SIGINT and SIGTERM end that. Exit codes: 0 ended as asked for, 1
    /// the system or a file failed, 2 the input is wrong.
    pub fn main() -> ExitCode {
        match serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("headstack-target: {e}");
                ExitCode::from(if e.is_input() { 2 } else { 1 })
            }
        }
    }

    fn serve() -> Result<(), TargetError> {
        let arguments = match arguments::read(words())? {
            Asked::Help => return say(&format!("{HELP}{}{MORE_HELP}", arguments::help())),
            Asked::Version => return say(concat!("headstack-target ", env!("CARGO_PKG_VERSION"), "\n")),
            Asked::Serve(arguments) => arguments,
        };
        become_server(arguments.exits_with_parent).map_err(TargetError::System)?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, stop.clone()).map_err(TargetError::System)?;
        }
        let emulation = Emulation::start(&arguments.finish()?, stop)?;
        let lines = emulation.uri().into_iter().chain(emulation.urls());
        say(&lines.map(|line| line + "\n").collect::<String>())?;
        eprintln!("{}", summary(&emulation.serve()?));
        Ok(())
    }

    /// The command line.
    fn words() -> Vec<OsString> {
        let mut words = std::env::args_os();
        let called = words.next().unwrap_or_default();
        let mut words: Vec<OsString> = words.collect();
        let is_given =
            |o: &OsString| ["--nbd", "--iscsi"].iter().any(|name| o.as_encoded_bytes().starts_with(name.as_bytes()));
        if called.as_encoded_bytes().ends_with(b"headstack-iscsi") && !words.iter().any(is_given) {
            words.splice(0..0, ["--iscsi".into(), "standard".into()]);
        }
        words
    }

    /// Prints on standard output. Nobody may read it: a program that starts a server for itself does not.
    fn say(text: &str) -> Result<(), TargetError> {
        let mut out = std::io::stdout();
        let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match done {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(TargetError::System(e)),
            _ => Ok(()),
        }
    }

    /// What was done, in one line, and a second one if the machine was too slow.
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
}
