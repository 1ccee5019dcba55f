//! Classes of slices in traces of other programs, by the words in their names.
//!
//! Such a trace has nothing but names. Words of GPU kernels have a class here. A name without any of them is
//! `control`, so that a slice counts as a wait or matrix work only if its name says so.

use warpline_sim::timeline::{SpanKind, Stall, Work};

/// Words with their classes; the first word of a name that is in the list decides.
const WORDS: &[(&str, SpanKind)] = {
    const fn work(w: Work) -> SpanKind {
        SpanKind::Work(w)
    }
    const fn wait(s: Stall) -> SpanKind {
        SpanKind::Stall(s)
    }
    &[
        ("wait", wait(Stall::Mbarrier)),
        ("mbar", wait(Stall::Mbarrier)),
        ("mbarrier", wait(Stall::Mbarrier)),
        ("barrier", wait(Stall::Barrier)),
        ("syncthreads", wait(Stall::Barrier)),
        ("stall", wait(Stall::Issue)),
        ("load", work(Work::Load)),
        ("tma", work(Work::Load)),
        ("ldg", work(Work::Load)),
        ("copy", work(Work::Load)),
        ("cp", work(Work::Load)),
        ("fetch", work(Work::Load)),
        ("prefetch", work(Work::Load)),
        ("lds", work(Work::Shared)),
        ("sts", work(Work::Shared)),
        ("ldmatrix", work(Work::Shared)),
        ("shared", work(Work::Shared)),
        ("mma", work(Work::Mma)),
        ("wgmma", work(Work::Mma)),
        ("umma", work(Work::Mma)),
        ("tcgen", work(Work::Mma)),
        ("mfma", work(Work::Mma)),
        ("gemm", work(Work::Mma)),
        ("dot", work(Work::Mma)),
        ("alu", work(Work::Alu)),
        ("softmax", work(Work::Alu)),
        ("exp", work(Work::Alu)),
        ("dequant", work(Work::Alu)),
        ("scale", work(Work::Alu)),
        ("store", work(Work::Store)),
        ("epilogue", work(Work::Store)),
        ("write", work(Work::Store)),
        ("arrive", work(Work::Sync)),
        ("commit", work(Work::Sync)),
        ("fence", work(Work::Sync)),
        ("sync", work(Work::Sync)),
    ]
};

/// The class of a slice with a name.
pub(super) fn class(name: &str) -> SpanKind {
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty());
    let known = |word: &str| WORDS.iter().find(|(w, _)| *w == word).map(|(_, what)| *what);
    words.filter_map(known).next().unwrap_or(SpanKind::Work(Work::Control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_decide() {
        assert_eq!(class("tma_load_k"), SpanKind::Work(Work::Load));
        assert_eq!(class("WGMMA 3"), SpanKind::Work(Work::Mma));
        assert_eq!(class("wait full[2]"), SpanKind::Stall(Stall::Mbarrier));
        assert_eq!(class("softmax"), SpanKind::Work(Work::Alu));
        assert_eq!(class("loop body"), SpanKind::Work(Work::Control));
        assert_eq!(class(""), SpanKind::Work(Work::Control));
    }
}
