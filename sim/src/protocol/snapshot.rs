//! The state of a world up to a shift of its loops, for proofs over all trip counts.
//!
//! In the steady state of a pipeline, everything repeats except counters: iteration numbers, phases, generations,
//! clocks. A snapshot lists the state as entries. Some entries must be equal when the state repeats. The others are
//! counters of a family: a variable, the coordinates of tiles, a barrier's phase, a component's clock. The counters of
//! one family either stand still or all move by one amount.
//!
//! The only question about a row is whether the row has reached a clock: a clock that the state names, or a newer one.
//! So the clocks of rows are rounded down to the clocks that the rest of the state names (`NamedClocks`). Differences
//! that no agent can observe then do not keep a state from recurring.

use std::sync::Arc;

use smallvec::SmallVec;

use super::agents::{Agent, ArrivalState};
use super::footprint::TileKey;
use super::mbarrier::{MbarState, PassedOn};
use super::open::NamedClocks;
use super::order::{Access, Epoch, RowId};
use super::rendezvous::RendezvousKind;
use super::rings::SlotNames;
use super::who::AgentSet;
use super::world::World;

/// The family of a counter. Counters of one family move together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Loop indices and other variables.
    Variable,
    /// Block coordinates of tiles, and versions of mailboxes.
    Tile,
    /// A component of happens-before: an agent, a stream, a rendezvous' generations, an mbarrier's phases.
    Clock(u32),
}

/// One number of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A number that is equal whenever the state repeats.
    Same(u64),
    /// A counter that stands still or moves with its family.
    Count(Family, i64),
}

/// The state of a world as a list of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Every number that further steps depend on, in a fixed order.
    pub entries: Vec<Entry>,
    /// For each component, the distance from its newest clock within which clocks are subtracted and not only compared.
    pub windows: Arc<[i64]>,
    /// Indices of the entries that number a phase of an mbarrier; empty once the snapshot is complete.
    pub(super) phases: Vec<usize>,
}

/// A snapshot in the making, with the names of slots.
struct Listing {
    state: Snapshot,
    names: SlotNames,
}

/// An odd multiplier with bits all over its width.
const MIX: u64 = 0x517c_c1b7_2722_0a95;
/// Parts of a row, at most.
pub(super) const PARTS: usize = 5;
/// Entries of a row, about.
const ROOM: usize = 32;
/// Entries of a piece, about.
const PIECE_ROOM: usize = 12;

impl Listing {
    fn same(&mut self, v: impl Into<u64>) {
        self.state.entries.push(Entry::Same(v.into()));
    }

    fn count(&mut self, family: Family, v: i64) {
        self.state.entries.push(Entry::Count(family, v));
    }

    fn clock(&mut self, comp: u32, v: u32) {
        self.count(Family::Clock(comp), v as i64);
    }

    /// The number of a phase of an mbarrier, which no row is asked for as a clock of an access.
    fn phase(&mut self, comp: u32, v: i64) {
        self.state.phases.push(self.state.entries.len());
        self.count(Family::Clock(comp), v);
    }

    fn epoch(&mut self, e: Epoch) {
        self.same(self.names.component(e.comp));
        self.clock(e.comp, e.clock);
    }

    fn access(&mut self, x: &Access) {
        self.epoch(x.epoch);
        self.same((x.pc as u64) << 32 | x.agent as u64);
    }

    fn accesses<'a>(&mut self, list: impl IntoIterator<Item = &'a Access>) {
        let at = self.state.entries.len();
        self.same(0u64);
        let mut n = 0u64;
        for x in list {
            self.access(x);
            n += 1;
        }
        self.state.entries[at] = Entry::Same(n);
    }

    fn set(&mut self, set: &AgentSet) {
        self.same(set.words().len() as u64);
        set.words().iter().for_each(|word| self.same(*word));
    }

    fn tile(&mut self, k: Option<TileKey>) {
        match k {
            None => self.same(u64::MAX),
            Some(k) => {
                self.same(k.obj);
                k.shift.iter().for_each(|s| self.same(*s as u32));
                self.same((k.forms[0] as u64) << 32 | k.forms[1] as u64);
                k.at.iter().for_each(|c| self.count(Family::Tile, *c));
            }
        }
    }
}

/// The yes-or-no parts of an agent's state, as bits.
fn flags(a: &Agent) -> u64 {
    [a.ended, a.performs_for_warp, a.diverged, a.unmet].iter().fold(0, |bits, flag| bits << 1 | *flag as u64)
}

/// Adds the clocks of a component in the parts of a row. `uses` says that the row's owner is a user of this mbarrier.
/// Returns which parts have which of the clocks.
fn different_parts(
    s: &mut Listing,
    comp: u32,
    clocks: impl Iterator<Item = u32>,
    named: &mut NamedClocks,
    uses: bool,
) -> u64 {
    let (mut same_as, mut values) = (0u64, [None; PARTS]);
    for (part, clock) in clocks.enumerate() {
        let asked = if uses { named.asked(part, comp, clock) } else { None };
        let Some(value) = asked.or_else(|| named.reached(part, comp, clock)) else { continue };
        values[part] = Some(value);
        let same = values.iter().position(|earlier| *earlier == Some(value)).unwrap_or(part);
        if same == part {
            s.count(Family::Clock(comp), value);
        }
        same_as |= (same as u64 + 1) << (4 * part);
    }
    same_as
}

impl World<'_> {
    /// Whether the variables and words of another state of this cell depend on the place of the CTA as those of this
    /// state do.
    pub fn places_alike(&self, other: &World<'_>) -> bool {
        let forms =
            |w: &World<'_>| w.agents.all_forms().iter().chain(w.memory.word_forms()).copied().collect::<Vec<_>>();
        let (a, b) = (forms(self), forms(other));
        let indices = || self.global.index_forms.iter().zip(&other.global.index_forms);
        let all = || a.iter().zip(&b).chain(indices().filter_map(|(x, y)| x.as_ref().zip(y.as_ref())));
        a.len() == b.len()
            && indices().all(|(x, y)| x.is_some() == y.is_some())
            && self.spec.place.as_ref().is_none_or(|place| place.alike(all()))
    }

    /// The state, without the fields that only reports use.
    pub fn snapshot(&self) -> Snapshot {
        // Each row knows of some components.
        let state = Snapshot {
            entries: Vec::with_capacity(
                ROOM * self.spec.fixed_rows() as usize + PIECE_ROOM * self.memory.pieces().len(),
            ),
            windows: self.asked().windows.clone(),
            phases: Vec::new(),
        };
        let mut s = Listing { state, names: self.slot_names() };
        for a in self.agents.iter() {
            s.same((a.pc as u64) << 4 | flags(a));
            s.same(a.last_unjoined.map_or(0, |pc| pc as u64 + 1));
            for (tag, wait) in [(1u64, a.waits_in), (2, a.cluster_arrived.map(|g| (self.prog.cluster, g)))] {
                match wait {
                    None => s.same(0u64),
                    Some((meet, generation)) => {
                        s.same(tag << 32 | meet as u64);
                        s.clock(self.spec.meet_comp(meet), generation);
                    }
                }
            }
        }
        for a in self.agents.iter() {
            s.same(a.states.len() as u64);
            for state in &a.states {
                let Some(ArrivalState { bar, phase, passed_on }) = *state else {
                    s.same(0u64);
                    continue;
                };
                let open = self.mbar(bar).phase;
                // A state of an earlier phase than the last one is of no use.
                s.same((s.names.mbar(bar) as u64) << 2 | (passed_on as u64) << 1 | 1);
                if open - phase < 2 { s.phase(self.spec.mbar_comp(bar), phase as i64) } else { s.same(u64::MAX) }
            }
        }
        self.agents.all_vars().iter().for_each(|v| s.count(Family::Variable, *v));
        self.agents.all_forms().iter().chain(self.memory.word_forms()).for_each(|form| s.same(*form));
        for name in 0..self.spec.mbars {
            let ix = s.names.mbar_of(name);
            let (mbar, comp) = (&self.mbars[ix as usize], self.spec.mbar_comp(ix));
            let m = mbar.hardware();
            s.same((m.live as u64) << 63 | (m.expected as u64) << 32 | m.pending as u64);
            s.same(m.tx as u64);
            s.phase(comp, m.phase as i64);
            if m.first > 0 && self.asked().numbers_phases {
                s.phase(comp, m.first as i64);
            }
            if let Some(ahead) = self.phase_ahead(ix) {
                s.same(ahead as u64);
            }
            s.accesses(mbar.init());
            let fences = self.open_init_fences(ix);
            s.same(fences.map_or(u64::MAX, |list| list.len() as u64));
            fences.into_iter().flatten().for_each(|e| s.epoch(*e));
            match mbar.passed_on() {
                PassedOn::No => s.same(0u64),
                PassedOn::Fenced => s.same(1u64),
                PassedOn::Behind(barrier) => {
                    s.same(2u64);
                    s.epoch(barrier);
                }
            }
            s.accesses(mbar.expects());
            for back in 0..mbar.arrivals().len() {
                let (unsure, open) = self.open_arrivals(ix, back);
                s.same((open.len() as u64) << 1 | unsure as u64);
                open.into_iter().for_each(|e| s.epoch(e));
            }
            let open = self.open_signals(ix);
            s.same(open.len() as u64);
            for x in open {
                s.epoch(x.epoch);
                // A row that waited for the signal has reached the clock behind its phase.
                s.clock(comp, x.phase + 1);
                s.same((x.pc as u64) << 32 | x.agent as u64);
            }
        }
        for cta in 0..self.prog.cluster {
            let open = self.open_visits(cta);
            s.accesses(open.iter().map(|x| &x.access));
            for x in open {
                s.same((x.load as u64) << 1 | x.over.is_some() as u64);
                x.over.into_iter().for_each(|e| s.epoch(e));
            }
        }
        for name in 0..self.spec.mbars {
            let ix = s.names.mbar_of(name);
            for w in self.mbars[ix as usize].waits() {
                match w.as_ref().filter(|w| self.may_be_late(ix, w)) {
                    None => s.same(0u64),
                    Some(w) => {
                        s.same(w.pc as u64 + 1);
                        s.phase(self.spec.mbar_comp(ix), w.phase);
                        s.epoch(w.epoch);
                    }
                }
            }
        }
        for (ix, m) in self.rendezvous.iter().enumerate() {
            s.clock(self.spec.meet_comp(ix as u32), m.generation);
            s.same((m.arrived as u64) << 32 | m.needed as u64);
            s.set(&m.who);
        }
        let named = self.rendezvous.iter().filter(|m| matches!(m.kind, RendezvousKind::Named(..)));
        for list in named.flat_map(|m| &m.recent) {
            s.same(list.len() as u64);
            list.iter().for_each(|x| s.clock(x.epoch.comp, x.epoch.clock));
        }
        for (i, st) in self.streams.iter().enumerate() {
            // Groups of `wgmma` are numbered by the warpgroup's stream, whose clock they follow.
            let (a, k) = ((i / super::stream::KINDS) as u32, i % super::stream::KINDS);
            let comp = self.spec.stream_comps[self.owner_index(a, k)];
            s.same(st.groups.len() as u64 + ((st.flying.len() as u64) << 32));
            s.clock(comp, st.issued);
            s.clock(comp, st.landed);
            st.groups.iter().for_each(|g| s.clock(comp, *g));
            st.flying.iter().for_each(|(g, n)| {
                s.clock(comp, *g);
                s.same(*n);
            });
        }
        for name in 0..self.memory.pieces().len() {
            let p = &self.memory[s.names.piece_of(name)];
            s.tile(p.holds);
            s.accesses(&p.trace.write);
            s.accesses(&p.trace.reads);
            s.accesses(&p.trace.atomics);
            s.accesses(p.trace.over.iter().map(|(_, x)| x));
            p.trace.over.iter().for_each(|(by, _)| s.same(*by));
        }
        let mut rows: Vec<RowId> = Vec::new();
        // Matrices that are not followed have none.
        for list in self.global.regions.iter().filter(|list| !list.is_empty()) {
            s.same(list.len() as u64);
            for r in list {
                s.same(r.write);
                [r.rect.rows.0, r.rect.rows.1, r.rect.cols.0, r.rect.cols.1]
                    .iter()
                    .for_each(|edge| s.count(Family::Tile, *edge));
                s.access(&r.access);
            }
        }
        self.global.atomics.entries(&self.prog.atomic_order, |bits| s.same(bits));
        for c in &self.global.counters {
            s.count(Family::Variable, c.value);
            s.count(Family::Variable, c.base);
            s.same((c.steps.len() as u64) << 32 | c.waits.len() as u64);
            for x in &c.steps {
                s.count(Family::Variable, x.delta);
                let first = x.number <= 1;
                s.same((x.scope as u64) << 3 | (first as u64) << 2 | (x.sets as u64) << 1 | x.ordered as u64);
                s.epoch(x.epoch);
                s.same((x.pc as u64) << 32 | x.agent as u64);
                rows.extend([x.knows, x.releases]);
            }
            for w in &c.waits {
                s.epoch(w.epoch);
                s.same((w.must.len() as u64) << 33 | (w.pc as u64) << 1 | w.exact as u64);
                w.must.iter().for_each(|e| s.epoch(*e));
            }
        }
        let pieces = self.memory.pieces().len();
        (0..pieces).for_each(|name| s.same(self.memory.fills()[s.names.piece_of(name)]));
        // What was summed grows with the loop; by which steps and over what does not.
        let sums = self.memory.coverage.sums();
        (0..sums.len()).for_each(|name| sums[s.names.piece_of(name)].kind().iter().for_each(|v| s.same(*v)));
        (0..pieces).for_each(|name| s.count(Family::Variable, self.memory.words()[s.names.piece_of(name)]));
        s.count(Family::Variable, self.global.more_tiles.len() as i64);
        for r in &self.registers {
            r.free.iter().for_each(|free| s.same(*free as u64));
            for held in &r.warps {
                s.same((held.times as u64) << 32 | held.count as u64);
                s.accesses(held.last.iter().map(|(access, _)| access));
            }
        }
        for (obj, cta) in self.memory.allocations() {
            s.same((obj as u64) << 32 | cta as u64);
            self.memory.allocation(obj, cta).into_iter().for_each(|x| s.access(x));
        }
        // Flights in an order given by their content, not by their index.
        let mut flights: Vec<_> = self.flights.iter().collect();
        let phases = |f: &super::flight::Flight| {
            let (mut delivers, mut arrives) = (f.delivers.clone(), f.arrives.clone());
            delivers.iter_mut().for_each(|x| x.0 = s.names.mbar(x.0));
            arrives.iter_mut().for_each(|x| x.0 = s.names.mbar(x.0));
            (f.streams.clone(), delivers, f.phases.clone(), arrives)
        };
        flights.sort_by_cached_key(|f| (f.agent, f.pc, phases(f)));
        s.same(flights.len() as u64);
        for f in flights {
            s.same((f.agent as u64) << 32 | f.pc as u64);
            for &(kind, seq) in &f.streams {
                s.clock(self.spec.stream_comps[self.owner_index(f.agent, kind as usize)], seq);
            }
            for &(bar, bytes, phase) in &f.delivers {
                s.same((s.names.mbar(bar) as u64) << 32 | bytes as u64);
                s.phase(self.spec.mbar_comp(bar), phase as i64);
            }
            s.same(f.cta_scope);
            f.arrives.iter().for_each(|(bar, n)| s.same((s.names.mbar(*bar) as u64) << 32 | *n as u64));
            for (&(bar, _), phase) in f.arrives.iter().zip(&f.phases) {
                s.phase(self.spec.mbar_comp(bar), *phase as i64);
            }
            s.same(f.expects.map_or(u64::MAX, |n| n as u64));
            s.accesses(&f.epoch.map(|epoch| Access { epoch, pc: f.pc, agent: f.agent, generic: true, in_order: true }));
            if let Some(footprint) = &f.fills {
                s.same((footprint.obj as u64) << 32 | self.slot_name(footprint) as u64);
                s.same(footprint.pieces);
            }
            for &(piece, value) in &f.posts {
                s.same(s.names.piece(piece as u32));
                s.count(Family::Variable, value);
            }
            rows.extend([f.releases, f.issued_after].into_iter().flatten());
            s.same((f.releases.is_some() as u64) << 1 | f.issued_after.is_some() as u64);
        }
        let touches = self.memory.last_touches();
        (0..touches.len()).for_each(|name| s.same(touches[s.names.piece_of(name)].number()));
        rows.extend((0..self.spec.fixed_rows()).map(|name| s.names.row_of(name)));
        let mut named = NamedClocks::of(self, &s.state);
        s.state.phases = Vec::new();
        rows.into_iter().for_each(|r| self.row(&mut s, r, &mut named));
        let Listing { mut state, names } = s;
        if !names.plain() {
            for entry in &mut state.entries {
                if let Entry::Count(Family::Clock(comp), _) = entry {
                    *comp = names.component(*comp);
                }
            }
        }
        state
    }

    /// Adds the clocks that a row has reached. Nothing is known of most components, and of others most parts of the row
    /// have the same clock. One number says which parts those are, and each clock is listed once. A row has at most
    /// five parts (`Rows::new`), with four bits each here.
    fn row(&self, s: &mut Listing, r: RowId, named: &mut NamedClocks) {
        let at = s.state.entries.len();
        s.same(0u64);
        let mut known = 0u64;
        let (row, components) = (self.order.row(r), self.order.components() as usize);
        let parts: SmallVec<[&[u32]; PARTS]> = row.chunks_exact(components).collect();
        let owner = (r < self.spec.info.len() as RowId).then_some(r);
        // All parts have the clock of the first.
        let all_same = (0..parts.len()).fold(0u64, |bits, part| bits | 1 << (4 * part));
        for name in 0..components as u32 {
            let comp = s.names.component_of(name);
            let (i, clock) = (comp as usize, &row[comp as usize]);
            let same = parts[1..].iter().all(|part| part[i] == *clock);
            if same && *clock == 0 && named.nothing(comp) {
                continue;
            }
            let same_as = if same && !named.depends_on_part(comp, *clock) {
                let Some(value) = named.reached(0, comp, *clock) else { continue };
                s.count(Family::Clock(comp), value);
                all_same
            } else {
                let uses = named.mbar(comp).is_some_and(|ix| self.uses(owner, ix));
                different_parts(s, comp, parts.iter().map(|part| part[i]), named, uses)
            };
            if same_as != 0 {
                known = (known.rotate_left(5) ^ ((name as u64) << 20 | same_as)).wrapping_mul(MIX);
            }
        }
        s.state.entries[at] = Entry::Same(known);
    }

    fn owner_index(&self, a: u32, kind: usize) -> usize {
        let k = super::stream::ALL[kind];
        self.stream_owner(a, k) as usize * super::stream::KINDS + kind
    }
}

impl World<'_> {
    /// Every number that further steps depend on, without tile coordinates and happens-before.
    pub fn fingerprint(&self, out: &mut Vec<u64>) {
        for a in self.agents.iter() {
            out.extend([a.pc as u64, flags(a)]);
            out.push(a.waits_in.map_or(u64::MAX, |(m, g)| (m as u64) << 32 | g as u64));
            out.push(a.cluster_arrived.map_or(u64::MAX, u64::from));
            for state in &a.states {
                out.push(state.map_or(u64::MAX, |s| (s.bar as u64) << 33 | (s.phase as u64) << 1 | s.passed_on as u64));
            }
        }
        out.extend(self.agents.all_vars().iter().map(|v| *v as u64));
        for m in self.mbars.iter().map(MbarState::hardware) {
            out.extend([m.live as u64, m.phase as u64, m.pending as u64, m.tx as u64]);
        }
        for m in &self.rendezvous {
            out.extend([m.generation as u64, m.arrived as u64, m.needed as u64, m.who.words().len() as u64]);
            out.extend(m.who.words());
        }
        for s in self.streams.iter() {
            out.extend([s.issued as u64, s.landed as u64, s.groups.len() as u64]);
        }
        out.extend(self.memory.fills().iter().map(|f| *f as u64));
        out.extend(self.memory.words().iter().map(|v| *v as u64));
        out.extend(self.global.counters.iter().map(|c| c.value as u64));
        for r in &self.registers {
            out.extend(r.free.iter().map(|free| *free as u64));
            out.extend(r.warps.iter().map(|held| (held.times as u64) << 32 | held.count as u64));
        }
        for f in self.flights.slots() {
            out.push(f.as_ref().map_or(u64::MAX, |f| (f.agent as u64) << 32 | f.pc as u64));
        }
        out.push(self.global.more_tiles.len() as u64);
    }
}
