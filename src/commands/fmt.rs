//! `warpline fmt`.

use std::collections::BTreeSet;

use crate::cli::Fmt;
use crate::console::Console;
use crate::output;
use warpline_api::{Error, Sources, Status};

pub(super) fn fmt(args: &Fmt, console: &mut Console) -> Result<Status, Error> {
    let mut paths = BTreeSet::new();
    for path in &args.files {
        warpline_api::files_below(path, &["pipe"], &mut paths)?;
    }
    let (mut sources, mut diagnostics, mut changed) = (Sources::new(), Vec::new(), Vec::new());
    for path in paths {
        let (file, text) = (path.display().to_string(), warpline_api::read(&path)?);
        match warpline_api::formatted(&file, &text) {
            Ok(new) if new != text => changed.push((path, new)),
            Ok(_) => {}
            Err(d) => {
                diagnostics.extend(d);
                sources.insert(file, text);
            }
        }
    }
    // One file with an error prevents all files from being written.
    if !diagnostics.is_empty() {
        return Err(Error::Input { diagnostics, sources });
    }
    for (path, new) in &changed {
        if args.check {
            console.print(&format!("{} is not formatted\n", path.display()))?;
        } else {
            output::write(console, path, new.as_bytes())?;
        }
    }
    Ok(if args.check && !changed.is_empty() { Status::Violated } else { Status::Holds })
}
