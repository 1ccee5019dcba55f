//! `warpline view`.

use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpline_sim::timeline::TICKS;
use warpline_viz::tui::script::{Step, script};
use warpline_viz::tui::{Colours, Keymap, Model, Msg, Palette, Runs, State, chart, render, svg, text, update};

use crate::cli::{self, View};
use crate::console::Console;
use crate::output;
use crate::recorded;
use crate::terminal::{self, Screen};
use warpline_api::{Error, Recording, Status};

/// Milliseconds that a frame of an animation is shown.
const MILLIS: u32 = 1800;
/// Columns of a chart without a terminal.
const WIDTH: u16 = 100;

pub(super) fn view(args: &View, console: &mut Console) -> Result<Status, Error> {
    // Errors in the files come before anything runs.
    let keys = match &args.keys {
        Some(path) => from_file(path, Keymap::with_changes)?,
        None => Keymap::default(),
    };
    let mut steps = match &args.exec {
        Some(path) => from_file(path, script)?,
        None => Vec::new(),
    };
    steps.extend(script(&args.commands.join("\n")).map_err(|(_, what)| Error::new(format!("--do: {what}")))?);
    let (a, b) = recorded::both(&args.input, &args.second, console)?;
    let status = b.as_ref().map_or(a.status, |b| a.status.and(b.status));
    let window = window(args, &a)?;
    let model = |r: Recording| Model::new(r.timeline).map_err(|e| Error::new(e.to_string()));
    let (first, second) = (model(a)?, b.map(model).transpose()?);
    let runs = Runs::new(first, second);
    let interactive = console.look.interactive && args.dump.is_none();
    let palette = palette(args, interactive);
    let terminal = if interactive { terminal::size() } else { None };
    let size = args.dump.map(|s| (s.width, s.height)).or(terminal).unwrap_or((WIDTH, 40));
    let mut state = State::new(&runs, size, window, keys, palette);
    if args.dump.is_some() {
        let frames = frames(&mut state, &runs, &steps, size);
        match &args.svg {
            Some(path) => output::write(console, path, svg::svg(&frames, MILLIS).as_bytes())?,
            None => frames.iter().try_for_each(|f| console.print(&text::plain(f)))?,
        }
    } else if interactive {
        play(&mut state, &runs, &steps);
        let failed = |e| Error::new(format!("the terminal: {e}"));
        Screen::open(args.mouse).and_then(|mut s| s.run(&mut state, &runs)).map_err(failed)?;
    } else {
        play(&mut state, &runs, &steps);
        console.print(&text::plain(&chart(&state, &runs, WIDTH)))?;
        console.error(
            "note: the output is not a terminal, so this is a chart; `--dump 80x24` prints the viewer's frames\n",
        )?;
    }
    // The process ends here. Dropping millions of spans one by one would only take time.
    std::mem::forget(runs);
    Ok(status)
}

/// Reads a file of lines; an error names the line.
fn from_file<T>(path: &Path, read: fn(&str) -> Result<T, (usize, String)>) -> Result<T, Error> {
    let text = warpline_api::read(path)?;
    read(&text).map_err(|(line, what)| Error::new(format!("{}:{line}: {what}", path.display())))
}

/// The first window, in ticks: the requested one, or some steps of the main loop.
fn window(args: &View, recorded: &Recording) -> Result<(u64, u64), Error> {
    let end = recorded.timeline.end.div_ceil(TICKS);
    let asked = args.from.is_some() || args.to.is_some();
    let opening = recorded.opening.clone().filter(|_| !asked).unwrap_or(0..end);
    let from = args.from.unwrap_or(opening.start);
    let to = args.to.unwrap_or(opening.end).min(end.max(1));
    if from >= to {
        return Err(Error::new(format!("no cycle lies between {from} and {to}; the run ends at cycle {end}")));
    }
    Ok((from.saturating_mul(TICKS), to.saturating_mul(TICKS)))
}

fn palette(args: &View, interactive: bool) -> Palette {
    // Text has no colors, and its reader may use another terminal, so the caller chooses the glyphs.
    let here = if interactive {
        Palette::of(|name| std::env::var(name).ok())
    } else {
        let colours = if args.svg.is_some() { Colours::True } else { Colours::None };
        Palette { colours, ascii: false }
    };
    let colours = match args.colors {
        Some(cli::Colors::True) => Colours::True,
        Some(cli::Colors::Indexed) => Colours::Indexed,
        Some(cli::Colors::Sixteen) => Colours::Sixteen,
        Some(cli::Colors::None) => Colours::None,
        None => here.colours,
    };
    Palette { colours, ascii: args.ascii || here.ascii }
}

fn one(state: &mut State, runs: &Runs, step: &Step) {
    match step {
        Step::Do(command, given) => update(state, runs, Msg::Do(*command, given.clone())),
        Step::Key(key) => update(state, runs, Msg::Key(*key)),
        Step::Dump => {}
    }
}

fn play(state: &mut State, runs: &Runs, steps: &[Step]) {
    steps.iter().for_each(|step| one(state, runs, step));
}

/// Plays a script and returns the frames that it dumps, or one at the end.
fn frames(state: &mut State, runs: &Runs, steps: &[Step], (width, height): (u16, u16)) -> Vec<Buffer> {
    let frame = |state: &State| {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        render(state, runs, &mut buffer);
        buffer
    };
    let mut frames = Vec::new();
    for step in steps {
        one(state, runs, step);
        if *step == Step::Dump {
            frames.push(frame(state));
        }
    }
    if !steps.contains(&Step::Dump) {
        frames.push(frame(state));
    }
    frames
}
