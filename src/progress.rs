//! A line that says the program is at work, for anything over a second.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::ProgressBar;

/// Shows while it lives, from its second second on.
pub(crate) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// On a terminal; elsewhere it does nothing.
    pub(crate) fn start(shown: bool, message: String) -> Progress {
        if !shown {
            return Progress(None);
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new_spinner().with_message(message);
                bar.enable_steady_tick(Duration::from_millis(120));
                let _ = stopped.recv();
                bar.finish_and_clear();
            }
        });
        Progress(Some((stop, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // The line is gone once the thread is; a panic there is no reason for one here.
            let _ = thread.join();
        }
    }
}
