//! The files of a folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file as it is named, or all files below a folder that have one of these endings; folders whose names begin with a
/// dot are left out.
pub(crate) fn below(path: &Path, endings: &[&str], files: &mut BTreeSet<PathBuf>) -> Result<(), Failure> {
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
            if !entry.file_name().to_string_lossy().starts_with('.') {
                below(&inner, endings, files)?;
            }
        } else if inner.extension().is_some_and(|e| endings.iter().any(|x| e == *x)) {
            files.insert(inner);
        }
    }
    Ok(())
}
