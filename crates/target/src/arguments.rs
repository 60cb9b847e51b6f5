//! Options of a server, each declared once: for the program, for Python, and for the command line of Python.

use crate::emulate::Options;
use crate::iscsi::chap::Secrets;
use crate::iscsi::login::Admission;
use crate::iscsi::server;
use crate::nbd::address::Address;
use crate::nbd::tls::TlsOptions;
use crate::open::{self, Kept};
use crate::power::PowerLosses;
use crate::TargetError;
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;
use Set::{Flag, Number, Path, Paths, Text, Texts, Whole, Wholes};

/// What an option takes, and where that is kept. The text names its value in the help.
#[allow(missing_docs)]
pub enum Set {
    /// Nothing.
    Flag(fn(&mut Arguments) -> &mut bool),
    /// A text; the last one counts.
    Text(&'static str, fn(&mut Arguments) -> &mut Option<String>),
    /// A text each time.
    Texts(&'static str, fn(&mut Arguments) -> &mut Vec<String>),
    Path(&'static str, fn(&mut Arguments) -> &mut Option<PathBuf>),
    /// A path each time.
    Paths(&'static str, fn(&mut Arguments) -> &mut Vec<PathBuf>),
    Number(&'static str, fn(&mut Arguments) -> &mut Option<f64>),
    Whole(&'static str, fn(&mut Arguments) -> &mut Option<u64>),
    /// A whole number each time.
    Wholes(&'static str, fn(&mut Arguments) -> &mut Vec<u64>),
}

/// An option.
pub struct Declared {
    /// Its name, without dashes in front.
    pub name: &'static str,
    /// What it takes.
    pub set: Set,
    /// What it does.
    pub help: &'static str,
}

const fn option(name: &'static str, set: Set, help: &'static str) -> Declared {
    Declared { name, set, help }
}

/// All of them, in the order of the help.
pub const OPTIONS: &[Declared] = &[
    option(
        "nbd",
        Text("ADDRESS", |a| &mut a.nbd),
        "Serve network block devices at unix:PATH, HOST:PORT (port 0 is any free one), systemd, or standard: sockets \
         that systemd passed to this process, else 127.0.0.1:10809. By default standard, if nothing is served over iSCSI.",
    ),
    option(
        "tls",
        Text("MODE", |a| &mut a.tls),
        "NBD with TLS: off, on (if the client asks) or require (default if there are certificates).",
    ),
    option(
        "tls-certificates",
        Path("DIR", |a| &mut a.certificates),
        "Folder of server-cert.pem, server-key.pem and, to verify clients, ca-cert.pem.",
    ),
    option(
        "tls-verify-peer",
        Flag(|a| &mut a.verify_peer),
        "Clients need a certificate of an authority in ca-cert.pem.",
    ),
    option(
        "iscsi",
        Text("ADDRESS", |a| &mut a.iscsi),
        "Serve SCSI disks over iSCSI at HOST:PORT (port 0 is any free one), or standard: 127.0.0.1:3260.",
    ),
    option(
        "iscsi-initiator",
        Texts("NAME", |a| &mut a.initiators),
        "Only initiators of this name may log in; may be repeated.",
    ),
    option(
        "iscsi-chap",
        Path("FILE", |a| &mut a.chap),
        "Initiators must know a secret (CHAP): a file in TOML with name and secret, for mutual authentication also \
         mutual_name and mutual_secret, each secret of 12 characters or more.",
    ),
    option("iscsi-apart", Flag(|a| &mut a.apart), "Each device is a target, instead of a unit of one target (16 drives: LUNs 0 to 15)."),
    option(
        "iscsi-window",
        Whole("N", |a| &mut a.window),
        "Commands that a session may have at once; by default what the drives hold. With more, drives answer TASK SET FULL.",
    ),
    option("allow-remote", Flag(|a| &mut a.remote), "Let other machines connect."),
    option(
        "store",
        Path("FILE", |a| &mut a.store),
        "Keep the data in a sparse file, several devices in FILE-0, FILE-1; a shorter file is made longer, one that another \
         server uses is refused; without it, in memory.",
    ),
    option(
        "speed",
        Number("X", |a| &mut a.speed),
        "Simulated seconds in a second, 1 unless given; 0: as fast as possible, and the times exist only in the record.",
    ),
    option(
        "busy",
        Flag(|a| &mut a.options.live.busy),
        "Watch clock and sockets without sleeping while there is work: more exact, takes a processor.",
    ),
    option(
        "system",
        Text("NAME", |a| &mut a.options.live.system),
        "Of an experiment with several systems, the one to serve: a shelf has a device for each drive, a RAID one.",
    ),
    option(
        "seed",
        Whole("N", |a| &mut a.options.live.seed),
        "Replaces the experiment's seed, from which follow the angles at which the platters start.",
    ),
    option(
        "record",
        Path("FILE.csv", |a| &mut a.options.live.record),
        "Write all requests as a trace, in order of arrival and with their response times (column response_ns); if that is no \
         longer possible, the record ends and the server goes on.",
    ),
    option("control", Path("DIR", |a| &mut a.options.control), "Show files as of /sys/block/DEVICE there (FUSE)."),
    option("metrics", Text("ADDRESS", |a| &mut a.metrics), "Serve metrics for Prometheus, as /metrics of HOST:PORT or unix:PATH."),
    option(
        "torn-writes",
        Flag(|a| &mut a.torn),
        "Power may be lost: what is not on the medium then is lost in part.",
    ),
    option(
        "power-loss-at",
        Texts("TIME", |a| &mut a.at),
        "Lose power at this simulated time, such as \"2 s\"; may be repeated.",
    ),
    option(
        "power-loss-at-write",
        Wholes("N", |a| &mut a.at_write),
        "Lose power when the N-th write or flush, counted from 1, is at the drive; may be repeated.",
    ),
    option("power-loss-seed", Whole("N", |a| &mut a.loss_seed), "Chooses what survives; 0 unless given."),
    option(
        "after-power-loss",
        Text("WORD", |a| &mut a.afterwards),
        "disconnect clients (the default), or continue: what is outstanding fails, and clients go on.",
    ),
    option(
        "drives",
        Paths("DIR", |a| &mut a.options.live.drive_dirs),
        "A folder of drive files, searched before those of $HEADSTACK_DRIVES; may be repeated.",
    ),
    option("exit-with-parent", Flag(|a| &mut a.exits_with_parent), "End with the process that started this one."),
];

/// The arguments so far: options that are taken as they are, and others that [`Arguments::finish`] reads.
#[derive(Debug, Default)]
pub struct Arguments {
    /// Ends with the process that started it.
    pub exits_with_parent: bool,
    options: Options,
    target: Option<String>,
    nbd: Option<String>,
    tls: Option<String>,
    certificates: Option<PathBuf>,
    verify_peer: bool,
    iscsi: Option<String>,
    initiators: Vec<String>,
    chap: Option<PathBuf>,
    apart: bool,
    window: Option<u64>,
    remote: bool,
    store: Option<PathBuf>,
    speed: Option<f64>,
    metrics: Option<String>,
    torn: bool,
    at: Vec<String>,
    at_write: Vec<u64>,
    loss_seed: Option<u64>,
    afterwards: Option<String>,
}

/// What a command line asks for.
#[allow(missing_docs)]
pub enum Asked {
    Help,
    Version,
    /// A server.
    Serve(Box<Arguments>),
}

/// Reads a command line, without the name of the program.
///
/// # Errors
/// An option that nobody knows, a value that does not fit, or more than one drive.
pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Asked, TargetError> {
    let mut arguments = Arguments::default();
    arguments
        .take_all(words)
        .map_err(TargetError::Argument)
        .map(|asked| asked.unwrap_or(Asked::Serve(Box::new(arguments))))
}

impl Arguments {
    /// Takes a command line; what is asked for if that is no server.
    fn take_all(&mut self, words: impl IntoIterator<Item = OsString>) -> Result<Option<Asked>, String> {
        let mut given = lexopt::Parser::from_args(words);
        while let Some(argument) = given.next().map_err(said)? {
            match argument {
                Long("help") | Short('h') => return Ok(Some(Asked::Help)),
                Long("version") | Short('V') => return Ok(Some(Asked::Version)),
                Long("tls-psk") => {
                    let keys = "--tls-psk: got pre-shared keys, which are not supported, need --tls-certificates";
                    return Err(keys.into());
                }
                Long(name) => match OPTIONS.iter().find(|o| o.name == name) {
                    Some(option) => self.take(option, &mut given)?,
                    None => return Err(said(argument.unexpected())),
                },
                Value(target) if self.target.is_none() => self.target = Some(target.string().map_err(said)?),
                other => return Err(said(other.unexpected())),
            }
        }
        Ok(None)
    }

    fn take(&mut self, option: &Declared, given: &mut lexopt::Parser) -> Result<(), String> {
        let name = option.name;
        if let Flag(at) = option.set {
            *at(self) = true;
            return Ok(());
        }
        let value = given.value().map_err(said)?;
        let text = || value.clone().string().map_err(said);
        let whole = || number(name, &text()?, "a whole number");
        match option.set {
            Flag(_) => {}
            Text(_, at) => *at(self) = Some(text()?),
            Texts(_, at) => at(self).push(text()?),
            Path(_, at) => *at(self) = Some(value.into()),
            Paths(_, at) => at(self).push(value.into()),
            Number(_, at) => *at(self) = Some(number(name, &text()?, "a number")?),
            Whole(_, at) => *at(self) = Some(whole()?),
            Wholes(_, at) => at(self).push(whole()?),
        }
        Ok(())
    }

    /// What they ask for.
    ///
    /// # Errors
    /// No drive, or options that do not fit.
    pub fn finish(mut self) -> Result<Options, TargetError> {
        let more = std::env::var_os("HEADSTACK_DRIVES").unwrap_or_default();
        self.options.live.drive_dirs.extend(std::env::split_paths(&more));
        let missing = || TargetError::Argument("got no drive, need DRIVE or EXPERIMENT; see --help".into());
        let (nbd, iscsi) = (self.over_nbd()?, self.over_iscsi()?);
        let (at, at_write, seed) = (&self.at, &self.at_write, self.loss_seed.unwrap_or(0));
        let losses = PowerLosses::read(self.torn, at, at_write, seed, self.afterwards.as_deref())?;
        Ok(Options {
            live: open::Options {
                target: self.target.ok_or_else(missing)?,
                store: self.store.map_or(Kept::Memory, Kept::File),
                speed: self.speed.unwrap_or(1.0),
                losses,
                ..self.options.live
            },
            metrics: self.metrics.map(|at| (at, self.remote)),
            nbd,
            iscsi,
            ..self.options
        })
    }

    fn over_nbd(&self) -> Result<Option<(Address, TlsOptions)>, TargetError> {
        if self.nbd.is_none() && self.iscsi.is_some() {
            return Ok(None);
        }
        let mode = self.tls.as_deref().map(str::parse).transpose()?;
        let tls = TlsOptions { mode, certificates: self.certificates.clone(), verify_peer: self.verify_peer };
        let given = self.nbd.as_deref().filter(|text| *text != STANDARD);
        Ok(Some((Address::parse(given, self.remote)?, tls)))
    }

    fn over_iscsi(&self) -> Result<Option<server::Options>, TargetError> {
        let Some(address) = self.iscsi.clone() else { return Ok(None) };
        let secrets = self.chap.as_deref().map(Secrets::read).transpose().map_err(TargetError::Argument)?;
        if self.window == Some(0) {
            return Err(TargetError::Argument("iscsi-window: got 0, need 1 or more".into()));
        }
        Ok(Some(server::Options {
            address: Some(address).filter(|text| *text != STANDARD),
            remote: self.remote,
            apart: self.apart,
            admission: Admission { initiators: self.initiators.clone(), secrets },
            window: self.window.map(|window| u32::try_from(window).unwrap_or(u32::MAX)),
        }))
    }
}

/// In place of an address: the protocol's own.
const STANDARD: &str = "standard";

fn said(e: lexopt::Error) -> String {
    e.to_string()
}

fn number<T: std::str::FromStr>(name: &str, text: &str, need: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("--{name}: got {text:?}, need {need}"))
}

impl Declared {
    /// What it takes, in a word, whether it may be given again, and what its value is called.
    pub fn form(&self) -> (&'static str, bool, &'static str) {
        match self.set {
            Flag(_) => ("flag", false, ""),
            Text(value, _) => ("text", false, value),
            Texts(value, _) => ("text", true, value),
            Path(value, _) => ("path", false, value),
            Paths(value, _) => ("path", true, value),
            Number(value, _) => ("number", false, value),
            Whole(value, _) => ("whole", false, value),
            Wholes(value, _) => ("whole", true, value),
        }
    }

    /// Its lines of the help.
    fn lines(&self) -> String {
        let head = format!("--{} {}", self.name, self.form().2);
        let (mut lines, mut line) = (String::new(), format!("  {head:<26}"));
        for word in self.help.split(' ') {
            if line.len() + 1 + word.len() > 118 {
                lines += &(line + "\n");
                line = " ".repeat(28);
            }
            line = line + " " + word;
        }
        lines + &line + "\n"
    }
}

/// The options' part of the help.
pub fn help() -> String {
    OPTIONS.iter().map(Declared::lines).collect()
}
