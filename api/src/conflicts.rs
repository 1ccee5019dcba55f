//! Reads of shared memory that bank conflicts slow down on the model of the machine.

use warpline_sim::ir::{Instr, MoveKind, Op};
use warpline_sim::machine::Kind;
use warpline_sim::words::plain;

use crate::load::Subject;

/// The machine's number for the slowdown.
const WAYS: &str = "memory.shared_conflict_ways";

/// A statement that reads fragments from a buffer without a swizzle.
#[derive(Clone, Debug, PartialEq)]
pub struct BankConflict {
    /// Index into the program's sites.
    pub site: u32,
    /// The name of the buffer.
    pub buffer: String,
    /// The time of the read over that of a read without conflicts; more than 1.
    pub ways: f64,
    /// Whether `ways` is documented, measured or estimated.
    pub kind: Kind,
    /// The widest swizzle, in bytes, that divides the buffer's rows.
    pub swizzle: Option<u32>,
}

impl BankConflict {
    /// The slowdown, its source and its reason, in one sentence without a full stop.
    pub fn message(&self) -> String {
        let known = if self.kind == Kind::Estimated { "an estimate" } else { "a number of the machine" };
        let ways = plain(self.ways);
        format!(
            "bank conflicts make this read {ways} times as slow ({WAYS}, {known}): `{}` has no swizzle",
            self.buffer
        )
    }

    /// What to change; `None` where no swizzle fits the rows.
    pub fn help(&self) -> Option<String> {
        self.swizzle.map(|atom| format!("declare it with `swizzle {atom}`"))
    }
}

/// The reads with bank conflicts, in the order of the code, one for each statement.
pub fn bank_conflicts(subject: &Subject) -> Vec<BankConflict> {
    let p = &subject.program;
    let Some(ways) = subject.machine.params.get(WAYS).filter(|w| w.value > 1.0) else { return Vec::new() };
    let mut found: Vec<BankConflict> = Vec::new();
    for (instr, &site) in p.code.iter().zip(&p.at) {
        let Instr::Op { op: Op::Move { how: MoveKind::Lds, src, .. }, .. } = instr else { continue };
        let Some(o) = p.objects.get(usize::from(src.obj)).filter(|o| o.has_bank_conflicts()) else { continue };
        // Rows conflict with each other; a read of few rows has as few conflicts.
        let rows = src.sel.rows.iter().fold(o.rows, |rows, part| rows / i64::from(part.of.max(1)));
        let slower = ways.value.min(rows as f64);
        if slower > 1.0 && found.iter().all(|c| c.site != site) {
            let row = o.bytes_of(o.cols);
            let swizzle = [128, 64, 32].into_iter().find(|atom| row % i64::from(*atom) == 0);
            found.push(BankConflict { site, buffer: o.name.clone(), ways: slower, kind: ways.kind, swizzle });
        }
    }
    found
}
