//! Blocks of compiled kernels whose text does not say how many threads they have.

use std::collections::BTreeMap;

use warpline_import::lift::{self, Launch};
use warpline_import::ptx::{Entry, Module};

use super::ptx::{is_ptx, of_text};
use crate::request::Request;

/// The most threads of a block.
const MOST_THREADS: u32 = 1024;

/// The blocks that a compiled kernel can have.
pub(crate) struct OpenBlocks {
    /// By number of threads, a multiple of 32: the block, where the text says which shape it has.
    pub(crate) blocks: BTreeMap<u32, [u32; 3]>,
    /// Whether rows of threads are taken for warps, as nothing says how long a row is.
    pub(crate) by_rows: bool,
    /// The most threads for which the arrays of the text have room.
    pub(crate) room: u32,
}

/// The blocks that a compiled kernel can have. `None` where a request names another kernel, or where its text or its launch
/// says how many threads a block has.
pub(crate) fn open_blocks(request: &Request) -> Option<OpenBlocks> {
    let blocks = |module: &Module, entry: &Entry, launch: &Launch| {
        if launch.block.is_some() || !lift::leaves_block_open(entry) {
            return None;
        }
        let by_rows = lift::may_have_rows_of_warps(entry);
        let row = |threads| by_rows.then_some([32, threads / 32, 1]);
        let of = |threads| Some((threads, lift::block_of(entry, threads).or_else(|| row(threads))?));
        // Fewer threads than two warps are none that arrays are made for.
        let room = lift::room_of(module, entry).filter(|n| *n >= 64).unwrap_or(MOST_THREADS).min(MOST_THREADS);
        Some(OpenBlocks { blocks: (32..=room).step_by(32).filter_map(of).collect(), by_rows, room: room / 32 * 32 })
    };
    is_ptx(&request.scenario).then(|| of_text(request, blocks))?.flatten()
}
