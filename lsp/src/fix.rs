//! Quick fixes: the word that the checker says was meant.

use lsp_types::{CodeAction, CodeActionKind, CodeActionOrCommand, Range, TextEdit, Uri, WorkspaceEdit};

use crate::document::Document;

/// The fixes of the errors in a range.
pub(crate) fn fixes(document: &Document, uri: &Uri, within: &Range) -> Vec<CodeActionOrCommand> {
    let errors = document.analysis.checked.iter().flat_map(|c| &c.messages);
    let fixes = errors.filter_map(|m| {
        let span = document.moved(&m.span)?;
        let (wrong, range) = (document.text.get(span.clone())?, document.range(&span));
        let (_, rest) = m.text.split_once("did you mean `")?;
        let (meant, _) = rest.split_once("`?")?;
        let meets = range.start <= within.end && within.start <= range.end;
        // A longer place is not the wrong word alone.
        let word = !wrong.is_empty() && !wrong.contains(char::is_whitespace);
        (meets && word).then(|| change(uri, wrong, meant, range))
    });
    fixes.collect()
}

#[allow(clippy::mutable_key_type, reason = "the type of the protocol")]
fn change(uri: &Uri, wrong: &str, meant: &str, range: Range) -> CodeActionOrCommand {
    let edit = TextEdit { range, new_text: meant.to_string() };
    let changes = Some([(uri.clone(), vec![edit])].into_iter().collect());
    CodeActionOrCommand::CodeAction(CodeAction {
        title: format!("Write `{meant}` instead of `{wrong}`"),
        kind: Some(CodeActionKind::QUICKFIX),
        edit: Some(WorkspaceEdit { changes, ..WorkspaceEdit::default() }),
        is_preferred: Some(true),
        ..CodeAction::default()
    })
}
