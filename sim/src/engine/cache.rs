//! The share of a core's loads that misses the second-level cache, at `core` fidelity.
//!
//! The CTAs resident at one time walk the depth of the product together, so DRAM delivers a tile once for all that load
//! it. The miss rate of a matrix is the number of different blocks that these CTAs request, divided by the number of
//! CTAs. Size and evictions of the cache are simulated at `device` fidelity only.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Class, Env, Expr, Instr, MoveKind, Op, Program, VarId, apply};

/// Share of the loaded bytes of each object that comes from DRAM. `resident` is the number of launch units (CTAs or
/// clusters) that run at a time on the whole machine.
pub(super) fn misses(prog: &Program, resident: i64) -> Vec<f64> {
    let mut share = vec![1.0; prog.objects.len()];
    // A sample of this size has the ratio of the whole to well under one percent.
    let sample = resident.clamp(1, prog.grid.len().max(1)).min(4096);
    let first = first_values(prog);
    for (obj, share) in share.iter_mut().enumerate() {
        let places: Vec<_> = prog
            .code
            .iter()
            .filter_map(|i| match i {
                Instr::Op { op: Op::Move { how, src, .. }, .. }
                    if src.obj as usize == obj && *how != MoveKind::Store && *how != MoveKind::TmaStore =>
                {
                    Some(src)
                }
                _ => None,
            })
            .collect();
        if prog.objects[obj].class != Class::Global || places.is_empty() {
            continue;
        }
        let mut seen = BTreeSet::new();
        let mut asked = 0usize;
        for id in 0..sample {
            let (m, n, z) = prog.grid.at(id);
            for cta in 0..prog.cluster as i64 {
                let at = GridPoint { id, m, n, z, cta, size: prog.cluster as i64, first: &first, prog };
                // The blocks that one CTA requests at one step: the blocks of all its places, at the first iteration of
                // every loop.
                let own: BTreeSet<Vec<i64>> =
                    places.iter().map(|p| p.at.iter().map(|e| at.value(e, 0)).collect()).collect();
                asked += own.len();
                seen.extend(own);
            }
        }
        *share = seen.len() as f64 / asked.max(1) as f64;
    }
    share
}

/// Longest chain of variables that is followed from definition to definition.
const DEEPEST: usize = 8;

/// The first value of each variable, in code order. For a loop over the CTA's own tiles, this is where the loop begins.
fn first_values(prog: &Program) -> BTreeMap<VarId, &Expr> {
    let mut first = BTreeMap::new();
    for i in &prog.code {
        if let Instr::Set(var, e) = i {
            first.entry(*var).or_insert(e);
        }
    }
    first
}

/// A place in the grid at which coordinates are evaluated; each variable has its first value.
struct GridPoint<'p> {
    id: i64,
    m: i64,
    n: i64,
    z: i64,
    cta: i64,
    size: i64,
    first: &'p BTreeMap<VarId, &'p Expr>,
    prog: &'p Program,
}

impl GridPoint<'_> {
    /// The value of an expression after `deep` definitions of variables were followed. A variable defined by itself has
    /// no end of this chain, and counts as zero.
    fn value(&self, e: &Expr, deep: usize) -> i64 {
        match e {
            Expr::Const(v) => *v,
            Expr::Param(p) => self.prog.symbols[*p as usize].value,
            Expr::Var(v) => match self.first.get(v) {
                Some(e) if deep < DEEPEST => self.value(e, deep + 1),
                _ => 0,
            },
            Expr::Tape(..) => 0,
            Expr::Env(env) => match env {
                Env::Warp | Env::TapeIndex => 0,
                Env::CtaRank => self.cta,
                Env::CtaM => self.m * self.size + self.cta,
                Env::CtaN | Env::ClusterN => self.n,
                Env::CtaZ => self.z,
                Env::CtaId => self.id * self.size + self.cta,
                Env::ClusterM => self.m,
                Env::ClusterId => self.id,
            },
            Expr::Unary(crate::ir::Unary::Neg, a) => -self.value(a, deep),
            Expr::Unary(crate::ir::Unary::Not, a) => (self.value(a, deep) == 0) as i64,
            Expr::Binary(op, p) => apply(*op, self.value(&p.0, deep), self.value(&p.1, deep)).unwrap_or(0),
            Expr::If(p) => self.value(if self.value(&p.0, deep) != 0 { &p.1 } else { &p.2 }, deep),
        }
    }
}
