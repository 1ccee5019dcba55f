//! The steps of each operation in the model: a table of operations, independent of that in `warpline_sim::protocol`.

use std::collections::BTreeMap;

use warpline_sim::ir::{BarrierCta, MoveKind, Op, Phase, Program, Queue, Stages};
use warpline_sim::protocol::{AgentInfo, Rules};
use warpline_sim::timeline::Lanes;

use super::Inexpressible;
use super::moves::stream;
use super::place::{Held, Piece, Tile};
use super::walk::Walker;

/// Reads, with the tiles that they expect, and writes, with the tiles that they leave.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Touch {
    pub(super) reads: Vec<(Piece, Option<Tile>)>,
    pub(super) writes: Vec<(Piece, Option<Tile>)>,
}

/// An operation in flight, which ends after earlier ones of its queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Flight {
    pub(super) touch: Touch,
    /// Deliveries, as barrier and bytes.
    pub(super) delivers: Vec<(usize, i64)>,
    /// Arrivals, as barrier, count, and bytes expected with them.
    pub(super) arrives: Vec<(usize, i64, i64)>,
}

/// The queue of a flight; flights of one queue end in order. Copies to one place, and arrivals at one barrier, have a
/// queue for each place. Two of these in flight at once are a race or interchangeable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// A stream of an agent, or of the first agent of a warpgroup.
    Stream(usize, &'static str),
    /// Copies of an agent into one place.
    Copy(usize, Vec<Piece>),
    /// Arrivals of an agent at barriers of another CTA.
    Remote(usize, Vec<usize>),
}

/// A rendezvous: its kind and numbers.
pub(super) type Rendezvous = (&'static str, u32, u32);

/// A step of an agent.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Accesses that begin and end in one step.
    Touch(Touch),
    /// Starts the flight with this number in its queue.
    Start(Key, usize),
    /// Waits until this number of flights of the queue have ended.
    Ended(Key, usize),
    Init(usize, i64),
    Inval(usize),
    /// Arrives, after expecting bytes.
    Arrive(usize, i64, i64),
    /// Adds arrivals to the pending count (`cp.arrive` without `noinc`).
    Owe(usize, i64),
    Expect(usize, i64),
    Wait(usize, Phase, i64),
    /// Arrives with a weight out of a total, and waits if the flag is set.
    Rendezvous(Rendezvous, u32, u32, bool),
    /// Arrives, and starts the flight if the arrival is the last.
    Join(Rendezvous, u32, Key, usize),
    RendezvousWait(Rendezvous),
}

/// The steps of all agents.
pub(super) struct Steps<'p> {
    pub(super) prog: &'p Program,
    pub(super) rules: Rules,
    pub(super) who: Vec<AgentInfo>,
    /// Steps by agent, each with its instruction.
    pub(super) of: Vec<Vec<(u32, Step)>>,
    pub(super) queues: BTreeMap<Key, Vec<(u32, Flight)>>,
    pub(super) held: Held,
    /// Committed flights of each group, by agent and stream.
    pub(super) groups: BTreeMap<(usize, &'static str), Vec<usize>>,
    /// Number of machine instructions up to each flight of a counted stream.
    pub(super) counted: BTreeMap<(usize, &'static str), Vec<i64>>,
    pub(super) joined: BTreeMap<usize, usize>,
}

impl<'p> Steps<'p> {
    /// Computes the steps, agent by agent.
    pub(super) fn new(prog: &'p Program, rules: Rules) -> Result<Steps<'p>, Inexpressible> {
        let who = super::walk::all(prog);
        let mut s = Steps {
            prog,
            rules,
            of: vec![Vec::new(); who.len()],
            who,
            queues: BTreeMap::new(),
            held: Held::new(),
            groups: BTreeMap::new(),
            counted: BTreeMap::new(),
            joined: BTreeMap::new(),
        };
        for a in 0..s.who.len() {
            Walker::walk(prog, s.who[a], &mut |w, pc, op, elected| s.step(a, w, pc, op, elected))?;
        }
        Ok(s)
    }

    /// The barrier's index: declaration, CTA, stage.
    pub(super) fn bar(&self, decl: u16, cta: u32, stage: i64) -> usize {
        let before: u32 = self.prog.mbars[..decl as usize].iter().map(|b| b.stages * self.prog.cluster).sum();
        (before + cta * self.prog.mbars[decl as usize].stages) as usize + stage as usize
    }

    pub(super) fn add(&mut self, a: usize, pc: u32, step: Step) {
        self.of[a].push((pc, step));
    }

    pub(super) fn start(&mut self, a: usize, pc: u32, key: Key, flight: Flight) -> usize {
        let queue = self.queues.entry(key.clone()).or_default();
        queue.push((pc, flight));
        let n = queue.len();
        self.add(a, pc, Step::Start(key, n));
        n
    }

    fn step(&mut self, a: usize, w: &Walker<'p>, pc: u32, op: &'p Op, elected: bool) -> Result<(), Inexpressible> {
        let me = self.who[a];
        let split = me.lanes.is_some() && !elected;
        let rest = me.lanes != Some(Lanes::Elected);
        let value = |e| w.value(e).ok_or_else(|| w.no(pc, "an expression has no value here"));
        let size = self.rules.warp_size as i64;
        let lanes = match me.lanes {
            _ if elected => 1,
            None => size,
            Some(Lanes::Elected) => 1,
            Some(Lanes::Rest) => size - 1,
        };
        let warp = ("warp", me.cta, me.warp);
        match op {
            Op::Move { how, .. } => {
                if split && matches!(how, MoveKind::TmemLd | MoveKind::TmemSt) {
                    self.add(a, pc, Step::Rendezvous(warp, 1, 2, true));
                }
                let own = matches!(how, MoveKind::TmaLoad | MoveKind::TmaStore);
                if split && !rest && !own { Ok(()) } else { self.moved(a, w, pc, op) }
            }
            Op::Mma { kind, a: x, b: y, acc } => self.multiplied(a, w, pc, (*kind, x, y, acc), split),
            Op::Alu { reads, writes, .. } if !split || rest => {
                let mut t = Touch::default();
                for p in reads {
                    self.reads(&mut t, w, pc, p, &w.rect(pc, p, 0)?, false)?;
                }
                for p in writes {
                    self.writes(&mut t, w, &w.rect(pc, p, 0)?, None);
                }
                self.add(a, pc, Step::Touch(t));
                Ok(())
            }
            Op::Commit(q) => {
                let name = stream(*q);
                let n = self.issued(a, name);
                self.groups.entry((a, name)).or_default().push(n);
                if *q == Queue::Bulk {
                    let n = self.issued(a, "bulk_read");
                    self.groups.entry((a, "bulk_read")).or_default().push(n);
                }
                Ok(())
            }
            Op::Wait(q, n) => {
                let (name, n) = (stream(*q), value(n)?.max(0) as usize);
                let owner = self.owner(a, name);
                let upto = match q {
                    Queue::Cp | Queue::Wgmma | Queue::Bulk | Queue::BulkRead => {
                        let g = self.groups.get(&(a, name)).map_or(&[][..], Vec::as_slice);
                        g.len().checked_sub(n + 1).map_or(0, |i| g[i])
                    }
                    _ => {
                        let all = self.counted.get(&(owner, name)).map_or(&[][..], Vec::as_slice);
                        let known = all.last().unwrap_or(&0) - n as i64;
                        all.iter().filter(|c| **c <= known).count()
                    }
                };
                if upto > 0 {
                    self.add(a, pc, Step::Ended(Key::Stream(owner, name), upto));
                }
                Ok(())
            }
            Op::CommitUmma(bars) => {
                let mut flight = Flight::default();
                for b in bars {
                    flight.arrives.extend(self.bars(w, pc, b)?.into_iter().map(|b| (b, 1, 0)));
                }
                self.start(a, pc, Key::Stream(a, "tensor"), flight);
                Ok(())
            }
            Op::CpArrive { bar, noinc } => {
                let b = self.bars(w, pc, bar)?[0];
                if !noinc {
                    self.add(a, pc, Step::Owe(b, lanes));
                }
                self.start(a, pc, Key::Stream(a, "cp"), Flight { arrives: vec![(b, lanes, 0)], ..Flight::default() });
                Ok(())
            }
            Op::Init(list) | Op::Inval(list) => {
                for Stages { bar, stage } in list {
                    let decl = &self.prog.mbars[*bar as usize];
                    let stages = match stage {
                        Some(e) => value(e).map(|s| s..s + 1)?,
                        None => 0..decl.stages as i64,
                    };
                    for s in stages {
                        let b = self.bar(*bar, me.cta, s);
                        let init = matches!(op, Op::Init(_));
                        self.add(a, pc, if init { Step::Init(b, decl.count as i64) } else { Step::Inval(b) });
                    }
                }
                Ok(())
            }
            Op::Arrive { drop: true, .. } | Op::Arrive { state: Some(_), .. } => {
                Err(w.no(pc, "arrivals that return a state or are dropped are not exported"))
            }
            Op::Arrive { bar, per, count, expect, .. } => {
                if split && w.in_step(*per) {
                    self.add(a, pc, Step::Rendezvous(warp, 1, 2, true));
                }
                let count = value(count)? * self.times(a, *per, lanes);
                if count == 0 {
                    return Ok(());
                }
                let bytes = expect.as_ref().map_or(Ok(0), value)?;
                let bars = self.bars(w, pc, bar)?;
                let own = self.bar(bar.bar, me.cta, 0)..self.bar(bar.bar, me.cta + 1, 0);
                let near = |b: &usize| own.contains(b) && !matches!(bar.at, BarrierCta::Ctas(_));
                let (near, far): (Vec<usize>, Vec<usize>) = bars.into_iter().partition(near);
                near.into_iter().for_each(|b| self.add(a, pc, Step::Arrive(b, count, bytes)));
                if !far.is_empty() {
                    let arrives = far.iter().map(|b| (*b, count, bytes)).collect();
                    self.start(a, pc, Key::Remote(a, far), Flight { arrives, ..Flight::default() });
                }
                Ok(())
            }
            Op::Expect { bar, bytes } => {
                let bytes = value(bytes)?;
                self.bars(w, pc, bar)?.into_iter().for_each(|b| self.add(a, pc, Step::Expect(b, bytes)));
                Ok(())
            }
            Op::MbarWait { bar, phase } => {
                let b = self.bars(w, pc, bar)?[0];
                let n = match phase {
                    Phase::Absolute(e) | Phase::Parity(e) => value(e)?,
                    Phase::State(_) => return Err(w.no(pc, "waits for states are not exported")),
                };
                self.add(a, pc, Step::Wait(b, phase.clone(), n));
                Ok(())
            }
            Op::Barrier(_) => {
                let all = self.who.iter().filter(|x| x.cta == me.cta).count() as u32;
                self.add(a, pc, Step::Rendezvous(("cta", me.cta, 0), 1, all, true));
                Ok(())
            }
            Op::Named { bar, index, threads, sync } => {
                let (index, threads) = (value(index)?, value(threads)?);
                let decl = &self.prog.named[*bar as usize];
                if !(0..decl.len as i64).contains(&index) || threads <= 0 || threads % size != 0 {
                    return Err(w.no(pc, "a numbered barrier is used outside its range"));
                }
                let weight = if split { lanes } else { size } as u32;
                let ix = decl.first * 64 + index as u32;
                self.add(a, pc, Step::Rendezvous(("named", me.cta, ix), weight, threads as u32, *sync));
                Ok(())
            }
            Op::WarpSync | Op::Elect | Op::TmemAlloc { .. } | Op::TmemDealloc { .. } => {
                if me.lanes.is_some() {
                    self.add(a, pc, Step::Rendezvous(warp, 1, 2, true));
                }
                Ok(())
            }
            Op::ClusterArrive { .. } => {
                let all = self.who.len() as u32;
                self.add(a, pc, Step::Rendezvous(("cluster", 0, 0), 1, all, false));
                Ok(())
            }
            Op::ClusterWait => {
                self.add(a, pc, Step::RendezvousWait(("cluster", 0, 0)));
                Ok(())
            }
            Op::Put { .. } | Op::Get { .. } | Op::NextTile { .. } | Op::Counter { .. } => {
                Err(w.no(pc, "values that roles exchange through memory decide control flow, which a straight-line model cannot follow"))
            }
            Op::Alu { .. } | Op::Zero(_) | Op::Fence(_) | Op::Regs { .. } | Op::GridWait => Ok(()),
        }
    }
}
