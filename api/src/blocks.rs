//! The verdict on a compiled kernel whose text does not say how many threads a block has.
//!
//! The host code knows that number, and a kernel is right for few of them. More threads than were meant write to the same
//! bytes. Fewer threads leave bytes unwritten that others read. So usual sizes are tried:
//!
//! | sizes | verdict |
//! |---|---|
//! | one is proved although half of it is not | the proof for that size |
//! | several are proved; all others from 64 on that are not too large are read, without a fault | the proof for those sizes |
//! | all have one fault in common | that fault, with 128 threads |
//! | all have a fault, and so has every other multiple of 32 | the fault with the size that has the fewest but hangs |
//! | the same, but for one multiple of 32, which is proved | the proof for that size |
//! | other | the error that asks for `--block`, with the outcome of each size |
//!
//! A text may tell threads apart by two or three coordinates. The shape of a block of each size then follows from how the
//! text numbers its threads (`x + 32 * y`). A fault alone decides nothing then: it may be one of a wrong shape.
//!
//! Some texts have two coordinates and no number over both. Rows of threads are then taken for warps, and several numbers of
//! rows are tried. A proof counts if it is the only one.
//!
//! A size is too large if several warps store the same bytes and nothing orders them, where they do not with fewer warps. So
//! are all larger sizes.
//!
//! A size for which an array of the text has no room is none.
//!
//! Faults that differ by size are those of wrong sizes: a kernel for 224 threads hangs with 128, and has another fault with 256.
//! Where there is no right size, one of them is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use rayon::prelude::*;
use warpline_sim::code::Code;
use warpline_sim::report::Finding;
use warpline_verify::{Outcome, Violation};

use crate::error::Error;
use crate::load::{OpenBlocks, Subject, load, open_blocks};
use crate::request::Request;
use crate::verify::{Decided, ProofOptions, Verification, decided, outcome_word, verify};

/// Sizes that are tried, in threads. One warp alone proves nothing: no other warp races with it.
const SIZES: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// The size that is tried first, and with which a common fault is shown.
const USUAL: u32 = 128;
/// Numbers of rows that are tried where a row is a warp.
const ROWS: [u32; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 32];
/// Steps for the usual size. One that is not meant may have no period to be found.
const USUAL_STEPS: u64 = 8_000_000;
/// Steps for all other sizes together.
const OTHER_STEPS: u64 = 2_000_000;

/// Verifies what a request names. Where nothing says how many threads a block of a compiled kernel has, usual sizes are
/// tried. The assumptions of the verdict name the sizes for which it holds.
///
/// # Errors
/// As for [`load`] and [`verify`]. A kernel for which the sizes do not decide needs `--block`.
pub fn verify_request(request: &Request, options: &ProofOptions) -> Result<Verification, Error> {
    let open = match load(request) {
        Ok(subject) => return verify(&subject, options),
        Err(error) => error,
    };
    let Some(blocks) = open_blocks(request) else { return Err(open) };
    let start = Instant::now();
    let left = options.max_steps.min(OTHER_STEPS);
    let mut sizes = Sizes { request, options, open: blocks, left, tried: BTreeMap::new() };
    let Some((shown, what)) = sizes.decision() else { return Err(sizes.listed(open)) };
    let Some(Some(trial)) = sizes.tried.remove(&shown) else { return Err(open) };
    let mut v = trial.decided.explained(&trial.given, options);
    v.wall_s = start.elapsed().as_secs_f64();
    v.subject.imported.iter_mut().for_each(|i| i.assumptions.push((what.clone(), 1)));
    Ok(v)
}

/// A kernel with blocks of one size, and its verdict.
struct Trial {
    given: Subject,
    decided: Decided,
}

/// The sizes of blocks of one kernel that were tried.
struct Sizes<'r> {
    request: &'r Request,
    options: &'r ProofOptions,
    /// The blocks that the kernel can have.
    open: OpenBlocks,
    /// Steps left for sizes other than the usual one.
    left: u64,
    /// What was tried, by threads; `None` where the kernel is not read with that size.
    tried: BTreeMap<u32, Option<Trial>>,
}

impl Sizes<'_> {
    /// The outcome for a size, which is tried once; `None` where the kernel is not read with that size.
    fn outcome(&mut self, threads: u32) -> Option<Outcome> {
        if !self.tried.contains_key(&threads) {
            let most = if threads == USUAL { self.options.max_steps.min(USUAL_STEPS) } else { self.left };
            let trial = self.trial(threads, most);
            if let Some(trial) = trial.as_ref().filter(|_| threads != USUAL) {
                self.left = self.left.saturating_sub(trial.decided.verdict.steps);
            }
            self.tried.insert(threads, trial);
        }
        Some(self.tried[&threads].as_ref()?.decided.verdict.outcome.clone())
    }

    fn trial(&self, threads: u32, max_steps: u64) -> Option<Trial> {
        let mut request = self.request.clone();
        request.launch.block = Some(*self.open.blocks.get(&threads)?);
        let given = load(&request).ok()?;
        let decided = decided(&given, &ProofOptions { max_steps, ..*self.options }).ok()?;
        Some(Trial { given, decided })
    }

    /// The multiple of 32 that is proved, if all others have a fault. If all have one, the size with the fewest faults that are
    /// no hang.
    fn only_one(&mut self) -> Option<u32> {
        let all: Vec<u32> = (1..=32).map(|warps| 32 * warps).filter(|n| *n <= self.open.room).collect();
        self.try_each(&all);
        let right: Vec<u32> = all.iter().copied().filter(|n| !self.violated(*n)).collect();
        match *right {
            [] => {}
            [one] if self.proved(one) => return Some(one),
            _ => {
                // The error has the usual sizes.
                self.tried.retain(|n, _| SIZES.contains(n));
                return None;
            }
        }
        let faults = |n: &u32| self.faults_of(*n).len();
        all.iter().filter(|n| faults(n) > 0).min_by_key(|n| (faults(n), **n)).copied()
    }

    /// The only number of warps that is proved, where rows of threads are taken for warps. With each larger number there is
    /// a fault, and with each smaller one a fault or what is not read.
    fn only_rows(&mut self) -> Option<(u32, String)> {
        // Most kernels are not read with any number.
        self.outcome(USUAL)?;
        let all: Vec<u32> = ROWS.iter().map(|rows| 32 * rows).collect();
        self.try_each(&all);
        let right: Vec<u32> = all.iter().copied().filter(|n| self.proved(*n)).collect();
        let [one] = *right else { return None };
        let wrong = |s: &mut Self, n: u32| s.violated(n) || n < one && s.outcome(n).is_none();
        if !all.iter().all(|n| *n == one || wrong(self, *n)) {
            self.tried.retain(|n, _| SIZES.contains(n));
            return None;
        }
        let what = format!(
            "a block has {one} threads (32x{}), a warp in each row, as the text does not say (`--block`); it has a fault with \
             all others that were tried, up to 1024",
            one / 32
        );
        Some((one, what))
    }

    /// Tries all usual sizes that are left, side by side. Each gets the same share of the steps that are left, so that the
    /// outcomes do not depend on threads.
    fn try_all(&mut self) {
        self.try_each(&self.usual().collect::<Vec<u32>>());
    }

    fn try_each(&mut self, sizes: &[u32]) {
        let open: Vec<u32> = sizes.iter().copied().filter(|n| !self.tried.contains_key(n)).collect();
        let share = self.left / (open.len() as u64).max(1);
        let trials: Vec<_> = open.par_iter().map(|n| self.trial(*n, share)).collect();
        self.tried.extend(open.into_iter().zip(trials));
    }

    fn proved(&mut self, threads: u32) -> bool {
        self.outcome(threads) == Some(Outcome::Proved)
    }

    fn violated(&mut self, threads: u32) -> bool {
        self.outcome(threads) == Some(Outcome::Violated)
    }

    /// The size whose verdict is shown, and the sizes for which the verdict holds, in words.
    fn decision(&mut self) -> Option<(u32, String)> {
        if self.open.by_rows {
            return self.only_rows();
        }
        if let Some(threads) = self.needed() {
            let shape = self.shape(threads);
            let what = format!("a block has {threads} threads{shape}, as the text does not say (`--block`)");
            return Some((threads, what));
        }
        // Larger sizes can take long to read. They decide only where the smaller ones agree.
        let alike = self.proved(64) && self.proved(USUAL) || [32, 64, USUAL, 256].iter().all(|n| self.violated(*n));
        if !alike {
            return None;
        }
        let too_large = self.too_large()?;
        if let Some(n) = too_large {
            self.open.room = n - 1;
        }
        self.try_all();
        let large: Vec<u32> = self.usual().filter(|n| *n > 32).collect();
        let (right, other): (Vec<u32>, Vec<u32>) = large.into_iter().partition(|n| self.proved(*n));
        if right.is_empty() && self.violated(32) {
            if !self.is_row() {
                return None;
            }
            if !self.common_fault() {
                let what = "threads, as the text does not say (`--block`); with every other multiple of 32 threads, there \
                            is a fault";
                return self.only_one().map(|n| (n, format!("a block has {n} {what}")));
            }
            let others: Vec<u32> = self.usual().filter(|n| *n != USUAL).collect();
            let others = listed(&others, "and");
            let what = format!(
                "a block has {USUAL} threads, as the text does not say (`--block`); blocks of {others} have a fault at \
                 the same lines"
            );
            return Some((USUAL, what));
        }
        if other.iter().any(|n| self.outcome(*n).is_none() || self.violated(*n)) {
            return None;
        }
        let mut more =
            if other.is_empty() { String::new() } else { format!("; {} are not proved", listed(&other, "and")) };
        if let Some(n) = too_large {
            more += &format!("; with {n}, several warps store the same bytes");
        } else if self.usual().count() < SIZES.len() {
            more += &format!("; its arrays have room for {}", self.open.room);
        }
        let right = listed(&right, "or");
        let shape = self.shape(USUAL).replace('(', "(such as ");
        Some((USUAL, format!("a block has {right} threads{shape}, as the text does not say (`--block`){more}")))
    }

    /// The first size behind the usual one with a fault, if several warps then store the same bytes, and the usual size is
    /// proved. `None` where a size with another fault, or one that is not read, decides that nothing is decided.
    fn too_large(&mut self) -> Option<Option<u32>> {
        if !self.proved(USUAL) {
            return Some(None);
        }
        let larger: Vec<u32> = self.usual().filter(|n| *n > USUAL).collect();
        for n in larger {
            if self.outcome(n)? == Outcome::Violated {
                return self.faults_of(n).iter().any(|f| f.code == Code::WawShared).then_some(Some(n));
            }
        }
        Some(None)
    }

    /// The usual sizes that the arrays have room for.
    fn usual(&self) -> impl Iterator<Item = u32> + use<> {
        let room = self.open.room;
        SIZES.into_iter().filter(move |n| *n <= room)
    }

    /// The shape of a block of several dimensions, in words.
    fn shape(&self, threads: u32) -> String {
        match self.open.blocks.get(&threads) {
            Some([x, y, z]) if y * z > 1 => format!(" ({x}x{y}x{z})").replace("x1)", ")"),
            _ => String::new(),
        }
    }

    /// The size that is proved although half of it is not, where a block can have half of it.
    fn needed(&mut self) -> Option<u32> {
        let [half_of_usual, half_of_64] = [USUAL / 2, 32].map(|n| self.open.blocks.contains_key(&n));
        match self.outcome(USUAL)? {
            Outcome::Proved => (half_of_usual && !self.proved(64)).then_some(USUAL),
            Outcome::Bounded { .. } | Outcome::GaveUp { .. } if self.proved(256) => Some(256),
            _ => (half_of_64 && self.proved(64) && !self.proved(32)).then_some(64),
        }
    }

    /// Whether threads have one coordinate.
    fn is_row(&self) -> bool {
        self.open.blocks.get(&USUAL) == Some(&[USUAL, 1, 1])
    }

    /// Whether all sizes, one warp included, have a fault of one rule at the same lines. A hang is none: it follows from a
    /// wrong number of threads.
    fn common_fault(&self) -> bool {
        let all =
            self.usual().map(|n| self.faults_of(n)).reduce(|all, more| all.intersection(&more).cloned().collect());
        all.is_some_and(|common| !common.is_empty())
    }

    /// The faults with a size that are no hang.
    fn faults_of(&self, threads: u32) -> BTreeSet<Fault> {
        let trial = self.tried.get(&threads).and_then(Option::as_ref);
        trial.and_then(|t| t.decided.verdict.violation.as_ref()).map(faults).unwrap_or_default()
    }

    /// The error with the outcome of each size that was tried.
    fn listed(&self, mut error: Error) -> Error {
        let word = |trial: &Option<Trial>| match trial.as_ref().map(|t| &t.decided.verdict.outcome) {
            None => "not read",
            Some(Outcome::GaveUp { .. }) => "not decided",
            Some(outcome) => outcome_word(outcome),
        };
        let mut words: Vec<(&str, Vec<u32>)> = Vec::new();
        for (threads, trial) in &self.tried {
            match words.iter_mut().find(|(w, _)| *w == word(trial)) {
                Some((_, sizes)) => sizes.push(*threads),
                None => words.push((word(trial), vec![*threads])),
            }
        }
        let differ = words.len() == 1 && words[0].0 == "violated" && words[0].1.len() == SIZES.len();
        let differ = if differ { ", and no fault is one of all sizes" } else { "" };
        let words: Vec<String> = words.iter().map(|(w, sizes)| format!("{} are {w}", listed(sizes, "and"))).collect();
        let help = format!("name the size with `--block`: of usual numbers of threads, {}{differ}", words.join(", "));
        match &mut error {
            Error::Input { diagnostics, .. } => diagnostics.iter_mut().for_each(|d| d.help = Some(help.clone())),
            Error::Plain { help: old, .. } => *old = Some(help),
        }
        error
    }
}

/// A fault without what depends on the size of a block.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) line: u32,
    /// The line of the other access.
    pub(crate) other: Option<u32>,
}

impl Fault {
    /// What a finding of a violation is, by lines.
    pub(crate) fn of(x: &Violation, f: &Finding) -> Fault {
        let line = |site: u32| x.sites.get(site as usize).map_or(0, |s| s.line);
        Fault { code: f.code, line: line(f.site), other: f.other.as_ref().map(|(site, _)| line(*site)) }
    }
}

/// The faults of a violation that are no hang.
pub(crate) fn faults(x: &Violation) -> BTreeSet<Fault> {
    x.findings.iter().filter(|f| !f.note).map(|f| Fault::of(x, f)).collect()
}

/// Numbers in words: `64, 128 or 256`.
fn listed(numbers: &[u32], last: &str) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match words.split_last() {
        Some((end, [])) => end.clone(),
        Some((end, first)) => format!("{} {last} {end}", first.join(", ")),
        None => String::new(),
    }
}
