//! Expressions and conditions of generated guards, with their text and their value.

use std::collections::BTreeMap;
use std::fmt;

/// Values of names at one point: counts, loop counters, coordinates.
pub(super) type Point = BTreeMap<String, i64>;

/// An arithmetic expression of the kernel language.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    /// A constant.
    Num(i64),
    /// A name.
    Name(String),
    /// `a op b`, with one of `+ - * / %`.
    Binary(char, Box<Expr>, Box<Expr>),
    /// `min(a, b)` or `max(a, b)`.
    Call(&'static str, Box<Expr>, Box<Expr>),
}

/// A condition of the kernel language.
#[derive(Clone, Debug)]
pub(super) enum Cond {
    /// A comparison.
    Compare(&'static str, Expr, Expr),
    /// All of these hold.
    And(Vec<Cond>),
    /// One of these holds.
    Or(Box<Cond>, Box<Cond>),
    /// It does not hold.
    Not(Box<Cond>),
}

impl Expr {
    /// A name.
    pub(super) fn name(name: &str) -> Expr {
        Expr::Name(name.to_string())
    }

    /// `a op b`.
    pub(super) fn binary(op: char, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, Box::new(a), Box::new(b))
    }

    /// The value at a point; `None` where it names something the point lacks or divides by zero.
    pub(super) fn value(&self, at: &Point) -> Option<i64> {
        Some(match self {
            Expr::Num(n) => *n,
            Expr::Name(name) => *at.get(name)?,
            Expr::Binary(op, a, b) => {
                let (a, b) = (a.value(at)?, b.value(at)?);
                match op {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ if b <= 0 => return None,
                    '/' => a.div_euclid(b),
                    _ => a.rem_euclid(b),
                }
            }
            Expr::Call(name, a, b) => {
                let (a, b) = (a.value(at)?, b.value(at)?);
                if *name == "min" { a.min(b) } else { a.max(b) }
            }
        })
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Num(n) if *n < 0 => write!(f, "({n})"),
            Expr::Num(n) => write!(f, "{n}"),
            Expr::Name(name) => f.write_str(name),
            Expr::Binary(op, a, b) => {
                let side = |e: &Expr| match e {
                    Expr::Binary(..) => format!("({e})"),
                    _ => e.to_string(),
                };
                write!(f, "{} {op} {}", side(a), side(b))
            }
            Expr::Call(name, a, b) => write!(f, "{name}({a}, {b})"),
        }
    }
}

impl fmt::Display for Cond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cond::Compare(op, a, b) => write!(f, "{a} {op} {b}"),
            Cond::And(list) => {
                let parts: Vec<String> = list
                    .iter()
                    .map(|c| if matches!(c, Cond::Or(..) | Cond::And(_)) { format!("({c})") } else { c.to_string() })
                    .collect();
                f.write_str(&parts.join(" and "))
            }
            Cond::Or(a, b) => write!(f, "({a}) or ({b})"),
            Cond::Not(a) => write!(f, "not ({a})"),
        }
    }
}
