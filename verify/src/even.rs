//! How far an expression moves when the loop variables in it move by a period.

use warpline_sim::ir::{Binary, Env, Expr, Instr, Program, Unary};

use crate::shift::Reason;

/// The variables that move, and what was learned on the way.
pub(crate) struct Even {
    pub(crate) period: i64,
    pub(crate) moving: Vec<bool>,
    /// Once moving variables are past this, comparisons with what stands still have settled.
    pub(crate) threshold: i64,
    /// A bound of each variable that only counts through loops of a fixed length.
    pub(crate) sizes: Vec<Option<i64>>,
}

/// Bounds of the variables that only take constants, or count up to a constant bound of their loops.
pub(crate) fn sizes(prog: &Program) -> Vec<Option<i64>> {
    let mut list: Vec<Option<i64>> = vec![Some(0); prog.vars.len()];
    for l in &prog.loops {
        if let Some(v) = l.var {
            let bound = l.bound.as_ref().and_then(Expr::constant);
            list[v as usize] = list[v as usize].zip(bound).map(|(a, b)| a.max(b.abs()));
        }
    }
    let counts = |v: u16| prog.loops.iter().any(|l| l.var == Some(v));
    for i in &prog.code {
        let Instr::Set(v, e) = i else { continue };
        let most = match e {
            Expr::Const(c) => Some(c.abs()),
            // The next index; it leaves its loop at most a step behind the bound.
            Expr::Binary(Binary::Add, p) if counts(*v) && p.0 == Expr::Var(*v) => p.1.constant().filter(|c| *c > 0),
            _ => None,
        };
        let slot = &mut list[*v as usize];
        *slot = slot.zip(most).and_then(|(a, b)| a.checked_add(b));
    }
    list
}

impl Even {
    /// How far an expression moves in a period; `a` and `b` are it in two compilations a period apart.
    pub(crate) fn shift(&mut self, a: &Expr, b: &Expr) -> Result<i64, Reason> {
        let odd = || Err("a number does not move evenly with the loop".to_string());
        match (a, b) {
            (Expr::Const(x), Expr::Const(y)) => Ok(y - x),
            (Expr::Var(v), Expr::Var(w)) if v == w => Ok(if self.moving[*v as usize] { self.period } else { 0 }),
            (Expr::Env(x), Expr::Env(y)) if x == y => Ok(0),
            (Expr::Unary(o, x), Expr::Unary(p, y)) if o == p => match self.shift(x, y)? {
                0 => Ok(0),
                by if *o == Unary::Neg => Ok(-by),
                _ => odd(),
            },
            (Expr::If(p), Expr::If(q)) => {
                if self.shift(&p.0, &q.0)? != 0 {
                    return odd();
                }
                let (x, y) = (self.shift(&p.1, &q.1)?, self.shift(&p.2, &q.2)?);
                if x == y { Ok(x) } else { odd() }
            }
            (Expr::Binary(o, p), Expr::Binary(o2, q)) if o == o2 => {
                let (x, y) = (self.shift(&p.0, &q.0)?, self.shift(&p.1, &q.1)?);
                self.binary(*o, p, (x, y))
            }
            _ => odd(),
        }
    }

    fn binary(&mut self, o: Binary, p: &(Expr, Expr), (x, y): (i64, i64)) -> Result<i64, Reason> {
        let odd = || Err("a number does not move evenly with the loop".to_string());
        let by_const = p.1.constant().filter(|c| *c > 0 && y == 0);
        match o {
            Binary::Add => Ok(x + y),
            Binary::Sub => Ok(x - y),
            _ if x == 0 && y == 0 => Ok(0),
            Binary::Mul => by_const.map_or_else(odd, |c| Ok(x * c)),
            Binary::Div => match by_const {
                Some(c) if x % c == 0 => Ok(x / c),
                _ => odd(),
            },
            Binary::Rem => match by_const {
                Some(c) if x % c == 0 => Ok(0),
                _ => odd(),
            },
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne if x == y => Ok(0),
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => {
                // One side stands still: the answer settles once the other has gone past it.
                let settled = match (x, y) {
                    (_, 0) => self.size(&p.1).and_then(|c| self.past(&p.0, c)),
                    (0, _) => self.size(&p.0).and_then(|c| self.past(&p.1, c)),
                    _ => None,
                };
                match settled {
                    Some(at) => {
                        self.threshold = self.threshold.max(at);
                        Ok(0)
                    }
                    None => Err("a number that moves with the loop is compared with one that moves otherwise".into()),
                }
            }
            Binary::Min | Binary::Max if x == y => Ok(x),
            _ => odd(),
        }
    }

    /// From which value of the moving variable on a moving expression is beyond ±`c`.
    fn past(&self, e: &Expr, c: i64) -> Option<i64> {
        match e {
            Expr::Var(v) if self.moving[*v as usize] => c.checked_add(1),
            // A number counted from the end: it has settled where this kernel's is past, for longer runs have a larger one.
            Expr::Const(k) => (*k > c).then_some(0),
            Expr::Unary(Unary::Neg, x) => self.past(x, c),
            Expr::Binary(o, p) => {
                let more = |by: &Expr| self.size(by).and_then(|s| c.checked_add(s));
                match o {
                    Binary::Add | Binary::Sub => match (more(&p.1), more(&p.0)) {
                        (Some(c), _) if self.moves(&p.0) => self.past(&p.0, c),
                        (_, Some(c)) if self.moves(&p.1) => self.past(&p.1, c),
                        _ => None,
                    },
                    Binary::Mul => p.1.constant().filter(|k| *k > 0).and_then(|_| self.past(&p.0, c)),
                    Binary::Div => {
                        let k = p.1.constant().filter(|k| *k > 0)?;
                        self.past(&p.0, c.checked_add(1)?.checked_mul(k)?)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn moves(&self, e: &Expr) -> bool {
        let mut found = false;
        e.visit(&mut |x| {
            if let Expr::Var(v) = x {
                found |= self.moving[*v as usize];
            }
        });
        found
    }

    /// A tile that lies a fixed way behind or before the loop: runs must be long enough to come across it twice.
    pub(crate) fn reaches_back(&mut self, e: &Expr) {
        if let Expr::Binary(Binary::Add | Binary::Sub, p) = e {
            for side in [&p.0, &p.1] {
                if let Some(c) = side.constant() {
                    self.threshold = self.threshold.max(c.saturating_abs().saturating_add(1));
                }
                self.reaches_back(side);
            }
        }
    }

    /// A bound of the magnitude of an expression that stands still, without knowing the run.
    fn size(&self, e: &Expr) -> Option<i64> {
        match e {
            Expr::Const(c) => Some(c.abs()),
            Expr::Var(v) if !self.moving[*v as usize] => self.sizes[*v as usize],
            // Warps and CTAs of a cluster; grid coordinates have no small bound.
            Expr::Env(Env::Warp | Env::CtaRank) => Some(64),
            Expr::Unary(_, x) => self.size(x).map(|s| s.max(1)),
            Expr::Binary(o, p) => match o {
                Binary::Add | Binary::Sub => self.size(&p.0)?.checked_add(self.size(&p.1)?),
                Binary::Mul => self.size(&p.0)?.checked_mul(self.size(&p.1)?),
                Binary::Rem => self.size(&p.1),
                Binary::Div => self.size(&p.0)?.checked_add(1),
                Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => Some(1),
                Binary::And | Binary::Or => Some(1),
                _ => None,
            },
            Expr::If(p) => Some(self.size(&p.1)?.max(self.size(&p.2)?)),
            Expr::Var(_) | Expr::Env(_) | Expr::Tape(..) => None,
        }
    }
}
