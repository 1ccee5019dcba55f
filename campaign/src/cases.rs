//! Hand-written kernels with the verdict each should get: one text with holes, and a line for each case.
//!
//! ```text
//! // machine: m4-max
//! // let LATE = use: lds a : A[0, i] -> q
//! // case one_row: violated: grid 8 => grid 9 $late if cta.m == 3: LATE
//! kernel t(k = 128)
//!   ...
//!       $late
//! ```
//!
//! A case replaces `grid 8` with `grid 9` and `$late` with the text behind it. A line that is a hole no case fills is left
//! out; `$late=barrier` is a hole with a text of its own. `LATE` is replaced everywhere.

use std::io;
use std::path::Path;

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The verdicts it may get, in lower case; empty where the file expects none.
    pub expect: Vec<String>,
    /// Its kernel.
    pub text: String,
}

/// The cases of a text; of one without case lines, the text itself.
pub fn cases(file: &str, text: &str) -> Vec<Case> {
    let lets: Vec<(&str, &str)> = comments(text, "let").filter_map(|l| l.split_once(" = ")).collect();
    let body: Vec<&str> = text.lines().filter(|l| !is(l, "let") && !is(l, "case")).collect();
    let list: Vec<Case> = comments(text, "case")
        .filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            let (expect, rest) = rest.split_once(':')?;
            let mut text = filled(&body, rest);
            lets.iter().for_each(|(name, value)| text = text.replace(name, value));
            let expect = expect.split(" or ").map(|w| w.trim().replace('_', "")).collect();
            Some(Case { name: format!("{file}/{name}"), expect, text })
        })
        .collect();
    if !list.is_empty() {
        return list;
    }
    let expect = comments(text, "expect").next().map(|w| w.split(" or ").map(|w| w.trim().replace('_', "")).collect());
    vec![Case { name: file.to_string(), expect: expect.unwrap_or_default(), text: text.to_string() }]
}

/// The cases of all files of a folder.
///
/// # Errors
/// The folder or a file cannot be read.
pub fn cases_in(folder: &Path) -> io::Result<Vec<Case>> {
    let mut list = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        list.extend(cases(&name, &std::fs::read_to_string(&path)?));
    }
    Ok(list)
}

fn is(line: &str, key: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix("// ") else { return false };
    rest.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', ':']))
}

fn comments<'t>(text: &'t str, key: &'t str) -> impl Iterator<Item = &'t str> {
    let lines = text.lines().filter(move |l| is(l, key));
    lines.map(move |l| l.trim_start()[3 + key.len()..].trim_start_matches(':').trim())
}

/// The lines with their holes filled.
fn filled(body: &[&str], case: &str) -> String {
    let mut parts = case.split('$');
    let swap = parts.next().and_then(|p| p.split_once(" => "));
    let holes: Vec<(&str, &str)> = parts.map(|p| p.split_once(' ').unwrap_or((p, ""))).collect();
    let value = |name: &str| holes.iter().find(|(n, _)| *n == name).map(|(_, v)| v.trim());
    let mut text = String::new();
    for line in body {
        let bare = line.trim_start();
        let indent = &line[..line.len() - bare.len()];
        let mut line = match bare.strip_prefix('$') {
            Some(hole) => {
                let end = hole.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(hole.len());
                let (name, rest) = hole.split_at(end);
                match (value(name), rest.strip_prefix('=')) {
                    (Some(v), _) => format!("{indent}{v}"),
                    (None, Some(own)) => format!("{indent}{own}"),
                    (None, None) => continue,
                }
            }
            None => (*line).to_string(),
        };
        for (name, value) in &holes {
            line = line.replace(&format!("${name}"), value.trim());
        }
        if let Some((from, to)) = swap {
            line = line.replace(from.trim(), to.trim());
        }
        text += &line;
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled() {
        let text =
            "// let L = alu\n// case x: proved or gave_up: a => b $h L 1\n// case y: violated:\na\n  $h\n  $k=2\n";
        let list = cases("f", text);
        assert_eq!(list[0].text, "b\n  alu 1\n  2\n");
        assert_eq!(list[0].expect, ["proved", "gaveup"]);
        assert_eq!((list[1].name.as_str(), list[1].text.as_str()), ("f/y", "a\n  2\n"));
    }
}
