//! Faults of compiled kernels that may be none of a launch.

use std::collections::{BTreeMap, BTreeSet};

use warpline_import::lift::{self, Launch, OneLaunch, PossibleLaunch, never_ordered_behind_init, never_waited_for};
use warpline_import::ptx::{self, Entry};
use warpline_sim::code::Code;
use warpline_sim::ir::{Executors, Instr, Program};
use warpline_sim::report::Finding;
use warpline_verify::{Options, Outcome, Verdict, Violation};

use crate::blocks::{self, Fault};
use crate::load::{CompiledKernel, Subject};
use crate::verify::with_iterations;

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
    let fault = v.violation.as_ref().and_then(|x| Some((x, x.findings.first()?)));
    let fault = fault.map_or("a hang".to_string(), |(x, f)| {
        let Fault { line, other, .. } = Fault::of(x, f);
        let other = other.map(|line| format!(" and {line}"));
        format!("{}: line {line}{}", f.message, other.unwrap_or_default())
    });
    let why = format!("a fault was found ({fault}), and {because}");
    (v.outcome, v.violation) = (Outcome::GaveUp { why }, None);
    v
}

/// The same, if the values of the kernel may not be possible together.
fn of_a_launch(subject: &mut Subject, v: Verdict, other: Option<&Violation>, options: Options) -> Verdict {
    let related = subject.imported.as_ref().and_then(|i| i.related.clone());
    if let (Some(related), Outcome::Violated) = (related, &v.outcome) {
        let launches = subject.imported.as_mut().map(|i| std::mem::take(&mut i.possible)).unwrap_or_default();
        for p in launches.into_iter().flat_map(PossibleLaunch::programs) {
            let mut one = warpline_verify::verify(&p, subject.rules(), options);
            if one.outcome == Outcome::Violated {
                subject.replace_symbolic(p);
                one.steps += v.steps;
                return one;
            }
        }
        let compiled = subject.imported.as_mut().and_then(|i| i.compiled.take());
        let of_text = compiled.and_then(|compiled| of_its_text(subject, &compiled, (&v, other), options));
        if let Some(mut one) = of_text {
            one.steps += v.steps;
            return one;
        }
        return given_up(v, &format!("{related}, so that no launch may have it"));
    }
    v
}

/// Missing fences: no number of a launch and no word of global memory makes up for one.
const FENCES: [Code; 2] = [Code::InitFence, Code::ProxyRead];

/// What makes a load that nothing waits for a fault of launches.
const NEVER_WAITED: &str = "a launch makes the load and the store: no way through the text from one to the other waits";

/// What makes a use of an mbarrier that nothing orders a fault of launches.
const NEVER_ORDERED: &str =
    "a launch uses the mbarrier: no way through the text to this use orders it behind the `init`";

/// Whether no number of a launch makes up for a fault. Such faults are missing fences and scopes that are too narrow. So are
/// faults that the text alone shows.
fn is_of_text(entry: &Entry, f: &Fault) -> bool {
    is_of_instructions(f.code) || shown_by_text(entry, f).is_some()
}

/// Whether a fault is one of what instructions say, whatever the numbers are.
fn is_of_instructions(code: Code) -> bool {
    FENCES.contains(&code) || code == Code::Scope
}

/// Why the text alone shows a fault of two instructions.
fn shown_by_text(entry: &Entry, f: &Fault) -> Option<&'static str> {
    match (f.code, f.other?) {
        (Code::WarTensor, load) => never_waited_for(entry, load, f.line).then_some(NEVER_WAITED),
        (Code::NotLive, init) => never_ordered_behind_init(entry, init, f.line).then_some(NEVER_ORDERED),
        _ => None,
    }
}

/// The verdict on a kernel by its text: in chosen launches, or where none can be chosen.
fn of_its_text(
    subject: &mut Subject,
    compiled: &CompiledText,
    (v, other): (&Verdict, Option<&Violation>),
    options: Options,
) -> Option<Verdict> {
    let module = ptx::read(&compiled.text).ok()?;
    let entry = module.entries.iter().find(|e| e.name == compiled.entry)?;
    let launches = lift::in_launches(&module, entry, &compiled.file, &compiled.text, &compiled.launch);
    let shown = match in_some_launch(subject, (launches, entry), (v.violation.as_ref()?, other), options) {
        Ok(one) => return Some(one),
        Err(programs) => programs,
    };
    let mut v = with_iterations(subject, v.clone(), options);
    let x = v.violation.as_mut()?;
    let program = subject.symbolic();
    let counts = |x: &Violation, f: &Finding| {
        let fault = Fault::of(x, f);
        // A warp waits for its own loads.
        let own = fault.other.zip(warp_of(&f.agent)).is_some_and(|(load, warp)| executes(program, warp, load));
        let why = shown_by_text(entry, &fault).filter(|_| own == (f.code == Code::WarTensor))?;
        (!shown.iter().any(|p| has_line(p, fault.line))).then_some((why, fault.line))
    };
    let all: Vec<Option<(&str, u32)>> = x.findings.iter().map(|f| counts(x, f)).collect();
    let (why, at) = *all.iter().flatten().next()?;
    let mut kept = all.iter().map(Option::is_some);
    x.findings.retain(|_| kept.next() == Some(true));
    x.hang.clear();
    if let Some(imported) = &mut subject.imported {
        imported.assumptions.push((why.to_string(), at));
    }
    Some(v)
}

/// The fault of a compiled kernel in a launch. The launches are chosen, and the host may never make one of them: words of
/// memory may have to fit together. So a fault counts if each chosen launch with its code has it, and two have it, where
/// there are two. A launch that hangs, or that leaves a barrier with some of its threads, is none: numbers that do not fit
/// together make one. Behind such a fault, one of the text counts. The fault may need the
/// next iteration. So a launch without the fault says nothing if it runs a loop of all warps less often than each launch with
/// the fault. It says nothing of fences and scopes, either. If no fault counts, the programs of these launches.
fn in_some_launch(
    subject: &mut Subject,
    (launches, entry): (Vec<OneLaunch>, &Entry),
    (fault, other): (&Violation, Option<&Violation>),
    options: Options,
) -> Result<Verdict, Vec<Program>> {
    let mut counts = faults(fault);
    let hung = counts.is_empty();
    counts.extend(other.map(faults).unwrap_or_default());
    let given = counts.clone();
    let few = launches.len().min(2);
    let least = |f: &(Code, u32)| if given.contains(f) { few } else { 2 };
    let (mut shown, mut steps) = (Vec::new(), 0);
    for OneLaunch { program, values, trips } in launches {
        let one = warpline_verify::verify(&program, subject.rules(), options);
        steps += one.steps;
        let found = match (&one.outcome, &one.violation) {
            (Outcome::Proved, _) => Some(BTreeSet::new()),
            (Outcome::Violated, Some(x)) if is_whole(x) => Some(faults(x)),
            _ => None,
        };
        let Some(found) = found else { continue };
        if hung {
            let new = |f: &&(Code, u32)| shown.iter().all(|s: &Shown| !has_line(&s.program, f.1));
            let of_text = one.violation.iter().flat_map(blocks::faults).filter(|f| is_of_text(entry, f));
            let of_text: BTreeSet<(Code, u32)> = of_text.map(|f| (f.code, f.line)).collect();
            counts.extend(of_text.iter().filter(new));
        }
        shown.push(Shown { found, verdict: one, program, values, trips });
    }
    let with = |f: &(Code, u32)| shown.iter().filter(|s| s.found.contains(f)).collect::<Vec<&Shown>>();
    let refuted = |f: &(Code, u32)| {
        let refutes = |s: &Shown| !s.found.contains(f) && has_line(&s.program, f.1) && !s.runs_less_than(&with(f));
        !is_of_instructions(f.0) && shown.iter().any(refutes)
    };
    let fault = counts.iter().find(|f| with(f).len() >= least(f) && !refuted(f)).copied();
    let found = fault.and_then(|f| Some((f, shown.iter().position(|s| s.found.contains(&f))?)));
    let Some((fault, at)) = found else { return Err(shown.into_iter().map(|s| s.program).collect()) };
    let Shown { mut verdict, program, values, .. } = shown.swap_remove(at);
    verdict.steps = steps;
    subject.replace_symbolic(program);
    if let Some(imported) = &mut subject.imported {
        imported.assumptions.push((format!("a launch has {values}: the fault is shown in it"), fault.1));
    }
    Ok(verdict)
}

/// A launch that was verified.
struct Shown {
    /// Its faults, by code and line.
    found: BTreeSet<(Code, u32)>,
    verdict: Verdict,
    program: Program,
    values: String,
    trips: BTreeMap<u32, i64>,
}

impl Shown {
    /// Whether a loop of all warps runs less often here than in each of some launches.
    fn runs_less_than(&self, others: &[&Shown]) -> bool {
        let less =
            |(header, trips): (&u32, &i64)| others.iter().all(|o| o.trips.get(header).is_some_and(|t| trips < t));
        self.trips.iter().any(less)
    }
}

/// The faults of a run, by code and line.
fn faults(x: &Violation) -> BTreeSet<(Code, u32)> {
    blocks::faults(x).into_iter().map(|f| (f.code, f.line)).collect()
}

/// Whether all agents of a run leave all barriers.
fn is_whole(x: &Violation) -> bool {
    x.hang.is_empty() && x.findings.iter().all(|f| f.code != Code::Divergent)
}

/// The warp of an agent: 4 of `math w4 (elected lane) of CTA 0`.
fn warp_of(agent: &str) -> Option<u32> {
    agent.split(' ').find_map(|word| word.strip_prefix('w')?.parse().ok())
}

/// Whether a warp has an operation at a line.
fn executes(program: &Program, warp: u32, line: u32) -> bool {
    let mut pc = 0;
    while let Some(i) = program.code.get(pc) {
        let here = pc;
        pc += 1;
        match i {
            Instr::Only(Executors::Warps(who), to) if who >> warp & 1 == 0 && *to as usize > here => pc = *to as usize,
            Instr::Op { .. } if program.site(here as u32).line == line => return true,
            _ => {}
        }
    }
    false
}

/// Whether a program has code of a line.
fn has_line(program: &Program, line: u32) -> bool {
    (0..program.code.len()).any(|pc| program.site(pc as u32).line == line)
}
