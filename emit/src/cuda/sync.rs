//! mbarriers, barriers, groups and fences.

use warpline_sim::ir::{ArrivalsPer, BarRef, BarrierCta, Expr, Fence, Op, Pc, Phase, Queue};

use super::Writer;
use crate::Unsupported;
use crate::registers::RegisterKind;

impl Writer<'_> {
    /// The address of an mbarrier of the own CTA.
    pub(super) fn bar_address(&self, b: &BarRef) -> String {
        format!("(pool + {} + 8 * ({}))", self.layout.bars[b.bar as usize], self.c(&b.stage))
    }

    /// Statements for each barrier of a reference: the own address, or addresses in the cluster.
    fn at_bars(&mut self, b: &BarRef, own: impl Fn(&str) -> String, remote: impl Fn(&str) -> String) {
        let address = self.bar_address(b);
        match &b.at {
            BarrierCta::Own => {
                let s = own(&address);
                self.line(s);
            }
            BarrierCta::Cta(e) => {
                let s = remote(&format!("wl::in_cta({address}, {})", self.c(e)));
                self.line(s);
            }
            BarrierCta::Ctas(e) => {
                let s = remote(&format!("wl::in_cta({address}, c)"));
                let mask = self.c(e);
                self.line(format!("for (int c = 0; c < CLUSTER; c++) if ({mask} >> c & 1) {{ {s} }}"));
            }
        }
    }

    /// The warps whose first lane arrives once for its member.
    fn first_warps(&self) -> u64 {
        (0..self.prog.warps).fold(0, |mask, w| {
            let first = match self.prog.role_of(w) {
                Some(r) => {
                    let size = (r.warps.count_ones() / r.members.max(1)).max(1);
                    (r.warps & ((1u64 << w) - 1)).count_ones().is_multiple_of(size)
                }
                None => w == 0,
            };
            mask | (first as u64) << w
        })
    }

    fn arrive(
        &mut self,
        bar: &BarRef,
        per: ArrivalsPer,
        count: &Expr,
        expect: Option<&Expr>,
        (relaxed, cluster): (bool, bool),
    ) {
        let one = self.elect;
        let count = self.c(count);
        let mut closing = false;
        let guard = match per {
            ArrivalsPer::Thread => None,
            ArrivalsPer::Warp => Some("lane == 0".to_string()),
            ArrivalsPer::Once => Some(format!("lane == 0 && ({:#x}ull >> warp & 1)", self.first_warps())),
        };
        match guard {
            // One lane arrives for the warp after all its lanes have come.
            Some(g) if !one => {
                self.line("__syncwarp();");
                self.line(format!("if ({g}) {{"));
                closing = true;
            }
            Some(g) if per == ArrivalsPer::Once => {
                self.line(format!("if ({g}) {{"));
                closing = true;
            }
            _ => {}
        }
        let flags = format!("<{cluster}, {relaxed}>");
        let plain = |count: &str| {
            let (count, flags, count2, flags2) = (count.to_string(), flags.clone(), count.to_string(), flags.clone());
            (
                move |a: &str| format!("wl::arrive{flags}({a}, {count});"),
                move |a: &str| format!("wl::arrive_remote{flags2}({a}, {count2});"),
            )
        };
        match expect {
            None => {
                let (own, remote) = plain(&count);
                self.at_bars(bar, own, remote);
            }
            Some(e) => {
                // The first of the arriving threads expects the bytes, once.
                let bytes = self.c(e);
                let all = per == ArrivalsPer::Thread && !one;
                let first = if all { "if (lane == 0) " } else { "" };
                self.at_bars(
                    bar,
                    |a| format!("{first}wl::arrive_expect({a}, {bytes});"),
                    |a| format!("{first}wl::arrive_expect_remote({a}, {bytes});"),
                );
                let more = if all { count.clone() } else { format!("({count}) - 1") };
                if all || count != "1" {
                    let guard = if all { "if (lane != 0) " } else { "" };
                    let (own, remote) = plain(&more);
                    self.at_bars(bar, |a| format!("{guard}{}", own(a)), |a| format!("{guard}{}", remote(a)));
                }
            }
        }
        if closing {
            self.line("}");
        }
    }

    pub(super) fn sync_op(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let guard = if self.elect { "" } else { "if (lane == 0) " };
        match op {
            Op::Commit(q) => match q {
                Queue::Cp => self.line("wl::commit_cp();"),
                Queue::Wgmma => self.line("wl::commit_wgmma();"),
                Queue::Bulk | Queue::BulkRead => self.line("wl::commit_bulk();"),
                _ => return self.unsupported(pc, "no such group on NVIDIA"),
            },
            Op::Wait(q, n) => {
                let n = self.c(n);
                match q {
                    Queue::Cp => self.line(format!("wl::wait_cp({n});")),
                    Queue::Wgmma => {
                        self.line(format!("wl::wait_wgmma({n});"));
                        self.hold();
                    }
                    Queue::Bulk => self.line(format!("wl::wait_bulk<false>({n});")),
                    Queue::BulkRead => self.line(format!("wl::wait_bulk<true>({n});")),
                    Queue::Vm | Queue::Lgkm => {
                        return self.unsupported(pc, "a counter of AMD's: `--target hip`, on mi300x or mi355x");
                    }
                    Queue::TmemLd => {
                        self.line("wl::wait_tmem_ld();");
                        self.hold();
                    }
                    Queue::TmemSt => self.line("wl::wait_tmem_st();"),
                }
            }
            Op::CpArrive { bar, noinc } => {
                let call = if *noinc { "cp_arrive_noinc" } else { "cp_arrive" };
                let address = self.bar_address(bar);
                self.line(format!("wl::{call}({address});"));
            }
            Op::Init(list) | Op::Inval(list) => {
                for s in list {
                    let (decl, at) = (&self.prog.mbars[s.bar as usize], self.layout.bars[s.bar as usize]);
                    let (stages, count) = (decl.stages, decl.count);
                    let index = s.stage.as_ref().map_or("s".to_string(), |e| format!("({})", self.c(e)));
                    let call = match op {
                        Op::Init(_) => format!("wl::bar_init(pool + {at} + 8 * {index}, {count})"),
                        _ => format!("wl::bar_inval(pool + {at} + 8 * {index})"),
                    };
                    let each = match s.stage {
                        Some(_) => String::new(),
                        None => format!("for (int s = 0; s < {stages}; s++) "),
                    };
                    self.line(format!("{guard}{each}{call};"));
                }
            }
            Op::Arrive { state: Some(_), .. } | Op::MbarWait { phase: Phase::State(_), .. } => {
                return self.unsupported(pc, crate::writer::STATE);
            }
            Op::Arrive { drop: true, .. } => return self.unsupported(pc, crate::writer::DROP),
            Op::Arrive { bar, per, count, expect, relaxed, cluster, .. } => {
                self.arrive(bar, *per, count, expect.as_ref(), (*relaxed, *cluster));
            }
            Op::Expect { bar, bytes } => {
                let bytes = self.c(bytes);
                self.at_bars(
                    bar,
                    |a| format!("{guard}wl::expect({a}, {bytes});"),
                    |a| format!("{guard}wl::expect_remote({a}, {bytes});"),
                );
            }
            Op::MbarWait { bar, phase: Phase::Absolute(e) | Phase::Parity(e) } => {
                let (address, phase) = (self.bar_address(bar), self.c(e));
                let index = format!("{} + ({})", self.layout.first[bar.bar as usize], self.c(&bar.stage));
                self.line(format!("wl::wait<(CLUSTER > 1)>(a, {pc}, {address}, {index}, {phase});"));
            }
            Op::Barrier(_) => self.line("wl::barrier();"),
            Op::Named { bar, index, threads, sync } => {
                let first = self.prog.named[*bar as usize].first;
                let (index, threads) = (self.c(index), self.c(threads));
                let call = if *sync { "bar_sync" } else { "bar_arrive" };
                self.line(format!("wl::{call}({first} + {index}, {threads});"));
            }
            // No kernel text has `elect.sync` alone; a barrier of the lanes is more.
            Op::WarpSync | Op::Elect => self.line("__syncwarp();"),
            Op::ClusterArrive { relaxed: true } => self.line("wl::cluster_arrive_relaxed();"),
            Op::ClusterArrive { .. } => self.line("wl::cluster_arrive();"),
            Op::ClusterWait => self.line("wl::cluster_wait();"),
            Op::Fence(f) => match f {
                Fence::Async => self.line("wl::fence_async();"),
                Fence::AsyncGlobal => self.line("wl::fence_async_global();"),
                Fence::MbarrierInit => self.line("wl::fence_mbarrier_init();"),
                Fence::Wgmma => {
                    self.line("__syncwarp();");
                    self.hold();
                    self.line("wl::wgmma_fence();");
                }
                Fence::Cta => self.line("__threadfence_block();"),
                Fence::Gpu => self.line("__threadfence();"),
                Fence::TmemBefore => self.line("wl::tmem_fence_before();"),
                Fence::TmemAfter => self.line("wl::tmem_fence_after();"),
            },
            Op::Regs { count, inc } => {
                self.line("__syncwarp();");
                self.line(format!("wl::regs_{}<{count}>();", if *inc { "inc" } else { "dec" }));
            }
            Op::GridWait => self.line("wl::grid_wait();"),
            Op::Counter { .. } => return self.unsupported(pc, crate::writer::COUNTER),
            Op::CommitUmma(bars) => self.commit_umma(bars),
            Op::TmemAlloc { obj, pair } => self.tmem_alloc(pc, *obj, *pair)?,
            Op::TmemDealloc { obj, pair } => self.tmem_dealloc(*obj, *pair),
            Op::NextTile { dst, signals } => self.next_tile(dst, signals),
            Op::Move { .. } | Op::Mma { .. } | Op::Alu { .. } | Op::Zero(_) | Op::Put { .. } | Op::Get { .. } => {}
        }
        Ok(())
    }

    /// Keeps the compiler from moving accumulators of wgmma, and rows of tensor memory, across this place.
    fn hold(&mut self) {
        for o in 0..self.prog.objects.len() {
            let Some(RegisterKind::Acc { group: true } | RegisterKind::Row) = self.registers[o].map(|r| r.kind) else {
                continue;
            };
            let (m, _) = self.acc_shape(o as u16);
            for s in 0..self.prog.objects[o].slots {
                for m in 0..m {
                    let reg = self.reg(o as u16);
                    self.line(format!("wl::hold({reg}[{s}][{m}]);"));
                }
            }
        }
    }
}
