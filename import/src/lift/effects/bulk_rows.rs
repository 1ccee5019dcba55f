//! Bulk stores that each lane starts with a row, or a box of a tensor map, of its own.
//!
//! A bulk group belongs to a thread. Here, it belongs to a warp: the rows of all lanes are one group. That is the same
//! where every lane that starts a row also executes each commit and each wait of groups.

use crate::lift::tree::{Effect, Stream};
use crate::lift::walk::Walk;
use crate::ptx::{Error, Inst};
use crate::symbolic::Term;

/// What lanes of a warp do with their own bulk groups.
#[derive(Debug)]
pub(crate) struct RowLanes {
    /// Lanes that start a store of a row.
    start: u32,
    /// Lanes that execute each commit and each wait.
    group: u32,
}

impl Default for RowLanes {
    fn default() -> RowLanes {
        RowLanes { start: 0, group: u32::MAX }
    }
}

impl Walk<'_, '_> {
    /// A store of rows or boxes to global memory, if the lanes name different ones: one operation for each. Returns
    /// whether they do.
    pub(crate) fn rows_by_lane(&mut self, at: usize, i: &Inst) -> Result<bool, Error> {
        let boxes = i.has("tensor");
        let from = self.operand(i.arg(1))?;
        if from.uniform(self.lanes).is_some() {
            if self.unsure > 0 && !boxes {
                self.starts_rows(i)?;
            }
            return Ok(false);
        }
        // Places that are not known are an error.
        let mut rows: Vec<Term> = self.runs(i, &from, 1, 32)?.into_iter().map(|(t, _)| t).collect();
        rows.dedup();
        let bytes = if boxes { None } else { Some(self.same(i, i.arg(2), "bytes")?) };
        self.starts_rows(i)?;
        for (part, from) in rows.into_iter().enumerate() {
            self.push(at, part as u8, Effect::BulkStore { from, bytes })?;
        }
        Ok(true)
    }

    /// Notes the lanes that may start a store of a row.
    fn starts_rows(&mut self, i: &Inst) -> Result<(), Error> {
        if self.dry > 0 {
            return Ok(());
        }
        self.row_lanes.start |= self.lanes;
        self.row_lanes_agree(i)
    }

    /// Notes the lanes that execute a commit of a group or a wait for groups.
    pub(crate) fn groups_of_lanes(&mut self, i: &Inst, s: Stream) -> Result<(), Error> {
        if self.dry > 0 || !matches!(s, Stream::Bulk | Stream::BulkRead) {
            return Ok(());
        }
        self.row_lanes.group &= self.lanes;
        self.row_lanes_agree(i)
    }

    fn row_lanes_agree(&self, i: &Inst) -> Result<(), Error> {
        if self.row_lanes.start & !self.row_lanes.group == 0 {
            return Ok(());
        }
        Err(self.s.error(
            i,
            "lanes of a warp store rows of their own, and not all of these lanes commit and wait for them",
            "commits and waits of bulk groups by all lanes that store",
        ))
    }

    /// Whether an operation may count as done where data decide whether a lane executes it: it only accesses memory.
    pub(crate) fn only_accesses(e: &Effect) -> bool {
        matches!(e, Effect::Touch(..) | Effect::Registers(_) | Effect::BulkStore { bytes: Some(_), .. })
    }
}
