//! The terminal viewer on a long run: opening it, and frames in a large terminal.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpline_sim::timeline::{Engine, Row, RowKind, SourceLine, Span, SpanKind, Stall, TICKS, Timeline, Work};
use warpline_viz::tui::{Colours, Command, Keymap, Model, Msg, Palette, Runs, State, render, update};

/// Width and height of the terminal, in cells.
pub const SIZE: (u16, u16) = (200, 60);

/// A run of `spans` spans: CTAs of eight warps that take turns with a tensor pipe, and slots that fill and empty.
/// Every fourth span has a waker, and warps and the pipe name their statement.
pub fn timeline(spans: usize) -> Timeline {
    /// Rows of a CTA.
    const ROWS: u32 = 14;
    let ctas = 16u32;
    let mut t = Timeline { title: "made up".into(), ..Timeline::default() };
    for (line, text) in [(12, "tma A[cta.m, i] -> a[i % 4] arrives full[i % 4]"), (21, "wait full[i % 4], i / 4")] {
        t.sites.push(SourceLine { file: "made/up.pipe".into(), line, text: text.into() });
    }
    for cta in 0..ctas {
        let warp = |w| RowKind::Agent { role: if w < 2 { "load" } else { "math" }.into(), warp: w, lanes: None };
        for w in 0..8 {
            t.rows.push(Row { name: format!("w{w}"), cta, kind: warp(w) });
        }
        t.rows.push(Row { name: "tensor pipe".into(), cta, kind: RowKind::Engine(Engine::Tensor) });
        for slot in 0..4 {
            t.rows.push(Row { name: format!("a[{slot}]"), cta, kind: RowKind::Slot(format!("a[{slot}]")) });
        }
        t.rows.push(Row { name: "full".into(), cta, kind: RowKind::Barrier("full".into()) });
    }
    let each = spans / (ctas * ROWS) as usize;
    for i in 0..each as u64 {
        for row in 0..ctas * ROWS {
            let (start, kind) = (i * 40 * TICKS + u64::from(row), row % ROWS);
            let what = match (kind, i % 2) {
                (0..8, 0) => SpanKind::Work(if kind < 2 { Work::Load } else { Work::Mma }),
                (0..8, _) => SpanKind::Stall(Stall::Mbarrier),
                (8, _) => SpanKind::Work(Work::Mma),
                (9..13, filling) => SpanKind::Hold { filling: filling == 0 },
                _ => SpanKind::Hold { filling: false },
            };
            let woken_by = (i % 4 == 1).then(|| t.spans.len() as u32 - 1);
            let label = format!("A[{}, {}]", row / ROWS, i % 64).into();
            let site = (kind < 9).then_some((i % 2) as u32);
            t.spans.push(Span { label, woken_by, site, ..Span::new(row, (start, start + 40 * TICKS), what) });
        }
    }
    t.end = t.spans.iter().map(|s| s.end).max().unwrap_or(0);
    t
}

/// The viewer of a timeline, fully unfolded, with the whole run in the window.
///
/// # Panics
/// If the timeline is invalid.
pub fn open(t: Timeline) -> (Runs, State) {
    let end = t.end;
    let runs = Runs::new(Model::new(t).unwrap(), None);
    let palette = Palette { colours: Colours::True, ascii: false };
    let mut state = State::new(&runs, SIZE, (0, end), Keymap::default(), palette);
    for row in ["CTA 1", "CTA 2", "CTA 3"] {
        update(&mut state, &runs, Msg::Do(Command::Row, Some(row.into())));
        update(&mut state, &runs, Msg::Do(Command::Fold, None));
    }
    (runs, state)
}

/// Executes one command and draws the next frame.
pub fn frame(state: &mut State, runs: &Runs, buffer: &mut Buffer, command: Command, given: Option<&str>) {
    update(state, runs, Msg::Do(command, given.map(str::to_string)));
    buffer.reset();
    render(state, runs, buffer);
}

/// A buffer of [`SIZE`].
pub fn buffer() -> Buffer {
    Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1))
}
