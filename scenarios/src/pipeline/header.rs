//! Edits of the kernel outside its loops: slots, barriers, roles, and names that the steps use.

use std::ops::Range;

use warpline_sim::ir::{self, Program};

use super::emit::Line;
use super::indented;
use super::items::moves;
use super::laid::Laid;
use super::settle::{Open, settle};
use super::text::places;
use crate::ast::{DeclKind, ExprKind, Kernel, Memory, Operation, Pipelined, Stmt, StmtKind};

/// The text of a kernel with pending edits.
pub(super) struct Header<'a> {
    text: &'a str,
    kernel: &'a Kernel,
    program: &'a Program,
    edits: Vec<(Range<usize>, String)>,
    /// Declarations to add, in order.
    added: Vec<String>,
    /// Another text in place of the edited one.
    whole: Option<String>,
}

impl<'a> Header<'a> {
    pub(super) fn new(text: &'a str, kernel: &'a Kernel, program: &'a Program) -> Header<'a> {
        Header { text, kernel, program, edits: Vec::new(), added: Vec::new(), whole: None }
    }

    /// Applies the edits.
    pub(super) fn apply(mut self) -> String {
        if let Some(text) = self.whole {
            return text;
        }
        if !self.added.is_empty() {
            let end = self.kernel.decls.last().map_or(self.kernel.name.span.end, |d| d.span.end);
            let at = self.text[end..].find('\n').map_or(self.text.len(), |n| end + n + 1);
            let lines: String = self.added.iter().map(|l| format!("  {l}\n")).collect();
            self.edits.push((at..at, lines));
        }
        self.edits.sort_by_key(|(r, _)| (r.start, r.end));
        let mut out = String::new();
        let mut at = 0;
        for (r, text) in &self.edits {
            out.push_str(&self.text[at..r.start]);
            out.push_str(text);
            at = r.end;
        }
        out.push_str(&self.text[at..]);
        out
    }

    /// Replaces the whole text.
    pub(super) fn whole(&mut self, text: String) {
        self.whole = Some(text);
    }

    fn memory(&self, name: &str) -> Option<&'a Memory> {
        self.kernel.decls.iter().find_map(|d| match &d.kind {
            DeclKind::Memory(m) if m.name.text == name => Some(m),
            _ => None,
        })
    }

    /// Slots that the kernel declares for a buffer.
    pub(super) fn slots(&self, name: &str) -> u32 {
        self.program.objects.iter().find(|o| o.name == name).map_or(1, |o| o.slots)
    }

    fn add(&mut self, line: String) {
        if !self.added.contains(&line) {
            self.added.push(line);
        }
    }

    /// Sets the number of versions of a buffer.
    pub(super) fn versions(&mut self, name: &str, n: usize) {
        if let Some(m) = self.memory(name) {
            let at = m.name.span.end;
            self.edits.push((at..at, format!("[{n}]")));
            return;
        }
        // The pass made the buffer, or the kernel does not declare it; its shape is known now.
        let shape = self.program.objects.iter().find(|o| o.name == name);
        let ty = shape.map_or(String::new(), |o| format!(": {}[{}, {}]", o.dtype.name(), o.rows, o.cols));
        self.add(format!("reg {name}[{n}]{ty}"));
    }

    /// Adds waits to the statements outside the loops, if the kernel left waits to the machine. Returns the waits that
    /// a loop begins with.
    pub(super) fn settle(&mut self, p: &Pipelined) -> Vec<String> {
        if self.kernel.decls.iter().any(|d| matches!(d.kind, DeclKind::Waits(ir::Waits::Manual))) {
            return Vec::new();
        }
        let (mut edits, mut found) = (Vec::new(), Vec::new());
        settle(&self.kernel.body, &mut Open::default(), &mut edits, &mut found);
        for e in edits {
            if !self.edits.contains(&e) {
                self.edits.push(e);
            }
        }
        found.into_iter().find(|(at, _)| *at == p.extent).map_or(Vec::new(), |(_, open)| open.all())
    }

    /// Adds `waits manual`.
    pub(super) fn manual(&mut self) {
        let has = self.kernel.decls.iter().any(|d| matches!(d.kind, DeclKind::Waits(_)));
        if !has {
            self.add("waits manual".to_string());
        }
    }

    /// Adds a `let` for the number of instructions of a copy; `bytes` are those of one instruction of all its warps.
    pub(super) fn weight(&mut self, name: &str, stmt: &Stmt, bytes: i64) {
        let mut parts = Vec::new();
        for m in moves(stmt) {
            let decl = self.memory(&m.dst.name.text);
            let known = self.program.objects.iter().find(|o| o.name == m.dst.name.text);
            let declared = decl.and_then(|d| d.ty.as_ref()).filter(|ty| !ty.shape.is_empty());
            let (Some(ty), Some(decl)) = (declared, decl) else {
                let size = known.map_or(0, |o| o.rows * o.cols);
                let bits = self.bits(&m.src.name.text);
                parts.push(format!("cdiv({size} * {bits}, {})", 8 * bytes));
                continue;
            };
            let mut size: Vec<String> = ty
                .shape
                .iter()
                .map(|e| match &e.kind {
                    ExprKind::Int(_) | ExprKind::Name(_) => self.text[e.span.clone()].to_string(),
                    _ => format!("({})", self.text[e.span.clone()].trim_matches(|c| c == '(' || c == ')')),
                })
                .collect();
            size.push(self.bits(&m.src.name.text).to_string());
            let piece = decl.pieces.as_ref().filter(|_| !m.dst.sels.is_empty());
            let share = piece.map_or(String::new(), |(n, _)| format!(" / {}", self.text[n.span.clone()].trim()));
            parts.push(format!("cdiv({}{share}, {})", size.join(" * "), 8 * bytes));
        }
        self.add(format!("let {name} = {}  // vm instructions of a wave", parts.join(" + ")));
    }

    fn bits(&self, name: &str) -> u32 {
        self.program.objects.iter().find(|o| o.name == name).map_or(16, |o| o.dtype.bits())
    }

    /// Adds a comment at the head of the kernel, once.
    pub(super) fn note(&mut self, words: &str) {
        let edit = (0..0, format!("// {words}\n"));
        if !self.edits.contains(&edit) {
            self.edits.push(edit);
        }
    }

    /// Adds a `needs`.
    pub(super) fn needs(&mut self, arch: &str) {
        let found = self.kernel.decls.iter().find_map(|d| match &d.kind {
            DeclKind::Needs(n) => Some(n),
            _ => None,
        });
        match found {
            Some(n) if n.text != arch && !self.edits.iter().any(|(r, _)| *r == n.span) => {
                self.edits.push((n.span.clone(), arch.to_string()));
            }
            Some(_) => {}
            None => self.add(format!("needs {arch}")),
        }
    }

    /// Adds a `require` for each parameter that the expansion fixed. These are parameters in a `pipelined` head.
    /// Parameters that count warps are also fixed if their values appear in the expansion as numbers.
    pub(super) fn fixed(&mut self, counted: bool) {
        let (kernel, program) = (self.kernel, self.program);
        let mut names: Vec<(String, &str)> = Vec::new();
        for p in super::loops(&kernel.body) {
            for (e, what) in [(&p.stages, "stages"), (&p.producers, "producers")] {
                if let Some(ExprKind::Name(n)) = e.as_ref().map(|e| &e.kind) {
                    names.push((n.clone(), what));
                }
            }
        }
        let mut used = Vec::new();
        for d in &kernel.decls {
            if let (DeclKind::Warps(e), true) = (&d.kind, counted) {
                e.names(&mut used);
            }
        }
        names.extend(used.into_iter().map(|n| (n.to_string(), "")));
        for (n, what) in names {
            let is = kernel.params.iter().any(|p| p.name.text == n);
            let known = |l: &String| l.starts_with(&format!("require {n} =="));
            if let (true, Some(v), false) = (is, program.value(&n), self.added.iter().any(known)) {
                let why = if what.is_empty() { format!("{n} = {v}") } else { format!("{v} {what}") };
                self.add(format!("require {n} == {v} \"expanded for {why}\""));
            }
        }
    }

    /// Adds warps to `warps`.
    pub(super) fn more_warps(&mut self, more: u32) {
        for d in &self.kernel.decls {
            if let DeclKind::Warps(e) = &d.kind {
                let text = match &e.kind {
                    ExprKind::Int(n) => (n + more as i64).to_string(),
                    _ => format!("{} + {more}", &self.text[e.span.clone()]),
                };
                self.edits.push((e.span.clone(), text));
            }
        }
    }

    /// Declares the mbarriers of the groups before everything else; `empty` is the number of warps that release a slot.
    pub(super) fn barriers(&mut self, laid: &Laid, empty: Option<(u32, u32)>) {
        let mut names = Vec::new();
        for g in (0..laid.groups.len()).filter(|g| !laid.groups[*g].is_empty()) {
            let slots = laid.slots_of(g);
            let full = laid.bar("full", g);
            // Each warp that copies arrives with its own bytes.
            let arrivals = laid.feeders.get(g).copied().unwrap_or(1);
            self.add(format!("mbar {full}[{slots}] ({arrivals})"));
            names.push(full);
            if let Some((warps, _)) = empty {
                let empty = laid.bar("empty", g);
                self.add(format!("mbar {empty}[{slots}] ({warps})"));
                names.push(empty);
            }
        }
        let warp = empty.map_or(laid.first_warp, |(_, warp)| warp);
        let at = self.kernel.body.first().map_or(self.text.len(), |s| s.span.start);
        let line = self.text[..at].rfind('\n').map_or(0, |n| n + 1);
        let text =
            format!("  all:\n    warp {warp}: elect: init {};  fence mbarrier_init\n    barrier\n", names.join(", "));
        self.edits.push((line..line, text));
    }

    /// Replaces the CTA barriers of a block outside a loop by barriers of the block's warps. Returns whether there were
    /// any.
    pub(super) fn meet_apart(&mut self, s: &Stmt, meet: &str) -> bool {
        let body: Vec<&Stmt> = match &s.kind {
            StmtKind::Op(op, _) if matches!(op.as_ref(), Operation::Barrier(_)) => {
                self.edits.push((s.span.clone(), meet.to_string()));
                return true;
            }
            StmtKind::Block(_, b) | StmtKind::For(_, b) | StmtKind::While(_, b) => b.iter().collect(),
            StmtKind::If(arms, other) => arms.iter().flat_map(|a| &a.body).chain(other.iter().flatten()).collect(),
            _ => return false,
        };
        let mut any = false;
        for s in body {
            any |= self.meet_apart(s, meet);
        }
        any
    }

    /// Inserts text before a top-level statement.
    pub(super) fn before(&mut self, s: &Stmt, text: String) {
        let line = self.text[..s.span.start].rfind('\n').map_or(0, |n| n + 1);
        self.edits.push((line..line, text));
    }

    /// Adds a declaration.
    pub(super) fn declare(&mut self, line: String) {
        self.add(line);
    }

    /// Replaces the loop by its steps.
    pub(super) fn replace(&mut self, p: &Pipelined, lines: &[Line]) {
        let line = self.text[..p.extent.start].rfind('\n').map_or(0, |n| n + 1);
        let level = (p.extent.start - line) / 2;
        let mut end = p.extent.end;
        // A comment behind the last statement is replaced, too.
        end += self.text[end..].find('\n').unwrap_or(self.text.len() - end);
        let text = indented(lines, level);
        self.edits.push((line..end, text.trim_end_matches('\n').to_string()));
    }
}

/// Whether a statement uses a buffer outside of a loop.
pub(super) fn uses(s: &Stmt, buffer: &str, p: &Pipelined) -> bool {
    let inside = |b: &[Stmt]| b.iter().any(|s| uses(s, buffer, p));
    match &s.kind {
        StmtKind::Pipelined(q) => q.extent != p.extent && inside(&q.body),
        StmtKind::Staged(q) => inside(&q.body),
        StmtKind::Block(_, b) | StmtKind::For(_, b) | StmtKind::While(_, b) => inside(b),
        StmtKind::If(arms, other) => arms.iter().any(|a| inside(&a.body)) || other.as_ref().is_some_and(|b| inside(b)),
        StmtKind::Op(op, _) => places(op).iter().any(|(place, _)| place.name.text == buffer),
        _ => false,
    }
}
