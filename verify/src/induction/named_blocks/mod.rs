//! Values that only name blocks of inputs.
//!
//! ```text
//!   trips expert = any per e                       tma B[2 ^ 24 * (job + 1), i] -> b
//!   tma B[expert(job), i] -> b               ─▶
//!   tma K[max(0, cta.m - window) + j] -> k         tma K[2 ^ 24 + j] -> k
//! ```
//!
//! `mailboxes` finds values that one agent passes on to others in shared memory.
//!
//! If a value that is known only at run time is read in coordinates of inputs only, it decides nothing but which block
//! is read. So does a *choice*, such as `max` of two terms that depend on the place of the CTA. If it decides nothing
//! else, CTAs with either outcome make the same run. A large multiple of its index takes the place of the value. Two
//! coordinates are then equal only if they are the same sum of the same value. Equal coordinates are then equal for all
//! values (lemma 19).

mod mailboxes;

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{
    ANY_EXTENT, Binary, Class, Env, Expr, ExprUse, Instr, MoveKind, ObjId, Op, Program, TapeId, VarId, each, each_mut,
};

use crate::blocks_inside;
use crate::induction::trip_count::Trips;
use crate::induction::while_loops::sets;
use crate::sizes;
use mailboxes::Mailboxes;

/// What a value is multiplied by; other terms of a coordinate are small against it.
const MULTIPLE: i64 = 1 << 24;
/// Largest constant in a coordinate.
const CONSTANTS: i64 = 1 << 19;
/// Largest factor of a value.
const FACTORS: i64 = 1 << 10;

/// A kernel with multiples in the place of values.
pub(crate) struct NamedBlocks {
    pub(crate) kernel: Program,
    /// Names of the values known only at run time.
    pub(crate) names: Vec<String>,
    /// Names of the matrices of which choices name blocks.
    pub(crate) chosen: Vec<String>,
}

impl NamedBlocks {
    /// `None` where a value known only at run time does more than name blocks of inputs, or where nothing is replaced.
    pub(crate) fn of(prog: &Program) -> Option<NamedBlocks> {
        if prog.opaque_globals || prog.hands_out() {
            return None;
        }
        let reads = Reads::of(prog)?;
        let (tapes, chosen) = (reads.tapes(), reads.chosen());
        if tapes.is_empty() && chosen.is_empty() {
            return None;
        }
        let mut kernel = prog.clone();
        kernel.code.iter_mut().enumerate().for_each(|(pc, i)| reads.replace_in(pc, i));
        kernel.code.iter_mut().enumerate().for_each(|(pc, i)| reads.begin_inside(pc, i));
        for (obj, dim) in reads.terms.keys() {
            kernel.forms.extents.get_mut(*obj as usize)?.as_mut()?[*dim] = Expr::Const(ANY_EXTENT);
        }
        let names = tapes.into_iter().map(|t| prog.tapes[t as usize].name.clone()).collect();
        let chosen = chosen.into_iter().map(|obj| prog.objects[obj as usize].name.clone()).collect();
        // No run compares blocks with the ends of matrices along these dimensions.
        let by_threads = reads.by_threads();
        if !by_threads.is_empty() {
            let mut own = prog.clone();
            own.code.iter_mut().enumerate().for_each(|(pc, i)| reads.begin_inside(pc, i));
            if blocks_inside::unknown_along(&own, Trips::find(prog).as_ref(), &by_threads) {
                return None;
            }
            kernel = sizes::bound(&kernel);
        }
        Some(NamedBlocks { kernel: kernel.with(&[])?, names, chosen })
    }
}

/// A value that names a block.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    RunTime(TapeId),
    Choice(Expr),
}

/// Where values are read.
struct Reads<'p> {
    prog: &'p Program,
    /// Matrices that no instruction writes.
    inputs: BTreeSet<ObjId>,
    /// Mailboxes that pass values known only at run time on.
    mailboxes: Mailboxes,
    /// Instructions that set a variable from a value.
    sets: BTreeSet<usize>,
    /// Those whose choice also has another use, so that the variable keeps it.
    kept: BTreeSet<usize>,
    /// The value and its factor in each coordinate that reads one.
    terms: BTreeMap<(ObjId, usize), (Value, Expr)>,
}

impl<'p> Reads<'p> {
    /// `None` where a value known only at run time does more than name blocks of inputs, or where coordinates along one
    /// dimension have different values.
    fn of(prog: &'p Program) -> Option<Reads<'p>> {
        let stored = prog.code.iter().filter_map(|i| match i {
            Instr::Op { op: Op::Move { dst, .. }, .. } => Some(dst.obj),
            _ => None,
        });
        let stored: BTreeSet<ObjId> = stored.collect();
        let input = |obj: &ObjId| prog.objects[*obj as usize].class == Class::Global && !stored.contains(obj);
        let inputs = (0..prog.objects.len() as ObjId).filter(input).collect();
        let (sets, kept, terms) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        let mut reads = Reads { prog, inputs, mailboxes: Mailboxes::of(prog), sets, kept, terms };
        let from_value = |i: &Instr| matches!(i, Instr::Set(_, e) if reads.first_value(e).is_some());
        reads.sets = (0..prog.code.len()).filter(|pc| from_value(&prog.code[*pc])).collect();
        for (pc, i) in prog.code.iter().enumerate() {
            reads.instruction(pc, i)?;
        }
        Some(reads)
    }

    /// Values known only at run time that name blocks.
    fn tapes(&self) -> BTreeSet<TapeId> {
        let tape = |(value, _): &(Value, Expr)| if let Value::RunTime(t) = value { Some(*t) } else { None };
        self.terms.values().filter_map(tape).collect()
    }

    /// Matrices of which choices name blocks.
    fn chosen(&self) -> BTreeSet<ObjId> {
        let all = self.terms.iter().filter(|(_, (value, _))| matches!(value, Value::Choice(_)));
        all.map(|((obj, _), _)| *obj).collect()
    }

    /// The dimensions of matrices with other blocks that threads access without a mask.
    fn by_threads(&self) -> BTreeSet<(ObjId, usize)> {
        let accessed = |obj: ObjId| {
            self.prog.code.iter().any(|i| match i {
                Instr::Op { op: Op::Move { how, src, masked: false, .. }, .. } => {
                    src.obj == obj && !matches!(how, MoveKind::TmaLoad | MoveKind::TmaStore)
                }
                _ => false,
            })
        };
        self.terms.keys().filter(|(obj, _)| accessed(*obj)).copied().collect()
    }

    /// The instruction that sets a variable on every way to another instruction. It is the last one before that in the
    /// text; `None` if a jump leads past it.
    fn setter(&self, v: VarId, at: usize) -> Option<usize> {
        let code = &self.prog.code;
        let of_v = |pc: &usize| sets(&code[*pc]) == Some(v);
        let last = (0..at).rev().find(of_v)?;
        let next = (last + 1..code.len()).find(of_v).unwrap_or(code.len());
        let past = |(from, i): (usize, &Instr)| match i {
            Instr::Jump(to) | Instr::Unless(_, to) | Instr::Only(_, to) => {
                (last + 1..=at).contains(&(*to as usize)) && !(last..next).contains(&from)
            }
            _ => false,
        };
        (!code.iter().enumerate().any(past)).then_some(last)
    }

    /// The instructions that set variables of an expression from a value. `None` where another instruction may set one of
    /// them, too.
    fn setters(&self, e: &Expr, at: usize) -> Option<BTreeSet<usize>> {
        let mut found = Some(BTreeSet::new());
        e.visit(&mut |x| {
            let Expr::Var(v) = x else { return };
            match (self.setter(*v, at), &mut found) {
                (Some(pc), Some(found)) if self.sets.contains(&pc) => drop(found.insert(pc)),
                (None, _) if self.sets.iter().any(|pc| sets(&self.prog.code[*pc]) == Some(*v)) => found = None,
                _ => {}
            }
        });
        found
    }

    /// An expression with the sums that these instructions set in the place of variables.
    fn inlined<'s>(&self, e: &Expr, setters: impl IntoIterator<Item = &'s usize>) -> Expr {
        let mut e = e.clone();
        for pc in setters {
            if let Instr::Set(v, value) = &self.prog.code[*pc] {
                e.replace(&Expr::Var(*v), value);
            }
        }
        e
    }

    /// Looks at the values that an instruction reads. `None` where a value known only at run time does more than name a
    /// block.
    fn instruction(&mut self, at: usize, i: &Instr) -> Option<()> {
        let mut list = Vec::new();
        each(self.prog, i, &mut |what, e| list.push((what, e.clone())));
        for (what, e) in list {
            let Some(setters) = self.setters(&e, at) else {
                // Some variable may be one of several sums, which are kept.
                let all = self.sets.iter().filter(|pc| {
                    let v = sets(&self.prog.code[**pc]);
                    e.any(|x| matches!(x, Expr::Var(w) if v == Some(*w)))
                });
                let all: Vec<usize> = all.copied().collect();
                if self.reads_run_time(&e)
                    || all.iter().any(|pc| matches!(&self.prog.code[*pc], Instr::Set(_, e) if self.reads_run_time(e)))
                {
                    return None;
                }
                self.kept.extend(all);
                continue;
            };
            let whole = self.inlined(&e, &setters);
            if self.first_value(&whole).is_none() || self.sets.contains(&at) && setters.is_empty() {
                continue;
            }
            if let ExprUse::Tile(obj, dim) = what
                && self.inputs.contains(&obj)
                && let Some(term) = self.term(&whole)
            {
                if *self.terms.entry((obj, dim)).or_insert_with(|| term.clone()) != term {
                    return None;
                }
                continue;
            }
            if what == ExprUse::Slot
                && self.mailboxes.passes_on(i)
                && matches!(i, Instr::Op { op: Op::Put { value, .. }, .. } if *value == e)
            {
                continue;
            }
            if self.reads_run_time(&whole) {
                return None;
            }
            self.kept.extend(setters);
        }
        Some(())
    }

    /// Puts multiples in the place of values.
    fn replace_in(&self, at: usize, i: &mut Instr) {
        let passes_on = self.mailboxes.passes_on(i);
        each_mut(self.prog, i, &mut |what, e| match what {
            ExprUse::Set if self.sets.contains(&at) && !self.kept.contains(&at) => self.replace(e),
            ExprUse::Slot if passes_on && matches!(e, Expr::Tape(..)) => self.replace(e),
            ExprUse::Tile(obj, dim) if self.terms.contains_key(&(obj, dim)) => {
                let Some(setters) = self.setters(e, at) else { return };
                if self.term(&self.inlined(e, &setters)).is_some() {
                    *e = self.inlined(e, setters.intersection(&self.kept));
                    self.replace(e);
                }
            }
            _ => {}
        });
    }

    /// Blocks that values known only at run time name begin inside their matrices, as the claim of the lemma says. The
    /// other coordinate of a block is still compared with the end of the matrix.
    fn begin_inside(&self, at: usize, i: &mut Instr) {
        let (Instr::Op { op: Op::Move { src: own, .. }, .. }, Instr::Op { op: Op::Move { src, .. }, .. }) =
            (&self.prog.code[at], i)
        else {
            return;
        };
        for (dim, e) in own.at.iter().enumerate().take(2) {
            let named = matches!(self.terms.get(&(own.obj, dim)), Some((Value::RunTime(_), _)));
            let setters = self.setters(e, at).filter(|_| named);
            src.begins_inside[dim] |= setters.is_some_and(|all| self.reads_run_time(&self.inlined(e, &all)));
        }
    }

    fn replace(&self, e: &mut Expr) {
        while let Some(value) = self.first_written(e) {
            // A variable that nothing has set yet is 0, which is no multiple of an index.
            let index = if let Expr::Tape(_, index) = &value { (**index).clone() } else { Expr::Const(0) };
            let from_one = Expr::binary(Binary::Add, index, Expr::Const(1));
            e.replace(&value, &Expr::binary(Binary::Mul, Expr::Const(MULTIPLE), from_one));
        }
    }

    /// The one value of a sum and its factor. `None` where the sum has several, or where the rest may be large.
    fn term(&self, e: &Expr) -> Option<(Value, Expr)> {
        let has = |e: &Expr| self.first_value(e).is_some();
        match e {
            Expr::Tape(tape, index) => (!has(index)).then_some((Value::RunTime(*tape), Expr::Const(1))),
            Expr::Var(v) => Some((Value::RunTime(self.mailboxes.variable(*v)?), Expr::Const(1))),
            _ if self.is_choice(e) => Some((Value::Choice(e.clone()), Expr::Const(1))),
            Expr::Binary(Binary::Add | Binary::Sub, p) => match (has(&p.0), has(&p.1)) {
                (true, false) if self.is_small(&p.1) => self.term(&p.0),
                (false, true) if self.is_small(&p.0) && matches!(e, Expr::Binary(Binary::Add, _)) => self.term(&p.1),
                _ => None,
            },
            Expr::Binary(Binary::Mul, p) => {
                let (value, factor) = if has(&p.0) { (&p.0, &p.1) } else { (&p.1, &p.0) };
                let positive = self.prog.launch_value(factor).is_some_and(|f| (1..FACTORS).contains(&f));
                let whole = matches!(value, Expr::Tape(..) | Expr::Var(_)) || self.is_choice(value);
                let fixed = factor.is_launch_constant() && positive && whole;
                self.term(value).filter(|_| fixed).map(|(value, _)| (value, factor.clone()))
            }
            _ => None,
        }
    }

    /// Whether each constant of an expression is small.
    fn is_small(&self, e: &Expr) -> bool {
        let small = |x: &Expr| self.prog.launch_value(x).is_some_and(|v| v.abs() < CONSTANTS);
        !e.any(|x| matches!(x, Expr::Const(_) | Expr::Param(_)) && !small(x))
    }

    /// The first value that an expression reads: one known only at run time, with its index or from a mailbox, or a
    /// choice.
    fn first_value(&self, e: &Expr) -> Option<Expr> {
        first(e, |x| matches!(x, Expr::Tape(..)) || self.is_passed(x) || self.is_choice(x))
    }

    /// The first such value that is not from a mailbox.
    fn first_written(&self, e: &Expr) -> Option<Expr> {
        first(e, |x| matches!(x, Expr::Tape(..)) || self.is_choice(x))
    }

    /// Whether an expression is a variable that holds a value from a mailbox.
    fn is_passed(&self, e: &Expr) -> bool {
        matches!(e, Expr::Var(v) if self.mailboxes.variable(*v).is_some())
    }

    /// Whether an expression reads a value known only at run time.
    fn reads_run_time(&self, e: &Expr) -> bool {
        e.any(|x| matches!(x, Expr::Tape(..)) || self.is_passed(x))
    }

    /// Whether an expression chooses by the place of the CTA and is one number for all agents of the cluster.
    fn is_choice(&self, e: &Expr) -> bool {
        let of_one_cta = |env: Env| matches!(env, Env::CtaM | Env::CtaId) && self.prog.cluster == 1;
        let of_cluster =
            |env: Env| matches!(env, Env::CtaN | Env::CtaZ | Env::ClusterM | Env::ClusterN | Env::ClusterId);
        let other = |x: &Expr| match x {
            Expr::Var(_) | Expr::Tape(..) => true,
            Expr::Env(env) => !of_one_cta(*env) && !of_cluster(*env),
            _ => false,
        };
        let chooses = matches!(e, Expr::Binary(Binary::Min | Binary::Max, _) | Expr::If(_));
        chooses && e.any(|x| matches!(x, Expr::Env(_))) && !e.any(other)
    }
}

/// The first part of an expression that meets a condition.
fn first(e: &Expr, of: impl Fn(&Expr) -> bool) -> Option<Expr> {
    let mut first = None;
    e.visit(&mut |x| {
        if first.is_none() && of(x) {
            first = Some(x.clone());
        }
    });
    first
}
