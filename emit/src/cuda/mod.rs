//! CUDA C++ for sm_80 to sm_100a.
//!
//! ```text
//! mod.rs     what CUDA does its own way           file.rs       the file: header, tables, both kernels, harness
//! sync.rs    mbarriers, barriers, groups, fences  tma.rs        copies by the tensor memory accelerator
//! math.rs    matrix instructions                  fragments.rs  their operands and sums
//! tensor.rs  sm_100a: tensor memory, tcgen05      notes.rs      its reference; emulate.cuh: it on sm_90a
//! ```

mod file;
mod fragments;
mod math;
mod notes;
mod sync;
mod tensor;
mod tma;

use std::collections::BTreeMap;

use warpline_sim::ir::{Dtype, MmaKind, MoveKind, ObjId, Op, Pc, Place, Program};

use crate::Unsupported;
use crate::registers::RegisterKind;
use crate::writer::{Ends, Product, Target};

type Writer<'a> = crate::writer::Writer<'a, Cuda>;

/// Writes a kernel as one CUDA C++ file with its harness. `meant` is the kernel whose results are expected: the same
/// kernel, or the original of a mutant.
///
/// # Errors
/// The first statement without CUDA code: operations of other vendors, element types and shapes that the instructions
/// lack, places that are not whole chunks of 16 bytes.
pub fn cuda(prog: &Program, meant: &Program) -> Result<String, Unsupported> {
    let kernel = Writer::write(prog, false, Cuda::default())?;
    let reference = Writer::write(meant, true, Cuda::default())?;
    Ok(kernel.file(&reference))
}

/// A wgmma instruction that the kernel uses: element type, columns, left operand in registers, transposed right
/// operand.
type Instruction = (Dtype, i64, bool, bool);

/// A tensor map: boxes of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Box {
    obj: ObjId,
    /// Elements.
    rows: i64,
    cols: i64,
    swizzle: u32,
}

/// State of the CUDA target.
#[derive(Debug)]
pub(crate) struct Cuda {
    boxes: Vec<Box>,
    instructions: BTreeMap<Instruction, ()>,
    /// What the reference records about tensor memory, or why it cannot.
    notes: Result<notes::Notes, &'static str>,
}

impl Default for Cuda {
    fn default() -> Cuda {
        Cuda { boxes: Vec::new(), instructions: BTreeMap::new(), notes: Ok(notes::Notes::default()) }
    }
}

impl Target for Cuda {
    const LANES: u32 = 32;
    const GLOBAL: &'static str = "wl::byte*";
    const SLOT: &'static str = "wl::u32";
    const THREAD: &'static str = "threadIdx.x";
    const UNROLLS_ALL: bool = true;
    const GOTO: bool = true;
    const CARRIES: bool = true;

    fn copy(w: &mut Writer<'_>, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Move { how, src, dst, crew, .. } = op else { return Ok(()) };
        match how {
            MoveKind::CpAsync => {
                let to = w.corner(dst, *crew);
                w.part(pc, &to, dst.obj)?;
                let at = w.addresses(pc, Some(src), Some(dst), *crew);
                w.chunks_from(at.lane, format!("wl::cp_async16({}, {});", at.shared, at.global));
                Ok(())
            }
            MoveKind::TmaLoad | MoveKind::TmaStore => w.tma(pc, op),
            MoveKind::LdsDma => w.unsupported(pc, "a copy of AMD's: `--target hip`, on mi300x or mi355x"),
            _ => w.tmem_move(pc, op),
        }
    }

    fn sync(w: &mut Writer<'_>, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        w.sync_op(pc, op)
    }

    fn mma(w: &mut Writer<'_>, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        w.matrix_op(pc, op)
    }

    fn reference_mma(w: &mut Writer<'_>, p: &Product<'_>) -> String {
        let ((m, n), reg, slot) = (w.acc_shape(p.acc.obj), w.reg(p.acc.obj), w.slot(p.acc));
        let ((ta, tb), (x, y)) = (p.types, p.tiles);
        format!(
            "wl::reference_mma<wl::{ta}, wl::{tb}, {}, {}, {m}, {n}>({reg}[{slot}], {x}, {y}, {}, warp, lane);",
            p.kn,
            p.kind == MmaKind::Wgmma,
            p.depth
        )
    }

    fn operand(w: &mut Writer<'_>, pc: Pc, p: &Ends<'_>, dequant: bool) -> Result<(), Unsupported> {
        w.fragment(pc, p, dequant)
    }

    fn sum_to_shared(w: &mut Writer<'_>, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        if w.is_row(p.src.obj) { w.rows_to_shared(pc, p) } else { w.sts_sum(pc, p) }
    }

    fn store_sum(w: &mut Writer<'_>, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        if w.is_row(p.src.obj) { w.store_rows(pc, p) } else { w.store_pairs(pc, p) }
    }

    fn acc_shape(w: &Writer<'_>, o: ObjId) -> (i64, i64) {
        let object = &w.prog.objects[o as usize];
        if w.is_row(o) {
            return (1, object.cols);
        }
        (object.rows / if w.grouped(o) { 64 } else { 16 }, object.cols / 2)
    }

    fn element(w: &Writer<'_>, o: ObjId, slot: &str) -> String {
        format!("{}[{slot}][m][i]", w.reg(o))
    }

    fn declare_tensor(w: &mut Writer<'_>) {
        if w.reference { w.declare_notes() } else { w.declare_tensor() }
    }

    fn zero_tensor(w: &mut Writer<'_>, p: &Place) {
        if !w.reference || w.follows(p.obj) {
            w.zero_tensor(p);
        }
    }

    fn begin(w: &mut Writer<'_>) {
        w.target.notes = w.notes();
    }

    fn without_reference(&self) -> Option<&'static str> {
        self.notes.as_ref().err().copied()
    }

    fn passes(&self) -> u32 {
        self.notes.as_ref().map_or(1, notes::Notes::passes)
    }

    fn pass_of(w: &Writer<'_>, op: &Op) -> Option<u32> {
        w.pass_of(op)
    }

    fn noted_move(w: &mut Writer<'_>, pc: Pc, op: &Op) -> Result<bool, Unsupported> {
        let Op::Move { how, src, dst, .. } = op else { return Ok(false) };
        w.noted_move(pc, *how, src, dst)
    }

    fn note_product(w: &mut Writer<'_>, op: &Op) {
        w.note_product(op);
    }

    fn asked(w: &Writer<'_>, word: &Place) -> Option<String> {
        w.clc_answer(word)
    }

    fn declare(w: &mut Writer<'_>, o: ObjId, kind: RegisterKind) {
        w.declare_fragment(o, kind);
    }
}
