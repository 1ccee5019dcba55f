//! Instructions that act on shared memory, barriers and streams.
//!
//! | file | instructions |
//! |---|---|
//! | `mod` | dispatch by instruction; fences, `bar`, groups of copies |
//! | `arrivals`, `states`, `polls`, `peek`, `anyway` | mbarriers: arrivals, waits for a state, polls before a wait |
//! | `copies`, `bulk_rows`, `far`, `atomics` | `cp.async` and bulk copies; accesses to other CTAs; atomic accesses |
//! | `tensor`, `shapes`, `descriptors` | matrix instructions: tensor memory, shapes, fields of descriptors |
//! | `mailbox` | words of shared memory that tell waiting warps which code to run |

pub(crate) mod anyway;
pub(crate) mod arrivals;
pub(crate) mod atomics;
pub(crate) mod bulk_rows;
pub(crate) mod copies;
pub(crate) mod descriptors;
pub(crate) mod far;
pub(crate) mod mailbox;
pub(crate) mod peek;
pub(crate) mod polls;
pub(crate) mod shapes;
pub(crate) mod states;
pub(crate) mod tensor;

use crate::lift::emit::NOT_FOLLOWED;
use crate::lift::facts::slice::only_global;
use crate::lift::memory::sizes::TENSOR_MAP;
use crate::lift::walk::Walk;
use crate::ptx::{Arg, Error, Inst};
use crate::symbolic::Term;

use super::tree::{Effect, Fence, Stream, Touch, Val};
use states::waits_for_state;

impl Walk<'_, '_> {
    /// Adds the operation of an instruction to the nodes; false if it only computes.
    pub(crate) fn effect(&mut self, at: usize, i: &Inst) -> Result<bool, Error> {
        match i.op.as_str() {
            "ld" => {
                let v = self.address(i.arg(1))?;
                if self.is_shared(i, &v) {
                    if let Some((value, runs)) = self.mail(i, &v)? {
                        self.push(at, 0, Effect::Touch(Touch::Read, runs))?;
                        let value = self.s.arena.int(value);
                        self.set_arg(i.arg(0), Val::Uni(value));
                        return Ok(true);
                    }
                    self.touches(at, i, Touch::Read)?;
                }
                return Ok(false);
            }
            "st" => {
                if i.has("async") && !only_global(i) {
                    return self.async_store(at, i, Touch::Write).map(|()| true);
                }
                let v = self.address(i.arg(0))?;
                if i.has("bulk") && self.is_shared(i, &v) {
                    let bytes = self.number(i, i.arg(1), "bytes")?;
                    let bytes = u32::try_from(bytes).map_err(|_| self.unknown(i))?;
                    let runs = self.runs(i, &v, bytes, 32)?;
                    self.access(at, i, Touch::Write, runs, None)?;
                } else if self.is_shared(i, &v) {
                    match self.mails(at, i)? {
                        Some(runs) => self.push(at, 0, Effect::Touch(Touch::Write, runs))?,
                        None => self.touches(at, i, Touch::Write)?,
                    }
                }
            }
            "ldmatrix" => {
                self.touches(at, i, Touch::Read)?;
                return Ok(false);
            }
            "stmatrix" => self.touches(at, i, Touch::Write)?,
            "red" | "atom" | "multimem" => {
                if i.op == "red" && i.has("async") && !only_global(i) {
                    return self.async_store(at, i, Touch::Atomic).map(|()| true);
                }
                let n = if i.op == "red" { 0 } else { 1 };
                let v = self.address(i.args.get(n).unwrap_or(&Arg::Sink))?;
                let shared = self.is_shared(i, &v);
                if i.has("async") && !only_global(i) || (shared && i.op == "multimem") {
                    return Err(self.unknown(i));
                }
                if shared {
                    self.atomic(at, i, n)?;
                }
                return Ok(i.op == "red");
            }
            "cp" => self.copy(at, i)?,
            "bar" | "barrier" => return self.bar(at, i),
            "mbarrier" => return self.mbarrier(at, i),
            "fence" | "membar" => self.fence(at, i)?,
            "setmaxnreg" if !self.s.entry.hands_registers() => self.s.assume(
                i.line,
                "ptxas ignores `setmaxnreg` in a text without `.minnctapersm` and `.maxnreg` (its message C7508)",
            ),
            "setmaxnreg" => {
                let n = self.number(i, i.arg(0), "registers")?;
                self.push(at, 0, Effect::Regs(n as u32, i.has("inc")))?;
            }
            "griddepcontrol" if i.has("wait") => self.push(at, 0, Effect::GridWait)?,
            "griddepcontrol" => {}
            "elect" => {
                let first = self.lanes.trailing_zeros().min(31);
                let (one, zero) = (self.s.arena.int(1), self.s.arena.int(0));
                let p = Val::of(std::array::from_fn(|l| if l as u32 == first { one } else { zero }));
                let lane = self.s.arena.int(first as i64);
                if let Arg::Pair(d, q) = i.arg(0) {
                    self.set_arg(d, Val::Uni(lane));
                    self.set_arg(q, p);
                }
                if self.unsure == 0 && self.lanes == u32::MAX {
                    self.push(at, 0, Effect::Elect)?;
                }
            }
            "shfl" | "vote" | "redux" | "match" => {
                // Lanes that exchange values have all come here, and their loads are complete.
                // In a run, its latency is part of a chain of instructions.
                if self.unsure == 0 && self.lanes == u32::MAX && i.has("sync") && self.timing().is_none() {
                    self.s.assume(i.line, "lanes that exchange values by `shfl.sync` and its kin are in order with each other's accesses before it");
                    self.push(at, 0, Effect::WarpSync)?;
                }
                return Ok(false);
            }
            "clusterlaunchcontrol" if i.has("try_cancel") => {
                let (to, bar) = (self.same(i, i.arg(0), "address")?, self.same(i, i.arg(1), "barrier")?);
                let all = self.s.arena.int((1 << self.s.ctas()) - 1);
                let multicast = i.has("multicast::cluster::all").then_some(all);
                let bytes = Some(self.s.arena.int(16));
                self.push(at, 0, Effect::BulkLoad { to, bar, bytes, multicast, cta: None })?;
            }
            "clusterlaunchcontrol" => return Ok(false),
            "wgmma" => self.wgmma(at, i)?,
            "tcgen05" => return self.tensor(at, i),
            "tensormap" => {
                self.s.assume(i.line, "tensor maps that the kernel changes are complete when they are used");
                // A tensor map in shared memory has 128 bytes; it is changed in place or copied out.
                if i.mods.iter().any(|m| m.starts_with("shared")) {
                    let (what, n) = if i.has("cp_fenceproxy") { (Touch::Read, 1) } else { (Touch::Write, 0) };
                    let v = self.address(i.arg(n))?;
                    let runs = self.runs(i, &v, TENSOR_MAP, 32)?;
                    let together = i.has("aligned") && self.lanes == u32::MAX;
                    if together {
                        self.push(at, 1, Effect::WarpSync)?;
                    }
                    self.push(at, 0, Effect::Touch(what, runs))?;
                    // No lane goes on before all lanes have copied their part.
                    if together {
                        self.push(at, 2, Effect::WarpSync)?;
                    }
                }
            }
            _ => return Err(self.unknown(i)),
        }
        Ok(true)
    }

    /// The error for an instruction that could access shared memory, a barrier or control flow, and is not supported.
    pub(crate) fn unknown(&self, i: &Inst) -> Error {
        self.s.error(i, format!("`{}` is not supported yet", i.name()), "instructions that docs/import.md lists")
    }

    /// A constant that is the same in all executing lanes.
    pub(crate) fn number(&mut self, i: &Inst, a: &Arg, what: &str) -> Result<i64, Error> {
        let v = self.operand(a)?;
        let v = v.uniform(self.lanes).and_then(|t| self.s.arena.constant(t));
        if self.dry > 0 {
            return Ok(v.unwrap_or(0));
        }
        v.ok_or_else(|| {
            self.s.error(i, format!("the {what} of `{}` are not a number that is known", i.name()), "a constant")
        })
    }

    /// A value that all executing lanes share.
    pub(crate) fn same(&mut self, i: &Inst, a: &Arg, what: &str) -> Result<Term, Error> {
        let v = self.operand(a)?;
        let t = v.uniform(self.lanes);
        if self.dry > 0 {
            return Ok(t.unwrap_or(0));
        }
        let t = t.ok_or_else(|| {
            self.s.error(i, format!("lanes give `{}` different {what}", i.name()), "one value a warp")
        })?;
        if self.opaque(t) {
            let mut why = String::new();
            self.s.arena.each_atom(t, &mut |a| {
                if let crate::symbolic::Atom::Opaque(n) = a {
                    why = self.s.arena.why(n).unwrap_or_default().to_string();
                }
            });
            return Err(self.s.error(i, format!("the {what} of `{}` comes from {why}", i.name()), NOT_FOLLOWED));
        }
        Ok(t)
    }

    fn bar(&mut self, at: usize, i: &Inst) -> Result<bool, Error> {
        if i.has("warp") {
            self.push(at, 0, Effect::WarpSync)?;
            return Ok(true);
        }
        if i.has("cluster") {
            let e = if i.has("arrive") { Effect::ClusterArrive(i.has("relaxed")) } else { Effect::ClusterWait };
            self.push(at, 0, e)?;
            return Ok(true);
        }
        let red = i.has("red");
        let first = red as usize;
        let id = match i.args.get(first) {
            Some(a) => self.number(i, a, "number")?,
            None => 0,
        };
        if !(0..16).contains(&id) {
            return Err(self.s.error(i, format!("barrier {id} does not exist"), "a number from 0 to 15"));
        }
        let threads = match i.args.get(first + 1) {
            Some(a) if !red || i.args.len() > 3 => self.number(i, a, "threads")?,
            _ => self.s.block.iter().map(|n| *n as i64).product(),
        };
        self.passes(id, threads, !i.has("arrive"));
        // Registers that no code uses behind the last barrier have been loaded there, too.
        if self.frames.is_empty() && self.unsure == 0 && self.loading.all_arrived() {
            self.s.assume(i.line, "a load of tensor memory has ended at a barrier outside of loops, as this text has no `tcgen05.wait::ld`");
            self.push(at, 9, Effect::TensorWait(true))?;
        }
        self.push(at, 0, Effect::Bar(id, threads, !i.has("arrive")))?;
        Ok(!red)
    }

    fn fence(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        if i.has("proxy") && i.mods.iter().any(|m| m == "async" || m.starts_with("async::")) {
            let global = i.has("global");
            let shared = i.mods.iter().any(|m| m.starts_with("shared"));
            if shared || !global {
                self.push(at, 0, Effect::Fence(Fence::Async))?;
            }
            if global || !shared {
                self.push(at, 1, Effect::Fence(Fence::AsyncGlobal))?;
            }
            return Ok(());
        }
        if i.has("mbarrier_init") {
            return self.push(at, 0, Effect::Fence(Fence::Init));
        }
        // Other scopes order nothing more here, and descriptors are not tracked. They take more time.
        let wide = ["gpu", "sys", "gl"].iter().any(|m| i.has(m)) && self.timing().is_some();
        self.push(at, 0, Effect::Fence(if wide { Fence::Gpu } else { Fence::Cta }))
    }

    fn mbarrier(&mut self, at: usize, i: &Inst) -> Result<bool, Error> {
        let mem = i.args.iter().position(|a| matches!(a, Arg::Mem { .. })).unwrap_or(0);
        let Some(address) = i.args.get(mem).cloned() else { return Err(self.unknown(i)) };
        if i.has("pending_count") {
            return Ok(false);
        }
        let Some(kind) = i.mods.first().cloned() else { return Err(self.unknown(i)) };
        match kind.as_str() {
            "init" => {
                self.each_lane(&address, &mut |w, n| {
                    let (bar, count) = (w.same(i, &address, "address")?, w.same(i, i.arg(1), "count")?);
                    let count = w.chosen_count(at, count)?;
                    w.push(at, n, Effect::Init(bar, count))
                })?;
            }
            "inval" => {
                self.each_lane(&address, &mut |w, n| {
                    let bar = w.same(i, &address, "address")?;
                    let (bar, far) = w.s.remote(bar);
                    if far.is_some() {
                        w.s.assume(i.line, "`mbarrier.inval` of another CTA's barrier does nothing");
                        return Ok(());
                    }
                    w.push(at, n, Effect::Inval(bar))
                })?;
            }
            "expect_tx" => {
                let bar = self.same(i, &address, "address")?;
                let (bar, cta) = self.s.remote(bar);
                self.expect_each(at, i, 0, (bar, i.arg(mem + 1), cta))?;
            }
            "arrive" | "arrive_drop" => self.arrive(at, i, mem)?,
            "try_wait" | "test_wait" => {
                self.ordered(i)?;
                // Outside of a loop that repeats it, the poll may fail: the code after it must wait.
                let p = self.s.arena.opaque(format!("whether the barrier polled at line {} was complete", i.line));
                self.peeked_terms.push(p);
                self.polls(i, p)?;
                let to = if let Arg::Pair(a, _) = i.arg(0) { (**a).clone() } else { i.arg(0).clone() };
                self.set_arg(&to, Val::Uni(p));
            }
            _ => return Err(self.unknown(i)),
        }
        Ok(true)
    }

    /// Calls `f` for the lanes of each value that an operand has.
    fn each_lane(&mut self, a: &Arg, f: &mut dyn FnMut(&mut Self, u8) -> Result<(), Error>) -> Result<(), Error> {
        let v = self.operand(a)?;
        let lanes = self.lanes;
        for (n, (_, mask)) in by_value(&v, lanes).into_iter().enumerate() {
            self.lanes = mask;
            f(self, n as u8)?;
        }
        self.lanes = lanes;
        Ok(())
    }

    /// An error for a wait that orders nothing: every wait of the program acquires.
    fn ordered(&self, i: &Inst) -> Result<(), Error> {
        match i.has("relaxed") {
            true => Err(self.s.error(i, "relaxed waits are not supported yet", "a wait that acquires")),
            false => Ok(()),
        }
    }

    /// The wait that a polling loop implements.
    pub(crate) fn wait(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        self.ordered(i)?;
        self.waits(i)?;
        if waits_for_state(i) {
            let bar = self.same(i, i.arg(1), "address")?;
            let state = self.awaited(i)?;
            return self.push(at, 0, Effect::WaitState(bar, state));
        }
        let (bar, parity) = (self.same(i, i.arg(1), "address")?, self.same(i, i.arg(2), "parity")?);
        let two = self.s.arena.int(2);
        let parity = self.s.arena.rem(parity, two);
        self.push(at, 0, Effect::Wait(bar, parity))
    }

    pub(crate) fn group(&mut self, at: usize, i: &Inst, s: Stream, n: usize) -> Result<(), Error> {
        let n = match i.args.get(n) {
            Some(a) => self.number(i, a, "groups")?,
            None => 0,
        };
        self.push(at, 0, Effect::WaitGroup(s, n))
    }
}

/// The values of an operand in some lanes, in the order of their first lanes, each with a mask of its lanes.
pub(crate) fn by_value(v: &Val, lanes: u32) -> Vec<(Term, u32)> {
    let mut groups: Vec<(Term, u32)> = Vec::new();
    for l in (0..32).filter(|l| lanes >> l & 1 == 1) {
        match groups.iter_mut().find(|(t, _)| *t == v.at(l)) {
            Some((_, mask)) => *mask |= 1 << l,
            None => groups.push((v.at(l), 1 << l)),
        }
    }
    groups
}
