//! Blocks of clusters: the clusters whose coordinates are in a range on each axis of the grid.

use crate::ir::Grid;

/// Number of axes: rows, columns, third coordinate.
pub(super) const AXES: usize = 3;

/// Coordinates of a cluster, by axis.
pub type Position = [i64; AXES];

/// A block of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first coordinate of each axis.
    pub from: Position,
    /// Number of coordinates of each axis.
    pub len: Position,
}

impl Block {
    /// The whole grid.
    pub fn whole(grid: &Grid) -> Block {
        Block { from: [0; AXES], len: [grid.m, grid.n, grid.z] }
    }

    /// One cluster.
    pub fn one(from: Position) -> Block {
        Block { from, len: [1; AXES] }
    }

    /// Number of clusters.
    pub fn count(&self) -> i64 {
        self.len.iter().product()
    }

    /// The cluster with the largest coordinates, which is the last one of the block in launch order.
    pub fn last(&self) -> Position {
        std::array::from_fn(|i| self.from[i] + self.len[i] - 1)
    }

    /// Whether the block is one cluster.
    pub(super) fn is_one(&self) -> bool {
        self.len == [1; AXES]
    }

    /// The two parts of a block, before and from a coordinate of an axis.
    fn cut(&self, axis: usize, at: i64) -> [Block; 2] {
        let (mut low, mut high) = (*self, *self);
        low.len[axis] = at - self.from[axis];
        (high.from[axis], high.len[axis]) = (at, self.len[axis] - low.len[axis]);
        [low, high]
    }

    /// The index of a cluster's part, where each coordinate of the axes `apart` has a part of its own.
    fn part(&self, apart: [bool; AXES], at: Position) -> usize {
        let axes = (0..AXES).filter(|i| apart[*i]);
        axes.fold(0, |n, i| n * self.len[i] as usize + (at[i] - self.from[i]) as usize)
    }

    /// The parts of a block, in the order of [`Self::part`].
    fn parts(&self, apart: [bool; AXES]) -> Vec<Block> {
        let mut parts = vec![*self];
        for i in (0..AXES).filter(|i| apart[*i]) {
            let cells = |b: Block| (b.from[i]..b.from[i] + b.len[i]).map(move |at| (b, at));
            let part = |(mut b, at): (Block, i64)| {
                (b.from[i], b.len[i]) = (at, 1);
                b
            };
            parts = parts.into_iter().flat_map(cells).map(part).collect();
        }
        parts
    }
}

/// How a block is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// Before and from a coordinate of an axis.
    At { axis: usize, at: i64 },
    /// Each coordinate of these axes apart.
    Apart([bool; AXES]),
}

/// A node of a partition's tree.
#[derive(Clone, Debug)]
enum Node {
    /// The number of a block that is not divided.
    Leaf(usize),
    /// The first of two nodes, for the clusters before and from a coordinate of an axis.
    Cut { axis: usize, at: i64, first: usize },
    /// The first of the nodes of all parts of a block.
    Parts { block: Block, apart: [bool; AXES], first: usize },
}

/// A grid in blocks.
#[derive(Clone, Debug)]
pub struct Partition {
    nodes: Vec<Node>,
}

impl Partition {
    /// Divides a block until each part has a result.
    ///
    /// # Errors
    /// The first error that is no division.
    pub(super) fn new<T, E>(
        whole: Block,
        mut result: impl FnMut(Block) -> Result<T, Result<Division, E>>,
    ) -> Result<(Partition, Vec<T>), E> {
        let (mut nodes, mut results) = (vec![Node::Leaf(0)], Vec::new());
        let mut todo = vec![(whole, 0)];
        while let Some((block, node)) = todo.pop() {
            let first = nodes.len();
            let parts = match result(block) {
                Ok(one) => {
                    nodes[node] = Node::Leaf(results.len());
                    results.push(one);
                    continue;
                }
                Err(Err(e)) => return Err(e),
                Err(Ok(Division::At { axis, at })) => {
                    nodes[node] = Node::Cut { axis, at, first };
                    block.cut(axis, at).to_vec()
                }
                Err(Ok(Division::Apart(apart))) => {
                    nodes[node] = Node::Parts { block, apart, first };
                    block.parts(apart)
                }
            };
            nodes.resize(first + parts.len(), Node::Leaf(0));
            todo.extend(parts.into_iter().enumerate().map(|(i, part)| (part, first + i)).rev());
        }
        Ok((Partition { nodes }, results))
    }

    /// The number of the block with a cluster.
    pub fn of(&self, at: Position) -> usize {
        let mut node = 0;
        loop {
            node = match &self.nodes[node] {
                Node::Leaf(n) => return *n,
                Node::Cut { axis, at: cut, first } => first + usize::from(at[*axis] >= *cut),
                Node::Parts { block, apart, first } => first + block.part(*apart, at),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cluster_is_in_the_block_with_its_number() {
        let whole = Block { from: [0; 3], len: [5, 4, 2] };
        // Columns apart from column 2 on, and the last row for itself.
        let result = |b: Block| match b {
            Block { from: [_, 0, _], len: [_, 4, _] } => Err(Ok::<_, ()>(Division::At { axis: 1, at: 2 })),
            Block { from: [0, _, _], len: [5, _, _] } => Err(Ok(Division::At { axis: 0, at: 4 })),
            Block { from: [_, 2, _], len: [_, 2, _] } => Err(Ok(Division::Apart([false, true, true]))),
            b => Ok(b),
        };
        let (partition, blocks) = Partition::new(whole, result).expect("a result for each block");
        assert_eq!(blocks.iter().map(Block::count).sum::<i64>(), whole.count());
        assert_eq!(blocks.len(), 10);
        for (m, n, z) in (0..5).flat_map(|m| (0..4).flat_map(move |n| (0..2).map(move |z| (m, n, z)))) {
            let Block { from, len } = blocks[partition.of([m, n, z])];
            assert!((0..3).all(|i| (from[i]..from[i] + len[i]).contains(&[m, n, z][i])), "{m} {n} {z}");
        }
    }
}
