//! `warpline import`.

use warpline_import::text;

use crate::cli::Import;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{load, output};

pub(super) fn import(args: &Import, console: &mut Console) -> Result<Status, Failure> {
    if !load::is_ptx(&args.kernel) {
        return Err(Failure::with_help(
            format!("`{}` is no PTX file", args.kernel),
            "name a file that ends in `.ptx`, or `k.ptx:name` for one of its kernels",
        ));
    }
    let (lifted, ..) = load::lifted(&args.kernel)?;
    if args.explain {
        console.print(&text::explain(&lifted))?;
        return Ok(Status::Holds);
    }
    let kernel = text::kernel(&lifted);
    match &args.output {
        Some(path) => output::write(console, path, kernel.as_bytes())?,
        None => console.print(&kernel)?,
    }
    Ok(Status::Holds)
}
