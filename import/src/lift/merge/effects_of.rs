//! Functions over the terms of an effect.

use crate::lift::tree::{Effect, Global, Run};
use crate::symbolic::Term;

/// The effect with other terms.
pub(crate) fn map_effect(e: Effect, f: &mut impl FnMut(Term) -> Term) -> Effect {
    let runs = |l: Vec<Run>, f: &mut dyn FnMut(Term) -> Term| l.into_iter().map(|(t, n)| (f(t), n)).collect::<Vec<_>>();
    match e {
        Effect::Touch(how, l) => Effect::Touch(how, runs(l, f)),
        Effect::Far { what, runs: l, cta, bar } => {
            Effect::Far { what, runs: runs(l, f), cta: cta.map(&mut *f), bar: bar.map(&mut *f) }
        }
        Effect::BulkLoad { to, bar, bytes, multicast, cta } => Effect::BulkLoad {
            to: f(to),
            bar: f(bar),
            bytes: bytes.map(&mut *f),
            multicast: multicast.map(&mut *f),
            cta: cta.map(&mut *f),
        },
        Effect::BulkStore { from, bytes } => Effect::BulkStore { from: f(from), bytes: bytes.map(f) },
        Effect::Init(a, b) => Effect::Init(f(a), f(b)),
        Effect::Inval(a) => Effect::Inval(f(a)),
        Effect::Arrive { bar, count, expect, cta, relaxed, cluster, in_step, drop, state } => Effect::Arrive {
            bar: f(bar),
            count: f(count),
            expect: expect.map(&mut *f),
            cta: cta.map(&mut *f),
            relaxed,
            cluster,
            in_step,
            drop,
            state,
        },
        Effect::Expect { bar, bytes, cta } => Effect::Expect { bar: f(bar), bytes: f(bytes), cta: cta.map(f) },
        Effect::CopyArrive(a, n) => Effect::CopyArrive(f(a), n),
        Effect::Wait(a, b) => Effect::Wait(f(a), f(b)),
        Effect::WaitState(a, s) => Effect::WaitState(f(a), s),
        Effect::Wgmma { a, b, acc, n, k } => Effect::Wgmma { a: a.map(|l| runs(l, f)), b: runs(b, f), acc, n, k },
        Effect::TensorLoad(l) => Effect::TensorLoad(runs(l, f)),
        Effect::TensorStore(l) => Effect::TensorStore(runs(l, f)),
        Effect::TensorCommit { bar, multicast, cta } => {
            Effect::TensorCommit { bar: f(bar), multicast: multicast.map(&mut *f), cta: cta.map(&mut *f) }
        }
        Effect::TensorProduct { a, at, b, d, pair, shape } => {
            Effect::TensorProduct { a: runs(a, f), at: runs(at, f), b: runs(b, f), d: runs(d, f), pair, shape }
        }
        Effect::Global(g) => Effect::Global(Global { at: g.at.into_iter().map(f).collect(), ..g }),
        same @ (Effect::Commit(_)
        | Effect::Registers(_)
        | Effect::Work(_)
        | Effect::Parts(..)
        | Effect::LoadsFrom
        | Effect::Use(_)
        | Effect::Passes(_)
        | Effect::Product(..)
        | Effect::Tensor { .. }
        | Effect::TensorWait(_)
        | Effect::WaitGroup(..)
        | Effect::Bar(..)
        | Effect::WarpSync
        | Effect::Elect
        | Effect::ClusterArrive(_)
        | Effect::ClusterWait
        | Effect::Fence(_)
        | Effect::Regs(..)
        | Effect::GridWait) => same,
    }
}

/// The terms of an effect, in the order in which [`map_effect`] visits them.
pub(crate) fn terms_of(e: &Effect) -> Vec<Term> {
    let mut list = Vec::new();
    map_effect(e.clone(), &mut |t| {
        list.push(t);
        t
    });
    list
}

/// The barrier that an effect uses, other than to initialize it.
pub(crate) fn barrier_of(e: &Effect) -> Option<Term> {
    barrier(&mut e.clone()).copied()
}

/// As [`barrier_of`], as a place for another barrier.
pub(crate) fn barrier(e: &mut Effect) -> Option<&mut Term> {
    match e {
        Effect::Arrive { bar, .. }
        | Effect::Expect { bar, .. }
        | Effect::CopyArrive(bar, _)
        | Effect::Wait(bar, _)
        | Effect::WaitState(bar, _)
        | Effect::TensorCommit { bar, .. }
        | Effect::BulkLoad { bar, .. }
        | Effect::Far { bar: Some(bar), .. } => Some(bar),
        _ => None,
    }
}
