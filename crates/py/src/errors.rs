//! Errors of the core as the exceptions of `headstack.errors`, which is their one home.

use headstack_engine::SpecError;
use headstack_experiment::RunError;
use headstack_trace::TraceError;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The exception `class` of `headstack.errors` with a message.
pub fn raise(class: &str, message: impl ToString) -> PyErr {
    let message = message.to_string();
    Python::attach(|py| {
        let found =
            py.import("headstack.errors").and_then(|m| m.getattr(class)).and_then(|c| Ok(c.cast_into::<PyType>()?));
        match found {
            Ok(class) => PyErr::from_type(class, message),
            Err(e) => e,
        }
    })
}

/// Wrong drive descriptions and experiments. The lines of the file that the error is about are a note.
pub fn config(e: SpecError) -> PyErr {
    let error = raise("ConfigError", &e);
    if let Some(excerpt) = e.excerpt.as_deref() {
        // Without the note the error still says everything.
        let _ = Python::attach(|py| error.value(py).call_method1("add_note", (excerpt,)).map(drop));
    }
    error
}

/// Wrong or unreadable traces.
pub fn trace(e: TraceError) -> PyErr {
    raise("TraceError", e)
}

/// Whatever stopped a run.
pub fn run(e: RunError) -> PyErr {
    match e {
        RunError::Input(e) => config(e),
        RunError::Trace(e) => trace(e),
        e @ RunError::Workload { .. } => raise("TraceError", e),
        e if e.is_input() => raise("ConfigError", e),
        e => raise("HeadstackError", e),
    }
}

/// Results that cannot be written as JSON: our bug.
pub fn json(e: serde_json::Error) -> PyErr {
    raise("HeadstackError", format!("result: {e}"))
}
