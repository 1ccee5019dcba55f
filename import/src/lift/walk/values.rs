//! Arithmetic of PTX on symbolic values, one lane at a time.

use warpline_sim::ir::gcd;

use crate::ptx::Inst;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

/// Width in bits and signedness of the last type among an instruction's modifiers.
pub(crate) fn type_of(i: &Inst) -> (u32, bool) {
    i.mods.iter().rev().find_map(|m| number_type(m)).unwrap_or((32, true))
}

fn number_type(m: &str) -> Option<(u32, bool)> {
    if m == "pred" {
        return Some((1, false));
    }
    let (kind, bits) = m.split_at_checked(1)?;
    let bits: u32 = bits.parse().ok()?;
    match kind {
        "s" => Some((bits, true)),
        "u" | "b" => Some((bits, false)),
        _ => None,
    }
}

/// A constant, or the constant of a sum, as a signed number of this many bits.
pub(crate) fn fit(a: &mut Arena, t: Term, bits: u32) -> Term {
    if !(1..64).contains(&bits) {
        return t;
    }
    let (k, _) = a.parts(t);
    let wrapped = (k << (64 - bits)) >> (64 - bits);
    if wrapped == k { t } else { a.plus(t, wrapped.wrapping_sub(k)) }
}

/// A constant as an unsigned number of this many bits.
fn unsigned(a: &mut Arena, t: Term, bits: u32) -> Term {
    match a.constant(t) {
        Some(v) if bits < 64 => a.int(v & ((1i64 << bits) - 1)),
        _ => t,
    }
}

fn as_type(a: &mut Arena, t: Term, (bits, signed): (u32, bool)) -> Term {
    let t = if signed { fit(a, t, bits) } else { unsigned(a, t, bits) };
    wrapped(a, t, (bits, signed))
}

/// The largest number of highest bits that may vary in a number for which [`wrapped`] computes the wrapping.
const FEW_HIGH_BITS: u32 = 8;

/// A number of which only some of the highest bits vary, as the number after it wraps. Compilers keep `i / 2 % 2` as a
/// counter in the highest bits.
fn wrapped(a: &mut Arena, t: Term, (bits, signed): (u32, bool)) -> Term {
    let (k, parts) = a.parts(t);
    let Some(low) = parts.iter().map(|(_, c)| c.trailing_zeros()).min() else { return t };
    if low + FEW_HIGH_BITS < bits || low >= bits {
        return t;
    }
    let below = k & ((1i64 << low) - 1);
    let inner = a.sum(k >> low, parts.iter().map(|(t, c)| (*t, c >> low)).collect());
    let size = 1i64 << (bits - low);
    let half = if signed { size / 2 } else { 0 };
    let (shifted, all) = (a.plus(inner, half), a.int(size));
    let high = a.rem(shifted, all);
    let high = a.plus(high, -half);
    let high = a.scale(high, 1i64 << low);
    a.plus(high, below)
}

/// The result of an instruction that computes one number; `None` if it is not tracked.
pub(crate) fn apply(a: &mut Arena, i: &Inst, x: &[Term]) -> Option<Term> {
    let ty = type_of(i);
    let (bits, signed) = ty;
    if i.mods.iter().any(|m| matches!(m.as_str(), "f32" | "f64" | "f16" | "bf16" | "f16x2" | "bf16x2" | "cc" | "sat")) {
        return None;
    }
    let arg = |n: usize| x.get(n).copied();
    let t = match i.op.as_str() {
        "mov" | "cvta" => arg(0)?,
        "add" => a.add(arg(0)?, arg(1)?),
        "sub" => a.sub(arg(0)?, arg(1)?),
        "neg" => a.scale(arg(0)?, -1),
        "mul" | "mad" => {
            let (p, q) = (as_type(a, arg(0)?, ty), as_type(a, arg(1)?, ty));
            let product = if i.has("hi") { high(a, p, q, ty)? } else { a.mul(p, q) };
            let all = if i.op == "mad" { a.add(product, arg(2)?) } else { product };
            let wide = if i.has("wide") { bits * 2 } else { bits };
            fit(a, all, wide)
        }
        "shl" => {
            let Some(s) = a.constant(arg(1)?) else {
                return shifted(a, (arg(0)?, arg(1)?), bits);
            };
            let s = u32::try_from(s).ok()?;
            let t = if s >= bits { a.int(0) } else { a.scale(arg(0)?, 1i64.checked_shl(s)?) };
            let t = super::wraps::without_high_multiples(a, t, bits);
            super::wraps::without_high_bits(a, t, bits)
        }
        "shr" => {
            let v = as_type(a, arg(0)?, ty);
            let by = arg(1)?;
            match a.constant(by) {
                Some(s) => right(a, v, u32::try_from(s).ok()?, ty)?,
                None => a.shift_right_by(v, by, signed),
            }
        }
        "and" | "or" | "xor" => {
            let (p, q) = (arg(0)?, arg(1)?);
            let op = match (i.op.as_str(), bits) {
                ("and", 1) => Op::Both,
                ("or", 1) => Op::Either,
                ("and", _) => Op::And,
                ("or", _) => Op::Or,
                _ => Op::Xor,
            };
            a.op(op, &[p, q])
        }
        "not" if bits == 1 => a.not(arg(0)?),
        "not" => {
            let v = a.scale(arg(0)?, -1);
            a.plus(v, -1)
        }
        "min" | "max" => {
            let (p, q) = (as_type(a, arg(0)?, ty), as_type(a, arg(1)?, ty));
            let op = if i.op == "min" { Op::Min } else { Op::Max };
            let negative = |a: &Arena, t: Term| !signed && a.range(t).0 < 0;
            match (negative(a, p), negative(a, q)) {
                (false, false) => a.op(op, &[p, q]),
                // As an unsigned number, a negative one is larger than any that is not: `min(i, i - n)` wraps a counter.
                (false, true) if a.range(q).1 < 1 << 31 => unsigned_extreme(a, op, p, q),
                (true, false) if a.range(p).1 < 1 << 31 => unsigned_extreme(a, op, q, p),
                // Values of a launch are not negative where an unsigned instruction reads them.
                _ => a.op(op, &[p, q]),
            }
        }
        "div" | "rem" => {
            let (p, q) = (as_type(a, arg(0)?, ty), as_type(a, arg(1)?, ty));
            let quotient = if signed { a.op(Op::DivZero, &[p, q]) } else { a.op(Op::Div, &[p, q]) };
            if i.op == "div" {
                quotient
            } else {
                let back = a.mul(quotient, q);
                a.sub(p, back)
            }
        }
        "selp" => a.cond(arg(2)?, arg(0)?, arg(1)?),
        "bfe" => {
            let (from, n) = (a.constant(arg(1)?)? & 255, a.constant(arg(2)?)? & 255);
            if from + n > 62 {
                return None;
            }
            if signed && n > 0 {
                let v = a.constant(arg(0)?)?;
                return Some(a.int((v >> from) << (64 - n) >> (64 - n)));
            }
            let v = unsigned(a, arg(0)?, bits);
            let (below, size) = (a.int(1 << from), a.int(1 << n));
            let v = a.div(v, below);
            a.rem(v, size)
        }
        "bfi" => {
            let (from, n) = (a.constant(arg(2)?)? & 255, a.constant(arg(3)?)? & 255);
            if from + n > 62 {
                return None;
            }
            let (field, below) = (a.int(1 << n), a.int(((1i64 << n) - 1) << from));
            let put = a.rem(arg(0)?, field);
            let put = a.scale(put, 1 << from);
            let old = a.and(arg(1)?, below);
            let rest = a.sub(arg(1)?, old);
            a.add(rest, put)
        }
        "cvt" => {
            let mut types = i.mods.iter().filter_map(|m| number_type(m));
            let (to, from) = (types.next()?, types.next()?);
            let v = as_type(a, arg(0)?, from);
            if to.0 < from.0 && a.constant(v).is_none() && to.0 < 32 {
                let by = a.int(1 << to.0);
                return Some(a.rem(v, by));
            }
            let v = as_type(a, v, to);
            return Some(fit(a, v, to.0));
        }
        "shf" if i.has("l") && i.has("wrap") => {
            // The high word of (b:a) << s: a rotation where both are one.
            let (hi, s) = (a.constant(arg(1)?)?, (a.constant(arg(2)?)? & 31) as u32);
            let hi = i64::from((hi as u32) << s);
            match (a.constant(arg(0)?), s) {
                (_, 0) => a.int(hi),
                (Some(lo), _) => a.int(hi | i64::from(lo as u32 >> (32 - s))),
                _ => {
                    let lo = as_type(a, arg(0)?, (32, false));
                    let lo = right(a, lo, 32 - s, (32, false))?;
                    a.plus(lo, hi)
                }
            }
        }
        "prmt" | "popc" | "clz" | "brev" | "bfind" | "lop3" | "fns" | "abs" => number(a, i, x)?,
        _ => return None,
    };
    Some(if i.has("wide") { t } else { fit(a, t, bits.max(2)) }).map(|t| if bits == 1 { boolean(a, t) } else { t })
}

/// A shift to the left by a number of the launch: a product with a power of two. A shift of one bit stays opaque, since
/// which bit is set decides nothing that this product could tell.
fn shifted(a: &mut Arena, (number, by): (Term, Term), bits: u32) -> Option<Term> {
    if let Some(bit) = crate::lift::loops::one_by_one::collected(a, number, by, bits) {
        return Some(bit);
    }
    if a.constant(number).is_some_and(|n| n != -1) {
        return None;
    }
    let one = a.int(1);
    let power = a.op(Op::Shl, &[one, by]);
    Some(a.mul(number, power))
}

/// The smaller or larger of unsigned numbers, of which the second is negative where it wraps.
fn unsigned_extreme(a: &mut Arena, op: Op, p: Term, q: Term) -> Term {
    let (plain, fits) = (a.op(op, &[p, q]), a.ge(q));
    if op == Op::Max {
        return a.cond(fits, plain, q);
    }
    let least = a.cond(fits, plain, p);
    let zero = a.int(0);
    a.op(Op::Max, &[least, zero])
}

fn boolean(a: &mut Arena, t: Term) -> Term {
    match a.constant(t) {
        Some(v) => a.int((v != 0) as i64),
        None => t,
    }
}

/// Instructions that are evaluated on constants only.
fn number(a: &mut Arena, i: &Inst, x: &[Term]) -> Option<Term> {
    let v: Vec<u32> = x.iter().map(|t| a.constant(*t).map(|v| v as u32)).collect::<Option<_>>()?;
    let v = match (i.op.as_str(), v.as_slice()) {
        ("popc", [x]) => x.count_ones(),
        ("clz", [x]) => x.leading_zeros(),
        ("brev", [x]) => x.reverse_bits(),
        ("abs", [x]) => (*x as i32).unsigned_abs(),
        ("lop3", [p, q, r, table]) => (0..32).fold(0, |all, bit| {
            let at = |v: u32| v >> bit & 1;
            let index = at(*p) << 2 | at(*q) << 1 | at(*r);
            all | (table >> index & 1) << bit
        }),
        ("prmt", [p, q, s])
            if !i.mods.iter().any(|m| matches!(m.as_str(), "f4e" | "b4e" | "rc8" | "ecl" | "ecr" | "rc16")) =>
        {
            let bytes = (*q as u64) << 32 | *p as u64;
            (0..4).fold(0, |all, n| {
                let nibble = s >> (4 * n) & 15;
                let byte = (bytes >> (8 * (nibble & 7))) as u8;
                let byte = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
                all | (byte as u32) << (8 * n)
            })
        }
        _ => return None,
    };
    Some(a.int(v as i32 as i64))
}

fn high(a: &mut Arena, p: Term, q: Term, (bits, signed): (u32, bool)) -> Option<Term> {
    let (x, m) = match (a.constant(p), a.constant(q)) {
        (Some(x), Some(y)) if bits == 32 => {
            let v = if signed {
                (x as i32 as i64) * (y as i32 as i64)
            } else {
                ((x as u32 as u64) * (y as u32 as u64)) as i64
            };
            let v = if signed { v >> 32 } else { (v as u64 >> 32) as i64 };
            return Some(a.int(v));
        }
        (Some(x), Some(y)) if bits == 16 => return Some(a.int((x * y) >> 16)),
        (None, Some(m)) => (p, m),
        (Some(m), None) => (q, m),
        // Division by a number of the launch: its magic number is an argument.
        _ if bits == 32 && !signed => {
            let b = a.int(32);
            return Some(a.op(Op::MulHigh, &[p, q, b]));
        }
        _ => return None,
    };
    if !matches!(bits, 32 | 64) && (bits != 16 || signed) {
        return None;
    }
    // A signed product with a negative number is one with the number as unsigned, less x.
    let (m, less) = match (signed, m < 0, bits) {
        (true, true, 32) => (m + (1 << 32), true),
        (true, true, _) => return None,
        _ => (m, false),
    };
    // Some products need no shift to be a quotient.
    let factor = if bits == 64 { i128::from(m as u64) } else { i128::from(m) };
    if !less
        && a.range(x).0 >= 0
        && let Some(t) = a.magic_of(x, factor, 1 << bits)
    {
        return Some(t);
    }
    let (m, b) = (a.int(m), a.int(if signed { -(bits as i64) } else { bits as i64 }));
    let t = a.op(Op::MulHigh, &[x, m, b]);
    Some(if less { a.sub(t, x) } else { t })
}

/// A shift of a 64-bit product of an unsigned number with a magic number. No signed number is as large as this magic
/// number, so the product is an unsigned one, and its high half is that of `mul.hi.u32`.
fn unsigned_quotient(a: &mut Arena, v: Term, s: u32, ty: (u32, bool)) -> Option<Term> {
    if ty != (64, false) || !(32..63).contains(&s) || a.range(v).0 >= 0 {
        return None;
    }
    let (k, parts) = a.parts(v);
    let m = parts.iter().fold(k, |g, (_, c)| gcd(g, *c));
    let m = m >> m.trailing_zeros().min(62);
    if !(1 << 31..1 << 32).contains(&m) {
        return None;
    }
    let x = a.sum(k / m, parts.iter().map(|(t, c)| (*t, c / m)).collect());
    let (m, bits) = (a.int(m), a.int(32));
    let high = a.op(Op::MulHigh, &[x, m, bits]);
    let by = a.int(1 << (s - 32));
    Some(a.div(high, by))
}

/// A shift to the right.
fn right(a: &mut Arena, v: Term, s: u32, (bits, signed): (u32, bool)) -> Option<Term> {
    if s >= bits {
        return if signed { right(a, v, bits - 1, (bits, signed)) } else { Some(a.int(0)) };
    }
    if s == 0 {
        return Some(v);
    }
    if let Some(x) = a.constant(v) {
        return Some(a.int(if signed { x >> s } else { ((x as u64) >> s) as i64 }));
    }
    // The high half of a product with a magic number is a division.
    if let Node::Op(Op::MulHigh, args) = a.node(v).clone() {
        let (x, m, wide) = (args[0], a.constant(args[1])?, a.constant(args[2])?);
        let negative = a.range(x).0 < 0;
        // The sign of an unsigned number that a loop carries is known once the loop is solved.
        if negative && wide > 0 {
            let by = a.int(1i64.checked_shl(s).filter(|by| *by > 0)?);
            return Some(a.div(v, by));
        }
        if negative && s == bits - 1 {
            let sign = a.int(if signed { -1 } else { 1 });
            return Some(a.op(Op::IfNegative, &[x, sign]));
        }
        if negative && !signed {
            return None;
        }
        // The high half of a product of numbers below 2^31 and 2^32 has no sign.
        if bits == 32 && wide.abs() == 32 && s == bits - 1 {
            return Some(a.int(0));
        }
        let m = if wide.abs() == 64 { m as u64 as i128 } else { m as i128 };
        return a.magic_of(x, m, 1i128.checked_shl(wide.unsigned_abs() as u32 + s).filter(|p| *p > 0)?);
    }
    if let Some(q) = unsigned_quotient(a, v, s, (bits, signed)) {
        return Some(q);
    }
    // All sign bits of a number that may be negative, kept for the division that uses them.
    if signed && s == bits - 1 {
        let all = a.int(-1);
        return Some(a.op(Op::IfNegative, &[v, all]));
    }
    if !signed && let Node::Op(Op::IfNegative, args) = a.node(v).clone() {
        let mask = a.constant(args[1])?;
        let mask = if bits < 64 { mask & ((1i64 << bits) - 1) } else { mask };
        let c = a.int(((mask as u64) >> s) as i64);
        return Some(a.op(Op::IfNegative, &[args[0], c]));
    }
    // The sign bit.
    if !signed && s == bits - 1 {
        let one = a.int(1);
        return Some(a.op(Op::IfNegative, &[v, one]));
    }
    let t = a.shift_right(v, s);
    a.bound_shifted(t, (bits, signed), s);
    Some(t)
}

/// The largest distance from the largest number of a type at which a number is taken not to be reached.
const FAR_END: i64 = 1 << 16;

/// The outcome of a comparison with one of the largest numbers of a type, where no addition overflows. A compiler turns
/// `x < x + 64` into `x != 2^31 - 64`. The largest number itself can stand for "none".
pub(crate) fn unless_overflow(a: &Arena, i: &Inst, p: Term, q: Term) -> Option<bool> {
    let (bits, _) = type_of(i);
    let most = i64::MAX >> 64u32.checked_sub(bits).filter(|_| bits >= 32)?;
    let (c, x) = (a.constant(q)?, p);
    let computed = |t: Atom| matches!(t, Atom::Param(..) | Atom::Place(_) | Atom::Counter(_) | Atom::Symbol(_));
    let plain = !matches!(a.node(x), Node::Const(_) | Node::Atom(Atom::Param(..)));
    if !plain || !(most - FAR_END..most).contains(&c) || a.reads_memory(x) || a.mentions(x, |t| !computed(t)) {
        return None;
    }
    let is = |words: &[&str]| i.mods.iter().any(|m| words.contains(&m.as_str()));
    if is(&["ne", "lt", "le", "lo", "ls"]) {
        return Some(true);
    }
    is(&["eq", "gt", "ge", "hi", "hs"]).then_some(false)
}

/// Whether a term reads nothing but arguments and counters.
fn of_sizes(a: &Arena, t: Term) -> bool {
    !a.mentions(t, |x| !matches!(x, Atom::Param(..) | Atom::Symbol(_) | Atom::Counter(_))) && !a.reads_memory(t)
}

/// A comparison of `setp`.
pub(crate) fn compare(a: &mut Arena, i: &Inst, p: Term, q: Term) -> Option<Term> {
    let ty = type_of(i);
    if i.mods.iter().any(|m| matches!(m.as_str(), "f32" | "f64" | "f16" | "bf16" | "f16x2" | "bf16x2")) {
        return None;
    }
    let (p, q) = (as_type(a, p, ty), as_type(a, q, ty));
    let how = i
        .mods
        .iter()
        .find(|m| matches!(m.as_str(), "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "lo" | "ls" | "hi" | "hs"))?;
    let d = a.sub(p, q);
    // Equality compares bits.
    let d = if matches!(how.as_str(), "eq" | "ne") { fit(a, d, ty.0) } else { d };
    let below = |a: &mut Arena, d: Term, by: i64| {
        let d = a.scale(d, -1);
        let d = a.plus(d, by);
        a.ge(d)
    };
    let mut t = match how.as_str() {
        "eq" => a.eq(d),
        "ne" => {
            let t = a.eq(d);
            a.not(t)
        }
        "lt" | "lo" => below(a, d, -1),
        "le" | "ls" => below(a, d, 0),
        "gt" | "hi" => a.plus(d, -1),
        _ => d,
    };
    if matches!(how.as_str(), "gt" | "hi" | "ge" | "hs") {
        t = a.ge(t);
    }
    // An unsigned comparison of a number that may be negative, as a signed one.
    if !ty.1 && !matches!(how.as_str(), "eq" | "ne") {
        let ((pl, _), (ql, _)) = (a.range(p), a.range(q));
        match how.as_str() {
            "lt" | "lo" | "le" | "ls" if pl < 0 && ql >= 0 => {
                let at_least = a.ge(p);
                // With a number from `-c` to -1 in the place of the largest numbers: `x - 1 < -127` of a size `x` is `x > 0`.
                if ty.0 == 32 && ((1 << 32) - FAR_END..1 << 32).contains(&ql) && of_sizes(a, p) {
                    a.compares_unsigned |= pl <= ql - (1 << 32);
                    return Some(at_least);
                }
                t = a.both(at_least, t);
            }
            "gt" | "hi" | "ge" | "hs" if pl < 0 && ql >= 0 => {
                let at_least = a.ge(p);
                let below = a.not(at_least);
                t = a.either(below, t);
            }
            _ => {}
        }
    }
    Some(t)
}

/// Bytes that one thread accesses.
pub(crate) fn bytes_of(i: &Inst) -> u32 {
    let n = i.mods.iter().find_map(|m| match m.as_str() {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    });
    let bits = i.mods.iter().rev().find_map(|m| {
        let digits = m.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let packed = if m.ends_with("x2") { 32 } else { 0 };
        let kind = m.trim_end_matches(|c: char| c.is_ascii_digit());
        (matches!(kind, "b" | "u" | "s" | "f" | "bf") && !digits.is_empty())
            .then(|| digits.parse::<u32>().ok())
            .flatten()
            .or((packed > 0).then_some(packed))
    });
    n.unwrap_or(1) * bits.unwrap_or(32) / 8
}
