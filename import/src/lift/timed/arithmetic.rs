//! Instructions that only compute, by the unit that executes them.
//!
//! The assembler replaces some of them by several. Without `.ftz`, a special function of f32 is guarded against denormal
//! numbers: a comparison, and a scaling before and behind it. A division multiplies by a reciprocal, which divisions by one
//! register share. Source: `calibrate/probes/arithmetic.py` (`calibrate/data/ptxas_arithmetic.csv`), ptxas for `sm_90a`.

use warpline_sim::ir::Instructions;

use crate::lift::facts::slice::writes;
use crate::ptx::{Inst, Reg};

/// Registers whose reciprocal a warp has computed.
#[derive(Debug, Default)]
pub(crate) struct Reciprocals(Vec<Reg>);

impl Reciprocals {
    /// Whether the instruction divides by a number whose reciprocal is known: computed before, or by the assembler.
    fn divides(&mut self, i: &Inst) -> bool {
        let mut by = None;
        if i.op == "div" {
            i.arg(2).each_reg(&mut |r| by = Some(r));
        }
        let known = by.is_none_or(|r| self.0.contains(&r));
        self.0.extend(by.filter(|_| !known));
        writes(i, &mut |w| self.0.retain(|r| *r != w));
        known
    }

    /// Units that execute one warp instruction, the next one of the warp.
    pub(crate) fn work(&mut self, i: &Inst) -> Instructions {
        work(i, self.divides(i))
    }
}

/// Units that execute one warp instruction: integer, floating-point, special. `known` says whether the reciprocal of a
/// division is there.
fn work(i: &Inst, known: bool) -> Instructions {
    let double = u32::from(i.mods.iter().any(|m| matches!(m.as_str(), "s64" | "u64" | "b64" | "f64")));
    let float = i.mods.last().is_some_and(|m| m.starts_with('f') || m.starts_with("bf"));
    let guarded = !i.has("ftz") && i.mods.last().is_some_and(|m| m == "f32");
    let (int, fma, special) = match i.op.as_str() {
        "ld" if i.has("param") => (0, 0, 0),
        // Copies of registers and changes of width that the assembler removes.
        "mov" | "cvta" | "ret" | "exit" | "pragma" | "nop" => (0, 0, 0),
        "cvt" if !i.mods.iter().any(|m| m.contains('f')) => (0, 0, 0),
        "rcp" if i.has("approx") && guarded => (4, 2, 1),
        "ex2" | "lg2" | "rsqrt" => {
            if guarded {
                (1, 2, 1)
            } else {
                (0, 0, 1)
            }
        }
        "sqrt" if i.has("approx") => {
            if guarded {
                (1, 2, 1)
            } else {
                (0, 0, 1)
            }
        }
        "sin" | "cos" => (0, 1, 1),
        "tanh" | "rcp" if i.has("approx") => (0, 0, 1),
        "sqrt" | "rcp" => (0, 6, 1),
        "div" if float && i.has("rn") => (0, 8, 1),
        "div" if float => {
            let scaled = if i.has("full") && guarded { 3 } else { 2 };
            if known { (0, scaled, 0) } else { (scaled, scaled + 1, 1) }
        }
        "div" | "rem" => (12 * (1 + double), 0, 2),
        "add" | "sub" | "mul" | "fma" | "mad" if float => (0, 1, 0),
        "mma" | "wgmma" | "tcgen05" | "ldmatrix" | "stmatrix" | "cp" | "ld" | "ldu" | "st" | "red" | "atom" | "bar"
        | "barrier" | "mbarrier" | "fence" | "membar" | "elect" | "setmaxnreg" | "griddepcontrol" | "trap" => (0, 0, 0),
        _ => (1 + double, 0, 0),
    };
    Instructions { int, fma, special, chain: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integer, floating-point and special instructions of these, together.
    fn units(body: &str) -> [u32; 3] {
        let text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {{\n.reg .b32 %r<9>;\n{body}\nret;\n}}"
        );
        let module = crate::ptx::read(&text).expect("a small kernel");
        let mut known = Reciprocals::default();
        let all = module.entries[0].code.iter().map(|i| known.work(i));
        all.fold([0; 3], |[int, fma, special], w| [int + w.int, fma + w.fma, special + w.special])
    }

    #[test]
    fn special_functions_without_ftz_are_guarded_against_denormal_numbers() {
        assert_eq!(units("ex2.approx.ftz.f32 %r1, %r2;"), [0, 0, 1]);
        assert_eq!(units("ex2.approx.f32 %r1, %r2;"), [1, 2, 1]);
        assert_eq!(units("tanh.approx.f32 %r1, %r2;"), [0, 0, 1]);
    }

    #[test]
    fn divisions_by_one_register_share_its_reciprocal_until_it_is_written() {
        let twice = "div.full.f32 %r1, %r2, %r3;\ndiv.full.f32 %r4, %r5, %r3;";
        assert_eq!(units(twice), [3, 7, 1]);
        assert_eq!(
            units("div.full.f32 %r1, %r2, %r3;\nadd.f32 %r3, %r3, %r1;\ndiv.full.f32 %r4, %r5, %r3;"),
            [6, 9, 2]
        );
        // The assembler knows the reciprocal of a constant.
        assert_eq!(units("div.full.f32 %r1, %r2, 0f40400000;"), [0, 3, 0]);
    }
}
