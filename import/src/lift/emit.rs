//! The program's code.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{
    BarRef, Binary, Cost, Exact, Expr, Fence as IrFence, How, Instr, Loop, MmaKind, ObjId, Op as IrOp, Order, Pc, Per,
    Phase, Place, Queue, Sel, Site, SiteId, VarId, Where, Who,
};

use crate::ptx::Error;
use crate::symbolic::{Atom, Term};

use super::Free;
use super::barriers::addresses;
use super::build::{FIRST, LEFT, LOADED, Plan, STORED};
use super::exprs::{Names, rounded_down};
use super::merge::{Merged, MergedKind};
use super::tensor::TENSOR;
use super::tree::{Effect, Fence, Stream, Touch};
use super::walk::Shared;

/// Slots of an object that an access meets, and what each warp touches there: pieces and bytes.
type Feet = BTreeMap<(usize, i64, Vec<(Term, i64)>), BTreeMap<u32, Exact>>;

/// Code as it is written.
pub(super) struct Emit<'e, 's, 'a> {
    s: &'e mut Shared<'a>,
    names: Names,
    plan: &'s Plan,
    trips: BTreeSet<Term>,
    warps: u32,
    lines: Vec<String>,
    file: String,
    code: Vec<Instr>,
    at: Vec<SiteId>,
    sites: Vec<Site>,
    site_of: BTreeMap<usize, SiteId>,
    loops: Vec<Loop>,
    free: Vec<Free>,
    inits: BTreeMap<(usize, bool), BTreeSet<i64>>,
    lane: BTreeMap<u32, u32>,
}

/// Code, sites of it, sites, loops, names and free symbols.
pub(super) type Done = (Vec<Instr>, Vec<SiteId>, Vec<Site>, Vec<Loop>, Names, Vec<Free>);

impl<'e, 's, 'a> Emit<'e, 's, 'a> {
    pub(super) fn new(
        s: &'e mut Shared<'a>,
        names: Names,
        plan: &'s Plan,
        trips: BTreeSet<Term>,
        warps: u32,
        text: &str,
        file: &str,
    ) -> Self {
        Emit {
            s,
            names,
            plan,
            trips,
            warps,
            lines: text.lines().map(|l| l.trim().to_string()).collect(),
            file: file.into(),
            code: Vec::new(),
            at: Vec::new(),
            sites: Vec::new(),
            site_of: BTreeMap::new(),
            loops: Vec::new(),
            free: Vec::new(),
            inits: BTreeMap::new(),
            lane: BTreeMap::new(),
        }
    }

    pub(super) fn done(mut self) -> Result<Done, Error> {
        self.put(self.s.entry.code.len(), Instr::End);
        // A symbol that is neither a trip count nor free would keep the one value that it happens to have.
        for (i, (t, name)) in self.names.order.iter().enumerate() {
            let bound = self.trips.contains(t) || self.free.iter().any(|f| f.symbol as usize == i);
            if !bound {
                let message = format!(
                    "`{name}` ({}) is compared with a loop counter and sets no trip count",
                    self.s.arena.show(*t)
                );
                return Err(self.error(0, message, "conditions over trip counts"));
            }
        }
        Ok((self.code, self.at, self.sites, self.loops, self.names, self.free))
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
                let from = i.loc.and_then(|l| Some(format!("{}:{}", self.s.module.files.get(&l.file)?, l.line)));
                let text = text.trim().to_string();
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

    fn land(&mut self, branch: usize) {
        let here = self.code.len() as Pc;
        if let Some(to) = self.code[branch].target_mut() {
            *to = here;
        }
    }

    /// Writes something for some of the warps that are executing.
    fn only(
        &mut self,
        at: usize,
        warps: u64,
        now: u64,
        f: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if warps == now {
            return f(self);
        }
        let b = self.put(at, Instr::Only(Who::Warps(warps), 0));
        f(self)?;
        self.land(b);
        Ok(())
    }

    fn expr(&mut self, at: usize, t: Term) -> Result<Expr, Error> {
        match self.names.expr(&mut self.s.arena, t) {
            Some(e) => Ok(e),
            None => {
                let message = format!("{} is not followed", self.s.arena.show(t));
                Err(self.error(at, message, "a value over arguments, coordinates and loop counters"))
            }
        }
    }

    /// Writes nodes for the warps `now`.
    pub(super) fn list(&mut self, list: &[Merged], now: u64) -> Result<(), Error> {
        for n in list {
            let at = n.at;
            match &n.kind {
                MergedKind::Op(ops) => self.ops(at, ops, now)?,
                MergedKind::If(c, a, b) => self.only(at, n.warps, now, |e| e.branch(at, *c, a, b, n.warps))?,
                MergedKind::For(h, count, body) => {
                    self.only(at, n.warps, now, |e| e.repeat(at, *h, *count, body, n.warps))?
                }
                MergedKind::Set(v, t) => self.only(at, n.warps, now, |e| {
                    let name = e.s.vars[*v as usize].clone();
                    let x = e.expr(at, *t)?;
                    let var = e.names.var(*v, &name);
                    e.put(at, Instr::Set(var, x));
                    Ok(())
                })?,
                MergedKind::End => self.only(at, n.warps, now, |e| {
                    e.put(at, Instr::End);
                    Ok(())
                })?,
            }
        }
        Ok(())
    }

    /// A condition. One over the launch that trip counts do not decide is free: both values are tried.
    fn branch(&mut self, at: usize, c: Term, a: &[Merged], b: &[Merged], now: u64) -> Result<(), Error> {
        let launch = !self
            .s
            .arena
            .mentions(c, |x| matches!(x, Atom::Counter(_) | Atom::Var(_) | Atom::Place(crate::symbolic::Place::Rank)));
        let mut only_trips = true;
        let mut read = BTreeSet::new();
        self.leaves(c, &mut |e, t| {
            only_trips &= e.trips.contains(&t);
            read.insert(t);
        });
        // A trip count below none is none: a condition that tells them apart is not one over trip counts.
        for t in read.iter().filter(|_| launch) {
            let mut at = |v: i64| {
                let v = self.s.arena.int(v);
                let with = rustc_hash::FxHashMap::from_iter([(*t, v)]);
                self.s.arena.replace(c, &with, &mut Default::default())
            };
            only_trips &= at(-1) == at(0);
        }
        let cond = if launch && !only_trips {
            let (c, flip) = match self.s.arena.node(c) {
                crate::symbolic::Node::Op(crate::symbolic::Op::Not, args) => (args[0], true),
                _ => (c, false),
            };
            let e = self.names.symbol(c, format!("cond_{}", self.s.entry.code[at].line));
            if let Expr::Param(p) = e
                && !self.free.iter().any(|f| f.symbol == p)
            {
                self.free.push(Free { symbol: p, line: self.s.entry.code[at].line });
            }
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

    /// Calls `f` on each symbol that an expression for a term would read.
    fn leaves(&mut self, t: Term, f: &mut impl FnMut(&Self, Term)) {
        use crate::symbolic::Node;
        let t = rounded_down(&mut self.s.arena, t);
        if self.names.is_leaf(&self.s.arena, t) {
            return f(self, t);
        }
        match self.s.arena.node(t).clone() {
            Node::Sum(_, parts) => parts.iter().for_each(|(t, _)| self.leaves(*t, f)),
            Node::Op(_, args) => args.iter().for_each(|t| self.leaves(*t, f)),
            Node::Table(i, ..) => self.leaves(i, f),
            Node::Const(_) | Node::Atom(_) => {}
        }
    }

    fn repeat(&mut self, at: usize, h: u32, count: Term, body: &[Merged], now: u64) -> Result<(), Error> {
        let varies = |x| {
            matches!(x, Atom::Counter(h) if h != u32::MAX)
                || matches!(x, Atom::Var(_) | Atom::Place(crate::symbolic::Place::Rank))
        };
        if self.s.arena.mentions(count, varies) {
            let message = format!("how often this loop runs differs by iteration: {}", self.s.arena.show(count));
            return Err(self.error(at, message, "a trip count that a launch has"));
        }
        let bound = self.expr(at, count)?;
        let name = format!("i{}", self.s.entry.code[at.min(self.s.entry.code.len() - 1)].line);
        let var = self.names.counter(h, &name);
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
        self.list(body, now)?;
        self.put(at, Instr::Set(var, Expr::binary(Binary::Add, Expr::Var(var), Expr::Const(1))));
        self.put(at, Instr::Jump(head));
        self.land(out);
        self.loops[slot].end = self.code.len() as Pc;
        Ok(())
    }

    /// What warps do at one instruction.
    fn ops(&mut self, at: usize, ops: &[(u32, u32, Effect)], now: u64) -> Result<(), Error> {
        let threads = match &ops[0].2 {
            Effect::Touch(Touch::Read, _) => Some((How::Lds, true)),
            Effect::Touch(Touch::Write, _) => Some((How::Sts, false)),
            Effect::Touch(Touch::Copy, _) => Some((How::CpAsync, false)),
            Effect::TensorLoad(_) => Some((How::TmemLd, true)),
            Effect::TensorStore(_) => Some((How::TmemSt, false)),
            _ => None,
        };
        if let Some((how, reads)) = threads {
            let feet = self.feet(ops.iter().map(|(w, _, e)| (*w, runs(e))));
            for ((object, slot, ring), by_warp) in feet {
                let mut place = self.place(at, object, slot, &ring, &by_warp)?;
                let mut pieces: Vec<u64> = by_warp.values().map(|e| e.pieces).collect();
                pieces.sort_unstable();
                if how == How::Sts && pieces.windows(2).any(|w| w[0] == w[1]) {
                    place.sel.same = true;
                    let line = self.s.entry.code[at].line;
                    self.s.assume(line, "warps that store to the same bytes at one instruction store the same values");
                }
                let warps = by_warp.keys().fold(0, |m, w| m | 1u64 << w);
                let op = self.threads_move(how, reads, place);
                // What the one lane that acts for its warp touches is its own.
                let one = !matches!(how, How::TmemLd | How::TmemSt)
                    && ops
                        .iter()
                        .all(|(w, l, _)| l.count_ones() == 1 && l.trailing_zeros() == *self.lane.get(w).unwrap_or(&0));
                self.only(at, warps, now, |e| {
                    let b = one.then(|| e.put(at, Instr::Only(Who::Elected, 0)));
                    e.op(at, op);
                    b.iter().for_each(|b| e.land(*b));
                    Ok(())
                })?;
            }
            return Ok(());
        }
        // Warps that do the same with as many lanes.
        let mut groups: Vec<(u64, u32, &Effect)> = Vec::new();
        for (w, lanes, e) in ops {
            let n = lanes.count_ones();
            match groups.iter_mut().find(|(_, m, x)| *m == n && *x == e) {
                Some((warps, ..)) => *warps |= 1 << w,
                None => groups.push((1 << w, n, e)),
            }
            if n < 32 && threads_act(e) {
                let lane = lanes.trailing_zeros();
                if n == 1 && *self.lane.entry(*w).or_insert(lane) != lane {
                    let message = format!("two lanes of warp {w} act for it at different places");
                    return Err(self.error(at, message, "one elected lane a warp"));
                }
            }
        }
        for (warps, lanes, e) in groups {
            self.only(at, warps, now, |s| s.group(at, lanes, e, warps))?;
        }
        Ok(())
    }

    /// One operation of some warps, by all lanes or by some.
    fn group(&mut self, at: usize, lanes: u32, e: &Effect, warps: u64) -> Result<(), Error> {
        if lanes == 32 || !threads_act(e) {
            if matches!(
                e,
                Effect::BulkLoad { .. }
                    | Effect::BulkStore { .. }
                    | Effect::Init(..)
                    | Effect::TensorProduct { .. }
                    | Effect::TensorCommit(_)
            ) {
                return Err(self.error(
                    at,
                    "all lanes of a warp do what one lane is meant to do".into(),
                    "one elected lane",
                ));
            }
            return self.effect(at, lanes, e, warps);
        }
        let several = lanes > 1 && !matches!(e, Effect::Arrive { .. });
        if several {
            return Err(self.error(at, format!("{lanes} lanes of a warp do this, and not all"), "one lane, or all"));
        }
        let b = self.put(at, Instr::Only(Who::Elected, 0));
        self.effect(at, lanes, e, warps)?;
        self.land(b);
        Ok(())
    }

    fn effect(&mut self, at: usize, lanes: u32, e: &Effect, warps: u64) -> Result<(), Error> {
        // One of several in a row is enough.
        if *e == Effect::WarpSync && matches!(self.code.last(), Some(Instr::Op { op: IrOp::WarpSync, .. })) {
            return Ok(());
        }
        let op = match e {
            Effect::Touch(..) => return Ok(()),
            Effect::Commit(s) => IrOp::Commit(queue(*s)),
            Effect::WaitGroup(s, n) => IrOp::Wait(queue(*s), Expr::Const(*n)),
            Effect::BulkLoad { to, bar, multicast, .. } => {
                let n = self.plan.loads.get(&(at, *to, *bar)).copied().unwrap_or(0);
                let bar = self.bar(at, *bar, None)?;
                let mask = multicast.map(|t| self.expr(at, t)).transpose()?;
                if mask.is_some() && self.s.cluster == 1 {
                    return Err(self.error(
                        at,
                        "a multicast goes to a cluster whose size the text does not say".into(),
                        "`.reqnctapercluster`",
                    ));
                }
                let runs = [(*to, n)];
                let feet = self.feet(warp_list(warps).map(|w| (w, runs.as_slice())));
                for ((object, slot, ring), by_warp) in feet {
                    let dst = self.place(at, object, slot, &ring, &by_warp)?;
                    let src = self.global(&dst);
                    self.op(at, moved(How::TmaLoad, src, dst, Some(bar.clone()), mask.clone()));
                }
                return Ok(());
            }
            Effect::BulkStore { from, .. } => {
                let n = self.plan.stores.get(&(at, *from)).copied().unwrap_or(0);
                let runs = [(*from, n)];
                let feet = self.feet(warp_list(warps).map(|w| (w, runs.as_slice())));
                for ((object, slot, ring), by_warp) in feet {
                    let src = self.place(at, object, slot, &ring, &by_warp)?;
                    let dst = self.global(&src);
                    self.op(at, moved(How::TmaStore, src, dst, None, None));
                }
                return Ok(());
            }
            Effect::Init(t, _) | Effect::Inval(t) => return self.life(at, *t, matches!(e, Effect::Init(..))),
            Effect::Arrive { bar, count, expect, cta, relaxed, cluster } => {
                let bar = self.bar(at, *bar, *cta)?;
                let mut count = self.expr(at, *count)?;
                if lanes > 1 && lanes < 32 {
                    count = Expr::binary(Binary::Mul, count, Expr::Const(lanes as i64));
                }
                let expect = expect.map(|t| self.expr(at, t)).transpose()?;
                IrOp::Arrive { bar, per: Per::Thread, count, expect, relaxed: *relaxed, cluster: *cluster }
            }
            Effect::Expect(bar, n) => {
                let bytes = self.expr(at, *n)?;
                IrOp::Expect { bar: self.bar(at, *bar, None)?, bytes }
            }
            Effect::CopyArrive(bar, noinc) => IrOp::CpArrive { bar: self.bar(at, *bar, None)?, noinc: *noinc },
            Effect::Wait(bar, parity) => {
                let parity = self.expr(at, *parity)?;
                IrOp::MbarWait { bar: self.bar(at, *bar, None)?, phase: Phase::Parity(parity) }
            }
            Effect::Bar(id, n, sync) => {
                let threads: i64 = self.s.block.iter().map(|n| *n as i64).product();
                if *id == 0 && *n == threads && *sync {
                    IrOp::Barrier(Order::Shared)
                } else {
                    let bar = self.plan.named.iter().position(|x| x == id).unwrap_or(0) as u16;
                    IrOp::Named { bar, index: Expr::Const(0), threads: Expr::Const(*n), sync: *sync }
                }
            }
            Effect::WarpSync => IrOp::WarpSync,
            Effect::ClusterArrive(relaxed) => IrOp::ClusterArrive { relaxed: *relaxed },
            Effect::ClusterWait => IrOp::ClusterWait,
            Effect::Fence(f) => IrOp::Fence(match f {
                Fence::Async => IrFence::Async,
                Fence::AsyncGlobal => IrFence::AsyncGlobal,
                Fence::Init => IrFence::MbarrierInit,
                Fence::Wgmma => IrFence::Wgmma,
                Fence::TensorBefore => IrFence::TmemBefore,
                Fence::TensorAfter => IrFence::TmemAfter,
                Fence::Cta => IrFence::Cta,
            }),
            Effect::Regs(n, inc) => IrOp::Regs { count: *n, inc: *inc },
            Effect::GridWait => IrOp::GridWait,
            Effect::TensorAlloc(base, n) | Effect::TensorFree(base, n) => {
                let (from, to) = (TENSOR + base * 64, TENSOR + (base + n) * 64);
                for (o, r) in self.plan.regions.list.iter().enumerate().filter(|(_, r)| from <= r.base && r.base < to) {
                    if r.end > to {
                        return Err(self.error(
                            at,
                            "tensor memory is used beyond what is allocated".into(),
                            "columns of the allocation",
                        ));
                    }
                    let obj = FIRST + o as ObjId;
                    let op = match e {
                        Effect::TensorAlloc(..) => IrOp::TmemAlloc { obj, pair: false },
                        _ => IrOp::TmemDealloc { obj, pair: false },
                    };
                    self.op(at, op);
                }
                return Ok(());
            }
            Effect::TensorLoad(_) | Effect::TensorStore(_) => return Ok(()),
            Effect::TensorWait(load) => IrOp::Wait(if *load { Queue::TmemLd } else { Queue::TmemSt }, Expr::Const(0)),
            Effect::TensorCommit(bar) => IrOp::CommitUmma(vec![self.bar(at, *bar, None)?]),
            Effect::TensorProduct { a, at: reads, b, d } => return self.tensor_product(at, [a, reads, b, d], warps),
            Effect::Wgmma { a, b, acc, n, .. } => return self.product(at, a.as_deref(), b, (*acc, *n), warps),
        };
        self.op(at, op);
        Ok(())
    }

    /// A product of tensor memory, as several where operands meet several slots.
    fn tensor_product(&mut self, at: usize, operands: [&Vec<(Term, u32)>; 4], warps: u64) -> Result<(), Error> {
        let mut places: Vec<Vec<Place>> = Vec::new();
        for runs in operands {
            let feet = self.feet(warp_list(warps).map(|w| (w, runs.as_slice())));
            let mut list = Vec::new();
            for ((object, slot, ring), by_warp) in feet {
                list.push(self.place(at, object, slot, &ring, &by_warp)?);
            }
            places.push(list);
        }
        let d = places.pop().unwrap_or_default();
        let reads: Vec<Place> = places.into_iter().flatten().collect();
        let n = d.len().max(reads.len().div_ceil(2));
        for i in 0..n {
            let read = |j: usize| reads.get(j).or(reads.last()).or(d.first()).cloned();
            let (Some(a), Some(b), Some(acc)) = (read(2 * i), read(2 * i + 1), d.get(i).or(d.last()).cloned()) else {
                break;
            };
            self.op(at, IrOp::Mma { kind: MmaKind::Umma, a, b, acc });
        }
        Ok(())
    }

    fn product(
        &mut self,
        at: usize,
        a: Option<&[(Term, u32)]>,
        b: &[(Term, u32)],
        acc: (u32, u32),
        warps: u64,
    ) -> Result<(), Error> {
        let mut places = Vec::new();
        for runs in [a, Some(b)] {
            let mut list = Vec::new();
            if let Some(runs) = runs {
                let feet = self.feet(warp_list(warps).map(|w| (w, runs)));
                for ((object, slot, ring), by_warp) in feet {
                    list.push(self.place(at, object, slot, &ring, &by_warp)?);
                }
            } else {
                list.push(whole(LEFT));
            }
            places.push(list);
        }
        let n = places[0].len().max(places[1].len());
        let acc = whole(self.plan.accumulators.get(&acc).copied().unwrap_or(LEFT));
        for i in 0..n {
            let pick = |list: &Vec<Place>| list[i.min(list.len() - 1)].clone();
            let (x, y) = (pick(&places[0]), pick(&places[1]));
            self.op(at, IrOp::Mma { kind: MmaKind::Wgmma, a: x, b: y, acc: acc.clone() });
        }
        Ok(())
    }

    /// `init` and `inval` of an array, once its last stage has had it.
    fn life(&mut self, at: usize, t: Term, init: bool) -> Result<(), Error> {
        let Some(x) = self.s.arena.constant(t) else {
            return Err(self.error(at, "which barrier this is is not known".into(), "a constant address"));
        };
        let found = self
            .plan
            .barriers
            .iter()
            .position(|b| x >= b.base && (x - b.base) % b.stride == 0 && (x - b.base) / b.stride < b.stages as i64);
        let Some(i) = found else { return Err(self.error(at, "this barrier is in no array".into(), "a barrier")) };
        let b = &self.plan.barriers[i];
        let seen = self.inits.entry((i, init)).or_default();
        seen.insert(x);
        // The last of an initialisation, the first of an invalidation: what is used in between is found.
        let now = if init { seen.len() == b.stages as usize } else { seen.len() == 1 };
        if seen.len() == b.stages as usize {
            seen.clear();
        }
        if now {
            let list = vec![i as u16];
            self.op(at, if init { IrOp::Init(list) } else { IrOp::Inval(list) });
        }
        Ok(())
    }

    fn bar(&mut self, at: usize, t: Term, cta: Option<Term>) -> Result<BarRef, Error> {
        let first = addresses(&self.s.arena, t).and_then(|l| l.first().copied());
        let inside = |b: &super::barriers::Barriers, x: i64| {
            x >= b.base && (x - b.base) % b.stride == 0 && (x - b.base) / b.stride < b.stages as i64
        };
        let found = first.and_then(|x| self.plan.barriers.iter().position(|b| inside(b, x)));
        let Some(i) = found else { return Err(self.error(at, "this barrier is in no array".into(), "a barrier")) };
        let b = self.plan.barriers[i].clone();
        let (k, parts) = self.s.arena.parts(t);
        let parts = parts.iter().map(|(t, c)| (*t, c / b.stride)).collect();
        let index = self.s.arena.sum((k - b.base) / b.stride, parts);
        let stage = self.expr(at, index)?;
        let to = match cta {
            Some(t) => Where::Cta(self.expr(at, t)?),
            None => Where::Own,
        };
        Ok(BarRef { bar: i as u16, stage, at: to })
    }

    /// The slots that runs of bytes of warps meet.
    fn feet<'r>(&self, runs: impl Iterator<Item = (u32, &'r [(Term, u32)])>) -> Feet {
        let mut feet = Feet::new();
        for (w, runs) in runs {
            for (t, n) in runs {
                for p in self.plan.regions.parts(&self.s.arena, *t, *n) {
                    let pieces = self.plan.regions.pieces(p.object, p.from, p.to);
                    let foot = feet.entry((p.object, p.slot, p.ring)).or_default().entry(w).or_default();
                    foot.pieces |= pieces;
                    foot.elements += p.to - p.from;
                }
            }
        }
        feet
    }

    fn place(
        &mut self,
        at: usize,
        object: usize,
        slot: i64,
        ring: &[(Term, i64)],
        by_warp: &BTreeMap<u32, Exact>,
    ) -> Result<Place, Error> {
        let many = self.plan.regions.list[object].slots > 1;
        let slot = self.s.arena.sum(slot, ring.to_vec());
        let index = self.expr(at, slot)?;
        let exact = (0..self.warps).map(|w| by_warp.get(&w).copied().unwrap_or_default()).collect();
        let sel = Sel { exact, ..Sel::default() };
        let at = if many { vec![index] } else { Vec::new() };
        Ok(Place { at, sel, ..whole(FIRST + object as ObjId) })
    }

    /// As many bytes of global memory as a place has.
    fn global(&self, p: &Place) -> Place {
        let exact = p.sel.exact.iter().map(|e| Exact { pieces: 0, ..*e }).collect();
        Place { at: vec![Expr::Const(0), Expr::Const(0)], sel: Sel { exact, ..Sel::default() }, ..whole(0) }
    }

    fn threads_move(&self, how: How, reads: bool, place: Place) -> IrOp {
        match how {
            How::CpAsync => moved(how, self.global(&place), place, None, None),
            _ if reads => moved(how, place, whole(LOADED), None, None),
            _ => moved(how, whole(STORED), place, None, None),
        }
    }
}

/// Whether each thread that executes it does it for itself.
fn threads_act(e: &Effect) -> bool {
    !matches!(
        e,
        Effect::Touch(..)
            | Effect::Wgmma { .. }
            | Effect::WarpSync
            | Effect::Bar(..)
            | Effect::Regs(..)
            | Effect::GridWait
            | Effect::TensorAlloc(..)
            | Effect::TensorFree(..)
            | Effect::TensorLoad(_)
            | Effect::TensorStore(_)
            | Effect::TensorWait(_)
    ) && !matches!(e, Effect::Fence(Fence::Wgmma) | Effect::Commit(Stream::Wgmma) | Effect::WaitGroup(Stream::Wgmma, _))
}

fn warp_list(warps: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |w| warps >> w & 1 == 1)
}

fn queue(s: Stream) -> Queue {
    match s {
        Stream::Copy => Queue::Cp,
        Stream::Wgmma => Queue::Wgmma,
        Stream::Bulk => Queue::Bulk,
        Stream::BulkRead => Queue::BulkRead,
    }
}

fn whole(obj: ObjId) -> Place {
    Place { obj, at: Vec::new(), elements: false, sel: Sel::default(), cta: None, tile: None, inside: None }
}

fn moved(how: How, src: Place, dst: Place, signals: Option<BarRef>, multicast: Option<Expr>) -> IrOp {
    IrOp::Move { how, src, dst, crew: 0, batch: None, dequant: false, masked: true, signals, multicast }
}

/// Bytes that threads touch.
fn runs(e: &Effect) -> &[(Term, u32)] {
    match e {
        Effect::Touch(_, r) | Effect::TensorLoad(r) | Effect::TensorStore(r) => r,
        _ => &[],
    }
}
