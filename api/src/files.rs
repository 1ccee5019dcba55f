//! The files of a folder.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// Adds a file, or all files below a folder with one of these endings. Folders whose names begin with a dot are skipped.
///
/// # Errors
/// A folder that cannot be read.
pub fn files_below(path: &Path, endings: &[&str], files: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
    if !path.is_dir() {
        files.insert(path.to_path_buf());
        return Ok(());
    }
    let failed = |e| Error::new(format!("cannot read `{}`: {e}", path.display()));
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let inner = entry.path();
        // A link to a folder is not followed: it can lead back to itself.
        if entry.file_type().map_err(failed)?.is_dir() {
            if !entry.file_name().to_string_lossy().starts_with('.') {
                files_below(&inner, endings, files)?;
            }
        } else if inner.extension().is_some_and(|e| endings.iter().any(|x| e == *x)) {
            files.insert(inner);
        }
    }
    Ok(())
}

/// A path in its shortest form: without `.`, and without `..` where the folder before it can be removed.
pub fn short_path(path: &Path) -> String {
    let mut short = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(short.components().next_back(), Some(Component::Normal(_))) => {
                short.pop();
            }
            part => short.push(part),
        }
    }
    short.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_form() {
        for (path, name) in [
            ("./a/b.toml", "a/b.toml"),
            ("a/./x/../b.toml", "a/b.toml"),
            ("../b.toml", "../b.toml"),
            ("a/../../b", "../b"),
            ("/a/../b", "/b"),
        ] {
            assert_eq!(short_path(Path::new(path)), name);
        }
    }
}
