//! Values known only at run time that only name blocks.
//!
//! ```text
//!   trips expert = any per e                 tma B[2 ^ 24 * (job + 1), i] -> b
//!   tma B[expert(job), i] -> b        ─▶
//! ```
//!
//! If such a value is read in coordinates of inputs only, it decides nothing but which block is read. With a large
//! multiple of its index in its place, two coordinates are equal only if they are the same sum of the same value. Equal
//! coordinates are then equal for all values (lemma 19).

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{
    ANY_EXTENT, Binary, Class, Expr, ExprUse, Instr, ObjId, Op, Program, TapeId, VarId, each, each_mut,
};

use crate::induction::while_loops::sets;

/// What a value is multiplied by; other terms of a coordinate are small against it.
const MULTIPLE: i64 = 1 << 24;
/// Largest constant in a coordinate.
const CONSTANTS: i64 = 1 << 19;
/// Largest factor of a value.
const FACTORS: i64 = 1 << 10;

/// A kernel with multiples of indices in the place of values, and the names of these values.
pub(crate) struct NamedBlocks {
    pub(crate) kernel: Program,
    pub(crate) names: Vec<String>,
}

impl NamedBlocks {
    /// `None` where a value known only at run time does more than name blocks of inputs, or where there is none.
    pub(crate) fn of(prog: &Program) -> Option<NamedBlocks> {
        if prog.opaque_globals || prog.hands_out() {
            return None;
        }
        let mut reads = Reads { prog, vars: BTreeMap::new(), terms: BTreeMap::new(), tapes: BTreeSet::new() };
        reads.variables()?;
        for i in &prog.code {
            reads.instruction(i)?;
        }
        if reads.tapes.is_empty() {
            return None;
        }
        let stored = prog.code.iter().filter_map(|i| match i {
            Instr::Op { op: Op::Move { dst, .. }, .. } => Some(dst.obj),
            _ => None,
        });
        if stored.into_iter().any(|obj| reads.terms.keys().any(|(of, _)| *of == obj)) {
            return None;
        }
        let mut kernel = prog.clone();
        for i in &mut kernel.code {
            each_mut(prog, i, &mut |_, e| {
                while let Some(tape) = first_tape(e) {
                    let Expr::Tape(_, index) = &tape else { break };
                    // A variable that nothing has set yet is 0, which is no multiple of an index.
                    let from_one = Expr::binary(Binary::Add, (**index).clone(), Expr::Const(1));
                    let multiple = Expr::binary(Binary::Mul, Expr::Const(MULTIPLE), from_one);
                    e.replace(&tape, &multiple);
                }
            });
        }
        for (obj, dim) in reads.terms.keys() {
            kernel.forms.extents.get_mut(*obj as usize)?.as_mut()?[*dim] = Expr::Const(ANY_EXTENT);
        }
        let names = reads.tapes.iter().map(|t| prog.tapes[*t as usize].name.clone()).collect();
        Some(NamedBlocks { kernel: kernel.with(&[])?, names })
    }
}

/// Where values known only at run time are read.
struct Reads<'p> {
    prog: &'p Program,
    /// Variables that are set from a value, with that sum.
    vars: BTreeMap<VarId, Expr>,
    /// The value and its factor in each coordinate that reads one.
    terms: BTreeMap<(ObjId, usize), (TapeId, Expr)>,
    tapes: BTreeSet<TapeId>,
}

impl Reads<'_> {
    /// Finds the variables that are set from a value. `None` where one of them is set twice.
    fn variables(&mut self) -> Option<()> {
        for (pc, i) in self.prog.code.iter().enumerate() {
            let Instr::Set(v, e) = i else { continue };
            if first_tape(e).is_none() {
                continue;
            }
            let others = self.prog.code.iter().enumerate().filter(|(other, _)| *other != pc);
            if others.into_iter().any(|(_, i)| sets(i) == Some(*v)) {
                return None;
            }
            self.vars.insert(*v, e.clone());
        }
        Some(())
    }

    /// Looks at the values that an instruction reads. `None` where one does more than name a block.
    fn instruction(&mut self, i: &Instr) -> Option<()> {
        let mut list = Vec::new();
        each(self.prog, i, &mut |what, e| list.push((what, e.clone())));
        for (what, mut e) in list {
            self.vars.iter().for_each(|(v, value)| e.replace(&Expr::Var(*v), value));
            if first_tape(&e).is_none() {
                continue;
            }
            match what {
                ExprUse::Set if matches!(i, Instr::Set(v, _) if self.vars.contains_key(v)) => {}
                ExprUse::Tile(obj, dim) if self.prog.objects[obj as usize].class == Class::Global => {
                    let (tape, factor) = self.term(&e)?;
                    self.tapes.insert(tape);
                    let first = self.terms.entry((obj, dim)).or_insert_with(|| (tape, factor.clone()));
                    if *first != (tape, factor) {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// The one value of a sum and its factor. `None` where the sum has several, or where the rest may be large.
    fn term(&self, e: &Expr) -> Option<(TapeId, Expr)> {
        let one = |tape: TapeId| Some((tape, Expr::Const(1)));
        match e {
            Expr::Tape(tape, index) => one(*tape).filter(|_| first_tape(index).is_none()),
            Expr::Binary(Binary::Add | Binary::Sub, p) => {
                match (first_tape(&p.0).is_some(), first_tape(&p.1).is_some()) {
                    (true, false) if self.is_small(&p.1) => self.term(&p.0),
                    (false, true) if self.is_small(&p.0) && matches!(e, Expr::Binary(Binary::Add, _)) => {
                        self.term(&p.1)
                    }
                    _ => None,
                }
            }
            Expr::Binary(Binary::Mul, p) => {
                let (value, factor) = if first_tape(&p.0).is_some() { (&p.0, &p.1) } else { (&p.1, &p.0) };
                let positive = self.prog.launch_value(factor).is_some_and(|f| (1..FACTORS).contains(&f));
                let fixed = factor.is_launch_constant() && positive && matches!(value, Expr::Tape(..));
                self.term(value).filter(|_| fixed).map(|(tape, _)| (tape, factor.clone()))
            }
            _ => None,
        }
    }

    /// Whether each constant of an expression is small.
    fn is_small(&self, e: &Expr) -> bool {
        let small = |x: &Expr| self.prog.launch_value(x).is_some_and(|v| v.abs() < CONSTANTS);
        !e.any(|x| matches!(x, Expr::Const(_) | Expr::Param(_)) && !small(x))
    }
}

/// The first value known only at run time that an expression reads, with its index.
fn first_tape(e: &Expr) -> Option<Expr> {
    let mut first = None;
    e.visit(&mut |x| {
        if matches!(x, Expr::Tape(..)) {
            first.get_or_insert_with(|| x.clone());
        }
    });
    first
}
