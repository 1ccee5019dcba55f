//! The limits of one verification: steps of agents, and memory.
//!
//! All runs of a verification share one budget, on every thread. After a limit is exceeded, every further request
//! fails. Memory is the resident memory of the process, so everything that a verification keeps is counted. The process
//! is asked for it only after many steps, or after much memory was kept.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::Options;

/// An exceeded limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// The limit of steps of agents in all runs.
    Steps(u64),
    /// The limit of memory, in bytes.
    Memory(u64),
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exceeded::Steps(n) => write!(f, "all runs together take more than {n} steps (--max-steps)"),
            Exceeded::Memory(n) => write!(f, "it takes more than {} MB of memory (--max-memory)", n / MB),
        }
    }
}

/// The limits of one verification, and the amounts used.
#[derive(Debug)]
pub(crate) struct Budget {
    max_steps: u64,
    max_memory: u64,
    steps: AtomicU64,
    /// Bytes kept since the start, including bytes that were freed.
    bytes: AtomicU64,
    /// The limit that was exceeded; 0 for none.
    over: AtomicU8,
    /// Values of the symbols of kernels whose runs, made for a comparison, had a fault.
    faulty: Mutex<BTreeSet<Vec<i64>>>,
}

const MB: u64 = 1_000_000;
/// Bytes kept, and steps, after which the resident memory is read again.
const EVERY: (u64, u64) = (32 * MB, 1 << 18);

impl Budget {
    /// A budget with the limits of a verification.
    pub(crate) fn new(options: &Options) -> Budget {
        Budget {
            max_steps: options.max_steps,
            max_memory: options.max_memory,
            steps: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            over: AtomicU8::new(0),
            faulty: Mutex::default(),
        }
    }

    /// Takes steps of agents.
    ///
    /// # Errors
    /// A limit is exceeded, now or before.
    pub(crate) fn take_steps(&self, n: u64) -> Result<(), Exceeded> {
        let before = self.steps.fetch_add(n, Relaxed);
        if before + n > self.max_steps {
            self.over.compare_exchange(0, 1, Relaxed, Relaxed).ok();
        }
        if before / EVERY.1 != (before + n) / EVERY.1 {
            self.look();
        }
        self.check()
    }

    /// Steps of agents taken so far.
    pub(crate) fn used(&self) -> u64 {
        self.steps.load(Relaxed)
    }

    /// Announces that this many bytes will be kept.
    ///
    /// # Errors
    /// A limit is exceeded, now or before.
    pub(crate) fn keep(&self, bytes: u64) -> Result<(), Exceeded> {
        let before = self.bytes.fetch_add(bytes, Relaxed);
        if before / EVERY.0 != (before + bytes) / EVERY.0 {
            self.look();
        }
        self.check()
    }

    /// Records that a run made for a comparison had a fault, by the values of the kernel's symbols.
    pub(crate) fn note_fault(&self, values: Vec<i64>) {
        self.faulty.lock().unwrap_or_else(PoisonError::into_inner).insert(values);
    }

    /// The values of these kernels, in ascending order. They are forgotten.
    pub(crate) fn take_faulty(&self) -> BTreeSet<Vec<i64>> {
        std::mem::take(&mut self.faulty.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Compares the resident memory with its limit. Where the platform does not report it, all bytes ever kept count.
    fn look(&self) {
        let resident = memory_stats::memory_stats().map(|m| m.physical_mem as u64);
        if resident.unwrap_or_else(|| self.bytes.load(Relaxed)) > self.max_memory {
            self.over.compare_exchange(0, 2, Relaxed, Relaxed).ok();
        }
    }

    /// Checks whether a limit was exceeded.
    ///
    /// # Errors
    /// The first limit that was exceeded.
    pub(crate) fn check(&self) -> Result<(), Exceeded> {
        match self.over.load(Relaxed) {
            0 => Ok(()),
            1 => Err(Exceeded::Steps(self.max_steps)),
            _ => Err(Exceeded::Memory(self.max_memory)),
        }
    }
}
