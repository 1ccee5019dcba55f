//! Which operation of one run is which of another: of the same row, the n-th of its kind.

use std::collections::BTreeMap;

use crate::timeline::{Span, SpanKind, Timeline};

/// What an operation is, but for when: what it does and the text of its statement. Two texts of one kernel may differ in
/// their lines; what is said there is the same.
pub fn operation<'t>(t: &'t Timeline, s: &Span) -> (SpanKind, Option<&'t str>) {
    let site = s.site.and_then(|i| t.sites.get(i as usize));
    (s.what, site.map(|s| s.text.as_str()))
}

/// The operations of `a` with their partners in `b`, as indices of spans, in the order of `a`: on the row of the same CTA
/// and name, as often after others of the same kind. Those without one have none.
pub fn partners(a: &Timeline, b: &Timeline) -> Vec<Option<u32>> {
    let mut theirs: BTreeMap<Key<'_>, u32> = BTreeMap::new();
    for (i, key) in numbered(b).enumerate() {
        theirs.insert(key, i as u32);
    }
    numbered(a).map(|key| theirs.get(&key).copied()).collect()
}

/// How often an operation's like came before on its row, in the order of the spans.
pub fn turn(t: &Timeline) -> Vec<u32> {
    numbered(t).map(|key| key.4).collect()
}

/// CTA, row, kind, text, and how many such came before.
type Key<'t> = (u32, &'t str, Rank, Option<&'t str>, u32);

/// An order of what spans show.
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
        // A line more, in another order, and no wait.
        let b = run(&[(7, "new"), (9, "mma")], &[(0, 1, mma, 0), (1, 4, mma, 1), (4, 8, mma, 1), (8, 9, mma, 1)]);
        assert_eq!(partners(&a, &b), [Some(1), None, Some(2)]);
        assert_eq!(turn(&b), [0, 0, 1, 2]);
    }
}
