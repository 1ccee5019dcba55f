//! The instructions, one file for each family. A file has the step of each of its instructions, with the checks before
//! it, and what the rest of the protocol asks about the instruction.
//!
//! ```text
//!   loads.rs       load, ldg, lds, sts, store            mbarrier.rs    init, inval, arrive, expect, wait
//!   copies.rs      cp.async, LDS DMA, cp.arrive          barriers.rs    CTA, numbered, warp and cluster barriers
//!   bulk.rs        tma, tma.store                        fences.rs      fences
//!   tensor.rs      tcgen05.ld, st, alloc, dealloc        registers.rs   setmaxnreg
//!   products.rs    mma.sync, wgmma, tcgen05.mma          mailbox.rs     put, get, clc
//!   arithmetic.rs  alu, zero                             atomics.rs     counters in global memory
//!   queues.rs      commit and wait of a stream           moves.rs       what all moves share
//! ```
//!
//! To add an instruction, implement [`Instruction`] in the file of its family and add a line to [`instruction`].

use smallvec::SmallVec;

use crate::ir::{BarRef, MoveKind, Op, Place, Program, Waits};
use crate::timeline::Work;

use super::parts::StatePart;
use super::step::StepEffect;
use super::stream::StreamKind;
use super::world::World;
use crate::protocol::vocabulary::{AgentId, Blocked};

/// Operands of an instruction that wraps a [`moves::Move`].
macro_rules! move_operands {
    () => {
        fn places(&self) -> PlaceUses<'_> {
            self.0.places()
        }

        fn barriers(&self) -> BarrierUses<'_> {
            self.0.barriers()
        }
    };
}

/// Facts of an instruction that each lane performs for itself, and at which no agent waits.
macro_rules! lanes_apart {
    () => {
        fn together(&self) -> Option<bool> {
            Some(false)
        }

        fn sets_apart(&self, _w: &World<'_>, _pc: u32) -> bool {
            true
        }

        fn may_wait(&self) -> bool {
            false
        }
    };
}

/// Facts that loads, stores and copies of threads share.
macro_rules! thread_move {
    () => {
        move_operands!();
        lanes_apart!();

        fn aligned(&self) -> Aligned {
            Aligned::Lanes
        }
    };
}

mod arithmetic;
mod atomics;
mod barriers;
mod bulk;
mod copies;
mod fences;
mod loads;
mod mailbox;
mod mbarrier;
mod moves;
mod products;
mod queues;
mod registers;
mod tensor;

pub(super) use moves::global_place;
pub(super) use products::shape;
pub(super) use registers::{Registers, hands_registers};

/// The way in which the lanes of a warp execute an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aligned {
    /// All lanes together, once.
    Warp,
    /// All lanes together, each for itself: waits for operations that one lane class performed for the warp. Once the
    /// classes have met, these operations have begun.
    Each,
    /// Each lane for itself: loads, stores, arithmetic.
    Lanes,
    /// By the instruction's own rule: synchronization.
    Own,
}

/// A place that an instruction reads or writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceUse<'o> {
    pub(super) place: &'o Place,
    pub(super) writes: bool,
    /// The warps that share the place, as in [`Op::Move`]; 0 where each warp has all of it.
    pub(super) crew: u64,
}

impl<'o> PlaceUse<'o> {
    fn read(place: &'o Place) -> PlaceUse<'o> {
        PlaceUse { place, writes: false, crew: 0 }
    }

    fn write(place: &'o Place) -> PlaceUse<'o> {
        PlaceUse { place, writes: true, crew: 0 }
    }
}

/// The effect of an instruction on an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarrierAction {
    /// Waits for a phase.
    Wait,
    /// Expects bytes.
    Expect,
    /// Arrives at once.
    Arrive,
    /// Arrives when the thread's earlier copies are done.
    ArriveBehindCopies,
    /// Arrives when earlier products are done.
    ArriveBehindProducts,
    /// Delivers bytes.
    Deliver,
}

impl BarrierAction {
    /// Whether the instruction arrives, now or later.
    pub(super) fn arrives(self) -> bool {
        use BarrierAction::*;
        matches!(self, Arrive | ArriveBehindCopies | ArriveBehindProducts)
    }

    /// The action in words; `None` for a wait.
    pub(super) fn verb(self) -> Option<&'static str> {
        Some(match self {
            BarrierAction::Wait => return None,
            BarrierAction::Expect => "expects bytes",
            BarrierAction::Arrive => "arrives",
            BarrierAction::ArriveBehindCopies => "arrives when its copies are done",
            BarrierAction::ArriveBehindProducts => "arrives when its multiplications are done",
            BarrierAction::Deliver => "delivers bytes",
        })
    }
}

/// The use of an mbarrier by an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct BarrierUse<'o> {
    pub(super) bar: &'o BarRef,
    pub(super) action: BarrierAction,
    /// Whether the instruction uses the barrier of each CTA that a copy goes to.
    pub(super) everywhere: bool,
    /// The number of arrivals, where the instruction does nothing else to the barrier and the number is a constant.
    pub(super) count: Option<i64>,
    /// Whether each executing thread arrives so often.
    pub(super) per_thread: bool,
}

impl<'o> BarrierUse<'o> {
    fn new(bar: &'o BarRef, action: BarrierAction) -> BarrierUse<'o> {
        BarrierUse { bar, action, everywhere: false, count: None, per_thread: false }
    }
}

/// Barriers that an instruction uses; few use more than one.
pub(super) type BarrierUses<'o> = SmallVec<[BarrierUse<'o>; 1]>;

/// Places that an instruction reads and writes.
pub(super) type PlaceUses<'o> = SmallVec<[PlaceUse<'o>; 3]>;

/// An instruction with its operands: its step, and the facts about it that follow from the program text.
pub(super) trait Instruction {
    /// Performs the instruction for an agent, or returns why it cannot be performed yet. A blocked instruction changes
    /// nothing but the arrival that it counted.
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked>;

    /// Adds the parts of the state that the instruction reads or changes, without the agent's own part and the pieces of
    /// its [`places`](Instruction::places).
    fn parts(&self, _w: &World<'_>, _a: AgentId, _pc: u32, _list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        Ok(())
    }

    /// Adds the pieces that the instruction reads or writes.
    fn pieces(&self, w: &World<'_>, a: AgentId, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        self.places().iter().try_for_each(|p| w.add_pieces(a, p, &[], list))
    }

    /// The places that the instruction reads and writes.
    fn places(&self) -> PlaceUses<'_> {
        PlaceUses::new()
    }

    /// The mbarriers that the instruction uses.
    fn barriers(&self) -> BarrierUses<'_> {
        BarrierUses::new()
    }

    /// The agent's streams that the instruction uses, in a program with this kind of waits.
    fn streams(&self, _waits: Waits) -> &'static [StreamKind] {
        &[]
    }

    /// The class of work that displays show.
    fn work(&self) -> Work {
        Work::Sync
    }

    /// How the lanes of a warp execute the instruction.
    fn aligned(&self) -> Aligned {
        Aligned::Own
    }

    /// Whether lanes that meet here do so as a warp, so that the other lanes perform nothing of their own.
    fn joins_lanes(&self) -> bool {
        false
    }

    /// Whether lanes execute the instruction together, or each lane reads, writes or waits for itself. Neither, where
    /// the instruction does nothing that an arrival speaks for.
    fn together(&self) -> Option<bool> {
        None
    }

    /// Whether a lane class of a split warp then did something that the other class does not know of.
    fn sets_apart(&self, _w: &World<'_>, _pc: u32) -> bool {
        false
    }

    /// Whether an agent may wait at the instruction.
    fn may_wait(&self) -> bool {
        true
    }

    /// Whether the asynchronous proxy reads shared memory.
    fn reads_by_async_proxy(&self, _prog: &Program) -> bool {
        false
    }
}

/// Calls `f` with the instruction of an operation: the table of instructions.
pub(super) fn instruction<R>(op: &Op, f: impl FnOnce(&dyn Instruction) -> R) -> R {
    match op {
        Op::Move { how, src, dst, crew, issue, dequant, masked, signals, multicast } => {
            let m = moves::Move {
                how: *how,
                src,
                dst,
                crew: *crew,
                issue: *issue,
                dequant: *dequant,
                masked: *masked,
                signals: signals.as_ref(),
                multicast: multicast.as_ref(),
            };
            match how {
                MoveKind::Load => f(&loads::Load(m)),
                MoveKind::Ldg | MoveKind::Lds => f(&loads::RegisterLoad(m)),
                MoveKind::Sts if m.signals.is_some() => f(&bulk::AsyncStore(m)),
                MoveKind::Sts => f(&loads::SharedStore(m)),
                MoveKind::Store => f(&loads::GlobalStore(m)),
                MoveKind::CpAsync | MoveKind::LdsDma => f(&copies::Copy(m)),
                MoveKind::TmaLoad => f(&bulk::BulkLoad(m)),
                MoveKind::TmaStore => f(&bulk::BulkStore(m)),
                MoveKind::TmemLd => f(&tensor::TensorLoad(m)),
                MoveKind::TmemSt => f(&tensor::TensorStore(m)),
            }
        }
        Op::Mma { kind, a: left, b: right, acc } => {
            let product = products::Product { kind: *kind, left, right, acc };
            match kind {
                crate::ir::MmaKind::Warp => f(&products::WarpProduct(product)),
                crate::ir::MmaKind::Wgmma => f(&products::GroupProduct(product)),
                crate::ir::MmaKind::Umma | crate::ir::MmaKind::UmmaPair => f(&products::TensorProduct(product)),
            }
        }
        Op::CommitUmma(bars) => f(&products::CommitProducts { bars }),
        Op::Alu { count, reads, writes, .. } => f(&arithmetic::Alu { count, reads, writes }),
        Op::Zero(place) => f(&arithmetic::Zero { place }),
        Op::Commit(queue) => f(&queues::Commit { queue: *queue }),
        Op::Wait(queue, n) => f(&queues::Wait { queue: *queue, n }),
        Op::CpArrive { bar, noinc } => f(&copies::CopyArrive { bar, noinc: *noinc }),
        Op::Init(list) => f(&mbarrier::Init { list }),
        Op::Inval(list) => f(&mbarrier::Inval { list }),
        Op::Arrive { bar, per, count, expect, relaxed, cluster, drop, state } => f(&mbarrier::Arrive {
            bar,
            per: *per,
            count,
            expect: expect.as_ref(),
            relaxed: *relaxed,
            cluster: *cluster,
            drop: *drop,
            state: *state,
        }),
        Op::Expect { bar, bytes } => f(&mbarrier::Expect { bar, bytes }),
        Op::MbarWait { bar, phase } => f(&mbarrier::WaitPhase { bar, phase }),
        Op::Barrier(order) => f(&barriers::CtaBarrier { order: *order }),
        Op::Named { bar, index, threads, sync } => {
            f(&barriers::NumberedBarrier { bar: *bar, index, threads, sync: *sync })
        }
        Op::WarpSync => f(&barriers::WarpSync),
        Op::Elect => f(&barriers::Elect),
        Op::ClusterArrive { relaxed } => f(&barriers::ClusterArrive { relaxed: *relaxed }),
        Op::ClusterWait => f(&barriers::ClusterWait),
        Op::GridWait => f(&barriers::GridWait),
        Op::Fence(kind) => f(&fences::Fence { kind: *kind }),
        Op::TmemAlloc { obj, .. } => f(&tensor::Allocate { obj: *obj }),
        Op::TmemDealloc { obj, pair } => f(&tensor::Deallocate { obj: *obj, pair: *pair }),
        Op::Regs { count, inc } => f(&registers::SetRegisters { count: *count, inc: *inc }),
        Op::Put { dst, value } => f(&mailbox::Put { dst, value }),
        Op::Get { src, var } => f(&mailbox::Get { src, var: *var }),
        Op::NextTile { dst, signals } => f(&mailbox::NextTile { dst, signals }),
        Op::Counter { act, at, value, order, scope } => {
            f(&atomics::Counter { act: *act, at, value, order: *order, scope: *scope })
        }
    }
}

impl Op {
    /// The class of work that displays show for an operation.
    pub fn work(&self) -> Work {
        instruction(self, |i| i.work())
    }
}
