//! A random number generator whose seeds keep their meaning.

/// SplitMix64 (Steele, Lea, Flood 2014). It is written out because a seed must mean the same kernel for ever, and the
/// generators of libraries change with their versions.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A generator for a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included; `low` where the range is empty.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        let width = (high - low + 1).max(1) as u64;
        low + (self.bits() % width) as i64
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: i64) -> bool {
        self.range(1, 100) <= percent
    }

    /// One word of a list that is not empty.
    pub fn word<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.range(0, list.len() as i64 - 1) as usize]
    }

    /// One element of a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.range(0, list.len() as i64 - 1) as usize]
    }
}
