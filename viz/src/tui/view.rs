//! The window on time and rows: zoom, pan, and keeping the cursor visible.

use warpline_sim::timeline::TICKS;

use super::layout::layout;
use super::model::NodeKind;
use super::runs::Runs;
use super::state::{Bookmark, Focus, Line, State};

/// Shortest window in ticks: four cycles.
const SHORTEST: u64 = 4 * TICKS;

impl State {
    /// Cells of a row.
    pub(crate) fn cells(&self) -> u16 {
        layout(self.size).map_or(1, |l| l.rows.width)
    }

    /// Visible lines of rows.
    pub(crate) fn height(&self) -> usize {
        layout(self.size).map_or(1, |l| usize::from(l.rows.height))
    }

    pub(crate) fn width(&self) -> u64 {
        self.to - self.from
    }

    /// Ticks of a cell, at least one.
    pub(crate) fn cell(&self) -> u64 {
        (self.width() / u64::from(self.cells())).max(1)
    }

    /// Restores the invariants: window in the run, cursor in the window, row in focus on the screen.
    pub(crate) fn clamp(&mut self, runs: &Runs) {
        let end = runs.models[self.axis()].end;
        let width = (self.to.saturating_sub(self.from)).clamp(SHORTEST.min(end), end);
        self.from = self.from.min(end - width);
        self.to = self.from + width;
        self.at = self.at.min(end - 1);
        if self.at < self.from || self.at >= self.to {
            // The cursor leads; the window follows as little as needed.
            let margin = (width / 16).min(width - 1);
            self.from = if self.at < self.from {
                self.at.saturating_sub(margin)
            } else {
                (self.at + margin + 1).saturating_sub(width)
            }
            .min(end - width);
            self.to = self.from + width;
        }
        let lines = self.lines(runs);
        let line = self.line(runs, &lines);
        if let Some(l) = lines.get(line) {
            self.focus = l.focus;
        }
        let height = self.height();
        self.top = self.top.min(line).max((line + 1).saturating_sub(height));
        self.top = self.top.min(lines.len().saturating_sub(height.min(lines.len())));
    }

    /// The line of the row in focus, or of the nearest visible row above it.
    pub(crate) fn line(&self, runs: &Runs, lines: &[Line]) -> usize {
        let mut at = Some(self.focus);
        while let Some(focus) = at {
            if let Some(i) = lines.iter().position(|l| l.focus == focus) {
                return i;
            }
            let parent = runs.model(focus).nodes[focus.node as usize].parent;
            at = parent.map(|node| Focus { run: focus.run, node });
        }
        0
    }

    /// Moves the row in focus by some lines.
    pub(crate) fn step_lines(&mut self, runs: &Runs, by: isize) {
        let lines = self.lines(runs);
        let i = self.line(runs, &lines).saturating_add_signed(by).min(lines.len().saturating_sub(1));
        if let Some(l) = lines.get(i) {
            self.focus = l.focus;
        }
    }

    /// Moves the cursor by cells; a cell shorter than a cycle counts as a cycle.
    pub(crate) fn step_cells(&mut self, by: i64) {
        let step = self.cell().max(TICKS) as i64 * by;
        self.at = self.at.saturating_add_signed(step);
    }

    /// Moves the window, and the cursor with it.
    pub(crate) fn pan(&mut self, runs: &Runs, by: i64) {
        let end = runs.models[self.axis()].end;
        let from = self.from.saturating_add_signed(by).min(end - self.width().min(end));
        let moved = from as i64 - self.from as i64;
        self.to = self.to.saturating_add_signed(moved);
        self.at = self.at.saturating_add_signed(moved);
        self.from = from;
    }

    /// Halves or doubles the window; the cursor keeps its place.
    pub(crate) fn zoom(&mut self, runs: &Runs, closer: bool) {
        let end = runs.models[self.axis()].end;
        let old = self.width();
        let new = if closer { old / 2 } else { old.saturating_mul(2) }.clamp(SHORTEST.min(end), end);
        let left = u128::from(self.at - self.from) * u128::from(new) / u128::from(old.max(1));
        self.from = self.at.saturating_sub(left as u64).min(end - new);
        self.to = self.from + new;
    }

    /// Centers the window on an instant, with the cursor on it.
    pub(crate) fn look_at(&mut self, at: u64) {
        let width = self.width();
        self.at = at;
        self.from = at.saturating_sub(width / 2);
        self.to = self.from + width;
    }

    /// Moves the cursor, and the window only if needed.
    pub(crate) fn move_to(&mut self, at: u64) {
        if at < self.from || at >= self.to { self.look_at(at) } else { self.at = at }
    }

    /// Jumps to a place and remembers the current one.
    pub(crate) fn jump(&mut self, runs: &Runs, focus: Focus, tick: u64) {
        /// Most places to return to.
        const BACK: usize = 100;
        if self.back.len() == BACK {
            self.back.remove(0);
        }
        self.back.push(self.place());
        self.focus = focus;
        self.show(runs, focus);
        self.move_to(self.on_axis(focus.run, tick));
    }

    /// Jumps to an operation: to its middle, or to its end if the cursor should be at what it caused.
    pub(crate) fn jump_to(&mut self, runs: &Runs, (run, span): (usize, u32), last: bool) {
        let m = &runs.models[run];
        let s = m.span(span);
        let tick = if last { s.end - 1 } else { s.start };
        self.jump(runs, Focus { run, node: m.track[span as usize] }, tick);
    }

    /// Unfolds the groups of a row, and removes a filter that hides it.
    fn show(&mut self, runs: &Runs, focus: Focus) {
        for focus in std::iter::once(focus).chain(runs.partner(focus)) {
            let nodes = &runs.model(focus).nodes;
            let mut at = nodes[focus.node as usize].parent;
            while let Some(p) = at {
                self.folded[focus.run][p as usize] = false;
                at = nodes[p as usize].parent;
            }
        }
        if self.axis() != focus.run && self.shown != super::state::RunView::Overlay {
            self.turn_to(runs, focus.run);
        }
        if !self.lines(runs).iter().any(|l| l.focus == focus) {
            self.filter.clear();
        }
    }

    /// Returns to a place.
    pub(crate) fn go(&mut self, runs: &Runs, place: Bookmark) {
        self.show(runs, place.focus);
        (self.from, self.to, self.at, self.focus) = (place.from, place.to, place.at, place.focus);
    }

    /// Advances time.
    pub(crate) fn advance(&mut self, ms: u32) {
        let Some(speed) = self.playing else { return };
        let ticks = u64::from(speed) * TICKS * u64::from(ms) / 1000;
        self.at += ticks;
        // The cursor runs to the middle; from there on the window moves.
        let middle = self.from + self.width() / 2;
        if self.at > middle {
            let by = self.at - middle;
            (self.from, self.to) = (self.from + by, self.to + by);
        }
    }

    /// The node in focus if it can be folded, else its group.
    pub(crate) fn foldable(&self, runs: &Runs) -> Option<Focus> {
        let node = &runs.model(self.focus).nodes[self.focus.node as usize];
        match node.kind {
            NodeKind::Cta | NodeKind::Group => Some(self.focus),
            _ => node.parent.map(|node| Focus { run: self.focus.run, node }),
        }
    }

    /// Folds a node, or the group of a row.
    pub(crate) fn fold(&mut self, runs: &Runs) {
        let Some(focus) = self.foldable(runs) else { return };
        let folded = !self.folded[focus.run][focus.node as usize];
        self.set_folded(runs, focus, folded);
        let nodes = &runs.model(focus).nodes;
        // An open group has no line of its own.
        let first = self.order[focus.run][focus.node as usize].first();
        self.focus = match first {
            Some(&node) if !folded && nodes[focus.node as usize].kind == NodeKind::Group => {
                Focus { run: focus.run, node }
            }
            _ => focus,
        };
    }

    /// Folds a node, in both runs.
    pub(crate) fn set_folded(&mut self, runs: &Runs, focus: Focus, folded: bool) {
        for f in std::iter::once(focus).chain(runs.partner(focus)) {
            self.folded[f.run][f.node as usize] = folded;
        }
    }
}
