//! `warpline emit`.

use crate::cli::{Emit, Target};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{load, output};

pub(super) fn emit(args: &Emit, console: &mut Console) -> Result<Status, Failure> {
    let loaded = load::load(&args.subject)?;
    let meant = loaded.program;
    let mut program = meant.clone();
    if let Some(n) = args.mutant {
        let edits = warpline_verify::edits(&program);
        let Some(edit) = edits.get(n) else {
            return Err(Failure::new(format!("there are {} mutants, from 0", edits.len())));
        };
        program = edit.apply(&program).map_err(|e| Failure::new(format!("mutant {n}, {}: {}", edit.words, e.0)))?;
        console.error(&format!("note: {}\n", edit.words))?;
    }
    let text = match args.target {
        Target::Cuda => warpline_emit::cuda(&program, &meant),
    };
    let text = text.map_err(|e| Failure::new(e.to_string()))?;
    output::write(console, &args.output, text.as_bytes())?;
    Ok(Status::Holds)
}
