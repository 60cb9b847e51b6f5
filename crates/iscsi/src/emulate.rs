//! A live system behind iSCSI, NBD, or both at once.

use crate::server::{self, Iscsi};
use crate::ServeError;
use headstack_live::control::Handle;
use headstack_live::counters::Counters;
use headstack_live::emulate;
use headstack_live::front_end::FrontEnd;
use headstack_live::live::Device;
use headstack_nbd::address::Address;
use headstack_nbd::server::Nbd;
use headstack_nbd::tls::{Tls, TlsOptions};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// What to emulate, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// The system.
    pub system: emulate::Options,
    /// Where NBD listens, and whether its connections are encrypted; `None`: it does not.
    pub nbd: Option<(Address, TlsOptions)>,
    /// What is served over iSCSI; `None`: nothing.
    pub iscsi: Option<server::Options>,
}

/// A server that listens already.
pub struct Emulation {
    system: emulate::Emulation,
    nbd: Option<Nbd>,
    iscsi: Option<Iscsi>,
}

/// What a server has done.
#[derive(Debug, Clone)]
pub struct Served {
    /// What the system has counted.
    pub counters: Counters,
    /// Clients of NBD and sessions of iSCSI that were served.
    pub clients: u64,
}

impl Emulation {
    /// Builds the devices and begins to listen.
    ///
    /// # Errors
    /// A drive, experiment, store, folder or address that does not fit.
    pub fn start(options: &Options, stop: Arc<AtomicBool>) -> Result<Emulation, ServeError> {
        let tls = (options.nbd.as_ref()).map(|(_, tls)| Tls::open(tls));
        let tls = tls.transpose()?;
        let mut system = emulate::Emulation::start(&options.system, stop)?;
        let nbd = match (&options.nbd, tls) {
            (Some((address, _)), Some(tls)) => Some(Nbd::new(address.listen()?, tls)),
            _ => None,
        };
        let open = |options| Iscsi::open(options, system.live());
        let iscsi = options.iscsi.as_ref().map(open).transpose()?;
        Ok(Emulation { system, nbd, iscsi })
    }

    /// What clients of NBD are given.
    pub fn uri(&self) -> Option<String> {
        self.nbd.as_ref().map(Nbd::uri)
    }

    /// What initiators are given, for each device.
    pub fn urls(&self) -> Vec<String> {
        self.iscsi.as_ref().map_or(Vec::new(), Iscsi::urls)
    }

    /// The devices.
    pub fn devices(&self) -> &[Device] {
        self.system.devices()
    }

    /// What other threads ask the server with.
    pub fn handle(&self) -> Handle {
        self.system.handle()
    }

    /// Where metrics are served.
    pub fn metrics(&self) -> Option<&str> {
        self.system.metrics()
    }

    /// Serves until the flag is set that it was started with.
    ///
    /// # Errors
    /// The system has no more sockets, or the record cannot be written.
    pub fn serve(mut self) -> Result<Served, ServeError> {
        let mut fronts: Vec<&mut dyn FrontEnd> = Vec::new();
        if let Some(nbd) = &mut self.nbd {
            fronts.push(nbd);
        }
        if let Some(iscsi) = &mut self.iscsi {
            fronts.push(iscsi);
        }
        let counters = self.system.serve(&mut fronts)?;
        let nbd = self.nbd.as_ref().map_or(0, Nbd::served);
        let iscsi = self.iscsi.as_ref().map_or(0, Iscsi::sessions);
        Ok(Served { counters, clients: nbd + iscsi })
    }
}
