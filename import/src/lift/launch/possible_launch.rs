//! Kernels with the values of some launch.

use std::sync::Arc;

use warpline_sim::ir::Program;

use crate::lift::Lifted;

/// A kernel with the values of some launch. Its program is made when it is needed: programs of large kernels take tens of
/// megabytes, and most kernels have no fault.
#[derive(Clone, Debug)]
pub struct PossibleLaunch {
    program: Arc<Program>,
    /// The values of symbols, or `None` where the program has them already.
    values: Option<Vec<(String, i64)>>,
}

impl PossibleLaunch {
    /// The program; `None` where the kernel refuses the values.
    pub fn program(&self) -> Option<Program> {
        let Some(values) = &self.values else { return Some(Program::clone(&self.program)) };
        let values: Vec<(&str, i64)> = values.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        self.program.with(&values).map(|p| p.bind())
    }
}

impl Lifted {
    /// Kernels of which a fault is one of some launch, if symbols are related.
    pub fn possible(&self) -> Vec<PossibleLaunch> {
        let mut list = Vec::new();
        if !self.launches.is_empty() {
            let program = Arc::new(self.program.clone());
            let one = |l: &Vec<_>| PossibleLaunch { program: Arc::clone(&program), values: Some(l.clone()) };
            list.extend(self.launches.iter().map(one));
        }
        list.extend(self.others.iter().flat_map(Lifted::possible));
        let whole = |p: Program| PossibleLaunch { program: Arc::new(p), values: None };
        match &self.without {
            Some(l) if l.related.is_some() => list.extend(l.possible()),
            Some(l) => list.extend(l.variants().into_iter().map(whole)),
            None => {}
        }
        list
    }
}
