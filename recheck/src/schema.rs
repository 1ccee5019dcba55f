//! The certificate as data; `docs/certificates.md` describes every entry.
//!
//! Entries are claims or facts. *Claims* steer the check: the statement, cells, regions, periods, orders, places of
//! inserted periods. *Facts* follow from the claims: counts, states, the grid. A checker computes every fact and
//! compares it.

use serde::{Deserialize, Deserializer, Serialize};

/// The schema that this version reads and writes.
pub const SCHEMA: &str = "warpline.certificate/1";

/// Requires that an entry is present; it may be `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

/// The proof behind a PROVED verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// [`SCHEMA`].
    pub schema: String,
    /// The proved statement.
    pub statement: Statement,
    /// The proof, cell by cell.
    pub cells: Vec<CellProof>,
}

/// A kernel with a machine and values, and the values that are varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Fact: the kernel's name.
    pub kernel: String,
    /// Claim: the kernel's text, line by line.
    pub text: Vec<String>,
    /// Claim: the machine's name.
    pub machine: String,
    /// Claim: numbers of the machine with other values than its file, by key.
    pub machine_numbers: Vec<Number>,
    /// Claim: the level of each fence rule, in the order of [`warpline_sim::fences::RULES`].
    pub fences: Vec<Fence>,
    /// Claim: the value of each parameter, in order of declaration.
    pub values: Vec<Value>,
    /// Fact: parameters and header `let`s that only count and stay symbols in the program.
    pub symbols: Vec<Symbol>,
    /// Claim: the values of a symbol that set the trip count of the main loop.
    #[serde(deserialize_with = "present")]
    pub trips: Option<Family>,
    /// Claim: the values of a symbol that set the trip count of a second loop, around the main loop or beside it.
    #[serde(deserialize_with = "present")]
    pub turns: Option<Family>,
    /// Claim: parameters for all of whose values the proof holds. They only set dimensions of the grid and extents of
    /// global matrices.
    pub sizes: Vec<String>,
    /// Fact: rows, columns and planes of the grid, in CTAs or clusters.
    pub grid: [i64; 3],
    /// Fact: the kinds of fault that the proof excludes.
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
    /// The level.
    pub level: String,
}

/// A parameter and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// The parameter.
    pub name: String,
    /// The value.
    pub value: i64,
}

/// A number of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// The key.
    pub key: String,
    /// The value.
    pub value: f64,
}

/// A symbol of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// The value in the statement.
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
    /// Value for `n` = 0.
    pub zero: i64,
    /// Increment for each `n`.
    pub step: i64,
}

/// A cell of the grid and the proof for its CTAs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellProof {
    /// Claim: rows, columns, planes and launch indices of the cell, without coordinates that have no cluster. `None`
    /// where one cluster takes all tiles. Of a proof for all sizes, the only cell is the largest grid.
    #[serde(deserialize_with = "present")]
    pub axes: Option<[Axis; 4]>,
    /// Fact: launch index of the cluster that runs.
    pub cluster: i64,
    /// The proof for the runs of this cluster.
    pub proof: Proof,
}

/// The coordinates `from`, `from + step`, ... along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// First coordinate.
    pub from: i64,
    /// Distance between coordinates.
    pub step: i64,
    /// Number of coordinates.
    pub count: i64,
}

/// The kind of a proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// One run; nothing is varied.
    Given(Given),
    /// All trip counts of the main loop.
    Trips(Trips),
    /// All trip counts of the main loop, and of a second loop around it or beside it.
    Plane(Plane),
}

/// A proof by one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Fact: operations that the run performs.
    pub operations: u64,
}

/// A proof for all trip counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trips {
    /// Claim: the number of tiles in all runs, where `clc` hands tiles out.
    #[serde(deserialize_with = "present")]
    pub tiles: Option<i64>,
    /// Regions of trip counts, in order.
    pub regions: Vec<Region>,
}

/// A range of trip counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Claim: the smallest trip count.
    pub from: i64,
    /// Claim: the largest trip count; `None` for no limit.
    #[serde(deserialize_with = "present")]
    pub to: Option<i64>,
    /// The induction after the base cases; `None` where every trip count is a base case.
    #[serde(deserialize_with = "present")]
    pub induction: Option<Induction>,
    /// Fact: operations of each base case, from `from` on; `None` where the kernel refuses the trip count.
    pub cases: Vec<Option<u64>>,
}

/// An induction: each number from `first` on follows from the number one period before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Induction {
    /// Claim: the first number that follows by induction.
    pub first: i64,
    /// Claim: the period.
    pub period: i64,
    /// Claim: the order of agents and landings in the compared runs.
    pub order: Order,
    /// For each number of one period from `first` on: the comparison of its run with the run of one period less. `None`
    /// where the kernel refuses the number.
    pub pairs: Vec<Option<Compared>>,
}

/// The order in which agents step and operations land.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// An operation lands only when no agent can proceed.
    Late,
    /// All operations land before agents proceed.
    Early,
    /// As `Early`, and agents start iterations of outer loops together.
    Turns,
    /// As `Turns`, and agents also start iterations of the loops directly inside together.
    Steps,
    /// Each operation lands immediately.
    AtOnce,
}

/// A comparison of runs in lockstep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Fact: moves of the runs in lockstep.
    pub moves: u64,
    /// Places where the longer runs make a period alone, in order.
    pub inserted: Vec<Inserted>,
}

/// A place at which the longer runs make a period alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inserted {
    /// Claim: whether the period belongs to the second varied loop.
    pub second: bool,
    /// Claim: the number of equal parts of the period.
    pub parts: u64,
    /// Claim: the number of parts that the longer runs make here.
    pub made: u64,
    /// Claim: the loop, as its position in the text.
    #[serde(rename = "loop")]
    pub of: usize,
    /// Claim: the agent whose iterations count.
    pub agent: u32,
    /// Claim: the value that the loop's index takes there in the shorter runs.
    pub index: i64,
    /// Claim: how many times the index has taken this value since the place before, including this one.
    pub pass: u64,
    /// Fact: moves in lockstep up to this place.
    pub moves: u64,
    /// Fact: digest of the state that recurs, invariant under a shift of its counters.
    pub state: String,
}

/// A proof for all trip counts `n` of the main loop and all trip counts `t` of a second loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plane {
    /// Claim: trip counts from this one on follow from the one a period before.
    pub first: i64,
    /// Claim: the period in trip counts.
    pub period: i64,
    /// Claim: the order of agents and landings in the runs of columns.
    pub order: Order,
    /// For each `n` below `first`: the induction over `t`. `None` where the kernel refuses `n`.
    pub lines: Vec<Option<Line>>,
    /// For each `n` of one period from `first` on: the comparison with the line of a period less. `None` where the
    /// kernel refuses `n`.
    pub columns: Vec<Option<Column>>,
}

/// The induction over `t` for one trip count `n`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Fact: operations of each base case, by `t`.
    pub cases: Vec<Option<u64>>,
    /// The induction after the base cases.
    pub induction: Induction,
}

/// The comparison of a trip count with one period less, for all `t`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Fact: operations of each base case, by `t`.
    pub cases: Vec<Option<u64>>,
    /// For each `t` below the first that follows by induction: the runs of the two trip counts.
    pub pairs: Vec<Option<Compared>>,
    /// For each `t` of the next period: four runs.
    pub squares: Vec<Option<Compared>>,
}
