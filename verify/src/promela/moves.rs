//! Moves and matrix instructions: their accesses, and the queues in which they end.

use warpline_sim::ir::{ArrivalsPer, BarRef, BarrierCta, Class, MmaKind, MoveKind, Op, Place, Queue, Waits};
use warpline_sim::timeline::Lanes;

use super::Inexpressible;
use super::place::{Rect, Tile};
use super::steps::{Flight, Key, Step, Steps, Touch};
use super::walk::Walker;

/// The stream of a queue.
pub(super) fn stream(q: Queue) -> &'static str {
    match q {
        Queue::Cp => "cp",
        Queue::Wgmma => "wgmma",
        Queue::Bulk => "bulk",
        Queue::BulkRead => "bulk_read",
        Queue::Vm => "vm",
        Queue::Lgkm => "lgkm",
        Queue::TmemLd => "tmem_ld",
        Queue::TmemSt => "tmem_st",
    }
}

impl<'p> Steps<'p> {
    /// The agent that owns a stream. For `wgmma` this is the first agent of the warpgroup, for tensor-memory moves the
    /// rest of the warp.
    pub(super) fn owner(&self, a: usize, name: &str) -> usize {
        let me = self.who[a];
        match name {
            "wgmma" => self.who.iter().position(|x| x.cta == me.cta && x.warp / 4 == me.warp / 4).unwrap_or(a),
            "tmem_ld" | "tmem_st" if me.lanes == Some(Lanes::Elected) => a + 1,
            _ => a,
        }
    }

    /// Number of flights that an agent has started in a stream, or has taken part in.
    pub(super) fn issued(&self, a: usize, name: &'static str) -> usize {
        match name {
            "wgmma" => self.joined.get(&a).copied().unwrap_or(0),
            _ => self.queues.get(&Key::Stream(a, name)).map_or(0, Vec::len),
        }
    }

    /// Number of arrivals of an agent.
    pub(super) fn times(&self, a: usize, per: ArrivalsPer, lanes: i64) -> i64 {
        let me = self.who[a];
        match per {
            ArrivalsPer::Thread => lanes,
            ArrivalsPer::Warp => me.elected() as i64,
            ArrivalsPer::Once => {
                let first = self.prog.role_of(me.warp).map_or(me.warp == 0, |r| {
                    let size = (r.warps.count_ones() / r.members.max(1)).max(1);
                    (r.warps & ((1u64 << me.warp) - 1)).count_ones().is_multiple_of(size)
                });
                (first && me.elected()) as i64
            }
        }
    }

    /// The barriers of a reference.
    pub(super) fn bars(&self, w: &Walker<'p>, pc: u32, r: &BarRef) -> Result<Vec<usize>, Inexpressible> {
        let bad = || w.no(pc, "a barrier is outside its array or cluster");
        let (stages, cluster) = (self.prog.mbars[r.bar as usize].stages as i64, self.prog.cluster as i64);
        let stage = w.value(&r.stage).filter(|s| (0..stages).contains(s)).ok_or_else(bad)?;
        let ctas: Vec<u32> = match &r.at {
            BarrierCta::Own => vec![w.who.cta],
            BarrierCta::Cta(e) => {
                vec![w.value(e).filter(|c| (0..cluster).contains(c)).ok_or_else(bad)? as u32]
            }
            BarrierCta::Ctas(e) => self.mask(w.value(e)).ok_or_else(bad)?,
        };
        Ok(ctas.into_iter().map(|c| self.bar(r.bar, c, stage)).collect())
    }

    /// The CTAs in a mask.
    fn mask(&self, mask: Option<i64>) -> Option<Vec<u32>> {
        let mask = mask.filter(|m| *m > 0 && m >> self.prog.cluster == 0)?;
        Some((0..self.prog.cluster).filter(|c| mask >> c & 1 == 1).collect())
    }

    pub(super) fn reads(
        &self,
        t: &mut Touch,
        w: &Walker<'p>,
        pc: u32,
        place: &Place,
        at: &Rect,
        expects: bool,
    ) -> Result<(), Inexpressible> {
        let tile = match &place.tile {
            Some(tile) if expects => Some(w.wanted(pc, tile, at)?),
            _ => None,
        };
        t.reads.extend(at.pieces(self.prog, w.who.warp).into_iter().map(|p| (p, tile)));
        Ok(())
    }

    pub(super) fn writes(&self, t: &mut Touch, w: &Walker<'p>, at: &Rect, tile: Option<Tile>) {
        t.writes.extend(at.pieces(self.prog, w.who.warp).into_iter().map(|p| (p, tile)));
    }

    /// Number of machine instructions of one warp's move, as `vmcnt` and `lgkmcnt` count them.
    fn instructions(&self, how: MoveKind, src: &Rect, dst: &Rect) -> i64 {
        let object = |r: &Rect| &self.prog.objects[r.obj as usize];
        let global = [src, dst].into_iter().find(|r| object(r).class == Class::Global);
        let chip = if how == MoveKind::Sts { dst } else { src };
        let r = global.unwrap_or(chip);
        let lane = if how == MoveKind::LdsDma { self.rules.dma_bytes_per_lane } else { self.rules.bytes_per_lane };
        let warp = lane.max(1) as i64 * self.rules.warp_size as i64;
        object(r).bytes_of(r.elements()).max(1).div_euclid(warp) + (object(r).bytes_of(r.elements()) % warp != 0) as i64
    }

    fn count(&mut self, a: usize, name: &'static str, n: i64) {
        let all = self.counted.entry((a, name)).or_default();
        all.push(all.last().unwrap_or(&0) + n.max(1));
    }

    pub(super) fn moved(&mut self, a: usize, w: &Walker<'p>, pc: u32, op: &'p Op) -> Result<(), Inexpressible> {
        let Op::Move { how, src, dst, crew, signals, multicast, .. } = op else { return Ok(()) };
        let (from, to) = (w.rect(pc, src, *crew)?, w.rect(pc, dst, *crew)?);
        let tile = w.copied(&self.held, &from, &to).or(match &src.tile {
            Some(t) => Some(w.wanted(pc, t, &from)?),
            None => None,
        });
        if let (Some(tile), Class::Reg) = (tile, self.prog.objects[to.obj as usize].class) {
            let pieces = to.pieces(self.prog, w.who.warp);
            self.held.extend(pieces.into_iter().map(|p| (p, tile)));
        }
        let auto = self.prog.waits == Waits::Auto;
        let mut read = Touch::default();
        self.reads(&mut read, w, pc, src, &from, true)?;
        let mut write = Touch::default();
        self.writes(&mut write, w, &to, tile);
        let both = Touch { reads: read.reads.clone(), writes: write.writes.clone() };
        let flight = |touch| Flight { touch, ..Flight::default() };
        let name = match how {
            MoveKind::Sts if signals.is_some() => {
                return Err(w.no(pc, "stores that complete bytes on an mbarrier are not exported"));
            }
            MoveKind::CpAsync => "cp",
            MoveKind::LdsDma => "vm",
            MoveKind::TmemLd => "tmem_ld",
            MoveKind::TmemSt => "tmem_st",
            MoveKind::Ldg | MoveKind::Store if !auto => "vm",
            MoveKind::Lds | MoveKind::Sts if !auto => "lgkm",
            MoveKind::TmaLoad => {
                let Some(bar) = signals else { return Ok(()) };
                let ctas = match multicast {
                    Some(m) => {
                        self.mask(w.value(m)).ok_or_else(|| w.no(pc, "a mask names CTAs outside the cluster"))?
                    }
                    None => vec![to.cta],
                };
                let o = &self.prog.objects[to.obj as usize];
                let bytes = o.bytes_of(to.elements());
                let named = self.bars(w, pc, bar)?[0];
                let first = self.bar(bar.bar, 0, 0);
                let stages = self.prog.mbars[bar.bar as usize].stages as usize;
                let (at, stage) = (((named - first) / stages) as u32, (named - first) % stages);
                let mut f = Flight::default();
                for cta in ctas {
                    let signaled = match (&bar.at, multicast) {
                        (BarrierCta::Own, _) => cta,
                        (_, Some(_)) => cta & !1 | at & 1,
                        _ => at,
                    };
                    self.writes(&mut f.touch, w, &to.in_cta(cta), tile);
                    f.delivers.push((self.bar(bar.bar, signaled, stage as i64), bytes));
                }
                let key = Key::Copy(a, f.touch.writes.iter().map(|(p, _)| *p).collect());
                self.start(a, pc, key, f);
                return Ok(());
            }
            MoveKind::TmaStore => {
                self.start(a, pc, Key::Stream(a, "bulk_read"), flight(read));
                self.start(a, pc, Key::Stream(a, "bulk"), Flight::default());
                return Ok(());
            }
            // The scoreboard guards registers, which no other agent sees.
            MoveKind::Load | MoveKind::Ldg | MoveKind::Lds | MoveKind::Sts | MoveKind::Store => {
                self.add(a, pc, Step::Touch(both));
                return Ok(());
            }
        };
        // A store reads its registers at issue.
        let from_registers = matches!(how, MoveKind::Sts | MoveKind::Store | MoveKind::TmemSt);
        if from_registers {
            self.add(a, pc, Step::Touch(read));
        }
        self.count(
            a,
            name,
            if matches!(name, "tmem_ld" | "tmem_st") { 1 } else { self.instructions(*how, &from, &to) },
        );
        self.start(a, pc, Key::Stream(a, name), flight(if from_registers { write } else { both }));
        Ok(())
    }

    pub(super) fn multiplied(
        &mut self,
        a: usize,
        w: &Walker<'p>,
        pc: u32,
        (kind, x, y, acc): (MmaKind, &'p Place, &'p Place, &'p Place),
        split: bool,
    ) -> Result<(), Inexpressible> {
        let (l, r, z) = (w.rect(pc, x, 0)?, w.rect(pc, y, 0)?, w.rect(pc, acc, 0)?);
        let me = self.who[a];
        let mut t = Touch::default();
        let ctas = match kind {
            MmaKind::UmmaPair => vec![me.cta & !1, me.cta | 1],
            MmaKind::Umma => vec![me.cta],
            MmaKind::Warp | MmaKind::Wgmma => vec![l.cta],
        };
        for cta in ctas {
            let here =
                |r: &Rect| if matches!(kind, MmaKind::Warp | MmaKind::Wgmma) { r.clone() } else { r.in_cta(cta) };
            // Each CTA of a pair expects its own tiles.
            let whose = match kind {
                MmaKind::UmmaPair => &w.in_cta(cta),
                _ => w,
            };
            self.reads(&mut t, whose, pc, x, &here(&l), true)?;
            self.reads(&mut t, whose, pc, y, &here(&r), true)?;
            self.writes(&mut t, w, &here(&z), None);
        }
        match kind {
            MmaKind::Warp => {
                if split {
                    self.add(a, pc, Step::Rendezvous(("warp", me.cta, me.warp), 1, 2, true));
                }
                if !split || me.lanes == Some(Lanes::Rest) {
                    self.add(a, pc, Step::Touch(t));
                }
            }
            MmaKind::Umma | MmaKind::UmmaPair => {
                self.start(a, pc, Key::Stream(a, "tensor"), Flight { touch: t, ..Flight::default() });
            }
            MmaKind::Wgmma => {
                let lead = self.owner(a, "wgmma");
                let n = self.joined.entry(a).or_default();
                *n += 1;
                let n = *n;
                let key = Key::Stream(lead, "wgmma");
                let queue = self.queues.entry(key.clone()).or_default();
                match queue.get_mut(n - 1) {
                    None => queue.push((pc, Flight { touch: t, ..Flight::default() })),
                    // Each warp holds its own rows of the accumulator.
                    Some((at, flight)) if *at == pc => {
                        flight.touch.writes.extend(t.writes);
                        for read in t.reads {
                            if !flight.touch.reads.contains(&read) {
                                flight.touch.reads.push(read);
                            }
                        }
                    }
                    Some(_) => return Err(w.no(pc, "the warps of a warpgroup multiply in different orders")),
                }
                let all = self.who.iter().filter(|x| x.cta == me.cta && x.warp / 4 == me.warp / 4).count();
                self.add(a, pc, Step::Join(("warpgroup", me.cta, me.warp / 4), all as u32, key, n));
            }
        }
        Ok(())
    }
}
