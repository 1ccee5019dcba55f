//! The conclusion for one cell of the grid, as plain data.

use warpline_sim::protocol::Cell;

use crate::cta::class_run::ClassRun;
use crate::execution::canonical::Landing;
use crate::induction::carry_over::{Proof, Region};
use crate::induction::nested_loops::Nested;
use crate::induction::sequential_loops::Plane;

/// A cell of the grid, and the conclusion for its CTAs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedCell {
    /// The cell. `None` where the cluster stands for all clusters, by the assumption on tiles that are handed out.
    pub cell: Option<Cell>,
    /// Launch index of the cluster that was run.
    pub cluster: i64,
    /// The conclusion.
    pub what: Conclusion,
}

/// The conclusion for a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The run with the given values holds; nothing is varied.
    Given,
    /// All trip counts of the main loop hold, region by region.
    Trips(Vec<TripRegion>),
    /// All trip counts of the main loop hold, with all iterations of the loop around it.
    Turns {
        /// The induction over trip counts.
        steps: Induction,
        /// The inductions over outer iterations, one for each trip count below `steps.first`; `None` where the kernel
        /// refuses that trip count.
        lines: Vec<Option<Line>>,
        /// The order of the compared runs.
        order: Order,
    },
    /// All trip counts of two loops that follow each other hold.
    Sequential {
        /// The induction over the main loop.
        first: Induction,
        /// The induction over the other loop.
        second: Induction,
        /// The order of the compared runs.
        order: Order,
    },
}

/// An induction. Numbers below `first + period` are base cases; each larger number follows from the one a period
/// before.
pub type Induction = Line;

/// The first number that follows from a smaller one, and the distance between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The first number that follows.
    pub first: i64,
    /// The distance between a number and the one that it follows from.
    pub period: i64,
}

/// A region of trip counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TripRegion {
    /// The smallest trip count.
    pub from: i64,
    /// The largest trip count; `None` where the region has no end.
    pub to: Option<i64>,
    /// The induction and the order of its runs; `None` where each trip count is a base case.
    pub induction: Option<(Induction, Order)>,
}

/// The order of steps and landings in the compared runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// An operation lands when no agent can proceed.
    Late,
    /// All operations land before agents proceed.
    Early,
    /// All operations land before agents proceed, and agents begin iterations of outer loops together.
    Turns,
    /// As `Turns`, and agents also begin iterations of the loops directly inside together.
    Steps,
    /// Each operation lands at once.
    AtOnce,
}

impl From<Landing> for Order {
    fn from(landing: Landing) -> Order {
        match landing {
            Landing::Late => Order::Late,
            Landing::Early => Order::Early,
            Landing::Turns => Order::Turns,
            Landing::Steps => Order::Steps,
            Landing::AtOnce => Order::AtOnce,
        }
    }
}

impl From<Order> for Landing {
    fn from(order: Order) -> Landing {
        match order {
            Order::Late => Landing::Late,
            Order::Early => Landing::Early,
            Order::Turns => Landing::Turns,
            Order::Steps => Landing::Steps,
            Order::AtOnce => Landing::AtOnce,
        }
    }
}

impl From<Proof> for Line {
    fn from(proof: Proof) -> Line {
        Line { first: proof.first, period: proof.period }
    }
}

impl TripRegion {
    pub(crate) fn cases(region: Region) -> TripRegion {
        TripRegion { from: region.lo, to: region.hi, induction: None }
    }

    pub(crate) fn induction(region: Region, proof: Proof, landing: Landing) -> TripRegion {
        TripRegion { induction: Some((proof.into(), landing.into())), ..TripRegion::cases(region) }
    }
}

impl DecidedCell {
    fn of(run: &ClassRun<'_>, what: Conclusion) -> DecidedCell {
        DecidedCell { cell: run.place.as_ref().map(|place| place.cell), cluster: run.cluster, what }
    }

    pub(crate) fn given(run: &ClassRun<'_>) -> DecidedCell {
        DecidedCell::of(run, Conclusion::Given)
    }

    pub(crate) fn trips(run: &ClassRun<'_>, parts: Vec<TripRegion>) -> DecidedCell {
        DecidedCell::of(run, Conclusion::Trips(parts))
    }

    pub(crate) fn turns(run: &ClassRun<'_>, found: &Nested) -> DecidedCell {
        let lines = found.lines.iter().map(|line| line.map(Line::from)).collect();
        DecidedCell::of(run, Conclusion::Turns { steps: found.steps.into(), lines, order: found.landing.into() })
    }

    pub(crate) fn sequential(run: &ClassRun<'_>, plane: &Plane, landing: Landing) -> DecidedCell {
        let (first, second) = (plane.first.into(), plane.second.into());
        DecidedCell::of(run, Conclusion::Sequential { first, second, order: landing.into() })
    }
}
