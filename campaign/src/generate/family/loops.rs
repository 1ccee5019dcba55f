//! Kernels whose loops vary: several loops, jobs, unknown counts, bounds and grids that depend on a parameter.

use super::buffer::buffered;
use super::ring::{ring, ring_head};
use super::{count, grid, inner, roles, scope};
use crate::dice::Dice;
use crate::generate::bodies::{Index, Loops, Ring, buffer};
use crate::generate::template::{Count, Template};

pub(super) fn two(dice: &mut Dice, outer: &str, other: &str) -> [Count; 2] {
    let inner = count(dice, "tiles", "k");
    let mut second = count(dice, outer, other);
    second.given = second.given.min(9);
    if dice.chance(50) { [inner, second] } else { [second, inner] }
}

pub(super) fn nested(dice: &mut Dice) -> Template {
    let heads = vec!["for j in 0..jobs:".to_string(), "for i in 0..tiles:".to_string()];
    let tile = dice.word(&["cta.m, i", "j % 64, i", "cta.m, j * tiles + i"]);
    let loops = Loops { heads, tile: tile.into(), other: format!("{tile} + 1"), step: None };
    let inside = |extents| scope(&["tiles", "jobs"], &[("i", "tiles"), ("j", "jobs")], extents);
    let around = |extents| scope(&["tiles", "jobs"], &[("j", "jobs")], extents);
    let mut t;
    if dice.chance(50) {
        let (text, extents) = grid(dice);
        t = Template { machine: dice.word(&["m4-max", "h200"]), ..Template::default() };
        t.counts.extend(two(dice, "jobs", "n"));
        roles(&mut t, &text, "warps 2");
        t.header.push("shared a: f16[64, 16]".into());
        t.scopes.extend([inside(extents), around(extents)]);
        t.lines(0, "all:");
        buffer(&mut t, &loops, 0, &[], "load");
    } else {
        let (head, extents) = ring_head(dice);
        t = head;
        t.counts.extend(two(dice, "jobs", "n"));
        t.scopes.extend([inside(extents), around(extents)]);
        let form = if dice.chance(12) { "i" } else { "j * tiles + i" };
        let ring = Ring::random(dice, form);
        ring.declare(&mut t);
        ring.write(&mut t, &loops, &[], &[]);
    }
    t
}

pub(super) fn sequential(dice: &mut Dice) -> Template {
    let second = Loops {
        heads: vec!["for l in 0..more:".into()],
        tile: "cta.m, l".into(),
        other: "cta.m, l + 1".into(),
        step: None,
    };
    if dice.chance(35) {
        let (mut t, extents) = ring_head(dice);
        t.counts.extend(two(dice, "more", "n"));
        t.scopes.push(scope(&["tiles", "more"], &[("i", "tiles")], extents));
        let ring = Ring { index: Index::Counter, ..Ring::random(dice, "") };
        ring.declare(&mut t);
        ring.write_all(&mut t, &[inner(), second], &[], &[]);
        return t;
    }
    let (text, extents) = grid(dice);
    let mut t = Template { machine: dice.word(&["m4-max", "h200"]), ..Template::default() };
    t.counts.extend(two(dice, "more", "n"));
    roles(&mut t, &text, "warps 2");
    t.header.push("shared a: f16[64, 16]".into());
    t.lines(0, "all:");
    t.scopes.push(scope(&["tiles", "more"], &[("i", "tiles")], extents));
    buffer(&mut t, &inner(), 0, &[], "load");
    let before = t.sites.len();
    t.scopes.push(scope(&["tiles", "more"], &[("l", "more")], extents));
    buffer(&mut t, &second, 1, &[], "load");
    t.sites[before..].iter_mut().for_each(|s| s.scope = 1);
    t
}

pub(super) fn persistent(dice: &mut Dice) -> Template {
    let heads = vec!["for job in cta.id..jobs step grid.size:".to_string(), "for i in 0..tiles:".to_string()];
    let loops = Loops { heads, tile: "job % 64, i".into(), other: "job % 64, i + 1".into(), step: None };
    let size = *dice.pick(&[1, 2, 3, 4, 8]);
    let inside = scope(&["tiles", "jobs"], &[("i", "tiles"), ("job", "jobs"), ("job", "jobs")], (size, 1));
    let around = scope(&["tiles", "jobs"], &[("job", "jobs")], (size, 1));
    let mut t = Template { machine: "h200", ..Template::default() };
    t.counts.extend(two(dice, "jobs", "n"));
    if let Some(jobs) = t.counts.iter_mut().find(|c| c.name == "jobs") {
        jobs.given = dice.range(1, 3 * size + 5);
    }
    if dice.chance(50) {
        roles(&mut t, &format!("grid {size}"), "warps 2");
        t.header.push("shared a: f16[64, 16]".into());
        t.scopes.extend([inside, around]);
        t.lines(0, "all:");
        buffer(&mut t, &loops, 0, &[], "load");
    } else {
        t.header.push("needs sm_90".into());
        roles(&mut t, &format!("grid {size}"), "warps 2");
        t.scopes.extend([inside, around]);
        let ring = Ring { index: Index::Counter, ..Ring::random(dice, "") };
        ring.declare(&mut t);
        ring.write(&mut t, &loops, &[], &[]);
    }
    t
}

pub(super) fn any(dice: &mut Dice) -> Template {
    let mut t = if dice.chance(50) { buffered(dice, |s, _| s) } else { ring(dice, None) };
    for c in &mut t.counts {
        (c.param, c.unit, c.any) = (c.name.clone(), 1, true);
    }
    // Shapes do not depend on what is known at run time, so the tiles recur.
    let modulus = *dice.pick(&[1, 4, 7, 16, 50]);
    let wrapped = |s: &str| {
        s.replace("[cta.m, i + 1]", &format!("[cta.m, (i + 1) % {modulus}]"))
            .replace("[cta.m, i]", &format!("[cta.m, i % {modulus}]"))
    };
    for site in &mut t.sites {
        (site.normal, site.guarded) = (wrapped(&site.normal), wrapped(&site.guarded));
    }
    t
}

pub(super) fn bounds(dice: &mut Dice) -> Template {
    let c = dice.range(1, 4);
    let bound = match dice.range(1, 7) {
        1 => "0..tiles + cta.m".to_string(),
        2 => format!("0..min(tiles, cta.m + {c})"),
        3 => "cta.m..tiles".to_string(),
        4 => format!("0..max(tiles - cta.m, {c})"),
        5 => format!("0..tiles * (cta.m % {} + 1)", c + 1),
        6 => format!("0..(cta.m == {c} ? tiles + 1 : tiles)"),
        _ => format!("0..(tiles + cta.m) / {}", c + 1),
    };
    let mut t = if dice.chance(50) { buffered(dice, |s, _| s) } else { ring(dice, None) };
    let head = format!("for i in {bound}:");
    let loops = |l: &str| l.starts_with("for i in ") && !l.contains("while");
    let heads: Vec<usize> = (0..t.body.len()).filter(|k| loops(t.body[*k].trim())).collect();
    // Of a ring, one role may count otherwise.
    let other = match dice.range(1, 6) {
        1 => head.replace("tiles", "max(tiles, 3)"),
        2 => head.replace("cta.m", "min(cta.m, 5)"),
        _ => head.clone(),
    };
    for (n, k) in heads.into_iter().enumerate() {
        let text = if n == 0 { &head } else { &other };
        let indent = t.body[k].len() - t.body[k].trim_start().len();
        t.body[k].replace_range(indent.., text);
    }
    t
}

/// Rows of the grid that a parameter sets; guards compare coordinates with it.
pub(super) fn extent(dice: &mut Dice) -> Template {
    let mut t = if dice.chance(60) { buffered(dice, |s, _| s) } else { ring(dice, None) };
    let given = dice.range(2, 9);
    let unit = if dice.chance(50) { 64 } else { 1 };
    let param = if unit == 64 { "m" } else { "rows" };
    t.counts.push(Count { name: "rows".into(), param: param.into(), unit, given, any: false });
    for line in &mut t.header {
        if line.starts_with("grid ") {
            let warps = line.find("warps").map_or(String::new(), |k| line[k..].to_string());
            *line = format!("grid rows   {warps}");
        }
    }
    for s in &mut t.scopes {
        // Rows up to which coordinates are drawn: some lie outside of the grid given.
        s.grid = Some((given + dice.range(0, 4), 1));
        s.counts.push("rows".into());
    }
    t
}
