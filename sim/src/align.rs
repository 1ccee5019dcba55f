//! Pairing of the operations of two runs: same row, same kind, same number of predecessors of that kind.

use std::collections::BTreeMap;

use crate::timeline::{Span, SpanKind, Timeline};

/// The identity of an operation without its time: its kind and the text of its statement. Two versions of a kernel may
/// differ in their line numbers, so the text identifies a statement.
pub fn operation<'t>(t: &'t Timeline, s: &Span) -> (SpanKind, Option<&'t str>) {
    let site = s.site.and_then(|i| t.sites.get(i as usize));
    (s.what, site.map(|s| s.text.as_str()))
}

/// For each operation of `a`, the index of its partner span in `b`; `None` for an operation without a partner. Partners
/// are on rows with the same CTA and name, and as many operations of their kind precede each on its row.
pub fn partners(a: &Timeline, b: &Timeline) -> Vec<Option<u32>> {
    let mut theirs: BTreeMap<Key<'_>, u32> = BTreeMap::new();
    for (i, key) in numbered(b).enumerate() {
        theirs.insert(key, i as u32);
    }
    numbered(a).map(|key| theirs.get(&key).copied()).collect()
}

/// For each span, the number of earlier spans of the same kind on its row.
pub fn turn(t: &Timeline) -> Vec<u32> {
    numbered(t).map(|key| key.4).collect()
}

/// CTA, row, kind, text, and the number of earlier spans that have all of these in common.
type Key<'t> = (u32, &'t str, Rank, Option<&'t str>, u32);

/// A rank that orders kinds of spans.
type Rank = (u8, u8);

fn rank(what: SpanKind) -> Rank {
    match what {
        SpanKind::Work(w) => (0, w as u8),
        SpanKind::Stall(s) => (1, s as u8),
        SpanKind::Hold { filling } => (2, u8::from(filling)),
    }
}

fn numbered(t: &Timeline) -> impl Iterator<Item = Key<'_>> {
    let mut seen: BTreeMap<(u32, Rank, Option<&str>), u32> = BTreeMap::new();
    t.spans.iter().map(move |s| {
        let (what, text) = operation(t, s);
        let (cta, name) = t.rows.get(s.row as usize).map_or((0, ""), |r| (r.cta, r.name.as_str()));
        let n = seen.entry((s.row, rank(what), text)).or_insert(0);
        *n += 1;
        (cta, name, rank(what), text, *n - 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Row, RowKind, SourceLine, Stall, Work};

    fn run(lines: &[(u32, &str)], spans: &[(u64, u64, SpanKind, u32)]) -> Timeline {
        let kind = RowKind::Agent { role: "w".into(), warp: 0, lanes: None };
        Timeline {
            rows: vec![Row { name: "w0".into(), cta: 0, kind }],
            sites: lines
                .iter()
                .map(|(line, text)| SourceLine { file: "f".into(), line: *line, text: text.to_string() })
                .collect(),
            spans: spans.iter().map(|s| Span { site: Some(s.3), ..Span::new(0, (s.0, s.1), s.2) }).collect(),
            ..Timeline::default()
        }
    }

    #[test]
    fn the_nth_of_a_kind_is_the_nth_of_the_other_run() {
        let (mma, wait) = (SpanKind::Work(Work::Mma), SpanKind::Stall(Stall::Barrier));
        let a = run(&[(1, "mma"), (2, "barrier")], &[(0, 5, mma, 0), (5, 9, wait, 1), (9, 14, mma, 0)]);
        // The second run has one line more, its operations in another order, and no wait.
        let b = run(&[(7, "new"), (9, "mma")], &[(0, 1, mma, 0), (1, 4, mma, 1), (4, 8, mma, 1), (8, 9, mma, 1)]);
        assert_eq!(partners(&a, &b), [Some(1), None, Some(2)]);
        assert_eq!(turn(&b), [0, 0, 1, 2]);
    }
}
