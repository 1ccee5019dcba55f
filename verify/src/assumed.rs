//! The assumptions of a verdict about global memory, beside those of every verdict.

use warpline_sim::ir::{Class, Instr, MoveKind, Op, Program};
use warpline_sim::protocol::Rules;

use crate::global_stores::{StoredBy, global_stores};

/// One sentence for each assumption. In the program, values that the proof varies are symbols. Empty for a kernel that
/// only reads its inputs and stores each block of its outputs once.
pub fn assumed(prog: &Program, rules: Rules) -> Vec<String> {
    let mut list = Vec::new();
    let counters: Vec<&str> = prog.counters.iter().map(|c| c.name.as_str()).collect();
    if !counters.is_empty() {
        list.push(format!("the counters {} are 0 when the kernel starts", counters.join(", ")));
    }
    if prog.cooperative {
        list.push(format!(
            "the {} CTAs of the grid all run at the same time (a cooperative launch); grids of other sizes are not checked",
            prog.cluster
        ));
    } else if !counters.is_empty() && prog.grid.len() > 1 {
        list.push("each cluster has its own counters: no other cluster changes a counter that it waits for".into());
    }
    let mut unordered = Vec::new();
    for (obj, o) in prog.objects.iter().enumerate().filter(|(_, o)| o.class == Class::Global) {
        let uses = |read: bool| {
            prog.code.iter().any(|i| match i {
                Instr::Op { op: Op::Move { how, src, dst, .. }, .. } => match how {
                    MoveKind::Store | MoveKind::TmaStore => !read && dst.obj as usize == obj,
                    _ => read && src.obj as usize == obj,
                },
                _ => false,
            })
        };
        if uses(true) && uses(false) && prog.grid.len() > 1 {
            unordered.push(o.name.as_str());
        }
    }
    if !unordered.is_empty() {
        let names = unordered.join(", ");
        list.push(format!("no cluster reads or overwrites elements of {names} that another one writes"));
    }
    if prog.grid.len() > 1 && !prog.opaque_globals {
        for s in global_stores(prog, rules) {
            let name = &prog.objects[s.obj as usize].name;
            let line = prog.site(s.pc).line;
            match s.by {
                StoredBy::Unknown(why) => {
                    list.push(format!("no two clusters store the same block of {name} (line {line}: {why})"));
                }
                StoredBy::DistinctAsGiven => {
                    list.push(format!(
                        "on other grids and for other trip counts, too, no two clusters store the same block of {name} (line {line})"
                    ));
                }
                StoredBy::Same { first, second, .. } if !counters.is_empty() => {
                    list.push(format!(
                        "counters order the stores of CTAs {first} and {second} to {name} (line {line})"
                    ));
                }
                StoredBy::Distinct | StoredBy::DistinctClusters | StoredBy::Same { .. } => {}
            }
        }
    }
    let written = prog
        .code
        .iter()
        .any(|i| matches!(i, Instr::Op { op: Op::Move { how: MoveKind::Store | MoveKind::TmaStore, .. }, .. }));
    if written {
        list.push("global matrices do not share memory".into());
    }
    list.dedup();
    list
}
