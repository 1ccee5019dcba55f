//! A correct scenario, and what becomes of its mutants.

use warpline_scenarios::{Inputs, Text, embedded, embedded_kernel_of, scenario};
use warpline_sim::engine::{rules, supported};
use warpline_sim::ir::{Fence, Instr, Op, Program};
use warpline_sim::machine::Machine;
use warpline_sim::protocol::agents;
use warpline_verify::{
    Change, Edit, Engine, Options, Outcome, SearchResult, Settings, Trips, Verdict, search, verify, walk,
};

use super::fate::Fate;

/// A mutant may make a loop endless; no run of these kernels takes half as many steps.
const OPTIONS: Options = Options {
    max_trips: 160,
    max_steps: 50_000_000,
    // What is resident is of all mutants that are judged at a time.
    max_memory: u64::MAX,
    engine: Engine::Graph,
    max_states: 0,
    as_written: false,
};
/// Moves of a random schedule.
const MOVES: u64 = 100_000;
/// Trip counts at which a mutant is held to schedules drawn at random.
pub(super) const SHORT: [i64; 3] = [1, 2, 5];
/// The same for those of which the verifier gives up.
pub(super) const LONGER: [i64; 6] = [1, 2, 3, 7, 14, 40];
/// Trip counts at which these are searched, states looked at, and agents at most.
const SEARCHED: ([i64; 3], usize, usize) = ([0, 1, 2], 100_000, 16);

/// A scenario with its machine.
pub(super) struct Subject {
    pub(super) program: Program,
    symbolic: Program,
    machine: Machine,
}

impl Subject {
    pub(super) fn load(name: &str) -> Subject {
        let (file, text) = embedded(name).unwrap();
        let scenario = scenario(file, text).unwrap();
        let kernel = embedded_kernel_of(name, &scenario.kernel).unwrap();
        let machine = warpline_models::embedded(&scenario.machine).unwrap();
        let cores = machine.get("core.count").map(|c| c as i64);
        let kernel = Text::read(kernel.0, kernel.1);
        let program = kernel.compile_for(&machine.arch, &Inputs { set: &scenario.set, cores }).unwrap();
        let symbolic = kernel.compile_symbolic_for(&machine.arch, &Inputs { set: &scenario.set, cores }).unwrap();
        // A mutant exchanges statements that run. The given values have removed all other statements.
        let symbolic = Trips::find(&symbolic).map_or_else(|| program.clone(), |t| t.given().clone());
        Subject { program, symbolic, machine }
    }

    /// The kernel at every trip count.
    pub(super) fn trips(&self) -> Option<Trips> {
        Trips::find(&self.symbolic)
    }

    /// The verdict on the kernel, or on a mutant of it.
    pub(super) fn verdict(&self, edit: Option<&Edit>) -> Verdict {
        let program = edit.map_or_else(|| self.symbolic.clone(), |e| e.apply(&self.symbolic).unwrap());
        verify(&program, rules(&self.machine), OPTIONS)
    }

    /// What becomes of a mutant, held against the kernel's own verdict.
    pub(super) fn fate(&self, trips: Option<&Trips>, whole: &Verdict, edit: &Edit) -> Fate {
        let (Ok(mutant), Ok(_)) = (edit.apply(&self.program), edit.apply(&self.symbolic)) else {
            return Fate::Refused;
        };
        if supported(&mutant, &self.machine).is_err() {
            return Fate::Refused;
        }
        if self.orders_nothing(edit) {
            return Fate::NotHeldTo;
        }
        let v = self.verdict(Some(edit));
        match (&v.outcome, &v.violation) {
            (Outcome::Violated, Some(x)) if x.findings.is_empty() => Fate::Hangs,
            (Outcome::Violated, Some(x)) => Fate::Caught(x.findings[0].kind),
            _ if v.covers(whole) => Fate::Equivalent,
            (Outcome::Bounded { .. }, _) => Fate::Bounded,
            _ if self.drawn(trips, edit, 64, &LONGER).is_some() => Fate::Drawn,
            _ if self.clean_in_every_order(trips, edit) => Fate::Searched,
            _ => Fate::Undecided,
        }
    }

    /// Whether no fault can come of the statement: a fence that no rule asks for, or that is a note by default
    /// (docs/fences.md), and a barrier of lanes in step (DEVIATIONS.md 16).
    fn orders_nothing(&self, edit: &Edit) -> bool {
        let lanes = agents(&self.program).iter().any(|a| a.lanes.is_some());
        let here = |pc: usize| {
            let s = self.program.site(pc as u32);
            (s.line, s.col) == (edit.site.line, edit.site.col)
        };
        let moved = matches!(edit.change, Change::Drop | Change::Double | Change::Swap);
        let mut code = self.program.code.iter().enumerate().filter(|(pc, _)| here(*pc));
        moved
            && code.any(|(_, i)| match i {
                Instr::Op { op: Op::Fence(f), .. } => !matches!(f, Fence::Async | Fence::MbarrierInit | Fence::Wgmma),
                Instr::Op { op: Op::WarpSync, .. } => !lanes,
                _ => false,
            })
    }

    /// The mutant at these trip counts, or as given where none are varied.
    fn short(&self, trips: Option<&Trips>, edit: &Edit, at: &[i64]) -> Vec<Program> {
        match trips {
            Some(t) => at.iter().filter_map(|n| edit.apply(&t.at(*n)?).ok()).collect(),
            None => edit.apply(&self.program).into_iter().collect(),
        }
    }

    /// A schedule at fault, of so many drawn at each of these trip counts: its seed.
    pub(super) fn drawn(&self, trips: Option<&Trips>, edit: &Edit, seeds: u64, at: &[i64]) -> Option<u64> {
        let rules = rules(&self.machine);
        let short = self.short(trips, edit, at);
        // The first cluster and the last, which has what is left of the matrix.
        let clean = |p: &Program, seed| {
            let last = p.grid.len() - 1;
            walk(p, rules, 0, seed, MOVES).clean() && (last <= 0 || walk(p, rules, last, seed, MOVES).clean())
        };
        (0..seeds).find(|&seed| short.iter().any(|p| !clean(p, seed)))
    }

    /// A fault that a search of every order finds within so many states, at the smallest trip count that has a loop.
    pub(super) fn searched(&self, trips: Option<&Trips>, edit: &Edit, states: usize) -> Option<SearchResult> {
        let program = self.short(trips, edit, &SHORT).into_iter().next()?;
        let found = search(&program, rules(&self.machine), 0, Settings::of(states)).found;
        (!matches!(found, SearchResult::Clean | SearchResult::TooMany)).then_some(found)
    }

    /// Whether the search finds fault with the kernel as it is: it takes shares of a piece for the piece, where warps write
    /// parts that no access cuts. Then it is no judge of the mutants.
    pub(super) fn search_errs(&self, trips: Option<&Trips>, states: usize) -> bool {
        let program = trips.and_then(|t| t.at(SHORT[0])).unwrap_or_else(|| self.program.clone());
        let found = search(&program, rules(&self.machine), 0, Settings::of(states)).found;
        !matches!(found, SearchResult::Clean | SearchResult::TooMany)
    }

    fn clean_in_every_order(&self, trips: Option<&Trips>, edit: &Edit) -> bool {
        let programs = self.short(trips, edit, &SEARCHED.0);
        if programs.iter().any(|p| agents(p).len() > SEARCHED.2) {
            return false;
        }
        programs
            .iter()
            .all(|p| search(p, rules(&self.machine), 0, Settings::of(SEARCHED.1)).found == SearchResult::Clean)
    }
}
