//! Tickets of a dynamic scheduler: `atom.add next, 1 -> t`, where all CTAs of a grid draw from one counter.
//!
//! ```text
//!   atom.add next, 1 -> t               t is 0, 1, 2, ... in the kernel that is proved;
//!   put t -> box                        in the launch, CTAs share the numbers out
//!   get box -> job
//!   while job < jobs: <body>            blocks A[job, i], C[job, 0]
//! ```
//!
//! A CTA gets a growing sequence of tickets. If tickets only name blocks and end loops, the steps of the CTA are those of a
//! CTA with a counter of its own. The launch of that CTA has as many jobs as this one gets (docs/proof.md, lemma 21).

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{
    Binary, Class, CounterAct, Env, Expr, ExprUse, Grid, Instr, Loop, MoveKind, ObjId, Op, ParamId, Place, Program,
    Symbol, VarId, Writes, each, each_mut,
};

use crate::induction::uneven_jobs::is_launch_index;

/// What a number may be: a ticket, a ticket behind the first jobs of all CTAs, the launch index, another number.
const TICKET: u8 = 1;
const BEHIND: u8 = 2;
const START: u8 = 4;
const OTHER: u8 = 8;
/// Numbers that stand for a job.
const JOB: u8 = TICKET | BEHIND | START;

/// A kernel of one CTA with a counter of its own, with the end of its loops over jobs.
#[derive(Clone, Debug)]
pub(crate) struct Tickets {
    pub(crate) kernel: Program,
    /// The same with the blocks as written, and with the given number of jobs.
    pub(crate) as_written: Program,
    /// The line of a loop over jobs, where a number of its own stands for the end of the jobs.
    pub(crate) any_jobs: Option<u32>,
    /// Whether tickets come behind the first jobs of all CTAs. A launch then needs more jobs to give a CTA as many.
    pub(crate) behind: bool,
}

/// The kernel of one CTA. `None` where tickets do more than name blocks and end loops.
pub(crate) fn alone(prog: &Program) -> Option<Tickets> {
    let draw = |i: &Instr| match i {
        Instr::Op { op: Op::Counter { act, at, value, .. }, .. } => {
            matches!(act, CounterAct::Fetch(_)) && at.index.constant().is_some() && value.constant() == Some(1)
        }
        _ => true,
    };
    let one_word = matches!(&prog.counters[..], [c] if c.len == 1);
    if !one_word || !prog.code.iter().all(draw) || prog.hands_out() || prog.opaque_globals || written_and_read(prog) {
        return None;
    }
    let flow = Flow::of(prog)?;
    let uses = Uses::of(&flow)?;
    let end = uses.end.clone()?;
    let line = (0..prog.code.len()).find(|pc| flow.ending(*pc).is_some()).map(|pc| prog.site(pc as u32).line)?;
    let mut kernel = prog.clone();
    // Every CTA makes the steps of the first one in a grid of one.
    (kernel.grid, kernel.forms.grid) = (Grid { m: 1, n: 1, z: 1, group: 0 }, None);
    if prog.cooperative {
        (kernel.cluster, kernel.cooperative) = (1, false);
    }
    kernel.code = uses.rename(&flow)?;
    let mut as_written = prog.code.clone();
    for code in [&mut kernel.code, &mut as_written] {
        flow.first_of_one(code);
    }
    // A CTA may get any number of jobs. If the kernel refuses some numbers, or is given one, another symbol ends the loops.
    if flow.knows(&end) {
        return None;
    }
    let parameters = prog.parameters_of(&end);
    let refuses = |e: &Expr| !prog.parameters_of(e).is_disjoint(&parameters);
    let known = parameters.is_empty() || prog.forms.requires.iter().any(refuses);
    let jobs = kernel.symbols.len() as ParamId;
    if known {
        let name = format!("the number of jobs ({line})");
        kernel.symbols.push(Symbol { name, value: prog.launch_value(&end)?, definition: None, tape: None });
        kernel.forms.requires.push(Expr::binary(Binary::Ge, Expr::Param(jobs), Expr::Const(0)));
        kernel.loose = true;
    }
    for pc in 0..prog.code.len() {
        let Some((var, end)) = flow.ending(pc) else { continue };
        let end = if known { Expr::Param(jobs) } else { end };
        if let (Instr::Unless(test, _), true) = (&mut kernel.code[pc], known) {
            *test = Expr::binary(Binary::Lt, Expr::Var(var), end.clone());
        }
        let over_jobs = |l: &&mut Loop| l.head as usize == pc;
        for l in kernel.loops.iter_mut().filter(over_jobs) {
            (l.var, l.passed, l.bound) = (None, Some(var), Some(end.clone()));
        }
    }
    let as_written = Program { code: as_written, ..kernel.clone() };
    let as_written = Program { loose: prog.loose, ..as_written };
    (kernel.loops != prog.loops).then(|| Tickets {
        kernel,
        as_written,
        any_jobs: known.then_some(line),
        behind: uses.behind,
    })
}

/// Whether a global matrix is both written and read.
fn written_and_read(prog: &Program) -> bool {
    let global = |p: &&Place| prog.objects[p.obj as usize].class == Class::Global;
    let moves = || {
        prog.code.iter().filter_map(|i| match i {
            Instr::Op { op: Op::Move { src, dst, .. }, .. } => Some((src, dst)),
            _ => None,
        })
    };
    let read: BTreeSet<ObjId> = moves().map(|(src, _)| src).filter(global).map(|p| p.obj).collect();
    moves().map(|(_, dst)| dst).filter(global).any(|p| read.contains(&p.obj))
}

/// What each variable may be before each instruction.
struct Flow<'p> {
    prog: &'p Program,
    /// By instruction, the numbers that variables may be; empty where no agent comes.
    at: Vec<Option<Vec<u8>>>,
}

impl<'p> Flow<'p> {
    /// `None` where a variable or mailbox gets another number computed from a ticket.
    fn of(prog: &'p Program) -> Option<Flow<'p>> {
        let mut flow = Flow { prog, at: vec![None; prog.code.len()] };
        let mut boxes: BTreeMap<ObjId, u8> = BTreeMap::new();
        flow.at[0] = Some(vec![OTHER; prog.vars.len()]);
        let mut changed = true;
        while changed {
            changed = false;
            for pc in 0..prog.code.len() {
                let Some(mut vars) = flow.at[pc].clone() else { continue };
                let i = &prog.code[pc];
                match i {
                    Instr::Set(v, e) => vars[*v as usize] = flow.value(&vars, e)?,
                    Instr::Op { op: Op::Put { dst, value }, .. } => {
                        let held = boxes.entry(dst.obj).or_default();
                        let more = *held | flow.value(&vars, value)?;
                        changed |= more != std::mem::replace(held, more);
                    }
                    Instr::Op { op: Op::Get { src, var }, .. } => match boxes.get(&src.obj) {
                        Some(held) => vars[*var as usize] = *held,
                        // Nobody has put a word yet.
                        None => continue,
                    },
                    Instr::Op { op: Op::Counter { act: CounterAct::Fetch(var), .. }, .. } => {
                        vars[*var as usize] = TICKET;
                    }
                    _ => {}
                }
                let falls = !matches!(i, Instr::Jump(_) | Instr::End);
                let next = i.target().map(|to| to as usize).into_iter().chain(falls.then_some(pc + 1));
                for to in next.filter(|to| *to < prog.code.len()) {
                    changed |= join(&mut flow.at[to], &vars);
                }
            }
        }
        Some(flow)
    }

    /// What a number may be; `None` where it is computed from a ticket in another way.
    fn value(&self, vars: &[u8], e: &Expr) -> Option<u8> {
        match e {
            Expr::Var(v) => Some(vars[*v as usize]),
            Expr::Env(Env::CtaId) if self.prog.cooperative => Some(START),
            e if is_launch_index(self.prog, e) => Some(START),
            e if self.behind(e) => match e {
                Expr::Binary(_, p) if p.0.any(|x| of_ticket(vars, x)) => self.value(vars, &p.0),
                Expr::Binary(_, p) => self.value(vars, &p.1),
                _ => None,
            }
            .and_then(|of| match of {
                TICKET => Some(BEHIND),
                of if of & JOB == 0 => Some(OTHER),
                _ => None,
            }),
            e => (!e.any(|x| of_ticket(vars, x) || is_place(x))).then_some(OTHER),
        }
    }

    /// Whether the code reads what the end of the jobs is computed from. Reads at the ends of loops and in the size of the
    /// grid do not count.
    fn knows(&self, end: &Expr) -> bool {
        let jobs = self.prog.parameters_of(end);
        let mut known = false;
        for (pc, i) in self.prog.code.iter().enumerate().filter(|(pc, _)| self.ending(*pc).is_none()) {
            each(self.prog, i, &mut |_, e| {
                let reads = !self.prog.parameters_of(e).is_disjoint(&jobs);
                known |= self.at[pc].is_some() && !self.behind(e) && reads;
            });
        }
        known
    }

    /// Replaces the size of the grid by 1 in the numbers of tickets.
    fn first_of_one(&self, code: &mut [Instr]) {
        for i in code {
            each_mut(self.prog, i, &mut |_, e| {
                if self.behind(e)
                    && let Expr::Binary(_, p) = e
                {
                    for part in [&mut p.0, &mut p.1] {
                        if self.is_grid(part) {
                            *part = Expr::Const(1);
                        }
                    }
                }
            });
        }
    }

    /// Whether a number is a variable behind the first jobs of all CTAs: `t + grid.size`.
    fn behind(&self, e: &Expr) -> bool {
        let Expr::Binary(Binary::Add, p) = e else { return false };
        matches!((&p.0, &p.1), (Expr::Var(_), g) | (g, Expr::Var(_)) if self.is_grid(g))
    }

    /// Whether a number is the size of the grid.
    fn is_grid(&self, e: &Expr) -> bool {
        let fixed = self.prog.forms.grid.iter().flatten().all(|e| e.constant().is_some());
        let units = if self.prog.cooperative { i64::from(self.prog.cluster) } else { self.prog.grid.len() };
        match e {
            Expr::Param(p) => self.prog.symbols[*p as usize].name == "grid.size",
            Expr::Const(n) => fixed && *n == units && units > 1,
            _ => false,
        }
    }

    /// Whether an expression reads a ticket at an instruction.
    fn reads(&self, pc: usize, e: &Expr) -> bool {
        self.at[pc].as_ref().is_some_and(|vars| e.any(|x| of_ticket(vars, x)))
    }

    /// The variable and the exclusive end of the jobs, at an instruction that ends a loop or skips a part behind the last
    /// job.
    fn ending(&self, pc: usize) -> Option<(VarId, Expr)> {
        let Instr::Unless(Expr::Binary(op, p), _) = &self.prog.code[pc] else { return None };
        let (var, end) = match (op, &p.0, &p.1) {
            (Binary::Lt, Expr::Var(v), n) | (Binary::Gt, n, Expr::Var(v)) => (*v, n),
            _ => return None,
        };
        (self.reads(pc, &Expr::Var(var)) && end.is_launch_constant()).then(|| (var, end.clone()))
    }
}

/// Joins what variables may be; whether anything is new.
fn join(at: &mut Option<Vec<u8>>, vars: &[u8]) -> bool {
    match at {
        None => {
            *at = Some(vars.to_vec());
            true
        }
        Some(old) => {
            let joined: Vec<u8> = old.iter().zip(vars).map(|(a, b)| a | b).collect();
            joined != std::mem::replace(old, joined.clone())
        }
    }
}

/// Whether an expression is a variable that may be a job.
fn of_ticket(vars: &[u8], e: &Expr) -> bool {
    matches!(e, Expr::Var(v) if vars[*v as usize] & JOB != 0)
}

/// Whether an expression is the place of a CTA in the grid.
fn is_place(e: &Expr) -> bool {
    use Env::{ClusterId, ClusterM, ClusterN, CtaId, CtaM, CtaN, CtaZ};
    matches!(e, Expr::Env(CtaId | CtaM | CtaN | CtaZ | ClusterId | ClusterM | ClusterN))
}

/// The part of a ticket that names a block.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    Quotient(Expr),
    Remainder(Expr),
}

/// All uses of tickets.
struct Uses {
    /// The end of the jobs.
    end: Option<Expr>,
    /// Whether tickets come behind the first jobs of all CTAs.
    behind: bool,
    /// What names blocks of a matrix along a dimension.
    parts: BTreeMap<(ObjId, usize), Part>,
}

impl Uses {
    /// `None` where a use is none of these: the end of a loop, the value of a variable or mailbox, the name of a block.
    fn of(flow: &Flow<'_>) -> Option<Uses> {
        let (mut uses, mut fit, mut kinds) = (Uses { end: None, behind: false, parts: BTreeMap::new() }, true, 0);
        let mut others = BTreeSet::new();
        for (pc, i) in flow.prog.code.iter().enumerate() {
            let Some(vars) = &flow.at[pc] else { continue };
            let put = matches!(i, Instr::Op { op: Op::Put { .. }, .. });
            let kind = |e: &Expr| if let Expr::Var(v) = e { vars[*v as usize] } else { OTHER };
            each(flow.prog, i, &mut |what, e| {
                let reads = flow.reads(pc, e);
                fit &= matches!(what, ExprUse::Set) || put || !e.any(is_place);
                match what {
                    ExprUse::Set => {}
                    ExprUse::Guard if reads => match flow.ending(pc) {
                        Some((var, end)) => {
                            kinds |= vars[var as usize] & !OTHER;
                            fit &= uses.end.get_or_insert_with(|| end.clone()) == &end;
                        }
                        None => fit = false,
                    },
                    ExprUse::Slot if reads => fit &= put,
                    ExprUse::Tile(obj, dim) if reads => {
                        let (of, part) = part(e);
                        kinds |= kind(of);
                        let known = uses.parts.entry((obj, dim)).or_insert_with(|| part.clone());
                        fit &= *known == part && kind(of) & OTHER == 0;
                        fit &= flow.prog.objects[obj as usize].class == Class::Global;
                    }
                    ExprUse::Tile(obj, dim) => drop(others.insert((obj, dim))),
                    _ => {}
                }
            });
        }
        // Numbers of one kind: tickets, or the launch index and tickets behind it.
        uses.behind = kinds & (BEHIND | START) != 0;
        let one_kind = kinds & TICKET == 0 || !uses.behind;
        let apart = uses.parts.keys().all(|at| !others.contains(at));
        (fit && one_kind && apart && stores_name_jobs(flow)).then_some(uses)
    }

    /// The code in which whole tickets stand for parts of them in coordinates of inputs. `None` where threads read such an
    /// input without a mask, because the block must then be one of the matrix.
    fn rename(&self, flow: &Flow<'_>) -> Option<Vec<Instr>> {
        let stored = |obj: ObjId| {
            flow.prog.code.iter().any(|i| matches!(i, Instr::Op { op: Op::Move { dst, .. }, .. } if dst.obj == obj))
        };
        let cut = |obj: ObjId, dim: usize| self.parts.get(&(obj, dim)).is_some_and(|part| *part != Part::Whole);
        let mut code = flow.prog.code.clone();
        for i in &mut code {
            if let Instr::Op { op: Op::Move { how, src, masked, .. }, .. } = i
                && (0..2).any(|dim| cut(src.obj, dim))
                && *how != MoveKind::TmaLoad
                && !*masked
            {
                return None;
            }
            each_mut(flow.prog, i, &mut |what, e| {
                if let ExprUse::Tile(obj, dim) = what
                    && cut(obj, dim)
                    && !stored(obj)
                {
                    *e = part(e).0.clone();
                }
            });
        }
        Some(code)
    }
}

/// The number whose part names a block, and the part.
fn part(e: &Expr) -> (&Expr, Part) {
    match e {
        Expr::Binary(Binary::Div, p) if p.1.is_launch_constant() => (&p.0, Part::Quotient(p.1.clone())),
        Expr::Binary(Binary::Rem, p) if p.1.is_launch_constant() => (&p.0, Part::Remainder(p.1.clone())),
        _ => (e, Part::Whole),
    }
}

/// Whether the block of each store to global memory determines the job.
fn stores_name_jobs(flow: &Flow<'_>) -> bool {
    let names = |pc: usize, p: &Place| {
        let parts: Vec<(&Expr, Part)> = p.at.iter().filter(|e| flow.reads(pc, e)).map(part).collect();
        let both = || match &parts[..] {
            [(a, Part::Quotient(x)), (b, Part::Remainder(y))] | [(a, Part::Remainder(x)), (b, Part::Quotient(y))] => {
                a == b && x == y
            }
            _ => false,
        };
        !p.elements && p.sel.writes != Writes::Atomic && (parts.iter().any(|(_, part)| *part == Part::Whole) || both())
    };
    (0..).zip(&flow.prog.code).all(|(pc, i)| match i {
        Instr::Op { op: Op::Move { dst, .. }, .. } if flow.prog.objects[dst.obj as usize].class == Class::Global => {
            flow.at[pc].is_none() || names(pc, dst)
        }
        _ => true,
    })
}
