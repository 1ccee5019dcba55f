//! Kernels with the values of some launch.

use std::sync::Arc;

use warpline_sim::ir::Program;

use crate::lift::{Lifted, Variants};

/// A kernel with the values of some launches. Its programs are made when they are needed: programs of large kernels take
/// tens of megabytes, and most kernels have no fault.
#[derive(Clone, Debug)]
pub enum PossibleLaunch {
    /// The program with values of its symbols.
    Values(Arc<Program>, Vec<(String, i64)>),
    /// All of these programs.
    All(Variants),
    /// The programs of another way to lift the kernel.
    Of(Later),
}

impl PossibleLaunch {
    /// The programs, without those that the kernel refuses.
    pub fn programs(self) -> Box<dyn Iterator<Item = Program>> {
        match self {
            PossibleLaunch::Values(program, values) => {
                let values: Vec<(&str, i64)> = values.iter().map(|(n, v)| (n.as_str(), *v)).collect();
                Box::new(program.with(&values).map(|p| p.bind()).into_iter())
            }
            PossibleLaunch::All(variants) => Box::new(variants.map(Arc::unwrap_or_clone)),
            PossibleLaunch::Of(later) => {
                let all = later.lifted().map_or_else(Vec::new, |l| match l.related {
                    Some(_) => l.possible(),
                    None => vec![PossibleLaunch::All(l.variants())],
                });
                Box::new(all.into_iter().flat_map(PossibleLaunch::programs))
            }
        }
    }
}

/// A kernel that is lifted when it is looked at.
#[derive(Clone)]
pub struct Later(Arc<dyn Fn() -> Option<Lifted> + Send + Sync>);

impl Later {
    pub(crate) fn new(lift: impl Fn() -> Option<Lifted> + Send + Sync + 'static) -> Later {
        Later(Arc::new(lift))
    }

    fn lifted(&self) -> Option<Lifted> {
        (self.0)()
    }
}

impl std::fmt::Debug for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Later")
    }
}

impl Lifted {
    /// Kernels of which a fault is one of some launch, if symbols are related.
    pub fn possible(&self) -> Vec<PossibleLaunch> {
        let mut list = Vec::new();
        if !self.launches.is_empty() {
            let program = Arc::new(self.program.clone());
            let one = |l: &Vec<_>| PossibleLaunch::Values(Arc::clone(&program), l.clone());
            list.extend(self.launches.iter().map(one));
        }
        list.extend(self.others.iter().flat_map(Lifted::possible));
        list.extend(self.without.clone().map(PossibleLaunch::Of));
        list
    }
}
