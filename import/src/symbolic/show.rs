//! Terms as text, for explanations and errors: written as the kernel language writes expressions.

use super::{Arena, Atom, NO_LOOP, Node, Op, Place, Term};

/// Largest term that is written out.
const LARGEST: u64 = 2000;

impl Arena {
    /// A term as text.
    pub fn show(&self, t: Term) -> String {
        if self.sizes[t as usize] > LARGEST {
            return "a long expression".into();
        }
        match self.node(t) {
            Node::Const(v) => v.to_string(),
            Node::Atom(a) => atom(*a),
            Node::Sum(k, parts) => format!("({})", self.shown_sum(*k, parts)),
            Node::Op(op, args) => self.shown_operator(*op, args),
            Node::Table(i, first, cycle) => format!("{first:?}{cycle:?}[{}]", self.show(*i)),
        }
    }

    /// A term that nothing surrounds, without brackets.
    pub fn bare(&self, t: Term) -> String {
        match self.node(t) {
            Node::Sum(k, parts) => self.shown_sum(*k, parts),
            Node::Op(Op::Ge, args) => self.not_negative(args[0]),
            Node::Op(Op::Eq, args) => self.is_zero(args[0]),
            _ => self.show(t),
        }
    }

    /// A sum without brackets: the parts that are added come first.
    fn shown_sum(&self, k: i64, parts: &[(Term, i64)]) -> String {
        let (plus, minus): (Vec<(Term, i64)>, Vec<_>) = parts.iter().copied().partition(|(_, c)| *c > 0);
        let mut s = String::new();
        let mut add = |negative: bool, text: String| match (s.is_empty(), negative) {
            (true, false) => s += &text,
            (true, true) => s += &format!("-{text}"),
            (false, false) => s += &format!(" + {text}"),
            (false, true) => s += &format!(" - {text}"),
        };
        plus.into_iter().chain(minus).for_each(|part| add(part.1 < 0, self.multiple(part)));
        if k != 0 || parts.is_empty() {
            add(k < 0, k.unsigned_abs().to_string());
        }
        s
    }

    /// A part of a sum, without its sign.
    fn multiple(&self, (t, c): (Term, i64)) -> String {
        if c.unsigned_abs() == 1 { self.show(t) } else { format!("{} * {}", c.unsigned_abs(), self.show(t)) }
    }

    fn shown_operator(&self, op: Op, args: &[Term]) -> String {
        let infix = |word: &str| format!("({} {word} {})", self.show(args[0]), self.show(args[1]));
        let listed = |name: &str| {
            let args: Vec<String> = args.iter().map(|t| self.bare(*t)).collect();
            format!("{name}({})", args.join(", "))
        };
        match op {
            Op::Div => self.ceiling(args).unwrap_or_else(|| infix("/")),
            Op::Rem => infix("%"),
            Op::DivZero => format!("trunc({} / {})", self.show(args[0]), self.show(args[1])),
            Op::Mul => infix("*"),
            Op::And => infix("&"),
            Op::Or => infix("|"),
            Op::Xor => infix("^"),
            Op::Shl => infix("<<"),
            Op::Both => infix("and"),
            Op::Either => infix("or"),
            Op::Min => listed("min"),
            Op::Max => listed("max"),
            Op::Not => format!("not {}", self.show(args[0])),
            Op::Eq => format!("({})", self.is_zero(args[0])),
            Op::Ge => format!("({})", self.not_negative(args[0])),
            Op::If => format!("({} ? {} : {})", self.show(args[0]), self.show(args[1]), self.show(args[2])),
            Op::Load => format!("memory[{}]", self.bare(args[0])),
            Op::Trips => format!("iterations while {}", self.bare(args[0])),
            Op::HowOften => format!("iterations of {} with {}", self.show(args[1]), self.show(args[0])),
            Op::IfNegative => listed("if_negative"),
            Op::MulHigh => listed("mul_high"),
        }
    }

    /// `cdiv(x, d)` for `(x + d - 1) / d`.
    fn ceiling(&self, args: &[Term]) -> Option<String> {
        let by = self.constant(args[1]).filter(|d| *d > 1)?;
        let Node::Sum(k, parts) = self.node(args[0]) else { return None };
        (*k == by - 1).then(|| format!("cdiv({}, {by})", self.shown_sum(0, parts)))
    }

    /// `a >= b` or `a > b` for `a - b >= 0`.
    fn not_negative(&self, t: Term) -> String {
        let Node::Sum(k, parts) = self.node(t) else { return format!("{} >= 0", self.show(t)) };
        let (k, word) = if *k == -1 { (0, ">") } else { (*k, ">=") };
        self.compared(k, parts, word)
    }

    /// `a == b` for `a - b == 0`.
    fn is_zero(&self, t: Term) -> String {
        match self.node(t) {
            Node::Sum(k, parts) => self.compared(*k, parts, "=="),
            _ => format!("{} == 0", self.show(t)),
        }
    }

    /// A sum compared with zero, with what is subtracted on the right.
    fn compared(&self, k: i64, parts: &[(Term, i64)], word: &str) -> String {
        let side = |sign: i64| -> String {
            let parts = parts.iter().filter(|(_, c)| c.signum() == sign).map(|(t, c)| (*t, c.saturating_abs()));
            let constant = if k.signum() == sign { k.saturating_abs() } else { 0 };
            self.shown_sum(constant, &parts.collect::<Vec<_>>())
        };
        format!("{} {word} {}", side(1), side(-1))
    }
}

/// An atom as text.
fn atom(a: Atom) -> String {
    let axis = |d: u8| ["x", "y", "z"].get(usize::from(d)).copied().unwrap_or("?");
    match a {
        Atom::Param(p, 0) => format!("arg{p}"),
        Atom::Param(p, o) => format!("arg{p}+{o}"),
        Atom::Counter(NO_LOOP) => "i".into(),
        Atom::Counter(h) => format!("i{h}"),
        Atom::Var(v) => format!("v{v}"),
        Atom::Symbol(n) => format!("s{n}"),
        Atom::Data(n) => format!("d{n}"),
        Atom::Opaque(n) => format!("?{n}"),
        Atom::Carried(_, r, _) => format!("carried{r}"),
        Atom::Place(Place::Cta(d)) => format!("cta.{}", axis(d)),
        Atom::Place(Place::Ctas(d)) => format!("grid.{}", axis(d)),
        Atom::Place(Place::Cluster(d)) => format!("cluster.{}", axis(d)),
        Atom::Place(Place::Clusters(d)) => format!("clusters.{}", axis(d)),
    }
}
