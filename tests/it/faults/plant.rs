//! Plants a fault into a scenario that comes along, runs it, and reads what the run says.

use warpline_scenarios::{Inputs, compile, embedded, embedded_kernel_of, parameters, scenario};
use warpline_sim::ir::Program;
use warpline_sim::report::{FindingKind, Outcome};
use warpline_sim::{Report, RunError, RunOptions};

/// A run of a kernel with a fault in it.
pub(super) struct PlantedRun {
    program: Program,
    pub(super) report: Report,
}

/// Compiles and runs a scenario after replacing text of its kernel (each piece of text once) and setting parameters.
#[track_caller]
fn attempt(name: &str, edits: &[(&str, &str)], set: &[(&str, i64)]) -> (Program, Result<Report, RunError>) {
    let (file, toml) = embedded(name).unwrap();
    let scenario = scenario(file, toml).unwrap();
    let (kernel, text) = embedded_kernel_of(name, &scenario.kernel).unwrap();
    let mut text = text.to_string();
    for (from, to) in edits {
        assert_eq!(text.matches(from).count(), 1, "`{from}` in {kernel}");
        text = text.replace(from, to);
    }
    let machine = warpline_models::embedded(&scenario.machine).unwrap();
    let mut values = scenario.set.clone();
    values.extend(set.iter().map(|(k, v)| (k.to_string(), *v)));
    // A small problem, unless the fault needs another.
    let known = parameters(kernel, &text).unwrap();
    for (size, small) in [("m", 256), ("n", 256), ("k", 1024)] {
        if known.iter().any(|p| p.name == size) && !set.iter().any(|(k, _)| *k == size) {
            values.insert(size.into(), small);
        }
    }
    let inputs = Inputs { set: &values, cores: machine.get("core.count").map(|c| c as i64) };
    let program = compile(kernel, &text, &inputs).unwrap_or_else(|e| panic!("{e:#?}"));
    let options = RunOptions { max_events: 5_000_000, ..RunOptions::default() };
    let report = warpline_sim::run(&program, &machine, &options);
    (program, report)
}

/// Runs a scenario with a fault.
#[track_caller]
pub(super) fn plant(name: &str, edits: &[(&str, &str)], set: &[(&str, i64)]) -> PlantedRun {
    let (program, report) = attempt(name, edits, set);
    PlantedRun { program, report: report.unwrap() }
}

/// The fault is refused before anything runs, with this in the message.
#[track_caller]
pub(super) fn refused(name: &str, edits: &[(&str, &str)], message: &str) {
    match attempt(name, edits, &[]).1 {
        Err(e) => assert!(e.to_string().contains(message), "{e}"),
        Ok(_) => panic!("{edits:?} runs"),
    }
}

/// A scenario without a fault is clean: what the faults are held against.
#[track_caller]
pub(super) fn untouched(name: &str, set: &[(&str, i64)]) {
    let ran = plant(name, &[], set);
    assert!(ran.report.clean(), "{:?} {:#?}", ran.report.outcome, ran.report.findings);
}

impl PlantedRun {
    fn text(&self, site: u32) -> String {
        let s = &self.program.sites[site as usize];
        format!("{}: {}", s.line, s.text)
    }

    /// Everything that was said, for messages of tests.
    pub(super) fn said(&self) -> String {
        let mut out = match &self.report.outcome {
            Outcome::Hung(w) => w.iter().fold("hung\n".to_string(), |s, w| {
                s + &format!("  {} | {} | {} | {}\n", w.agent, self.text(w.site), w.waits_for, w.needs)
            }),
            other => format!("{other:?}\n"),
        };
        for f in &self.report.findings {
            let other = f.other.as_ref().map(|(s, part)| format!("{} ({part})", self.text(*s)));
            out += &format!(
                "  {:?} {} | {} | {other:?} | {} x{} note {}\n",
                f.kind,
                self.text(f.site),
                f.message,
                f.agent,
                f.times,
                f.note
            );
        }
        out
    }

    /// It met a fault of this kind, at a line with this text.
    #[track_caller]
    pub(super) fn met(&self, kind: FindingKind, at: &str) -> &Self {
        let found =
            self.report.faults().any(|f| f.kind == kind && self.text(f.site).contains(at) && !f.agent.is_empty());
        assert!(found, "no {kind:?} at `{at}`:\n{}", self.said());
        self
    }

    /// Likewise, with the other line involved and a part of the message.
    #[track_caller]
    pub(super) fn met_with(&self, kind: FindingKind, at: &str, other: &str, message: &str) -> &Self {
        let found = self.report.faults().any(|f| {
            f.kind == kind
                && self.text(f.site).contains(at)
                && f.message.contains(message)
                && f.other.as_ref().is_some_and(|(s, part)| self.text(*s).contains(other) && !part.is_empty())
        });
        assert!(found, "no {kind:?} at `{at}` with `{other}`, `{message}`:\n{}", self.said());
        self
    }

    /// The kinds of the faults met are these, and no others.
    #[track_caller]
    pub(super) fn only(&self, kinds: &[FindingKind]) -> &Self {
        let mut met: Vec<_> = self.report.faults().map(|f| f.kind).collect();
        met.sort();
        met.dedup();
        assert_eq!(met, kinds, "{}", self.said());
        self
    }

    /// It ran to the end.
    #[track_caller]
    pub(super) fn finished(&self) -> &Self {
        assert_eq!(self.report.outcome, Outcome::Finished, "{}", self.said());
        self
    }

    /// It hung; somebody waits at a line with this text, for this, and needs this.
    #[track_caller]
    pub(super) fn hung(&self, at: &str, waits_for: &str, needs: &str) -> &Self {
        let Outcome::Hung(list) = &self.report.outcome else { panic!("did not hang: {}", self.said()) };
        let found = list.iter().any(|w| {
            self.text(w.site).contains(at)
                && w.waits_for.contains(waits_for)
                && w.needs.contains(needs)
                && w.since >= 0.0
        });
        assert!(found, "nobody at `{at}` waits for `{waits_for}`, `{needs}`:\n{}", self.said());
        self
    }
}
