//! The table of moves: outcomes of moves by the contents of the parts that they depend on.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use warpline_sim::ir::{Class, Instr, MmaKind, MoveKind, Op, Program, Waits};
use warpline_sim::protocol::{AgentId, PartState, Rules, StatePart, World};

use super::Stop;
use super::cells::{Cells, Id, Plan};
use super::kinds::{Action, ActionKind, Bits, CellFacts, Group, Maker, NOBODY, OWN, Outcome, Writer, maker};
use super::trips::Texts;

pub(super) struct Tables<'t> {
    pub(super) texts: &'t Texts,
    fresh: Vec<Option<(World<'t>, World<'t>)>>,
    /// The world for everything that does not depend on the trip count.
    pub(super) any: World<'t>,
    rules: Rules,
    cluster: i64,
    pub(super) cells: Cells,
    /// Sets of possible trip counts, as least and most.
    pub(super) tapes: Vec<(i64, i64)>,
    tape_ids: FxHashMap<(i64, i64), Id>,
    /// For each first agent of a class and content of its cell: one more than the index in `known`.
    places: Vec<Vec<u32>>,
    pub(super) known: Vec<CellFacts>,
    groups: Vec<Group>,
    /// Whether the content was checked to behave the same one period later.
    carried: Vec<bool>,
    lists: Vec<Vec<(u32, bool)>>,
    bits: Vec<Bits>,
    list_ids: FxHashMap<Vec<(u32, bool)>, u16>,
    /// Pieces that only one agent accesses, in order.
    pub(super) private: Vec<bool>,
    /// Agents whose part others read or change.
    pub(super) shared: Vec<bool>,
    /// For each mbarrier, its writers.
    pub(super) writer: Vec<Writer>,
    pub(super) checked: bool,
}

impl<'t> Tables<'t> {
    pub(super) fn new(
        texts: &'t Texts,
        (rules, cluster): (Rules, i64),
        plan: &Plan,
        checked: bool,
    ) -> Result<Tables<'t>, Stop> {
        let none = || Stop::Unfit("the kernel refuses its steps".into());
        let prog = texts.program(texts.any()).ok_or_else(none)?;
        let world = World::bare(prog, rules, cluster);
        let cells = Cells::new(plan, &world);
        let mut private = vec![false; world.parts().iter().filter(|p| matches!(p, StatePart::Piece(_))).count()];
        for (a, who) in (0..).zip(world.agents()) {
            if who.lanes.is_none() && registers_are_private(prog) {
                world.registers_of(a).iter().for_each(|p| private[*p as usize] = true);
            }
        }
        let places = cells.first.iter().map(|_| Vec::new()).collect();
        let bars = world.parts().iter().filter(|p| matches!(p, StatePart::Mbar(_))).count();
        let writer =
            (0..bars).map(|bar| if plan.written.contains(&(bar as u32)) { Writer::Many } else { Writer::None });
        let writer = writer.collect();
        let shared = (0..cells.first.len()).map(|a| plan.shared.contains(&(a as AgentId))).collect();
        Ok(Tables {
            texts,
            fresh: (0..texts.len()).map(|_| None).collect(),
            any: world,
            rules,
            cluster,
            cells,
            tapes: Vec::new(),
            tape_ids: FxHashMap::default(),
            places,
            known: Vec::new(),
            groups: Vec::new(),
            carried: Vec::new(),
            lists: vec![Vec::new()],
            bits: vec![Bits::default()],
            list_ids: [(Vec::new(), 0)].into_iter().collect(),
            private,
            shared,
            writer,
            checked,
        })
    }

    pub(super) fn agents(&self) -> AgentId {
        self.cells.first.len() as AgentId
    }

    /// A world before its first step, for use by one move. It is not called for a text that is refused.
    pub(super) fn world(&mut self, text: usize) -> &mut World<'t> {
        let (texts, rules, cluster, any) = (self.texts, self.rules, self.cluster, &self.any);
        let made = || texts.program(text).map_or_else(|| any.clone(), |p| World::bare(p, rules, cluster));
        let (fresh, used) = self.fresh[text].get_or_insert_with(|| {
            let fresh = made();
            (fresh.clone(), fresh)
        });
        used.refresh(fresh);
        used
    }

    /// [`Self::world`], and the private pieces.
    pub(super) fn world_and_private(&mut self, text: usize) -> (&mut World<'t>, &[bool]) {
        self.world(text);
        let used = self.fresh[text].as_mut().map(|(_, used)| used);
        (used.expect("just made"), &self.private)
    }

    pub(super) fn tape(&mut self, of: (i64, i64)) -> Result<Id, Stop> {
        if let Some(id) = self.tape_ids.get(&of) {
            return Ok(*id);
        }
        let id = Id::try_from(self.tapes.len()).map_err(|_| Stop::TooMany)?;
        self.tapes.push(of);
        self.tape_ids.insert(of, id);
        Ok(id)
    }

    /// The states before the first move, one for each set of trip counts that cannot be distinguished yet.
    pub(super) fn start(&mut self) -> Result<Vec<Vec<Id>>, Stop> {
        let (to, open) = match &self.texts.every {
            Some(e) => (e.far, true),
            None => (0, false),
        };
        let mut list: Vec<((i64, i64), Vec<PartState>)> = Vec::new();
        for n in (0..=to).filter(|n| self.texts.takes(*n)).collect::<Vec<_>>() {
            let text = self.texts.at(n);
            let mut w = self.world(text).clone();
            // Without iterations, a warp may have no `elect:` block that splits it.
            if w.agents().len() != self.cells.first.len() {
                return Err(Stop::Unfit("in some trip counts only, a warp is two agents".into()));
            }
            for a in 0..w.agents().len() as AgentId {
                if !w.settle(a, &mut ()) {
                    return Err(Stop::Unfit("a number has no meaning before the first operation".into()));
                }
            }
            let held: Vec<PartState> = self.cells.parts.iter().map(|p| w.part(*p)).collect();
            match list.last_mut() {
                Some((tape, last)) if *last == held => tape.1 = n,
                _ => list.push(((n, n), held)),
            }
        }
        if open && let Some((tape, _)) = list.last_mut() {
            tape.1 = i64::MAX;
        }
        let mut states = Vec::new();
        for (tape, held) in list {
            let mut row = vec![self.tape(tape)?];
            for (cell, h) in held.iter().enumerate() {
                let h = match self.cells.parts[cell] {
                    StatePart::Agent(a) => self.cells.renamed(&self.any, h, (a, self.cells.first[a as usize])),
                    _ => h.clone(),
                };
                row.push(self.cells.id(cell as u16, &h)?);
            }
            states.push(row);
        }
        Ok(states)
    }

    /// The index of the facts about an agent's cell.
    pub(super) fn place(&mut self, a: AgentId, row: &[Id]) -> Result<usize, Stop> {
        let first = self.cells.first[a as usize];
        let id = row[1 + self.cells.agent[a as usize] as usize] as usize;
        match self.places[first as usize].get(id) {
            Some(k) if *k > 0 => Ok(*k as usize - 1),
            _ => {
                let known = self.know(first, id as Id)?;
                self.known.push(known);
                let places = &mut self.places[first as usize];
                places.resize(places.len().max(id + 1), 0);
                places[id] = self.known.len() as u32;
                Ok(self.known.len() - 1)
            }
        }
    }

    fn know(&mut self, a: AgentId, id: Id) -> Result<CellFacts, Stop> {
        let cell = self.cells.agent[a as usize];
        let held = self.cells.held(cell, id).clone();
        let any = self.texts.any();
        let w = self.world(any);
        w.put(StatePart::Agent(a), &held);
        let ids = w.flights_of(a);
        let arrives = w.arrives_next(a);
        let by = |f| w.stream_of(f).map_or(NOBODY, |(owner, kind)| maker(owner, Some(kind)));
        let makers: Vec<Maker> = ids.iter().map(|f| by(*f)).collect();
        let may = |(i, f): (usize, &_)| w.may_land(*f).then_some(ActionKind::Land(i as u16));
        let landings: Vec<ActionKind> = ids.iter().enumerate().filter_map(may).collect();
        let mut flights = SmallVec::new();
        for (by, (pc, touches)) in makers.into_iter().zip(held.under_way()) {
            if !touches.is_empty() {
                flights.push((by, self.list(touches)?, pc));
            }
        }
        let actions =
            std::iter::once(ActionKind::Step).chain(landings).map(|what| Action { what, nodes: SmallVec::new() });
        let meets = self.texts.meets(held.pc().unwrap_or(0));
        let progress = self.texts.every.as_ref().and_then(|e| self.any.periods_of(a, &held, &e.rates));
        Ok(CellFacts { actions: actions.collect(), flights, meets, arrives, progress })
    }

    pub(super) fn list(&mut self, touches: &[(u32, bool)]) -> Result<u16, Stop> {
        if let Some(id) = self.list_ids.get(touches) {
            return Ok(*id);
        }
        let id = u16::try_from(self.lists.len()).map_err(|_| Stop::TooMany)?;
        self.lists.push(touches.to_vec());
        self.bits.push(Bits::of(touches));
        self.list_ids.insert(touches.to_vec(), id);
        Ok(id)
    }

    pub(super) fn bits(&self, list: u16) -> Bits {
        self.bits[list as usize]
    }

    /// Whether two lists share a piece that one of them writes.
    pub(super) fn conflict(&self, x: u16, y: u16) -> bool {
        let (p, q) = (&self.lists[x as usize], &self.lists[y as usize]);
        self.bits(x).may_conflict(self.bits(y)) && p.iter().any(|(p, w)| q.iter().any(|(q, v)| p == q && (*w || *v)))
    }

    /// The content of a cell one period earlier.
    pub(super) fn back(&mut self, cell: u16, id: Id) -> Result<Id, Stop> {
        let Tables { texts, any: w, cells, .. } = self;
        let Some(e) = &texts.every else { return Ok(id) };
        cells.back(cell, id, |part, held| w.moved(part, held, &e.rates, -1))
    }

    fn cell(&self, a: AgentId, r: u16) -> u16 {
        if r & OWN == 0 { r } else { self.cells.own[a as usize][(r & !OWN) as usize] }
    }

    /// The outcomes of a move in a state; `k` is the index of the facts about the agent's cell. `steady` says that the
    /// state must behave the same one period later.
    pub(super) fn outcomes(
        &mut self,
        a: AgentId,
        (k, action): (usize, usize),
        row: &[Id],
        steady: bool,
    ) -> Result<u32, Stop> {
        let nodes = &self.known[k].actions[action].nodes;
        let Some(at) = nodes.iter().position(|(by, _)| *by == a || *by == AgentId::MAX) else {
            self.look(a, (k, action), row)?;
            return self.outcomes(a, (k, action), row, steady);
        };
        let node = &nodes[at].1;
        let value = |r: u16| row[1 + self.cell(a, r) as usize];
        let tape = node.asks.then_some(row[0]);
        let n = node.deps.len() + node.asks as usize;
        let values = node.deps.iter().map(|r| value(*r)).chain(tape);
        let found = match (&node.deps[..], tape) {
            ([], None) => node.one.first(),
            ([x], None) => node.one.get(value(*x) as usize),
            ([], Some(tape)) => node.one.get(tape as usize),
            _ if n <= 8 => node.few.get(&values.clone().fold(0, |key, v| key << 16 | v as u128)),
            _ => node.many.get(&values.clone().collect::<Box<[Id]>>()),
        };
        let found = found.copied().filter(|g| *g != u32::MAX);
        let group = match found {
            Some(g) => g,
            None => {
                let key: Box<[Id]> = values.collect();
                let group = self.made_by((a, k, action, at), row, Self::make_all)?;
                let g = self.groups.len() as u32;
                self.groups.push(group);
                self.carried.push(false);
                let node = &mut self.known[k].actions[action].nodes[at].1;
                match n {
                    0 | 1 => {
                        let key = key.first().map_or(0, |v| *v as usize);
                        node.one.resize(node.one.len().max(key + 1), u32::MAX);
                        node.one[key] = g;
                    }
                    2..=8 => drop(node.few.insert(key.iter().fold(0, |key, v| key << 16 | *v as u128), g)),
                    _ => drop(node.many.insert(key, g)),
                }
                g
            }
        };
        if steady && !self.carried[group as usize] {
            self.made_by((a, k, action, at), row, Self::carries)?;
            self.carried[group as usize] = true;
        }
        Ok(group)
    }

    pub(super) fn group(&self, g: u32) -> &Group {
        &self.groups[g as usize]
    }

    pub(super) fn write(&self, a: AgentId, row: &mut [Id], out: &Outcome) {
        for &(r, id) in &out.writes {
            row[1 + self.cell(a, r) as usize] = id;
        }
    }
}

/// Whether only its own warp accesses a register, in order: no group instruction, and no load that a count waits for.
fn registers_are_private(prog: &Program) -> bool {
    let shared = |i: &Instr| match i {
        Instr::Op { op: Op::Move { how: MoveKind::TmemLd, .. }, .. } => true,
        Instr::Op { op: Op::Mma { kind, .. }, .. } => *kind != MmaKind::Warp,
        _ => false,
    };
    let laid_over = prog.objects.iter().any(|o| o.class == Class::Reg && o.overlay.is_some());
    prog.waits == Waits::Auto && !laid_over && !prog.code.iter().any(shared)
}
