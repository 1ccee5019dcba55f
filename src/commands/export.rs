//! `warpline export`.

use crate::cli::{Export, Language};
use crate::console::Console;
use crate::output;
use warpline_api::{Error, Request, Status, trips};

pub(super) fn export(args: &Export, console: &mut Console) -> Result<Status, Error> {
    let subject = warpline_api::load(&Request {
        machine: args.machine.clone(),
        settings: args.set.clone(),
        ..Request::named(&args.scenario)
    })?;
    subject.admit()?;
    let program = match args.trips {
        None => subject.program.clone(),
        Some(n) => {
            let trips = trips(&subject).ok_or_else(|| {
                Error::with_help("no parameter of the kernel sets the trip count of a main loop", "leave out `--trips`")
            })?;
            trips.at(n as i64).ok_or_else(|| Error::new(format!("the kernel cannot have a trip count of {n}")))?
        }
    };
    let rules = warpline_sim::engine::rules(&subject.machine);
    let text = match args.language {
        Language::Promela => warpline_verify::promela(&program, rules),
    };
    let text = text.map_err(|why| {
        let help = "`warpline verify` also checks what such a model cannot express";
        match why.site {
            Some(site) => subject.error_at(site, why.message, "this has no model".into(), Some(help)),
            None => Error::with_help(why.message, help),
        }
    })?;
    output::write(console, &args.output, text.as_bytes())?;
    Ok(Status::Holds)
}
