//! Verdicts on the kernels of a file.

use warpline_import::{lift, ptx};
use warpline_sim::engine::rules;
use warpline_sim::machine::Machine;
use warpline_verify::{Options, Outcome, Verdict, verify};

/// Machine of a target.
fn machine(target: &str) -> &'static str {
    match target.get(3..5) {
        Some("80") => "a100",
        Some("90") => "h200",
        _ => "b200",
    }
}

/// The verdict on the first kernel of a text.
pub(crate) fn verdict_on(text: &str) -> String {
    let module = ptx::read(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    decided(&module, &module.entries[0], "k.ptx", text)
}

/// The verdict on a kernel of a file, or why there is none.
pub(crate) fn decided(module: &ptx::Module, entry: &ptx::Entry, name: &str, text: &str) -> String {
    let lifted = match lift::lift(module, entry, name, text, &lift::Launch::default()) {
        Ok(l) => l,
        Err(e) => return format!("rejected\tline {}: {}", e.line, e.message),
    };
    let machine = warpline_models::embedded(machine(&module.target)).expect("a machine");
    let numbered = lifted.numbered.as_deref().map(|l| verdict_of(l, &machine)).filter(|v| v == "proved\t");
    let found = numbered.unwrap_or_else(|| verdict_of(&lifted, &machine));
    let undecided = found.starts_with("gave up") || found.starts_with("bounded");
    let stepped = lifted.stepped.as_deref().filter(|_| undecided);
    match stepped.map(|l| verdict_of(l, &machine)) {
        Some(v) if v == "proved\t" => format!("{v}with a step each time"),
        _ => found,
    }
}

fn verdict_of(lifted: &lift::Lifted, machine: &Machine) -> String {
    // Large ones take a minute, which a test does not have.
    let max_steps = if lifted.program.code.len() > 1000 { 200_000 } else { 3_000_000 };
    let options = Options { max_steps, max_memory: 64_000_000_000, ..Options::default() };
    let fault = |v: Verdict| {
        let x = v.violation.expect("a violation");
        let first = x.findings.first().map(|f| {
            let line = x.sites.get(f.site as usize).map_or(0, |s| s.line);
            format!("line {line}: {}", f.message)
        });
        format!("violated\t{}", first.unwrap_or_else(|| "hangs".into()))
    };
    let mut worst = lifted.partial.as_ref().map_or("proved\t".to_string(), |why| format!("bounded\t{why}"));
    for p in lifted.variants() {
        let v = verify(&p, rules(machine), options);
        match v.outcome {
            Outcome::Proved => {}
            Outcome::Bounded { why, .. } => worst = format!("bounded\t{why}"),
            Outcome::GaveUp { why } => return format!("gave up\t{why}"),
            Outcome::Violated if lifted.related.is_some() => {
                let of_a_launch = lifted.possible().into_iter().flat_map(|l| l.programs()).find_map(|p| {
                    let v = verify(&p, rules(machine), options);
                    (v.outcome == Outcome::Violated).then(|| fault(v))
                });
                let related = lifted.related.clone().unwrap_or_default();
                return of_a_launch.unwrap_or_else(|| format!("gave up\ta fault, and {related}"));
            }
            Outcome::Violated => return fault(v),
        }
    }
    lifted.unproved.as_ref().map_or(worst, |why| format!("gave up\t{why}"))
}
