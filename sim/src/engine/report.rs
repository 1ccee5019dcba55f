//! The report of a finished run.

use std::collections::BTreeMap;

use crate::ir::{Class, Instr, MoveKind, Op};
use crate::machine::Machine;
use crate::protocol::TileKey;
use crate::report::{Fidelity, Finding, Occupancy, Outcome, Report, RoleTime, Utilization};
use crate::timeline::{Mark, Stall, TICKS, Work};
use crate::words;

use super::run::Engine;
use super::whole::GridTotals;

/// The steps of the first cluster's main loop: the times at which a matrix instruction had new tiles.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    by: BTreeMap<(u32, u32), (Option<Tiles>, Vec<u64>)>,
    alu: BTreeMap<(u32, u32), Vec<u64>>,
}

type Tiles = (Option<TileKey>, Option<TileKey>);

impl Steps {
    /// Records a matrix instruction of a cluster's agent.
    pub(super) fn note(&mut self, cluster: u32, agent: u32, pc: u32, tiles: Tiles, now: u64) {
        if cluster != 0 {
            return;
        }
        let at = |t: Tiles| (t.0.map(|k| (k.obj, k.at)), t.1.map(|k| (k.obj, k.at)));
        let e = self.by.entry((agent, pc)).or_default();
        if e.0.is_none_or(|last| at(last) != at(tiles)) {
            e.0 = Some(tiles);
            e.1.push(now);
        }
    }

    /// Records a vector operation, the step of kernels without matrix work.
    pub(super) fn note_alu(&mut self, cluster: u32, agent: u32, pc: u32, now: u64) {
        if cluster == 0 {
            self.alu.entry((agent, pc)).or_default().push(now);
        }
    }

    /// Mean cycles between steps, without the first quarter and the last eighth of the steps.
    fn cadence(&self) -> Option<f64> {
        let of = |lists: Vec<&Vec<u64>>| {
            // The first of the longest lists.
            let t = lists.into_iter().rev().max_by_key(|t| t.len())?;
            let n = t.len();
            if n < 3 {
                return None;
            }
            let (i, j) = (n / 4, n - 1 - n / 8);
            (j > i).then(|| (t[j] - t[i]) as f64 / (j - i) as f64 / TICKS as f64)
        };
        if self.by.is_empty() { of(self.alu.values().collect()) } else { of(self.by.values().map(|e| &e.1).collect()) }
    }
}

impl Engine<'_> {
    pub(super) fn report(mut self, m: &Machine, outcome: Outcome, occupancy: Occupancy, share: i64) -> Report {
        let prog = self.prog;
        let device = self.timing.memory.as_ref().map(|m| m.total);
        let mhz = m.get("clock.mhz").unwrap_or(0.0);
        let empty = device.and(m.get("launch.device_us")).unwrap_or(0.0);
        let launch_cycles = empty * mhz;
        let end = self.end + self.skipped;
        let cycles = end as f64 / TICKS as f64 + launch_cycles;
        let paper = m.vendor == crate::machine::Vendor::Paper;
        let time_us = if paper || mhz == 0.0 { 0.0 } else { cycles / mhz };
        let finished = outcome == Outcome::Finished;
        let GridTotals { flops, useful, moved, scaled } = self.whole(&outcome, share);
        // A run that did not finish has no rate, because the rest of its work is unknown.
        let rate = |flops: f64| if time_us > 0.0 && finished { flops / time_us / 1e6 } else { 0.0 };
        let (tflops, useful_tflops) = (rate(flops), rate(useful));
        let of_peak = self.of_peak(m, tflops, mhz);
        let roles = self.roles();
        let uses = self.uses(end);
        let loaded = self.loaded();
        let missed: f64 = loaded.iter().map(|(bytes, miss)| bytes * miss).sum();
        let all: f64 = loaded.iter().map(|(bytes, _)| bytes).sum();
        // A miss fetches one whole DRAM access, which can be more than the request.
        let hits = |missed: f64, all: f64| if all > 0.0 { (1.0 - missed / all).max(0.0) } else { 0.0 };
        let l2_hit_rate = device.map_or(hits(missed, all), |d| hits(d.missed as f64, d.looked as f64));
        let l2_looked_up = device.filter(|d| d.asked > 0).map(|d| d.looked as f64 / d.asked as f64);
        let stored = self.stored_bytes();
        let (read, written) = match device {
            Some(d) if finished => (d.read as f64, d.written as f64),
            None if finished => ((moved - stored).max(0.0), stored),
            _ => {
                // Only the results of CTAs that ended are written.
                let ended = (self.retired + self.handed) as f64 / (share as f64).max(1.0);
                let written = (stored * ended.min(1.0)).min(moved);
                (moved - written, written)
            }
        };
        let bottleneck = self.bottleneck(&uses, &roles, &outcome);
        let shared_bytes = prog.shared_bytes();
        let per_cta = m.get("limit.shared_per_cta").unwrap_or(0.0) as i64;
        let resident = occupancy.ctas_per_core.max(1) as i64;
        let faults = self.findings.iter().filter(|f| !f.note && f.cycle >= 0.0);
        let tick = |f: &Finding| (f.cycle * TICKS as f64) as u64;
        let mark = |f: &Finding| Mark { tick: tick(f), label: f.kind.name().to_string(), site: f.site };
        let mut marks: Vec<Mark> = faults.map(mark).collect();
        let (drawn, hangs) = self.draw_waits_for_ever(matches!(outcome, Outcome::Hung(_)));
        marks.extend(hangs);
        marks.sort_by(|a, b| (a.tick, a.site, &a.label).cmp(&(b.tick, b.site, &b.label)));
        let timeline = self.recorder.take().map(|r| {
            let mut t = r.finish(drawn);
            t.faults = marks;
            t.title = format!("{} on {}", prog.name, if paper { "paper" } else { &m.title });
            let values: Vec<String> = prog.params.iter().map(|(n, v)| format!("{n} = {v}")).collect();
            t.subtitle = values.join(", ");
            t.mhz = if paper { 0.0 } else { mhz };
            t.took = Some((cycles * TICKS as f64).round() as u64);
            t
        });
        self.findings.sort_by(|a, b| a.cycle.total_cmp(&b.cycle).then(a.site.cmp(&b.site)).then(a.code.cmp(&b.code)));
        Report {
            cycles,
            time_us,
            launch_us: m.get("launch.kernel_us"),
            flops,
            tflops,
            useful_flops: useful,
            useful_tflops,
            of_peak,
            scaled,
            cycles_per_tile: self.steps.cadence(),
            ctas: prog.grid.len() * prog.cluster as i64,
            ctas_of_core: share,
            waves: (share + resident - 1) / resident,
            shared_bytes,
            shared_free_bytes: per_cta - shared_bytes,
            occupancy,
            fidelity: if device.is_some() { Fidelity::Device } else { Fidelity::Core },
            launch_cycles,
            l2_hit_rate,
            l2_looked_up,
            dram_read_bytes: read,
            dram_write_bytes: written,
            events: self.events,
            ctas_simulated: self.launched as i64 * prog.cluster as i64,
            pace_change: self.pace_change,
            roles,
            uses,
            bottleneck,
            findings: self.findings,
            reads_checked: self.reads,
            params_used: self.timing.costs.used,
            outcome,
            timeline,
        }
    }

    /// Share of the dense matrix rate at the clock of the run, for the widest operands of the kernel.
    fn of_peak(&self, m: &Machine, tflops: f64, mhz: f64) -> Option<f64> {
        let bits = self.prog.code.iter().filter_map(|i| match i {
            Instr::Op { op: Op::Mma { a, b, .. }, .. } => {
                let bits = |p: &crate::ir::Place| {
                    p.sel.operand.map_or(self.prog.objects[p.obj as usize].dtype.bits(), |o| o.bits.into())
                };
                Some(bits(a).max(bits(b)))
            }
            _ => None,
        });
        let bits = bits.max()?;
        let key = match bits {
            0..=8 => "mma.fp8_flop_per_clk",
            9..=16 => "mma.f16_flop_per_clk",
            _ => "mma.tf32_flop_per_clk",
        };
        let rate = m.get(key).or_else(|| m.get("mma.f16_flop_per_clk"))?;
        // The rate in the machine file can be lower than the sum of the warp-level instructions.
        let rate = rate.max(self.timing.costs.warp_flop_per_clk(bits));
        let peak = rate * m.get("core.count")? * mhz / 1e6;
        (peak > 0.0 && tflops > 0.0).then(|| tflops / peak)
    }

    /// For each kind of load in the code, its bytes and its miss rate; the bytes weight the hit rate.
    fn loaded(&self) -> Vec<(f64, f64)> {
        self.prog
            .code
            .iter()
            .filter_map(|i| match i {
                Instr::Op { op: Op::Move { how, src, .. }, .. }
                    if matches!(
                        how,
                        MoveKind::Load | MoveKind::Ldg | MoveKind::CpAsync | MoveKind::LdsDma | MoveKind::TmaLoad
                    ) && self.prog.objects[src.obj as usize].class == Class::Global =>
                {
                    let o = &self.prog.objects[src.obj as usize];
                    Some((o.bytes_of(o.block[0] * o.block[1]) as f64, self.timing.misses[src.obj as usize]))
                }
                _ => None,
            })
            .collect()
    }

    /// Bytes of the matrices that the kernel stores.
    fn stored_bytes(&self) -> f64 {
        let mut objs: Vec<u16> = self
            .prog
            .code
            .iter()
            .filter_map(|i| match i {
                Instr::Op { op: Op::Move { how: MoveKind::Store | MoveKind::TmaStore, dst, .. }, .. } => Some(dst.obj),
                _ => None,
            })
            .collect();
        objs.sort_unstable();
        objs.dedup();
        objs.iter()
            .map(|o| {
                let o = &self.prog.objects[*o as usize];
                o.bytes_of(o.rows * o.cols) as f64
            })
            .sum()
    }

    fn roles(&self) -> Vec<RoleTime> {
        let agents = crate::protocol::agents(self.prog);
        let mut list: Vec<RoleTime> = Vec::new();
        let mut names: Vec<&str> = self.prog.roles.iter().map(|r| r.name.as_str()).collect();
        names.push("rest");
        for name in names {
            let mine = |w: u32| self.prog.role_of(w).map_or("rest", |r| r.name.as_str()) == name;
            // A split warp is shown by its elected lane where that lane does the work, so every lane class counts.
            let who: Vec<usize> = (0..agents.len()).filter(|&i| mine(agents[i].warp)).collect();
            let total: u64 = who.iter().map(|&i| self.ledger.total(i)).sum();
            if total == 0 {
                continue;
            }
            let share = |ticks: u64| ticks as f64 / total as f64;
            let mut r = RoleTime {
                name: name.to_string(),
                warps: (0..self.prog.warps).filter(|w| mine(*w)).count() as u32,
                work: BTreeMap::new(),
                stalls: BTreeMap::new(),
                at: Vec::new(),
            };
            for (k, kind) in Work::ALL.iter().enumerate() {
                let t = who.iter().map(|&i| self.ledger.work_of(i)[k]).sum();
                if t > 0 {
                    r.work.insert(*kind, share(t));
                }
            }
            for (k, kind) in Stall::ALL.iter().enumerate() {
                let t = who.iter().map(|&i| self.ledger.stall_of(i)[k]).sum();
                if t > 0 {
                    r.stalls.insert(*kind, share(t));
                }
            }
            let mut at: BTreeMap<(u32, usize), u64> = BTreeMap::new();
            for pc in 0..self.prog.code.len() {
                for k in 1..Stall::ALL.len() - 1 {
                    let t: u64 = who.iter().map(|&i| self.ledger.stall_at(i, pc)[k]).sum();
                    if t > 0 {
                        *at.entry((self.prog.at[pc], k)).or_default() += t;
                    }
                }
            }
            r.at = at.into_iter().map(|((site, k), t)| (site, Stall::ALL[k], share(t))).collect();
            r.at.sort_by(|x, y| y.2.total_cmp(&x.2).then(x.0.cmp(&y.0)));
            list.push(r);
        }
        list
    }

    fn uses(&self, end: u64) -> Vec<Utilization> {
        let n = self.cores.len() as f64;
        let of = |ticks: u64, servers: f64| ticks as f64 / (end.max(1) as f64 * n * servers);
        let sum = |f: &dyn Fn(&super::Core) -> u64| self.cores.iter().map(f).sum::<u64>();
        let lists = |f: &dyn Fn(&super::Core) -> &Vec<super::Server>| {
            let ticks = self.cores.iter().map(|c| f(c).iter().map(|s| s.busy_until(self.end)).sum::<u64>()).sum();
            of(ticks, self.timing.costs.schedulers.max(1) as f64)
        };
        let tensor = of(sum(&|c| c.tensor.busy_until(self.end)), 1.0).max(lists(&|c| &c.matrix));
        let mut list = vec![
            ("tensor pipe", tensor),
            ("copy engine", of(sum(&|c| c.copy.busy_until(self.end)), 1.0)),
            ("shared memory", of(sum(&|c| c.shared.busy_until(self.end)), 1.0)),
            // The larger utilization of the two directions.
            ("L2 port", of(sum(&|c| c.l2.busy_until(self.end)).max(sum(&|c| c.requests.busy_until(self.end))), 1.0)),
            (
                "L2 slices",
                of(sum(&|c| c.slices.busy_until(self.end)).max(sum(&|c| c.writes.busy_until(self.end))), 1.0),
            ),
            ("DRAM share", of(sum(&|c| c.dram.busy_until(self.end)), 1.0)),
            ("issue slots", lists(&|c| &c.issue)),
            ("vector unit", lists(&|c| &c.vector)),
            ("tensor memory", of(sum(&|c| c.tmem.busy_until(self.end)), 1.0)),
        ];
        list.retain(|(_, f)| *f > 0.0);
        list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        list.into_iter().map(|(r, fraction)| Utilization { resource: r.to_string(), fraction }).collect()
    }

    /// The bottleneck in one sentence: a resource that is in use most of the time, else the longest wait of the busiest
    /// role.
    fn bottleneck(&self, uses: &[Utilization], roles: &[RoleTime], outcome: &Outcome) -> String {
        if *outcome != Outcome::Finished {
            return "the kernel did not finish".into();
        }
        if let Some(u) = uses.first()
            && u.fraction >= 0.85
        {
            let are = if u.resource.ends_with("slices") || u.resource.ends_with("slots") { "are" } else { "is" };
            return format!("{} {are} in use {:.0} % of the time", u.resource, u.fraction * 100.0);
        }
        // The role that multiplies, else the role that works most.
        let main = roles.iter().max_by(|a, b| {
            let work = |r: &RoleTime| r.work.values().sum::<f64>();
            let mma = |r: &RoleTime| r.work.get(&crate::timeline::Work::Mma).copied().unwrap_or(0.0);
            mma(a).total_cmp(&mma(b)).then(work(a).total_cmp(&work(b)))
        });
        let wait = main.and_then(|r| r.at.first().map(|at| (r, at)));
        let busiest = uses
            .first()
            .map(|u| format!("; the busiest resource, {}, is in use {:.0} %", u.resource, u.fraction * 100.0));
        match wait {
            Some((r, (site, stall, share))) if *share > 0.05 => {
                let line = self.prog.sites[*site as usize].line;
                format!(
                    "latency: {} waits {:.0} % of its time at line {line} ({}){}",
                    r.name,
                    share * 100.0,
                    words::wait(self.prog, *site, *stall),
                    busiest.unwrap_or_default()
                )
            }
            _ => format!("no single resource or wait{}", busiest.unwrap_or_default()),
        }
    }
}
