//! What a server sets for its whole process. Programs call this; a library inside another program does not.

use rustix::process::{getppid, getrlimit, set_parent_process_death_signal, setrlimit};
use rustix::process::{Resource, Rlimit, Signal};
use std::io;

/// Makes this process a server, which ends with its parent if `exits_with_parent` says so, or if the parent has passed
/// it sockets: a client that starts a server for itself may end without a word to it. systemd outlives its services.
///
/// # Errors
/// The parent has ended already, or the system refuses.
pub fn become_server(exits_with_parent: bool) -> io::Result<()> {
    allow_sockets();
    match exits_with_parent || is_activated() {
        true => end_with_parent(),
        false => Ok(()),
    }
}

/// Whether who started this process passed it sockets that listen (systemd's `LISTEN_FDS`).
pub fn is_activated() -> bool {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    number("LISTEN_PID") == Some(std::process::id()) && number("LISTEN_FDS").is_some_and(|n| n > 0)
}

/// Lets the system send SIGTERM when the parent ends (the thread of it that started this process).
fn end_with_parent() -> io::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have ended in between; then another process is the parent.
    match getppid() == parent {
        true => Ok(()),
        false => Err(io::Error::other("the parent has ended")),
    }
}

/// Raises the limit of open files as far as this process may, because each client needs one.
pub fn allow_sockets() {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum;
    // Without it fewer clients are served.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
}
