//! Random edits of kernels that are known to be right, each a pure function of the bases and a seed.
//!
//! Generated kernels have the shapes that a generator knows. Edits reach protocols that people wrote: one or two small
//! mistakes in each, most of which are faults, and some of which are none.

mod bases;
mod condition;
mod kinds;
mod lines;

pub use bases::{Base, bases_in};
pub use kinds::Edit;

use crate::dice::Dice;
use lines::Lines;

/// A kernel after random edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The name of the base.
    pub base: String,
    /// The edits, in the order in which they were made.
    pub edits: Vec<Edit>,
    /// The text; a comment before `kernel` names the machine.
    pub text: String,
}

/// Share of kernels with a second edit, in percent.
const TWO: i64 = 25;
/// Draws of an edit and its line, until an edit fits its line.
const DRAWS: usize = 200;

/// Seeds from this one on also edit numbers of headers, so that older seeds keep their meaning.
const FORMS: u64 = 1 << 32;
/// Seeds from this one on edit statements in a branch of their own.
const BRANCHES: u64 = 1 << 33;

/// The edited kernel of a seed; `None` where no draw fits or the edits undo each other. The text may be no kernel.
pub fn edited(bases: &[Base], seed: u64) -> Option<Edited> {
    if bases.is_empty() {
        return None;
    }
    let mut dice = Dice::new(seed);
    let base = dice.pick(bases);
    let mut lines = Lines::of(&base.text);
    let before = lines.text();
    let wanted = if dice.chance(TWO) { 2 } else { 1 };
    let mut edits = Vec::new();
    let often = match seed {
        BRANCHES.. => Some(Edit::Branch),
        FORMS.. => Some(Edit::Form),
        _ => None,
    };
    for _ in 0..DRAWS {
        if edits.len() < wanted
            && let Some(edit) = kinds::drawn(&mut lines, &mut dice, often)
        {
            edits.push(edit);
        }
    }
    let text = lines.text();
    (edits.len() == wanted && text != before).then(|| Edited { base: base.name.clone(), edits, text })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::oracle::Subject;

    fn bases() -> Vec<Base> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/it/verify/protocols");
        bases_in(&folder).expect("a folder of protocols")
    }

    #[test]
    fn a_seed_is_one_text() {
        let (once, again) = (bases(), bases());
        assert_eq!(once, again);
        (0..200).for_each(|seed| assert_eq!(edited(&once, seed), edited(&again, seed)));
    }

    #[test]
    fn every_kind_occurs_and_most_texts_are_kernels() {
        let bases = bases();
        let seeds = (0..200).chain(FORMS..FORMS + 100).chain(BRANCHES..BRANCHES + 100);
        let list: Vec<Edited> = seeds.filter_map(|seed| edited(&bases, seed)).collect();
        assert!(list.len() > 360, "{}", list.len());
        let kinds: BTreeSet<Edit> = list.iter().flat_map(|e| e.edits.iter().copied()).collect();
        assert_eq!(kinds.len(), Edit::ALL.len(), "{kinds:?}");
        assert!(list.iter().any(|e| e.edits.len() == 2));
        let kernels = list.iter().filter(|e| Subject::read(&e.text).is_ok()).count();
        assert!(10 * kernels > 7 * list.len(), "{kernels} of {}", list.len());
    }
}
