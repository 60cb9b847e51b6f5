//! A drive that is emulated in a thread of its own.

use crate::errors::{config, raise};
use crate::wait::{no_result, no_thread};
use headstack_array::change::Change;
use headstack_iscsi::chap::Secrets;
use headstack_iscsi::emulate::{Emulation, Options, Served};
use headstack_iscsi::{server, ServeError};
use headstack_live::control::Handle;
use headstack_live::emulate as system_of;
use headstack_live::live::Live;
use headstack_live::metrics;
use headstack_live::open::{self, Kept};
use headstack_live::power::PowerLosses;
use headstack_live::process;
use headstack_live::LiveError;
use headstack_nbd::address::Address;
use headstack_nbd::tls::TlsOptions;
use headstack_schema::Parameter;
use pyo3::prelude::*;
use serde_json::{json, Value};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, Builder};
use std::time::Duration;

/// Time between two looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(20);

/// A server of a simulated drive.
#[pyclass(frozen)]
pub struct Emulated {
    /// What clients of NBD are given, if it is served.
    #[pyo3(get)]
    uri: Option<String>,
    /// What initiators of iSCSI are given, for each device.
    #[pyo3(get)]
    urls: Vec<String>,
    /// Name, description and size in bytes of each device.
    #[pyo3(get)]
    exports: Vec<(String, String, u64)>,
    /// Where metrics are served.
    #[pyo3(get)]
    metrics: Option<String>,
    handle: Handle,
    stop: Arc<AtomicBool>,
    /// What the server has done; `None` once that was taken.
    served: Mutex<Option<Receiver<Result<Served, ServeError>>>>,
}

fn raised(e: ServeError) -> PyErr {
    match e {
        ServeError::Live(LiveError::Input(e)) => config(e),
        e if e.is_input() => raise("ConfigError", e),
        e => raise("HeadstackError", e),
    }
}

/// Whether power may be lost, simulated times, numbers of writes, seed, what clients notice.
type Losses = (bool, Vec<String>, Vec<u64>, u64, String);

/// Address, names of initiators, file of secrets, a target for each device, commands of a session.
type Iscsi = (String, Vec<String>, Option<PathBuf>, bool, Option<u32>);

/// What is served over iSCSI.
fn over_iscsi(of: Iscsi, remote: bool) -> PyResult<server::Options> {
    let (address, initiators, chap, apart, window) = of;
    let secrets = chap.as_deref().map(Secrets::read).transpose();
    let secrets = secrets.map_err(|e| raise("ConfigError", e))?;
    Ok(server::Options {
        address: Some(address),
        remote,
        apart,
        admission: headstack_iscsi::login::Admission { initiators, secrets },
        window,
    })
}

/// Starts a server; it ends with [`Emulated::stop`]. `nbd` is an address, `None` inside it the standard one; `None` itself
/// serves no NBD.
#[pyfunction]
#[pyo3(signature = (target, drive_dirs, nbd, remote, store, speed, busy, system, seed, record, tls, certificates, verify_peer, control, metrics, losses, iscsi))]
#[allow(clippy::too_many_arguments)]
pub fn emulate(
    target: String,
    drive_dirs: Vec<PathBuf>,
    nbd: Option<(Option<String>,)>,
    remote: bool,
    store: Option<PathBuf>,
    speed: f64,
    busy: bool,
    system: Option<String>,
    seed: Option<u64>,
    record: Option<PathBuf>,
    tls: Option<&str>,
    certificates: Option<PathBuf>,
    verify_peer: bool,
    control: Option<PathBuf>,
    metrics: Option<String>,
    losses: Losses,
    iscsi: Option<Iscsi>,
) -> PyResult<Emulated> {
    let (torn, at, at_write, loss_seed, afterwards) = losses;
    let losses = PowerLosses::read(torn, &at, &at_write, loss_seed, &afterwards);
    let nbd_raised = |e: headstack_nbd::ServeError| raised(e.into());
    let tls = TlsOptions { mode: tls.map(str::parse).transpose().map_err(nbd_raised)?, certificates, verify_peer };
    let address = nbd.map(|(text,)| Address::parse(text.as_deref(), remote));
    let address = address.transpose().map_err(nbd_raised)?;
    let options = Options {
        system: system_of::Options {
            live: open::Options {
                target,
                system,
                drive_dirs,
                seed,
                store: store.map_or(Kept::Memory, Kept::File),
                speed,
                busy,
                record,
                losses: losses.map_err(|e| raised(e.into()))?,
            },
            control,
            metrics: metrics.map(|at| (at, remote)),
        },
        nbd: address.map(|address| (address, tls)),
        iscsi: iscsi.map(|of| over_iscsi(of, remote)).transpose()?,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let emulation = Emulation::start(&options, stop.clone()).map_err(raised)?;
    let exports = emulation.devices().iter();
    let exports = exports.map(|e| (e.name.clone(), e.description.clone(), e.bytes));
    let (uri, urls, exports) = (emulation.uri(), emulation.urls(), exports.collect());
    let (handle, metrics) = (emulation.handle(), emulation.metrics().map(String::from));
    let (done, served) = channel();
    let serve = move || {
        // The receiver may be gone: nobody asks what was done.
        let _ = done.send(emulation.serve());
    };
    Builder::new().spawn(serve).map_err(no_thread)?;
    Ok(Emulated { uri, urls, exports, metrics, handle, stop, served: Mutex::new(Some(served)) })
}

/// Prepares this process to be a server and nothing else: more open files, and if asked an end with the parent.
#[pyfunction]
pub fn become_server(ends_with_parent: bool) -> PyResult<()> {
    Ok(process::become_server(ends_with_parent)?)
}

#[pymethods]
impl Emulated {
    /// Lets the server end once it has answered what is outstanding.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Has the server change its system; `change` is an entry of `[[system.change]]` as JSON.
    fn change(&self, py: Python<'_>, change: &str) -> PyResult<()> {
        let table: Value = serde_json::from_str(change).map_err(|e| raise("ConfigError", e))?;
        let change = Change::read(&table).map_err(config)?;
        let handle = self.handle.clone();
        let done = py.detach(move || handle.ask(move |live| live.change(change)));
        done.ok_or_else(ended)?.map_err(config)
    }

    /// Has the server lose its power; returns how many sectors that were not on the medium were kept, and lost.
    fn lose_power(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let handle = self.handle.clone();
        let done = py.detach(move || handle.ask(Live::lose_power));
        let torn = done.ok_or_else(ended)?.map_err(|e| raised(e.into()))?;
        Ok((torn.kept, torn.lost))
    }

    /// The page of metrics.
    fn read_metrics(&self, py: Python<'_>) -> PyResult<String> {
        let handle = self.handle.clone();
        let page = py.detach(move || handle.ask(metrics::text));
        page.ok_or_else(ended)
    }

    /// Waits for the end and returns what was done as JSON; `None` if that was asked before. Ctrl-C is raised, and
    /// the server goes on.
    fn wait(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let Some(served) = self.served.lock().ok().and_then(|mut served| served.take()) else {
            return Ok(None);
        };
        let found = loop {
            match served.try_recv() {
                Ok(found) => break found,
                Err(TryRecvError::Disconnected) => return Err(no_result()),
                Err(TryRecvError::Empty) => py.detach(|| sleep(TICK)),
            }
            if let Err(e) = py.check_signals() {
                // It is kept for another call.
                if let Ok(mut slot) = self.served.lock() {
                    *slot = Some(served);
                }
                return Err(e);
            }
        };
        Ok(Some(document(&found.map_err(raised)?)))
    }
}

/// What a server did, as JSON.
fn document(served: &Served) -> String {
    let counters = &served.counters;
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let late = |q: f64| seconds(counters.lateness_ns.value_at_quantile(q));
    json!({
        "requests": counters.requests(),
        "clients": served.clients,
        "lateness_s": {
            "p50": late(0.5),
            "p99": late(0.99),
            "p999": late(0.999),
            "max": seconds(counters.lateness_ns.max()),
        },
        "late_ratio": counters.late_share(),
        "warning": counters.warning(),
        "errors": counters.errors,
        "power_losses": counters.power_losses,
        "unwritten_sectors": { "kept": counters.torn.kept, "lost": counters.torn.lost },
    })
    .to_string()
}

fn ended() -> PyErr {
    raise("HeadstackError", "emulate: got a server that has ended, need one that runs")
}
