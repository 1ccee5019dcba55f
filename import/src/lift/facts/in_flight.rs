//! Registers of products of warpgroups: accesses that no wait or no fence orders, on some way through the text.
//!
//! A product (`wgmma.mma_async`) writes its accumulator until a `wgmma.wait_group` covers it, and reads a left operand in
//! registers as long. Between another access to these registers and the product there must be a `wgmma.fence`. This is
//! an analysis of the data flow over the control-flow graph. For each register it has the products in flight that use it,
//! each with the fewest groups committed since. It knows no conditions, so an access that it finds may be on a way that no
//! launch takes. The lift adds an operation at such an access, and the program decides. A kernel without such accesses
//! gets no operations.
//!
//! A `mov` copies what is in flight and is no access: compilers write copies of accumulators before the wait, and zeros
//! behind the fence. The assembler gives copies one place, and waits where it cannot (`serial.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::flow::Flow;
use crate::lift::effects::copies::shape;
use crate::lift::tree::{Accesses, Key};
use crate::ptx::{Arg, Inst, Reg};

use super::slice::{reads, writes};

/// The largest number of groups that are counted.
const MOST_GROUPS: u8 = 16;

/// What a product does with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// It writes it.
    Accumulator,
    /// It reads it.
    Left,
}

/// A product in flight that uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    /// The product.
    by: usize,
    role: Role,
    /// The fewest groups of products committed since, with its own.
    groups: u8,
}

/// The products in flight that use each register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    of: FxHashMap<Reg, Rc<Vec<Open>>>,
}

/// Two lists as one: of a product in both, the fewest groups.
fn union(a: &[Open], b: &[Open]) -> Vec<Open> {
    let mut all: BTreeMap<(usize, Role), u8> = BTreeMap::new();
    for o in a.iter().chain(b) {
        let groups = all.entry((o.by, o.role)).or_insert(o.groups);
        *groups = o.groups.min(*groups);
    }
    all.into_iter().map(|((by, role), groups)| Open { by, role, groups }).collect()
}

impl State {
    /// Adds another state; whether that changed this one.
    fn join(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (r, list) in &other.of {
            match self.of.get_mut(r) {
                None => {
                    self.of.insert(*r, list.clone());
                    changed = true;
                }
                Some(old) if Rc::ptr_eq(old, list) || old == list => {}
                Some(old) => {
                    let all = union(old, list);
                    if all != **old {
                        *old = Rc::new(all);
                        changed = true;
                    }
                }
            }
        }
        changed
    }

    /// Changes all lists; those without a product are dropped.
    fn each(&mut self, f: impl Fn(&Open) -> Option<Open>) {
        self.of.retain(|_, list| {
            *list = Rc::new(list.iter().filter_map(&f).collect());
            !list.is_empty()
        });
    }

    fn set(&mut self, r: Reg, list: Vec<Open>, kept: bool) {
        let old = self.of.get(&r).filter(|_| kept);
        let list = old.map(|o| union(o, &list)).unwrap_or(list);
        if list.is_empty() {
            self.of.remove(&r);
        } else {
            self.of.insert(r, Rc::new(list));
        }
    }

    /// Whether an object of a product may be in flight.
    fn has(&self, code: &[Inst], of: Key) -> bool {
        self.of.values().any(|l| l.iter().any(|o| key(&code[o.by], o.role) == Some(of)))
    }

    /// Executes an instruction and calls `found` for each operand in flight that it uses, with whether it writes it.
    fn step(&mut self, code: &[Inst], at: usize, found: &mut impl FnMut(Open, bool)) {
        let i = &code[at];
        let guarded = i.guard.is_some();
        match i.op.as_str() {
            "wgmma" if i.has("commit_group") => {
                return self.each(|o| Some(Open { groups: (o.groups + 1).min(MOST_GROUPS), ..*o }));
            }
            "wgmma" if i.has("wait_group") && !guarded => {
                let Some(Arg::Int(most)) = i.args.first() else { return };
                return self.each(|o| (i64::from(o.groups) <= *most).then_some(*o));
            }
            "wgmma" if i.has("mma_async") => return self.product(code, at, found),
            _ => {}
        }
        if self.of.is_empty() {
            return;
        }
        if i.op == "mov" {
            let mut list = Vec::new();
            reads(i, &mut |r| list = union(&list, self.of.get(&r).map_or(&[][..], |l| l.as_slice())));
            return writes(i, &mut |r| self.set(r, list.clone(), guarded));
        }
        reads(i, &mut |r| {
            let list = self.of.get(&r).into_iter().flat_map(|l| l.iter());
            list.filter(|o| o.role != Role::Left).for_each(|o| found(*o, false));
        });
        writes(i, &mut |r| {
            self.of.get(&r).into_iter().flat_map(|l| l.iter()).for_each(|o| found(*o, true));
            self.set(r, Vec::new(), guarded);
        });
    }

    /// A product. It may follow products of its shape into its accumulator.
    fn product(&mut self, code: &[Inst], at: usize, found: &mut impl FnMut(Open, bool)) {
        let i = &code[at];
        let guarded = i.guard.is_some();
        let of = |i: &Inst| i.mods.iter().find_map(|m| shape(m));
        i.arg(0).each_reg(&mut |r| {
            let open = self.of.get(&r).into_iter().flat_map(|l| l.iter());
            open.filter(|o| o.role != Role::Accumulator || of(&code[o.by]) != of(i)).for_each(|o| found(*o, true));
            self.set(r, vec![Open { by: at, role: Role::Accumulator, groups: 0 }], guarded);
        });
        if let left @ Arg::List(_) = i.arg(1) {
            left.each_reg(&mut |r| {
                let open = self.of.get(&r).into_iter().flat_map(|l| l.iter());
                open.filter(|o| o.role != Role::Left).for_each(|o| found(*o, false));
                self.set(r, vec![Open { by: at, role: Role::Left, groups: 0 }], true);
            });
        }
    }
}

/// The accesses of a text, by instruction.
pub(crate) type List = BTreeMap<usize, Accesses>;

/// Whether an instruction is a product of a warpgroup.
fn is_product(i: &Inst) -> bool {
    i.op == "wgmma" && i.has("mma_async")
}

/// The first register of a list.
pub(crate) fn first(a: &Arg) -> Option<Reg> {
    let Arg::List(list) = a else { return None };
    list.iter().find_map(|a| if let Arg::Reg(r) = a { Some(*r) } else { None })
}

/// The object of an operand of a product.
fn key(i: &Inst, role: Role) -> Option<Key> {
    match role {
        Role::Left => Some((first(i.arg(1))?, 0)),
        Role::Accumulator => {
            let (_, n, _) = i.mods.iter().find_map(|m| shape(m))?;
            Some((first(i.arg(0))?, n))
        }
    }
}

/// The accesses of registers for which the program needs operations, by instruction. A straight-line stretch between
/// two `wgmma` instructions has the first access of each object.
pub(crate) fn accesses(code: &[Inst], flow: &Flow) -> List {
    let mut found = List::new();
    if !code.iter().any(is_product) {
        return found;
    }
    let before = unfenced(code, flow);
    for (block, state) in flow.blocks.iter().zip(states(code, flow)) {
        let Some(mut state) = state else { continue };
        let mut seen = BTreeSet::new();
        for at in block.first..block.end {
            let i = &code[at];
            if i.op == "wgmma" {
                seen.clear();
            }
            let mut list: BTreeSet<(Key, bool)> = BTreeSet::new();
            for (product, writes) in before.get(&at).into_iter().flatten() {
                let of = [Role::Accumulator, Role::Left].into_iter().filter_map(|role| key(&code[*product], role));
                // A copy of a register in flight has its object, and is another register.
                list.extend(of.filter(|k| !state.has(code, *k)).map(|k| (k, *writes)));
            }
            state.step(code, at, &mut |open, writes| {
                list.extend(key(&code[open.by], open.role).map(|k| (k, writes)));
            });
            list.retain(|(k, writes)| !seen.contains(&(*k, *writes, None)) && seen.insert((*k, *writes, i.guard)));
            if !list.is_empty() {
                let of = |w: bool| list.iter().filter(|(_, writes)| *writes == w).map(|(k, _)| *k).collect();
                found.insert(at, Accesses { reads: of(false), writes: of(true) });
            }
        }
    }
    found
}

/// What may be in flight at the first instruction of each block; `None` where no way leads.
fn states(code: &[Inst], flow: &Flow) -> Vec<Option<State>> {
    let mut states: Vec<Option<State>> = vec![None; flow.blocks.len()];
    states[0] = Some(State::default());
    let mut open = BTreeSet::from([(flow.order[0], 0)]);
    while let Some((_, b)) = open.pop_first() {
        let Some(mut state) = states[b].clone() else { continue };
        let block = &flow.blocks[b];
        (block.first..block.end).for_each(|at| state.step(code, at, &mut |_, _| {}));
        for next in &block.next {
            let changed = match &mut states[*next] {
                Some(old) => old.join(&state),
                none => {
                    *none = Some(state.clone());
                    true
                }
            };
            if changed {
                open.insert((flow.order[*next], *next));
            }
        }
    }
    states
}

/// Products that need each register as it is, with no fence between.
type Needs = BTreeMap<Reg, BTreeSet<usize>>;

/// Instructions other than products that access registers of products with no `wgmma.fence` in between, on some way
/// through the text: for each the products, and whether it writes.
fn unfenced(code: &[Inst], flow: &Flow) -> BTreeMap<usize, BTreeSet<(usize, bool)>> {
    let mut found: BTreeMap<usize, BTreeSet<(usize, bool)>> = BTreeMap::new();
    let mut states: Vec<Needs> = vec![Needs::new(); flow.blocks.len()];
    let behind = |states: &[Needs], next: &[usize]| {
        let mut needs = Needs::new();
        for (r, of) in next.iter().flat_map(|b| &states[*b]) {
            needs.entry(*r).or_default().extend(of);
        }
        needs
    };
    let mut again = true;
    while again {
        again = false;
        for (b, block) in flow.blocks.iter().enumerate().rev() {
            let mut needs = behind(&states, &block.next);
            (block.first..block.end).rev().for_each(|at| back(code, at, &mut needs, &mut |_, _| {}));
            if needs != states[b] {
                states[b] = needs;
                again = true;
            }
        }
    }
    for block in &flow.blocks {
        let mut needs = behind(&states, &block.next);
        for at in (block.first..block.end).rev() {
            back(code, at, &mut needs, &mut |product, writes| {
                found.entry(at).or_default().insert((product, writes));
            });
        }
    }
    found
}

/// Steps back over an instruction, and calls `found` for each product of which it accesses a register.
fn back(code: &[Inst], at: usize, needs: &mut Needs, found: &mut impl FnMut(usize, bool)) {
    let i = &code[at];
    let always = i.guard.is_none();
    if is_product(i) {
        if always {
            i.arg(0).each_reg(&mut |r| {
                needs.remove(&r);
            });
        }
        for a in [i.arg(0), i.arg(1)] {
            if matches!(a, Arg::List(_)) {
                a.each_reg(&mut |r| {
                    needs.entry(r).or_default().insert(at);
                });
            }
        }
        return;
    }
    if i.op == "wgmma" && i.has("fence") && always {
        needs.clear();
    }
    if needs.is_empty() {
        return;
    }
    let mut of = BTreeSet::new();
    writes(i, &mut |r| {
        let list = if always { needs.remove(&r) } else { needs.get(&r).cloned() };
        of.extend(list.into_iter().flatten());
    });
    if i.op == "mov" {
        if !of.is_empty() {
            reads(i, &mut |r| needs.entry(r).or_default().extend(&of));
        }
        return;
    }
    of.iter().for_each(|product| found(*product, true));
    reads(i, &mut |r| needs.get(&r).into_iter().flatten().for_each(|product| found(*product, false)));
}
