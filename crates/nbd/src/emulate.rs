//! A live system behind NBD: what is emulated, and its address.

use crate::address::{Address, Listener};
use crate::server::{serve, Served};
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
}

/// A server that listens already.
pub struct Emulation {
    live: Live,
    listener: Listener,
    stop: Arc<AtomicBool>,
}

impl Emulation {
    /// Builds the devices and begins to listen.
    ///
    /// # Errors
    /// A drive, experiment, store or address that does not fit.
    pub fn start(options: &Options, stop: Arc<AtomicBool>) -> Result<Emulation, ServeError> {
        let live = Live::open(&options.live)?;
        let listener = options.address.listen()?;
        Ok(Emulation {
            live,
            listener,
            stop,
        })
    }

    /// What clients are given.
    pub fn uri(&self) -> String {
        self.listener.uri()
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
        serve(self.live, self.listener, &self.stop)
    }
}
