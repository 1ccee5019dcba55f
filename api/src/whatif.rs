//! A what-if table: each number of the machine scaled in turn.

use warpline_study::whatif::{Row, whatif as study};

use crate::error::Error;
use crate::simulate::{Simulation, execute_on};

/// Scales each number of the machine and runs the kernel again, on all cores. The rows are ranked by gain.
///
/// # Errors
/// A run that did not finish: it has no time to improve.
pub fn whatif(simulation: &Simulation) -> Result<Vec<Row>, Error> {
    let subject = &simulation.subject;
    if !simulation.report.clean() {
        let help = format!("`warpline run {}` says what is wrong", subject.name);
        return Err(Error::with_help("the run did not finish, so it has no time to improve", help));
    }
    Ok(study(&subject.machine, simulation.report.cycles, &|machine| match execute_on(subject, machine, None) {
        Ok(r) if r.clean() => Ok(r.cycles),
        Ok(_) => Err("it does not finish".to_string()),
        Err(e) => Err(subject.refused(e).summary()),
    }))
}
