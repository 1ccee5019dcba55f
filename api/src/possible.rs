//! Faults of compiled kernels that may be none of a launch.

use std::collections::BTreeSet;

use warpline_import::lift::{self, Launch, OneLaunch, PossibleLaunch};
use warpline_import::ptx;
use warpline_sim::code::Code;
use warpline_sim::ir::Program;
use warpline_verify::{Options, Outcome, Verdict, Violation};

use crate::blocks;
use crate::load::{CompiledKernel, Subject};

/// The text of a compiled kernel of which a fault may be none of a launch.
#[derive(Clone, Debug)]
pub struct CompiledText {
    file: String,
    text: String,
    entry: String,
    /// What the launch gives, such as the size of a block.
    launch: Launch,
}

impl CompiledText {
    /// The text of a kernel, if values that vary alone depend on each other.
    pub(crate) fn of(kernel: &CompiledKernel, file: &str) -> Option<CompiledText> {
        let lifted = &kernel.lifted;
        let numbered = lifted.numbered.as_deref().is_some_and(|l| l.related.is_some());
        (lifted.related.is_some() || numbered).then_some(())?;
        let launch = Launch { timed: false, cluster: Some(lifted.cluster), ..kernel.launch.clone() };
        let text = kernel.sources.get(file)?.clone();
        Some(CompiledText { file: file.to_string(), text, entry: lifted.program.name.clone(), launch })
    }

    /// The kernel in some launches.
    fn in_launches(&self) -> Vec<OneLaunch> {
        let Ok(module) = ptx::read(&self.text) else { return Vec::new() };
        let Some(entry) = module.entries.iter().find(|e| e.name == self.entry) else { return Vec::new() };
        lift::in_launches(&module, entry, &self.file, &self.text, &self.launch)
    }
}

/// Replaces a fault of a compiled kernel by no verdict, if no launch or no schedule may have it. `other` is a fault of the
/// same kernel that a launch may show in its place.
pub(crate) fn without_impossible_fault(
    subject: &mut Subject,
    v: Verdict,
    other: Option<&Violation>,
    options: Options,
) -> Verdict {
    let word = subject.imported.as_ref().and_then(|i| i.waits_for_word);
    let v = of_a_launch(subject, v, other, options);
    match (word, &v.violation) {
        // No word makes up for a missing fence of another kind.
        (Some(line), Some(x)) if !faults(x).iter().any(|(code, _)| FENCES.contains(code)) => {
            let why = format!("the wait at line {line} for a word of global memory may order threads");
            given_up(v, &format!("{why}, so that no schedule may have it"))
        }
        _ => v,
    }
}

/// A verdict that names a fault and says why it counts for nothing.
fn given_up(mut v: Verdict, because: &str) -> Verdict {
    let first = v.violation.as_ref().and_then(|x| x.findings.first());
    let fault = first.map_or("a hang".to_string(), |f| f.message.clone());
    let why = format!("a fault was found ({fault}), and {because}");
    (v.outcome, v.violation) = (Outcome::GaveUp { why }, None);
    v
}

/// The same, if the values of the kernel may not be possible together.
fn of_a_launch(subject: &mut Subject, v: Verdict, other: Option<&Violation>, options: Options) -> Verdict {
    let related = subject.imported.as_ref().and_then(|i| i.related.clone());
    if let (Some(related), Outcome::Violated, Some(x)) = (related, &v.outcome, &v.violation) {
        let launches = subject.imported.as_mut().map(|i| std::mem::take(&mut i.possible)).unwrap_or_default();
        for p in launches.into_iter().flat_map(PossibleLaunch::programs) {
            let mut one = warpline_verify::verify(&p, subject.rules(), options);
            if one.outcome == Outcome::Violated {
                subject.replace_symbolic(p);
                one.steps += v.steps;
                return one;
            }
        }
        if let Some(mut one) = in_some_launch(subject, (x, other), options) {
            one.steps += v.steps;
            return one;
        }
        return given_up(v, &format!("{related}, so that no launch may have it"));
    }
    v
}

/// Missing fences: no number of a launch makes up for one.
const FENCES: [Code; 2] = [Code::InitFence, Code::ProxyRead];

/// The fault of a compiled kernel in a launch. The launches are chosen, and the host may never make one of them: words of
/// memory may have to fit together. So a fault counts if each chosen launch with its code has it, and two have it, where
/// there are two. A launch that hangs, or that leaves a barrier with some of its threads, is none: numbers that do not fit
/// together make one. Behind such a fault, a missing fence counts.
fn in_some_launch(
    subject: &mut Subject,
    (fault, other): (&Violation, Option<&Violation>),
    options: Options,
) -> Option<Verdict> {
    let compiled = subject.imported.as_mut()?.compiled.take()?;
    let mut counts = faults(fault);
    let hung = counts.is_empty();
    counts.extend(other.map(faults).unwrap_or_default());
    let given = counts.clone();
    let launches = compiled.in_launches();
    let few = launches.len().min(2);
    let least = |f: &(Code, u32)| if given.contains(f) { few } else { 2 };
    let (mut shown, mut steps) = (Vec::new(), 0);
    for OneLaunch { program, values } in launches {
        let one = warpline_verify::verify(&program, subject.rules(), options);
        steps += one.steps;
        let found = match (&one.outcome, &one.violation) {
            (Outcome::Proved, _) => Some(BTreeSet::new()),
            (Outcome::Violated, Some(x)) if is_whole(x) => Some(faults(x)),
            _ => None,
        };
        let Some(found) = found else { continue };
        if hung {
            let new = |f: &&(Code, u32)| shown.iter().all(|(_, _, p, _)| !has_line(p, f.1));
            counts.extend(found.iter().filter(|f| FENCES.contains(&f.0)).filter(new));
        }
        counts.retain(|f| found.contains(f) || !has_line(&program, f.1));
        shown.push((found, one, program, values));
    }
    let often = |f: &(Code, u32)| shown.iter().filter(|(found, ..)| found.contains(f)).count() >= least(f);
    let fault = *counts.iter().find(|f| often(f))?;
    let (_, mut one, program, values) = shown.into_iter().find(|(found, ..)| found.contains(&fault))?;
    one.steps = steps;
    subject.replace_symbolic(program);
    if let Some(imported) = &mut subject.imported {
        imported.assumptions.push((format!("a launch has {values}: the fault is shown in it"), fault.1));
    }
    Some(one)
}

/// The faults of a run, by code and line.
fn faults(x: &Violation) -> BTreeSet<(Code, u32)> {
    blocks::faults(x).into_iter().map(|f| (f.code, f.line)).collect()
}

/// Whether all agents of a run leave all barriers.
fn is_whole(x: &Violation) -> bool {
    x.hang.is_empty() && x.findings.iter().all(|f| f.code != Code::Divergent)
}

/// Whether a program has code of a line.
fn has_line(program: &Program, line: u32) -> bool {
    (0..program.code.len()).any(|pc| program.site(pc as u32).line == line)
}
