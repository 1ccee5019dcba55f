//! Whether each access begins inside its matrix, for every size of grid and matrix.
//!
//! The coordinate of a block is at most `constant + sum of factor * (largest digit)`. The largest coordinate of a CTA is
//! one less than a dimension of the grid. Dimensions and extents are bounded by linear functions of the parameters, so
//! an access is inside where the difference of two linear functions is positive.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{Binary, Class, Expr, Instr, MoveKind, Op, ParamId, Pc, Place, Program};

use crate::coordinates::{Digit, Form, Forms};

/// A linear function of the parameters: `(constant + sum of factor * parameter) / by`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Linear {
    constant: i128,
    terms: BTreeMap<ParamId, i128>,
    by: i128,
}

impl Linear {
    fn constant(c: i64) -> Linear {
        Linear { constant: c.into(), terms: BTreeMap::new(), by: 1 }
    }

    fn parameter(p: ParamId) -> Linear {
        Linear { constant: 0, terms: BTreeMap::from([(p, 1)]), by: 1 }
    }

    /// The sum with a multiple of another function.
    fn plus(&self, other: &Linear, times: i64) -> Option<Linear> {
        let mut sum = self.scaled(other.by)?;
        let other = other.scaled(self.by.checked_mul(times.into())?)?;
        sum.constant = sum.constant.checked_add(other.constant)?;
        for (p, f) in &other.terms {
            let term = sum.terms.entry(*p).or_insert(0);
            *term = term.checked_add(*f)?;
        }
        sum.terms.retain(|_, f| *f != 0);
        Some(Linear { by: self.by.checked_mul(other.by)?, ..sum })
    }

    /// The numerator times a number.
    fn scaled(&self, by: i128) -> Option<Linear> {
        let terms: Option<BTreeMap<_, _>> = self.terms.iter().map(|(p, f)| Some((*p, f.checked_mul(by)?))).collect();
        Some(Linear { constant: self.constant.checked_mul(by)?, terms: terms?, by: self.by })
    }

    fn divided(&self, by: i64) -> Option<Linear> {
        Some(Linear { by: self.by.checked_mul(by.into())?, ..self.clone() })
    }

    /// The number of a function without parameters.
    fn number(&self) -> Option<i64> {
        let whole = self.terms.is_empty() && self.constant % self.by == 0;
        whole.then(|| i64::try_from(self.constant / self.by).ok()).flatten()
    }
}

/// Bounds of an expression over symbols.
#[derive(Clone, Debug)]
struct Bounds {
    least: Linear,
    most: Linear,
}

impl Bounds {
    fn exact(x: Linear) -> Bounds {
        Bounds { least: x.clone(), most: x }
    }

    /// The number of an expression that has one value.
    fn number(&self) -> Option<i64> {
        self.least.number().filter(|_| self.least == self.most)
    }
}

/// The accesses of a kernel, and the sizes that its matrices and its grid depend on.
pub(super) struct Ranges<'p> {
    /// The kernel as given, with the forms of its grid and its extents.
    prog: &'p Program,
    /// The kernel of any size, with symbols for trip counts only.
    kernel: &'p Program,
    forms: Forms<'p>,
    sizes: &'p BTreeSet<ParamId>,
}

impl<'p> Ranges<'p> {
    pub(super) fn of(prog: &'p Program, kernel: &'p Program, sizes: &'p BTreeSet<ParamId>) -> Ranges<'p> {
        Ranges { prog, kernel, forms: Forms::of(kernel), sizes }
    }

    /// Whether every block that threads access without a mask begins inside its matrix, along each axis whose extent
    /// depends on a size. Runs check the other axes, and that no coordinate is below zero.
    pub(super) fn all_inside(&self) -> bool {
        (0..).zip(&self.kernel.code).all(|(pc, i)| match i {
            Instr::Op { op: Op::Move { how, src, dst, masked, .. }, .. } => {
                let checked = !*masked && !matches!(how, MoveKind::TmaLoad | MoveKind::TmaStore);
                !checked || [src, dst].into_iter().all(|place| self.inside(place, pc))
            }
            _ => true,
        })
    }

    fn inside(&self, place: &Place, pc: Pc) -> bool {
        let o = &self.prog.objects[place.obj as usize];
        if o.class != Class::Global {
            return true;
        }
        let Some(Some(extents)) = self.prog.forms.extents.get(place.obj as usize) else { return true };
        extents.iter().enumerate().all(|(axis, extent)| {
            let by = if place.elements { 1 } else { o.block[axis] };
            let depends = !self.prog.parameters_of(extent).is_disjoint(self.sizes);
            !depends || place.at.get(axis).is_none_or(|e| self.begins_below((e, pc), by, extent).unwrap_or(false))
        })
    }

    /// Whether a coordinate of an instruction, in blocks of `by` elements, begins below an extent.
    fn begins_below(&self, (e, pc): (&Expr, Pc), by: i64, extent: &Expr) -> Option<bool> {
        let first = self.most(&self.forms.of_coordinate(e, pc)?)?;
        let room = self.bounds(extent)?.least.plus(&first, by.checked_neg()?)?;
        // Parameters whose factor is not zero must be extents themselves, which are at least 1.
        let mut least = room.constant;
        for (p, f) in &room.terms {
            if *f < 0 || !self.is_extent(*p) {
                return None;
            }
            least = least.checked_add(*f)?;
        }
        Some(least > 0)
    }

    fn is_extent(&self, p: ParamId) -> bool {
        self.prog.forms.extents.iter().flatten().flatten().any(|e| *e == Expr::Param(p))
    }

    /// The largest value of a coordinate.
    fn most(&self, form: &Form) -> Option<Linear> {
        let mut most = Linear::constant(form.constant);
        for (digit, factor) in &form.terms {
            match digit {
                _ if *factor > 0 => most = most.plus(&self.largest(digit)?, *factor)?,
                // These can be below zero where no agent evaluates them.
                Digit::OfWarp(..) | Digit::Quotient(..) => return None,
                _ => {}
            }
        }
        Some(most)
    }

    /// The largest value of a digit; each digit is at least 0.
    fn largest(&self, digit: &Digit) -> Option<Linear> {
        let grid = |axis: usize| Some(self.bounds(&self.prog.forms.grid.as_ref()?[axis])?.most);
        let count = match digit {
            Digit::ClusterM => grid(0)?,
            Digit::ClusterN => grid(1)?,
            Digit::ClusterZ => grid(2)?,
            Digit::ClusterId => self.product([grid(0)?, grid(1)?, grid(2)?])?,
            Digit::Rank | Digit::Turn(_) | Digit::OfWarp(..) | Digit::Copy(_) | Digit::Remainder(..) => {
                Linear::constant(self.forms.count(digit)?.max(1))
            }
            Digit::Quotient(x, by) => return self.most(x)?.divided(*by),
        };
        count.plus(&Linear::constant(1), -1)
    }

    /// The product of three numbers, of which two must be constant.
    fn product(&self, all: [Linear; 3]) -> Option<Linear> {
        let open = all.iter().position(|x| x.number().is_none()).unwrap_or(0);
        let others = all.iter().enumerate().filter(|(i, _)| *i != open);
        let times = others.map(|(_, x)| x.number()).try_fold(1i64, |product, n| product.checked_mul(n?))?;
        Linear::constant(0).plus(&all[open], times)
    }

    /// Bounds of an expression over symbols; `None` without linear bounds.
    fn bounds(&self, e: &Expr) -> Option<Bounds> {
        match e {
            Expr::Const(c) => Some(Bounds::exact(Linear::constant(*c))),
            Expr::Param(p) => {
                let symbol = &self.prog.symbols[*p as usize];
                match &symbol.definition {
                    Some(e) => self.bounds(e),
                    None if self.sizes.contains(p) => Some(Bounds::exact(Linear::parameter(*p))),
                    // A trip count is varied, too.
                    None if self.kernel.symbols.iter().any(|s| s.name == symbol.name) => None,
                    None => Some(Bounds::exact(Linear::constant(symbol.value))),
                }
            }
            Expr::Binary(op, pair) => {
                let (x, y) = (self.bounds(&pair.0)?, self.bounds(&pair.1)?);
                match op {
                    Binary::Add => Some(Bounds { least: x.least.plus(&y.least, 1)?, most: x.most.plus(&y.most, 1)? }),
                    Binary::Sub => Some(Bounds { least: x.least.plus(&y.most, -1)?, most: x.most.plus(&y.least, -1)? }),
                    Binary::Mul => {
                        let (x, by) = match (x.number(), y.number()) {
                            (_, Some(by)) => (x, by),
                            (Some(by), None) => (y, by),
                            _ => return None,
                        };
                        let times = |l: &Linear| Linear::constant(0).plus(l, by);
                        let (a, b) = (times(&x.least)?, times(&x.most)?);
                        Some(if by < 0 { Bounds { least: b, most: a } } else { Bounds { least: a, most: b } })
                    }
                    Binary::Div | Binary::CeilDiv => {
                        let by = y.number().filter(|by| *by > 0)?;
                        // Rounding down takes at most `by - 1` from the dividend, and rounding up adds at most that.
                        let rest = match self.is_multiple(&pair.0, by) {
                            true => Linear::constant(0),
                            false => Linear::constant(by - 1),
                        };
                        let (least, most) = match op {
                            Binary::Div => (x.least.plus(&rest, -1)?, x.most),
                            _ => (x.least, x.most.plus(&rest, 1)?),
                        };
                        Some(Bounds { least: least.divided(by)?, most: most.divided(by)? })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether the kernel requires that an expression is a multiple of a number: `require m % 64 == 0`.
    fn is_multiple(&self, e: &Expr, of: i64) -> bool {
        let constant = |e: &Expr| self.bounds(e)?.number();
        let requires = |cond: &Expr| {
            let Expr::Binary(Binary::Eq, p) = cond else { return false };
            let Expr::Binary(Binary::Rem, q) = &p.0 else { return false };
            p.1 == Expr::Const(0) && q.0 == *e && constant(&q.1).is_some_and(|c| c > 0 && c % of == 0)
        };
        self.prog.forms.requires.iter().any(requires)
    }
}
