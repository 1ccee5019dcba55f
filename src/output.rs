//! Output files and the standard output.

use std::path::Path;

use warpline_api::{Error, replace_file};

use crate::console::Console;

/// Writes a file, or the standard output for `-`.
pub(crate) fn write(console: &mut Console, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if path == Path::new("-") { console.print_bytes(bytes) } else { replace_file(path, bytes) }
}
