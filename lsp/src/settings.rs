//! Settings of the server.

use std::time::Duration;

/// Settings, from the command line or from the editor (`initializationOptions`).
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The machine of kernels that no scenario of their folder names.
    pub machine: Option<String>,
    /// Seconds that checking a text may take.
    pub check_seconds: f64,
    /// Seconds that a run may take; 0 for no runs.
    pub run_seconds: f64,
    /// Seconds that verification may take after a file is opened or saved; 0 for none.
    pub verify_seconds: f64,
    /// Milliseconds without a keystroke after which a text is checked.
    pub delay_ms: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { machine: None, check_seconds: 10.0, run_seconds: 10.0, verify_seconds: 20.0, delay_ms: 150.0 }
    }
}

/// A duration of seconds; the longest one that is meaningful is a day.
pub(crate) fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(if s.is_finite() { s.clamp(0.0, 86_400.0) } else { 0.0 })
}
