//! Kernels with a ring of slots between a producer and a consumer.

use super::buffer::changes;
use super::{any_inner, count, grid, roles, scope};
use crate::dice::Dice;
use crate::generate::bodies::{Index, Ring};
use crate::generate::guard::Aim;
use crate::generate::template::Template;

pub(super) fn ring_head(dice: &mut Dice) -> (Template, (i64, i64)) {
    let (text, extents) = grid(dice);
    let mut t = Template { machine: "h200", ..Template::default() };
    t.header.push("needs sm_90".into());
    roles(&mut t, &text, "warps 2");
    (t, extents)
}

pub(super) fn ring(dice: &mut Dice, taken: Option<[String; 2]>) -> Template {
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

pub(super) fn skipping(dice: &mut Dice) -> Template {
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

pub(super) fn groups(dice: &mut Dice) -> Template {
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
