//! Whole kernels compile.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, compile};
use warpline_sim::ir::{Binary, Env, Expr, Instr, Op, Phase, Program};

fn read(name: &str, set: &[(&str, i64)]) -> Program {
    let file = format!("{}/tests/good/{name}.pipe", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap();
    let set: BTreeMap<String, i64> = set.iter().map(|(n, v)| (n.to_string(), *v)).collect();
    match compile(name, &text, &Inputs { set: &set, cores: Some(132) }) {
        Ok(p) => p,
        Err(all) => {
            for d in &all {
                let line = text[..d.span.start].matches('\n').count() + 1;
                eprintln!("{name}:{line}: {} | {} | {:?} | {:?}", d.message, d.label, d.help, &text[d.span.clone()]);
            }
            panic!("{name}: {} errors", all.len());
        }
    }
}

const MNK: [(&str, i64); 3] = [("m", 512), ("n", 512), ("k", 512)];

#[test]
fn every_good_kernel_compiles() {
    for name in ["triple_buffer", "tma_warp_specialized", "level2_2sm", "two_step_ahead", "proj_k16", "marlin", "clc"] {
        read(name, &MNK);
    }
    read("ring", &[]);
}

fn compiled(body: &str, set: &[(&str, i64)]) -> Program {
    let set: BTreeMap<String, i64> = set.iter().map(|(n, v)| (n.to_string(), *v)).collect();
    compile("t", body, &Inputs { set: &set, cores: Some(4) }).unwrap_or_else(|e| panic!("{e:#?}"))
}

/// The moves of a program as (crew, warps that reach it by the `Only`s around it).
fn crews(p: &Program) -> Vec<u64> {
    let moves = p.code.iter().filter_map(|i| match i {
        Instr::Op { op: Op::Move { crew, .. }, .. } => Some(*crew),
        _ => None,
    });
    moves.collect()
}

const COPY: &str = "kernel k(x = 0)
  warps 8
  global A: f16[512, 64]
  shared a[2]: f16[64, 64]
  reg r: f16[64, 64]
  role lo = warps 0..4
  role two[2] = warps 0..8
  role each[8] = warps 0..8
";

#[test]
fn moves_are_shared_by_those_who_execute_them() {
    let p = compiled(
        &format!(
            "{COPY}  all: load A[0, 0] -> a[0]
  lo: load A[0, 0] -> a[0]
  lo: warps 2..6: load A[0, 0] -> a[0]
  lo: elect: load A[0, 0] -> a[0]
  two: load A[0, 0].rows(self) -> a[0].rows(self)
  each: load A[0, 0].rows(self) -> a[0].rows(self)
  each: load A[0, 0] -> a[x ? self : 0]
  all: load A[0, 0] -> a[warp % 2]
  two: if self == 0: load A[0, 0] -> a[0]
  all: lds a[0] -> r
"
        ),
        &[],
    );
    // A member's warps share what mentions `self`; each member has a move of its own.
    assert_eq!(crews(&p), [0xff, 0x0f, 0x0c, 0, 0x0f, 0xf0, 0, 0, 0, 0x0f, 0xf0, 0]);
    let a = p.objects.iter().find(|o| o.name == "a").unwrap();
    assert_eq!(a.row_cuts, [0, 8, 16, 24, 32, 40, 48, 56, 64]);
    assert_eq!(a.col_cuts, [0, 64]);
    assert_eq!(p.objects[0].block, [64, 64]);
}

#[test]
fn columns_are_shared_where_rows_do_not_divide() {
    let p = compiled(
        "kernel k()\n  warps 4\n  global A: f16[6, 64]\n  shared a: f16[6, 64]\n  all: load A[0, 0] -> a\n",
        &[],
    );
    assert_eq!(
        (p.objects[1].row_cuts.as_slice(), p.objects[1].col_cuts.as_slice()),
        (&[0, 6][..], &[0, 16, 32, 48, 64][..])
    );
}

#[test]
fn self_counts_members_and_folds_for_one_warp() {
    let p = compiled(
        "kernel k()
  warps 12
  role math[2] = warpgroups 1..3
  named order[2]
  math:
    let w = self
    warp 9: let v = self
    if self == 1: bar arrive order[self] (256)
",
        &[],
    );
    let sets: Vec<&Expr> =
        p.code.iter().filter_map(|i| if let Instr::Set(_, e) = i { Some(e) } else { None }).collect();
    let member =
        Expr::binary(Binary::Div, Expr::binary(Binary::Sub, Expr::Env(Env::Warp), Expr::Const(4)), Expr::Const(4));
    assert_eq!(sets, [&member, &Expr::Const(1)]);
    assert_eq!(p.named[0].first, 1);
}

#[test]
fn phases_floor_and_loops_are_recorded() {
    let p = compiled(
        "kernel k(stages = 3, n = 10)
  warps 1
  mbar x[stages] (1)
  trips t = any run 7
  elect: init x
  for i in 0..t:
    arrive x[i % stages]
    wait x[i % stages] for i / stages - 1
  for i in 0..n step 2, j in 0..0: barrier
",
        &[],
    );
    let wait = p.code.iter().find_map(|i| match i {
        Instr::Op { op: Op::MbarWait { phase: Phase::Absolute(e), .. }, .. } => Some(e.clone()),
        _ => None,
    });
    let stage = Expr::binary(Binary::Div, Expr::Var(0), Expr::Const(3));
    assert_eq!(wait, Some(Expr::binary(Binary::Sub, stage, Expr::Const(1))));
    // The bound of the first is a run-time value, held in a hidden variable; an empty loop leaves no code.
    assert_eq!(p.vars, ["i", ".end_i", "j"]);
    assert_eq!(p.loops.len(), 2);
    for l in &p.loops {
        assert!(matches!(p.code[l.head as usize], Instr::Unless(_, to) if to == l.end), "{l:?}");
        assert!(matches!(p.code[l.end as usize - 1], Instr::Jump(to) if to == l.head), "{l:?}");
    }
    assert!(!p.code.iter().any(|i| matches!(i, Instr::Op { op: Op::Barrier(_), .. })));
}

#[test]
fn blocks_of_global_matrices_come_from_their_partners() {
    let p = read("level2_2sm", &MNK);
    let block = |n: &str| p.objects.iter().find(|o| o.name == n).unwrap().block;
    // Each CTA holds half of B's 128 rows.
    assert_eq!((block("A"), block("B"), block("C")), ([128, 64], [128, 64], [128, 128]));
    let p = read("two_step_ahead", &MNK);
    let of = |n: &str| p.objects.iter().find(|o| o.name == n).unwrap();
    assert_eq!((of("A").block, of("a0").rows, of("acc").rows, of("acc").cols), ([256, 64], 128, 256, 256));
    assert_eq!(p.value("q"), Some(2));
    let p = read("proj_k16", &[("m", 4100), ("n", 512), ("k", 512)]);
    let stage = p.objects.iter().find(|o| o.name == "stage").unwrap();
    assert_eq!((stage.slots, stage.pieces()), (1, 1));
    assert_eq!(p.objects.iter().find(|o| o.name == "C").unwrap().block, [8, 8]);
}

#[test]
fn sites_point_at_statements() {
    let p = read("triple_buffer", &MNK);
    let mma = p.code.iter().position(|i| matches!(i, Instr::Op { op: Op::Mma { .. }, .. })).unwrap();
    let site = p.site(mma as u32);
    assert!(site.text.starts_with("mma a[i % stages].rows(self) : A[cta.m, i]"), "{site:?}");
    assert_eq!((site.line, site.col), (19, 16));
}

#[test]
fn a_loop_without_trips_may_use_registers_of_its_own() {
    let text = "kernel none(m = 16, k = 16, tiles = 0)\n  warps 1\n  grid 1\n  global A: f16[m, k]\n  global C: f16[m, k]\n  \
                shared a: f16[16, 16]\n  all:\n    load A[0, 0] -> a\n    for i in 0..tiles:\n      lds a -> fa\n      store fa -> C[0, 0]\n";
    let compiled = compile("none.pipe", text, &Inputs { set: &Default::default(), cores: None });
    assert!(compiled.is_ok(), "{compiled:#?}");
    // What is written there only is not there behind it.
    let after = format!("{text}    store fa -> C[0, 0]\n");
    let errors = compile("none.pipe", &after, &Inputs { set: &Default::default(), cores: None }).unwrap_err();
    assert_eq!(errors.iter().map(|d| d.message.as_str()).collect::<Vec<_>>(), ["unknown name `fa`"]);
}
