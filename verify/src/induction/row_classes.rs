//! A check that the CTAs of a row differ only in their number of outer iterations.
//!
//! A persistent kernel distributes jobs as `for job in cta.id..jobs step grid.size`. If the number of jobs is a
//! multiple of the grid, every CTA makes the same number of outer iterations; these kernels are proved. For other
//! numbers, the first CTAs make one outer iteration more than the last ones. This check shows from the text that such a
//! CTA behaves like a CTA of a proved kernel. Suppose that CTA c of J jobs behaves like CTA c + 1 of J + 1 jobs. Then
//! only c - J matters, and each c - J occurs in a proved kernel. So the check follows, through the code, the gain of
//! each number when both grow by one. A decision must have gain zero, and both sides of a comparison the same gain. A
//! dimension of a matrix's tiles must have the same gain wherever it is named.

use std::collections::BTreeMap;

use warpline_sim::ir::{Binary, Env, Expr, Instr, Program, Unary};
use warpline_sim::protocol::decisions_at_launch;

use crate::induction::loop_counter::grown;
use crate::induction::refined_indices::refine;
use crate::induction::shift_invariance;
use crate::induction::while_loops::sets;
use warpline_sim::ir::{ExprUse, each};

/// Trip count of the kernel whose text is searched for differences between CTAs of a row, if the kernel accepts it.
const TRIPS: i64 = 6;
/// Largest trip count that is tried otherwise.
const MOST_TRIPS: i64 = 200;
/// Numbers of outer iterations that are tried.
pub(crate) const TURNS: [i64; 6] = [2, 3, 5, 10, 20, 40];

/// Calls `of` with trip counts until it returns a value: [`TRIPS`] first, as a kernel may refuse some.
pub(crate) fn some_trips<T>(of: impl Fn(i64) -> Option<T>) -> Option<T> {
    (TRIPS..=MOST_TRIPS).chain(0..TRIPS).find_map(of)
}

/// A kernel whose text is searched for differences between CTAs of a row, and the kernel with one outer iteration more.
pub(crate) fn two_turns(at: impl Fn(i64, i64) -> Option<Program>) -> Option<(Program, Program)> {
    TURNS.into_iter().find_map(|t| some_trips(|n| at(n, t).zip(at(n, t + 1))))
}

/// The gain of a variable at an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Gain {
    /// No path has reached the instruction.
    #[default]
    Unset,
    By(i64),
    /// Different gains on different paths.
    Any,
}

impl Gain {
    fn or(self, other: Gain) -> Gain {
        match (self, other) {
            (Gain::Unset, x) | (x, Gain::Unset) => x,
            (x, y) if x == y => x,
            _ => Gain::Any,
        }
    }
}

/// Checks a kernel with some number of outer iterations, and the kernel with one more. The error is a line that fails
/// the check.
pub(crate) fn alike(prog: &Program, next: &Program) -> Result<(), u32> {
    let Some(step) = grown(prog, next).first().map(|(_, by)| *by) else { return Ok(()) };
    if step == 1 || every_value(prog, next) {
        // Every number of jobs was proved.
        return Ok(());
    }
    let (prog, next) = (&refine(prog), &refine(next));
    let row = Row { prog, next, step };
    let frames = row.frames();
    let mut tiles: BTreeMap<(u16, usize), i64> = BTreeMap::new();
    for (pc, (i, j)) in prog.code.iter().zip(&next.code).enumerate() {
        let mut all: Vec<(ExprUse, Expr)> = Vec::new();
        each(prog, i, &mut |what, e| all.push((what, e.clone())));
        let mut others: Vec<Expr> = Vec::new();
        each(next, j, &mut |_, e| others.push(e.clone()));
        // Unreachable code is ignored.
        let Some(vars) = &frames[pc] else { continue };
        for ((what, e), f) in all.iter().zip(&others) {
            let by = row.gain(e, f, vars);
            let fine = match what {
                ExprUse::Set => true,
                ExprUse::Guard | ExprUse::Slot => by == Some(0),
                ExprUse::Tile(obj, dim) => by.is_some_and(|by| *tiles.entry((*obj, *dim)).or_insert(by) == by),
            };
            if !fine {
                return Err(prog.site(pc as u32).line);
            }
        }
    }
    Ok(())
}

/// Whether the two kernels have successive values of a parameter, one of which may give several iterations.
pub(crate) fn every_value(prog: &Program, next: &Program) -> bool {
    let pairs = prog.symbols.iter().zip(&next.symbols).filter(|(a, _)| a.definition.is_none());
    let mut gains = pairs.map(|(a, b)| b.value - a.value).filter(|by| *by != 0).peekable();
    gains.peek().is_some() && gains.all(|by| by == 1)
}

struct Row<'a> {
    prog: &'a Program,
    next: &'a Program,
    /// Jobs of one outer iteration of all CTAs.
    step: i64,
}

impl Row<'_> {
    /// The gain of each variable at each instruction.
    fn frames(&self) -> Vec<Option<Vec<Gain>>> {
        let mut frames: Vec<Option<Vec<Gain>>> = vec![None; self.prog.code.len()];
        let mut open = vec![(0u32, vec![Gain::Unset; self.prog.vars.len()])];
        while let Some((pc, vars)) = open.pop() {
            let Some(old) = frames.get_mut(pc as usize) else { continue };
            let both = match old {
                Some(old) => old.iter().zip(&vars).map(|(a, b)| a.or(*b)).collect(),
                None => vars,
            };
            if old.as_ref() == Some(&both) {
                continue;
            }
            *old = Some(both.clone());
            match (&self.prog.code[pc as usize], &self.next.code[pc as usize]) {
                (Instr::Set(v, e), Instr::Set(_, f)) => {
                    let mut vars = both;
                    vars[*v as usize] = self.gain(e, f, &vars).map_or(Gain::Any, Gain::By);
                    open.push((pc + 1, vars));
                }
                (Instr::Jump(to), _) => open.push((*to, both)),
                (Instr::Unless(_, to) | Instr::Only(_, to), _) => {
                    open.push((*to, both.clone()));
                    open.push((pc + 1, both));
                }
                (Instr::End, _) => {}
                // A word of a mailbox or a counter can be any number, unless each cluster is handed its tiles.
                (i, _) => {
                    let mut vars = both;
                    if let Some(v) = sets(i).filter(|_| !self.prog.hands_out()) {
                        vars[v as usize] = Gain::Any;
                    }
                    open.push((pc + 1, vars));
                }
            }
        }
        frames
    }

    /// The gain of an expression from one CTA and job to the next; `None` where it is not one number.
    fn gain(&self, e: &Expr, f: &Expr, vars: &[Gain]) -> Option<i64> {
        if e.is_launch_constant() {
            let by = self.next.launch_value(f)?.checked_sub(self.prog.launch_value(e)?)?;
            let lists = [decisions_at_launch(self.prog, [e]), decisions_at_launch(self.next, [f])];
            let evenly =
                shift_invariance::decided(&[&lists[0], &lists[1]], &mut shift_invariance::Conditions::default())
                    && by % self.step == 0;
            return evenly.then(|| by / self.step);
        }
        Some(match (e, f) {
            (Expr::Var(v), _) => match vars[*v as usize] {
                Gain::By(by) => by,
                Gain::Unset => 0,
                Gain::Any => return None,
            },
            (Expr::Env(Env::ClusterM | Env::ClusterId), _) => 1,
            (Expr::Env(Env::CtaM | Env::CtaId), _) => self.prog.cluster as i64,
            (Expr::Env(_), _) => 0,
            (Expr::Unary(Unary::Neg, x), Expr::Unary(_, y)) => -self.gain(x, y, vars)?,
            (Expr::Unary(Unary::Not, x), Expr::Unary(_, y)) => none(self.gain(x, y, vars)?)?,
            (Expr::Binary(o, p), Expr::Binary(_, q)) => {
                let (x, y) = (self.gain(&p.0, &q.0, vars)?, self.gain(&p.1, &q.1, vars)?);
                match o {
                    Binary::Add => x.checked_add(y)?,
                    Binary::Sub => x.checked_sub(y)?,
                    Binary::Mul => match (p.0.constant(), p.1.constant()) {
                        (Some(c), _) if x == 0 => y.checked_mul(c)?,
                        (_, Some(c)) if y == 0 => x.checked_mul(c)?,
                        _ => none(x)? + none(y)?,
                    },
                    Binary::Min | Binary::Max => none(x.checked_sub(y)?).map(|_| x)?,
                    Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => {
                        none(x.checked_sub(y)?)?
                    }
                    _ => none(x)? + none(y)?,
                }
            }
            (Expr::If(p), Expr::If(q)) => {
                none(self.gain(&p.0, &q.0, vars)?)?;
                let (x, y) = (self.gain(&p.1, &q.1, vars)?, self.gain(&p.2, &q.2, vars)?);
                none(x.checked_sub(y)?).map(|_| x)?
            }
            (Expr::Tape(_, x), Expr::Tape(_, y)) => none(self.gain(x, y, vars)?)?,
            _ => return None,
        })
    }
}

/// `Some(0)` for gain zero, else `None`.
fn none(by: i64) -> Option<i64> {
    (by == 0).then_some(0)
}
