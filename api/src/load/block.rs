//! Blocks of compiled kernels whose text does not say how many threads they have.

use std::collections::BTreeMap;

use warpline_import::lift::{self, Launch};
use warpline_import::ptx::{Entry, Module};

use super::ptx::{is_ptx, of_text};
use crate::request::Request;

/// The blocks that a compiled kernel can have, by their number of threads: multiples of 32. `None` where a request names
/// another kernel, or where its text or its launch says how many threads a block has. A number is left out if the text does
/// not say which shape it has, or if its arrays have no room for so many threads. Also whether rows of threads are taken for
/// warps, as nothing says how long a row is.
pub(crate) fn open_blocks(request: &Request) -> Option<(BTreeMap<u32, [u32; 3]>, bool)> {
    let blocks = |module: &Module, entry: &Entry, launch: &Launch| {
        let open = launch.block.is_none() && lift::leaves_block_open(entry);
        let by_rows = lift::may_have_rows_of_warps(entry);
        let row = |threads| by_rows.then_some([32, threads / 32, 1]);
        let of = |threads| Some((threads, lift::block_of(entry, threads).or_else(|| row(threads))?));
        // Fewer threads than two warps are none that arrays are made for.
        let room = || lift::room_of(module, entry).filter(|n| *n >= 64).unwrap_or(1024);
        open.then(|| ((32..=room().min(1024)).step_by(32).filter_map(of).collect(), by_rows))
    };
    is_ptx(&request.scenario).then(|| of_text(request, blocks))?.flatten()
}
