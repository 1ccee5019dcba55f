//! `warpline models`.

use warpline_sim::machine::{Kind, Machine};

use crate::cli::Models;
use crate::console::Console;
use crate::json_models;
use crate::show::{Align, Table};
use warpline_api::{Error, Status};

pub(super) fn models(args: &Models, console: &mut Console) -> Result<Status, Error> {
    let machines = match &args.name {
        Some(name) => vec![warpline_api::machine_named(name)?],
        None => {
            warpline_api::machine_names().iter().map(|n| warpline_api::machine_named(n)).collect::<Result<_, _>>()?
        }
    };
    let text = match (&args.name, machines.first()) {
        _ if args.json => json_models::models(&machines)?,
        (Some(_), Some(machine)) => one(machine),
        _ => all(&machines),
    };
    console.print(&text)?;
    Ok(Status::Holds)
}

fn count(m: &Machine, kind: Kind) -> String {
    m.params.values().filter(|p| p.kind == kind).count().to_string()
}

fn all(machines: &[Machine]) -> String {
    let columns = [Align::Left, Align::Left, Align::Left, Align::Right, Align::Right, Align::Right];
    let mut t = Table::new(&columns, 0);
    t.row(["machine", "line", "name", "documented", "measured", "estimated"]);
    for m in machines {
        t.row([
            m.name.clone(),
            m.arch.clone(),
            m.title.clone(),
            count(m, Kind::Documented),
            count(m, Kind::Measured),
            count(m, Kind::Estimated),
        ]);
    }
    t.text()
}

/// Every number with its unit, kind and source.
fn one(m: &Machine) -> String {
    let rows = warpline_api::describe(m);
    format!("{}: {} ({})\n\n{rows}", m.name, m.title, m.arch)
}
