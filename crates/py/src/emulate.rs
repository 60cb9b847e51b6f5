//! A drive that is emulated in a thread of its own.

use crate::errors::{config, raise};
use crate::wait::{no_result, no_thread};
use headstack_schema::Parameter;
use headstack_sim::change::Change;
use headstack_target::arguments::{self, Asked, Declared, OPTIONS};
use headstack_target::control::Handle;
use headstack_target::emulate::{Emulation, Served};
use headstack_target::live::Live;
use headstack_target::{metrics, process, TargetError};
use pyo3::prelude::*;
use serde_json::{json, Value};
use std::ffi::OsString;
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
    served: Mutex<Option<Receiver<Result<Served, TargetError>>>>,
}

fn raised(e: TargetError) -> PyErr {
    match e {
        TargetError::Input(e) => config(e),
        e if e.is_input() => raise("ConfigError", e),
        e => raise("HeadstackError", e),
    }
}

/// The options of servers but those that Python has in another form, in the order of the help: name without dashes, kind
/// (`flag`, `text`, `path`, `number` or `whole`), whether it may be given again, the name of its value, and what it does.
#[pyfunction]
pub fn server_options() -> Vec<(&'static str, &'static str, bool, &'static str, &'static str)> {
    let each = |o: &'static Declared| {
        let (kind, again, value) = o.form();
        (o.name, kind, again, value, o.help)
    };
    let others = ["nbd", "iscsi", "drives"];
    OPTIONS.iter().filter(|o| !others.contains(&o.name)).map(each).collect()
}

/// Starts a server, with the arguments of `headstack-target`; it ends with [`Emulated::stop`].
#[pyfunction]
pub fn emulate(arguments: Vec<OsString>) -> PyResult<Emulated> {
    let Asked::Serve(asked) = arguments::read(arguments).map_err(raised)? else {
        return Err(raise("ConfigError", "emulate: got a question for help, need a drive"));
    };
    if asked.exits_with_parent {
        process::become_server(true)?;
    }
    let options = asked.finish().map_err(raised)?;
    let stop = Arc::new(AtomicBool::new(false));
    let emulation = Emulation::start(&options, stop.clone()).map_err(raised)?;
    let exports = emulation.live.devices().iter();
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

/// Prepares this process to be a server and nothing else: more open files.
#[pyfunction]
pub fn become_server() -> PyResult<()> {
    Ok(process::become_server(false)?)
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
        let torn = done.ok_or_else(ended)?.map_err(raised)?;
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
