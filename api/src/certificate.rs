//! Certificates of proofs: the claims that the verifier recorded, with the facts that the checker computes from these
//! claims.

use warpline_recheck as recheck;
use warpline_recheck::{CellProof, Certificate, Column, Compared, Inserted, Plane, Proof, Refusal, Region, Statement};
use warpline_sim::ir::Program;
use warpline_verify::{Conclusion, DecidedCell, Insertion, Options, Outcome, Trips, Verdict, insertions};

use crate::load::Subject;
use crate::verify::Verification;

/// The certificate of a proved verdict. `warpline-recheck` checks it without the verifier.
///
/// # Errors
/// The reason, in words, why the verdict has no certificate.
pub fn certificate(v: &Verification) -> Result<Certificate, String> {
    if v.subject.imported.is_some() && v.verdict.outcome == Outcome::Proved {
        // The checker compiles a text in the kernel language. A second proof below would have none either.
        return Err("certificates have no form for compiled kernels yet".into());
    }
    let symbolic = v.subject.symbolic();
    of(v, &v.verdict).or_else(|why| {
        if v.verdict.outcome != Outcome::Proved || !v.verdict.renumbered {
            return Err(why);
        }
        // The checker reads the kernel as it is written.
        let options = Options { as_written: true, ..v.limits };
        of(v, &warpline_verify::verify(symbolic, v.subject.rules(), options)).map_err(|_| why)
    })
}

fn of(v: &Verification, verdict: &Verdict) -> Result<Certificate, String> {
    if verdict.outcome != Outcome::Proved {
        return Err("the verdict is not PROVED".into());
    }
    if verdict.searched.is_some() {
        return Err("a search of every order reached the verdict".into());
    }
    if verdict.orders > 0 {
        return Err("certificates have no form for orders of atomic operations yet".into());
    }
    if verdict.any_length.is_some() {
        return Err("certificates have no form for jobs of different lengths yet".into());
    }
    if verdict.any_jobs.is_some() {
        return Err("certificates have no form for jobs that run-time values choose yet".into());
    }
    if !verdict.any_blocks.is_empty() || !verdict.chosen_blocks.is_empty() {
        return Err("certificates have no form for blocks that run-time values or choices name yet".into());
    }
    let sizes = &verdict.sizes;
    let any = if sizes.is_empty() { None } else { warpline_verify::any_size(v.subject.symbolic(), sizes) };
    let trips = warpline_verify::varied(any.as_ref().unwrap_or(v.subject.symbolic()));
    let writer = Writer { subject: &v.subject, trips: trips.as_ref() };
    let mut basis: Vec<&DecidedCell> = verdict.basis.iter().collect();
    basis.sort_by_key(|decided| decided.cluster);
    let cells = basis.into_iter().map(|decided| writer.cell(decided)).collect::<Option<_>>();
    let cells: Vec<CellProof> = cells.ok_or("two compared runs of the proof carry on in no lockstep of their own")?;
    let turned = |cell: &CellProof| match &cell.proof {
        Proof::Given(_) => false,
        Proof::Trips(proof) => proof.tiles.is_some(),
        Proof::Plane(_) => true,
    };
    let statement = Statement { sizes: sizes.clone(), ..writer.statement(cells.iter().any(turned)) };
    let claims = Certificate { schema: recheck::SCHEMA.into(), statement, cells };
    recheck::complete(&claims, &v.subject.machine).map_err(|refusal| refusal_words(&refusal))
}

/// The reason why a certificate is not valid, in words.
pub fn refusal_words(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Rejected { entry, why } => format!("{entry}: {why}"),
        Refusal::Unreadable(why) | Refusal::NotChecked(why) => why.clone(),
    }
}

struct Writer<'a> {
    subject: &'a Subject,
    trips: Option<&'a Trips>,
}

/// Trip counts of the main loop and of the loop around it.
type At = (i64, Option<i64>);

impl Writer<'_> {
    /// The statement of the certificate; `turned` where the proof names a second symbol.
    fn statement(&self, turned: bool) -> Statement {
        let Subject { program, machine, sources, fences, .. } = self.subject;
        let text = sources.get(&program.file).map_or("", String::as_str);
        let set = machine.params.iter().filter(|(_, p)| p.source == warpline_models::SET);
        let family = |f: warpline_verify::Family| recheck::Family { symbol: f.symbol, zero: f.zero, step: f.step };
        Statement {
            kernel: String::new(),
            text: text.strip_suffix('\n').unwrap_or(text).split('\n').map(str::to_string).collect(),
            machine: machine.name.clone(),
            machine_numbers: set.map(|(key, p)| recheck::Number { key: key.clone(), value: p.value }).collect(),
            fences: fences.list().map(|(rule, level)| recheck::Fence { rule: rule.into(), level: level.into() }).into(),
            values: program.params.iter().map(|(n, v)| recheck::Value { name: n.clone(), value: *v }).collect(),
            symbols: Vec::new(),
            trips: self.trips.map(|t| family(t.family())),
            turns: self.trips.filter(|_| turned).and_then(Trips::turns_family).map(family),
            sizes: Vec::new(),
            grid: [0; 3],
            excludes: Vec::new(),
            digest: String::new(),
        }
    }

    fn cell(&self, decided: &DecidedCell) -> Option<CellProof> {
        let axis = |a: warpline_sim::protocol::Axis| recheck::Axis { from: a.lo, step: a.step, count: a.count };
        let cluster = decided.cluster;
        let proof = match &decided.what {
            Conclusion::Given => Proof::Given(recheck::Given { operations: 0 }),
            Conclusion::Trips(parts) => {
                let tiles = self.trips.and_then(Trips::tiles);
                let regions = parts.iter().map(|part| self.region(part, tiles, cluster)).collect::<Option<_>>()?;
                Proof::Trips(recheck::Trips { tiles, regions })
            }
            Conclusion::Turns { steps, lines, order } => Proof::Plane(self.plane(*steps, lines, (*order, cluster))?),
            Conclusion::Sequential { first, second, order } => {
                let lines = vec![Some(*second); first.first as usize];
                Proof::Plane(self.plane(*first, &lines, (*order, cluster))?)
            }
        };
        Some(CellProof { axes: decided.cell.map(|cell| cell.axes.map(axis)), cluster, proof })
    }

    fn region(&self, part: &warpline_verify::TripRegion, tiles: Option<i64>, cluster: i64) -> Option<Region> {
        let induction = match part.induction {
            None => None,
            Some((line, order)) => Some(self.induction(line, (order, cluster), part.to, |n| (n, tiles))?),
        };
        Some(Region { from: part.from, to: part.to, induction, cases: Vec::new() })
    }

    fn induction(
        &self,
        line: warpline_verify::Line,
        of: (warpline_verify::Order, i64),
        to: Option<i64>,
        at: impl Fn(i64) -> At,
    ) -> Option<recheck::Induction> {
        let warpline_verify::Line { first, period } = line;
        let all = (first..first + period).filter(|n| to.is_none_or(|to| *n <= to));
        let pairs = all.map(|n| self.pair([at(n - period), at(n)], of, to.map(|to| (to - (n - period)) / period)));
        Some(recheck::Induction { first, period, order: order(of.0), pairs: pairs.collect::<Option<_>>()? })
    }

    fn plane(
        &self,
        steps: warpline_verify::Line,
        lines: &[Option<warpline_verify::Line>],
        of: (warpline_verify::Order, i64),
    ) -> Option<Plane> {
        let warpline_verify::Line { first, period } = steps;
        let line = |n: i64, line: warpline_verify::Line| {
            let induction = self.induction(line, of, None, |t| (n, Some(t)))?;
            Some(recheck::Line { cases: Vec::new(), induction })
        };
        let all = lines.iter().enumerate();
        let all: Vec<Option<recheck::Line>> =
            all.map(|(n, l)| l.map_or(Some(None), |l| line(n as i64, l).map(Some))).collect::<Option<_>>()?;
        let column = |n: i64| {
            let Some(line) = lines[(n - period) as usize] else { return Some(None) };
            let pair = |t| self.pair([(n - period, Some(t)), (n, Some(t))], of, None);
            let square = |t: i64| self.square((n - period, n), (t - line.period, t), of);
            Some(Some(Column {
                cases: Vec::new(),
                pairs: (0..line.first).map(pair).collect::<Option<_>>()?,
                squares: (line.first..line.first + line.period).map(square).collect::<Option<_>>()?,
            }))
        };
        let columns = (first..first + period).map(column).collect::<Option<_>>()?;
        Some(Plane { first, period, order: order(of.0), lines: all, columns })
    }

    /// The kernel at trip counts of the main loop and of the loop around it.
    fn at(&self, (trips, turns): At) -> Option<Program> {
        let family = self.trips?;
        turns.map_or_else(|| family.at(trips), |turns| family.turned(trips, turns))
    }

    fn found(&self, all: [At; 2], of: (warpline_verify::Order, i64), periods: Option<i64>) -> Option<Vec<Insertion>> {
        let (a, b) = (self.at(all[0])?, self.at(all[1])?);
        insertions([&a, &b], (self.subject.rules(), of.1, of.0), periods)
    }

    /// The comparison of two runs; `Some(None)` where the kernel rejects the longer run.
    fn pair(&self, all: [At; 2], of: (warpline_verify::Order, i64), periods: Option<i64>) -> Option<Option<Compared>> {
        if self.at(all[1]).is_none() {
            return Some(None);
        }
        Some(Some(compared(self.found(all, of, periods)?)))
    }

    /// The comparison of four runs: insertions of the first loop, from the shorter pair, and of the second loop.
    fn square(
        &self,
        (n, more): (i64, i64),
        (t, turns): (i64, i64),
        of: (warpline_verify::Order, i64),
    ) -> Option<Option<Compared>> {
        if self.at((more, Some(turns))).is_none() {
            return Some(None);
        }
        let mut all = self.found([(n, Some(t)), (more, Some(t))], of, None)?;
        let second = self.found([(n, Some(t)), (n, Some(turns))], of, None)?;
        all.extend(second.into_iter().map(|place| Insertion { second: true, ..place }));
        all.sort_by_key(|place| place.steps);
        Some(Some(compared(all)))
    }
}

fn compared(places: Vec<Insertion>) -> Compared {
    let inserted = places.into_iter().map(|p| Inserted {
        second: p.second,
        parts: p.parts,
        made: p.made,
        of: p.of,
        agent: p.agent,
        index: p.index,
        pass: p.pass,
        moves: 0,
        state: String::new(),
    });
    Compared { moves: 0, inserted: inserted.collect() }
}

fn order(order: warpline_verify::Order) -> recheck::Order {
    match order {
        warpline_verify::Order::Late => recheck::Order::Late,
        warpline_verify::Order::Early => recheck::Order::Early,
        warpline_verify::Order::Turns => recheck::Order::Turns,
        warpline_verify::Order::Steps => recheck::Order::Steps,
        warpline_verify::Order::AtOnce => recheck::Order::AtOnce,
    }
}
