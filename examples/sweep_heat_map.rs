//! Sweeps the number of stages against the tile size, prints the fastest point and draws a heat map.
//!
//! ```text
//! $ cargo run --example sweep_heat_map
//! tile_n=64 stages=1          644.8 us
//! tile_n=64 stages=2          371.5 us
//! tile_n=64 stages=3          315.2 us
//! tile_n=64 stages=4          315.8 us
//! tile_n=64 stages=5          338.7 us
//! tile_n=128 stages=1         378.7 us
//! tile_n=128 stages=2           210 us
//! tile_n=128 stages=3         193.9 us
//! tile_n=128 stages=4         210.5 us
//! tile_n=128 stages=5         208.1 us
//! tile_n=256 stages=1         303.6 us
//! tile_n=256 stages=2         163.7 us
//! tile_n=256 stages=3         171.8 us
//! tile_n=256 stages=4         171.8 us
//! tile_n=256 stages=5      a CTA needs 245800 bytes of shared memory; h200 gives one at most 232448
//! fastest: tile_n=256 stages=2 with 163.7 us
//! ```

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use warpline_api::draw::{self, Format};
use warpline_api::{Request, SweepRequest, replace_file, sweep};
use warpline_sim::words::short;
use warpline_study::sweep::{axis, best};

fn main() -> Result<(), Box<dyn Error>> {
    example(Path::new("sweep.svg"), &mut io::stdout())
}

/// The example; a test compares its output with the header of this file.
pub fn example(picture: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let axes = vec![axis("tile_n=64,128,256")?, axis("stages=1..5")?];
    let request = SweepRequest::new(Request::named("hopper/tma_wgmma"), axes);
    let part = sweep(&request, &|progress| {
        // Called from any thread: a progress bar goes here.
        let _ = (progress.done, progress.total);
    })?;
    for (point, row) in &part.rows {
        match row.number("time_us") {
            Some(us) => writeln!(out, "{:<24} {:>8} us", part.plan.words(*point), short(us))?,
            None => writeln!(out, "{:<24} {}", part.plan.words(*point), row.message)?,
        }
    }
    if let Some((point, us)) = best(&part, "time_us") {
        writeln!(out, "fastest: {} with {} us", part.plan.words(point), short(us))?;
    }
    replace_file(picture, &draw::sweep(&part, "time_us", Format::Svg)?)?;
    Ok(())
}
