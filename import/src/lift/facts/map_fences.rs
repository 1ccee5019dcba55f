//! Tensor maps in global memory that a kernel changes. `tensormap.cp_fenceproxy` copies a map there and releases it. A copy
//! by this map needs a `fence.proxy.tensormap::generic.acquire` of its address first. The words of maps are not followed. So
//! every way through the text from the release to a copy by a tensor map must have the fence. A branch around the release
//! says how a later branch by the same comparison goes on, where nothing changes the registers that both compare.

use std::collections::BTreeSet;

use crate::flow::{BlockId, Ending, Flow, ending};
use crate::lift::walk::shared::Shared;
use crate::ptx::{Arg, Inst, Reg};

use super::slice::writes;

/// Forbids a proof of a kernel that copies by a tensor map without a fence behind the map's release.
pub(crate) fn checked(s: &mut Shared<'_>) {
    let code = &s.entry.code;
    if let Some((release, copy)) = missing(code, s.flow) {
        let (release, copy) = (code[release].line, code[copy].line);
        s.leaves_open(format!(
            "no `fence.proxy.tensormap::generic.acquire` is between the change of a tensor map at line {release} and the copy at line {copy}"
        ));
    }
}

/// A release, and a copy by a tensor map that some way reaches without the fence: their instructions.
fn missing(code: &[Inst], flow: &Flow) -> Option<(usize, usize)> {
    (0..code.len()).filter(|at| is_release(&code[*at])).find_map(|at| unfenced(code, flow, at).map(|copy| (at, copy)))
}

fn is_release(i: &Inst) -> bool {
    i.op == "tensormap" && i.has("cp_fenceproxy") && i.has("global")
}

/// The first copy by a tensor map that a way from a release reaches before the fence of its address.
fn unfenced(code: &[Inst], flow: &Flow, release: usize) -> Option<usize> {
    let address = place(code[release].args.first()?)?;
    let acquires = |i: &Inst| {
        i.op == "fence"
            && i.has("tensormap::generic")
            && i.has("acquire")
            && i.args.first().and_then(place) == Some(address)
    };
    let copies = |i: &Inst| i.op == "cp" && i.has("bulk") && i.has("tensor");
    // The register has another value from here on.
    let changes = |i: &Inst| {
        let mut changed = false;
        writes(i, &mut |r| changed |= *address.0 == Arg::Reg(r));
        changed
    };
    let first = flow.block_at(release);
    let known = around(code, flow, first);
    let mut seen = BTreeSet::new();
    let mut open = vec![(first, release + 1, known)];
    while let Some((block, from, mut known)) = open.pop() {
        let b = &flow.blocks[block];
        let end = (from..b.end).find(|at| acquires(&code[*at]) || copies(&code[*at]) || changes(&code[*at]));
        match end {
            Some(at) if copies(&code[at]) => return Some(at),
            Some(_) => continue,
            None => {}
        }
        known.retain(|k| !(from..b.end).any(|at| changed_by(&code[at], k.what)));
        let outcome = guard(code, flow, block).and_then(|(p, _)| holds(code, (b.first, b.end - 1), p, &known));
        let follows = |n: &BlockId| outcome.is_none_or(|holds| side(code, flow, block, holds) == Some(*n));
        for n in b.next.iter().copied().filter(follows) {
            let held: Vec<(usize, bool)> = known.iter().map(|k| (k.branch, k.holds)).collect();
            if seen.insert((n, held)) {
                open.push((n, flow.blocks[n].first, known.clone()));
            }
        }
    }
    None
}

/// What a branch tells.
#[derive(Clone, Copy)]
enum What<'a> {
    /// A predicate.
    Register(Reg),
    /// A comparison of registers and numbers.
    Comparison(&'a Inst),
}

/// An outcome that is known behind a branch.
#[derive(Clone, Copy)]
struct Known<'a> {
    branch: usize,
    what: What<'a>,
    holds: bool,
}

/// Whether an instruction writes what an outcome depends on.
fn changed_by(i: &Inst, what: What<'_>) -> bool {
    let mut any = false;
    writes(i, &mut |r| match what {
        What::Register(p) => any |= r == p,
        What::Comparison(c) => c.args[1..].iter().for_each(|a| a.each_reg(&mut |x| any |= x == r)),
    });
    any
}

/// The predicate of the branch at the end of a block, and whether the branch is taken where the predicate is false.
fn guard(code: &[Inst], flow: &Flow, block: BlockId) -> Option<(Reg, bool)> {
    let b = &flow.blocks[block];
    let branch = b.end.checked_sub(1).filter(|at| *at >= b.first && ending(&code[*at]) == Ending::Branch)?;
    code[branch].guard
}

/// The instruction of a block that sets a predicate last.
fn set_by(code: &[Inst], (first, end): (usize, usize), p: Reg) -> Option<usize> {
    (first..end).rfind(|at| changed_by(&code[*at], What::Register(p)))
}

/// The comparison that gives a predicate its value in a part of a block, if nothing changes its operands afterwards.
fn comparison(code: &[Inst], (first, end): (usize, usize), p: Reg) -> Option<&Inst> {
    let at = set_by(code, (first, end), p)?;
    let c = &code[at];
    let plain = c.op == "setp" && c.guard.is_none() && c.args.len() == 3 && *c.arg(0) == Arg::Reg(p);
    (plain && !(at + 1..end).any(|at| changed_by(&code[at], What::Comparison(c)))).then_some(c)
}

/// The value of a predicate behind a part of a block, by outcomes that hold in all of the part.
fn holds(code: &[Inst], (first, end): (usize, usize), p: Reg, known: &[Known<'_>]) -> Option<bool> {
    let found = |f: &dyn Fn(What<'_>) -> bool| known.iter().find(|k| f(k.what)).map(|k| k.holds);
    let Some(at) = set_by(code, (first, end), p) else {
        return found(&|w| matches!(w, What::Register(r) if r == p));
    };
    let i = &code[at];
    let of = |n: usize| match i.arg(n) {
        Arg::Reg(r) => holds(code, (first, at), *r, known),
        _ => None,
    };
    match i.op.as_str() {
        _ if i.guard.is_some() => None,
        "setp" => {
            let c = comparison(code, (first, end), p)?;
            found(&|w| matches!(w, What::Comparison(k) if k.mods == c.mods && k.args[1..] == c.args[1..]))
        }
        "not" => of(1).map(|x| !x),
        "or" => match (of(1), of(2)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (x, y) => x.zip(y).map(|_| false),
        },
        "and" => match (of(1), of(2)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (x, y) => x.zip(y).map(|_| true),
        },
        _ => None,
    }
}

/// The block behind a branch where its predicate has a value.
fn side(code: &[Inst], flow: &Flow, block: BlockId, holds: bool) -> Option<BlockId> {
    let (_, not) = guard(code, flow, block)?;
    flow.blocks[block].next.get(usize::from(holds == not)).copied()
}

/// The outcomes of the branches around a block that nothing inside of these branches changes.
fn around<'a>(code: &'a [Inst], flow: &Flow, inside: BlockId) -> Vec<Known<'a>> {
    let mut found = Vec::new();
    for (block, b) in flow.blocks.iter().enumerate() {
        let (Some((p, _)), [taken, falls]) = (guard(code, flow, block), b.next.as_slice()) else { continue };
        let compared = comparison(code, (b.first, b.end - 1), p).map(What::Comparison);
        for holds in [false, true].into_iter().filter(|_| taken != falls) {
            let Some(to) = side(code, flow, block, holds).filter(|to| flow.dominates(*to, inside)) else { continue };
            let only = flow.blocks.iter().flat_map(|b| &b.next).filter(|n| **n == to).count() == 1;
            let within = || flow.blocks.iter().enumerate().filter(|(b, _)| flow.dominates(to, *b)).map(|(_, b)| b);
            for what in [Some(What::Register(p)), compared].into_iter().flatten().filter(|_| only) {
                if !within().any(|b| code[b.first..b.end].iter().any(|i| changed_by(i, what))) {
                    found.push(Known { branch: b.end, what, holds });
                }
            }
        }
    }
    found
}

/// The base and the offset of an address.
fn place(a: &Arg) -> Option<(&Arg, i64)> {
    if let Arg::Mem { base, offset, .. } = a { Some((&**base, *offset)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx;

    /// A warp changes a map where `%r1` is another number than before, and fences the map under the same condition.
    const TEXT: &str = "\
.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 k_param_0) .reqntid 32
{
	.reg .pred %p<6>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	ld.param.b64 %rd1, [k_param_0];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ctaid.y;
	mov.u32 %r3, %ctaid.z;
	setp.eq.b32 %p1, %r1, %r2;
	@%p1 bra $A;
	setp.ne.b32 %p2, %r3, 0;
	@%p2 bra $A;
	tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r4], 128;
$A:
	setp.ne.b32 %p3, %r3, 0;
	or.pred %p4, %p3, %p1;
	@%p4 bra $B;
	fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
$B:
	cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd1, {%r1}], [%r4];
	ret;
}
";

    fn is_missing(text: &str) -> bool {
        let module = ptx::read(text).expect("a kernel");
        let entry = &module.entries[0];
        missing(&entry.code, &Flow::of(entry).expect("its blocks")).is_some()
    }

    #[test]
    fn a_fence_behind_the_condition_of_the_change_is_one() {
        assert!(!is_missing(TEXT));
        let compared = TEXT.replace("or.pred %p4, %p3, %p1", "setp.eq.b32 %p4, %r1, %r2");
        assert!(!is_missing(&compared));
    }

    #[test]
    fn a_fence_behind_another_condition_is_none() {
        let changes = [
            ("or.pred %p4, %p3, %p1", "or.pred %p4, %p3, %p5"),
            ("or.pred %p4, %p3, %p1", "and.pred %p4, %p3, %p1;\n\tnot.pred %p4, %p4"),
            ("or.pred %p4, %p3, %p1", "setp.eq.b32 %p4, %r1, %r3"),
            ("or.pred %p4, %p3, %p1", "setp.ne.b32 %p4, %r1, %r2"),
            ("@%p4 bra $B", "@!%p4 bra $B"),
            ("$A:\n", "$A:\n\tmov.u32 %r3, %r2;\n"),
            ("$A:\n", "$A:\n\tsetp.eq.b32 %p1, %r3, %r2;\n"),
            ("\tfence.proxy", "\t// fence.proxy"),
        ];
        for (old, new) in changes {
            assert!(TEXT.contains(old));
            assert!(is_missing(&TEXT.replace(old, new)), "{new}");
        }
    }
}
