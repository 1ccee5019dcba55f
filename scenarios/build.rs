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
        collect(&family, &name, &mut files)?;
    }
    files.sort();
    let lines: String = files.iter().map(|(name, path)| format!("    ({name:?}, include_str!({path:?})),\n")).collect();
    let list = format!("[\n{lines}]\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("embedded.rs"), list)
}

/// Kernels and scenarios of a folder and of those inside it, by name.
fn collect(dir: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for path in sorted(dir)? {
        let inner = format!("{name}/{}", file_name(&path));
        if path.is_dir() {
            collect(&path, &inner, files)?;
        } else if matches!(path.extension().and_then(|e| e.to_str()), Some("pipe" | "toml")) {
            files.push((inner, path));
        }
    }
    Ok(())
}

fn sorted(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = fs::read_dir(dir)?.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?;
    all.sort();
    Ok(all)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}
