//! Counters in global memory, and cooperative launches, whose CTAs all run at the same time.

use warpline_sim::ir::{
    BarrierCta, Binary, CounterAct, CounterDecl, CounterRef, Env, Executors, Expr, Grid, Instr, MmaKind, Op, Place,
};

use super::{Lower, Meaning};
use crate::ast::{self, CounterVerb, DeclKind, Ident, Kernel};

/// Largest number of counters in an array.
const WORDS: i64 = 1 << 12;

/// Largest number of warps in a cooperative launch, because all of them are simulated together.
const WARPS: i64 = 64;

impl Lower<'_> {
    /// `global flags: counter[n]`.
    pub(super) fn declare_counter(&mut self, name: &Ident, len: Option<&ast::Expr>) {
        let what = format!("the length of `{}`", name.text);
        let len = len.map_or(1, |e| self.bounded(e, &what, 1, WORDS).unwrap_or(WORDS));
        let id = self.program.counters.len() as u16;
        self.program.counters.push(CounterDecl { name: name.text.clone(), len: len as u32 });
        self.define(&name.text, &name.span, Meaning::Counter(id));
    }

    /// An operation on a counter.
    pub(super) fn counter(&mut self, c: &ast::Counter) -> Option<Op> {
        let at = self.counter_at(&c.name, c.index.as_ref());
        let (act, value) = match &c.verb {
            CounterVerb::Add(v) => (Some(CounterAct::Add), self.expr(v)),
            CounterVerb::Set(v) => (Some(CounterAct::Set), self.expr(v)),
            CounterVerb::Wait(compare, v) => (Some(CounterAct::Wait(*compare)), self.expr(v)),
            CounterVerb::Fetch(v, var) => {
                let value = self.expr(v);
                (self.result(var).map(CounterAct::Fetch), value)
            }
            CounterVerb::Load(var) => (self.result(var).map(CounterAct::Load), Some(Expr::Const(0))),
        };
        Some(Op::Counter { act: act?, at: at?, value: value?, order: c.order, scope: c.scope })
    }

    /// The variable that receives a value from memory.
    fn result(&mut self, var: &Ident) -> Option<u16> {
        match self.find_local(&var.text) {
            Some(l) => Some(l.var),
            None => self.local(var, self.ctx.guard, true),
        }
    }

    fn counter_at(&mut self, name: &Ident, index: Option<&ast::Expr>) -> Option<CounterRef> {
        let fits = |m: &Meaning| matches!(m, Meaning::Counter(_));
        let meaning = self.lookup(&name.text, &name.span, "a counter", fits);
        let value = index.map_or(Some(Expr::Const(0)), |e| self.expr(e));
        let Meaning::Counter(counter) = meaning? else { return None };
        let len = self.program.counters[counter as usize].len;
        if index.is_none() && len > 1 {
            let message = format!("`{}` is an array of {len}, and none is named", name.text);
            let d =
                self.diag(&name.span, message, "an index was expected").help(format!("write `{}[cta.m]`", name.text));
            self.error(d);
            return None;
        }
        let value = value?;
        if let (Some(v), Some(e)) = (value.constant(), index)
            && !(0..len as i64).contains(&v)
        {
            let message = format!("counter {v} of `{}`, which has {len}", name.text);
            let d = self.diag(&e.span, message, format!("0 to {} were expected", len - 1));
            self.value_error(d);
        }
        Some(CounterRef { counter, index: value })
    }

    /// Makes the whole grid of a cooperative launch one unit. `grid` and `cluster` may precede or follow `cooperative`.
    pub(super) fn launch_together(&mut self, kernel: &Kernel) {
        let Some(d) = kernel.decls.iter().find(|d| matches!(d.kind, DeclKind::Cooperative)) else { return };
        let grid = self.program.grid;
        let ctas = grid.len();
        let refuse = |l: &mut Self, message: String, label: &str, help: &str| {
            let d = l.diag(&d.span, message, label).help(help);
            l.value_error(d);
        };
        if self.program.cluster > 1 {
            refuse(
                self,
                "a cooperative launch of clusters is not simulated".into(),
                "all CTAs run together here",
                "leave `cluster` out, or leave `cooperative` out: CTAs of one cluster see each other's counters anyway",
            );
            return;
        }
        if grid.group != 0 {
            let message = "`group` has no meaning where all CTAs run at the same time".to_string();
            refuse(self, message, "all CTAs run together here", "leave `group` out");
        }
        let warps = ctas.saturating_mul(self.program.warps as i64);
        if ctas < 1 || warps > WARPS {
            let message = format!(
                "a cooperative launch of {ctas} CTAs has {warps} warps, and 1 to {WARPS} are followed together"
            );
            refuse(self, message, "all CTAs run together here", "make the grid smaller, for example with a parameter");
            return;
        }
        // The grid shapes the program, because each of its CTAs is simulated.
        for d in &kernel.decls {
            if let DeclKind::Grid(dims, _) = &d.kind {
                for e in dims {
                    self.bounded(e, "a dimension of the grid", 0, 1 << 20);
                }
            }
        }
        self.program.forms.grid = None;
        self.program.cooperative = true;
        self.program.cluster = ctas as u32;
        self.program.grid = Grid { m: 1, n: 1, z: 1, group: 0 };
        self.launch = Some(grid);
    }

    /// A coordinate of a CTA of a cooperative launch, from its launch index.
    pub(super) fn coordinate(&self, env: Env) -> Expr {
        let Some(grid) = self.launch else { return Expr::Env(env) };
        let id = || Expr::Env(Env::CtaId);
        let cut = |by: i64, of: i64, last: bool| {
            let e = if by == 1 { id() } else { Expr::binary(Binary::Div, id(), Expr::Const(by)) };
            match (of, last) {
                (1, _) => Expr::Const(0),
                (_, true) => e,
                _ => Expr::binary(Binary::Rem, e, Expr::Const(of)),
            }
        };
        match env {
            Env::CtaM | Env::ClusterM => cut(1, grid.m, grid.n == 1 && grid.z == 1),
            Env::CtaN | Env::ClusterN => cut(grid.m, grid.n, grid.z == 1),
            Env::CtaZ => cut(grid.m * grid.n, grid.z, true),
            Env::CtaId | Env::ClusterId => id(),
            _ => Expr::Env(env),
        }
    }

    /// Checks that no operand names another CTA's shared memory or barriers: CTAs of a cooperative launch form no
    /// cluster.
    pub(super) fn check_together(&mut self, kernel: &Kernel) {
        if !self.program.cooperative {
            return;
        }
        let far = |p: &Place| p.cta.is_some();
        let by_cluster = |i: &Instr| match i {
            Instr::Only(Executors::Cta(_), _) => true,
            Instr::Op { op, .. } => match op {
                Op::Move { src, dst, signals, multicast, .. } => {
                    let remote = signals.as_ref().is_some_and(|b| b.at != BarrierCta::Own);
                    far(src) || far(dst) || multicast.is_some() || remote
                }
                Op::Mma { kind, a, b, acc } => *kind == MmaKind::UmmaPair || [a, b, acc].into_iter().any(far),
                Op::CommitUmma(bars) => bars.iter().any(|b| b.at != BarrierCta::Own),
                Op::Arrive { bar, .. } | Op::Expect { bar, .. } => bar.at != BarrierCta::Own,
                Op::TmemAlloc { pair, .. } | Op::TmemDealloc { pair, .. } => *pair,
                Op::Put { dst: p, .. } | Op::Get { src: p, .. } => far(p),
                Op::ClusterArrive { .. } | Op::ClusterWait | Op::NextTile { .. } => true,
                _ => false,
            },
            _ => false,
        };
        let Some(pc) = self.program.code.iter().position(by_cluster) else { return };
        let site = self.program.site(pc as u32).clone();
        let Some(d) = kernel.decls.iter().find(|d| matches!(d.kind, DeclKind::Cooperative)) else { return };
        let message = format!(
            "line {}: `{}` is for a cluster, and CTAs of a cooperative launch are in none",
            site.line, site.text
        );
        let d = self
            .diag(&d.span, message, "all CTAs run together here")
            .help("CTAs of different clusters meet through counters in global memory");
        self.error(d);
    }
}
