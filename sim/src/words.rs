//! The vocabulary that displays share: words for work and stalls, and numbers as people read them.

use crate::ir::{Instr, Op, Program};
use crate::timeline::{Engine, SpanKind, Stall, Work};

/// The word for a class of work.
pub const fn work(w: Work) -> &'static str {
    w.name()
}

/// The words for a class of work in a legend.
pub fn work_long(w: Work) -> &'static str {
    match w {
        Work::Load => "load from global",
        Work::Shared => "shared access",
        Work::Mma => "matrix (mma)",
        Work::Alu => "vector (alu)",
        Work::Store => "store to global",
        Work::Sync => "sync issue",
        Work::Control => "control",
    }
}

/// The word for the target of a stall.
pub const fn stall(s: Stall) -> &'static str {
    s.word()
}

/// The words for the target of a stall in a legend.
pub fn stall_long(s: Stall) -> &'static str {
    s.name()
}

/// The words for a wait at a statement, with the name of its barrier or its limit of open groups: `mbarrier full`,
/// `group cp <= 1`. The site is an index into the program's sites.
pub fn wait(program: &Program, site: u32, s: Stall) -> String {
    let target = |instr: &Instr| {
        let Instr::Op { op, .. } = instr else { return None };
        match (s, op) {
            (Stall::Mbarrier, Op::MbarWait { bar, .. }) => Some(program.mbars.get(usize::from(bar.bar))?.name.clone()),
            (Stall::Named, Op::Named { bar, .. }) => Some(program.named.get(usize::from(*bar))?.name.clone()),
            (Stall::Group | Stall::Counter, Op::Wait(queue, n)) => {
                Some(format!("{} <= {}", queue.name(), n.constant()?))
            }
            _ => None,
        }
    };
    let here = program.code.iter().zip(&program.at).filter(|(_, at)| **at == site);
    // The instructions of one statement may wait for different things, as in an unrolled loop.
    let mut targets = here.map(|(instr, _)| target(instr));
    match targets.next().flatten() {
        Some(name) if targets.all(|other| other.as_ref() == Some(&name)) => format!("{} {name}", s.word()),
        _ => stall_long(s).to_string(),
    }
}

/// The word for the content of a span.
pub const fn what(w: SpanKind) -> &'static str {
    match w {
        SpanKind::Work(w) => work(w),
        SpanKind::Stall(s) => stall(s),
        SpanKind::Hold { filling: true } => "filling",
        SpanKind::Hold { filling: false } => "hold",
    }
}

/// The words for an engine.
pub fn engine(e: Engine) -> &'static str {
    match e {
        Engine::Loads => "loads",
        Engine::Copy => "copy engine",
        Engine::Tensor => "tensor pipe",
    }
}

/// A whole number with separators between thousands: `4,194,304`.
pub fn count(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::from(if n < 0 { "-" } else { "" });
    for (i, d) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(d);
    }
    text
}

/// A number with at most one decimal, and none from 10,000 on: cycles and rates in text.
pub fn plain(x: f64) -> String {
    if !x.is_finite() || x.abs() >= 9e15 {
        return format!("{x:e}");
    }
    if x.abs() >= 1e4 {
        return count(x.round() as i64);
    }
    let tenths = (x * 10.0).round();
    let (whole, tenth) = ((tenths / 10.0).trunc(), (tenths % 10.0).abs() as i64);
    if tenth == 0 { count(whole as i64) } else { format!("{}.{tenth}", count(whole as i64)) }
}

/// A number without separators, as checks of claims state numbers. A fraction has at most seven significant digits.
pub fn ungrouped(x: f64) -> String {
    if x.fract() == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let decimals = (6.0 - x.abs().log10().floor()).clamp(0.0, 17.0) as usize;
    let text = format!("{x:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// A number with at least three significant digits: microseconds and rates.
pub fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => plain(x),
        a if a >= 10.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// A number of any size: [`plain`] where it is whole, else [`short`].
pub fn number(x: f64) -> String {
    if x.fract() == 0.0 { plain(x) } else { short(x) }
}

/// A fraction in percent, without the sign: `41.2`.
pub fn percent(fraction: f64) -> String {
    format!("{:.1}", fraction * 100.0)
}

/// Bytes with a decimal unit (`24.6 kB`), as bandwidths use them.
pub fn bytes(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.2} GB", n / 1e9),
        n if n >= 1e6 => format!("{:.2} MB", n / 1e6),
        n if n >= 1e4 => format!("{:.1} kB", n / 1e3),
        n => format!("{} bytes", plain(n)),
    }
}

/// A count and its noun: `1 warp`, `3 warps`.
pub fn of(n: i64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", count(n)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(count(0), "0");
        assert_eq!(count(-1234567), "-1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(plain(10.5), "10.5");
        assert_eq!(plain(1999.96), "2,000");
        assert_eq!(plain(16.0), "16");
        assert_eq!(plain(28817967.1), "28,817,967");
        assert_eq!(ungrouped(18258.850968393537), "18258.85");
        assert_eq!(ungrouped(0.465832130239), "0.4658321");
        assert_eq!(ungrouped(4352.0), "4352");
        assert_eq!(short(1.2345), "1.234");
        assert_eq!(short(782.44), "782.4");
        assert_eq!(percent(0.41234), "41.2");
        assert_eq!(bytes(24576.0), "24.6 kB");
        assert_eq!(of(1, "CTA"), "1 CTA");
    }
}
