//! `warpline merge`.

use warpline_study::sweep;

use super::sweep::report;
use crate::cli::Merge;
use crate::console::Console;
use crate::output;
use warpline_api::{Error, Status, draw, read_part};

pub(super) fn merge(args: &Merge, console: &mut Console) -> Result<Status, Error> {
    let format = args.output.plot.as_deref().map(draw::format).transpose()?;
    let whole = joined(args)?;
    if let Some(path) = &args.state {
        output::write(console, path, whole.text().as_bytes())?;
    }
    report(&whole, &args.output, format, console)
}

/// The sweep that the parts make up.
pub(crate) fn joined(args: &Merge) -> Result<sweep::Part, Error> {
    let parts = args.parts.iter().map(|path| Ok((path.display().to_string(), read_part(path)?)));
    sweep::join(parts.collect::<Result<Vec<_>, Error>>()?).map_err(Error::new)
}
