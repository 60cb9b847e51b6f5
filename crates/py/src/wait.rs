//! Work on threads of their own, while Python's thread watches for Ctrl-C.

use crate::errors::raise;
use crate::panics::panic_message;
use headstack_engine::io_error_text;
use pyo3::prelude::*;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::sync::Mutex;
use std::thread::Builder;
use std::time::Duration;

/// Time between two looks for Ctrl-C, and between two reports of progress.
const TICK: Duration = Duration::from_millis(100);

/// Waits for a result without holding the interpreter, and calls `tick` now and then; `None` where
/// the thread ended without one.
///
/// # Errors
/// What `tick` says, at once: the thread is then left to itself.
pub fn wait<T: Send>(
    py: Python<'_>,
    result: Receiver<T>,
    mut tick: impl FnMut() -> PyResult<()>,
) -> PyResult<Option<T>> {
    // Shared with the closure that runs without the interpreter.
    let result = Mutex::new(result);
    let next = || match result.lock() {
        Ok(result) => result.recv_timeout(TICK),
        Err(_) => Err(RecvTimeoutError::Disconnected),
    };
    loop {
        match py.detach(next) {
            Ok(result) => return Ok(Some(result)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => tick()?,
        }
    }
}

/// Works on a thread of its own, so that Ctrl-C is seen. The thread is then left to itself, after `stop`.
///
/// # Errors
/// Ctrl-C; no thread.
pub fn on_thread<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    stop: impl FnOnce(),
) -> PyResult<T> {
    let (done, result) = channel();
    let work = move || {
        // Whoever was interrupted waits no more.
        let _ = done.send(work());
    };
    Builder::new().spawn(work).map_err(no_thread)?;
    wait(py, result, || py.check_signals()).inspect_err(|_| stop())?.ok_or_else(no_result)
}

/// The system gave no thread, for want of memory as a rule.
pub fn no_thread(e: std::io::Error) -> PyErr {
    let got = io_error_text(&e);
    let need = "memory for one more thread (ulimit -v, -u)";
    raise("HeadstackError", format!("headstack: got {got}, need {need}"))
}

/// A thread ended without a result: our bug.
pub fn no_result() -> PyErr {
    raise("HeadstackError", panic_message())
}
