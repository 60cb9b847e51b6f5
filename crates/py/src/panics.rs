//! Panics of the core as errors of the package: an error inside it is one line, and never ends the process.

use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyType};
use std::panic::PanicHookInfo;
use std::sync::Mutex;

/// Place and message of the first panic since it was last asked for. Of several threads that fail one after the
/// other, the first has the cause.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Makes every function of the module raise `HeadstackError` where it panics.
///
/// PyO3 raises a panic as `PanicException`, which is no `Exception`: programs that handle errors would not
/// see it. This is the one place that all calls into the core pass.
pub fn guard(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        keep(info);
        // Whoever looks for the cause wants to see the calls too.
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0") {
            usual(info);
        }
    }));
    let panic_message = PyCFunction::new_closure(py, None, None, |_, _| panic_message())?;
    let guarded = py.import("headstack.errors")?.getattr("guarded")?;
    let panic = py.get_type::<PanicException>();
    let functions: Vec<_> = (module.dict().iter())
        // Classes stay classes.
        .filter(|(name, value)| {
            value.is_callable() && !value.is_instance_of::<PyType>() && !name.to_string().starts_with('_')
        })
        .collect();
    for (name, function) in functions {
        let function = guarded.call1((function, &panic, &panic_message))?;
        module.dict().set_item(name, function)?;
    }
    Ok(())
}

fn keep(info: &PanicHookInfo) {
    let payload = info.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let message = text.or_else(|| payload.downcast_ref::<&str>().copied());
    let message = message.unwrap_or("no message");
    let place = info.location().map(ToString::to_string);
    let place = place.unwrap_or_else(|| "an unknown place".into());
    if let Ok(mut first) = FIRST.lock() {
        first.get_or_insert(format!("{place} ({message})"));
    }
}

/// The message for the first panic since the last call.
pub fn panic_message() -> String {
    let first = FIRST.lock().ok().and_then(|mut first| first.take());
    let place = first.unwrap_or_else(|| "an unknown place".into());
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "headstack {version}: got an internal error at {place}, need a report of it; please report it with this \
         line and the input"
    )
}

/// Panics, in a thread of its own or not: what an error inside the core would do.
#[pyfunction]
pub fn panics(in_thread: bool) -> PyResult<()> {
    let fail = || panic!("asked for\nby a test");
    if !in_thread {
        return fail();
    }
    match std::thread::spawn(fail).join() {
        Ok(result) => result,
        Err(_) => Err(crate::wait::no_result()),
    }
}
