//! Search for operations by text: in their tile or phase, source line, kind, and row name.

use super::model::Model;
use warpline_sim::words;

/// Results of a search, in order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchResults {
    pub(crate) text: String,
    pub(crate) run: usize,
    pub(crate) spans: Vec<u32>,
}

impl SearchResults {
    /// Searches all operations. A text that many share is searched once.
    pub(crate) fn new(m: &Model, run: usize, text: &str) -> SearchResults {
        let wanted = text.trim().to_lowercase();
        if wanted.is_empty() {
            return SearchResults::default();
        }
        let has = |s: &str| s.to_lowercase().contains(&wanted);
        let sites: Vec<bool> = m.t.sites.iter().map(|s| has(&s.text)).collect();
        let labels: Vec<bool> = m.labels.iter().map(|l| has(l)).collect();
        let nodes: Vec<bool> = m.nodes.iter().map(|n| has(&n.name)).collect();
        let kinds: Vec<bool> = super::class::ALL.iter().map(|c| has(c.legend())).collect();
        let mut spans: Vec<u32> = (0..m.t.spans.len() as u32)
            .filter(|&i| {
                let s = m.span(i);
                s.start < s.end
                    && (labels[m.label[i as usize] as usize]
                        || nodes[m.track[i as usize] as usize]
                        || kinds[usize::from(m.class[i as usize])]
                        || words::what(s.what).contains(&wanted)
                        || s.site.is_some_and(|i| sites.get(i as usize).is_some_and(|s| *s)))
            })
            .collect();
        if !spans.is_sorted_by_key(|i| m.span(*i).start) {
            spans.sort_by_key(|i| m.span(*i).start);
        }
        SearchResults { text: text.trim().to_string(), run, spans }
    }

    /// The result after (or before) an operation, or after an instant if none is selected, cyclically.
    pub(crate) fn next(&self, m: &Model, from: (u64, Option<u32>), forward: bool) -> Option<u32> {
        let key = |i: u32| (m.span(i).start, i);
        let last = self.spans.len().checked_sub(1)?;
        let here = from.1.map_or((from.0, if forward { 0 } else { u32::MAX }), key);
        let i = if forward {
            let i = self.spans.partition_point(|s| key(*s) <= here);
            if i > last { 0 } else { i }
        } else {
            self.spans.partition_point(|s| key(*s) < here).checked_sub(1).unwrap_or(last)
        };
        Some(self.spans[i])
    }
}
