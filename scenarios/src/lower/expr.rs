//! Expressions: name resolution and constant folding.

use warpline_sim::ir::{Binary, Class, Env, Expr, Unary, apply};

use super::{Lower, Meaning, Mentions};
use crate::ast::{self, ExprKind, Ident, Span};
use crate::suggest::did_you_mean;

/// Coordinates, as `(object, field)`.
const DOTTED: [(&str, &str); 8] = [
    ("cta", "m"),
    ("cta", "n"),
    ("cta", "z"),
    ("cta", "id"),
    ("cluster", "m"),
    ("cluster", "n"),
    ("cluster", "id"),
    ("grid", "size"),
];

impl Lower<'_> {
    /// An expression; `None` where an error has been reported.
    pub(super) fn expr(&mut self, e: &ast::Expr) -> Option<Expr> {
        match &e.kind {
            ExprKind::Int(v) => Some(Expr::Const(*v)),
            ExprKind::Name(name) => self.name(name, &e.span),
            ExprKind::Dotted(object, field) => self.dotted(object, field),
            ExprKind::Call(name, args) => self.call(name, args, &e.span),
            ExprKind::Unary(op, inner) => {
                let inner = self.expr(inner)?;
                if *op == Unary::Neg && inner == Expr::Const(i64::MIN) {
                    return self.overflow(&e.span);
                }
                Some(Expr::unary(*op, inner))
            }
            ExprKind::Binary(op, pair) => {
                let left = self.expr(&pair.0);
                // For a decided `and` or `or`, the right side is never evaluated, so only its names are checked.
                let decided = match (op, left.as_ref().and_then(Expr::constant)) {
                    (Binary::And, Some(0)) => Some(0),
                    (Binary::Or, Some(v)) if v != 0 => Some(1),
                    _ => None,
                };
                if let Some(v) = decided {
                    self.in_dead(|l| l.expr(&pair.1));
                    return Some(Expr::Const(v));
                }
                let right = self.expr(&pair.1);
                self.binary(*op, left?, right?, &e.span)
            }
            ExprKind::Cond(parts) => {
                let cond = self.expr(&parts.0);
                match cond.as_ref().and_then(Expr::constant) {
                    Some(0) => {
                        self.in_dead(|l| l.expr(&parts.1));
                        self.expr(&parts.2)
                    }
                    Some(_) => {
                        self.in_dead(|l| l.expr(&parts.2));
                        self.expr(&parts.1)
                    }
                    None => {
                        let (a, b) = (self.expr(&parts.1), self.expr(&parts.2));
                        Some(Expr::cond(cond?, a?, b?))
                    }
                }
            }
        }
    }

    pub(super) fn in_dead<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let was = std::mem::replace(&mut self.ctx.dead, true);
        let result = f(self);
        self.ctx.dead = was;
        result
    }

    pub(super) fn binary(&mut self, op: Binary, a: Expr, b: Expr, span: &Span) -> Option<Expr> {
        let divides = matches!(op, Binary::Div | Binary::Rem | Binary::CeilDiv);
        if divides && b == Expr::Const(0) {
            let d = self.diag(span, "division by zero", "the divisor is 0 here");
            self.value_error(d);
            return None;
        }
        if let (Expr::Const(x), Expr::Const(y)) = (&a, &b)
            && apply(op, *x, *y).is_none()
        {
            return self.overflow(span);
        }
        Some(Expr::binary(op, a, b))
    }

    fn overflow(&mut self, span: &Span) -> Option<Expr> {
        let d = self.diag(span, "this value does not fit into 64 bits", "a smaller value was expected");
        self.value_error(d);
        None
    }

    fn name(&mut self, name: &str, span: &Span) -> Option<Expr> {
        if let Some(local) = self.find_local(name) {
            return Some(Expr::Var(local.var));
        }
        if self.tape_index.as_deref() == Some(name) {
            return Some(Expr::Env(Env::TapeIndex));
        }
        match name {
            "self" => return self.member(span),
            "warp" => {
                let mask = self.ctx.mask;
                let one = mask.count_ones() == 1;
                return Some(if one { Expr::Const(mask.trailing_zeros() as i64) } else { Expr::Env(Env::Warp) });
            }
            "cta" => {
                let one = self.program.cluster == 1 || self.launch.is_some();
                return Some(if one { Expr::Const(0) } else { Expr::Env(Env::CtaRank) });
            }
            "cores" => {
                if let Some(n) = self.inputs.cores {
                    return Some(Expr::Const(n));
                }
                let d = self
                    .diag(span, "`cores` is known only with a machine", "the number of cores is asked here")
                    .help("choose a machine, with `--machine NAME` or in the scenario");
                self.value_error(d);
                return None;
            }
            _ => {}
        }
        match self.names.get(name).map(|(m, s)| (m.clone(), s.clone())) {
            Some((Meaning::Value(v, symbol), _)) => symbol.map(Expr::Param).or(v.map(Expr::Const)),
            Some((Meaning::Tape(t, indexed), at)) => {
                if indexed {
                    let d = self
                        .diag(span, format!("`{name}` has an index"), "a call was expected")
                        .help(format!("write `{name}(t)`"))
                        .also(at, "`per` stands here");
                    self.error(d);
                    return None;
                }
                Some(Expr::Tape(t, Box::new(Expr::Const(0))))
            }
            Some((m, at)) => {
                let d = self
                    .diag(span, format!("`{name}` is {}, not a number", m.noun()), "a number was expected here")
                    .also(at, "declared here");
                self.error(d);
                None
            }
            None => {
                if !self.skipped.contains(name) {
                    let locals: Vec<String> = self.scopes.iter().rev().flat_map(|s| s.keys().cloned()).collect();
                    let values = self
                        .order
                        .iter()
                        .filter(|n| matches!(self.names.get(*n), Some((Meaning::Value(..) | Meaning::Tape(..), _))));
                    let known = locals.iter().chain(values).map(String::as_str).chain(crate::words::BUILT_IN);
                    let help = did_you_mean(name, known);
                    let mut d =
                        self.diag(span, format!("unknown name `{name}`"), "a number or variable was expected here");
                    d.help = help.or_else(|| {
                        Some(format!(
                            "declare it: as a parameter of the kernel, with `let {name} = ...`, or with `var {name} = ...`"
                        ))
                    });
                    self.error(d);
                }
                None
            }
        }
    }

    /// `self`: the index of this warp's member in the enclosing role.
    fn member(&mut self, span: &Span) -> Option<Expr> {
        let Some(m) = self.ctx.members else {
            let d = self
                .diag(span, "`self` stands outside a role with members", "there is no member to count here")
                .help("declare the role with a number of members, as `role math[2] = warps 4..12`, and stand inside `math:`");
            self.error(d);
            return None;
        };
        let member = |w: u32| (w - m.first) / m.size;
        let mask = self.ctx.mask;
        if mask != 0 {
            let (low, high) = (mask.trailing_zeros(), 63 - mask.leading_zeros());
            if low >= m.first && member(low) == member(high) {
                return Some(Expr::Const(member(low) as i64));
            }
        }
        let from_first = match m.first {
            0 => Expr::Env(Env::Warp),
            first => Expr::binary(Binary::Sub, Expr::Env(Env::Warp), Expr::Const(first as i64)),
        };
        Some(match m.size {
            1 => from_first,
            size => Expr::binary(Binary::Div, from_first, Expr::Const(size as i64)),
        })
    }

    fn dotted(&mut self, object: &Ident, field: &Ident) -> Option<Expr> {
        let span = object.span.start..field.span.end;
        if field.text == "valid" {
            let value = self.name(&object.text, &object.span)?;
            return self.binary(Binary::Ge, value, Expr::Const(0), &span);
        }
        let env = match (object.text.as_str(), field.text.as_str()) {
            ("cta", "m") => Env::CtaM,
            ("cta", "n") => Env::CtaN,
            ("cta", "z") => Env::CtaZ,
            ("cta", "id") => Env::CtaId,
            ("cluster", "m") => Env::ClusterM,
            ("cluster", "n") => Env::ClusterN,
            ("cluster", "id") => Env::ClusterId,
            ("grid", "size") => return Some(self.grid_size()),
            (o, f) => {
                let names = DOTTED.map(|(o, f)| format!("{o}.{f}"));
                let wrong = format!("{o}.{f}");
                let mut d = self.diag(&span, format!("unknown name `{wrong}`"), "a coordinate was expected here");
                d.help = did_you_mean(&wrong, names.iter().map(String::as_str))
                    .or_else(|| Some(format!("coordinates are {}, and `x.valid` is `x >= 0`", names.join(", "))));
                self.error(d);
                return None;
            }
        };
        Some(self.coordinate(env))
    }

    fn call(&mut self, name: &Ident, args: &[ast::Expr], span: &Span) -> Option<Expr> {
        let arity = match name.text.as_str() {
            "cdiv" | "min" | "max" => 2,
            _ => 1,
        };
        let known = ["cdiv", "min", "max", "bytes"];
        let tape = match self.names.get(&name.text) {
            Some((Meaning::Tape(t, indexed), _)) => Some((*t, *indexed)),
            _ => None,
        };
        if tape.is_none() && !known.contains(&name.text.as_str()) {
            if !self.skipped.contains(&name.text) {
                let mut d =
                    self.diag(&name.span, format!("unknown function `{}`", name.text), "a function was expected here");
                d.help = did_you_mean(&name.text, known)
                    .or_else(|| Some(format!("functions are {}, and trip counts declared `per`", known.join(", "))));
                self.error(d);
            }
            return None;
        }
        if args.len() != arity {
            let message = format!("`{}` takes {arity} argument{}, not {}", name.text, plural(arity), args.len());
            let d = self.diag(span, message, "the arguments are counted here");
            self.error(d);
            return None;
        }
        if let Some((tape, indexed)) = tape {
            if !indexed {
                let d = self
                    .diag(span, format!("`{}` has no index", name.text), "a name alone was expected")
                    .help(format!("declare it `trips {} = any per t run ...`", name.text));
                self.error(d);
                return None;
            }
            return Some(Expr::Tape(tape, Box::new(self.expr(&args[0])?)));
        }
        if name.text == "bytes" {
            return self.bytes(&args[0]);
        }
        let (a, b) = (self.expr(&args[0]), self.expr(&args[1]));
        let op = match name.text.as_str() {
            "cdiv" => Binary::CeilDiv,
            "min" => Binary::Min,
            _ => Binary::Max,
        };
        self.binary(op, a?, b?, span)
    }

    /// `bytes(a)`: the bytes of one slot.
    fn bytes(&mut self, arg: &ast::Expr) -> Option<Expr> {
        let ExprKind::Name(name) = &arg.kind else {
            let d = self.diag(&arg.span, "`bytes` takes the name of a buffer", "a buffer's name was expected");
            self.error(d);
            return None;
        };
        let meaning = self.lookup(name, &arg.span, "a buffer", |m| matches!(m, Meaning::Object(_)))?;
        let Meaning::Object(id) = meaning else { return None };
        let (object, facts) = self.object(id);
        if object.class == Class::Global {
            let d = self.diag(
                &arg.span,
                format!("`bytes` counts one slot, and `{name}` is global"),
                "a buffer on the chip was expected",
            );
            self.error(d);
            return None;
        }
        let shape = facts.shape;
        shape.map(|[r, c]| Expr::Const(self.program.objects[id as usize].bytes_of(r * c)))
    }

    /// A value that is known at load and shapes the program: its symbols become numbers everywhere.
    pub(super) fn constant(&mut self, e: &ast::Expr, what: &str) -> Option<i64> {
        self.launch_constant(e, what).map(|(value, form)| {
            self.shapes(&form);
            value
        })
    }

    /// A value that is known at load and only counts, with its expression over symbols.
    pub(super) fn launch_constant(&mut self, e: &ast::Expr, what: &str) -> Option<(i64, Expr)> {
        let form = self.expr(e)?;
        let value = self.program.launch_value(&form);
        if value.is_none() {
            let d = self.diag(&e.span, format!("{what} must be known at load"), "a constant was expected here").help(
                "use numbers, parameters and header `let`s; what depends on the warp or CTA belongs into a block",
            );
            self.error(d);
        }
        Some((value?, form))
    }

    /// Records that the symbols of an expression shape the program.
    pub(super) fn shapes(&mut self, form: &Expr) {
        form.visit(&mut |x| {
            if let Expr::Param(p) = x {
                self.shaping.insert(*p);
            }
        });
    }

    /// The number of CTAs or clusters of the grid.
    fn grid_size(&mut self) -> Expr {
        match &self.program.forms.grid {
            Some(dims) => dims.iter().fold(Expr::Const(1), |size, d| match (&size, d) {
                (Expr::Const(1), d) => d.clone(),
                (_, Expr::Const(1)) => size,
                _ => Expr::binary(Binary::Mul, size, d.clone()),
            }),
            None => Expr::Const(self.launch.unwrap_or(self.program.grid).len()),
        }
    }

    /// A value that is known at load, lies in a range, and shapes the program.
    pub(super) fn bounded(&mut self, e: &ast::Expr, what: &str, low: i64, high: i64) -> Option<i64> {
        let (v, form) = self.launch_bounded(e, what, low, high)?;
        self.shapes(&form);
        Some(v)
    }

    /// A value that is known at load, lies in a range, and only counts.
    pub(super) fn launch_bounded(&mut self, e: &ast::Expr, what: &str, low: i64, high: i64) -> Option<(i64, Expr)> {
        let (v, form) = self.launch_constant(e, what)?;
        if (low..=high).contains(&v) {
            return Some((v, form));
        }
        let want =
            if v < low { format!("at least {low} was expected") } else { format!("at most {high} was expected") };
        let d = self.diag(&e.span, format!("{what} is {v}"), want);
        self.value_error(d);
        None
    }

    /// The agent's own coordinates that an expression reads, before folding. `x ? self : 0` mentions `self` whatever
    /// `x` is, because the crew of a move must not depend on a parameter.
    pub(super) fn mentions(&self, e: &ast::Expr) -> Mentions {
        match &e.kind {
            ExprKind::Int(_) => Mentions::default(),
            ExprKind::Name(n) | ExprKind::Dotted(Ident { text: n, .. }, _) => match n.as_str() {
                "self" => Mentions { member: true, warp: false },
                "warp" => Mentions { member: false, warp: true },
                n => self.find_local(n).map_or(Mentions::default(), |l| l.mentions),
            },
            ExprKind::Call(_, args) => args.iter().map(|a| self.mentions(a)).fold(Mentions::default(), Mentions::or),
            ExprKind::Unary(_, a) => self.mentions(a),
            ExprKind::Binary(_, p) => self.mentions(&p.0).or(self.mentions(&p.1)),
            ExprKind::Cond(p) => self.mentions(&p.0).or(self.mentions(&p.1)).or(self.mentions(&p.2)),
        }
    }
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}
