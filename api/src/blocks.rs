//! The verdict on a compiled kernel whose text does not say how many threads a block has.
//!
//! The host code knows that number, and a kernel is right for few of them: more threads than were meant write to the same
//! bytes, and fewer leave bytes unwritten that others read. So usual sizes are tried, and the verdict is a proof for the
//! size that the kernel needs.

use std::collections::BTreeMap;

use warpline_verify::Outcome;

use crate::error::Error;
use crate::load::{Subject, leaves_block_open, load};
use crate::request::Request;
use crate::verify::{ProofOptions, Verification, verdict, verify};

/// Threads of the blocks that are tried, the most usual first, each with the next smaller size.
const SIZES: [(u32, u32); 3] = [(128, 64), (256, 128), (64, 32)];

/// Steps for all sizes. One that is not meant may have no period to be found.
const STEPS: u64 = 1_000_000;

/// Verifies what a request names. If nothing says how many threads a block of a compiled kernel has, usual sizes are
/// tried: the verdict is the proof for the size that is proved although the next smaller one is not, and its assumptions
/// name that size.
///
/// # Errors
/// As for [`load`] and [`verify`]. A kernel for which no such size is found needs `--block`.
pub fn verify_request(request: &Request, options: &ProofOptions) -> Result<Verification, Error> {
    let open = match load(request) {
        Ok(subject) => return verify(&subject, options),
        Err(error) => error,
    };
    // What cannot be read for one size is hardly read for another.
    if !leaves_block_open(request) || of_size(request, SIZES[0].0).is_err() {
        return Err(open);
    }
    let mut left = options.max_steps.min(STEPS);
    let mut proved = BTreeMap::new();
    let mut is_right = |threads: u32| {
        *proved.entry(threads).or_insert_with(|| {
            let Some(mut subject) = (left > 0).then(|| of_size(request, threads).ok()).flatten() else { return false };
            let v = verdict(&mut subject, &ProofOptions { max_steps: left, ..*options });
            left = left.saturating_sub(v.steps);
            v.outcome == Outcome::Proved
        })
    };
    let found = SIZES.into_iter().find(|(threads, smaller)| is_right(*threads) && !is_right(*smaller));
    let Some((threads, _)) = found else { return Err(open) };
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
