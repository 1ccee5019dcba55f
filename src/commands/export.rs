//! `warpline export`.

use crate::cli::{Export, Language, Subject};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::simulate::at_site;
use crate::trips::trips;
use crate::{output, verdict};

pub(super) fn export(args: &Export, console: &mut Console) -> Result<Status, Failure> {
    let subject = verdict::supported(&Subject {
        machine: args.machine.clone(),
        set: args.set.clone(),
        ..Subject::named(&args.scenario)
    })?;
    let program = match args.trips {
        None => subject.program.clone(),
        Some(n) => {
            let trips = trips(&subject).ok_or_else(|| {
                Failure::with_help(
                    "no parameter of the kernel sets the trip count of a main loop",
                    "leave out `--trips`",
                )
            })?;
            trips.at(n as i64).ok_or_else(|| Failure::new(format!("the kernel cannot have a trip count of {n}")))?
        }
    };
    let rules = warpline_sim::engine::rules(&subject.machine);
    let text = match args.language {
        Language::Promela => warpline_verify::promela(&program, rules),
    };
    let text = text.map_err(|why| {
        let help = "`warpline verify` follows what such a model cannot say";
        match why.site {
            Some(site) => at_site(&subject, site, why.message, "this has no model".into(), Some(help)),
            None => Failure::with_help(why.message, help),
        }
    })?;
    output::write(console, &args.output, text.as_bytes())?;
    Ok(Status::Holds)
}
