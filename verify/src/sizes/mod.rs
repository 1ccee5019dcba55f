//! Sizes: parameters for all values of which one proof holds (lemma 11 of `docs/proof.md`).
//!
//! A *size* is a parameter that no instruction reads. It only sets dimensions of the grid and extents of global
//! matrices, as `m` and `n` of a matrix product do. The proof then is of the program of any size
//! ([`Program::of_any_size`]): one cell of the largest grid, with matrices that do not end. What depends on the end of a
//! matrix is decided from the text: each access begins inside its matrix ([`range`]), and distinct clusters store
//! distinct blocks (`global_stores`).
//!
//! Where any of this is not shown, the parameter stays bound, and the kernel is decided as given.

mod range;

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{Class, Expr, Instr, MoveKind, ObjId, Op, ParamId, Place, Program, each};
use warpline_sim::protocol::Rules;

use crate::budget::Budget;
use crate::cta::cells::Cells;
use crate::cta::class_run::ClassRun;
use crate::global_stores::{GlobalStore, StoredBy, global_stores};
use crate::induction::fixed_parameters;
use crate::prove::{self, Alike};
use crate::{Options, Trips, Verdict, limits, registers, with_loops};

/// A kernel for all values of some parameters.
struct Sized {
    names: Vec<String>,
    /// The program of any size.
    any: Program,
}

/// Share of the budget of steps that a proof for every size may use before the kernel is decided as given.
const SHARE: u64 = 4;

/// The proof of a kernel for all values of its sizes, if there is one. The steps of failed attempts are taken from the
/// budget.
pub(crate) fn prove(program: &Program, rules: Rules, options: Options, budget: &Budget) -> Option<Verdict> {
    let all = candidates(program);
    if all.is_empty() || given_only(program) {
        return None;
    }
    let single = all.iter().filter(|_| all.len() > 1).map(|p| BTreeSet::from([*p]));
    for sizes in std::iter::once(all.clone()).chain(single) {
        let Some(sized) = sized(program, &sizes, rules) else { continue };
        let own = Budget::new(&Options { max_steps: options.max_steps / SHARE, ..options });
        let mut v = Verdict::new();
        let end = with_loops(&sized.any, |given, at, _| prove::alike(given, at, (rules, &own), options, &mut v));
        if budget.take_steps(own.used()).is_err() {
            return None;
        }
        match end {
            Alike::Proved if given_holds(program, rules, options, budget) => {
                v.sizes = sized.names;
                return Some(v);
            }
            // Another parameter may set the dimension along which CTAs differ.
            Alike::ToldApart => {}
            _ => return None,
        }
    }
    None
}

/// The program for all values of these parameters; `None` where one of them is no symbol of the program.
pub fn any_size(program: &Program, names: &[String]) -> Option<Program> {
    let sizes: Option<BTreeSet<ParamId>> = names.iter().map(|name| program.symbol(name)).collect();
    program.of_any_size(&sizes?)
}

/// The program with its sizes bound to the given values.
pub(crate) fn bound(program: &Program) -> Program {
    let sizes = candidates(program);
    program.bind_all_but(&(0..program.symbols.len() as ParamId).filter(|p| !sizes.contains(p)).collect())
}

/// The parameters that only set dimensions of the grid and extents of global matrices.
fn candidates(prog: &Program) -> BTreeSet<ParamId> {
    let mut read = BTreeSet::new();
    let mut reads = |e: &Expr| read.extend(prog.parameters_of(e));
    prog.code.iter().for_each(|i| each(prog, i, &mut |_, e| reads(e)));
    prog.loops.iter().filter_map(|l| l.bound.as_ref()).for_each(&mut reads);
    prog.tapes.iter().for_each(|t| reads(&t.run));
    let forms = &prog.forms;
    let sizes = forms.grid.iter().flatten().chain(forms.extents.iter().flatten().flatten());
    let set: BTreeSet<ParamId> = sizes.flat_map(|e| prog.parameters_of(e)).collect();
    set.difference(&read).copied().filter(|p| prog.symbols[*p as usize].tape.is_none()).collect()
}

/// Whether the verdict on a kernel is about its grid as given, or is not PROVED, whatever its runs show.
fn given_only(prog: &Program) -> bool {
    let whiles = prog.loops.iter().any(|l| l.bound.is_none());
    prog.cooperative
        || prog.loose
        || prog.opaque_globals
        || prog.hands_out()
        || whiles
        || !prog.counters.is_empty()
        || !prog.tapes.is_empty()
        || limits::run_time(prog).is_some()
        || registers::order_matters(prog).is_some()
        || reread(prog)
}

/// Whether the kernel reads a global matrix that it stores.
fn reread(prog: &Program) -> bool {
    let mut read: BTreeSet<ObjId> = BTreeSet::new();
    let mut stored: BTreeSet<ObjId> = BTreeSet::new();
    for i in &prog.code {
        let Instr::Op { op: Op::Move { how, src, dst, .. }, .. } = i else { continue };
        match how {
            MoveKind::Store | MoveKind::TmaStore => stored.insert(dst.obj),
            _ => read.insert(src.obj),
        };
    }
    read.intersection(&stored).any(|obj| prog.objects[*obj as usize].class == Class::Global)
}

/// Whether stores to one matrix differ in their coordinates.
fn copied(prog: &Program) -> bool {
    let mut stores: BTreeMap<ObjId, &Place> = BTreeMap::new();
    prog.code.iter().any(|i| match i {
        Instr::Op { op: Op::Move { how: MoveKind::Store | MoveKind::TmaStore, dst, .. }, .. } => {
            let first = stores.entry(dst.obj).or_insert(dst);
            (&first.at, first.elements) != (&dst.at, dst.elements)
        }
        _ => false,
    })
}

/// The kernel for all values of these parameters, if its text shows that ends of matrices decide nothing.
fn sized(prog: &Program, sizes: &BTreeSet<ParamId>, rules: Rules) -> Option<Sized> {
    let any = prog.of_any_size(sizes)?;
    let trips = Trips::find(&any);
    // Runs of a program with a `let` of another value do not check where accesses begin.
    if trips.as_ref().and_then(|trips| trips.turned(1, 1)).is_some_and(|prog| prog.loose) {
        return None;
    }
    let fixed = match &trips {
        Some(trips) => trips.fixed().to_vec(),
        None => fixed_parameters::fixed(&any, &BTreeSet::new()),
    };
    // The kernel with symbols for trip counts only.
    let kernel = trips.map_or_else(|| any.bind(), |trips| trips.given().clone());
    let varied = |p: &ParamId| kernel.symbols.iter().any(|s| s.name == prog.symbols[*p as usize].name);
    let grid = prog.forms.grid.as_ref()?;
    let grid_varies = grid.iter().any(|e| {
        let of = prog.parameters_of(e);
        of.is_disjoint(sizes) && of.iter().any(varied)
    });
    let apart = |s: &GlobalStore| matches!(s.by, StoredBy::Distinct | StoredBy::DistinctClusters);
    let distinct = || !copied(&kernel) && global_stores(&kernel, rules).iter().all(apart);
    let inside = || range::Ranges::of(prog, &kernel, sizes).all_inside();
    if !fixed.is_empty() || grid_varies || !distinct() || !inside() {
        return None;
    }
    Some(Sized { names: sizes.iter().map(|p| prog.symbols[*p as usize].name.clone()).collect(), any })
}

/// Whether the run with the given values holds in each CTA of the given grid.
fn given_holds(prog: &Program, rules: Rules, options: Options, budget: &Budget) -> bool {
    let given = &prog.bind();
    let Some(class) = Cells::of(given).next() else { return false };
    let run = ClassRun { place: class.place, ..ClassRun::of_cluster(given, rules, class.id, options, budget) };
    let seen = run.once(given);
    !seen.fails() && seen.unordered.is_none() && run.place.is_some_and(|place| place.obstacle().is_none())
}
