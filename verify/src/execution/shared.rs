//! Shared runs: kernels of one text with different numbers run together while they make the same steps.
//!
//! A kernel with one outer iteration more makes the same steps up to the place where it continues instead of ending. So
//! one run covers all numbers of outer iterations, and a kernel leaves it where a number that differs decides
//! differently.

use std::collections::BTreeSet;

use warpline_sim::ir::{Class, Expr, Instr, Object, Op, ParamId, Program, each};

use crate::execution::canonical::{CanonicalRun, Job, RecordedRun, RunEnd, RunResult, run};
use crate::execution::live_variables::LiveVariables;

/// Runs each kernel to its end.
pub(crate) fn runs<'p>(jobs: &[Job<'p>]) -> Vec<RunResult> {
    runs_while(jobs, |_| true).unwrap_or_default()
}

/// Runs each kernel to its end. `None` where they do not share one run, or where a run has a fault, does not decide, or meets
/// an obstacle. Then what is shown depends on the order in which kernels run.
pub(crate) fn clean_runs<'p>(jobs: &[Job<'p>]) -> Option<Vec<RunResult>> {
    let last = *jobs.last()?;
    let of_one = of_one(last);
    let objects = &last.prog.objects;
    let one = |job: &Job<'p>| of_one(job.prog) && job.prog.objects == *objects;
    let met = || last.place.is_some_and(|place| place.obstacle().is_some());
    let clean = |seen: &RunResult| seen.end == RunEnd::Finished && !seen.fails() && seen.unordered.is_none() && !met();
    if jobs.iter().all(one) { runs_while(jobs, clean) } else { None }
}

/// A run in progress, and the kernels that it stands for. The last of these kernels makes it.
struct OpenRun<'p> {
    run: RecordedRun<'p>,
    of: Vec<usize>,
}

/// Runs each kernel to its end, while the results of those before hold.
fn runs_while<'p>(jobs: &[Job<'p>], holds: impl Fn(&RunResult) -> bool) -> Option<Vec<RunResult>> {
    let mut seen: Vec<Option<RunResult>> = vec![None; jobs.len()];
    let mut left: Vec<usize> = (0..jobs.len()).collect();
    // A comparison of sizes may leave other code to kernels of few steps, which share a run of their own.
    while let Some(last) = left.last().map(|i| jobs[*i]) {
        let of_one = of_one(last);
        let (together, others): (Vec<usize>, Vec<usize>) = left.iter().copied().partition(|i| of_one(jobs[*i].prog));
        share(jobs, together, &mut seen, &holds)?;
        left = others;
    }
    seen.into_iter().collect()
}

/// Runs kernels of one text to their ends. A kernel that leaves the others is run first, so that few runs are kept, and
/// kernels in ascending order meet what they meet one after the other.
fn share<'p>(
    jobs: &[Job<'p>],
    together: Vec<usize>,
    seen: &mut [Option<RunResult>],
    holds: &impl Fn(&RunResult) -> bool,
) -> Option<()> {
    let last = jobs[*together.last()?];
    let text = Text { read: symbols_read(last.prog), live: LiveVariables::of(last.prog) };
    let all = together.clone();
    let mut open = vec![OpenRun { run: RecordedRun::new(last), of: together }];
    while let Some(now) = open.pop() {
        let OpenRun { mut run, mut of } = now;
        let end = match to_end(&mut run, &mut of, jobs, &text) {
            Advanced::Ended(end) => end,
            Advanced::Parted(part) => {
                let part = parted(&run, part, jobs);
                open.push(OpenRun { run, of });
                open.extend(part);
                continue;
            }
        };
        let own = run.walk.world.program();
        for i in of.into_iter().filter(|i| jobs[*i].prog.objects == own.objects) {
            let result = run.result(end.clone(), jobs[i].cluster);
            seen[i] = Some(result).filter(holds);
            seen[i].as_ref()?;
        }
    }
    // A kernel with another size of a matrix may behave differently, so it runs alone.
    for i in all.into_iter().filter(|i| seen[*i].is_none()).collect::<Vec<usize>>() {
        seen[i] = Some(run(jobs[i])).filter(holds);
        seen[i].as_ref()?;
    }
    Some(())
}

/// How far a run came.
enum Advanced {
    /// To its end.
    Ended(RunEnd),
    /// To a place where these kernels leave it.
    Parted(Vec<usize>),
}

/// What is known of the text of kernels that share a run.
struct Text {
    /// The symbols that each instruction reads.
    read: Vec<Vec<ParamId>>,
    live: LiveVariables,
}

/// Continues a run to its end, or to the first place where some of its kernels leave it.
fn to_end<'p>(run: &mut RecordedRun<'p>, of: &mut Vec<usize>, jobs: &[Job<'p>], text: &Text) -> Advanced {
    let own = run.walk.world.program();
    let others: Vec<&Program> = of.iter().map(|i| jobs[*i].prog).collect();
    let unlike = unlike(own, &text.read, &others);
    let told_apart = told_apart(own, &unlike);
    loop {
        let made = run.walk.before_agent_step(&mut |_, _| {});
        if made.is_none() && of.len() > 1 && told_apart[run.walk.pc() as usize] {
            let mut counts = false;
            let way = run.walk.way(own, |pc| counts |= unlike[pc as usize]);
            let goes_on = |i: &usize| !counts || goes_on_as(&mut run.walk, way.as_ref(), text, jobs[*i].prog);
            let (stay, part): (Vec<usize>, Vec<usize>) = of.iter().copied().partition(goes_on);
            *of = stay;
            if !part.is_empty() {
                return Advanced::Parted(part);
            }
        }
        let made = made.unwrap_or_else(|| run.walk.agent_step(&mut |_, _| {}));
        if let Some(end) = run.record(made) {
            return Advanced::Ended(end);
        }
    }
}

/// Whether the next step of a run, which takes the way `way`, is also the next step of another kernel; always true for
/// the run's own kernel.
fn goes_on_as<'p>(walk: &mut CanonicalRun<'p>, way: Option<&(u32, Vec<i64>)>, text: &Text, by: &'p Program) -> bool {
    let own = walk.world.program();
    let same = |way: &(u32, Vec<i64>)| {
        let next = &own.code[way.0 as usize];
        let equal = !differs(own, by, &text.read[way.0 as usize]) || same_values(own, by, next);
        let op = equal && (!hands(next) || walk.world.hands_as_by(by));
        op && text.live.one_place(walk.way(by, |_| {}).as_ref(), Some(way))
    };
    std::ptr::eq(own, by) || way.is_some_and(same)
}

/// A copy of the run for the kernels that leave it, made by the last of them. `None` where a matrix of that kernel ends
/// where the run stored something.
fn parted<'p>(run: &RecordedRun<'p>, of: Vec<usize>, jobs: &[Job<'p>]) -> Option<OpenRun<'p>> {
    let prog = jobs[*of.last()?].prog;
    run.walk.world.stored_as_by(prog).then(|| {
        let mut run = run.clone();
        run.walk.world.go_on_by(prog);
        OpenRun { run, of }
    })
}

pub(crate) fn hands(i: &Instr) -> bool {
    matches!(i, Instr::Op { op: Op::NextTile { .. }, .. })
}

/// A test whether a kernel has the same text as this one and starts from the same world, so that it can follow the run.
pub(crate) fn of_one<'p>(last: Job<'p>) -> impl Fn(&Program) -> bool + use<'p> {
    let live = last.prog.live();
    move |prog| one_world(prog, &last) && prog.code == last.prog.code && prog.live() == live
}

/// Whether two kernels of one text start from the same world. Sizes of matrices may differ, and the second kernel may
/// have more tiles to hand out.
fn one_world(a: &Program, last: &Job<'_>) -> bool {
    let b = last.prog;
    let waits = |i: &Instr| matches!(i, Instr::Op { op: Op::Wait(..), .. });
    let reads_other = |i: &Instr| {
        let mut other = false;
        each(a, i, &mut |_, e| e.visit(&mut |x| other |= matches!(x, Expr::Param(p) if differs(a, b, &[*p]))));
        other
    };
    let kept = a.code.iter().all(|i| !waits(i) || !reads_other(i));
    let place = |p: &Program| p.grid.at(last.cluster);
    let fewer = a.hands_out() && place(a) == place(b) && a.grid.len() <= b.grid.len();
    let barriers = a.mbars == b.mbars && a.named == b.named && a.counters == b.counters;
    kept && (a.grid == b.grid || fewer) && a.tapes == b.tapes && barriers && one_memory(a, b)
}

/// Whether all objects are equal, except for extents of matrices in dimensions over which no product sums.
fn one_memory(a: &Program, b: &Program) -> bool {
    let bare = |o: &Object| Object { rows: 0, cols: 0, row_cuts: Vec::new(), col_cuts: Vec::new(), ..o.clone() };
    if a.objects == b.objects {
        return true;
    }
    let multiplied = multiplied(a);
    // No sum is known of the product of a matrix with itself (`World::contraction`), such as of a buffer with both operands.
    let summed = |obj: usize, dim: &String| {
        let other = |(j, o): (usize, &Object)| {
            j != obj && multiplied.contains(&[obj.min(j), obj.max(j)]) && o.dims.contains(dim)
        };
        !dim.is_empty() && a.objects.iter().enumerate().any(other)
    };
    a.objects.iter().zip(&b.objects).enumerate().all(|(obj, (x, y))| {
        let moved = [x.rows != y.rows, x.cols != y.cols];
        x == y
            || x.class == Class::Global
                && bare(x) == bare(y)
                && moved.iter().zip(&x.dims).all(|(moved, dim)| !moved || !summed(obj, dim))
    })
}

/// The pairs of objects whose tiles can be the two operands of a product, smaller index first. A tile comes to an operand
/// by moves alone: arithmetic makes new values.
fn multiplied(prog: &Program) -> BTreeSet<[usize; 2]> {
    let ops = || prog.code.iter().filter_map(|i| if let Instr::Op { op, .. } = i { Some(op) } else { None });
    let moves: BTreeSet<[usize; 2]> = ops()
        .filter_map(|op| match op {
            Op::Move { src, dst, .. } => Some([src.obj as usize, dst.obj as usize]),
            _ => None,
        })
        .collect();
    // The objects whose tiles can be in each object.
    let mut holds: Vec<BTreeSet<usize>> = (0..prog.objects.len()).map(|obj| BTreeSet::from([obj])).collect();
    loop {
        let before: usize = holds.iter().map(BTreeSet::len).sum();
        for [src, dst] in &moves {
            let more = holds[*src].clone();
            holds[*dst].extend(more);
        }
        if holds.iter().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
    let products = ops().filter_map(|op| match op {
        Op::Mma { a, b, .. } => Some([a.obj as usize, b.obj as usize]),
        _ => None,
    });
    let pairs = products.flat_map(|[x, y]| {
        let holds = &holds;
        holds[x].iter().flat_map(move |x| holds[y].iter().map(move |y| [*x.min(y), *x.max(y)]))
    });
    pairs.collect()
}

/// For each instruction, the symbols that it reads.
pub(crate) fn symbols_read(prog: &Program) -> Vec<Vec<ParamId>> {
    let read = |i: &Instr| {
        let mut list = Vec::new();
        each(prog, i, &mut |_, e| {
            e.visit(&mut |x| {
                if let Expr::Param(p) = x {
                    list.push(*p);
                }
            });
        });
        list
    };
    prog.code.iter().map(read).collect()
}

/// For each instruction, whether it differs in some kernel, or hands out tiles of which a kernel has another number.
/// `read` are the symbols that each instruction reads.
pub(crate) fn unlike(own: &Program, read: &[Vec<ParamId>], others: &[&Program]) -> Vec<bool> {
    let mut moves = vec![false; own.symbols.len()];
    for other in others {
        let pairs = own.symbols.iter().zip(&other.symbols);
        moves.iter_mut().zip(pairs).for_each(|(moves, (a, b))| *moves |= a.value != b.value);
    }
    let differs = |list: &Vec<ParamId>| list.iter().any(|p| moves[*p as usize]);
    own.code.iter().zip(read).map(|(i, list)| hands(i) || differs(list)).collect()
}

/// Whether one of these symbols has another value in another kernel of the same text.
pub(crate) fn differs(a: &Program, b: &Program, read: &[ParamId]) -> bool {
    read.iter().any(|p| a.symbols[*p as usize].value != b.symbols[*p as usize].value)
}

/// Whether an instruction's expressions have equal values in another kernel of the same text, from the same state.
fn same_values(a: &Program, b: &Program, i: &Instr) -> bool {
    // `min(cores, jobs)` is one number for all large numbers of jobs.
    fn same(a: &Program, b: &Program, e: &Expr) -> bool {
        match e {
            _ if e.is_launch_constant() => a.launch_value(e) == b.launch_value(e),
            _ => e.operands().all(|x| same(a, b, x)),
        }
    }
    let mut all = true;
    each(a, i, &mut |_, e| all &= same(a, b, e));
    all
}

/// For each instruction, whether an agent there can reach an instruction that differs, before or at its next operation.
pub(crate) fn told_apart(own: &Program, unlike: &[bool]) -> Vec<bool> {
    let code = &own.code;
    let mut apart = unlike.to_vec();
    loop {
        let comes = |pc: usize| match &code[pc] {
            Instr::Set(..) => apart[pc + 1],
            Instr::Jump(to) => apart[*to as usize],
            Instr::Unless(_, to) | Instr::Only(_, to) => apart[*to as usize] || apart[pc + 1],
            Instr::Op { .. } | Instr::End => false,
        };
        let new: Vec<usize> = (0..code.len()).filter(|pc| !apart[*pc] && comes(*pc)).collect();
        if new.is_empty() {
            return apart;
        }
        new.into_iter().for_each(|pc| apart[pc] = true);
    }
}
