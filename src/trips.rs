//! Which parameter sets how often the main loop runs, and the kernel at any other number of steps.

use std::collections::BTreeMap;
use std::sync::Mutex;

use warpline_sim::ir::Program;
use warpline_verify::trip_count;

use crate::load::Loaded;

/// A parameter that sets the trip count: `value + (n - bound) * step` gives `n` steps.
pub(crate) struct Trips<'a> {
    subject: &'a Loaded,
    /// The parameter.
    pub(crate) name: String,
    value: i64,
    bound: i64,
    step: i64,
    /// Kernels compiled so far; verification asks for the same ones again for each CTA class and each removal.
    compiled: Mutex<BTreeMap<i64, Option<Program>>>,
}

/// Trip counts at which a candidate is held to its word. The shortest kernels may be others (`if tiles > 1`).
const CHECKED: [i64; 6] = [1, 2, 8, 13, 64, 100];

impl<'a> Trips<'a> {
    /// The first parameter, in order of declaration, of which one step more is one trip more.
    pub(crate) fn find(subject: &'a Loaded) -> Option<Trips<'a>> {
        let base = &subject.program;
        let mut values: Vec<i64> = base.params.iter().chain(&base.lets).map(|(_, v)| *v).filter(|v| *v > 1).collect();
        values.sort_unstable();
        values.dedup();
        values.push(1);
        let bounds = |value: i64| {
            base.loops.iter().filter_map(move |l| {
                let b = l.bound.as_ref()?.constant()?;
                (b > 0 && value % b == 0 && value > 0).then_some(value / b)
            })
        };
        base.params.iter().find_map(|(name, value)| {
            // A step that divides the value goes first: then n steps are a problem of n whole tiles.
            let steps = bounds(*value).chain(values.iter().copied());
            steps.into_iter().find_map(|step| Trips::at_step(subject, name, *value, step))
        })
    }

    fn at_step(subject: &'a Loaded, name: &str, value: i64, step: i64) -> Option<Trips<'a>> {
        let next = subject.with(name, value.checked_add(step)?)?;
        let bound = trip_count(&subject.program, &next)?;
        let trips =
            Trips { subject, name: name.to_string(), value, bound, step, compiled: Mutex::new(BTreeMap::new()) };
        let as_said = |n: &i64| match (trips.at(*n), trips.at(n + 1)) {
            (Some(a), Some(b)) => match trip_count(&a, &b) {
                Some(trips) => trips == *n,
                None => *n < 8,
            },
            _ => true,
        };
        CHECKED.iter().all(as_said).then_some(trips)
    }

    /// The kernel with `n` steps; `None` where it cannot have as many.
    pub(crate) fn at(&self, n: i64) -> Option<Program> {
        let kept = |map: &BTreeMap<i64, Option<Program>>| map.get(&n).cloned();
        if let Some(known) = self.compiled.lock().ok().and_then(|map| kept(&map)) {
            return known;
        }
        let by = (n - self.bound).checked_mul(self.step)?;
        let value = self.value.checked_add(by).filter(|v| *v >= 0)?;
        let program = self.subject.with(&self.name, value);
        if let Ok(mut map) = self.compiled.lock() {
            map.insert(n, program.clone());
        }
        program
    }

    /// In words: how the parameter makes `n` steps.
    pub(crate) fn meaning(&self) -> String {
        let rest = self.value - self.bound * self.step;
        let sum = match rest {
            0 => String::new(),
            r if r > 0 => format!(" + {r}"),
            r => format!(" - {}", -r),
        };
        let product = if self.step == 1 { "n".to_string() } else { format!("n x {}", self.step) };
        format!("{} = {product}{sum}", self.name)
    }
}
