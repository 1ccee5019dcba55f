//! The layout of each register object in the registers of a warp, by its uses.

use warpline_sim::ir::{Class, Instr, MmaKind, MoveKind, ObjId, Op, Pc, Place, Program};

use crate::Unsupported;

/// A layout of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterKind {
    /// Chunks of 16 bytes, one lane after the other: data that is copied on or only checked.
    Raw,
    /// Like `Raw`, but never written: its contents are generated.
    MadeUp,
    /// Accumulator: of `wgmma` (four warps share 64 rows) or of `mma`.
    Acc { group: bool },
    /// Left operand of `mma`.
    Left,
    /// Left operand of `wgmma`.
    GroupLeft,
    /// Right operand of `mma`.
    Right,
    /// A row of tensor memory in each lane.
    Row,
}

/// Facts about a register object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Register {
    pub(crate) kind: RegisterKind,
    /// Read from memory, but not used for any result: the data is folded into a check word.
    pub(crate) sunk: bool,
    /// An accumulator that nothing stores: its values are handed out at the end.
    pub(crate) dumped: bool,
    /// Rows and columns of the part that moves name (for `Raw`).
    pub(crate) part: [i64; 2],
}

/// Uses of an object, gathered over the code.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    loaded: bool,
    computed: bool,
    stored: bool,
    multiplied: bool,
    read: bool,
}

/// The registers of a kernel, by object; `None` for objects elsewhere or unused.
pub(crate) fn registers(prog: &Program) -> Result<Vec<Option<Register>>, Unsupported> {
    let n = prog.objects.len();
    let (mut kinds, mut uses): (Vec<Option<(RegisterKind, Pc)>>, _) = (vec![None; n], vec![Uses::default(); n]);
    let mut parts: Vec<Option<[i64; 2]>> = vec![None; n];
    let is_reg = |o: ObjId| prog.objects[o as usize].class == Class::Reg;
    let mut set = |o: ObjId, k: RegisterKind, pc: Pc| -> Result<(), Unsupported> {
        if !is_reg(o) {
            return Ok(());
        }
        match kinds[o as usize] {
            Some((old, _)) if old != k => Err(Unsupported::at(
                prog,
                pc,
                format!("`{}` is used as {k:?} here and as {old:?} elsewhere", prog.objects[o as usize].name),
            )),
            _ => {
                kinds[o as usize] = Some((k, pc));
                Ok(())
            }
        }
    };
    for (pc, op) in ops(prog) {
        if let Op::Mma { kind, a, b, acc } = op {
            let group = *kind == MmaKind::Wgmma;
            set(a.obj, if group { RegisterKind::GroupLeft } else { RegisterKind::Left }, pc)?;
            set(b.obj, RegisterKind::Right, pc)?;
            set(acc.obj, RegisterKind::Acc { group }, pc)?;
            for o in [a.obj, b.obj] {
                uses[o as usize].multiplied = true;
            }
            uses[acc.obj as usize].computed = true;
        }
    }
    for (pc, op) in ops(prog) {
        match op {
            Op::Move { how: MoveKind::TmemLd, dst, .. } => set(dst.obj, RegisterKind::Row, pc)?,
            Op::Move { how: MoveKind::TmemSt, src, .. } => set(src.obj, RegisterKind::Row, pc)?,
            _ => {}
        }
    }
    // A value computed from an accumulator has its layout.
    loop {
        let mut changed = false;
        for (_, op) in ops(prog) {
            let Op::Alu { reads, writes, .. } = op else { continue };
            let from = reads.iter().find_map(|p| match kinds[p.obj as usize] {
                Some((k @ RegisterKind::Acc { .. }, pc)) => Some((k, pc)),
                _ => None,
            });
            for w in writes {
                uses[w.obj as usize].computed = true;
                if let (Some(k), None) = (from, kinds[w.obj as usize]) {
                    kinds[w.obj as usize] = Some(k);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    for (pc, op) in ops(prog) {
        match op {
            Op::Move { how, src, dst, crew, .. } => {
                match how {
                    MoveKind::Ldg | MoveKind::Lds | MoveKind::TmemLd => uses[dst.obj as usize].loaded = true,
                    MoveKind::Sts | MoveKind::Store | MoveKind::TmemSt => uses[src.obj as usize].stored = true,
                    _ => {}
                }
                for p in [src, dst] {
                    if !is_reg(p.obj) || kinds[p.obj as usize].is_some() {
                        continue;
                    }
                    let part = extent(prog, p, *crew);
                    let known = *parts[p.obj as usize].get_or_insert(part);
                    let written = ops(prog).any(|(_, o)| writes(o, p.obj));
                    if known != part && written {
                        return Err(Unsupported::at(prog, pc, "parts of different sizes of one register object"));
                    }
                }
            }
            Op::Alu { reads, .. } => reads.iter().for_each(|p| uses[p.obj as usize].read = true),
            _ => {}
        }
    }
    let all = (0..n).map(|i| {
        let u = uses[i];
        if !is_reg(i as ObjId) || !(u.loaded || u.computed || u.stored || u.multiplied || u.read) {
            return None;
        }
        let written = u.loaded || u.computed;
        let kind = kinds[i].map_or(if written { RegisterKind::Raw } else { RegisterKind::MadeUp }, |(k, _)| k);
        let leaves = u.stored || u.multiplied;
        let alu = ops(prog).any(|(_, o)| {
            matches!(o, Op::Alu { reads, writes, .. } if !writes.is_empty() && reads.iter().any(|p| p.obj as usize == i))
        });
        Some(Register {
            kind,
            sunk: u.loaded && !leaves,
            dumped: matches!(kind, RegisterKind::Acc { .. }) && !leaves && !alu,
            part: parts[i].unwrap_or([prog.objects[i].rows, prog.objects[i].cols]),
        })
    });
    Ok(all.collect())
}

fn writes(op: &Op, obj: ObjId) -> bool {
    match op {
        Op::Move { how: MoveKind::Ldg | MoveKind::Lds | MoveKind::TmemLd, dst, .. } => dst.obj == obj,
        Op::Alu { writes, .. } => writes.iter().any(|p| p.obj == obj),
        _ => false,
    }
}

/// Every operation with its place.
pub(crate) fn ops(prog: &Program) -> impl Iterator<Item = (Pc, &Op)> {
    prog.code.iter().enumerate().filter_map(|(pc, i)| match i {
        Instr::Op { op, .. } => Some((pc as Pc, op)),
        _ => None,
    })
}

/// Rows and columns that one warp moves at a place; `crew` as in [`Op::Move`].
pub(crate) fn extent(prog: &Program, p: &Place, crew: u64) -> [i64; 2] {
    let o = &prog.objects[p.obj as usize];
    let [mut rows, mut cols] = if o.class == Class::Global { o.block } else { [o.rows, o.cols] };
    p.sel.rows.iter().for_each(|s| rows /= s.of as i64);
    p.sel.cols.iter().for_each(|s| cols /= s.of as i64);
    let n = crew.count_ones().max(1) as i64;
    if rows % n == 0 { [rows / n, cols] } else { [rows, cols / n] }
}
