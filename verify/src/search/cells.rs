//! Compressed states: one small number for each part of a state.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use warpline_sim::protocol::{AgentId, AgentSet, PartState, Rules, StatePart, Step, World};

use super::Stop;
use super::classes;
use super::trips::Texts;

/// The content of a part, as an index into its pool.
pub(super) type Id = u16;

/// The parts that can change, and the agents that are interchangeable.
pub(super) struct Plan {
    pub(super) parts: Vec<StatePart>,
    /// Classes of agents with one text, each in order.
    pub(super) classes: Vec<Vec<AgentId>>,
    /// Agents whose part other agents read or change.
    pub(super) shared: Vec<AgentId>,
    /// Mbarriers that more than one agent changes.
    pub(super) written: Vec<u32>,
}

/// Steps of the run that shows which parts change.
const LOOK: usize = 4000;

impl Plan {
    pub(super) fn of(texts: &Texts, rules: Rules, cluster: i64, reduced: bool) -> Plan {
        let Some(prog) = texts.program(texts.any()) else {
            return Plan { parts: Vec::new(), classes: Vec::new(), shared: Vec::new(), written: Vec::new() };
        };
        let mut world = World::bare(prog, rules, cluster);
        let classes = if reduced { classes::classes(&world) } else { Vec::new() };
        let mut parts: Vec<StatePart> = world.parts();
        let before: Vec<PartState> = parts.iter().map(|p| world.part(*p)).collect();
        let mut changed = vec![false; parts.len()];
        let agents = world.agents().len() as AgentId;
        let mut look = |world: &World<'_>| {
            for (i, p) in parts.iter().enumerate() {
                changed[i] =
                    changed[i] || matches!(p, StatePart::Ended | StatePart::Agent(_)) || world.part(*p) != before[i];
            }
        };
        let mut writers = Writers::of(&world);
        for n in 0..LOOK {
            let a = n as AgentId % agents;
            if let (Step::Broken, _) | (_, true) = (world.step(a, &mut ()), world.ended()) {
                break;
            }
            writers.look(&world, a);
            // Inspection is slow, and an agent shows its behavior early.
            if n < 8 * agents as usize || n % 16 == 0 {
                look(&world);
            }
            if n % 3 == 0
                && let Some(f) = world.landable().first()
            {
                let a = world.flight(*f).map_or(0, |f| f.agent);
                world.land(*f, &mut ());
                writers.look(&world, a);
            }
        }
        look(&world);
        let mut keep = changed.into_iter();
        parts.retain(|_| keep.next() == Some(true));
        Plan { parts, classes, shared: Vec::new(), written: writers.several }
    }
}

/// The mbarriers that more than one agent changes after their initialization, as far as one run shows.
struct Writers {
    bars: Vec<(PartState, Option<AgentId>)>,
    several: Vec<u32>,
}

impl Writers {
    fn of(world: &World<'_>) -> Writers {
        let bars = world.parts().into_iter().filter(|p| matches!(p, StatePart::Mbar(_)));
        Writers { bars: bars.map(|p| (world.part(p), None)).collect(), several: Vec::new() }
    }

    /// Inspects the mbarriers after a step of an agent.
    fn look(&mut self, world: &World<'_>, a: AgentId) {
        for (bar, (was, writer)) in (0..).zip(&mut self.bars) {
            let now = world.part(StatePart::Mbar(bar));
            if now == *was {
                continue;
            }
            let init = was.phase().is_none();
            *was = now;
            if !init && *writer.get_or_insert(a) != a && !self.several.contains(&bar) {
                self.several.push(bar);
            }
        }
    }
}

/// The contents that parts of one kind have had.
#[derive(Default)]
struct Pool {
    held: Vec<PartState>,
    ids: FxHashMap<PartState, Id>,
    /// For each content, the content one period earlier, once computed.
    back: Vec<Option<Id>>,
}

/// The cells of a state, one for each part.
pub(super) struct Cells {
    pub(super) parts: Vec<StatePart>,
    of: FxHashMap<StatePart, u16>,
    /// For each cell, its pool. Cells of interchangeable agents share a pool; contents are renamed to the first agent
    /// of the class.
    pool: Vec<u16>,
    pools: Vec<Pool>,
    /// For each agent, its cell.
    pub(super) agent: Vec<u16>,
    /// For each agent, its cell, followed by the cells of its registers.
    pub(super) own: Vec<Vec<u16>>,
    /// For each agent, the first agent of its class, or itself.
    pub(super) first: Vec<AgentId>,
    /// For each agent, the pieces of its registers.
    pub(super) registers: Vec<Vec<u32>>,
    /// Cells with a mark for each agent: which have ended, which are at a rendezvous.
    marked: Vec<u16>,
    /// Members of each class.
    pub(super) classes: Vec<Vec<AgentId>>,
}

impl Cells {
    pub(super) fn new(plan: &Plan, world: &World<'_>) -> Cells {
        let mut parts = plan.parts.clone();
        parts.sort_unstable();
        parts.dedup();
        let agents = world.agents().len() as AgentId;
        let mut first: Vec<AgentId> = (0..agents).collect();
        let registers: Vec<Vec<u32>> = (0..agents).map(|a| world.registers_of(a)).collect();
        for class in &plan.classes {
            class.iter().for_each(|a| first[*a as usize] = class[0]);
            // If one agent of a class changes a piece, all do.
            for (i, _) in registers[class[0] as usize].iter().enumerate() {
                let each: Vec<StatePart> = class.iter().map(|b| StatePart::Piece(registers[*b as usize][i])).collect();
                if each.iter().any(|p| parts.contains(p)) {
                    parts.extend(each);
                }
            }
        }
        parts.sort_unstable();
        parts.dedup();
        let of: FxHashMap<StatePart, u16> = parts.iter().enumerate().map(|(i, p)| (*p, i as u16)).collect();
        let own: Vec<Vec<u16>> = (0..agents)
            .map(|a| {
                let grouped = plan.classes.iter().any(|c| c.contains(&a));
                let pieces = registers[a as usize].iter().filter(|_| grouped).map(|p| StatePart::Piece(*p));
                std::iter::once(StatePart::Agent(a)).chain(pieces).filter_map(|p| of.get(&p).copied()).collect()
            })
            .collect();
        let mut pool: Vec<u16> = (0..parts.len() as u16).collect();
        for class in &plan.classes {
            for a in class {
                for (mine, theirs) in own[*a as usize].iter().zip(&own[class[0] as usize]) {
                    pool[*mine as usize] = *theirs;
                }
            }
        }
        let pools = parts.iter().map(|_| Pool::default()).collect();
        let marks = |p: &&u16| matches!(parts[**p as usize], StatePart::Ended | StatePart::Rendezvous(_));
        let marked = (0..parts.len() as u16).collect::<Vec<_>>().iter().filter(marks).copied().collect();
        let agent = own.iter().map(|own| own[0]).collect();
        Cells { marked, parts, of, pool, pools, agent, own, first, registers, classes: plan.classes.clone() }
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn of(&self, part: StatePart) -> Option<u16> {
        self.of.get(&part).copied()
    }

    pub(super) fn held(&self, cell: u16, id: Id) -> &PartState {
        &self.pools[self.pool[cell as usize] as usize].held[id as usize]
    }

    /// The number of a cell's content, renamed to the first agent of its class.
    pub(super) fn id(&mut self, cell: u16, held: &PartState) -> Result<Id, Stop> {
        let pool = &mut self.pools[self.pool[cell as usize] as usize];
        if let Some(id) = pool.ids.get(held) {
            return Ok(*id);
        }
        let id = Id::try_from(pool.held.len()).map_err(|_| Stop::TooMany)?;
        pool.held.push(held.clone());
        pool.back.push(None);
        pool.ids.insert(held.clone(), id);
        Ok(id)
    }

    /// The part whose cell represents the cells of its pool.
    pub(super) fn part(&self, cell: u16) -> StatePart {
        self.parts[self.pool[cell as usize] as usize]
    }

    /// The content of a cell one period earlier, by a rule for its content.
    pub(super) fn back(
        &mut self,
        cell: u16,
        id: Id,
        rule: impl Fn(StatePart, &PartState) -> PartState,
    ) -> Result<Id, Stop> {
        let part = self.part(cell);
        let pool = &self.pools[self.pool[cell as usize] as usize];
        if let Some(back) = pool.back[id as usize] {
            return Ok(back);
        }
        let held = rule(part, &pool.held[id as usize]);
        let back = self.id(cell, &held)?;
        self.pools[self.pool[cell as usize] as usize].back[id as usize] = Some(back);
        Ok(back)
    }

    /// Renames content from one agent to another of its class.
    pub(super) fn renamed(&self, world: &World<'_>, held: &PartState, (from, to): (AgentId, AgentId)) -> PartState {
        if from == to {
            return held.clone();
        }
        world.renamed(held, (from, to), (&self.registers[from as usize], &self.registers[to as usize]))
    }
}

impl Cells {
    /// Sorts the contents of each class's members, with their marks at rendezvous. Returns the previous number of each
    /// agent, if any changed places.
    pub(super) fn sort(&mut self, row: &mut [Id]) -> Result<Option<Vec<AgentId>>, Stop> {
        let mut places: Option<Vec<AgentId>> = None;
        for c in 0..self.classes.len() {
            // The members with a mark, by rendezvous. A mark of all members or of none distinguishes none.
            let marks: SmallVec<[AgentSet; 8]> =
                self.marked.iter().map(|cell| self.marks(*cell, row[1 + *cell as usize], &self.classes[c])).collect();
            let all = self.classes[c].len();
            let none = marks.iter().all(|m| m.is_empty() || m.len() == all);
            let cells = |a: AgentId| self.own[a as usize].iter().map(|cell| row[1 + *cell as usize]);
            if none && self.classes[c].windows(2).all(|w| cells(w[0]).le(cells(w[1]))) {
                continue;
            }
            let marked = |a: AgentId| -> SmallVec<[bool; 16]> { marks.iter().map(|marks| marks.contains(a)).collect() };
            let key = |a: AgentId| -> (SmallVec<[Id; 8]>, SmallVec<[bool; 16]>) { (cells(a).collect(), marked(a)) };
            let mut held: SmallVec<[_; 16]> = self.classes[c].iter().map(|a| (key(*a), *a)).collect();
            if held.windows(2).all(|w| w[0].0 <= w[1].0) {
                continue;
            }
            held.sort();
            let places = places.get_or_insert_with(|| (0..self.first.len() as AgentId).collect());
            let mut moved: SmallVec<[AgentSet; 8]> = marks.iter().map(|_| AgentSet::default()).collect();
            for (a, ((ids, _), was)) in self.classes[c].iter().zip(&held) {
                places[*a as usize] = *was;
                for (cell, id) in self.own[*a as usize].iter().zip(ids) {
                    row[1 + *cell as usize] = *id;
                }
                moved.iter_mut().zip(&marks).for_each(|(new, old)| new.set(*a, old.contains(*was)));
            }
            for k in (0..marks.len()).filter(|k| marks[*k] != moved[*k]) {
                let cell = self.marked[k];
                let mut held = self.held(cell, row[1 + cell as usize]).clone();
                if let PartState::Ended(set) | PartState::Rendezvous(.., set) = &mut held {
                    self.classes[c].iter().for_each(|a| set.set(*a, moved[k].contains(*a)));
                }
                row[1 + cell as usize] = self.id(cell, &held)?;
            }
        }
        Ok(places)
    }

    /// The members of a class that have marks in a cell.
    fn marks(&self, cell: u16, id: Id, class: &[AgentId]) -> AgentSet {
        match self.held(cell, id) {
            PartState::Ended(set) | PartState::Rendezvous(.., set) => {
                class.iter().copied().filter(|a| set.contains(*a)).collect()
            }
            _ => AgentSet::default(),
        }
    }
}
