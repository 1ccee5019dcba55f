//! A loaded kernel with its machine.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use warpline_scenarios::pipeline::Plan;
use warpline_scenarios::{Beside, Claim, Expect, Inputs, Text};
use warpline_sim::RunError;
use warpline_sim::diag::Diagnostic;
use warpline_sim::fences::Fences;
use warpline_sim::ir::{Class, Object, Program, Site};
use warpline_sim::machine::Machine;
use warpline_sim::protocol::Rules;
use warpline_sim::report::{Fidelity, Finding, Waiting};
use warpline_sim::schedule::Schedule;
use warpline_sim::words::{count, plain};
use warpline_study::clock::{Line, Sustained};

use super::library::{Place, Values};
use super::ptx::Imported;
use crate::error::{Error, Sources, statement_span};

/// A loaded kernel with its machine and values.
pub struct Subject {
    /// The name in the request.
    pub name: String,
    /// The title that the scenario gives.
    pub title: Option<String>,
    /// A remark that the scenario gives.
    pub note: Option<String>,
    /// The kernel with all parameters bound.
    pub program: Program,
    /// The machine, with the settings of the scenario and the request.
    pub machine: Machine,
    /// The text of every file read; [`Error::Input`] points into such texts.
    pub sources: Sources,
    /// The assumptions about a compiled kernel; `None` for a kernel in the kernel language.
    pub imported: Option<Imported>,
    /// The plan of each `pipelined` loop, in order.
    pub plans: Vec<Plan>,
    /// The kernel's file as written, before its `pipelined` loops were expanded.
    pub kernel_file: String,
    /// Other runs that the scenario compares itself with.
    pub beside: Vec<Beside>,
    /// Statements of documents about the scenario.
    pub claims: Vec<Claim>,
    /// The verdict that the scenario expects; `None` where the request changes a value or the machine.
    pub expect: Option<Expectation>,
    /// Whether to skip CTAs where the state of a core recurs exactly.
    pub skip_repeats: bool,
    /// Whether all operands are in the second-level cache when the launch begins.
    pub warm_l2: bool,
    /// The part of the machine to simulate.
    pub fidelity: Fidelity,
    /// The machine's sustained clock as a line over tensor load, if the request wants the sustained clock.
    pub clock_line: Option<Line>,
    /// The sustained clock, once a run has found it; `machine` then has it as `clock.mhz`.
    pub sustained: Option<Sustained>,
    /// The level of each fence rule.
    pub fences: Fences,
    /// Number of events after which a run stops.
    pub max_events: Option<u64>,
    /// The schedule that a run follows.
    pub schedule: Option<Schedule>,
    /// The parsed text of the kernel, filled by the first use.
    pub(super) text: OnceLock<Text>,
    /// The kernel with its counting parameters kept as symbols, filled by the first use.
    pub(super) symbolic: OnceLock<Program>,
    /// The place to which names in the scenario are relative.
    pub(super) place: Place,
    /// Parameters of the kernel, before the request's settings.
    pub(super) values: Values,
    /// The name of the machine without the request's.
    pub(super) base_machine: Option<String>,
}

/// The verdict that a scenario expects.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The verdict.
    pub what: Expect,
    /// The place in the scenario that states the verdict; the message is the word for the verdict.
    pub at: Diagnostic,
}

impl std::fmt::Debug for Subject {
    /// Only the names, because the program and the machine are long.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kernel, machine) = (&self.program.name, &self.machine.name);
        f.debug_struct("Subject")
            .field("name", &self.name)
            .field("kernel", kernel)
            .field("machine", machine)
            .field("parameters", &self.program.params)
            .finish_non_exhaustive()
    }
}

impl Clone for Subject {
    /// A clone has no parsed text and parses the text again when needed.
    fn clone(&self) -> Subject {
        Subject {
            name: self.name.clone(),
            title: self.title.clone(),
            note: self.note.clone(),
            program: self.program.clone(),
            machine: self.machine.clone(),
            sources: self.sources.clone(),
            imported: self.imported.clone(),
            plans: self.plans.clone(),
            kernel_file: self.kernel_file.clone(),
            beside: self.beside.clone(),
            claims: self.claims.clone(),
            expect: self.expect.clone(),
            skip_repeats: self.skip_repeats,
            warm_l2: self.warm_l2,
            fidelity: self.fidelity,
            clock_line: self.clock_line,
            sustained: self.sustained,
            fences: self.fences,
            max_events: self.max_events,
            schedule: self.schedule.clone(),
            text: OnceLock::new(),
            symbolic: self.symbolic.clone(),
            place: self.place.clone(),
            values: self.values.clone(),
            base_machine: self.base_machine.clone(),
        }
    }
}

impl Subject {
    /// A subject without a scenario: a program, a machine, and the texts that the program came from.
    pub fn new(name: &str, program: Program, machine: Machine, sources: Sources) -> Subject {
        Subject {
            name: name.to_string(),
            title: None,
            note: None,
            sources,
            text: OnceLock::new(),
            symbolic: OnceLock::new(),
            imported: None,
            plans: Vec::new(),
            kernel_file: program.file.clone(),
            program,
            machine,
            beside: Vec::new(),
            claims: Vec::new(),
            expect: None,
            skip_repeats: true,
            warm_l2: false,
            fidelity: Fidelity::default(),
            clock_line: None,
            sustained: None,
            fences: Fences::default(),
            max_events: None,
            schedule: None,
            place: Place::WorkingFolder,
            values: Values::new(),
            base_machine: None,
        }
    }

    /// The rules of the protocol: those of the machine, at the subject's fence levels.
    pub fn rules(&self) -> Rules {
        Rules { fences: self.fences, ..warpline_sim::engine::rules(&self.machine) }
    }

    /// A digest of every text and machine number of the input (FNV-1a, 64 bits). It is equal on every machine and for
    /// every compiler. It distinguishes inputs that differ by accident, not by intent.
    pub fn digest(&self) -> u64 {
        let texts = self.sources.iter().flat_map(|(file, text)| [file.clone(), text.clone()]);
        let numbers = self.machine.params.iter().map(|(key, p)| format!("{key}={}", p.value));
        let words = texts.chain([self.machine.name.clone(), self.machine.arch.clone()]).chain(numbers);
        words.fold(0xcbf2_9ce4_8422_2325, |digest, word| {
            let bytes = word.bytes().chain([0xff]);
            bytes.fold(digest, |d, b| (d ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
        })
    }

    /// The kernel with its counting parameters kept as symbols; the bound program where that is not possible.
    pub fn symbolic(&self) -> &Program {
        self.symbolic.get_or_init(|| self.symbolic_with(&[]).unwrap_or_else(|| self.program.clone()))
    }

    /// The text that the program was compiled from; `None` for a compiled kernel.
    pub(crate) fn kernel_text(&self) -> Option<&str> {
        self.sources.get(&self.program.file).map(String::as_str)
    }

    /// The same subject with another text of the kernel; `None` where the text does not compile.
    pub(crate) fn with_text(&self, text: &str) -> Option<Subject> {
        let set: BTreeMap<String, i64> = self.program.params.iter().cloned().collect();
        let file = &self.program.file;
        let cores = self.machine.get("core.count").map(|c| c as i64);
        let read = Text::read(file, text);
        let program = read.compile(&Inputs { set: &set, cores }).ok()?;
        let mut new = self.clone();
        new.sources.insert(file.clone(), text.to_string());
        (new.program, new.text, new.symbolic) = (program, OnceLock::from(read), OnceLock::new());
        Some(new)
    }

    /// Replaces the symbolic program, and the bound one with its binding.
    pub(crate) fn replace_symbolic(&mut self, symbolic: Program) {
        self.program = symbolic.bind();
        self.symbolic = OnceLock::from(symbolic);
    }

    /// The symbolic kernel with other values of some parameters; `None` where the kernel rejects them.
    pub fn symbolic_with(&self, values: &[(&str, i64)]) -> Option<Program> {
        if self.imported.is_some() {
            return self.symbolic().with(values);
        }
        let mut set: BTreeMap<String, i64> = self.program.params.iter().cloned().collect();
        set.extend(values.iter().map(|(name, value)| (name.to_string(), *value)));
        let file = &self.program.file;
        let source = self.sources.get(file)?;
        let cores = self.machine.get("core.count").map(|c| c as i64);
        self.text.get_or_init(|| Text::read(file, source)).compile_symbolic(&Inputs { set: &set, cores }).ok()
    }

    /// The kernel with other values of some parameters, or of some header `let`s; `None` where the kernel rejects them.
    pub fn program_with(&self, values: &[(&str, i64)]) -> Option<Program> {
        if self.imported.is_some() {
            return self.symbolic().with(values).map(|p| p.bind());
        }
        let mut set: BTreeMap<String, i64> = self.program.params.iter().cloned().collect();
        let mut lets = BTreeMap::new();
        for (name, value) in values {
            let map = if set.contains_key(*name) { &mut set } else { &mut lets };
            map.insert(name.to_string(), *value);
        }
        let file = &self.program.file;
        let source = self.sources.get(file)?;
        let cores = self.machine.get("core.count").map(|c| c as i64);
        let text = self.text.get_or_init(|| Text::read(file, source));
        text.compile_given(&Inputs { set: &set, cores }, &lets).ok()
    }

    /// An error at a statement of the kernel. `site` is an index into the program's sites.
    pub fn error_at(&self, site: u32, message: String, label: String, help: Option<&str>) -> Error {
        let Some(at) = self.program.sites.get(site as usize) else { return Error::new(message) };
        let text = self.sources.get(&at.file).map_or("", String::as_str);
        let span = statement_span(text, at.line, at.col, &at.text);
        let mut d = Diagnostic::new(&at.file, span, message, label);
        d.help = help.map(Into::into);
        Error::Input { diagnostics: vec![d], sources: self.sources.clone() }
    }

    /// A finding of a run or a verdict as a diagnostic: message, agents, and the places of both operations. `sites` are the
    /// sites of the program that the finding is about; `None` where the finding has no site there.
    pub fn diagnostic(&self, finding: &Finding, sites: &[Site]) -> Option<Diagnostic> {
        let site = sites.get(finding.site as usize)?;
        let text = self.sources.get(&site.file).map_or("", String::as_str);
        let span = |s: &Site| statement_span(text, s.line, s.col, &s.text);
        let d = Diagnostic::new(&site.file, span(site), finding_message(finding), finding_label(finding));
        // One kernel is one file, so both places are in the same text.
        let other = finding.other.as_ref().and_then(|(other, words)| Some((sites.get(*other as usize)?, words)));
        Some(match other {
            Some((other, words)) => d.also(span(other), words.clone()),
            None => d,
        })
    }

    /// The error for a kernel that the simulator rejects, at the statement that is the reason, if there is one.
    pub fn refused(&self, error: RunError) -> Error {
        let machine = &self.machine.name;
        match error {
            RunError::Unsupported { message, site: Some(site) } => self.error_at(
                site,
                message,
                format!("{machine} cannot do this"),
                Some("name another machine with `--machine`; `warpline models` lists them"),
            ),
            RunError::Order { message, .. } => Error::with_help(
                message,
                "the schedule is for another kernel, or for this kernel before an edit; `warpline verify` writes a new one",
            ),
            RunError::Misplaced { message, site } => self.error_at(site, message, "this statement".into(), None),
            RunError::EmptyGrid { .. } => Error::with_help(error.to_string(), "set the sizes with `--set`"),
            RunError::Unsupported { message, site: None } => Error::new(message),
            RunError::DoesNotFit { message, limit } => {
                let smaller = "make the tiles or the stage count smaller with `--set`, or name another machine";
                let parts = if limit == "shared memory" { self.shared_parts() } else { String::new() };
                Error::with_help(message, format!("{parts}{smaller}"))
            }
            RunError::Missing(missing) => {
                let help = format!(
                    "give it on the command line, `--set machine.{}=VALUE`, or in a machine file of your own",
                    missing.key
                );
                Error::with_help(missing.to_string(), help)
            }
        }
    }

    /// The bytes of each shared buffer, for a help: `a[4]` takes 65536 bytes.
    fn shared_parts(&self) -> String {
        let shared = self.program.objects.iter().filter(|o| o.class == Class::Shared && o.overlay.is_none());
        let part = |o: &Object| {
            let slots = if o.slots > 1 { format!("[{}]", o.slots) } else { String::new() };
            format!("`{}{slots}` takes {} bytes", o.name, o.slot_bytes() * i64::from(o.slots))
        };
        let parts: Vec<String> = shared.map(part).collect();
        if parts.is_empty() { String::new() } else { format!("{}; ", parts.join(", ")) }
    }

    /// Compares the machine with what the kernel needs.
    ///
    /// # Errors
    /// An operation or a size that the machine does not have.
    pub fn admit(&self) -> Result<(), Error> {
        warpline_sim::engine::admit(&self.program, &self.machine).map_err(|e| self.refused(e))
    }
}

/// The code, class and message of a finding: `WL0104 WAR race: ...`.
pub fn finding_message(f: &Finding) -> String {
    let class = if f.note { "note" } else { f.kind.name() };
    format!("{} {class}: {}", f.code(), f.message)
}

/// The agent of a finding, its cycle, and its number of repetitions. A finding of a proof has no cycle.
pub fn finding_label(f: &Finding) -> String {
    let again = if f.times > 1 { format!(", met {} times", count(f.times as i64)) } else { String::new() };
    let when = if f.cycle < 0.0 { String::new() } else { format!(", cycle {}", plain(f.cycle)) };
    format!("{}{when}{again}", f.agent)
}

/// What an agent of a hang waits for, and what would end the wait.
pub fn waiting_message(w: &Waiting) -> String {
    let needs = if w.needs.is_empty() { String::new() } else { format!("; needs: {}", w.needs) };
    format!("{} waits for {}{needs}", w.agent, w.waits_for)
}
