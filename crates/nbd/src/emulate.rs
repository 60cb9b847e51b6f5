//! A live system behind NBD: what is emulated, and its address.

use crate::address::{Address, Listener};
use crate::server::{serve, Served};
use crate::tls::{Tls, TlsOptions};
use crate::ServeError;
use headstack_live::live::{Device, Live};
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
}

/// A server that listens already.
pub struct Emulation {
    live: Live,
    listeners: Vec<Listener>,
    tls: Tls,
    stop: Arc<AtomicBool>,
}

impl Emulation {
    /// Builds the devices and begins to listen.
    ///
    /// # Errors
    /// A drive, experiment, store or address that does not fit.
    pub fn start(options: &Options, stop: Arc<AtomicBool>) -> Result<Emulation, ServeError> {
        let tls = Tls::open(&options.tls)?;
        let live = Live::open(&options.live)?;
        let listeners = options.address.listen()?;
        Ok(Emulation {
            live,
            listeners,
            tls,
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

    /// Serves until the flag is set that it was started with.
    ///
    /// # Errors
    /// As [`serve`].
    pub fn serve(self) -> Result<Served, ServeError> {
        serve(self.live, self.listeners, self.tls, &self.stop)
    }
}
