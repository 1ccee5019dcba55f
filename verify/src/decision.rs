//! The decision of a kernel: which loops are varied, the given remainder of their parameter, and the other ones.

use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;

use crate::blocks_inside;
use crate::branches;
use crate::budget::Budget;
use crate::execution::{other_values, run_time};
use crate::induction::jobs::any_length::{AnyLength, Lengths};
use crate::induction::jobs::one_loop::OneLoop;
use crate::induction::named_blocks::NamedBlocks;
use crate::induction::{self, remainders, tickets, wide_grid};
use crate::prove::{self, Place, Reach, decide, late};
use crate::{
    Engine, Options, Outcome, Trips, VariedLoops, Verdict, Violation, atomic_orders, global_stores, partial_sums,
    search, sizes, with_loops,
};

/// Decides a kernel for all values of its symbols that can be varied. A bound program is decided as given.
pub fn verify(program: &Program, rules: Rules, options: Options) -> Verdict {
    counted(program, rules, options).0
}

/// [`verify`], with the steps that all runs took.
pub(crate) fn counted(program: &Program, rules: Rules, options: Options) -> (Verdict, u64) {
    let budget = Budget::new(&options);
    (within(program, rules, options, &budget), budget.used())
}

/// Steps of agents after which a kernel whose choices only name blocks is tried with other blocks: a part of a second.
const CHOICES: u64 = 300_000;

/// [`verify`] within a budget: with other blocks in the place of those that values name, and as given.
fn within(program: &Program, rules: Rules, options: Options, budget: &Budget) -> Verdict {
    let mut normal = induction::normal_form(program);
    let mut renumbered = false;
    if !options.as_written {
        let counted = induction::pipeline_states::counted(&normal);
        renumbered = counted != normal;
        normal = counted;
        if let Some(settled) = branches::settled(&normal).filter(|_| options.engine != Engine::Search) {
            (renumbered, normal) = (true, settled);
        }
    }
    let as_given = |kernel: &Program| prove::as_given(kernel, (rules, budget), options);
    if let Some(v) = of_tickets(&normal, rules, options, budget) {
        return v;
    }
    let few_steps = || {
        let few = Budget::new(&Options { max_steps: options.max_steps.min(CHOICES), ..options });
        let v = of_remainders(&normal, rules, options, &few);
        let decided = matches!(v.outcome, Outcome::Proved | Outcome::Violated);
        let last = decided || budget.take_steps(few.used()).is_err();
        (Verdict { renumbered: v.renumbered | renumbered, ..v }, last, few.check().is_ok())
    };
    // The verdict for the kernel as it is, where few steps reached it.
    let mut plain = None;
    let others = options.engine != Engine::Search && !options.as_written;
    if let Some(on_given_grid) = others.then(|| branches::settled_on_given_grid(&normal)).flatten() {
        let (v, last, complete) = few_steps();
        if last {
            return v;
        }
        plain = complete.then_some(v);
        let v = of_remainders(&on_given_grid, rules, options, budget);
        if v.outcome == Outcome::Proved {
            return Verdict { renumbered: true, ..v };
        }
    }
    if others && let Some(named) = NamedBlocks::of(&normal) {
        // CTAs with different outcomes of a choice may be few.
        if named.names.is_empty() && plain.is_none() {
            let (v, last, complete) = few_steps();
            if last {
                return v;
            }
            plain = complete.then_some(v);
        }
        let v = of_remainders(&named.kernel, rules, options, budget);
        let holds = || as_given(&normal).outcome == Outcome::Proved && run_time::fault(&normal, as_given).is_none();
        if v.outcome == Outcome::Proved && holds() && budget.check().is_ok() {
            return Verdict { renumbered: true, any_blocks: named.names, chosen_blocks: named.chosen, ..v };
        }
    }
    let v = plain.unwrap_or_else(|| {
        let v = of_remainders(&normal, rules, options, budget);
        Verdict { renumbered: v.renumbered | renumbered, ..v }
    });
    let bounded = matches!(v.outcome, Outcome::Bounded { .. }) && options.engine != Engine::Search;
    let wide = wide_grid::widest(&normal).filter(|_| bounded && !options.as_written);
    let of_widest = wide.map(|wide| of_remainders(&wide, rules, options, budget));
    match of_widest.filter(|w| w.outcome == Outcome::Proved) {
        Some(w) => Verdict { renumbered: true, steps: v.steps + w.steps, ..w },
        None if bounded => match other_values::fault(&normal, rules, options, budget) {
            Some(x) => Verdict { steps: v.steps + x.steps, classes: v.classes, ..x },
            None => v,
        },
        None => v,
    }
}

/// The verdict for a kernel whose CTAs draw their jobs from one counter. `None` where tickets do more than that, and where
/// the kernel of one CTA does not decide.
fn of_tickets(normal: &Program, rules: Rules, options: Options, budget: &Budget) -> Option<Verdict> {
    if options.engine == Engine::Search || options.as_written {
        return None;
    }
    let of = tickets::alone(normal)?;
    let v = of_remainders(&of.kernel, rules, options, budget);
    let renamed = of.kernel != of.as_written;
    match v.outcome {
        Outcome::Proved => {
            let given = prove::as_given(&of.as_written, (rules, budget), options);
            let holds = given.outcome == Outcome::Proved && budget.check().is_ok();
            let turns = if of.any_jobs.is_some() { None } else { v.turns };
            holds.then_some(Verdict { renumbered: true, any_jobs: of.any_jobs, turns, ..v })
        }
        Outcome::Violated if !renamed && of.any_jobs.is_none() && !of.behind => {
            let kernel = v.kernel.clone().unwrap_or_else(|| Box::new(of.kernel));
            Some(Verdict { kernel: Some(kernel), renumbered: true, ..v })
        }
        _ => None,
    }
}

/// The verdict for the given value of the parameter that sets the trip count, and for its other remainders.
fn of_remainders(program: &Program, rules: Rules, options: Options, budget: &Budget) -> Verdict {
    // Before a proof is searched for: that takes long where a fault prevents it.
    if options.engine != Engine::Search && run_time::is_open(program) {
        let as_given = |kernel: &Program| prove::as_given(kernel, (rules, budget), options);
        let given = as_given(program);
        // A fault with the stated values is shown before others.
        if given.violation.is_none()
            && let Some(x) = run_time::fault(program, as_given)
        {
            return Verdict { steps: given.steps + x.steps, ..x };
        }
    }
    let mut v = of_orders(program, rules, options, budget);
    if options.engine == Engine::Search || !v.holds() {
        return v;
    }
    let Some(trips) = Trips::find(program) else { return v };
    let others = remainders::others(program, &trips, v.steps);
    for kernel in others.kernels {
        let other = of_orders(&kernel, rules, options, budget);
        let steps = v.steps + other.steps;
        match &other.outcome {
            Outcome::Proved => {}
            Outcome::Bounded { trips: range, why } if v.outcome == Outcome::Proved => {
                v.outcome = Outcome::Bounded { trips: *range, why: format!("{}: {why}", differs(program, &kernel)) };
                v.turns = None;
            }
            Outcome::Bounded { .. } => {}
            _ => {
                let kernel = other.kernel.clone().unwrap_or(Box::new(kernel));
                return Verdict { steps, kernel: Some(kernel), ..other };
            }
        }
        v.steps = steps;
        v.others.push(differs(program, &kernel));
    }
    if !others.all && v.outcome == Outcome::Proved {
        let why = "values of a parameter that give one trip count are decided for some remainders only";
        v.outcome = Outcome::Bounded { trips: None, why: why.to_string() };
        v.turns = None;
    }
    v
}

/// The parameter in which two kernels differ, with its value in the second.
fn differs(program: &Program, other: &Program) -> String {
    let pairs = program.symbols.iter().zip(&other.symbols);
    let first = pairs.filter(|(x, _)| x.definition.is_none()).find(|(x, y)| x.value != y.value);
    first.map_or_else(String::new, |(_, y)| format!("{} = {}", y.name, y.value))
}

/// The verdict for the given remainder. If the order of `atom` is open, each order is decided.
fn of_orders(program: &Program, rules: Rules, options: Options, budget: &Budget) -> Verdict {
    let v = of_remainder(program, rules, options, budget);
    if !v.open || !matches!(v.outcome, Outcome::GaveUp { .. }) {
        return v;
    }
    let one = |program: &Program| of_remainder(program, rules, options, budget);
    atomic_orders::decide(program, rules, (options, budget), one).unwrap_or(v)
}

/// The verdict for the given remainder of the parameter that sets the trip count.
fn of_remainder(program: &Program, rules: Rules, options: Options, budget: &Budget) -> Verdict {
    if options.engine != Engine::Search
        && let Some(v) = sizes::prove(program, rules, options, budget)
    {
        return v;
    }
    // A fault that takes no search.
    let twice = global_stores::stored_twice(&program.bind(), rules).or_else(|| stored_twice(program, rules));
    if let Some(x) = twice.clone().filter(|_| options.engine != Engine::Search) {
        let v = prove::as_given(program, (rules, budget), options);
        if v.outcome == Outcome::Proved {
            return Verdict { outcome: Outcome::Violated, violation: Some(x), ..v };
        }
    }
    let Decided { mut v, fixed, varied, apart } = of_jobs(program, rules, options, budget);
    let whiles = !varied && !program.symbols.is_empty() && program.loops.iter().any(|l| l.bound.is_none());
    if let (Outcome::Proved, true) = (&v.outcome, whiles) {
        let why = "no parameter of the kernel sets the trip count of a main loop".to_string();
        v.outcome = Outcome::Bounded { trips: None, why };
    }
    // Loops whose trip count the given values fix.
    if let (Outcome::Proved, Some((line, values))) = (&v.outcome, fixed.first()) {
        let why = format!("the loop at line {line} is checked with its given trip count only ({values})");
        v.outcome = Outcome::Bounded { trips: varied.then_some((0, None)), why };
    }
    if let (Outcome::Proved, Some(why)) = (&v.outcome, apart) {
        v.outcome = Outcome::Bounded { trips: None, why };
    }
    if v.holds()
        && let Some(x) = twice
    {
        v = Verdict { outcome: Outcome::Violated, violation: Some(x), ..v };
    }
    if v.holds()
        && let Some(x) = partial_sums::incomplete(program, (rules, budget), options, &v)
    {
        v = Verdict { outcome: Outcome::Violated, violation: Some(x), ..v };
    }
    // A result that is not decided for every number of iterations is stated for the given number.
    if let Outcome::Bounded { .. } = v.outcome {
        v.turns = None;
    }
    v
}

/// Trip counts and numbers of jobs for which stores are compared one by one.
const STORES: i64 = 12;

/// The fault of two clusters that store one block for a small trip count or number of jobs. `None` where the form of each
/// coordinate tells clusters apart.
fn stored_twice(program: &Program, rules: Rules) -> Option<Violation> {
    with_loops(program, |given, at, trips| {
        let trips = trips.filter(|_| !global_stores::apart(given))?;
        let fault = |n: i64, jobs: Option<i64>| {
            let kernel = jobs.map_or_else(|| trips.at(n), |jobs| trips.with_jobs(n, jobs))?;
            let x = global_stores::stored_twice(&kernel, rules)?;
            Some(Violation { trips: Some(n), jobs, ..x })
        };
        let steps = |_| (0..=STORES).find_map(|n| fault(n, None));
        let jobs = |_| (1..=STORES).find_map(|jobs| (1..=2).find_map(|n| fault(n, Some(jobs))));
        at.steps.and_then(steps).or_else(|| at.jobs.and_then(jobs))
    })
}

/// A verdict, and what bounds it.
struct Decided {
    v: Verdict,
    /// Loops whose trip counts are not varied, with the values that set them.
    fixed: Vec<(u32, String)>,
    /// Whether a trip count is varied.
    varied: bool,
    /// Why stores of different clusters may meet for other values.
    apart: Option<String>,
}

/// Decides a kernel for jobs of any length, if its trip counts differ by job. Where that settles nothing, and for all
/// other kernels, decides it for the loops that parameters set.
fn of_jobs(program: &Program, rules: Rules, options: Options, budget: &Budget) -> Decided {
    let decide = |program: &Program, lengths: Option<Lengths>| {
        with_loops(program, |given, at, trips| {
            let fixed = match trips {
                Some(trips) => trips.fixed().to_vec(),
                None => induction::fixed_parameters::fixed(program, &Default::default()),
            };
            let v = verify_varied(given, VariedLoops { lengths, ..at }, (rules, budget), options);
            let apart = if v.outcome == Outcome::Proved { global_stores::apart_as_given(given) } else { None };
            Decided { v, fixed, varied: trips.is_some(), apart }
        })
    };
    let holds_as_given =
        || prove::as_given(program, (rules, budget), options).outcome == Outcome::Proved && budget.check().is_ok();
    let trips = Trips::find(program);
    let replaced = |one: &OneLoop| !options.as_written && trips.as_ref().is_some_and(|t| known_blocks(program, t, one));
    let one_loop = if options.engine == Engine::Search { None } else { OneLoop::of(program, trips.as_ref()) };
    let by_one_loop = |one: &OneLoop| {
        let mut decided = decide(&one.kernel, None);
        if let Some(line) = one.chosen {
            (decided.v.any_jobs, decided.v.turns) = (Some(line), None);
        }
        let proved = decided.v.outcome == Outcome::Proved && holds_as_given();
        if proved {
            decided.v.renumbered = true;
            // Of the blocks as written.
            decided.apart = trips.as_ref().and_then(|trips| global_stores::apart_as_given(trips.given()));
        }
        (decided, proved)
    };
    if let Some(one) = one_loop.filter(|one| one.chosen.is_some() || replaced(one)) {
        let (decided, proved) = by_one_loop(&one);
        if proved {
            return decided;
        }
        let fault = decided.v.violation.as_ref().filter(|_| one.chosen.is_none());
        let kernel = |x: &Violation| if x.trips.is_some() { x.kernel(trips.as_ref()?) } else { Some(program.clone()) };
        if let Some(v) = fault.and_then(|x| fault_as_written(&kernel(x)?, x, (rules, budget), options)) {
            return Decided { v, ..decided };
        }
    }
    // A proof that gives a `let` another value compares no blocks with the ends of matrices. So the kernel as given is run.
    // If the form of blocks does not show that they are inside, trip counts are decided with the given number of jobs.
    let compared = |decided: Decided| {
        let a_let = trips.as_ref().filter(|t| blocks_inside::sets_a_let(program, t));
        let Some(trips) = a_let.filter(|_| decided.v.outcome == Outcome::Proved && options.engine != Engine::Search)
        else {
            return decided;
        };
        let given = prove::as_given(program, (rules, budget), options);
        let steps = (given.outcome == Outcome::Proved && blocks_inside::unknown(program, trips, &[])).then(|| {
            let steps = |n: i64| trips.at(n);
            let at = VariedLoops { steps: Some(&steps), ..VariedLoops::default() };
            verify_varied(trips.given(), at, (rules, budget), options)
        });
        let fault = [Some(given), steps].into_iter().flatten().find(|v| v.outcome == Outcome::Violated);
        fault.map_or(decided, |v| Decided { v, fixed: Vec::new(), varied: false, apart: None })
    };
    let any_length = AnyLength::of(program).filter(|_| options.engine != Engine::Search);
    let Some(of) = any_length else {
        let decided = compared(decide(program, None));
        // Loops around the main loop whose trip counts the given values fix are one loop over jobs, where jobs are alike.
        let nested = decided.v.outcome == Outcome::Proved && !decided.fixed.is_empty();
        if !nested || options.engine == Engine::Search {
            return decided;
        }
        let other = OneLoop::of_nest(program, trips.as_ref()).map(|one| by_one_loop(&one));
        return other.filter(|(_, proved)| *proved).map_or(decided, |(other, _)| other);
    };
    let mut decided = decide(&of.kernel, Some(of.lengths));
    let v = &mut decided.v;
    (v.any_length, v.turns) = (Some(of.line), None);
    let trips_of_jobs = Trips::find(&of.kernel);
    let of_length = of.kernel.symbols[of.symbol as usize].name.as_str();
    let family = trips_of_jobs.as_ref().filter(|t| t.name == of_length).map(Trips::family);
    // Where the bound of a loop divides the number of a job, an iteration is more than one of it.
    let length = |n: i64| family.as_ref().map_or(n, |f| f.zero + n * f.step);
    v.violation.iter_mut().flat_map(|x| &mut x.lengths).for_each(|n| *n = length(*n));
    // A trip count of all jobs is no parameter of the kernel.
    if let Some(x) = v.violation.as_mut().filter(|x| x.lengths.is_empty()) {
        let (trips, varied) = (&trips_of_jobs, family.is_some());
        // Of a launch that shares `all` jobs out, those of the cluster with the fault.
        let shared_out = x.jobs.zip(trips.as_ref().and_then(|t| x.kernel(t)));
        let shared_out = shared_out.map(|(all, p)| (all - x.cluster + p.grid.len() - 1).div_euclid(p.grid.len()));
        // Of another loop, the trip count is one of the kernel.
        let n = if varied { x.trips.take() } else { None }.map_or(of.given, length);
        let jobs = shared_out.or(x.turns.take()).or_else(|| trips.as_ref()?.given_turns()).unwrap_or(1);
        x.lengths = vec![n; jobs.max(1) as usize];
    }
    let settled = match v.outcome {
        // Lengths that no run has are not proved.
        Outcome::Proved => trips_of_jobs.as_ref().is_some_and(|t| t.varies_by_one(of_length)) && holds_as_given(),
        // Not every length may be one of the kernel, and matrices may have no place for longer jobs than the stated ones.
        Outcome::Violated => of.lengths == Lengths::All && !v.violation.as_ref().is_some_and(|x| beyond(program, x)),
        Outcome::Bounded { .. } | Outcome::GaveUp { .. } => false,
    };
    if settled {
        return decided;
    }
    let mut other = compared(decide(program, None));
    let reason = decided.v.undecided.as_deref().or(decided.v.why());
    if let (Outcome::Bounded { why, .. }, Some(reason)) = (&mut other.v.outcome, reason) {
        *why += &format!("; with another trip count for each job (line {}): {reason}", of.line);
    }
    other
}

/// Whether a fault is one of blocks alone, in a job longer than each length that the kernel states.
fn beyond(program: &Program, x: &Violation) -> bool {
    let longest = x.lengths.iter().max();
    run_time::of_blocks(x) && longest > run_time::largest(program).as_ref()
}

/// Whether the form of blocks shows what a proof with other blocks leaves out. Each store in the loops over jobs is to
/// another block in each job, and blocks begin inside their matrices.
fn known_blocks(program: &Program, trips: &Trips, one: &OneLoop) -> bool {
    global_stores::once_in_each_turn(trips.given(), &one.heads) && !blocks_inside::unknown(program, trips, &one.heads)
}

/// The fault of a kernel with trip counts that have a fault if blocks are others; `None` where the kernel has none.
fn fault_as_written(
    kernel: &Program,
    of: &Violation,
    (rules, budget): (Rules, &Budget),
    options: Options,
) -> Option<Verdict> {
    let mut v = prove::as_given(kernel, (rules, budget), options);
    let x = v.violation.as_mut()?;
    (x.trips, x.turns, x.jobs) = (of.trips, of.turns, of.jobs);
    Some(v)
}

/// Decides a kernel for all loops that are varied.
fn verify_varied(given: &Program, at: VariedLoops<'_>, (rules, budget): (Rules, &Budget), options: Options) -> Verdict {
    let mut v = Verdict::new();
    let mut classes = Vec::new();
    if options.engine == Engine::Search {
        classes = prove::short_runs(given, at, (rules, budget), options);
        v.classes = classes.iter().map(|c| c.name.clone()).collect();
        v.classes.dedup();
        v.outcome =
            search::verdict::decide(given, at.steps, rules, options.search(options.max_states), &classes, &mut v);
        return v;
    }
    budget.take_faulty();
    let decided = decide(given, at, (rules, budget), options, &mut classes, &mut v);
    v.classes.dedup();
    // A part that a limit left undecided is neither a fault of the kernel nor a proof.
    if let (Ok(_) | Err(Outcome::GaveUp { .. }), Err(over)) = (&decided, budget.check()) {
        v.outcome = Outcome::GaveUp { why: over.to_string() };
        return v;
    }
    if let Err(Outcome::GaveUp { .. }) = &decided {
        // The following fallback needs all classes again.
        classes = prove::short_runs(given, at, (rules, budget), options);
        v.classes = classes.iter().map(|c| c.name.clone()).collect();
        v.classes.dedup();
    }
    v.outcome = match decided {
        Ok(Reach::All) => Outcome::Proved,
        Ok(Reach::Only(trips, why)) => Outcome::Bounded { trips, why },
        Err(Outcome::GaveUp { why }) => match late(given, at.steps, rules, options, &classes) {
            Some(x) => {
                v.violation = Some(x);
                Outcome::Violated
            }
            None if options.engine == Engine::Auto && v.open => {
                let settings = options.search(options.max_states.min(Options::UNASKED));
                match search::verdict::decide(given, at.steps, rules, settings, &classes, &mut v) {
                    Outcome::GaveUp { why: more } => {
                        v.searched = None;
                        Outcome::GaveUp {
                            why: format!("{why} (a search of every order does not decide either: {more})"),
                        }
                    }
                    outcome => outcome,
                }
            }
            None => Outcome::GaveUp { why },
        },
        Err(outcome) => outcome,
    };
    // A fault of a run that was made for a comparison is a fault at its values.
    if matches!(v.outcome, Outcome::Bounded { .. })
        && at.lengths.is_none()
        && let Some(x) = compared_fault(given, (rules, budget), options)
    {
        return Verdict { steps: v.steps + x.steps, classes: v.classes, ..x };
    }
    // A fault with the given values is a fault, whatever else is undecided.
    if v.open
        && v.violation.is_none()
        && prove::every_cta(given, (rules, budget), options, Place::default(), &mut v).is_err()
    {
        v.outcome = Outcome::Violated;
    }
    v
}

/// Kernels with a fault in a comparison of runs that are run again.
const COMPARED: usize = 2;

/// The fault of a kernel whose run, made for a comparison, had one.
fn compared_fault(given: &Program, (rules, budget): (Rules, &Budget), options: Options) -> Option<Verdict> {
    let values = |prog: &Program| prog.symbols.iter().map(|s| s.value).collect::<Vec<_>>();
    let kernel = |of: &Vec<i64>| {
        let roots = given.symbols.iter().zip(of).filter(|(s, _)| s.definition.is_none());
        let roots: Vec<(&str, i64)> = roots.map(|(s, value)| (s.name.as_str(), *value)).collect();
        given.with(&roots).filter(|prog| values(prog) == *of)
    };
    let list = budget.take_faulty();
    let mut kernels = list.iter().filter_map(kernel).take(COMPARED);
    kernels.find_map(|prog| {
        let v = prove::as_given(&prog, (rules, budget), options);
        (v.outcome == Outcome::Violated).then(|| Verdict { kernel: Some(Box::new(prog)), ..v })
    })
}
