//! A live system with its control directory and its metrics, behind NBD, iSCSI, or both at once.

use crate::control::{self, Handle, Inbox};
use crate::counters::Counters;
use crate::front_end::{self, FrontEnd};
use crate::fuse::Directory;
use crate::iscsi::server::{self, Iscsi};
use crate::live::Live;
use crate::nbd::address::Address;
use crate::nbd::server::Nbd;
use crate::nbd::tls::{Tls, TlsOptions};
use crate::{files, metrics, open, TargetError};
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
    /// Where NBD listens, and whether its connections are encrypted; `None`: it does not.
    pub nbd: Option<(Address, TlsOptions)>,
    /// What is served over iSCSI; `None`: nothing.
    pub iscsi: Option<server::Options>,
}

/// What a server has done.
#[derive(Debug, Clone)]
pub struct Served {
    /// What the system has counted.
    pub counters: Counters,
    /// Clients of NBD and sessions of iSCSI that were served.
    pub clients: u64,
}

/// A server that listens already.
pub struct Emulation {
    /// The system.
    pub live: Live,
    nbd: Option<Nbd>,
    iscsi: Option<Iscsi>,
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
    pub fn start(options: &Options, stop: Arc<AtomicBool>) -> Result<Emulation, TargetError> {
        let tls = options.nbd.as_ref().map(|(_, tls)| Tls::open(tls)).transpose()?;
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
                PageError::Address(text) => TargetError::Argument(text),
                PageError::System(e) => TargetError::System(e),
            })
        };
        let metrics = options.metrics.as_ref().map(serve).transpose()?;
        let nbd = match (&options.nbd, tls) {
            (Some((address, _)), Some(tls)) => Some(Nbd::new(address.listen()?, tls)),
            _ => None,
        };
        let iscsi = options.iscsi.as_ref().map(|options| Iscsi::open(options, &mut live)).transpose()?;
        Ok(Emulation { live, nbd, iscsi, handle, inbox, directory, metrics, stop })
    }

    /// What clients of NBD are given.
    pub fn uri(&self) -> Option<String> {
        self.nbd.as_ref().map(Nbd::uri)
    }

    /// What initiators are given, for each device.
    pub fn urls(&self) -> Vec<String> {
        self.iscsi.as_ref().map_or(Vec::new(), Iscsi::urls)
    }

    /// What other threads ask the server with.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Where metrics are served.
    pub fn metrics(&self) -> Option<&str> {
        self.metrics.as_ref().map(|page| &*page.address)
    }

    /// Serves until the flag is set that it was started with.
    ///
    /// # Errors
    /// As [`front_end::serve`].
    pub fn serve(mut self) -> Result<Served, TargetError> {
        let mut fronts: Vec<&mut dyn FrontEnd> = Vec::new();
        fronts.extend(self.nbd.as_mut().map(|nbd| nbd as &mut dyn FrontEnd));
        fronts.extend(self.iscsi.as_mut().map(|iscsi| iscsi as &mut dyn FrontEnd));
        let counted = front_end::serve(self.live, &mut fronts, &self.inbox, &self.stop);
        // Who waits for an answer gets none, and both can end.
        drop(self.inbox);
        drop((self.directory, self.metrics));
        let sessions = self.iscsi.as_ref().map_or(0, |iscsi| iscsi.sessions);
        Ok(Served { counters: counted?, clients: self.nbd.as_ref().map_or(0, |nbd| nbd.served) + sessions })
    }
}
