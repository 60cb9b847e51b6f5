//! Other threads ask the loop of a live system to do something: a change, a loss of power, a look at its state.

use crate::live::Live;
use rustix::event::{eventfd, EventfdFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;

type Job = Box<dyn FnOnce(&mut Live) + Send>;

/// The loop's side.
pub struct Inbox {
    jobs: Receiver<Job>,
    wake: Arc<OwnedFd>,
}

/// The side of the others.
#[derive(Clone)]
pub struct Handle {
    jobs: Sender<Job>,
    wake: Arc<OwnedFd>,
}

/// Both sides.
///
/// # Errors
/// The system has no more descriptors.
pub fn pair() -> io::Result<(Handle, Inbox)> {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let wake = Arc::new(eventfd(0, flags)?);
    let (sender, receiver) = channel();
    let handle = Handle { jobs: sender, wake: wake.clone() };
    Ok((handle, Inbox { jobs: receiver, wake }))
}

impl Handle {
    /// Has the loop do something with its system, and waits for the answer; `None` if the loop has ended.
    pub fn ask<R: Send + 'static>(&self, job: impl FnOnce(&mut Live) -> R + Send + 'static) -> Option<R> {
        let (answer, answered) = channel();
        let job = Box::new(move |live: &mut Live| {
            // The receiver waits below.
            let _ = answer.send(job(live));
        });
        self.jobs.send(job).ok()?;
        // A full counter wakes the loop as well.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        answered.recv().ok()
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl Inbox {
    /// Does what was asked for.
    pub fn serve(&self, live: &mut Live) {
        let mut count = [0; 8];
        // It is a wake-up and no more: nothing to be read is fine.
        let _ = rustix::io::read(&*self.wake, &mut count);
        for job in self.jobs.try_iter() {
            job(live);
        }
    }
}
