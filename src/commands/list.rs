//! `warpline list`.

use serde::Serialize;

use crate::cli::List;
use crate::console::Console;
use crate::json;
use crate::show::{Align, Table};
use warpline_api::{BuiltinScenario, Error, Status};

/// The family that is one line without a prefix: it has as many entries as all others together.
const MUSEUM: &str = "museum/";

#[derive(Serialize)]
struct ListObject {
    schema: &'static str,
    scenarios: Vec<ScenarioObject>,
}

#[derive(Serialize)]
struct ScenarioObject {
    name: String,
    title: String,
}

pub(super) fn list(args: &List, console: &mut Console) -> Result<Status, Error> {
    let prefix = args.prefix.as_deref().unwrap_or("");
    let scenarios: Vec<BuiltinScenario> =
        warpline_api::titles()?.into_iter().filter(|s| s.name.starts_with(prefix)).collect();
    if scenarios.is_empty() {
        return Err(Error::with_help(
            format!("no built-in scenario begins with `{prefix}`"),
            "`warpline list` names them",
        ));
    }
    if args.json {
        let row = |s: BuiltinScenario| ScenarioObject { name: s.name, title: s.title };
        let scenarios = scenarios.into_iter().map(row).collect();
        console.print(&json::text(&ListObject { schema: "warpline.list/1", scenarios })?)?;
        return Ok(Status::Holds);
    }
    let mut table = Table::new(&[Align::Left, Align::Left], 0);
    let mut folded = 0;
    for BuiltinScenario { name, title } in scenarios {
        if name.starts_with(MUSEUM) && prefix.is_empty() {
            folded += 1;
        } else {
            table.row([name, title]);
        }
    }
    if folded > 0 {
        table.row([
            format!("{MUSEUM}..."),
            format!("real bugs and their repairs, {folded} in all; `warpline list museum`"),
        ]);
    }
    console.print(&table.text())?;
    Ok(Status::Holds)
}
