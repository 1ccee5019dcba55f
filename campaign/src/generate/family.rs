//! The families of generated kernels.

use super::bodies::{Index, Loops, Ring, buffer};
use super::guard::{Aim, Scope};
use super::template::{Count, Template};
use crate::dice::Dice;

/// What a kernel is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// One buffer, barriers, guards over everything.
    Buffer,
    /// The same with guards over CTA coordinates only.
    Cells,
    /// The same with guards over trip counts only.
    Counts,
    /// The same with guards over variables that other guards change.
    Vars,
    /// A ring with mbarriers.
    Ring,
    /// A ring whose roles skip some steps.
    Skip,
    /// Two nested loops, each with its own count.
    Nested,
    /// Two loops, one behind the other, each with its own count.
    Sequential,
    /// Jobs shared out among the CTAs of the grid.
    Persistent,
    /// A trip count known at run time only.
    Any,
    /// Loop bounds that depend on the CTA.
    Bounds,
    /// Clusters that read each other's shared memory.
    Cluster,
    /// Tile coordinates that may leave their matrix.
    Coordinates,
    /// Numbered barriers and groups of copies.
    Groups,
    /// A grid whose rows are a parameter.
    Extent,
    /// A ring that the CTAs of a cluster share.
    Multicast,
    /// Tiles that `clc` hands out at run time.
    Handed,
}

impl Family {
    /// All of them, in the order in which seeds take turns.
    pub const ALL: [Family; 17] = [
        Family::Buffer,
        Family::Cells,
        Family::Counts,
        Family::Vars,
        Family::Ring,
        Family::Skip,
        Family::Nested,
        Family::Sequential,
        Family::Persistent,
        Family::Any,
        Family::Bounds,
        Family::Cluster,
        Family::Coordinates,
        Family::Groups,
        Family::Extent,
        Family::Multicast,
        Family::Handed,
    ];

    /// A kernel of the family with its sites.
    pub(super) fn template(self, dice: &mut Dice) -> Template {
        let mut t = self.sites(dice);
        let has = |name: &str| t.counts.iter().any(|c| c.name == name && !c.any);
        let rows = if has("rows") { "(rows + 64)" } else { "64" };
        let columns = match (has("jobs"), has("more"), has("tiles")) {
            (true, ..) => "(jobs * tiles + tiles + 64)",
            (_, true, _) => "(tiles + more + 64)",
            (_, _, true) => "(5 * tiles + 64)",
            _ => "64",
        };
        for line in &mut t.header {
            *line = line.replace("ROWS", rows).replace("COLUMNS", columns);
        }
        t
    }

    fn sites(self, dice: &mut Dice) -> Template {
        match self {
            Family::Buffer => buffered(dice, |s, _| s),
            Family::Cells => buffered(dice, |s, _| Scope { counts: vec![], counters: vec![], intervals: 65, ..s }),
            Family::Counts => buffered(dice, |s, _| Scope { counters: vec![], grid: None, intervals: 55, ..s }),
            Family::Vars => {
                let mut t = buffered(dice, |s, _| s);
                variables(&mut t, dice);
                t
            }
            Family::Ring => ring(dice, None),
            Family::Skip => skipping(dice),
            Family::Nested => nested(dice),
            Family::Sequential => sequential(dice),
            Family::Persistent => persistent(dice),
            Family::Any => any(dice),
            Family::Bounds => bounds(dice),
            Family::Cluster => cluster(dice),
            Family::Coordinates => coordinates(dice),
            Family::Groups => groups(dice),
            Family::Extent => extent(dice),
            Family::Multicast => multicast(dice),
            Family::Handed => handed(dice),
        }
    }
}

fn count(dice: &mut Dice, name: &str, param: &str) -> Count {
    let given = match dice.range(1, 20) {
        1 => dice.range(20, 60),
        2 => 1,
        _ => dice.range(2, 10),
    };
    let unit = if dice.chance(50) { 16 } else { 1 };
    let param = if unit == 1 { name } else { param };
    Count { name: name.into(), param: param.into(), unit, given, any: false }
}

/// A grid, and its rows and columns.
fn grid(dice: &mut Dice) -> (String, (i64, i64)) {
    let (m, n) = *dice.pick(&[(1, 1), (4, 1), (6, 1), (8, 1), (12, 1), (32, 1), (4, 3), (5, 4), (3, 2), (8, 4)]);
    (if n == 1 { format!("grid {m}") } else { format!("grid {m}, {n}") }, (m, n))
}

fn scope(counts: &[&str], counters: &[(&str, &str)], grid: (i64, i64)) -> Scope {
    Scope {
        counts: counts.iter().map(|s| s.to_string()).collect(),
        counters: counters.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
        grid: (grid.0 * grid.1 > 1).then_some(grid),
        ..Scope::default()
    }
}

/// The header of two roles over one matrix, which is large enough for every tile at every value of the counts: a fixed
/// matrix ends somewhere, and a kernel that may run on beyond its end is faulty.
fn roles(t: &mut Template, grid: &str, warps: &str) {
    t.header.push(format!("{grid}   {warps}"));
    t.header.push("global A: f16[64 * ROWS, 16 * COLUMNS]".into());
    t.header.push("role load = warp 0".into());
    t.header.push("role use = warp 1".into());
}

fn inner() -> Loops {
    let (tile, other) = ("cta.m, i".into(), "cta.m, i + 1".into());
    Loops { heads: vec!["for i in 0..tiles:".into()], tile, other, step: None }
}

/// A loop over the tiles in one of several forms.
fn any_inner(dice: &mut Dice) -> Loops {
    let mut loops = inner();
    match dice.range(1, 10) {
        1 => loops.heads = vec!["for i in 0..tiles step 2:".into()],
        2 => loops.heads = vec![format!("for i in {}..tiles:", dice.range(1, 3))],
        3 => (loops.heads, loops.step) = (vec!["while i < tiles:".into()], Some("i += 1".into())),
        4 => loops.heads = vec![format!("for i in 0..tiles - {}:", dice.range(1, 3))],
        5 => loops.heads = vec!["for i in 0..2 * tiles:".into()],
        _ => {}
    }
    loops
}

fn buffered(dice: &mut Dice, narrow: impl Fn(Scope, &mut Dice) -> Scope) -> Template {
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

/// Lines that declare and change variables, in front of the sites.
fn changes(t: &Template, dice: &mut Dice) -> (Vec<String>, Vec<String>, Vec<String>) {
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

fn variables(t: &mut Template, dice: &mut Dice) {
    let (names, declared, updates) = changes(t, dice);
    let head =
        t.body.iter().position(|l| ["for ", "while "].iter().any(|w| l.trim_start().starts_with(w))).unwrap_or(0);
    t.body.splice(head..head, declared.iter().map(|l| format!("  {l}")));
    let place = t.body.iter().position(|l| l.trim() == "@vars").unwrap_or(0);
    let indent = " ".repeat(t.body[place].len() - t.body[place].trim_start().len());
    t.body.splice(place..=place, updates.iter().map(|l| format!("{indent}{l}")));
    t.scopes[0].vars = names;
}

fn ring_head(dice: &mut Dice) -> (Template, (i64, i64)) {
    let (text, extents) = grid(dice);
    let mut t = Template { machine: "h200", ..Template::default() };
    t.header.push("needs sm_90".into());
    roles(&mut t, &text, "warps 2");
    (t, extents)
}

fn ring(dice: &mut Dice, taken: Option<[String; 2]>) -> Template {
    let (mut t, extents) = ring_head(dice);
    t.counts.push(count(dice, "tiles", "k"));
    t.scopes.push(scope(&["tiles"], &[("i", "tiles")], extents));
    let mut ring = Ring::random(dice, "i");
    if taken.is_some() && matches!(ring.index, Index::Form(_)) {
        ring.index = Index::Counter;
    }
    ring.taken = taken;
    ring.declare(&mut t);
    let (mut vars, mut updates) = (vec![], vec![]);
    if dice.chance(20) {
        let (names, declared, changed) = changes(&t, dice);
        t.scopes[0].vars = names;
        (vars, updates) = (declared, changed);
    }
    ring.write(&mut t, &any_inner(dice), &updates, &vars);
    t
}

fn skipping(dice: &mut Dice) -> Template {
    let m = dice.range(2, 7);
    let base = match dice.range(1, 4) {
        1 => format!("i % {m} == {}", dice.range(0, m - 1)),
        2 => format!("i % {m} < {}", dice.range(1, m)),
        _ => format!("i % {m} != {}", dice.range(0, m - 1)),
    };
    let mut reader = base.clone();
    if dice.chance(25) {
        let s = scope(&["tiles"], &[("i", "tiles")], (1, 1));
        let guard = s.guard(dice, Aim::Sometimes).cond;
        reader = if dice.chance(60) { format!("{base} and not ({guard})") } else { format!("({base}) or ({guard})") };
    }
    ring(dice, Some([base, reader]))
}

fn two(dice: &mut Dice, outer: &str, other: &str) -> [Count; 2] {
    let inner = count(dice, "tiles", "k");
    let mut second = count(dice, outer, other);
    second.given = second.given.min(9);
    if dice.chance(50) { [inner, second] } else { [second, inner] }
}

fn nested(dice: &mut Dice) -> Template {
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

fn sequential(dice: &mut Dice) -> Template {
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

fn persistent(dice: &mut Dice) -> Template {
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

fn any(dice: &mut Dice) -> Template {
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

fn bounds(dice: &mut Dice) -> Template {
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

fn cluster(dice: &mut Dice) -> Template {
    let m = *dice.pick(&[1, 2, 4]);
    let mut t = Template { machine: "h200", ..Template::default() };
    t.header.push("needs sm_90".into());
    t.counts.push(count(dice, "tiles", "k"));
    roles(&mut t, &format!("grid {m}   cluster 2"), "warps 2");
    t.header.push("shared a: f16[64, 16]".into());
    let mut s = scope(&["tiles"], &[("i", "tiles")], (2 * m, 1));
    if dice.chance(30) {
        s.counts.push("cta".into());
        s.counts.retain(|c| c != "tiles");
    }
    t.scopes.push(s);
    t.lines(0, "all:\n  for i in 0..tiles:");
    t.lines(2, "@load\n@filled\n@use\n@freed\n@late");
    t.lines(1, "@last");
    let peer = "A[cta.m + 1 - 2 * cta, i]";
    let load = "load: load A[cta.m, i] -> a";
    let read = format!("use: lds a @cta 1 - cta : {peer} -> r; alu fma 64 x 16 uses r");
    t.fault("load", 0, load, "load: load A[cta.m, i + 1] -> a");
    t.harmless("load", 0, load, load);
    t.fault("filled", 0, "cluster.sync", "barrier");
    t.fault("filled", 0, "cluster.sync", "");
    t.harmless("filled", 0, "cluster.sync", "barrier\ncluster.sync");
    t.harmless("use", 0, &read, "use: alu fma 64 x 16");
    t.harmless("use", 0, &read, "use: lds a : A[cta.m, i] -> p");
    t.fault("freed", 0, "cluster.sync", "barrier");
    t.fault("freed", 0, "cluster.sync", "");
    t.fault("freed", 0, "cluster.sync", "use: cluster.sync");
    t.fault("late", 0, "", &read.replace("-> r", "-> q").replace("uses r", "uses q"));
    t.fault("late", 0, "", &format!("{read}\ncluster.sync"));
    t.harmless("late", 0, "", "use: alu fma 64 x 16");
    t
}

/// Rows of the grid that a parameter sets; guards compare coordinates with it.
fn extent(dice: &mut Dice) -> Template {
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

/// Each CTA of a cluster loads one half of a tile for both, and the readers of both give a slot back to both.
fn multicast(dice: &mut Dice) -> Template {
    let m = *dice.pick(&[1, 2, 4]);
    let mut t = Template { machine: "h200", ..Template::default() };
    t.header.push("needs sm_90".into());
    t.counts.push(count(dice, "tiles", "k"));
    roles(&mut t, &format!("grid {m}   cluster 2"), "warps 2");
    let mut s = scope(&["tiles"], &[("i", "tiles")], (2 * m, 1));
    if dice.chance(40) {
        s.counters.push(("cta".into(), "ctas".into()));
    }
    t.scopes.push(s);
    let s = dice.range(1, 4);
    let (slot, phase) = (format!("i % {s}"), format!("i / {s}"));
    t.header.push(format!("shared a[{s}]: f16[64, 16]"));
    t.header.push(format!("mbar full[{s}] (1)   mbar empty[{s}] (2)"));
    t.lines(0, "all:\n  warp 0: elect: init full, empty;  fence mbarrier_init.cluster\n  cluster.sync");
    t.lines(0, "load: elect:\n  for i in 0..tiles:");
    t.lines(2, "@wait_empty\n@expect\n@fill");
    t.lines(0, "use:\n  for i in 0..tiles:\n    @wait_full\n    @use\n    @free\n    @late");
    t.lines(0, "all:\n  @last");
    let wait = format!("wait empty[{slot}] for {phase} - 1");
    t.fault("wait_empty", 0, &wait, "");
    t.harmless("wait_empty", 0, &wait, &wait);
    let expect = |bytes: &str| format!("arrive full[{slot}] expect {bytes}");
    t.fault("expect", 0, &expect("bytes(a)"), &expect("2 * bytes(a)"));
    t.harmless("expect", 0, &expect("bytes(a)"), &expect("bytes(a)"));
    let fill =
        |mask: &str, tile: &str| format!("tma A[cluster.m, {tile}] -> a[{slot}] signals full[{slot}] multicast {mask}");
    t.fault("fill", 0, &fill("0b11", "i"), &fill("0b01", "i"));
    t.fault("fill", 0, &fill("0b11", "i"), &fill("0b11", "i + 1"));
    let wait = format!("wait full[{slot}] for {phase}");
    t.fault("wait_full", 0, &wait, "");
    t.harmless("wait_full", 0, &wait, &wait);
    let read = format!("lds a[{slot}] : A[cluster.m, i] -> r; alu fma 64 x 16 uses r");
    t.harmless("use", 0, &read, "alu fma 64 x 16");
    let free = |who: &str| format!("arrive empty[{slot}] @ctas {who} per warp cluster");
    t.fault("free", 0, &free("0b11"), &free("0b01"));
    t.fault("free", 0, &free("0b11"), "");
    t.harmless("free", 0, &free("0b11"), &free("0b11"));
    t.fault("late", 0, "", &format!("lds a[{slot}] : A[cluster.m, i] -> q"));
    t.harmless("late", 0, "", "alu fma 64 x 16");
    // The last arrivals must come before a CTA leaves; without the barrier every kernel of the family is at fault.
    t.lines(1, if dice.chance(90) { "cluster.sync" } else { "barrier" });
    t
}

/// A ring over tiles that `clc` hands out; the grid is as large as there are tiles.
fn handed(dice: &mut Dice) -> Template {
    let mut t = Template { machine: "b200", ..Template::default() };
    t.header.push("needs sm_100a".into());
    t.counts.extend(two(dice, "jobs", "n"));
    roles(&mut t, "grid jobs", "warps 2");
    let mut s = scope(&["tiles", "jobs"], &[("i", "tiles"), ("job", "jobs"), ("job", "jobs")], (1, 1));
    s.vars.push("n_th".into());
    t.scopes.push(s);
    let ring = Ring { index: Index::Counter, readers: 1, ..Ring::random(dice, "") };
    ring.declare(&mut t);
    t.header.push("shared next: i32\n  mbar got (1)   mbar free (32)".into());
    let init = t.body.iter().position(|l| l.contains("init full, empty"));
    init.iter().for_each(|k| t.body[*k] = t.body[*k].replace("full, empty", "full, empty, got, free"));
    let heads = vec!["while job.valid:".to_string(), "for i in 0..tiles:".to_string()];
    let loops = Loops { heads, tile: "job % 64, i".into(), other: "job % 64, i + 1".into(), step: None };
    let vars = ["var n_th = 0".to_string(), "var job = cta.id".to_string()];
    let before = t.body.len();
    ring.write(&mut t, &loops, &[], &vars);
    // Each role asks for the next tile, or reads which it is, at the end of a turn.
    let next = [
        "    wait free for n_th - 1\n    arrive got expect 16\n    clc -> next signals got\n    wait got for n_th\n    get next -> job\n    n_th += 1",
        "    wait got for n_th\n    get next -> job\n    arrive free\n    n_th += 1",
    ];
    let roles: Vec<usize> = (before..t.body.len()).filter(|k| !t.body[*k].starts_with(' ')).collect();
    t.body.extend(next[1].lines().map(str::to_string));
    if let Some(second) = roles.get(1) {
        t.body.splice(second..second, next[0].lines().map(str::to_string));
    }
    t
}

fn coordinates(dice: &mut Dice) -> Template {
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
            // What a site holds without a guard stays.
            if !s.harmless {
                s.guarded = s.normal.clone();
            }
            t.sites.push(s);
        }
        t.sites.retain(|s| !s.normal.is_empty() || !s.guarded.is_empty());
    }
    t
}

fn groups(dice: &mut Dice) -> Template {
    let (text, extents) = grid(dice);
    let mut t = Template { machine: "h200", ..Template::default() };
    t.counts.push(count(dice, "tiles", "k"));
    roles(&mut t, &text, "warps 2");
    t.scopes.push(scope(&["tiles"], &[("i", "tiles")], extents));
    let s = dice.range(2, 4);
    t.header.push(format!("shared a[{s}]: f16[64, 16]"));
    let move_next =
        |slot: &str| format!("load:\n  if i + {0} < tiles: cp A[cta.m, i + {0}] -> a[(i + {0}) % {slot}]", s - 1);
    if dice.chance(60) {
        t.lines(0, &format!("all:\n  load:\n    for j in 0..{}:", s - 1));
        t.lines(3, "if j < tiles: cp A[cta.m, j] -> a[j]\ncommit cp");
        t.lines(1, "for i in 0..tiles:\n  @waited\n  @filled\n  @fill\n  @commit\n  @use\n  @late");
        t.lines(1, "load: wait cp <= 0");
        let waited = format!("load: wait cp <= {}", s - 2);
        t.fault("waited", 0, &waited, &format!("load: wait cp <= {}", s - 1));
        t.fault("waited", 0, &waited, "");
        t.harmless("waited", 0, &waited, "load: wait cp <= 0");
        t.fault("filled", 0, "barrier", "");
        t.harmless("filled", 0, "barrier", "barrier\nbarrier");
        t.fault("fill", 0, &move_next(&s.to_string()), "");
        t.harmless("fill", 0, &move_next(&s.to_string()), &move_next(&s.to_string()));
        t.fault("commit", 0, "load: commit cp", "");
        t.harmless("commit", 0, "load: commit cp", "load: commit cp");
        let read = format!("use: lds a[i % {s}] : A[cta.m, i] -> r; alu fma 64 x 16 uses r");
        t.fault("use", 0, &read, &format!("use: lds a[(i + 1) % {s}] : A[cta.m, i] -> r"));
        t.harmless("use", 0, &read, "use: alu fma 64 x 16");
        t.fault("late", 0, "", &format!("use: lds a[(i + {s} - 1) % {s}] : A[cta.m, i - 1] -> q"));
        t.harmless("late", 0, "", "use: alu fma 64 x 16");
    } else {
        t.header.push(format!("named full[{s}]\n  named empty[{s}]"));
        t.lines(0, &format!("load:\n  for i in 0..tiles:\n    if i >= {s}:\n      @wait_empty"));
        t.lines(2, "@load\n@filled");
        t.lines(0, "use:\n  for i in 0..tiles:");
        t.lines(2, &format!("@wait_full\n@use\nif i + {s} < tiles:\n  @free\n@late"));
        let bar = |how: &str, x: &str| format!("bar {how} {x}[i % {s}] (64)");
        t.fault("wait_empty", 0, &bar("sync", "empty"), "alu fma 64 x 16");
        t.harmless("wait_empty", 0, &bar("sync", "empty"), &bar("sync", "empty"));
        let load = format!("cp A[cta.m, i] -> a[i % {s}]; commit cp; wait cp <= 0");
        t.fault("load", 0, &load, &format!("cp A[cta.m, i] -> a[i % {s}]; commit cp; wait cp <= 1"));
        t.harmless("load", 0, &load, &load);
        t.fault("filled", 0, &bar("arrive", "full"), "");
        t.harmless("filled", 0, &bar("arrive", "full"), &bar("sync", "full"));
        t.fault("wait_full", 0, &bar("sync", "full"), "");
        t.harmless("wait_full", 0, &bar("sync", "full"), &bar("sync", "full"));
        t.harmless("use", 0, &format!("lds a[i % {s}] : A[cta.m, i] -> r; alu fma 64 x 16 uses r"), "alu fma 64 x 16");
        t.fault("free", 0, &bar("arrive", "empty"), "alu fma 64 x 16");
        t.harmless("free", 0, &bar("arrive", "empty"), &bar("sync", "empty"));
        t.fault("late", 0, "", &format!("lds a[i % {s}] : A[cta.m, i] -> q"));
        t.harmless("late", 0, "", "alu fma 64 x 16");
    }
    t
}
