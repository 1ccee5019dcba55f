//! Basic blocks, dominators, post-dominators, natural loops and live registers of an entry.

mod dominators;
mod live;
mod loops;

use crate::ptx::{Arg, Entry, Error, Inst};

use dominators::dominators;
pub use live::Live;
pub use loops::Loop;

/// Index of a block.
pub type BlockId = usize;

/// A basic block: instructions that are entered at the first and left after the last.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// First instruction.
    pub first: usize,
    /// One past the last.
    pub end: usize,
    /// Blocks that can follow. A guarded branch has first its target, then the next block of the text.
    pub next: Vec<BlockId>,
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Continues in the next block.
    Falls,
    /// `bra`.
    Branch,
    /// `brx.idx`.
    Table,
    /// `ret` or `exit`.
    Exit,
    /// `trap`.
    Trap,
}

/// The control flow of an entry.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Blocks in order of the text; the last one is empty and stands for the end of the thread.
    pub blocks: Vec<Block>,
    /// Position of each block in reverse postorder; `usize::MAX` where it cannot be reached.
    pub order: Vec<usize>,
    /// Immediate dominator of each block.
    pub dominator: Vec<Option<BlockId>>,
    /// Immediate post-dominator of each block.
    pub join: Vec<Option<BlockId>>,
    /// Natural loops.
    pub loops: Vec<Loop>,
    /// The innermost loop whose header a block is.
    pub header_of: Vec<Option<usize>>,
}

/// How an instruction ends its block; `None` if it does not.
pub fn ending(i: &Inst) -> Ending {
    match i.op.as_str() {
        "bra" => Ending::Branch,
        "brx" => Ending::Table,
        "ret" | "exit" => Ending::Exit,
        "trap" => Ending::Trap,
        _ => Ending::Falls,
    }
}

/// The instructions that branches lead to. Labels of debug information (`$L__tmp47`) are no targets.
fn targets(entry: &Entry) -> impl Iterator<Item = usize> + '_ {
    let branches = entry.code.iter().filter(|i| ending(i) == Ending::Branch).filter_map(|i| i.args.first());
    let branches = branches.filter_map(|a| if let Arg::Label(l) = a { Some(*l) } else { None });
    let all = branches.chain(entry.tables.values().flatten().copied());
    all.filter_map(|l| entry.labels.get(l as usize).copied().flatten())
}

impl Flow {
    /// Whether all ways to a block lead over another one.
    pub fn dominates(&self, other: BlockId, block: BlockId) -> bool {
        std::iter::successors(Some(block), |b| self.dominator[*b].filter(|d| d != b)).any(|b| b == other)
    }

    /// The block of an instruction.
    pub fn block_at(&self, instruction: usize) -> BlockId {
        self.blocks.partition_point(|b| b.end <= instruction).min(self.exit())
    }

    /// Whether a block is in a loop inside of a loop.
    pub fn is_in_inner(&self, l: usize, b: BlockId) -> bool {
        let outer = &self.loops[l].body;
        self.loops.iter().enumerate().any(|(n, x)| n != l && x.body[b] && outer[x.header])
    }

    /// Whether control can come from one instruction to another one.
    pub fn reaches(&self, from: usize, to: usize) -> bool {
        let (first, last) = (self.block_at(from), self.block_at(to));
        let (mut seen, mut open) = (vec![false; self.blocks.len()], self.blocks[first].next.clone());
        while let Some(b) = open.pop() {
            if !std::mem::replace(&mut seen[b], true) {
                open.extend(&self.blocks[b].next);
            }
        }
        first == last && from < to || seen[last]
    }

    /// The control flow of an entry.
    pub fn of(entry: &Entry) -> Result<Flow, Error> {
        let n = entry.code.len();
        let mut starts = vec![false; n + 1];
        starts[0] = true;
        targets(entry).for_each(|at| starts[at] = true);
        for (i, inst) in entry.code.iter().enumerate() {
            starts[i + 1] |= ending(inst) != Ending::Falls;
        }
        starts[n] = true;
        let firsts: Vec<usize> = (0..=n).filter(|i| starts[*i]).collect();
        let mut at = vec![0; n + 1];
        let mut block = 0;
        for (i, at) in at.iter_mut().enumerate() {
            block += (i > 0 && starts[i]) as usize;
            *at = block;
        }
        let exit = firsts.len() - 1;
        let mut blocks = Vec::new();
        for pair in firsts.windows(2) {
            let (first, end) = (pair[0], pair[1]);
            let last = &entry.code[end - 1];
            let falls = at[end];
            let target = |l: u32| entry.labels.get(l as usize).copied().flatten().map(|i| at[i]);
            let bad = || Error {
                line: last.line,
                span: last.span,
                message: format!("`{}` has no target", last.name()),
                expected: "a label".into(),
            };
            let mut next = match ending(last) {
                Ending::Falls => vec![falls],
                Ending::Branch => match last.args.first() {
                    Some(Arg::Label(l)) => vec![target(*l).ok_or_else(bad)?],
                    _ => return Err(bad()),
                },
                Ending::Table => match last.args.get(1) {
                    Some(Arg::Label(l)) => {
                        let list = entry.tables.get(l).ok_or_else(bad)?;
                        list.iter().map(|l| target(*l).ok_or_else(bad)).collect::<Result<_, _>>()?
                    }
                    _ => return Err(bad()),
                },
                Ending::Exit => vec![exit],
                Ending::Trap => Vec::new(),
            };
            if last.guard.is_some() && ending(last) != Ending::Falls {
                next.push(falls);
            }
            blocks.push(Block { first, end, next });
        }
        blocks.push(Block { first: n, end: n, next: Vec::new() });
        let next: Vec<Vec<BlockId>> = blocks.iter().map(|b| b.next.clone()).collect();
        let (order, dominator) = dominators(&next, 0);
        let mut back = vec![Vec::new(); blocks.len()];
        for (b, list) in next.iter().enumerate() {
            list.iter().for_each(|to| back[*to].push(b));
        }
        let (_, join) = dominators(&back, exit);
        let loops = loops::loops(&blocks, &order, &dominator).map_err(|b| {
            let i = &entry.code[blocks[b].first.min(n.saturating_sub(1))];
            Error {
                line: i.line,
                span: i.span,
                message: "this loop is entered in two places".into(),
                expected: "loops with one entry".into(),
            }
        })?;
        let mut header_of = vec![None; blocks.len()];
        loops.iter().enumerate().for_each(|(i, l)| header_of[l.header] = Some(i));
        Ok(Flow { blocks, order, dominator, join, loops, header_of })
    }

    /// The block that stands for the end of the thread.
    pub fn exit(&self) -> BlockId {
        self.blocks.len() - 1
    }
}
