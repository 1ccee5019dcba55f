//! Counters of rings: a wait whose slot and parity follow from one number names both by this number.
//!
//! ```text
//!   s = (n + 1) % 2                       s = n + 1
//!   p = (n + 1) / 2 % 2
//!   wait full[s] parity p                 wait full[s % 2] parity s / 2
//! ```
//!
//! Compilers keep slot and parity in two registers, or select the parity in a table of the counter. A proof follows a
//! ring for all of its rotations where a wait names one counter (docs/proof.md, lemma 12).

use std::collections::BTreeSet;
use std::ops::Range;

use warpline_sim::ir::{Binary, CounterAct, Expr, Instr, Op, Phase, Program, Unary, VarId, apply, each, each_mut};
use warpline_sim::protocol::counts_rounds;

/// Longest period of a slot and a parity, in steps of the counter.
const LONGEST: i64 = 1 << 12;

/// Makes waits name counters where slot and parity follow from one.
pub(crate) fn count_waits(prog: &mut Program) {
    let text = Text::of(prog);
    join_equal(prog, &text);
    for pc in 0..prog.code.len() {
        let Some(wait) = Wait::at(prog, pc).filter(|wait| wait.slots > 1) else { continue };
        let (before, parity) = (wait.parity.clone(), modulo_two(&wait.parity));
        let wait = Wait { parity, ..wait };
        let counted = count(prog, &text, pc, &wait);
        if !counted && wait.parity != before && counts_rounds(&wait.stage, wait.slots as u32, &wait.parity) {
            wait.put(prog, pc);
        }
    }
}

/// What stays as it is while waits and values are replaced: where the code sets variables, and where it is entered.
struct Text {
    /// For each variable, the positions of its assignments.
    sets: Vec<Vec<usize>>,
    /// The variables that operations set.
    given: BTreeSet<VarId>,
    /// Where branches lead.
    entered: BTreeSet<usize>,
}

impl Text {
    fn of(prog: &Program) -> Text {
        let mut sets = vec![Vec::new(); prog.vars.len()];
        for (at, (v, _)) in prog.code.iter().enumerate().filter_map(|(at, i)| Some((at, set(i)?))) {
            sets[v as usize].push(at);
        }
        let given = prog.code.iter().filter_map(gets).collect();
        let entered = prog.code.iter().filter_map(|i| i.target()).map(|to| to as usize).collect();
        Text { sets, given, entered }
    }

    /// Positions of assignments to a variable.
    fn sets(&self, v: VarId) -> &[usize] {
        &self.sets[v as usize]
    }
}

/// A wait for the parity of a phase of a slot.
#[derive(Clone, PartialEq)]
struct Wait {
    stage: Expr,
    parity: Expr,
    slots: i64,
}

impl Wait {
    /// The wait of an instruction.
    fn at(prog: &Program, pc: usize) -> Option<Wait> {
        let Instr::Op { op: Op::MbarWait { bar, phase: Phase::Parity(parity) }, .. } = &prog.code[pc] else {
            return None;
        };
        let slots = prog.mbars[bar.bar as usize].stages.into();
        Some(Wait { stage: bar.stage.clone(), parity: parity.clone(), slots })
    }

    /// The wait that names slot and parity by a counter.
    fn by(&self, counter: Expr) -> Wait {
        let stage = Expr::binary(Binary::Rem, counter.clone(), Expr::Const(self.slots));
        let parity = Expr::binary(Binary::Div, counter, Expr::Const(self.slots));
        Wait { stage, parity, slots: self.slots }
    }

    /// Replaces the wait of an instruction.
    fn put(&self, prog: &mut Program, pc: usize) {
        if let Instr::Op { op: Op::MbarWait { bar, phase: Phase::Parity(parity) }, .. } = &mut prog.code[pc] {
            bar.stage = self.stage.clone();
            *parity = self.parity.clone();
        }
    }

    /// The sum of a leaf and a constant of which slot and parity are remainder and quotient.
    fn counter(&self, leaf: &Expr) -> Option<Expr> {
        let cycle = 2 * self.slots;
        let recurs = |by: &i64| {
            let gains = |e: &Expr, modulus: i64| {
                gain(e, &|x| (x == leaf).then_some(*by)).is_some_and(|gain| gain % modulus == 0)
            };
            gains(&self.parity, 2) && gains(&self.stage, self.slots)
        };
        let period = (0..).map(|k| cycle << k).take_while(|by| *by <= LONGEST).find(recurs)?;
        let fits = |c: &i64| {
            (0..period).all(|n| {
                let of = |e: &Expr| value(e, &|x| (x == leaf).then_some(n));
                let at = (n + c).rem_euclid(cycle);
                of(&self.stage) == Some(at % self.slots)
                    && of(&self.parity).is_some_and(|p| p.rem_euclid(2) == at / self.slots)
            })
        };
        let c = (0..cycle).find(fits)?;
        Some(if c == 0 { leaf.clone() } else { Expr::binary(Binary::Add, leaf.clone(), Expr::Const(c)) })
    }

    /// The counter where slot and parity are remainder and quotient of it, are constants, or follow from one symbol or
    /// variable.
    fn counter_of_one(&self) -> Option<Expr> {
        let turn = |x: &Expr| Expr::binary(Binary::Div, x.clone(), Expr::Const(self.slots));
        let odd = |x: &Expr| Expr::binary(Binary::Rem, turn(x), Expr::Const(2));
        if let Expr::Binary(Binary::Rem, p) = &self.stage
            && p.1.constant() == Some(self.slots)
            && (self.parity == turn(&p.0) || self.parity == odd(&p.0))
        {
            return Some(p.0.clone());
        }
        let mut leaves: Vec<Expr> = Vec::new();
        for e in [&self.stage, &self.parity] {
            e.visit(&mut |x| {
                if matches!(x, Expr::Param(_) | Expr::Var(_)) && !leaves.contains(x) {
                    leaves.push(x.clone());
                }
            });
        }
        match leaves.as_slice() {
            [] => {
                let of = |e: &Expr| value(e, &|_| None);
                let (stage, parity) = (of(&self.stage)?, of(&self.parity)?.rem_euclid(2));
                (0..self.slots).contains(&stage).then_some(Expr::Const(stage + parity * self.slots))
            }
            [leaf] => self.counter(leaf),
            _ => None,
        }
    }
}

/// Makes one wait name a counter, and other waits that read what only these waits read. Returns whether there is one.
fn count(prog: &mut Program, text: &Text, pc: usize, wait: &Wait) -> bool {
    let mut vars: BTreeSet<VarId> = BTreeSet::new();
    let mut others = false;
    for e in [&wait.stage, &wait.parity] {
        e.visit(&mut |x| match x {
            Expr::Var(v) => drop(vars.insert(*v)),
            Expr::Param(_) | Expr::Env(_) | Expr::Tape(..) => others = true,
            _ => {}
        });
    }
    if others {
        return false;
    }
    let vars: Vec<VarId> = vars.into_iter().collect();
    let counted = counts_rounds(&wait.stage, wait.slots as u32, &wait.parity);
    let counter = match vars[..] {
        [] => return false,
        [_] if counted => return false,
        [v] => wait.counter(&Expr::Var(v)),
        _ => None,
    };
    let waits = match counter {
        Some(_) => vec![pc],
        None => alike(prog, wait),
    };
    let counter = counter.or_else(|| set_together(prog, text, (&waits, wait), &vars));
    let Some(counter) = counter else { return false };
    waits.into_iter().for_each(|pc| wait.by(counter.clone()).put(prog, pc));
    true
}

/// The waits for the same slot and parity, such as those of several CTAs.
fn alike(prog: &Program, wait: &Wait) -> Vec<usize> {
    let same = |pc: &usize| {
        Wait::at(prog, *pc).is_some_and(|other| Wait { parity: modulo_two(&other.parity), ..other } == *wait)
    };
    (0..prog.code.len()).filter(same).collect()
}

/// The counter of waits whose variables are set together, to values that follow from one number, and read by these waits
/// only. The first of them becomes the counter.
fn set_together(prog: &mut Program, text: &Text, (waits, wait): (&[usize], &Wait), vars: &[VarId]) -> Option<Expr> {
    for (_, i) in prog.code.iter().enumerate().filter(|(at, _)| !waits.contains(at)) {
        let mut reads = false;
        each(prog, i, &mut |_, e| vars.iter().for_each(|v| reads |= mentions(e, *v)));
        if reads || vars.iter().any(|v| gets(i) == Some(*v)) {
            return None;
        }
    }
    if vars.iter().any(|v| is_index(prog, *v)) {
        return None;
    }
    let (first, rest) = vars.split_first()?;
    let mut counters = Vec::new();
    for at in text.sets(*first).iter().copied() {
        let run = run(prog, text, at);
        let mut wait = Wait { stage: wait.stage.clone(), parity: wait.parity.clone(), slots: wait.slots };
        for v in vars {
            let mut own = run.clone().filter_map(|at| set(&prog.code[at]).filter(|(of, _)| of == v));
            let (_, e) = own.next()?;
            // What is read does not change between the sets.
            let kept = run.clone().all(|at| set(&prog.code[at]).is_none_or(|(v, _)| !mentions(e, v)));
            if own.next().is_some() || !kept {
                return None;
            }
            wait.stage = replaced(&wait.stage, *v, e);
            wait.parity = replaced(&wait.parity, *v, e);
        }
        counters.push((at, wait.counter_of_one()?));
    }
    // The other variables are set nowhere else.
    if rest.iter().any(|v| text.sets(*v).len() != counters.len()) {
        return None;
    }
    for (at, counter) in counters {
        prog.code[at] = Instr::Set(*first, counter);
    }
    rest.iter().for_each(|v| forget(prog, text, *v));
    Some(Expr::Var(*first))
}

/// Joins variables that always have one value: each is set beside the other, to the same expression.
fn join_equal(prog: &mut Program, text: &Text) {
    for w in 1..prog.vars.len() as VarId {
        let Some(v) = (0..w).find(|v| equal(prog, text, *v, w)) else { continue };
        let shape = prog.clone();
        for i in &mut prog.code {
            each_mut(&shape, i, &mut |_, e| *e = replaced(e, w, &Expr::Var(v)));
        }
        forget(prog, text, w);
    }
}

/// Makes the values of a variable that nothing reads decide nothing.
fn forget(prog: &mut Program, text: &Text, v: VarId) {
    text.sets(v).iter().copied().for_each(|at| prog.code[at] = Instr::Set(v, Expr::Const(0)));
}

fn equal(prog: &Program, text: &Text, v: VarId, w: VarId) -> bool {
    let (of_v, of_w) = (text.sets(v), text.sets(w));
    let pair = |(a, b): (&usize, &usize)| {
        let (Some((_, x)), Some((_, y))) = (set(&prog.code[*a]), set(&prog.code[*b])) else { return false };
        let between = (*a.min(b) + 1)..*a.max(b);
        let reads = |at: usize| set(&prog.code[at]).is_none_or(|(_, e)| mentions(e, v) || mentions(e, w));
        run(prog, text, *a) == run(prog, text, *b)
            && replaced(x, v, &Expr::Var(w)) == *y
            && !between.into_iter().any(reads)
    };
    let other = |u: VarId| is_index(prog, u) || text.given.contains(&u);
    !of_v.is_empty() && of_v.len() == of_w.len() && of_v.iter().zip(of_w).all(pair) && !other(v) && !other(w)
}

fn set(i: &Instr) -> Option<(VarId, &Expr)> {
    if let Instr::Set(v, e) = i { Some((*v, e)) } else { None }
}

/// The variable that an operation sets.
fn gets(i: &Instr) -> Option<VarId> {
    match i {
        Instr::Op { op: Op::Get { var, .. }, .. } => Some(*var),
        Instr::Op { op: Op::Counter { act: CounterAct::Fetch(v) | CounterAct::Load(v), .. }, .. } => Some(*v),
        _ => None,
    }
}

/// The assignments around a position that are always made together.
fn run(prog: &Program, text: &Text, at: usize) -> Range<usize> {
    let entered = |at: usize| text.entered.contains(&at);
    let mut range = at..at + 1;
    while range.start > 0 && set(&prog.code[range.start - 1]).is_some() && !entered(range.start) {
        range.start -= 1;
    }
    while range.end < prog.code.len() && set(&prog.code[range.end]).is_some() && !entered(range.end) {
        range.end += 1;
    }
    range
}

/// Whether a loop counts with a variable.
fn is_index(prog: &Program, v: VarId) -> bool {
    prog.loops.iter().any(|l| l.var == Some(v) || l.passed == Some(v))
}

fn mentions(e: &Expr, v: VarId) -> bool {
    let mut found = false;
    e.visit(&mut |x| found |= *x == Expr::Var(v));
    found
}

/// An expression with another in place of a variable.
fn replaced(e: &Expr, v: VarId, by: &Expr) -> Expr {
    let mut e = e.clone();
    e.replace(&Expr::Var(v), by);
    e
}

/// An expression of the same parity: of a sum, odd multiples count once and even ones do not.
fn modulo_two(e: &Expr) -> Expr {
    let of = modulo_two;
    match e {
        Expr::Unary(Unary::Neg, x) => of(x),
        Expr::Binary(Binary::Rem, p) if p.1 == Expr::Const(2) => of(&p.0),
        Expr::Binary(Binary::BitAnd, p) if p.1 == Expr::Const(1) => of(&p.0),
        Expr::Binary(Binary::Add | Binary::Sub, p) => match (of(&p.0), of(&p.1)) {
            (Expr::Const(0), x) | (x, Expr::Const(0)) => x,
            (x, y) => Expr::binary(Binary::Add, x, y),
        },
        Expr::Binary(Binary::Mul, p) => match (p.0.constant(), p.1.constant()) {
            (Some(c), _) if c % 2 == 0 => Expr::Const(0),
            (_, Some(c)) if c % 2 == 0 => Expr::Const(0),
            (Some(_), None) => of(&p.1),
            (None, Some(_)) => of(&p.0),
            _ => e.clone(),
        },
        Expr::Const(c) => Expr::Const(c.rem_euclid(2)),
        _ => e.clone(),
    }
}

/// The value of an expression, from values of its leaves.
fn value(e: &Expr, leaf: &impl Fn(&Expr) -> Option<i64>) -> Option<i64> {
    match e {
        Expr::Const(c) => Some(*c),
        Expr::Unary(Unary::Neg, x) => value(x, leaf)?.checked_neg(),
        Expr::Unary(Unary::Not, x) => Some(i64::from(value(x, leaf)? == 0)),
        Expr::Binary(op, p) => apply(*op, value(&p.0, leaf)?, value(&p.1, leaf)?),
        Expr::If(p) => value(if value(&p.0, leaf)? != 0 { &p.1 } else { &p.2 }, leaf),
        _ => leaf(e),
    }
}

/// The gain of an expression, the same from every value on, where its leaves gain some amounts; `None` where it is not
/// one number.
fn gain(e: &Expr, leaf: &impl Fn(&Expr) -> Option<i64>) -> Option<i64> {
    let of = |x: &Expr| gain(x, leaf);
    let none = |x: &Expr| of(x).filter(|by| *by == 0);
    match e {
        Expr::Const(_) => Some(0),
        Expr::Unary(Unary::Neg, x) => of(x)?.checked_neg(),
        Expr::Unary(Unary::Not, x) => none(x),
        Expr::Binary(Binary::Add, p) => of(&p.0)?.checked_add(of(&p.1)?),
        Expr::Binary(Binary::Sub, p) => of(&p.0)?.checked_sub(of(&p.1)?),
        Expr::Binary(Binary::Mul, p) => match (p.0.constant(), p.1.constant()) {
            (Some(c), _) => of(&p.1)?.checked_mul(c),
            (_, Some(c)) => of(&p.0)?.checked_mul(c),
            _ => none(&p.0).and(none(&p.1)),
        },
        Expr::Binary(op @ (Binary::Div | Binary::Rem), p) => {
            let by = p.1.constant().filter(|by| *by > 0)?;
            let whole = of(&p.0).filter(|gain| gain % by == 0)?;
            Some(if *op == Binary::Div { whole / by } else { 0 })
        }
        Expr::Binary(_, p) => none(&p.0).and(none(&p.1)),
        Expr::If(p) => {
            none(&p.0)?;
            of(&p.1).filter(|by| Some(*by) == of(&p.2))
        }
        _ => leaf(e),
    }
}
