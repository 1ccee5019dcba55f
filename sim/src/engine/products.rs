//! The time of matrix products and vector arithmetic.

use std::ops::Range;

use crate::ir::{Instructions, MmaKind, Op};
use crate::protocol::MmaEffect;
use crate::timeline::{Stall, TICKS};

use super::server::Core;
use super::timing::{AgentTiming, Charge, Timing, ticks};

impl Timing<'_> {
    /// Performs `lanes` single-lane operations at the core's rate, of which a scheduler has its share.
    pub(super) fn compute(&self, core: &mut Core, seat: AgentTiming, at: u64, lane_ops: f64, each: f64) -> (u64, u64) {
        let c = &self.costs;
        core.matrix[seat.scheduler].hold(at, ticks(lane_ops / c.warp_size.max(1) as f64 * c.beside));
        core.vector[seat.scheduler].serve(at, ticks(lane_ops * each * c.schedulers as f64))
    }

    pub(super) fn vector(&self, op: &Op, count: i64, now: u64, seat: AgentTiming, core: &mut Core) -> Charge {
        let Op::Alu { unit, reads, mix, .. } = op else { return Charge::default() };
        let c = &self.costs;
        if let Some(mix) = mix {
            return self.mixed(*mix, now.max(seat.matrix_ready), seat, core);
        }
        let rate = match unit.as_str() {
            "exp" => c.exp,
            "int" => c.int,
            _ => c.fma,
        };
        let ready = if reads.is_empty() { now } else { now.max(seat.matrix_ready) };
        let (start, end) = self.compute(core, seat, ready, count as f64, rate);
        let queued = if ready > now { Stall::Tensor } else { Stall::Alu };
        Charge { start, queued: Some(queued), end, ..Charge::default() }
    }

    /// Instructions of a warp for several units: each unit works at its rate, a scheduler issues one instruction a
    /// cycle, and dependent instructions wait for each other.
    fn mixed(&self, mix: Instructions, now: u64, seat: AgentTiming, core: &mut Core) -> Charge {
        let c = &self.costs;
        let lanes = (c.warp_size as usize * c.schedulers) as f64;
        let all = f64::from(mix.int + mix.fma + mix.special);
        core.matrix[seat.scheduler].hold(now, ticks(all * c.beside));
        let (start, mut end) = core.issue[seat.scheduler].serve(now, ticks(all * TICKS as f64));
        // Integer additions alone, such as addresses: beside a product the hardware does 0.43 a cycle of a scheduler,
        // which is close to `alu.int_per_clk`, and 0.98 without (calibrate/data/h100_arith.csv).
        let addresses = mix.fma + mix.special == 0;
        let integer = if addresses { 1.0 } else { c.wgmma_arithmetic };
        if mix.int > 0 {
            core.addresses[seat.scheduler] = addresses;
        }
        let units = [(mix.int, c.int, integer), (mix.fma, c.fma, c.wgmma_fma), (mix.special, c.exp, c.wgmma_special)];
        let times = units.map(|(n, each, _)| ticks(f64::from(n) * lanes * each));
        for ((unit, time), (.., rate)) in core.units[seat.scheduler].iter_mut().zip(times).zip(units) {
            if time > 0 {
                let from = unit.free.max(start);
                let time = beside(time, core.tensor.free.saturating_sub(from), rate);
                end = end.max(unit.serve(start, time).1);
            }
        }
        core.vector[seat.scheduler].busy += times.into_iter().max().unwrap_or(0);
        let end = end.max(start + ticks(f64::from(mix.chain) * c.latency));
        Charge { start, queued: Some(Stall::Issue), end, ..Charge::default() }
    }

    pub(super) fn matrix(
        &self,
        m: &MmaEffect,
        now: u64,
        seat: AgentTiming,
        core: &mut Core,
        peer: Option<&mut Core>,
    ) -> Charge {
        let c = &self.costs;
        // Depth of one instruction: 32 bytes of each operand row.
        let steps = (m.k * m.bits as i64 / 8) as f64 / 32.0;
        match m.kind {
            MmaKind::Warp => {
                let (wm, wn, wk) = (c.warp_m.max(1), c.warp_n.max(1), c.warp_k_bytes.max(1));
                let up = |x: i64, y: i64| (x + y - 1) / y;
                let n = (up(m.m, wm) * up(m.n, wn) * up(m.k * m.bits as i64 / 8, wk)) as f64;
                // Operands in shared memory pass its port; the latency of the first fragment is exposed.
                let (ready, port) = if m.shared_bytes > 0 {
                    let (_, done) = core.shared.serve(now, ticks(m.shared_bytes as f64 * c.shared_byte));
                    (now + ticks(c.shared_latency), done)
                } else {
                    (now, now)
                };
                let (start, done) = core.matrix[seat.scheduler].serve(ready, ticks(n * c.warp_interval));
                let queued = if start > ready { Stall::Tensor } else { Stall::Shared };
                let tail = ticks((c.warp_latency - c.warp_interval).max(0.0));
                let end = done.max(port);
                Charge { start, queued: Some(queued), end, lands: [end + tail, end + tail], ..Charge::default() }
            }
            MmaKind::Wgmma => {
                let issued = ticks(steps.ceil() * (m.m as f64 / 64.0).ceil() * c.issue_mma);
                let (start, end) = core.issue[seat.scheduler].serve(now, issued);
                let mut charge = Charge { start, queued: Some(Stall::Issue), end, ..Charge::default() };
                if m.flight.is_some() {
                    // m64nNk16: N/2 cycles at 4096 FLOP a cycle, or its operands through shared memory (docs/rules.md 44).
                    let flop = (m.m.max(64) * m.n) as f64 * steps * 32.0;
                    let bytes = self.group_bytes(m, steps);
                    let (begun, done) =
                        core.tensor.serve(start, ticks((flop * c.tensor_flop).max(bytes / 128.0 * TICKS as f64)));
                    slow(core, begun..done, [c.wgmma_arithmetic, c.wgmma_fma, c.wgmma_special]);
                    charge.engine = Some((begun, done));
                    charge.lands = [done + ticks(c.wgmma_latency); 2];
                    // The operands pass the port of shared memory, with the data of loads and stores.
                    if self.prog.opaque_globals {
                        core.shared.serve(start, ticks(bytes * c.shared_byte));
                    }
                }
                charge
            }
            MmaKind::Umma | MmaKind::UmmaPair => {
                let (start, end) = core.issue[seat.scheduler].serve(now, ticks(steps.ceil().max(1.0) * c.issue_umma));
                // docs/rules.md 45: cN cycles for each step, with c = 1/2, or c = 1/4 for a pair with 64 rows each. The
                // operand bytes that a CTA reads, 128 per cycle, are another bound.
                let pair = m.kind == MmaKind::UmmaPair;
                let rows = (m.m as f64 / 128.0).max(1.0);
                let c_n = if pair && m.m <= 128 {
                    0.25
                } else if pair {
                    0.25 * rows
                } else {
                    0.5 * rows.ceil()
                };
                // The rule holds for 8192 FLOP per cycle and scales with the rate.
                let scale = c.tensor_flop * 8192.0 / TICKS as f64;
                let cycles = (c_n * m.n as f64 * steps * scale).max(m.shared_bytes as f64 / 128.0);
                let at = start;
                let (mut begun, mut done) = core.tensor.serve(at, ticks(cycles * TICKS as f64));
                if let (true, Some(peer)) = (pair, peer) {
                    let (b, d) = peer.tensor.serve(begun, ticks(cycles * TICKS as f64));
                    (begun, done) = (begun.max(b), done.max(d));
                }
                // The measured latency ends when a waiter has seen the commit. The wait's wake latency is charged to
                // the waiter, so it is subtracted here.
                let behind = (if pair { c.umma_pair_latency } else { c.umma_latency } - c.mbar_wake).max(0.0);
                Charge {
                    start,
                    queued: Some(Stall::Issue),
                    end,
                    lands: [done + ticks(behind); 2],
                    engine: Some((begun, done)),
                    ..Charge::default()
                }
            }
        }
    }

    /// Operand bytes of one warpgroup instruction: B is read again for every 64 rows.
    fn group_bytes(&self, m: &MmaEffect, steps: f64) -> f64 {
        let depth = steps * 32.0;
        let groups = (m.m as f64 / 64.0).ceil();
        let b = m.n as f64 * depth;
        let a = (m.shared_bytes as f64 - b).max(0.0);
        a + groups * b
    }
}

/// The ticks that work of `ticks` takes where a product occupies the tensor pipe for the first `busy` of them. The product's
/// accumulators and the operands of other warps share the register file, which leaves the other warps this rate
/// (calibrate/probes/arith.cu).
fn beside(ticks: u64, busy: u64, rate: f64) -> u64 {
    let done = busy as f64 * rate;
    if ticks as f64 <= done { (ticks as f64 / rate).ceil() as u64 } else { ticks + (busy as f64 - done).ceil() as u64 }
}

/// Slows arithmetic that is in progress when a product begins, as if it had begun during the product. `rates` are those of
/// the three units. The end that its warp was given stays; instructions behind it on the same unit wait.
fn slow(core: &mut Core, product: Range<u64>, rates: [f64; 3]) {
    for (units, addresses) in core.units.iter_mut().zip(&core.addresses) {
        for (n, unit) in units.iter_mut().enumerate() {
            let rate = if n == 0 && *addresses { 1.0 } else { rates[n] };
            let left = unit.free.saturating_sub(product.start);
            unit.free += beside(left, product.end - product.start, rate) - left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{beside, slow};
    use crate::engine::server::Core;

    #[test]
    fn arithmetic_is_slow_as_long_as_a_product_works() {
        assert_eq!(
            [beside(100, 0, 0.5), beside(100, 80, 0.5), beside(100, 400, 0.5), beside(100, 80, 1.0)],
            [100, 140, 200, 100]
        );
    }

    #[test]
    fn arithmetic_that_already_runs_is_slow_from_the_begin_of_a_product() {
        let mut core = Core::new(1);
        core.addresses[0] = false;
        core.units[0].iter_mut().for_each(|unit| _ = unit.serve(0, 100));
        // 40 of 100 ticks are left. In the 20 ticks of the product, the units do 10, 5 and 20 of them.
        slow(&mut core, 60..80, [0.5, 0.25, 1.0]);
        assert_eq!(core.units[0].clone().map(|unit| unit.free), [110, 115, 100]);
        // Addresses are as fast as without a product. A product behind the end of all work slows nothing.
        core.addresses[0] = true;
        slow(&mut core, 105..145, [0.5, 0.25, 1.0]);
        assert_eq!(core.units[0].clone().map(|unit| unit.free), [110, 145, 100]);
        slow(&mut core, 200..300, [0.5, 0.25, 1.0]);
        assert_eq!(core.units[0].clone().map(|unit| unit.free), [110, 145, 100]);
    }
}
