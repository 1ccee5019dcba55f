//! Symbols: parameters and header `let`s that stay symbolic, and programs with other values for these.
//!
//! A kernel is lowered once. Values that shape the program (slots, tiles, warps, roles) become numbers. Values that
//! only count (matrix sizes, trip counts, jobs) stay an [`Expr::Param`], and [`Program::with`] gives a symbol another
//! value. [`Program::bind`] puts the program's own values in place of all symbols; the engine runs this form.

use std::collections::BTreeSet;

use super::eval::Launch;
use super::sizes::ANY_EXTENT;
use super::uses::each_mut;
use super::{Binary, Class, Expr, Instr, Loop, Pc, Program, TapeId};

/// Index into [`Program::symbols`].
pub type ParamId = u16;

/// A parameter or header `let` that stays symbolic in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Name in the source; `grid.size` for the number of CTAs or clusters that are launched.
    pub name: String,
    /// Value in this program.
    pub value: i64,
    /// Definition of a `let`, over symbols before it; `None` for a parameter.
    pub definition: Option<Expr>,
    /// The run-time trip count (`trips t = any`) that the symbol stands for.
    pub tape: Option<TapeId>,
}

/// Expressions over symbols for the numbers that a program keeps as numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forms {
    /// Rows, columns and third dimension of the grid.
    pub grid: Option<[Expr; 3]>,
    /// Rows and columns of each object; `None` for objects on the chip.
    pub extents: Vec<Option<[Expr; 2]>>,
    /// Conditions that the kernel requires.
    pub requires: Vec<Expr>,
    /// For each instruction, whether other values of the symbols leave it alive. Empty where one run has one value each.
    pub other_live: Vec<bool>,
}

/// Largest dimension of a grid.
pub(super) const GRID: i64 = 1 << 20;
/// Largest step of a loop.
const STEP: i64 = 1 << 31;
/// Largest extent of a matrix.
const EXTENT: i64 = 1 << 27;

impl Program {
    /// The value of an expression over symbols and constants; `None` where it reads anything else or has no value.
    pub fn launch_value(&self, e: &Expr) -> Option<i64> {
        e.eval(&Launch(&self.symbols))
    }

    /// The symbol with this name.
    pub fn symbol(&self, name: &str) -> Option<ParamId> {
        self.symbols.iter().position(|s| s.name == name).map(|i| i as ParamId)
    }

    /// The same kernel with other values of some symbols. `None` where a name is no symbol, or where the kernel refuses
    /// the values (`require`, extents out of range, a loop's step below 1, arithmetic). A `let` that is given a value
    /// keeps this value whatever its definition computes, and the program is marked [`Program::loose`].
    pub fn with(&self, values: &[(&str, i64)]) -> Option<Program> {
        let mut next = self.clone();
        let mut given = vec![None; next.symbols.len()];
        for (name, value) in values {
            let id = self.symbol(name)? as usize;
            given[id] = Some(*value);
            next.loose |= self.symbols[id].definition.is_some();
        }
        for (id, given) in given.iter().enumerate() {
            let value = match (given, &self.symbols[id].definition) {
                (Some(v), _) => *v,
                (None, Some(e)) => next.launch_value(e)?,
                (None, None) => continue,
            };
            next.symbols[id].value = value;
            if given.is_some() {
                next.symbols[id].definition = None;
            }
        }
        next.settle()?;
        Some(next)
    }

    /// Recomputes the numbers that depend on the values of symbols.
    pub(super) fn settle(&mut self) -> Option<()> {
        let forms = std::mem::take(&mut self.forms);
        let settled = self.settle_by(&forms);
        self.forms = forms;
        settled
    }

    fn settle_by(&mut self, forms: &Forms) -> Option<()> {
        for cond in &forms.requires {
            if self.launch_value(cond)? == 0 && !self.loose {
                return None;
            }
        }
        if let Some(grid) = &forms.grid {
            let size = |e: &Expr| self.launch_value(e).filter(|n| (0..=GRID).contains(n));
            let [m, n, z] = [size(&grid[0])?, size(&grid[1])?, size(&grid[2])?];
            (self.grid.m, self.grid.n, self.grid.z) = (m, n, z);
        }
        for (i, form) in forms.extents.iter().enumerate() {
            let Some([rows, cols]) = form else { continue };
            // Only a program for any size has this constant.
            let any = |e: &Expr| (*e == Expr::Const(ANY_EXTENT)).then_some(ANY_EXTENT);
            let given = |e: &Expr| self.launch_value(e).filter(|n| (1..=EXTENT).contains(n));
            let extent = |e: &Expr| any(e).or_else(|| given(e));
            let [rows, cols] = [extent(rows)?, extent(cols)?];
            let o = &mut self.objects[i];
            debug_assert_eq!(o.class, Class::Global);
            (o.rows, o.cols) = (rows, cols);
            let cuts = |end: i64| vec![0, u32::try_from(end).unwrap_or(u32::MAX)];
            (o.row_cuts, o.col_cuts) = (cuts(rows), cuts(cols));
        }
        let steps = self.loops.iter().filter_map(|l| self.step(l));
        if !steps.map(|e| self.launch_value(e)).all(|step| step.is_some_and(|step| (1..=STEP).contains(&step))) {
            return None;
        }
        let symbols = &self.symbols;
        for (name, value) in self.params.iter_mut().chain(&mut self.lets) {
            if let Some(s) = symbols.iter().find(|s| s.name == *name) {
                *value = s.value;
            }
        }
        Some(())
    }

    /// The step of a `for` loop, if symbols and constants determine the step.
    fn step(&self, l: &Loop) -> Option<&Expr> {
        let var = l.var?;
        match self.code.get((l.end as usize).checked_sub(2)?) {
            Some(Instr::Set(v, Expr::Binary(Binary::Add, p))) if *v == var && p.0 == Expr::Var(var) => {
                Some(&p.1).filter(|step| step.is_launch_constant())
            }
            _ => None,
        }
    }

    /// For each instruction, whether an agent can reach it with the current values of the symbols, or with others that a
    /// run may go on by. A branch that these values decide goes one way only.
    pub fn live(&self) -> Vec<bool> {
        self.live_by(&|e| self.launch_value(e))
    }

    /// For each instruction, whether an agent can reach it with the current values of these symbols and any values of the
    /// others.
    pub fn live_for(&self, known: &BTreeSet<ParamId>) -> Vec<bool> {
        let open = |x: &Expr| matches!(x, Expr::Param(p) if !known.contains(p));
        self.live_by(&|e| if e.any(open) { None } else { self.launch_value(e) })
    }

    fn live_by(&self, value: &dyn Fn(&Expr) -> Option<i64>) -> Vec<bool> {
        let mut live = vec![false; self.code.len()];
        let mut open = vec![0usize];
        while let Some(pc) = open.pop() {
            if live.get(pc).is_none_or(|live| *live) {
                continue;
            }
            live[pc] = true;
            if let Some(end) = self.empty_loop(pc, value) {
                open.push(end as usize);
                continue;
            }
            match &self.code[pc] {
                Instr::Jump(to) => open.push(*to as usize),
                Instr::Unless(e, to) => match value(e) {
                    Some(0) => open.push(*to as usize),
                    Some(_) => open.push(pc + 1),
                    None => open.extend([*to as usize, pc + 1]),
                },
                Instr::Only(_, to) => open.extend([*to as usize, pc + 1]),
                Instr::End => {}
                Instr::Op { .. } | Instr::Set(..) => open.push(pc + 1),
            }
        }
        live.iter_mut().zip(&self.forms.other_live).for_each(|(own, other)| *own |= other);
        live
    }

    /// The first index of a `for` loop, if the instruction before the test sets it. An end that is computed once is set
    /// between the index and the test.
    pub fn first_index(&self, l: &Loop) -> Option<&Expr> {
        match self.code.get((l.head as usize).checked_sub(1)?)? {
            Instr::Set(v, e) if Some(*v) == l.var => Some(e),
            _ => None,
        }
    }

    /// The end of the loop whose test is at `pc`, if the values of expressions leave this loop no iteration.
    fn empty_loop(&self, pc: usize, value: &dyn Fn(&Expr) -> Option<i64>) -> Option<Pc> {
        let l = self.loops.iter().find(|l| l.head as usize == pc && l.var.is_some())?;
        let (from, to) = (value(self.first_index(l)?)?, value(l.bound.as_ref()?)?);
        (from >= to).then_some(l.end)
    }

    /// The same program without its unreachable code ([`live`](Self::live)): each unreachable instruction becomes a jump to
    /// the next one.
    pub fn with_code(&self, live: &[bool]) -> Program {
        let mut shape = self.clone();
        for ((pc, i), live) in (1..).zip(&mut shape.code).zip(live) {
            if !live {
                *i = Instr::Jump(pc);
            }
        }
        shape
    }

    /// The program with the value of each symbol in its place, expressions folded, and unreachable code removed.
    /// Lowering with the same values gives the same program.
    pub fn bind(&self) -> Program {
        let mut bound = self.bind_all_but(&BTreeSet::new());
        bound.forms = Forms::default();
        bound
    }

    /// The program with numbers in place of all symbols, except the kept ones and the `let`s computed from these.
    pub fn bind_all_but(&self, kept: &BTreeSet<ParamId>) -> Program {
        let mut bound = self.clone();
        bound.symbols.clear();
        let mut images = Vec::with_capacity(self.symbols.len());
        for (id, symbol) in self.symbols.iter().enumerate() {
            let definition = symbol.definition.as_ref().map(|e| folded(e, &images));
            let keep = match &definition {
                _ if kept.contains(&(id as ParamId)) => true,
                Some(e) => e.constant().is_none(),
                None => false,
            };
            images.push(if keep {
                bound.symbols.push(Symbol { definition, ..symbol.clone() });
                Expr::Param((bound.symbols.len() - 1) as ParamId)
            } else if let Some(tape) = symbol.tape {
                Expr::Tape(tape, Box::new(Expr::Const(0)))
            } else {
                Expr::Const(symbol.value)
            });
        }
        bound.replace_symbols(self, &images);
        bound
    }

    /// The program with an expression in place of each of its symbols, in their order; the result has no symbols. The
    /// expressions may read coordinates of the launch.
    pub fn with_expressions(&self, images: &[Expr]) -> Program {
        let mut bound = self.clone();
        bound.symbols.clear();
        bound.forms = Forms::default();
        bound.replace_symbols(self, images);
        bound
    }

    /// Replaces the symbols of the program `of`, which `self` is a copy of, by expressions, and removes dead code.
    fn replace_symbols(&mut self, of: &Program, images: &[Expr]) {
        let fold = |e: &Expr| folded(e, images);
        let mut code = std::mem::take(&mut self.code);
        for i in &mut code {
            each_mut(of, i, &mut |_, e| *e = fold(e));
        }
        for l in &mut self.loops {
            l.bound = l.bound.as_ref().map(fold);
        }
        self.tapes.iter_mut().for_each(|t| t.run = fold(&t.run));
        let forms = &mut self.forms;
        forms.grid.iter_mut().flatten().for_each(|e| *e = fold(e));
        forms.extents.iter_mut().flatten().flatten().for_each(|e| *e = fold(e));
        forms.requires.iter_mut().for_each(|e| *e = fold(e));
        self.code = code;
        self.drop_dead();
    }

    /// Removes unreachable instructions, loops that are never entered, and branches to the next instruction.
    fn drop_dead(&mut self) {
        let len = self.code.len();
        let mut keep = vec![false; len];
        let mut open = vec![0usize];
        // Lowering emits neither the test nor the index of a loop without iterations.
        let mut never: Vec<usize> = Vec::new();
        for l in self.loops.iter().filter(|l| l.var.is_some()) {
            let head = l.head as usize;
            let from = self.first_index(l).and_then(Expr::constant);
            if from.zip(l.bound.as_ref().and_then(Expr::constant)).is_some_and(|(from, to)| from >= to) {
                self.code[head] = Instr::Unless(Expr::Const(0), l.end);
                never.push(head);
            }
        }
        while let Some(pc) = open.pop() {
            if pc >= len || std::mem::replace(&mut keep[pc], true) {
                continue;
            }
            match &self.code[pc] {
                Instr::Jump(to) => open.push(*to as usize),
                Instr::Unless(Expr::Const(0), to) => open.push(*to as usize),
                Instr::Unless(Expr::Const(_), _) => open.push(pc + 1),
                Instr::Unless(_, to) | Instr::Only(_, to) => open.extend([*to as usize, pc + 1]),
                Instr::End => {}
                _ => open.push(pc + 1),
            }
        }
        never.iter().for_each(|head| keep[head - 1] = false);
        let decided = |i: &Instr| matches!(i, Instr::Unless(Expr::Const(_), _));
        keep.iter_mut().zip(&self.code).for_each(|(keep, i)| *keep &= !decided(i));
        // The end of an arm jumps over the other arms. An arm with a constant condition has no other arms, so its jump
        // goes too.
        for pc in 0..len {
            let arm = |i: usize| keep[i] && matches!(self.code[i], Instr::Unless(_, to) if to as usize == pc + 1);
            if matches!(self.code[pc], Instr::Jump(to) if to as usize > pc) && !(0..pc).any(arm) {
                keep[pc] = false;
            }
        }
        let mut moved = vec![0 as Pc; len + 1];
        for pc in 0..len {
            moved[pc + 1] = moved[pc] + keep[pc] as Pc;
        }
        let to = |pc: Pc| moved[pc as usize];
        let mut n = 0;
        self.code.retain_mut(|i| {
            if let Some(t) = i.target_mut() {
                *t = to(*t);
            }
            n += 1;
            keep[n - 1]
        });
        n = 0;
        self.at.retain(|_| {
            n += 1;
            keep[n - 1]
        });
        self.loops.retain_mut(|l| {
            let alive = keep[l.head as usize];
            let whiles = l.var.is_none() && (l.head..l.end).any(|pc| keep[pc as usize]);
            (l.head, l.end) = (to(l.head), to(l.end));
            alive || whiles
        });
    }
}

/// An expression with its symbols replaced, folded.
fn folded(e: &Expr, images: &[Expr]) -> Expr {
    let fold = |e: &Expr| folded(e, images);
    match e {
        Expr::Const(_) | Expr::Var(_) | Expr::Env(_) => e.clone(),
        Expr::Param(p) => images[*p as usize].clone(),
        Expr::Unary(op, x) => Expr::unary(*op, fold(x)),
        Expr::Binary(op, p) => {
            let x = fold(&p.0);
            match (op, &x) {
                (Binary::And, Expr::Const(0)) => Expr::Const(0),
                (Binary::Or, Expr::Const(v)) if *v != 0 => Expr::Const(1),
                _ => Expr::binary(*op, x, fold(&p.1)),
            }
        }
        Expr::If(p) => match fold(&p.0) {
            Expr::Const(0) => fold(&p.2),
            Expr::Const(_) => fold(&p.1),
            c => Expr::cond(c, fold(&p.1), fold(&p.2)),
        },
        Expr::Tape(t, x) => Expr::Tape(*t, Box::new(fold(x))),
    }
}
