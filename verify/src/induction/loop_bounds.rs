//! Bounds of loops that read variables: `for i in first..last` with `let last = cta == 0 ? tiles : 2 * tiles`.
//!
//! A bound is followed through the assignments that reach the loop. What it reads there says which parameters set the
//! trip count, and by how much the bound can grow. Passes of one loop can then grow by different amounts, and the
//! greatest common divisor of these is the *unit* of the loop. No proof relies on it (lemma 7).

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Expr, ExprUse, Instr, Loop, ParamId, Program, VarId, each, gcd};

use crate::induction::while_loops::sets;

/// A ratio of growth: `num` for each `den`; 0 where nothing grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ratio {
    pub(crate) num: i64,
    pub(crate) den: i64,
}

impl Ratio {
    pub(crate) const ZERO: Ratio = Ratio { num: 0, den: 1 };

    pub(crate) fn whole(num: i64) -> Ratio {
        Ratio { num: num.saturating_abs(), den: 1 }
    }

    /// In lowest terms. `None` on overflow.
    pub(super) fn of(num: i64, den: i64) -> Option<Ratio> {
        let by = gcd(num.checked_abs()?, den).max(1);
        Some(Ratio { num: num / by, den: den / by })
    }

    /// The largest ratio that divides both; 0 is divided by all. `None` on overflow.
    fn common(self, other: Ratio) -> Option<Ratio> {
        let num = gcd(self.num.checked_mul(other.den)?, other.num.checked_mul(self.den)?);
        Ratio::of(num, self.den.checked_mul(other.den)?)
    }

    fn over(self, by: i64) -> Option<Ratio> {
        Ratio::of(self.num, self.den.checked_mul(by)?)
    }
}

/// Whether a loop's bound reads a variable or the place of the agent.
pub(crate) fn reads_variables(l: &Loop) -> bool {
    l.bound.as_ref().is_some_and(|b| !b.is_launch_constant())
}

/// The parameters that a bound is computed from, also through variables, but not through indices of loops around it.
pub(crate) fn parameters(prog: &Program, l: &Loop) -> BTreeSet<ParamId> {
    let mut list = BTreeSet::new();
    let Some(bound) = &l.bound else { return list };
    let mut through = Through::of(prog);
    through.visit(bound, l.head, &mut |e| list.extend(prog.parameters_of(e)));
    list
}

/// The parameters that decide how often a loop without a bound runs. Its exits read only values known at launch, the place
/// of the agent, and variables computed from these. `None` where they read anything else, or where the loop has no exit.
pub(crate) fn exit_parameters(prog: &Program, l: &Loop) -> Option<BTreeSet<ParamId>> {
    let (mut list, mut known, mut exits) = (BTreeSet::new(), true, 0);
    let mut through = Through::of(prog);
    for pc in l.head..l.end {
        let Instr::Unless(test, to) = &prog.code[pc as usize] else { continue };
        if (l.head..l.end).contains(to) {
            continue;
        }
        exits += 1;
        through.visit(test, pc, &mut |e| {
            list.extend(prog.parameters_of(e));
            let read = |i: &Instr| matches!((i, e), (Instr::Op { .. }, Expr::Var(v)) if sets(i) == Some(*v));
            known &= !matches!(e, Expr::Tape(..)) && !prog.code.iter().any(read);
        });
    }
    (known && exits > 0).then_some(list)
}

/// Whether a parameter only counts, also through variables: what is computed from it is read only in conditions and bounds of
/// loops.
pub(crate) fn counts_through_variables(prog: &Program, p: ParamId) -> bool {
    let mut of: BTreeSet<VarId> = BTreeSet::new();
    let reads = |of: &BTreeSet<VarId>, e: &Expr| {
        prog.parameters_of(e).contains(&p) || e.any(|x| matches!(x, Expr::Var(v) if of.contains(v)))
    };
    let next = |of: &BTreeSet<VarId>| {
        prog.code.iter().find_map(|i| match i {
            Instr::Set(v, e) if !of.contains(v) && reads(of, e) => Some(*v),
            _ => None,
        })
    };
    while let Some(v) = next(&of) {
        of.insert(v);
    }
    let mut other = false;
    for i in prog.code.iter().filter(|i| !matches!(i, Instr::Set(..))) {
        each(prog, i, &mut |what, e| other |= what != ExprUse::Guard && reads(&of, e));
    }
    !other
}

/// The unit by which the bound of a loop grows, where `leaf` has the growth of expressions known at launch. `None` where
/// one of these is unknown, or where the bound adds the index of a loop around it.
pub(crate) fn unit(prog: &Program, l: &Loop, leaf: &impl Fn(&Expr) -> Option<Ratio>) -> Option<Ratio> {
    Through::of(prog).unit(l.bound.as_ref()?, l.head, leaf)
}

/// A walk through the assignments that reach a place.
struct Through<'p> {
    prog: &'p Program,
    /// Assignments that were followed: a variable that keeps a sum reads itself.
    seen: BTreeSet<u32>,
}

impl<'p> Through<'p> {
    fn of(prog: &'p Program) -> Through<'p> {
        Through { prog, seen: BTreeSet::new() }
    }

    fn visit(&mut self, e: &Expr, at: u32, f: &mut impl FnMut(&Expr)) {
        f(e);
        let mut vars = Vec::new();
        e.visit(&mut |x| vars.extend(if let Expr::Var(v) = x { Some(*v) } else { None }));
        for v in vars {
            for (at, e) in self.definitions(v, at) {
                self.visit(e, at, f);
            }
        }
    }

    fn unit(&mut self, e: &Expr, at: u32, leaf: &impl Fn(&Expr) -> Option<Ratio>) -> Option<Ratio> {
        if e.is_launch_constant() {
            return leaf(e);
        }
        match e {
            // The index of a loop around this one makes each pass another one.
            Expr::Var(v) if self.around(*v, at) => None,
            Expr::Var(v) => {
                let of = self.definitions(*v, at);
                of.into_iter().try_fold(Ratio::ZERO, |all, (at, e)| all.common(self.unit(e, at, leaf)?))
            }
            // A condition chooses between two bounds.
            Expr::If(parts) => self.unit(&parts.1, at, leaf)?.common(self.unit(&parts.2, at, leaf)?),
            Expr::Unary(_, x) => self.unit(x, at, leaf),
            Expr::Binary(Binary::Div | Binary::CeilDiv, p) => {
                let by = self.prog.launch_value(&p.1).filter(|by| *by > 0)?;
                self.unit(&p.0, at, leaf)?.over(by)
            }
            Expr::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::Min | Binary::Max, p) => {
                self.unit(&p.0, at, leaf)?.common(self.unit(&p.1, at, leaf)?)
            }
            // Other operators yield a truth, or bits.
            _ => Some(Ratio::ZERO),
        }
    }

    /// Whether a variable is the index of a loop around an instruction.
    fn around(&self, v: VarId, at: u32) -> bool {
        self.prog.loops.iter().any(|l| l.index() == Some(v) && l.head < at && at < l.end)
    }

    /// The assignments of a variable that reach an instruction and were not followed yet. The index of a loop around the
    /// instruction has none.
    fn definitions(&mut self, v: VarId, at: u32) -> Vec<(u32, &'p Expr)> {
        if self.around(v, at) {
            return Vec::new();
        }
        let prog = self.prog;
        let (mut list, mut open, mut visited) = (Vec::new(), vec![at], BTreeSet::new());
        while let Some(at) = open.pop() {
            for from in before(prog, at) {
                if !visited.insert(from) {
                    continue;
                }
                match &prog.code[from as usize] {
                    Instr::Set(of, e) if *of == v => {
                        if self.seen.insert(from) {
                            list.push((from, e));
                        }
                    }
                    i if sets(i) == Some(v) => {}
                    _ => open.push(from),
                }
            }
        }
        list.sort_by_key(|(at, _)| *at);
        list
    }
}

/// The instructions after which an agent may continue at this one.
fn before(prog: &Program, at: u32) -> impl Iterator<Item = u32> {
    let falls = |pc: usize| !matches!(prog.code[pc], Instr::Jump(_) | Instr::End);
    let leads = move |pc: &usize| *pc + 1 == at as usize && falls(*pc) || prog.code[*pc].target() == Some(at);
    (0..prog.code.len()).filter(leads).map(|pc| pc as u32)
}
