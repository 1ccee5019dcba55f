//! Kernels of clusters, and of tiles that `clc` hands out.

use super::loops::two;
use super::{count, roles, scope};
use crate::dice::Dice;
use crate::generate::bodies::{Index, Loops, Ring};
use crate::generate::template::Template;

pub(super) fn cluster(dice: &mut Dice) -> Template {
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

/// Each CTA of a cluster loads one half of a tile for both, and the readers of both give a slot back to both.
pub(super) fn multicast(dice: &mut Dice) -> Template {
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
    let fill = |mask: &str, tile: &str| {
        format!("tma A[cluster.m, {tile}].half(cta) -> a[{slot}].half(cta) signals full[{slot}] multicast {mask}")
    };
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
pub(super) fn handed(dice: &mut Dice) -> Template {
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
