//! A set of agents of a cluster, of any size.

use super::vocabulary::AgentId;
use smallvec::SmallVec;

/// Agents in one word.
const WORD: u32 = u64::BITS;

/// A set of agents. Equal sets are equal values: the last word is never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AgentSet(SmallVec<[u64; 2]>);

impl AgentSet {
    /// Whether the set has an agent.
    pub fn contains(&self, a: AgentId) -> bool {
        self.0.get((a / WORD) as usize).is_some_and(|word| word >> (a % WORD) & 1 == 1)
    }

    /// Adds an agent.
    pub fn insert(&mut self, a: AgentId) {
        let word = (a / WORD) as usize;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (a % WORD);
    }

    /// Removes an agent.
    pub fn remove(&mut self, a: AgentId) {
        if let Some(word) = self.0.get_mut((a / WORD) as usize) {
            *word &= !(1 << (a % WORD));
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    /// Adds or removes an agent.
    pub fn set(&mut self, a: AgentId, member: bool) {
        if member { self.insert(a) } else { self.remove(a) }
    }

    /// Removes all agents.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The agent with the smallest number.
    pub fn first(&self) -> Option<AgentId> {
        let word = self.0.iter().position(|word| *word != 0)?;
        Some(word as AgentId * WORD + self.0[word].trailing_zeros())
    }

    /// Number of agents.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no agent is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bits in words of 64, without zeros at the end.
    pub fn words(&self) -> &[u64] {
        &self.0
    }
}

impl FromIterator<AgentId> for AgentSet {
    fn from_iter<I: IntoIterator<Item = AgentId>>(agents: I) -> AgentSet {
        let mut set = AgentSet::default();
        agents.into_iter().for_each(|a| set.insert(a));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_equal_values_at_any_size() {
        let mut set: AgentSet = [3, 130, 1023].into_iter().collect();
        assert_eq!((set.len(), set.first(), set.contains(130), set.contains(2)), (3, Some(3), true, false));
        // An agent 128 further on has a bit of its own.
        assert!(!set.contains(3 + 128));
        set.remove(1023);
        assert_eq!(set, [130, 3].into_iter().collect());
        set.set(130, false);
        set.set(3, false);
        assert_eq!((set.is_empty(), set.first()), (true, None));
        assert_eq!(set, AgentSet::default());
    }
}
