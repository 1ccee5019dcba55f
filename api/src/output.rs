//! Files written whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;

/// Replaces the content of a file in one step: a reader sees the old bytes or the new bytes. Several threads and
/// processes may write one file; the last one wins.
///
/// # Errors
/// A file that cannot be written, or is read-only. The old content then stays.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes).map_err(|e| Error::new(format!("cannot write `{}`: {e}", path.display())))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link: the file it points to is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let old = fs::metadata(path).ok();
    if let Some(old) = &old
        && !old.is_file()
    {
        // A directory fails here with the system's words; a pipe or device takes the bytes as they come.
        return fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    if path.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it does not name a file"));
    }
    // In the same folder: a rename across file systems is not one step.
    let folder = path.parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() && !folder.exists() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no folder `{}`", folder.display())));
    }
    let mut file = temporary(folder, old.as_ref())?;
    file.write_all(bytes)?;
    // On the disk before the rename, so that a crash leaves no empty file under the name.
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// A temporary file with the permissions of the file that it will replace, or of a new file.
fn temporary(folder: &Path, old: Option<&fs::Metadata>) -> io::Result<NamedTempFile> {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    // The process's umask decides about a new file, as for any other program.
    let file = tempfile::Builder::new()
        .make_in(folder, |path| fs::OpenOptions::new().write(true).create_new(true).open(path))?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
}

/// Writes new files, all or none.
///
/// # Errors
/// A file that exists or cannot be written. No new file is then left behind.
pub fn create_all(files: &[(PathBuf, String)]) -> Result<(), Error> {
    for (i, (path, text)) in files.iter().enumerate() {
        let created = fs::OpenOptions::new().write(true).create_new(true).open(path);
        let opened = created.is_ok();
        if let Err(e) = created.and_then(|mut f| f.write_all(text.as_bytes())) {
            for (path, _) in &files[..i + opened as usize] {
                let _ = fs::remove_file(path);
            }
            return Err(if e.kind() == io::ErrorKind::AlreadyExists {
                Error::with_help(
                    format!("`{}` exists already; nothing was written", path.display()),
                    "pick another name",
                )
            } else {
                Error::new(format!("cannot write `{}`: {e}; nothing was written", path.display()))
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_whole_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("x.txt");
        for text in ["one", "two"] {
            replace(&path, text.as_bytes()).expect("writable");
            assert_eq!(fs::read_to_string(&path).expect("readable"), text);
        }
        assert!(replace(dir.path(), b"x").is_err());
        assert!(replace(&dir.path().join("none/x"), b"x").is_err());
        assert_eq!(fs::read_dir(&dir).expect("readable").count(), 1);
    }

    #[test]
    fn two_threads_may_write_one_path() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("x.txt");
        let texts = ["a".repeat(100_000), "b".repeat(200_000)];
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| (0..20).for_each(|_| replace(&path, text.as_bytes()).expect("writable")));
            }
        });
        assert!(texts.contains(&fs::read_to_string(&path).expect("readable")));
        assert_eq!(fs::read_dir(&dir).expect("readable").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("x.sh");
        fs::write(&path, "old").expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("its owner may");
        replace(&path, b"new").expect("writable");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o750);
    }

    #[test]
    fn new_files_come_all_or_none() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&b, "old").expect("writable");
        assert!(create_all(&[(a.clone(), "1".into()), (b.clone(), "2".into())]).is_err());
        assert!(!a.exists());
        assert_eq!(fs::read_to_string(&b).expect("readable"), "old");
    }
}
