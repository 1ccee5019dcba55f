//! Values that a loop carries from step to step: remainders and quotients of its counters, and each lane's first
//! chunk of a copy (`addresses`).
//!
//! Only this file knows what advances with a loop. A value that is not certainly the same is computed where it is
//! used. The reference carries nothing, so results check all of it.
//!
//! The steps of a loop are the assignments `v = v + constant` at its end, if nothing else in it writes `v`. A value
//! that is linear in these variables and otherwise constant has a start, written before the loop, and an advance,
//! written at its end.

use std::collections::BTreeMap;

use warpline_sim::ir::{Binary, Expr, Op, Part, Place, Program, Selection, VarId};

use crate::expr::{self, plus};
use crate::tree::Node;
use crate::writer::{Target, Writer, padded};

/// A loop around the code that is being written.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// Number of assignments to each variable in the loop.
    writes: BTreeMap<VarId, usize>,
    /// Constants added to variables at the end of each iteration.
    steps: BTreeMap<VarId, i64>,
    /// Variables of this iteration in terms of the steps, so far; [`Carried::known`] substitutes them.
    lets: Vec<(VarId, Expr)>,
    counters: Vec<Counter>,
    /// Address lines before the loop.
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
}

/// `(base + offset) % by`, and the quotient if it is used.
#[derive(Debug)]
struct Counter {
    name: String,
    start: String,
    by: i64,
    step: i64,
    quotient: bool,
}

impl Carried {
    pub(crate) fn new(body: &[Node<'_>]) -> Carried {
        let mut c = Carried::default();
        c.count_writes(body);
        for node in body.iter().rev() {
            let Node::Set(v, e) = node else { break };
            let (base, step) = split(e);
            if base != Expr::Var(*v) || c.writes[v] != 1 {
                break;
            }
            c.steps.insert(*v, step);
        }
        c
    }

    fn count_writes(&mut self, body: &[Node<'_>]) {
        for node in body {
            match node {
                Node::Set(v, _) | Node::Op(_, Op::Get { var: v, .. }) => *self.writes.entry(*v).or_default() += 1,
                Node::Loop { body, .. } | Node::Only { body, .. } => self.count_writes(body),
                Node::If { then, otherwise, .. } => {
                    self.count_writes(then);
                    self.count_writes(otherwise);
                }
                Node::Op(..) | Node::End => {}
            }
        }
    }

    /// Records an assignment, so that later code of its block may substitute the expression.
    fn learn(&mut self, v: VarId, e: &Expr) {
        let e = self.known(e);
        if self.writes.get(&v) == Some(&1) && self.advance(&e).is_some() {
            self.lets.push((v, e));
        }
    }

    /// The expression in terms of the loop's steps and of values that do not change in it.
    fn known(&self, e: &Expr) -> Expr {
        let two = |p: &(Expr, Expr)| Box::new((self.known(&p.0), self.known(&p.1)));
        match e {
            Expr::Var(v) => self.lets.iter().find(|(w, _)| w == v).map_or_else(|| e.clone(), |(_, e)| e.clone()),
            Expr::Const(_) | Expr::Param(_) | Expr::Env(_) => e.clone(),
            Expr::Unary(op, x) => Expr::Unary(*op, Box::new(self.known(x))),
            Expr::Tape(t, x) => Expr::Tape(*t, Box::new(self.known(x))),
            Expr::Binary(op, p) => Expr::Binary(*op, two(p)),
            Expr::If(p) => Expr::If(Box::new((self.known(&p.0), self.known(&p.1), self.known(&p.2)))),
        }
    }

    /// Advance of a known expression in each iteration, if it is a constant.
    fn advance(&self, e: &Expr) -> Option<i64> {
        e.gain(&|v| self.steps.get(&v).copied().or_else(|| (!self.writes.contains_key(&v)).then_some(0)))
    }

    /// Advance in each iteration of the byte at which a place of a matrix starts.
    pub(crate) fn advance_of(&self, prog: &Program, p: &Place) -> Option<i64> {
        let o = &prog.objects[p.obj as usize];
        let size = if p.elements { [1, 1] } else { o.block };
        let of = |i: usize| p.at.get(i).map_or(Some(0), |e| self.advance(e)?.checked_mul(size[i]));
        let elements = of(0)?.checked_mul(padded(o)[1])?.checked_add(of(1)?)?;
        let bits = elements.checked_mul(o.dtype.bits() as i64)?;
        (bits % 8 == 0).then_some(bits / 8)
    }

    /// Whether a selection means the same part in every iteration.
    pub(crate) fn stays(&self, sel: &Selection) -> bool {
        sel.rows.iter().chain(&sel.cols).all(|p| self.advance(&p.index) == Some(0))
    }

    /// The place in terms of the loop's steps.
    pub(crate) fn known_place(&self, p: &Place) -> Place {
        let parts = |all: &[Part]| all.iter().map(|x| Part { index: self.known(&x.index), of: x.of }).collect();
        Place {
            at: p.at.iter().map(|e| self.known(e)).collect(),
            sel: Selection {
                rows: parts(&p.sel.rows),
                cols: parts(&p.sel.cols),
                exact: p.sel.exact.clone(),
                writes: p.sel.writes,
                operand: p.sel.operand,
            },
            ..p.clone()
        }
    }

    /// `x % by` or `x / by` by a counter; `step` is the advance of `x`.
    fn counted(&mut self, prog: &Program, quotient: bool, x: &Expr, by: i64, step: i64) -> Option<String> {
        let (Expr::Var(v), constant) = split(x) else { return None };
        let offset = constant.rem_euclid(by);
        let var = expr::variable(prog, v);
        let start = plus(&var, &offset.to_string());
        let name = match offset {
            0 => format!("{var}_mod_{by}"),
            _ => format!("{var}_plus_{offset}_mod_{by}"),
        };
        let at = self.counters.iter().position(|c| c.name == name).unwrap_or_else(|| {
            self.counters.push(Counter { name, start, by, step, quotient });
            self.counters.len() - 1
        });
        let c = &mut self.counters[at];
        c.quotient |= quotient;
        Some(match (quotient, constant.div_euclid(by)) {
            (false, _) => c.name.clone(),
            (true, 0) => c.over(),
            (true, more) if more < 0 => format!("({} - {})", c.over(), -more),
            (true, more) => format!("({} + {more})", c.over()),
        })
    }

    /// Lines before the loop, and at the end of its body.
    pub(crate) fn lines(self) -> (Vec<String>, Vec<String>) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for c in &self.counters {
            before.push(format!("int {} = wl::fmod({}, {});", c.name, c.start, c.by));
            if c.quotient {
                before.push(format!("int {} = wl::fdiv({}, {});", c.over(), c.start, c.by));
            }
            after.push(c.next());
        }
        before.extend(self.before);
        after.extend(self.after);
        if !before.is_empty() {
            before.insert(0, "// Carried from step to step.".to_string());
        }
        (before, after)
    }
}

impl Counter {
    fn over(&self) -> String {
        self.name.replace("_mod_", "_over_")
    }

    fn next(&self) -> String {
        let (name, by, over) = (&self.name, self.by, self.over());
        let carry = if self.quotient { format!(", {over} += 1") } else { String::new() };
        let (all, step) = (self.step / by, self.step % by);
        let jump = if self.quotient && all > 0 { format!("{over} += {all}; ") } else { String::new() };
        match step {
            0 => jump,
            1 => format!("{jump}if (({name} += 1) == {by}) {name} = 0{carry};"),
            _ => format!("{jump}if (({name} += {step}) >= {by}) {name} -= {by}{carry};"),
        }
    }
}

/// An expression as a base and a constant added to it.
fn split(e: &Expr) -> (Expr, i64) {
    let whole = || (e.clone(), 0);
    match e {
        Expr::Binary(op @ (Binary::Add | Binary::Sub), p) => match (&p.0, op, &p.1) {
            (x, _, Expr::Const(c)) => {
                let (base, more) = split(x);
                (base, if *op == Binary::Add { more + c } else { more - c })
            }
            (Expr::Const(c), Binary::Add, x) => {
                let (base, more) = split(x);
                (base, more + c)
            }
            _ => whole(),
        },
        _ => whole(),
    }
}

impl<T: Target> Writer<'_, T> {
    /// Records an assignment for the loops around it.
    pub(crate) fn learn(&mut self, v: VarId, e: &Expr) {
        self.loops.get_mut().iter_mut().for_each(|l| l.learn(v, e));
    }

    /// What is known at the start of a block, for [`Writer::forget`] at its end.
    pub(crate) fn knows(&self) -> Vec<usize> {
        self.loops.borrow().iter().map(|l| l.lets.len()).collect()
    }

    pub(crate) fn forget(&mut self, known: &[usize]) {
        self.loops.get_mut().iter_mut().zip(known).for_each(|(l, n)| l.lets.truncate(*n));
    }

    /// A remainder or quotient that a loop carries. Powers of two are as cheap where they stand.
    pub(crate) fn counted(&self, e: &Expr) -> Option<String> {
        let Expr::Binary(op @ (Binary::Rem | Binary::Div), p) = e else { return None };
        let by = p.1.constant().filter(|by| *by > 1 && by.count_ones() > 1 && *by < 1 << 30)?;
        for l in self.loops.borrow_mut().iter_mut().rev() {
            let x = l.known(&p.0);
            match l.advance(&x)? {
                // Constant in this loop; an outer loop may advance it.
                0 => {}
                step if step > 0 => return l.counted(self.prog, *op == Binary::Div, &x, by, step),
                _ => return None,
            }
        }
        None
    }
}
