//! The expansion of one loop, from its head to the edits of the text.

use std::collections::BTreeMap;

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Program;

use super::emit::{Emit, Line};
use super::expr::{Env, Val};
use super::header::{self, Header};
use super::laid::Laid;
use super::names::{Products, SCHEDULES, Schedule, VIAS, Via};
use super::{PassOptions, Plan, body, deps, has_role, items, loops, names, plan, schedule, split, sync, text};
use crate::Inputs;
use crate::ast::{Head, Kernel, Pipelined, Stmt, StmtKind};
use crate::lower::{Found, lower};
use crate::parse::parse;

/// One loop of a kernel.
pub(super) struct One<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) kernel: &'a Kernel,
    pub(super) program: &'a Program,
    pub(super) inputs: &'a Inputs<'a>,
    pub(super) ask: &'a PassOptions<'a>,
    pub(super) number: usize,
    pub(super) several: bool,
}

/// The decisions from the loop's head, the command line and the machine.
struct Choice {
    arch: String,
    via: Via,
    schedule: Schedule,
    stages: i64,
    guarded: bool,
    producers: usize,
}

impl One<'_> {
    pub(super) fn bad<T>(
        &self,
        span: &crate::ast::Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Result<T, Vec<Diagnostic>> {
        Err(vec![Diagnostic::new(self.file, span.clone(), message, label)])
    }

    fn choice(&self, p: &Pipelined, f: &Found) -> Result<Choice, Vec<Diagnostic>> {
        let arch = match (self.ask.arch, self.program.needs.first()) {
            (Some(a), _) => a.to_string(),
            (None, Some((needs, _))) => needs.clone(),
            (None, None) => "apple7".to_string(),
        };
        let word = |w: &crate::ast::Ident, known: Vec<&'static str>, what: &str| {
            let d = Diagnostic::new(self.file, w.span.clone(), format!("`{}` is no {what}", w.text), "unknown here")
                .help(format!("there are {}", known.join(", ")));
            vec![d]
        };
        // The next best way, if the loop cannot have a producer warp.
        let mut via = match Via::of(&arch) {
            Via::Tma if self.several || !self.alone(p) => Via::Cp,
            best => best,
        };
        if let Some(w) = &p.via {
            let known = VIAS.iter().find(|v| v.0 == w.text);
            via = known.ok_or_else(|| word(w, VIAS.map(|v| v.0).to_vec(), "way of copies"))?.1;
        }
        let mut schedule = Schedule::NumStages;
        if let Some(w) = &p.schedule {
            let known = SCHEDULES.iter().find(|v| v.0 == w.text);
            schedule = known.ok_or_else(|| word(w, SCHEDULES.map(|v| v.0).to_vec(), "schedule"))?.1;
        } else if p.body.iter().any(|s| matches!(s.kind, StmtKind::Staged(_))) {
            schedule = Schedule::Table;
        }
        via = self.ask.via.unwrap_or(via);
        schedule = self.ask.schedule.unwrap_or(schedule);
        let stages = match (self.ask.stages.or(f.stages), schedule) {
            (_, Schedule::TwoStepAhead) => 2,
            (Some(s), _) => s,
            (None, Schedule::Table) => 1,
            (None, _) => {
                return self.bad(&p.range.var.span, "this loop says no number of stages", "`stages e` was expected");
            }
        };
        let form = p.form.as_ref().map(|w| w.text == "guarded");
        let usual = match schedule {
            Schedule::Triton => via != Via::Dma,
            Schedule::TwoStepAhead => true,
            _ => false,
        };
        let producers = self.ask.producers.or(f.producers).unwrap_or(1);
        if producers != 1 && via != Via::Tma {
            let span = p.producers.as_ref().map_or(&p.range.var.span, |e| &e.span);
            return self.bad(
                span,
                "only `via tma` has warps that do nothing but copy",
                "the loop's own warps copy here",
            );
        }
        let guarded = self.ask.guarded.or(form).unwrap_or(usual);
        Ok(Choice { arch, via, schedule, stages, guarded, producers: producers as usize })
    }

    /// Expands the loop. Returns its plan and adds the edits.
    pub(super) fn expand(&self, p: &Pipelined, f: &Found, header: &mut Header) -> Result<Plan, Vec<Diagnostic>> {
        let c = self.choice(p, f)?;
        if f.stepped || f.from != Some(0) {
            return self.bad(&p.range.from.span, "a `pipelined` loop counts from 0 by 1", "`0..n` was expected");
        }
        let line = self.text[..p.extent.start].rfind('\n').map_or(0, |n| n + 1);
        if !self.text[line..p.extent.start].trim().is_empty() {
            return self.bad(&(line..p.extent.start), "a `pipelined` loop stands on a line of its own", "move it down");
        }
        if f.elect {
            return self.bad(&p.range.var.span, "one lane can't multiply", "`elect:` is around this loop");
        }
        let body = body::body(self.file, p, &f.staged, self.program)?;
        if c.schedule == Schedule::TwoStepAhead {
            return match split::halves(self.text, self.kernel, p, &body) {
                Ok(text) => self.again(&text, p, c.via, header),
                Err(m) => self.bad(&p.range.var.span, m, "this loop can't be cut into half tiles"),
            };
        }
        let mut slots = schedule::schedule(&body.units, c.schedule, c.stages, c.via)
            .or_else(|m| self.bad(&p.range.var.span, m, "no schedule for this loop"))?;
        let given = slots.clone();
        schedule::level(&mut slots);
        let wgmma = matches!(c.arch.as_str(), "sm_90a") && f.member.0.is_multiple_of(4);
        let products = match () {
            () if c.arch.starts_with("apple") => Products::Shared,
            () if wgmma && matches!(c.via, Via::Tma | Via::TmaJoint | Via::Cp) => Products::Wgmma,
            () => Products::Registers,
        };
        self.multiplies(p, f, &body, &c, products)?;
        let manual = c.arch.starts_with("gfx");
        let items = items::items(&body.units, &slots, c.via, (products, c.schedule), manual);
        let merged = matches!(c.schedule, Schedule::Triton | Schedule::Table) && c.via == Via::Dma;
        let late = c.schedule != Schedule::Multistage && !merged;
        let none = BTreeMap::new();
        let trips = Env { var: "", index: Val::Const(0), lets: &none }.value(&p.range.to);
        let all = deps::deps(&items, &text::Versions::new()).map_err(|b| {
            let at = |n: usize| &body.units[items[n].unit].stmt.span;
            let when = if b.carried { "in the step before" } else { "in the same step" };
            let d = Diagnostic::new(
                self.file,
                at(b.after).clone(),
                format!("this schedule changes what the loop does: `{}` is used out of order", b.buffer),
                format!("it would not wait for what the other line does {when}"),
            )
            .also(at(b.before).clone(), "this goes first in the plain loop");
            vec![d]
        })?;
        if let Some(t) = items
            .iter()
            .flat_map(|i| &i.touches)
            .find(|t| all.versions.get(&t.buffer).is_some_and(|v| *v > 1) && header.slots(&t.buffer) > 1)
        {
            return self.bad(
                &p.range.var.span,
                format!(
                    "`{}` has slots of its own, and this schedule needs {} versions of it",
                    t.buffer, all.versions[&t.buffer]
                ),
                "declare it with one slot: the pass makes the versions",
            );
        }
        let outside = |b: &str| self.kernel.body.iter().any(|s| header::uses(s, b, p));
        if let Some((b, n)) = all.versions.iter().find(|(b, n)| **n > 1 && outside(b)) {
            return self.bad(
                &p.range.var.span,
                format!("`{b}` gets {n} versions here, and is used outside the loop, too"),
                "which of them is meant there is not known",
            );
        }
        let options = sync::SyncOptions { late, manual };
        let depth = items.iter().map(|i| i.stage).max().unwrap_or(0);
        let planned = plan::plan(self.text, &body, (&given, &slots), (&items, &all, options), &c.names(depth));
        let mut laid = Laid {
            source: self.text,
            units: &body.units,
            lets: &body.lets,
            items,
            sync: sync::Sync::default(),
            deps: all,
            var: p.range.var.text.clone(),
            trips,
            depth,
            manual,
            meet: "barrier".to_string(),
            suffix: if self.several { format!("{}", self.number + 1) } else { String::new() },
            groups: Vec::new(),
            feeders: Vec::new(),
            firsts: Vec::new(),
            lasts: Vec::new(),
            lag: 0,
            first_warp: f.mask.trailing_zeros(),
        };
        laid.group_buffers();
        if c.via == Via::TmaJoint && f.around > 0 && !laid.groups.is_empty() {
            let d = Diagnostic::new(
                self.file,
                p.range.var.span.clone(),
                "the phases of this loop's mbarriers would begin anew each time",
                "there is a loop around it",
            );
            return Err(vec![d.help("write `via cp`")]);
        }
        let announced = laid.items.iter().filter(|i| matches!(i.queue, Some(items::Queue::Tma(_))));
        if let Some(t) = announced.flat_map(|i| &i.touches).find(|t| t.piece.is_some()) {
            let message =
                format!("pieces of `{}` are copied apart, and `via {}` announces whole slots", t.buffer, c.via.name());
            let d = Diagnostic::new(self.file, p.range.var.span.clone(), message, "not with this way of copies");
            return Err(vec![d.help("write `via cp`, or leave the buffer whole")]);
        }
        let lines = if c.via == Via::Tma && laid.items.iter().any(|i| matches!(i.queue, Some(items::Queue::Tma(_)))) {
            self.roles(p, f, &mut laid, (options, c.producers), header)?
        } else if c.producers > 1 {
            let message = "no copy of this loop runs ahead: there is nothing for a warp that only copies";
            return self.bad(&p.range.var.span, message, "more stages were expected");
        } else {
            laid.sync = sync::sync(&laid.items, &laid.deps, options);
            laid.waits_for_bytes();
            if laid.groups.iter().any(|g| !g.is_empty()) {
                header.barriers(&laid, None);
            }
            let mut lines = Emit::new(&laid).whole(c.guarded);
            if f.around > 0 && laid.deps.shared.iter().any(|(b, s)| *s && laid.deps.versions[b] >= 1) {
                lines.push((0, laid.meet.clone(), Some("before the loop around fills the slots again".to_string())));
            }
            lines
        };
        self.declare(&laid, &c, f, header);
        let mut before: Vec<Line> = Vec::new();
        if manual {
            before = header.settle(p).into_iter().map(|text| (0, text, None)).collect();
        }
        // Buffers that were stored before the loop and that no barrier inside shows to the asynchronous proxy.
        let mut operands =
            laid.items.iter().filter(|i| i.proxy).flat_map(|i| &i.touches).filter(|t| t.shared && !t.write);
        if matches!(c.via, Via::Tma | Via::TmaJoint) && operands.any(|t| outside(&t.buffer)) {
            if laid.meet != "barrier" {
                header.declare("named step".to_string());
            }
            before.push((0, "fence async".to_string(), Some("for what `wgmma` reads and no copy brings".to_string())));
            before.push((0, laid.meet.clone(), None));
        }
        before.extend(lines);
        header.replace(p, &before);
        Ok(planned)
    }

    /// Whether the warps of a member can multiply together. Warpgroups have only `wgmma`, which needs sm_90a.
    fn multiplies(
        &self,
        p: &Pipelined,
        f: &Found,
        body: &body::Body,
        c: &Choice,
        products: Products,
    ) -> Result<(), Vec<Diagnostic>> {
        let together = f.member.0 >= 4 && c.arch.starts_with("sm_") && self.top(p).is_some_and(has_role);
        let product = body.units.iter().find(|u| items::product(&u.stmt).is_some());
        let Some(u) = product.filter(|_| together && products == Products::Registers) else { return Ok(()) };
        let message = format!("a member of this role has {} warps, and each would do all of this product", f.member.0);
        let label = "`wgmma` joins four warps: on sm_90a, via `tma`, `tma_joint` or `cp`";
        let help = match names::limits(&c.arch) {
            Some(words) => format!("make each warp a member (`role math[8] = warps 0..8`); {words}"),
            None => "make each warp a member (`role math[8] = warps 0..8`)".to_string(),
        };
        Err(vec![Diagnostic::new(self.file, u.stmt.span.clone(), message, label).help(help)])
    }

    /// Adds the edits of the declarations.
    fn declare(&self, laid: &Laid, c: &Choice, f: &Found, header: &mut Header) {
        for (buffer, n) in laid.deps.versions.iter().filter(|(_, n)| **n > 1) {
            header.versions(buffer, *n);
        }
        if laid.manual {
            header.manual();
        }
        let lane = if c.arch == "gfx950" { 16 } else { 4 };
        for (p, item) in laid.items.iter().enumerate().filter(|(_, i)| i.queue == Some(items::Queue::Vm)) {
            let lane = if matches!(item.act, items::Act::Copy(_)) { lane } else { 16 };
            let warps = f.mask.count_ones();
            header.weight(&laid.weight(p), &laid.units[item.unit].stmt, warps as i64 * 64 * lane);
        }
        header.needs(c.via.needs(&c.arch));
        if let Some(words) = names::limits(&c.arch) {
            header.note(words);
        }
        header.fixed(laid.manual || !laid.feeders.is_empty());
    }

    /// Expands the loop's own text with its tiles cut in halves.
    fn again(&self, text: &str, p: &Pipelined, via: Via, header: &mut Header) -> Result<Plan, Vec<Diagnostic>> {
        let parsed = parse(self.file, text);
        let (program, found) = lower(self.file, text, &parsed, self.inputs, &BTreeMap::new())?;
        let Some(kernel) = &parsed.kernel else { return Err(parsed.errors) };
        let all = loops(&kernel.body);
        let (Some(q), Some(f)) = (all.get(self.number), found.get(self.number)) else {
            return self.bad(&p.range.var.span, "the split loop was lost", "here");
        };
        let ask = PassOptions {
            via: Some(via),
            schedule: Some(Schedule::Table),
            guarded: self.ask.guarded.or(Some(true)),
            ..*self.ask
        };
        let one = One { text, kernel, program: &program, ask: &ask, ..*self };
        let mut inner = Header::new(text, kernel, &program);
        let mut plan = one.expand(q, f, &mut inner)?;
        plan.schedule = Schedule::TwoStepAhead;
        header.whole(inner.apply());
        Ok(plan)
    }

    /// Whether the loop is directly in the block of a role, without statements around it that a producer warp would
    /// also execute.
    pub(super) fn alone(&self, p: &Pipelined) -> bool {
        let is = |s: &Stmt| matches!(&s.kind, StmtKind::Pipelined(q) if q.extent == p.extent);
        self.top(p).is_some_and(|s| matches!(&s.kind, StmtKind::Block(Head::Name(_), body) if body.iter().any(is)))
    }

    /// The top-level statement that contains a loop.
    pub(super) fn top(&self, p: &Pipelined) -> Option<&Stmt> {
        self.kernel.body.iter().find(|s| loops(std::slice::from_ref(*s)).iter().any(|q| q.extent == p.extent))
    }
}

impl Choice {
    fn names(&self, depth: i64) -> plan::Names {
        let producers = if self.via == Via::Tma && depth > 0 { self.producers } else { 0 };
        let Choice { schedule, via, stages, guarded, .. } = *self;
        plan::Names { schedule, via, stages, depth, guarded, producers }
    }
}
