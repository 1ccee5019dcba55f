//! The recorded kernels and the verdict on a text.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use warpline_import::{lift, ptx};
use warpline_sim::engine::rules;
use warpline_verify::{Options, Outcome, Verdict, verify};

/// The folder of the recorded kernels.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracles/ptx")
}

/// Names and texts of all recorded kernels.
pub(crate) fn corpus() -> BTreeMap<String, String> {
    let files = std::fs::read_dir(folder()).expect("the corpus").map(|e| e.expect("a file").path());
    let name = |p: &Path| Some(p.file_name()?.to_str()?.strip_suffix(".gz")?.to_string());
    files.filter_map(|p| Some((name(&p)?, inflated(&p)))).collect()
}

/// The text of one recorded kernel.
pub(crate) fn recorded(name: &str) -> String {
    inflated(&folder().join(format!("{name}.gz")))
}

fn inflated(path: &Path) -> String {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).expect("a recorded kernel");
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("a gzip file");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is decided of a kernel: a verdict's word and the reason, or why it is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) word: &'static str,
    pub(crate) reason: String,
}

impl Decision {
    fn new(word: &'static str, reason: impl Into<String>) -> Decision {
        Decision { word, reason: reason.into() }
    }
}

/// Steps of one verification of a program of `instructions` instructions. Large ones take a minute, which a test does not have.
fn steps(instructions: usize) -> u64 {
    if instructions > 1000 { 200_000 } else { 3_000_000 }
}

/// The verdict on a kernel of a file, or why there is none.
pub(crate) fn decided(module: &ptx::Module, entry: &ptx::Entry, name: &str, text: &str) -> Decision {
    decided_within(module, entry, name, text, u64::MAX)
}

/// The verdict on a kernel of a file, within some steps.
pub(crate) fn decided_within(module: &ptx::Module, entry: &ptx::Entry, name: &str, text: &str, most: u64) -> Decision {
    let lifted = match lift::lift(module, entry, name, text, &lift::Launch::default()) {
        Ok(l) => l,
        Err(e) => return Decision::new("rejected", format!("line {}: {}", e.line, e.message)),
    };
    let machine = warpline_models::embedded(machine(&module.target)).expect("a machine");
    let max_steps = steps(lifted.program.code.len()).min(most);
    let options = Options { max_steps, max_memory: 64_000_000_000, ..Options::default() };
    let unproved = lifted.unproved.clone();
    let mut worst = Decision::new("proved", "");
    for p in lifted.variants() {
        let v = verify(&p, rules(&machine), options);
        match v.outcome {
            Outcome::Proved => {}
            Outcome::Bounded { why, .. } => worst = Decision::new("bounded", why.to_string()),
            Outcome::GaveUp { why } => return Decision::new("gave up", why.to_string()),
            Outcome::Violated if lifted.related.is_some() => {
                let of_a_launch = lifted.possible().into_iter().flat_map(|l| l.programs()).find_map(|p| {
                    let v = verify(&p, rules(&machine), options);
                    (v.outcome == Outcome::Violated).then(|| fault(v))
                });
                let related = lifted.related.clone().unwrap_or_default();
                return of_a_launch.unwrap_or_else(|| Decision::new("gave up", format!("a fault, and {related}")));
            }
            Outcome::Violated => return fault(v),
        }
    }
    unproved.map_or(worst, |why| Decision::new("gave up", why))
}

/// The first finding of a violation.
fn fault(v: Verdict) -> Decision {
    let x = v.violation.expect("a violation");
    let first = x.findings.first().map(|f| {
        let line = x.sites.get(f.site as usize).map_or(0, |s| s.line);
        format!("line {line}: {}", f.message)
    });
    Decision::new("violated", first.unwrap_or_else(|| "hangs".into()))
}

/// Machine of a target.
fn machine(target: &str) -> &'static str {
    match target.get(3..5) {
        Some("80") => "a100",
        Some("90") => "h200",
        _ => "b200",
    }
}

/// The lines of a recorded table behind its head, split into columns; none where there is no table.
pub(crate) fn table(name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(folder().join(name)).unwrap_or_default();
    text.lines().skip(1).map(|l| l.split('\t').map(str::to_string).collect()).collect()
}
