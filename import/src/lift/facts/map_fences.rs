//! Tensor maps in global memory that a kernel changes. `tensormap.cp_fenceproxy` copies a map there and releases it. A copy
//! by this map needs a `fence.proxy.tensormap::generic.acquire` of its address first. The words of maps are not followed. So
//! every way through the text from the release to a copy by a tensor map must have the fence.

use crate::flow::Flow;
use crate::lift::walk::shared::Shared;
use crate::ptx::{Arg, Inst};

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
    let mut seen = vec![false; flow.blocks.len()];
    let first = flow.blocks.iter().position(|b| b.first <= release && release < b.end)?;
    let mut open = vec![(first, release + 1)];
    while let Some((block, from)) = open.pop() {
        let b = &flow.blocks[block];
        match (from..b.end).find(|at| acquires(&code[*at]) || copies(&code[*at]) || changes(&code[*at])) {
            Some(at) if copies(&code[at]) => return Some(at),
            Some(_) => {}
            None => {
                let next: Vec<usize> = b.next.iter().copied().filter(|n| !seen[*n]).collect();
                next.iter().for_each(|n| seen[*n] = true);
                open.extend(next.into_iter().map(|n| (n, flow.blocks[n].first)));
            }
        }
    }
    None
}

/// The base and the offset of an address.
fn place(a: &Arg) -> Option<(&Arg, i64)> {
    if let Arg::Mem { base, offset, .. } = a { Some((&**base, *offset)) } else { None }
}
