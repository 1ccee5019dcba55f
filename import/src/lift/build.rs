//! From the tree of all warps to a program.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{Expr, Grid, MbarDecl, NamedDecl, Program, Role, Symbol, Tape, Waits};

use crate::flow::Flow;
use crate::ptx::{Entry, Error, Inst, Module};
use crate::symbolic::{Arena, Term};

use super::emit::{Done, Emit};
use super::facts::global_words::waited_for;
use super::facts::map_fences;
use super::facts::pointers::Pointers;
use super::iterations::counters::count_waits;
use super::iterations::{behind, by_iteration, finer, nests, orders, paced, positive, skipped, thresholds, uniform};
use super::launch::cases::{MOST, Outcome, Wanted};
use super::launch::exprs::Names;
use super::launch::symbols::trip_symbols;
use super::launch::{Binder, argument_cases, asserted, capped, cases, possible, registers, related, symbols};
use super::memory::always::{Accesses, always};
use super::memory::anywhere::Unknown;
use super::memory::barriers::{Barriers, addresses, arrays, in_parts};
use super::memory::intervals::united;
use super::memory::objects::objects;
use super::memory::pieces::divide;
use super::memory::regions::{MOST_SLOTS, Regions};
use super::memory::sizes::{Sizes, loads, stores};
use super::memory::{anywhere, expected, padded, selected, unfilled, wait_scopes};
use super::merge::effects_of::{barrier_of, terms_of};
use super::merge::unread::without_unread;
use super::merge::{Merged, Set, each_op, nested, one_form, repeated, roles};
use super::tree::Effect;
use super::walk::shared::Shared;
use super::ways::{Compared, Way, lift_case};
use super::{Free, Launch, Lifted};

/// The register object of the program that loads write.
pub(super) const LOADED: u16 = 1;
/// The register object of the program that stores read.
pub(super) const STORED: u16 = 2;
/// The register object that holds a left operand.
pub(super) const LEFT: u16 = 3;
/// The register object of the program that loads of tensor memory write; these loads are asynchronous.
pub(super) const ARRIVING: u16 = 4;
/// The register object of the program that is written by loads of the lane that acts for its warp.
pub(super) const LOADED_BY_ONE: u16 = 5;
/// Bytes of an mbarrier.
const BARRIER: i64 = 8;
/// First object in shared memory; the global one is number 0.
pub(super) const FIRST: u16 = 6;

/// The data that code generation reads.
pub(super) struct Plan {
    pub(super) regions: Regions,
    pub(super) barriers: Vec<Barriers>,
    /// The arrays of which each stage has an `init` of its own.
    pub(super) in_parts: BTreeSet<usize>,
    pub(super) loads: Sizes,
    pub(super) stores: BTreeMap<(usize, Term), u32>,
    pub(super) accumulators: BTreeMap<(u32, u32), u16>,
    pub(super) named: Vec<i64>,
}

/// Lifts an entry in all cases. An error also has what would decide what is missing.
pub(super) fn lift_cases(
    module: &Module,
    entry: &Entry,
    flow: &Flow,
    (file, text): (&str, &str),
    launch: &Launch,
) -> Result<Lifted, (Error, Option<Wanted>)> {
    let (mut open, mut cases, mut left_out) = (vec![Vec::new()], Vec::new(), Vec::new());
    while let Some(outcomes) = open.pop() {
        match lift_case(module, entry, flow, (file, text), launch, &outcomes) {
            Ok(l) => cases.push(l),
            // The other case of the argument has a program.
            Err((e, _)) if !launch.timed && !cases.is_empty() && outcomes.iter().any(Outcome::is_other_argument) => {
                left_out.push((outcomes, e));
            }
            Err((_, Some(Wanted::Outcome(at, of))))
                if outcomes.len() < MOST && outcomes.iter().all(|o: &Outcome| o.at != at) =>
            {
                for taken in [false, true] {
                    open.push(outcomes.iter().copied().chain([Outcome { at, taken, of }]).collect());
                }
            }
            Err(e) => return Err(e),
        }
    }
    // The case with the longest program has the work.
    let most = (0..cases.len()).max_by_key(|i| cases[*i].program.code.len()).unwrap_or(0);
    let mut first = cases.swap_remove(most);
    for (what, line) in cases.iter().flat_map(|l| &l.assumptions) {
        if first.assumptions.iter().all(|(known, _)| known != what) {
            first.assumptions.push((what.clone(), *line));
        }
    }
    first.related = first.related.or_else(|| cases.iter().find_map(|l| l.related.clone()));
    first.partial = first.partial.or_else(|| cases.iter().find_map(|l| l.partial.clone()));
    for (outcomes, e) in left_out {
        let launches = argument_cases::launches(&outcomes);
        first.assumptions.push((format!("{launches} are left out: they are not followed"), e.line));
        let why = format!("{launches} are not followed (line {}: {})", e.line, e.message);
        first.partial = Some(first.partial.map_or(why.clone(), |other| format!("{other}; {why}")));
    }
    first.unproved = first.unproved.or_else(|| cases.iter().find_map(|l| l.unproved.clone()));
    first.waits_for_word = waited_for(&entry.code, flow, &Pointers::of(module, entry));
    // The cases of a launch have no common program.
    first.numbered = first.numbered.filter(|_| cases.is_empty());
    first.stepped = first.stepped.filter(|_| cases.is_empty());
    first.others = cases;
    Ok(first)
}

/// The program of the operations of all warps.
pub(super) fn program(
    mut s: Shared<'_>,
    lists: Vec<Vec<super::tree::Node>>,
    (entry, file, text): (&Entry, &str, &str),
    launch: &Launch,
    way: Way,
) -> Result<Lifted, Error> {
    let warps = lists.len() as u32;
    let tree = super::merge::of_all(&mut s, lists, launch.timed);
    program_of(s, (tree, warps), (entry, file, text), launch, way)
}

/// The program of the tree of all warps, and of their number.
pub(super) fn program_of(
    mut s: Shared<'_>,
    (tree, warps): (Vec<Merged>, u32),
    (entry, file, text): (&Entry, &str, &str),
    launch: &Launch,
    way: Way,
) -> Result<Lifted, Error> {
    let everyone = if warps == 128 { Set::MAX } else { (1 << warps) - 1 };
    let n = warps / s.ctas();
    // Rows that a size cuts off differ by iteration.
    let accesses = if way.skips { way.accesses } else { Accesses::Conditional };
    let (tree, by_iteration) = always(tree, accesses, &mut |c| s.arena.reads_memory(c));
    let tree = skipped::without_skipped(&mut s, tree, way.skips);
    let tree = if launch.timed { tree } else { nests::collapsed(&mut s, tree) };
    let (tree, by_data) = always(tree, way.accesses, &mut |c| !s.arena.reads_memory(c));
    let (tree, outcomes) = match way.compared {
        Compared::InEach | Compared::InEachWithSteps => {
            let none = at_inst(&s, 0, "nothing is numbered by iteration".to_string(), "a condition of an iteration");
            let (tree, outcomes) =
                by_iteration::numbered(&mut s, tree, way.compared == Compared::InEachWithSteps).ok_or(none)?;
            (tree, Some(outcomes))
        }
        _ => (tree, None),
    };
    let assumed = s.assumed.clone();
    let (tree, cut, uniform) = match orders::cut(&mut s, tree.clone(), everyone) {
        Ok((tree, cut)) => (tree, cut, None),
        Err(e) if launch.timed || outcomes.is_some() => return Err(e),
        Err(e) => {
            s.assumed = assumed;
            let tree = uniform::uniform(&mut s, tree, e.line);
            let line = e.line;
            let (tree, cut) = orders::cut(&mut s, tree, everyone).map_err(|_| e)?;
            (tree, cut, Some(line))
        }
    };
    let mut names = Names { outcomes, ..Names::default() };
    let tree = without_unread(&s, tree);
    let mut stands_for = rustc_hash::FxHashMap::default();
    let tree = if launch.timed { tree } else { finer::quotients_of_one(&mut s, tree, &mut stands_for) };
    let tree = match way.compared {
        Compared::WithTripCounts | Compared::InEach | Compared::InEachWithSteps => tree,
        how => thresholds::split(&mut s, &mut names, &tree, (&mut stands_for, how == Compared::UpToKnown)).ok_or_else(
            || at_inst(&s, 0, "no loop is split".to_string(), "a comparison that holds up to some iteration"),
        )?,
    };
    let tree = if launch.timed { tree } else { asserted::checked(&mut s, tree, (everyone, &mut stands_for)) };
    let tree = if launch.timed { tree } else { cases::guarded(&mut s, tree, everyone) };
    let tree = if launch.timed { tree } else { behind::counted(&mut s, tree) };
    let tree = if launch.timed { tree } else { paced::counted(&mut s, tree, &mut stands_for) };
    let tree = trip_symbols(&mut s, &mut names, tree, &mut stands_for);
    let tree = if launch.timed { tree } else { positive::by_counts(&mut s, &names, tree, &stands_for) };
    let tree = if launch.timed { tree } else { one_form::conditions(&mut s, tree) };
    let (tree, by_launch) = always(tree, way.accesses, &mut |c| {
        let mut varied = true;
        names.leaves(&mut s.arena, c, &mut |t| varied &= names.is_varied(t));
        varied
    });
    let taken = by_iteration.or(by_data).or(by_launch);
    if way.accesses != Accesses::Conditional && taken.is_none() {
        let message = "no accesses are behind a condition".to_string();
        return Err(at_inst(&s, 0, message, "accesses that happen under a condition"));
    }
    let tree = without_unread(&s, tree);
    note_points(&mut s.arena, &tree);
    let tree = selected::separated(&mut s, tree);
    note_points(&mut s.arena, &tree);
    let (conditions, tree) = cases::unguarded(&mut s, tree);
    let (checks, tree) = asserted::unchecked(tree);
    let others: Vec<Term> = conditions.iter().map(|(_, t)| *t).collect();
    let tree = if launch.timed { tree } else { nested::joined(&mut s, &names, tree, (&checks, &others)) };
    let tree = expected::stated(&mut s, tree, n);
    let tree = padded::filled(&mut s, tree, n);
    wait_scopes::noted(&mut s, &tree, n);
    let (tree, plan) = anywhere::planned(&mut s, tree, n, launch.timed)?;
    if !launch.timed && s.unknown == Unknown::Anywhere && way.accesses != Accesses::LeftOut {
        unfilled::checked(&mut s, &tree, &plan.loads);
        map_fences::checked(&mut s);
    }
    let tree = if launch.timed { tree } else { repeated::without_repeated(&s, &plan.regions, tree) };
    let all = if n == 64 { u64::MAX } else { (1u64 << n) - 1 };
    let mut e = Emit::new(&mut s, names, &plan, n, text, file);
    e.checks(&checks, everyone)?;
    e.case(&conditions, &tree, everyone)?;
    let Done { code, at, sites, loops, names, free, objects: more } = e.done()?;
    let mut objects = objects(&plan);
    objects.extend(more);
    if let Some(one) = free.get(super::MOST_FREE).filter(|_| !launch.timed) {
        return Err(Error {
            line: one.line,
            span: (0, 0),
            message: format!("more than {} conditions over the launch decide operations", super::MOST_FREE),
            expected: "fewer, so that every combination of their outcomes can be decided".into(),
        });
    }
    let symbols: Vec<Symbol> = names
        .order
        .iter()
        .enumerate()
        .map(|(i, (_, name))| Symbol {
            name: name.clone(),
            value: if free.iter().any(|f: &Free| f.symbol as usize == i) { 1 } else { 8 },
            definition: None,
            tape: None,
        })
        .collect();
    // Reads are checked where the program has all that the kernel writes: all iterations and accesses, at known places. A
    // case, or a condition over the launch, leaves some out.
    let whole = s.unknown == Unknown::Anywhere && way.accesses == Accesses::Conditional && s.cases.outcomes.is_empty();
    let known = s.unknown_at.or(s.ordered_at).is_none();
    let reads_checked = !launch.timed && whole && known && free.is_empty() && cut.is_none() && uniform.is_none();
    let mut program = Program {
        name: entry.name.clone(),
        file: file.into(),
        params: symbols.iter().map(|s| (s.name.clone(), s.value)).collect(),
        symbols,
        forms: Default::default(),
        needs: Vec::new(),
        grid: Grid { m: 1, n: 1, z: 1, group: 0 },
        cluster: s.ctas(),
        cooperative: false,
        atomic_order: Vec::new(),
        warps: n,
        regs: registers(&tree, n, s.entry),
        waits: Waits::Auto,
        objects,
        mbars: plan
            .barriers
            .iter()
            .map(|b| MbarDecl { name: format!("mbar_{:x}", b.base), stages: b.stages, count: b.count })
            .collect(),
        named: plan.named.iter().map(|id| NamedDecl { name: format!("bar{id}"), len: 1, first: *id as u32 }).collect(),
        counters: Vec::new(),
        roles: vec![Role { name: "all".into(), warps: all, members: 1 }],
        tapes: outcomes.map(numbers).into_iter().collect(),
        vars: names.frame.clone(),
        code,
        at,
        sites,
        loops,
        lets: Vec::new(),
        loose: false,
        opaque_globals: true,
        ended_leave: true,
        reads_checked,
    };
    count_waits(&mut program);
    if let Some(roles) = roles::roles(&program) {
        program.roles = roles;
    }
    let capped = if launch.timed { Vec::new() } else { capped::capped(&program, &free) };
    s.assume_of_numbers();
    let meaning = symbols::meanings(&mut s.arena, &names, &stands_for);
    let relation = related::related(&mut s, (&names, &program), &stands_for);
    let no_launch = relation.as_ref().is_some_and(|r| r.no_launch);
    let mut related = relation.map(|r| r.why);
    let line_of = |at: usize| s.entry.code[at.min(s.entry.code.len() - 1)].line;
    // Not every number of iterations belongs to a launch.
    if let Some(line) = s.skips.map(line_of) {
        related = Some(format!("how often a condition of a loop holds, at line {line}, depends on arguments"));
    }
    // One word that several readers could take for two.
    if let Some(line) = uniform.filter(|_| uniform::words(&s.arena, names.order.iter().map(|(t, _)| *t)) > 1) {
        related = Some(format!("data that decide at line {line} are taken to be the same in each iteration"));
    }
    if let Some(line) = taken.filter(|_| way.accesses == Accesses::Done).map(line_of) {
        related = Some(format!("accesses behind conditions, such as at line {line}, are taken to happen always"));
    }
    if let Some(line) = s.unknown_at.filter(|_| s.unknown == Unknown::Anywhere) {
        related =
            Some(format!("accesses at places that are not known, such as at line {line}, are taken to be anywhere"));
    }
    if s.of_one_launch {
        related = Some("accesses are those of one launch".to_string());
    }
    if let Some(line) = s.ordered_at {
        related = Some(format!("the result of the atomic access at line {line} decides, and may order threads"));
    }
    if outcomes.is_some() {
        related = Some("what differs by iteration is taken to be anything".to_string());
    }
    let unknown = s.unknown_at.or(s.ordered_at).is_some();
    let partial = match (uniform, s.taken) {
        (Some(line), _) => {
            Some(format!("data at line {line} are checked as if they decided the same in each iteration"))
        }
        (None, Some(_)) => Some("branches by data that wait are checked where all are taken, or none".to_string()),
        (None, None) => None,
    };
    let by = |t: Term| names.divided.iter().find(|(x, _)| *x == t).map_or(1, |(_, by)| *by);
    let terms: Vec<(Term, i64)> = names.order.iter().map(|(t, _)| (*t, by(*t))).collect();
    let any_launch =
        !launch.timed && uniform.is_none() && taken.is_none() && !unknown && !no_launch && outcomes.is_none();
    let launches = match &related {
        _ if s.of_one_launch => {
            let values = terms.iter().map(|(t, _)| possible::at_size(&mut s.arena, *t, &stands_for));
            values.collect::<Option<Vec<i64>>>().into_iter().collect()
        }
        Some(_) if any_launch => possible::launches(&mut s.arena, &terms, &stands_for),
        _ => Vec::new(),
    };
    let named = |l: Vec<i64>| names.order.iter().zip(l).map(|((_, n), v)| (n.clone(), v)).collect();
    let launches = launches.into_iter().map(named).collect();
    let cluster = s.cluster;
    let bound = Binder { arena: &mut s.arena, launch, cluster, original: &stands_for }.symbols(&names.order);
    let outcomes: Vec<(usize, bool)> = s.cases.outcomes.iter().map(|o| (o.at, o.taken)).collect();
    let conditions: Vec<(Term, String)> = outcomes
        .iter()
        .filter_map(|(at, _)| Some((*s.cases.conditions.get(at)?, format!("cond_{}", s.entry.code[*at].line))))
        .collect();
    let under = Binder { arena: &mut s.arena, launch, cluster, original: &stands_for }.symbols(&conditions);
    let under = under.into_iter().zip(outcomes.into_iter().map(|(_, taken)| taken)).collect();
    Ok(Lifted {
        bound,
        cluster,
        related,
        partial,
        unproved: s.unproved.clone(),
        waits_for_word: None,
        launches,
        cut,
        program,
        capped,
        assumptions: s.assumed.into_iter().collect(),
        free,
        meaning,
        under,
        others: Vec::new(),
        without: None,
        numbered: None,
        stepped: None,
        differs: uniform.is_some() || matches!(way.compared, Compared::UpToSome | Compared::UpToKnown),
        unknown_at: s.unknown_at.filter(|_| s.ordered_at.is_none()),
    })
}

/// The number of each iteration. In the run with given values, all conditions hold.
fn numbers(outcomes: u32) -> Tape {
    Tape { name: "numbers".into(), run: Expr::Const((1 << (outcomes + 2)) - 1) }
}

pub(super) fn at_inst(s: &Shared<'_>, at: usize, message: String, expected: &str) -> Error {
    let i: &Inst = &s.entry.code[at.min(s.entry.code.len().saturating_sub(1))];
    Error { line: i.line, span: i.span, message, expected: expected.into() }
}

/// Computes the values of all addresses that operators decide.
fn note_points(a: &mut Arena, tree: &[Merged]) {
    let mut terms = BTreeSet::new();
    each_op(tree, &mut |_, (_, _, e)| {
        terms.extend(terms_of(e));
    });
    terms.into_iter().for_each(|t| a.note_points(t));
}

/// What an address without bounds expects.
pub(super) const NO_BOUNDS: &str = "an address inside of shared memory";

/// What a plan with too many slots expects.
pub(super) const FEWER_SLOTS: &str = "fewer slots";

/// Objects, barriers and sizes.
pub(super) fn plan(s: &Shared<'_>, tree: &[Merged], warps: u32) -> Result<Plan, Error> {
    let a = &s.arena;
    let sized = |(at, message): (usize, String)| at_inst(s, at, message, "a size that the text says, or that follows");
    let loads = loads(a, tree, warps, &s.entry.code).map_err(sized)?;
    let stores = stores(a, tree, &loads).map_err(sized)?;
    let mut counts: BTreeMap<i64, u32> = BTreeMap::new();
    let mut uses: Vec<(usize, Term)> = Vec::new();
    let mut bad: Option<(usize, String)> = None;
    let mut named: BTreeSet<i64> = BTreeSet::new();
    let mut accumulators: BTreeSet<(u32, u32)> = BTreeSet::new();
    let threads: i64 = s.block.iter().map(|n| *n as i64).product();
    each_op(tree, &mut |at, (_, _, e)| match e {
        Effect::Init(bar, count) => match (a.constant(*bar), a.constant(*count)) {
            (Some(x), Some(c)) if c > 0 => {
                if counts.insert(x, c as u32).is_some_and(|old| old != c as u32) {
                    bad = bad.take().or(Some((at, format!("the barrier at {x} is initialized with two counts"))));
                }
            }
            _ => {
                bad = bad.take().or(Some((at, format!("which barrier is initialized is not known: {}", a.show(*bar)))))
            }
        },
        Effect::Bar(id, n, sync) if *id != 0 || *n != threads || !sync => drop(named.insert(*id)),
        Effect::Wgmma { acc, n, .. } => drop(accumulators.insert((*acc, *n))),
        Effect::Registers(of) => accumulators.extend(of.reads.iter().chain(&of.writes)),
        e => uses.extend(barrier_of(e).map(|bar| (at, bar))),
    });
    if let Some((at, message)) = bad {
        return Err(at_inst(s, at, message, "a barrier at a known address"));
    }
    uses.sort_by_key(|(_, t)| *t);
    uses.dedup_by_key(|(_, t)| *t);
    let mut lists = Vec::new();
    for (at, t) in &uses {
        let list = addresses(a, *t).ok_or_else(|| {
            at_inst(s, *at, format!("which barrier is meant is not known: {}", a.show(*t)), "a ring of barriers")
        })?;
        if let Some(x) = list.iter().find(|x| !counts.contains_key(x)) {
            let message = format!("the barrier at address {x} is never initialized ({})", a.show(*t));
            return Err(at_inst(s, *at, message, "an address that `mbarrier.init` was given"));
        }
        lists.push(list);
    }
    let barriers = arrays(&counts, &lists).map_err(|group| {
        let of_group = |(_, list): &(&(usize, Term), &Vec<i64>)| list.len() > 1 && group.contains(&list[0]);
        let at = uses.iter().zip(&lists).find(of_group).map_or(0, |((at, _), _)| *at);
        let message = format!("the barriers from address {} on form no array", group[0]);
        at_inst(s, at, message, "barriers at equal distances")
    })?;
    let mut runs: Vec<(Term, u32)> = Vec::new();
    let mut places: BTreeMap<Term, usize> = BTreeMap::new();
    let (mut wide, mut empty) = (Vec::new(), None);
    each_op(tree, &mut |at, (_, _, e)| {
        let (here, others) = anywhere::known(s, e, touched(e, at, &loads, &stores));
        wide.extend(others);
        for (t, n) in here {
            empty = empty.or((n == 0).then_some(at));
            places.entry(t).or_insert(at);
            runs.push((t, n));
        }
    });
    if let Some(at) = empty {
        return Err(at_inst(s, at, "this copy brings no bytes".to_string(), "a barrier that expects some"));
    }
    let written = |e: &Effect, at: usize| touched(e, at, &loads, &stores);
    if let Some(at) = s.mail.overwritten(a, tree, warps, &written) {
        let message = "a word of shared memory that roles act on is written here, too".to_string();
        return Err(at_inst(s, at, message, "bytes of their own"));
    }
    runs.sort_unstable();
    runs.dedup();
    let bars = united(counts.keys().map(|b| (*b, *b + BARRIER)).collect());
    let mut regions = Regions::of(a, &runs, (&wide, &bars))
        .map_err(|t| at_inst(s, places[&t], format!("the address {} has no bounds", a.show(t)), NO_BOUNDS))?;
    if let Some((low, high)) = s.mail.span()
        && let Some(r) = regions.list.iter().find(|r| r.base < high && low < r.end)
    {
        let at = runs.iter().find(|(t, _)| a.range(*t).0 >= r.base).map_or(0, |(t, _)| places[t]);
        let message = format!("bytes {low}..{high} of shared memory tell warps what to do, and are used for data, too");
        return Err(at_inst(s, at, message, "bytes of their own"));
    }
    if let Some(r) = regions.list.iter().find(|r| r.slots > MOST_SLOTS) {
        let at = runs.iter().find(|(t, _)| a.range(*t).0 >= r.base).map_or(0, |(t, _)| places[t]);
        return Err(at_inst(
            s,
            at,
            format!("shared memory from {} on has {} slots of {} bytes", r.base, r.slots, r.slot),
            FEWER_SLOTS,
        ));
    }
    divide(s, tree, &mut regions, &loads, &stores)?;
    let accumulators =
        accumulators.into_iter().enumerate().map(|(i, k)| (k, FIRST + regions.list.len() as u16 + i as u16)).collect();
    let in_parts = in_parts(a, tree, &barriers);
    Ok(Plan { regions, barriers, in_parts, loads, stores, accumulators, named: named.into_iter().collect() })
}

/// The bytes of shared memory that an operation accesses.
pub(super) fn touched(e: &Effect, at: usize, loads: &Sizes, stores: &BTreeMap<(usize, Term), u32>) -> Vec<(Term, u32)> {
    match e {
        Effect::Touch(_, runs) | Effect::Far { runs, .. } => runs.clone(),
        Effect::BulkLoad { to, bar, .. } => vec![(*to, loads.get(&(at, *to, *bar)).copied().unwrap_or(0))],
        Effect::BulkStore { from, .. } => vec![(*from, stores.get(&(at, *from)).copied().unwrap_or(0))],
        Effect::Wgmma { a, b, .. } => a.iter().flatten().chain(b).copied().collect(),
        Effect::TensorLoad(l) | Effect::TensorStore(l) => l.clone(),
        Effect::TensorProduct { a, at, b, d, .. } => a.iter().chain(at).chain(b).chain(d).copied().collect(),
        _ => Vec::new(),
    }
}
