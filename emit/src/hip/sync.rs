//! Counters and barriers.

use warpline_sim::ir::{Fence, Instr, MoveKind, ObjId, Op, Order, Pc, Queue};

use super::Writer;
use crate::Unsupported;
use crate::registers::RegisterKind;

/// The refusal of operations of other vendors.
const NVIDIA: &str = "CDNA has none: `--target cuda`, on an NVIDIA machine that has it";

impl Writer<'_> {
    pub(super) fn sync_op(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        match op {
            Op::Wait(q @ (Queue::Vm | Queue::Lgkm), n) => {
                let all = n.constant() == Some(0);
                let n = self.c(n);
                self.line(format!("wl::wait_{}({n});", if *q == Queue::Vm { "vm" } else { "lgkm" }));
                self.arrived(if *q == Queue::Vm { MoveKind::Ldg } else { MoveKind::Lds }, all);
            }
            Op::Barrier(Order::None) => self.line("wl::barrier_alone();"),
            Op::Barrier(_) => self.line("wl::barrier();"),
            Op::WarpSync | Op::Elect => self.line("wl::wave_barrier();"),
            Op::Fence(Fence::Cta) => self.line("__threadfence_block();"),
            Op::Fence(Fence::Gpu) => self.line("__threadfence();"),
            Op::Counter { .. } => return self.unsupported(pc, crate::writer::COUNTER),
            Op::Commit(_) | Op::Wait(..) | Op::CpArrive { .. } => return self.unsupported(pc, NVIDIA),
            Op::Init(_) | Op::Inval(_) | Op::Arrive { .. } | Op::Expect { .. } | Op::MbarWait { .. } => {
                return self.unsupported(pc, format!("an mbarrier; {NVIDIA}"));
            }
            Op::Named { .. } => return self.unsupported(pc, format!("a numbered barrier; {NVIDIA}")),
            Op::ClusterArrive { .. } | Op::ClusterWait => return self.unsupported(pc, format!("a cluster; {NVIDIA}")),
            Op::Fence(_) | Op::Regs { .. } | Op::GridWait | Op::CommitUmma(_) => return self.unsupported(pc, NVIDIA),
            Op::TmemAlloc { .. } | Op::TmemDealloc { .. } | Op::NextTile { .. } => {
                return self.unsupported(pc, NVIDIA);
            }
            Op::Move { .. } | Op::Mma { .. } | Op::Alu { .. } | Op::Zero(_) | Op::Put { .. } | Op::Get { .. } => {}
        }
        Ok(())
    }

    /// Registers that a wait may have filled: the compiler moves no use of them ahead of it. After a wait for all,
    /// registers that are only read are checked.
    fn arrived(&mut self, by: MoveKind, all: bool) {
        if !self.target.manual {
            return;
        }
        let filled = |o: ObjId| {
            self.prog
                .code
                .iter()
                .any(|i| matches!(i, Instr::Op { op: Op::Move { how, dst, .. }, .. } if *how == by && dst.obj == o))
        };
        let objects: Vec<ObjId> = (0..self.prog.objects.len() as ObjId).filter(|o| filled(*o)).collect();
        for o in objects {
            let Some(r) = self.register(o).copied() else { continue };
            let (reg, slots) = (self.reg(o), self.prog.objects[o as usize].slots);
            match r.kind {
                RegisterKind::Left | RegisterKind::Right => {
                    let (m, k) = self.fragment_shape(o);
                    self.line(format!(
                        "for (int s = 0; s < {slots}; s++) for (int m = 0; m < {m}; m++) for (int k = 0; k < {k}; k++) \
                         wl::hold({reg}[s][m][k]);"
                    ));
                }
                RegisterKind::Raw => {
                    self.line(format!("for (int s = 0; s < {slots}; s++) for (auto& v : {reg}[s]) wl::hold(v);"));
                    if r.sunk && all {
                        self.line(format!("wl::look_at(a, {reg}, {reg}_due);"));
                    }
                }
                _ => {}
            }
        }
    }

    /// Before the end of an agent with its own waits: the last loads arrive.
    pub(super) fn last_arrivals(&mut self) {
        if self.registers.iter().flatten().any(|r| r.sunk && r.kind == RegisterKind::Raw) {
            self.line("wl::wait_vm(0); wl::wait_lgkm(0);");
            self.arrived(MoveKind::Lds, true);
            self.arrived(MoveKind::Ldg, true);
        }
    }
}
