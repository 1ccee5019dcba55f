//! A machine as a table for people.

use warpline_sim::machine::{KEYS, Kind, Machine};

/// One number of a machine, with everything known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Dotted key.
    pub key: &'static str,
    /// Meaning of the key.
    pub doc: &'static str,
    /// The value, in `unit`.
    pub value: f64,
    /// Unit.
    pub unit: &'static str,
    /// Documented, measured or estimated.
    pub kind: Kind,
    /// Plausible range, if known.
    pub spread: Option<(f64, f64)>,
    /// Source, and sources that disagree.
    pub source: String,
}

/// The numbers of a machine, in the order of [`KEYS`].
pub fn describe(machine: &Machine) -> Vec<Row> {
    KEYS.iter()
        .filter_map(|k| {
            machine.params.get(k.key).map(|p| Row {
                key: k.key,
                doc: k.doc,
                value: p.value,
                unit: k.unit,
                kind: p.kind,
                spread: p.spread,
                source: p.source.clone(),
            })
        })
        .collect()
}

/// The rows as text. Columns are key, value, unit, spread, kind and source, with one line for each number and an
/// empty line between tables.
pub fn render(rows: &[Row]) -> String {
    let cells: Vec<[String; 5]> = rows
        .iter()
        .map(|r| {
            let spread = r.spread.map_or(String::new(), |(low, high)| format!("{} .. {}", number(low), number(high)));
            [r.key.into(), number(r.value), r.unit.into(), spread, r.kind.name().into()]
        })
        .collect();
    let width = |i: usize| cells.iter().map(|c| c[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    let mut out = String::new();
    let mut table = "";
    for (row, [key, value, unit, spread, kind]) in rows.iter().zip(&cells) {
        let this = row.key.split('.').next().unwrap_or_default();
        if !table.is_empty() && this != table {
            out.push('\n');
        }
        table = this;
        let [k, v, u, s, d] = [widths[0], widths[1], widths[2], widths[3], widths[4]];
        // Values are aligned to the right, so that orders of magnitude can be compared.
        let line = format!("{key:k$}  {value:>v$} {unit:u$}  {spread:s$}  {kind:d$}  {}", row.source);
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A number as people write it: whole numbers in groups of three, others with up to four decimals.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, rest) = text.find('.').map_or((text, ""), |dot| text.split_at(dot));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        // Four digits are readable without a separator.
        if i > 0 && whole.len() > 4 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let cases = [(0.0, "0"), (0.92, "0.92"), (264.5, "264.5"), (4800.0, "4800"), (52428800.0, "52,428,800")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }
}
