//! Stores by CTAs of one grid to the same block of a global matrix.
//!
//! A run follows one cluster, so two clusters that store the same block are found here, from the coordinates of each
//! store as a function of the CTA's place. A coordinate has the form `constant + sum of factor * digit`. A digit is a
//! coordinate of the CTA, the number of a loop's iteration, or a part of the warp index, each from 0 up to a known end.
//! If every factor exceeds the largest sum of the smaller terms, the coordinate determines all its digits, as in a
//! mixed-radix number. `x / c` and `x % c` together determine x. Stores whose coordinates determine the CTA are to
//! distinct blocks.
//!
//! Where the form decides nothing, the CTAs of the given grid are compared one by one, as far as that is quick.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use warpline_sim::code::Code;
use warpline_sim::ir::{Binary, Class, Env, Expr, Instr, MoveKind, ObjId, Op, Place, Program, VarId};
use warpline_sim::protocol::{Footprint, Rules, Walker, agents};
use warpline_sim::report::Finding;

use crate::Violation;

/// The result for the blocks of one store statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredBy {
    /// Distinct CTAs store distinct blocks, whatever the trip counts.
    Distinct,
    /// No two CTAs of the given grid store the same elements.
    DistinctAsGiven,
    /// Two CTAs store the same elements of a block: the CTAs by launch index, and the block's coordinates.
    Same {
        /// The CTA with the smaller launch index.
        first: i64,
        /// The other one.
        second: i64,
        /// Block coordinates, or element coordinates where the place counts elements.
        at: [i64; 2],
        /// The other store; the statement itself where both CTAs execute it.
        other: u32,
    },
    /// Undecided, with the reason.
    Unknown(String),
}

/// A store statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalStore {
    /// The matrix.
    pub obj: ObjId,
    /// The instruction.
    pub pc: u32,
    /// The result for its blocks.
    pub by: StoredBy,
}

/// Checks every store statement of a kernel. Several statements that store one matrix are compared with each other.
pub fn global_stores(prog: &Program, rules: Rules) -> Vec<GlobalStore> {
    let stores: Vec<(u32, &Place)> = (0..)
        .zip(&prog.code)
        .filter_map(|(pc, i)| match i {
            Instr::Op { op: Op::Move { how: MoveKind::Store | MoveKind::TmaStore, dst, .. }, .. } => Some((pc, dst)),
            _ => None,
        })
        .filter(|(_, dst)| prog.objects[dst.obj as usize].class == Class::Global)
        .collect();
    let single = prog.grid.len() * prog.cluster as i64 == 1;
    let forms = Forms::of(prog);
    let mut walked = None;
    stores
        .iter()
        .map(|&(pc, place)| {
            let alone = stores.iter().filter(|(_, other)| other.obj == place.obj).all(|(other, _)| {
                // Members of a role have a copy each of one statement.
                prog.at[*other as usize] == prog.at[pc as usize]
            });
            let by = if single || alone && forms.tell_the_cta(place) {
                StoredBy::Distinct
            } else {
                walked.get_or_insert_with(|| walk(prog, rules)).of(place.obj, pc)
            };
            GlobalStore { obj: place.obj, pc, by }
        })
        .collect()
}

/// The fault of a kernel in which two clusters store the same block, with the values given. Clusters can be ordered by
/// counters only, and a cooperative launch is one world, in which a run finds such stores. Nothing is known of matrices
/// whose coordinates are not (`opaque_globals`).
pub(crate) fn stored_twice(prog: &Program, rules: Rules) -> Option<Violation> {
    if prog.cooperative || prog.opaque_globals || !prog.counters.is_empty() || prog.grid.len() < 2 {
        return None;
    }
    global_stores(prog, rules).into_iter().find_map(|s| {
        let StoredBy::Same { first, second, at: [row, col], other } = s.by else { return None };
        let size = prog.cluster as i64;
        // Within a cluster, the run decides.
        if first / size == second / size {
            return None;
        }
        let name = &prog.objects[s.obj as usize].name;
        let code = Code::StoredTwice;
        let finding = Finding {
            code,
            kind: code.kind(),
            message: format!(
                "CTAs {first} and {second} both store {name}[{row}, {col}], and nothing orders the stores"
            ),
            site: prog.at[s.pc as usize],
            other: Some((prog.at[other as usize], "the other store".to_string())),
            agent: format!("CTA {second}"),
            cycle: -1.0,
            times: 1,
            note: false,
        };
        Some(Violation {
            trips: None,
            turns: None,
            class: format!("CTA {second}"),
            cluster: second / size,
            findings: vec![finding],
            hang: Vec::new(),
            steps: vec![
                (format!("CTA {first}"), prog.at[other as usize]),
                (format!("CTA {second}"), prog.at[s.pc as usize]),
            ],
            sites: prog.sites.clone(),
        })
    })
}

/// A part of a coordinate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Digit {
    ClusterM,
    ClusterN,
    ClusterZ,
    ClusterId,
    Rank,
    /// The number of a loop's iteration, by the loop's variable.
    Turn(VarId),
    /// A term that depends only on the warp, as text.
    OfWarp(String),
    /// `x / c` and `x % c`.
    Quotient(Box<Form>, i64),
    Remainder(Box<Form>, i64),
}

/// `constant + sum of factor * digit`, with each digit from 0 on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    constant: i64,
    terms: BTreeMap<Digit, i64>,
}

impl Form {
    fn constant(constant: i64) -> Form {
        Form { constant, terms: BTreeMap::new() }
    }

    fn digit(d: Digit, factor: i64) -> Form {
        Form { constant: 0, terms: BTreeMap::from([(d, factor)]) }
    }

    fn plus(mut self, other: &Form, times: i64) -> Option<Form> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(times)?)?;
        for (d, f) in &other.terms {
            let sum = self.terms.get(d).copied().unwrap_or(0).checked_add(f.checked_mul(times)?)?;
            self.terms.insert(d.clone(), sum);
        }
        self.terms.retain(|_, f| *f != 0);
        Some(self)
    }
}

/// The variables of a program that have a form.
struct Forms<'p> {
    prog: &'p Program,
    /// Every assignment, by variable.
    sets: HashMap<VarId, Vec<(u32, &'p Expr)>>,
}

/// Largest depth of variables in the definitions of variables.
const DEPTH: u32 = 16;

impl<'p> Forms<'p> {
    fn of(prog: &'p Program) -> Forms<'p> {
        let mut sets: HashMap<VarId, Vec<(u32, &Expr)>> = HashMap::new();
        for (pc, i) in (0..).zip(&prog.code) {
            match i {
                Instr::Set(v, e) => sets.entry(*v).or_default().push((pc, e)),
                // A value from memory has no form; two assignments outside a loop mark the variable so.
                Instr::Op { op: Op::Get { var, .. }, .. } => {
                    sets.entry(*var).or_default().extend([(pc, &Expr::Const(0)), (pc, &Expr::Const(1))]);
                }
                _ => {}
            }
        }
        Forms { prog, sets }
    }

    /// Number of values of a digit; `None` where unknown.
    fn count(&self, d: &Digit) -> Option<i64> {
        Some(match d {
            Digit::ClusterM => self.prog.grid.m,
            Digit::ClusterN => self.prog.grid.n,
            Digit::ClusterZ => self.prog.grid.z,
            Digit::ClusterId => self.prog.grid.len(),
            Digit::Rank => self.prog.cluster as i64,
            Digit::OfWarp(_) => self.prog.warps as i64,
            Digit::Remainder(_, c) => *c,
            Digit::Turn(v) => {
                let l = self.prog.loops.iter().find(|l| l.var == Some(*v))?;
                let (first, step) = self.loop_of(*v)?;
                let (Form { constant: from, terms }, to) =
                    (self.form(first, 0)?, self.prog.launch_value(l.bound.as_ref()?)?);
                if !terms.is_empty() {
                    return None;
                }
                ((to - from).max(0) as u64).div_ceil(step as u64) as i64
            }
            Digit::Quotient(..) => return None,
        })
    }

    /// First value and step of the variable of a `for` loop.
    fn loop_of(&self, v: VarId) -> Option<(&'p Expr, i64)> {
        let [(_, first), (_, next)] = self.sets.get(&v)?.as_slice() else { return None };
        let Expr::Binary(Binary::Add, pair) = next else { return None };
        match (&pair.0, &pair.1) {
            (Expr::Var(x), Expr::Const(step)) if *x == v && *step > 0 => Some((first, *step)),
            _ => None,
        }
    }

    fn form(&self, e: &Expr, depth: u32) -> Option<Form> {
        if depth > DEPTH {
            return None;
        }
        let size = self.prog.cluster as i64;
        let with_rank = |d: Digit| Form::digit(d, size).plus(&Form::digit(Digit::Rank, 1), 1);
        match e {
            Expr::Const(c) => Some(Form::constant(*c)),
            // A symbol has one value for all CTAs, so its given value counts.
            Expr::Param(_) => self.prog.launch_value(e).map(Form::constant),
            Expr::Env(env) => match env {
                Env::CtaRank => Some(Form::digit(Digit::Rank, 1)),
                Env::CtaM => with_rank(Digit::ClusterM),
                Env::CtaId => with_rank(Digit::ClusterId),
                Env::CtaN | Env::ClusterN => Some(Form::digit(Digit::ClusterN, 1)),
                Env::CtaZ => Some(Form::digit(Digit::ClusterZ, 1)),
                Env::ClusterM => Some(Form::digit(Digit::ClusterM, 1)),
                Env::ClusterId => Some(Form::digit(Digit::ClusterId, 1)),
                Env::Warp => Some(Form::digit(Digit::OfWarp("warp".into()), 1)),
                Env::TapeIndex => None,
            },
            Expr::Var(v) => match self.sets.get(v)?.as_slice() {
                [(_, once)] => self.form(once, depth + 1),
                _ => {
                    self.prog.loops.iter().find(|l| l.var == Some(*v))?;
                    let (first, step) = self.loop_of(*v)?;
                    self.form(first, depth + 1)?.plus(&Form::digit(Digit::Turn(*v), step), 1)
                }
            },
            Expr::Binary(op, pair) => {
                let of_warp = |e: &Expr| {
                    let mut only = true;
                    e.visit(&mut |x| only &= !matches!(x, Expr::Var(_) | Expr::Tape(..)));
                    e.visit(&mut |x| only &= !matches!(x, Expr::Env(env) if *env != Env::Warp));
                    only
                };
                if matches!(op, Binary::Div | Binary::Rem) && of_warp(e) {
                    return Some(Form::digit(Digit::OfWarp(format!("{e:?}")), 1));
                }
                let (x, y) = (self.form(&pair.0, depth + 1)?, self.form(&pair.1, depth + 1)?);
                let number = |f: &Form| f.terms.is_empty().then_some(f.constant);
                match (op, number(&x), number(&y)) {
                    (Binary::Add, ..) => x.plus(&y, 1),
                    (Binary::Sub, ..) => x.plus(&y, -1),
                    (Binary::Mul, _, Some(c)) => Form::default().plus(&x, c),
                    (Binary::Mul, Some(c), _) => Form::default().plus(&y, c),
                    (Binary::Div, _, Some(1)) => Some(x),
                    (Binary::Div, _, Some(c)) if c > 1 => Some(Form::digit(Digit::Quotient(Box::new(x), c), 1)),
                    (Binary::Rem, _, Some(c)) if c > 1 => Some(Form::digit(Digit::Remainder(Box::new(x), c), 1)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The digits that a number determines, if it determines all of its digits. `width` is the length of a range that
    /// starts at the number.
    fn told(&self, f: &Form, width: i64) -> Option<BTreeSet<Digit>> {
        // A digit that is always 0 is always determined.
        let counts = f.terms.iter().filter(|(d, _)| self.count(d) != Some(1));
        let mut terms: Vec<(i64, &Digit)> = counts.map(|(d, f)| (f.abs(), d)).collect();
        terms.sort();
        let mut span = Some(width);
        for (factor, d) in &terms {
            // Beyond a digit without a known end, nothing is determined.
            if *factor < span? {
                return None;
            }
            span = self.count(d).and_then(|n| span?.checked_add(factor.checked_mul(n.max(1) - 1)?));
        }
        Some(terms.into_iter().map(|(_, d)| d.clone()).collect())
    }

    /// Whether the block of a place determines the CTA.
    fn tell_the_cta(&self, place: &Place) -> bool {
        let o = &self.prog.objects[place.obj as usize];
        let width = |axis: usize| if place.elements { o.block[axis] } else { 1 };
        let mut known: BTreeSet<Digit> = BTreeSet::new();
        for (axis, e) in place.at.iter().enumerate() {
            let digits = self.form(e, 0).and_then(|f| self.told(&f, width(axis)));
            // A coordinate that determines nothing is ignored.
            known.extend(digits.unwrap_or_default());
        }
        // `x / c` and `x % c` together determine x.
        loop {
            let pairs: Vec<Form> = known
                .iter()
                .filter_map(|d| match d {
                    Digit::Quotient(x, c) if known.contains(&Digit::Remainder(x.clone(), *c)) => Some((**x).clone()),
                    _ => None,
                })
                .collect();
            let before = known.len();
            pairs.iter().filter_map(|x| self.told(x, 1)).for_each(|digits| known.extend(digits));
            if known.len() == before {
                break;
            }
        }
        let has = |d: Digit| known.contains(&d) || self.count(&d) == Some(1);
        let cluster = has(Digit::ClusterId) || has(Digit::ClusterM) && has(Digit::ClusterN) && has(Digit::ClusterZ);
        cluster && has(Digit::Rank)
    }
}

/// The stores of the CTAs of the given grid, as far as they were listed.
enum Walked {
    /// For each matrix, two CTAs that store the same elements, if there are any.
    All(HashMap<ObjId, (i64, i64, [i64; 2], [u32; 2])>),
    /// The stores were not listed, for this reason.
    Not(String),
}

/// Largest number of clusters whose stores are listed.
const CLUSTERS: i64 = 1024;
/// Largest number of listed stores.
const STORES: usize = 1 << 18;

/// A store by a CTA to a part of a block.
struct Store {
    cta: i64,
    pc: u32,
    footprint: Footprint,
}

fn walk(prog: &Program, rules: Rules) -> Walked {
    if prog.grid.len() > CLUSTERS {
        return Walked::Not(format!(
            "its coordinates have no simple form, and the grid has more than {CLUSTERS} clusters"
        ));
    }
    let info = agents(prog);
    // Stored rectangles, by matrix and block.
    let mut seen: HashMap<(ObjId, [i64; 2]), Vec<Store>> = HashMap::new();
    let mut clashes = HashMap::new();
    let mut listed = 0;
    for id in 0..prog.grid.len() {
        let mut walker = Walker::new(prog, rules, id);
        let Some(route) = walker.route() else {
            return Walked::Not("its coordinates depend on values from memory".into());
        };
        for t in route.copies.iter().filter(|t| t.store) {
            let Some(footprint) = walker.footprint(id, t) else { continue };
            if walker.by_elements(t) {
                return Walked::Not("its coordinates count elements and have no simple form".into());
            }
            let cta = id * prog.cluster as i64 + info[t.agent as usize].cta as i64;
            let list = seen.entry((footprint.obj, footprint.at)).or_default();
            let meets = |f: &Footprint| {
                let axis = |x: (i64, i64), y: (i64, i64)| x.0 < y.1 && y.0 < x.1;
                axis(f.rows, footprint.rows) && axis(f.cols, footprint.cols)
            };
            if let Some(other) = list.iter().find(|s| s.cta != cta && meets(&s.footprint)) {
                clashes.entry(footprint.obj).or_insert((other.cta, cta, footprint.at, [other.pc, t.pc]));
            }
            list.push(Store { cta, pc: t.pc, footprint });
            listed += 1;
            if listed > STORES {
                return Walked::Not(format!(
                    "its coordinates have no simple form, and there are more than {STORES} stores"
                ));
            }
        }
    }
    Walked::All(clashes)
}

impl Walked {
    fn of(&self, obj: ObjId, pc: u32) -> StoredBy {
        match self {
            Walked::Not(why) => StoredBy::Unknown(why.clone()),
            Walked::All(clashes) => match clashes.get(&obj) {
                None => StoredBy::DistinctAsGiven,
                Some((first, second, at, pcs)) => {
                    let other = if pcs[0] == pc { pcs[1] } else { pcs[0] };
                    StoredBy::Same { first: *first, second: *second, at: *at, other }
                }
            },
        }
    }
}
