//! Kernels whose grid and matrices have the sizes `m` and `n`, which no instruction needs to read.
//!
//! Most are correct for every size. In others, the grid does not fit a matrix, or two CTAs store one block of a larger
//! grid. A guard can depend on a size, or single out CTAs, which may be outside of the grid given.

use super::scope;
use crate::dice::Dice;
use crate::generate::template::{Count, Template};

/// Rows and columns of a block.
const BLOCK: i64 = 64;

pub(super) fn sizes(dice: &mut Dice) -> Template {
    let mut t = Template { machine: dice.word(&["m4-max", "h200"]), ..Template::default() };
    let both = dice.chance(70);
    let count = |name: &str, param: &str, unit: i64, given: i64| Count {
        name: name.into(),
        param: param.into(),
        unit,
        given,
        any: false,
    };
    let steps = dice.range(1, 6);
    t.counts.push(count("tiles", "k", 16, steps));
    for name in if both { &["m", "n"][..] } else { &["m"] } {
        let whole = dice.range(1, 5) * BLOCK;
        let given = if dice.chance(70) { whole } else { (whole + dice.range(-40, 40)).max(1) };
        t.counts.push(count(name, name, 1, given));
    }
    let cluster = if dice.chance(20) && t.machine == "h200" { 2 } else { 1 };
    let correct = dice.chance(65);
    let rows = if correct {
        dice.word(&["cdiv(m, 64)", "cdiv(m, 64)", "cdiv(m, 64)", "(m + 63) / 64", "m / 64 + 1 - 1"])
    } else {
        dice.word(&["cdiv(m, 64)", "cdiv(m, 32)", "cdiv(m, 64) + 1", "cdiv(n, 64)", "m / 64 + 1", "cdiv(m, 63)", "7"])
    };
    let rows = if both { rows.to_string() } else { rows.replace("(n,", "(m,") };
    let rows = if cluster == 2 { format!("cdiv({rows}, 2)") } else { rows };
    let columns = if both { dice.word(&["cdiv(n, 64)", "cdiv(n, 64)", "cdiv(n, 64)", "n / 64"]) } else { "1" };
    if dice.chance(40) || cluster == 2 {
        let whole = BLOCK * cluster;
        t.header.push(format!("require m % {whole} == 0"));
        t.counts.iter_mut().filter(|c| c.name == "m").for_each(|c| c.given = (c.given + whole - 1) / whole * whole);
    }
    let cluster = if cluster == 2 { "   cluster 2" } else { "" };
    t.header.push(format!("grid {rows}, {columns}{cluster}   warps 2"));
    let depth = "16 * (tiles + 4)";
    t.header.push(format!("global A: f16[m, {depth}]"));
    let ends = match (both, correct || dice.chance(60)) {
        (true, true) => "m, n",
        (true, false) => dice.word(&["n, m", "m, 256", "2 * m, n", "m + n, n"]),
        (false, _) => dice.word(&["m, 64", "m, 64", "2 * m, 64"]),
    };
    t.header.push(format!("global C: f16[{ends}]"));
    t.header.push("shared a: f16[64, 16]".into());
    t.header.push("reg out: f16[64, 64]".into());
    t.header.push("role load = warp 0".into());
    t.header.push("role use = warp 1".into());
    let mut own = scope(&["tiles"], &[("i", "tiles")], (0, 0));
    // Coordinates up to which guards are drawn: some lie outside of the grid given.
    own.grid = dice.chance(50).then(|| (dice.range(2, 14), dice.range(1, 4)));
    if dice.chance(25) {
        own.counts.push("m".into());
    }
    t.scopes.push(own);
    let tile = if dice.chance(85) { "cta.m, i" } else { dice.word(&["cta.m, i + 1", "cta.m - cta.m, i", "cta.n, i"]) };
    let masked = if dice.chance(15) { " masked" } else { "" };
    t.lines(0, "all:");
    t.lines(1, "for i in 0..tiles:");
    t.lines(2, &format!("load: load A[{tile}] -> a{masked}\n@barrier\nuse: lds a : A[{tile}] -> r\n@last"));
    t.fault("barrier", 0, "barrier", "");
    t.fault("last", 0, "barrier", "");
    t.harmless("last", 0, "barrier", "barrier");
    t.fault("store", 0, "", "store out -> C[cta.m, 0]");
    let block = if correct {
        "cta.m, cta.n"
    } else {
        dice.word(&[
            "cta.m, cta.n",
            "cta.n, cta.m",
            "cta.m, 0",
            "0, cta.n",
            "cta.id, 0",
            "cta.m + 4 * cta.n, 0",
            "cta.m / 2, cta.n",
            "cluster.m, cta.n",
            "cta.m + 1, cta.n",
            "cta.m + i, cta.n",
        ])
    };
    let masked = if dice.chance(15) { " masked" } else { "" };
    let each = block.contains('i') && !block.contains("id");
    t.lines(if each { 2 } else { 1 }, &format!("use: store out -> C[{block}]{masked}"));
    t
}
