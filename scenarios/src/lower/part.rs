//! Parts of a place: selectors and pieces.

use warpline_sim::ir::{Class, Expr, Part, Selection};

use super::Lower;
use super::header::axis_name;
use super::shape::Extent;
use crate::ast::{self, Axis, SelKind, Selector, Span};

/// A selection under construction.
pub(super) struct Selecting {
    pub(super) sel: Selection,
    pub(super) extent: Extent,
    /// The axis and number of pieces of the other operand.
    pub(super) partner: Option<(u32, Axis)>,
}

impl Lower<'_> {
    pub(super) fn selectors(&mut self, s: &mut Selecting, sels: &[Selector]) -> Option<()> {
        for sel in sels {
            match &sel.kind {
                SelKind::Part(axis, index, of) => {
                    let of = match (of, self.ctx.members) {
                        (Some(e), _) => self.bounded(e, "the number of parts", 1, 1 << 16)?,
                        (None, Some(m)) => m.count as i64,
                        (None, None) => {
                            let word = if *axis == Axis::Rows { "rows" } else { "cols" };
                            let d = self
                                .diag(
                                    &sel.span,
                                    "no role with members stands around this",
                                    "how many parts there are is not known",
                                )
                                .help(format!("write `.{word}(i, n)`: part i of n"));
                            self.error(d);
                            return None;
                        }
                    };
                    let index = self.expr(index)?;
                    self.part(s, *axis, index, of, &sel.span)?;
                }
                SelKind::Half(e) => {
                    let index = self.expr(e)?;
                    self.part(s, Axis::Rows, index, 2, &sel.span)?;
                }
                SelKind::Block(r, c) => {
                    let (r, c) = (self.expr(r)?, self.expr(c)?);
                    let whole = self.extent(&s.extent);
                    for (axis, index) in [(Axis::Rows, r), (Axis::Cols, c)] {
                        let have = whole.map(|w| w[axis as usize]);
                        let of = have.map_or(1, |h| h / 8);
                        if let Some(h) = have
                            && h % 8 != 0
                        {
                            let message = format!("{h} {} do not divide into blocks of 8", axis_name(axis));
                            let d = self.diag(&sel.span, message, "a multiple of 8 was expected");
                            self.value_error(d);
                            return None;
                        }
                        self.part(s, axis, index, of, &sel.span)?;
                    }
                    s.extent.fixed = Some([8, 8]);
                }
                SelKind::Digits(digits) => self.digits(s, digits, &sel.span)?,
            }
        }
        Some(())
    }

    /// `.0`, `.01`: declared pieces; otherwise two digits cut rows and columns in two.
    fn digits(&mut self, s: &mut Selecting, digits: &str, span: &Span) -> Option<()> {
        let (object, facts) = self.object(s.extent.obj);
        let (name, class) = (object.name.clone(), object.class);
        let index: i64 = digits.parse().unwrap_or(i64::MAX);
        if let Some((n, axis)) = facts.pieces {
            return self.part(s, axis, Expr::Const(index), n as i64, span);
        }
        if class == Class::Shared {
            let d = self
                .diag(span, format!("`{name}` has no pieces"), "a buffer with pieces was expected")
                .help(format!("declare `shared {name}... pieces 2 rows`, or write `.rows({index}, 2)`"));
            self.error(d);
            return None;
        }
        if digits.len() == 2 {
            for (axis, digit) in [(Axis::Rows, index / 10), (Axis::Cols, index % 10)] {
                self.part(s, axis, Expr::Const(digit), 2, span)?;
            }
            return Some(());
        }
        let (n, axis) = s.partner.unwrap_or((2, Axis::Rows));
        self.part(s, axis, Expr::Const(index), n as i64, span)
    }

    /// A second bracket: a piece selected by an expression.
    pub(super) fn piece(&mut self, s: &mut Selecting, e: &ast::Expr) -> Option<()> {
        let index = self.expr(e)?;
        let (object, facts) = self.object(s.extent.obj);
        let Some((n, axis)) = facts.pieces else {
            let name = object.name.clone();
            let d = self
                .diag(&e.span, format!("`{name}` has no pieces"), "a second index chooses a piece")
                .help(format!("declare it with `pieces n rows` or `pieces n cols`: `shared {name}... pieces 4 cols`"));
            self.error(d);
            return None;
        };
        self.part(s, axis, index, n as i64, &e.span)
    }

    /// Cuts the current selection into `of` equal parts and selects one.
    fn part(&mut self, s: &mut Selecting, axis: Axis, index: Expr, of: i64, span: &Span) -> Option<()> {
        let name = self.program.objects[s.extent.obj as usize].name.clone();
        let of = of.max(1);
        if let Some(have) = self.extent(&s.extent).map(|e| e[axis as usize])
            && (have % of != 0 || have < of)
        {
            let message = format!("{have} {} of `{name}` do not divide into {of} equal parts", axis_name(axis));
            let d = self.diag(span, message, format!("a divisor of {have} was expected"));
            self.value_error(d);
            return None;
        }
        if let Some(v) = index.constant()
            && !(0..of).contains(&v)
        {
            let message = format!("part {v} of `{name}`, which is cut into {of}");
            let d = self.diag(span, message, format!("0 to {} were expected", of - 1));
            self.value_error(d);
            return None;
        }
        let part = Part { index, of: of as u32 };
        match axis {
            Axis::Rows => s.sel.rows.push(part),
            Axis::Cols => s.sel.cols.push(part),
        }
        s.extent.div[axis as usize] = s.extent.div[axis as usize].saturating_mul(of).min(1 << 40);
        if let Some(f) = &mut s.extent.fixed {
            f[axis as usize] = (f[axis as usize] / of).max(1);
        }
        Some(())
    }
}
