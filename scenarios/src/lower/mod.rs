//! From the tree to [`Program`]: names, values, shapes, code.
//!
//! ```text
//! mod.rs    the state, the order of the passes    names.rs   what names mean
//! expr.rs   expressions and what they mention     header.rs  declarations
//! stmt.rs   blocks, loops, conditions             op.rs      operations
//! place.rs, part.rs, bar.rs  operands              moves.rs   moves and who shares them
//! counter.rs counters in global memory
//! shape.rs  shapes left out, and their agreement  cuts.rs    pieces of buffers
//! ```
//!
//! The body is walked twice. The first walk collects places that must agree in shape, and missing shapes are solved
//! from these. The second walk generates code and reports errors. An error is reported once: a value with an error
//! becomes `None`, a name in unreadable text may mean anything, and in a block without a head only names are checked.

mod bar;
mod counter;
mod cuts;
mod expr;
mod header;
mod moves;
mod names;
mod op;
mod parameters;
mod part;
mod pipelined;
mod place;
mod shape;
mod stmt;

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::{
    Class, Dtype, Expr, Forms, Grid, Instr, MbarId, ObjId, Object, ParamId, Program, Site, SiteId, VarId, Waits,
};

use crate::Inputs;
use crate::ast::{Axis, DeclKind, Kernel, Span};
use crate::parse::Parsed;

pub use header::NO_VALUE;
pub(crate) use moves::ends;
pub use parameters::{Parameter, parameters};
pub(crate) use pipelined::Found;

use cuts::Cuts;
use names::Meaning;
use shape::Agree;

/// A variable of an agent's frame.
#[derive(Clone, Debug)]
struct Local {
    var: VarId,
    span: Span,
    /// Coordinates of the agent that the variable may depend on.
    mentions: Mentions,
    /// Whether the variable was declared with `var`.
    mutable: bool,
}

/// The agent's own coordinates that an expression reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mentions {
    member: bool,
    warp: bool,
}

impl Mentions {
    fn or(self, other: Mentions) -> Mentions {
        Mentions { member: self.member || other.member, warp: self.warp || other.warp }
    }
}

/// Facts about an object beyond its [`Object`].
#[derive(Clone, Debug)]
struct Facts {
    span: Span,
    /// Extent of a slot, or block of a global object.
    shape: Option<[i64; 2]>,
    /// The place that the shape was inferred from, if it was not declared.
    origin: Option<Span>,
    dtype: Option<Dtype>,
    pieces: Option<(u32, Axis)>,
    /// Whether any statement names it.
    used: bool,
    /// Whether one extent was written.
    vector: bool,
}

/// The innermost role with members around a statement.
#[derive(Clone, Copy, Debug)]
struct Members {
    first: u32,
    size: u32,
    count: u32,
}

/// The executors of the statement being lowered.
#[derive(Clone, Copy, Debug)]
struct Context {
    mask: u64,
    members: Option<Members>,
    elect: bool,
    /// Coordinates of the agent in the conditions around the statement.
    guard: Mentions,
    /// Whether the statement is unreachable with these values; then only its names are checked.
    dead: bool,
}

struct Lower<'a> {
    file: &'a str,
    text: &'a str,
    inputs: &'a Inputs<'a>,
    /// Values of header `let`s, in place of the text's definitions.
    given: &'a BTreeMap<String, i64>,
    /// Names that stay symbols in the code; `None` where every value is bound.
    symbolic: Option<&'a BTreeSet<String>>,
    /// Symbols whose numbers were needed.
    shaping: BTreeSet<ParamId>,
    line_starts: Vec<usize>,
    skipped: &'a BTreeSet<String>,
    errors: Vec<Diagnostic>,
    /// Registers that only unreachable code writes; the same code may read them.
    unborn: BTreeSet<String>,
    names: BTreeMap<String, (Meaning, Span)>,
    order: Vec<String>,
    facts: Vec<Facts>,
    program: Program,
    scopes: Vec<BTreeMap<String, Local>>,
    ctx: Context,
    /// Name of the index inside a tape's `run`.
    tape_index: Option<String>,
    /// The grid of a cooperative launch; the program has it as one unit.
    launch: Option<Grid>,
    agree: Vec<Agree>,
    /// `agree` for unreachable code.
    agree_dead: Vec<Agree>,
    cuts: Cuts,
    arrived: BTreeSet<MbarId>,
    waited: Vec<(MbarId, Span)>,
    site: SiteId,
    /// Whether this walk generates code.
    last_walk: bool,
    /// The `pipelined` loops, in order, with the values in their heads.
    pipelined: Vec<Found>,
}

/// Lowers a parsed text. `given` are values of header `let`s, in place of the text's definitions. A `pipelined` loop is
/// lowered as a plain loop; the values of its head are returned beside the program.
pub(crate) fn lower(
    file: &str,
    text: &str,
    parsed: &Parsed,
    inputs: &Inputs,
    given: &BTreeMap<String, i64>,
) -> Result<(Program, Vec<Found>), Vec<Diagnostic>> {
    let Some(kernel) = &parsed.kernel else { return Err(parsed.errors.clone()) };
    let mut l = Lower::new(file, text, kernel, &parsed.skipped, (inputs, given), None, parsed.errors.clone());
    l.header(kernel);
    l.walks(kernel);
    l.check_together(kernel);
    if l.errors.is_empty() {
        return Ok((l.program, l.pipelined));
    }
    l.errors.sort_by_key(|d| (d.span.start, d.span.end));
    l.errors.dedup();
    Err(l.errors)
}

/// Lowers a text once for all values of the parameters that only count; these stay symbols. A value that shapes the
/// program is bound, together with the values in its definition. Trial lowering finds these values.
pub(crate) fn lower_symbolic(
    file: &str,
    text: &str,
    parsed: &Parsed,
    inputs: &Inputs,
) -> Result<Program, Vec<Diagnostic>> {
    let Some(kernel) = &parsed.kernel else { return Err(parsed.errors.clone()) };
    let lets = kernel.decls.iter().filter_map(|d| match &d.kind {
        DeclKind::Let(all) => Some(all.iter().map(|(name, _)| name.text.clone()).collect()),
        DeclKind::Trips { name, .. } => Some(vec![name.text.clone()]),
        _ => None,
    });
    let mut names: BTreeSet<String> = kernel.params.iter().map(|p| p.name.text.clone()).chain(lets.flatten()).collect();
    let none = BTreeMap::new();
    loop {
        let mut l =
            Lower::new(file, text, kernel, &parsed.skipped, (inputs, &none), Some(&names), parsed.errors.clone());
        l.header(kernel);
        l.walks(kernel);
        l.check_together(kernel);
        let mut bound = l.shaping.clone();
        if bound.is_empty() && l.errors.is_empty() {
            return Ok(l.program);
        }
        if bound.is_empty() {
            // Unreachable code has an error, so the conditions around it shape the program.
            bound = (0..l.program.symbols.len() as ParamId).collect();
            if bound.is_empty() {
                return Err(l.errors);
            }
        }
        for (id, symbol) in l.program.symbols.iter().enumerate().rev() {
            if let (true, Some(e)) = (bound.contains(&(id as ParamId)), &symbol.definition) {
                e.visit(&mut |x| {
                    if let Expr::Param(p) = x {
                        bound.insert(*p);
                    }
                });
            }
        }
        let bound: Vec<String> = bound.iter().map(|id| l.program.symbols[*id as usize].name.clone()).collect();
        names.retain(|name| !bound.contains(name));
    }
}

impl<'a> Lower<'a> {
    fn new(
        file: &'a str,
        text: &'a str,
        kernel: &Kernel,
        skipped: &'a BTreeSet<String>,
        (inputs, given): (&'a Inputs<'a>, &'a BTreeMap<String, i64>),
        symbolic: Option<&'a BTreeSet<String>>,
        errors: Vec<Diagnostic>,
    ) -> Self {
        let program = Program {
            name: kernel.name.text.clone(),
            file: file.into(),
            params: Vec::new(),
            symbols: Vec::new(),
            forms: Forms::default(),
            needs: Vec::new(),
            grid: Grid { m: 1, n: 1, z: 1, group: 0 },
            cluster: 1,
            cooperative: false,
            atomic_order: Vec::new(),
            warps: 1,
            regs: None,
            waits: Waits::Auto,
            objects: Vec::new(),
            mbars: Vec::new(),
            named: Vec::new(),
            counters: Vec::new(),
            roles: Vec::new(),
            tapes: Vec::new(),
            vars: Vec::new(),
            code: Vec::new(),
            at: Vec::new(),
            sites: Vec::new(),
            loops: Vec::new(),
            lets: Vec::new(),
            loose: !given.is_empty(),
            opaque_globals: false,
            ended_leave: false,
            reads_checked: false,
        };
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Lower {
            file,
            text,
            inputs,
            given,
            symbolic,
            shaping: BTreeSet::new(),
            line_starts,
            skipped,
            errors,
            unborn: BTreeSet::new(),
            names: BTreeMap::new(),
            order: Vec::new(),
            facts: Vec::new(),
            program,
            scopes: Vec::new(),
            ctx: Context { mask: 1, members: None, elect: false, guard: Mentions::default(), dead: false },
            tape_index: None,
            launch: None,
            agree: Vec::new(),
            agree_dead: Vec::new(),
            cuts: Cuts::default(),
            arrived: BTreeSet::new(),
            waited: Vec::new(),
            site: 0,
            last_walk: false,
            pipelined: Vec::new(),
        }
    }

    /// Walks the body for shapes, solves them, and walks the body again for code.
    fn walks(&mut self, kernel: &Kernel) {
        let (errors, sites) = (self.errors.len(), self.program.sites.len());
        self.walk(kernel);
        self.solve();
        self.errors.truncate(errors);
        self.program.sites.truncate(sites);
        self.program.vars.clear();
        self.last_walk = true;
        self.walk(kernel);
        self.finish_objects();
        self.check_waits();
    }

    fn walk(&mut self, kernel: &Kernel) {
        self.program.code.clear();
        self.program.at.clear();
        self.program.loops.clear();
        self.arrived.clear();
        self.waited.clear();
        let warps = self.program.warps;
        let mask = if warps >= 64 { u64::MAX } else { (1 << warps) - 1 };
        self.ctx = Context { mask, members: None, elect: false, guard: Mentions::default(), dead: false };
        self.statements(&kernel.body);
        self.site = self.new_site(&kernel.name.span);
        self.emit(Instr::End);
    }

    /// Reports a wait on an mbarrier on which nothing arrives: such a wait never ends.
    fn check_waits(&mut self) {
        for (bar, span) in std::mem::take(&mut self.waited) {
            let name = self.program.mbars[bar as usize].name.clone();
            if self.arrived.contains(&bar) || self.skipped.contains(&name) {
                continue;
            }
            let declared = self.names.get(&name).map(|(_, s)| s.clone());
            let mut d = Diagnostic::new(
                self.file,
                span,
                format!("nobody arrives at `{name}`"),
                "this wait can never end",
            )
            .help(format!(
                "write `arrive {name}[...]` in the role this one waits for, or let a `tma ... signals {name}[...]` \
                 or a `commit umma -> {name}[...]` complete it"
            ));
            if let Some(at) = declared {
                d = d.also(at, "declared here");
            }
            self.errors.push(d);
        }
    }

    /// Reports an error of names and forms.
    fn error(&mut self, d: Diagnostic) {
        self.errors.push(d);
    }

    /// Reports an error of values; ignored in unreachable code.
    fn value_error(&mut self, d: Diagnostic) {
        if !self.ctx.dead {
            self.errors.push(d);
        }
    }

    fn diag(&self, span: &Span, message: impl Into<String>, label: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.file, span.clone(), message, label)
    }

    /// The object and its facts.
    fn object(&self, id: ObjId) -> (&Object, &Facts) {
        (&self.program.objects[id as usize], &self.facts[id as usize])
    }

    fn new_object(&mut self, name: &str, class: Class, facts: Facts) -> Option<ObjId> {
        let id = self.program.objects.len();
        if id >= 1000 {
            let d = self.diag(&facts.span, "more than 1000 buffers", "this one is too many");
            self.error(d);
            return None;
        }
        let [rows, cols] = facts.shape.unwrap_or([1, 1]);
        self.program.objects.push(Object {
            name: name.into(),
            class,
            dtype: facts.dtype.unwrap_or(Dtype::F32),
            rows,
            cols,
            dims: ["".into(), "".into()],
            block: [rows, cols],
            slots: 1,
            row_cuts: vec![0, 1],
            col_cuts: vec![0, 1],
            overlay: None,
            swizzle: 0,
            scale_group: None,
        });
        self.facts.push(facts);
        Some(id as ObjId)
    }

    fn new_site(&mut self, span: &Span) -> SiteId {
        let line = self.line_starts.partition_point(|s| *s <= span.start).max(1);
        let start = self.line_starts[line - 1];
        let col = self.text[start..span.start].chars().count() as u32 + 1;
        let written = &self.text[span.clone()];
        // Most statements are one line with single spaces. This path is fast because a kernel is compiled for hundreds
        // of trip counts.
        let text = match written.contains('\n') || written.contains("  ") {
            true => written.split_whitespace().collect::<Vec<_>>().join(" "),
            false => written.to_string(),
        };
        self.program.sites.push(Site { file: self.file.into(), line: line as u32, col, text });
        (self.program.sites.len() - 1) as SiteId
    }

    fn emit(&mut self, instr: Instr) {
        if !self.ctx.dead {
            self.program.code.push(instr);
            self.program.at.push(self.site);
        }
    }

    fn pc(&self) -> u32 {
        self.program.code.len() as u32
    }
}
