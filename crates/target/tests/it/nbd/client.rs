//! The server in a thread, for clients of the test.

use headstack_target::control::Handle;
use headstack_target::emulate::{self, Emulation, Options};
use headstack_target::nbd::address::Address;
use headstack_target::nbd::tls::TlsOptions;
use headstack_target::open;
pub use headstack_testkit::nbd::*;
use headstack_testkit::rig::Served;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use tempfile::TempDir;

/// The folder of the drives.
pub const DRIVES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives");

/// A server in a thread; it ends with the test.
pub struct Server {
    pub bytes: u64,
    handle: Handle,
    metrics: Option<String>,
    thread: Served<emulate::Served>,
    pub folder: TempDir,
}

/// A folder of its own for a test.
pub fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub fn options(folder: &TempDir, target: &str, speed: f64) -> Options {
    let live = open::Options {
        target: target.into(),
        drive_dirs: vec![DRIVES.into()],
        seed: Some(1),
        speed,
        record: Some(folder.path().join("record.csv")),
        ..open::Options::default()
    };
    let nbd = (Address::Unix(folder.path().join("socket")), TlsOptions::default());
    Options { live, nbd: Some(nbd), ..Options::default() }
}

impl Server {
    pub fn start(target: &str, speed: f64) -> Server {
        let folder = folder();
        let options = options(&folder, target, speed);
        Server::with(folder, &options)
    }

    pub fn with(folder: TempDir, options: &Options) -> Server {
        let stop = Arc::new(AtomicBool::new(false));
        let emulation = Emulation::start(options, stop.clone()).unwrap();
        let (bytes, handle) = (emulation.live.devices()[0].bytes, emulation.handle());
        let metrics = emulation.metrics().map(String::from);
        let thread = Served::start(stop, || emulation.serve().unwrap());
        Server { folder, bytes, handle, metrics, thread }
    }

    /// What asks the server for changes.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Where metrics are served.
    pub fn metrics(&self) -> Option<&str> {
        self.metrics.as_deref()
    }

    pub fn connect(&self) -> UnixStream {
        connect(&self.path("socket"))
    }

    /// A file of its folder.
    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// A client of the first export.
    pub fn client(&self, structured: bool) -> Client {
        Client::new(self.greeted(), structured)
    }

    /// A client that has sent its flags.
    pub fn greeted(&self) -> UnixStream {
        greet(self.connect())
    }

    /// Ends the server, and returns what it did.
    pub fn end(self) -> emulate::Served {
        self.end_and(|_| ())
    }

    /// The same; `look` may look at its folder before that is removed.
    pub fn end_and(self, look: impl FnOnce(&Path)) -> emulate::Served {
        let served = self.thread.end();
        look(self.folder.path());
        served
    }
}
