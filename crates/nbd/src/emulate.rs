//! A live system behind NBD: what is emulated, its address, its control directory and its metrics.

use crate::address::{Address, Listener};
use crate::server::{serve, Served};
use crate::tls::{Tls, TlsOptions};
use crate::ServeError;
use headstack_live::control::{self, Handle, Inbox};
use headstack_live::fuse::Directory;
use headstack_live::live::{Device, Live};
use headstack_live::{files, LiveError};
use headstack_metrics::{Page, PageError};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// What to emulate, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// The system.
    pub live: headstack_live::open::Options,
    /// Where to listen.
    pub address: Address,
    /// Whether connections are encrypted.
    pub tls: TlsOptions,
    /// A folder for the control directory.
    pub control: Option<PathBuf>,
    /// Where metrics are served, and whether other machines may ask for them.
    pub metrics: Option<(String, bool)>,
}

/// A server that listens already.
pub struct Emulation {
    live: Live,
    listeners: Vec<Listener>,
    tls: Tls,
    handle: Handle,
    inbox: Inbox,
    directory: Option<Directory>,
    metrics: Option<Page>,
    stop: Arc<AtomicBool>,
}

impl Emulation {
    /// Builds the devices and begins to listen. The control directory and the metrics are there, and answer once
    /// [`Emulation::serve`] runs.
    ///
    /// # Errors
    /// A drive, experiment, store, folder or address that does not fit.
    pub fn start(options: &Options, stop: Arc<AtomicBool>) -> Result<Emulation, ServeError> {
        let tls = Tls::open(&options.tls)?;
        let mut live = Live::open(&options.live)?;
        let listeners = options.address.listen()?;
        let (handle, inbox) = control::pair().map_err(LiveError::System)?;
        let mut mount = |folder: &PathBuf| {
            let files = files::all(&mut live);
            Directory::mount(folder, handle.clone(), files)
        };
        let directory = options.control.as_ref().map(&mut mount).transpose()?;
        let serve = |(at, remote): &(String, bool)| {
            let handle = handle.clone();
            let render = move || handle.ask(headstack_live::metrics::text);
            Page::serve(at, *remote, Box::new(render)).map_err(|e| match e {
                PageError::Address(text) => LiveError::Argument(text),
                PageError::System(e) => LiveError::System(e),
            })
        };
        let metrics = options.metrics.as_ref().map(serve).transpose()?;
        Ok(Emulation {
            live,
            listeners,
            tls,
            handle,
            inbox,
            directory,
            metrics,
            stop,
        })
    }

    /// What clients are given.
    pub fn uri(&self) -> String {
        self.listeners[0].uri(self.tls.mode)
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

    /// Serves until the flag is set that it was started with.
    ///
    /// # Errors
    /// As [`serve`].
    pub fn serve(self) -> Result<Served, ServeError> {
        let served = serve(self.live, self.listeners, self.tls, &self.inbox, &self.stop);
        // Who waits for an answer gets none, and both can end.
        drop(self.inbox);
        drop((self.directory, self.metrics));
        served
    }
}
