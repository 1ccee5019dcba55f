//! `warpline verify`.

use std::path::Path;

use warpline_verify::Outcome;

use crate::cli::{Format, Verify};
use crate::console::Console;
use crate::progress::Bar;
use crate::{diagnose, gate, json, json_verify, output, show};
use warpline_api::{Collection, Error, ProofOptions, Request, Status, Verification, certificate, schedule_of};

pub(super) fn verify(args: &Verify, console: &mut Console) -> Result<Status, Error> {
    let format = if args.json { Format::Json } else { args.format };
    let collection = match (&args.proof.launch.entry, args.scenarios.as_slice()) {
        (Some(_), [file]) => Collection::of(file),
        _ => Collection::find(&args.scenarios),
    };
    let options = args.proof.options(args.orders);
    let (Some(name), Format::Text | Format::Json) = (collection.single(), format) else {
        if args.schedule_out.is_some() {
            return Err(Error::with_help(
                "--schedule-out is for one scenario, printed as text or JSON",
                "verify the scenario alone: `warpline verify S --schedule-out FILE`",
            ));
        }
        if args.certificate.is_some() {
            return Err(Error::with_help(
                "--certificate is for one scenario, printed as text or JSON",
                "verify the scenario alone: `warpline verify S --certificate FILE`",
            ));
        }
        if args.fix {
            return Err(Error::with_help(
                "--fix is for one scenario, printed as text or JSON",
                "verify the scenario alone: `warpline verify S --fix`",
            ));
        }
        let bar = Bar::pieces(console.look.progress, 0, "verifying".to_string());
        let all = warpline_api::verify_all(collection, &args.proof.request(""), &options, &|p| bar.set(p));
        drop(bar);
        if !args.quiet {
            let text = gate::text(&all, format, console.paint())?;
            console.print(&text)?;
        }
        for error in all.errors() {
            console.error(&diagnose::error(error, console.look.color_err))?;
        }
        return Ok(all.status());
    };
    let options = ProofOptions { suggest: !args.no_suggestion, ..options };
    let verified = one(&args.proof.request(name), &options, console)?;
    if let Some(path) = &args.schedule_out {
        match schedule_of(&verified) {
            Some(file) => output::write(console, path, json::text(&file)?.as_bytes())?,
            None => console.error("note: there is no fault, so no schedule was written\n")?,
        }
    }
    let mut status = verified.status();
    if let Some(path) = &args.certificate {
        match certificate(&verified) {
            Ok(certificate) => output::write(console, path, json::text(&certificate)?.as_bytes())?,
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
    if args.fix && verified.verdict.outcome == Outcome::Violated {
        return fix(&verified, console, status);
    }
    Ok(status)
}

/// Replaces the kernel's file with the repaired text. The status is then that of the repaired kernel.
fn fix(verified: &Verification, console: &mut Console, status: Status) -> Result<Status, Error> {
    let Some(repair) = &verified.repair else {
        console.error("note: no repair was found that can be written; no file was changed\n")?;
        return Ok(status);
    };
    let path = Path::new(&repair.file);
    let old = verified.subject.sources.get(&repair.file);
    // A built-in kernel and an expanded kernel have no file. A file that changed meanwhile stays as it is.
    if warpline_api::read(path).ok().as_ref() != old || old.is_none() {
        return Err(Error::with_help(
            format!("`{}` is not the file of this text, so nothing was changed", repair.file),
            "write the kernel to a file first, or apply the difference by hand",
        ));
    }
    warpline_api::replace_file(path, repair.text.as_bytes())?;
    console.error(&format!("note: wrote the repaired kernel to {}\n", repair.file))?;
    Ok(Status::Holds)
}

/// Verifies one scenario or kernel with a progress bar.
pub(super) fn one(request: &Request, options: &ProofOptions, console: &Console) -> Result<Verification, Error> {
    let _bar = Bar::spinner(console.look.progress, format!("verifying {}", request.scenario));
    warpline_api::verify_request(request, options)
}
