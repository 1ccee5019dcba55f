//! `warpline barriers`.

use warpline_api::{Error, Status};

use crate::cli::{Barriers, Orders};
use crate::console::Console;
use crate::progress::Bar;
use crate::{json_verify, show};

pub(super) fn barriers(args: &Barriers, console: &mut Console) -> Result<Status, Error> {
    let subject = warpline_api::load(&args.proof.request(&args.scenario))?;
    let bar = Bar::spinner(console.look.progress, format!("looking at the barriers of {}", subject.name));
    let barriers = warpline_api::barriers(&subject, &args.proof.options(Orders::default()))?;
    drop(bar);
    if args.json {
        console.print(&json_verify::barriers(&barriers)?)?;
    } else if !args.quiet {
        console.print(&show::barriers(&barriers, console.paint()))?;
    }
    Ok(warpline_api::verdict_status(&barriers.redundancy.whole))
}
