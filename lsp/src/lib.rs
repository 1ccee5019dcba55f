//! A language server for kernels (`.pipe`), over the standard streams.
//!
//! ```text
//!   editor ◀─JSON-RPC─▶ server ── text of a kernel ──▶ analysis: a process of its own, with time limits
//!                         │                             check ─▶ run ─▶ verify, a line of JSON for each
//!                         └── outline: definitions, hover, formatting, completion (in this process, no evaluation)
//! ```
//!
//! What evaluates a kernel runs in a child process: the program itself with `lsp --analyze`. A kernel that hangs or makes
//! warpline panic ends that process, not the server. A new version of the text ends the analysis of the old one.
//!
//! * `server` has the main loop and the requests, `analysis` the child process, `job` the processes that are running.
//! * `document` has texts and positions; `messages`, `hover`, `hints`, `complete`, `fix` and `format` make the answers.
//!
//! `docs/editors.md` describes the features and the settings.

mod analysis;
mod complete;
mod document;
mod fix;
mod format;
mod hints;
mod hover;
mod job;
mod messages;
mod server;
mod settings;

pub use analysis::analyze;
pub use server::{Failure, serve};
pub use settings::Settings;
