//! A line that says the program is at work, for anything over a second.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows while it lives, from its second second on.
pub(crate) struct Progress {
    bar: ProgressBar,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// A sign of life on a terminal; elsewhere it does nothing.
    pub(crate) fn start(shown: bool, message: String) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::default_spinner());
        Progress::show(shown, bar.with_message(message))
    }

    /// The same with a bar, of so many pieces of work.
    pub(crate) fn of(shown: bool, pieces: usize, message: String) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(pieces as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}") {
            bar.set_style(style);
        }
        Progress::show(shown, bar.with_message(message))
    }

    /// So many more pieces are to be done.
    pub(crate) fn more(&self, pieces: usize) {
        self.bar.inc_length(pieces as u64);
    }

    /// One piece is done.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    fn show(shown: bool, bar: ProgressBar) -> Progress {
        if !shown {
            return Progress { bar, shown: None };
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let drawn = bar.clone();
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                drawn.set_draw_target(ProgressDrawTarget::stderr());
                drawn.enable_steady_tick(Duration::from_millis(120));
                let _ = stopped.recv();
                drawn.finish_and_clear();
            }
        });
        Progress { bar, shown: Some((stop, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.shown.take() {
            drop(stop);
            // The line is gone once the thread is; a panic there is no reason for one here.
            let _ = thread.join();
        }
    }
}
