//! Proposal of a period: the number of steps after which all decisions can recur, according to the divisors in the
//! text.
//!
//! A slot `it % stages` recurs once `it` has grown by a multiple of `stages`. A guard on `job % 50` recurs once `job`
//! has grown by a multiple of 50. A run shows how much each of them grows in a step. The least number of steps after
//! which all recur is a proposal for the period and for the length of a run. No proof relies on it.

use warpline_sim::ir::{Binary, Expr, Loop, Program, VarId};
use warpline_sim::protocol::AgentId;

use crate::execution::canonical::CanonicalRun;
use crate::induction::loop_counter::step_of;
use warpline_sim::ir::{ExprUse, each};
use warpline_sim::ir::{gcd, lcm};

/// The instruction and variables of each agent.
pub(crate) struct Places(Vec<(u32, Vec<i64>)>);

impl Places {
    pub(crate) fn of(walk: &CanonicalRun<'_>) -> Places {
        let agents = 0..walk.world.agents().len() as AgentId;
        Places(agents.map(|a| (walk.world.pc(a), walk.world.vars_of(a).to_vec())).collect())
    }
}

/// The number of steps after which all quotients and remainders of loops recur, if it is at most `most`. The places are
/// one step apart.
pub(crate) fn recurs(prog: &Program, places: &[Places], most: i64) -> Option<i64> {
    let mut all = 1;
    let steps = places.windows(2).flat_map(|two| two[0].0.iter().zip(&two[1].0));
    for ((from, old), (to, new)) in steps {
        let round = |l: &&Loop| (l.head..l.end).contains(from) && (l.head..l.end).contains(to);
        let Some(l) = prog.loops.iter().find(round) else { continue };
        let gain = |v: VarId| new[v as usize].checked_sub(old[v as usize]);
        all = lcm(all, recurs_in(prog, l, &gain, most)).min(most + 1);
        if all > most {
            return None;
        }
    }
    Some(all)
}

/// The number of iterations after which all quotients and remainders of the indices of these loops recur, if it is at
/// most `most`. A role that meets no other shows nothing of the loops of others in its own steps.
pub(crate) fn recurs_by_index(prog: &Program, loops: &[(&Loop, i64)], most: i64) -> Option<i64> {
    let mut all = 1;
    for (l, _) in loops {
        let gain = |v: VarId| (l.var == Some(v)).then(|| step_of(prog, l));
        all = lcm(all, recurs_in(prog, l, &gain, most)).min(most + 1);
    }
    (all <= most).then_some(all)
}

/// The number of steps after which all quotients and remainders in a loop recur, or more than `most`. `gain` is the
/// growth of a variable in a step.
fn recurs_in(prog: &Program, l: &Loop, gain: &impl Fn(VarId) -> Option<i64>, most: i64) -> i64 {
    let mut all = 1;
    for i in &prog.code[l.head as usize..l.end as usize] {
        each(prog, i, &mut |what, e| {
            // Coordinates of a matrix are handled elsewhere (`refined_indices`).
            if !matches!(what, ExprUse::Tile(..)) {
                e.visit(&mut |e| all = lcm(all, back(prog, e, gain).unwrap_or(1)).min(most + 1));
            }
        });
    }
    all
}

/// The number of steps after which a quotient or remainder recurs.
fn back(prog: &Program, e: &Expr, gain: &impl Fn(VarId) -> Option<i64>) -> Option<i64> {
    let Expr::Binary(Binary::Div | Binary::Rem | Binary::CeilDiv, p) = e else { return None };
    let (by, whole) = moves(prog, &p.0, gain)?;
    let whole = whole.checked_mul(prog.launch_value(&p.1)?).filter(|whole| *whole > 0)?;
    Some(whole / gcd(whole, by.checked_abs()?))
}

/// The growth of an expression in a step, as a fraction.
fn moves(prog: &Program, e: &Expr, gain: &impl Fn(VarId) -> Option<i64>) -> Option<(i64, i64)> {
    let Expr::Binary(Binary::Div, p) = e else { return Some((e.gain(gain)?, 1)) };
    let (by, parts) = moves(prog, &p.0, gain)?;
    Some((by, parts.checked_mul(prog.launch_value(&p.1)?)?))
}
