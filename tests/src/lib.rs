//! Tests across the crates; see `tests/it/`. What they share is here.

use std::fs;
use std::path::Path;

use warpline::{Look, Status, main_with};

/// What a command line did.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Its status.
    pub status: Status,
    /// What it printed.
    pub out: String,
    /// What it printed on the error stream.
    pub err: String,
}

/// Runs a command line in this process, without color.
pub fn warpline(args: &[&str]) -> Said {
    warpline_with(args, Look::default())
}

/// Runs a command line in this process.
pub fn warpline_with(args: &[&str], look: Look) -> Said {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once("warpline").chain(args.iter().copied()).map(Into::into);
    let status = main_with(args, &mut out, &mut err, look);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { status, out: text(out), err: text(err) }
}

/// Cycles of a run that holds, from its JSON; `args` follow `run`.
///
/// # Panics
/// When the run does not hold.
pub fn cycles_of(args: &[&str]) -> f64 {
    let said = warpline(&[&["run", "--json"], args].concat());
    assert_eq!(said.status, Status::Holds, "{}{}", said.out, said.err);
    let json: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    json["cycles"].as_f64().expect("cycles")
}

/// A folder that goes away with the value.
#[derive(Debug)]
pub struct TempDir(tempfile::TempDir);

impl TempDir {
    /// A new, empty folder.
    ///
    /// # Panics
    /// When there is no place for one.
    pub fn new() -> TempDir {
        TempDir(tempfile::Builder::new().prefix("warpline-test-").tempdir().expect("a temporary folder"))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A path in it, as text for a command line.
    pub fn file(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    /// Writes a file in it and gives its path.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path().join(name), content).expect("writable");
        self.file(name)
    }

    /// Names of the files in it, in order.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).expect("readable");
        let mut names: Vec<_> =
            entries.map(|e| e.expect("readable").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Default for TempDir {
    fn default() -> Self {
        TempDir::new()
    }
}
