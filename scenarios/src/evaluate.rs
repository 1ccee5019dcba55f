//! Expressions of claims: the grammar of the kernel language, over the numbers of a run.

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::{Binary, Unary};

use crate::ast::{Expr, ExprKind};
use crate::parse::expression;

/// The value of an expression; true is 1 and false is 0. `/` rounds down and `%` is never negative, as in a kernel.
///
/// Numbers of a run can have fractions (10.5 cycles), so evaluation uses floating point. Whole numbers below 2^53 stay
/// exact. Places of a diagnostic are byte ranges of `text`.
pub fn evaluate(file: &str, text: &str, value: &dyn Fn(&str) -> Option<f64>) -> Result<f64, Vec<Diagnostic>> {
    let expr = expression(file, text)?;
    Scope { file, value }.eval(&expr).map_err(|d| vec![*d])
}

/// Boxed, so that stack frames of the recursive evaluation stay small.
type Failed = Box<Diagnostic>;

struct Scope<'a> {
    file: &'a str,
    value: &'a dyn Fn(&str) -> Option<f64>,
}

impl Scope<'_> {
    fn error(&self, e: &Expr, message: impl Into<String>, label: &str) -> Failed {
        Box::new(Diagnostic::new(self.file, e.span.clone(), message, label))
    }

    fn name(&self, name: &str, e: &Expr) -> Result<f64, Failed> {
        (self.value)(name).ok_or_else(|| {
            self.error(e, format!("`{name}` is not a number of the kernel or of its run"), "no such number")
        })
    }

    fn eval(&self, e: &Expr) -> Result<f64, Failed> {
        let truth = |t: bool| f64::from(u8::from(t));
        let value = match &e.kind {
            ExprKind::Int(v) => *v as f64,
            ExprKind::Name(name) => self.name(name, e)?,
            ExprKind::Dotted(object, field) => self.name(&format!("{}.{}", object.text, field.text), e)?,
            ExprKind::Unary(Unary::Neg, a) => -self.eval(a)?,
            ExprKind::Unary(Unary::Not, a) => truth(self.eval(a)? == 0.0),
            ExprKind::Cond(parts) => self.eval(if self.eval(&parts.0)? != 0.0 { &parts.1 } else { &parts.2 })?,
            ExprKind::Binary(Binary::And, p) => truth(self.eval(&p.0)? != 0.0 && self.eval(&p.1)? != 0.0),
            ExprKind::Binary(Binary::Or, p) => truth(self.eval(&p.0)? != 0.0 || self.eval(&p.1)? != 0.0),
            ExprKind::Binary(op, p) => self.binary(*op, self.eval(&p.0)?, self.eval(&p.1)?, e)?,
            ExprKind::Call(f, args) => match (f.text.as_str(), args.as_slice()) {
                ("cdiv", [a, b]) => self.binary(Binary::CeilDiv, self.eval(a)?, self.eval(b)?, e)?,
                // `/` rounds down, as in a kernel; `ratio` divides without rounding.
                ("ratio", [a, b]) => match self.eval(b)? {
                    0.0 => return Err(self.error(e, "division by zero", "the divisor is 0 here")),
                    b => self.eval(a)? / b,
                },
                ("min", [a, b]) => self.eval(a)?.min(self.eval(b)?),
                ("max", [a, b]) => self.eval(a)?.max(self.eval(b)?),
                _ => {
                    let message = format!("`{}` cannot be called like this here", f.text);
                    let label = "`cdiv(a, b)`, `ratio(a, b)`, `min(a, b)` or `max(a, b)` was expected";
                    return Err(self.error(e, message, label));
                }
            },
        };
        if value.is_finite() {
            Ok(value)
        } else {
            Err(self.error(e, "this has no finite value", "a number was expected"))
        }
    }

    fn binary(&self, op: Binary, a: f64, b: f64, e: &Expr) -> Result<f64, Failed> {
        let truth = |t: bool| f64::from(u8::from(t));
        if matches!(op, Binary::Div | Binary::Rem | Binary::CeilDiv) && b == 0.0 {
            return Err(self.error(e, "division by zero", "the divisor is 0 here"));
        }
        Ok(match op {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => (a / b).floor(),
            Binary::Rem => a.rem_euclid(b),
            Binary::CeilDiv => (a / b).ceil(),
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
            Binary::Lt => truth(a < b),
            Binary::Le => truth(a <= b),
            Binary::Gt => truth(a > b),
            Binary::Ge => truth(a >= b),
            Binary::Eq => truth(a == b),
            Binary::Ne => truth(a != b),
            Binary::And => truth(a != 0.0 && b != 0.0),
            Binary::Or => truth(a != 0.0 || b != 0.0),
            // Masks: the same bit operations as in a kernel, for whole numbers only.
            Binary::BitOr | Binary::BitAnd | Binary::Shl => {
                let whole = |x: f64| (x.fract() == 0.0 && x.abs() < 9e15).then_some(x as i64);
                let bits = whole(a).zip(whole(b)).and_then(|(a, b)| warpline_sim::ir::apply(op, a, b));
                return bits
                    .map(|v| v as f64)
                    .ok_or_else(|| self.error(e, "bits of a fraction", "whole numbers were expected"));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<f64> {
        [("cycles", 10.5), ("stages", 3.0), ("zero", 0.0)].into_iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    #[test]
    fn values() {
        let cases = [
            ("2 * cycles == 21", 1.0),
            ("cycles <= 10", 0.0),
            ("not zero and stages == 3", 1.0),
            ("zero and 1 / zero", 0.0),
            ("(0 - 1) % stages", 2.0),
            ("0 - 7 / 2", -3.0),
            ("cdiv(7, 2) + max(stages, 5)", 9.0),
            ("stages > 2 ? cycles : 0", 10.5),
            ("1 << stages | 1", 9.0),
        ];
        for (text, want) in cases {
            assert_eq!(evaluate("check", text, &value), Ok(want), "{text}");
        }
    }

    #[test]
    fn mistakes() {
        for (text, message) in [
            ("cycls == 1", "`cycls` is not a number"),
            ("1 / zero", "division by zero"),
            ("1 +", "expected"),
            ("1 1", "expected"),
            ("", "expected"),
            ("bytes(a)", "cannot be called"),
            ("cycles & 1", "bits of a fraction"),
            ("1\n2", "expected"),
        ] {
            let errors = evaluate("check", text, &value).expect_err(text);
            assert!(errors[0].message.contains(message), "{text}: {}", errors[0].message);
            assert!(errors[0].span.end <= text.len(), "{text}");
        }
    }
}
