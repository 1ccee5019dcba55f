//! Kernels as text, each a pure function of a family and a seed.

mod bodies;
mod expr;
mod family;
mod guard;
mod template;

pub use family::Family;

use crate::dice::Dice;

/// A generated kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The family.
    pub family: Family,
    /// The seed.
    pub seed: u64,
    /// The text; comments before `kernel` name the machine and values to try.
    pub text: String,
}

/// Seeds from this one up to [`CHAIN`] are kernels of [`Family::Sizes`], so that older seeds keep their meaning.
pub const SIZES: u64 = 1 << 32;

/// Seeds from this one up to [`GRIDS`] are kernels of [`Family::Chain`].
pub const CHAIN: u64 = 1 << 33;

/// Seeds from this one up to [`JOBS`] are kernels of [`Family::Grids`].
pub const GRIDS: u64 = 1 << 34;

/// Seeds from this one on are kernels of [`Family::Jobs`].
pub const JOBS: u64 = 1 << 35;

/// The kernel of a seed. Families take turns.
pub fn kernel(seed: u64) -> Kernel {
    let family = match seed {
        JOBS.. => Family::Jobs,
        GRIDS..JOBS => Family::Grids,
        CHAIN..GRIDS => Family::Chain,
        SIZES..CHAIN => Family::Sizes,
        _ => Family::ALL[(seed % Family::ALL.len() as u64) as usize],
    };
    let mut dice = Dice::new(seed);
    let text = family.template(&mut dice).write(&mut dice);
    Kernel { family, seed, text }
}
