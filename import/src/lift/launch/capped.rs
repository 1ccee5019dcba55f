//! Symbols of which all large values are one: `min(64, n)` steps.
//!
//! If each expression that reads such a symbol has the same value from some value of the symbol on, the program has
//! finitely many forms. All of them are verified, and the symbol needs no induction.

use warpline_sim::ir::{Binary, Expr, ParamId, Program, each};

use crate::lift::Free;

/// The largest number of combinations of values that are tried.
const MOST: i64 = 1024;

/// A symbol, and the value from which on all values give the same program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capped {
    /// The symbol.
    pub symbol: ParamId,
    /// The value.
    pub last: i64,
}

/// How an expression depends on a symbol.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// `factor * symbol + offset`.
    Linear { factor: i64, offset: i64 },
    /// It has one value from a value of the symbol on, for each value of everything else.
    From(i64),
}

/// The symbols that set trip counts and are capped; none where they have too many values together.
pub(crate) fn capped(p: &Program, free: &[Free]) -> Vec<Capped> {
    let sets_count =
        |symbol: ParamId| p.loops.iter().filter_map(|l| l.bound.as_ref()).any(|bound| reads(bound, symbol));
    let one = |symbol: ParamId| {
        let counts = sets_count(symbol) && free.iter().all(|f| f.symbol != symbol);
        counts.then(|| last(p, symbol)).flatten().map(|last| Capped { symbol, last })
    };
    let list: Vec<Capped> = (0..p.symbols.len() as ParamId).filter_map(one).collect();
    let values = list.iter().map(|c| c.last + 1).product::<i64>() << free.len().min(8);
    if values <= MOST { list } else { Vec::new() }
}

fn reads(e: &Expr, symbol: ParamId) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= *e == Expr::Param(symbol));
    found
}

/// The value of a symbol from which on all expressions of a program are the same.
fn last(p: &Program, symbol: ParamId) -> Option<i64> {
    let mut last = Some(0);
    let mut all = |e: &Expr| {
        last = match (last, form(e, symbol)) {
            (Some(last), Some(Form::From(n))) => Some(last.max(n)),
            (Some(last), Some(Form::Linear { factor: 0, .. })) => Some(last),
            _ => None,
        };
    };
    p.code.iter().for_each(|i| each(p, i, &mut |_, e| all(e)));
    p.loops.iter().filter_map(|l| l.bound.as_ref()).for_each(all);
    last.filter(|last| *last < MOST)
}

fn form(e: &Expr, symbol: ParamId) -> Option<Form> {
    match e {
        Expr::Const(offset) => return Some(Form::Linear { factor: 0, offset: *offset }),
        Expr::Param(s) if *s == symbol => return Some(Form::Linear { factor: 1, offset: 0 }),
        _ => {}
    }
    let mut from = 0;
    let mut forms = Vec::new();
    for x in e.operands() {
        let form = form(x, symbol)?;
        if let Form::From(n) = form {
            from = from.max(n);
        }
        forms.push(form);
    }
    if let (Expr::Binary(op, _), [Form::Linear { factor: x, offset: p }, Form::Linear { factor: y, offset: q }]) =
        (e, forms.as_slice())
    {
        return binary(*op, (*x, *p), (*y, *q));
    }
    // Any function of what does not change any more.
    let still = |f: &Form| matches!(f, Form::From(_) | Form::Linear { factor: 0, .. });
    forms.iter().all(still).then_some(Form::From(from))
}

fn binary(op: Binary, (x, p): (i64, i64), (y, q): (i64, i64)) -> Option<Form> {
    let linear = |factor: Option<i64>, offset: Option<i64>| Some(Form::Linear { factor: factor?, offset: offset? });
    let (factor, offset) = (x.checked_sub(y)?, p.checked_sub(q)?);
    // The sign of the difference is one from here on.
    let sure = (factor != 0).then(|| offset.checked_abs()?.checked_div(factor.checked_abs()?)?.checked_add(1));
    match op {
        Binary::Add => linear(x.checked_add(y), p.checked_add(q)),
        Binary::Sub => linear(Some(factor), Some(offset)),
        Binary::Mul if x == 0 => linear(p.checked_mul(y), p.checked_mul(q)),
        Binary::Mul if y == 0 => linear(x.checked_mul(q), p.checked_mul(q)),
        _ if x == 0 && y == 0 => Some(Form::From(0)),
        Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => {
            Some(Form::From(sure.unwrap_or(Some(0))?))
        }
        Binary::Min | Binary::Max => {
            // The side that stays, for large values of the symbol.
            let first = if factor == 0 { true } else { (factor < 0) == (op == Binary::Min) };
            let stays = if first { x } else { y };
            (stays == 0).then_some(Form::From(sure.unwrap_or(Some(0))?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(e: &Expr) -> Option<i64> {
        match form(e, 0)? {
            Form::From(n) => Some(n),
            Form::Linear { factor: 0, .. } => Some(0),
            Form::Linear { .. } => None,
        }
    }

    #[test]
    fn an_expression_settles_where_its_values_do() {
        let n = || Expr::Param(0);
        let b = |op, x, y| Expr::binary(op, x, y);
        let c = Expr::Const;
        let exprs = [
            b(Binary::Min, c(64), n()),
            b(Binary::CeilDiv, b(Binary::Min, b(Binary::Sub, n(), c(64)), c(64)), c(16)),
            b(Binary::Max, c(7), b(Binary::Mul, n(), c(-3))),
            b(Binary::Ge, b(Binary::Mul, n(), c(-1)), c(-10)),
            b(Binary::Add, Expr::Var(0), b(Binary::Min, n(), c(5))),
        ];
        for e in exprs {
            let last = of(&e).expect("it settles");
            let at = |v: i64| {
                let mut e = e.clone();
                e.replace(&n(), &c(v));
                e
            };
            let same = |v: i64| evaluated(&at(v)) == evaluated(&at(last));
            assert!((last..last + 200).all(same), "{e:?} from {last}");
        }
        for e in
            [n(), b(Binary::Max, n(), c(5)), b(Binary::Rem, n(), c(4)), b(Binary::Min, n(), b(Binary::Add, n(), c(1)))]
        {
            assert_eq!(of(&e), None, "{e:?}");
        }
    }

    fn evaluated(e: &Expr) -> Option<i64> {
        match e {
            Expr::Const(x) => Some(*x),
            Expr::Var(_) => Some(3),
            Expr::Binary(op, p) => warpline_sim::ir::apply(*op, evaluated(&p.0)?, evaluated(&p.1)?),
            _ => None,
        }
    }
}
