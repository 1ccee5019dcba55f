//! CTA classes: which places in the grid can behave differently, and one of each to look at.
//!
//! Guards compare affine functions of a CTA's coordinates with constants, so each is monotone along rows and along
//! columns: where two CTAs of a row or column behave alike, all between them do. The axes are cut where that changes, and
//! both ends of each part are looked at. Guards of another form are looked at in every CTA of a small grid; of a large one
//! the verdict is no proof.

use warpline_sim::ir::{Binary, Env, Expr, Instr, Program};

use crate::exprs::{Use, each};

/// One CTA (cluster, where there are any) to look at.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Launch index.
    pub(crate) id: i64,
    pub(crate) name: String,
}

/// Those to look at.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    pub(crate) list: Vec<Class>,
    /// Classes of one name stand for all between them, so they must take the same path.
    pub(crate) alike: bool,
    /// Why they are not all.
    pub(crate) why: Option<String>,
}

/// What guards look at.
#[derive(Default)]
struct Looks {
    m: bool,
    n: bool,
    /// Line of a guard that is not monotone along an axis.
    other: Option<u32>,
}

/// Largest grid whose CTAs are all looked at.
const EVERY: i64 = 16;

/// `path` is a number for what the CTA of a launch index does.
pub(crate) fn classes(prog: &Program, path: &dyn Fn(i64) -> u64) -> Classes {
    let looks = looks(prog);
    let grid = &prog.grid;
    if let Some(line) = looks.other {
        let all = grid.len() <= EVERY;
        let ids: Vec<i64> = if all { (0..grid.len()).collect() } else { edges(prog) };
        let name = |id| {
            let at = grid.at(id);
            if grid.z > 1 { format!("({}, {}, {})", at.0, at.1, at.2) } else { format!("({}, {})", at.0, at.1) }
        };
        let why =
            format!("line {line} tells CTAs apart otherwise than by edges of the grid, and not all were looked at");
        let list = ids.into_iter().map(|id| Class { id, name: name(id) }).collect();
        return Classes { list, alike: false, why: (!all).then_some(why) };
    }
    if !looks.m && !looks.n {
        let list = vec![Class { id: any(prog), name: "all CTAs alike".into() }];
        return Classes { list, alike: false, why: None };
    }
    let rows = intervals(grid.m, looks.m, &ends(grid.n, looks.n), &|row, col| path(launch(prog, row, col)));
    let cols = intervals(grid.n, looks.n, &ends(grid.m, looks.m), &|col, row| path(launch(prog, row, col)));
    let mut list = Vec::new();
    for r in &rows {
        for c in &cols {
            let parts = [looks.m.then(|| named("row", *r)), looks.n.then(|| named("column", *c))];
            let name = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
            list.push(Class { id: launch(prog, r.0, c.0), name: name.clone() });
            if r.0 != r.1 || c.0 != c.1 {
                list.push(Class { id: launch(prog, r.1, c.1), name });
            }
        }
    }
    Classes { list, alike: true, why: None }
}

fn named(axis: &str, (lo, hi): (i64, i64)) -> String {
    if lo == hi { format!("{axis} {lo}") } else { format!("{axis}s {lo} to {hi}") }
}

/// The launch index of a row and a column.
fn launch(prog: &Program, row: i64, col: i64) -> i64 {
    let all = 0..prog.grid.m * prog.grid.n;
    all.clone().find(|id| (prog.grid.at(*id).0, prog.grid.at(*id).1) == (row, col)).unwrap_or(0)
}

/// Both ends of an axis, and the last but one.
fn ends(len: i64, matters: bool) -> Vec<i64> {
    let mut at = if matters { vec![0, len - 2, len - 1] } else { vec![len - 1] };
    at.retain(|x| *x >= 0);
    at.dedup();
    at
}

/// The axis cut where CTAs begin to behave otherwise, seen from these places of the other axis.
fn intervals(len: i64, matters: bool, others: &[i64], path: &dyn Fn(i64, i64) -> u64) -> Vec<(i64, i64)> {
    if !matters {
        return vec![(len - 1, len - 1)];
    }
    let mut starts = vec![0];
    for other in others {
        changes((0, len - 1), &|x| path(x, *other), &mut starts);
    }
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).map(|s| s - 1).chain([len - 1]);
    starts.iter().copied().zip(ends).collect()
}

/// Finds where the path changes between two places, by halves: equal at both ends, it is equal between.
fn changes((lo, hi): (i64, i64), path: &dyn Fn(i64) -> u64, starts: &mut Vec<i64>) {
    if lo >= hi || path(lo) == path(hi) {
        return;
    }
    if hi - lo == 1 {
        starts.push(hi);
        return;
    }
    let mid = lo + (hi - lo) / 2;
    changes((lo, mid), path, starts);
    changes((mid, hi), path, starts);
}

/// The corners of the grid and those next to them.
fn edges(prog: &Program) -> Vec<i64> {
    let (rows, cols) = (ends(prog.grid.m, true), ends(prog.grid.n, true));
    (0..prog.grid.m * prog.grid.n)
        .filter(|id| {
            let at = prog.grid.at(*id);
            rows.contains(&at.0) && cols.contains(&at.1)
        })
        .collect()
}

/// A CTA whose coordinates differ from each other and from zero, where there is one: then no two coordinates of a kernel
/// are equal by chance.
fn any(prog: &Program) -> i64 {
    let grid = &prog.grid;
    let good = |id: &i64| {
        let at = grid.at(*id);
        at.0 != at.1 && at.0 > 0 && at.1 > 0
    };
    let last = (grid.len() - 1).max(0);
    (0..=last).rev().take(4096).find(good).unwrap_or(last)
}

fn looks(prog: &Program) -> Looks {
    let mut looks = Looks::default();
    let mut from_m = vec![false; prog.vars.len()];
    let mut from_n = vec![false; prog.vars.len()];
    let mut odd = vec![false; prog.vars.len()];
    // Variables take coordinates on from each other; twice over the code is enough for what a loop carries round.
    for _ in 0..2 {
        for (pc, i) in prog.code.iter().enumerate() {
            each(prog, i, &mut |what, e| {
                let seen = Seen { from_m: &from_m, from_n: &from_n, odd: &odd };
                let (m, n, plain) = seen.of(e);
                if let (Use::Set, Instr::Set(v, _)) = (what, i) {
                    from_m[*v as usize] |= m;
                    from_n[*v as usize] |= n;
                    odd[*v as usize] |= !plain;
                } else if what != Use::Tile && (m || n || !plain) {
                    looks.m |= m;
                    looks.n |= n;
                    let affine = plain && !(m && n) && (what != Use::Slot);
                    if !affine && !conjunction(e, &seen) && looks.other.is_none() {
                        looks.other = Some(prog.site(pc as u32).line);
                    }
                }
            });
        }
    }
    looks
}

/// Whether a guard is made of comparisons each of which looks at one axis.
fn conjunction(e: &Expr, seen: &Seen<'_>) -> bool {
    match e {
        Expr::Binary(Binary::And | Binary::Or, p) => conjunction(&p.0, seen) && conjunction(&p.1, seen),
        Expr::Unary(_, x) => conjunction(x, seen),
        Expr::Binary(o, _) if compares(*o) => {
            let (m, n, plain) = seen.of(e);
            plain && !(m && n)
        }
        _ => false,
    }
}

fn compares(o: Binary) -> bool {
    matches!(o, Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge)
}

/// What variables hold so far.
struct Seen<'a> {
    from_m: &'a [bool],
    from_n: &'a [bool],
    odd: &'a [bool],
}

impl Seen<'_> {
    /// Whether it depends on the row and on the column, and is monotone in each.
    fn of(&self, e: &Expr) -> (bool, bool, bool) {
        match e {
            Expr::Const(_) => (false, false, true),
            Expr::Var(v) => {
                let v = *v as usize;
                (self.from_m[v], self.from_n[v], !self.odd[v])
            }
            Expr::Env(Env::CtaM | Env::ClusterM) => (true, false, true),
            Expr::Env(Env::CtaN | Env::ClusterN) => (false, true, true),
            Expr::Env(Env::CtaZ | Env::CtaId | Env::ClusterId) => (true, true, false),
            Expr::Env(_) => (false, false, true),
            Expr::Unary(_, x) => self.of(x),
            Expr::Tape(_, x) => {
                let (m, n, _) = self.of(x);
                (m, n, !m && !n)
            }
            Expr::If(p) => {
                let all = [self.of(&p.0), self.of(&p.1), self.of(&p.2)];
                let any = |f: fn(&(bool, bool, bool)) -> bool| all.iter().any(f);
                let (m, n) = (any(|x| x.0), any(|x| x.1));
                (m, n, !m && !n && !any(|x| !x.2))
            }
            Expr::Binary(o, p) => {
                let (x, y) = (self.of(&p.0), self.of(&p.1));
                let (m, n) = (x.0 || y.0, x.1 || y.1);
                let good = match o {
                    Binary::Add | Binary::Sub | Binary::And | Binary::Or => true,
                    Binary::Mul => p.0.constant().is_some() || p.1.constant().is_some(),
                    o => compares(*o),
                };
                (m, n, x.2 && y.2 && (good || !(m || n)))
            }
        }
    }
}
