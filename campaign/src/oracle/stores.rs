//! Stores by two clusters to the same elements of a global matrix.

use std::collections::BTreeMap;

use warpline_sim::ir::Program;
use warpline_sim::protocol::{Rules, Walker};

/// Largest number of clusters whose stores are listed.
const CLUSTERS: i64 = 1024;
/// Largest number of listed stores.
const STORES: usize = 1 << 14;

/// The second of two clusters that store the same elements, with the fault in words. Each cluster's stores are listed and
/// compared with those of the clusters before. Nothing is compared where counters may order the stores.
pub(super) fn stored_twice(prog: &Program, rules: Rules) -> Option<(i64, String)> {
    if prog.cooperative || !prog.counters.is_empty() || !(2..=CLUSTERS).contains(&prog.grid.len()) {
        return None;
    }
    // Rectangles of elements by matrix and block: the cluster, rows and columns.
    type Stored = (i64, (i64, i64), (i64, i64));
    let mut all: BTreeMap<(u16, [i64; 2]), Vec<Stored>> = BTreeMap::new();
    let mut listed = 0;
    let mut walker = Walker::new(prog, rules, 0);
    for cluster in 0..prog.grid.len() {
        let route = walker.route_of(cluster)?;
        let at = walker.position(cluster);
        for copy in route.copies.iter().filter(|copy| copy.store) {
            let f = walker.footprint(cluster, copy, &route.vars(copy, at))?;
            if walker.by_elements(copy) {
                return None;
            }
            let list = all.entry((f.obj, f.at)).or_default();
            let meets = |x: (i64, i64), y: (i64, i64)| x.0 < y.1 && y.0 < x.1;
            let other =
                list.iter().find(|(c, rows, cols)| *c != cluster && meets(*rows, f.rows) && meets(*cols, f.cols));
            if let Some((other, ..)) = other {
                let name = &prog.objects[f.obj as usize].name;
                return Some((
                    cluster,
                    format!("clusters {other} and {cluster} store {name}[{}, {}]", f.at[0], f.at[1]),
                ));
            }
            list.push((cluster, f.rows, f.cols));
            listed += 1;
            if listed > STORES {
                return None;
            }
        }
    }
    None
}
