//! HIP C++ for CDNA.
//!
//! ```text
//! mod.rs   what HIP does its own way      file.rs   the file: header, tables, both kernels, harness
//! sync.rs  counters, barriers             math.rs   MFMA, its operands and sums
//! ```
//!
//! A kernel with `waits manual` has loads as inline instructions, so that its own `s_waitcnt` are the only waits.
//! With `waits auto` the compiler waits.

mod file;
mod math;
mod sync;

use warpline_sim::ir::{Class, MoveKind, ObjId, Op, Pc, Program, Waits};
use warpline_sim::machine::Machine;

use crate::Unsupported;
use crate::place::Corner;
use crate::registers::RegisterKind;
use crate::writer::{Ends, Product, Target, name};

type Writer<'a> = crate::writer::Writer<'a, Hip>;

/// Writes a kernel as one HIP C++ file with its harness, for an AMD machine. `meant` is as in [`crate::cuda`].
///
/// # Errors
/// The first statement without an instruction of CDNA, or that is not supported.
pub fn hip(prog: &Program, meant: &Program, machine: &Machine) -> Result<String, Unsupported> {
    let arch = Hip {
        arch: machine.arch.clone(),
        dma_bytes: machine.get("limit.dma_bytes_per_lane").map_or(4, |b| b as i64),
        manual: prog.waits == Waits::Manual,
    };
    if prog.warps * 64 > 1024 {
        return Err(Unsupported::at(prog, 0, format!("{} waves: a workgroup has at most 16 on CDNA", prog.warps)));
    }
    let kernel = Writer::write(prog, false, arch.clone())?;
    let reference = Writer::write(meant, true, arch)?;
    Ok(kernel.file(&reference))
}

/// State of the HIP target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hip {
    /// `gfx942`.
    arch: String,
    /// Bytes that a lane copies to LDS in one instruction.
    dma_bytes: i64,
    /// Whether the kernel's own waits are the only ones.
    manual: bool,
}

impl Target for Hip {
    const LANES: u32 = 64;
    const GLOBAL: &'static str = "wl::byte*";
    const SLOT: &'static str = "wl::u32";
    const THREAD: &'static str = "threadIdx.x";
    const UNROLLS_ALL: bool = false;
    const GOTO: bool = true;

    fn copy(w: &mut Writer<'_>, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Move { how, src, dst, crew, .. } = op else { return Ok(()) };
        match how {
            MoveKind::LdsDma => {
                let (from, to) = (w.corner(src, *crew), w.corner(dst, *crew));
                w.dma_fits(pc, &to, dst.obj)?;
                let pitch = w.matrix_address("from", &from, src.obj);
                w.slot_address("s", dst);
                w.in_slot(&to, dst.obj);
                let (buffer, bytes) = (name(&w.prog.objects[dst.obj as usize].name), to.cols * w.bits(dst.obj) / 8);
                w.line(format!("wl::dma<B_{buffer}, {}, {bytes}>(s, r0, b0, from, {pitch}, lane);", to.rows));
                Ok(())
            }
            _ => w.unsupported(pc, "CDNA has no such copy: `--target cuda`, on a100, h200 or b200"),
        }
    }

    fn sync(w: &mut Writer<'_>, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        w.sync_op(pc, op)
    }

    fn mma(w: &mut Writer<'_>, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        w.mfma(pc, op)
    }

    fn reference_mma(w: &mut Writer<'_>, p: &Product<'_>) -> String {
        w.reference_blocks(p, 16)
    }

    fn operand(w: &mut Writer<'_>, pc: Pc, p: &Ends<'_>, dequant: bool) -> Result<(), Unsupported> {
        w.fragment(pc, p, dequant)
    }

    fn sum_to_shared(w: &mut Writer<'_>, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        w.sum(pc, p)
    }

    fn store_sum(w: &mut Writer<'_>, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        w.sum(pc, p)
    }

    fn acc_shape(w: &Writer<'_>, o: ObjId) -> (i64, i64) {
        let object = &w.prog.objects[o as usize];
        (object.rows / 16, object.cols / 16 * 4)
    }

    fn element(w: &Writer<'_>, o: ObjId, slot: &str) -> String {
        format!("{}[{slot}][m][i]", w.reg(o))
    }

    fn declare(w: &mut Writer<'_>, o: ObjId, kind: RegisterKind) {
        w.declare_fragment(o, kind);
    }

    fn late(&self) -> bool {
        self.manual
    }

    fn last(w: &mut Writer<'_>) {
        w.last_arrivals();
    }

    fn load(address: &str) -> String {
        format!("wl::load16({address})")
    }
}

impl Writer<'_> {
    /// A wave's share must fill whole instructions of 64 lanes, one after the other in LDS.
    fn dma_fits(&self, pc: Pc, to: &Corner, obj: ObjId) -> Result<(), Unsupported> {
        let o = &self.prog.objects[obj as usize];
        let (bits, each) = (o.dtype.bits() as i64, 64 * self.target.dma_bytes);
        let panel = if o.swizzle > 0 { o.swizzle as i64 } else { o.cols * bits / 8 };
        if self.elect || o.class != Class::Shared {
            return self.unsupported(pc, "a whole wave moves data straight to LDS");
        }
        if (to.cols * bits / 8) % panel != 0 || (to.rows * panel) % each != 0 {
            let share = to.rows * to.cols * bits / 8;
            return self.unsupported(
                pc,
                format!(
                    "a wave's share of {share} bytes is no whole number of instructions of {each}, in order in LDS"
                ),
            );
        }
        Ok(())
    }
}
