//! The operations in flight that an operation starts: when each lands, and what is drawn of each.

use crate::ir::{MmaKind, MoveKind, Op};
use crate::protocol::{AgentId, Footprint, StepEffect, StreamKind};
use crate::timeline::{Engine as EngineRow, SpanKind, Work};

use super::queue::EventKind;
use super::record::Links;
use super::run::Engine;
use super::timing::Charge;

impl Engine<'_> {
    pub(super) fn draw_phase(&mut self, s: usize, ix: u32, now: u64) {
        let seat = &mut self.seats[s];
        let (Some(w), Some(r)) = (&seat.world, &mut self.recorder) else { return };
        let m = w.mbar(ix);
        let drawn = &mut seat.phases[ix as usize];
        if m.phase + 1 > *drawn {
            *drawn = m.phase + 1;
            let (name, cta) = w.mbar_label(ix);
            r.phase(seat.number * self.prog.cluster + cta, ix, &name, m.phase, now);
        }
    }

    /// Schedules the landings of what an operation started, draws engines and slots, and counts matrix work. `label` is
    /// the operation's tile, `started_by` the span of its issue.
    pub(super) fn started(
        &mut self,
        s: usize,
        a: AgentId,
        pc: u32,
        effect: &StepEffect,
        c: &Charge,
        (label, started_by): (String, Option<u32>),
    ) {
        let now = c.start;
        let site = self.prog.at[pc as usize];
        let mut row = None;
        let mut fetch = false;
        let mut work = Work::Load;
        let mut bytes = 0;
        match effect {
            StepEffect::Move(m) => {
                bytes = m.global_bytes.max(0) as u64;
                row = match m.how {
                    MoveKind::TmaLoad | MoveKind::TmaStore => Some(EngineRow::Copy),
                    MoveKind::Ldg | MoveKind::CpAsync | MoveKind::LdsDma => Some(EngineRow::Loads),
                    _ => None,
                };
                fetch = m.how == MoveKind::Ldg;
                if m.how == MoveKind::TmaStore {
                    work = Work::Store;
                }
            }
            StepEffect::Mma(m) => {
                if m.acts {
                    self.flops += m.flops();
                    self.useful += m.flops() * super::whole::inside(self.prog, m.tiles);
                    self.steps.note(self.seats[s].number, a, pc, m.tiles, now);
                }
                if m.flight.is_some() {
                    row = Some(EngineRow::Tensor);
                    work = Work::Mma;
                } else if m.kind == MmaKind::Warp {
                    let run = &mut self.seats[s].runs[a as usize];
                    run.matrix_ready = run.matrix_ready.max(c.lands[0]);
                }
            }
            StepEffect::Alu { .. } => self.steps.note_alu(self.seats[s].number, a, pc, now),
            _ => {}
        }
        for (i, (f, at)) in effect.flights().into_iter().zip(c.lands).enumerate() {
            let seat = &mut self.seats[s];
            let Some(w) = seat.world.as_ref() else { return };
            // Operations of one stream land in the order in which they started.
            let stream = w.stream_of(f);
            let land = match stream {
                Some((owner, kind)) if kind != StreamKind::Scoreboard => {
                    let last = &mut seat.landed[owner as usize][kind as usize];
                    *last = (*last).max(at);
                    *last
                }
                _ => at,
            };
            let cta = seat.number * self.prog.cluster + w.agents()[a as usize].cta;
            let span = match (&mut self.recorder, row, i) {
                (Some(r), Some(engine), 0) => {
                    let row = r.engine(cta, engine);
                    let (from, to) = c.engine.unwrap_or((now, land));
                    let links = Links { started_by, bytes, ..Links::default() };
                    r.span(row, (from, to.max(from + 1)), SpanKind::Work(work), Some(site), label.clone(), links)
                }
                // A signal behind a stream arrives when all earlier operations of the stream have landed. Any other
                // signal arrives when it was sent.
                _ => match (effect, stream) {
                    (StepEffect::Signal { in_stream: true, .. }, Some((owner, kind))) => {
                        seat.drawn[owner as usize][kind as usize]
                    }
                    (StepEffect::Signal { in_stream: false, .. }, _) => started_by,
                    _ => None,
                },
            };
            if let (Some((owner, kind)), Some(_)) = (stream, span) {
                seat.drawn[owner as usize][kind as usize] = span;
            }
            if seat.flights.len() <= f as usize {
                seat.flights.resize(f as usize + 1, (None, false));
            }
            seat.flights[f as usize] = (span, fetch);
            if let (true, Some(flight)) = (fetch, w.flight(f)) {
                let starter = flight.agent as usize;
                seat.runs[starter].fetching += 1;
            }
            self.queue.push(land, EventKind::Land { seat: s as u32, flight: f });
        }
        if let (StepEffect::Move(m), true) = (effect, self.recorder.is_some())
            && let Some(footprint) = &m.fills
        {
            if c.parts.is_some() {
                self.seats[s].runs[a as usize].filling = Some((*footprint, label, now));
                return;
            }
            let full = if m.flights.is_empty() { c.end } else { c.lands[0] };
            self.draw_fill(s, footprint, label, now, full, site);
        }
    }

    pub(super) fn draw_fill(&mut self, s: usize, footprint: &Footprint, label: String, now: u64, full: u64, site: u32) {
        let seat = &self.seats[s];
        if let Some(r) = &mut self.recorder {
            r.fill(seat.number * self.prog.cluster + footprint.cta, footprint, label, now, full, site);
        }
    }

    /// The label of a synchronous load's tile; empty without a timeline.
    pub(super) fn loading(&self, s: usize, a: AgentId) -> String {
        self.seats[s].runs[a as usize].filling.as_ref().map_or(String::new(), |(_, tile, _)| tile.clone())
    }

    pub(super) fn label(&self, s: usize, op: &Op, effect: &StepEffect) -> String {
        if self.recorder.is_none() {
            return String::new();
        }
        // What a compiled kernel stores has no name, and its place has.
        if let Op::Move { how: MoveKind::Store, dst, .. } = op
            && self.prog.opaque_globals
        {
            return self.prog.objects[dst.obj as usize].name.clone();
        }
        let tile = match effect {
            StepEffect::Move(m) => m.tile,
            StepEffect::Mma(m) => m.tiles.0,
            _ => None,
        };
        match (&self.seats[s].world, tile) {
            (Some(w), Some(k)) => w.tile_name(&k),
            _ => String::new(),
        }
    }
}
