//! What programs that serve a live system have in common: arguments, signals, what they print, how they exit.

use crate::arguments::{self, summary, Arguments};
use crate::counters::Counters;
use crate::process::become_server;
use crate::LiveError;
use lexopt::prelude::*;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// A program, before it has read its own arguments.
pub trait Program: Sized {
    /// Its name.
    const NAME: &'static str;
    /// Help up to its own options.
    const HELP: &'static str;
    /// Help after the options that all programs have.
    const MORE_HELP: &'static str;
    /// Why it cannot serve.
    type Error: Display + From<LiveError>;

    /// Whether what was asked for is wrong. If not, the system or a file refused it.
    fn is_input(error: &Self::Error) -> bool;

    /// Takes one of its own options, `name` without dashes; false if it has none of this name.
    ///
    /// # Errors
    /// A value that does not fit.
    fn take(&mut self, name: &str, given: &mut lexopt::Parser) -> Result<bool, String>;

    /// Serves until `stop` is set, after it has said what clients are given. Returns what was counted, and the number
    /// of clients.
    ///
    /// # Errors
    /// What was asked for is wrong, or the system refuses.
    fn serve(self, shared: Arguments, stop: Arc<AtomicBool>) -> Result<(Counters, u64), Self::Error>;
}

/// Reads the arguments of this process, and serves. SIGINT and SIGTERM end that. Exit codes: 0 ended as asked for, 1 the
/// system or a file failed, 2 the input is wrong.
pub fn run<P: Program>(program: P) -> ExitCode {
    match serve(program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{}: {e}", P::NAME);
            ExitCode::from(if P::is_input(&e) { 2 } else { 1 })
        }
    }
}

fn serve<P: Program>(mut program: P) -> Result<(), P::Error> {
    let shared = match read(&mut program).map_err(LiveError::Argument)? {
        Asked::Text(text) => return Ok(say(&text)?),
        Asked::Serve(shared) => *shared,
    };
    become_server(shared.exits_with_parent).map_err(LiveError::System)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).map_err(LiveError::System)?;
    }
    let (counters, clients) = program.serve(shared, stop)?;
    eprintln!("{}", summary(&counters, clients));
    Ok(())
}

enum Asked {
    /// Help or the version.
    Text(String),
    Serve(Box<Arguments>),
}

fn read<P: Program>(program: &mut P) -> Result<Asked, String> {
    let (mut shared, mut given) = (Arguments::new(), lexopt::Parser::from_env());
    while let Some(argument) = given.next().map_err(|e| e.to_string())? {
        match argument {
            Long("help") | Short('h') => {
                let text = format!("{}{}{}", P::HELP, arguments::HELP, P::MORE_HELP);
                return Ok(Asked::Text(text));
            }
            Long("version") | Short('V') => {
                let text = format!("{} {}\n", P::NAME, env!("CARGO_PKG_VERSION"));
                return Ok(Asked::Text(text));
            }
            Long(name) => {
                let name = name.to_string();
                if !program.take(&name, &mut given)? {
                    shared.take(&name, &mut given)?;
                }
            }
            Value(target) => shared.take_target(target)?,
            other => return Err(other.unexpected().to_string()),
        }
    }
    Ok(Asked::Serve(Box::new(shared)))
}

/// Prints on standard output. Nobody may read it: a program that starts a server for itself does not.
///
/// # Errors
/// It cannot be written, and that is not because nobody reads it.
pub fn say(text: &str) -> Result<(), LiveError> {
    let mut out = std::io::stdout();
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match done {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(LiveError::System(e)),
        _ => Ok(()),
    }
}
