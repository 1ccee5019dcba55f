//! Scopes of waits. By PTX, a wait of CTA scope does not synchronize with another CTA. CUTLASS waits without a scope, which
//! is that of the CTA, and CuTe DSL with `.acquire.cta`, also for signals of other CTAs. So each wait counts as one of the
//! cluster, and the verdict says where it is not.

use std::collections::BTreeSet;

use crate::lift::merge::{Merged, each_op};
use crate::lift::tree::Effect;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Arena, Term};

use super::barriers::addresses;

/// The assumption of a wait that another CTA signals.
const ASSUMED: &str = "a wait of CTA scope sees what another CTA did before it signaled the barrier";

/// Notes the first wait of CTA scope for a barrier that another CTA signals. A CTA has `warps` warps.
pub(crate) fn noted(s: &mut Shared<'_>, tree: &[Merged], warps: u32) {
    if s.ctas() < 2 {
        return;
    }
    let mut signaled = BTreeSet::new();
    let mut waits: Vec<(usize, Term)> = Vec::new();
    each_op(tree, &mut |at, (w, _, e)| match e {
        Effect::Wait(bar, _) | Effect::WaitState(bar, _) => waits.push((at, *bar)),
        _ => signaled.extend(far(&s.arena, w / warps, e)),
    });
    let far: BTreeSet<i64> = signaled.iter().flat_map(|t| addresses(&s.arena, *t).unwrap_or_default()).collect();
    let meets = |t: Term| addresses(&s.arena, t).is_none_or(|list| list.iter().any(|x| far.contains(x)));
    let narrow = |at: usize| s.entry.code.get(at).is_some_and(|i| !i.has("cluster"));
    let line = waits.iter().find(|(at, bar)| narrow(*at) && meets(*bar)).map(|(at, _)| s.entry.code[*at].line);
    if let Some(line) = line {
        s.assume(line, ASSUMED);
    }
}

/// The barrier that an operation of a CTA may signal in another CTA.
fn far(a: &Arena, rank: u32, e: &Effect) -> Option<Term> {
    let other = |cta: &Option<Term>| cta.is_some_and(|t| a.constant(t) != Some(i64::from(rank)));
    match e {
        Effect::Arrive { bar, cta, .. } | Effect::Expect { bar, cta, .. } => other(cta).then_some(*bar),
        Effect::Far { bar, cta, .. } => bar.filter(|_| other(cta)),
        Effect::BulkLoad { bar, multicast, cta, .. } | Effect::TensorCommit { bar, multicast, cta } => {
            (multicast.is_some() || other(cta)).then_some(*bar)
        }
        _ => None,
    }
}
