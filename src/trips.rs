//! The parameter of a loaded kernel that sets its trip count.

use warpline_verify::Trips;

use crate::load::Loaded;

/// The kernel at every trip count, if a parameter sets it.
pub(crate) fn trips(subject: &Loaded) -> Option<Trips> {
    Trips::find(subject.symbolic())
}
