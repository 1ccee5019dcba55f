//! Which parameter of a kernel sets how often its main loop runs, and the kernel at any other number of steps; which of its
//! values sets the turns of the loop around it, and the kernel at any other number of both.

use std::collections::BTreeMap;
use std::sync::Mutex;

use warpline_sim::ir::{Loop, Program};

use crate::further::grown;
use crate::trip_count;
use crate::watch::step_of;

/// A kernel with other values of some parameters or header `let`s; `None` where it refuses them.
type With<'a> = Box<dyn Fn(&[(&str, i64)]) -> Option<Program> + Sync + 'a>;

/// Kernels by steps and, where they are set, turns.
type Compiled = BTreeMap<(i64, Option<i64>), Option<Program>>;

/// A value that is the bound of the loop around the main loop: `turns * step` makes so many turns.
#[derive(Clone, Debug)]
struct Turning {
    name: String,
    step: i64,
    /// It is the grid, all tiles of which `clc` hands to the first cluster.
    handed: bool,
}

/// Turns of a loop over tiles that are handed out, where only steps are varied: more than the phases of the mailboxes' rings,
/// and not the whole grid, which can be thousands.
pub(crate) const HANDED: i64 = 8;

/// A parameter that sets the trip count: `value + (n - bound) * step` gives `n` steps.
pub struct Trips<'a> {
    with: With<'a>,
    /// The parameter.
    pub name: String,
    value: i64,
    bound: i64,
    step: i64,
    turning: Option<Turning>,
    /// Kernels compiled so far, by steps and turns; verification asks for the same ones again for each CTA class and each
    /// removal.
    compiled: Mutex<Compiled>,
}

/// Steps and turns at which a value is held to setting the turns.
const TURNED: (i64, [i64; 4]) = (6, [1, 2, 3, 17]);

/// Kernels that are kept compiled, at most: those of a proof's runs are fewer, and those that are only compared are many.
const KEPT: usize = 1024;

/// Trip counts at which a candidate is held to its word, three at least: some kernels may be others (`if tiles > 1`), and
/// the loop of a pipeline of 64 stages is not entered before 64.
const CHECKED: [i64; 7] = [1, 2, 8, 13, 64, 100, 131];

/// By how much a parameter is multiplied, and what is added, to find a loop that is not entered as it is.
const GROWN: [(i64, i64); 8] = [(1, 8), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0), (64, 0), (128, 0)];

impl<'a> Trips<'a> {
    /// The first parameter, in order of declaration, of which one step more is one trip more. `with` compiles the kernel
    /// with other values of some parameters, or of some header `let`s as if they were parameters.
    pub fn find(base: &Program, with: impl Fn(&[(&str, i64)]) -> Option<Program> + Sync + 'a) -> Option<Trips<'a>> {
        let mut trips = Trips {
            with: Box::new(with),
            name: String::new(),
            value: 0,
            bound: 0,
            step: 0,
            turning: None,
            compiled: Mutex::default(),
        };
        if !base.loops.is_empty() {
            return trips.found_at(base).then_some(trips);
        }
        // A loop of no trips is not in the program: then with a few of them, or more where a pipeline is deep.
        let longer = GROWN.into_iter().flat_map(|by| base.params.iter().map(move |p| (by, p)));
        for ((times, more), (name, value)) in longer {
            let grown = value.checked_mul(times).and_then(|v| v.checked_add(more));
            let program = grown.and_then(|v| (trips.with)(&[(name.as_str(), v)])).filter(|p| !p.loops.is_empty());
            if program.is_some_and(|p| trips.found_at(&p)) {
                return Some(trips);
            }
        }
        None
    }

    /// Whether a parameter of this kernel, which has its loop, sets the trip count.
    fn found_at(&mut self, base: &Program) -> bool {
        let mut values: Vec<i64> = base.params.iter().chain(&base.lets).map(|(_, v)| *v).filter(|v| *v > 1).collect();
        values.sort_unstable();
        values.dedup();
        values.push(1);
        let bounds = |value: i64| {
            base.loops.iter().filter_map(move |l| {
                let b = l.bound.as_ref()?.constant()?;
                // The last tile may be part of one.
                (b > 0 && value > 0).then(|| value / b + i64::from(value % b != 0))
            })
        };
        let found = base.params.iter().any(|(name, value)| {
            // A step that divides the value goes first: then n steps are a problem of n whole tiles.
            let steps = bounds(*value).chain(values.iter().copied());
            self.name.clone_from(name);
            self.value = *value;
            steps.into_iter().any(|step| self.holds_at(base, step))
        });
        self.turning = if found { self.turns_of(base) } else { None };
        found
    }

    /// The first value that is the bound of a loop around the main loop, and of nothing but such loops.
    fn turns_of(&self, base: &Program) -> Option<Turning> {
        let prog = self.at(TURNED.0)?;
        let next = self.at(TURNED.0 + 1)?;
        let main: Vec<&Loop> = grown(&prog, &next).into_iter().map(|(l, _)| l).collect();
        let around = |l: &Loop| main.iter().any(|m| l.head < m.head && l.end > m.end);
        let around: Vec<&Loop> = prog.loops.iter().filter(|l| around(l)).collect();
        let first = around.iter().find(|l| l.index().is_some())?;
        let handed = first.var.is_none() && prog.hands_out();
        let bound = if handed { prog.grid.len() } else { first.bound.as_ref()?.constant()? };
        let step = step_of(&prog, first);
        let values = prog.params.iter().chain(&prog.lets).filter(|(name, value)| *value == bound && *name != self.name);
        let mut candidates = values.map(|(name, _)| Turning { name: name.clone(), step, handed });
        candidates.find(|turning| {
            TURNED.1.iter().all(|t| {
                let Some(turned) = self.compiled_at(TURNED.0, Some((turning, *t))) else { return false };
                let loops = grown(&prog, &turned);
                let all = around.iter().all(|l| *t * step == bound || loops.iter().any(|(x, _)| x.head == l.head));
                // Another value may be as large by chance.
                let bounds = loops.iter().all(|(x, by)| x.head != first.head || bound + by == *t * step);
                let only = loops.iter().all(|(x, _)| main.iter().all(|l| l.head != x.head));
                let grid = if handed { turned.grid.len() == *t } else { turned.grid == base.grid };
                all && bounds && only && turned.code.len() == prog.code.len() && grid
            })
        })
    }

    /// Whether steps of the parameter as large as this are steps of the loop.
    fn holds_at(&mut self, base: &Program, step: i64) -> bool {
        let next = self.value.checked_add(step).and_then(|more| (self.with)(&[(self.name.as_str(), more)]));
        let Some(bound) = next.and_then(|next| trip_count(base, &next)) else { return false };
        (self.bound, self.step, self.compiled) = (bound, step, Mutex::default());
        let counted = |n: &i64| Some((*n, trip_count(&self.at(*n)?, &self.at(n + 1)?)?));
        let found: Vec<_> = CHECKED.iter().filter_map(counted).collect();
        found.len() >= 3 && found.iter().all(|(n, trips)| n == trips)
    }

    /// The kernel with `n` steps, and a few turns where tiles are handed out; `None` where it cannot have as many.
    pub fn at(&self, n: i64) -> Option<Program> {
        self.compiled_at(n, self.turning.as_ref().filter(|t| t.handed).map(|t| (t, HANDED)))
    }

    /// Whether the turns of the loop around the main loop can be varied.
    pub fn turns(&self) -> bool {
        self.turning.is_some()
    }

    /// The kernel with `n` steps and as many turns of the loop around; `None` where it cannot have as many.
    pub fn turned(&self, n: i64, turns: i64) -> Option<Program> {
        let turning = self.turning.as_ref().filter(|t| turns > 0 || !t.handed)?;
        self.compiled_at(n, Some((turning, turns)))
    }

    fn compiled_at(&self, n: i64, turns: Option<(&Turning, i64)>) -> Option<Program> {
        let key = (n, turns.map(|t| t.1));
        // What is only tried is not kept.
        let keep = turns.is_none() || self.turning.is_some();
        let kept = |map: &BTreeMap<_, Option<Program>>| map.get(&key).cloned();
        if let Some(known) = self.compiled.lock().ok().and_then(|map| kept(&map)) {
            return known;
        }
        let by = (n - self.bound).checked_mul(self.step)?;
        let value = self.value.checked_add(by).filter(|v| *v >= 0)?;
        let mut values = vec![(self.name.as_str(), value)];
        if let Some((turning, turns)) = turns {
            values.push((turning.name.as_str(), turning.step.checked_mul(turns)?));
        }
        let program = (self.with)(&values);
        if let (true, Ok(mut map)) = (keep, self.compiled.lock())
            && map.len() < KEPT
        {
            map.insert(key, program.clone());
        }
        program
    }

    /// In words: how the parameter makes `n` steps.
    pub fn meaning(&self) -> String {
        let rest = self.value - self.bound * self.step;
        let sum = match rest {
            0 => String::new(),
            r if r > 0 => format!(" + {r}"),
            r => format!(" - {}", -r),
        };
        let product = if self.step == 1 { "n".to_string() } else { format!("n x {}", self.step) };
        format!("{} = {product}{sum}", self.name)
    }

    /// The value that sets the turns of the loop around the main loop.
    pub fn turns_name(&self) -> Option<&str> {
        self.turning.as_ref().map(|t| t.name.as_str())
    }

    /// In words: how a value makes `t` turns; `None` where none does.
    pub fn turns_meaning(&self) -> Option<String> {
        let Turning { name, step, .. } = self.turning.as_ref()?;
        Some(if *step == 1 { format!("{name} = t") } else { format!("{name} = t x {step}") })
    }
}

impl std::fmt::Debug for Trips<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Trips").field(&self.meaning()).finish()
    }
}
