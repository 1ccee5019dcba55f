//! Kernels of one text that differ in some of its numbers, run together as far as they do the same.
//!
//! With a turn more a kernel does what it did, up to where it goes on instead of ending. So all numbers of turns of a line
//! are one run, from which each parts where the text has another number in it and that number decides otherwise.

use warpline_sim::ir::{Instr, Op, Program};

use crate::canon::{Job, Seen, Telling, run};
use crate::further::Constants;

/// Runs each to its end.
pub(crate) fn runs(jobs: &[Job<'_>]) -> Vec<Seen> {
    let Some(last) = jobs.last() else { return Vec::new() };
    if !jobs.iter().all(|job| one_world(job.prog, last.prog)) {
        return jobs.iter().map(|job| run(*job)).collect();
    }
    let mut seen: Vec<Option<Seen>> = vec![None; jobs.len()];
    // Runs under way and the kernels that each stands for; it is made by the last of them.
    let mut open = vec![(Telling::new(*last), (0..jobs.len()).collect::<Vec<usize>>())];
    while let Some((mut run, mut of)) = open.pop() {
        let own = jobs[of[of.len() - 1]].prog;
        let others: Vec<&Program> = of.iter().map(|i| jobs[*i].prog).collect();
        let told_apart = told_apart(own, &others);
        let end = loop {
            let made = run.walk.settled(&mut |_, _| {}).unwrap_or_else(|| {
                let agent = run.walk.agent();
                if of.len() > 1 && told_apart[run.walk.world.pc(agent) as usize] {
                    let world = &mut run.walk.world;
                    let way = world.way(agent, own);
                    let same = |i: &usize| {
                        let by = jobs[*i].prog;
                        let at = |at: u32| own.code[at as usize] == by.code[at as usize];
                        way.as_ref().is_some_and(|w| world.way(agent, by).as_ref() == Some(w) && at(w.0))
                    };
                    let last = of.pop();
                    let (stay, part): (Vec<usize>, Vec<usize>) = of.drain(..).partition(same);
                    of = stay.into_iter().chain(last).collect();
                    if let Some(i) = part.last() {
                        let mut parted = run.clone();
                        parted.walk.world.go_on_by(jobs[*i].prog);
                        open.push((parted, part));
                    }
                }
                run.walk.acted(&mut |_, _| {})
            });
            if let Some(end) = run.took(made) {
                break end;
            }
        };
        for i in of {
            seen[i] = Some(run.seen(end.clone()));
        }
    }
    seen.into_iter().flatten().collect()
}

/// Whether two kernels start from one world, and have one text but for numbers that expressions of it have.
fn one_world(a: &Program, b: &Program) -> bool {
    let waits = |i: &Instr| matches!(i, Instr::Op { op: Op::Wait(..), .. });
    let text = Constants::of(a.clone()).moves(&Constants::of(b.clone())).is_some();
    let kept = a.code.iter().zip(&b.code).all(|(i, j)| i == j || !waits(i));
    text && kept && a.objects == b.objects && a.grid == b.grid && a.tapes == b.tapes
}

/// For each instruction, whether an agent there can come past one that is not the same in all, before or at its next
/// operation.
fn told_apart(own: &Program, others: &[&Program]) -> Vec<bool> {
    let code = &own.code;
    let mut apart: Vec<bool> =
        (0..code.len()).map(|pc| others.iter().any(|other| other.code[pc] != code[pc])).collect();
    loop {
        let comes = |pc: usize| match &code[pc] {
            Instr::Set(..) => apart[pc + 1],
            Instr::Jump(to) => apart[*to as usize],
            Instr::Unless(_, to) | Instr::Only(_, to) => apart[*to as usize] || apart[pc + 1],
            Instr::Op { .. } | Instr::End => false,
        };
        let new: Vec<usize> = (0..code.len()).filter(|pc| !apart[*pc] && comes(*pc)).collect();
        if new.is_empty() {
            return apart;
        }
        new.into_iter().for_each(|pc| apart[pc] = true);
    }
}
