//! `warpline barriers`.

use crate::cli::Barriers;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{json_verify, show, verdict};

pub(super) fn barriers(args: &Barriers, console: &mut Console) -> Result<Status, Failure> {
    let sifted = verdict::sift(console, &args.scenario, &args.proof)?;
    if args.json {
        console.print(&json_verify::barriers(&sifted)?)?;
    } else if !args.quiet {
        console.print(&show::barriers(&sifted, console.paint()))?;
    }
    Ok(verdict::status(&sifted.result.whole))
}
