//! The native half of the Python package: one function that answers a command line, and the command line itself.
//!
//! ```text
//!   warpline/*.py ──arguments, texts──▶ answer ──thread──▶ warpline::answer ──▶ text, JSON, picture
//!                       ▲                  │
//!                       └── exceptions, progress, Ctrl-C
//! ```
//!
//! The work runs on a thread of its own without the interpreter's lock. The calling thread waits, looks for signals and
//! reports progress.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpline::Answer;
use warpline_api::{Error, Progress};

/// The time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes of the stack of the working thread; kernels are nested text.
const STACK: usize = 32 << 20;

/// Pieces of the work that are done, and all pieces; 0 while their number is not known.
#[derive(Default)]
struct Pieces {
    done: AtomicUsize,
    total: AtomicUsize,
}

/// Status (0 to 3), text, JSON and picture.
type Found<'py> = (u8, String, String, Bound<'py, PyBytes>);

/// Answers a command line. `texts` stand in the place of files, by name. `progress` is called with done and total.
#[pyfunction]
#[pyo3(signature = (args, texts, progress=None))]
fn answer<'py>(
    py: Python<'py>,
    args: Vec<String>,
    texts: BTreeMap<String, String>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Found<'py>> {
    let (stop, pieces) = (Arc::new(AtomicBool::new(false)), Arc::new(Pieces::default()));
    let (send, receive) = mpsc::channel();
    let (of_thread, counted) = (stop.clone(), pieces.clone());
    let work = move || {
        let count = |p: Progress| {
            counted.total.store(p.total, Ordering::Relaxed);
            counted.done.fetch_max(p.done, Ordering::Relaxed);
        };
        let args = std::iter::once("warpline".to_string()).chain(args).map(OsString::from);
        // After Ctrl-C nobody waits for the answer.
        let _ = send.send(warpline::answer(args, &texts, &count, &of_thread));
    };
    std::thread::Builder::new().name("warpline".into()).stack_size(STACK).spawn(work)?;
    let report = |progress: &Bound<'py, PyAny>| {
        let (done, total) = (pieces.done.load(Ordering::Relaxed), pieces.total.load(Ordering::Relaxed));
        if total > 0 { progress.call1((done, total)).map(drop) } else { Ok(()) }
    };
    let waited = wait(py, Mutex::new(receive), &|| progress.as_ref().map_or(Ok(()), report));
    stop.store(true, Ordering::Relaxed);
    let found = waited?.map_err(|e| exception(py, &e))?;
    Ok((found.status.code(), found.text, found.json, PyBytes::new(py, &found.bytes)))
}

/// Waits for the answer without the interpreter's lock. Ctrl-C ends the waiting.
fn wait(
    py: Python<'_>,
    receive: Mutex<Receiver<Result<Answer, Error>>>,
    each: &dyn Fn() -> PyResult<()>,
) -> PyResult<Result<Answer, Error>> {
    loop {
        let next = py.detach(|| {
            let receive = receive.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            receive.recv_timeout(LOOK)
        });
        match next {
            Ok(answer) => {
                each()?;
                return Ok(answer);
            }
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                each()?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("a bug in warpline: the working thread panicked"));
            }
        }
    }
}

/// `warpline.Error`, with the text that the error stream shows and the JSON object of the error.
fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let made = py
        .import("warpline._errors")
        .and_then(|m| m.getattr("Error"))
        .and_then(|class| class.call1((warpline::error_text(error), warpline::error_json(error))));
    made.map_or_else(|e| e, PyErr::from_value)
}

/// Runs the command line with the process's streams. `args` starts with the program's name. Returns the exit status.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| warpline::main_of(args).code())
}

/// Names of the built-in scenarios.
#[pyfunction]
fn scenarios() -> Vec<String> {
    warpline_api::builtin_scenarios()
}

/// Names of the built-in machines.
#[pyfunction]
fn machines() -> Vec<String> {
    warpline_api::machine_names()
}

/// The native module `warpline._native`.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_function(wrap_pyfunction!(answer, m)?)?;
    m.add_function(wrap_pyfunction!(main, m)?)?;
    m.add_function(wrap_pyfunction!(scenarios, m)?)?;
    m.add_function(wrap_pyfunction!(machines, m)?)
}
