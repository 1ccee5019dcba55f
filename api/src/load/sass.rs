//! The disassembly (SASS) beside a compiled kernel: what a run takes from it.

use warpline_import::lift::Launch;
use warpline_import::ptx::Entry;
use warpline_import::sass::{self, LoadOrder};
use warpline_sim::diag::Diagnostic;

use crate::error::{Error, Sources};
use crate::request::Request;

/// Adds to a launch what the disassembly of a request says, and tells in words what that was; `None` without one.
///
/// Registers that the launch gives count above those of the text.
///
/// # Errors
/// A file that cannot be read, that is no disassembly, or that lacks the kernel.
pub(super) fn with_sass(request: &Request, entry: &Entry, launch: &mut Launch) -> Result<Option<String>, Error> {
    let Some(path) = &request.sass else { return Ok(None) };
    let text = request.read(path)?;
    let name = path.display().to_string();
    let kernel = sass::read(&text, &entry.name).map_err(|e| {
        let d = Diagnostic::new(&name, e.span.0..e.span.1, e.message, format!("expected {}", e.expected));
        Error::Input { diagnostics: vec![d], sources: Sources::from([(name.clone(), text.clone())]) }
    })?;
    let registers = kernel.registers();
    launch.regs = launch.regs.or(registers);
    let order = match LoadOrder::of(entry, &kernel) {
        Ok(order) => {
            let later = order.uses.len();
            launch.load_order = Some(order);
            format!("the order of its loads, {later} of which wait until others are used")
        }
        Err(why) => format!("not the order of its loads: {why}"),
    };
    let registers = match registers {
        Some(n) => format!("{n} registers of a thread"),
        None => "no registers, whose number its warps change".to_string(),
    };
    let spills = match kernel.spills() {
        0 => String::new(),
        n => format!(" It has {n} accesses to spilled registers, which are not charged."),
    };
    let n = kernel.code.len();
    Ok(Some(format!("From the {n} instructions of {name} come {registers} and {order}.{spills}")))
}
