//! Axes of a sweep: `stages=1..6`, `tile_m=64,128`, `k=64..8192*2`, `machine=h200,b200`, `stages,ahead=2:1,3:2`, or a
//! table of points.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpline_sim::diag::Diagnostic;

/// A value that a point gives to a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Value of a parameter of the kernel.
    Int(i64),
    /// Value of a number of the machine (`machine.memory.dram_gbps`).
    Number(f64),
    /// Value of `machine` or `scenario`: a name or a file.
    Word(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(v) => write!(f, "{v}"),
            Value::Number(v) => write!(f, "{v}"),
            Value::Word(v) => write!(f, "{v}"),
        }
    }
}

impl Value {
    /// The value as a number; `None` for a word.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Int(v) => Some(*v as f64),
            Value::Number(v) => Some(*v),
            Value::Word(_) => None,
        }
    }
}

/// Names that vary together, with their values in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The names: one, or several in a table of points.
    pub names: Vec<String>,
    /// Points: a value for each name.
    pub rows: Vec<Vec<Value>>,
}

/// Most values of one axis.
const MOST: usize = 100_000;

/// Reads `NAME=ITEM,...`. An item is a value, `FROM..TO` with both ends, `FROM..TO+STEP` or `FROM..TO*FACTOR`. In
/// `NAME,NAME=ITEM,...`, an item has a value for each name: `2:1`.
///
/// # Errors
/// A sentence with what was expected.
pub fn axis(text: &str) -> Result<Axis, String> {
    let (name, items) = text.split_once('=').ok_or("expected NAME=VALUES, as in `stages=1..6` or `tile_m=64,128`")?;
    let (name, items) = (name.trim(), items.trim());
    if name.split(',').any(|n| n.trim().is_empty()) {
        return Err("expected a name before `=`, as in `stages=1..6`".to_string());
    }
    let names: Vec<&str> = name.split(',').map(str::trim).collect();
    let mut rows: Vec<Vec<Value>> = Vec::new();
    if names.len() > 1 {
        for item in items.split(',') {
            let values: Vec<&str> = item.trim().split(':').collect();
            if values.len() != names.len() {
                return Err(format!("`{}` is not {} values, one for each of {name}", item.trim(), names.len()));
            }
            rows.push(names.iter().zip(values).map(|(n, v)| value(n, v.trim())).collect::<Result<_, _>>()?);
        }
        return Ok(Axis { names: names.into_iter().map(str::to_string).collect(), rows });
    }
    for item in items.split(',') {
        for v in values(name, item.trim())? {
            rows.push(vec![v]);
            if rows.len() > MOST {
                return Err(format!("`{name}` would take more than {MOST} values"));
            }
        }
    }
    Ok(Axis { names: vec![name.to_string()], rows })
}

fn values(name: &str, item: &str) -> Result<Vec<Value>, String> {
    let Some((from, rest)) = item.split_once("..").filter(|_| !is_word(name)) else {
        return Ok(vec![value(name, item)?]);
    };
    let (to, step) = match rest.find(['+', '*']) {
        Some(at) => (&rest[..at], &rest[at..]),
        None => (rest, "+1"),
    };
    let number = |text: &str| value(name, text.trim()).map(|v| v.number().unwrap_or(f64::NAN));
    let (from, to, by) = (number(from)?, number(to)?, number(&step[1..])?);
    let factor = step.starts_with('*');
    if from > to {
        return Err(format!("`{item}` runs from a larger value to a smaller one"));
    }
    if by <= if factor { 1.0 } else { 0.0 } || factor && from <= 0.0 {
        return Err(format!("`{item}` would never end: the step has to lead upwards"));
    }
    let mut out = Vec::new();
    let mut n = 0;
    loop {
        let x = if factor { from * by.powi(n) } else { from + by * f64::from(n) };
        if x > to || out.len() > MOST {
            return Ok(out);
        }
        out.push(if is_number(name) { Value::Number(x) } else { Value::Int(x.round() as i64) });
        n += 1;
    }
}

fn is_word(name: &str) -> bool {
    name == "machine" || name == "scenario"
}

fn is_number(name: &str) -> bool {
    name.starts_with("machine.")
}

fn value(name: &str, text: &str) -> Result<Value, String> {
    if text.is_empty() {
        return Err(format!("a value of `{name}` is missing"));
    }
    if is_word(name) {
        return Ok(Value::Word(text.to_string()));
    }
    if is_number(name) {
        let number = text.parse::<f64>().ok().filter(|v| v.is_finite());
        return number.map(Value::Number).ok_or_else(|| format!("`{text}` is not a number"));
    }
    let whole = text.parse::<i64>().map(Value::Int);
    whole.map_err(|_| format!("`{text}` is not a whole number; kernel parameters are whole numbers"))
}

/// Reads a table of points (CSV): a line of names, then a line of values for each point.
///
/// # Errors
/// Every line that is no point, with its place.
pub fn listed(file: &str, text: &str) -> Result<Axis, Vec<Diagnostic>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let line = |at: Option<&csv::Position>| {
        let start = at.map_or(0, |p| p.byte() as usize).min(text.len());
        let start = start + text[start..].len() - text[start..].trim_start_matches(['\n', '\r']).len();
        start..start + text[start..].find(['\n', '\r']).unwrap_or(text.len() - start)
    };
    let names: Vec<String> = match reader.headers() {
        Ok(h) => h.iter().map(str::to_string).collect(),
        Err(e) => return Err(vec![Diagnostic::new(file, line(e.position()), e.to_string(), "names were expected")]),
    };
    let help = "the first line names parameters: `tile_m,tile_n,stages`";
    if names.iter().all(String::is_empty) {
        return Err(vec![
            Diagnostic::new(file, 0..0, "the table names no parameter", "names were expected").help(help),
        ]);
    }
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let parsed = record.map_err(|e| (line(e.position()), e.to_string())).and_then(|r| {
            let values: Result<Vec<Value>, String> = names.iter().zip(&r).map(|(n, v)| value(n, v)).collect();
            values.map_err(|e| (line(r.position()), e))
        });
        match parsed {
            Ok(row) => rows.push(row),
            Err((span, message)) => errors.push(Diagnostic::new(file, span, message, "this point")),
        }
    }
    if rows.is_empty() && errors.is_empty() {
        errors.push(Diagnostic::new(file, text.len()..text.len(), "the table has no points", "a line of values"));
    }
    if errors.is_empty() { Ok(Axis { names, rows }) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(text: &str) -> Vec<i64> {
        let whole = |r: &Vec<Value>| match r[0] {
            Value::Int(v) => v,
            _ => panic!("no whole number"),
        };
        axis(text).unwrap().rows.iter().map(whole).collect()
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(ints("stages=1..4"), [1, 2, 3, 4]);
        assert_eq!(ints("k=64..1000*2"), [64, 128, 256, 512]);
        assert_eq!(ints("k = 8..30+10, 64"), [8, 18, 28, 64]);
        let rate = axis("machine.memory.dram_gbps=1.5..2.5+0.5").unwrap();
        assert_eq!(rate.rows, [1.5, 2.0, 2.5].map(|v| vec![Value::Number(v)]));
        let two = axis("stages, ahead=2:1, 3:2").unwrap();
        assert_eq!((two.names.len(), &two.rows[1][..]), (2, &[Value::Int(3), Value::Int(2)][..]));
        assert_eq!(axis("machine=h200,x..y.toml").unwrap().rows[1], [Value::Word("x..y.toml".into())]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (bad, part) in [
            ("stages", "NAME=VALUES"),
            ("=1", "a name"),
            ("stages=", "missing"),
            ("stages=1,,2", "missing"),
            ("stages=two", "not a whole number"),
            ("stages=4..1", "larger"),
            ("stages=1..4+0", "never end"),
            ("k=0..64*2", "never end"),
            ("k=1..64*1", "never end"),
            ("k=1..999999999", "more than"),
            ("machine.x=inf", "not a number"),
            ("a,b=1", "is not 2 values"),
            ("a,=1:2", "a name"),
        ] {
            let message = axis(bad).unwrap_err();
            assert!(message.contains(part), "{bad}: {message}");
        }
    }

    #[test]
    fn a_table_of_points() {
        let t = listed("p.csv", "tile_m, machine\n# none\n64, h200\n128,b200\n").unwrap();
        assert_eq!(t.names, ["tile_m", "machine"]);
        assert_eq!(t.rows[1], [Value::Int(128), Value::Word("b200".into())]);
        let bad = listed("p.csv", "a,b\n1,2\nx,2\n1\n").unwrap_err();
        assert_eq!(bad.len(), 2);
        assert_eq!(bad[0].span, 8..11);
        assert!(listed("p.csv", "").is_err() && listed("p.csv", "a,b\n").is_err());
    }
}
