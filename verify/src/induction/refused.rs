//! Trip counts that a kernel refuses: whether it also refuses all that are longer by whole periods.
//!
//! A refused trip count has no run and carries nothing over. `require tiles != 5` refuses 5 and accepts 6. Where the
//! induction reaches a refused trip count, the form of the kernel's requirements must show that the longer ones are
//! refused too.

use warpline_sim::ir::{Expr, Program};
use warpline_sim::protocol::decisions_at_launch;

use crate::AtTrips;
use crate::induction::shift_invariance::{self, Conditions};

/// Largest distance at which an accepted trip count is searched for.
const NEAR: i64 = 64;

/// Whether the kernel refuses `n` and every `n + k * period`.
fn for_ever(at: AtTrips<'_>, n: i64, period: i64) -> bool {
    // Symbols are linear in the trip count, so two accepted trip counts determine the values for all.
    let near = (1..NEAR).flat_map(|k| [n - k, n + k]);
    let accepted: Vec<(i64, Program)> = near.filter_map(|n| Some((n, at(n)?))).take(2).collect();
    let [(x, a), (y, b)] = &accepted[..] else { return false };
    let (Some(short), Some(long)) = (settled((*x, a), (*y, b), n), settled((*x, a), (*y, b), n + period)) else {
        return false;
    };
    let forms = &a.forms;
    let sizes: Vec<&Expr> = forms.grid.iter().flatten().chain(forms.extents.iter().flatten().flatten()).collect();
    let all: Vec<&Expr> = forms.requires.iter().chain(sizes.iter().copied()).collect();
    let decisions = [&short, &long].map(|prog| decisions_at_launch(prog, all.iter().copied()));
    let both = |e: &Expr| Some((short.launch_value(e)?, long.launch_value(e)?));
    let fails = forms.requires.iter().any(|e| both(e) == Some((0, 0)));
    let empty = sizes.iter().any(|e| both(e).is_some_and(|(x, y)| x < 1 && y <= x));
    (fails || empty) && shift_invariance::decided(&[&decisions[0], &decisions[1]], &mut Conditions::default())
}

/// Whether the kernel refuses all trip counts near `n`, for example because it has no job or an empty matrix, whatever
/// the other number is.
pub(crate) fn near(at: AtTrips<'_>, n: i64) -> bool {
    (n - NEAR..n + NEAR).all(|n| at(n).is_none())
}

/// [`for_ever`] as a condition of a proof.
pub(crate) fn held(at: AtTrips<'_>, n: i64, period: i64) -> Result<(), &'static str> {
    if for_ever(at, n, period) {
        Ok(())
    } else {
        Err("the kernel refuses a trip count that the proof would start from")
    }
}

/// The kernel with the values of its symbols at `n`, without its requirements.
fn settled((x, a): (i64, &Program), (y, b): (i64, &Program), n: i64) -> Option<Program> {
    let mut prog = a.clone();
    for id in 0..prog.symbols.len() {
        prog.symbols[id].value = match &a.symbols[id].definition {
            Some(e) => prog.launch_value(e)?,
            None => {
                let (v, w) = (a.symbols[id].value, b.symbols[id].value);
                v.checked_add(((w - v) / (y - x)).checked_mul(n - x)?)?
            }
        };
    }
    Some(prog)
}
