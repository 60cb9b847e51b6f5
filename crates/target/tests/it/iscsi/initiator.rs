//! The server in a thread, for initiators of the test.

use headstack_target::control::Handle;
use headstack_target::emulate::{self, Emulation, Options};
use headstack_target::iscsi::server;
use headstack_target::open;
pub use headstack_testkit::iscsi::*;
use headstack_testkit::rig::{soon, Served};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use tempfile::NamedTempFile;

pub const SMALL: &str = "ibm-18es";

/// A server in a thread.
pub struct Server {
    pub urls: Vec<String>,
    pub handle: Handle,
    thread: Served<emulate::Served>,
    /// Its description, which is read again when power was lost.
    _file: Option<NamedTempFile>,
}

pub fn options(target: &str, iscsi: server::Options) -> Options {
    let drives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drives");
    let live =
        open::Options { target: target.into(), drive_dirs: vec![drives], seed: Some(1), ..open::Options::default() };
    let iscsi = server::Options { address: Some("127.0.0.1:0".into()), ..iscsi };
    Options { live, iscsi: Some(iscsi), ..Options::default() }
}

/// A description in a file of its own.
pub fn toml(text: &str) -> NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// The path of a file.
pub fn path(file: &NamedTempFile) -> String {
    file.path().display().to_string()
}

/// An experiment of several drives.
pub fn shelf(count: u32) -> NamedTempFile {
    toml(&format!(
        "[workload]\nsynthetic = {{ n_requests = 1, rate = \"1/s\" }}\n\
         [[system]]\nname = \"shelf\"\ndrive = \"{SMALL}\"\ncount = {count}\n"
    ))
}

impl Server {
    pub fn start() -> Server {
        Server::with(&options(SMALL, server::Options::default()))
    }

    pub fn with(options: &Options) -> Server {
        let stop = Arc::new(AtomicBool::new(false));
        let emulation = Emulation::start(options, stop.clone()).unwrap();
        let (urls, handle) = (emulation.urls(), emulation.handle());
        let thread = Served::start(stop, || emulation.serve().unwrap());
        Server { urls, handle, thread, _file: None }
    }

    /// What the file describes, with these changes.
    pub fn of(file: NamedTempFile, change: impl FnOnce(&mut Options)) -> Server {
        let mut options = options(&path(&file), server::Options::default());
        change(&mut options);
        Server { _file: Some(file), ..Server::with(&options) }
    }

    /// Host and port, and the name of the first target.
    pub fn portal(&self) -> (&str, &str) {
        parts(&self.urls[0])
    }

    pub fn connect(&self) -> TcpStream {
        connect(self.portal().0)
    }

    /// A session with the first target; `isid` makes its port different from others.
    pub fn session(&self, isid: u8, more: &[&str]) -> Initiator {
        let (portal, target) = self.portal();
        Initiator::start(portal, target, isid, more)
    }

    /// Requests that drives have not ended.
    pub fn outstanding(&self) -> usize {
        self.handle.ask(|live| live.outstanding()).unwrap()
    }

    /// Waits until drives have so many requests.
    pub fn until_outstanding(&self, n: usize) {
        soon("requests end", || (self.outstanding() == n).then_some(()));
    }

    /// Ends the server, and returns what it did.
    pub fn end(self) -> emulate::Served {
        self.thread.end()
    }
}
