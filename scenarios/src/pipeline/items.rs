//! Lowering of statements to operations of a machine. A copy becomes asynchronous, or a load to registers and a store.
//! A product of shared operands first reads these into registers, or is a `wgmma`.

use warpline_sim::ir::MoveKind;

use super::body::{Touch, Unit};
use super::schedule::Slot;
use super::text::Writer;
use super::{Products, Schedule, Via};
use crate::ast::{Move, Operation, Place, Stmt, StmtKind};

/// One operation of a step.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Index of its statement.
    pub(super) unit: usize,
    /// Its position among all items of the plain loop.
    pub(super) text: usize,
    /// Number of steps behind the newest.
    pub(super) stage: i64,
    /// Reads and writes on chip, in order.
    pub(super) touches: Vec<Touch>,
    /// The code to generate.
    pub(super) act: Act,
    /// The queue of an asynchronous operation.
    pub(super) queue: Option<Queue>,
    /// Steps until its reads are known to have ended; 0: when the item ends.
    pub(super) lag: i64,
    /// Whether the asynchronous proxy reads its operands.
    pub(super) proxy: bool,
}

/// The code of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// The statement as written.
    Plain,
    /// A copy with this instruction.
    Copy(&'static str),
    /// `ldg` of the copied data.
    Fetch,
    /// `sts` of the data that `ldg` loaded.
    Put,
    /// `lds` of the operands of a product.
    Operands,
    /// The product of operands in registers.
    Product,
    /// `wgmma`, followed by a wait for at most this many outstanding groups.
    Wgmma(i64),
}

/// The queue of asynchronous operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// A commit group of `cp.async`.
    Cp(usize),
    /// `vmcnt`.
    Vm,
    /// Bytes on the mbarrier of a group.
    Tma(usize),
}

/// The moves of a statement that consists of moves only.
pub(super) fn moves(s: &Stmt) -> Vec<&Move> {
    match &s.kind {
        StmtKind::Op(op, _) => match op.as_ref() {
            Operation::Move(m) => vec![m],
            _ => vec![],
        },
        StmtKind::Staged(p) => p.body.iter().flat_map(moves).collect(),
        _ => vec![],
    }
}

/// The operands of a statement that is one product.
pub(super) fn product(s: &Stmt) -> Option<[&Place; 3]> {
    match &s.kind {
        StmtKind::Op(op, _) => match op.as_ref() {
            Operation::Mma { a, b, acc, .. } => Some([a, b, acc]),
            _ => None,
        },
        StmtKind::Staged(p) if p.body.len() == 1 => product(&p.body[0]),
        _ => None,
    }
}

/// The register that holds a place's data between memory and use.
pub(super) fn landing(p: &Place, suffix: &str) -> String {
    let digits: String = p
        .sels
        .iter()
        .filter_map(|s| match &s.kind {
            crate::ast::SelKind::Digits(d) => Some(d.as_str()),
            _ => None,
        })
        .collect();
    format!("{}{digits}_{suffix}", p.name.text)
}

fn register(name: String, write: bool) -> Touch {
    Touch { buffer: name, piece: None, write, shared: false }
}

/// Lowers the statements in the order of the schedule.
pub(super) fn items(
    units: &[Unit],
    slots: &[Slot],
    via: Via,
    (products, rule): (Products, Schedule),
    manual: bool,
) -> Vec<Item> {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by_key(|n| slots[*n].order);
    let (mut front, mut middle, mut end) = (Vec::new(), Vec::new(), Vec::new());
    for n in order {
        let (u, slot) = (&units[n], &slots[n]);
        let item = |part: usize, act, touches: Vec<Touch>| Item {
            unit: n,
            text: 4 * n + part,
            stage: slot.stage,
            touches,
            act,
            queue: None,
            lag: 0,
            proxy: false,
        };
        let ahead = slots.iter().any(|s| s.stage != slot.stage);
        let by_registers =
            u.copies && !u.conditional && ahead && (via == Via::Registers || u.converts && via != Via::Sync);
        if by_registers {
            let lands = moves(&u.stmt);
            let to = |write| lands.iter().map(|m| register(landing(&m.dst, "reg"), write)).collect::<Vec<_>>();
            let mut fetch = item(0, Act::Fetch, to(true));
            fetch.queue = Some(Queue::Vm).filter(|_| manual);
            front.push(fetch);
            end.push(item(1, Act::Put, to(false).into_iter().chain(u.touches.clone()).collect()));
            continue;
        }
        if let (Some(group), true) = (slot.group, u.copies) {
            let (word, queue) = match via {
                Via::Cp => ("cp", Some(Queue::Cp(group))),
                Via::Dma => ("dma", Some(Queue::Vm)),
                Via::Tma | Via::TmaJoint => ("tma", Some(Queue::Tma(group))),
                Via::Sync | Via::Registers => ("load", None),
            };
            if queue.is_some() {
                middle.push(Item { queue, ..item(0, Act::Copy(word), u.touches.clone()) });
                continue;
            }
        }
        match product(&u.stmt) {
            Some(p) if products != Products::Shared => middle.extend(multiplied(units, n, p, &item, products, rule)),
            _ => {
                let loads = !u.conditional && moves(&u.stmt).iter().any(|m| m.how == MoveKind::Ldg);
                let queue = Some(Queue::Vm).filter(|_| manual && loads);
                middle.push(Item { queue, ..item(0, Act::Plain, u.touches.clone()) });
            }
        }
    }
    front.into_iter().chain(middle).chain(end).collect()
}

/// Lowers a product whose operands are in shared memory.
fn multiplied(
    units: &[Unit],
    n: usize,
    [a, b, acc]: [&Place; 3],
    item: &dyn Fn(usize, Act, Vec<Touch>) -> Item,
    products: Products,
    rule: Schedule,
) -> Vec<Item> {
    let u = &units[n];
    let shared = |p: &Place| u.touches.iter().any(|t| t.shared && t.buffer == p.name.text);
    if !shared(a) && !shared(b) {
        return vec![item(0, Act::Plain, u.touches.clone())];
    }
    if products == Products::Wgmma && shared(b) {
        let alone =
            units.iter().enumerate().all(|(k, o)| k == n || o.touches.iter().all(|t| t.buffer != acc.name.text));
        let lag = i64::from(alone && matches!(rule, Schedule::Triton));
        return vec![Item { lag, proxy: true, ..item(0, Act::Wgmma(lag), u.touches.clone()) }];
    }
    let (mut reads, mut uses) = (Vec::new(), Vec::new());
    for p in [a, b].into_iter().filter(|p| shared(p)) {
        reads.extend(u.touches.iter().filter(|t| t.buffer == p.name.text && !t.write).cloned());
        reads.push(register(landing(p, "frag"), true));
        uses.push(register(landing(p, "frag"), false));
    }
    uses.extend(u.touches.iter().filter(|t| !t.shared).cloned());
    vec![item(0, Act::Operands, reads), item(1, Act::Product, uses)]
}

impl Item {
    /// The lines of an item at one step; `bar` is the slot's mbarrier, if there is one.
    pub(super) fn lines(&self, units: &[Unit], w: &Writer) -> Vec<(usize, String)> {
        let stmt = &units[self.unit].stmt;
        let mut out = Vec::new();
        let masked = |m: &Move| if m.masked { " masked" } else { "" };
        match self.act {
            Act::Plain => w.statement(stmt, 0, &mut out),
            Act::Copy(word) => {
                for m in moves(stmt) {
                    out.push((0, format!("{word} {} -> {}{}", w.place(&m.src), w.bare(&m.dst), masked(m))));
                }
            }
            Act::Fetch => {
                for m in moves(stmt) {
                    out.push((0, format!("ldg {} -> {}{}", w.place(&m.src), landing(&m.dst, "reg"), masked(m))));
                }
            }
            Act::Put => {
                for m in moves(stmt) {
                    let how = if m.dequant { " via dequant" } else { "" };
                    debug_assert_eq!(m.how, MoveKind::Load);
                    out.push((0, format!("sts {} -> {}{how}", landing(&m.dst, "reg"), w.bare(&m.dst))));
                }
            }
            Act::Operands => {
                for p in product(stmt).iter().flat_map(|p| &p[..2]) {
                    if self.touches.iter().any(|t| t.shared && t.buffer == p.name.text) {
                        out.push((0, format!("lds {} -> {}", w.place(p), landing(p, "frag"))));
                    }
                }
            }
            Act::Product => {
                if let Some([a, b, acc]) = product(stmt) {
                    let name = |p: &Place| {
                        let frag = landing(p, "frag");
                        if self.touches.iter().any(|t| t.buffer == frag) { frag } else { w.place(p) }
                    };
                    out.push((0, format!("mma {}, {} -> {}", name(a), name(b), w.bare(acc))));
                }
            }
            Act::Wgmma(open) => {
                if let Some([a, b, acc]) = product(stmt) {
                    out.push((0, "wgmma.fence".to_string()));
                    out.push((0, format!("wgmma {}, {} -> {}", w.place(a), w.place(b), w.bare(acc))));
                    out.push((0, format!("commit wgmma;  wait wgmma <= {open}")));
                }
            }
        }
        out
    }
}
