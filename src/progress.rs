//! A progress bar for anything that takes over a second.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use warpline_api::Progress;

/// A progress bar on the error stream: visible after one second, until dropped.
pub(crate) struct Bar {
    bar: ProgressBar,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Bar {
    /// A spinner. Without `shown` it does nothing.
    pub(crate) fn spinner(shown: bool, message: String) -> Bar {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::default_spinner());
        Bar::show(shown, bar.with_message(message))
    }

    /// A bar over pieces of work. Without `shown` it does nothing.
    pub(crate) fn pieces(shown: bool, pieces: usize, message: String) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(pieces as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}") {
            bar.set_style(style);
        }
        Bar::show(shown, bar.with_message(message))
    }

    /// Shows the progress of a computation.
    pub(crate) fn set(&self, progress: Progress) {
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.done as u64);
    }

    /// Adds pieces.
    pub(crate) fn add(&self, pieces: usize) {
        self.bar.inc_length(pieces as u64);
    }

    /// Counts a piece as finished.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    fn show(shown: bool, bar: ProgressBar) -> Bar {
        if !shown {
            return Bar { bar, shown: None };
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
        Bar { bar, shown: Some((stop, thread)) }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.shown.take() {
            drop(stop);
            // A panic of the drawing thread is no reason to panic here.
            let _ = thread.join();
        }
    }
}
