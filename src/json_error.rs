//! The JSON object of an error, for commands that print JSON.

use serde::Serialize;
use warpline_api::{Error, Position};

use crate::json;

/// The schema of an error.
const ERROR: &str = "warpline.error/1";

#[derive(Serialize)]
struct ErrorObject<'a> {
    schema: &'static str,
    errors: Vec<Problem<'a>>,
}

#[derive(Serialize)]
struct Problem<'a> {
    message: &'a str,
    file: Option<&'a str>,
    line: Option<usize>,
    column: Option<usize>,
    label: Option<&'a str>,
    help: Option<&'a str>,
}

/// The longest message: a name in a message may be as long as its file.
const LONGEST: usize = 2_000;

fn short(text: &str) -> &str {
    let end = text.char_indices().map(|(i, _)| i).find(|i| *i >= LONGEST).unwrap_or(text.len());
    &text[..end]
}

/// Every problem with its place.
pub(crate) fn error(error: &Error) -> Result<String, Error> {
    let errors = match error {
        Error::Plain { message, help } => vec![Problem {
            message: short(message),
            file: None,
            line: None,
            column: None,
            label: None,
            help: help.as_deref(),
        }],
        Error::Input { diagnostics, sources } => diagnostics
            .iter()
            .map(|d| {
                let at = sources.get(&d.file).map(|text| Position::of(text, d.span.start));
                Problem {
                    message: short(&d.message),
                    file: Some(&d.file),
                    line: at.map(|p| p.line),
                    column: at.map(|p| p.column),
                    label: Some(&d.label),
                    help: d.help.as_deref(),
                }
            })
            .collect(),
    };
    json::text(&ErrorObject { schema: ERROR, errors })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::json::tests::{documented, paths};
    use crate::{Look, main_with};

    /// All fields that these command lines print.
    fn printed(lines: &[&str]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for line in lines {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let args = std::iter::once("warpline").chain(line.split(' ')).map(Into::into);
            main_with(args, &mut out, &mut err, Look::default());
            paths(&serde_json::from_slice(&out).expect("JSON"), "", &mut found);
        }
        found
    }

    #[test]
    fn the_document_has_every_field_of_lists_explanations_and_errors_and_no_other() {
        assert_eq!(printed(&["list metal --json"]), documented("warpline.list/1"));
        assert_eq!(
            printed(&["explain WL0104 --json", "explain cp.async --json", "explain fence --json"]),
            documented("warpline.explain/1")
        );
        assert_eq!(printed(&["run no/such --json"]), documented("warpline.error/1"));
    }
}
