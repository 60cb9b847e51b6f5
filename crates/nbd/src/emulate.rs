//! A live system behind NBD: what is emulated, its address, its control directory and its metrics.

use crate::address::Address;
use crate::server::{Nbd, Served};
use crate::tls::{Tls, TlsOptions};
use crate::ServeError;
use headstack_live::control::Handle;
use headstack_live::emulate;
use headstack_live::live::Device;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// What to emulate, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// The system.
    pub system: emulate::Options,
    /// Where to listen.
    pub address: Address,
    /// Whether connections are encrypted.
    pub tls: TlsOptions,
}

/// A server that listens already.
pub struct Emulation {
    system: emulate::Emulation,
    nbd: Nbd,
}

impl Emulation {
    /// Builds the devices and begins to listen.
    ///
    /// # Errors
    /// A drive, experiment, store, folder or address that does not fit.
    pub fn start(options: &Options, stop: Arc<AtomicBool>) -> Result<Emulation, ServeError> {
        let tls = Tls::open(&options.tls)?;
        let system = emulate::Emulation::start(&options.system, stop)?;
        let nbd = Nbd::new(options.address.listen()?, tls);
        Ok(Emulation { system, nbd })
    }

    /// What clients are given.
    pub fn uri(&self) -> String {
        self.nbd.uri()
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
        let counters = self.system.serve(&mut [&mut self.nbd])?;
        Ok(Served { counters, clients: self.nbd.served() })
    }
}
