//! The kernel with given trip counts of the jobs of one CTA.

use warpline_sim::ir::{Binary, Env, Expr, Loop, Program};

use crate::induction;
use crate::induction::jobs::any_length::AnyLength;
use crate::induction::loop_counter::step_of;
use crate::induction::trip_count::Trips;
use crate::induction::uneven_jobs::is_launch_index;

/// The jobs of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct JobLengths<'a> {
    /// The trip counts of the jobs, one after the other. All later jobs have the last one.
    pub lengths: &'a [i64],
    /// The launch index of the cluster.
    pub cluster: i64,
    /// The number of jobs of all CTAs; `None` for as many as `lengths` for each CTA.
    pub jobs: Option<i64>,
    /// The trip count of the main loop, if another loop has the trip counts of the jobs.
    pub trips: Option<i64>,
}

/// The kernel with these jobs of a cluster. The trip count of a job must be known only at run time. `None` for a kernel of
/// another form, or without a value that sets the number of jobs.
pub fn with_lengths(program: &Program, of_cluster: JobLengths<'_>) -> Option<Program> {
    let JobLengths { lengths, cluster, jobs, trips: steps } = of_cluster;
    let of = AnyLength::of(&induction::normal_form(program))?;
    let (tape, over) = of.tape?;
    let over = program.loops.iter().find(|l| l.var == Some(over))?;
    let first = first_job(program, over, cluster)?;
    let mut prog = program.clone();
    let index = || Expr::Env(Env::TapeIndex);
    let later = Expr::Const(*lengths.last()?);
    let step = step_of(program, over);
    prog.tapes[tape as usize].run = lengths.iter().enumerate().rev().fold(later, |later, (k, n)| {
        let job = Expr::Const(first + k as i64 * step);
        Expr::cond(Expr::binary(Binary::Eq, index(), job), Expr::Const(*n), later)
    });
    // Of a bound program, the number of jobs is given.
    let trips = Trips::find(&of.kernel);
    let family = |trips: &Trips| if jobs.is_some() { trips.jobs_family() } else { trips.turns_family() };
    let outer = trips.as_ref().and_then(family).map(|f| (f, jobs.unwrap_or(lengths.len() as i64)));
    let inner = match steps {
        Some(n) => Some((trips.as_ref()?.family(), n)),
        None => None,
    };
    let families: Vec<_> = outer.into_iter().chain(inner).collect();
    let values: Vec<(&str, i64)> = families.iter().map(|(f, n)| (f.symbol.as_str(), f.zero + n * f.step)).collect();
    if values.is_empty() { Some(prog) } else { prog.with(&values) }
}

/// The first job of a cluster.
fn first_job(prog: &Program, over: &Loop, cluster: i64) -> Option<i64> {
    let first = prog.first_index(over)?;
    if is_launch_index(prog, first) { Some(cluster) } else { first.constant() }
}
