//! Blocks, loops, conditions and variables.
//!
//! ```text
//! for i in a..b step s:          while c:               if c: x else: y
//!         Set  i, a              head: Unless c, end          Unless c, other
//!         Set  .end_i, b               ...                    x
//!   head: Unless i < .end_i, end       Jump head              Jump end
//!         ...                    end:                  other: y
//!         Set  i, i + s                                  end:
//!         Jump head
//!   end:
//! ```

use std::collections::BTreeMap;

use warpline_sim::ir::{Binary, Executors, Expr, Instr, Loop, Op, Pc, VarId};

use super::names::ROLE;
use super::{Context, Local, Lower, Meaning, Members, Mentions};
use crate::ast::{Arm, Head, Ident, Range1, Span, Stmt, StmtKind};

impl Lower<'_> {
    /// Lowers statements in a new scope.
    pub(super) fn statements(&mut self, body: &[Stmt]) {
        self.scopes.push(BTreeMap::new());
        for s in body {
            self.site = self.new_site(&s.span);
            self.statement(s);
        }
        self.scopes.pop();
    }

    /// Calls `f` in another context.
    fn within(&mut self, ctx: Context, f: impl FnOnce(&mut Self)) {
        let was = std::mem::replace(&mut self.ctx, ctx);
        f(self);
        self.ctx = was;
    }

    fn statement(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Block(head, body) => self.block(head, body, &s.span),
            StmtKind::For(ranges, body) => self.for_loop(ranges, body),
            StmtKind::While(cond, body) => {
                let mentions = self.mentions(cond);
                let cond = self.expr(cond);
                let head = self.pc();
                let slot = self.program.loops.len();
                let dead = self.ctx.dead || cond == Some(Expr::Const(0));
                let ctx = Context { dead, ..self.guarded(mentions) };
                if !dead {
                    self.program.loops.push(Loop { var: None, head, end: head, bound: None, passed: None });
                }
                let mut tested = Vec::new();
                if let Some(e) = &cond {
                    e.visit(&mut |x| tested.extend(if let Expr::Var(v) = x { Some(*v) } else { None }));
                }
                let site = self.site;
                let jump = self.emit_branch(|to| Instr::Unless(cond.unwrap_or(Expr::Const(1)), to));
                self.within(ctx, |l| l.statements(body));
                self.site = site;
                self.emit(Instr::Jump(head));
                self.land(jump);
                if !dead {
                    let body = &self.program.code[head as usize..];
                    let mut words = body.iter().filter_map(|i| match i {
                        Instr::Op { op: Op::Get { var, .. }, .. } => Some(*var),
                        _ => None,
                    });
                    let passed = words.rfind(|v| tested.contains(v));
                    let end = self.pc();
                    let l = &mut self.program.loops[slot];
                    (l.end, l.passed) = (end, passed);
                }
            }
            StmtKind::If(arms, otherwise) => {
                let mut ends = Vec::new();
                self.branches(arms, otherwise.as_deref(), &mut ends);
                for e in ends {
                    self.land(e);
                }
            }
            StmtKind::Let(all) => {
                for (name, e) in all {
                    self.bind(name, e, false);
                }
            }
            StmtKind::Var(name, e) => self.bind(name, e, true),
            StmtKind::Assign(name, op, e) => {
                let mentions = self.mentions(e).or(self.ctx.guard);
                let value = self.expr(e);
                let Some(local) = self.find_local(&name.text).cloned() else {
                    self.assign_unknown(name);
                    return;
                };
                if !local.mutable {
                    let d = self
                        .diag(&name.span, format!("`{}` cannot be assigned", name.text), "a `var` was expected")
                        .help(format!("declare it `var {} = ...`", name.text))
                        .also(local.span, "declared here, for good");
                    self.error(d);
                    return;
                }
                self.taint(&name.text, mentions);
                let Some(value) = value else { return };
                let value = match op {
                    Some(op) => self.binary(*op, Expr::Var(local.var), value, &s.span),
                    None => Some(value),
                };
                if let Some(v) = value {
                    self.emit(Instr::Set(local.var, v));
                }
            }
            StmtKind::Op(op, cost) => self.operation(op, *cost, &s.span),
            StmtKind::Pipelined(p) => self.pipelined(p),
            StmtKind::Staged(p) => self.staged(p),
        }
    }

    fn assign_unknown(&mut self, name: &Ident) {
        if let Some((m, at)) = self.names.get(&name.text).cloned() {
            let d = self
                .diag(
                    &name.span,
                    format!("`{}` is {} and cannot be assigned", name.text, m.noun()),
                    "a `var` was expected",
                )
                .also(at, "declared here");
            self.error(d);
        } else if !self.skipped.contains(&name.text) {
            let d = self
                .diag(&name.span, format!("unknown variable `{}`", name.text), "a `var` was expected here")
                .help(format!("declare it first: `var {} = 0`", name.text));
            self.error(d);
        }
    }

    /// Records that a later assignment may make a variable depend on the agent's coordinates.
    fn taint(&mut self, name: &str, mentions: Mentions) {
        if let Some(l) = self.scopes.iter_mut().rev().find_map(|s| s.get_mut(name)) {
            l.mentions = l.mentions.or(mentions);
        }
    }

    fn bind(&mut self, name: &Ident, e: &crate::ast::Expr, mutable: bool) {
        let mentions = self.mentions(e);
        let value = self.expr(e);
        let var = self.local(name, mentions, mutable);
        if let (Some(var), Some(value)) = (var, value) {
            self.emit(Instr::Set(var, value));
        }
    }

    /// Declares a variable in the innermost scope. Disjoint scopes share one variable of the same name, because each
    /// agent has its own frame.
    pub(super) fn local(&mut self, name: &Ident, mentions: Mentions, mutable: bool) -> Option<VarId> {
        let old = self.find_local(&name.text).map(|l| l.span.clone());
        let header = self.names.get(&name.text).map(|(_, s)| s.clone());
        if crate::words::BUILT_IN.contains(&name.text.as_str()) {
            let d = self.diag(&name.span, format!("`{}` is a built-in name", name.text), "another name was expected");
            self.error(d);
            return None;
        }
        if let Some(at) = old.or(header) {
            let d = self
                .diag(&name.span, format!("`{}` is declared twice", name.text), "another name was expected")
                .help(format!("to change a variable write `{} = ...` or `{} += ...`", name.text, name.text))
                .also(at, "it has a meaning since here");
            self.error(d);
            return None;
        }
        let var = self.variable(&name.text)?;
        let local = Local { var, span: name.span.clone(), mentions, mutable };
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.text.clone(), local);
        }
        Some(var)
    }

    /// The variable of the frame with this name.
    fn variable(&mut self, name: &str) -> Option<VarId> {
        if let Some(v) = self.program.vars.iter().position(|v| v == name) {
            return Some(v as VarId);
        }
        let id = VarId::try_from(self.program.vars.len()).ok()?;
        self.program.vars.push(name.into());
        Some(id)
    }

    /// The variable that holds the bound of the loop over `name`.
    fn hidden(&mut self, name: &str) -> Option<VarId> {
        self.variable(&format!(".end_{name}"))
    }

    /// Emits a branch whose target is set by [`Lower::land`].
    pub(super) fn emit_branch(&mut self, make: impl FnOnce(Pc) -> Instr) -> Option<Pc> {
        if self.ctx.dead {
            return None;
        }
        let at = self.pc();
        self.emit(make(Pc::MAX));
        Some(at)
    }

    /// Sets the target of a branch to the next instruction.
    pub(super) fn land(&mut self, branch: Option<Pc>) {
        let here = self.pc();
        if let Some(to) = branch.and_then(|b| self.program.code.get_mut(b as usize)?.target_mut()) {
            *to = here;
        }
    }

    /// The context of a block with unknown executors.
    fn unknown_head(&self) -> Context {
        Context { dead: true, members: Some(Members { first: 0, size: 1, count: 64 }), ..self.ctx }
    }

    fn block(&mut self, head: &Head, body: &[Stmt], span: &Span) {
        let (who, ctx) = match head {
            Head::All => (None, self.ctx),
            Head::Broken => (None, self.unknown_head()),
            Head::Elect => (Some(Executors::Elected), Context { elect: true, ..self.ctx }),
            Head::Warps(set) => match self.warps_of(set) {
                Some(mask) => (Some(Executors::Warps(mask)), self.narrowed(mask)),
                None => (None, self.unknown_head()),
            },
            Head::Name(name) => {
                let fits = |m: &Meaning| matches!(m, Meaning::Role(..) | Meaning::Cta(_));
                match self.lookup(&name.text, &name.span, ROLE, fits) {
                    Some(Meaning::Role(id, members)) => {
                        let role = &self.program.roles[id];
                        // The declaration of a role without warps reports the error.
                        let (mask, count) = (if role.warps == 0 { u64::MAX } else { role.warps }, role.members);
                        let mut ctx = self.narrowed(mask);
                        if members {
                            let first = mask.trailing_zeros();
                            ctx.members = Some(Members { first, size: mask.count_ones() / count, count });
                        }
                        (Some(Executors::Warps(mask)), ctx)
                    }
                    Some(Meaning::Cta(rank)) => (Some(Executors::Cta(rank)), self.ctx),
                    _ => (None, self.unknown_head()),
                }
            }
        };
        if ctx.mask == 0 && self.ctx.mask != 0 {
            let d = self
                .diag(span, "nobody executes this block", "none of these warps is among those of the blocks around it")
                .help("nested blocks are executed by the warps they have in common");
            self.value_error(d);
        }
        // A block that excludes no agent needs no test.
        let needless = match &who {
            Some(Executors::Warps(mask)) => self.ctx.mask & !mask == 0,
            Some(Executors::Elected) => self.ctx.elect,
            Some(Executors::Cta(_)) => false,
            None => true,
        };
        let branch = match who {
            Some(who) if !needless => self.emit_branch(|to| Instr::Only(who, to)),
            _ => None,
        };
        self.within(ctx, |l| l.statements(body));
        self.land(branch);
    }

    pub(super) fn for_loop(&mut self, ranges: &[Range1], body: &[Stmt]) {
        let Some((r, rest)) = ranges.split_first() else {
            self.statements(body);
            return;
        };
        let mut mentions = self.mentions(&r.from).or(self.mentions(&r.to));
        let (from, to) = (self.expr(&r.from), self.expr(&r.to));
        let step = match &r.step {
            Some(e) => {
                mentions = mentions.or(self.mentions(e));
                self.launch_bounded(e, "the step of a loop", 1, 1 << 31).map_or(Expr::Const(1), |(_, form)| form)
            }
            None => Expr::Const(1),
        };
        let empty = matches!((&from, &to), (Some(Expr::Const(a)), Some(Expr::Const(b))) if a >= b);
        let dead = self.ctx.dead || empty;
        let (site, ctx) = (self.site, Context { dead, ..self.guarded(mentions) });
        self.scopes.push(BTreeMap::new());
        let var = self.local(&r.var, mentions, false);
        let (from, to) = (from.unwrap_or(Expr::Const(0)), to.unwrap_or(Expr::Const(1)));
        self.within(ctx, |l| {
            let var = var.unwrap_or(0);
            l.emit(Instr::Set(var, from));
            let end = match to {
                _ if to.is_launch_constant() => to.clone(),
                // The bound is evaluated once, whatever the body assigns to its variables.
                _ => match l.hidden(&r.var.text) {
                    Some(end) => {
                        l.emit(Instr::Set(end, to.clone()));
                        Expr::Var(end)
                    }
                    None => to.clone(),
                },
            };
            let head = l.pc();
            let slot = l.program.loops.len();
            if !dead {
                l.program.loops.push(Loop { var: Some(var), head, end: Pc::MAX, bound: Some(to), passed: None });
            }
            let test = Expr::binary(Binary::Lt, Expr::Var(var), end);
            let branch = l.emit_branch(|to| Instr::Unless(test, to));
            if rest.is_empty() {
                l.statements(body);
            } else {
                l.for_loop(rest, body);
            }
            l.site = site;
            let next = Expr::binary(Binary::Add, Expr::Var(var), step);
            l.emit(Instr::Set(var, next));
            l.emit(Instr::Jump(head));
            l.land(branch);
            if !dead {
                l.program.loops[slot].end = l.pc();
            }
        });
        self.scopes.pop();
    }

    /// The arms of an `if`; a condition known at load selects one of them.
    fn branches(&mut self, arms: &[Arm], otherwise: Option<&[Stmt]>, ends: &mut Vec<Option<Pc>>) {
        let was = self.ctx;
        for (n, arm) in arms.iter().enumerate() {
            if n > 0 {
                self.site = self.new_site(&arm.span);
            }
            let mentions = self.mentions(&arm.cond);
            let cond = self.expr(&arm.cond);
            let last = n + 1 == arms.len() && otherwise.is_none();
            self.ctx = self.guarded(mentions);
            match cond.as_ref().and_then(Expr::constant) {
                Some(0) => {
                    self.in_dead(|l| l.statements(&arm.body));
                }
                Some(_) => {
                    self.statements(&arm.body);
                    self.ctx.dead = true;
                }
                None => {
                    let branch = self.emit_branch(|to| Instr::Unless(cond.unwrap_or(Expr::Const(1)), to));
                    self.statements(&arm.body);
                    if !last {
                        ends.push(self.emit_branch(Instr::Jump));
                    }
                    self.land(branch);
                }
            }
        }
        if let Some(body) = otherwise {
            self.statements(body);
        }
        self.ctx = was;
    }
}
