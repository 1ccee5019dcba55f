//! Operations other than moves.

use warpline_sim::ir::{
    ArrivalsPer, BarRef, Binary, Class, Cost, Dtype, Expr, Instr, MmaKind, Op, Phase, Place, Stages,
};

use super::place::Want;
use super::shape::Agree;
use super::{Lower, Meaning};
use crate::ast::{self, AwaitedPhase, BarAt, Ident, Operation, Span, Type};

/// The memories that operands of a matrix instruction may live in: left, right, accumulator.
fn mma_ends(kind: MmaKind) -> [&'static [Class]; 3] {
    match kind {
        MmaKind::Warp => [&[Class::Shared, Class::Reg], &[Class::Shared, Class::Reg], &[Class::Reg]],
        MmaKind::Wgmma => [&[Class::Shared, Class::Reg], &[Class::Shared], &[Class::Reg]],
        MmaKind::Umma | MmaKind::UmmaPair => [&[Class::Shared, Class::Tmem], &[Class::Shared], &[Class::Tmem]],
    }
}

impl Lower<'_> {
    pub(super) fn operation(&mut self, op: &Operation, cost: Cost, span: &Span) {
        if let Operation::Move(m) = op {
            self.move_op(m, cost, span);
            return;
        }
        if let Operation::ClusterSync = op {
            // A stated cost is the time from the last arrival to the release, as for a barrier; the arrival itself
            // costs nothing.
            let arrive = Cost { takes: cost.takes.map(|_| 0.0), ..Cost::default() };
            self.emit(Instr::Op { op: Op::ClusterArrive { relaxed: false }, cost: arrive });
            self.emit(Instr::Op { op: Op::ClusterWait, cost });
            return;
        }
        if let Operation::Exit = op {
            self.emit(Instr::End);
            return;
        }
        if let Some(op) = self.lower_op(op, span) {
            self.emit(Instr::Op { op, cost });
        }
    }

    fn lower_op(&mut self, op: &Operation, span: &Span) -> Option<Op> {
        Some(match op {
            Operation::Move(_) | Operation::ClusterSync | Operation::Exit => return None,
            Operation::Mma { kind, a, b, acc } => return self.mma(*kind, a, b, acc),
            Operation::Alu { unit, count, times, uses, dst } => {
                return self.alu(unit, count, times.as_ref(), uses, dst.as_ref(), span);
            }
            Operation::Zero(place, ty) => return self.zero(place, ty.as_ref()),
            Operation::Commit(q) => Op::Commit(*q),
            Operation::CommitUmma(bars) => {
                let bars: Vec<Option<BarRef>> = bars.iter().map(|b| self.arrival(b)).collect();
                Op::CommitUmma(bars.into_iter().collect::<Option<_>>()?)
            }
            Operation::Wait(q, n) => {
                let e = self.expr(n)?;
                if e.constant().is_some_and(|v| v < 0) {
                    let d = self.diag(&n.span, "a negative number may never be reached", "0 or more was expected");
                    self.value_error(d);
                }
                Op::Wait(*q, e)
            }
            Operation::MbarWait { bar, phase } => {
                if bar.at != BarAt::Own {
                    let d = self
                        .diag(&bar.span, "a wait polls the own CTA's barrier", "no `@` was expected here")
                        .help("let the others arrive here: `arrive bar @cta e`");
                    self.error(d);
                }
                let at = self.bar(bar);
                let phase = match phase {
                    AwaitedPhase::Number(e) => self.expr(e).map(Phase::Absolute),
                    AwaitedPhase::Parity(e) => self.expr(e).map(Phase::Parity),
                    AwaitedPhase::State(s) => Some(Phase::State(*s)),
                };
                let bar_ref = at?;
                if !self.ctx.dead {
                    self.waited.push((bar_ref.bar, bar.span.clone()));
                }
                Op::MbarWait { bar: bar_ref, phase: phase? }
            }
            Operation::CpArrive { bar, noinc } => Op::CpArrive { bar: self.arrival(bar)?, noinc: *noinc },
            Operation::Init(list) => Op::Init(self.all_stages(list)?),
            Operation::Inval(list) => Op::Inval(self.all_stages(list)?),
            Operation::Arrive(a) => {
                let bar = self.arrival(&a.bar);
                let count = match &a.count {
                    Some(e) => self.expr(e),
                    None => Some(Expr::Const(1)),
                };
                let expect = a.expect.as_ref().map(|e| self.expr(e));
                if a.state.is_some() && a.bar.at != BarAt::Own {
                    let message = "an arrival on another CTA's barrier returns no state";
                    let d = self.diag(&a.bar.span, message, "no `@` was expected here");
                    self.error(d);
                }
                Op::Arrive {
                    bar: bar?,
                    per: a.per.unwrap_or(ArrivalsPer::Thread),
                    count: count?,
                    expect: match expect {
                        Some(e) => Some(e?),
                        None => None,
                    },
                    relaxed: a.relaxed,
                    cluster: a.cluster,
                    drop: a.drop,
                    state: a.state,
                }
            }
            Operation::Expect(bar, bytes) => {
                let (bar, bytes) = (self.arrival(bar), self.expr(bytes));
                Op::Expect { bar: bar?, bytes: bytes? }
            }
            Operation::Barrier(order) => Op::Barrier(*order),
            Operation::Named { sync, name, index, threads } => {
                return self.named(*sync, name, index.as_ref(), threads);
            }
            Operation::WarpSync => Op::WarpSync,
            Operation::ClusterArrive { relaxed } => Op::ClusterArrive { relaxed: *relaxed },
            Operation::ClusterWait => Op::ClusterWait,
            Operation::Fence(f) => Op::Fence(*f),
            Operation::TmemAlloc { name, pair } => Op::TmemAlloc { obj: self.tmem(name)?, pair: *pair },
            Operation::TmemDealloc { name, pair } => Op::TmemDealloc { obj: self.tmem(name)?, pair: *pair },
            Operation::Regs { inc, count } => {
                return self.registers(count, *inc, span);
            }
            Operation::Put { value, dst, version } => {
                let value = self.expr(value);
                let dst = self.mailbox(dst, version.as_ref(), true);
                Op::Put { dst: dst?, value: value? }
            }
            Operation::Get { src, version, var } => {
                let src = self.mailbox(src, version.as_ref(), false);
                // `get` may assign a variable that a `let` introduced: `let w = first ... get box -> w`.
                let var = match self.find_local(&var.text) {
                    Some(l) => Some(l.var),
                    None => self.local(var, self.ctx.guard, true),
                };
                Op::Get { src: src?, var: var? }
            }
            Operation::Clc { dst, signals } => {
                let dst = self.mailbox(dst, None, true);
                let signals = self.arrival(signals);
                Op::NextTile { dst: dst?, signals: signals? }
            }
            Operation::Counter(c) => return self.counter(c),
            Operation::GridWait => Op::GridWait,
        })
    }

    /// A barrier that receives an arrival or bytes.
    fn arrival(&mut self, bar: &ast::Bar) -> Option<BarRef> {
        let b = self.bar(bar);
        if let Some((Meaning::Mbar(id), _)) = self.names.get(&bar.name.text) {
            self.arrived.insert(*id);
        }
        b
    }

    fn all_stages(&mut self, list: &[ast::Stages]) -> Option<Vec<Stages>> {
        let all: Vec<Option<Stages>> = list.iter().map(|s| self.stages(s)).collect();
        all.into_iter().collect()
    }

    fn tmem(&mut self, name: &Ident) -> Option<u16> {
        let fits = |m: &Meaning| matches!(m, Meaning::Object(_));
        match self.lookup(&name.text, &name.span, "a tmem buffer", fits)? {
            Meaning::Object(id) if self.program.objects[id as usize].class == Class::Tmem => Some(id),
            _ => {
                let message = format!("`{}` is not in tensor memory", name.text);
                let d = self.diag(&name.span, message, "a buffer declared `tmem` was expected");
                self.error(d);
                None
            }
        }
    }

    /// `setmaxnreg`, which encodes its count and changes the count of the launch.
    fn registers(&mut self, count: &ast::Expr, inc: bool, span: &Span) -> Option<Op> {
        let n = self.bounded(count, "the number of registers a thread", 24, 256)?;
        if n % 8 != 0 {
            let message = format!("the number of registers a thread is {n}");
            let d = self.diag(&count.span, message, "a multiple of 8 was expected");
            self.value_error(d);
        }
        if self.program.regs.is_none() {
            let d = self
                .diag(span, "it is not said how many registers a thread has at first", "they change here")
                .help("declare them: `regs 168`");
            self.value_error(d);
        }
        Some(Op::Regs { count: n as u32, inc })
    }

    fn named(&mut self, sync: bool, name: &Ident, index: Option<&ast::Expr>, threads: &ast::Expr) -> Option<Op> {
        let meaning = self.lookup(&name.text, &name.span, "a named barrier", |m| matches!(m, Meaning::Named(_)));
        let index_value = match index {
            Some(e) => self.expr(e),
            None => Some(Expr::Const(0)),
        };
        let threads = self.expr(threads);
        let Meaning::Named(bar) = meaning? else { return None };
        let len = self.program.named[bar as usize].len;
        if index.is_none() && len > 1 {
            let d = self
                .diag(
                    &name.span,
                    format!("`{}` is an array of {len}, and none is named", name.text),
                    "an index was expected",
                )
                .help(format!("write `{}[self]`", name.text));
            self.error(d);
            return None;
        }
        let i = index_value?;
        if let (Some(v), Some(e)) = (i.constant(), index)
            && !(0..len as i64).contains(&v)
        {
            let message = format!("barrier {v} of `{}`, which has {len}", name.text);
            let d = self.diag(&e.span, message, format!("0 to {} were expected", len - 1));
            self.value_error(d);
        }
        Some(Op::Named { bar, index: i, threads: threads?, sync })
    }

    fn mma(&mut self, kind: MmaKind, a: &ast::Place, b: &ast::Place, acc: &ast::Place) -> Option<Op> {
        let [left, right, out] = mma_ends(kind);
        let want = |classes, write| Want { classes, write, partner: None };
        let (a, b) = (self.place(a, want(left, false)), self.place(b, want(right, false)));
        let acc = self.place(acc, want(out, true));
        let (a, b, acc) = (a?, b?, acc?);
        let facts = &mut self.facts[acc.place.obj as usize];
        facts.dtype = facts.dtype.or(Some(Dtype::F32));
        self.agree(Agree::Mma { a: a.extent, b: b.extent, acc: acc.extent, pair: kind == MmaKind::UmmaPair });
        Some(Op::Mma { kind, a: a.place, b: b.place, acc: acc.place })
    }

    /// `zero acc: f32[64, n]` declares the accumulator if no declaration does.
    fn zero(&mut self, place: &ast::Place, ty: Option<&Type>) -> Option<Op> {
        let want = Want { classes: &[Class::Reg, Class::Tmem], write: true, partner: None };
        let spot = self.place(place, want)?;
        let Some(ty) = ty else { return Some(Op::Zero(spot.place)) };
        let shape = self.shape_of(ty, &place.name.text)?;
        let dtype = self.dtype_of(ty);
        let facts = &mut self.facts[spot.place.obj as usize];
        facts.dtype = facts.dtype.or(Some(dtype));
        match facts.shape {
            None => {
                facts.shape = Some(shape);
                facts.origin = Some(ty.span.clone());
            }
            Some(have) if have != shape => {
                let (span, at) = (ty.span.clone(), facts.origin.clone().unwrap_or(facts.span.clone()));
                let message = format!(
                    "`{}` is {} x {} here and {} x {} before",
                    place.name.text, shape[0], shape[1], have[0], have[1]
                );
                let d = self.diag(&span, message, "the same shape was expected").also(at, "its shape is from here");
                self.value_error(d);
            }
            Some(_) => {}
        }
        Some(Op::Zero(spot.place))
    }

    fn alu(
        &mut self,
        unit: &Ident,
        count: &ast::Expr,
        times: Option<&ast::Expr>,
        uses: &[ast::Place],
        dst: Option<&ast::Place>,
        span: &Span,
    ) -> Option<Op> {
        let mut total = self.expr(count);
        if let Some(t) = times {
            let t = self.expr(t);
            total = self.binary(Binary::Mul, total?, t?, span);
        }
        let want = |write| Want { classes: &[Class::Reg], write, partner: None };
        let reads: Vec<Option<Place>> = uses.iter().map(|p| self.place(p, want(false)).map(|s| s.place)).collect();
        let writes: Vec<Option<Place>> = dst.iter().map(|p| self.place(p, want(true)).map(|s| s.place)).collect();
        // The count is divided among the warps that work on it: the warps of a member, or all executing warps.
        let warps = match self.ctx.members {
            _ if self.ctx.elect => 1,
            Some(m) => {
                let one = if m.size >= 64 { u64::MAX } else { (1u64 << m.size) - 1 };
                let members = (0..m.count).map(|i| (self.ctx.mask & (one << (m.first + i * m.size))).count_ones());
                members.max().unwrap_or(1)
            }
            None => self.ctx.mask.count_ones(),
        };
        let count = self.binary(Binary::CeilDiv, total?, Expr::Const(warps.max(1) as i64), span)?;
        Some(Op::Alu {
            unit: unit.text.clone(),
            count,
            reads: reads.into_iter().collect::<Option<_>>()?,
            writes: writes.into_iter().collect::<Option<_>>()?,
            mix: None,
        })
    }
}
