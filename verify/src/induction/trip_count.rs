//! Trip counts: the parameter that sets the trip count of the main loop, read from the symbols in the loop's bound, and
//! the kernel at any other trip count. The same for the outer loop.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Expr, ExprUse, Loop, ParamId, Program, each};

use crate::induction::family::Family;
use crate::induction::fixed_parameters;
use crate::induction::grid_size::{SizeReads, size_reads};
use crate::induction::loop_bounds::reads_variables;
use crate::induction::loop_counter::step_of;
use crate::induction::refused;
use crate::induction::row_classes::{some_trips, two_turns};
use crate::induction::slope::{growth, slope};
use crate::induction::while_loops;

/// A symbol that sets the trip count of the outer loop: the value `value + (turns * step - bound) * den` gives `turns`
/// iterations.
#[derive(Clone, Debug)]
struct Outer {
    symbol: ParamId,
    step: i64,
    value: i64,
    bound: i64,
    den: i64,
    /// Whether the symbol is the size of the grid, all tiles of which `clc` hands to the first cluster.
    handed: bool,
}

/// Iterations of a loop over handed-out tiles, where only the main loop is varied. This exceeds the phases of the
/// mailboxes' rings, while the whole grid can have thousands of tiles.
pub(crate) const HANDED: i64 = 8;

/// Largest distance of accepted trip counts that is searched for.
const LARGEST_GAP: i64 = 48;
/// Number of periods in which a refused trip count must begin to be refused for ever.
const FEW_PERIODS: i64 = 4;

/// Largest step of a parameter that is searched for values between two trip counts.
const LONGEST_STEP: i64 = 1024;

/// A parameter that sets the trip count of the main loop: `value + (n - bound) * step` gives `n` iterations.
#[derive(Clone, Debug)]
pub struct Trips {
    /// The kernel; only values that depend on the varied symbols are symbolic.
    kernel: Program,
    /// The parameter.
    pub name: String,
    value: i64,
    bound: i64,
    step: i64,
    /// Whether the kernel refuses all values of the parameter that are not varied.
    refuses_others: bool,
    outer: Option<Outer>,
    /// Another parameter, which sets the trip count of a loop before or after the main loop.
    other: Option<Outer>,
    /// Lines of loops whose trip counts are not varied, with the values that set them.
    fixed: Vec<(u32, String)>,
}

/// The smallest value of a parameter: 0, or that which the kernel asks for. Of a compiled kernel, sizes for which the main
/// loop begins behind a step that is always made are not known to be launched.
fn least(symbolic: &Program, p: ParamId) -> Option<i64> {
    let bound = |e: &Expr| match e {
        Expr::Binary(Binary::Ge, of) if of.0 == Expr::Param(p) => of.1.constant(),
        _ => None,
    };
    let required = symbolic.forms.requires.iter().filter_map(bound).max();
    required.or((!symbolic.opaque_globals).then_some(0))
}

impl Trips {
    /// The first parameter, in order of declaration, on which the bound of a loop depends linearly. A loop without
    /// another such loop inside is preferred.
    pub fn find(symbolic: &Program) -> Option<Trips> {
        let symbolic = &while_loops::counted(symbolic);
        let all = 0..symbolic.symbols.len() as ParamId;
        let roots: Vec<ParamId> = all.filter(|p| symbolic.symbols[*p as usize].definition.is_none()).collect();
        // Where a `while` loop deals out steps of tiles by a division, the divisor sets the length of a tile.
        let divisors = roots.iter().filter(|p| while_loops::deals_out_by(symbolic, **p));
        let tiles = divisors.filter_map(|p| Trips::by(symbolic, *p, true)).find(|trips| trips.refuses_parts(symbolic));
        let inner = tiles.or_else(|| roots.iter().find_map(|p| Trips::by(symbolic, *p, true)));
        inner.or_else(|| roots.iter().find_map(|p| Trips::by(symbolic, *p, false)))
    }

    /// The kernel varied by one parameter, if that parameter sets a trip count.
    fn by(symbolic: &Program, p: ParamId, innermost: bool) -> Option<Trips> {
        let grows = |l: &Loop| l.var.and_then(|_| growth(symbolic, l, p)).filter(|s| s.num > 0);
        // The innermost loop that grows by one iteration at a time is the main one. Of several such loops, it is the one
        // that grows with the smallest step of the parameter.
        let some = |l: &Loop| {
            (0..symbolic.symbols.len() as ParamId).any(|q| growth(symbolic, l, q).is_some_and(|s| s.num > 0))
        };
        let counts = |l: &Loop| {
            l.bound.as_ref().is_some_and(|b| if b.is_launch_constant() { b.constant().is_none() } else { some(l) })
        };
        let around = |l: &Loop| symbolic.loops.iter().any(|x| counts(x) && x.head > l.head && x.end <= l.end);
        if innermost && symbolic.loops.iter().any(|l| grows(l).is_some() && around(l)) {
            return None;
        }
        let loops = symbolic.loops.iter().filter_map(|l| Some((grows(l)?, l)));
        let (slope, main) = loops.max_by_key(|(s, l)| (s.num == 1, Reverse(s.den), l.head))?;
        let symbol = &symbolic.symbols[p as usize];
        // One iteration more for each step of the parameter. If one step gives several iterations, or passes differ,
        // steps are counted.
        let counted = (slope.num == 1 && !reads_variables(main)).then(|| symbolic.launch_value(main.bound.as_ref()?));
        let (step, bound) = (slope.den, counted.unwrap_or(Some(symbol.value / slope.den))?);
        // Values below that of a loop without iterations count, too, such as 0 for `0..k - 1`.
        let bound = least(symbolic, p).map_or(bound, |least| bound.max((symbol.value - least).div_euclid(step)));
        let mut varied = BTreeSet::from([p]);
        let mut outer = Outer::of(symbolic, p);
        let mut other = if outer.is_none() { other(symbolic, p) } else { None };
        match &other {
            // The parameter of the inner loop is the main one.
            Some(o) if innermost && in_while(symbolic, o.symbol) && !in_while(symbolic, p) => return None,
            Some(o) if in_while(symbolic, p) && !in_while(symbolic, o.symbol) => outer = Some(o.passing(symbolic)),
            _ => {}
        }
        other = other.filter(|_| outer.is_none());
        varied.extend(outer.iter().chain(&other).map(|o| o.symbol));
        let fixed = fixed_parameters::fixed(symbolic, &varied);
        let kernel = symbolic.bind_all_but(&varied);
        let (name, value) = (symbol.name.clone(), symbol.value);
        let symbol = |id: ParamId| kernel.symbol(&symbolic.symbols[id as usize].name);
        let outer = outer.and_then(|o| Some(Outer { symbol: symbol(o.symbol)?, ..o }));
        let other = other.and_then(|o| Some(Outer { symbol: symbol(o.symbol)?, ..o }));
        let trips = Trips { name, value, bound, step, refuses_others: false, outer, other, fixed, kernel };
        Some(trips.without_refused())
    }

    /// The trip counts that the kernel accepts, where it accepts those of one remainder only (`require tiles % 6 == 0`).
    /// Runs of two accepted trip counts can be compared, while a refused one has no run.
    fn without_refused(self) -> Trips {
        let at = |n: i64| self.at(n);
        let near = |d: &i64| [self.bound - d, self.bound + d].into_iter().any(|n| at(n).is_some());
        let gap = (1..=LARGEST_GAP).find(near).unwrap_or(1);
        let others = (0..gap).filter(|n| (n - self.bound) % gap != 0);
        // Some of the smallest trip counts are refused for another reason.
        let start = |n: i64| (0..FEW_PERIODS).map(|k| n + k * gap).find(|n| refused::held(&at, *n, gap).is_ok());
        let refused = |n: i64| start(n).is_some_and(|m| (n..m).step_by(gap as usize).all(|n| at(n).is_none()));
        if gap == 1 || !others.into_iter().all(refused) {
            return self;
        }
        let step = gap * self.step;
        Trips { step, bound: self.value.div_euclid(step), refuses_others: self.step == 1, ..self }
    }

    /// Whether the kernel refuses all values of the parameter between two trip counts, next to the given value.
    fn refuses_parts(&self, symbolic: &Program) -> bool {
        let refused = |by: i64| symbolic.with(&[(self.name.as_str(), self.value + by)]).is_none();
        self.step <= LONGEST_STEP && (1..self.step).all(refused)
    }

    /// The parameter that sets the trip count of the outer loop, or of a loop before or behind the main loop. The number
    /// is what the loop's bound divides the parameter by.
    pub(crate) fn turns_divisor(&self) -> Option<(String, i64)> {
        let outer = self.outer.as_ref().or(self.other.as_ref()).filter(|o| !o.handed)?;
        Some((self.turns_name()?.to_string(), outer.den))
    }

    /// Whether the values of a symbol are varied, and none is left out. A loop that makes one iteration for several values
    /// leaves remainders out.
    pub(crate) fn varies_by_one(&self, symbol: &str) -> bool {
        let outer = self.outer.as_ref().or(self.other.as_ref());
        (self.name == symbol && self.step == 1)
            || outer.is_some_and(|o| o.den == 1) && self.turns_name() == Some(symbol)
    }

    /// Whether the kernel refuses all values of the parameter that are not varied.
    pub(crate) fn refuses_others(&self) -> bool {
        self.refuses_others
    }

    /// The kernel with the given values, symbolic in the varied ones.
    pub fn given(&self) -> &Program {
        &self.kernel
    }

    /// The kernel with `n` iterations, and a few outer iterations where tiles are handed out; `None` where the kernel
    /// refuses `n`.
    pub fn at(&self, n: i64) -> Option<Program> {
        self.with(n, self.outer.as_ref().filter(|o| o.handed).map(|o| (o, HANDED)))
    }

    /// Whether the trip count of the outer loop can be varied.
    pub fn turns(&self) -> bool {
        self.outer.is_some()
    }

    /// The kernel with `n` iterations and this number of outer iterations, or iterations of the other loop; `None`
    /// where the kernel refuses these.
    pub fn turned(&self, n: i64, turns: i64) -> Option<Program> {
        if self.outer.is_none() {
            return self.both(n, turns);
        }
        let outer = self.outer.as_ref().filter(|o| turns > 0 || !o.handed)?;
        self.with(n, Some((outer, turns)))
    }

    /// The kernel with `n` iterations and this number of jobs, which the outer loop shares among CTAs; `None` where the
    /// kernel refuses these.
    pub fn with_jobs(&self, n: i64, jobs: i64) -> Option<Program> {
        let outer = self.outer.as_ref().filter(|o| !o.handed)?;
        self.with(n, Some((&Outer { step: 1, ..outer.clone() }, jobs)))
    }

    /// The line at which the code reads the size of the grid as a term of a sum. It matters if fewer jobs than CTAs set
    /// a smaller grid. What such launches do is then assumed (docs/proof.md, lemma 13).
    pub fn smaller_grids_assumed(&self) -> Option<u32> {
        let (two, three) = two_turns(|n, t| self.turned(n, t))?;
        let one_job = some_trips(|n| self.with_jobs(n, 1))?;
        match size_reads(&two, &three) {
            SizeReads::Sum(line) if one_job.grid != two.grid => Some(line),
            _ => None,
        }
    }

    fn with(&self, n: i64, turns: Option<(&Outer, i64)>) -> Option<Program> {
        let value = self.value.checked_add((n - self.bound).checked_mul(self.step)?).filter(|v| *v >= 0)?;
        let mut values = vec![(self.name.as_str(), value)];
        if let Some((outer, turns)) = turns {
            let name = self.kernel.symbols[outer.symbol as usize].name.as_str();
            let by = outer.step.checked_mul(turns)?.checked_sub(outer.bound)?.checked_mul(outer.den)?;
            values.push((name, outer.value.checked_add(by).filter(|v| *v >= 0)?));
        }
        // An empty grid runs nothing.
        self.kernel.with(&values).filter(|p| !p.grid.is_empty())
    }

    /// Whether the trip count of a loop before or after the main loop can also be varied.
    pub(crate) fn sequential(&self) -> bool {
        self.other.is_some()
    }

    /// The kernel with `n` iterations of the main loop and `t` of the other one.
    pub(crate) fn both(&self, n: i64, t: i64) -> Option<Program> {
        self.with(n, Some((self.other.as_ref()?, t)))
    }

    /// Loops whose trip counts are not varied, and the values that set them.
    pub(crate) fn fixed(&self) -> &[(u32, String)] {
        &self.fixed
    }

    /// The values of the parameter for `n` iterations.
    pub fn family(&self) -> Family {
        Family { symbol: self.name.clone(), zero: self.value - self.bound * self.step, step: self.step }
    }

    /// The smallest value of the parameter that is varied, where a launch of a compiled kernel might have a smaller one.
    pub fn least_assumed(&self) -> Option<i64> {
        let p = self.kernel.symbols.iter().position(|s| s.name == self.name)?;
        let zero = self.family().zero;
        (zero > 0 && least(&self.kernel, p as ParamId).is_none()).then_some(zero)
    }

    /// The values for `t` iterations of the outer loop or of the other loop.
    pub fn turns_family(&self) -> Option<Family> {
        let symbol = self.turns_name()?.to_string();
        let o = self.outer.as_ref().or(self.other.as_ref())?;
        Some(Family { symbol, zero: o.value - o.bound * o.den, step: o.step * o.den })
    }

    /// The values for `t` jobs, which the outer loop shares among CTAs.
    pub(crate) fn jobs_family(&self) -> Option<Family> {
        let o = self.outer.as_ref().filter(|o| !o.handed)?;
        Some(Family { step: o.den, ..self.turns_family()? })
    }

    /// Number of tiles in all runs in which only trip counts are varied, where tiles are handed out.
    pub fn tiles(&self) -> Option<i64> {
        self.outer.as_ref().filter(|o| o.handed).map(|_| HANDED)
    }

    /// The values of the parameter for `n` iterations, in words.
    pub fn meaning(&self) -> String {
        self.family().words("n")
    }

    /// The value that sets the trip count of the outer loop.
    pub fn turns_name(&self) -> Option<&str> {
        let symbol = self.outer.as_ref().or(self.other.as_ref())?.symbol;
        Some(self.kernel.symbols[symbol as usize].name.as_str())
    }

    /// Iterations of the outer loop with the given values, of the CTA that has the most.
    pub(crate) fn given_turns(&self) -> Option<i64> {
        self.outer.as_ref().map(|o| (o.bound + o.step - 1).div_euclid(o.step))
    }

    /// The values for `t` outer iterations, in words; `None` where no value sets them.
    pub fn turns_meaning(&self) -> Option<String> {
        Some(self.turns_family()?.words("t"))
    }
}

impl Outer {
    /// The symbol in the bound of the outer loop, if it does not also set the trip count.
    fn of(prog: &Program, p: ParamId) -> Option<Outer> {
        let main = |l: &Loop| growth(prog, l, p).is_some_and(|s| s.num > 0);
        let around = |l: &&Loop| prog.loops.iter().any(|m| main(m) && l.head < m.head && l.end > m.end);
        let first = prog.loops.iter().filter(around).find(|l| l.index().is_some())?;
        if first.var.is_none() && first.bound.is_none() {
            let handed = prog.hands_out().then(|| sole(prog, p))??;
            let value = prog.symbols[handed as usize].value;
            return Some(Outer { symbol: handed, step: 1, value, bound: value, den: 1, handed: true });
        }
        let Some((symbol, more)) = plus_constant(first.bound.as_ref()?) else {
            return Outer::several(prog, first.bound.as_ref()?).filter(|o| Some(0) == gain(prog, o.symbol, p));
        };
        // No symbol of a compiled kernel is part of a design.
        if more != 0 && !prog.opaque_globals && !counts(prog, symbol) {
            return None;
        }
        if gain(prog, symbol, p) != Some(0) {
            return None;
        }
        let (bound, step) = (prog.symbols[symbol as usize].value + more, step_of(prog, first));
        let outer = |symbol: ParamId, den: i64| {
            let value = prog.symbols[symbol as usize].value;
            Outer { symbol, step, value, bound, den, handed: false }
        };
        let of = prog.parameters_of(&Expr::Param(symbol));
        // A `let` is varied itself if a parameter in its definition has no other use. If not, the parameter is varied, if
        // the `let` depends on one only.
        let used = used(prog, symbol);
        if of.iter().any(|q| !used.contains(q)) {
            return Some(outer(symbol, 1));
        }
        let only = of.first().filter(|_| of.len() == 1)?;
        let slope = slope(prog, &Expr::Param(symbol), *only).filter(|s| s.num > 0)?;
        if slope.num > 1 {
            return Outer::several(prog, &Expr::Param(symbol));
        }
        Some(outer(*only, slope.den))
    }

    /// The only parameter in a bound such as `2 * turns`, of which one step gives several iterations: steps are counted.
    fn several(prog: &Program, bound: &Expr) -> Option<Outer> {
        let of = prog.parameters_of(bound);
        let symbol = *of.first().filter(|q| of.len() == 1 && counts(prog, **q))?;
        let den = slope(prog, bound, symbol).filter(|s| s.num > 1)?.den;
        let value = prog.symbols[symbol as usize].value;
        Some(Outer { symbol, step: 1, value, bound: value / den, den, handed: false })
    }

    /// The loop of a scheduler, which passes jobs on in a mailbox. Each of its iterations is one of the `while` loop around
    /// the main loop.
    fn passing(&self, prog: &Program) -> Outer {
        let own = |l: &&Loop| l.bound.as_ref().is_some_and(|b| grows(prog, b, self.symbol));
        Outer { step: prog.loops.iter().find(own).map_or(1, |l| step_of(prog, l)), ..self.clone() }
    }
}

/// The gain of a symbol where a parameter gains; `None` where it has none.
fn gain(prog: &Program, symbol: ParamId, p: ParamId) -> Option<i64> {
    slope(prog, &Expr::Param(symbol), p).map(|s| s.num)
}

fn grows(prog: &Program, e: &Expr, p: ParamId) -> bool {
    slope(prog, e, p).is_some_and(|s| s.num > 0)
}

/// Whether a parameter sets the bound of a loop inside a `while` loop that does not count.
fn in_while(prog: &Program, p: ParamId) -> bool {
    let around = |l: &Loop| prog.loops.iter().any(|w| w.bound.is_none() && w.head < l.head && l.end <= w.end);
    prog.loops.iter().any(|l| l.bound.as_ref().is_some_and(|b| grows(prog, b, p)) && around(l))
}

/// A parameter, and the constant that is added to it.
fn plus_constant(e: &Expr) -> Option<(ParamId, i64)> {
    match e {
        Expr::Param(symbol) => Some((*symbol, 0)),
        Expr::Binary(Binary::Add, pair) => match (&pair.0, &pair.1) {
            (Expr::Param(symbol), Expr::Const(k)) | (Expr::Const(k), Expr::Param(symbol)) => Some((*symbol, *k)),
            _ => None,
        },
        _ => None,
    }
}

/// Parameters that the code reads other than through a symbol.
fn used(prog: &Program, but: ParamId) -> BTreeSet<ParamId> {
    let mut list = BTreeSet::new();
    for i in &prog.code {
        each(prog, i, &mut |_, e| {
            e.visit(&mut |x| {
                if matches!(x, Expr::Param(q) if *q != but) {
                    list.extend(prog.parameters_of(x));
                }
            });
        });
    }
    list
}

/// Whether a parameter only counts: the code reads it only in conditions and bounds of loops. A parameter that says
/// where or how far (a look-ahead, a slot) is part of the design.
fn counts(prog: &Program, p: ParamId) -> bool {
    !reads_other(prog, p, &BTreeSet::new())
}

/// The same for a number of jobs, which may also set the size of the grid, by which a loop over jobs steps.
pub(crate) fn counts_jobs(prog: &Program, p: ParamId) -> bool {
    let steps = prog.loops.iter().filter(|l| l.var.is_some()).filter_map(|l| (l.end as usize).checked_sub(2)).collect();
    !reads_other(prog, p, &steps)
}

/// Whether an instruction that is not one of these reads a parameter, other than in a condition or the bound of a loop.
fn reads_other(prog: &Program, p: ParamId, but: &BTreeSet<usize>) -> bool {
    let mut other = BTreeSet::new();
    for (_, i) in prog.code.iter().enumerate().filter(|(pc, _)| !but.contains(pc)) {
        each(prog, i, &mut |what, e| {
            if what != ExprUse::Guard {
                other.extend(prog.parameters_of(e));
            }
        });
    }
    other.contains(&p)
}

/// A parameter that sets the bounds of loops, none of which is inside or around a loop that another parameter grows.
fn other(prog: &Program, p: ParamId) -> Option<Outer> {
    let main = |l: &Loop| l.bound.as_ref().is_some_and(|b| slope(prog, b, p).is_none_or(|s| s.num != 0));
    let mains: Vec<&Loop> = prog.loops.iter().filter(|l| l.bound.is_some() && main(l)).collect();
    let apart = |l: &Loop| mains.iter().all(|m| l.end <= m.head || m.end <= l.head);
    let by = |l: &Loop, q: ParamId| {
        let bound = l.bound.as_ref().filter(|_| l.var.is_some() && q != p && !main(l))?;
        let slope = slope(prog, bound, q).filter(|s| s.num > 0)?;
        Some((slope, prog.launch_value(bound)?))
    };
    let first = |q: ParamId| {
        let symbol = &prog.symbols[q as usize];
        let (slope, bound) = prog.loops.iter().find_map(|l| by(l, q))?;
        // If one step of the parameter gives several iterations, steps are counted, as for the main loop.
        let bound = if slope.num == 1 { bound } else { symbol.value / slope.den };
        let all = prog.loops.iter().filter(|l| by(l, q).is_some()).all(apart);
        let only = prog.opaque_globals || counts(prog, q) || in_while(prog, p) && counts_jobs(prog, q);
        let fit = symbol.definition.is_none() && only && all;
        fit.then_some(Outer { symbol: q, step: 1, value: symbol.value, bound, den: slope.den, handed: false })
    };
    (0..prog.symbols.len() as ParamId).find_map(first)
}

/// The symbol that is the size of a grid of one row or column.
fn sole(prog: &Program, p: ParamId) -> Option<ParamId> {
    let grid = prog.forms.grid.as_ref()?;
    let values: Vec<i64> = grid.iter().map(|e| prog.launch_value(e)).collect::<Option<_>>()?;
    let longest = (0..3).max_by_key(|i| (values[*i], 3 - i))?;
    let ones = (0..3).all(|i| i == longest || values[i] == 1);
    match grid[longest] {
        Expr::Param(symbol) if ones && symbol != p => Some(symbol),
        _ => None,
    }
}
