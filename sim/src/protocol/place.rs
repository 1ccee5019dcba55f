//! Cells of CTAs: one run for all CTAs of a part of the grid.
//!
//! A run with a [`Cell`] is the run of one CTA of the cell, its representative. Each number has a *form*: its
//! dependence on the place of the CTA, as a linear combination of the cell's axes. A quotient or remainder without such
//! a form is a symbol of its own (*opaque*), equal wherever the same operator has the same operands. Where a number
//! decides something, its form must decide alike over the whole cell, by the range of the form. Otherwise the run is
//! the representative's alone, and the cell keeps an [`Obstacle`], from which the cell can be split.
//!
//! ```text
//!   cell ──▶ run of its representative ──▶ no obstacle: every CTA of the cell makes this run
//!     ▲                                 └▶ obstacle: a form that takes both sides ──▶ split
//!     └───────────────────────────────────────────────────────────────────────────────┘
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::ir::{Binary, Env, Program};

use super::cell::{Axis, Cell};
use super::forms::{Obstacle, Opaque, Table};
use super::vocabulary::{Coords, FormId};

/// The bound of an axis without end: larger than any number of a kernel.
const INFINITE: i64 = i64::MAX >> 2;

/// A cell, with the facts that runs in it learn. All copies share these facts.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The cell.
    pub cell: Cell,
    pub(super) coords: Coords,
    /// The axis that launch indices also count along, if any.
    line: Option<usize>,
    cluster: i64,
    table: Arc<Mutex<Table>>,
}

/// Symbols below this are axes, the others opaque terms.
const AXES: u32 = 4;

impl Placement {
    /// The first cluster of a cell as its representative; `None` where no cluster of the grid is in the cell.
    pub fn of(prog: &Program, cell: Cell) -> Option<Placement> {
        let grid = &prog.grid;
        let line = match (grid.m, grid.n, grid.z) {
            (_, 1, 1) => Some(0),
            (1, _, 1) => Some(1),
            _ => None,
        };
        let within = |axis: usize, v: i64| {
            let a = cell.axes[axis];
            v >= a.lo && v <= a.last() && (v - a.lo) % a.step == 0
        };
        let ids = cell.axes[3];
        let first = (0..ids.count).map(|k| ids.lo + k * ids.step).find(|id| {
            let at = grid.at(*id);
            within(0, at.0) && within(1, at.1) && within(2, at.2)
        })?;
        let (m, n, z) = grid.at(first);
        let coords = Coords { id: first, m, n, z };
        let cluster = prog.cluster as i64;
        Some(Placement { cell, coords, line, cluster, table: Arc::new(Mutex::new(Table::new())) })
    }

    /// The cell of all clusters of a grid.
    pub fn whole(prog: &Program) -> Cell {
        let g = &prog.grid;
        let ids = Axis::below(g.len());
        // Where launch indices count along one dimension, they are the axis of that dimension.
        let axes = match (g.m, g.n, g.z) {
            (m, 1, 1) => [Axis::below(m), Axis::below(1), Axis::below(1), ids],
            _ => [Axis::below(g.m), Axis::below(g.n), Axis::below(g.z), ids],
        };
        Cell { axes }
    }

    /// The same cell, of which nothing is known yet.
    #[must_use]
    pub fn afresh(&self) -> Placement {
        Placement { table: Arc::new(Mutex::new(Table::new())), ..self.clone() }
    }

    /// Takes over what another run of the cell learned, where that run met an obstacle and none is known here. No run
    /// that uses the former facts goes on.
    pub fn adopt(&self, other: &Placement) {
        if self.obstacle().is_none() && other.obstacle().is_some() {
            *self.lock() = std::mem::replace(&mut *other.lock(), Table::new());
        }
    }

    /// The launch index of the representative.
    pub fn cluster(&self) -> i64 {
        self.coords.id
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first obstacle that a run of the cell reached.
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.lock().obstacle
    }

    /// The axis of the cell that a coordinate counts along.
    fn axis(&self, axis: usize) -> usize {
        if self.line == Some(axis) { 3 } else { axis }
    }

    /// The form of a coordinate.
    pub(super) fn env(&self, env: Env) -> FormId {
        let (axis, times) = match env {
            Env::CtaM => (0, self.cluster),
            Env::ClusterM => (0, 1),
            Env::CtaN | Env::ClusterN => (1, 1),
            Env::CtaZ => (2, 1),
            Env::CtaId => (3, self.cluster),
            Env::ClusterId => (3, 1),
            Env::Warp | Env::CtaRank | Env::TapeIndex => return 0,
        };
        let axis = self.axis(axis);
        let Axis { step, count, .. } = self.cell.axes[axis];
        if count == 1 { 0 } else { self.lock().intern(vec![(axis as u32, times * step)]) }
    }

    /// The form of a number times a constant.
    pub(super) fn times(&self, form: FormId, by: i64) -> FormId {
        if form == 0 { 0 } else { self.lock().scaled(form, by) }
    }

    /// The form of a difference.
    pub(super) fn minus(&self, x: FormId, y: FormId) -> FormId {
        self.lock().sum(x, y, -1)
    }

    /// Holds a number to being constant over the whole cell.
    pub(super) fn fixed(&self, pc: u32, v: i64, form: FormId) {
        if form != 0 {
            self.lock().meets(Obstacle { pc, value: v, form, sign: false });
        }
    }

    /// Holds a number to one sign, or to zero, over the whole cell.
    pub(super) fn sign(&self, pc: u32, v: i64, form: FormId) {
        if form != 0 {
            let mut table = self.lock();
            let (lo, hi) = self.range(&table, v, form);
            if lo.signum() != hi.signum() || lo < 0 && hi > 0 {
                table.meets(Obstacle { pc, value: v, form, sign: true });
            }
        }
    }

    /// Smallest and largest value of a number with a form, over the cell.
    pub fn bounds(&self, v: i64, form: FormId) -> (i64, i64) {
        if form == 0 { (v, v) } else { self.range(&self.lock(), v, form) }
    }

    /// Smallest and largest value over the cell of a difference that is zero in the representative, times a constant.
    pub(super) fn spread(&self, x: FormId, y: FormId, by: i64) -> (i64, i64) {
        if x == y {
            return (0, 0);
        }
        let table = self.lock();
        let (x, y) = (&table.forms[x as usize], &table.forms[y as usize]);
        let of = |form: &[(u32, i64)], symbol| form.iter().find(|term| term.0 == symbol).map_or(0, |term| term.1);
        let both = x.iter().map(|(s, c)| (*s, c.saturating_sub(of(y, *s))));
        let only = y.iter().filter(|(s, _)| of(x, *s) == 0).map(|(s, c)| (*s, c.saturating_neg()));
        self.span(&table, 0, both.chain(only).map(|(s, c)| (s, c.saturating_mul(by))))
    }

    /// The form of an operator's result.
    pub(super) fn binary(&self, pc: u32, op: Binary, x: (i64, FormId), y: (i64, FormId)) -> FormId {
        if x.1 == 0 && y.1 == 0 {
            return 0;
        }
        match op {
            Binary::Add => self.lock().sum(x.1, y.1, 1),
            Binary::Sub => self.lock().sum(x.1, y.1, -1),
            Binary::Mul => match (x.1, y.1) {
                (f, 0) => self.lock().scaled(f, y.0),
                (0, f) => self.lock().scaled(f, x.0),
                _ => self.opaque(op, x, y),
            },
            Binary::Div | Binary::Rem | Binary::CeilDiv if y.1 == 0 && y.0 > 0 => self.divided(op, x, y.0),
            Binary::Min | Binary::Max => {
                self.difference(pc, x, y);
                if (op == Binary::Min) == (x.0 <= y.0) { x.1 } else { y.1 }
            }
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => {
                self.compared(pc, op, x, y);
                0
            }
            Binary::Div | Binary::Rem | Binary::CeilDiv => self.opaque(op, x, y),
            Binary::And | Binary::Or | Binary::BitOr | Binary::BitAnd | Binary::Shl => {
                self.fixed(pc, x.0, x.1);
                self.fixed(pc, y.0, y.1);
                0
            }
        }
    }

    fn difference(&self, pc: u32, x: (i64, FormId), y: (i64, FormId)) {
        let form = self.lock().sum(x.1, y.1, -1);
        self.sign(pc, x.0.saturating_sub(y.0), form);
    }

    /// A comparison: its outcome must be the same over the whole cell.
    fn compared(&self, pc: u32, op: Binary, x: (i64, FormId), y: (i64, FormId)) {
        let form = self.lock().sum(x.1, y.1, -1);
        // `x < y` and `x >= y` change below zero, `x <= y` and `x > y` above it.
        let v = x.0.saturating_sub(y.0);
        let v = match op {
            Binary::Lt | Binary::Ge => v.saturating_mul(2).saturating_add(1),
            Binary::Le | Binary::Gt => v.saturating_mul(2).saturating_sub(1),
            _ => return self.sign(pc, v, form),
        };
        let form = if form == 0 { 0 } else { self.lock().scaled(form, 2) };
        self.sign(pc, v, form);
    }

    /// The form of a quotient or remainder by a positive number.
    fn divided(&self, op: Binary, x: (i64, FormId), y: i64) -> FormId {
        let mut table = self.lock();
        let form = &table.forms[x.1 as usize];
        if form.iter().all(|(_, c)| c % y == 0) {
            return match op {
                Binary::Rem => 0,
                _ => {
                    let form = form.iter().map(|(s, c)| (*s, c / y)).collect();
                    table.intern(form)
                }
            };
        }
        let (lo, hi) = self.range(&table, x.0, x.1);
        let same = match op {
            Binary::CeilDiv => (lo - 1).div_euclid(y) == (hi - 1).div_euclid(y),
            _ => lo.div_euclid(y) == hi.div_euclid(y),
        };
        if same && lo > -INFINITE && hi < INFINITE {
            return if op == Binary::Rem { x.1 } else { 0 };
        }
        drop(table);
        self.opaque(op, x, (y, 0))
    }

    /// The form of an opaque term: the same wherever the same operator has the same operands.
    pub(super) fn opaque(&self, op: Binary, x: (i64, FormId), y: (i64, FormId)) -> FormId {
        let mut table = self.lock();
        let key = Opaque { op, x, y };
        let id = match table.opaque_ids.get(&key) {
            Some(id) => *id,
            None => {
                let id = AXES + table.opaque.len() as u32;
                let range = self.deviation(&table, &key);
                table.opaque.push(key);
                table.ranges.push(range);
                table.opaque_ids.insert(key, id);
                id
            }
        };
        table.intern(vec![(id, 1)])
    }

    /// Bounds of the deviation of an opaque term from its value in the representative.
    fn deviation(&self, table: &Table, o: &Opaque) -> (i64, i64) {
        let all = (-INFINITE, INFINITE);
        let Some(v) = crate::ir::apply(o.op, o.x.0, o.y.0) else { return all };
        let (lo, hi) = self.range(table, o.x.0, o.x.1);
        let (first, last) = match o.op {
            Binary::Rem if o.y.1 == 0 && o.y.0 > 0 => (0, o.y.0 - 1),
            Binary::Div | Binary::CeilDiv if o.y.1 == 0 && o.y.0 > 0 && lo > -INFINITE && hi < INFINITE => {
                let at = |x| crate::ir::apply(o.op, x, o.y.0);
                match (at(lo), at(hi)) {
                    (Some(first), Some(last)) => (first, last),
                    _ => return all,
                }
            }
            _ => return all,
        };
        (first - v, last - v)
    }

    /// Smallest and largest value of a number over the cell; infinite where a bound is not known.
    fn range(&self, table: &Table, v: i64, form: FormId) -> (i64, i64) {
        self.span(table, v, table.forms[form as usize].iter().copied())
    }

    fn span(&self, table: &Table, v: i64, terms: impl Iterator<Item = (u32, i64)>) -> (i64, i64) {
        let mut range = (v as i128, v as i128);
        for (symbol, c) in terms {
            let (lo, hi) = match symbol {
                axis if axis < AXES => self.reach(axis as usize),
                opaque => table.ranges[(opaque - AXES) as usize],
            };
            let (a, b) = (lo as i128 * c as i128, hi as i128 * c as i128);
            range = (range.0 + a.min(b), range.1 + a.max(b));
        }
        let clamp = |x: i128| x.clamp(-(INFINITE as i128), INFINITE as i128) as i64;
        (clamp(range.0), clamp(range.1))
    }

    /// Number of steps that an axis goes below and above the representative.
    fn reach(&self, axis: usize) -> (i64, i64) {
        let a = self.cell.axes[axis];
        let at = [self.coords.m, self.coords.n, self.coords.z, self.coords.id][axis];
        let k = (at - a.lo) / a.step;
        (-k, a.count - 1 - k)
    }

    /// Whether numbers of two states depend on the place of the CTA in the same way. They do if they depend equally on the
    /// axes, and on opaque terms of one operator and range that correspond to each other.
    pub(super) fn alike<'f>(&self, pairs: impl Iterator<Item = (&'f FormId, &'f FormId)>) -> bool {
        let table = self.lock();
        let (mut there, mut back) = (FxHashMap::default(), FxHashMap::default());
        let opaque = |symbol: u32| &table.opaque[(symbol - AXES) as usize];
        let range = |symbol: u32| table.ranges[(symbol - AXES) as usize];
        let mut term = |(x, c): (u32, i64), (y, d): (u32, i64)| {
            let like = match (x < AXES, y < AXES) {
                (true, true) => x == y,
                (false, false) => opaque(x).op == opaque(y).op && range(x) == range(y),
                _ => false,
            };
            c == d && like && *there.entry(x).or_insert(y) == y && *back.entry(y).or_insert(x) == x
        };
        pairs.filter(|(x, y)| x != y).all(|(x, y)| {
            let (x, y) = (&table.forms[*x as usize], &table.forms[*y as usize]);
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| term(*x, *y))
        })
    }

    /// The cells that this cell is split into where a run reached an obstacle.
    pub fn split(&self, o: &Obstacle) -> Vec<Cell> {
        let table = self.lock();
        let form = &table.forms[o.form as usize];
        if let [(axis, c)] = form[..]
            && axis < AXES
            && o.sign
        {
            return self.crossing(axis as usize, o.value, c);
        }
        if let Some(cells) = self.periodic(&table, form) {
            return cells;
        }
        // The longest axis that the number depends on.
        let mut axes = Vec::new();
        self.axes_of(&table, o.form, &mut axes);
        let longest = axes.into_iter().max_by_key(|axis| (self.cell.axes[*axis].count, 4 - axis));
        let Some(axis) = longest.filter(|axis| self.cell.axes[*axis].count > 1) else { return Vec::new() };
        let count = self.cell.axes[axis].count;
        self.with(axis, self.cell.axes[axis].split(count / 2))
    }

    fn with(&self, axis: usize, parts: impl IntoIterator<Item = Axis>) -> Vec<Cell> {
        let cell = |part: Axis| {
            let mut axes = self.cell.axes;
            axes[axis] = part;
            Cell { axes }
        };
        parts.into_iter().filter(|a| a.count > 0).map(cell).collect()
    }

    /// Cuts an axis where a number that changes by `c` from step to step passes zero.
    fn crossing(&self, axis: usize, v: i64, c: i64) -> Vec<Cell> {
        let a = self.cell.axes[axis];
        let first = v + self.reach(axis).0 * c;
        // Number of steps before zero, and number of steps at zero.
        let (x, c) = if c > 0 { (first, c) } else { (-first, -c) };
        let before = (-x).div_euclid(c) + i64::from((-x).rem_euclid(c) != 0);
        let at_zero = i64::from((-x).rem_euclid(c) == 0);
        let before = before.clamp(0, a.count);
        let zero = at_zero.min(a.count - before);
        let [low, rest] = a.split(before);
        let [zero, high] = rest.split(zero);
        self.with(axis, [low, zero, high])
    }

    /// Cuts by the divisor of the only opaque term, where its operand has one axis.
    fn periodic(&self, table: &Table, form: &[(u32, i64)]) -> Option<Vec<Cell>> {
        let opaque = form.iter().find(|(symbol, _)| *symbol >= AXES)?.0;
        let Opaque { op, x, y } = table.opaque[(opaque - AXES) as usize];
        if !matches!(op, Binary::Div | Binary::Rem | Binary::CeilDiv) {
            return None;
        }
        let [(axis, c)] = table.forms[x.1 as usize][..] else {
            return self.periodic(table, &table.forms[x.1 as usize]);
        };
        if axis >= AXES || y.1 != 0 || y.0 <= 0 {
            return None;
        }
        let a = self.cell.axes[axis as usize];
        let classes = y.0 / crate::ir::gcd(c.abs(), y.0);
        let (lo, hi) = self.range(table, x.0, x.1);
        let quotients = hi.div_euclid(y.0) - lo.div_euclid(y.0) + 1;
        if classes <= quotients {
            return Some(self.with(axis as usize, a.stride(classes)));
        }
        // The first step at which the quotient changes.
        let at = |k: i64| (x.0 + (k + self.reach(axis as usize).0) * c).div_euclid(y.0);
        let (mut low, mut high) = (0, a.count - 1);
        while low + 1 < high {
            let middle = (low + high) / 2;
            if at(middle) == at(0) { low = middle } else { high = middle }
        }
        Some(self.with(axis as usize, a.split(high)))
    }

    /// Whether two blocks are different in every CTA. That is so where the coordinates are the quotient and remainder
    /// of two numbers by one divisor, and the numbers differ by a constant: `job / rows, job % rows` of two jobs.
    pub(super) fn different(&self, a: ([i64; 2], [FormId; 2]), b: ([i64; 2], [FormId; 2])) -> bool {
        let table = self.lock();
        // A coordinate as a multiple of one opaque term and a constant.
        let term = |at: i64, form: FormId| match table.forms[form as usize][..] {
            [(symbol, c)] if symbol >= AXES => {
                let o = table.opaque[(symbol - AXES) as usize];
                let v = crate::ir::apply(o.op, o.x.0, o.y.0)?;
                Some((o, c, at - c * v))
            }
            _ => None,
        };
        let both = |i: usize| Some([term(a.0[i], a.1[i])?, term(b.0[i], b.1[i])?]);
        let (Some(first), Some(second)) = (both(0), both(1)) else { return false };
        let pairs = [first, second];
        let alike = |[x, y]: [(Opaque, i64, i64); 2]| x.0.op == y.0.op && x.0.y == y.0.y && x.1 == y.1;
        if !pairs.into_iter().all(alike) {
            return false;
        }
        if pairs.iter().any(|[x, y]| (x.2 - y.2) % x.1 != 0) {
            return true;
        }
        let [[x, y], [p, q]] = pairs;
        let divides = [x.0.op, p.0.op] == [Binary::Rem, Binary::Div] || [x.0.op, p.0.op] == [Binary::Div, Binary::Rem];
        let operands = x.0.x == p.0.x && y.0.x == q.0.x && x.0.y == p.0.y;
        let constants = x.2 == y.2 && p.2 == q.2;
        divides && operands && constants && x.0.x.1 == y.0.x.1 && x.0.x.0 != y.0.x.0
    }

    fn axes_of(&self, table: &Table, form: FormId, axes: &mut Vec<usize>) {
        for (symbol, _) in &table.forms[form as usize] {
            if *symbol < AXES {
                axes.push(*symbol as usize);
            } else {
                let o = table.opaque[(*symbol - AXES) as usize];
                self.axes_of(table, o.x.1, axes);
                self.axes_of(table, o.y.1, axes);
            }
        }
    }
}
