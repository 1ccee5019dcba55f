//! Runs on machines with changed numbers: a what-if table, and the interval that the spread of the numbers gives.

use warpline_sim::machine::Machine;
use warpline_study::spread::{Spread, spread as ends};
use warpline_study::whatif::{Row, whatif as study};

use crate::error::Error;
use crate::simulate::{Simulation, execute_on};

/// Scales each number of the machine and runs the kernel again, on all cores. The rows are ranked by gain.
///
/// # Errors
/// A run that did not finish: it has no time to improve.
pub fn whatif(simulation: &Simulation) -> Result<Vec<Row>, Error> {
    finished(simulation, "improve")?;
    Ok(study(&simulation.subject.machine, simulation.report.cycles, &|machine| cycles_on(simulation, machine)))
}

/// Sets each number of the machine to the ends of its spread and runs the kernel again, on all cores.
///
/// # Errors
/// A run that did not finish, or that follows a schedule: it has no time of its own.
pub fn spread(simulation: &Simulation) -> Result<Spread, Error> {
    if simulation.subject.schedule.is_some() {
        return Err(Error::new("a run that follows a schedule has no time of its own, and its time no spread"));
    }
    finished(simulation, "vary")?;
    Ok(ends(&simulation.subject.machine, simulation.report.cycles, &|machine| cycles_on(simulation, machine)))
}

/// # Errors
/// The run did not finish.
fn finished(simulation: &Simulation, to: &str) -> Result<(), Error> {
    if simulation.report.clean() {
        return Ok(());
    }
    let help = format!("`warpline run {}` says what is wrong", simulation.subject.name);
    Err(Error::with_help(format!("the run did not finish, so it has no time to {to}"), help))
}

/// Cycles of the kernel on another machine, or why there are none.
fn cycles_on(simulation: &Simulation, machine: &Machine) -> Result<f64, String> {
    match execute_on(&simulation.subject, machine, None) {
        Ok(r) if r.clean() => Ok(r.cycles),
        Ok(_) => Err("it does not finish".to_string()),
        Err(e) => Err(simulation.subject.refused(e).summary()),
    }
}
