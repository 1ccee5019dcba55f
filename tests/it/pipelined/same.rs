//! Generated loops: the expansion computes what the plain loop computes, touches the slots that it should, and is proved.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpline_scenarios::Inputs;
use warpline_scenarios::pipeline::{PassOptions, Schedule, Via, expand};
use warpline_sim::ir::{Class, Executors, Expr, Instr, Op, Phase, Place, Program, Unary, apply};

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

/// One warp and its place in the program.
struct Agent {
    warp: u32,
    vars: Vec<i64>,
    pc: usize,
    ended: bool,
}

/// A copy or a read of a tile.
struct Access {
    buffer: String,
    /// Where it goes: what tells one statement's reads from another's.
    to: String,
    /// The iteration that the tile is of.
    tile: i64,
    slot: i64,
    slots: i64,
}

/// The operations of the loop's warps as one warp, with the warps that only copy beside it. Every move is synchronous.
/// Values of registers and shared memory are hashes.
struct Interpreter<'a> {
    prog: &'a Program,
    values: BTreeMap<(u16, i64), u64>,
    /// Arrivals on each slot of an mbarrier.
    arrivals: BTreeMap<(u16, i64), i64>,
    copies: Vec<Access>,
    reads: Vec<Access>,
}

fn mix(a: u64, b: u64) -> u64 {
    (a ^ b.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
}

fn eval(vars: &[i64], e: &Expr) -> i64 {
    let at = |e: &Expr| eval(vars, e);
    match e {
        Expr::Const(v) => *v,
        Expr::Var(v) => vars[*v as usize],
        // All warps of the loop do the same.
        Expr::Env(_) => 0,
        Expr::Unary(Unary::Neg, a) => -at(a),
        Expr::Unary(Unary::Not, a) => i64::from(at(a) == 0),
        Expr::Binary(op, p) => apply(*op, at(&p.0), at(&p.1)).unwrap(),
        Expr::If(p) => at(if at(&p.0) != 0 { &p.1 } else { &p.2 }),
        Expr::Param(_) | Expr::Tape(..) => unreachable!(),
    }
}

impl Interpreter<'_> {
    fn access(&self, vars: &[i64], p: &Place, to: &Place, tile: i64) -> Access {
        let object = &self.prog.objects[p.obj as usize];
        let to = self.prog.objects[to.obj as usize].name.clone();
        Access { buffer: object.name.clone(), to, tile, slot: slot(vars, p), slots: object.slots as i64 }
    }

    fn read(&mut self, vars: &[i64], p: &Place, to: &Place) -> u64 {
        let object = &self.prog.objects[p.obj as usize];
        if object.class == Class::Global {
            // The iteration a tile belongs to is its column.
            return mix(p.obj as u64 + 1, eval(vars, &p.at[1]) as u64 + 1);
        }
        if let Some(t) = &p.tile {
            let read = self.access(vars, p, to, eval(vars, &t.at[1]));
            self.reads.push(read);
        }
        self.values.get(&(p.obj, slot(vars, p))).copied().unwrap_or(0)
    }

    fn write(&mut self, vars: &[i64], p: &Place, v: u64) {
        self.values.insert((p.obj, slot(vars, p)), v);
    }

    /// Each goes on until it has to wait for another; somebody always can.
    fn run(&mut self) {
        let mut agents: Vec<Agent> = std::iter::once(0)
            .chain(2..self.prog.warps)
            .map(|warp| Agent { warp, vars: vec![0; self.prog.vars.len()], pc: 0, ended: false })
            .collect();
        while agents.iter().any(|a| !a.ended) {
            let steps: usize = agents.iter_mut().map(|a| self.advance(a)).sum();
            assert!(steps > 0, "no agent can proceed");
        }
    }

    /// Runs an agent until it ends or waits; how many instructions that was.
    fn advance(&mut self, a: &mut Agent) -> usize {
        for steps in 0..1_000_000 {
            if a.ended {
                return steps;
            }
            let vars = a.vars.clone();
            match &self.prog.code[a.pc] {
                Instr::Set(v, e) => a.vars[*v as usize] = eval(&vars, e),
                Instr::Jump(to) => {
                    a.pc = *to as usize;
                    continue;
                }
                Instr::Unless(e, to) if eval(&vars, e) == 0 => {
                    a.pc = *to as usize;
                    continue;
                }
                Instr::Only(Executors::Warps(mask), to) if mask >> a.warp & 1 == 0 => {
                    a.pc = *to as usize;
                    continue;
                }
                Instr::Op { op: Op::MbarWait { bar, phase: Phase::Absolute(n) }, .. } => {
                    let come = self.arrivals.get(&(bar.bar, eval(&vars, &bar.stage))).copied().unwrap_or(0);
                    if come / self.count(bar.bar) <= eval(&vars, n) {
                        return steps;
                    }
                }
                Instr::Op { op, .. } => self.op(&vars, op),
                Instr::End => a.ended = true,
                _ => {}
            }
            a.pc += 1;
        }
        panic!("no end");
    }

    /// Arrivals that end a phase.
    fn count(&self, bar: u16) -> i64 {
        i64::from(self.prog.mbars[bar as usize].count)
    }

    fn op(&mut self, vars: &[i64], op: &Op) {
        match op {
            Op::Move { src, dst, .. } => {
                let v = self.read(vars, src, dst);
                let from = &self.prog.objects[src.obj as usize];
                let to = &self.prog.objects[dst.obj as usize];
                if from.class == Class::Global && to.class == Class::Shared {
                    let copy = self.access(vars, dst, dst, eval(vars, &src.at[1]));
                    self.copies.push(copy);
                }
                self.write(vars, dst, v);
            }
            Op::Mma { a, b, acc, .. } => {
                let v = mix(mix(self.read(vars, a, acc), self.read(vars, b, acc)), self.read(vars, acc, acc));
                self.write(vars, acc, v);
            }
            Op::Alu { reads, writes, .. } => {
                let v = reads.iter().fold(7, |v, p| mix(v, self.read(vars, p, p)));
                writes.iter().for_each(|p| self.write(vars, p, v));
            }
            Op::Zero(p) => self.write(vars, p, 3),
            // The copies that it expects follow without a wait in between; of the readers, one stands for all.
            Op::Arrive { bar, expect, .. } => {
                let arrivals = if expect.is_some() { 1 } else { self.count(bar.bar) };
                *self.arrivals.entry((bar.bar, eval(vars, &bar.stage))).or_default() += arrivals;
            }
            _ => {}
        }
    }
}

fn slot(vars: &[i64], p: &Place) -> i64 {
    p.at.first().map_or(0, |e| eval(vars, e))
}

/// Final values of what the kernel declares as registers, and copies and reads with their slots.
fn outcome(p: &Program) -> (BTreeMap<String, u64>, Interpreter<'_>) {
    let mut i = Interpreter {
        prog: p,
        values: BTreeMap::new(),
        arrivals: BTreeMap::new(),
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

/// The tiles of each statement's accesses, in order.
fn tiles(all: &[Access]) -> BTreeMap<(&str, &str), Vec<i64>> {
    let mut out: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    for a in all {
        out.entry((a.buffer.as_str(), a.to.as_str())).or_default().push(a.tile);
    }
    out
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
    let ask = PassOptions {
        arch: Some(&arch),
        via: Some(via),
        schedule: Some(schedule),
        stages: Some(stages),
        guarded: Some(guarded),
        // Now and then a warp of its own for each copy.
        producers: Some(if via == Via::Tma { 1 + statements.len() as i64 % 2 } else { 1 }),
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
                    "producer warps for",
                    "no copy of this loop runs ahead",
                ]
                .iter()
                .any(|m| d.message.contains(m))
            };
            assert!(errors.iter().all(said), "{ask:?}\n{text}\n{errors:#?}");
            return;
        }
    };
    let plain_ask = PassOptions {
        via: Some(Via::Sync),
        stages: Some(0),
        schedule: Some(Schedule::NumStages),
        producers: None,
        ..ask
    };
    let plain = match table {
        Some(_) => self::text(statements, None),
        None => text.clone(),
    };
    let plain = expand("plain.pipe", &plain, &Inputs { set: &set, cores: None }, &plain_ask).unwrap();
    for count in [0, 1, 2, 3, 7, 10] {
        let values = [("k", 16 * count)];
        let (Some(a), Some(b)) = (program(&plain.text, &values), program(&e.text, &values)) else { continue };
        let (want, by) = outcome(&a);
        let (got, made) = outcome(&b);
        for (name, v) in &got {
            assert_eq!(v, &want[name], "{name} after {count} steps, {ask:?}\n{text}\n{}", e.text);
        }
        // The slot of iteration i is i modulo the slots.
        for a in made.copies.iter().chain(&made.reads) {
            assert_eq!(a.tile.rem_euclid(a.slots), a.slot, "{}, {ask:?}\n{}", a.buffer, e.text);
        }
        // Each statement copies and reads the same tiles in the same order as in the plain loop.
        assert_eq!(tiles(&made.reads), tiles(&by.reads), "read, {ask:?}\n{}", e.text);
        // A copy by way of registers is a store of those: what it brings is what its readers find.
        let direct = |a: &&Access| !e.text.contains(&format!("-> {}_reg", a.buffer));
        let of = |all: &[Access]| all.iter().filter(direct).map(|a| (a.buffer.clone(), a.tile)).collect::<Vec<_>>();
        let by_buffer = |mut v: Vec<(String, i64)>| {
            v.sort_by(|a, b| a.0.cmp(&b.0));
            v
        };
        assert_eq!(by_buffer(of(&made.copies)), by_buffer(of(&by.copies)), "copied, {ask:?}\n{}", e.text);
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
