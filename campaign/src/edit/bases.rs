//! The kernels that edits start from.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use warpline_scenarios::{is_scenario, scenario};

use crate::cases::cases;

/// A kernel that is edited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Base {
    /// Its name.
    pub name: String,
    /// Its text, with a comment that names the machine.
    pub text: String,
}

/// The bases of a folder and of the folders in it, by name.
///
/// Scenarios that must hold give their kernels with their values. Other kernels give their cases that are proved, and
/// themselves where they have no cases and expect nothing.
///
/// # Errors
/// A folder or a file cannot be read.
pub fn bases_in(folder: &Path) -> io::Result<Vec<Base>> {
    let mut bases = BTreeSet::new();
    collect(folder, "", &mut bases)?;
    Ok(bases.into_iter().collect())
}

fn collect(folder: &Path, prefix: &str, bases: &mut BTreeSet<Base>) -> io::Result<()> {
    let (mut kernels, mut scenarios) = (BTreeMap::new(), BTreeMap::new());
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), bases)?;
        } else if let Some(stem) = name.strip_suffix(".pipe") {
            kernels.insert(stem.to_string(), std::fs::read_to_string(&path)?);
        } else if let Some(stem) = name.strip_suffix(".toml") {
            scenarios.insert(stem.to_string(), std::fs::read_to_string(&path)?);
        }
    }
    let mut named = BTreeSet::new();
    for (stem, text) in scenarios.iter().filter(|(_, text)| is_scenario(text)) {
        let Ok(s) = scenario(&format!("{stem}.toml"), text) else { continue };
        let kernel = s.kernel.trim_end_matches(".pipe").to_string();
        let text = kernels.get(&kernel).map(|text| format!("// machine: {}\n{}", s.machine, with_values(text, &s.set)));
        named.insert(kernel);
        bases.extend(text.filter(|_| s.expect.is_none()).map(|text| Base { name: format!("{prefix}{stem}"), text }));
    }
    for (stem, text) in kernels.iter().filter(|(stem, _)| !named.contains(*stem)) {
        let right = cases(stem, text).into_iter().filter(|c| c.expect.first().is_none_or(|word| word == "proved"));
        bases.extend(right.map(|c| Base { name: format!("{prefix}{}", c.name), text: c.text }));
    }
    Ok(())
}

/// The kernel with other default values of its parameters.
fn with_values(text: &str, set: &BTreeMap<String, i64>) -> String {
    let start = if text.starts_with("kernel ") { Some(0) } else { text.find("\nkernel ") };
    let header = start.and_then(|start| {
        let open = start + text[start..].find('(')? + 1;
        Some((open, open + text[open..].find(')')?))
    });
    let Some((open, close)) = header else { return text.to_string() };
    let parameters = text[open..close].split(',').map(|p| {
        let name = p.split('=').next().unwrap_or(p).trim();
        set.get(name).map_or_else(|| p.trim().to_string(), |value| format!("{name} = {value}"))
    });
    format!("{}{}{}", &text[..open], parameters.collect::<Vec<_>>().join(", "), &text[close..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_defaults() {
        let set = BTreeMap::from([("k".to_string(), 3), ("x".to_string(), 4)]);
        let text = "// kernel (\nkernel t(k = 1,\n  j = 2)\n  warps 1\n";
        assert_eq!(with_values(text, &set), "// kernel (\nkernel t(k = 3, j = 2)\n  warps 1\n");
    }

    #[test]
    fn repairs_of_the_museum_are_bases_and_bugs_are_none() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/museum");
        let bases = bases_in(&folder).expect("a folder");
        let named = |name: &str| bases.iter().find(|b| b.name == name);
        let fix = named("m05_ring_parity_on_one_slot/fix").expect("the repair");
        assert!(fix.text.starts_with("// machine: b200\n") && fix.text.contains("fixed = 1"), "{}", fix.text);
        assert!(named("m05_ring_parity_on_one_slot/bug").is_none());
    }
}
