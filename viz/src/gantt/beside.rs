//! Two runs in one chart: B under A on one axis.

use warpline_sim::timeline::{Row, Timeline};

use super::below::hang_or_cycles;

/// One timeline with both runs, and headings of its CTAs. `ctas` limits the CTAs of each.
///
/// The clock is kept if both have the same.
pub fn beside(a: &Timeline, b: &Timeline, ctas: (Option<u32>, Option<u32>)) -> (Timeline, Vec<String>) {
    let mut both = Timeline {
        title: title(&a.title, &b.title),
        subtitle: values(&a.subtitle, &b.subtitle),
        mhz: if a.mhz == b.mhz { a.mhz } else { 0.0 },
        end: a.end.max(b.end),
        truncated_at: match (a.truncated_at, b.truncated_at) {
            (Some(x), Some(y)) => Some(x.min(y)),
            (x, y) => x.or(y),
        },
        ..Timeline::default()
    };
    let mut headings = Vec::new();
    for (name, t, ctas) in [("A", a, ctas.0), ("B", b, ctas.1)] {
        let first = headings.len() as u32;
        let last = t.rows.iter().map(|r| r.cta).filter(|c| ctas.is_none_or(|n| *c < n)).max();
        let cycles = hang_or_cycles(t);
        let title = t.title.split(" on ").next().unwrap_or_default();
        headings.extend((0..=last.unwrap_or(0)).map(|cta| format!("{name}: {title}, CTA {cta}; {cycles} cycles")));
        add(&mut both, t, first, last.unwrap_or(0));
    }
    both.spans.sort_by_key(|s| (s.start, s.row));
    (both, headings)
}

/// Adds rows and spans of a run. Wakes are left out: arrows within two runs are too many to follow.
fn add(both: &mut Timeline, t: &Timeline, first: u32, last: u32) {
    let sites = both.sites.len() as u32;
    let mut place: Vec<Option<u32>> = Vec::with_capacity(t.rows.len());
    for row in &t.rows {
        place.push((row.cta <= last).then(|| {
            both.rows.push(Row { cta: row.cta + first, ..row.clone() });
            both.rows.len() as u32 - 1
        }));
    }
    for span in &t.spans {
        let Some(row) = place.get(span.row as usize).copied().flatten() else { continue };
        let mut span = span.clone();
        (span.woken_by, span.started_by, span.on) = (None, None, None);
        span.row = row;
        span.site = span.site.map(|s| s + sites);
        both.spans.push(span);
    }
    both.sites.extend(t.sites.iter().cloned());
}

/// Both titles; a common machine is named once.
fn title(a: &str, b: &str) -> String {
    match (a.split_once(" on "), b.split_once(" on ")) {
        _ if a == b => a.to_string(),
        (Some((x, machine)), Some((y, other))) if machine == other => format!("A: {x}   B: {y}   on {machine}"),
        _ => format!("A: {a}   B: {b}"),
    }
}

/// The values that only one list has, then those of both: `A: ahead = 2   B: waves = 4   both: m = 1, k = 2`.
fn values(a: &str, b: &str) -> String {
    if a == b {
        return a.to_string();
    }
    let [of_a, of_b] = [a, b].map(|s| s.split(", ").filter(|v| !v.is_empty()).collect::<Vec<_>>());
    let own = |these: &[&str], others: &[&str]| -> String {
        these.iter().filter(|v| !others.contains(v)).copied().collect::<Vec<_>>().join(", ")
    };
    let both = of_a.iter().filter(|v| of_b.contains(v)).copied().collect::<Vec<_>>().join(", ");
    let parts = [("A", own(&of_a, &of_b)), ("B", own(&of_b, &of_a)), ("both", both)];
    let parts = parts.iter().filter(|(_, values)| !values.is_empty()).map(|(name, values)| format!("{name}: {values}"));
    parts.collect::<Vec<_>>().join("   ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles() {
        assert_eq!(title("x on m", "x on m"), "x on m");
        assert_eq!(title("x on m", "y on m"), "A: x   B: y   on m");
        assert_eq!(title("x on m", "x on n"), "A: x on m   B: x on n");
    }

    #[test]
    fn values_that_differ_and_values_of_both() {
        let two = values("m = 1, stages = 2", "m = 1, stages = 3, ahead = 1");
        assert_eq!(two, "A: stages = 2   B: stages = 3, ahead = 1   both: m = 1");
        assert_eq!(values("m = 1", "m = 1, k = 2"), "B: k = 2   both: m = 1");
        assert_eq!(values("m = 1", "m = 1"), "m = 1");
        assert_eq!(values("", "k = 2"), "B: k = 2");
    }
}
