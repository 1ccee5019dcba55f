//! Stores by CTAs of one grid to the same block of a global matrix.
//!
//! A run follows one cluster. So two clusters that store the same block are found here: the coordinates of each store
//! are a function of the CTA's place. A coordinate has the form `constant + sum of factor * digit`. A digit is a
//! coordinate of the CTA, the number of a loop's iteration, or a part of the warp index. Each runs from 0 up to a known
//! end. If every factor exceeds the largest sum of the smaller terms, the coordinate determines all its digits, as in a
//! mixed-radix number. `x / c` and `x % c` together determine x. Stores whose coordinates determine the CTA are to
//! distinct blocks.
//!
//! Where the form decides nothing, the CTAs of the given grid are compared one by one, as far as that is quick.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use warpline_sim::code::Code;
use warpline_sim::ir::{Class, Instr, MoveKind, ObjId, Op, Pc, Place, Program};
use warpline_sim::protocol::{Footprint, Rules, Walker, agents};
use warpline_sim::report::Finding;

use crate::Violation;
use crate::coordinates::{CommonLoops, Digit, Form, Forms, of_copies};

/// The result for the blocks of one store statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredBy {
    /// Distinct CTAs store distinct blocks, whatever the trip counts.
    Distinct,
    /// CTAs of distinct clusters store distinct blocks, whatever the trip counts. A run decides about the CTAs of one
    /// cluster.
    DistinctClusters,
    /// No two CTAs of the given grid store the same elements.
    DistinctAsGiven,
    /// Two CTAs store the same elements of a block: the CTAs by launch index, and the block's coordinates.
    Same {
        /// The CTA with the smaller launch index.
        first: i64,
        /// The other one.
        second: i64,
        /// Block coordinates, or element coordinates where the place counts elements.
        at: [i64; 2],
        /// The other store; the statement itself where both CTAs execute it.
        other: u32,
    },
    /// Undecided, with the reason.
    Unknown(String),
}

/// A store statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalStore {
    /// The matrix.
    pub obj: ObjId,
    /// The instruction.
    pub pc: u32,
    /// The result for its blocks.
    pub by: StoredBy,
}

/// The reason why distinct clusters may store one block where a loop has another trip count than given; `None` without
/// such a store. In `kernel`, trip counts that a proof varies are symbols. A coordinate that reads a symbol itself has no
/// form; the verdict lists what it assumes of it ([`global_stores`]).
pub(crate) fn apart_as_given(kernel: &Program) -> Option<String> {
    if kernel.symbols.is_empty() || kernel.cooperative || kernel.opaque_globals || kernel.grid.len() < 2 {
        return None;
    }
    let bound = kernel.bind();
    let given: BTreeSet<u32> =
        apart_by_form(&bound).filter(|s| s.told.cluster).map(|s| bound.at[s.pc as usize]).collect();
    let mut all = apart_by_form(kernel);
    let s = all.find(|s| s.told.linear && !s.told.cluster && given.contains(&kernel.at[s.pc as usize]))?;
    let line = kernel.site(s.pc).line;
    Some(format!("line {line}: that no two CTAs store one block was checked for the given trip count only"))
}

/// Whether the form of each store's block tells the clusters apart.
pub(crate) fn apart(prog: &Program) -> bool {
    apart_by_form(prog).all(|s| s.told.cluster)
}

/// Whether the form of each store's block in these loops determines the iteration of the loop.
pub(crate) fn once_in_each_turn(prog: &Program, heads: &[Pc]) -> bool {
    apart_by_form(prog).all(|s| {
        let around = |head: &&Pc| prog.loops.iter().any(|l| l.head == **head && (l.head..l.end).contains(&s.pc));
        heads.iter().filter(around).all(|head| s.told.turns.contains(head))
    })
}

/// A store statement, and what its block determines.
struct Stored<'p> {
    pc: u32,
    place: &'p Place,
    told: Determined,
}

/// Each store statement to global memory, with what the form of its coordinates determines.
fn apart_by_form(prog: &Program) -> impl Iterator<Item = Stored<'_>> {
    let stores: Vec<(u32, &Place)> = (0..)
        .zip(&prog.code)
        .filter_map(|(pc, i)| match i {
            Instr::Op { op: Op::Move { how: MoveKind::Store | MoveKind::TmaStore, dst, .. }, .. } => Some((pc, dst)),
            _ => None,
        })
        .filter(|(_, dst)| prog.objects[dst.obj as usize].class == Class::Global)
        .collect();
    let forms = Forms::of(prog);
    stores.clone().into_iter().map(move |(pc, place)| {
        let all = || stores.iter().filter(|(_, other)| other.obj == place.obj);
        // Members of a role may have a copy each of one statement.
        let alone =
            all().all(|(other, p)| prog.at[*other as usize] == prog.at[pc as usize] && p.elements == place.elements);
        let copies: Vec<(u32, &Place)> = all().copied().collect();
        let told = if alone { told(&forms, &copies) } else { Determined::default() };
        Stored { pc, place, told }
    })
}

/// Checks every store statement of a kernel. Several statements that store one matrix are compared with each other. In a
/// program with symbols, no answer relies on their values, except [`StoredBy::DistinctAsGiven`] and
/// [`StoredBy::Same`].
pub fn global_stores(prog: &Program, rules: Rules) -> Vec<GlobalStore> {
    let single = prog.grid.len() * prog.cluster as i64 == 1;
    let (mut walked, mut bound) = (None, None);
    apart_by_form(prog)
        .map(|Stored { pc, place, told }| {
            let by = match told {
                _ if single => StoredBy::Distinct,
                Determined { cluster: true, rank: true, .. } => StoredBy::Distinct,
                Determined { cluster: true, rank: false, .. } => StoredBy::DistinctClusters,
                Determined { cluster: false, .. } => walked
                    .get_or_insert_with(|| walk(bound.get_or_insert_with(|| prog.bind()), rules))
                    .of(place.obj, pc),
            };
            GlobalStore { obj: place.obj, pc, by }
        })
        .collect()
}

/// The fault of a kernel in which two clusters store the same block, with the values given. Clusters can be ordered by
/// counters only, and a cooperative launch is one world, in which a run finds such stores. Nothing is known of matrices
/// whose coordinates are not (`opaque_globals`).
pub(crate) fn stored_twice(prog: &Program, rules: Rules) -> Option<Violation> {
    if prog.cooperative || prog.opaque_globals || !prog.counters.is_empty() || prog.grid.len() < 2 {
        return None;
    }
    global_stores(prog, rules).into_iter().find_map(|s| {
        let StoredBy::Same { first, second, at: [row, col], other } = s.by else { return None };
        let size = prog.cluster as i64;
        // Within a cluster, the run decides.
        if first / size == second / size {
            return None;
        }
        let name = &prog.objects[s.obj as usize].name;
        let code = Code::StoredTwice;
        let finding = Finding {
            code,
            kind: code.kind(),
            message: format!(
                "CTAs {first} and {second} both store {name}[{row}, {col}], and nothing orders the stores"
            ),
            site: prog.at[s.pc as usize],
            other: Some((prog.at[other as usize], "the other store".to_string())),
            agent: format!("CTA {second}"),
            cycle: -1.0,
            times: 1,
            note: false,
        };
        Some(Violation {
            trips: None,
            turns: None,
            jobs: None,
            lengths: Vec::new(),
            run_time: BTreeMap::new(),
            class: format!("CTA {second}"),
            cluster: second / size,
            findings: vec![finding],
            hang: Vec::new(),
            steps: vec![
                (format!("CTA {first}"), prog.at[other as usize]),
                (format!("CTA {second}"), prog.at[s.pc as usize]),
            ],
            sites: prog.sites.clone(),
        })
    })
}

/// Whether the block of a place determines the cluster, and the CTA's rank in the cluster.
#[derive(Clone, Debug, Default)]
struct Determined {
    cluster: bool,
    rank: bool,
    /// Whether all coordinates have a form.
    linear: bool,
    /// The loops whose iteration the block determines, by their first instructions.
    turns: BTreeSet<Pc>,
}

/// What the block of a place determines, of which there may be several copies.
fn told(forms: &Forms<'_>, copies: &[(u32, &Place)]) -> Determined {
    let place = copies[0].1;
    let o = &forms.prog.objects[place.obj as usize];
    let width = |axis: usize| if place.elements { o.block[axis] } else { 1 };
    let mut known: BTreeSet<Digit> = BTreeSet::new();
    let (mut linear, mut names) = (true, CommonLoops::default());
    for axis in 0..place.at.len() {
        let all: Option<Vec<Form>> =
            copies.iter().map(|(pc, copy)| forms.of_coordinate(copy.at.get(axis)?, *pc)).collect();
        linear &= all.is_some();
        let alike = all.and_then(|all| forms.in_common_loops(all, &mut names));
        let digits = alike.and_then(|all| of_copies(&all)).and_then(|f| forms.told(&f, width(axis)));
        // A coordinate that determines nothing is ignored.
        known.extend(digits.unwrap_or_default());
        if let ([(pc, place)], 1) = (copies, width(axis))
            && let Some((x, turn)) = place.at.get(axis).and_then(|e| forms.of_rows(e, *pc))
        {
            known.extend(forms.told(&x, 1).unwrap_or_default());
            known.insert(turn);
        }
    }
    // `x / c` and `x % c` together determine x.
    loop {
        let pairs: Vec<Form> = known
            .iter()
            .filter_map(|d| match d {
                Digit::Remainder(x, c) if known.contains(&Digit::quotient((**x).clone(), *c)) => Some((**x).clone()),
                _ => None,
            })
            .collect();
        let before = known.len();
        pairs.iter().filter_map(|x| forms.told(x, 1)).for_each(|digits| known.extend(digits));
        if known.len() == before {
            break;
        }
    }
    let has = |d: Digit| known.contains(&d) || forms.count(&d) == Some(1);
    let cluster = has(Digit::ClusterId) || has(Digit::ClusterM) && has(Digit::ClusterN) && has(Digit::ClusterZ);
    let rank = has(Digit::Rank);
    let turns = known.iter().filter_map(|d| if let Digit::Turn(head) = d { Some(*head) } else { None }).collect();
    Determined { cluster, rank, linear, turns }
}

/// The stores of the CTAs of the given grid, as far as they were listed.
enum Walked {
    /// For each matrix, two CTAs that store the same elements, if there are any.
    All(HashMap<ObjId, (i64, i64, [i64; 2], [u32; 2])>),
    /// The stores were not listed, for this reason.
    Not(String),
}

/// Largest number of clusters whose stores are listed.
const CLUSTERS: i64 = 1024;
/// Largest number of listed stores.
const STORES: usize = 1 << 18;

/// A store by a CTA to a part of a block.
struct Store {
    cta: i64,
    pc: u32,
    footprint: Footprint,
}

fn walk(prog: &Program, rules: Rules) -> Walked {
    if prog.grid.len() > CLUSTERS {
        return Walked::Not(format!(
            "its coordinates have no simple form, and the grid has more than {CLUSTERS} clusters"
        ));
    }
    let info = agents(prog);
    // Stored rectangles, by matrix and block.
    let mut seen: HashMap<(ObjId, [i64; 2]), Vec<Store>> = HashMap::new();
    let mut clashes = HashMap::new();
    let mut listed = 0;
    let mut walker = Walker::new(prog, rules, 0);
    for id in 0..prog.grid.len() {
        let Some(route) = walker.route_of(id) else {
            return Walked::Not("its coordinates depend on values from memory".into());
        };
        let at = walker.position(id);
        for t in route.copies.iter().filter(|t| t.store) {
            let Some(footprint) = walker.footprint(id, t, &route.vars(t, at)) else { continue };
            if walker.by_elements(t) {
                return Walked::Not("its coordinates count elements and have no simple form".into());
            }
            let cta = id * prog.cluster as i64 + info[t.agent as usize].cta as i64;
            let list = seen.entry((footprint.obj, footprint.at)).or_default();
            let meets = |f: &Footprint| {
                let axis = |x: (i64, i64), y: (i64, i64)| x.0 < y.1 && y.0 < x.1;
                axis(f.rows, footprint.rows) && axis(f.cols, footprint.cols)
            };
            // A run decides about the CTAs of one cluster, so a store of another cluster comes first.
            let within = |first: i64, second: i64| first / prog.cluster as i64 == second / prog.cluster as i64;
            let others = || list.iter().filter(|s| s.cta != cta && meets(&s.footprint));
            if let Some(other) = others().find(|s| !within(s.cta, cta)).or_else(|| others().next()) {
                let clash = (other.cta, cta, footprint.at, [other.pc, t.pc]);
                let known = clashes.entry(footprint.obj).or_insert(clash);
                if within(known.0, known.1) && !within(other.cta, cta) {
                    *known = clash;
                }
            }
            list.push(Store { cta, pc: t.pc, footprint });
            listed += 1;
            if listed > STORES {
                return Walked::Not(format!(
                    "its coordinates have no simple form, and there are more than {STORES} stores"
                ));
            }
        }
    }
    Walked::All(clashes)
}

impl Walked {
    fn of(&self, obj: ObjId, pc: u32) -> StoredBy {
        match self {
            Walked::Not(why) => StoredBy::Unknown(why.clone()),
            Walked::All(clashes) => match clashes.get(&obj) {
                None => StoredBy::DistinctAsGiven,
                Some((first, second, at, pcs)) => {
                    let other = if pcs[0] == pc { pcs[1] } else { pcs[0] };
                    StoredBy::Same { first: *first, second: *second, at: *at, other }
                }
            },
        }
    }
}
