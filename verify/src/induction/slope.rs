//! How much numbers of a kernel grow with a parameter.

use warpline_sim::ir::{Binary, Expr, Loop, ParamId, Program, Unary};

use crate::induction::loop_bounds::{self, Ratio};

/// The slope of a loop's bound; the unit of a bound that reads variables.
pub(super) fn growth(prog: &Program, l: &Loop, p: ParamId) -> Option<Ratio> {
    let bound = l.bound.as_ref()?;
    if bound.is_launch_constant() {
        return slope(prog, bound, p);
    }
    let leaf = |e: &Expr| slope(prog, e, p).map(|s| Ratio { num: s.num.abs(), ..s });
    loop_bounds::unit(prog, l, &leaf)
}

/// The slope of an expression over symbols, which may be negative; `None` where it has no constant slope.
pub(super) fn slope(prog: &Program, e: &Expr, p: ParamId) -> Option<Ratio> {
    let at = |e: &Expr| slope(prog, e, p);
    let flat = |e: &Expr| at(e).is_some_and(|s| s.num == 0);
    let still = Ratio::ZERO;
    match e {
        Expr::Const(_) => Some(still),
        Expr::Param(q) if *q == p => Some(Ratio { num: 1, den: 1 }),
        Expr::Param(q) => prog.symbols[*q as usize].definition.as_ref().map_or(Some(still), at),
        Expr::Unary(Unary::Neg, x) => at(x).map(|s| Ratio { num: -s.num, ..s }),
        Expr::Unary(_, x) => flat(x).then_some(still),
        Expr::Binary(op, pair) => {
            let (x, y) = (&pair.0, &pair.1);
            match op {
                Binary::Add | Binary::Sub => {
                    let (a, b) = (at(x)?, at(y)?);
                    let sign = if *op == Binary::Add { 1 } else { -1 };
                    let num = a.num.checked_mul(b.den)?.checked_add(sign * b.num.checked_mul(a.den)?)?;
                    Ratio::of(num, a.den.checked_mul(b.den)?)
                }
                Binary::Mul => {
                    let (s, by) = if flat(y) { (at(x)?, y) } else { (flat(x).then(|| at(y))??, x) };
                    Ratio::of(s.num.checked_mul(prog.launch_value(by)?)?, s.den)
                }
                Binary::Div | Binary::CeilDiv if flat(y) => {
                    let (s, by) = (at(x)?, prog.launch_value(y).filter(|v| *v > 0)?);
                    Ratio::of(s.num, s.den.checked_mul(by)?)
                }
                // A rotated loop of a compiled kernel has at least one iteration: `max(0, n - 1) + 1`.
                Binary::Max if prog.opaque_globals && (flat(x) || flat(y)) => {
                    at(if flat(x) { y } else { x }).filter(|s| s.num >= 0)
                }
                _ => (flat(x) && flat(y)).then_some(still),
            }
        }
        Expr::If(parts) => (flat(&parts.0) && flat(&parts.1) && flat(&parts.2)).then_some(still),
        Expr::Var(_) | Expr::Env(_) | Expr::Tape(..) => None,
    }
}
