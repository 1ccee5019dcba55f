//! `warpline emit`.

use std::path::Path;

use warpline_emit::Unsupported;
use warpline_sim::machine::{Machine, Vendor};

use crate::cli::{Clock, Emit, Target};
use crate::console::Console;
use crate::output;
use warpline_api::{Error, Status};

pub(super) fn emit(args: &Emit, console: &mut Console) -> Result<Status, Error> {
    if args.input.clock == Clock::Sustained {
        return Err(Error::new("emit does not run the kernel, so --clock does not apply"));
    }
    let subject = warpline_api::load(&args.input.request())?;
    sensible(args.target, &subject.machine)?;
    // A device would refuse a kernel that no core can hold.
    warpline_sim::engine::occupancy(&subject.program, &subject.machine, 1).map_err(|e| subject.refused(e))?;
    let meant = subject.program.clone();
    let mut program = meant.clone();
    if let Some(n) = args.mutant {
        let edits = warpline_verify::edits(&program);
        let Some(edit) = edits.get(n) else {
            return Err(Error::new(format!("there are {} mutants, from 0", edits.len())));
        };
        program = edit.apply(&program).map_err(|e| Error::new(format!("mutant {n}, {}: {}", edit.words, e.0)))?;
        console.error(&format!("note: {}\n", edit.words))?;
    }
    let mut beside = None;
    let text = match args.target {
        Target::Cuda => warpline_emit::cuda(&program, &meant),
        Target::Hip => warpline_emit::hip(&program, &meant, &subject.machine),
        Target::Metal => warpline_emit::metal(&program, &meant).map(|t| {
            beside = Some(t.harness);
            t.kernel
        }),
    };
    let unsupported = |e: Unsupported| {
        let label = format!("not written for {}", subject.machine.name);
        subject.error_at(e.site, e.why, label, Some("docs/emit.md says what is written for which machine"))
    };
    let text = text.map_err(unsupported)?;
    if let Some(harness) = beside {
        // A Metal kernel and its harness are two files; the standard output has the kernel.
        if args.output == Path::new("-") {
            console.error("note: the harness is not shown; `-o x.metal` also writes x.swift\n")?;
        } else {
            output::write(console, &args.output.with_extension("swift"), harness.as_bytes())?;
        }
    }
    output::write(console, &args.output, text.as_bytes())?;
    Ok(Status::Holds)
}

/// Compares the language with the machine's vendor.
fn sensible(target: Target, machine: &Machine) -> Result<(), Error> {
    let right = match machine.vendor {
        Vendor::Nvidia => Target::Cuda,
        Vendor::Amd => Target::Hip,
        Vendor::Apple => Target::Metal,
        Vendor::Paper => {
            return Err(Error::with_help(
                format!("{} ({}) is not a real machine, so nothing is written for it", machine.name, machine.title),
                "name one with `--machine`; `warpline models` lists them",
            ));
        }
    };
    if target == right {
        return Ok(());
    }
    Err(Error::with_help(
        format!("{} ({}) takes no `--target {}`", machine.name, machine.title, target.name()),
        format!("write it with `--target {}`, or name another machine with `--machine`", right.name()),
    ))
}
