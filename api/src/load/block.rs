//! Blocks of compiled kernels whose text does not say how many threads they have.

use warpline_import::lift::{self, Launch};
use warpline_import::ptx::{Entry, Module};

use super::ptx::{is_ptx, of_text};
use crate::request::Request;

/// Whether a request names a compiled kernel, and neither its text nor its launch says how many threads a block has.
pub(crate) fn leaves_block_open(request: &Request) -> bool {
    let open = |_: &Module, entry: &Entry, launch: &Launch| launch.block.is_none() && lift::leaves_block_open(entry);
    is_ptx(&request.scenario) && of_text(request, open).unwrap_or(false)
}

/// The block of the compiled kernel that a request names, if it has this number of threads. `None` where the text does not
/// say which shape that is.
pub(crate) fn block_of(request: &Request, threads: u32) -> Option<[u32; 3]> {
    of_text(request, |_, entry, _| lift::block_of(entry, threads)).flatten()
}
