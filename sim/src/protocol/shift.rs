//! Shifts of parts: by a number of periods, or from one agent to another.

use crate::ir::{Class, Instr};

use super::footprint::TileKey;
use super::mbarrier::Mbar;
use super::parts::{PartState, StatePart};
use super::stream::KINDS;
use super::vocabulary::AgentId;
use super::world::World;

/// The change of each counter of a world in one period of its main loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    vars: Vec<i64>,
    streams: Vec<i64>,
    mbars: Vec<i64>,
    /// Of the first phase since the newest `init`.
    firsts: Vec<i64>,
    meets: Vec<i64>,
    pieces: Vec<([i64; 2], i64)>,
}

impl World<'_> {
    /// The change of each counter since an earlier state of the same program.
    pub fn rates(&self, earlier: &World<'_>) -> Rates {
        let by = |now: u32, then: u32| now as i64 - then as i64;
        let each = self.memory.pieces().iter().zip(earlier.memory.pieces());
        let tiles = each.map(|(now, then)| match (now.holds, then.holds) {
            (Some(x), Some(y)) => [x.at[0] - y.at[0], x.at[1] - y.at[1]],
            _ => [0, 0],
        });
        Rates {
            vars: self.agents.all_vars().iter().zip(earlier.agents.all_vars()).map(|(now, then)| now - then).collect(),
            streams: self.streams.iter().zip(earlier.streams.iter()).map(|(s, t)| by(s.issued, t.issued)).collect(),
            mbars: self
                .mbars
                .iter()
                .zip(&earlier.mbars)
                .map(|(m, l)| by(m.hardware().phase, l.hardware().phase))
                .collect(),
            firsts: self
                .mbars
                .iter()
                .zip(&earlier.mbars)
                .map(|(m, l)| by(m.hardware().first, l.hardware().first))
                .collect(),
            meets: self
                .rendezvous
                .iter()
                .zip(&earlier.rendezvous)
                .map(|(m, l)| by(m.generation, l.generation))
                .collect(),
            pieces: tiles.zip(self.memory.words().iter().zip(earlier.memory.words()).map(|(m, l)| m - l)).collect(),
        }
    }

    /// The state of a part `periods` periods later.
    pub fn moved(&self, part: StatePart, held: &PartState, rates: &Rates, periods: i64) -> PartState {
        let add = |x: u32, by: i64| (x as i64 + by * periods) as u32;
        match (part, held) {
            (StatePart::Agent(a), PartState::Agent(x)) => {
                let mut x = x.clone();
                for (v, by) in x.vars.iter_mut().zip(&rates.vars[self.agents.frame_of(a)]) {
                    *v += by * periods;
                }
                // Groups are numbered by their stream, whichever agent owns the stream.
                let rate = |kind| rates.streams[self.stream_owner(a, kind) as usize * KINDS + kind as usize];
                for (kind, s) in x.streams.iter_mut().map(|(kind, s)| (*kind, s)) {
                    let by = rate(kind);
                    if self.stream_owner(a, kind) == a {
                        (s.issued, s.landed) = (add(s.issued, by), add(s.landed, by));
                    }
                    s.groups.iter_mut().for_each(|g| *g = add(*g, by));
                    s.flying.iter_mut().for_each(|f| f.0 = add(f.0, by));
                }
                if let Some((meet, g)) = &mut x.agent.waits_in {
                    *g = add(*g, rates.meets[*meet as usize]);
                }
                if let Some(g) = &mut x.agent.cluster_arrived {
                    *g = add(*g, rates.meets[self.prog.cluster as usize]);
                }
                for state in x.agent.states.iter_mut().flatten() {
                    state.phase = add(state.phase, rates.mbars[state.bar as usize]);
                }
                for f in &mut x.flights {
                    for (kind, seq) in &mut f.streams {
                        *seq = add(*seq, rate(*kind));
                    }
                    for (bar, _, phase) in &mut f.delivers {
                        *phase = add(*phase, rates.mbars[*bar as usize]);
                    }
                    for (p, v) in &mut f.posts {
                        *v += rates.pieces[*p].1 * periods;
                    }
                }
                PartState::Agent(x)
            }
            (StatePart::Mbar(ix), PartState::Mbar(m)) => {
                let (phase, first) = (add(m.phase, rates.mbars[ix as usize]), add(m.first, rates.firsts[ix as usize]));
                PartState::Mbar(Mbar { phase, first, ..m.clone() })
            }
            (StatePart::Rendezvous(ix), PartState::Rendezvous(g, arrived, needed, who)) => {
                PartState::Rendezvous(add(*g, rates.meets[ix as usize]), *arrived, *needed, who.clone())
            }
            (StatePart::Piece(p), PartState::Piece(holds, written, filling, mail)) => {
                let ([r, c], by) = rates.pieces[p as usize];
                let at = |k: TileKey| TileKey { at: [k.at[0] + r * periods, k.at[1] + c * periods], ..k };
                PartState::Piece(holds.map(at), *written, *filling, mail + by * periods)
            }
            _ => held.clone(),
        }
    }

    /// The state of an agent's part as another agent of the same text would have it. `pieces` are the registers of the
    /// two agents.
    pub fn renamed(&self, held: &PartState, (from, to): (AgentId, AgentId), pieces: (&[u32], &[u32])) -> PartState {
        let piece = |p: u32| pieces.0.iter().position(|q| *q == p).map_or(p, |i| pieces.1[i]);
        match held {
            PartState::Agent(x) => {
                let mut x = x.clone();
                for f in &mut x.flights {
                    f.agent = if f.agent == from { to } else { f.agent };
                    f.touches.iter_mut().for_each(|t| t.0 = piece(t.0));
                }
                PartState::Agent(x)
            }
            PartState::Piece(Some(k), written, filling, mail)
                if self.prog.objects[k.obj as usize].class == Class::Reg && k.at[0] == self.member(from) =>
            {
                let k = TileKey { at: [self.member(to), k.at[1]], ..*k };
                PartState::Piece(Some(k), *written, *filling, *mail)
            }
            _ => held.clone(),
        }
    }

    /// The number of periods that an agent's counters are past their start. `None` for an agent whose variables do not
    /// move or that is at its end.
    pub fn periods_of(&self, a: AgentId, held: &PartState, rates: &Rates) -> Option<i64> {
        let PartState::Agent(x) = held else { return None };
        if matches!(self.prog.code[x.agent.pc as usize], Instr::End) {
            return None;
        }
        let by = &rates.vars[self.agents.frame_of(a)];
        let past = x.vars.iter().zip(by).filter(|(_, by)| **by > 0).map(|(v, by)| v.div_euclid(*by));
        past.min()
    }
}
