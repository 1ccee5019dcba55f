//! The state of the viewer between two messages.

use super::commands::{Command, Keymap};
use super::keys::Key;
use super::layout::layout;
use super::model::{Model, NodeKind};
use super::palette::Palette;
use super::runs::Runs;
use super::search::SearchResults;

/// A message to the viewer.
#[derive(Clone, Debug, PartialEq)]
pub enum Msg {
    /// A key.
    Key(Key),
    /// A command with its argument, from a script or the palette.
    Do(Command, Option<String>),
    /// The new width and height of the terminal.
    Resize(u16, u16),
    /// Milliseconds that passed.
    Tick(u32),
    /// A click at this column and line.
    Click(u16, u16),
    /// The wheel at this column: up zooms in.
    Wheel(u16, bool),
}

/// Which of two runs are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunView {
    A,
    B,
    Overlay,
}

/// What receives the keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mode {
    Normal,
    Help { top: usize },
    Palette { text: String, pick: usize },
    Prompt { command: Command, text: String },
}

/// Content of the detail pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pane {
    Operation,
    Stalls,
    Legend,
}

/// A place to return to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bookmark {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) at: u64,
    pub(crate) focus: Focus,
}

/// A node of one of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Focus {
    pub(crate) run: usize,
    pub(crate) node: u32,
}

/// A line of the display.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) focus: Focus,
    pub(crate) depth: usize,
}

/// The state. Times are ticks of the run with the axis: B if only B is shown, else A.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) size: (u16, u16),
    /// First tick of the window; the next field is the tick after its last.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Tick of the cursor.
    pub(crate) at: u64,
    pub(crate) focus: Focus,
    /// First visible line.
    pub(crate) top: usize,
    /// For each run and node, whether it is folded; the next field is the order of each node's children, with the
    /// CTAs last.
    pub(crate) folded: Vec<Vec<bool>>,
    pub(crate) order: Vec<Vec<Vec<u32>>>,
    pub(crate) filter: String,
    pub(crate) found: SearchResults,
    /// The move of the schedule that was shown last.
    pub(crate) made: Option<usize>,
    pub(crate) marks: Vec<u64>,
    pub(crate) kept: [Option<Bookmark>; 10],
    pub(crate) back: Vec<Bookmark>,
    pub(crate) hops: u32,
    pub(crate) shown: RunView,
    /// Ticks from an instant of A to the instant of B drawn under it.
    pub(crate) offset: i64,
    /// Cycles a second while playing.
    pub(crate) playing: Option<u32>,
    pub(crate) speed: u32,
    pub(crate) pane: Pane,
    pub(crate) mode: Mode,
    pub(crate) keys: Keymap,
    pub(crate) palette: Palette,
    /// Message of the last command.
    pub(crate) says: String,
    pub(crate) quit: bool,
}

/// Groups with at least this many warps are folded at first; the next constant is for other rows.
const WARPS_FOLDED: usize = 8;
const ROWS_FOLDED: usize = 5;
/// Initial speed in cycles a second.
const SPEED: u32 = 256;

impl State {
    /// The state at the start of the runs, showing ticks `from..to` on a terminal of this size.
    pub fn new(runs: &Runs, size: (u16, u16), window: (u64, u64), keys: Keymap, palette: Palette) -> State {
        let fold = |m: &Model| -> Vec<bool> {
            let fold = |(i, n): (usize, &super::model::Node)| match n.kind {
                // The other CTAs of a grid do the same.
                NodeKind::Cta => m.roots.first() != Some(&(i as u32)),
                NodeKind::Group => n.children.len() >= if n.agents { WARPS_FOLDED } else { ROWS_FOLDED },
                _ => false,
            };
            m.nodes.iter().enumerate().map(fold).collect()
        };
        let order = |m: &Model| {
            let mut order: Vec<Vec<u32>> = m.nodes.iter().map(|n| n.children.clone()).collect();
            order.push(m.roots.clone());
            order
        };
        let mut state = State {
            size,
            from: window.0,
            to: window.1,
            at: window.0,
            focus: Focus { run: 0, node: runs.a().roots.first().copied().unwrap_or(0) },
            top: 0,
            folded: runs.models.iter().map(fold).collect(),
            order: runs.models.iter().map(order).collect(),
            filter: String::new(),
            found: SearchResults::default(),
            made: None,
            marks: Vec::new(),
            kept: [None; 10],
            back: Vec::new(),
            hops: 1,
            shown: if runs.models.len() > 1 { RunView::Overlay } else { RunView::A },
            offset: 0,
            playing: None,
            speed: SPEED,
            pane: Pane::Operation,
            mode: Mode::Normal,
            keys,
            palette,
            says: String::new(),
            quit: false,
        };
        state.unfold_what_fits(runs);
        // Focus starts on the first row of a warp.
        if let Some(line) =
            state.lines(runs).into_iter().find(|l| !runs.model(l.focus).spans_of(l.focus.node).is_empty())
        {
            state.focus = line.focus;
        }
        state.clamp(runs);
        state
    }

    /// Unfolds groups of the first CTA, those of warps first, as long as all lines fit the screen.
    fn unfold_what_fits(&mut self, runs: &Runs) {
        let Some(room) = layout(self.size).map(|l| usize::from(l.rows.height)) else { return };
        let (run, m) = (self.axis(), &runs.models[self.axis()]);
        let mut groups: Vec<(bool, u32)> = (0u32..)
            .zip(&m.nodes)
            .filter(|(_, n)| n.kind == NodeKind::Group && n.parent.is_some() && n.parent == m.roots.first().copied())
            .map(|(i, n)| (!n.agents, i))
            .collect();
        groups.sort_unstable();
        for (_, node) in groups {
            let folded = self.folded[run][node as usize];
            self.set_folded(runs, Focus { run, node }, false);
            if self.lines(runs).len() > room {
                self.set_folded(runs, Focus { run, node }, folded);
            }
        }
    }

    /// Whether the viewer should be left.
    pub fn quits(&self) -> bool {
        self.quit
    }

    /// Whether time advances by itself.
    pub fn plays(&self) -> bool {
        self.playing.is_some()
    }

    /// The run that has the time axis.
    pub(crate) fn axis(&self) -> usize {
        usize::from(self.shown == RunView::B)
    }

    /// An instant of the axis in the time of a run; it may be before the run's start.
    pub(crate) fn in_run(&self, run: usize, t: u64) -> i64 {
        match (self.axis(), run) {
            (0, 1) => t as i64 + self.offset,
            (1, 0) => t as i64 - self.offset,
            _ => t as i64,
        }
    }

    /// An instant of a run on the axis.
    pub(crate) fn on_axis(&self, run: usize, t: u64) -> u64 {
        let shift = match (self.axis(), run) {
            (0, 1) => -self.offset,
            (1, 0) => self.offset,
            _ => 0,
        };
        (t as i64 + shift).max(0) as u64
    }

    /// The visible lines, after folding, filtering and ordering.
    pub(crate) fn lines(&self, runs: &Runs) -> Vec<Line> {
        let run = self.axis();
        let mut lines = Vec::new();
        let filter = self.filter.to_lowercase();
        let model = &runs.models[run];
        for &root in self.order[run].last().into_iter().flatten() {
            self.add_lines(runs, model, Focus { run, node: root }, 0, &filter, &mut lines);
        }
        lines
    }

    fn add_lines(&self, runs: &Runs, m: &Model, focus: Focus, depth: usize, filter: &str, out: &mut Vec<Line>) {
        let node = &m.nodes[focus.node as usize];
        let matches = filter.is_empty() || node.path.to_lowercase().contains(filter);
        // A filter opens groups with matches inside, and leaves a matching group as it is.
        let open = if matches { !self.folded[focus.run][focus.node as usize] } else { true };
        let place = out.len();
        // The rows of an open group say everything that its own line would.
        if !(open && node.kind == NodeKind::Group) {
            out.push(Line { focus, depth });
            if self.shown == RunView::Overlay
                && let Some(other) = runs.partner(focus)
            {
                out.push(Line { focus: other, depth });
            }
        }
        let own = out.len();
        if open {
            for &child in &self.order[focus.run][focus.node as usize] {
                self.add_lines(runs, m, Focus { run: focus.run, node: child }, depth + 1, filter, out);
            }
        }
        if !matches && out.len() == own {
            out.truncate(place);
        }
    }

    /// The operation under the cursor on the row in focus.
    pub(crate) fn selected(&self, runs: &Runs) -> Option<(usize, u32)> {
        let tick = u64::try_from(self.in_run(self.focus.run, self.at)).ok()?;
        Some((self.focus.run, runs.model(self.focus).at(self.focus.node, tick)?))
    }

    pub(crate) fn place(&self) -> Bookmark {
        Bookmark { from: self.from, to: self.to, at: self.at, focus: self.focus }
    }
}
