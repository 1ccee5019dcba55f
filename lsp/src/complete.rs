//! Completion: the words of the language and the names that are visible.

use lsp_types::{CompletionItem, CompletionItemKind};
use warpline_api::editor::{DeclarationKind, WordKind, words};

use crate::document::Document;

/// The items at a byte offset. The editor picks those that begin with what is typed.
pub(crate) fn items(document: &Document, offset: usize) -> Vec<CompletionItem> {
    let declared = document.outline.visible_at(offset).map(|d| CompletionItem {
        label: d.name.clone(),
        kind: Some(declared(d.kind)),
        detail: document.text.get(d.extent.clone()).map(|t| t.split_whitespace().collect::<Vec<_>>().join(" ")),
        ..CompletionItem::default()
    });
    let mut known = words();
    // A word with several uses is one item, with the first use.
    known.sort_by_key(|w| (w.text, w.kind));
    known.dedup_by_key(|w| w.text);
    let words = known.into_iter().map(|w| CompletionItem {
        label: w.text.to_string(),
        kind: Some(word(w.kind)),
        ..CompletionItem::default()
    });
    declared.chain(words).collect()
}

fn declared(kind: DeclarationKind) -> CompletionItemKind {
    match kind {
        DeclarationKind::Parameter | DeclarationKind::Value | DeclarationKind::TripCount => {
            CompletionItemKind::CONSTANT
        }
        DeclarationKind::Role | DeclarationKind::Set => CompletionItemKind::CLASS,
        DeclarationKind::Mbarrier | DeclarationKind::NamedBarrier => CompletionItemKind::EVENT,
        DeclarationKind::Buffer | DeclarationKind::Registers | DeclarationKind::Counter => CompletionItemKind::FIELD,
        DeclarationKind::Variable | DeclarationKind::Index => CompletionItemKind::VARIABLE,
    }
}

fn word(kind: WordKind) -> CompletionItemKind {
    match kind {
        WordKind::Function => CompletionItemKind::FUNCTION,
        WordKind::Type => CompletionItemKind::TYPE_PARAMETER,
        WordKind::BuiltIn => CompletionItemKind::VARIABLE,
        WordKind::Operator => CompletionItemKind::OPERATOR,
        WordKind::Unit | WordKind::Queue => CompletionItemKind::ENUM_MEMBER,
        WordKind::Declaration | WordKind::Head | WordKind::Operation | WordKind::Clause => CompletionItemKind::KEYWORD,
    }
}
