//! Kernels that are lowered once for all points of a sweep that differ in counting parameters alone.
//!
//! A counting parameter stays a symbol in the lowered kernel (`sim/src/ir/symbols.rs`), so another value of it needs no
//! lowering: the program with the value is bound. A parameter that shapes the program needs a lowering for each value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use warpline_scenarios::{Inputs, Text};
use warpline_sim::ir::Program;

/// The lowered kernels of a sweep.
#[derive(Debug, Default)]
pub(crate) struct Lowered {
    /// Names of the parameters that the sweep varies.
    varied: BTreeSet<String>,
    kernels: Mutex<BTreeMap<Kernel, Shapes>>,
}

/// A kernel's text, and the number of cores that it is lowered for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kernel {
    file: String,
    text: String,
    cores: Option<i64>,
}

/// The lowered forms of a kernel.
#[derive(Debug)]
struct Shapes {
    /// The varied parameters that only count.
    counting: BTreeSet<String>,
    /// For the values of all other parameters, the kernel with its symbols.
    programs: BTreeMap<BTreeMap<String, i64>, Arc<Program>>,
}

impl Lowered {
    /// No kernels yet, for a sweep over parameters with these names.
    pub(crate) fn over(varied: impl Iterator<Item = String>) -> Lowered {
        Lowered { varied: varied.collect(), kernels: Mutex::default() }
    }

    /// The kernel with all parameters bound. `None` where lowering with these values must answer: the sweep varies no
    /// counting parameter of the kernel, or the kernel refuses the values.
    pub(super) fn program(&self, file: &str, text: &str, inputs: &Inputs) -> Option<Program> {
        let kernel = Kernel { file: file.to_string(), text: text.to_string(), cores: inputs.cores };
        let symbolic = self.symbolic(kernel, inputs)?;
        let free = symbolic.symbols.iter().filter(|s| s.definition.is_none());
        let values: Vec<(&str, i64)> =
            free.filter_map(|s| Some((s.name.as_str(), *inputs.set.get(&s.name)?))).collect();
        symbolic.with(&values).map(|program| program.bind())
    }

    /// The kernel with symbols for counting parameters; the values of all other parameters are those of the inputs.
    fn symbolic(&self, kernel: Kernel, inputs: &Inputs) -> Option<Arc<Program>> {
        let shape = |counting: &BTreeSet<String>| -> BTreeMap<String, i64> {
            inputs.set.iter().filter(|(name, _)| !counting.contains(*name)).map(|(n, v)| (n.clone(), *v)).collect()
        };
        if let Some(known) = self.locked().get(&kernel) {
            if known.counting.is_empty() {
                return None;
            }
            if let Some(program) = known.programs.get(&shape(&known.counting)) {
                return Some(program.clone());
            }
        }
        // Other points are not held up. Several threads may lower one kernel, with the same result.
        let program = Arc::new(Text::read(&kernel.file, &kernel.text).compile_symbolic(inputs).ok()?);
        let free = program.symbols.iter().filter(|s| s.definition.is_none() && s.tape.is_none());
        let counting = free.map(|s| s.name.clone()).filter(|name| self.varied.contains(name)).collect();
        let mut kernels = self.locked();
        let known = kernels.entry(kernel).or_insert_with(|| Shapes { counting, programs: BTreeMap::new() });
        if known.counting.is_empty() {
            return None;
        }
        Some(known.programs.entry(shape(&known.counting)).or_insert(program).clone())
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<Kernel, Shapes>> {
        // An entry is complete when it is added, so a panic of another thread leaves none half made.
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of lowered programs.
    #[cfg(test)]
    fn programs(&self) -> usize {
        self.locked().values().map(|shapes| shapes.programs.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
kernel copy(k, stages = 2)
  require k % 16 == 0
  let tiles = k / 16
  grid 4   warps 2
  global A: f16[256, 16 * (tiles + 1)]
  shared a[stages]: f16[64, 16]
  all:
    for i in 0..tiles:
      warp 0: load A[cta.m, i] -> a[i % stages]
      barrier
      warp 1: lds a[i % stages] : A[cta.m, i] -> r
      barrier
";

    fn set(k: i64, stages: i64) -> BTreeMap<String, i64> {
        BTreeMap::from([("k".to_string(), k), ("stages".to_string(), stages)])
    }

    fn over(names: &[&str]) -> Lowered {
        Lowered::over(names.iter().map(|name| name.to_string()))
    }

    #[test]
    fn a_counting_parameter_is_bound_and_not_lowered_again() {
        let lowered = over(&["k", "stages"]);
        for (k, stages) in [(16, 2), (32, 2), (1024, 2), (16, 3), (4096, 3)] {
            let set = set(k, stages);
            let inputs = Inputs { set: &set, cores: None };
            let expected = Text::read("copy.pipe", TEXT).compile(&inputs).expect("a kernel");
            assert_eq!(lowered.program("copy.pipe", TEXT, &inputs), Some(expected), "k = {k}, stages = {stages}");
        }
        // One for each number of stages.
        assert_eq!(lowered.programs(), 2);
    }

    #[test]
    fn a_value_that_the_kernel_refuses_has_no_program() {
        let lowered = over(&["k"]);
        let program = |k| {
            let set = set(k, 2);
            lowered.program("copy.pipe", TEXT, &Inputs { set: &set, cores: None })
        };
        assert!(program(64).is_some() && program(17).is_none());
        assert_eq!(lowered.programs(), 1);
    }

    #[test]
    fn a_step_of_zero_is_left_to_lowering() {
        let text = TEXT.replace("in 0..tiles:", "in 0..tiles step k / 16:");
        let lowered = over(&["k"]);
        let program = |k| {
            let set = set(k, 2);
            lowered.program("copy.pipe", &text, &Inputs { set: &set, cores: None })
        };
        assert!(program(64).is_some() && program(0).is_none());
    }

    #[test]
    fn a_parameter_that_shapes_the_program_is_left_to_lowering() {
        let lowered = over(&["stages"]);
        let program = |stages| {
            let set = set(64, stages);
            lowered.program("copy.pipe", TEXT, &Inputs { set: &set, cores: None })
        };
        assert!([1, 2, 3].into_iter().all(|stages| program(stages).is_none()));
        assert_eq!(lowered.programs(), 0);
    }
}
