//! Expressions of the kernel language as C expressions of type `int`.

use warpline_sim::ir::{Binary, Env, Expr, Program, Unary, VarId};

/// The C name of a variable.
pub(crate) fn variable(prog: &Program, v: VarId) -> String {
    let name: String = prog.vars[v as usize].chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("v{v}_{}", name.trim_start_matches('_'))
}

/// The expression, in parentheses where it needs them; `named` has names for parts of it.
pub(crate) fn c(prog: &Program, e: &Expr, named: &dyn Fn(&Expr) -> Option<String>) -> String {
    text(prog, e, "0", named)
}

/// `index` is the index of a trip count inside its own `run` expression.
fn text(prog: &Program, e: &Expr, index: &str, named: &dyn Fn(&Expr) -> Option<String>) -> String {
    if let Some(name) = named(e) {
        return name;
    }
    let t = |e: &Expr| text(prog, e, index, named);
    match e {
        Expr::Const(v) if *v < 0 => format!("({v})"),
        Expr::Const(v) => v.to_string(),
        Expr::Param(p) => prog.symbols[*p as usize].value.to_string(),
        Expr::Var(v) => variable(prog, *v),
        Expr::Env(env) => match env {
            Env::Warp => "warp",
            Env::CtaRank => "rank",
            Env::CtaM => "cta_m",
            Env::CtaN | Env::ClusterN => "cta_n",
            Env::CtaZ => "cta_z",
            Env::CtaId => "cta",
            Env::ClusterM => "cluster_m",
            Env::ClusterId => "cluster",
            Env::TapeIndex => return index.to_string(),
        }
        .to_string(),
        Expr::Unary(Unary::Neg, x) => format!("(-{})", t(x)),
        Expr::Unary(Unary::Not, x) => format!("!{}", t(x)),
        Expr::Binary(op, p) => {
            let (x, y) = (t(&p.0), t(&p.1));
            let infix = |sign: &str| format!("({x} {sign} {y})");
            let call = |name: &str| format!("wl::{name}({x}, {y})");
            match op {
                Binary::Add => infix("+"),
                Binary::Sub => infix("-"),
                Binary::Mul => infix("*"),
                Binary::Div => call("fdiv"),
                Binary::Rem => call("fmod"),
                Binary::CeilDiv => call("ceildiv"),
                Binary::Min => call("lesser"),
                Binary::Max => call("greater"),
                Binary::Lt => infix("<"),
                Binary::Le => infix("<="),
                Binary::Gt => infix(">"),
                Binary::Ge => infix(">="),
                Binary::Eq => infix("=="),
                Binary::Ne => infix("!="),
                Binary::And => infix("&&"),
                Binary::Or => infix("||"),
                Binary::BitOr => infix("|"),
                Binary::BitAnd => infix("&"),
                Binary::Shl => infix("<<"),
            }
        }
        Expr::If(p) => format!("({} ? {} : {})", t(&p.0), t(&p.1), t(&p.2)),
        Expr::Tape(tape, at) => {
            let at = t(at);
            text(prog, &prog.tapes[*tape as usize].run, &at, named)
        }
    }
}

/// Adds to an offset, without zeros.
pub(crate) fn plus(a: &str, b: &str) -> String {
    match (a, b) {
        ("0", b) => b.to_string(),
        (a, "0") => a.to_string(),
        _ => format!("{a} + {b}"),
    }
}

/// Multiplies by a number known at load.
pub(crate) fn times(a: &str, n: i64) -> String {
    match (a, n) {
        ("0", _) | (_, 0) => "0".to_string(),
        (a, 1) => a.to_string(),
        (a, n) => match a.parse::<i64>() {
            Ok(v) => (v * n).to_string(),
            Err(_) => format!("({a}) * {n}"),
        },
    }
}
