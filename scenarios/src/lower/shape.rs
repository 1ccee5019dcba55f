//! Shapes: missing shapes are solved from places that must agree; then all places are checked.

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::{Class, Dtype, Instr, ObjId, Op};

use super::{Lower, cuts::uniform_ends};
use crate::ast::Span;

/// The extent of a place: a whole slot or block divided by its parts, or a fixed number of elements.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    /// The object.
    pub(super) obj: ObjId,
    /// Number of parts of its rows and columns.
    pub(super) div: [i64; 2],
    /// Rows and columns of a part that is named by its size (`.block`).
    pub(super) fixed: Option<[i64; 2]>,
    /// Place in the source.
    pub(super) span: Span,
}

/// Places whose shapes must agree.
#[derive(Clone, Debug)]
pub(super) enum Agree {
    /// The source and the destination of a move.
    Same(Extent, Extent),
    /// A read and the tile that it expects.
    Tile(Extent, Extent),
    /// `a [M, K]`, `b [K, N]`, `acc [M, N]`; a pair's `b` is half of its right operand.
    Mma { a: Extent, b: Extent, acc: Extent, pair: bool },
}

impl Lower<'_> {
    /// Rows and columns of a place, if they are known.
    pub(super) fn extent(&self, extent: &Extent) -> Option<[i64; 2]> {
        extent.fixed.or_else(|| {
            let [r, c] = self.facts[extent.obj as usize].shape?;
            Some([r / extent.div[0], c / extent.div[1]])
        })
    }

    /// Records a rule in the first walk, and checks it in the second.
    pub(super) fn agree(&mut self, rule: Agree) {
        if !self.last_walk {
            let list = if self.ctx.dead { &mut self.agree_dead } else { &mut self.agree };
            list.push(rule);
            return;
        }
        if self.ctx.dead {
            return;
        }
        match &rule {
            Agree::Same(a, b) => self.check_same(a, b, "the destination"),
            Agree::Tile(a, b) => self.check_same(a, b, "the tile it should hold"),
            Agree::Mma { a, b, acc, pair } => self.check_mma(a, b, acc, *pair),
        }
    }

    /// Gives every object without a shape the shape of its first partner with a known one. Partners in unreachable code
    /// count only where there is no other. So a kernel compiles at every trip count, including zero.
    pub(super) fn solve(&mut self) {
        let (live, dead) = (std::mem::take(&mut self.agree), std::mem::take(&mut self.agree_dead));
        self.solve_by(&live);
        let missing = |l: &Self, f: &Extent| {
            let facts = &l.facts[f.obj as usize];
            facts.shape.is_none() && facts.used
        };
        let needed = |l: &Self, rule: &Agree| match rule {
            Agree::Same(a, b) => missing(l, a) || missing(l, b),
            Agree::Tile(..) => false,
            Agree::Mma { acc, .. } => missing(l, acc),
        };
        let dead: Vec<Agree> = dead.into_iter().filter(|rule| needed(self, rule)).collect();
        if !dead.is_empty() {
            self.solve_by(&live.into_iter().chain(dead).collect::<Vec<_>>());
        }
    }

    fn solve_by(&mut self, rules: &[Agree]) {
        let mut changed = true;
        while changed {
            changed = false;
            for rule in rules {
                changed |= match rule {
                    Agree::Same(a, b) => self.propose(a, b) || self.propose(b, a),
                    // Shapes determine a tile's extent, not the reverse.
                    Agree::Tile(..) => false,
                    Agree::Mma { a, b, acc, pair } => match self.product(a, b, *pair) {
                        Some(shape) => self.offer(acc, shape, &a.span),
                        None => false,
                    },
                };
            }
        }
    }

    fn propose(&mut self, to: &Extent, from: &Extent) -> bool {
        self.extent(from).is_some_and(|shape| self.offer(to, shape, &from.span))
    }

    /// Offers a shape to a place. Returns whether its object had none and took the shape.
    fn offer(&mut self, to: &Extent, shape: [i64; 2], origin: &Span) -> bool {
        let facts = &mut self.facts[to.obj as usize];
        if facts.shape.is_some() || to.fixed.is_some() {
            return false;
        }
        let whole = [shape[0].saturating_mul(to.div[0]), shape[1].saturating_mul(to.div[1])];
        if whole.iter().any(|e| *e < 1 || *e > 1 << 27) {
            return false;
        }
        facts.shape = Some(whole);
        facts.origin = Some(origin.clone());
        true
    }

    /// Rows and columns of `a` times `b`.
    fn product(&self, a: &Extent, b: &Extent, pair: bool) -> Option<[i64; 2]> {
        let ([m, k], [r, c]) = (self.extent(a)?, self.extent(b)?);
        let elements = r.checked_mul(c)?;
        (k > 0 && elements % k == 0).then(|| [m, elements / k * if pair { 2 } else { 1 }])
    }

    fn names_of(&self, extent: &Extent) -> String {
        self.text[extent.span.clone()].to_string()
    }

    fn check_same(&mut self, a: &Extent, b: &Extent, second: &str) {
        let (Some([ar, ac]), Some([br, bc])) = (self.extent(a), self.extent(b)) else { return };
        if (ar, ac) == (br, bc) {
            return;
        }
        let (x, y) = (self.names_of(a), self.names_of(b));
        let mut d = self
            .diag(
                &b.span,
                format!("`{x}` is {ar} x {ac} elements, `{y}` is {br} x {bc}"),
                format!("{second} must have the same rows and columns"),
            )
            .also(a.span.clone(), format!("{ar} x {ac} here"));
        d = self.explain_origin(d, a);
        d = self.explain_origin(d, b);
        d.help = Some(if (ar, ac) == (bc, br) {
            "a move does not transpose: swap the extents of one of them".into()
        } else {
            "select a part with `.rows(i, n)` or `.cols(i, n)`, or change a declared extent".into()
        });
        self.value_error(d);
    }

    fn explain_origin(&self, d: Diagnostic, extent: &Extent) -> Diagnostic {
        let name = &self.program.objects[extent.obj as usize].name;
        match &self.facts[extent.obj as usize].origin {
            Some(at) if !d.related.iter().any(|(s, _)| s == at) => {
                d.also(at.clone(), format!("the size of `{name}` was taken from here"))
            }
            _ => d,
        }
    }

    fn check_mma(&mut self, a: &Extent, b: &Extent, acc: &Extent, pair: bool) {
        let (Some([m, k]), Some([r, c])) = (self.extent(a), self.extent(b)) else { return };
        if r != k && c != k {
            let (x, y) = (self.names_of(a), self.names_of(b));
            let d = self
                .diag(
                    &b.span,
                    format!("`{x}` has {k} columns, but `{y}` is {r} x {c}"),
                    format!("one of its extents must be K = {k}"),
                )
                .also(a.span.clone(), format!("M x K = {m} x {k}"))
                .help("the left operand is [M, K], the right one [K, N] or [N, K]");
            self.value_error(d);
            return;
        }
        let Some([m, n]) = self.product(a, b, pair) else { return };
        let Some([ar, ac]) = self.extent(acc) else { return };
        if (ar, ac) != (m, n) {
            let z = self.names_of(acc);
            let mut d = self
                .diag(
                    &acc.span,
                    format!("the product is {m} x {n}, `{z}` is {ar} x {ac}"),
                    "the accumulator must be M x N",
                )
                .also(a.span.clone(), format!("M x K = {m} x {k}"))
                .also(b.span.clone(), format!("{r} x {c}"));
            d = self.explain_origin(d, acc);
            d.help = self.part_of(acc.obj, [ar, ac], [m, n]);
            self.value_error(d);
        }
    }

    /// The help where a product is as large as a part of its accumulator, of which `have` is selected.
    fn part_of(&self, obj: ObjId, have: [i64; 2], product: [i64; 2]) -> Option<String> {
        let whole = self.facts[obj as usize].shape?;
        let name = &self.program.objects[obj as usize].name;
        let (axis, word) = if have[0] == product[0] { (1, "cols") } else { (0, "rows") };
        let parts = whole[axis] / product[axis];
        let fits = have[1 - axis] == product[1 - axis] && whole[axis] % product[axis] == 0 && parts > 1;
        fits.then(|| {
            format!("`{name}.{word}(i, {parts})` is part i of {parts}; without a number of parts, members count")
        })
    }

    /// Reports an object whose shape is not known, if there is no other error: another error may be the cause. Shapes of
    /// sums and blocks follow from others, so these come last.
    fn report_unsolved(&mut self) {
        if !self.errors.is_empty() {
            return;
        }
        let sum = |i: &Instr| if let Instr::Op { op: Op::Mma { acc, .. }, .. } = i { Some(acc.obj) } else { None };
        let sums: Vec<ObjId> = self.program.code.iter().filter_map(sum).collect();
        let global = |id: ObjId| self.program.objects[id as usize].class == Class::Global;
        let unsolved = |id: &ObjId| self.facts[*id as usize].shape.is_none() && self.facts[*id as usize].used;
        let all = (0..self.program.objects.len() as ObjId).filter(unsolved);
        let Some(id) = all.min_by_key(|id| (global(*id), sums.contains(id))) else { return };
        let dtype = if sums.contains(&id) { "f32" } else { "f16" };
        let (name, span) = (self.program.objects[id as usize].name.clone(), self.facts[id as usize].span.clone());
        let d = if global(id) {
            self.diag(&span, format!("the block size of `{name}` is not known"), "no move fixes it")
                .help("one move of it must have a partner whose shape is declared")
        } else {
            self.diag(&span, format!("the shape of `{name}` is not known"), "no shape is declared")
                .help(format!("declare it: `reg {name}: {dtype}[rows, cols]`"))
        };
        self.value_error(d);
    }

    /// Writes the solved shapes and the cuts into the objects, and reports unsolved ones.
    pub(super) fn finish_objects(&mut self) {
        self.report_unsolved();
        for id in 0..self.program.objects.len() {
            let facts = self.facts[id].clone();
            let name = self.program.objects[id].name.clone();
            let global = self.program.objects[id].class == Class::Global;
            let shape = facts.shape;
            let object = &mut self.program.objects[id];
            object.dtype = facts.dtype.unwrap_or(Dtype::F32);
            if global {
                object.block = shape.unwrap_or([object.rows, object.cols]);
                object.row_cuts = uniform_ends(object.rows);
                object.col_cuts = uniform_ends(object.cols);
                continue;
            }
            [object.rows, object.cols] = shape.unwrap_or([1, 1]);
            object.block = [object.rows, object.cols];
            let (rows, cols) = (object.rows, object.cols);
            object.row_cuts = self.cuts.of(id as ObjId, 0, rows);
            object.col_cuts = self.cuts.of(id as ObjId, 1, cols);
            let pieces = object.pieces();
            if pieces > 64 {
                let (r, c) = (object.row_cuts.len() - 1, object.col_cuts.len() - 1);
                let d = self
                    .diag(
                        &facts.span,
                        format!(
                            "`{name}` is used in {pieces} pieces ({r} of rows, {c} of columns), at most 64 are followed"
                        ),
                        "too many different parts",
                    )
                    .help("use fewer or coarser parts of it, or fewer warps for one move");
                self.value_error(d);
            }
        }
    }
}
