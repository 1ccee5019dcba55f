//! `warpline new`.

use crate::cli::New;
use crate::console::Console;
use warpline_api::{Error, Status};

/// The text of the kernel, with `NAME` for its name.
const KERNEL: &str = include_str!("new.pipe");
/// The text of the scenario.
const SCENARIO: &str = include_str!("new.toml");

pub(super) fn new(args: &New, console: &mut Console) -> Result<Status, Error> {
    let name = args.name.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !fits {
        return Err(Error::with_help(
            format!("`{}` does not end in a kernel's name", args.name.display()),
            "letters, digits and `_`, not starting with a digit; the endings are added",
        ));
    }
    let files = [("pipe", KERNEL), ("toml", SCENARIO)]
        .map(|(ending, text)| (args.name.with_extension(ending), text.replace("NAME", name)));
    warpline_api::create_all(&files)?;
    let scenario = args.name.with_extension("toml");
    console.print(&format!(
        "wrote {} and {}; try\n  warpline run {}\n",
        files[0].0.display(),
        files[1].0.display(),
        scenario.display()
    ))?;
    Ok(Status::Holds)
}
