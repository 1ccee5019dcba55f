//! `warpline merge`.

use warpline_study::sweep;

use super::sweep::report;
use crate::cli::Merge;
use crate::console::Console;
use crate::output;
use warpline_api::{Error, Status, draw, read_part};

pub(super) fn merge(args: &Merge, console: &mut Console) -> Result<Status, Error> {
    let format = args.output.plot.as_deref().map(draw::format).transpose()?;
    let parts = args.parts.iter().map(|path| Ok((path.display().to_string(), read_part(path)?)));
    let parts = parts.collect::<Result<Vec<_>, Error>>()?;
    let whole = sweep::join(parts).map_err(Error::new)?;
    if let Some(path) = &args.state {
        output::write(console, path, whole.text().as_bytes())?;
    }
    report(&whole, &args.output, format, console)
}
