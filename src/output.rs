//! Files written whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::console::Console;
use crate::failure::Failure;

/// Writes a file, or the standard output for `-`.
pub(crate) fn write(console: &mut Console, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path == Path::new("-") {
        return console.print_bytes(bytes);
    }
    replace_file(path, bytes)
}

/// Writes a file.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    replace(path, bytes).map_err(|e| Failure::new(format!("cannot write `{}`: {e}", path.display())))
}

/// Puts a new content in the place of the old in one step, so that a reader never meets half a file.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link: what it points to is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let old = fs::metadata(path).ok();
    if let Some(old) = &old
        && !old.is_file()
    {
        // A directory fails here with the system's words; a pipe or device takes the bytes as they come.
        return fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let temp = beside(path)?;
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&temp)?;
        file.write_all(bytes)?;
        if let Some(old) = old {
            if old.permissions().readonly() {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
            }
            file.set_permissions(old.permissions())?;
        }
        drop(file);
        fs::rename(&temp, path)
    })();
    if written.is_err() {
        // Nothing to add to the first error if this fails too.
        let _ = fs::remove_file(&temp);
    }
    written
}

/// A name in the same directory: a rename across file systems would not be one step.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it names no file"))?;
    let mut temp = std::ffi::OsString::from(".");
    temp.push(name);
    temp.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(temp))
}

/// Writes new files, all or none; refuses to touch one that exists.
pub(crate) fn create_all(files: &[(PathBuf, String)]) -> Result<(), Failure> {
    for (i, (path, text)) in files.iter().enumerate() {
        let made = fs::OpenOptions::new().write(true).create_new(true).open(path);
        let opened = made.is_ok();
        if let Err(e) = made.and_then(|mut f| f.write_all(text.as_bytes())) {
            for (path, _) in &files[..i + opened as usize] {
                let _ = fs::remove_file(path);
            }
            return Err(if e.kind() == io::ErrorKind::AlreadyExists {
                Failure::with_help(
                    format!("`{}` exists already; nothing was written", path.display()),
                    "pick another name",
                )
            } else {
                Failure::new(format!("cannot write `{}`: {e}; nothing was written", path.display()))
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("warpline-output-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a temporary directory");
        dir
    }

    #[test]
    fn replaces_whole_and_leaves_nothing_behind() {
        let dir = dir("whole");
        let path = dir.join("x.txt");
        for text in ["one", "two"] {
            replace(&path, text.as_bytes()).expect("writable");
            assert_eq!(fs::read_to_string(&path).expect("readable"), text);
        }
        assert!(replace(&dir, b"x").is_err());
        assert!(replace(&dir.join("none/x"), b"x").is_err());
        assert_eq!(fs::read_dir(&dir).expect("readable").count(), 1);
        fs::remove_dir_all(dir).expect("removable");
    }

    #[test]
    fn new_files_come_all_or_none() {
        let dir = dir("new");
        let (a, b) = (dir.join("a"), dir.join("b"));
        fs::write(&b, "old").expect("writable");
        assert!(create_all(&[(a.clone(), "1".into()), (b.clone(), "2".into())]).is_err());
        assert!(!a.exists());
        assert_eq!(fs::read_to_string(&b).expect("readable"), "old");
        fs::remove_dir_all(dir).expect("removable");
    }
}
