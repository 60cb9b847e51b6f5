//! What a server sets for its whole process. Programs call this; a library inside another program does not.

use rustix::process::{getppid, getrlimit, set_parent_process_death_signal, setrlimit};
use rustix::process::{Resource, Rlimit, Signal};
use std::io;

/// Lets the system send SIGTERM when the parent ends (the thread of it that started this process).
///
/// # Errors
/// The parent has ended already, or the system refuses.
pub fn end_with_parent() -> io::Result<()> {
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
