//! Inlay hints: values of parameters, and the longest wait at each statement.

use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip, Range};
use warpline_api::editor::{Cost, Value};

use crate::document::{Document, position};
use crate::hover::waits;

/// The smallest share of a role's time that is shown behind a statement.
const SMALL: f64 = 0.01;

/// The hints of a range.
pub(crate) fn hints(document: &Document, within: &Range) -> Vec<InlayHint> {
    let a = &document.analysis;
    let values = a.checked.iter().flat_map(|c| &c.values).filter(|v| v.hidden);
    let costs = a.measured.iter().flat_map(|m| &m.costs);
    let all = values.filter_map(|v| value(document, v)).chain(costs.filter_map(|c| stall(document, c)));
    all.filter(|h| within.start <= h.position && h.position <= within.end).collect()
}

/// `m` becomes `m = 4096`, and `tiles = cdiv(k, tile_k)` becomes `tiles = cdiv(k, tile_k) = 64`.
fn value(document: &Document, v: &Value) -> Option<InlayHint> {
    let span = document.moved(&v.span)?;
    Some(hint(document, span.end, format!(" = {}", v.value), InlayHintKind::PARAMETER, None))
}

/// `math waits 35 %: mbarrier full`, behind the statement.
fn stall(document: &Document, c: &Cost) -> Option<InlayHint> {
    let wait = c.waits.first().filter(|w| w.share >= SMALL)?;
    let span = document.moved(&c.span)?;
    let cause = wait.causes.first().map_or(String::new(), |c| format!(": {}", c.0));
    let label = format!("  {} waits {:.0} %{cause}", wait.role, wait.share * 100.0);
    Some(hint(document, span.end, label, InlayHintKind::TYPE, Some(waits(c))))
}

fn hint(document: &Document, at: usize, label: String, kind: InlayHintKind, tooltip: Option<String>) -> InlayHint {
    InlayHint {
        position: position(&document.text, at),
        label: InlayHintLabel::String(label),
        kind: Some(kind),
        text_edits: None,
        tooltip: tooltip.map(InlayHintTooltip::String),
        padding_left: None,
        padding_right: None,
        data: None,
    }
}
