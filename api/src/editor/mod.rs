//! Answers for editors about a kernel text that is being written: messages with places, values, costs, a verdict.
//!
//! ```text
//!   KernelText ──check──▶ Checked    messages of the checker, values, and the loaded kernel
//!                           ├──measure──▶ Measured   costs and stalls by statement, findings of the run
//!                           └──prove────▶ Proved     the verdict, and its findings at their statements
//! ```
//!
//! Every part can be written as JSON, so that another process may compute it. Spans are bytes of the kernel's text.

mod costs;
mod messages;
mod values;

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpline_sim::words::plain;

use crate::error::{Error, Sources};
use crate::files::short_path;
use crate::load::{self, Subject, kernel_of, machine_names};
use crate::request::Request;
use crate::simulate::run;
use crate::verify::{ProofOptions, verify};

pub use costs::{Cost, Wait};
pub use messages::{Message, Severity};
pub use values::{Fact, Value};
pub use warpline_scenarios::outline::{Declaration, DeclarationKind, Outline, Statement};
pub use warpline_scenarios::words::{Word, WordKind, words};

/// A kernel text in an editor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelText {
    /// The path of the kernel's file (`.pipe`), which need not exist.
    pub path: String,
    /// The text.
    pub text: String,
    /// The machine of a kernel that no scenario of its folder names; by default the first built-in one that can run it.
    pub machine: Option<String>,
}

/// The result of the checker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Errors of the text, of its scenario and of the machine; hints where there is no error.
    pub messages: Vec<Message>,
    /// Whether the kernel can be run and verified.
    pub runs: bool,
    /// Values of parameters and header `let`s, at their declarations.
    pub values: Vec<Value>,
    /// What is known of a declared name.
    pub facts: Vec<Fact>,
    /// The scenario and the machine, in a line.
    pub about: String,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Findings of the run.
    pub messages: Vec<Message>,
    /// Costs and stalls by statement, in the order of the text.
    pub costs: Vec<Cost>,
    /// The time and the bottleneck, in a line.
    pub about: String,
}

/// The verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Proved {
    /// Findings of the proof, and the verdict at the kernel's name.
    pub messages: Vec<Message>,
}

/// Loads a kernel with the scenario beside it, and reports every problem.
///
/// Without a scenario, the machine is the one given, or the first built-in machine that can run the kernel.
pub fn check(kernel: &KernelText) -> (Checked, Option<Subject>) {
    let scenario = scenario_of(Path::new(&kernel.path));
    let loaded = match &scenario {
        Some(found) => load::load(&found.request(kernel)),
        None => without_scenario(kernel),
    };
    let subject = match loaded {
        Ok(subject) => subject,
        Err(error) => {
            let messages = messages::of_error(kernel, &error);
            return (Checked { messages, ..Checked::default() }, None);
        }
    };
    let about = match &scenario {
        Some(found) => format!("{} on {}", short_path(&found.file), subject.machine.name),
        None => format!("on {}, without a scenario", subject.machine.name),
    };
    let refused = subject.admit().err();
    let errors = refused.as_ref().map(|e| messages::of_error(kernel, e));
    let checked = Checked {
        messages: errors.unwrap_or_else(|| messages::of_conflicts(kernel, &subject)),
        runs: refused.is_none(),
        values: values::values(kernel, &subject),
        facts: values::facts(&subject),
        about,
    };
    (checked, refused.is_none().then_some(subject))
}

/// Runs a kernel with at most this many events.
pub fn measure(kernel: &KernelText, subject: &Subject, max_events: u64) -> Measured {
    let mut subject = subject.clone();
    subject.max_events = Some(max_events);
    match run(&subject) {
        Ok(simulation) => {
            let report = &simulation.report;
            let time = if report.time_us > 0.0 { format!(" ({} us)", plain(report.time_us)) } else { String::new() };
            Measured {
                messages: messages::of_run(kernel, &simulation),
                costs: costs::costs(kernel, &simulation),
                about: format!("{} cycles{time}. {}", plain(report.cycles), report.bottleneck),
            }
        }
        Err(error) => Measured { messages: messages::of_error(kernel, &error), ..Measured::default() },
    }
}

/// Verifies a kernel. No repair is searched for.
pub fn prove(kernel: &KernelText, subject: &Subject, options: &ProofOptions) -> Proved {
    let options = ProofOptions { suggest: false, ..*options };
    let messages = match verify(subject, &options) {
        Ok(verification) => messages::of_verdict(kernel, &verification),
        Err(error) => messages::of_error(kernel, &error),
    };
    Proved { messages }
}

/// A scenario that names a kernel.
struct ScenarioFile {
    file: PathBuf,
    /// The path of the kernel, as the loader writes it.
    kernel: PathBuf,
}

impl ScenarioFile {
    /// The request for the scenario with the editor's text of the kernel.
    fn request(&self, kernel: &KernelText) -> Request {
        let texts = Sources::from([(self.kernel.display().to_string(), kernel.text.clone())]);
        Request { texts, ..Request::named(&self.file.display().to_string()) }
    }
}

/// The scenario in the kernel's folder that names the kernel: the one with the same name, or else the first.
fn scenario_of(kernel: &Path) -> Option<ScenarioFile> {
    let folder = kernel.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.filter_map(|e| Some(e.ok()?.path())).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.sort_by_key(|f| (f.file_stem() != kernel.file_stem(), f.clone()));
    files.into_iter().find_map(|file| {
        let named = kernel_of(&file, &load::read(&file).ok()?)?;
        (short_path(&named) == short_path(kernel)).then_some(ScenarioFile { file, kernel: named })
    })
}

fn without_scenario(kernel: &KernelText) -> Result<Subject, Error> {
    let texts = Sources::from([(kernel.path.clone(), kernel.text.clone())]);
    let request = Request { texts, ..Request::named(&kernel.path) };
    if let Some(machine) = &kernel.machine {
        return load::load(&request.on(machine));
    }
    let mut first = None;
    for machine in machine_names() {
        let loaded = load::load(&request.clone().on(&machine));
        let admitted = loaded.and_then(|s| s.admit().map(|()| s));
        match admitted {
            Ok(subject) => return Ok(subject),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| Error::new("there is no built-in machine")))
}

/// Byte range of a statement of the kernel, if the statement is in the text as written.
fn span_of(kernel: &KernelText, subject: &Subject, site: u32) -> Option<Range<usize>> {
    let at = subject.program.sites.get(site as usize)?;
    let written = subject.program.file == subject.kernel_file;
    written.then(|| crate::error::statement_span(&kernel.text, at.line, at.col, &at.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
kernel k(n = 4)
  let twice = 2 * n
  warps 4   grid n
  global A: f16[256, 64]   global C: f16[256, 64]
  shared a: f16[64, 64]
  all:
    load A[cta.m, 0] -> a
    barrier
    lds a -> r
    warp 0: store r -> C[cta.m, 0]
";

    fn kernel(text: &str) -> KernelText {
        KernelText { path: "no such folder/k.pipe".into(), text: text.into(), machine: Some("h200".into()) }
    }

    #[test]
    fn a_kernel_without_a_scenario_has_values_costs_and_a_verdict() {
        let k = kernel(TEXT);
        let (checked, subject) = check(&k);
        let subject = subject.expect("the kernel loads");
        assert_eq!((checked.runs, checked.about.as_str()), (true, "on h200, without a scenario"));
        let twice = checked.values.iter().find(|v| v.name == "twice").expect("a value");
        assert_eq!((twice.value, twice.hidden, &TEXT[twice.span.clone()]), (8, true, "twice = 2 * n"));
        let hint = &checked.messages[0];
        assert_eq!((hint.severity, &TEXT[hint.span.clone()]), (Severity::Hint, "lds a -> r"));
        assert!(hint.text.contains("8 times as slow") && hint.text.contains("`swizzle 128`"), "{hint:?}");
        let measured = measure(&k, &subject, 1_000_000);
        let load = measured.costs.iter().find(|c| TEXT[c.span.clone()].starts_with("load ")).expect("a cost");
        assert!(load.each.is_some_and(|e| e.busy + e.waiting > 0.0), "{load:?}");
        let proved = prove(&k, &subject, &ProofOptions::default());
        assert!(proved.messages[0].text.starts_with("proved"), "{proved:?}");
    }

    #[test]
    fn a_fault_has_both_of_its_places() {
        let k = kernel(&TEXT.replace("    barrier\n", ""));
        let (_, subject) = check(&k);
        let proved = prove(&k, &subject.expect("the kernel loads"), &ProofOptions::default());
        let race = proved.messages.iter().find(|m| m.code.as_deref() == Some("WL0101")).expect("a race");
        assert_eq!((race.severity, &k.text[race.span.clone()]), (Severity::Error, "lds a -> r"));
        assert_eq!(&k.text[race.related[0].0.clone()], "load A[cta.m, 0] -> a");
    }

    #[test]
    fn errors_have_their_places_and_end_the_analysis() {
        let text = TEXT.replace("barrier", "barier");
        let (checked, subject) = check(&kernel(&text));
        assert!(subject.is_none() && !checked.runs);
        assert_eq!(&text[checked.messages[0].span.clone()], "barier");
        let (checked, subject) = check(&KernelText { machine: Some("no such".into()), ..kernel(TEXT) });
        assert!(subject.is_none());
        assert_eq!(&TEXT[checked.messages[0].span.clone()], "k", "at the kernel's name: {checked:?}");
    }
}
