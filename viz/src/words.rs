//! The words for classes of work and causes of waiting, the same in every display.

use warpline_sim::timeline::{Engine, Stall, What, Work};

/// A class of work, in a word.
pub const fn work(w: Work) -> &'static str {
    w.name()
}

/// A class of work, for a legend.
pub fn work_long(w: Work) -> &'static str {
    match w {
        Work::Load => "load from global",
        Work::Shared => "shared access",
        Work::Mma => "matrix (mma)",
        Work::Alu => "vector (alu)",
        Work::Store => "store to global",
        Work::Sync => "sync issue",
        Work::Control => "control",
    }
}

/// What a stalled agent waits for, in a word.
pub const fn stall(s: Stall) -> &'static str {
    s.word()
}

/// What a stalled agent waits for, for a legend.
pub fn stall_long(s: Stall) -> &'static str {
    s.name()
}

/// What a span shows, in a word.
pub const fn what(w: What) -> &'static str {
    match w {
        What::Work(w) => work(w),
        What::Stall(s) => stall(s),
        What::Hold { filling: true } => "filling",
        What::Hold { filling: false } => "hold",
    }
}

/// An engine.
pub fn engine(e: Engine) -> &'static str {
    match e {
        Engine::Loads => "loads",
        Engine::Copy => "copy engine",
        Engine::Tensor => "tensor pipe",
    }
}
