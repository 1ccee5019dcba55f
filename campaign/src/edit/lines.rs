//! A kernel text as lines, with a statement on each line where that is possible.

/// The lines of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    all: Vec<String>,
}

/// Spaces before the statements of a kernel; its declarations have fewer.
const BODY: usize = 4;

impl Lines {
    pub(super) fn of(text: &str) -> Lines {
        let mut all = Vec::new();
        for line in text.lines() {
            if is_comment(line) || head(line).is_some() || indent(line) < BODY {
                all.push(line.to_string());
            } else {
                let space = &line[..indent(line)];
                all.extend(line.split(';').map(|part| format!("{space}{}", part.trim())));
            }
        }
        Lines { all }
    }

    pub(super) fn text(&self) -> String {
        self.all.iter().flat_map(|line| [line, "\n"]).collect()
    }

    pub(super) fn line(&self, at: usize) -> &str {
        self.all.get(at).map_or("", |line| line)
    }

    /// Lines of the bodies: statements and heads of blocks.
    pub(super) fn bodies(&self) -> Vec<usize> {
        let body = |at: &usize| indent(self.line(*at)) >= BODY && !is_comment(self.line(*at));
        (0..self.all.len()).filter(|at| !self.line(*at).trim().is_empty()).filter(body).collect()
    }

    /// Lines of the bodies, and declarations of the header that contain numbers: `let`, `global` and `grid`.
    pub(super) fn with_numbers(&self) -> Vec<usize> {
        let declared = |at: &usize| ["let ", "global ", "grid "].iter().any(|w| self.line(*at).trim().starts_with(w));
        let header = (0..self.all.len()).filter(|at| indent(self.line(*at)) < BODY).filter(declared);
        header.chain(self.bodies()).collect()
    }

    /// Numbers that the header names with `let` or `trips`.
    pub(super) fn numbers(&self) -> Vec<String> {
        let header = self.all.iter().filter(|line| indent(line) < BODY);
        let list =
            header.filter_map(|line| line.trim().strip_prefix("let ").or_else(|| line.trim().strip_prefix("trips ")));
        let name = |part: &str| Some(part.split_once(" =")?.0.rsplit(' ').next()?.to_string());
        list.flat_map(|line| line.split_inclusive(" =").filter_map(name).collect::<Vec<_>>()).collect()
    }

    /// Lines replace one line.
    pub(super) fn replace(&mut self, at: usize, by: Vec<String>) {
        self.all.splice(at..=at, by);
    }

    pub(super) fn swap(&mut self, a: usize, b: usize) {
        self.all.swap(a, b);
    }

    /// Parameters of the kernel.
    pub(super) fn parameters(&self) -> Vec<String> {
        let text = self.text();
        let header = text.split("\nkernel ").nth(1).or_else(|| text.strip_prefix("kernel "));
        let list = header.and_then(|rest| rest.split_once('(')?.1.split_once(')'));
        let names = list.into_iter().flat_map(|(list, _)| list.split(','));
        names.filter_map(|p| Some(p.split('=').next()?.trim().to_string())).filter(|name| !name.is_empty()).collect()
    }

    /// Loop variables and other variables that a line can read, the nearest first: `[loops, variables]`.
    pub(super) fn in_scope(&self, at: usize) -> [Vec<String>; 2] {
        let (mut loops, mut variables) = (Vec::new(), Vec::new());
        let mut depth = indent(self.line(at));
        for line in self.all[..at].iter().rev().filter(|l| !l.trim().is_empty() && !is_comment(l)) {
            let here = indent(line);
            let words: Vec<&str> = line.split_whitespace().collect();
            if here < depth {
                depth = here;
                let after = words.iter().position(|w| *w == "for").and_then(|k| words.get(k + 1));
                loops.extend(after.map(|w| (*w).to_string()));
            }
            if here <= depth
                && let ["var" | "let", name, "=", ..] = words[..]
            {
                variables.push(name.to_string());
            }
        }
        [loops, variables]
    }
}

pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Whether a block follows on later lines.
pub(super) fn opens(line: &str) -> bool {
    line.trim_end().ends_with(':')
}

/// The length of the head of a line, `elect: ` or `for i in 0..n:`. A colon behind a space is the tile of an access.
pub(super) fn head(line: &str) -> Option<usize> {
    let colons = line.match_indices(':').map(|(at, _)| at);
    colons.into_iter().find_map(|at| {
        let before = line[..at].chars().next_back()?;
        let behind = line[at + 1..].chars().next().unwrap_or(' ');
        (before != ' ' && behind == ' ').then_some(at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_get_lines_of_their_own() {
        let text = "kernel t(n = 3)\n  all:\n    elect: init a;  fence\n    commit wgmma;  wait wgmma <= 0\n";
        let lines = Lines::of(text);
        assert_eq!(
            lines.text(),
            "kernel t(n = 3)\n  all:\n    elect: init a;  fence\n    commit wgmma\n    wait wgmma <= 0\n"
        );
        assert_eq!((lines.bodies(), lines.parameters()), (vec![2, 3, 4], vec!["n".to_string()]));
    }

    #[test]
    fn variables_of_blocks_around_a_line_are_in_scope() {
        let text = "  all:\n    var it = 0\n    for a in 0..3:\n      let x = a\n      alu 1\n    for b in 0..3:\n      alu 2\n";
        assert_eq!(Lines::of(text).in_scope(6), [vec!["b".to_string()], vec!["it".to_string()]]);
    }

    #[test]
    fn tiles_are_no_heads() {
        assert_eq!(head("    wgmma a[i] : A[0, i] -> acc"), None);
        assert_eq!(head("    elect: tma A[0, i] -> a"), Some(10));
    }
}
