//! `warpline import`.

use warpline_import::text;

use crate::cli::Import;
use crate::console::Console;
use crate::output;
use warpline_api::{Error, Request, Status};

pub(super) fn import(args: &Import, console: &mut Console) -> Result<Status, Error> {
    if !warpline_api::is_ptx(&args.kernel) {
        return Err(Error::with_help(
            format!("`{}` is not a PTX file", args.kernel),
            "name a file that ends in `.ptx`, or `k.ptx:name` for one of its kernels",
        ));
    }
    let request = args.launch.of(Request::named(&args.kernel));
    // A kernel file must load again.
    if let Some(path) = args.output.as_ref().filter(|p| p.extension().is_some_and(|e| e == "pipe")) {
        output::write(console, path, warpline_api::kernel_text(&request)?.as_bytes())?;
        return Ok(Status::Holds);
    }
    let lifted = warpline_api::lifted(&request)?.lifted;
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
