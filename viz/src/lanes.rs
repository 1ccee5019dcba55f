//! Splits overlapping spans into lanes without overlap.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A lane for every interval, in order of start.
///
/// Greedy: the lowest free lane. This gives the smallest number of lanes, with the busiest first. An interval that
/// would need lane `cap` or above gets lane `cap - 1` and overlaps there.
pub(crate) fn assign(intervals: &[(u64, u64)], cap: u32) -> Vec<u32> {
    if intervals.windows(2).all(|two| two[0].1 <= two[1].0) {
        return vec![0; intervals.len()];
    }
    let mut busy: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    let mut free: BTreeSet<u32> = BTreeSet::new();
    let mut used = 0;
    let mut lanes = Vec::with_capacity(intervals.len());
    for &(start, end) in intervals {
        while let Some(&Reverse((until, lane))) = busy.peek() {
            if until > start {
                break;
            }
            busy.pop();
            free.insert(lane);
        }
        let lane = match free.pop_first() {
            Some(lane) => lane,
            None if used < cap.max(1) => {
                used += 1;
                used - 1
            }
            // Full: overlap in the last lane, and do not free it twice.
            None => {
                lanes.push(cap.max(1) - 1);
                continue;
            }
        };
        busy.push(Reverse((end, lane)));
        lanes.push(lane);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::assign;

    #[test]
    fn touching_intervals_share_a_lane() {
        assert_eq!(assign(&[(0, 5), (5, 9), (9, 12)], 8), [0, 0, 0]);
    }

    #[test]
    fn overlapping_intervals_take_the_lowest_free_lane() {
        assert_eq!(assign(&[(0, 10), (1, 3), (2, 9), (4, 5), (10, 11)], 8), [0, 1, 2, 1, 0]);
    }

    #[test]
    fn beyond_the_cap_they_pile_up_in_the_last() {
        assert_eq!(assign(&[(0, 10), (1, 10), (2, 10)], 2), [0, 1, 1]);
    }
}
