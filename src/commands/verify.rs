//! `warpline verify`.

use warpline_verify::Outcome;

use crate::cli::{Format, Verify};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::gate::{self, Subjects};
use crate::{certificate, json_verify, output, schedule, show, verdict};

pub(super) fn verify(args: &Verify, console: &mut Console) -> Result<Status, Failure> {
    let format = if args.json { Format::Json } else { args.format };
    let subjects = Subjects::find(&args.scenarios);
    let (Some(name), Format::Text | Format::Json) = (subjects.single(), format) else {
        if args.schedule_out.is_some() {
            return Err(Failure::with_help(
                "--schedule-out is for one scenario, printed as text or JSON",
                "verify the scenario alone: `warpline verify S --schedule-out FILE`",
            ));
        }
        if args.certificate.is_some() {
            return Err(Failure::with_help(
                "--certificate is for one scenario, printed as text or JSON",
                "verify the scenario alone: `warpline verify S --certificate FILE`",
            ));
        }
        let gate = gate::verify(console, subjects, &args.proof, args.orders);
        if !args.quiet {
            let text = gate::text(&gate, format, console.paint())?;
            console.print(&text)?;
        }
        for failure in gate.failures() {
            console.error(&failure.render(console.look))?;
        }
        return Ok(gate.status());
    };
    let verified = verdict::verify(console, name, (&args.proof, args.orders), !args.no_suggestion)?;
    if let Some(path) = &args.schedule_out {
        match schedule::of(&verified) {
            Some(file) => output::write(console, path, crate::json::text(&file)?.as_bytes())?,
            None => console.error("note: there is no fault that a schedule could lead to; none was written\n")?,
        }
    }
    let mut status = verified.status();
    if let Some(path) = &args.certificate {
        match certificate::of(&verified) {
            Ok(certificate) => output::write(console, path, crate::json::text(&certificate)?.as_bytes())?,
            Err(why) => {
                console.error(&format!("note: no certificate was written: {why}\n"))?;
                if verified.verdict.outcome == Outcome::Proved {
                    status = status.and(Status::GaveUp);
                }
            }
        }
    }
    if format == Format::Json {
        console.print(&json_verify::verify(&verified)?)?;
    } else if !args.quiet {
        console.print(&show::verdict(&verified, console.paint()))?;
    }
    Ok(status)
}
