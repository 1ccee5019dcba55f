//! Many scenarios verified at once: the scenarios of a folder, of a family, or of a list.
//!
//! Names are in their own order and files of a folder in the order of their paths, on any number of threads.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;

use crate::blocks::verify_request;
use crate::error::Error;
use crate::files::{files_below, short_path};
use crate::load;
use crate::progress::{Counter, OnProgress};
use crate::request::Request;
use crate::status::Status;
use crate::verify::{ProofOptions, Verification};

/// The scenarios that a list of names stands for.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// The scenarios and kernels, in order.
    pub members: Vec<Member>,
    /// Files of folders that are not verified.
    pub skipped: Vec<Skipped>,
    /// Whether a folder or a family is among the names.
    pub named_several: bool,
}

/// A scenario or kernel of a collection.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name, or its path in a folder.
    pub name: String,
    /// The reason why it cannot be read, if that is known already.
    pub error: Option<Error>,
}

/// A file of a folder that is not verified.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The file.
    pub file: String,
    /// The reason.
    pub why: &'static str,
}

impl Collection {
    /// The scenarios of a list of names. A name is a folder, even if a built-in family has the same name. Or it is a family
    /// of built-in scenarios, a compiled file with all its kernels, or one scenario or kernel. A scenario with two names in
    /// the list is verified once.
    pub fn find(names: &[String]) -> Collection {
        let mut collection = Collection::default();
        let built_in = load::builtin_scenarios();
        for name in names {
            let family = format!("{}/", name.trim_end_matches('/'));
            let mut members = built_in.iter().filter(|n| n.starts_with(&family)).peekable();
            if Path::new(name).is_dir() {
                collection.named_several = true;
                if let Err(error) = collection.folder(name) {
                    collection.add(name, Some(error));
                }
            } else if members.peek().is_some() {
                collection.named_several = true;
                members.for_each(|n| collection.add(n, None));
            } else {
                collection.file(name);
            }
        }
        collection
    }

    /// One scenario or kernel.
    pub fn of(name: &str) -> Collection {
        let mut collection = Collection::default();
        collection.add(name, None);
        collection
    }

    /// Adds a scenario, a kernel, or the kernels of a compiled file.
    fn file(&mut self, name: &str) {
        let Some(kernels) = load::kernels_of(name) else { return self.add(name, None) };
        self.named_several = true;
        kernels.iter().for_each(|k| self.add(k, None));
    }

    /// The name of the only member, if the names stand for one scenario or kernel and no folder or family.
    pub fn single(&self) -> Option<&str> {
        match self.members.as_slice() {
            [Member { name, error: None }] if !self.named_several => Some(name),
            _ => None,
        }
    }

    fn add(&mut self, name: &str, error: Option<Error>) {
        if !self.members.iter().any(|m| m.name == name) {
            self.members.push(Member { name: name.to_string(), error });
        }
    }

    /// Adds every scenario below a folder in the order of the paths, and then every compiled kernel.
    fn folder(&mut self, name: &str) -> Result<(), Error> {
        let mut found = BTreeSet::new();
        files_below(Path::new(name), &["toml", "pipe", "ptx", "gz"], &mut found)?;
        let (before, mut kernels, mut named) = (self.members.len(), Vec::new(), BTreeSet::new());
        for path in &found {
            let file = short_path(path);
            if path.extension().is_none_or(|e| e != "toml") {
                kernels.push(file);
                continue;
            }
            match load::read(path) {
                Ok(text) if load::is_scenario(&text) => {
                    named.extend(load::kernel_of(path, &text).map(|k| short_path(&k)));
                    self.add(&file, None);
                }
                Ok(_) => {
                    self.skipped.push(Skipped { file, why: "names no kernel and no machine, so it is not a scenario" });
                }
                Err(error) => self.add(&file, Some(error)),
            }
        }
        kernels.retain(|k| !named.contains(k) && (k.ends_with(".pipe") || load::is_ptx(k)));
        let (compiled, written): (Vec<_>, Vec<_>) = kernels.into_iter().partition(|k| load::is_ptx(k));
        compiled.iter().for_each(|file| self.file(file));
        let unnamed = written.into_iter().map(|file| Skipped { file, why: "no scenario of the folder names it" });
        self.skipped.extend(unnamed);
        if self.members.len() == before {
            return Err(Error::with_help(
                format!("there is no scenario in the folder `{name}`"),
                "a scenario is a .toml file that names a kernel and a machine; `warpline new NAME` writes one. Compiled \
                 kernels end in .ptx or .ptx.gz",
            ));
        }
        Ok(())
    }
}

/// A member of a collection with its verification.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The verification, or the reason why there is none.
    pub result: Result<Verification, Error>,
}

impl Entry {
    /// The status of the member.
    pub fn status(&self) -> Status {
        self.result.as_ref().map_or(Status::BadInput, Verification::status)
    }
}

/// The verifications of a collection.
#[derive(Clone, Debug)]
pub struct Verifications {
    /// Each member, in order.
    pub entries: Vec<Entry>,
    /// Files of folders that were not verified.
    pub skipped: Vec<Skipped>,
    /// Seconds that all verifications took together.
    pub wall_s: f64,
}

impl Verifications {
    /// The most serious status of all members.
    pub fn status(&self) -> Status {
        self.entries.iter().map(Entry::status).fold(Status::Holds, Status::and)
    }

    /// The reasons why members could not be verified.
    pub fn errors(&self) -> impl Iterator<Item = &Error> {
        self.entries.iter().filter_map(|e| e.result.as_ref().err())
    }
}

/// Verifies every member of a collection, on all cores. `request` gives the machine, settings and fences; its scenario
/// is ignored. A member that cannot be read does not prevent the others from being verified. No repair is searched for.
pub fn verify_all(
    collection: Collection,
    request: &Request,
    options: &ProofOptions,
    progress: OnProgress<'_>,
) -> Verifications {
    let start = Instant::now();
    let options = ProofOptions { suggest: false, ..*options };
    let counter = Counter::start(collection.members.len(), progress);
    let one = |Member { name, error }: Member| {
        let verified = || verify_request(&Request { scenario: name.clone(), ..request.clone() }, &options);
        let result = error.map_or_else(verified, Err);
        counter.step();
        Entry { name, result }
    };
    let entries = collection.members.into_par_iter().map(one).collect();
    Verifications { entries, skipped: collection.skipped, wall_s: start.elapsed().as_secs_f64() }
}
