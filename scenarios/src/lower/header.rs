//! Declarations: values, buffers, barriers, roles.

use warpline_sim::ir::{Class, Dtype, Expr, Grid, MbarDecl, NamedDecl, ParamId, Role, Symbol, Tape};

use super::{Context, Facts, Lower, Meaning, Mentions};
use crate::ast::{Axis, DeclKind, Ident, Kernel, Memory, Param, Span, Type, TypeName, WarpSet};
use crate::suggest::did_you_mean;
use warpline_sim::words::of;

/// What an error says of a parameter that neither the kernel nor the caller gives a value.
pub const NO_VALUE: &str = "has no value";

/// Exclusive limit of extents and counts, so that the product of two of them and an element's bits does not overflow.
const EXTENT: i64 = 1 << 27;

/// Largest number of slots of a buffer, or of barriers of an array.
const LENGTH: i64 = 1 << 12;

impl Lower<'_> {
    pub(super) fn header(&mut self, kernel: &Kernel) {
        self.check_inputs(kernel);
        for p in &kernel.params {
            self.param(p);
        }
        let mut warps = None;
        for d in &kernel.decls {
            if let DeclKind::Warps(_) = d.kind {
                warps = Some(d.span.clone());
            }
            self.declaration(&d.kind, &d.span);
        }
        if warps.is_none() && !self.skipped.contains("warps") {
            let d = self
                .diag(&kernel.name.span, "this kernel does not say how many warps a CTA has", "`warps` is missing")
                .help("write `warps 4` among its declarations");
            self.error(d);
        }
        self.check_roles(kernel);
        self.launch_together(kernel);
    }

    /// Reports values for parameters that the kernel does not have.
    fn check_inputs(&mut self, kernel: &Kernel) {
        for name in self.inputs.set.keys() {
            if kernel.params.iter().any(|p| p.name.text == *name) {
                continue;
            }
            let known: Vec<&str> = kernel.params.iter().map(|p| p.name.text.as_str()).collect();
            let message = format!("`{}` has no parameter `{name}`", kernel.name.text);
            let mut d = self.diag(&kernel.name.span, message, "a value is given for it");
            d.help = did_you_mean(name, known.iter().copied())
                .or_else(|| Some(format!("its parameters are {}", known.join(", "))));
            self.error(d);
        }
    }

    fn param(&mut self, p: &Param) {
        let name = &p.name.text;
        let value = match (self.inputs.set.get(name), &p.default) {
            (Some(v), _) => Some(*v),
            (None, Some(e)) => self.launch_constant(e, "a default").map(|(v, _)| v),
            (None, None) => {
                let d = self
                    .diag(&p.name.span, format!("the parameter `{name}` {NO_VALUE}"), "it has no default")
                    .help(format!("set it with `--set {name}=VALUE`, or under `[set]` in a scenario"));
                self.error(d);
                None
            }
        };
        self.program.params.extend(value.map(|v| (name.clone(), v)));
        let symbol = self.symbol(name, value, None);
        self.define(name, &p.name.span, Meaning::Value(value, symbol));
    }

    fn declaration(&mut self, kind: &DeclKind, span: &Span) {
        match kind {
            DeclKind::Needs(what) => {
                let site = self.new_site(span);
                self.program.needs.push((what.text.clone(), site));
            }
            DeclKind::Let(all) => {
                for (name, e) in all {
                    let (computed, form) = self.launch_constant(e, &format!("the header's `{}`", name.text)).unzip();
                    let value = self.given.get(&name.text).copied().or(computed);
                    self.program.lets.extend(value.map(|v| (name.text.clone(), v)));
                    let symbol = form.and_then(|form| self.symbol(&name.text, value, Some(form)));
                    self.define(&name.text, &name.span, Meaning::Value(value, symbol));
                }
            }
            DeclKind::Require(cond, why) => {
                let required = self.launch_constant(cond, "a requirement");
                if let Some((_, form)) = &required
                    && self.symbolic.is_some()
                {
                    self.program.forms.requires.push(form.clone());
                }
                if required.is_some_and(|(v, _)| v == 0) {
                    let text = self.text[cond.span.clone()].to_string();
                    let message = match why {
                        Some(why) => format!("`{text}` does not hold: {why}"),
                        None => format!("`{text}` does not hold"),
                    };
                    let d = self.diag(&cond.span, message, "the kernel requires this of its parameters");
                    self.error(d);
                }
            }
            DeclKind::Grid(dims, group) => {
                if dims.len() > 3 {
                    let d = self.diag(&dims[3].span, "a grid has at most three dimensions", "this one is too many");
                    self.error(d);
                }
                let mut size = [1; 3];
                let mut forms = [const { Expr::Const(1) }; 3];
                for ((d, f), e) in size.iter_mut().zip(&mut forms).zip(dims) {
                    if let Some((v, form)) = self.launch_bounded(e, "a dimension of the grid", 0, 1 << 20) {
                        (*d, *f) = (v, form);
                    }
                }
                self.program.forms.grid = self.symbolic.is_some().then_some(forms);
                let group = group.as_ref().and_then(|g| self.bounded(g, "the grid's group", 0, EXTENT));
                self.program.grid = Grid { m: size[0], n: size[1], z: size[2], group: group.unwrap_or(0) };
            }
            DeclKind::Cluster(e) => {
                self.program.cluster = self.bounded(e, "the number of CTAs in a cluster", 1, 16).unwrap_or(1) as u32;
            }
            // Handled once everything is declared.
            DeclKind::Cooperative => {}
            DeclKind::Counter(name, len) => self.declare_counter(name, len.as_ref()),
            DeclKind::Warps(e) => {
                self.program.warps = self.bounded(e, "the number of warps", 1, 64).unwrap_or(64) as u32;
            }
            DeclKind::Regs(e) => {
                self.program.regs = self.bounded(e, "the number of registers a thread", 1, 512).map(|v| v as u32);
            }
            DeclKind::Waits(w) => self.program.waits = *w,
            DeclKind::Memory(m) => self.memory(m),
            DeclKind::Mbar(name, len, count) => {
                let stages = self.length(len.as_ref(), name);
                let count =
                    match self.bounded(count, &format!("the arrival count of `{}`", name.text), 1, (1 << 20) - 1) {
                        Some(v) => v as u32,
                        None => 1,
                    };
                let id = self.program.mbars.len() as u16;
                self.program.mbars.push(MbarDecl { name: name.text.clone(), stages, count });
                self.define(&name.text, &name.span, Meaning::Mbar(id));
            }
            DeclKind::Named(name, len) => {
                let len = self.length(len.as_ref(), name);
                // Number 0 is the barrier of the whole CTA.
                let first = self.program.named.last().map_or(1, |n: &NamedDecl| n.first + n.len);
                if first + len > 16 && len < LENGTH as u32 {
                    let d = self.diag(
                        &name.span,
                        "a CTA has 16 hardware barriers, and number 0 is `barrier`",
                        format!("these would be {first} to {}", first + len - 1),
                    );
                    self.value_error(d);
                }
                let id = self.program.named.len() as u16;
                self.program.named.push(NamedDecl { name: name.text.clone(), len, first });
                self.define(&name.text, &name.span, Meaning::Named(id));
            }
            DeclKind::Role(name, members, set) => self.role(name, members.as_ref(), set),
            DeclKind::Set(name, set) => self.role(name, None, set),
            DeclKind::SetCta(name, e) => {
                // The size of the cluster may be declared later, so the rank is not checked here.
                let rank = self.expr(e).unwrap_or(Expr::Const(0));
                self.define(&name.text, &name.span, Meaning::Cta(rank));
            }
            DeclKind::Trips { name, per, run } => {
                self.tape_index = per.as_ref().map(|p| p.text.clone());
                let run = self.expr(run).unwrap_or(Expr::Const(1));
                self.tape_index = None;
                let id = self.program.tapes.len() as u16;
                let value = self.program.launch_value(&run).filter(|_| per.is_none());
                self.program.tapes.push(Tape { name: name.text.clone(), run });
                // A tape with the same value for every role at all times is a parameter that becomes known late.
                if let Some(symbol) = self.symbol(&name.text, value, None) {
                    self.program.symbols[symbol as usize].tape = Some(id);
                    self.define(&name.text, &name.span, Meaning::Value(value, Some(symbol)));
                } else {
                    self.define(&name.text, &name.span, Meaning::Tape(id, per.is_some()));
                }
            }
        }
    }

    /// Keeps a value as a symbol, if it may stay symbolic.
    fn symbol(&mut self, name: &str, value: Option<i64>, definition: Option<Expr>) -> Option<ParamId> {
        if matches!(definition, Some(Expr::Const(_))) || !self.symbolic?.contains(name) {
            return None;
        }
        self.program.symbols.push(Symbol { name: name.into(), value: value?, definition, tape: None });
        Some((self.program.symbols.len() - 1) as ParamId)
    }

    fn length(&mut self, len: Option<&crate::ast::Expr>, name: &Ident) -> u32 {
        let Some(e) = len else { return 1 };
        self.bounded(e, &format!("the length of `{}`", name.text), 1, LENGTH).unwrap_or(LENGTH) as u32
    }

    fn role(&mut self, name: &Ident, members: Option<&crate::ast::Expr>, set: &WarpSet) {
        let warps = self.warps_of(set).unwrap_or(0);
        let mut count = match members {
            Some(e) => self.bounded(e, &format!("the number of members of `{}`", name.text), 1, 64).unwrap_or(1) as u32,
            None => 1,
        };
        if warps != 0 && !warps.count_ones().is_multiple_of(count) {
            let message = format!(
                "`{}` has {} warps, which do not divide into {count} equal members",
                name.text,
                warps.count_ones()
            );
            let d = self.diag(&set.span, message, format!("a multiple of {count} warps was expected"));
            self.value_error(d);
            count = 1;
        }
        let id = self.program.roles.len();
        self.program.roles.push(Role { name: name.text.clone(), warps, members: count });
        self.define(&name.text, &name.span, Meaning::Role(id, members.is_some()));
    }

    /// The warps of a set, as bits.
    pub(super) fn warps_of(&mut self, set: &WarpSet) -> Option<u64> {
        let scale = if set.groups { 4 } else { 1 };
        let most = 64 / scale;
        let noun = if set.groups { "a warpgroup" } else { "a warp" };
        let from = self.bounded(&set.from, noun, 0, most - 1);
        let to = match &set.to {
            Some(e) => self.bounded(e, "the end of this range", 0, most),
            None => from.map(|f| f + 1),
        };
        let (from, to) = (from? * scale, to? * scale);
        if from >= to {
            let d = self
                .diag(&set.span, "this set has no warps", "the end of a range is not included, and must be larger")
                .help("`warps 0..4` are the warps 0, 1, 2 and 3");
            self.value_error(d);
            return None;
        }
        let below = |n: i64| if n >= 64 { u64::MAX } else { (1u64 << n) - 1 };
        Some(below(to) & !below(from))
    }

    /// Checks that roles lie inside the CTA.
    fn check_roles(&mut self, kernel: &Kernel) {
        let warps = self.program.warps;
        for d in &kernel.decls {
            let (DeclKind::Role(name, _, set) | DeclKind::Set(name, set)) = &d.kind else { continue };
            let Some(role) = self.program.roles.iter().find(|r| r.name == name.text) else { continue };
            let top = 64 - role.warps.leading_zeros();
            if top > warps {
                let message = format!(
                    "`{}` reaches to warp {}, but a CTA has {}",
                    name.text,
                    top - 1,
                    of(i64::from(warps), "warp")
                );
                let d = self.diag(&set.span, message, format!("warps below {warps} were expected"));
                self.value_error(d);
            }
        }
    }

    /// The element type; a conditional type is decided at load.
    pub(super) fn dtype_of(&mut self, ty: &Type) -> Dtype {
        match &ty.dtype {
            TypeName::Plain(d) => *d,
            TypeName::Cond(cond, yes, no) => match self.constant(cond, "the choice of an element type") {
                Some(0) => *no,
                _ => *yes,
            },
        }
    }

    /// Rows and columns of a type on the chip; these shape the program.
    pub(super) fn shape_of(&mut self, ty: &Type, name: &str) -> Option<[i64; 2]> {
        let (shape, forms) = self.extents_of(ty, name)?;
        forms.iter().for_each(|form| self.shapes(form));
        Some(shape)
    }

    /// Rows and columns of a type, with their expressions over symbols.
    fn extents_of(&mut self, ty: &Type, name: &str) -> Option<([i64; 2], [Expr; 2])> {
        if ty.shape.len() > 2 {
            let message = format!("`{name}` has {} extents", ty.shape.len());
            let d = self
                .diag(&ty.span, message, "one or two extents were expected")
                .help("fold the outer ones into the rows, or into slots: `name[slots]: f16[rows, cols]`");
            self.error(d);
            return None;
        }
        let mut shape = [1; 2];
        let mut forms = [const { Expr::Const(1) }; 2];
        let mut whole = true;
        for ((s, f), e) in shape.iter_mut().zip(&mut forms).zip(&ty.shape) {
            match self.launch_bounded(e, &format!("an extent of `{name}`"), 1, EXTENT) {
                Some((v, form)) => (*s, *f) = (v, form),
                None => whole = false,
            }
        }
        whole.then_some((shape, forms))
    }

    fn memory(&mut self, m: &Memory) {
        let name = &m.name.text;
        let mut class = m.class;
        let mut shape = None;
        let mut extents = None;
        let dtype = m.ty.as_ref().map(|t| self.dtype_of(t));
        if let (Some(ty), Some(dtype)) = (&m.ty, dtype) {
            let none = ty.shape.is_empty();
            match class {
                Class::Shared if none => {
                    class = Class::Mailbox;
                    if dtype != Dtype::I32 {
                        let d = self.diag(&ty.span, format!("`{name}` has no shape"), "extents were expected").help(
                            format!(
                                "write `shared {name}: {}[rows, cols]`; only `i32` alone is a mailbox",
                                dtype.name()
                            ),
                        );
                        self.error(d);
                    }
                    shape = Some([1, 1]);
                }
                Class::Reg if none => {}
                _ if none => {
                    let d = self
                        .diag(&ty.span, format!("`{name}` has no shape"), "extents were expected")
                        .help(format!("write `{}[rows, cols]`", dtype.name()));
                    self.error(d);
                }
                Class::Global => (shape, extents) = self.extents_of(ty, name).unzip(),
                _ => shape = self.shape_of(ty, name),
            }
        }
        let pieces = m.pieces.as_ref().map(|(n, axis)| {
            let n = self.bounded(n, &format!("the number of pieces of `{name}`"), 1, 64).unwrap_or(1);
            let extent = shape.map(|s| s[(*axis == Axis::Cols) as usize]);
            if let Some(e) = extent
                && e % n != 0
            {
                let message = format!("{e} {} of `{name}` do not divide into {n} pieces", axis_name(*axis));
                let d = self.diag(&m.name.span, message, "equal pieces were expected");
                self.value_error(d);
            }
            (n as u32, *axis)
        });
        let global = class == Class::Global;
        let facts = Facts {
            span: m.name.span.clone(),
            shape: if global { None } else { shape },
            origin: None,
            dtype,
            pieces,
            used: false,
            vector: m.ty.as_ref().is_some_and(|t| t.shape.len() == 1),
        };
        let slots = self.length(m.slots.as_ref(), &m.name);
        // A vector is one row.
        let row = shape.zip(dtype).map_or(0, |([_, cols], of)| cols * of.bits() as i64 / 8);
        let swizzle = m.swizzle.as_ref().and_then(|e| self.swizzle(e, row)).unwrap_or(0);
        let group = m.group.as_ref().and_then(|e| self.bounded(e, "the elements of a scale", 1, 1 << 16));
        let overlay = m.overlay.as_ref().and_then(|o| {
            match self.lookup(&o.text, &o.span, "a buffer", |m| matches!(m, Meaning::Object(_)))? {
                // An overlay on an overlay lies where that one lies.
                Meaning::Object(id) if self.program.objects[id as usize].class == class => Some(self.program.base(id)),
                _ => {
                    let message = format!("`{name}` and `{}` live in different memories", o.text);
                    let d = self.diag(&o.span, message, "a buffer of the same memory was expected");
                    self.error(d);
                    None
                }
            }
        });
        let dims = m
            .ty
            .as_ref()
            .map_or_else(Vec::new, |t| t.shape.iter().take(2).map(|e| self.text[e.span.clone()].to_string()).collect());
        let Some(id) = self.new_object(name, class, facts) else { return };
        let object = &mut self.program.objects[id as usize];
        object.slots = slots;
        object.swizzle = swizzle;
        object.scale_group = group.map(|g| g as u32);
        object.overlay = overlay;
        if global {
            [object.rows, object.cols] = shape.unwrap_or([1, 1]);
            if self.symbolic.is_some() {
                self.program.forms.extents.resize(id as usize, None);
                self.program.forms.extents.push(extents);
            }
            for (d, text) in object.dims.iter_mut().zip(dims) {
                *d = text;
            }
        }
        self.define(name, &m.name.span, Meaning::Object(id));
    }

    /// The swizzle atom of a buffer with rows of `row` bytes. A row must be whole atoms, or its end lies in the next
    /// row's atom.
    fn swizzle(&mut self, e: &crate::ast::Expr, row: i64) -> Option<u32> {
        let v = self.bounded(e, "the swizzle atom", 0, 1024)?;
        if v != 0 && v.count_ones() != 1 {
            let d = self.diag(&e.span, format!("a swizzle atom of {v} bytes"), "32, 64 or 128 was expected");
            self.value_error(d);
            return None;
        }
        if v != 0 && row % v != 0 {
            let message = format!("rows of {row} bytes are no whole swizzle atoms of {v}");
            let d = self.diag(&e.span, message, "an atom that divides a row was expected");
            self.value_error(d);
            return None;
        }
        Some(v as u32)
    }

    /// The context of a block that only these warps execute.
    pub(super) fn narrowed(&self, mask: u64) -> Context {
        Context { mask: self.ctx.mask & mask, ..self.ctx }
    }

    /// The context of a block behind one more condition.
    pub(super) fn guarded(&self, m: Mentions) -> Context {
        Context { guard: self.ctx.guard.or(m), ..self.ctx }
    }
}

/// `rows`, `columns`.
pub(super) fn axis_name(axis: Axis) -> &'static str {
    match axis {
        Axis::Rows => "rows",
        Axis::Cols => "columns",
    }
}
