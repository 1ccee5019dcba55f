//! The Metal Shading Language, with a harness in Swift.
//!
//! MSL has no lambdas, no `goto` and no clock. So chunks are loops, the end of an agent is written where it stands,
//! and the harness has times of whole launches only.

mod file;

use warpline_sim::ir::{Class, Dtype, Fence, MmaKind, MoveKind, ObjId, Op, Order, Pc, Program, Queue};

use crate::Unsupported;
use crate::registers::{RegisterKind, extent};
use crate::writer::{Ends, Product, Target, name, padded};

type Writer<'a> = crate::writer::Writer<'a, Metal>;

/// A kernel for Metal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetalText {
    /// The kernel and its reference, a `.metal` file.
    pub kernel: String,
    /// The program that runs both and compares, a `.swift` file.
    pub harness: String,
}

/// Writes a kernel as MSL, and its harness as Swift. `meant` is as in [`crate::cuda`].
///
/// # Errors
/// The first statement that MSL lacks, or that is not supported.
pub fn metal(prog: &Program, meant: &Program) -> Result<MetalText, Unsupported> {
    let kernel = Writer::write(prog, false, Metal)?;
    let reference = Writer::write(meant, true, Metal)?;
    Ok(MetalText { kernel: kernel.file(&reference.out), harness: kernel.harness() })
}

#[derive(Debug, Default)]
pub(crate) struct Metal;

const ELSEWHERE: &str = "Apple GPUs have none: `--target cuda` on an NVIDIA machine, `--target hip` on AMD's";

impl Target for Metal {
    const LANES: u32 = 32;
    const GLOBAL: &'static str = "device wl::byte*";
    const SLOT: &'static str = "wl::slot_at";
    const THREAD: &'static str = "thread_index";
    const UNROLLS_ALL: bool = false;
    const GOTO: bool = false;

    fn copy(w: &mut Writer<'_>, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Move { how, .. } = op else { return Ok(()) };
        let what = match how {
            MoveKind::CpAsync => "cp.async",
            MoveKind::LdsDma => "a copy straight to LDS",
            MoveKind::TmaLoad | MoveKind::TmaStore => "a tensor memory accelerator",
            _ => "tensor memory",
        };
        w.unsupported(pc, format!("{what}: {ELSEWHERE}"))
    }

    fn sync(w: &mut Writer<'_>, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        match op {
            Op::Barrier(Order::None) => w.line("threadgroup_barrier(mem_flags::mem_none);"),
            Op::Barrier(Order::Shared) => w.line("threadgroup_barrier(mem_flags::mem_threadgroup);"),
            Op::Barrier(Order::Device) => w.line("threadgroup_barrier(mem_flags::mem_device);"),
            Op::WarpSync => w.line("simdgroup_barrier(mem_flags::mem_threadgroup);"),
            Op::Wait(Queue::Vm | Queue::Lgkm, _) => {
                return w.unsupported(pc, "a counter of AMD's: `--target hip`, on mi300x or mi355x");
            }
            Op::Counter { .. } => return w.unsupported(pc, crate::writer::COUNTER),
            Op::Fence(Fence::Cta | Fence::Gpu) => {
                return w.unsupported(pc, "a fence without a barrier is not written for Metal");
            }
            Op::Move { .. } | Op::Mma { .. } | Op::Alu { .. } | Op::Zero(_) | Op::Put { .. } | Op::Get { .. } => {}
            _ => return w.unsupported(pc, ELSEWHERE),
        }
        Ok(())
    }

    fn mma(w: &mut Writer<'_>, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let Op::Mma { kind, a, b, acc } = op else { return Ok(()) };
        if *kind != MmaKind::Warp {
            return w.unsupported(pc, format!("a simdgroup multiplies by `mma`; {ELSEWHERE}"));
        }
        let (x, y) = (w.prog.objects[a.obj as usize].clone(), w.prog.objects[b.obj as usize].clone());
        if x.class != Class::Shared || y.class != Class::Shared {
            return w.unsupported(pc, "simdgroup matrices are loaded from threadgroup memory here");
        }
        let (Some(ta), Some(tb), Some(tc)) =
            (element_type(x.dtype), element_type(y.dtype), element_type(w.prog.objects[acc.obj as usize].dtype))
        else {
            return w.unsupported(pc, "a simdgroup matrix of this type");
        };
        let ([m, k], [br, bc]) = (extent(w.prog, a, 0), extent(w.prog, b, 0));
        let kn = w.kn(a, b, acc.obj);
        let (n, bk) = if kn { (bc, br) } else { (br, bc) };
        let part = w.sum_part(acc);
        if k != bk || [m, n] != [part.rows, part.cols] || m % 8 != 0 || n % 8 != 0 || k % 8 != 0 {
            return w.unsupported(pc, format!("a product of {m} x {k} and {bk} x {n}"));
        }
        let (left, right) = (w.corner(a, 0), w.corner(b, 0));
        w.slot_address("sa", a);
        w.slot_address("sb", b);
        let (ba, bb) = (name(&x.name), name(&y.name));
        let (m, n, k, reg, slot) = (m / 8, n / 8, k / 8, w.reg(acc.obj), w.slot(acc));
        w.line(format!(
            "wl::mma<B_{ba}, B_{bb}, {ta}, {tb}, {tc}, {m}, {n}, {k}, {kn}>({reg}[{slot}], ({}) / 8, ({}) / 8, sa, {}, {}, sb, {}, {});",
            part.row, part.col, left.row, left.col, right.row, right.col
        ));
        Ok(())
    }

    fn reference_mma(w: &mut Writer<'_>, p: &Product<'_>) -> String {
        w.reference_blocks(p, 8)
    }

    fn operand(w: &mut Writer<'_>, pc: Pc, _: &Ends<'_>, _: bool) -> Result<(), Unsupported> {
        w.unsupported(pc, "simdgroup matrices are loaded from threadgroup memory here")
    }

    fn sum_to_shared(w: &mut Writer<'_>, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        w.sum(pc, p)
    }

    fn store_sum(w: &mut Writer<'_>, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        w.sum(pc, p)
    }

    fn acc_shape(w: &Writer<'_>, o: ObjId) -> (i64, i64) {
        let object = &w.prog.objects[o as usize];
        (object.rows / 8, object.cols / 8 * 2)
    }

    fn element(w: &Writer<'_>, o: ObjId, slot: &str) -> String {
        let reg = w.reg(o);
        if w.reference {
            format!("{reg}[{slot}][m][i]")
        } else {
            format!("{reg}[{slot}][m][i / 2].thread_elements()[i % 2]")
        }
    }

    fn declare(w: &mut Writer<'_>, o: ObjId, _: RegisterKind) {
        let (object, reg) = (&w.prog.objects[o as usize], w.reg(o));
        let (slots, (m, n)) = (object.slots, w.acc_shape(o));
        let t = element_type(object.dtype).unwrap_or("float");
        w.line(if w.reference {
            format!("float {reg}[{slots}][{m}][{n}] = {{}};")
        } else {
            format!("simdgroup_matrix<{t}, 8, 8> {reg}[{slots}][{m}][{}];", n / 2)
        });
    }

    fn open(pc: Pc) -> String {
        format!("{{ wl::before<WARPS>(a, common, {pc});")
    }

    fn stg(address: &str, value: &str) -> String {
        format!("*(device wl::word4*)({address}) = {value};")
    }

    fn unpacked(word: &str) -> Option<String> {
        Some(format!("wl::unpacked({word})"))
    }

    fn chunks(lanes: u32, lane: &str, body: &str) -> String {
        let first = if lanes == 1 { "0" } else { lane };
        format!(
            "for (int j = 0; j < P::each; j++) {{ const int c = {first} + j * {lanes}; if (P::even || c < P::chunks) {{ const \
             int r = c / P::wide, b = c % P::wide * 16; {body} }} }}"
        )
    }

    fn alu(unit: &str, each: &str, seed: &str) -> String {
        format!("a.spent += wl::alu<wl::{unit}>({each}, {seed});")
    }

    fn busy(_cycles: &str) -> Option<String> {
        None
    }

    fn as_float(x: &str) -> String {
        format!("as_type<float>({x})")
    }

    fn rank_in(mask: u64) -> String {
        format!("(int)popcount({mask:#x}ul & ((1ul << warp) - 1))")
    }
}

impl Writer<'_> {
    /// An accumulator, or blocks of one, to a matrix or to threadgroup memory.
    fn sum(&mut self, pc: Pc, p: &Ends<'_>) -> Result<(), Unsupported> {
        let (src, dst, to) = (p.src, p.dst, &p.at);
        let part = self.sum_part(src);
        let object = self.prog.objects[dst.obj as usize].clone();
        if [to.rows, to.cols] != [part.rows, part.cols] || to.rows % 8 != 0 || to.cols % 8 != 0 {
            return self.unsupported(pc, "a part of an accumulator that is no whole blocks of 8 x 8, or shared out");
        }
        let Some(t) = element_type(object.dtype) else {
            return self.unsupported(pc, "an accumulator stored in this type");
        };
        let tc = element_type(self.prog.objects[src.obj as usize].dtype).unwrap_or("float");
        let (m, n, reg, slot) = (part.rows / 8, part.cols / 8, self.reg(src.obj), self.slot(src));
        let pitch = if object.class == Class::Global { padded(&object)[1] } else { object.cols };
        if object.class == Class::Global {
            self.matrix_address("to", to, dst.obj);
        } else {
            self.slot_address("s", dst);
            let bits = self.bits(dst.obj);
            self.line(format!(
                "const wl::slot_at to = B_{}::at(s, {}, ({}) * {bits} / 8);",
                name(&object.name),
                to.row,
                to.col
            ));
        }
        let call =
            if self.reference { format!("store_plain<{t}, {m}, {n}>") } else { format!("store<{t}, {tc}, {m}, {n}>") };
        self.line(format!("wl::{call}(to, {pitch}, {reg}[{slot}], ({}) / 8, ({}) / 8, lane);", part.row, part.col));
        Ok(())
    }
}

/// The name of an element type of simdgroup matrices.
fn element_type(d: Dtype) -> Option<&'static str> {
    match d {
        Dtype::F32 => Some("float"),
        Dtype::F16 => Some("half"),
        Dtype::Bf16 => Some("bfloat"),
        _ => None,
    }
}
