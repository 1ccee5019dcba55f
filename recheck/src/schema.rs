//! The certificate as data; `docs/certificates.md` describes every entry.
//!
//! Entries are of two sorts. *Claims* steer the check: the statement, cells, regions, periods, orders, places of inserted
//! periods. *Facts* are computed from the claims: counts, states, the grid. A checker computes every fact and compares.

use serde::{Deserialize, Deserializer, Serialize};

/// The schema this version reads and writes.
pub const SCHEMA: &str = "warpline.certificate/1";

/// An entry that may be `null`, but not left out.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

/// What a PROVED verdict rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// [`SCHEMA`].
    pub schema: String,
    /// What is proved.
    pub statement: Statement,
    /// The proof, cell by cell.
    pub cells: Vec<CellProof>,
}

/// A kernel with a machine and values, and what is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Fact: the kernel's name.
    pub kernel: String,
    /// Claim: the kernel's text, line by line.
    pub text: Vec<String>,
    /// Claim: the machine's name.
    pub machine: String,
    /// Claim: numbers of the machine that were set to other values, by key.
    pub machine_numbers: Vec<Number>,
    /// Claim: the level of each fence rule, in the order of [`warpline_sim::fences::RULES`].
    pub fences: Vec<Fence>,
    /// Claim: the value of each parameter, in order of declaration.
    pub values: Vec<Value>,
    /// Fact: parameters and header `let`s that only count, which stay symbols in the program.
    pub symbols: Vec<Symbol>,
    /// Claim: how a symbol sets the trip count of the main loop.
    #[serde(deserialize_with = "present")]
    pub trips: Option<Family>,
    /// Claim: how a symbol sets the turns of the loop around the main loop, or the trip count of a loop beside it.
    #[serde(deserialize_with = "present")]
    pub turns: Option<Family>,
    /// Fact: rows, columns and planes of the grid, in CTAs or clusters.
    pub grid: [i64; 3],
    /// Fact: the kinds of faults that the proof excludes.
    pub excludes: Vec<String>,
    /// Fact: a digest of the claims of this statement.
    pub digest: String,
}

/// A fence rule and its level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fence {
    /// The rule.
    pub rule: String,
    /// Its level.
    pub level: String,
}

/// A parameter and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// The parameter.
    pub name: String,
    /// Its value.
    pub value: i64,
}

/// A number of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: f64,
}

/// A symbol of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its value with the values of the statement.
    pub value: i64,
    /// Whether the proof varies it.
    pub varied: bool,
}

/// Values of a symbol: `zero + n * step` for `n` = 0, 1, 2, ... .
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// The symbol.
    pub symbol: String,
    /// Its value for `n` = 0.
    pub zero: i64,
    /// What one more `n` adds to it.
    pub step: i64,
}

/// A cell of the grid and the proof for its CTAs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellProof {
    /// Claim: rows, columns, planes and launch indices of the cell, no more than its clusters have; none where one cluster takes
    /// all tiles.
    #[serde(deserialize_with = "present")]
    pub axes: Option<[Axis; 4]>,
    /// Fact: launch index of the cluster that is run.
    pub cluster: i64,
    /// How its runs are proved.
    pub proof: Proof,
}

/// The coordinates `from`, `from + step`, ... along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The first.
    pub from: i64,
    /// From one to the next.
    pub step: i64,
    /// How many.
    pub count: i64,
}

/// The kinds of proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// One run, nothing varied.
    Given(Given),
    /// All trip counts of the main loop.
    Trips(Trips),
    /// All trip counts of the main loop, and all of a second loop around it or beside it.
    Plane(Plane),
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Fact: operations that the run performs.
    pub operations: u64,
}

/// All trip counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trips {
    /// Claim: the number of turns in all runs, where `clc` hands tiles out.
    #[serde(deserialize_with = "present")]
    pub tiles: Option<i64>,
    /// Regions of trip counts, in order.
    pub regions: Vec<Region>,
}

/// Trip counts from one up to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Claim: the smallest.
    pub from: i64,
    /// Claim: the largest; none where there is none.
    #[serde(deserialize_with = "present")]
    pub to: Option<i64>,
    /// How it goes on behind the base cases; none where each trip count is one.
    #[serde(deserialize_with = "present")]
    pub induction: Option<Induction>,
    /// Fact: operations of each base case, from `from` on; none where the kernel refuses the trip count.
    pub cases: Vec<Option<u64>>,
}

/// Each number from `first` on follows from the one a period before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Induction {
    /// Claim: the first number that follows.
    pub first: i64,
    /// Claim: the period.
    pub period: i64,
    /// Claim: the order of agents and landings in the compared runs.
    pub order: Order,
    /// For each number of a period from `first` on: its run beside that of a period less. None where the kernel refuses it.
    pub pairs: Vec<Option<Compared>>,
}

/// The order in which agents and operations in flight go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// An operation lands when nobody can go on.
    Late,
    /// All operations land before agents go on.
    Early,
    /// The same, and agents begin turns of outer loops together.
    Turns,
    /// Each operation lands at once.
    AtOnce,
}

/// Runs laid beside each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Fact: moves that the runs make together.
    pub moves: u64,
    /// Where the longer runs make a period alone, in order.
    pub inserted: Vec<Inserted>,
}

/// A place at which the longer runs make a period alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inserted {
    /// Claim: whether it is a period of the second varied loop.
    pub second: bool,
    /// Claim: in how many equal parts the longer runs make the period.
    pub parts: u64,
    /// Claim: how many of the parts they make here.
    pub made: u64,
    /// Claim: the loop, counted in the order of the text.
    #[serde(rename = "loop")]
    pub of: usize,
    /// Claim: the agent whose iterations count.
    pub agent: u32,
    /// Claim: the value that the loop's index gets there in the shorter runs.
    pub index: i64,
    /// Claim: how many times it has got it since the place before, this one counted.
    pub pass: u64,
    /// Fact: moves made together up to here.
    pub moves: u64,
    /// Fact: digest of the state that recurs, up to a shift of its counters.
    pub state: String,
}

/// All trip counts `n` of the main loop and all turns `t` of a second loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plane {
    /// Claim: trip counts from this one on follow from one a period before.
    pub first: i64,
    /// Claim: the period in trip counts.
    pub period: i64,
    /// Claim: the order of agents and landings in the runs of columns.
    pub order: Order,
    /// For each `n` below `first`: how its turns carry on; none where the kernel refuses `n`.
    pub lines: Vec<Option<Line>>,
    /// For each `n` of a period from `first` on: how it follows from the line of a period less; none where the kernel refuses it.
    pub columns: Vec<Option<Column>>,
}

/// The turns of one trip count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Fact: operations of each base case, by turns.
    pub cases: Vec<Option<u64>>,
    /// How turns carry on behind the base cases.
    pub induction: Induction,
}

/// A trip count beside that of a period less, for all turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Fact: operations of each base case, by turns.
    pub cases: Vec<Option<u64>>,
    /// For turns below the first that follows: the runs of the two trip counts.
    pub pairs: Vec<Option<Compared>>,
    /// For each number of turns of a period behind: four runs.
    pub squares: Vec<Option<Compared>>,
}
