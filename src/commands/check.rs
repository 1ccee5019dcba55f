//! `warpline check`.

use crate::cli::Check;
use crate::console::Console;
use crate::failure::{Failure, Status};

pub(super) fn check(_args: &Check, _console: &mut Console) -> Result<Status, Failure> {
    Ok(Status::Holds)
}
