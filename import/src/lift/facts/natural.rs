//! Registers that are never negative: those that all instructions make of numbers that are not negative.
//!
//! Such as a count of hits, `n += hit ? 1 : 0`: its values are data, and a word of a list that it indexes is not in front of
//! the list.

use crate::lift::tree::Val;
use crate::lift::walk::Walk;
use crate::lift::walk::values::{bytes_of, type_of};
use crate::ptx::{Arg, Entry, Inst, Reg};
use crate::symbolic::Atom;

use super::slice::writes;

/// Whether each register is never negative, if no sum overflows.
pub(crate) fn registers(entry: &Entry) -> Vec<bool> {
    let mut natural = vec![true; entry.regs.len()];
    loop {
        let mut changed = false;
        for i in &entry.code {
            if !is_natural(i, &natural) {
                writes(i, &mut |r| changed |= std::mem::replace(&mut natural[r as usize], false));
            }
        }
        if !changed {
            return natural;
        }
    }
}

/// Parameters of 32 bits of which the code takes a signed quotient that rounds up: sizes, which are not negative. The code
/// compares one with 0 and divides it, or adds `2^k - 1` and divides the sum by `2^k`. Each is a parameter and an offset in
/// it, with the line.
pub(crate) fn sizes(entry: &Entry) -> Vec<(u16, u32, u32)> {
    let code = &entry.code;
    let sign =
        |r: &Arg| code.iter().find(|i| i.op == "shr" && i.has("s32") && i.arg(1) == r && *i.arg(2) == Arg::Int(31));
    let mut found = Vec::new();
    for i in code.iter().filter(|i| i.op == "ld" && i.has("param")) {
        let registers = match i.arg(0) {
            Arg::List(all) => all.as_slice(),
            _ => i.args.get(..1).unwrap_or_default(),
        };
        let Some((parameter, offset)) = parameter(entry, i.arg(1), 0) else { continue };
        if bytes_of(i) as usize != 4 * registers.len() {
            continue;
        }
        for (n, r) in registers.iter().enumerate() {
            let compared = |i: &&Inst| {
                i.op == "setp"
                    && i.has("s32")
                    && i.arg(1) == r
                    && (i.has("gt") && *i.arg(2) == Arg::Int(-1) || i.has("lt") && *i.arg(2) == Arg::Int(0))
            };
            let rounded = |i: &&Inst| {
                let up = |v: &Arg| matches!(v, Arg::Int(v) if (1..1 << 16).contains(v) && v & (v + 1) == 0);
                i.op == "add" && i.has("s32") && i.arg(1) == r && up(i.arg(2)) && sign(i.arg(0)).is_some()
            };
            // A number with a special negative value, such as a window of -1 for none, is no size.
            let special = |i: &Inst| i.op == "setp" && i.arg(1) == r && matches!(i.arg(2), Arg::Int(..0));
            let rounds = || code.iter().find(rounded).filter(|_| !code.iter().any(special));
            let first = sign(r).and_then(|_| code.iter().find(compared)).or_else(rounds);
            let Ok(at) = u32::try_from(offset + 4 * n as i64) else { continue };
            found.extend(first.map(|first| (parameter, at, first.line)));
        }
    }
    found
}

/// The largest number of instructions that make the address of a parameter.
const MOST_STEPS: usize = 4;

/// The parameter and the offset in it that an address names, also by a register that is written once.
fn parameter(entry: &Entry, a: &Arg, steps: usize) -> Option<(u16, i64)> {
    let (base, offset) = match a {
        Arg::Mem { base, offset, .. } => (&**base, *offset),
        other => (other, 0),
    };
    match base {
        Arg::Name(name) => {
            let n = entry.params.iter().position(|p| p.name == *name)?;
            Some((n.try_into().ok()?, offset))
        }
        Arg::Reg(r) if steps < MOST_STEPS => {
            let mut by = entry.code.iter().filter(|i| {
                let mut found = false;
                writes(i, &mut |x| found |= x == *r);
                found
            });
            let i = by.next().filter(|_| by.next().is_none())?;
            let more = match (i.op.as_str(), i.arg(2)) {
                ("mov" | "cvta", _) => 0,
                ("add", Arg::Int(v)) => *v,
                _ => return None,
            };
            let (n, at) = parameter(entry, i.arg(1), steps + 1)?;
            Some((n, at + more + offset))
        }
        _ => None,
    }
}

/// Whether the results of an instruction are not negative, where `known` registers are not.
fn is_natural(i: &Inst, known: &[bool]) -> bool {
    let of = |n: usize| match i.arg(n) {
        Arg::Reg(r) => known[*r as usize],
        Arg::Int(v) => (0..1 << 31).contains(v),
        Arg::Name(n) => matches!(n.as_str(), "%tid.x" | "%tid.y" | "%tid.z" | "%laneid"),
        _ => false,
    };
    if i.op == "shfl" {
        return of(1);
    }
    if !matches!(i.arg(0), Arg::Reg(_)) || i.mods.iter().any(|m| m.starts_with('f') || m.starts_with("bf")) {
        return false;
    }
    match i.op.as_str() {
        "mov" => of(1),
        "cvt" => {
            of(1) && ["u64.u32", "s64.s32", "s64.u32", "u32.u16", "u32.u8", "s32.u8"].contains(&&*i.mods.join("."))
        }
        "selp" | "max" | "min" | "add" | "or" => of(1) && of(2),
        "and" => of(1) || of(2),
        "shr" => of(1) || !type_of(i).1 && matches!(i.arg(2), Arg::Int(1..)),
        "popc" | "clz" => true,
        "setp" => true,
        "ld" => i.has("u8") || i.has("u16") || i.has("b8") && bytes_of(i) == 1,
        _ => false,
    }
}

impl Walk<'_, '_> {
    /// A value of a register that is not followed, with the bound that all its values have.
    pub(crate) fn unknown_of(&mut self, r: Reg, v: Val) -> Val {
        if !self.s.natural[r as usize] {
            return v;
        }
        for lane in 0..if matches!(v, Val::Uni(_)) { 1 } else { 32 } {
            let mut number = None;
            self.s.arena.each_atom(v.at(lane), &mut |a| {
                if let Atom::Opaque(n) = a {
                    number = Some(n);
                }
            });
            if let Some(n) = number {
                self.s.arena.bound_opaque(n);
            }
        }
        v
    }
}

#[cfg(test)]
mod tests {
    use super::sizes;
    use crate::ptx::read;

    fn of(body: &str) -> Vec<(u16, u32)> {
        let text = format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .b64 p, .param .b32 q[4])\n{{\n\
             \t.reg .pred %p<4>;\n\t.reg .b32 %r<8>;\n\tld.param.v2.b32 {{%r1, %r2}}, [q+8];\n{body}\tret;\n}}\n"
        );
        let module = read(&text).expect("PTX");
        sizes(&module.entries[0]).into_iter().map(|(parameter, offset, _)| (parameter, offset)).collect()
    }

    #[test]
    fn a_number_that_a_signed_quotient_rounds_up_is_a_size() {
        let rounds = "\tadd.s32 %r3, %r2, 127;\n\tshr.s32 %r4, %r3, 31;\n\tshr.u32 %r5, %r4, 25;\n";
        assert_eq!(of(rounds), [(1, 12)]);
        // Another number is none of a quotient that rounds up, and a number may be negative where the text asks for that.
        assert_eq!(of(&rounds.replace("127", "126")), []);
        assert_eq!(of(&format!("{rounds}\tsetp.lt.s32 %p1, %r2, -1;\n")), []);
    }
}
