//! `headstack-capd`: holds power caps of drives by resizing their queues.

#[cfg(target_os = "linux")]
fn main() {
    if let Err(e) = linux::run() {
        eprintln!("headstack-capd: {e}");
        std::process::exit(if e.is_input() { 2 } else { 1 });
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("headstack-capd: not supported on this system, need Linux");
    std::process::exit(2);
}

#[cfg(target_os = "linux")]
mod linux {
    use headstack_host::cap::parse_cap;
    use headstack_host::config::Config;
    use headstack_host::daemon::{open_originals, recover, Daemon, HostError};
    use headstack_host::page;
    use headstack_host::socket::{ask, Request};
    use headstack_units::Watts;
    use lexopt::prelude::*;
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    const HELP: &str = "\
headstack-capd: holds power caps of drives by resizing their queues

Usage:
  headstack-capd run FILE [--apply | --dry-run] [--log text|json]
                     runs with this configuration; without --apply and `apply = true` nothing is written
  headstack-capd check FILE
                     reads the configuration, each drive and each meter, and says what a group can hold
  headstack-capd status [--socket PATH] [--json]
                     what a running daemon does
  headstack-capd cap [GROUP|RACK] WATTS|none [--socket PATH]
                     gives a group or a rack of a running daemon another cap
  headstack-capd restore FILE
                     gives drives the settings of before that a killed daemon has left behind
  -h, --help         prints this
  -V, --version      prints the version

The socket is /run/headstack-capd/socket unless said otherwise. SIGTERM and SIGINT end the daemon once all drives have
their settings of before; SIGHUP reads the caps of FILE again.

Exit status: 0 ended as asked for, 1 a file, a socket, a meter or a drive failed, 2 an argument or the configuration is wrong.
";

    const SOCKET: &str = "/run/headstack-capd/socket";

    struct Asked {
        words: Vec<String>,
        apply: Option<bool>,
        is_json: bool,
        log: String,
        socket: PathBuf,
    }

    /// Reads the arguments, and does what they say.
    pub fn run() -> Result<(), HostError> {
        let Some(asked) = asked().map_err(HostError::Argument)? else { return Ok(()) };
        let words: Vec<&str> = asked.words.iter().map(String::as_str).collect();
        match words[..] {
            ["run", file] => serve(Path::new(file), &asked),
            ["check", file] => check(Path::new(file)),
            ["status"] => status(&asked),
            ["cap", cap] => set_cap(None, cap, &asked.socket),
            ["cap", group, cap] => set_cap(Some(group), cap, &asked.socket),
            ["restore", file] => restore(Path::new(file), &asked),
            [] => Err(wrong("no command")),
            _ => Err(wrong(&format!("{:?}", asked.words.join(" ")))),
        }
    }

    fn wrong(got: &str) -> HostError {
        let need = "run FILE, check FILE, status, cap [GROUP|RACK] WATTS or restore FILE";
        HostError::Argument(format!("command: got {got}, need {need}"))
    }

    fn asked() -> Result<Option<Asked>, String> {
        let mut asked =
            Asked { words: Vec::new(), apply: None, is_json: false, log: "text".into(), socket: SOCKET.into() };
        let mut arguments = lexopt::Parser::from_env();
        let said = |e: lexopt::Error| e.to_string();
        while let Some(argument) = arguments.next().map_err(said)? {
            match argument {
                Short('h') | Long("help") => {
                    print(HELP)?;
                    return Ok(None);
                }
                Short('V') | Long("version") => {
                    print(concat!("headstack-capd ", env!("CARGO_PKG_VERSION"), "\n"))?;
                    return Ok(None);
                }
                Long("apply") => asked.apply = Some(true),
                Long("dry-run") => asked.apply = Some(false),
                Long("json") => asked.is_json = true,
                Long("socket") => asked.socket = arguments.value().map_err(said)?.into(),
                Long("log") => {
                    asked.log = arguments.value().and_then(|v| v.string()).map_err(said)?;
                }
                // A word that looks like an option: a negative cap.
                Short(digit) if digit.is_ascii_digit() || digit == '.' => {
                    let rest = arguments.optional_value().unwrap_or_default();
                    let got = format!("-{digit}{}", rest.to_string_lossy());
                    return parse_cap(&got).map(|_| None).map_err(|need| format!("cap: got {got}, need {need}"));
                }
                Value(word) => asked.words.push(word.string().map_err(said)?),
                other => return Err(other.unexpected().to_string()),
            }
        }
        if !["text", "json"].contains(&asked.log.as_str()) {
            return Err(format!("--log: got {:?}, need text or json", asked.log));
        }
        Ok(Some(asked))
    }

    /// Prints on standard output. Nobody may read it.
    fn print(text: &str) -> Result<(), String> {
        let mut out = std::io::stdout();
        let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match done {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e.to_string()),
            _ => Ok(()),
        }
    }

    fn say(text: &str) -> Result<(), HostError> {
        print(text).map_err(HostError::Argument)
    }

    fn logged(asked: &Asked) {
        let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false);
        match asked.log.as_str() {
            "json" => log.json().init(),
            // The journal has times of its own.
            _ if std::env::var_os("JOURNAL_STREAM").is_some() => {
                log.without_time().with_ansi(false).init();
            }
            _ => log.with_ansi(false).init(),
        }
    }

    fn serve(file: &Path, asked: &Asked) -> Result<(), HostError> {
        logged(asked);
        let (stop, reload) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, stop.clone())?;
        }
        signal_hook::flag::register(signal_hook::consts::SIGHUP, reload.clone())?;
        let mut daemon = Daemon::start(file, asked.apply)?;
        if let Some(address) = daemon.metrics() {
            tracing::info!(address, "metrics");
        }
        daemon.run(&stop, &reload)
    }

    fn check(file: &Path) -> Result<(), HostError> {
        let config = Config::open(file)?;
        let said = headstack_host::check::check(&config)?;
        say(&said.text)?;
        match said.problems {
            0 => Ok(()),
            n => Err(HostError::Failed(format!("{n} problems, need none"))),
        }
    }

    fn status(asked: &Asked) -> Result<(), HostError> {
        let status = ask(&asked.socket, &Request::Status)?;
        match asked.is_json {
            true => say(&format!("{status}\n")),
            false => say(&page::table(&status)),
        }
    }

    fn set_cap(group: Option<&str>, cap: &str, socket: &Path) -> Result<(), HostError> {
        let wrong = |need| HostError::Argument(format!("cap: got {cap:?}, need {need}"));
        let cap: Option<Watts> = parse_cap(cap).map_err(wrong)?;
        let group = group.map(str::to_string);
        ask(socket, &Request::Cap { group, cap }).map(drop)
    }

    fn restore(file: &Path, asked: &Asked) -> Result<(), HostError> {
        logged(asked);
        let config = Config::open(file)?;
        let (mut originals, _lock) = open_originals(&config)?;
        match recover(&config, &mut originals)? {
            0 => Ok(()),
            n => Err(HostError::Failed(format!("{n} drives were not restored"))),
        }
    }
}
