//! The families of generated kernels.

mod buffer;
mod chain;
mod cluster;
mod grids;
mod loops;
mod ring;
mod sizes;

use buffer::{buffered, coordinates, variables};
use chain::{chain, jobs};
use cluster::{cluster, handed, multicast};
use grids::grids;
use loops::{any, bounds, extent, nested, persistent, sequential};
use ring::{groups, ring, skipping};
use sizes::sizes;

use super::bodies::Loops;
use super::guard::Scope;
use super::template::{Count, Template};
use crate::dice::Dice;

/// What a kernel is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// One buffer, barriers, guards over everything.
    Buffer,
    /// [`Family::Buffer`] with guards over CTA coordinates only.
    Cells,
    /// [`Family::Buffer`] with guards over trip counts only.
    Counts,
    /// [`Family::Buffer`] with guards over variables that other guards change.
    Vars,
    /// A ring with mbarriers.
    Ring,
    /// A ring whose roles skip some steps.
    Skip,
    /// Two nested loops, each with its own count.
    Nested,
    /// Two consecutive loops, each with its own count.
    Sequential,
    /// Jobs shared out among the CTAs of the grid.
    Persistent,
    /// A trip count known at run time only.
    Any,
    /// Loop bounds that depend on the CTA.
    Bounds,
    /// Clusters that read each other's shared memory.
    Cluster,
    /// Tile coordinates that may leave their matrix.
    Coordinates,
    /// Numbered barriers and groups of copies.
    Groups,
    /// A grid whose rows are a parameter.
    Extent,
    /// A ring that the CTAs of a cluster share.
    Multicast,
    /// Tiles that `clc` hands out at run time.
    Handed,
    /// Parameters that set the grid and the ends of matrices, with stores of output.
    Sizes,
    /// Persistent kernels with a chain of three roles and two rings.
    Chain,
    /// Grids whose size depends on a count.
    Grids,
    /// [`Family::Chain`], where each job has a number of steps that is known only at run time.
    Jobs,
}

impl Family {
    /// The families that take turns, in the order in which seeds use them; all but [`Family::Sizes`] and those
    /// behind it.
    pub const ALL: [Family; 17] = [
        Family::Buffer,
        Family::Cells,
        Family::Counts,
        Family::Vars,
        Family::Ring,
        Family::Skip,
        Family::Nested,
        Family::Sequential,
        Family::Persistent,
        Family::Any,
        Family::Bounds,
        Family::Cluster,
        Family::Coordinates,
        Family::Groups,
        Family::Extent,
        Family::Multicast,
        Family::Handed,
    ];

    /// A kernel of the family with its sites.
    pub(super) fn template(self, dice: &mut Dice) -> Template {
        let mut t = self.sites(dice);
        let has = |name: &str| t.counts.iter().any(|c| c.name == name && !c.any);
        let rows = if has("rows") { "(rows + 64)" } else { "64" };
        let columns = match (has("jobs"), has("more"), has("tiles")) {
            (true, ..) => "(jobs * tiles + tiles + 64)",
            (_, true, _) => "(tiles + more + 64)",
            (_, _, true) => "(5 * tiles + 64)",
            _ => "64",
        };
        for line in &mut t.header {
            *line = line.replace("ROWS", rows).replace("COLUMNS", columns);
        }
        t
    }

    fn sites(self, dice: &mut Dice) -> Template {
        match self {
            Family::Buffer => buffered(dice, |s, _| s),
            Family::Cells => buffered(dice, |s, _| Scope { counts: vec![], counters: vec![], intervals: 65, ..s }),
            Family::Counts => buffered(dice, |s, _| Scope { counters: vec![], grid: None, intervals: 55, ..s }),
            Family::Vars => {
                let mut t = buffered(dice, |s, _| s);
                variables(&mut t, dice);
                t
            }
            Family::Ring => ring(dice, None),
            Family::Skip => skipping(dice),
            Family::Nested => nested(dice),
            Family::Sequential => sequential(dice),
            Family::Persistent => persistent(dice),
            Family::Any => any(dice),
            Family::Bounds => bounds(dice),
            Family::Cluster => cluster(dice),
            Family::Coordinates => coordinates(dice),
            Family::Groups => groups(dice),
            Family::Extent => extent(dice),
            Family::Multicast => multicast(dice),
            Family::Handed => handed(dice),
            Family::Sizes => sizes(dice),
            Family::Chain => chain(dice),
            Family::Grids => grids(dice),
            Family::Jobs => jobs(dice),
        }
    }
}

fn count(dice: &mut Dice, name: &str, param: &str) -> Count {
    let given = match dice.range(1, 20) {
        1 => dice.range(20, 60),
        2 => 1,
        _ => dice.range(2, 10),
    };
    let unit = if dice.chance(50) { 16 } else { 1 };
    let param = if unit == 1 { name } else { param };
    Count { name: name.into(), param: param.into(), unit, given, any: false }
}

/// A grid, and its rows and columns.
fn grid(dice: &mut Dice) -> (String, (i64, i64)) {
    let (m, n) = *dice.pick(&[(1, 1), (4, 1), (6, 1), (8, 1), (12, 1), (32, 1), (4, 3), (5, 4), (3, 2), (8, 4)]);
    (if n == 1 { format!("grid {m}") } else { format!("grid {m}, {n}") }, (m, n))
}

fn scope(counts: &[&str], counters: &[(&str, &str)], grid: (i64, i64)) -> Scope {
    Scope {
        counts: counts.iter().map(|s| s.to_string()).collect(),
        counters: counters.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
        grid: (grid.0 * grid.1 > 1).then_some(grid),
        ..Scope::default()
    }
}

/// The header of two roles over one matrix. The matrix has every tile at every value of the counts, because a kernel
/// that runs past the end of a fixed matrix is faulty.
fn roles(t: &mut Template, grid: &str, warps: &str) {
    t.header.push(format!("{grid}   {warps}"));
    t.header.push("global A: f16[64 * ROWS, 16 * COLUMNS]".into());
    t.header.push("role load = warp 0".into());
    t.header.push("role use = warp 1".into());
}

fn inner() -> Loops {
    let (tile, other) = ("cta.m, i".into(), "cta.m, i + 1".into());
    Loops { heads: vec!["for i in 0..tiles:".into()], tile, other, step: None }
}

/// A loop over the tiles in one of several forms.
fn any_inner(dice: &mut Dice) -> Loops {
    let mut loops = inner();
    match dice.range(1, 10) {
        1 => loops.heads = vec!["for i in 0..tiles step 2:".into()],
        2 => loops.heads = vec![format!("for i in {}..tiles:", dice.range(1, 3))],
        3 => (loops.heads, loops.step) = (vec!["while i < tiles:".into()], Some("i += 1".into())),
        4 => loops.heads = vec![format!("for i in 0..tiles - {}:", dice.range(1, 3))],
        5 => loops.heads = vec!["for i in 0..2 * tiles:".into()],
        _ => {}
    }
    loops
}
