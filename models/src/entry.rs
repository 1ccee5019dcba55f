//! One number of a machine file: `{ value, unit, kind, source, spread }`.

use crate::parse::Reader;
use crate::suggest;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warpline_sim::machine::{Key, Kind, Param};

const KINDS: [Kind; 3] = [Kind::Documented, Kind::Measured, Kind::Estimated];
const NEEDED: [&str; 4] = ["value", "unit", "kind", "source"];
const SPREAD: &str = "spread";

/// Reads a number; `None` comes with at least one error.
pub(crate) fn read(reader: &mut Reader<'_>, key: &Key, written: &Spanned<DeValue<'_>>) -> Option<Param> {
    let name = key.key;
    let DeValue::Table(fields) = written.get_ref() else {
        let label = format!("expected {{ value = ..., unit = \"{}\", kind = ..., source = ... }}", key.unit);
        reader.error(written.span(), format!("`{name}` says nothing about where it is from"), label);
        return None;
    };
    for field in fields.keys() {
        let f: &str = field.get_ref();
        if f != SPREAD && !NEEDED.contains(&f) {
            let found = reader.error(field.span(), format!("`{name}` has no field `{f}`"), "unknown field");
            let candidates = NEEDED.iter().copied().chain([SPREAD]);
            found.help = suggest::closest(f, candidates).map(|c| format!("did you mean `{c}`?"));
        }
    }
    for needed in NEEDED {
        if !fields.contains_key(needed) {
            let label = match needed {
                "unit" => format!("expected unit = \"{}\"", key.unit),
                "kind" => format!("expected kind = {}", kinds()),
                _ => format!("expected {needed} = ..."),
            };
            reader.error(written.span(), format!("`{name}` has no `{needed}`"), label);
        }
    }
    let value = fields.get("value").and_then(|v| value(reader, key, v));
    let unit = fields.get("unit").and_then(|u| unit(reader, key, u));
    let kind = fields.get("kind").and_then(|k| kind(reader, name, k));
    let source = fields.get("source").and_then(|s| source(reader, name, s));
    let spread = spread(reader, name, fields, value);
    Some(Param { value: value?, unit: unit?, kind: kind?, source: source?, spread: spread? })
}

fn kinds() -> String {
    suggest::one_of(&KINDS.map(Kind::name))
}

/// A number of any sign; `None` for other values.
fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(f) => f.as_str().parse().ok(),
        DeValue::Integer(i) if i.radix() == 10 => i.as_str().parse().ok(),
        // Machine numbers fit in 32 bits, so the conversion is exact.
        DeValue::Integer(i) => u32::from_str_radix(i.as_str(), i.radix()).ok().map(f64::from),
        _ => None,
    }
}

/// A number that is valid as a parameter.
fn fit(reader: &mut Reader<'_>, what: &str, written: &Spanned<DeValue<'_>>) -> Option<f64> {
    let span = written.span();
    match number(written.get_ref()) {
        None => {
            reader.error(span, format!("{what} is not a number"), "expected a number");
            None
        }
        Some(v) if !v.is_finite() => {
            reader.error(span, format!("{what} is not finite"), "expected a finite number");
            None
        }
        Some(v) if v < 0.0 => {
            reader.error(span, format!("{what} is negative"), "expected a number from 0 up");
            None
        }
        Some(v) => Some(v),
    }
}

fn value(reader: &mut Reader<'_>, key: &Key, written: &Spanned<DeValue<'_>>) -> Option<f64> {
    let value = fit(reader, &format!("the value of `{}`", key.key), written)?;
    let range = key.range();
    if !range.contains(value) {
        reader.error(written.span(), format!("`{}` cannot be {value}", key.key), format!("its range is {range}"));
        return None;
    }
    Some(value)
}

fn unit(reader: &mut Reader<'_>, key: &Key, written: &Spanned<DeValue<'_>>) -> Option<String> {
    let label = format!("expected \"{}\"", key.unit);
    match written.get_ref() {
        DeValue::String(s) if *s == key.unit => Some(s.to_string()),
        DeValue::String(s) => {
            let found = reader.error(written.span(), format!("`{}` is in {}, not in `{s}`", key.key, key.unit), label);
            found.help = Some("convert the value too, and say so in the source".to_string());
            None
        }
        _ => {
            reader.error(written.span(), format!("the unit of `{}` is not a string", key.key), label);
            None
        }
    }
}

fn kind(reader: &mut Reader<'_>, name: &str, written: &Spanned<DeValue<'_>>) -> Option<Kind> {
    if let DeValue::String(s) = written.get_ref() {
        if let Some(kind) = KINDS.into_iter().find(|k| k.name() == s) {
            return Some(kind);
        }
        let found = reader.error(written.span(), format!("`{name}` cannot be `{s}`"), format!("expected {}", kinds()));
        found.help = suggest::closest(s, KINDS.map(Kind::name)).map(|k| format!("did you mean `{k}`?"));
    } else {
        reader.error(written.span(), format!("the kind of `{name}` is not a string"), format!("expected {}", kinds()));
    }
    None
}

fn source(reader: &mut Reader<'_>, name: &str, written: &Spanned<DeValue<'_>>) -> Option<String> {
    match written.get_ref() {
        DeValue::String(s) if !s.trim().is_empty() => Some(s.to_string()),
        _ => {
            let label = "expected a string that says who found it out, and on what";
            reader.error(written.span(), format!("`{name}` does not say where it is from"), label);
            None
        }
    }
}

/// The spread: `Some(None)` without a spread, `None` with an error.
fn spread(reader: &mut Reader<'_>, name: &str, fields: &DeTable<'_>, value: Option<f64>) -> Option<Option<(f64, f64)>> {
    let Some(written) = fields.get(SPREAD) else {
        return Some(None);
    };
    let ends: &[Spanned<DeValue<'_>>] = match written.get_ref() {
        DeValue::Array(ends) => ends,
        _ => &[],
    };
    let [low, high] = ends else {
        reader.error(written.span(), format!("the spread of `{name}` is not a pair"), "expected [low, high]");
        return None;
    };
    let low_value = fit(reader, &format!("the low end of the spread of `{name}`"), low);
    let high_value = fit(reader, &format!("the high end of the spread of `{name}`"), high);
    let (low, high) = (low_value?, high_value?);
    if low > high {
        let label = format!("{low} is above {high}");
        reader.error(written.span(), format!("the spread of `{name}` is the wrong way round"), label);
        return None;
    }
    if let Some(value) = value.filter(|v| !(low..=high).contains(v)) {
        let at: Range<usize> = written.span();
        let message = format!("the spread of `{name}` does not contain its value");
        reader.error(at, message, format!("expected a range around {value}"));
        return None;
    }
    Some(Some((low, high)))
}
