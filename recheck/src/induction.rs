//! Lemmas 6 and 8: base cases and comparisons that together decide every trip count, and every number of outer
//! iterations.

use std::sync::Arc;

use warpline_sim::ir::Program;
use warpline_sim::protocol::{Placement, World, may_rotate};

use crate::execution::{Execution, Move};
use crate::kernel::Kernel;
use crate::schema::{CellProof, Column, Compared, Given, Induction, Line, Order, Plane, Proof, Region, Trips};
use crate::{Checked, Refusal, cells, delay, lockstep, tiles};

/// Largest number of moves of one run.
const MOVES: u64 = 100_000_000;
/// Largest grid of which every cluster is run.
const CLUSTERS: i64 = 4096;
/// Largest trip count and number of outer iterations. Beyond these, a certificate is not checked.
const LARGEST: i64 = 100_000;

/// Numbers of outer iterations that are tried one by one before the form of the kernel's requirements decides whether
/// it refuses all.
const FEW: i64 = 8;

/// Computes the facts of a cell's proof from its claims.
pub(crate) fn cell(
    kernel: &Kernel,
    claim: &CellProof,
    path: &str,
    (checked, delays): (&mut Checked, u64),
) -> Result<CellProof, Refusal> {
    let place = match &claim.axes {
        None => None,
        Some(axes) => {
            let place = cells::placement(kernel, axes);
            let empty = || Refusal::rejected(format!("{path}.axes"), "no cluster of the grid lies in it");
            Some(Arc::new(place.ok_or_else(empty)?))
        }
    };
    let cluster = place.as_ref().map_or(0, |place| place.cluster());
    let mut runs = Runs { kernel, place, cluster, path: format!("{path}.proof"), delays, checked };
    let proof = match &claim.proof {
        Proof::Given(_) => Proof::Given(runs.given()?),
        Proof::Trips(trips) => Proof::Trips(runs.trips(trips)?),
        Proof::Plane(plane) => Proof::Plane(runs.plane(plane)?),
    };
    let axes = claim.axes.as_ref().and_then(|axes| cells::hull(kernel, axes));
    Ok(CellProof { axes, cluster, proof })
}

/// The runs of one cell.
struct Runs<'a> {
    kernel: &'a Kernel,
    /// The cell, with the forms that its base cases record; `None` where the first cluster stands for all.
    place: Option<Arc<Placement>>,
    cluster: i64,
    path: String,
    /// Remaining steps for runs with a delayed access.
    delays: u64,
    checked: &'a mut Checked,
}

/// A trip count and a number of outer iterations.
type At = (i64, Option<i64>);

impl Runs<'_> {
    fn no<T>(&self, entry: &str, why: impl Into<String>) -> Result<T, Refusal> {
        Err(Refusal::rejected(format!("{}.{entry}", self.path), why))
    }

    /// Runs a base case for the whole cell. The run must end without a fault, and each decision must agree over the
    /// cell. Returns the number of operations.
    fn case(&mut self, entry: &str, prog: &Program) -> Result<u64, Refusal> {
        if !self.has_the_grid(prog) {
            return self.case_of_another_grid(entry, prog);
        }
        let world = match &self.place {
            Some(place) => World::placed_at(prog, self.kernel.rules, place),
            None => World::alone(prog, self.kernel.rules, self.cluster),
        };
        let operations = self.run(entry, world)?;
        if let Some(obstacle) = self.place.as_ref().and_then(|place| place.obstacle()) {
            let site = prog.site(obstacle.pc);
            return self.no(
                entry,
                format!("line {}: `{}` decides differently in some CTAs of the cell", site.line, site.text),
            );
        }
        self.checked.cases += 1;
        self.checked.moves += operations;
        if self.delays > 0 {
            match delay::races(World::alone(prog, self.kernel.rules, self.cluster), &mut self.delays) {
                Ok(all) => self.checked.delayed += u64::from(all),
                Err(why) => return self.no(entry, why),
            }
            // The remaining steps are too few for the next, larger base case.
        }
        Ok(operations)
    }

    /// Runs every cluster of a base case that has another grid than the given one: its CTAs lie in no cell (lemma 13).
    fn case_of_another_grid(&mut self, entry: &str, prog: &Program) -> Result<u64, Refusal> {
        if prog.grid.len() > CLUSTERS {
            return Err(Refusal::NotChecked(format!(
                "{}.{entry}: the kernel has another, large grid there",
                self.path
            )));
        }
        let mut operations = 0;
        for cluster in 0..prog.grid.len() {
            operations += self.run(entry, World::alone(prog, self.kernel.rules, cluster))?;
        }
        self.checked.cases += 1;
        self.checked.moves += operations;
        Ok(operations)
    }

    /// Runs a cluster to its end, which must come without a fault. Returns the number of operations.
    fn run(&self, entry: &str, world: World<'_>) -> Result<u64, Refusal> {
        let mut run = Execution::new(world, Order::Late);
        for moves in 0.. {
            if moves == MOVES {
                return Err(Refusal::NotChecked(format!("{}.{entry}: a run makes more than {MOVES} moves", self.path)));
            }
            match run.next() {
                Move::Finished => break,
                Move::Hung => return self.no(entry, "the run hangs"),
                Move::Broken => {
                    let why = run.fault(true).unwrap_or_else(|| "an operation has no meaning".into());
                    return self.no(entry, why);
                }
                _ => {}
            }
        }
        if let Some(why) = run.fault(true) {
            return self.no(entry, why);
        }
        Ok(run.operations)
    }

    /// Whether a kernel has the grid of which the cells are a partition.
    fn has_the_grid(&self, prog: &Program) -> bool {
        prog.hands_out() || prog.grid == self.kernel.given().grid
    }

    /// Checks that a compared kernel has the grid of which the cells are a partition. Other CTAs lie in no cell.
    fn in_the_grid(&self, entry: &str, prog: &Program) -> Result<(), Refusal> {
        if self.has_the_grid(prog) {
            return Ok(());
        }
        self.no(entry, "the kernel has another grid there, whose CTAs lie in no cell")
    }

    /// Runs base cases in order.
    fn cases(&mut self, entry: &str, all: impl IntoIterator<Item = At>) -> Result<Vec<Option<u64>>, Refusal> {
        let mut list = Vec::new();
        for (i, (trips, turns)) in all.into_iter().enumerate() {
            let prog = self.kernel.at(trips, turns);
            list.push(prog.map(|prog| self.case(&format!("{entry}[{i}]"), &prog)).transpose()?);
        }
        Ok(list)
    }

    /// Compares kernels, from the shortest to the longest. Returns `None` where the kernel refuses the longest and
    /// every longer one.
    fn beside(
        &mut self,
        entry: &str,
        (all, order): (&[At], Order),
        claim: Option<&Option<Compared>>,
        periods: Option<i64>,
    ) -> Result<Option<Compared>, Refusal> {
        let progs: Vec<Option<Program>> = all.iter().map(|(n, t)| self.kernel.at(*n, *t)).collect();
        if let Some(None) = progs.last() {
            let on = all.iter().all(|less| self.kernel.refuses_on(*less, all[all.len() - 1]));
            return if on { Ok(None) } else { self.no(entry, "the kernel may accept longer runs than it refuses") };
        }
        let Some(progs) = progs.into_iter().collect::<Option<Vec<_>>>() else {
            return self.no(entry, "the kernel refuses the shorter run");
        };
        progs.iter().try_for_each(|prog| self.in_the_grid(entry, prog))?;
        let Some(Some(claim)) = claim else { return self.no(entry, "is missing") };
        let own: Vec<&Program> = progs.iter().collect();
        let numbered: Vec<Program> = progs.iter().map(tiles::numbered).collect();
        let numbered: Vec<&Program> = numbered.iter().collect();
        let mut compared = Err(String::new());
        let texts = if own == numbered { vec![own] } else { vec![numbered, own] };
        // Up to a rotation of rings (lemma 12), then slot by slot.
        let rotations: &[bool] = if may_rotate(texts[0][0]) { &[true, false] } else { &[false] };
        let ways = rotations.iter().flat_map(|rotates| texts.iter().map(move |progs| (*rotates, progs.clone())));
        for (rotates, progs) in ways {
            let world = |prog| {
                let mut world = World::alone(prog, self.kernel.rules, self.cluster);
                if rotates {
                    world.rotate_rings();
                }
                world
            };
            let runs = progs.into_iter().map(|prog| Execution::new(world(prog), order)).collect();
            compared = lockstep::compare(runs, claim, periods);
            if compared.is_ok() {
                break;
            }
        }
        match compared {
            Ok(compared) => {
                self.checked.comparisons += 1;
                self.checked.moves += compared.moves;
                Ok(Some(compared))
            }
            Err(why) => self.no(entry, why),
        }
    }

    fn given(&mut self) -> Result<Given, Refusal> {
        if !self.kernel.given().symbols.is_empty() {
            return self.no("given", "the statement varies a symbol that the proof does not vary");
        }
        Ok(Given { operations: self.case("given", self.kernel.given())? })
    }

    /// Checks that regions follow each other from 0 on without a gap or an end. Each has its base cases, followed by an
    /// induction.
    fn trips(&mut self, claim: &Trips) -> Result<Trips, Refusal> {
        if claim.tiles.is_some_and(|tiles| tiles < 1 || !self.kernel.given().hands_out()) {
            return self.no("trips.tiles", "no tiles are handed out");
        }
        if self.kernel.varies_turns() != claim.tiles.is_some() {
            return self.no("trips", "the statement names a second symbol, and the proof does not vary it");
        }
        let mut regions = Vec::new();
        let mut from = 0;
        for (i, region) in claim.regions.iter().enumerate() {
            let entry = format!("trips.regions[{i}]");
            if region.from != from || region.to.is_some_and(|to| to < from) {
                return self.no(&format!("{entry}.from"), format!("the region must begin at {from}"));
            }
            let last = i + 1 == claim.regions.len();
            match region.to {
                Some(to) if last || to > LARGEST => {
                    return self.no(&format!("{entry}.to"), "the region must end elsewhere");
                }
                None if !last => return self.no(&format!("{entry}.to"), "regions follow a region without an end"),
                _ => from = region.to.map_or(from, |to| to + 1),
            }
            regions.push(self.region(&entry, region, claim.tiles)?);
        }
        if regions.is_empty() {
            return self.no("trips.regions", "there is no region");
        }
        Ok(Trips { tiles: claim.tiles, regions })
    }

    fn region(&mut self, entry: &str, claim: &Region, tiles: Option<i64>) -> Result<Region, Refusal> {
        let Region { from, to, .. } = *claim;
        let upto = match (&claim.induction, to) {
            (Some(induction), _) => {
                self.sound(&format!("{entry}.induction"), induction, from)?;
                let last = induction.first + induction.period - 1;
                to.map_or(last, |to| to.min(last))
            }
            (None, Some(to)) => to,
            (None, None) => return self.no(&format!("{entry}.induction"), "a region without an end needs one"),
        };
        let cases = self.cases(&format!("{entry}.cases"), (from..=upto).map(|n| (n, tiles)))?;
        let induction = claim.induction.as_ref();
        let induction = induction.map(|claim| self.induction(&format!("{entry}.induction"), claim, to, |n| (n, tiles)));
        Ok(Region { from, to, induction: induction.transpose()?, cases })
    }

    /// Checks that an induction starts at or after a number and has its base cases.
    fn sound(&self, entry: &str, claim: &Induction, from: i64) -> Result<(), Refusal> {
        let in_range = |n: i64| (1..=LARGEST).contains(&n);
        if !in_range(claim.period) || !in_range(claim.first) || claim.first - claim.period < from {
            return self.no(entry, "the shorter runs are no base cases");
        }
        Ok(())
    }

    /// Compares the numbers of a period from `first` on, each with the number one period before.
    fn induction(
        &mut self,
        entry: &str,
        claim: &Induction,
        to: Option<i64>,
        at: impl Fn(i64) -> At,
    ) -> Result<Induction, Refusal> {
        let Induction { first, period, order, .. } = *claim;
        let mut pairs = Vec::new();
        for (i, n) in (first..first + period).enumerate() {
            if to.is_some_and(|to| n > to) {
                break;
            }
            let periods = to.map(|to| (to - (n - period)) / period);
            let all = [at(n - period), at(n)];
            pairs.push(self.beside(&format!("{entry}.pairs[{i}]"), (&all, order), claim.pairs.get(i), periods)?);
        }
        Ok(Induction { first, period, order, pairs })
    }

    /// Checks lines for small trip counts, and columns of pairs and squares for a period of larger ones.
    fn plane(&mut self, claim: &Plane) -> Result<Plane, Refusal> {
        let Plane { first, period, order, .. } = *claim;
        if !self.kernel.varies_turns() {
            return self.no("plane", "the statement names no second symbol");
        }
        let in_range = |n: i64| (1..=LARGEST).contains(&n);
        if !in_range(period) || !in_range(first) || first < period || claim.lines.len() as i64 != first {
            return self.no("plane.lines", format!("there must be {first}, at least one period of {period}"));
        }
        let mut lines = Vec::new();
        for (n, line) in claim.lines.iter().enumerate() {
            let entry = format!("plane.lines[{n}]");
            lines.push(line.as_ref().map(|line| self.line(&entry, line, n as i64)).transpose()?);
            if line.is_none() && !self.refuses_all(n as i64) {
                return self.no(&entry, "the kernel accepts this trip count");
            }
        }
        let mut columns = Vec::new();
        for (i, n) in (first..first + period).enumerate() {
            let entry = format!("plane.columns[{i}]");
            let Some(line) = &lines[(n - period) as usize] else {
                return self.no(&entry, "the kernel refuses the shorter runs");
            };
            let (first, turns) = (line.induction.first, line.induction.period);
            let none = Column { cases: Vec::new(), pairs: Vec::new(), squares: Vec::new() };
            let claim = claim.columns.get(i).cloned().flatten().unwrap_or(none);
            let cases = self.cases(&format!("{entry}.cases"), (0..first + turns).map(|t| (n, Some(t))))?;
            let mut pairs = Vec::new();
            for t in 0..first {
                let (entry, k) = (format!("{entry}.pairs[{t}]"), t as usize);
                let all = [(n - period, Some(t)), (n, Some(t))];
                pairs.push(self.beside(&entry, (&all, order), claim.pairs.get(k), None)?);
            }
            let mut squares = Vec::new();
            for (k, t) in (first..first + turns).enumerate() {
                let all = [(n - period, t - turns), (n, t - turns), (n - period, t), (n, t)];
                let all = all.map(|(n, t)| (n, Some(t)));
                let entry = format!("{entry}.squares[{k}]");
                squares.push(self.beside(&entry, (&all, order), claim.squares.get(k), None)?);
            }
            columns.push(Some(Column { cases, pairs, squares }));
        }
        Ok(Plane { first, period, order, lines, columns })
    }

    fn line(&mut self, entry: &str, claim: &Line, n: i64) -> Result<Line, Refusal> {
        let of = format!("{entry}.induction");
        self.sound(&of, &claim.induction, 0)?;
        let upto = claim.induction.first + claim.induction.period;
        let cases = self.cases(&format!("{entry}.cases"), (0..upto).map(|t| (n, Some(t))))?;
        let induction = self.induction(&of, &claim.induction, None, |t| (n, Some(t)))?;
        Ok(Line { cases, induction })
    }

    /// Whether the kernel refuses a trip count with any number of outer iterations.
    fn refuses_all(&self, n: i64) -> bool {
        let few = (0..=FEW).all(|t| self.kernel.at(n, Some(t)).is_none());
        few && self.kernel.refuses_on((n, Some(FEW)), (n, Some(FEW + 1)))
    }
}
