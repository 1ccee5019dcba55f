//! After how many steps of a loop all that numbers decide can be back, read off what the text divides by.
//!
//! A slot `it % stages` is back once `it` has moved on by a multiple of the stages, a guard on `job % 50` once `job` has by
//! one of 50; how far each moves in a step is seen in a run. The least number of steps after which all of them are back is
//! a proposal: it says which period to try, in how long a run. Nothing rests on it.

use warpline_sim::ir::{Binary, Expr, Loop, Program, VarId};
use warpline_sim::protocol::AgentId;

use crate::execution::canonical::CanonicalRun;
use warpline_sim::ir::{ExprUse, each};
use warpline_sim::ir::{gcd, lcm};

/// Where each agent is, with which variables.
pub(crate) struct Places(Vec<(u32, Vec<i64>)>);

impl Places {
    pub(crate) fn of(walk: &CanonicalRun<'_>) -> Places {
        let agents = 0..walk.world.agents().len() as AgentId;
        Places(agents.map(|a| (walk.world.pc(a), walk.world.vars_of(a).to_vec())).collect())
    }
}

/// After how many steps all quotients and remainders of loops are back, if that is no more than `most`; the places are a step
/// apart.
pub(crate) fn recurs(prog: &Program, places: &[Places], most: i64) -> Option<i64> {
    let mut all = 1;
    let steps = places.windows(2).flat_map(|two| two[0].0.iter().zip(&two[1].0));
    for ((from, old), (to, new)) in steps {
        let round = |l: &&Loop| (l.head..l.end).contains(from) && (l.head..l.end).contains(to);
        let Some(l) = prog.loops.iter().find(round) else { continue };
        let gain = |v: VarId| new[v as usize].checked_sub(old[v as usize]);
        for i in &prog.code[l.head as usize..l.end as usize] {
            each(prog, i, &mut |what, e| {
                // Those of a matrix are carried on otherwise (`refined_indices`).
                if !matches!(what, ExprUse::Tile(..)) {
                    e.visit(&mut |e| all = lcm(all, back(prog, e, &gain).unwrap_or(1)).min(most + 1));
                }
            });
        }
        if all > most {
            return None;
        }
    }
    Some(all)
}

/// After how many steps a quotient or remainder is back.
fn back(prog: &Program, e: &Expr, gain: &impl Fn(VarId) -> Option<i64>) -> Option<i64> {
    let Expr::Binary(Binary::Div | Binary::Rem | Binary::CeilDiv, p) = e else { return None };
    let (by, whole) = moves(prog, &p.0, gain)?;
    let whole = whole.checked_mul(prog.launch_value(&p.1)?).filter(|whole| *whole > 0)?;
    Some(whole / gcd(whole, by.checked_abs()?))
}

/// By how much an expression moves in a step, in parts of which so many make one.
fn moves(prog: &Program, e: &Expr, gain: &impl Fn(VarId) -> Option<i64>) -> Option<(i64, i64)> {
    let Expr::Binary(Binary::Div, p) = e else { return Some((e.gain(gain)?, 1)) };
    let (by, parts) = moves(prog, &p.0, gain)?;
    Some((by, parts.checked_mul(prog.launch_value(&p.1)?)?))
}
