//! What the assembler does with a compiled kernel: from a disassembly (SASS), else estimated.

use warpline_import::lift::{self, Launch};
use warpline_import::ptx::Entry;
use warpline_import::sass::{self, LoadOrder};
use warpline_sim::diag::Diagnostic;

use crate::error::{Error, Sources};
use crate::request::Request;

/// Adds to a launch what the assembler does with the kernel, and tells in words what that is and where it is from.
///
/// Without a disassembly, only the order of loads is estimated, where the launch gives the registers of a thread.
/// Registers that the launch gives count above those of the text.
///
/// # Errors
/// A file that cannot be read, that is no disassembly, or that lacks the kernel.
pub(super) fn assembled(request: &Request, entry: &Entry, launch: &mut Launch) -> Result<String, Error> {
    let Some(path) = &request.sass else { return Ok(estimated(entry, launch)) };
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
    Ok(format!("From the {n} instructions of {name} come {registers} and {order}.{spills}"))
}

/// Adds the loads that have to wait for registers to a launch that gives their number.
fn estimated(entry: &Entry, launch: &mut Launch) -> String {
    let unknown = "The assembler's schedule and spills are not known.";
    // An entry whose branches cannot be followed is refused elsewhere.
    let order = launch.regs.and_then(|n| Some((n, lift::load_order(entry, n).ok()?)));
    let Some((registers, order)) = order.filter(|(_, order)| !order.uses.is_empty()) else { return unknown.into() };
    let later = order.uses.len();
    launch.load_order = Some(order);
    format!(
        "{unknown} For {registers} registers of a thread, {later} of its loads wait until others are used (estimated)."
    )
}
