//! The column of names.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::model::NodeKind;
use super::super::runs::Runs;
use super::super::state::{Line, RunView, State};
use super::super::text;
use super::{put, put_right};

pub(super) fn name(state: &State, runs: &Runs, line: &Line, chosen: bool, buffer: &mut Buffer, area: Rect) {
    let p = state.palette;
    let node = &runs.model(line.focus).nodes[line.focus.node as usize];
    let area = Rect { width: area.width.saturating_sub(1), ..area };
    let style = match (&node.kind, chosen) {
        (_, true) => p.chosen(),
        (NodeKind::Cta, _) => p.head(),
        _ => Style::new(),
    };
    if chosen {
        put(buffer, area, 0, &" ".repeat(usize::from(area.width)), style);
    }
    let run = match (state.shown, line.focus.run) {
        (RunView::Overlay, 0) => "A ",
        (RunView::Overlay, _) => "B ",
        _ => "",
    };
    let fold = match node.kind {
        NodeKind::Cta | NodeKind::Group if state.folded[line.focus.run][line.focus.node as usize] => p.pick('▸', '+'),
        NodeKind::Cta | NodeKind::Group => p.pick('▾', '-'),
        _ => ' ',
    };
    let indent = " ".repeat(line.depth);
    let value = match &node.kind {
        NodeKind::Counter(c) => {
            let tick = state.in_run(line.focus.run, state.at).max(0) as u64;
            let now = c.mean(tick, tick) as u64;
            if c.unit() == "bytes" { text::bytes(now) } else { format!("{now}/{}", c.most()) }
        }
        _ => String::new(),
    };
    let wide = |text: &str| text.chars().count() + value.chars().count() + 1 > usize::from(area.width);
    let mut label = format!("{run}{indent}{fold}{}", node.name);
    if let Some(buffer) = label.strip_suffix(" stages full").filter(|_| wide(&label)) {
        label = format!("{buffer} full");
    }
    let mut x = put(buffer, area, 0, &label, style);
    let count = match &node.kind {
        NodeKind::Group => format!(" {}{}", p.pick('×', 'x'), node.children.len()),
        _ => String::new(),
    };
    // A count is left out if the name leaves no room for all of it.
    if usize::from(area.width.saturating_sub(x)) >= count.chars().count() {
        x = put(buffer, area, x, &count, style);
    }
    // So is a value.
    if !value.is_empty() && usize::from(area.width.saturating_sub(x)) > value.chars().count() {
        put_right(buffer, area, &value, style);
    }
}
