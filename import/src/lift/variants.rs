//! The programs of a kernel for all outcomes of its conditions over the launch.

use std::collections::BTreeSet;
use std::sync::Arc;

use warpline_sim::ir::{Expr, ParamId, Program, each};

use super::Lifted;

/// The programs of a kernel, one after the other: one for each combination of outcomes of the free conditions and values of
/// the capped symbols, in each case. Equal programs stand once.
///
/// There are thousands of combinations, and many have one program: in a branch that is not taken, other conditions do not
/// matter. A combination is passed over if it agrees with an earlier one in all symbols that the earlier one's code reads.
#[derive(Clone, Debug, Default)]
pub struct Variants {
    cases: Vec<Case>,
    /// The case that is next, and the number of its next combination.
    case: usize,
    next: i64,
    /// The programs of this case so far.
    programs: Vec<Arc<Program>>,
    /// For each, the symbols that its code reads, by position, with their values.
    read: Vec<Vec<(usize, i64)>>,
}

/// A program, and the symbols that each have a value from 0 to the last one.
#[derive(Clone, Debug)]
struct Case {
    program: Arc<Program>,
    symbols: Vec<(ParamId, i64)>,
}

impl Lifted {
    /// The programs for all outcomes of conditions over the launch.
    pub fn variants(&self) -> Variants {
        let mut cases = Vec::new();
        self.add_cases(&mut cases);
        Variants { cases, ..Variants::default() }
    }

    fn add_cases(&self, cases: &mut Vec<Case>) {
        let free = self.free.iter().map(|f| (f.symbol, 1));
        let symbols = free.chain(self.capped.iter().map(|c| (c.symbol, c.last))).collect();
        cases.push(Case { program: Arc::new(self.program.clone()), symbols });
        self.others.iter().for_each(|other| other.add_cases(cases));
    }
}

impl Iterator for Variants {
    type Item = Arc<Program>;

    fn next(&mut self) -> Option<Arc<Program>> {
        loop {
            let case = self.cases.get(self.case)?;
            let Some(values) = case.combination(self.next) else {
                *self = Variants { cases: std::mem::take(&mut self.cases), case: self.case + 1, ..Variants::default() };
                continue;
            };
            self.next += 1;
            if self.read.iter().any(|read| read.iter().all(|(i, value)| values[*i] == *value)) {
                continue;
            }
            let Some(given) = case.with(&values) else { continue };
            self.read.push(case.read(&given).into_iter().map(|i| (i, values[i])).collect());
            let next = case.bound(&given);
            if !self.programs.iter().any(|p| same(p, &next)) {
                let next = Arc::new(next);
                self.programs.push(Arc::clone(&next));
                return Some(next);
            }
        }
    }
}

impl Case {
    /// The values of the symbols in a combination, of which the first symbol changes first.
    fn combination(&self, mut n: i64) -> Option<Vec<i64>> {
        let mut values = Vec::with_capacity(self.symbols.len());
        for (_, last) in &self.symbols {
            values.push(n % (last + 1));
            n /= last + 1;
        }
        (n == 0).then_some(values)
    }

    fn with(&self, values: &[i64]) -> Option<Program> {
        let name = |s: ParamId| self.program.symbols[s as usize].name.as_str();
        let values: Vec<(&str, i64)> = self.symbols.iter().zip(values).map(|((s, _), v)| (name(*s), *v)).collect();
        self.program.with(&values)
    }

    /// The program with numbers in place of the symbols.
    fn bound(&self, given: &Program) -> Program {
        let all = 0..self.program.symbols.len() as ParamId;
        given.bind_all_but(&all.filter(|p| self.symbols.iter().all(|(s, _)| s != p)).collect())
    }

    /// The symbols, by position, that the program reads with its values: in code that it reaches, or anywhere else.
    fn read(&self, given: &Program) -> Vec<usize> {
        let mut read: BTreeSet<ParamId> = BTreeSet::new();
        let mut note = |e: &Expr| {
            e.visit(&mut |x| {
                if let Expr::Param(p) = x {
                    read.insert(*p);
                }
            });
        };
        let live = given.live_for(&self.symbols.iter().map(|(s, _)| *s).collect());
        for (i, _) in given.code.iter().zip(live).filter(|(_, live)| *live) {
            each(given, i, &mut |_, e| note(e));
        }
        let forms = &given.forms;
        let sizes = forms.grid.iter().flatten().chain(forms.extents.iter().flatten().flatten()).chain(&forms.requires);
        let definitions = given.symbols.iter().filter_map(|s| s.definition.as_ref());
        sizes.chain(given.tapes.iter().map(|t| &t.run)).chain(definitions).for_each(note);
        (0..self.symbols.len()).filter(|i| read.contains(&self.symbols[*i].0)).collect()
    }
}

/// Whether two programs differ in no more than the values of parameters.
fn same(a: &Program, b: &Program) -> bool {
    a.code == b.code && Program { params: b.params.clone(), ..a.clone() } == *b
}
