//! The effect of each command.

use warpline_sim::timeline::TICKS;

use super::commands::Command;
use super::jumps;
use super::model::NodeKind;
use super::runs::Runs;
use super::search::SearchResults;
use super::state::{Focus, Mode, Pane, RunView, State};

/// Executes a command with its argument. If a command cannot be executed, the status line says why.
pub(crate) fn act(s: &mut State, runs: &Runs, command: Command, given: Option<&str>) {
    let given = given.map(str::trim).filter(|t| !t.is_empty());
    let quarter = (s.width() / 4) as i64;
    let page = (s.height() / 2).max(1) as isize;
    let end = runs.models[s.axis()].end;
    match command {
        Command::Left => s.step_cells(-1),
        Command::Right => s.step_cells(1),
        Command::PanLeft => s.pan(runs, -quarter),
        Command::PanRight => s.pan(runs, quarter),
        Command::Start => s.at = 0,
        Command::End => s.at = end - 1,
        Command::Goto => match given.and_then(cycle) {
            Some(at) if at < end => s.move_to(at),
            _ => s.says = format!("goto takes a cycle, 0 to {}", end / TICKS),
        },
        Command::ZoomIn => s.zoom(runs, true),
        Command::ZoomOut => s.zoom(runs, false),
        Command::ZoomAll => (s.from, s.to) = (0, end),
        Command::ZoomOperation => jumps::zoom_operation(s, runs),
        Command::Window => {
            let mut words = given.unwrap_or_default().split_whitespace().map(cycle);
            match (words.next().flatten(), words.next().flatten()) {
                (Some(from), Some(to)) if from < to && from < end => {
                    (s.from, s.to) = (from, to);
                    s.at = s.at.clamp(from, to - 1);
                }
                _ => s.says = format!("window takes two cycles, from 0 to {}", end / TICKS),
            }
        }
        Command::Up => s.step_lines(runs, -1),
        Command::Down => s.step_lines(runs, 1),
        Command::PageUp => s.step_lines(runs, -page),
        Command::PageDown => s.step_lines(runs, page),
        Command::Row => jumps::row(s, runs, given),
        Command::Fold => s.fold(runs),
        Command::FoldAll => fold_all(s, runs),
        Command::RowUp => reorder(s, runs, -1),
        Command::RowDown => reorder(s, runs, 1),
        Command::Filter => {
            let text = given.unwrap_or_default();
            let old = std::mem::replace(&mut s.filter, text.to_string());
            if s.lines(runs).is_empty() {
                s.says = format!("no row has `{text}` in its name");
                s.filter = old;
            }
        }
        Command::PrevEdge | Command::NextEdge => jumps::edge(s, runs, command == Command::NextEdge, false),
        Command::PrevEdgeAny | Command::NextEdgeAny => jumps::edge(s, runs, command == Command::NextEdgeAny, true),
        Command::Mark => match s.marks.binary_search(&s.at) {
            Ok(i) => drop(s.marks.remove(i)),
            Err(i) => s.marks.insert(i, s.at),
        },
        Command::PrevMark => match s.marks.iter().rev().find(|m| **m < s.at).or(s.marks.last()) {
            Some(&at) => s.move_to(at),
            None => s.says = "there is no mark".into(),
        },
        Command::ClearMarks => s.marks.clear(),
        Command::Store => match given.and_then(digit) {
            Some(d) => {
                s.kept[d] = Some(s.place());
                s.says = format!("kept under {d}");
            }
            None => s.says = "store takes a digit".into(),
        },
        Command::Recall => match given.and_then(digit).map(|d| (d, s.kept[d])) {
            Some((_, Some(place))) => s.go(runs, place),
            Some((d, None)) => s.says = format!("no position is stored as {d}"),
            None => s.says = "recall takes a digit".into(),
        },
        Command::Search => {
            s.found = SearchResults::new(&runs.models[s.axis()], s.axis(), given.unwrap_or_default());
            jumps::found(s, runs, true);
        }
        Command::SearchNext => jumps::found(s, runs, true),
        Command::SearchPrev => jumps::found(s, runs, false),
        Command::Waker => jumps::waker(s, runs),
        Command::Woken => jumps::woken(s, runs),
        Command::Back => match s.back.pop() {
            Some(place) => s.go(runs, place),
            None => s.says = "there is nothing to go back to".into(),
        },
        Command::MoreHops => s.hops = (s.hops + 1).min(9),
        Command::FewerHops => s.hops = s.hops.saturating_sub(1),
        Command::Fault => jumps::fault(s, runs),
        Command::MoveNext => jumps::schedule(s, runs, true),
        Command::MovePrev => jumps::schedule(s, runs, false),
        Command::PathNext => jumps::path(s, runs, true),
        Command::PathPrev => jumps::path(s, runs, false),
        Command::Runs | Command::Align | Command::Same if !runs.two() => {
            s.says = "there is only one run; `--with` adds another".into();
        }
        Command::Runs => match s.shown {
            RunView::A => s.turn_to(runs, 1),
            RunView::B => {
                s.turn_to(runs, 0);
                s.shown = RunView::Overlay;
            }
            RunView::Overlay => {
                s.shown = RunView::A;
                if s.focus.run == 1 {
                    s.focus = runs.partner(s.focus).unwrap_or(Focus { run: 0, node: 0 });
                }
            }
        },
        Command::Align => jumps::align(s, runs),
        Command::Same => jumps::same(s, runs),
        Command::Play => s.playing = if s.playing.is_some() { None } else { Some(s.speed) },
        Command::Faster => speed(s, s.speed.saturating_mul(2)),
        Command::Slower => speed(s, s.speed / 2),
        Command::Pane => {
            s.pane = match s.pane {
                Pane::Operation => Pane::Stalls,
                Pane::Stalls => Pane::Legend,
                Pane::Legend => Pane::Operation,
            };
        }
        Command::Palette => s.mode = Mode::Palette { text: String::new(), pick: 0 },
        Command::Help => s.mode = Mode::Help { top: 0 },
        Command::Cancel => {
            s.mode = Mode::Normal;
            s.playing = None;
            s.found = SearchResults::default();
        }
        Command::Quit => s.quit = true,
    }
}

/// Ticks of a cycle as people write it: `12000`, `12,000`, `12000.5`.
fn cycle(text: &str) -> Option<u64> {
    let c = text.replace(',', "").parse::<f64>().ok()?;
    (c >= 0.0 && c < u64::MAX as f64 / TICKS as f64 / 4.0).then_some((c * TICKS as f64) as u64)
}

fn digit(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    match (chars.next().and_then(|c| c.to_digit(10)), chars.next()) {
        (Some(d), None) => Some(d as usize),
        _ => None,
    }
}

fn speed(s: &mut State, to: u32) {
    s.speed = to.clamp(1, 1 << 24);
    if s.playing.is_some() {
        s.playing = Some(s.speed);
    }
    s.says = format!("{} cycles a second", s.speed);
}

/// Folds or unfolds all CTAs, or all groups of this name: the opposite of the one in focus.
fn fold_all(s: &mut State, runs: &Runs) {
    let m = runs.model(s.focus);
    let Some(this) = s.foldable(runs) else { return };
    let folded = !s.folded[this.run][this.node as usize];
    s.fold(runs);
    let this = &m.nodes[this.node as usize];
    for (i, n) in m.nodes.iter().enumerate() {
        if n.kind == this.kind && (n.kind == NodeKind::Cta || n.name == this.name) {
            s.set_folded(runs, Focus { run: s.focus.run, node: i as u32 }, folded);
        }
    }
}

/// Moves a row among its neighbors.
fn reorder(s: &mut State, runs: &Runs, by: isize) {
    let nodes = &runs.model(s.focus).nodes;
    let parent = nodes[s.focus.node as usize].parent.map_or(nodes.len(), |p| p as usize);
    let order = &mut s.order[s.focus.run][parent];
    let Some(i) = order.iter().position(|n| *n == s.focus.node) else { return };
    match i.checked_add_signed(by).filter(|j| *j < order.len()) {
        Some(j) => order.swap(i, j),
        None => s.says = "it is at the end already".into(),
    }
}

impl State {
    /// Shows one run alone, and keeps the instant under the cursor in place.
    pub(crate) fn turn_to(&mut self, runs: &Runs, run: usize) {
        let there = |s: &State, t: u64| s.in_run(run, t).max(0) as u64;
        let (from, at, width) = (there(self, self.from), there(self, self.at), self.width());
        let focus = if self.focus.run == run { Some(self.focus) } else { runs.partner(self.focus) };
        self.shown = if run == 1 { RunView::B } else { RunView::A };
        self.focus = focus.unwrap_or(Focus { run, node: runs.models[run].roots.first().copied().unwrap_or(0) });
        (self.from, self.to, self.at) = (from, from + width, at);
    }
}
