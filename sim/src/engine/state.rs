//! The whole state of a run as numbers, for the detection of repetitions.

use super::movement::Parts;
use super::run::Engine;
use super::server::Core;

impl Engine<'_> {
    /// Every server of the simulated cores, in a fixed order.
    pub(super) fn servers(&mut self) -> impl Iterator<Item = &mut super::server::Server> {
        self.cores.iter_mut().flat_map(Core::servers)
    }

    /// The class of a wave, as it looks to the unit; 0 at core fidelity.
    fn kind(&self, wave: u32) -> u64 {
        self.timing.memory.as_ref().map_or(0, |m| m.kinds[wave as usize] as u64)
    }

    /// How many times the next `step` clusters can repeat the last ones: limited by the remaining clusters, by waves that
    /// look different, and by clusters of other routes.
    pub(super) fn alike(&self, step: usize) -> usize {
        let (step, left) = (step.max(1), self.todo.len());
        let next = self.routes.len().saturating_sub(left);
        let waves = self.timing.memory.as_ref().zip(self.todo.last()).map(|(m, next)| {
            let units = m.resident / self.seats.len() as i64;
            move |i: usize, back: usize| m.kinds.get(((next + (i as i64 - back as i64) * units) / m.resident) as usize)
        });
        let same = |i: &usize| {
            let routes =
                self.routes.is_empty() || next + i >= step && self.routes[next + i] == self.routes[next + i - step];
            routes && waves.as_ref().is_none_or(|kind| kind(*i, 0) == kind(*i, step))
        };
        (0..left).take_while(same).count() / step
    }

    /// The whole state relative to `now`, without the parts that no step depends on (tile coordinates, happens-before).
    pub(super) fn state(&self, now: u64) -> Vec<u64> {
        let mut out = self.times(now);
        for seat in &self.seats {
            match &seat.world {
                Some(w) => w.fingerprint(&mut out),
                None => out.push(u64::MAX),
            }
        }
        out
    }

    /// The state that events depend on beside the clusters' own: times relative to `now`, and who waits for what.
    pub(super) fn times(&self, now: u64) -> Vec<u64> {
        let mut out = Vec::new();
        for c in &self.cores {
            out.extend(c.ahead(now));
        }
        for q in self.queue.sorted() {
            let at = (q >> 64) as u64 - now;
            out.extend([at, q as u64]);
        }
        for seat in &self.seats {
            if seat.world.is_none() {
                out.push(u64::MAX);
                continue;
            }
            out.extend([self.kind(seat.wave), u64::from(seat.route)]);
            out.extend(seat.met.map_or([0, 0], |(t, _)| [1, now.wrapping_sub(t)]));
            for (r, landed) in seat.runs.iter().zip(&seat.landed) {
                out.extend([
                    now.wrapping_sub(r.upto),
                    r.loops as u64,
                    r.matrix_ready.saturating_sub(now),
                    r.added.saturating_sub(now),
                    r.fetching as u64,
                ]);
                out.push(r.waits.map_or(u64::MAX, |(pc, stall, _)| (pc as u64) << 8 | stall as u64));
                out.push(r.ended.map_or(u64::MAX, |t| now - t));
                match r.parts {
                    Some((Parts::Load(l), pc)) => out.extend([pc as u64, l.left as u64, l.flying as u64]),
                    Some((Parts::Store(l), pc)) => out.extend([pc as u64, l.left as u64]),
                    None => {}
                }
                out.extend(landed.iter().map(|t| t.saturating_sub(now)));
            }
            for list in &seat.waiters {
                out.push(list.len() as u64);
                out.extend(list.iter().map(|a| *a as u64));
            }
        }
        out
    }
}
