//! A cache of tiles with least-recently-used eviction and a limit on dirty data.

use std::collections::VecDeque;

/// Number of a tile, chosen by the caller from zero on.
pub(super) type Line = u32;

#[derive(Clone, Copy, Debug)]
struct Node {
    line: Line,
    bytes: u32,
    /// Sequence number of the newest write that memory does not have yet; 0 for a clean line.
    written: u64,
    newer: u32,
    older: u32,
}

const NONE: u32 = u32::MAX;

/// One cache.
#[derive(Clone, Debug)]
pub(super) struct Lru {
    capacity: u64,
    used: u64,
    /// Largest number of dirty bytes, and the current number.
    dirty_most: u64,
    dirty: u64,
    writes: u64,
    /// Dirty lines, in order of their writes. An entry is valid while its number is the line's `written`.
    waiting: VecDeque<(u64, Line)>,
    /// The node of each line, by the line's number.
    at: Vec<u32>,
    nodes: Vec<Node>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl Lru {
    /// An empty cache of `capacity` bytes, of which at most `dirty_most` may be dirty.
    pub(super) fn new(capacity: u64, dirty_most: u64) -> Self {
        let (waiting, at, nodes, free) = (VecDeque::new(), Vec::new(), Vec::new(), Vec::new());
        Lru { capacity, used: 0, dirty_most, dirty: 0, writes: 0, waiting, at, nodes, free, newest: NONE, oldest: NONE }
    }

    /// Whether a line is present; a present line becomes the newest.
    pub(super) fn touch(&mut self, line: Line) -> bool {
        let Some(i) = self.node(line) else { return false };
        if self.newest != i {
            self.unlink(i);
            self.link(i);
        }
        true
    }

    /// The node of a line that is present.
    fn node(&self, line: Line) -> Option<u32> {
        self.at.get(line as usize).copied().filter(|i| *i != NONE)
    }

    /// Inserts a line, or marks it dirty. Returns the bytes written back to memory: evicted dirty lines, and the oldest
    /// writes beyond the limit.
    pub(super) fn insert(&mut self, line: Line, bytes: u32, dirty: bool) -> u64 {
        let mut out = 0;
        if !self.touch(line) {
            while self.used + bytes as u64 > self.capacity && self.oldest != NONE {
                let i = self.oldest;
                out += self.clean(i);
                let n = self.nodes[i as usize];
                self.unlink(i);
                self.at[n.line as usize] = NONE;
                self.free.push(i);
                self.used -= n.bytes as u64;
            }
            let node = Node { line, bytes, written: 0, newer: NONE, older: NONE };
            let i = match self.free.pop() {
                Some(i) => {
                    self.nodes[i as usize] = node;
                    i
                }
                None => {
                    self.nodes.push(node);
                    self.nodes.len() as u32 - 1
                }
            };
            if self.at.len() <= line as usize {
                self.at.resize(line as usize + 1, NONE);
            }
            self.at[line as usize] = i;
            self.used += bytes as u64;
            self.link(i);
        }
        let n = &mut self.nodes[self.newest as usize];
        if dirty && n.written == 0 {
            self.writes += 1;
            n.written = self.writes;
            self.dirty += n.bytes as u64;
            self.waiting.push_back((self.writes, line));
        }
        while self.dirty > self.dirty_most {
            let Some((write, line)) = self.waiting.pop_front() else { break };
            match self.node(line) {
                Some(i) if self.nodes[i as usize].written == write => out += self.clean(i),
                _ => {}
            }
        }
        out
    }

    /// Writes a line back. Returns the number of bytes that memory receives.
    fn clean(&mut self, i: u32) -> u64 {
        let n = &mut self.nodes[i as usize];
        if n.written == 0 {
            return 0;
        }
        n.written = 0;
        self.dirty -= n.bytes as u64;
        n.bytes as u64
    }

    fn link(&mut self, i: u32) {
        self.nodes[i as usize].older = self.newest;
        self.nodes[i as usize].newer = NONE;
        match self.newest {
            NONE => self.oldest = i,
            n => self.nodes[n as usize].newer = i,
        }
        self.newest = i;
    }

    fn unlink(&mut self, i: u32) {
        let Node { newer, older, .. } = self.nodes[i as usize];
        match newer {
            NONE => self.newest = older,
            n => self.nodes[n as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            o => self.nodes[o as usize].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_leaves_and_what_was_written_goes_to_memory() {
        let mut c = Lru::new(30, 30);
        assert_eq!((c.insert(1, 10, true), c.insert(2, 10, false), c.insert(3, 10, false)), (0, 0, 0));
        assert!(c.touch(1));
        assert_eq!(c.insert(4, 10, false), 0, "2 is the oldest, and clean");
        assert!(!c.touch(2) && c.touch(3));
        assert_eq!(c.insert(5, 20, false), 10, "4 and 1 leave; 1 was written");
    }

    #[test]
    fn of_more_that_is_written_than_may_stay_the_first_goes_to_memory_and_stays_as_well() {
        let mut c = Lru::new(100, 25);
        assert_eq!((c.insert(1, 10, true), c.insert(2, 10, true)), (0, 0));
        assert_eq!(c.insert(1, 10, true), 0, "it is written again, and no more bytes for it");
        assert_eq!(c.insert(3, 10, true), 10, "of 1");
        assert!(c.touch(1));
        assert_eq!(c.insert(1, 10, true), 10, "of 2: 1 has to be written once more");
    }
}
