//! Generated loops: the expansion computes what the plain loop computes, touches the slots that it should, and is proved.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpline_scenarios::Inputs;
use warpline_scenarios::pipeline::{Ask, Schedule, Via, expand};
use warpline_sim::ir::{Class, Env, Expr, Instr, Op, Place, Program, Unary, Who, apply};

use super::{decided, holds, machine, program};

/// Statements of a loop. Which of them follow which makes the dependences, those between iterations among them.
const STATEMENTS: [&str; 10] = [
    "load A[0, i] -> a",
    "load B[0, i] -> b",
    "lds a -> r0",
    "lds b -> r1",
    "alu fma 16 x 16 uses r0, r1 -> r2",
    "alu int 16 x 16 uses r2 -> r2",
    "sts r2 -> t.rows(self)",
    "lds t.rows(1 - self, 2) -> r0",
    "mma a : A[0, i], b : B[0, i] -> acc",
    "alu int 16 x 16 uses r1 -> r0",
];

/// A kernel around some statements; with a table, each has its stage and order.
fn text(statements: &[usize], table: Option<&[(i64, usize)]>) -> String {
    let mut seen = Vec::new();
    let mut body = String::new();
    for (n, s) in statements.iter().enumerate() {
        // A buffer is filled once a step.
        if (*s < 2 || *s == 8) && seen.contains(s) {
            continue;
        }
        // The product is of this step's tiles.
        if *s == 8 && !(seen.contains(&0) && seen.contains(&1)) {
            continue;
        }
        seen.push(*s);
        let mut line = STATEMENTS[*s].to_string();
        // A read behind the copy of its step says what it means to find.
        for (copy, read, tile) in [(0, 2, " : A[0, i]"), (1, 3, " : B[0, i]")] {
            if *s == read && seen.contains(&copy) {
                line = line.replace(" -> ", &format!("{tile} -> "));
            }
        }
        let head = match table {
            Some(t) => {
                let order = statements[..n].iter().filter(|_| true).count();
                let (stage, shift) = t[n % t.len()];
                let asynchronous = if *s < 2 { " async" } else { "" };
                format!("stage {stage} order {}{asynchronous}: ", (order + shift * 100) % 577)
            }
            None => String::new(),
        };
        body.push_str(&format!("      {head}{line}\n"));
    }
    if body.is_empty() {
        body = format!("      {}\n", STATEMENTS[4]);
    }
    // What a step reads before it writes it has a first value.
    let first = |write: usize, read: usize| {
        let at = |n| statements.iter().position(|s| *s == n).unwrap_or(usize::MAX);
        at(read) != usize::MAX && at(read) < at(write)
    };
    let mut before = String::new();
    for (write, read, line) in
        [(6, 7, "sts r2 -> t.rows(self)"), (0, 2, "load A[0, 0] -> a"), (1, 3, "load B[0, 0] -> b")]
    {
        if first(write, read) {
            before.push_str(&format!("    {line}\n"));
        }
    }
    format!(
        "kernel loop(k = 160, stages = 3)
  let tiles = cdiv(k, 16)
  warps 2
  global A: f16[16, k]   global B: f16[16, k]
  shared a: f16[16, 16]   shared b: f16[16, 16]   shared t: f16[32, 16]
  reg r0: f16[16, 16], r1: f16[16, 16], r2: f16[16, 16], acc: f32[16, 16]
  role math[2] = warps 0..2

  math:
    zero r0;  zero r1;  zero r2;  zero acc
{before}    barrier
    pipelined i in 0..tiles stages stages:
{body}"
    )
}

/// What one warp does, with every move done at once: values of registers and shared memory as hashes.
struct Interpreter<'a> {
    prog: &'a Program,
    vars: Vec<i64>,
    values: BTreeMap<(u16, i64), u64>,
    /// `(buffer, iteration of the tile, slot, slots)` of each copy behind the loop's head.
    copies: Vec<(String, i64, i64, i64)>,
    reads: Vec<(String, i64, i64, i64)>,
}

fn mix(a: u64, b: u64) -> u64 {
    (a ^ b.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
}

impl Interpreter<'_> {
    fn eval(&self, e: &Expr) -> i64 {
        match e {
            Expr::Const(v) => *v,
            Expr::Var(v) => self.vars[*v as usize],
            Expr::Env(Env::Warp) => 0,
            Expr::Env(_) => 0,
            Expr::Unary(Unary::Neg, a) => -self.eval(a),
            Expr::Unary(Unary::Not, a) => i64::from(self.eval(a) == 0),
            Expr::Binary(op, p) => apply(*op, self.eval(&p.0), self.eval(&p.1)).unwrap(),
            Expr::If(p) => self.eval(if self.eval(&p.0) != 0 { &p.1 } else { &p.2 }),
            Expr::Tape(..) => unreachable!(),
        }
    }

    fn slot(&self, p: &Place) -> i64 {
        p.at.first().map_or(0, |e| self.eval(e))
    }

    /// The iteration a tile belongs to: its column.
    fn tile(&self, at: &[Expr]) -> i64 {
        self.eval(&at[1])
    }

    fn read(&mut self, p: &Place) -> u64 {
        let object = &self.prog.objects[p.obj as usize];
        let at = self.slot(p);
        if object.class == Class::Global {
            let at = self.tile(&p.at);
            return mix(p.obj as u64 + 1, at as u64 + 1);
        }
        if let Some(t) = &p.tile {
            let row = self.tile(&t.at);
            self.reads.push((object.name.clone(), row, at, object.slots as i64));
        }
        self.values.get(&(p.obj, at)).copied().unwrap_or(0)
    }

    fn write(&mut self, p: &Place, v: u64) {
        let at = self.slot(p);
        self.values.insert((p.obj, at), v);
    }

    fn run(&mut self) {
        let mut pc = 0usize;
        for _ in 0..1_000_000 {
            match &self.prog.code[pc] {
                Instr::Set(v, e) => self.vars[*v as usize] = self.eval(e),
                Instr::Jump(to) => {
                    pc = *to as usize;
                    continue;
                }
                Instr::Unless(e, to) if self.eval(e) == 0 => {
                    pc = *to as usize;
                    continue;
                }
                Instr::Only(Who::Warps(mask), to) if mask & 1 == 0 => {
                    pc = *to as usize;
                    continue;
                }
                Instr::Op { op, .. } => self.op(op),
                Instr::End => return,
                _ => {}
            }
            pc += 1;
        }
        panic!("no end");
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Move { src, dst, .. } => {
                let v = self.read(src);
                let from = &self.prog.objects[src.obj as usize];
                let to = &self.prog.objects[dst.obj as usize];
                if from.class == Class::Global && to.class == Class::Shared {
                    self.copies.push((to.name.clone(), self.tile(&src.at), self.slot(dst), to.slots as i64));
                }
                self.write(dst, v);
            }
            Op::Mma { a, b, acc, .. } => {
                let v = mix(mix(self.read(a), self.read(b)), self.read(acc));
                self.write(acc, v);
            }
            Op::Alu { reads, writes, .. } => {
                let v = reads.iter().fold(7, |v, p| mix(v, self.read(p)));
                writes.iter().for_each(|p| self.write(p, v));
            }
            Op::Zero(p) => self.write(p, 3),
            _ => {}
        }
    }
}

/// Final values of what the kernel declares as registers, and copies and reads with their slots.
fn outcome(p: &Program) -> (BTreeMap<String, u64>, Interpreter<'_>) {
    let mut i = Interpreter {
        prog: p,
        vars: vec![0; p.vars.len()],
        values: BTreeMap::new(),
        copies: Vec::new(),
        reads: Vec::new(),
    };
    i.run();
    let of = |name: &str| p.objects.iter().position(|o| o.name == name).unwrap() as u16;
    // A register of several versions ends with several values; the accumulator has one.
    let single = |name: &str| p.objects[of(name) as usize].slots == 1;
    let names = ["r0", "r1", "r2", "acc"];
    let values = names
        .iter()
        .filter(|n| single(n))
        .map(|n| (n.to_string(), i.values.get(&(of(n), 0)).copied().unwrap_or(0)))
        .collect();
    (values, i)
}

const WAYS: [(&str, Via); 10] = [
    ("m4-max", Via::Sync),
    ("v100", Via::Registers),
    ("a100", Via::Cp),
    ("a100", Via::Registers),
    ("h200", Via::Tma),
    ("h200", Via::TmaJoint),
    ("h200", Via::Cp),
    ("mi300x", Via::Registers),
    ("mi355x", Via::Dma),
    ("mi300x", Via::Dma),
];

fn check(
    statements: &[usize],
    table: Option<&[(i64, usize)]>,
    way: usize,
    schedule: Schedule,
    stages: i64,
    guarded: bool,
) {
    let (on, via) = WAYS[way];
    let text = text(statements, table);
    let (rules, arch) = machine(on);
    let schedule = if table.is_some() { Schedule::Table } else { schedule };
    let ask = Ask {
        arch: Some(&arch),
        via: Some(via),
        schedule: Some(schedule),
        stages: Some(stages),
        guarded: Some(guarded),
    };
    let set = BTreeMap::new();
    let e = match expand("plain.pipe", &text, &Inputs { set: &set, cores: None }, &ask) {
        Ok(e) => e,
        Err(errors) => {
            // Not every table keeps the loop's meaning, and a chain through registers can't be moved.
            let said = |d: &warpline_sim::diag::Diagnostic| {
                [
                    "changes what the loop does",
                    "used outside the loop",
                    "same place in the order",
                    "written twice",
                    "depend on one another",
                ]
                .iter()
                .any(|m| d.message.contains(m))
            };
            assert!(errors.iter().all(said), "{ask:?}\n{text}\n{errors:#?}");
            return;
        }
    };
    let plain_ask = Ask { via: Some(Via::Sync), stages: Some(0), schedule: Some(Schedule::NumStages), ..ask };
    let plain = match table {
        Some(_) => self::text(statements, None),
        None => text.clone(),
    };
    let plain = expand("plain.pipe", &plain, &Inputs { set: &set, cores: None }, &plain_ask).unwrap();
    for tiles in [0, 1, 2, 3, 7, 10] {
        let values = [("k", 16 * tiles)];
        let (Some(a), Some(b)) = (program(&plain.text, &values), program(&e.text, &values)) else { continue };
        let (want, _) = outcome(&a);
        let (got, made) = outcome(&b);
        // The producer warp is another agent; that its readers find what they should is what the proof says.
        if via != Via::Tma {
            for (name, v) in &got {
                assert_eq!(v, &want[name], "{name} after {tiles} steps, {ask:?}\n{text}\n{}", e.text);
            }
        }
        // The slot of iteration i is i modulo the slots.
        for (buffer, row, slot, slots) in made.copies.iter().chain(&made.reads) {
            assert_eq!(row.rem_euclid(*slots), *slot, "{buffer}, {ask:?}\n{}", e.text);
        }
        for name in ["a", "b"] {
            let read: Vec<i64> = made.reads.iter().filter(|r| r.0 == name).map(|r| r.1).collect();
            assert!(read.is_sorted(), "{name} is read in order: {read:?}\n{}", e.text);
        }
    }
    let v = decided(&e.text, &[], rules);
    holds(&v, &format!("{ask:?}\n{text}"), &e.text);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn an_expansion_is_the_plain_loop(
        statements in proptest::collection::vec(0..STATEMENTS.len(), 1..=6),
        way in 0..WAYS.len(),
        schedule in 0usize..3,
        stages in 1i64..=5,
        guarded: bool,
    ) {
        let schedule = [Schedule::NumStages, Schedule::Triton, Schedule::Multistage][schedule];
        check(&statements, None, way, schedule, stages, guarded);
    }

    #[test]
    fn a_table_is_refused_or_is_the_plain_loop(
        statements in proptest::collection::vec(0..STATEMENTS.len(), 1..=6),
        table in proptest::collection::vec((0i64..=4, 0usize..6), 6),
        way in 0..WAYS.len(),
        guarded: bool,
    ) {
        check(&statements, Some(&table), way, Schedule::Table, 1, guarded);
    }
}

#[test]
fn the_simplest_loop_with_a_copy_is_the_plain_loop() {
    for way in 0..WAYS.len() {
        check(&[0, 1, 2, 3, 4, 8], None, way, Schedule::NumStages, 3, false);
    }
}
