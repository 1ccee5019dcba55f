//! Other values of numbers that are known only at run time.
//!
//! `trips rows = any per e run 3` may be any sequence of numbers, and a proof is for the values that the kernel states.
//! A few other sequences show faults that the stated one hides: equal numbers, alternating ones, and ones with zeros.
//! None of them exceeds the largest stated value, because matrices may have no place for more.

use std::collections::BTreeMap;

use warpline_sim::ir::{Binary, Env, Expr, Program, TapeId};
use warpline_sim::report::FindingKind;

use crate::{Verdict, Violation, limits};

/// Indices at which the stated values are looked at.
const INDICES: i64 = 64;

/// Whether a kernel has numbers whose other values are tried. The values of a compiled kernel have relations that its
/// symbols do not state.
pub(crate) fn is_open(prog: &Program) -> bool {
    !prog.opaque_globals && limits::run_time(prog).is_some()
}

/// A fault with other values of the numbers that are known only at run time.
pub(crate) fn fault(prog: &Program, run: impl Fn(&Program) -> Verdict) -> Option<Verdict> {
    if !is_open(prog) {
        return None;
    }
    sequences(largest(prog)?).into_iter().find_map(|(value, words)| {
        let other = with(prog, &value);
        let mut v = run(&other);
        let x = v.violation.as_mut()?;
        if of_blocks(x) {
            return None;
        }
        let classes = vec![x.class.clone()];
        x.run_time = indexed(prog).map(|t| (prog.tapes[t as usize].name.clone(), words.clone())).collect();
        Some(Verdict { classes, kernel: Some(Box::new(other)), ..v })
    })
}

/// The kernel with the values of run-time numbers that a violation names ([`Violation::run_time`]). `None` where these are
/// no values that a kernel is tried with.
pub fn with_run_time(prog: &Program, values: &BTreeMap<String, String>) -> Option<Program> {
    let of_all = values.values().next()?;
    let (value, _) = sequences(largest(prog)?).into_iter().find(|(_, words)| words == of_all)?;
    Some(with(prog, &value))
}

fn with(prog: &Program, value: &Expr) -> Program {
    let mut other = prog.clone();
    indexed(prog).for_each(|t| other.tapes[t as usize].run = value.clone());
    other
}

/// Whether a fault is one of blocks alone: how many blocks a matrix has may follow from the stated values.
pub(crate) fn of_blocks(x: &Violation) -> bool {
    x.hang.is_empty() && x.findings.iter().all(|f| f.note || f.kind == FindingKind::Coverage)
}

/// The largest stated value of numbers that no symbol stands for.
pub(crate) fn largest(prog: &Program) -> Option<i64> {
    indexed(prog).flat_map(|t| stated(prog, t)).max()
}

/// Sequences of numbers up to `most`, with their words.
fn sequences(most: i64) -> Vec<(Expr, String)> {
    let number = Expr::Const;
    let of = |op, x: Expr, y: i64| Expr::binary(op, x, number(y));
    let index = || Expr::Env(Env::TapeIndex);
    let modulus = most.saturating_add(1);
    let mut list: Vec<(Expr, String)> = [most, 1, 0].into_iter().map(|n| (number(n), n.to_string())).collect();
    let other = of(Binary::Mul, of(Binary::Rem, index(), 2), most);
    list.push((other, format!("index % 2 * {most}")));
    let mixed = of(Binary::Rem, of(Binary::Add, of(Binary::Mul, index(), 5), 1), modulus);
    list.push((mixed, format!("(5 * index + 1) % {modulus}")));
    list
}

/// The stated values of a number.
fn stated(prog: &Program, t: TapeId) -> impl Iterator<Item = i64> + '_ {
    (0..INDICES).filter_map(move |i| {
        let mut value = prog.tapes[t as usize].run.clone();
        value.replace(&Expr::Env(Env::TapeIndex), &Expr::Const(i));
        prog.launch_value(&value)
    })
}

/// The numbers that no symbol stands for.
fn indexed(prog: &Program) -> impl Iterator<Item = TapeId> + '_ {
    let symbol = |t: TapeId| prog.symbols.iter().any(|s| s.tape == Some(t));
    (0..prog.tapes.len() as TapeId).filter(move |t| !symbol(*t))
}
