//! The diagnosis of a run in which no agent can proceed.

use std::collections::BTreeMap;

use crate::protocol::WaitTarget;
use crate::report::Waiting;
use crate::timeline::{Mark, SpanKind, Stall, TICKS, WAITS_FOR_EVER};

use super::record::{Links, Recorder};
use super::run::Engine;

impl Engine<'_> {
    /// The waiting agents, with target, start of the wait, and the event that would end it. Agents of one kind are
    /// listed once.
    pub(super) fn diagnose(&mut self) -> Vec<Waiting> {
        let mut list: Vec<Waiting> = Vec::new();
        // The hang is complete when the last agent has done everything that it could.
        let at = self.seats.iter().flat_map(|s| &s.runs).map(|run| run.upto).fold(self.end, u64::max);
        for s in 0..self.seats.len() {
            if let Some(w) = self.seats[s].world.as_mut() {
                w.missing_bytes();
                w.date_findings((at + self.skipped) as f64 / TICKS as f64);
            }
            self.keep_findings(s);
            let seat = &self.seats[s];
            let Some(w) = &seat.world else { continue };
            for (a, run) in seat.runs.iter().enumerate() {
                let Some((pc, _, on)) = run.waits else { continue };
                self.end = self.end.max(run.upto);
                let since = (run.upto + self.skipped) as f64 / TICKS as f64;
                let new = Waiting { since, ..w.waiting(a as u32, pc, on) };
                // Equal waits of several warps or of other resident CTAs share one line.
                if !list.iter().any(|x| x.site == new.site && x.waits_for == new.waits_for) {
                    list.push(new);
                }
            }
        }
        list
    }

    /// Draws the waits that never ended; in a hang (`hung`), also marks them. Returns the end of the drawn time, and
    /// the marks. A hang is drawn until what is under way has landed, and some time longer, so that the wait of the last
    /// agent is visible. This time is not part of any agent's accounted time.
    pub(super) fn draw_waits_for_ever(&mut self, hung: bool) -> (u64, Vec<Mark>) {
        let last = self.seats.iter().flat_map(|s| &s.runs).map(|run| run.upto).fold(self.end, u64::max);
        let landed = self.recorder.as_ref().filter(|_| hung).map_or(0, Recorder::upto);
        let end = if hung { last.max(landed) + last.max(landed) / 16 } else { last };
        let mut since: BTreeMap<u32, u64> = BTreeMap::new();
        let Some(r) = &mut self.recorder else { return (end + self.skipped, Vec::new()) };
        for seat in &self.seats {
            let Some(w) = &seat.world else { continue };
            for (a, run) in seat.runs.iter().enumerate() {
                let who = w.agents()[a];
                let (stall, wait) = match run.waits {
                    Some((pc, stall, on)) => (stall, Some((self.prog.at[pc as usize], on))),
                    // In a hang, an agent that waits for nothing has ended.
                    None if hung => (Stall::Ended, None),
                    None => continue,
                };
                let row = r.agent(seat.number * self.prog.cluster + who.cta, a as u32, who);
                let barrier =
                    if let Some((_, WaitTarget::Mbar(ix))) = wait { Some((ix, w.mbar_label(ix))) } else { None };
                let on = barrier.map(|(ix, (name, at))| r.barrier(seat.number * self.prog.cluster + at, ix, &name));
                let label = run.waits.map_or(String::new(), |(pc, _, on)| w.wait_label(a as u32, pc, on));
                let (site, links) = (wait.map(|(site, _)| site), Links { on, ..Links::default() });
                r.span(row, (run.upto, end), SpanKind::Stall(stall), site, label, links);
                if let Some(site) = site {
                    // One mark for each statement, at its latest wait.
                    let last = since.entry(site).or_default();
                    *last = run.upto.max(*last);
                }
            }
        }
        // Repetitions are skipped only behind the last span of a record.
        let mark = |(site, tick)| Mark { tick: tick + self.skipped, label: WAITS_FOR_EVER.to_string(), site };
        (end + self.skipped, if hung { since.into_iter().map(mark).collect() } else { Vec::new() })
    }
}
