//! Random guards over the names that a statement can see.

use super::expr::{Cond, Expr, Point};
use crate::dice::Dice;

/// The names that a statement can see.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Trip counts and other numbers that a parameter sets.
    pub(super) counts: Vec<String>,
    /// Loop counters, each with the count that bounds it.
    pub(super) counters: Vec<(String, String)>,
    /// Rows and columns of the grid, in CTAs, if guards may read the coordinates.
    pub(super) grid: Option<(i64, i64)>,
    /// Whether guards may read the member of a role (`self`).
    pub(super) members: bool,
    /// Percentage of conjunctions that bound one term to an interval.
    pub(super) intervals: i64,
    /// Variables, whose values the generator does not track.
    pub(super) vars: Vec<String>,
}

/// A guard and a point at which it holds.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    /// The condition.
    pub(super) cond: Cond,
    /// Values of the counts and a CTA at which the guard holds for some counters; empty where it holds nowhere.
    pub(super) witness: Point,
    /// Whether a conjunction is written as nested `if`s.
    pub(super) nested: bool,
}

/// The purpose of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// It holds somewhere.
    Sometimes,
    /// It holds nowhere.
    Never,
}

/// Largest trip count that a guard singles out.
fn scale(dice: &mut Dice) -> i64 {
    match dice.range(1, 100) {
        1..=66 => dice.range(2, 12),
        67..=84 => dice.range(8, 40),
        85..=97 => dice.range(30, 160),
        _ => dice.range(200, 1200),
    }
}

impl Scope {
    /// A random point of the scope.
    fn point(&self, dice: &mut Dice) -> Point {
        let mut at = Point::new();
        let top = scale(dice);
        for (k, name) in self.counts.iter().enumerate() {
            // A product of two large counts takes too long to run.
            let top = if k == 0 { top } else { top.min(12) };
            let n = if dice.chance(50) { top } else { dice.range(1, top) };
            at.insert(name.clone(), n);
        }
        for (name, count) in &self.counters {
            let n = at.get(count).copied().unwrap_or(6);
            at.insert(name.clone(), dice.range(0, n - 1).max(0));
        }
        if self.members {
            at.insert("self".to_string(), dice.range(0, 1));
        }
        if let Some((m, n)) = self.grid {
            let (row, col) = (dice.range(0, m - 1), dice.range(0, n - 1));
            at.extend([("cta.m".to_string(), row), ("cta.n".to_string(), col), ("cta.id".to_string(), col * m + row)]);
        }
        at
    }

    /// A name, counters and coordinates more often than counts.
    fn name(&self, dice: &mut Dice) -> Expr {
        let mut names: Vec<&str> = Vec::new();
        self.counters.iter().for_each(|(name, _)| names.extend([name.as_str(); 3]));
        self.counts.iter().for_each(|name| names.extend([name.as_str(); 2]));
        self.vars.iter().for_each(|name| names.extend([name.as_str(); 4]));
        match self.grid {
            Some((_, 1)) => names.extend(["cta.m"; 3]),
            Some(_) => names.extend(["cta.m", "cta.m", "cta.n", "cta.n", "cta.id"]),
            None => {}
        }
        if self.members {
            names.push("self");
        }
        if names.is_empty() { Expr::Num(dice.range(0, 3)) } else { Expr::name(dice.word(&names)) }
    }

    /// A term: a name, or a few of them combined.
    fn term(&self, dice: &mut Dice) -> Expr {
        let x = self.name(dice);
        match dice.range(1, 20) {
            1..=8 => x,
            9 | 10 => Expr::binary('%', x, Expr::Num(dice.range(2, 12))),
            11 => Expr::binary('/', x, Expr::Num(dice.range(2, 5))),
            12 | 13 => Expr::binary('-', self.name(dice), x),
            14 => Expr::binary('+', self.name(dice), x),
            15 => Expr::binary('*', Expr::Num(dice.range(2, 4)), x),
            16 => Expr::binary('*', self.name(dice), x),
            17 => Expr::Call(dice.word(&["min", "max"]), Box::new(x), Box::new(self.name(dice))),
            18 => Expr::Call(dice.word(&["min", "max"]), Box::new(x), Box::new(Expr::Num(dice.range(1, 9)))),
            19 => {
                let sum = Expr::binary('+', x, self.name(dice));
                Expr::binary('%', sum, Expr::Num(dice.range(2, 7)))
            }
            _ => {
                let twice = Expr::binary('*', Expr::Num(2), x);
                Expr::binary('-', self.name(dice), twice)
            }
        }
    }

    /// A comparison that holds at a point, as far as the point tells.
    fn comparison(&self, dice: &mut Dice, at: &Point) -> Cond {
        let x = self.term(dice);
        let Some(v) = x.value(at) else {
            let op = dice.word(&["==", "==", ">=", "<", "!="]);
            return Cond::Compare(op, x, Expr::Num(dice.range(0, 9)));
        };
        if dice.chance(15) {
            let y = self.term(dice);
            if let Some(w) = y.value(at) {
                let op = match v.cmp(&w) {
                    std::cmp::Ordering::Less => "<",
                    std::cmp::Ordering::Equal => "==",
                    std::cmp::Ordering::Greater => ">",
                };
                return Cond::Compare(op, x, y);
            }
        }
        let slack = if dice.chance(60) { 0 } else { dice.range(0, 4) };
        let (op, c) = match dice.range(1, 10) {
            1..=4 => ("==", v),
            5 | 6 => (">=", v - slack),
            7 => (">", v - 1 - slack),
            8 => ("<=", v + slack),
            9 => ("<", v + 1 + slack),
            _ => ("!=", v + 1 + slack),
        };
        Cond::Compare(op, x, Expr::Num(c))
    }

    /// Two comparisons of one term that hold in an interval around a point.
    fn interval(&self, dice: &mut Dice, at: &Point) -> Vec<Cond> {
        let x = if dice.chance(70) { self.name(dice) } else { self.term(dice) };
        let Some(v) = x.value(at) else { return Vec::new() };
        let (low, high) = (v - dice.range(0, 3), v + dice.range(0, 3));
        let compare = |op, x: Expr, c| Cond::Compare(op, x, Expr::Num(c));
        let low = if dice.chance(70) { compare(">=", x.clone(), low) } else { compare(">", x.clone(), low - 1) };
        let high = if dice.chance(70) { compare("<=", x, high) } else { compare("<", x, high + 1) };
        if dice.chance(80) { vec![low, high] } else { vec![high, low] }
    }

    /// A condition that holds nowhere.
    fn nowhere(&self, dice: &mut Dice) -> Cond {
        let x = self.name(dice);
        let c = dice.range(0, 9);
        let low = Cond::Compare(">=", x.clone(), Expr::Num(c + dice.range(1, 3)));
        let high = Cond::Compare(dice.word(&["<", "<="]), x.clone(), Expr::Num(c));
        match dice.range(1, 5) {
            1 => {
                let m = dice.range(2, 6);
                Cond::Compare("==", Expr::binary('%', x, Expr::Num(m)), Expr::Num(m + dice.range(0, 4)))
            }
            2 if self.counters.iter().any(|(_, n)| self.counts.contains(n)) => {
                let bounded: Vec<_> = self.counters.iter().filter(|(_, n)| self.counts.contains(n)).collect();
                let (i, n) = (*dice.pick(&bounded)).clone();
                Cond::Compare(">=", Expr::Name(i), Expr::Name(n))
            }
            3 if self.grid.is_some() => {
                let (m, _) = self.grid.unwrap_or((1, 1));
                Cond::Compare(">=", Expr::name("cta.m"), Expr::Num(m + dice.range(0, 3)))
            }
            _ => Cond::And(vec![low, high]),
        }
    }

    /// A guard of one to four comparisons.
    pub(super) fn guard(&self, dice: &mut Dice, aim: Aim) -> Guard {
        let at = self.point(dice);
        let n = *dice.pick(&[1, 1, 1, 2, 2, 2, 3, 4]);
        let mut list: Vec<Cond> = Vec::new();
        if n > 1 && dice.chance(self.intervals.max(30)) {
            list.extend(self.interval(dice, &at));
        }
        while list.len() < n {
            list.push(self.comparison(dice, &at));
        }
        if aim == Aim::Never {
            let place = dice.range(0, list.len() as i64 - 1) as usize;
            list[place] = self.nowhere(dice);
        } else if n > 1 && dice.chance(12) {
            let last = list.pop();
            let other = list.pop().zip(last).map(|(a, b)| Cond::Or(Box::new(a), Box::new(b)));
            list.extend(other);
        }
        if aim == Aim::Sometimes && dice.chance(8) {
            list = list.into_iter().map(negated_twice).collect();
        }
        let flat: Vec<Cond> =
            list.into_iter().flat_map(|c| if let Cond::And(parts) = c { parts } else { vec![c] }).collect();
        let mut witness = at;
        if aim == Aim::Never {
            witness.clear();
        }
        witness.retain(|name, _| self.counts.contains(name) || name == "cta.id");
        let cond = if flat.len() == 1 { flat[0].clone() } else { Cond::And(flat) };
        Guard { cond, witness, nested: dice.chance(45) }
    }
}

/// The same condition as a negation of its opposite.
fn negated_twice(c: Cond) -> Cond {
    let Cond::Compare(op, a, b) = c else { return c };
    let opposite = match op {
        "<" => ">=",
        "<=" => ">",
        ">" => "<=",
        ">=" => "<",
        "==" => "!=",
        _ => "==",
    };
    Cond::Not(Box::new(Cond::Compare(opposite, a, b)))
}

impl Guard {
    /// Text that executes `then` under the guard and `other` otherwise; either may be empty.
    pub(super) fn around(&self, then: &[String], other: &[String]) -> Vec<String> {
        let parts = match (&self.cond, self.nested) {
            (Cond::And(list), true) => list.clone(),
            (cond, _) => vec![cond.clone()],
        };
        branches(&parts, then, other)
    }
}

fn branches(parts: &[Cond], then: &[String], other: &[String]) -> Vec<String> {
    let Some((first, rest)) = parts.split_first() else { return then.to_vec() };
    let inner = branches(rest, then, other);
    let deeper = |lines: &[String]| lines.iter().map(|l| format!("  {l}")).collect::<Vec<_>>();
    if inner.is_empty() {
        let mut lines = vec![format!("if not ({first}):")];
        lines.extend(deeper(other));
        return lines;
    }
    let mut lines = vec![format!("if {first}:")];
    lines.extend(deeper(&inner));
    if !other.is_empty() {
        lines.push("else:".to_string());
        lines.extend(deeper(other));
    }
    lines
}
