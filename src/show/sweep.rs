//! A sweep as text: a grid of one number over two varied names, or a line for each point.

use std::collections::BTreeMap;

use warpline_study::sweep::{Axis, Outcome, Part, Row, Value, best};

use super::table::{Align, Table, wrap};
use super::{WIDTH, plain};
use crate::console::Paint;
use warpline_sim::words::{count, of, short};

/// The most points listed; of more points, the best third of this number is listed.
const LINES: usize = 60;

/// All sections of a sweep. `many` says that several metrics were requested.
pub(crate) fn sweep(part: &Part, metrics: &[String], many: bool, paint: Paint) -> String {
    let against = part.subject.against.as_ref().map_or(String::new(), |a| format!(", against {a}"));
    let names = part.plan.names().join(", ");
    let run = if part.rows.len() == part.plan.len() {
        String::new()
    } else {
        format!(" ({} of them here, shard {}/{})", count(part.rows.len() as i64), part.shard.i, part.shard.n)
    };
    let points = of(part.plan.len() as i64, "point");
    let head = format!("{}{against}: {points} of {names}{run}", part.subject.scenario);
    let mut text = format!("{}\n\n", paint.head(&wrap(&head, WIDTH, 2)));
    let letters = letters(part);
    let field = if many { None } else { field(part, &metrics[0], &letters) };
    text += &field.unwrap_or_else(|| list(part, metrics, &letters));
    text.push('\n');
    text += &forbidden(part, &letters);
    text += &faults(part);
    for metric in &metrics[..1] {
        if let Some((i, v)) = best(part, metric) {
            let bound = part.rows.get(&i).map_or("", |r| r.message.as_str());
            let line = format!("Best {metric}: {} at {}. {bound}", value(v), part.plan.words(i));
            text += &format!("{}\n", wrap(line.trim_end(), WIDTH, 2));
        }
    }
    text
}

fn value(v: f64) -> String {
    if v.fract() == 0.0 { plain(v) } else { short(v) }
}

/// A letter for each limit that makes a point infeasible, in the order of the points.
fn letters(part: &Part) -> BTreeMap<&str, String> {
    let mut out: BTreeMap<&str, String> = BTreeMap::new();
    for row in part.rows.values().filter(|r| r.outcome == Outcome::Infeasible) {
        let next = char::from(b'a' + (out.len() % 26) as u8).to_string();
        out.entry(row.limit.as_str()).or_insert(next);
    }
    out
}

fn cell(row: Option<&Row>, metric: &str, letters: &BTreeMap<&str, String>) -> String {
    let Some(row) = row else { return String::new() };
    match (row.number(metric), row.outcome) {
        (Some(v), _) => value(v),
        (None, Outcome::Infeasible) => format!("({})", letters.get(row.limit.as_str()).map_or("", String::as_str)),
        (None, Outcome::Fine) => "-".to_string(),
        (None, _) => "!".to_string(),
    }
}

/// A grid of one number over two varied names, if it fits the width.
fn field(part: &Part, metric: &str, letters: &BTreeMap<&str, String>) -> Option<String> {
    let [y, x] = part.plan.axes() else { return None };
    let label = |axis: &Axis, i: usize| axis.rows[i].iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
    let mut t = Table::new(&vec![Align::Right; x.rows.len() + 1], 2);
    let head = (0..x.rows.len()).map(|i| label(x, i));
    t.row(std::iter::once(y.names.join(" ")).chain(head));
    for j in 0..y.rows.len() {
        let cells = (0..x.rows.len()).map(|i| cell(part.rows.get(&(j * x.rows.len() + i)), metric, letters));
        t.row(std::iter::once(label(y, j)).chain(cells));
    }
    let text = t.text();
    let fits = text.lines().all(|l| l.chars().count() <= WIDTH);
    fits.then(|| format!("{metric} over {} (to the right)\n{text}", x.names.join(" ")))
}

/// A line for each point.
fn list(part: &Part, metrics: &[String], letters: &BTreeMap<&str, String>) -> String {
    let mut shown: Vec<usize> = part.rows.keys().copied().collect();
    let cut = shown.len() > LINES;
    if cut {
        shown.retain(|i| part.rows[i].number(&metrics[0]).is_some());
        let down = best(part, &metrics[0])
            .is_some_and(|(_, b)| shown.iter().filter_map(|i| part.rows[i].number(&metrics[0])).any(|v| v < b));
        shown.sort_by(|a, b| {
            let (x, y) = (part.rows[a].numbers[&metrics[0]], part.rows[b].numbers[&metrics[0]]);
            let order = if down { y.total_cmp(&x) } else { x.total_cmp(&y) };
            order.then(a.cmp(b))
        });
        shown.truncate(LINES / 3);
    }
    let names = part.plan.names();
    // The most numbers that fit the width.
    (1..=metrics.len())
        .rev()
        .find_map(|n| {
            let mut t = Table::new(&vec![Align::Right; names.len() + n], 2);
            t.row(names.iter().map(|n| n.to_string()).chain(metrics[..n].iter().cloned()));
            for i in &shown {
                let values = part.plan.point(*i).into_iter().map(|v| v.to_string());
                t.row(values.chain(metrics[..n].iter().map(|m| cell(part.rows.get(i), m, letters))));
            }
            let text = t.text();
            (n == 1 || text.lines().all(|l| l.chars().count() <= WIDTH)).then_some(text)
        })
        .map_or(String::new(), |text| {
            let note =
                format!("  the {} best of {}; `--csv FILE` has all\n", shown.len(), count(part.rows.len() as i64));
            if cut { text + &note } else { text }
        })
}

/// Each limit with the first point that it makes infeasible.
fn forbidden(part: &Part, letters: &BTreeMap<&str, String>) -> String {
    let infeasible = || part.rows.iter().filter(|(_, r)| r.outcome == Outcome::Infeasible);
    if infeasible().next().is_none() {
        return String::new();
    }
    let mut text = format!("Infeasible: {} of {}\n", infeasible().count(), of(part.rows.len() as i64, "point"));
    let mut limits: Vec<(&str, &str)> = letters.iter().map(|(limit, l)| (l.as_str(), *limit)).collect();
    limits.sort_unstable();
    for (letter, limit) in limits {
        let mut those = infeasible().filter(|(_, r)| r.limit == limit);
        let n = infeasible().filter(|(_, r)| r.limit == limit).count();
        if let Some((i, row)) = those.next() {
            let line = format!("({letter}) {limit}, {n}: {}: {}", part.plan.words(*i), row.message);
            text += &format!("  {}\n", wrap(&line, WIDTH, 6));
        }
    }
    text + "\n"
}

/// Points with faults, hangs or limits.
fn faults(part: &Part) -> String {
    let bad = || part.rows.iter().filter(|(_, r)| !matches!(r.outcome, Outcome::Fine | Outcome::Infeasible));
    let Some((i, row)) = bad().next() else { return String::new() };
    let (n, what) = (bad().count(), row.outcome.word().replace('_', " "));
    let words = part.plan.words(*i);
    let line = format!("! {n} of {}: the first, {words}, {what}: {}", of(part.rows.len() as i64, "point"), row.message);
    format!("{}\n\n", wrap(&line, WIDTH, 2))
}
