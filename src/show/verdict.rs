//! The text of a verdict.

use warpline_sim::fences::Fences;
use warpline_verify::{Outcome, RepairReport, Verdict, Violation, properties};

use super::WIDTH;
use super::faults::{frames, waiters};
use super::schedule::schedule;
use super::summary::{field, head};
use super::table::{Align, Table, wrap};
use crate::console::Paint;
use warpline_api::Subject;
use warpline_api::{Varied, Verification, engine_words};
use warpline_sim::words::{count, of};

/// All sections of one verdict.
pub(crate) fn verdict(v: &Verification, paint: Paint) -> String {
    let mut text = head(&v.subject, paint);
    text += &format!("{}\n\n", sentence(&v.verdict, v.varied.as_ref(), paint));
    if let Some(other) = &v.without_init {
        let other = sentence(other, v.varied.as_ref(), paint);
        text += &format!("With `--fence init=note`:\n{other}\n\n");
    }
    text += &scope(v);
    text += &table(&v.verdict, paint);
    if let Some(x) = &v.verdict.violation {
        text += &fault(&v.subject, x, paint);
        text += &match &v.witness {
            Some(w) => schedule(x, w, paint),
            None => last(x, paint),
        };
        text += &v.suggested.as_ref().map_or(String::new(), |s| suggestion(s, paint));
        text += &v.repair.as_ref().map_or(String::new(), |r| format!("{}\n", r.diff));
    }
    if !v.verdict.notes.is_empty() {
        text += &format!("{}\n", paint.head("Worth knowing"));
        text += &frames(&v.subject, &v.subject.program.sites, &v.verdict.notes, paint);
        text += "\n";
    }
    text += &format!("{}\n", paint.head("Assumed"));
    for a in v.assumptions() {
        text += &format!("  {}\n", wrap(&a, WIDTH - 2, 4));
    }
    text
}

/// The verdict in one or two sentences.
pub(crate) fn sentence(v: &Verdict, varied: Option<&Varied>, paint: Paint) -> String {
    let name = varied.map_or(String::new(), |p| format!(" of `{}`", p.name));
    let text = match &v.outcome {
        Outcome::Proved => {
            let held = paint.head("PROVED.");
            let sizes: Vec<String> = v.sizes.iter().map(|name| format!("every `{name}`")).collect();
            let turns = if v.turns.is_some() { ", and every trip count of the loop around its main loop" } else { "" };
            match (varied, &sizes[..]) {
                (None, []) => match v.any_jobs {
                    Some(line) => format!(
                        "{held} It holds in every schedule for every number of jobs (line {line}), all else as given."
                    ),
                    None => {
                        format!("{held} It holds in every schedule with the values given; no trip count is varied.")
                    }
                },
                (None, _) => {
                    let sizes = listed(&sizes);
                    format!(
                        "{held} It holds in every schedule for {sizes}, all else as given; no trip count is varied."
                    )
                }
                (Some(_), _) => {
                    let jobs = v.any_length.map(|line| format!("jobs of every length (line {line})"));
                    let chosen = v.any_jobs.map(|line| format!("every number of jobs (line {line})"));
                    let all =
                        sizes.iter().cloned().chain([format!("every trip count{name}")]).chain(jobs).chain(chosen);
                    format!("{held} It holds in every schedule for {}{turns}.", listed(&all.collect::<Vec<_>>()))
                }
            }
        }
        Outcome::Bounded { trips: Some((_, None)), why } => {
            let held = paint.head("BOUNDED.");
            format!("{held} It holds in every schedule for every trip count{name}, all else as given: {why}.")
        }
        Outcome::Bounded { trips, why } => {
            let range = match trips {
                Some((a, Some(b))) => format!("for trip counts {a} to {b}{name} and for the values given"),
                _ => "for the values given".to_string(),
            };
            format!("{} It holds in every schedule {range}. Not for all: {why}.", paint.head("BOUNDED."))
        }
        Outcome::Violated => {
            let x = v.violation.as_ref();
            let run_time = x.and_then(run_time_values);
            let at = match x.and_then(|x| Some((x.trips?, x.turns, x.jobs))) {
                _ if run_time.is_some() => format!("with other run-time values: {}", run_time.unwrap_or_default()),
                steps if x.is_some_and(|x| !x.lengths.is_empty()) => {
                    let lengths = x.map_or(String::new(), |x| jobs_of(&x.lengths));
                    let all = x
                        .and_then(|x| x.jobs)
                        .map_or(String::new(), |all| format!(" in a launch of {}", of(all, "job")));
                    let steps =
                        steps.map_or(String::new(), |(n, ..)| format!(", at {} of the main loop", of(n, "step")));
                    format!("in a CTA with {lengths}{all}{steps}")
                }
                None if v.kernel.is_some() => "with the parameters above".to_string(),
                None => "with the values given".to_string(),
                Some((n, _, Some(jobs))) => {
                    format!("at {} of the main loop in a launch of {}", of(n, "step"), of(jobs, "job"))
                }
                Some((n, turns, None)) => {
                    let turns = turns.map_or(String::new(), |t| format!(" and {} around it", of(t, "turn")));
                    format!("at {} of the main loop{turns}, the fewest that show it", of(n, "step"))
                }
            };
            format!("{} A schedule has a fault {at}.", paint.bad("VIOLATED."))
        }
        Outcome::GaveUp { why } => format!("{} Nothing is decided: {why}.", paint.bad("GAVE UP.")),
    };
    wrap(&text, WIDTH, 0)
}

/// `a`, `a and b`, `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => words.concat(),
    }
}

/// Classes of CTAs; of many, the ends of the list.
fn classes(all: &[String]) -> String {
    const MOST: usize = 8;
    match all {
        [first, second, .., last] if all.len() > MOST => {
            format!("{first}, {second}, ..., {last} ({} classes)", all.len())
        }
        _ => all.join(", "),
    }
}

/// What the proof varies, one line for each.
fn varied(v: &Verification) -> Vec<String> {
    let r = &v.verdict;
    if let Some(values) = r.violation.as_ref().and_then(run_time_values) {
        return vec![format!("numbers that are known only at run time: {values}")];
    }
    let trips = v.varied.as_ref().map(|p| format!("the trip count n of the main loop ({})", p.meaning));
    let outer = v.outer().map(|outer| {
        let period = r.turns.filter(|p| *p > 1).map_or(String::new(), |p| format!("; recurs every {p} turns at most"));
        format!("the trip count t of the loop around it ({}){period}", outer.meaning)
    });
    let set = if r.sizes.len() == 1 { "sets" } else { "set" };
    let sizes = (!r.sizes.is_empty())
        .then(|| format!("{}, which only {set} the grid and the ends of matrices", listed(&r.sizes)));
    let both = v.both_outcomes();
    let both = (!both.is_empty()).then(|| format!("both outcomes of {}", both.join(", ")));
    let jobs = r.any_length.map(|line| format!("the trip count of the loop at line {line}, another one for each job"));
    let chosen = r.any_jobs.map(|line| format!("the number of jobs, which line {line} chooses, and their blocks"));
    let named = (!r.any_blocks.is_empty()).then(|| format!("the blocks that {} names", listed(&r.any_blocks)));
    let every = v.every_value();
    let every = (!every.is_empty()).then(|| format!("every value of {}", listed(every)));
    let rows = [
        trips.or_else(|| sizes.is_none().then(|| "nothing".to_string())),
        outer,
        jobs,
        chosen,
        named,
        sizes,
        both,
        every,
    ];
    rows.into_iter().flatten().collect()
}

fn scope(v: &Verification) -> String {
    let r = &v.verdict;
    let period = match r.period {
        Some(1) => "; the state recurs every step".to_string(),
        Some(p) => format!("; the state recurs every {p} steps"),
        None => String::new(),
    };
    let mut text = field("Engine", &format!("{}{period}", engine_words(r)));
    if let Some(e) = &v.subject.expect {
        let met = match v.as_expected() {
            Some(true) => "as it is",
            Some(false) => "it is not so",
            None => "not decided",
        };
        text += &field("Expected", &format!("{}: {met}", e.what.name()));
    }
    text += &field("CTAs", &classes(&r.classes));
    for (i, row) in varied(v).iter().enumerate() {
        text += &field(if i == 0 { "Varied" } else { "" }, row);
    }
    let bound = v.bound();
    if !bound.is_empty() {
        let values: Vec<String> = bound.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        text += &field("Bound", &values.join(", "));
    }
    // Other levels are in the head, with the values.
    if v.subject.fences == Fences::default() {
        text += &field("Fences", &v.subject.fences.to_string());
    }
    let (with, all) = r.reads;
    let reads = match with {
        0 if v.subject.imported.is_some() => "PTX names no tiles: which tile a read finds is not checked".to_string(),
        _ => format!("{} of {} in the last run state the tile that they expect", count(with as i64), count(all as i64)),
    };
    text += &field("Reads", &reads);
    if let Some(n) = r.searched {
        text += &field("States", &count(n as i64));
    }
    text += &field("Steps", &format!("{}, in {:.3} s", count(r.steps as i64), v.wall_s));
    text + "\n"
}

fn table(v: &Verdict, paint: Paint) -> String {
    let mut table = Table::new(&[Align::Left, Align::Left], 2);
    for p in properties(v) {
        table.row([p.name, p.verdict]);
    }
    format!("{}\n{}\n", paint.head("Properties"), table.text())
}

/// The fault: the statements, the agents, and the last operations.
pub(crate) fn violation(subject: &Subject, x: &Violation, paint: Paint) -> String {
    fault(subject, x, paint) + &last(x, paint)
}

pub(crate) fn fault(subject: &Subject, x: &Violation, paint: Paint) -> String {
    let steps = x.trips.map_or("values given".to_string(), |n| of(n, "step"));
    let steps = match x.trips {
        _ if x.lengths.is_empty() => steps,
        None => jobs_of(&x.lengths),
        Some(_) => format!("{}, {steps} of the main loop", jobs_of(&x.lengths)),
    };
    let steps = run_time_values(x).unwrap_or(steps);
    let steps = x.turns.map_or(steps.clone(), |t| format!("{steps}, {}", of(t, "turn")));
    let steps = x.jobs.map_or(steps.clone(), |jobs| format!("{steps}, {}", of(jobs, "job")));
    let mut text = format!("{} ({steps}; CTA: {})\n", paint.head("The fault"), x.class);
    text += &frames(subject, &x.sites, &x.findings, paint);
    if !x.hang.is_empty() {
        text += &format!("No agent can proceed:\n{}", waiters(&x.sites, &x.hang, paint));
    }
    text
}

/// The values of run-time numbers at which a fault occurs, where they are others than the kernel states.
fn run_time_values(x: &Violation) -> Option<String> {
    let values = x.run_time.iter().map(|(name, value)| {
        let index = if value.contains("index") { "(index)" } else { "" };
        format!("{name}{index} = {value}")
    });
    (!x.run_time.is_empty()).then(|| listed(&values.collect::<Vec<_>>()))
}

/// Jobs by their lengths.
fn jobs_of(lengths: &[i64]) -> String {
    match lengths {
        [n] => format!("a job of {}", of(*n, "step")),
        [n, rest @ ..] if rest.iter().all(|m| m == n) => format!("{} jobs of {} each", lengths.len(), of(*n, "step")),
        all => {
            let all: Vec<String> = all.iter().map(i64::to_string).collect();
            format!("jobs of {} steps, one after the other", listed(&all))
        }
    }
}

fn last(x: &Violation, paint: Paint) -> String {
    if x.steps.is_empty() {
        return "\n".into();
    }
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left], 2);
    for (agent, site) in x.steps.iter().rev().take(LAST).rev() {
        if let Some(s) = x.sites.get(*site as usize) {
            table.row([agent.clone(), s.line.to_string(), s.text.clone()]);
        }
    }
    format!("\n{}\n{}\n", paint.head("The last operations before it, with their lines"), table.text())
}

/// The verified repair, or the number of changes tried.
pub(crate) fn suggestion(s: &RepairReport, paint: Paint) -> String {
    let (head, tried) = (paint.head("A change that repairs it"), of(s.tried as i64, "small change"));
    let text = match &s.found {
        Some(found) => {
            let holds = match &found.outcome {
                Outcome::Bounded { trips: Some((a, Some(b))), .. } => format!("holds for trip counts {a} to {b}"),
                Outcome::Bounded { trips: Some(_), .. } => "holds for every trip count, all else as given".to_string(),
                Outcome::Bounded { .. } => "holds for the values given".to_string(),
                _ => "is proved for every trip count".to_string(),
            };
            format!("  {}\n  Checked: the changed kernel {holds}.", wrap(&found.words, WIDTH - 2, 4))
        }
        None => {
            let more = if s.limited { ", and there are more" } else { "" };
            match &s.undecided {
                Some(words) => {
                    let words = format!("One has no fault in a short run, and a trial did not decide it: {words}");
                    format!("  None is proved: {tried} were tried{more}.\n  {}", wrap(&words, WIDTH - 2, 4))
                }
                None => format!("  None found: {tried} were tried{more}."),
            }
        }
    };
    format!("{head}\n{text}\n\n")
}

/// The most operations shown before the fault.
const LAST: usize = 8;
