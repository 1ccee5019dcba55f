//! The words of the kernel language. The parser, its suggestions, editors and their grammars read this table.
//!
//! Words are not reserved: a kernel may have a role called `load`.

use warpline_sim::alu::ALU_UNITS;
use warpline_sim::ir::{Dtype, Queue};

/// The use of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WordKind {
    /// The first word of a declaration: `shared`.
    Declaration,
    /// The head of a block or of a statement that is no operation: `elect`, `let`.
    Head,
    /// The first word of an operation, with its dots: `tma.store`.
    Operation,
    /// A word inside a declaration, a head or an operation: `signals`.
    Clause,
    /// A queue of `wait` and `commit`: `bulk.read`.
    Queue,
    /// An element type: `bf16`.
    Type,
    /// A unit of `alu`: `fma`.
    Unit,
    /// A function, or a part of a place that is written like one: `cdiv`, `rows`.
    Function,
    /// A name with a built-in meaning: `cta`.
    BuiltIn,
    /// An operator that is a word: `and`.
    Operator,
}

/// A word of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word {
    /// Its use.
    pub kind: WordKind,
    /// The text.
    pub text: &'static str,
}

/// First words of declarations.
pub(crate) const DECLARATIONS: [&str; 18] = [
    "needs",
    "let",
    "require",
    "grid",
    "cluster",
    "cooperative",
    "warps",
    "regs",
    "waits",
    "global",
    "shared",
    "tmem",
    "reg",
    "mbar",
    "named",
    "role",
    "set",
    "trips",
];

/// First words of operations.
pub(crate) const OPERATIONS: [&str; 47] = [
    "load",
    "ldg",
    "sts",
    "lds",
    "store",
    "cp",
    "dma",
    "tma",
    "tma.store",
    "tmem.ld",
    "tmem.st",
    "mma",
    "mfma",
    "wgmma",
    "umma",
    "umma.pair",
    "alu",
    "zero",
    "commit",
    "wait",
    "cp.arrive",
    "init",
    "inval",
    "arrive",
    "expect",
    "barrier",
    "simd.barrier",
    "warp.sync",
    "bar",
    "cluster.sync",
    "cluster.arrive",
    "cluster.wait",
    "fence",
    "wgmma.fence",
    "tmem.fence",
    "tmem.alloc",
    "tmem.dealloc",
    "regs",
    "put",
    "get",
    "clc",
    "red.add",
    "atom.add",
    "st",
    "ld",
    "grid.wait",
    "exit",
];

/// Heads that a suggestion may name.
pub(crate) const HEADS: [&str; 7] = ["for", "while", "if", "let", "var", "all", "elect"];

/// Other heads.
const OTHER_HEADS: [&str; 8] = ["kernel", "else", "pipelined", "stage", "warp", "warps", "warpgroup", "warpgroups"];

/// Words inside declarations, heads and operations.
const CLAUSES: [&str; 62] = [
    // Declarations.
    "auto",
    "manual",
    "group",
    "counter",
    "swizzle",
    "pieces",
    "rows",
    "cols",
    "overlay",
    "on",
    "any",
    "per",
    "run",
    "cta", // Heads.
    "in",
    "step",
    "stages",
    "schedule",
    "via",
    "producers",
    "unrolled",
    "guarded",
    "order",
    "async",
    // Operations.
    "takes",
    "lands",
    "x",
    "uses",
    "batch",
    "dequant",
    "masked",
    "signals",
    "multicast",
    "noinc",
    "none",
    "device",
    "sync",
    "arrive",
    "inc",
    "dec",
    "before",
    "after",
    "pair",
    "expect",
    "count",
    "thread",
    "warp",
    "once",
    "relaxed",
    "acquire",
    "release",
    "acq_rel",
    "cluster",
    "gpu",
    "ctas",
    "parity",
    "for",
    "drop",
    "state",
    "async.global",
    "mbarrier_init",
    "mbarrier_init.cluster",
];

/// The queue of `commit umma`, which no `wait` names.
const UMMA: &str = "umma";

/// Element types.
pub(crate) const DTYPES: [Dtype; 9] =
    [Dtype::F64, Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8, Dtype::I8, Dtype::Fp4, Dtype::I32];

/// Functions, and parts of a place that are written like one.
const FUNCTIONS: [&str; 9] = ["cdiv", "min", "max", "bytes", "at", "rows", "cols", "half", "block"];

/// Names with a built-in meaning.
pub(crate) const BUILT_IN: [&str; 4] = ["self", "warp", "cta", "cores"];

/// Names with parts behind a dot: `cluster.m`, `grid.size`.
const DOTTED: [&str; 2] = ["cluster", "grid"];

/// Operators that are words.
const OPERATORS: [&str; 3] = ["or", "and", "not"];

/// Every word of the language with each of its uses, sorted.
pub fn words() -> Vec<Word> {
    let of = |kind, texts: &[&'static str]| texts.iter().map(|text| Word { kind, text }).collect::<Vec<_>>();
    let queues: Vec<&str> = Queue::ALL.iter().map(|q| q.name()).chain([UMMA]).collect();
    let mut all = [
        of(WordKind::Declaration, &DECLARATIONS),
        of(WordKind::Head, &HEADS),
        of(WordKind::Head, &OTHER_HEADS),
        of(WordKind::Operation, &OPERATIONS),
        of(WordKind::Clause, &CLAUSES),
        of(WordKind::Queue, &queues),
        of(WordKind::Type, &DTYPES.map(Dtype::name)),
        of(WordKind::Unit, &ALU_UNITS.map(|u| u.name)),
        of(WordKind::Function, &FUNCTIONS),
        of(WordKind::BuiltIn, &BUILT_IN),
        of(WordKind::BuiltIn, &DOTTED),
        of(WordKind::Operator, &OPERATORS),
    ]
    .concat();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The parser's source, without its unit tests.
    const PARSER: [&str; 7] = [
        include_str!("parse/mod.rs"),
        include_str!("parse/decl.rs"),
        include_str!("parse/expr.rs"),
        include_str!("parse/op.rs"),
        include_str!("parse/place.rs"),
        include_str!("parse/stmt.rs"),
        include_str!("parse/sync.rs"),
    ];

    /// String literals of a source that are one word.
    fn literals(source: &str) -> BTreeSet<&str> {
        let pieces =
            source.lines().filter(|l| !l.trim_start().starts_with("//")).flat_map(|l| l.split('"').skip(1).step_by(2));
        let word = |w: &&str| {
            w.starts_with(|c: char| c.is_ascii_lowercase())
                && w.chars().all(|c| c.is_ascii_lowercase() || "._".contains(c))
        };
        pieces.filter(word).collect()
    }

    #[test]
    fn every_word_that_the_parser_compares_with_is_in_the_table() {
        let known: BTreeSet<&str> = words().into_iter().map(|w| w.text).collect();
        let used: BTreeSet<&str> = PARSER.iter().flat_map(|s| literals(s)).collect();
        let missing: Vec<&&str> = used.difference(&known).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn every_word_of_the_table_is_in_the_parser_or_listed_once() {
        let all = words();
        let once: BTreeSet<Word> = all.iter().copied().collect();
        assert_eq!(once.len(), all.len(), "a word is listed twice with one use");
        let used: BTreeSet<&str> = PARSER.iter().flat_map(|s| literals(s)).collect();
        let of_parser = [WordKind::Head, WordKind::Operation, WordKind::Clause, WordKind::Operator];
        let unused = all.iter().filter(|w| of_parser.contains(&w.kind) && !used.contains(w.text));
        assert_eq!(unused.collect::<Vec<_>>(), Vec::<&Word>::new());
    }
}
