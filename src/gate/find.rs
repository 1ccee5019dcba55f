//! Which scenarios a command line means.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::failure::Failure;
use crate::{files, load};

/// What is to be verified, in order.
#[derive(Default)]
pub(crate) struct Subjects {
    /// Scenarios and kernels by name, and those of which already something is wrong.
    pub(super) list: Vec<(String, Option<Failure>)>,
    /// Files of the folders that are not verified, and why.
    pub(super) left_out: Vec<(String, &'static str)>,
    /// A folder or a family was named.
    several: bool,
}

impl Subjects {
    /// What these names mean: a folder (also where a built-in family has its name), a family of built-in scenarios, or
    /// one scenario or kernel. Each is looked at once.
    pub(crate) fn find(names: &[String]) -> Subjects {
        let mut subjects = Subjects::default();
        let built_in = load::builtin_scenarios();
        for name in names {
            let family = format!("{}/", name.trim_end_matches('/'));
            let mut members = built_in.iter().filter(|n| n.starts_with(&family)).peekable();
            if Path::new(name).is_dir() {
                subjects.several = true;
                if let Err(failure) = subjects.folder(name) {
                    subjects.add(name, Some(failure));
                }
            } else if members.peek().is_some() {
                subjects.several = true;
                members.for_each(|n| subjects.add(n, None));
            } else {
                subjects.add(name, None);
            }
        }
        subjects
    }

    /// The name, where one scenario or kernel was named and nothing else.
    pub(crate) fn single(&self) -> Option<&str> {
        match self.list.as_slice() {
            [(name, None)] if !self.several => Some(name),
            _ => None,
        }
    }

    fn add(&mut self, name: &str, failure: Option<Failure>) {
        if !self.list.iter().any(|(n, _)| n == name) {
            self.list.push((name.to_string(), failure));
        }
    }

    /// Every scenario below a folder, in the order of their paths.
    fn folder(&mut self, name: &str) -> Result<(), Failure> {
        let mut found = BTreeSet::new();
        files::below(Path::new(name), &["toml", "pipe"], &mut found)?;
        let (before, mut kernels, mut named) = (self.list.len(), Vec::new(), BTreeSet::new());
        for path in &found {
            let shown = shown(path);
            if path.extension().is_some_and(|e| e == "pipe") {
                kernels.push(shown);
                continue;
            }
            match load::read(path) {
                Ok(text) if load::is_scenario(&text) => {
                    named.extend(load::kernel_of(path, &text).map(|k| self::shown(&k)));
                    self.add(&shown, None);
                }
                Ok(_) => self.left_out.push((shown, "names no kernel and no machine, so it is no scenario")),
                Err(failure) => self.add(&shown, Some(failure)),
            }
        }
        kernels.retain(|k| !named.contains(k));
        self.left_out.extend(kernels.into_iter().map(|k| (k, "no scenario of the folder names it")));
        if self.list.len() == before {
            return Err(Failure::with_help(
                format!("there is no scenario in the folder `{name}`"),
                "a scenario is a .toml file that names a kernel and a machine; `warpline new NAME` writes one",
            ));
        }
        Ok(())
    }
}

/// A path as reports name it: without `.`, and without `..` where a folder can be taken out for it.
pub(super) fn shown(path: &Path) -> String {
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
    fn paths_are_named_one_way() {
        for (path, name) in [
            ("./a/b.toml", "a/b.toml"),
            ("a/./x/../b.toml", "a/b.toml"),
            ("../b.toml", "../b.toml"),
            ("a/../../b", "../b"),
            ("/a/../b", "/b"),
        ] {
            assert_eq!(shown(Path::new(path)), name);
        }
    }
}
