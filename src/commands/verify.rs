//! `warpline verify`.

use crate::cli::Verify;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{json_verify, show, verdict};

pub(super) fn verify(args: &Verify, console: &mut Console) -> Result<Status, Failure> {
    let verified = verdict::verify(console, &args.proof)?;
    if args.json {
        console.print(&json_verify::verify(&verified)?)?;
    } else if !args.quiet {
        console.print(&show::verdict(&verified, console.paint()))?;
    }
    Ok(verified.status())
}
