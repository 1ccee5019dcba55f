//! Sizes of copies by tensor map, which the text does not state. They follow from the destinations of the copies of one
//! phase and from the bytes that their barrier expects.

use std::collections::{BTreeMap, BTreeSet};

use crate::lift::facts::maps::Maps;
use crate::lift::merge::outcomes::{MOST_CONDITIONS, Outcomes};
use crate::lift::merge::{Merged, each_op};
use crate::lift::tree::{Effect, Touch};
use crate::ptx::Inst;
use crate::symbolic::{Arena, Term};

use super::barriers::addresses;
use super::intervals::united;
use super::split_phases;
use super::swizzled::{Operands, rounded};

/// Bytes of each copy, by instruction, address and barrier.
pub(crate) type Sizes = BTreeMap<(usize, Term, Term), u32>;

/// A phase of a barrier: bytes expected, and the copies of the phase with their destination, the issuing CTA and the
/// receiving CTA.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) expect: Option<i64>,
    /// The instruction that expects them.
    at: Option<usize>,
    /// The warps that execute it.
    by: BTreeSet<u32>,
    /// The CTA of the barrier.
    cta: u32,
    pub(super) copies: BTreeMap<(usize, Term), BTreeSet<(u32, u32)>>,
    /// Its copies come before the `expect_tx`.
    copies_first: bool,
}

impl Group {
    /// Whether a copy by an instruction belongs to a later phase.
    fn is_closed_to(&self, at: usize) -> bool {
        self.copies_first && self.expect.is_some() && self.copies.keys().all(|(i, _)| *i != at)
    }

    /// The phase with the copies of all CTAs. CTAs that copy by one instruction have a phase each where the numbers of
    /// their slots have no common name.
    fn of_all(&self, issued: &Issued) -> Group {
        let mut all = Group { expect: self.expect, at: self.at, copies: self.copies.clone(), ..Group::default() };
        for ((at, _), by) in &mut all.copies {
            let here = self.copies.iter().filter(|((i, _), _)| i == at).flat_map(|(_, by)| by);
            let here: BTreeSet<(u32, u32)> = here.copied().collect();
            by.extend(issued.get(&(*at, self.cta)).into_iter().flatten().filter(|x| !here.contains(x)));
        }
        all
    }

    /// Whether another instruction copies to the same place: the two are of different phases.
    fn has_another(&self, at: usize, to: Term, by: (u32, u32)) -> bool {
        self.expect.is_none() && self.copies.iter().any(|((i, t), all)| *i != at && *t == to && all.contains(&by))
    }
}

/// The CTAs that copy by an instruction to a barrier of a CTA, with the CTA that receives.
type Issued = BTreeMap<(usize, u32), BTreeSet<(u32, u32)>>;

/// A barrier of one CTA.
pub(super) type Signalled = (Term, u32);

/// The phases of each barrier.
pub(super) type Groups = BTreeMap<Signalled, Vec<Group>>;

/// The CTAs that a copy writes to, and the CTA of the barrier that each part signals.
pub(crate) fn deliveries(a: &Arena, rank: u32, multicast: Option<Term>, cta: Option<Term>) -> Vec<(u32, u32)> {
    let cta = cta.and_then(|t| a.constant(t)).and_then(|c| u32::try_from(c).ok());
    match multicast.and_then(|t| a.constant(t)) {
        Some(mask) => {
            let to = (0..16).filter(|c| mask >> c & 1 == 1);
            to.map(|to| (to, cta.map_or(to, |c| to & !1 | c & 1))).collect()
        }
        None => vec![(rank, cta.unwrap_or(rank))],
    }
}

/// Finds the bytes of each copy; an error is an instruction and the reason. A CTA has `warps` warps. Where a condition
/// decides how many bytes a barrier expects, it decides which copies come, too: each outcome has its own sizes. So have
/// the outcomes of a condition that decides which of two instructions copies, where the sizes are not found without.
pub(crate) fn loads(a: &Arena, tree: &[Merged], warps: u32, code: &[Inst]) -> Result<Sizes, (usize, String)> {
    let none = Outcomes::default();
    let maps = Maps::of(code);
    let with = |choices| loads_where(a, tree, (warps, &maps), &none, choices);
    let sizes = with(false).or_else(|e| with(true).map_err(|_| e))?;
    one_box(&maps, &sizes)?;
    Ok(sizes)
}

/// An error for copies of which one tensor map says the box, and their barriers do not expect the bytes of one box.
fn one_box(maps: &Maps<'_>, sizes: &Sizes) -> Result<(), (usize, String)> {
    let all: BTreeSet<(usize, u32)> = sizes.iter().map(|((at, ..), n)| (*at, *n)).collect();
    for (n, (at, bytes)) in all.iter().enumerate() {
        let other = all.iter().take(n).find(|(x, other)| x != at && other != bytes && maps.one(*x, *at));
        if let Some((_, other)) = other {
            let message = format!("copies by one tensor map bring {other} and {bytes} bytes, as their barriers expect");
            return Err((*at, message));
        }
    }
    Ok(())
}

/// The bytes of each copy where conditions have these outcomes.
fn loads_where(
    a: &Arena,
    tree: &[Merged],
    how: (u32, &Maps<'_>),
    known: &Outcomes,
    choices: bool,
) -> Result<Sizes, (usize, String)> {
    let open = known.open(a, tree).or_else(|| known.choice(a, tree).filter(|_| choices));
    let Some(c) = open.filter(|_| known.0.len() < MOST_CONDITIONS) else {
        return loads_of(a, tree, how, known);
    };
    let mut sizes = loads_where(a, tree, how, &known.with(c, true), choices)?;
    for ((at, to, bar), n) in loads_where(a, tree, how, &known.with(c, false), choices)? {
        if sizes.insert((at, to, bar), n).is_some_and(|old| old != n) {
            return Err((at, "a condition decides how many bytes this copy brings".into()));
        }
    }
    Ok(sizes)
}

fn loads_of(
    a: &Arena,
    tree: &[Merged],
    (warps, maps): (u32, &Maps<'_>),
    known: &Outcomes,
) -> Result<Sizes, (usize, String)> {
    let mut groups = Groups::new();
    let mut said: BTreeMap<Signalled, BTreeMap<usize, Option<i64>>> = BTreeMap::new();
    let mut sizes = Sizes::new();
    let mut starts: BTreeSet<i64> = BTreeSet::new();
    let mut bad = None;
    let mut issued = Issued::new();
    known.each_op(a, tree, &mut |at, (w, _, e)| {
        let rank = w / warps;
        match e {
            Effect::BulkLoad { to, bar, bytes, multicast, cta } => {
                match addresses(a, *to) {
                    Some(list) => starts.extend(list),
                    None => bad = bad.take().or(Some((at, "where this copy goes has no bounds".to_string()))),
                }
                if let Some(n) = bytes.and_then(|t| a.constant(t)) {
                    sizes.insert((at, *to, *bar), n as u32);
                }
                for (dest, signalled) in deliveries(a, rank, *multicast, *cta) {
                    issued.entry((at, signalled)).or_default().insert((rank, dest));
                    let list = groups.entry((*bar, signalled)).or_default();
                    if list.last().is_none_or(|g| g.is_closed_to(at) || g.has_another(at, *to, (rank, dest))) {
                        list.push(Group { copies_first: true, ..Group::default() });
                    }
                    if let Some(g) = list.last_mut() {
                        g.copies.entry((at, *to)).or_default().insert((rank, dest));
                    }
                }
            }
            Effect::Arrive { bar, expect: Some(n), cta, .. } | Effect::Expect { bar, bytes: n, cta } => {
                let cta = cta.and_then(|t| a.constant(t)).and_then(|c| u32::try_from(c).ok()).unwrap_or(rank);
                let list = groups.entry((*bar, cta)).or_default();
                let n = known.value(a, *n);
                let by_line = said.entry((*bar, cta)).or_default().entry(at).or_insert(Some(0));
                *by_line = by_line.zip(n).map(|(x, y)| x + y);
                match list.last_mut() {
                    // A copy may come before the `expect_tx` of its phase.
                    Some(g) if g.expect.is_none() => (g.expect, g.at) = (n, Some(at)),
                    // The same `expect_tx` on another way to the same copies.
                    Some(g) if g.at == Some(at) && g.by.contains(w) && g.copies.is_empty() => {}
                    // Warps, or CTAs of a pair, that expect on one barrier.
                    Some(g) if g.at == Some(at) && !g.by.contains(w) => {
                        g.expect = g.expect.zip(n).map(|(x, y)| x + y);
                    }
                    // Several `expect_tx`, and then the copies.
                    Some(g) if g.copies.is_empty() => g.expect = g.expect.zip(n).map(|(x, y)| x + y),
                    _ => list.push(Group { expect: n, at: Some(at), ..Group::default() }),
                }
                if let Some(g) = list.last_mut() {
                    g.by.insert(*w);
                }
            }
            Effect::Init(bar, _) => starts.extend(a.constant(*bar)),
            _ => {}
        }
    });
    if let Some(bad) = bad {
        return Err(bad);
    }
    let joined = split_phases::join(a, &mut groups, maps);
    lend(a, &mut groups, &said);
    // Copies that no `expect_tx` follows are of the phase before.
    for list in groups.values_mut() {
        if list.len() > 1
            && let Some(last) = list.pop_if(|g| g.expect.is_none())
            && let Some(g) = list.last_mut()
        {
            last.copies.into_iter().for_each(|(copy, by)| g.copies.entry(copy).or_default().extend(by));
        }
    }
    for ((_, cta), list) in &mut groups {
        list.iter_mut().for_each(|g| g.cta = *cta);
    }
    let operands = Operands::of(a, tree, known);
    for ((bar, _), list) in &mut groups {
        list.iter_mut().for_each(|g| whole_rows(a, *bar, g, &sizes, &operands));
    }
    let groups = || groups.iter().flat_map(|((bar, _), list)| list.iter().map(move |g| (*bar, g)));
    let mut left = Vec::new();
    for (bar, g) in groups().filter(|(_, g)| !g.copies.is_empty()) {
        if settle(a, bar, g, (&starts, &operands, maps), &mut sizes).is_err() {
            left.push((bar, g));
        }
    }
    for (bar, g) in left {
        if !alike(a, bar, g, &mut sizes)
            && settle(a, bar, &g.of_all(&issued), (&starts, &operands, maps), &mut sizes).is_err()
        {
            settle(a, bar, g, (&starts, &operands, maps), &mut sizes)?;
        }
    }
    split_phases::by_own_barrier(&joined, &mut sizes);
    Ok(sizes)
}

/// Copies into operands with a swizzle bring whole rows. Where the bytes that their barrier expects are none, the copies
/// bring others than it expects.
fn whole_rows(a: &Arena, bar: Term, g: &mut Group, sizes: &Sizes, operands: &Operands) {
    let Some(expect) = g.expect else { return };
    let known = |(at, to): &(usize, Term)| sizes.get(&(*at, *to, bar)).copied();
    let stated: i64 = g.copies.iter().filter_map(|(c, by)| Some(i64::from(known(c)?) * by.len() as i64)).sum();
    let open = g.copies.keys().filter(|c| known(c).is_none()).map(|(_, to)| *to);
    if let Some(row) = operands.row(a, open) {
        g.expect = Some(stated + rounded(expect - stated, row));
    }
}

/// Copies whose bytes another role expects, in a loop of its own. Each phase of their barriers has the bytes that all
/// `expect_tx` of that role state. `said` has the bytes that each instruction expects.
fn lend(
    a: &Arena,
    groups: &mut BTreeMap<Signalled, Vec<Group>>,
    said: &BTreeMap<Signalled, BTreeMap<usize, Option<i64>>>,
) {
    let of = |bar: Term| addresses(a, bar).unwrap_or_default();
    let mut expected: BTreeMap<(i64, u32), Vec<Option<i64>>> = BTreeMap::new();
    for ((bar, cta), list) in said {
        for x in of(*bar) {
            expected.entry((x, *cta)).or_default().extend(list.values());
        }
    }
    for ((bar, cta), list) in groups.iter_mut().filter(|(key, _)| !said.contains_key(key)) {
        let mut all = of(*bar).into_iter().flat_map(|x| expected.get(&(x, *cta)).into_iter().flatten());
        let Some(Some(n)) = all.next().copied() else { continue };
        if all.all(|m| *m == Some(n)) {
            list.iter_mut().for_each(|g| g.expect = Some(n));
        }
    }
}

/// A copy whose bytes are not known yet.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    first: i64,
    at: usize,
    to: Term,
    /// Bytes up to the start of the next copy.
    gap: Option<i64>,
    /// How many times the barrier counts these bytes.
    times: i64,
}

fn settle(
    a: &Arena,
    bar: Term,
    g: &Group,
    (starts, operands, maps): (&BTreeSet<i64>, &Operands, &Maps<'_>),
    sizes: &mut Sizes,
) -> Result<(), (usize, String)> {
    let mut known = 0;
    let mut open: Vec<Open> = Vec::new();
    for ((at, to), issued) in &g.copies {
        let times = issued.len() as i64;
        if let Some(n) = sizes.get(&(*at, *to, bar)) {
            known += *n as i64 * times;
            continue;
        }
        let all = addresses(a, *to).unwrap_or_default();
        let gap = |x: &i64| starts.range(x + 1..).next().map(|next| next - x);
        let gap = all.iter().filter_map(gap).min();
        open.push(Open { first: all.iter().min().copied().unwrap_or(0), at: *at, to: *to, gap, times });
    }
    open.sort_unstable();
    let (Some(last), Some(first)) = (open.last(), g.copies.keys().next()) else { return Ok(()) };
    let Some(expect) = g.expect else {
        return Err((first.0, "no `expect_tx` with a constant says how many bytes this copy brings".into()));
    };
    let left = expect - known;
    // Copies by one tensor map have one box.
    let times: i64 = open.iter().map(|o| o.times).sum();
    let apart = open.windows(2).map(|w| w[1].first - w[0].first).min();
    if open.iter().all(|o| maps.one(o.at, last.at))
        && apart.is_some_and(|d| left == times * (left / times) && left / times <= d)
    {
        for o in &open {
            sizes.insert((o.at, o.to, bar), (left / times) as u32);
        }
        return Ok(());
    }
    let fits = |size: i64, gap: Option<i64>| size > 0 && size % 16 == 0 && gap.is_none_or(|g| size <= g);
    // All but one reach up to the next copy, and that one brings the rest. A copy alone brings all, also over the place of a
    // barrier that has ended, but not over the barrier that it signals.
    let own = addresses(a, bar).unwrap_or_default();
    let up_to_own = |x: i64| own.iter().filter(|b| **b > x).min().map(|b| b - x);
    let rest_of = |n: usize| {
        let others = open.iter().enumerate().filter(|(i, _)| *i != n);
        let before: Option<i64> = others.map(|(_, o)| Some(o.gap? * o.times)).sum();
        let (rest, times) = (left - before?, open[n].times);
        let gap = if open.len() == 1 { up_to_own(open[n].first) } else { open[n].gap };
        (rest % times == 0 && fits(rest / times, gap)).then_some((n, rest / times))
    };
    let all: Vec<(usize, i64)> = (0..open.len()).filter_map(rest_of).collect();
    let one = |all: &[(usize, i64)]| if let [one] = *all { Some(one) } else { None };
    // The box of a tensor map is rather a power of two.
    let whole: Vec<(usize, i64)> = all.iter().copied().filter(|(_, rest)| rest.count_ones() == 1).collect();
    // A copy into an operand rather brings all that products read there.
    let filled =
        |(n, rest): &(usize, i64)| open[*n].gap.is_none_or(|gap| *rest >= gap.min(operands.read_from(open[*n].first)));
    let last = rest_of(open.len() - 1);
    let full: Vec<(usize, i64)> = all.iter().copied().filter(filled).collect();
    let with_rest = last.filter(filled).or(one(&full)).or(last).or(one(&all)).or(one(&whole));
    if let Some((n, rest)) = with_rest {
        for (i, o) in open.iter().enumerate() {
            let size = if i == n { rest } else { o.gap.unwrap_or(0) };
            sizes.insert((o.at, o.to, bar), size as u32);
        }
        return Ok(());
    }
    if left % times == 0 && open.iter().all(|o| fits(left / times, o.gap)) {
        for o in &open {
            sizes.insert((o.at, o.to, bar), (left / times) as u32);
        }
        return Ok(());
    }
    Err((
        first.0,
        format!("the bytes of {times} copies cannot be told from the {expect} bytes that their barrier expects"),
    ))
}

/// Bytes of a tensor map; no other access of threads has this size.
pub(crate) const TENSOR_MAP: u32 = 128;
/// Copies that go where others go bring as many bytes, where that adds up to what their barrier expects.
fn alike(a: &Arena, bar: Term, g: &Group, sizes: &mut Sizes) -> bool {
    let mut at_address: BTreeMap<i64, u32> = BTreeMap::new();
    for ((_, to, _), n) in sizes.iter() {
        at_address.extend(addresses(a, *to).unwrap_or_default().into_iter().map(|x| (x, *n)));
    }
    let mut found = Vec::new();
    let mut sum = 0;
    for ((at, to), issued) in &g.copies {
        let here = || addresses(a, *to)?.into_iter().find_map(|x| at_address.get(&x).copied());
        let Some(n) = sizes.get(&(*at, *to, bar)).copied().or_else(here) else { return false };
        sum += n as i64 * issued.len() as i64;
        found.push(((*at, *to, bar), n));
    }
    let adds_up = g.expect == Some(sum);
    if adds_up {
        sizes.extend(found);
    }
    adds_up
}

/// A write of threads to shared memory.
struct Write {
    low: i64,
    high: i64,
    /// The number of barriers before it in the text.
    phase: u32,
}

impl Write {
    /// Whether it comes just before the barrier that a phase begins with, or behind it.
    fn is_before(&self, phase: u32) -> bool {
        self.phase == phase || self.phase + 1 == phase
    }
}

/// Bytes of stores by tensor map: those that threads have written, from the store's address up to the address of the
/// next store. What no thread wrote is what copies brought there, of the sizes `loads`.
pub(crate) fn stores(
    a: &Arena,
    tree: &[Merged],
    loads: &Sizes,
) -> Result<BTreeMap<(usize, Term), u32>, (usize, String)> {
    let mut written: Vec<Write> = Vec::new();
    let mut starts: BTreeSet<i64> = BTreeSet::new();
    let mut list = Vec::new();
    let mut sizes = BTreeMap::new();
    let (mut phase, mut barrier) = (0, None);
    each_op(tree, &mut |at, (_, _, e)| match e {
        Effect::Touch(what, runs) | Effect::Far { what, runs, .. } if *what != Touch::Read => {
            for (t, n) in runs {
                let (low, high) = a.range(*t);
                // A tensor map that is built here: the data of a store ends before it.
                if *n == TENSOR_MAP {
                    starts.insert(low);
                }
                written.push(Write { low, high: high + *n as i64, phase });
            }
        }
        Effect::BulkLoad { to, .. } => starts.extend(addresses(a, *to).unwrap_or_default()),
        Effect::BulkStore { from, bytes } => {
            starts.extend(addresses(a, *from).unwrap_or_default());
            match bytes.and_then(|t| a.constant(t)) {
                Some(n) => drop(sizes.insert((at, *from), n as u32)),
                None => list.push((at, *from, phase)),
            }
        }
        Effect::Bar(_, _, true) if barrier != Some(at) => {
            barrier = Some(at);
            phase += 1;
        }
        _ => {}
    });
    let all = joined(written.iter());
    let loaded = |((_, to, _), n): (&(usize, Term, Term), &u32)| {
        addresses(a, *to).unwrap_or_default().into_iter().map(|x| (x, x + i64::from(*n))).collect::<Vec<_>>()
    };
    let copied = united(loads.iter().flat_map(loaded).collect());
    // Bytes that threads write just before a store, by its phase.
    let mut before: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for (at, from, phase) in list {
        let last = before.entry(phase).or_insert_with(|| joined(written.iter().filter(|w| w.is_before(phase))));
        let Some(addresses) = addresses(a, from) else {
            return Err((at, "where this copy comes from has no bounds".into()));
        };
        let size = |x: &i64| {
            let inside = |(low, high): &&(i64, i64)| low <= x && x < high;
            let (_, end) = all.iter().find(inside).or_else(|| copied.iter().find(inside))?;
            let n = starts.range(x + 1..).next().map_or(*end, |s| (*s).min(*end)) - x;
            Some(last_written(&written, last, *x, n, phase).unwrap_or(n))
        };
        let n = addresses.iter().filter_map(size).min();
        let Some(n) = n else { return Err((at, "nothing is written where this copy reads".into())) };
        sizes.insert((at, from), n as u32);
    }
    Ok(sizes)
}

/// The bytes that writes cover, as intervals.
fn joined<'w>(written: impl Iterator<Item = &'w Write>) -> Vec<(i64, i64)> {
    united(written.map(|w| (w.low, w.high)).collect())
}

/// The bytes of a store that warps write just before its barrier. Other bytes may follow that are written at other places
/// only, such as those of an exchange between lanes. The box of a tensor map is rather a power of two.
fn last_written(written: &[Write], last: &[(i64, i64)], from: i64, all: i64, phase: u32) -> Option<i64> {
    let (_, end) = *last.iter().find(|(low, high)| *low <= from && from < *high)?;
    let apart = |w: &Write| w.high <= end || w.low >= end && (w.low >= from + all || !w.is_before(phase));
    let n = end - from;
    (n < all && all.count_ones() > 1 && n.count_ones() == 1 && written.iter().all(apart)).then_some(n)
}
