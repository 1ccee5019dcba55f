//! Numbers for the blocks of jobs, where the number of a job does nothing but name blocks.
//!
//! An index of loops over jobs, or a quotient or remainder of one, becomes a large multiple of the number of the job. Two
//! coordinates are then equal only if they are the same sum of such terms, because factors and constants are small
//! against the multiples (`spacing`). A role can pass such a term on in a mailbox: the variable of a `get` is that term.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{
    ANY_EXTENT, Binary, Class, Expr, ExprUse, Instr, MoveKind, ObjId, Op, ParamId, Pc, Program, Unary, VarId, each,
    each_mut,
};

use crate::induction::jobs::nest::{Nest, is_index, levels_only};
use crate::induction::while_loops::{lives_behind, sets};
use crate::limits;

/// Largest constant in a coordinate.
const CONSTANTS: i64 = 1 << 19;
/// The number of the first job in multiples. If it were 0, all terms of that job would be equal. Sums with other factors
/// would also be equal in jobs with small numbers, such as `2 * a` in job 1 and `a` in job 2. Blocks of the jobs that are
/// run still begin below `ANY_EXTENT`.
const FIRST: i64 = 640;

/// The smallest multiple that an index becomes, and the logarithm of the factor between two of them, for this many
/// different terms in a coordinate. Factors of terms in coordinates are below half of that factor. `None` for too many terms.
fn spacing(terms: usize) -> Option<(u32, u32)> {
    match terms {
        ..=2 => Some((20, 10)),
        3 => Some((20, 8)),
        _ => None,
    }
}

/// The terms of coordinates in loops over jobs, and the mailboxes that pass terms on.
pub(super) struct BlockNames {
    /// Each term with the logarithm of its multiple.
    terms: Vec<(Expr, u32)>,
    mailboxes: BTreeSet<ObjId>,
}

impl BlockNames {
    /// `None` where the number of a job does anything else, or where factors are too large. The values of `varied` are
    /// others in a proof.
    pub(super) fn of(prog: &Program, nests: &[Nest], varied: &BTreeSet<ParamId>) -> Option<BlockNames> {
        let mailboxes = mailboxes(prog, nests)?;
        let (mut sums, mut blocks) = (Vec::new(), BTreeSet::new());
        // The terms of each coordinate of each matrix, and those that are passed on.
        let (mut coordinates, mut passed_on) = (BTreeMap::<_, Vec<Expr>>::new(), Vec::new());
        let mut takes = BTreeSet::new();
        for nest in nests {
            let passed = passed(prog, nest, &mailboxes)?;
            for pc in nest.body.clone().filter(|pc| !nest.controls(prog, *pc)) {
                let put = matches!(&prog.code[pc], Instr::Op { op: Op::Put { .. }, .. });
                let mut known = true;
                each(prog, &prog.code[pc], &mut |what, e| {
                    let e = nest.resolved(e);
                    let reads_passed = reads_any(&e, |v| passed.contains(&v));
                    if !reads_index(&e) && !reads_passed {
                        return;
                    }
                    let list = match what {
                        ExprUse::Tile(obj, dim) => {
                            blocks.insert(obj);
                            takes.extend(reads_passed.then_some((obj, dim)));
                            coordinates.entry((obj, dim)).or_default()
                        }
                        _ => {
                            known &= put && !reads_passed;
                            &mut passed_on
                        }
                    };
                    known &= add_terms(prog, &e, varied, list) && !(reads_passed && reads_index(&e));
                    sums.push(e);
                });
                if !known {
                    return None;
                }
            }
        }
        let inside = |pc: usize| nests.iter().any(|nest| nest.body.contains(&pc));
        let names_block = |pc: usize| {
            let mut names = false;
            let of = |what| matches!(what, ExprUse::Tile(obj, _) if blocks.contains(&obj));
            each(prog, &prog.code[pc], &mut |what, _| names |= of(what));
            names
        };
        if (0..prog.code.len()).any(|pc| !inside(pc) && names_block(pc)) {
            return None;
        }
        takes.iter().for_each(|at| coordinates.entry(*at).or_default().extend(passed_on.clone()));
        let (terms, apart) = multiples(coordinates.values().chain([&passed_on]))?;
        let mut small = sums.iter().map(|e| is_small(prog, e, (&terms, varied), 1 << (apart - 1)));
        small.all(|small| small).then_some(BlockNames { terms, mailboxes })
    }

    /// Puts multiples of the job's number in the place of terms. `None` where runs do not show that blocks are inside their
    /// matrices, because a trip count decides that, too.
    pub(super) fn put_into(&self, kernel: &mut Program, nests: &[Nest], varied: &BTreeSet<ParamId>) -> Option<()> {
        let prog = kernel.clone();
        for nest in nests {
            let numbers = self.terms.iter().map(|(term, _)| nest.number_of(term)).collect::<Option<Vec<_>>>()?;
            let passed = passed(&prog, nest, &self.mailboxes)?;
            nest.named().iter().for_each(|pc| kernel.code[*pc] = Instr::Jump(*pc as Pc + 1));
            for pc in nest.body.clone().filter(|pc| !nest.controls(&prog, *pc)) {
                each_mut(&prog, &mut kernel.code[pc], &mut |what, e| {
                    let mut of = nest.resolved(e);
                    let indexed = reads_index(&of) || reads_any(&of, |v| passed.contains(&v));
                    for ((term, by), number) in self.terms.iter().zip(&numbers) {
                        let of_job = Expr::binary(Binary::Add, Expr::Var(*number), Expr::Const(FIRST));
                        of.replace(term, &Expr::binary(Binary::Mul, of_job, Expr::Const(1 << by)));
                    }
                    *e = of;
                    if let ExprUse::Tile(obj, dim) = what
                        && indexed
                        && let Some(Some(extents)) = kernel.forms.extents.get_mut(obj as usize)
                    {
                        extents[dim] = Expr::Const(ANY_EXTENT);
                    }
                });
                begin_inside(&prog, pc, &mut kernel.code[pc], (nest, varied))?;
            }
        }
        Some(())
    }
}

/// Blocks that values known only at run time choose begin inside their matrices, as the claim of lemma 17 says. So do other
/// blocks of loops as written, since `blocks_inside` is asked. Of other loops, the run of the kernel as given shows this.
/// There, no coordinate and no end of a matrix may depend on a number that the proof varies.
fn begin_inside(prog: &Program, pc: usize, i: &mut Instr, (nest, varied): (&Nest, &BTreeSet<ParamId>)) -> Option<()> {
    let (
        Instr::Op { op: Op::Move { src: from, dst: to, how, masked, .. }, .. },
        Instr::Op { op: Op::Move { src, dst, .. }, .. },
    ) = (&prog.code[pc], i)
    else {
        return Some(());
    };
    let by_threads = !masked && !matches!(how, MoveKind::TmaLoad | MoveKind::TmaStore);
    for (own, place) in [(from, src), (to, dst)] {
        let extents = prog.forms.extents.get(own.obj as usize).and_then(Option::as_ref);
        for (axis, (inside, e)) in place.begins_inside.iter_mut().zip(&own.at).enumerate() {
            let e = nest.resolved(e);
            let at_run_time = nest.bounds_at_run_time(&e);
            *inside |= at_run_time || nest.chosen.is_none() && reads_index(&e);
            let varies = |e: &Expr| !prog.parameters_of(e).is_disjoint(varied);
            let ends = extents.is_some_and(|of| varies(&of[axis]));
            if by_threads && extents.is_some() && !*inside && reads_index(&e) && (varies(&e) || ends) {
                return None;
            }
            // The run as given comes to every block, unless values known only at run time choose jobs.
            *inside |= by_threads && reads_index(&e) && limits::run_time(prog).is_none();
        }
    }
    Some(())
}

/// The terms with the logarithms of their multiples, and the logarithm of the factor between two of these. Terms of one
/// coordinate have distinct multiples.
fn multiples<'e>(coordinates: impl Iterator<Item = &'e Vec<Expr>> + Clone) -> Option<(Vec<(Expr, u32)>, u32)> {
    let mut terms: Vec<&Expr> = Vec::new();
    coordinates.clone().flatten().for_each(|term| {
        if !terms.contains(&term) {
            terms.push(term);
        }
    });
    // A term that is part of another term is replaced after this term.
    terms.sort_by_key(|term| std::cmp::Reverse(depth(term)));
    let mut places: Vec<(Expr, u32)> = Vec::new();
    for term in terms {
        let beside = |other: &Expr| coordinates.clone().any(|list| list.contains(term) && list.contains(other));
        let taken = |place: u32| places.iter().any(|(other, of)| *of == place && beside(other));
        let place = (0..).find(|place| !taken(*place))?;
        places.push((term.clone(), place));
    }
    let (base, apart) = spacing(places.iter().map(|(_, place)| *place as usize + 1).max().unwrap_or(0))?;
    Some((places.into_iter().map(|(term, place)| (term, base + apart * place)).collect(), apart))
}

/// The mailboxes that pass terms on. `None` where one of them has another value, too.
fn mailboxes(prog: &Program, nests: &[Nest]) -> Option<BTreeSet<ObjId>> {
    let mut list = BTreeSet::new();
    for nest in nests {
        for pc in nest.body.clone() {
            if let Instr::Op { op: Op::Put { dst, value }, .. } = &prog.code[pc]
                && reads_index(&nest.resolved(value))
            {
                list.insert(dst.obj);
            }
        }
    }
    let term = |e: &Expr| {
        let mut terms = Vec::new();
        add_terms(prog, e, &BTreeSet::new(), &mut terms) && terms == [e.clone()]
    };
    let only_terms = prog.code.iter().enumerate().all(|(pc, i)| {
        let nest = nests.iter().find(|nest| nest.body.contains(&pc));
        match i {
            Instr::Op { op: Op::Put { dst, value }, .. } if list.contains(&dst.obj) => {
                nest.is_some_and(|nest| term(&nest.resolved(value)))
            }
            Instr::Op { op: Op::Get { src, .. }, .. } => !list.contains(&src.obj) || nest.is_some(),
            _ => true,
        }
    });
    only_terms.then_some(list)
}

/// The variables of a nest that receive a term from a mailbox. `None` where one of them has another value, too.
fn passed(prog: &Program, nest: &Nest, mailboxes: &BTreeSet<ObjId>) -> Option<BTreeSet<VarId>> {
    let gets = |pc: usize| match &prog.code[pc] {
        Instr::Op { op: Op::Get { src, var, .. }, .. } if mailboxes.contains(&src.obj) => Some(*var),
        _ => None,
    };
    let list: BTreeSet<VarId> = nest.body.clone().filter_map(gets).collect();
    let once = |v: VarId| nest.body.clone().all(|pc| sets(&prog.code[pc]) != Some(v) || gets(pc) == Some(v));
    let here = |v: VarId| !lives_behind(prog, nest.over.end as usize, v);
    list.iter().all(|v| once(*v) && here(*v)).then_some(list)
}

/// Whether a block is a quotient or a remainder of the job.
pub(super) fn has_quotients(prog: &Program, nest: &Nest) -> bool {
    let mut terms = Vec::new();
    for pc in nest.body.clone() {
        each(prog, &prog.code[pc], &mut |what, e| {
            if matches!(what, ExprUse::Tile(..)) {
                add_terms(prog, &nest.resolved(e), &BTreeSet::new(), &mut terms);
            }
        });
    }
    terms.iter().any(|term| !matches!(term, Expr::Var(_)))
}

fn reads_index(e: &Expr) -> bool {
    reads_any(e, is_index)
}

fn reads_any(e: &Expr, of: impl Fn(VarId) -> bool) -> bool {
    e.any(|x| matches!(x, Expr::Var(v) if of(*v)))
}

/// Adds the terms of a sum that read indices to a list. A multiple by a varied number is a term of its own, because the
/// blocks that it names lie further apart in a longer run. Returns whether no term reads anything else.
fn add_terms(prog: &Program, e: &Expr, varied: &BTreeSet<ParamId>, list: &mut Vec<Expr>) -> bool {
    if !reads_index(e) {
        return true;
    }
    let fixed = |e: &Expr| e.is_launch_constant() && prog.parameters_of(e).is_disjoint(varied);
    match e {
        Expr::Binary(Binary::Add | Binary::Sub, p) => {
            add_terms(prog, &p.0, varied, list) && add_terms(prog, &p.1, varied, list)
        }
        Expr::Binary(Binary::Mul, p) if fixed(&p.0) => add_terms(prog, &p.1, varied, list),
        Expr::Binary(Binary::Mul, p) if fixed(&p.1) => add_terms(prog, &p.0, varied, list),
        Expr::Unary(Unary::Neg, x) => add_terms(prog, x, varied, list),
        _ => {
            if !list.contains(e) {
                list.push(e.clone());
            }
            levels_only(e) && !e.any(|x| matches!(x, Expr::Tape(..) | Expr::Env(_)))
        }
    }
}

fn depth(e: &Expr) -> usize {
    e.operands().map(|x| depth(x) + 1).max().unwrap_or(0)
}

/// Whether each factor of a sum is below a limit and not varied, and each constant is small.
fn is_small(prog: &Program, e: &Expr, (terms, varied): (&[(Expr, u32)], &BTreeSet<ParamId>), factors: i64) -> bool {
    let first = VarId::MAX / 2;
    let mut e = e.clone();
    let numbered = |k: usize| first + k as VarId;
    terms.iter().enumerate().for_each(|(k, (term, _))| e.replace(term, &Expr::Var(numbered(k))));
    let multiple = |x: &Expr| matches!(x, Expr::Binary(Binary::Mul, _)) && !prog.parameters_of(x).is_disjoint(varied);
    if e.any(multiple) {
        return false;
    }
    (0..).zip(&prog.symbols).for_each(|(id, s)| e.replace(&Expr::Param(id), &Expr::Const(s.value)));
    let mut vars = Vec::new();
    let mut constants = true;
    e.visit(&mut |x| match x {
        Expr::Var(v) => vars.push(*v),
        Expr::Const(c) => constants &= c.abs() < CONSTANTS,
        _ => {}
    });
    let factor = |var: VarId| e.gain(&|v| Some((v == var) as i64));
    constants && vars.iter().all(|v| factor(*v).is_some_and(|f| f.abs() < factors))
}

/// Whether the form of each store's block determines the job, and no matrix is both read and written. A block does so if
/// each index is a term of it, or a quotient and a remainder of the index are.
pub(super) fn stores_apart(prog: &Program, nests: &[Nest]) -> bool {
    let global = |obj: u16| prog.objects[obj as usize].class == Class::Global;
    let (mut read, mut written, mut apart) = (Vec::new(), Vec::new(), true);
    for (pc, i) in prog.code.iter().enumerate() {
        let Instr::Op { op: Op::Move { how, src, dst, .. }, .. } = i else { continue };
        if !matches!(how, MoveKind::Store | MoveKind::TmaStore) {
            read.push(src.obj);
            continue;
        }
        if !global(dst.obj) {
            continue;
        }
        written.push(dst.obj);
        let Some(nest) = nests.iter().find(|nest| nest.body.contains(&pc)) else { continue };
        let mut terms = Vec::new();
        dst.at.iter().for_each(|e| _ = add_terms(prog, &nest.resolved(e), &BTreeSet::new(), &mut terms));
        apart &= nest.indices().all(|index| {
            let parts = terms.iter().any(|t| match t {
                Expr::Binary(Binary::Div, p) if p.0 == index => terms.contains(&Expr::Binary(Binary::Rem, p.clone())),
                _ => false,
            });
            terms.contains(&index) || parts
        });
    }
    apart && !written.iter().any(|obj| read.contains(obj))
}
