//! `warpline fmt`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli::Fmt;
use crate::console::Console;
use crate::failure::{Failure, Sources, Status};
use crate::{load, output};

pub(super) fn fmt(args: &Fmt, console: &mut Console) -> Result<Status, Failure> {
    let mut files = BTreeSet::new();
    for path in &args.files {
        collect(path, &mut files)?;
    }
    let (mut sources, mut diagnostics, mut changed) = (Sources::new(), Vec::new(), Vec::new());
    for path in files {
        let (file, text) = (path.display().to_string(), load::read(&path)?);
        match load::formatted(&file, &text) {
            Ok(new) if new != text => changed.push((path, new)),
            Ok(_) => {}
            Err(d) => {
                diagnostics.extend(d);
                sources.insert(file, text);
            }
        }
    }
    // Nothing is written where one of the files cannot be read as a kernel.
    if !diagnostics.is_empty() {
        return Err(Failure::Input { diagnostics, sources });
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

/// A file as it is named, or all kernels in a folder.
fn collect(path: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), Failure> {
    if !path.is_dir() {
        files.insert(path.to_path_buf());
        return Ok(());
    }
    let failed = |e| Failure::new(format!("cannot read `{}`: {e}", path.display()));
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let inner = entry.path();
        // Links to folders are not followed: they can go round in circles.
        if entry.file_type().map_err(failed)?.is_dir() {
            collect(&inner, files)?;
        } else if inner.extension().is_some_and(|e| e == "pipe") {
            files.insert(inner);
        }
    }
    Ok(())
}
