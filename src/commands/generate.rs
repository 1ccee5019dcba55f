//! `warpline completions` and `warpline man`, generated from the definition of the command line.

use clap::CommandFactory;

use crate::cli::{Cli, Completions, complete};
use crate::console::Console;
use warpline_api::{Error, Status};

pub(super) fn completions(args: &Completions, console: &mut Console) -> Result<Status, Error> {
    let script = complete::script(args.shell).map_err(|e| Error::new(format!("cannot write the script: {e}")))?;
    console.print_bytes(&script)?;
    Ok(Status::Holds)
}

/// The manual page: the program, then a section for each command.
pub(super) fn man(console: &mut Console) -> Result<Status, Error> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let failed = |e| Error::new(format!("cannot make the manual page: {e}"));
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(failed)?;
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        page.extend(format!(".SH \"WARPLINE {}\"\n", sub.get_name().to_uppercase()).bytes());
        let man = clap_mangen::Man::new(sub.clone());
        man.render_synopsis_section(&mut page).map_err(failed)?;
        man.render_description_section(&mut page).map_err(failed)?;
        man.render_options_section(&mut page).map_err(failed)?;
    }
    console.print_bytes(&page)?;
    Ok(Status::Holds)
}
