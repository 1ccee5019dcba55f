//! Reads that bank conflicts slow down on the model of the machine.

use warpline_sim::ir::{Class, Instr, MoveKind, Op};
use warpline_sim::machine::Kind;
use warpline_sim::words::plain;

use super::{KernelText, Message, Severity, span_of};
use crate::load::Subject;

/// The machine's number for the slowdown.
const WAYS: &str = "memory.shared_conflict_ways";

/// A hint at each read of fragments from a buffer without a swizzle.
pub(super) fn hints(kernel: &KernelText, subject: &Subject) -> Vec<Message> {
    let p = &subject.program;
    let Some(ways) = subject.machine.params.get(WAYS).filter(|w| w.value > 1.0) else { return Vec::new() };
    let known = if ways.kind == Kind::Estimated { "an estimate" } else { "a number of the machine" };
    let reads = p.code.iter().zip(&p.at).filter_map(|(instr, site)| match instr {
        Instr::Op { op: Op::Move { how: MoveKind::Lds, src, .. }, .. } => Some((src.obj, *site)),
        _ => None,
    });
    reads
        .filter_map(|(obj, site)| {
            let o = p.objects.get(obj as usize).filter(|o| o.class == Class::Shared && o.swizzle == 0)?;
            let slow = format!("bank conflicts make this read {} times as slow ({WAYS}, {known})", plain(ways.value));
            let row = o.bytes_of(o.cols);
            let atom = [128, 64, 32].into_iter().find(|atom| row % atom == 0);
            let help = atom.map_or(String::new(), |a| format!("\nhelp: declare it with `swizzle {a}`"));
            let text = format!("{slow}: `{}` has no swizzle{help}", o.name);
            Some(Message::new(span_of(kernel, subject, site)?, Severity::Hint, text))
        })
        .collect()
}
