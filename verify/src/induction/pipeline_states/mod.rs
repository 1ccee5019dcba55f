//! Pipeline states: a stage that wraps, and a phase bit that flips where the stage wraps.
//!
//! ```text
//!   var stage = 0; var phase = 1                    var c = 0
//!   wait empty[stage] parity phase          =>      wait empty[c % 3] parity c / 3 + 1
//!   stage += 1                                      c += 1
//!   if stage == 3: stage = 0; phase = 1 - phase
//! ```
//!
//! Such variables are functions of the number of updates. A counter in their place lets rings rotate (docs/proof.md,
//! lemma 12). The update may be written in any way: it is executed for all states that it leads to.

use std::ops::Range;

use warpline_sim::ir::{Binary, Expr, Instr, Loop, Op, Phase, Program, VarId, apply, each, each_mut};

use crate::induction::while_loops::sets;

/// The largest number of stages that is looked for.
const STAGES: i64 = 64;

/// The kernel with counters in place of pipeline states, and with parities of counters in linear form. A kernel in which
/// a state decides anything stays as it is. Its counter would not rotate, and has more values than a stage.
pub(crate) fn counted(kernel: &Program) -> Program {
    let mut prog = kernel.clone();
    for with_phase in [true, false] {
        for at in 0..prog.code.len() {
            if let Some(state) = PipelineState::at(&prog, at, with_phase) {
                if state.decides {
                    return kernel.clone();
                }
                state.replace(&mut prog);
            }
        }
    }
    for i in &mut prog.code {
        if let Instr::Op { op: Op::MbarWait { phase: Phase::Parity(e), .. }, .. } = i
            && let Some(same) = parity(e)
        {
            *e = same;
        }
    }
    prog
}

/// A number of the same parity without `% 2`; `None` where the expression has no such part.
fn parity(e: &Expr) -> Option<Expr> {
    match e {
        Expr::Binary(Binary::Rem, p) if p.1 == Expr::Const(2) => Some(parity(&p.0).unwrap_or_else(|| p.0.clone())),
        Expr::Binary(Binary::BitAnd, p) if p.1 == Expr::Const(1) => Some(parity(&p.0).unwrap_or_else(|| p.0.clone())),
        Expr::Binary(Binary::Add | Binary::Sub, p) => {
            let (x, y) = (parity(&p.0), parity(&p.1));
            (x.is_some() || y.is_some()).then(|| {
                let number = |own: Option<Expr>, e: &Expr| own.unwrap_or_else(|| e.clone());
                Expr::binary(Binary::Add, number(x, &p.0), number(y, &p.1))
            })
        }
        _ => None,
    }
}

/// The variables of a pipeline state, in the block that declares them.
struct PipelineState {
    stage: VarId,
    first: i64,
    stages: i64,
    /// The phase bit, and its first value.
    phase: Option<(VarId, i64)>,
    /// The instructions that the declarations reach.
    scope: Range<usize>,
    updates: Vec<Range<usize>>,
    /// Whether the state decides anything but its own next value.
    decides: bool,
}

impl PipelineState {
    /// The pipeline state whose stage is declared at an instruction. A phase bit alone is one of two stages, so states
    /// with a phase are looked for first.
    fn at(prog: &Program, at: usize, with_phase: bool) -> Option<PipelineState> {
        let Instr::Set(stage, Expr::Const(first)) = prog.code[at] else { return None };
        let in_a_loop = prog.loops.iter().any(|l| (l.head as usize..l.end as usize).contains(&at));
        if in_a_loop || !(0..STAGES).contains(&first) {
            return None;
        }
        if !with_phase {
            return PipelineState::of(prog, (at, stage, first), None);
        }
        let declared = |pc: usize| match &prog.code[pc] {
            Instr::Set(v, Expr::Const(x @ 0..=1)) if *v != stage => Some((pc, *v, *x)),
            _ => None,
        };
        let plain = |pc: &usize| matches!(prog.code[*pc], Instr::Set(..));
        let before = (0..at).rev().take_while(plain).filter_map(declared);
        let behind = (at + 1..prog.code.len()).take_while(plain).filter_map(declared);
        before.chain(behind).find_map(|phase| PipelineState::of(prog, (at, stage, first), Some(phase)))
    }

    fn of(
        prog: &Program,
        (at, stage, first): (usize, VarId, i64),
        phase: Option<(usize, VarId, i64)>,
    ) -> Option<PipelineState> {
        let ours = |v: VarId| v == stage || phase.is_some_and(|(_, p, _)| v == p);
        let bound = |l: &Loop| l.bound.as_ref().is_some_and(|e| mentions(e, ours));
        if prog.loops.iter().any(|l| l.index().is_some_and(ours) || bound(l)) {
            return None;
        }
        let start = phase.map_or(at, |(pc, ..)| pc.max(at)) + 1;
        let scope = start..scope_end(prog, phase.map_or(at, |(pc, ..)| pc.min(at)), start)?;
        // Behind the block, a variable of another block may share the place.
        let used = |pc: usize| uses(prog, pc, ours);
        let next = (scope.end..prog.code.len()).find(|pc| used(*pc));
        if next.is_some_and(|pc| !matches!(prog.code[pc], Instr::Set(_, Expr::Const(_)))) {
            return None;
        }
        let updates = updates(prog, scope.clone(), ours)?;
        let mut state = (first, phase.map_or(0, |(.., x)| x));
        let mut stages = None;
        let mut k = 0;
        while k < 2 * stages.unwrap_or(STAGES) {
            let ends = updates.iter().map(|u| execute(prog, u, (stage, phase.map(|p| p.1)), state));
            let mut ends: Vec<(i64, i64)> = ends.collect::<Option<_>>()?;
            ends.dedup();
            let [then] = ends[..] else { return None };
            k += 1;
            // The first wrap says how many stages there are.
            if then.0 == 0 && stages.is_none() {
                stages = Some(state.0 + 1).filter(|n| *n > 1);
                stages?;
            }
            let expected = stages.map_or((first + k, state.1), |n| {
                ((first + k) % n, phase.map_or(0, |(.., x)| (x + (first + k) / n) % 2))
            });
            if then != expected {
                return None;
            }
            state = then;
        }
        let phase = phase.map(|(_, v, x)| (v, x));
        let others = scope.clone().filter(|pc| !updates.iter().any(|u| u.contains(pc)));
        let decides = others.into_iter().any(|pc| decides(prog, pc, ours));
        Some(PipelineState { stage, first, stages: stages?, phase, scope, updates, decides })
    }

    /// Puts the counter in the place of the stage.
    fn replace(&self, prog: &mut Program) {
        debug_assert!(self.first < self.stages);
        let counter = || Expr::Var(self.stage);
        let stage = Expr::binary(Binary::Rem, counter(), Expr::Const(self.stages));
        let rounds = Expr::binary(Binary::Div, counter(), Expr::Const(self.stages));
        let shape = prog.clone();
        for pc in self.scope.clone() {
            let update = self.updates.iter().find(|u| u.contains(&pc));
            let i = &mut prog.code[pc];
            match update {
                Some(u) if u.start == pc => {
                    *i = Instr::Set(self.stage, Expr::binary(Binary::Add, counter(), Expr::Const(1)));
                }
                Some(_) => *i = Instr::Jump(pc as u32 + 1),
                None => each_mut(&shape, i, &mut |_, e| {
                    e.replace(&counter(), &stage);
                    stages_onward(e, self.stages);
                    if let Some((phase, first)) = self.phase {
                        let sum = match first {
                            0 => rounds.clone(),
                            _ => Expr::binary(Binary::Add, rounds.clone(), Expr::Const(first)),
                        };
                        e.replace(&Expr::Var(phase), &Expr::binary(Binary::Rem, sum, Expr::Const(2)));
                    }
                }),
            }
        }
    }
}

/// Writes `(c % stages + x) % stages` as `(c + x) % stages`.
fn stages_onward(e: &mut Expr, stages: i64) {
    match e {
        Expr::Binary(Binary::Rem, p) if p.1 == Expr::Const(stages) => {
            if let Expr::Binary(Binary::Add, sum) = &mut p.0 {
                for x in [&mut sum.0, &mut sum.1] {
                    if let Expr::Binary(Binary::Rem, q) = x
                        && q.1 == Expr::Const(stages)
                    {
                        *x = q.0.clone();
                    }
                }
            }
        }
        Expr::Binary(_, p) => [&mut p.0, &mut p.1].into_iter().for_each(|x| stages_onward(x, stages)),
        Expr::If(p) => [&mut p.0, &mut p.1, &mut p.2].into_iter().for_each(|x| stages_onward(x, stages)),
        Expr::Unary(_, x) | Expr::Tape(_, x) => stages_onward(x, stages),
        Expr::Const(_) | Expr::Param(_) | Expr::Var(_) | Expr::Env(_) => {}
    }
}

/// The end of the block whose variables are declared from `at` on: nothing jumps over the declarations into the block,
/// or into it from behind.
fn scope_end(prog: &Program, at: usize, start: usize) -> Option<usize> {
    let target = |pc: usize| prog.code[pc].target().map(|to| to as usize);
    let over = (0..start).filter_map(|pc| target(pc).filter(|to| *to > at));
    let end = over.min().unwrap_or(prog.code.len());
    let entered = (end..prog.code.len()).any(|pc| target(pc).is_some_and(|to| (at + 1..end).contains(&to)));
    (end > start && !entered).then_some(end)
}

/// Whether an instruction reads or writes one of some variables.
fn uses(prog: &Program, pc: usize, ours: impl Fn(VarId) -> bool) -> bool {
    let mut found = sets(&prog.code[pc]).is_some_and(&ours);
    each(prog, &prog.code[pc], &mut |_, e| found |= mentions(e, &ours));
    found
}

/// Whether one of some variables decides what an instruction does next, or which of two values it uses.
fn decides(prog: &Program, pc: usize, ours: impl Fn(VarId) -> bool + Copy) -> bool {
    let mut found = matches!(&prog.code[pc], Instr::Unless(e, _) if mentions(e, ours));
    each(prog, &prog.code[pc], &mut |_, e| {
        e.visit(&mut |x| found |= matches!(x, Expr::If(p) if mentions(&p.0, ours)));
    });
    found
}

fn mentions(e: &Expr, ours: impl Fn(VarId) -> bool) -> bool {
    let mut found = false;
    e.visit(&mut |x| found |= matches!(x, Expr::Var(v) if ours(*v)));
    found
}

/// The pieces of a block that do nothing but change some variables by their own values; `None` where the block changes
/// the variables elsewhere, too.
fn updates(prog: &Program, scope: Range<usize>, ours: impl Fn(VarId) -> bool + Copy) -> Option<Vec<Range<usize>>> {
    let own = |e: &Expr| {
        let mut own = true;
        e.visit(&mut |x| {
            own &= matches!(x, Expr::Const(_) | Expr::Unary(..) | Expr::Binary(..) | Expr::If(_))
                || matches!(x, Expr::Var(v) if ours(*v))
        });
        own
    };
    let writes = |pc: usize| sets(&prog.code[pc]).is_some_and(ours);
    let mut list = Vec::new();
    let mut pc = scope.start;
    while pc < scope.end {
        let end = update_end(prog, pc, scope.end, |i| match i {
            Instr::Set(v, e) => ours(*v) && own(e),
            Instr::Unless(e, _) => own(e),
            Instr::Jump(_) => true,
            _ => false,
        });
        if end > pc && (pc..end).any(writes) {
            list.push(pc..end);
            pc = end;
            continue;
        }
        if writes(pc) {
            return None;
        }
        pc += 1;
    }
    let inside = |to: usize| list.iter().any(|u| u.start < to && to < u.end);
    let entered = (0..prog.code.len()).filter(|pc| !list.iter().any(|u| u.contains(pc)));
    let entered = entered.filter_map(|pc| prog.code[pc].target()).any(|to| inside(to as usize));
    (!list.is_empty() && !entered).then_some(list)
}

/// The end of the longest piece of code from an instruction on that only continues forward inside the piece.
fn update_end(prog: &Program, start: usize, limit: usize, fits: impl Fn(&Instr) -> bool) -> usize {
    let (mut end, mut open) = (start, start);
    for pc in start..limit {
        if !fits(&prog.code[pc]) {
            break;
        }
        if let Some(to) = prog.code[pc].target() {
            if to as usize <= pc || to as usize > limit {
                break;
            }
            open = open.max(to as usize);
        }
        if open <= pc + 1 {
            end = pc + 1;
        }
    }
    end
}

/// Stage and phase after an update.
fn execute(
    prog: &Program,
    update: &Range<usize>,
    (stage, phase): (VarId, Option<VarId>),
    (mut s, mut p): (i64, i64),
) -> Option<(i64, i64)> {
    let mut pc = update.start;
    while pc < update.end {
        let value = |e: &Expr| value(e, &|v| if v == stage { Some(s) } else { (Some(v) == phase).then_some(p) });
        match &prog.code[pc] {
            Instr::Set(v, e) => {
                let x = value(e)?;
                *(if *v == stage { &mut s } else { &mut p }) = x;
                pc += 1;
            }
            Instr::Unless(e, to) => pc = if value(e)? == 0 { *to as usize } else { pc + 1 },
            Instr::Jump(to) => pc = *to as usize,
            _ => return None,
        }
    }
    Some((s, p))
}

/// The value of an expression of some variables.
fn value(e: &Expr, of: &impl Fn(VarId) -> Option<i64>) -> Option<i64> {
    let mut known = e.clone();
    let mut missing = false;
    e.visit(&mut |x| {
        if let Expr::Var(v) = x {
            match of(*v) {
                Some(n) => known.replace(x, &Expr::Const(n)),
                None => missing = true,
            }
        }
    });
    if missing { None } else { folded(&known) }
}

fn folded(e: &Expr) -> Option<i64> {
    match e {
        Expr::Const(x) => Some(*x),
        Expr::Unary(op, x) => Expr::unary(*op, Expr::Const(folded(x)?)).constant(),
        Expr::Binary(op @ (Binary::And | Binary::Or), p) => {
            let (x, y) = (folded(&p.0)? != 0, folded(&p.1)? != 0);
            Some(if *op == Binary::And { x && y } else { x || y } as i64)
        }
        Expr::Binary(op, p) => apply(*op, folded(&p.0)?, folded(&p.1)?),
        Expr::If(p) => folded(if folded(&p.0)? != 0 { &p.1 } else { &p.2 }),
        _ => None,
    }
}
