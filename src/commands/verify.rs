//! `warpline verify`.

use crate::cli::Verify;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{json_verify, output, schedule, show, verdict};

pub(super) fn verify(args: &Verify, console: &mut Console) -> Result<Status, Failure> {
    let verified = verdict::verify(console, &args.proof, !args.no_suggestion)?;
    if let Some(path) = &args.schedule_out {
        match schedule::of(&verified) {
            Some(file) => output::write(console, path, crate::json::text(&file)?.as_bytes())?,
            None => console.error("note: there is no fault that a schedule could lead to; none was written\n")?,
        }
    }
    if args.json {
        console.print(&json_verify::verify(&verified)?)?;
    } else if !args.quiet {
        console.print(&show::verdict(&verified, console.paint()))?;
    }
    Ok(verified.status())
}
