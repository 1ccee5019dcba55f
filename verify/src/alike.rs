//! When two runs decide alike: what numbers decided on the way, and the states they are in.
//!
//! Two runs of one kernel, or of two that differ in a trip count, step together. A number x of the one is x + d in the
//! other. Sums and differences carry d on. Everything else must not notice it, now or when the same happens once more:
//! a remainder if its divisor divides d, a comparison if both sides move alike or apart, and what says where, whether or
//! how often only if d is zero.

use std::collections::BTreeMap;

use warpline_sim::ir::Binary;
use warpline_sim::protocol::{Entry, Family, Judged, Snapshot};

/// Whether a second run decided in a step as the first one did, and a third one as far on will. An agent may go round a
/// loop in one step where it has nothing to do there, the second one more often: then the first half of the turns is held
/// to its first turns, the second half to its last.
pub(crate) fn decided(first: &[Judged], second: &[Judged]) -> bool {
    let again = |list: &[Judged]| list.iter().filter(|x| **x == Judged::Again).count();
    let (few, many) = (again(first), again(second));
    if few == many {
        return all(first, second);
    }
    if few > many || few < 4 {
        return false;
    }
    let turns = |list| <[Judged]>::split(list, |x: &Judged| *x == Judged::Again).collect::<Vec<_>>();
    let (a, b) = (turns(first), turns(second));
    let half = a.len() / 2;
    (0..half).all(|i| all(a[i], b[i])) && (half..a.len()).all(|i| all(a[i], b[i + many - few]))
}

fn all(first: &[Judged], second: &[Judged]) -> bool {
    first.len() == second.len() && first.iter().zip(second).all(|(x, y)| alike(x, y))
}

fn alike(x: &Judged, y: &Judged) -> bool {
    match (*x, *y) {
        (Judged::Fixed(a), Judged::Fixed(b)) => a == b,
        (Judged::Again, Judged::Again) => true,
        (Judged::Op(o, a, b), Judged::Op(p, c, d)) if o == p => operands(o, (a, c - a), (b, d - b)),
        _ => false,
    }
}

/// Whether an operator notices that its operands move; each with by how much.
fn operands(o: Binary, (a, by_a): (i64, i64), (b, by_b): (i64, i64)) -> bool {
    match o {
        Binary::Add | Binary::Sub => true,
        Binary::Mul => by_a == 0 || by_b == 0,
        Binary::Div | Binary::Rem | Binary::CeilDiv => by_b == 0 && (by_a == 0 || b != 0 && by_a % b == 0),
        Binary::Min | Binary::Max | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => {
            let (apart, by) = (a - b, by_a - by_b);
            by == 0 || (apart > 0 && by > 0) || (apart < 0 && by < 0)
        }
        Binary::And | Binary::Or | Binary::BitOr | Binary::BitAnd | Binary::Shl => by_a == 0 && by_b == 0,
    }
}

/// Whether two states are one state but for how far its numbers have moved. Clocks of a family are compared with each
/// other and, where they are within `window` of the newest, subtracted: none may overtake another, now or later, and
/// those within the window must move as the newest does.
pub(crate) fn states(x: &Snapshot, y: &Snapshot, window: i64) -> bool {
    if x.entries.len() != y.entries.len() {
        return false;
    }
    let mut clocks: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for (a, b) in x.entries.iter().zip(&y.entries) {
        match (a, b) {
            (Entry::Same(a), Entry::Same(b)) if a == b => {}
            // What variables and coordinates decide is looked at when they do.
            (Entry::Count(f, a), Entry::Count(g, b)) if f == g => {
                if let Family::Clock(c) = f {
                    clocks.entry(*c).or_default().push((*a, b - a));
                }
            }
            _ => return false,
        }
    }
    clocks.values_mut().all(|list| {
        list.sort_unstable();
        let newest = list[list.len() - 1];
        let near = |c: &&(i64, i64)| c.0 + window >= newest.0;
        list.windows(2).all(|w| w[0].1 <= w[1].1 && (w[0].0 < w[1].0 || w[0].1 == w[1].1))
            && list.iter().rev().take_while(near).all(|c| c.1 == newest.1)
    })
}
