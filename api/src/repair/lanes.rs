//! Rows of tensor memory that a warp can reach: those of its number, not of its index in a role that begins elsewhere.
//!
//! ```text
//!   tmem.ld acc.rows(self) -> r    ─▶    tmem.ld acc.rows(warp % 4, 4) -> r
//!   store r -> C[m, n].rows(self)  ─▶    store r -> C[m, n].rows(warp % 4, 4)
//! ```

use warpline_sim::code::Code;
use warpline_sim::ir::Program;
use warpline_verify::Violation;

use super::Attempt;
use super::meetings::lines_of_role;

/// Texts in which the rows of a role follow the numbers of its warps.
pub(super) fn attempts(text: &str, prog: &Program, x: &Violation) -> Vec<Attempt> {
    if !x.findings.iter().any(|f| f.code == Code::TensorLanes) {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut list = Vec::new();
    for role in prog.roles.iter().filter(|r| r.members == 4) {
        let inside: Vec<usize> = lines_of_role(&lines, role).collect();
        for old in [".rows(self)", ".rows(self, 4)"] {
            let changed: Vec<usize> = inside.iter().copied().filter(|at| lines[*at].contains(old)).collect();
            let Some(first) = changed.first() else { continue };
            let new: Vec<String> = (0..lines.len())
                .map(|at| if changed.contains(&at) { lines[at].replace(old, ROWS) } else { lines[at].to_string() })
                .collect();
            let words = format!("from line {} on, in `{}`: `{ROWS}` instead of `{old}`", first + 1, role.name);
            list.push(Attempt { words, text: new.join("\n") + "\n" });
        }
    }
    list
}

/// The rows of 128 that a warp reaches.
const ROWS: &str = ".rows(warp % 4, 4)";
