//! Kernels with one buffer and barriers.

use super::{any_inner, count, grid, roles, scope};
use crate::dice::Dice;
use crate::generate::bodies::{Loops, buffer};
use crate::generate::guard::{Aim, Scope};
use crate::generate::template::Template;

pub(super) fn buffered(dice: &mut Dice, narrow: impl Fn(Scope, &mut Dice) -> Scope) -> Template {
    let (text, extents) = grid(dice);
    let mut t = Template { machine: dice.word(&["m4-max", "h200"]), ..Template::default() };
    t.counts.push(count(dice, "tiles", "k"));
    roles(&mut t, &text, "warps 2");
    t.header.push("shared a: f16[64, 16]".into());
    t.scopes.push(narrow(scope(&["tiles"], &[("i", "tiles")], extents), dice));
    t.lines(0, "all:");
    let loops = any_inner(dice);
    let op = if t.machine == "h200" && dice.chance(30) { "cp" } else { "load" };
    buffer(&mut t, &loops, 0, &["@vars".into()], op);
    t
}

/// Lines that declare and change variables, before the sites.
pub(super) fn changes(t: &Template, dice: &mut Dice) -> (Vec<String>, Vec<String>, Vec<String>) {
    let (mut names, mut declared, mut updates) = (Vec::new(), Vec::new(), Vec::new());
    for name in &["x", "y"][..dice.range(1, 2) as usize] {
        let scope = &t.scopes[0];
        let start = match dice.range(1, 4) {
            1 if scope.grid.is_some() => "cta.m".to_string(),
            2 => dice.range(0, 5).to_string(),
            _ => "0".to_string(),
        };
        declared.push(format!("var {name} = {start}"));
        if scope.grid.is_some() && dice.chance(30) {
            let narrow = Scope { counts: vec![], counters: vec![], vars: vec![], intervals: 65, ..scope.clone() };
            let guard = narrow.guard(dice, Aim::Sometimes);
            declared.extend(guard.around(&[format!("{name} += {}", dice.range(1, 9))], &[]));
        }
        let by = dice.range(1, 3);
        let change = match dice.range(1, 6) {
            1 | 2 => format!("{name} += {by}"),
            3 => format!("{name} -= {by}"),
            4 => format!("{name} = i"),
            5 => format!("{name} = ({name} + 1) % {}", dice.range(2, 6)),
            _ => format!("{name} = {by}"),
        };
        if dice.chance(75) {
            let guard = scope.guard(dice, Aim::Sometimes);
            updates.extend(guard.around(&[change], &[]));
        } else {
            updates.push(change);
        }
        if dice.chance(25) {
            let c = dice.range(2, 7);
            updates.push(format!("if {name} == {c}: {name} = {}", dice.range(0, 1)));
        }
        names.push(name.to_string());
    }
    (names, declared, updates)
}

pub(super) fn variables(t: &mut Template, dice: &mut Dice) {
    let (names, declared, updates) = changes(t, dice);
    let head =
        t.body.iter().position(|l| ["for ", "while "].iter().any(|w| l.trim_start().starts_with(w))).unwrap_or(0);
    t.body.splice(head..head, declared.iter().map(|l| format!("  {l}")));
    let place = t.body.iter().position(|l| l.trim() == "@vars").unwrap_or(0);
    let indent = " ".repeat(t.body[place].len() - t.body[place].trim_start().len());
    t.body.splice(place..=place, updates.iter().map(|l| format!("{indent}{l}")));
    t.scopes[0].vars = names;
}

pub(super) fn coordinates(dice: &mut Dice) -> Template {
    let (text, (m, n)) = grid(dice);
    let c = dice.range(1, 4);
    let row = match dice.range(1, 8) {
        1 => format!("cta.m - {c}"),
        2 => format!("cta.m + {c}"),
        3 => format!("max(cta.m - {c}, 0)"),
        4 => format!("min(cta.m, {c})"),
        5 => format!("cta.m % {c}"),
        6 if n > 1 => "cta.m + cta.n".to_string(),
        _ => "cta.m".to_string(),
    };
    let col = match dice.range(1, 9) {
        1 => format!("i - {c}"),
        2 => format!("i + {c}"),
        3 => format!("{} * i", c + 1),
        4 => format!("2 * i - {}", dice.range(1, 60)),
        5 => "tiles - 1 - i".to_string(),
        6 => format!("max(i - {c}, 0)"),
        7 => format!("i % {}", c + 1),
        _ => "i".to_string(),
    };
    let rows = (m + *dice.pick(&[-1, 0, 0, 0, 1, c, c])).max(1);
    let mut t = Template { machine: dice.word(&["m4-max", "h200"]), ..Template::default() };
    let tiles = count(dice, "tiles", "k");
    let extra = *dice.pick(&[0, 0, 1, c, c]);
    let cols = match dice.range(1, 4) {
        1 => format!("16 * {}", dice.range(5, 60)),
        2 if tiles.unit == 16 && extra == 0 => "max(k, 16)".to_string(),
        3 => format!("16 * {} * max(tiles, 1)", c + 1),
        _ => format!("16 * (max(tiles, 1) + {extra})"),
    };
    t.counts.push(tiles);
    t.header.push(format!("{text}   warps 2"));
    t.header.push(format!("global A: f16[64 * {rows}, {cols}]"));
    t.header.push("role load = warp 0\n  role use = warp 1\n  shared a: f16[64, 16]".into());
    t.scopes.push(scope(&["tiles"], &[("i", "tiles")], (m, n)));
    t.lines(0, "all:");
    let tile = format!("{row}, {col}");
    let loops = Loops { heads: vec!["for i in 0..tiles:".into()], tile, other: "cta.m, i".into(), step: None };
    buffer(&mut t, &loops, 0, &[], "load");
    // The coordinates are the fault; guards are harmless most of the time.
    if dice.chance(75) {
        let normal: Vec<_> = t.sites.drain(..).collect();
        for mut s in normal {
            // Content of a site without a guard stays.
            if !s.harmless {
                s.guarded = s.normal.clone();
            }
            t.sites.push(s);
        }
        t.sites.retain(|s| !s.normal.is_empty() || !s.guarded.is_empty());
    }
    t
}
