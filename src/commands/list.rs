//! `warpline list`.

use crate::cli::List;
use crate::console::Console;
use crate::show::{Align, Table};
use warpline_api::{BuiltinScenario, Error, Status};

/// The family that is one line without a prefix: it has as many entries as all others together.
const MUSEUM: &str = "museum/";

pub(super) fn list(args: &List, console: &mut Console) -> Result<Status, Error> {
    let prefix = args.prefix.as_deref().unwrap_or("");
    let mut table = Table::new(&[Align::Left, Align::Left], 0);
    let mut folded = 0;
    for BuiltinScenario { name, title } in warpline_api::titles()?.into_iter().filter(|s| s.name.starts_with(prefix)) {
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
    if table.is_empty() {
        return Err(Error::with_help(
            format!("no built-in scenario begins with `{prefix}`"),
            "`warpline list` names them",
        ));
    }
    console.print(&table.text())?;
    Ok(Status::Holds)
}
