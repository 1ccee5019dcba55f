//! A running analysis: the child process, its time limits and its end.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender as Hold, channel};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use lsp_types::Uri;

use crate::analysis::{Job, Part, Stage};

/// How often a running job looks whether it is still wanted.
const TURN: Duration = Duration::from_millis(20);

/// The program that analyzes a text.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// The time limits of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Time before the job starts, in which a newer text may replace it.
    pub delay: Duration,
    /// Time of the check.
    pub check: Duration,
    /// Time of the run.
    pub run: Duration,
    /// Time of the verification.
    pub verify: Duration,
}

impl Limits {
    fn of(&self, part: Part) -> Duration {
        match part {
            Part::Check => self.check,
            Part::Run => self.run,
            Part::Verify => self.verify,
        }
    }
}

/// News of a job.
#[derive(Debug)]
pub(crate) struct News {
    /// The document.
    pub uri: Uri,
    /// The version of its text.
    pub version: i32,
    /// The event.
    pub event: Event,
}

/// An event of a job.
#[derive(Debug)]
pub(crate) enum Event {
    /// A stage is finished.
    Stage(Box<Stage>),
    /// A part reached its time limit, and the job ended.
    TimedOut(Part, Duration),
    /// The process failed in a part: the last line that it printed on its error stream.
    Failed(Part, String),
    /// The job ended.
    Done,
}

/// A job that runs until its value is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    stopped: Arc<AtomicBool>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Starts a job. Its news go to the sender, none after the value is dropped.
pub(crate) fn start(program: Program, job: Job, at: (Uri, i32), limits: Limits, news: Sender<News>) -> Running {
    let stopped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stopped);
    std::thread::spawn(move || {
        let send = |event: Event| {
            if !flag.load(Ordering::Relaxed) {
                // The server that ended reads no news.
                let _ = news.send(News { uri: at.0.clone(), version: at.1, event });
            }
        };
        let start = Instant::now();
        while start.elapsed() < limits.delay {
            if flag.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(TURN.min(limits.delay));
        }
        run(&program, &job, limits, &flag, &send);
        send(Event::Done);
    });
    Running { stopped }
}

fn run(program: &Program, job: &Job, limits: Limits, stopped: &AtomicBool, send: &dyn Fn(Event)) {
    let mut parts = job.parts().into_iter();
    let Some(mut part) = parts.next() else { return };
    // The input closes, and the process ends, when the value that holds it is dropped.
    let (mut child, _hold) = match spawn(program, job) {
        Ok(started) => started,
        Err(e) => return send(Event::Failed(part, format!("cannot start `{}`: {e}", program.path.display()))),
    };
    let lines = lines(&mut child);
    let errors = last_error(&mut child);
    let mut since = Instant::now();
    loop {
        if stopped.load(Ordering::Relaxed) {
            return end(child);
        }
        match lines.recv_timeout(TURN) {
            Ok(line) => {
                let Ok(stage) = serde_json::from_str::<Stage>(&line) else { continue };
                let last = matches!(&stage, Stage::Check(c) if !c.runs);
                send(Event::Stage(Box::new(stage)));
                match parts.next().filter(|_| !last) {
                    Some(next) => (part, since) = (next, Instant::now()),
                    None => return end(child),
                }
            }
            Err(RecvTimeoutError::Timeout) if since.elapsed() > limits.of(part) => {
                end(child);
                return send(Event::TimedOut(part, limits.of(part)));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                end(child);
                return send(Event::Failed(part, errors.recv().unwrap_or_default()));
            }
        }
    }
}

/// Starts the process with its job. The second value holds its input open.
fn spawn(program: &Program, job: &Job) -> std::io::Result<(Child, Hold<()>)> {
    let line = serde_json::to_string(job)? + "\n";
    let mut command = Command::new(&program.path);
    let streams = command.args(&program.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = streams.spawn()?;
    let (hold, held) = channel();
    if let Some(mut input) = child.stdin.take() {
        // A program that does not read its job reaches a limit or fails, and its pipe then closes.
        std::thread::spawn(move || {
            if input.write_all(line.as_bytes()).is_ok() {
                let _ = held.recv();
            }
        });
    }
    Ok((child, hold))
}

/// The lines of the output.
fn lines(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for line in lines {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

/// The last line of the error stream that says something, once the stream ends.
fn last_error(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(errors) = child.stderr.take() {
        std::thread::spawn(move || {
            let lines = BufReader::new(errors).lines().map_while(Result::ok);
            let said = lines.filter(|l| !l.trim().is_empty() && !l.starts_with("note: "));
            let _ = sender.send(said.last().unwrap_or_default());
        });
    }
    receiver
}

fn end(mut child: Child) {
    // A process that has ended cannot be killed, and needs not.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr;

    const SHORT: Limits = Limits {
        delay: Duration::ZERO,
        check: Duration::from_millis(200),
        run: Duration::from_millis(200),
        verify: Duration::from_millis(200),
    };

    /// The events of a job whose program is a shell script.
    fn events(script: &str) -> Vec<Event> {
        let program = Program { path: "/bin/sh".into(), args: vec!["-c".into(), script.into()] };
        let kernel = warpline_api::editor::KernelText::default();
        let (sender, receiver) = crossbeam_channel::unbounded();
        let uri = Uri::from_str("file:///k.pipe").expect("a value");
        let running = start(program, Job { kernel, run: true, verify: true }, (uri, 1), SHORT, sender);
        let mut all: Vec<Event> = Vec::new();
        while !matches!(all.last(), Some(Event::Done)) {
            all.push(receiver.recv_timeout(Duration::from_secs(20)).expect("a value").event);
        }
        drop(running);
        all
    }

    #[test]
    fn a_process_that_hangs_is_stopped() {
        let all = events("sleep 60");
        assert!(matches!(all[0], Event::TimedOut(Part::Check, _)), "{all:?}");
    }

    #[test]
    fn a_process_that_fails_says_why() {
        let all = events("read job; echo 'it broke' >&2; exit 101");
        assert!(matches!(&all[0], Event::Failed(Part::Check, why) if why == "it broke"), "{all:?}");
        let all = events(
            "echo '{\"check\":{\"messages\":[],\"runs\":true,\"values\":[],\"facts\":[],\"about\":\"\"}}'; echo no >&2; exit 1",
        );
        assert!(matches!(&all[0], Event::Stage(_)), "{all:?}");
        assert!(matches!(&all[1], Event::Failed(Part::Run, why) if why == "no"), "{all:?}");
    }

    #[test]
    fn a_job_that_is_dropped_says_nothing() {
        let program = Program { path: "/bin/sh".into(), args: vec!["-c".into(), "echo {}; sleep 60".into()] };
        let job = Job { kernel: warpline_api::editor::KernelText::default(), run: false, verify: false };
        let (sender, receiver) = crossbeam_channel::unbounded();
        drop(start(program, job, (Uri::from_str("file:///k.pipe").expect("a value"), 1), SHORT, sender));
        // The channel closes when the thread of the job ends.
        assert!(receiver.recv_timeout(Duration::from_secs(20)).is_err());
        assert_eq!(receiver.try_recv().err(), Some(crossbeam_channel::TryRecvError::Disconnected));
    }
}
