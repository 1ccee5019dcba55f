//! Damaged files end in a verdict or an error, never in a panic.
//!
//! `WARPLINE_PTX=write` runs all [`SEEDS`] and writes `damaged.tsv`; otherwise some of them run. `WARPLINE_SEEDS=a..b` runs
//! others, and names each before it runs: a stack that overflows ends the process. One seed alone is printed as a text.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use warpline_campaign::Dice;
use warpline_import::ptx;

use crate::damage::{KINDS, damaged};
use crate::kernels::{corpus, decided_within, folder};

/// All seeds of the record.
const SEEDS: u64 = 10_000;

/// Seeds of every run.
const FEW: u64 = 200;

/// The longest text that is damaged: longer ones take long to read and to lift, and have nothing else in them.
const LONGEST: usize = 24_000;

/// Steps of a verification: enough for most kernels, few enough for ten thousand.
const STEPS: u64 = 10_000;

/// What became of a damaged text.
struct Outcome {
    seed: u64,
    kind: usize,
    /// A verdict's word, or `unread` where the text is no PTX, or `panic`.
    word: &'static str,
    time: Duration,
}

/// The damaged text of a seed: the name of its kernel, the kind of damage, and the text.
fn text_of(corpus: &[(String, String)], seed: u64) -> (&str, usize, String) {
    let mut dice = Dice::new(seed);
    let (name, text) = dice.pick(corpus);
    let (kind, text) = damaged(text, &mut dice);
    (name, kind, text)
}

fn outcome(corpus: &[(String, String)], seed: u64) -> Outcome {
    let (name, kind, text) = text_of(corpus, seed);
    let start = Instant::now();
    let word = || match ptx::read(&text) {
        Ok(module) => {
            module.entries.first().map_or("no kernel", |e| decided_within(&module, e, name, &text, STEPS).word)
        }
        Err(_) => "unread",
    };
    let word = catch_unwind(AssertUnwindSafe(word)).unwrap_or("panic");
    Outcome { seed, kind, word, time: start.elapsed() }
}

#[test]
fn damaged_files_are_no_panic() {
    let write = std::env::var("WARPLINE_PTX").is_ok_and(|v| v == "write");
    let corpus: Vec<(String, String)> = corpus().into_iter().filter(|(_, t)| t.len() < LONGEST).collect();
    let asked = std::env::var("WARPLINE_SEEDS").ok();
    let range =
        asked.as_deref().and_then(|s| s.split_once("..")).map(|(a, b)| [a, b].map(|n| n.parse().expect("a seed")));
    let [from, to] = range.unwrap_or([0, if write { SEEDS } else { FEW }]);
    let named = |seed: u64| {
        if range.is_some() {
            eprintln!("seed {seed}");
        }
        outcome(&corpus, seed)
    };
    if to == from + 1 {
        println!("{}", text_of(&corpus, from).2);
    }
    let list: Vec<Outcome> = (from..to).into_par_iter().map(named).collect();
    if range.is_some() {
        let words: BTreeMap<&str, usize> = list.iter().fold(BTreeMap::new(), |mut m, o| {
            *m.entry(o.word).or_default() += 1;
            m
        });
        println!("{words:?}, longest {:?}", list.iter().map(|o| o.time).max());
    }
    let panics: Vec<u64> = list.iter().filter(|o| o.word == "panic").map(|o| o.seed).collect();
    if write {
        let mut counts: BTreeMap<(usize, &str), (usize, Duration)> = BTreeMap::new();
        for o in &list {
            let (n, time) = counts.entry((o.kind, o.word)).or_default();
            (*n, *time) = (*n + 1, (*time).max(o.time));
        }
        let row = |((kind, word), (n, time)): (&(usize, &str), &(usize, Duration))| {
            format!("{}\t{word}\t{n}\t{:.1}\n", KINDS[*kind], time.as_secs_f64())
        };
        let rows: String = counts.iter().map(row).collect();
        let table = format!("first damage\toutcome\tfiles\tlongest, in seconds\n{rows}");
        std::fs::write(folder().join("damaged.tsv"), table).expect("the table");
        let mut slow: Vec<&Outcome> = list.iter().collect();
        slow.sort_by_key(|o| std::cmp::Reverse(o.time));
        slow.iter().take(10).for_each(|o| println!("seed {}: {:?}, {}", o.seed, o.time, o.word));
    }
    assert!(panics.is_empty(), "seeds {panics:?}");
}
