//! Lags: the ticks from each input of an operation to each of its outcomes, found by probing the engine's timing.
//!
//! Every time that the timing returns is a maximum of sums, each of one input and a number. So an input that is far
//! later than all others shows its own numbers.

use crate::protocol::{AgentInfo, StepEffect};

use super::movement::Parts;
use super::server::Core;
use super::timing::{AgentTiming, Timing};

/// Ticks after one input, for each outcome: the agent continues, two landings, matrix results, then resources. `None`
/// where the outcome does not follow from the input.
#[derive(Clone, Debug, Default)]
pub(super) struct After {
    pub(super) end: Option<u64>,
    pub(super) lands: [Option<u64>; 2],
    pub(super) ready: Option<u64>,
    pub(super) served: Vec<Option<u64>>,
}

/// A resource that an operation uses.
#[derive(Clone, Debug)]
pub(super) struct Served {
    pub(super) number: u16,
    /// Ticks of the resource that the operation takes.
    pub(super) busy: u64,
    /// Lags after the resource becomes free.
    pub(super) from: After,
}

/// The lags of an operation.
#[derive(Clone, Debug)]
pub(super) struct Lags {
    pub(super) from_begin: After,
    pub(super) from_ready: After,
    pub(super) served: Vec<Served>,
    /// Whether the operation leaves matrix results in registers.
    pub(super) ready: bool,
}

/// One answer of the timing.
struct Times {
    end: u64,
    lands: [u64; 2],
    ready: u64,
    cores: [Core; 2],
}

/// An offset that makes an input far later than all others.
const LATE: u64 = 1 << 40;

/// The input that is late.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Late {
    None,
    Begin,
    Ready,
    Served(usize),
}

pub(super) struct Prober<'t> {
    timing: &'t Timing<'t>,
}

impl<'t> Prober<'t> {
    pub(super) fn new(timing: &'t Timing<'t>) -> Prober<'t> {
        Prober { timing }
    }

    /// The lags of an operation's effect; `woken` where the agent had to wait for the operation.
    pub(super) fn lags(&self, pc: u32, effect: &StepEffect, who: AgentInfo, woken: bool) -> Lags {
        let ask = |late| self.ask(pc, effect, who, woken, late);
        let mut idle = ask(Late::None);
        let used: Vec<(usize, u64)> = servers(&mut idle.cores).map(|s| s.1).enumerate().filter(|s| s.1 > 0).collect();
        let after = |late| {
            let mut times = ask(late);
            let behind = |t: u64| t.checked_sub(LATE);
            let all: Vec<u64> = servers(&mut times.cores).map(|s| s.0).collect();
            After {
                end: behind(times.end),
                lands: times.lands.map(behind),
                ready: behind(times.ready),
                served: used.iter().map(|(n, _)| behind(all[*n])).collect(),
            }
        };
        let served = used.iter().map(|&(n, busy)| Served { number: n as u16, busy, from: after(Late::Served(n)) });
        Lags {
            from_begin: after(Late::Begin),
            from_ready: after(Late::Ready),
            served: served.collect(),
            ready: idle.ready > 0,
        }
    }

    fn ask(&self, pc: u32, effect: &StepEffect, who: AgentInfo, woken: bool, late: Late) -> Times {
        let t = self.timing;
        let schedulers = t.costs.schedulers.max(1);
        let mut cores = [Core::new(schedulers), Core::new(schedulers)];
        if let Late::Served(n) = late
            && let Some(s) = cores.iter_mut().flat_map(Core::servers).nth(n)
        {
            s.free = LATE;
        }
        let at = |x: Late| if x == late { LATE } else { 0 };
        let seat = AgentTiming {
            scheduler: who.warp as usize % schedulers,
            matrix_ready: at(Late::Ready),
            added: 0,
            woken,
            wave: 0,
            cluster: 0,
        };
        let [core, peer] = &mut cores;
        let peer = (t.prog.cluster > 1).then_some(peer);
        let c = t.charge(pc, effect, at(Late::Begin), seat, core, peer);
        let mut end = c.end;
        match c.parts {
            Some(Parts::Load(mut load)) => {
                while load.left > 0 {
                    let (.., there) = t.load_batch(&mut load, end, seat, core);
                    end = t.load_store(&mut load, there, seat, core).1;
                }
            }
            Some(Parts::Store(mut store)) => {
                while store.left > 0 {
                    end = t.store_part(&mut store, end, seat, core).1;
                }
            }
            None => {}
        }
        let warp =
            matches!(effect, StepEffect::Mma(m) if m.flight.is_none() && m.acts && m.kind == crate::ir::MmaKind::Warp);
        Times { end, lands: c.lands, ready: if warp { c.lands[0] } else { 0 }, cores }
    }
}

/// For every resource, the tick at which it is free and the ticks that it has worked.
fn servers(cores: &mut [Core; 2]) -> impl Iterator<Item = (u64, u64)> {
    cores.iter_mut().flat_map(Core::servers).map(|s| (s.free, s.busy))
}
