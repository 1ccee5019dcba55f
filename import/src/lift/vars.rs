//! Values that variables of the program can have, where these are few: ring indices and phases that a loop carries on from
//! the loop around it.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::symbolic::{Atom, Term};

use super::walk::Shared;

/// Values of one variable, at most.
const VALUES: usize = 128;

impl Shared<'_> {
    /// Notes what a variable is set to.
    pub(super) fn sets(&mut self, var: u32, t: Term) {
        let list = self.var_sets.entry(var).or_default();
        if !list.contains(&t) {
            list.push(t);
        }
    }

    /// Finds the values of all variables anew, with variables in place of what a loop carried before it was solved.
    pub(super) fn settle(&mut self, with: &FxHashMap<Term, Term>) {
        let vars: Vec<u32> = self.var_sets.keys().copied().collect();
        for v in &vars {
            let list = self.var_sets[v].clone();
            let list = list.into_iter().map(|t| self.arena.replace(t, with, &mut FxHashMap::default())).collect();
            self.var_sets.insert(*v, list);
        }
        let mut values: BTreeMap<u32, BTreeSet<i64>> = vars.iter().map(|v| (*v, BTreeSet::new())).collect();
        let mut lost: BTreeSet<u32> = BTreeSet::new();
        let mut changed = true;
        while changed {
            changed = false;
            for v in &vars {
                if lost.contains(v) {
                    continue;
                }
                for t in self.var_sets[v].clone() {
                    let new = self.results(t, &values, &lost);
                    let Some(new) = new else {
                        lost.insert(*v);
                        changed = true;
                        break;
                    };
                    let all = values.entry(*v).or_default();
                    for x in new {
                        changed |= all.insert(x);
                    }
                    if all.len() > VALUES {
                        lost.insert(*v);
                        changed = true;
                        break;
                    }
                }
            }
        }
        for v in vars {
            match (lost.contains(&v), values[&v].first(), values[&v].last()) {
                (false, Some(a), Some(b)) => drop(self.arena.var_ranges.insert(v, (*a, *b))),
                _ => drop(self.arena.var_ranges.remove(&v)),
            }
        }
    }

    /// Values of a term for all values of its variables; none where it reads anything else.
    fn results(&mut self, t: Term, values: &BTreeMap<u32, BTreeSet<i64>>, lost: &BTreeSet<u32>) -> Option<Vec<i64>> {
        let mut reads: BTreeSet<u32> = BTreeSet::new();
        let mut fine = true;
        self.arena.each_atom(t, &mut |a| match a {
            Atom::Var(v) if !lost.contains(&v) => drop(reads.insert(v)),
            _ => fine = false,
        });
        if !fine || reads.len() > 3 {
            return None;
        }
        let mut points: Vec<BTreeMap<u32, i64>> = vec![BTreeMap::new()];
        for v in reads {
            let all = values.get(&v)?;
            if points.len() * all.len() > 4096 {
                return None;
            }
            points = points
                .into_iter()
                .flat_map(|p| {
                    all.iter().map(move |x| {
                        let mut p = p.clone();
                        p.insert(v, *x);
                        p
                    })
                })
                .collect();
        }
        let mut out = Vec::new();
        for p in points {
            let at = |a: Atom| if let Atom::Var(v) = a { p.get(&v).copied() } else { None };
            out.push(self.arena.value(t, &at)?);
        }
        Some(out)
    }
}
