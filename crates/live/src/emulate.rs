//! A live system with its control directory and its metrics, ready for front ends.

use crate::control::{self, Handle, Inbox};
use crate::counters::Counters;
use crate::front_end::{self, FrontEnd};
use crate::fuse::Directory;
use crate::live::{Device, Live};
use crate::{files, metrics, open, LiveError};
use headstack_metrics::{Page, PageError};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// What to emulate.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The system.
    pub live: open::Options,
    /// A folder for the control directory.
    pub control: Option<PathBuf>,
    /// Where metrics are served, and whether other machines may ask for them.
    pub metrics: Option<(String, bool)>,
}

/// A system that can be served.
pub struct Emulation {
    live: Live,
    handle: Handle,
    inbox: Inbox,
    directory: Option<Directory>,
    metrics: Option<Page>,
    stop: Arc<AtomicBool>,
}

impl Emulation {
    /// Builds the devices. The control directory and the metrics are there, and answer once [`Emulation::serve`] runs.
    ///
    /// # Errors
    /// A drive, experiment, store, folder or address that does not fit.
    pub fn start(options: &Options, stop: Arc<AtomicBool>) -> Result<Emulation, LiveError> {
        let mut live = Live::open(&options.live)?;
        let (handle, inbox) = control::pair()?;
        let mut mount = |folder: &PathBuf| {
            let files = files::all(&mut live);
            Directory::mount(folder, handle.clone(), files)
        };
        let directory = options.control.as_ref().map(&mut mount).transpose()?;
        let serve = |(at, remote): &(String, bool)| {
            let handle = handle.clone();
            let render = move || handle.ask(metrics::text);
            Page::serve(at, *remote, Box::new(render)).map_err(|e| match e {
                PageError::Address(text) => LiveError::Argument(text),
                PageError::System(e) => LiveError::System(e),
            })
        };
        let metrics = options.metrics.as_ref().map(serve).transpose()?;
        Ok(Emulation { live, handle, inbox, directory, metrics, stop })
    }

    /// The system, before it is served.
    pub fn live(&mut self) -> &mut Live {
        &mut self.live
    }

    /// The devices.
    pub fn devices(&self) -> &[Device] {
        self.live.devices()
    }

    /// What other threads ask the server with.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Where metrics are served.
    pub fn metrics(&self) -> Option<&str> {
        self.metrics.as_ref().map(Page::address)
    }

    /// Serves until the flag is set that it was started with; returns what was counted.
    ///
    /// # Errors
    /// As [`front_end::serve`].
    pub fn serve(self, fronts: &mut [&mut dyn FrontEnd]) -> Result<Counters, LiveError> {
        let counted = front_end::serve(self.live, fronts, &self.inbox, &self.stop);
        // Who waits for an answer gets none, and both can end.
        drop(self.inbox);
        drop((self.directory, self.metrics));
        counted
    }
}
