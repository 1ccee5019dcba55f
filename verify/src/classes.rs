//! CTA classes: which places in the grid can behave differently, and one of each to look at.
//!
//! A guard that compares sums of a CTA's coordinates with constants is monotone along rows and along columns: where it is
//! the same for two CTAs of a row or column, it is for all between them. The axes are cut where the path of a short run
//! changes, and the corners of each part are looked at. Guards of another form are looked at in every CTA of a small grid; of a large one
//! the verdict is no proof.

use warpline_sim::ir::{Binary, Env, Expr, Instr, Op, Program};

use crate::share::Shares;
use warpline_sim::ir::{Use, each};

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
    /// One stands for all while each makes as many turns ([`evenly`]).
    pub(crate) shared: bool,
}

/// What guards look at.
#[derive(Default)]
struct Looks {
    m: bool,
    n: bool,
    /// Line of something that is not monotone along an axis.
    other: Option<u32>,
}

/// Largest grid whose CTAs are all looked at.
const EVERY: i64 = 16;

/// `path` is a number for what the CTA of a launch index does.
pub(crate) fn classes(prog: &Program, path: &dyn Fn(i64) -> u64) -> Classes {
    let looks = looks(prog, &[]);
    let grid = &prog.grid;
    if prog.hands_out() {
        // It can be handed all others.
        let list = one(0);
        let told = looks.m || looks.n || looks.other.is_some();
        let why =
            told.then(|| "CTAs or the tiles they are handed are told apart, and not all were looked at".to_string());
        return Classes { list, alike: false, why, shared: false };
    }
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
        return Classes { list, alike: false, why: (!all).then_some(why), shared: false };
    }
    if !looks.m && !looks.n {
        return Classes { list: one(any(prog)), alike: false, why: None, shared: false };
    }
    let rows = intervals(grid.m, looks.m, &ends(grid.n, looks.n), &|row, col| path(launch(prog, row, col)));
    let cols = intervals(grid.n, looks.n, &ends(grid.m, looks.m), &|col, row| path(launch(prog, row, col)));
    let mut list = Vec::new();
    for r in &rows {
        for c in &cols {
            let parts = [looks.m.then(|| named("row", *r)), looks.n.then(|| named("column", *c))];
            let name = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
            // A guard that moves one way along each axis and is the same at the corners is the same everywhere between.
            let mut corners = vec![(r.0, c.0), (r.1, c.0), (r.0, c.1), (r.1, c.1)];
            corners.sort_unstable();
            corners.dedup();
            list.extend(corners.iter().map(|at| Class { id: launch(prog, at.0, at.1), name: name.clone() }));
        }
    }
    Classes { list, alike: true, why: None, shared: false }
}

/// One class of all CTAs of a kernel whose jobs are shared out evenly, if nothing else tells them apart.
pub(crate) fn shared(prog: &Program) -> Option<Classes> {
    let classes = Classes { list: one(any(prog)), alike: false, why: None, shared: true };
    (!prog.hands_out() && evenly(prog)).then_some(classes)
}

/// The class of all, with one to look at.
fn one(id: i64) -> Vec<Class> {
    vec![Class { id, name: "all CTAs alike".into() }]
}

/// Whether nothing of this kernel tells CTAs apart, jobs that are shared out evenly included.
pub(crate) fn evenly(prog: &Program) -> bool {
    let looks = looks(prog, &Shares::of(prog));
    !looks.m && !looks.n && looks.other.is_none()
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

fn looks(prog: &Program, shares: &[Shares]) -> Looks {
    let mut looks = Looks::default();
    let mut vars = vec![Moves::default(); prog.vars.len()];
    // Any tile may be handed out, and whether one was is asked for each: every CTA has one at first.
    let handed = |i: &Instr| match i {
        Instr::Op { op: Op::Get { var, .. }, .. } if prog.hands_out() => Some(*var),
        _ => None,
    };
    for v in prog.code.iter().filter_map(handed) {
        vars[v as usize] = Moves { m: Way::Any, n: Way::Any };
    }
    let valid = |e: &Expr| {
        let passed = |x: &Expr| prog.loops.iter().any(|l| l.passed.is_some_and(|v| *x == Expr::Var(v)));
        matches!(e, Expr::Binary(Binary::Ge, p) if p.1 == Expr::Const(0) && passed(&p.0)) && prog.hands_out()
    };
    // Variables take coordinates on from each other; twice over the code is enough for what a loop carries round.
    for _ in 0..2 {
        for (pc, i) in prog.code.iter().enumerate() {
            each(prog, i, &mut |what, e| {
                let by = moves((prog, shares), e, &vars);
                if let (Use::Set, Instr::Set(v, _)) = (what, i) {
                    let old = vars[*v as usize];
                    vars[*v as usize] = Moves { m: old.m.and(by.m), n: old.n.and(by.n) };
                } else if !matches!(what, Use::Tile(..)) && !valid(e) && (by.m != Way::Not || by.n != Way::Not) {
                    looks.m |= by.m != Way::Not;
                    looks.n |= by.n != Way::Not;
                    let one_way = what == Use::Guard && by.m != Way::Any && by.n != Way::Any;
                    if !one_way && looks.other.is_none() {
                        looks.other = Some(prog.site(pc as u32).line);
                    }
                }
            });
        }
    }
    looks
}

/// How a value moves along an axis of the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    #[default]
    Not,
    Up,
    Down,
    /// Both ways, or who knows.
    Any,
}

impl Way {
    fn back(self) -> Way {
        match self {
            Way::Up => Way::Down,
            Way::Down => Way::Up,
            other => other,
        }
    }

    /// Of a sum, a conjunction, a disjunction: one way if no part goes the other.
    fn and(self, other: Way) -> Way {
        match (self, other) {
            (Way::Not, x) | (x, Way::Not) => x,
            (x, y) if x == y => x,
            _ => Way::Any,
        }
    }
}

/// Along rows and along columns.
#[derive(Clone, Copy, Debug, Default)]
struct Moves {
    m: Way,
    n: Way,
}

impl Moves {
    fn and(self, other: Moves) -> Moves {
        Moves { m: self.m.and(other.m), n: self.n.and(other.n) }
    }

    fn back(self) -> Moves {
        Moves { m: self.m.back(), n: self.n.back() }
    }

    /// It matters, and nothing more is known.
    fn any(self) -> Moves {
        let any = |w| if w == Way::Not { w } else { Way::Any };
        Moves { m: any(self.m), n: any(self.n) }
    }
}

fn moves((prog, shares): (&Program, &[Shares]), e: &Expr, vars: &[Moves]) -> Moves {
    let moves = |e: &Expr, vars: &[Moves]| moves((prog, shares), e, vars);
    match e {
        _ if shares.iter().any(|s| s.alike(e)) => Moves::default(),
        Expr::Const(_) | Expr::Param(_) => Moves::default(),
        Expr::Var(v) => vars[*v as usize],
        Expr::Env(Env::CtaM | Env::ClusterM) => Moves { m: Way::Up, n: Way::Not },
        Expr::Env(Env::CtaN | Env::ClusterN) => Moves { m: Way::Not, n: Way::Up },
        // Of a grid that is one row of CTAs, the launch index is the place in it.
        Expr::Env(Env::CtaId | Env::ClusterId) if prog.grid.n == 1 && prog.grid.z == 1 => {
            Moves { m: Way::Up, n: Way::Not }
        }
        Expr::Env(Env::CtaZ | Env::CtaId | Env::ClusterId) => Moves { m: Way::Any, n: Way::Any },
        Expr::Env(_) => Moves::default(),
        Expr::Unary(_, x) => moves(x, vars).back(),
        Expr::Tape(_, x) => moves(x, vars).any(),
        Expr::If(p) => moves(&p.0, vars).and(moves(&p.1, vars)).and(moves(&p.2, vars)).any(),
        Expr::Binary(o, p) => {
            let (x, y) = (moves(&p.0, vars), moves(&p.1, vars));
            match o {
                Binary::Add | Binary::And | Binary::Or => x.and(y),
                Binary::Sub | Binary::Gt | Binary::Ge => x.and(y.back()),
                Binary::Lt | Binary::Le => x.back().and(y),
                Binary::Mul => match (p.0.constant(), p.1.constant()) {
                    (Some(c), _) => {
                        if c < 0 {
                            y.back()
                        } else {
                            y
                        }
                    }
                    (_, Some(c)) => {
                        if c < 0 {
                            x.back()
                        } else {
                            x
                        }
                    }
                    _ => x.and(y).any(),
                },
                _ => x.and(y).any(),
            }
        }
    }
}
