//! A named barrier at which the warps of one role meet. The other roles may have ended, so `barrier` is no repair.
//!
//! ```text
//!     sts acc -> out.rows(self)    ─▶    bar sync met (256)
//!                                        sts acc -> out.rows(self)
//! ```

use warpline_sim::ir::{Program, Role};
use warpline_sim::report::FindingKind;
use warpline_verify::Violation;

use super::Attempt;
use super::missing::{distance, indent};

/// Threads of a warp on machines with named barriers.
const LANES: u32 = 32;

/// Largest number of lines between the barrier and the fault.
const REACH: u32 = 6;

/// Texts in which the warps of a role with a race meet once more; nearest to the fault first.
pub(super) fn attempts(text: &str, prog: &Program, x: &Violation) -> Vec<Attempt> {
    let races = [FindingKind::Raw, FindingKind::War, FindingKind::Waw, FindingKind::Stale];
    if !x.findings.iter().any(|f| races.contains(&f.kind)) {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let Some(head) = lines.iter().position(|l| l.starts_with("  role ")) else { return Vec::new() };
    let far = distance(x);
    let taken = |name: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == name);
    let Some(name) = ["met", "met_again", "joined"].into_iter().find(|n| !taken(n)) else { return Vec::new() };
    let mut list: Vec<(u32, Attempt)> = Vec::new();
    for role in prog.roles.iter().filter(|r| r.warps.count_ones() > 1) {
        let meet = format!("bar sync {name} ({})", role.warps.count_ones() * LANES);
        for at in lines_of_role(&lines, role).filter(|at| far(*at as u32 + 1) <= REACH) {
            let mut new: Vec<String> = lines.iter().map(|l| l.to_string()).collect();
            new.insert(at, format!("{}{meet}", " ".repeat(indent(lines[at]))));
            new.insert(head, format!("  named {name}"));
            let words = format!("on a line before line {}: `{meet}`, with `named {name}`", at + 1);
            list.push((far(at as u32 + 1), Attempt { words, text: new.join("\n") + "\n" }));
        }
    }
    list.sort_by_key(|(far, _)| *far);
    list.into_iter().map(|(_, attempt)| attempt).collect()
}

/// Indices of the lines at which a statement begins in the blocks of a role.
pub(super) fn lines_of_role<'a>(lines: &'a [&str], role: &Role) -> impl Iterator<Item = usize> + 'a {
    let head = format!("{}:", role.name);
    let mut block: Option<usize> = None;
    lines.iter().enumerate().filter_map(move |(at, line)| {
        let code = line.split("//").next().unwrap_or("").trim();
        if code.is_empty() {
            return None;
        }
        if block.is_some_and(|depth| indent(line) <= depth) {
            block = None;
        }
        let inside = block.is_some() && !code.starts_with("else");
        if block.is_none() && code.starts_with(&head) {
            block = Some(indent(line));
        }
        inside.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_role_are_those_of_its_blocks() {
        let text = "k:\n  math:\n    a\n    if x:\n      b\n    else: c\n  // there\n  load: d\n  math:\n    e";
        let lines: Vec<&str> = text.lines().collect();
        let role = Role { name: "math".into(), warps: 6, members: 1 };
        assert_eq!(lines_of_role(&lines, &role).collect::<Vec<_>>(), [2, 3, 4, 9]);
    }
}
