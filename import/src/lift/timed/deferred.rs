//! Special functions that the assembler issues behind stores to shared memory.
//!
//! Between a product and the next, attention of one stage computes exponentials, loads a tile to registers and stores it to
//! shared memory. The PTX has the exponentials first. ptxas stores first: the fence and the barrier behind the stores take
//! longer than arithmetic that no store needs. So a warp waits for its loads before the exponentials, and not behind them.
//! Source: the machine code of 25 kernels of attention with one stage that Triton compiled for `sm_90a`. In each of them,
//! one to eight of 34 or 66 exponentials are before the last store, and all maxima.

use warpline_sim::ir::Instructions;

use crate::lift::tree::{Effect, Fence, Global, GlobalAccess, Kind, Node, Stream, Touch};

/// A warp's nodes, with special functions behind the stores that need none of them.
pub(crate) fn deferred(list: Vec<Node>) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::new();
    let mut rest = list.into_iter().map(inner).collect::<std::collections::VecDeque<Node>>();
    while let Some(n) = rest.pop_front() {
        let Some((lanes, first, second)) = parts(&n, rest.front()) else {
            out.push(n);
            continue;
        };
        let Some(between) = rest.pop_front() else { break };
        let Some(barrier) = barrier_behind_stores(rest.make_contiguous()) else {
            out.push(n);
            continue;
        };
        let op = |e: Effect, n: &Node| Node { kind: Kind::Op(lanes, e), ..n.clone() };
        let mut stores: Vec<Node> = rest.drain(..barrier).collect();
        let mut loads = stores.iter().take_while(|n| is_load(n) || is_arithmetic(n)).count();
        let (before, beside) = beside_loads(first);
        if before != Instructions::default() {
            out.push(op(Effect::Work(before), &n));
            out.push(op(Effect::LoadsFrom, &between));
        } else if let Some(wait) = wait_for_product(&out) {
            let early: Vec<Node> = stores.extract_if(..loads, |n| is_load(n)).collect();
            loads -= early.len();
            out.splice(wait..wait, early);
        }
        let mut later = vec![op(Effect::Work(second), &between)];
        for (i, n) in stores.into_iter().enumerate() {
            if i == loads {
                out.push(op(Effect::Work(beside), &between));
            }
            match computes(&n) {
                true => later.push(n),
                false => out.push(n),
            }
        }
        out.append(&mut later);
    }
    out
}

/// The same inside of a node.
fn inner(n: Node) -> Node {
    let kind = match n.kind {
        Kind::If(c, a, b) => Kind::If(c, deferred(a), deferred(b)),
        Kind::For(h, count, body) => Kind::For(h, count, deferred(body)),
        kind => kind,
    };
    Node { kind, ..n }
}

/// Where a warp waits for a product, if only arithmetic follows.
fn wait_for_product(list: &[Node]) -> Option<usize> {
    let n = list.iter().rposition(|n| !is_arithmetic(n))?;
    matches!(list[n].kind, Kind::Op(_, Effect::WaitGroup(Stream::Wgmma, _))).then_some(n)
}

/// Both parts of the arithmetic of a node, where the next node has them.
fn parts(n: &Node, next: Option<&Node>) -> Option<(u32, Instructions, Instructions)> {
    match (&n.kind, &next?.kind) {
        (Kind::Op(_, Effect::Work(_)), Kind::Op(lanes, Effect::Parts(a, b))) => Some((*lanes, *a, *b)),
        _ => None,
    }
}

/// Instructions that the assembler puts between the last load and the last store: the mean and the most.
const LOAD: u32 = 114;
const LONGEST_LOAD: u32 = 129;

/// The arithmetic before stores, as what comes before the loads of the stored values, and what comes beside these loads.
fn beside_loads(all: Instructions) -> (Instructions, Instructions) {
    let n = all.int + all.fma;
    let earlier = if n > LONGEST_LOAD { n - LOAD } else { 0 };
    let share = |of: u32| (u64::from(of) * u64::from(earlier) / u64::from(n.max(1))) as u32;
    let before = Instructions { int: share(all.int), fma: share(all.fma), special: 0, chain: share(all.chain) };
    let beside = Instructions {
        int: all.int - before.int,
        fma: all.fma - before.fma,
        special: all.special,
        chain: all.chain - before.chain,
    };
    (before, beside)
}

/// Whether a node is a load of global memory to registers.
fn is_load(n: &Node) -> bool {
    matches!(&n.kind, Kind::Op(_, Effect::Global(Global { how: GlobalAccess::Load(_), .. })))
}

/// Whether a node is arithmetic.
fn is_arithmetic(n: &Node) -> bool {
    matches!(n.kind, Kind::Op(_, Effect::Work(_)))
}

/// Whether a node is floating-point arithmetic, which computes no address.
fn computes(n: &Node) -> bool {
    matches!(&n.kind, Kind::Op(_, Effect::Work(w)) if w.fma + w.special > 0)
}

/// The barrier behind stores of loaded values, where a list begins with loads, a barrier, these stores and their fence.
/// Arithmetic may be behind the stores.
fn barrier_behind_stores(list: &[Node]) -> Option<usize> {
    let (mut used, mut stored) = (false, false);
    for (n, node) in list.iter().enumerate() {
        let Kind::Op(_, e) = &node.kind else { return None };
        match e {
            Effect::Bar(..) if stored => return Some(n),
            Effect::Use(_) => used = true,
            Effect::Touch(Touch::Write, _) => stored = used,
            Effect::Bar(..) | Effect::Global(_) | Effect::Passes(_) | Effect::Fence(Fence::Async | Fence::Cta) => {}
            Effect::Work(_) if stored || !computes(node) => {}
            Effect::Parts(..) if stored => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(e: Effect) -> Node {
        Node { at: 1, part: 0, kind: Kind::Op(u32::MAX, e) }
    }

    /// A load, a barrier, the store of the loaded value and its fence, and a barrier.
    fn stores() -> Vec<Node> {
        let load = Global {
            how: GlobalAccess::Load(3),
            source: None,
            at: Vec::new(),
            lanes: Vec::new(),
            instructions: 1,
            sectors: 1,
        };
        let bar = || Effect::Bar(0, 128, true);
        let write = Effect::Touch(Touch::Write, Vec::new());
        [Effect::Global(load), bar(), Effect::Use(3), write, Effect::Fence(Fence::Async), bar()].map(op).to_vec()
    }

    fn arithmetic(int: u32) -> [Node; 2] {
        let first = Instructions { int, fma: 0, special: 0, chain: 0 };
        let second = Instructions { int: 0, fma: 0, special: 8, chain: 0 };
        [op(Effect::Work(first.and(second))), op(Effect::Parts(first, second))]
    }

    /// What each node is, with the instructions of arithmetic.
    fn kinds(list: &[Node]) -> String {
        let kind = |n: &Node| match &n.kind {
            Kind::Op(_, Effect::Work(w)) => format!("{}+{}", w.int, w.special),
            Kind::Op(_, e) => format!("{e:?}").split(['(', ' ']).next().unwrap_or_default().to_string(),
            _ => String::new(),
        };
        list.iter().map(kind).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn special_functions_go_behind_stores_of_loaded_values() {
        let list = |int| [arithmetic(int).to_vec(), stores()].concat();
        assert_eq!(kinds(&deferred(list(20))), "Global 20+0 Bar Use Touch Fence 0+8 Bar");
        // Loads wait for arithmetic that is longer than the assembler expects a load to take.
        assert_eq!(kinds(&deferred(list(214))), "100+0 LoadsFrom Global 114+0 Bar Use Touch Fence 0+8 Bar");
    }

    #[test]
    fn loads_of_short_arithmetic_are_issued_while_the_product_works() {
        let wait = op(Effect::WaitGroup(Stream::Wgmma, 0));
        let list = [vec![wait], arithmetic(20).to_vec(), stores()].concat();
        assert_eq!(kinds(&deferred(list)), "Global WaitGroup 20+0 Bar Use Touch Fence 0+8 Bar");
    }

    #[test]
    fn arithmetic_stays_where_the_stored_values_are_computed_or_nothing_is_stored() {
        let mut computed = [arithmetic(20).to_vec(), stores()].concat();
        computed.retain(|n| !matches!(n.kind, Kind::Op(_, Effect::Use(_))));
        assert_eq!(kinds(&deferred(computed)), "20+8 Global Bar Touch Fence Bar");
        let mut read = [arithmetic(20).to_vec(), stores()].concat();
        read[5] = op(Effect::Touch(Touch::Read, Vec::new()));
        assert_eq!(kinds(&deferred(read)), "20+8 Global Bar Use Touch Fence Bar");
    }
}
