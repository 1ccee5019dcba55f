//! The loops and conditions around the body of a job.
//!
//! ```text
//!   for e in 0..experts:            a level with an index
//!     if live(e):                   a level
//!       for m in 0..rows(e):        a level with an index
//!         <body>                    placeholders stand for e and m
//! ```

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{Binary, Expr, ExprUse, Instr, Loop, Op, Pc, Program, VarId, each};

use crate::induction::while_loops::{lives_behind, reads, sets};

/// Placeholder of the index of the outermost loop; the next loop has the next smaller number.
const FIRST_INDEX: VarId = VarId::MAX;

/// A condition around the body of a job: a loop, or a test.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Level {
    Loop { first: Expr, bound: Expr, step: Expr },
    Test(Expr),
}

/// The loops over jobs of one role.
pub(super) struct Nest {
    pub(super) over: Loop,
    pub(super) levels: Vec<Level>,
    /// Variables that the code around the body sets, as functions of the indices.
    values: BTreeMap<VarId, Expr>,
    pub(super) body: std::ops::Range<usize>,
    /// Loops inside the body whose indices name blocks, too, where the loops stay as written.
    inner: Vec<Loop>,
    /// Instructions of the body that set a variable which only names blocks.
    named: Vec<usize>,
    /// The line of the first loop or condition that reads a value known only at run time.
    pub(super) chosen: Option<u32>,
}

impl Nest {
    /// The loops and conditions around the body of a job. They begin with the outermost loop and end `more` loops inside the
    /// last one that reads a value known only at run time.
    pub(super) fn of(prog: &Program, over: &Loop, mut more: usize) -> Option<Nest> {
        let (mut levels, mut values, mut chosen) = (Vec::new(), BTreeMap::new(), None);
        let value = |values: &BTreeMap<VarId, Expr>, e: &Expr| Some(replaced(e, values)).filter(levels_only);
        let mut pc = first_set(prog, over)?;
        let mut end = prog.code.len();
        let mut indices = 0;
        loop {
            let chooses = |pc: usize| {
                reads(prog, pc, |x| match x {
                    Expr::Var(v) => values.get(v).is_some_and(|e: &Expr| e.any(is_tape)),
                    x => is_tape(x),
                })
            };
            let within = pc > over.head as usize && !(pc..end).any(chooses);
            if within && more == 0 {
                break;
            }
            chosen = chosen.or_else(|| chooses(pc).then(|| prog.site(pc as Pc).line));
            match &prog.code[pc] {
                Instr::Set(v, e) => {
                    let e = value(&values, e)?;
                    values.insert(*v, e);
                }
                Instr::Unless(test, to) => match prog.loops.iter().find(|l| l.head as usize == pc) {
                    Some(l) => {
                        let (next, index) = ((l.end as usize).checked_sub(2)?, l.var?);
                        let around = l.head == over.head || next + 2 == end;
                        let (Instr::Set(v, Expr::Binary(Binary::Add, p)), true) = (&prog.code[next], around) else {
                            return None;
                        };
                        let counts = *v == index && p.0 == Expr::Var(index) && p.1.is_launch_constant();
                        let Expr::Binary(Binary::Lt, ends) = test else { return None };
                        if !counts
                            || ends.0 != Expr::Var(index)
                            || *to != l.end
                            || lives_behind(prog, l.end as usize, index)
                        {
                            return None;
                        }
                        let first = values.remove(&index)?;
                        values.insert(index, Expr::Var(FIRST_INDEX - indices));
                        indices += 1;
                        levels.push(Level::Loop { first, bound: value(&values, &ends.1)?, step: p.1.clone() });
                        end = next;
                        more -= within as usize;
                    }
                    None if *to as usize == end => levels.push(Level::Test(value(&values, test)?)),
                    None => return None,
                },
                _ => return None,
            }
            pc += 1;
        }
        let body = pc..end;
        let nest = Nest {
            over: over.clone(),
            levels,
            values,
            body: body.clone(),
            inner: Vec::new(),
            named: Vec::new(),
            chosen,
        };
        // Nothing else sets these variables, and no jump leaves the body.
        let inside = |pc: usize| body.contains(&pc);
        let whole = body.clone().all(|pc| {
            let to = prog.code[pc].target().is_none_or(|to| inside(to as usize) || to as usize == body.end);
            to && sets(&prog.code[pc]).is_none_or(|v| !nest.values.contains_key(&v))
        });
        let behind = nest.values.keys().any(|v| lives_behind(prog, over.end as usize, *v));
        (whole && !behind && !body.is_empty()).then(|| nest.with_named(prog))
    }

    /// Whether a loop is inside the body.
    pub(super) fn contains(&self, l: &Loop) -> bool {
        self.body.contains(&(l.head as usize))
    }

    /// The loop around it, and loops inside that are as written.
    fn loops(&self) -> impl Iterator<Item = &Loop> {
        std::iter::once(&self.over).chain(&self.inner)
    }

    /// The loops whose indices name blocks.
    pub(super) fn naming(&self) -> impl Iterator<Item = &Loop> {
        self.loops().filter(|l| l.var.is_some_and(|v| self.values.contains_key(&v)))
    }

    /// Whether an instruction of the body sets or tests the index of a loop, or sets a variable that only names blocks.
    pub(super) fn controls(&self, prog: &Program, pc: usize) -> bool {
        let of_loop = |l: &Loop| pc == l.head as usize || pc + 2 == l.end as usize || first_set(prog, l) == Some(pc);
        self.named.contains(&pc) || self.inner.iter().any(of_loop)
    }

    /// The instructions of the body that set variables which only name blocks.
    pub(super) fn named(&self) -> &[usize] {
        &self.named
    }

    /// The variable whose multiples stand for a term: the job's number, or the index that the term reads.
    pub(super) fn number_of(&self, term: &Expr) -> Option<VarId> {
        if self.chosen.is_some() {
            return self.over.var;
        }
        let mut read = BTreeSet::new();
        term.visit(&mut |x| {
            if let Expr::Var(v) = x {
                read.insert(*v);
            }
        });
        let index = read.pop_first().filter(|_| read.is_empty())?;
        self.loops().nth((FIRST_INDEX - index) as usize)?.var
    }

    /// The nest with those loops inside whose indices name blocks as quotients and remainders. An index that does more than
    /// name blocks stays as it is.
    pub(super) fn with_inner(mut self, prog: &Program) -> Nest {
        // Variables of the body that name blocks do so also where the index itself does more.
        let named = &self.named;
        let by = |var: VarId| named.iter().copied().find(|pc| sets(&prog.code[*pc]) == Some(var));
        self.values.retain(|var, _| names_blocks(prog, self.body.clone(), *var, by(*var)));
        for l in &prog.loops {
            let Some(level) = self.contains(l).then(|| self.inner_level(prog, l)).flatten() else { continue };
            let index = FIRST_INDEX - 1 - self.inner.len() as VarId;
            let Some(var) = l.var.filter(|v| is_index(index) && !self.values.contains_key(v)) else { continue };
            self.values.insert(var, Expr::Var(index));
            self.inner.push(l.clone());
            self.levels.push(level);
        }
        self.with_named(prog)
    }

    /// The nest with the values of variables that the body sets from indices, once and before each use, to name blocks.
    fn with_named(mut self, prog: &Program) -> Nest {
        for pc in self.body.clone().filter(|pc| !self.controls(prog, *pc)).collect::<Vec<_>>() {
            let Instr::Set(var, e) = &prog.code[pc] else { continue };
            let value = self.resolved(e);
            let indexed = levels_only(&value) && value.any(|x| matches!(x, Expr::Var(_)));
            let once = |other: usize| other == pc || sets(&prog.code[other]) != Some(*var);
            let around = |l: &&Loop| (l.head as usize..l.end as usize).contains(&pc);
            let here = |l: &Loop| [l.head, l.end].iter().all(|at| !lives_behind(prog, *at as usize, *var));
            if indexed
                && self.body.clone().all(once)
                && self.loops().filter(around).all(here)
                && names_blocks(prog, self.body.clone(), *var, Some(pc))
            {
                self.values.insert(*var, value);
                self.named.push(pc);
            }
        }
        self
    }

    /// A loop inside the body whose index does nothing but name blocks, also as quotients or remainders.
    fn inner_level(&self, prog: &Program, l: &Loop) -> Option<Level> {
        let (var, first, next) = (l.var?, first_set(prog, l)?, l.end as usize - 2);
        let elsewhere = |pc: usize| pc < first || pc >= l.end as usize;
        let is_index = |x: &Expr| *x == Expr::Var(var);
        let divides = |x: &Expr| matches!(x, Expr::Binary(Binary::Div | Binary::Rem, p) if is_index(&p.0));
        let quotient = self.body.clone().any(|pc| reads(prog, pc, divides));
        let other = self
            .body
            .clone()
            .any(|pc| elsewhere(pc) && (reads(prog, pc, is_index) || sets(&prog.code[pc]) == Some(var)));
        let names = !other && names_blocks(prog, l.head as usize + 1..next, var, None);
        let Instr::Set(_, Expr::Binary(Binary::Add, p)) = &prog.code[next] else { return None };
        let (first, bound) = (prog.first_index(l)?.clone(), l.bound.clone()?);
        let known = bound.is_launch_constant() && p.1.is_launch_constant() && levels_only(&first);
        (names && quotient && known).then_some(Level::Loop { first, bound, step: p.1.clone() })
    }

    /// The indices of its loops.
    pub(super) fn indices(&self) -> impl Iterator<Item = Expr> {
        let loops = self.levels.iter().filter(|l| matches!(l, Level::Loop { .. }));
        (0..).zip(loops).map(|(k, _)| Expr::Var(FIRST_INDEX - k))
    }

    /// An expression of the body as a function of the indices.
    pub(super) fn resolved(&self, e: &Expr) -> Expr {
        replaced(e, &self.values)
    }

    /// Whether values known only at run time bound a coordinate. Such a value ends the loop of an index, or a test compares
    /// a term with it.
    pub(super) fn bounds_at_run_time(&self, coordinate: &Expr) -> bool {
        let mut indices = 0;
        self.levels.iter().any(|level| match level {
            Level::Loop { bound, .. } => {
                indices += 1;
                let index = Expr::Var(FIRST_INDEX - (indices - 1));
                bound.any(is_tape) && coordinate.any(|x| *x == index)
            }
            Level::Test(Expr::Binary(Binary::Lt, p)) => {
                p.1.any(is_tape) && !p.0.any(is_tape) && is_term(&p.0) && coordinate.any(|x| *x == p.0)
            }
            Level::Test(_) => false,
        })
    }
}

/// Whether an expression reads an index, so that it can be a term of a coordinate.
fn is_term(e: &Expr) -> bool {
    e.any(|x| matches!(x, Expr::Var(v) if is_index(*v)))
}

/// An expression with values in place of variables.
fn replaced(e: &Expr, values: &BTreeMap<VarId, Expr>) -> Expr {
    let mut e = e.clone();
    values.iter().for_each(|(v, value)| e.replace(&Expr::Var(*v), value));
    e
}

/// Whether an expression reads nothing but indices of the nest, values of the launch and values known only at run time.
pub(super) fn levels_only(e: &Expr) -> bool {
    !e.any(|x| matches!(x, Expr::Var(v) if !is_index(*v)))
}

pub(super) fn is_index(v: VarId) -> bool {
    v > FIRST_INDEX - 16
}

pub(super) fn is_tape(e: &Expr) -> bool {
    matches!(e, Expr::Tape(..))
}

/// The instruction before a loop that sets its index. Ends that are computed once are set between it and the test.
pub(super) fn first_set(prog: &Program, l: &Loop) -> Option<usize> {
    let mut pc = l.head as usize;
    loop {
        pc = pc.checked_sub(1)?;
        match sets(&prog.code[pc])? {
            v if Some(v) == l.var => return Some(pc),
            _ => {}
        }
    }
}

/// Whether code reads a variable only in coordinates of blocks, and for other variables that do nothing else. Only the
/// instruction `by` may set it.
fn names_blocks(prog: &Program, code: std::ops::Range<usize>, var: VarId, by: Option<usize>) -> bool {
    code.clone().all(|pc| {
        let mut reads = false;
        each(prog, &prog.code[pc], &mut |what, e| {
            reads |= !matches!(what, ExprUse::Tile(..)) && e.any(|x| *x == Expr::Var(var));
        });
        let passes_on = || match &prog.code[pc] {
            Instr::Op { op: Op::Put { .. }, .. } => true,
            // The instructions that set variables in turn are further and further behind.
            Instr::Set(other, _) => by.is_none_or(|by| by < pc) && names_blocks(prog, code.clone(), *other, Some(pc)),
            _ => false,
        };
        (by == Some(pc) || sets(&prog.code[pc]) != Some(var)) && (!reads || passes_on())
    })
}
