//! Causes: what let an operation begin or a wait end, and the chain of them that ends last.

use super::class;
use super::model::Model;

/// What woke or started an operation: recorded, never guessed.
pub(crate) fn cause(m: &Model, span: u32) -> Option<u32> {
    let s = m.span(span);
    s.woken_by.or(s.started_by).filter(|w| (*w as usize) < m.t.spans.len())
}

/// The chain of causes from the end of the run back to its start, in order of time.
///
/// From a wait it goes to what woke it; from an engine's work to the work before it where that is what it queued behind,
/// else to what started it; from anything else to what the row did just before. Where a wait has no recorded waker, as
/// one for an issue slot has none, the chain stays on its row.
pub(crate) fn longest(m: &Model) -> Vec<u32> {
    let lasts = m.nodes.iter().enumerate().filter(|(_, n)| n.agents).filter_map(|(i, _)| {
        let alive = |s: &&u32| m.class[**s as usize] != class::ENDED;
        m.spans_of(i as u32).iter().rev().find(alive).copied()
    });
    let Some(mut at) = lasts.max_by_key(|s| (m.span(*s).end, std::cmp::Reverse(*s))) else { return Vec::new() };
    let mut chain = vec![at];
    while let Some(next) = before(m, at) {
        // Causes end no later than what they cause; a record that says otherwise ends the chain.
        if m.span(next).end > m.span(at).end || chain.len() > m.t.spans.len() {
            break;
        }
        chain.push(next);
        at = next;
    }
    chain.reverse();
    chain
}

fn before(m: &Model, span: u32) -> Option<u32> {
    let s = m.span(span);
    let row = m.spans_of(m.track[span as usize]);
    let prev = m.place(span).checked_sub(1).map(|i| row[i]);
    let touches = prev.filter(|p| m.span(*p).end == s.start);
    if s.woken_by.is_some() {
        return cause(m, span);
    }
    touches.or_else(|| cause(m, span)).or(prev)
}
