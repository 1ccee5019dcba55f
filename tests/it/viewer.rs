//! The viewer as a process: in a pseudo-terminal, where it draws and gives the terminal back, and without one.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use warpline::Status;
use warpline_tests::{TempDir, warpline};

const WARPLINE: &str = env!("CARGO_BIN_EXE_warpline-under-test");
/// Longer than any answer takes on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(120);
const SCENARIO: [&str; 2] = ["view", "mla/proj_k16_fixed"];

/// A program in a terminal of its own, and what is on the screen.
struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize { cols, rows, pixel_width: 0, pixel_height: 0 }
}

fn start(program: &str, args: &[&str], vars: &[(&str, &str)]) -> Terminal {
    let pair = native_pty_system().openpty(size(80, 24)).unwrap();
    let mut command = CommandBuilder::new(program);
    command.args(args);
    command.env_clear();
    command.env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8");
    vars.iter().for_each(|(name, value)| command.env(name, value));
    let child = pair.slave.spawn_command(command).unwrap();
    let mut reader = pair.master.try_clone_reader().unwrap();
    let keys = pair.master.take_writer().unwrap();
    let (send, output) = channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = reader.read(&mut bytes) {
            if send.send(bytes[..n].to_vec()).is_err() {
                return;
            }
        }
    });
    let screen = vt100::Parser::new(24.try_into().unwrap(), 80.try_into().unwrap(), 0);
    Terminal { child, master: pair.master, keys, output, screen }
}

impl Terminal {
    /// Reads until the screen is as wanted.
    #[track_caller]
    fn until(&mut self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        let begin = Instant::now();
        while !wanted(self.screen.screen()) {
            match self.output.recv_timeout(Duration::from_millis(200)) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() < PATIENCE => {}
                Err(_) => panic!("{what} did not come:\n{}", self.screen.screen().contents()),
            }
        }
    }

    #[track_caller]
    fn shows(&mut self, text: &str) {
        self.until(text, |s| s.contents().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end, with the screen as it is left.
    fn ends(&mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(500)) {
            self.screen.process(&bytes);
        }
        status
    }

    /// The terminal is as it was: the first screen, the cursor shown.
    #[track_caller]
    fn given_back(&self) {
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{}", screen.contents());
    }
}

fn cells(screen: &vt100::Screen) -> impl Iterator<Item = &vt100::Cell> {
    let (rows, cols) = screen.size();
    let (rows, cols) = (u16::from(rows), u16::from(cols));
    (0..rows).flat_map(move |y| (0..cols).filter_map(move |x| screen.cell(y, x)))
}

#[test]
fn it_starts_takes_keys_follows_a_resize_and_gives_the_terminal_back() {
    let mut t = start(WARPLINE, &SCENARIO, &[]);
    t.shows("CTA 0");
    assert!(t.screen.screen().alternate_screen());
    t.until("a colour", |s| cells(s).any(|c| matches!(c.fgcolor(), vt100::Color::Idx(_))));
    t.press("?");
    t.shows("Help");
    t.press("q");
    t.until("the end of the help", |s| !s.contents().contains("Help:"));
    t.master.resize(size(30, 8)).unwrap();
    t.screen.screen_mut().set_size(8.try_into().unwrap(), 30.try_into().unwrap());
    t.shows("needs 40 x 10 cells");
    t.master.resize(size(120, 30)).unwrap();
    t.screen.screen_mut().set_size(30.try_into().unwrap(), 120.try_into().unwrap());
    t.shows("In this window");
    t.press("q");
    assert!(t.ends().success());
    t.given_back();
}

#[test]
fn without_colour_nothing_is_coloured_and_the_focus_stands_out() {
    let mut t = start(WARPLINE, &SCENARIO, &[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]);
    t.shows("CTA 0");
    let plain = vt100::Color::Default;
    assert!(cells(t.screen.screen()).all(|c| c.fgcolor() == plain && c.bgcolor() == plain));
    assert!(cells(t.screen.screen()).any(|c| c.inverse()));
    t.press("q");
    assert!(t.ends().success());
}

#[test]
fn a_panic_is_reported_on_the_terminal_as_it_was() {
    let mut t = start(env!("CARGO_BIN_EXE_panics-on-screen"), &[], &[]);
    assert!(!t.ends().success());
    t.given_back();
    assert!(t.screen.screen().contents().contains("on purpose"), "{}", t.screen.screen().contents());
}

#[test]
fn without_a_terminal_there_is_a_chart() {
    let said = warpline(&SCENARIO);
    assert_eq!(said.status, Status::Holds);
    assert!(said.out.contains("CTA 0") && said.err.contains("not a terminal"), "{said:?}");
    assert_eq!(said.out, warpline(&SCENARIO).out);
}

#[test]
fn scripts_draw_frames() {
    let dir = TempDir::new();
    let script = dir.write("s", "goto 500\ndump\nkey ?\ndump\n");
    let said = warpline(&["view", SCENARIO[1], "--exec", &script, "--dump", "80x24"]);
    assert_eq!((said.status, said.err.as_str(), said.out.lines().count()), (Status::Holds, "", 48));
    assert!(said.out.contains("at 500") && said.out.contains("Help"), "{}", said.out);
    // Two runs, one with values of its own.
    let two = ["view", "metal/triple_buffer", "--with", "metal/triple_buffer", "--with-set", "stages=2"];
    let said = warpline(&[&two[..], &["--with-set", "ahead=1", "--set", "k=512", "--dump", "100x24"]].concat());
    assert_eq!(said.status, Status::Holds, "{}", said.err);
    assert!(said.out.contains("0/3") && said.out.contains("0/2"), "{}", said.out);
}

#[test]
fn what_is_wrong_is_named() {
    let dir = TempDir::new();
    let script = dir.write("s", "goto 500\nfly\n");
    let keys = dir.write("k", "q leave\n");
    let refuses = |args: &[&str], part: &str| {
        let said = warpline(&[&["view", SCENARIO[1]], args].concat());
        assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{args:?}");
        let err = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(err.contains(part), "{args:?}: {err}");
    };
    refuses(&["--exec", &script], "s:2: there is no command `fly`");
    refuses(&["--keys", &keys], "k:1: there is no command `leave`");
    refuses(&["--do", "goto 1", "--do", "fly"], "--do: there is no command `fly`");
    refuses(&["--dump", "80"], "80x24");
    refuses(&["--dump", "0x24"], "80x24");
    refuses(&["--from", "9", "--to", "9"], "no cycle lies between 9 and 9");
    refuses(&["--with-set", "m=1"], "--with");
    refuses(&["--with", "none/such"], "none/such");
}
