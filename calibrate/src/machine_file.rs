//! Replaces numbers in a machine file; all other text stays the same.

use warpline_sim::machine::{Kind, Machine, key_named};

use crate::fit::{FitEffect, Fitted, fate};

/// The text of a machine file with fitted numbers in place of those that are not documented.
pub fn rewrite(text: &str, machine: &Machine, fitted: &[Fitted], date: &str) -> String {
    let mut table = String::new();
    let mut out: Vec<String> = Vec::new();
    let new: Vec<&Fitted> = fitted.iter().filter(|f| fate(machine, f) != FitEffect::Documented).collect();
    let missing = |table: &str| {
        let here = new.iter().filter(|f| f.key.split_once('.').is_some_and(|(t, _)| t == table));
        here.filter(|f| fate(machine, f) == FitEffect::Added).map(|f| line(f, date)).collect::<Vec<_>>()
    };
    for l in text.lines() {
        if let Some(name) = l.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
            table = name.to_string();
            out.push(l.to_string());
            out.extend(missing(&table));
            continue;
        }
        let key = l.split_once('=').map(|(k, _)| format!("{table}.{}", k.trim()));
        match new.iter().find(|f| Some(f.key) == key.as_deref()) {
            Some(f) => out.push(line(f, date)),
            None => out.push(l.to_string()),
        }
    }
    out.join("\n") + "\n"
}

fn line(f: &Fitted, date: &str) -> String {
    let unit = key_named(f.key).map_or("", |k| k.unit);
    let name = f.key.split_once('.').map_or(f.key, |(_, k)| k);
    let (low, high) = f.spread;
    format!(
        "{name} = {{ value = {}, unit = \"{unit}\", kind = \"{}\", source = \"warpline calibrate, {date}: {}\", spread = [{low}, {high}] }}",
        f.value,
        Kind::Measured.name(),
        f.source
    )
}
