//! The viewer's frames, charts and traces, each compared with a limit. Every frame is timed by itself, so the worst
//! one is a wait that a user would notice.

use std::fs;
use std::hint::black_box;
use std::process::{Command as Process, Stdio};
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use warpline_benches::view::{SIZE, buffer, frame, open, timeline};
use warpline_viz::gantt::{GanttOptions, png, svg};
use warpline_viz::trace::{Format, read, write};
use warpline_viz::tui::Command;

/// Operations of the viewer's run and of the chart's.
const VIEWED: usize = 1_000_000;
const DRAWN: usize = 100_000;
/// Frames of each kind.
const FRAMES: usize = 400;

/// Time of an action: wall-clock time, and processor time.
struct Elapsed {
    waited: f64,
    worked: f64,
}

/// Prints one row: best, median and worst wall-clock time, the limit, then median and worst processor time.
fn row(what: &str, operations: usize, all: Vec<Elapsed>, limit: &str) {
    let (mut waited, mut worked): (Vec<f64>, Vec<f64>) = all.iter().map(|t| (t.waited, t.worked)).unzip();
    waited.sort_by(f64::total_cmp);
    worked.sort_by(f64::total_cmp);
    let (n, middle, last) = (all.len(), all.len() / 2, all.len() - 1);
    let [best, median, worst] = [waited[0], waited[middle], waited[last]];
    let [worked, most] = [worked[middle], worked[last]];
    println!("{what},{operations},{n},{best:.6},{median:.6},{worst:.6},{limit},{worked:.6},{most:.6}");
}

/// Processor time of all threads of this program, in seconds.
fn process() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

/// Processor time of this thread, in seconds.
fn thread() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Processor time of ended child processes, in hundredths of a second; 0 if unknown.
fn children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in brackets, user and system time are the 14th and 15th fields.
    let of = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    of.skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Times an action with a processor clock.
fn times<T>(n: usize, clock: fn() -> f64, mut f: impl FnMut() -> T) -> Vec<Elapsed> {
    let mut one = || {
        let (start, worked) = (Instant::now(), clock());
        let made = black_box(f());
        let took = Elapsed { waited: start.elapsed().as_secs_f64(), worked: clock() - worked };
        drop(made);
        took
    };
    (0..n).map(|_| one()).collect()
}

/// Prints the table. With a program's path, also its time from start to exit.
pub(super) fn print(n: usize, program: Option<&str>) {
    println!("# one thread unless a row says otherwise; release; seconds; frames of {} x {} cells", SIZE.0, SIZE.1);
    println!("what,operations,times,best_s,median_s,worst_s,limit_s,processors_median_s,processors_worst_s");
    frames(n);
    let t = timeline(DRAWN);
    let options = GanttOptions::default();
    let one = GanttOptions { ctas: Some(1), to: Some(2_000), ..GanttOptions::default() };
    row("gantt: SVG of the whole run", DRAWN, times(n, process, || svg(&t, &options).unwrap()), "1");
    row("gantt: PNG of the whole run", DRAWN, times(n, process, || png(&t, &options).unwrap()), "1");
    row("gantt: SVG of the opening of one CTA", DRAWN, times(n, process, || svg(&t, &one).unwrap()), "1");
    for (name, format) in [("Perfetto", Format::Perfetto), ("Chrome", Format::Chrome), ("Kanata", Format::Kanata)] {
        row(&format!("trace: {name} written"), DRAWN, times(n, process, || write(&t, format).unwrap()), "");
    }
    saved(n, program);
}

/// Frames of one kind: name, preparing commands with arguments, and commands in turn.
type FrameKind<'a> = (&'a str, &'a [(Command, &'a str)], &'a [Command]);

fn frames(n: usize) {
    let t = timeline(VIEWED);
    let copies: Vec<_> = (0..n).map(|_| t.clone()).collect();
    let mut copies = copies.into_iter();
    row("view: opened from a record in memory", VIEWED, times(n, process, || open(copies.next().unwrap())), "1");
    let (runs, start) = open(t);
    let mut buffer = buffer();
    let (zoom, pan) = (&[Command::ZoomIn][..], &[Command::PanRight, Command::PanRight, Command::PanLeft][..]);
    let kinds: [FrameKind; 8] = [
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
            // Zoom in to the limit, then out.
            let mut command = commands[i % commands.len()];
            if command == Command::ZoomIn && i / 24 % 2 == 1 {
                command = Command::ZoomOut;
            }
            i += 1;
            frame(&mut state, &runs, &mut buffer, command, None);
        };
        row(&format!("view: a frame: {name}"), VIEWED, times(FRAMES, thread, step), "0.016");
    }
    let mut state = start.clone();
    let search = || frame(&mut state, &runs, &mut buffer, Command::Search, Some("A[3, 7]"));
    row("view: the search itself and its first frame", VIEWED, times(n, thread, search), "");
}

/// A run saved as Chrome's JSON, opened again.
fn saved(n: usize, program: Option<&str>) {
    let json = write(&timeline(VIEWED), Format::Chrome).unwrap();
    println!("# the saved trace has {} bytes", json.len());
    row("trace: Chrome read", VIEWED, times(n, process, || read::read(&json).unwrap()), "");
    let opened = || open(read::read(&json).unwrap().timeline);
    row("view: opened from a saved trace in memory", VIEWED, times(n, process, opened), "1");
    let Some(program) = program else { return };
    let file = std::env::temp_dir().join(format!("warpline-benches-{}.json", std::process::id()));
    fs::write(&file, &json).unwrap();
    let size = format!("{}x{}", SIZE.0, SIZE.1);
    let run = || {
        let status =
            Process::new(program).arg("view").arg(&file).args(["--dump", &size]).stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|s| s.success()));
    };
    row("process: view of the saved trace; one frame; from start to exit", VIEWED, times(n, children, run), "1");
    fs::remove_file(&file).unwrap();
}
