//! Classes by number, so that times of each can be kept in an array.

use warpline_sim::timeline::{Stall, Work};

pub(crate) use crate::gantt::class::Class;

/// Number of classes.
pub(crate) const CLASSES: usize = 27;

/// All classes; the index is the class's number.
pub(crate) const ALL: [Class; CLASSES] = [
    Class::Work(Work::Load),
    Class::Work(Work::Shared),
    Class::Work(Work::Mma),
    Class::Work(Work::Alu),
    Class::Work(Work::Store),
    Class::Work(Work::Sync),
    Class::Work(Work::Control),
    Class::Stall(Stall::Launch),
    Class::Stall(Stall::Issue),
    Class::Stall(Stall::Global),
    Class::Stall(Stall::Shared),
    Class::Stall(Stall::Tensor),
    Class::Stall(Stall::Alu),
    Class::Stall(Stall::Barrier),
    Class::Stall(Stall::Named),
    Class::Stall(Stall::Join),
    Class::Stall(Stall::Cluster),
    Class::Stall(Stall::Mbarrier),
    Class::Stall(Stall::Group),
    Class::Stall(Stall::Counter),
    Class::Stall(Stall::Pool),
    Class::Stall(Stall::Held),
    Class::Stall(Stall::Ended),
    Class::Filling,
    Class::Full,
    Class::Phase(false),
    Class::Phase(true),
];

/// Number of the class for having ended, which is neither work nor waiting.
pub(crate) const ENDED: u8 = 22;
/// Number of the class for a filling slot.
pub(crate) const FILLING: u8 = 23;
/// Number of the class for a full slot.
pub(crate) const FULL: u8 = 24;

/// The number of a class.
pub(crate) fn number(class: Class) -> u8 {
    match class {
        Class::Work(w) => w as u8,
        Class::Stall(s) => 7 + s as u8,
        Class::Filling => FILLING,
        Class::Full => FULL,
        Class::Phase(odd) => 25 + u8::from(odd),
    }
}

/// Whether a class is work.
pub(crate) fn works(number: u8) -> bool {
    number < 7
}

/// Whether a class is waiting. Having ended is not waiting.
pub(crate) fn waits(number: u8) -> bool {
    (7..ENDED).contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places() {
        for (i, class) in ALL.iter().enumerate() {
            assert_eq!(usize::from(number(*class)), i, "{class:?}");
        }
        assert_eq!(ALL[usize::from(ENDED)], Class::Stall(Stall::Ended));
    }
}
