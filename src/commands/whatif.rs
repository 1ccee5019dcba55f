//! `warpline whatif`.

use warpline_study::whatif::{Row, whatif as study};

use crate::cli::Whatif;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::progress::Progress;
use crate::simulate::{Ran, execute_on, refused, simulate};
use crate::{draw, json_whatif, load, output, show};

pub(super) fn whatif(args: &Whatif, console: &mut Console) -> Result<Status, Failure> {
    let format = args.plot.as_deref().map(draw::format).transpose()?;
    if args.subject.schedule.is_some() {
        return Err(Failure::new("whatif takes no --schedule: a run that keeps to one has no time of its own"));
    }
    let ran = simulate(console, load::load(&args.subject)?, None)?;
    if !ran.report.clean() {
        let name = &ran.subject.name;
        let help = format!("`warpline run {name}` says what is wrong");
        return Err(Failure::with_help("the run did not end well, so there is no time to gain", help));
    }
    let rows = rows(&ran, console);
    if let (Some(path), Some(format)) = (&args.plot, format) {
        output::write(console, path, &draw::whatif(&ran, &rows, format)?)?;
    }
    if args.json {
        console.print(&json_whatif::whatif(&ran, &rows)?)?;
    } else if !args.quiet {
        console.print(&show::whatif(&ran, &rows, console.paint()))?;
    }
    Ok(Status::Holds)
}

fn rows(ran: &Ran, console: &Console) -> Vec<Row> {
    let _progress = Progress::start(console.look.progress, format!("asking what if of {}", ran.subject.name));
    study(&ran.subject.machine, ran.report.cycles, &|machine| match execute_on(&ran.subject, machine, None) {
        Ok(r) if r.clean() => Ok(r.cycles),
        Ok(_) => Err("it does not end well".to_string()),
        Err(e) => Err(refused(&ran.subject, e).in_a_line()),
    })
}
