//! Lists the scenario files, so that the library can hold them.
//!
//! A list of `include_str!` and not a whole folder: this crate's folder also holds its sources and tests,
//! and cargo must rebuild when a file is added.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    println!("cargo::rerun-if-changed=.");
    for family in sorted(&root)? {
        let name = file_name(&family);
        if !family.is_dir() || ["src", "tests", "benches", "examples", "target"].contains(&name.as_str()) {
            continue;
        }
        for file in sorted(&family)? {
            if matches!(file.extension().and_then(|e| e.to_str()), Some("pipe" | "toml")) {
                files.push(format!("    ({:?}, include_str!({:?})),\n", format!("{name}/{}", file_name(&file)), file));
            }
        }
    }
    let list = format!("[\n{}]\n", files.concat());
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("embedded.rs"), list)
}

fn sorted(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = fs::read_dir(dir)?.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?;
    all.sort();
    Ok(all)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}
