//! The verdict on a compiled kernel whose text does not say how many threads a block has.
//!
//! The host code knows that number, and a kernel is right for few of them. More threads than were meant write to the same
//! bytes. Fewer threads leave bytes unwritten that others read. So usual sizes are tried, and the verdict is a proof for
//! the size that the kernel needs.

use warpline_verify::Outcome;

use crate::error::Error;
use crate::load::{Subject, leaves_block_open, load};
use crate::request::Request;
use crate::verify::{ProofOptions, Verification, verdict, verify};

/// Steps of the search for all sizes. One that is not meant may have no period to be found.
const STEPS: u64 = 2_000_000;

/// Verifies what a request names. Where nothing says how many threads a block of a compiled kernel has, blocks of 64, 128
/// and 256 threads are tried. The verdict is the proof for the size that is proved although half of it is not. Its
/// assumptions name that size.
///
/// # Errors
/// As for [`load`] and [`verify`]. A kernel for which no such size is found needs `--block`.
pub fn verify_request(request: &Request, options: &ProofOptions) -> Result<Verification, Error> {
    let open = match load(request) {
        Ok(subject) => return verify(&subject, options),
        Err(error) => error,
    };
    if !leaves_block_open(request) {
        return Err(open);
    }
    let mut left = options.max_steps.min(STEPS);
    let mut outcome = |threads: u32| {
        let mut subject = of_size(request, threads).ok().filter(|_| left > 0)?;
        let v = verdict(&mut subject, &ProofOptions { max_steps: left, ..*options });
        left = left.saturating_sub(v.steps);
        Some(v.outcome)
    };
    let proved = |outcome: Option<Outcome>| outcome == Some(Outcome::Proved);
    let threads = match outcome(128) {
        // What cannot be read for one size is hardly read for another.
        None => return Err(open),
        Some(Outcome::Proved) => (!proved(outcome(64))).then_some(128),
        Some(Outcome::Bounded { .. } | Outcome::GaveUp { .. }) if proved(outcome(256)) => Some(256),
        Some(_) => (proved(outcome(64)) && !proved(outcome(32))).then_some(64),
    };
    let Some(threads) = threads else { return Err(open) };
    let mut v = verify(&of_size(request, threads)?, options)?;
    let what = format!("a block has {threads} threads, as the text does not say (`--block`)");
    v.subject.imported.iter_mut().for_each(|i| i.assumptions.push((what.clone(), 1)));
    Ok(v)
}

fn of_size(request: &Request, threads: u32) -> Result<Subject, Error> {
    let mut request = request.clone();
    request.launch.block = Some([threads, 1, 1]);
    load(&request)
}
