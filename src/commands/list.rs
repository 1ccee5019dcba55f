//! `warpline list`.

use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::load;
use crate::show::{Align, Table};

pub(super) fn list(console: &mut Console) -> Result<Status, Failure> {
    let mut table = Table::new(&[Align::Left, Align::Left], 0);
    for (name, title) in load::titles()? {
        table.row([name, title]);
    }
    console.print(&table.text())?;
    Ok(Status::Holds)
}
