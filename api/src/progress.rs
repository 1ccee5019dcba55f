//! Progress of long computations.

/// The progress of a computation with many pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of finished pieces.
    pub done: usize,
    /// Number of all pieces.
    pub total: usize,
}

/// Called when the number of pieces is known and after each piece, from any thread.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Sync);

/// Counts pieces for a callback.
pub(crate) struct Counter<'a> {
    done: std::sync::atomic::AtomicUsize,
    total: usize,
    report: OnProgress<'a>,
}

impl<'a> Counter<'a> {
    /// Reports that no piece is finished yet.
    pub(crate) fn start(total: usize, report: OnProgress<'a>) -> Counter<'a> {
        report(Progress { done: 0, total });
        Counter { done: 0.into(), total, report }
    }

    /// Reports one more piece.
    pub(crate) fn step(&self) {
        let done = 1 + self.done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (self.report)(Progress { done, total: self.total });
    }
}
