//! Two runs side by side.

use warpline_study::compare::{Comparison, compare as study};

use crate::error::Error;
use crate::load::{self, Second, load, load_second};
use crate::record::{Recording, is_trace, read_trace, record, unchanged_trace};
use crate::request::Request;

/// Compares two recordings: the numbers that differ, by how much, and at which wait or work.
pub fn compare(a: &Recording, b: &Recording) -> Comparison {
    study([a.side(), b.side()])
}

/// Loads and runs the kernel of a request with a record, or reads the request's saved trace.
///
/// # Errors
/// As for [`load`] and [`record`](crate::record), and options that cannot change a saved trace.
pub fn open(request: &Request) -> Result<Recording, Error> {
    side(request)?.recording()
}

/// One of two sides: a loaded kernel that has not run yet, or a saved trace.
#[derive(Clone, Debug)]
pub enum Side {
    /// A kernel to run.
    Kernel(Box<load::Subject>),
    /// A saved trace.
    Trace(Box<Recording>),
}

impl Side {
    /// The name in the request.
    pub fn name(&self) -> &str {
        match self {
            Side::Kernel(subject) => &subject.name,
            Side::Trace(trace) => &trace.name,
        }
    }

    /// Runs a kernel with a record; for a saved trace, the trace.
    ///
    /// # Errors
    /// As for [`record`](crate::record).
    pub fn recording(self) -> Result<Recording, Error> {
        match self {
            Side::Kernel(subject) => record(&subject),
            Side::Trace(trace) => Ok(*trace),
        }
    }
}

/// Loads two sides before either runs, so that errors in the files come first.
///
/// # Errors
/// As for [`load`], and options that cannot change a saved trace.
pub fn two(request: &Request, second: Second<'_>) -> Result<[Side; 2], Error> {
    if is_trace(second.scenario) {
        let name = second.scenario;
        let flag = if second.settings.is_empty() { "--with-schedule" } else { "--with-set" };
        if !second.settings.is_empty() || second.schedule.is_some() {
            return Err(Error::new(format!("`{name}` is a saved trace, so {flag} can change nothing")));
        }
        let b = Side::Trace(Box::new(read_trace(name)?));
        return Ok([side(request)?, b]);
    }
    if is_trace(&request.scenario) {
        let b = load(&Request {
            scenario: second.scenario.to_string(),
            settings: second.settings.to_vec(),
            schedule: second.schedule.map(Into::into),
            ..request.clone()
        })?;
        return Ok([side(request)?, Side::Kernel(Box::new(b))]);
    }
    let a = load(request)?;
    let b = load_second(&a, second, request)?;
    Ok([Side::Kernel(Box::new(a)), Side::Kernel(Box::new(b))])
}

/// The kernel or trace of a request, not run yet.
///
/// # Errors
/// As for [`load`], and options that cannot change a saved trace.
pub fn side(request: &Request) -> Result<Side, Error> {
    if is_trace(&request.scenario) {
        unchanged_trace(request)?;
        return Ok(Side::Trace(Box::new(read_trace(&request.scenario)?)));
    }
    Ok(Side::Kernel(Box::new(load(request)?)))
}
