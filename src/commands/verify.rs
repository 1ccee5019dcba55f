//! `warpline verify`.

use crate::cli::{Format, Verify};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::gate::{self, Subjects};
use crate::{json_verify, show, verdict};

pub(super) fn verify(args: &Verify, console: &mut Console) -> Result<Status, Failure> {
    let format = if args.json { Format::Json } else { args.format };
    let subjects = Subjects::find(&args.scenarios);
    let (Some(name), Format::Text | Format::Json) = (subjects.single(), format) else {
        let gate = gate::verify(console, subjects, &args.proof);
        if !args.quiet {
            let text = gate::text(&gate, format, console.paint())?;
            console.print(&text)?;
        }
        for failure in gate.failures() {
            console.error(&failure.render(console.look))?;
        }
        return Ok(gate.status());
    };
    let verified = verdict::verify(console, name, &args.proof)?;
    if format == Format::Json {
        console.print(&json_verify::verify(&verified)?)?;
    } else if !args.quiet {
        console.print(&show::verdict(&verified, console.paint()))?;
    }
    Ok(verified.status())
}
