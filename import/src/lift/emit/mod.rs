//! Generates the program's code.

mod free;
mod global;
mod ops;
mod places;
mod products;

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{
    Binary, Cost, Exact, Executors, Expr, Instr, Loop, ObjId, Object, Op as IrOp, Pc, Site, SiteId, VarId,
};

use crate::ptx::Error;
use crate::symbolic::{Atom, Node, Op, Term};

use super::Free;
use super::build::{FIRST, Plan};
use super::iterations::data::count_varies;
use super::launch::ParamField;
use super::launch::asserted;
use super::launch::exprs::Names;
use super::merge::{Merged, MergedKind, Set, each_term};
use super::walk::shared::Shared;

/// Slots of an object that an access covers, and per slot the pieces and bytes of each warp.
type Feet = BTreeMap<(usize, i64, Vec<(Term, i64)>), BTreeMap<u32, Exact>>;

/// The state of code generation.
pub(super) struct Emit<'e, 's, 'a> {
    s: &'e mut Shared<'a>,
    names: Names,
    plan: &'s Plan,
    /// Warps of a CTA.
    warps: u32,
    lines: Vec<String>,
    file: String,
    code: Vec<Instr>,
    at: Vec<SiteId>,
    sites: Vec<Site>,
    site_of: BTreeMap<usize, SiteId>,
    loops: Vec<Loop>,
    free: Vec<Free>,
    /// The instruction that reads each symbol first.
    read_at: BTreeMap<Term, usize>,
    inits: BTreeMap<(usize, bool, Set), BTreeSet<i64>>,
    /// The lane that acts for each warp of the cluster.
    lane: BTreeMap<u32, u32>,
    /// The number of the first of `objects`.
    first_object: ObjId,
    /// Matrices and registers of a program that is timed.
    objects: Vec<Object>,
    /// The object of each parameter and block: parameter, whether the place is known, rows, columns.
    matrices: BTreeMap<(Option<ParamField>, bool, i64, i64), ObjId>,
    /// The object of each load's registers.
    registers: BTreeMap<u32, ObjId>,
    /// Passes through the banks of shared memory that the next access takes.
    passes: Option<u32>,
    /// The blocks in global memory of the next copy, by CTA of the cluster.
    sources: BTreeMap<u32, global::Block>,
}

/// What is expected where a value is not followed.
pub(crate) const NOT_FOLLOWED: &str = "a value over arguments, coordinates and loop counters";
/// What is expected where a loop compares its iteration with a value that sets no trip count.
pub(super) const NO_TRIP_COUNT: &str = "conditions over trip counts";
/// The same, where the value is how often a condition over data holds.
pub(super) const NO_COUNT_OF_DATA: &str = "conditions over trip counts, or over how a loop ends";

/// Generated code.
pub(super) struct Done {
    pub(super) code: Vec<Instr>,
    /// The site of each instruction.
    pub(super) at: Vec<SiteId>,
    pub(super) sites: Vec<Site>,
    pub(super) loops: Vec<Loop>,
    pub(super) names: Names,
    pub(super) free: Vec<Free>,
    /// Objects behind those of the plan.
    pub(super) objects: Vec<Object>,
}

impl<'e, 's, 'a> Emit<'e, 's, 'a> {
    pub(super) fn new(s: &'e mut Shared<'a>, names: Names, plan: &'s Plan, warps: u32, text: &str, file: &str) -> Self {
        let free = |(t, line): &(Term, u32)| Free { symbol: names.symbols[t], line: *line };
        Emit {
            s,
            free: names.bits.iter().map(free).collect(),
            names,
            plan,
            warps,
            lines: text.lines().map(|l| l.trim().to_string()).collect(),
            file: file.into(),
            code: Vec::new(),
            at: Vec::new(),
            sites: Vec::new(),
            site_of: BTreeMap::new(),
            loops: Vec::new(),
            read_at: BTreeMap::new(),
            inits: BTreeMap::new(),
            lane: BTreeMap::new(),
            first_object: FIRST + (plan.regions.list.len() + plan.accumulators.len()) as ObjId,
            objects: Vec::new(),
            matrices: BTreeMap::new(),
            registers: BTreeMap::new(),
            sources: BTreeMap::new(),
            passes: None,
        }
    }

    pub(super) fn done(mut self) -> Result<Done, Error> {
        self.put(self.s.entry.code.len(), Instr::End);
        // A symbol that is neither a trip count nor free has one value, and the proof would hold only for that value.
        for (i, (t, name)) in self.names.order.iter().enumerate() {
            let bound = self.names.trips.contains(t) || self.free.iter().any(|f| f.symbol as usize == i);
            if !bound && self.s.timing.is_none() {
                let message = format!(
                    "`{name}` ({}) is compared with a loop counter and sets no trip count",
                    self.s.arena.show(*t)
                );
                let at = self.read_at.get(t).copied().unwrap_or(0);
                let is_count = matches!(self.s.arena.node(*t), Node::Op(Op::Trips | Op::HowOften, _));
                return Err(self.error(at, message, if is_count { NO_COUNT_OF_DATA } else { NO_TRIP_COUNT }));
            }
        }
        let Emit { code, at, sites, loops, names, free, objects, .. } = self;
        Ok(Done { code, at, sites, loops, names, free, objects })
    }

    fn error(&self, at: usize, message: String, expected: &str) -> Error {
        let i = &self.s.entry.code[at.min(self.s.entry.code.len().saturating_sub(1))];
        Error { line: i.line, span: i.span, message, expected: expected.into() }
    }

    fn site(&mut self, at: usize) -> SiteId {
        if let Some(s) = self.site_of.get(&at) {
            return *s;
        }
        let inst = self.s.entry.code.get(at).or(self.s.entry.code.last());
        let (line, text) = match inst {
            Some(i) => {
                let mut text = self.lines.get(i.line as usize - 1).cloned().unwrap_or_default();
                if let Some(end) = text.find("//") {
                    text.truncate(end);
                }
                if text.len() > 100 {
                    text = i.name();
                }
                // The last part of a path is enough to find a line, and leaves room for the instruction.
                let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_string();
                let from = i.loc.and_then(|l| Some(format!("{}:{}", name(self.s.module.files.get(&l.file)?), l.line)));
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                (i.line, from.map_or(text.clone(), |from| format!("{text} // {from}")))
            }
            None => (1, String::new()),
        };
        let id = self.sites.len() as SiteId;
        self.sites.push(Site { file: self.file.clone(), line, col: 1, text });
        self.site_of.insert(at, id);
        id
    }

    fn put(&mut self, at: usize, i: Instr) -> usize {
        let site = self.site(at);
        self.code.push(i);
        self.at.push(site);
        self.code.len() - 1
    }

    fn op(&mut self, at: usize, op: IrOp) {
        self.put(at, Instr::Op { op, cost: Cost::default() });
    }

    /// Adds an operation of some of the executing warps, by one lane of each or by all.
    fn by(&mut self, at: usize, set: Set, now: Set, one: bool, op: &IrOp) -> Result<(), Error> {
        self.only(at, set, now, &mut |e, _| {
            let b = one.then(|| e.put(at, Instr::Only(Executors::Elected, 0)));
            e.op(at, op.clone());
            b.iter().for_each(|b| e.land(*b));
            Ok(())
        })
    }

    fn land(&mut self, branch: usize) {
        let here = self.code.len() as Pc;
        if let Some(to) = self.code[branch].target_mut() {
            *to = here;
        }
    }

    /// The warps of one CTA of a set, as bits.
    fn of_rank(&self, set: Set, rank: u32) -> u64 {
        (set >> (rank * self.warps)) as u64 & u64::MAX >> (64 - self.warps.min(64))
    }

    /// The CTAs of a set.
    fn ranks(&self, set: Set) -> Vec<u32> {
        (0..self.s.ctas()).filter(|r| self.of_rank(set, *r) != 0).collect()
    }

    /// Adds code for some of the executing warps; `f` gets these warps.
    fn only(
        &mut self,
        at: usize,
        set: Set,
        now: Set,
        f: &mut dyn FnMut(&mut Self, Set) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let set = set & now;
        if set == 0 {
            return Ok(());
        }
        if set == now {
            return f(self, set);
        }
        let ranks = self.ranks(set);
        let warps = self.of_rank(set, ranks[0]);
        if ranks == self.ranks(now) && ranks.iter().all(|r| self.of_rank(set, *r) == warps) {
            let b = self.put(at, Instr::Only(Executors::Warps(warps), 0));
            f(self, set)?;
            self.land(b);
            return Ok(());
        }
        let several = self.ranks(now).len() > 1;
        for r in ranks {
            let all = (Set::from(u64::MAX >> (64 - self.warps.min(64)))) << (r * self.warps);
            let (set, now) = (set & all, now & all);
            let cta = several.then(|| self.put(at, Instr::Only(Executors::Cta(Expr::Const(r as i64)), 0)));
            let some = (set != now).then(|| self.put(at, Instr::Only(Executors::Warps(self.of_rank(set, r)), 0)));
            f(self, set)?;
            some.iter().chain(&cta).for_each(|b| self.land(*b));
        }
        Ok(())
    }

    fn expr(&mut self, at: usize, t: Term) -> Result<Expr, Error> {
        self.free_comparisons(at, t, false);
        let before = self.names.order.len();
        let mut found = self.names.expr(&mut self.s.arena, t);
        if found.is_none() && self.s.second_try {
            self.names.forget_symbols(before);
            self.free_comparisons(at, t, true);
            found = self.names.expr(&mut self.s.arena, t);
        }
        match found {
            Some(e) => {
                for (symbol, _) in &self.names.order[before..] {
                    self.read_at.entry(*symbol).or_insert(at);
                }
                Ok(e)
            }
            None => {
                let message = format!("{} is not followed", self.s.arena.show(t));
                Err(self.error(at, message, NOT_FOLLOWED))
            }
        }
    }

    /// Adds code of a case: with trip counts under which a launch is of another case, it does nothing. Conditions that
    /// trip counts do not decide are left out.
    pub(super) fn case(&mut self, conditions: &[(usize, Term)], list: &[Merged], now: Set) -> Result<(), Error> {
        let mut skips = Vec::new();
        for (at, holds) in conditions {
            if self.only_trips(*holds).0 {
                let holds = self.expr(*at, *holds)?;
                skips.push(self.put(*at, Instr::Unless(holds, 0)));
            }
        }
        self.list(list, now)?;
        skips.into_iter().for_each(|skip| self.land(skip));
        Ok(())
    }

    /// Adds code of assertions. Those that trip counts do not decide are left out.
    pub(super) fn checks(&mut self, list: &[Merged], now: Set) -> Result<(), Error> {
        for n in list {
            if let Some(holds) = asserted::asserts(n)
                && self.only_trips(holds).0
            {
                self.list(std::slice::from_ref(n), now)?;
            }
        }
        Ok(())
    }

    /// Adds code of nodes for the warps `now`.
    pub(super) fn list(&mut self, list: &[Merged], now: Set) -> Result<(), Error> {
        let mut next = 0;
        while let Some(n) = list.get(next) {
            let at = n.at;
            let rest = &list[next + 1..];
            next += 1;
            match &n.kind {
                MergedKind::Op(ops) => self.ops(at, ops, now)?,
                MergedKind::If(c, a, b) => self.only(at, n.warps, now, &mut |e, set| e.branch(at, *c, a, b, set))?,
                MergedKind::For(h, count, body) => {
                    self.only(at, n.warps, now, &mut |e, set| e.repeat(at, *h, *count, body, set))?
                }
                MergedKind::Set(..) => {
                    // Sets of the same warps stand together: each agent makes all of them.
                    let set = |m: &&Merged| matches!(m.kind, MergedKind::Set(..)) && m.warps == n.warps;
                    let more = rest.iter().take_while(set).count();
                    let all = &list[next - 1..next + more];
                    next += more;
                    self.only(at, n.warps, now, &mut |e, _| all.iter().try_for_each(|n| e.set(n)))?
                }
                MergedKind::End => self.only(at, n.warps, now, &mut |e, _| {
                    e.put(at, Instr::End);
                    Ok(())
                })?,
            }
        }
        Ok(())
    }

    fn set(&mut self, n: &Merged) -> Result<(), Error> {
        let MergedKind::Set(v, t) = n.kind else { return Ok(()) };
        let name = self.s.vars[v as usize].clone();
        let x = self.expr(n.at, t)?;
        let var = self.names.var(v, &name);
        self.put(n.at, Instr::Set(var, x));
        Ok(())
    }

    /// A condition. If it reads the launch and trip counts do not decide it, it is free: both values are tried.
    fn branch(&mut self, at: usize, c: Term, a: &[Merged], b: &[Merged], now: Set) -> Result<(), Error> {
        let launch = self.of_launch(c) || self.s.second_try && self.of_search(c);
        let (only_trips, read) = self.only_trips(c);
        let at_inst = at;
        // A trip count below 0 means 0. A condition that tells such counts apart is not a condition over trip counts.
        for t in read.iter().filter(|_| launch) {
            let mut at = |v: i64| {
                let v = self.s.arena.int(v);
                let with = rustc_hash::FxHashMap::from_iter([(*t, v)]);
                self.s.arena.replace(c, &with, &mut Default::default())
            };
            if at(-1) != at(0) && self.names.trips.contains(t) {
                let line = self.s.entry.code[at_inst].line;
                self.s.assume(line, "sizes that set trip counts are not negative");
            }
        }
        let cond = if launch && !only_trips {
            let (c, flip) = match self.s.arena.node(c) {
                Node::Op(Op::Not, args) => (args[0], true),
                _ => (c, false),
            };
            let e = self.free_symbol(at, c);
            if flip { Expr::unary(warpline_sim::ir::Unary::Not, e) } else { e }
        } else {
            self.expr(at, c)?
        };
        let skip = self.put(at, Instr::Unless(cond, 0));
        self.list(a, now)?;
        if b.is_empty() {
            self.land(skip);
        } else {
            let end = self.put(at, Instr::Jump(0));
            self.land(skip);
            self.list(b, now)?;
            self.land(end);
        }
        Ok(())
    }

    fn repeat(&mut self, at: usize, h: u32, count: Term, body: &[Merged], now: Set) -> Result<(), Error> {
        if count_varies(&self.s.arena, count) {
            let message = format!("how often this loop runs differs by iteration: {}", self.s.arena.show(count));
            return Err(self.error(at, message, "a trip count that a launch has"));
        }
        let bound = self.expr(at, count)?;
        let name = format!("i{}", self.s.entry.code[at.min(self.s.entry.code.len() - 1)].line);
        let var = self.names.counter(h, &name);
        self.counted(at, var, bound, &mut |e| {
            if e.is_numbered(h, body) {
                let (number, idle) = (Expr::Tape(0, Box::new(Expr::Var(var))), e.names.frame.len() as VarId);
                e.names.frame.push(format!(".number{idle}"));
                e.counted(at, idle, number, &mut |e| {
                    // A loop without an operation would be one that never ends.
                    let (unit, count) = ("int".into(), Expr::Const(0));
                    e.op(at, IrOp::Alu { unit, count, reads: Vec::new(), writes: Vec::new(), mix: None });
                    Ok(())
                })?;
            }
            e.list(body, now)
        })
    }

    /// Whether the body of a loop reads the numbers of its iterations. A proof varies trip counts, step by step. So each
    /// number is the trip count of a loop that does nothing.
    fn is_numbered(&self, h: u32, body: &[Merged]) -> bool {
        let mut reads = false;
        let of_tile = |t: Term| self.s.arena.is_numbered_by(t, Atom::Counter(h));
        if self.names.outcomes.is_some_and(|n| n > 0) {
            each_term(body, &mut |t| reads |= of_tile(t));
        }
        reads
    }

    /// A loop whose iterations `var` numbers.
    fn counted(
        &mut self,
        at: usize,
        var: VarId,
        bound: Expr,
        body: &mut dyn FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let name = self.names.frame[var as usize].clone();
        self.put(at, Instr::Set(var, Expr::Const(0)));
        let end = if bound.is_launch_constant() {
            bound.clone()
        } else {
            let end: VarId = self.names.frame.len() as VarId;
            self.names.frame.push(format!(".{name}"));
            self.put(at, Instr::Set(end, bound.clone()));
            Expr::Var(end)
        };
        let head = self.code.len() as Pc;
        let slot = self.loops.len();
        self.loops.push(Loop { var: Some(var), head, end: Pc::MAX, bound: Some(bound), passed: None });
        let out = self.put(at, Instr::Unless(Expr::binary(Binary::Lt, Expr::Var(var), end), 0));
        body(self)?;
        self.put(at, Instr::Set(var, Expr::binary(Binary::Add, Expr::Var(var), Expr::Const(1))));
        self.put(at, Instr::Jump(head));
        self.land(out);
        self.loops[slot].end = self.code.len() as Pc;
        Ok(())
    }
}
