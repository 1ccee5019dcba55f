//! A cache of tiles: least recently used first out.

use rustc_hash::FxHashMap;

/// What of which tile: an index of the caller's.
pub(super) type Line = u32;

#[derive(Clone, Copy, Debug)]
struct Node {
    line: Line,
    bytes: u32,
    dirty: bool,
    newer: u32,
    older: u32,
}

const NONE: u32 = u32::MAX;

/// One cache.
#[derive(Clone, Debug)]
pub(super) struct Lru {
    capacity: u64,
    used: u64,
    at: FxHashMap<Line, u32>,
    nodes: Vec<Node>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl Lru {
    /// An empty cache of this many bytes.
    pub(super) fn new(capacity: u64) -> Self {
        let (at, nodes, free) = (FxHashMap::default(), Vec::new(), Vec::new());
        Lru { capacity, used: 0, at, nodes, free, newest: NONE, oldest: NONE }
    }

    /// Whether a line is there; it is then the newest.
    pub(super) fn touch(&mut self, line: Line) -> bool {
        let Some(&i) = self.at.get(&line) else { return false };
        self.unlink(i);
        self.link(i);
        true
    }

    /// Puts a line in, or marks it written. The written bytes that had to leave for it.
    pub(super) fn insert(&mut self, line: Line, bytes: u32, dirty: bool) -> u64 {
        if self.touch(line) {
            let i = self.newest as usize;
            self.nodes[i].dirty |= dirty;
            return 0;
        }
        let mut written = 0;
        while self.used + bytes as u64 > self.capacity && self.oldest != NONE {
            let i = self.oldest;
            let n = self.nodes[i as usize];
            self.unlink(i);
            self.at.remove(&n.line);
            self.free.push(i);
            self.used -= n.bytes as u64;
            written += if n.dirty { n.bytes as u64 } else { 0 };
        }
        let node = Node { line, bytes, dirty, newer: NONE, older: NONE };
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
        self.at.insert(line, i);
        self.used += bytes as u64;
        self.link(i);
        written
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
        let mut c = Lru::new(30);
        assert_eq!((c.insert(1, 10, true), c.insert(2, 10, false), c.insert(3, 10, false)), (0, 0, 0));
        assert!(c.touch(1));
        assert_eq!(c.insert(4, 10, false), 0, "2 is the oldest, and clean");
        assert!(!c.touch(2) && c.touch(3));
        assert_eq!(c.insert(5, 20, false), 10, "4 and 1 leave; 1 was written");
    }
}
