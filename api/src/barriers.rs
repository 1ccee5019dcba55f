//! The need for each synchronization statement of a kernel, and the fault that each prevents.

use std::time::Instant;

use warpline_verify::{Options, Redundancy};

use crate::error::Error;
use crate::load::Subject;
use crate::verify::{ProofOptions, Varied, trips};

/// A kernel and the need for each of its synchronization statements.
#[derive(Clone, Debug)]
pub struct Barriers {
    /// The kernel and machine.
    pub subject: Subject,
    /// Each statement with the fault that it prevents, and a smallest set of statements.
    pub redundancy: Redundancy,
    /// The parameter that was varied.
    pub varied: Option<Varied>,
    /// Seconds that the decision took.
    pub wall_s: f64,
}

/// Removes each synchronization statement of a kernel in turn, and verifies the rest.
///
/// # Errors
/// An operation or a size that the machine does not have, and a compiled kernel whose launch decides operations.
pub fn barriers(subject: &Subject, options: &ProofOptions) -> Result<Barriers, Error> {
    subject.admit()?;
    let start = Instant::now();
    // Conditions with several outcomes give several programs. The worst verdict over them need not be the worst verdict
    // without a statement.
    if subject.imported.as_ref().is_some_and(|i| i.variants.clone().nth(1).is_some()) {
        return Err(Error::with_help(
            format!("`{}`: conditions over the launch decide operations of this compiled kernel", subject.name),
            "`barriers` looks at kernels without such conditions; `warpline verify` decides every outcome of them",
        ));
    }
    let redundancy = warpline_verify::redundancy(subject.symbolic(), subject.rules(), options.limits(), &|| {});
    let varied = trips(subject).as_ref().map(Varied::of);
    Ok(Barriers { subject: subject.clone(), redundancy, varied, wall_s: start.elapsed().as_secs_f64() })
}

/// The need for each statement within the default limits.
pub(crate) fn default_redundancy(subject: &Subject) -> Redundancy {
    warpline_verify::redundancy(subject.symbolic(), subject.rules(), Options::default(), &|| {})
}
