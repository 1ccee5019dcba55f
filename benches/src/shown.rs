//! What people look at: the viewer's frames, charts and traces, each held to a limit. Every frame is timed by itself, so
//! the worst is one that somebody would have waited for.

use std::fs;
use std::hint::black_box;
use std::process::{Command as Process, Stdio};
use std::time::Instant;

use warpline_benches::view::{SIZE, buffer, frame, open, timeline};
use warpline_viz::gantt::{GanttOptions, png, svg};
use warpline_viz::trace::{Format, read, write};
use warpline_viz::tui::Command;

/// Operations of the viewer's run, and of the chart's.
const VIEWED: usize = 1_000_000;
const DRAWN: usize = 100_000;
/// Frames of each kind.
const FRAMES: usize = 400;

/// Prints one row: the best, the middle and the worst, and what none is to be above.
fn row(what: &str, operations: usize, mut all: Vec<f64>, limit: &str) {
    all.sort_by(f64::total_cmp);
    let [best, median, worst] = [all[0], all[all.len() / 2], all[all.len() - 1]];
    println!("{what},{operations},{},{best:.6},{median:.6},{worst:.6},{limit}", all.len());
}

fn times<T>(n: usize, mut f: impl FnMut() -> T) -> Vec<f64> {
    let mut one = || {
        let start = Instant::now();
        let made = black_box(f());
        let s = start.elapsed().as_secs_f64();
        drop(made);
        s
    };
    (0..n).map(|_| one()).collect()
}

/// Prints the table; with a program's path, also what it takes from start to exit.
pub(super) fn print(n: usize, program: Option<&str>) {
    println!("# one thread unless a row says otherwise; release; seconds; frames of {} x {} cells", SIZE.0, SIZE.1);
    println!("what,operations,times,best_s,median_s,worst_s,limit_s");
    frames(n);
    let t = timeline(DRAWN);
    let options = GanttOptions::default();
    let one = GanttOptions { ctas: Some(1), to: Some(2_000), ..GanttOptions::default() };
    row("gantt: SVG of the whole run", DRAWN, times(n, || svg(&t, &options).unwrap()), "1");
    row("gantt: PNG of the whole run", DRAWN, times(n, || png(&t, &options).unwrap()), "1");
    row("gantt: SVG of the opening of one CTA", DRAWN, times(n, || svg(&t, &one).unwrap()), "1");
    for (name, format) in [("Perfetto", Format::Perfetto), ("Chrome", Format::Chrome), ("Kanata", Format::Kanata)] {
        row(&format!("trace: {name} written"), DRAWN, times(n, || write(&t, format).unwrap()), "");
    }
    saved(n, program);
}

/// Frames of one kind: their name, what comes before with what it takes, and the commands in turn.
type Kind<'a> = (&'a str, &'a [(Command, &'a str)], &'a [Command]);

fn frames(n: usize) {
    let t = timeline(VIEWED);
    let copies: Vec<_> = (0..n).map(|_| t.clone()).collect();
    let mut copies = copies.into_iter();
    row("view: opened from a record in memory", VIEWED, times(n, || open(copies.next().unwrap())), "1");
    let (runs, start) = open(t);
    let mut buffer = buffer();
    let (zoom, pan) = (&[Command::ZoomIn][..], &[Command::PanRight, Command::PanRight, Command::PanLeft][..]);
    let kinds: [Kind; 8] = [
        ("the whole run", &[], &[Command::ZoomAll]),
        ("zoom in from the whole run to a cycle and out again", &[], zoom),
        ("pan, a quarter of the run in the window", &[(Command::Window, "40000 80000")], pan),
        ("pan, 400 cycles in the window", &[(Command::Window, "50000 50400")], pan),
        ("edge on any row", &[(Command::Goto, "50000")], &[Command::NextEdgeAny]),
        ("search step", &[(Command::Search, "A[3, 7]")], &[Command::SearchNext]),
        ("search step, one in eight found", &[(Command::Search, "w3")], &[Command::SearchNext, Command::SearchPrev]),
        ("stalls of the window", &[(Command::Pane, "")], pan),
    ];
    for (name, before, commands) in kinds {
        let mut state = start.clone();
        for (command, given) in before {
            frame(&mut state, &runs, &mut buffer, *command, (!given.is_empty()).then_some(given));
        }
        let mut i = 0;
        let step = || {
            // In as far as it goes, and out again.
            let mut command = commands[i % commands.len()];
            if command == Command::ZoomIn && i / 24 % 2 == 1 {
                command = Command::ZoomOut;
            }
            i += 1;
            frame(&mut state, &runs, &mut buffer, command, None);
        };
        row(&format!("view: a frame: {name}"), VIEWED, times(FRAMES, step), "0.016");
    }
    let mut state = start.clone();
    let search = || frame(&mut state, &runs, &mut buffer, Command::Search, Some("A[3, 7]"));
    row("view: the search itself and its first frame", VIEWED, times(n, search), "");
}

/// A run that was saved as Chrome's JSON, opened again.
fn saved(n: usize, program: Option<&str>) {
    let json = write(&timeline(VIEWED), Format::Chrome).unwrap();
    println!("# the saved trace has {} bytes", json.len());
    row("trace: Chrome read", VIEWED, times(n, || read::read(&json).unwrap()), "");
    let opened = || open(read::read(&json).unwrap().timeline);
    row("view: opened from a saved trace in memory", VIEWED, times(n, opened), "1");
    let Some(program) = program else { return };
    let file = std::env::temp_dir().join(format!("warpline-benches-{}.json", std::process::id()));
    fs::write(&file, &json).unwrap();
    let size = format!("{}x{}", SIZE.0, SIZE.1);
    let run = || {
        let status =
            Process::new(program).arg("view").arg(&file).args(["--dump", &size]).stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|s| s.success()));
    };
    row("process: view of the saved trace; one frame; from start to exit", VIEWED, times(n, run), "1");
    fs::remove_file(&file).unwrap();
}
