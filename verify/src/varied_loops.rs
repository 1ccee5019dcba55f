//! The loops of a kernel that are varied, with the kernel at each of their trip counts.

use warpline_sim::ir::Program;

use crate::Trips;
use crate::induction::jobs::any_length::Lengths;

/// A kernel at any trip count: `None` where the kernel itself refuses it.
pub type AtTrips<'a> = &'a (dyn Fn(i64) -> Option<Program> + Sync);

/// A kernel at any trip count of its main loop and any number of iterations of the loop around it.
pub(crate) type AtTurns<'a> = &'a (dyn Fn(i64, i64) -> Option<Program> + Sync);

/// The loops of a kernel that are varied, with the kernel at each count.
#[derive(Clone, Copy, Default)]
pub(crate) struct VariedLoops<'a> {
    /// Steps of the main loop, where a parameter sets them.
    pub(crate) steps: Option<AtTrips<'a>>,
    /// Iterations of the loop around the main loop, where there is one and a value of the kernel sets them.
    pub(crate) turns: Option<AtTurns<'a>>,
    /// The same with a number of jobs that the outer loop shares among CTAs.
    pub(crate) jobs: Option<AtTurns<'a>>,
    /// Iterations of a loop before or behind the main loop, where another parameter sets them.
    pub(crate) sequential: Option<AtTurns<'a>>,
    /// Where each job has a trip count of its own: which ones.
    pub(crate) lengths: Option<Lengths>,
}

impl std::fmt::Debug for VariedLoops<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Varied {{ steps: {}, turns: {} }}", self.steps.is_some(), self.turns.is_some())
    }
}

/// Calls `f` with the kernel and its varied loops, and with their trip counts if there are any.
pub(crate) fn with_loops<T>(program: &Program, f: impl FnOnce(&Program, VariedLoops<'_>, Option<&Trips>) -> T) -> T {
    let trips = Trips::find(program);
    let steps = |n: i64| trips.as_ref().and_then(|t| t.at(n));
    let turns = |n: i64, t: i64| trips.as_ref().and_then(|trips| trips.turned(n, t));
    let jobs = |n: i64, j: i64| trips.as_ref().and_then(|trips| trips.with_jobs(n, j));
    let both = |n: i64, t: i64| trips.as_ref().and_then(|trips| trips.both(n, t));
    let at = VariedLoops {
        steps: trips.as_ref().map(|_| &steps as AtTrips<'_>),
        turns: trips.as_ref().filter(|t| t.turns()).map(|_| &turns as AtTurns<'_>),
        jobs: trips.as_ref().filter(|t| t.turns()).map(|_| &jobs as AtTurns<'_>),
        sequential: trips.as_ref().filter(|t| t.sequential()).map(|_| &both as AtTurns<'_>),
        lengths: None,
    };
    match &trips {
        Some(trips) => f(trips.given(), at, Some(trips)),
        None => f(&program.bind(), at, None),
    }
}
