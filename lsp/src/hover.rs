//! Hover: the declaration of a name, the meaning of a statement, its cost and stalls, and the pages of its findings.

use std::ops::Range;

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use warpline_api::editor::{Cost, Message, Statement};
use warpline_api::{explain_page, meaning};

use crate::document::Document;

/// The hover at a byte offset.
pub(crate) fn hover(document: &Document, offset: usize) -> Option<Hover> {
    let name = document.outline.name_at(offset);
    let statement = document.outline.statement_at(offset);
    let mut sections: Vec<String> = Vec::new();
    sections.extend(declaration(document, offset));
    if let Some(statement) = statement {
        sections.extend(statement_cost(document, statement));
        sections.extend(described(&statement.topic));
    }
    sections.extend(findings(document, offset).into_iter().filter_map(page));
    if sections.is_empty() {
        return None;
    }
    let declared = document.outline.declaration_at(offset).is_some();
    let span = name.filter(|_| declared).map(|n| n.1).or_else(|| statement.map(|s| s.span.clone()));
    let value = sections.join("\n\n---\n\n");
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
        range: span.map(|s| document.range(&s)),
    })
}

/// The declaration of the name, its value, and what is known of it.
fn declaration(document: &Document, offset: usize) -> Option<String> {
    let d = document.outline.declaration_at(offset)?;
    let code = document.text.get(d.extent.clone())?;
    let mut text = format!("```pipe\n{code}\n```\n{} `{}`", d.kind.noun(), d.name);
    let checked = document.analysis.checked.as_ref();
    if let Some(value) = checked.and_then(|c| c.values.iter().find(|v| v.name == d.name)) {
        text += &format!(" = {}", value.value);
    }
    if let Some(fact) = checked.and_then(|c| c.facts.iter().find(|f| f.name == d.name)) {
        text += &format!(": {}", fact.text);
    }
    let about = checked.map_or("", |c| c.about.as_str());
    if !about.is_empty() {
        text += &format!("\n\n{about}");
    }
    Some(text)
}

fn statement_cost(document: &Document, statement: &Statement) -> Option<String> {
    let measured = document.analysis.measured.as_ref()?;
    let here = |c: &&Cost| document.moved(&c.span).is_some_and(|s| s == statement.span);
    let cost = measured.costs.iter().find(here)?;
    let mut lines = Vec::new();
    if let Some(each) = cost.each {
        let (busy, waiting) = (cycles(each.busy), cycles(each.waiting));
        lines.push(format!("**Cost** each time: busy {busy}, waiting {waiting} cycles"));
    }
    if let Some(engine) = cost.engine {
        lines.push(format!("**Engine**: {} cycles for the work that it starts", cycles(engine)));
    }
    if !cost.waits.is_empty() {
        lines.push(format!("**Waits**: {}", waits(cost)));
    }
    lines.push(format!("Run: {}", measured.about));
    Some(lines.join("\n\n"))
}

/// The waits of each role in a line: `math 35.2 % of its time (mbarrier full 34.1 %, issue slot 1.1 %)`.
pub(crate) fn waits(cost: &Cost) -> String {
    let one = |w: &warpline_api::editor::Wait| {
        let causes: Vec<String> = w.causes.iter().map(|(c, share)| format!("{c} {:.1} %", share * 100.0)).collect();
        format!("{} {:.1} % of its time ({})", w.role, w.share * 100.0, causes.join(", "))
    };
    cost.waits.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn cycles(x: f64) -> String {
    if x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.1}") }
}

/// The meaning of a statement.
fn described(topic: &str) -> Option<String> {
    let m = meaning(topic)?;
    let mut lines: Vec<String> = m.instruction.map(|i| format!("**Instruction**: {i}")).into_iter().collect();
    lines.extend(m.sentences);
    for r in m.rules {
        let fault = r.fault.map_or(String::new(), |f| format!(" *Fault:* {f}"));
        lines.push(format!("* {}{fault}", r.rule));
    }
    Some(lines.join("\n\n"))
}

/// Messages with codes at a byte offset.
fn findings(document: &Document, offset: usize) -> Vec<&Message> {
    let a = &document.analysis;
    let all = a.measured.iter().flat_map(|m| &m.messages).chain(a.proved.iter().flat_map(|p| &p.messages));
    let inside = |s: &Range<usize>| document.moved(s).is_some_and(|s| s.start <= offset && offset <= s.end);
    let mut here: Vec<&Message> = all.filter(|m| m.code.is_some() && inside(&m.span)).collect();
    here.sort_by(|a, b| a.code.cmp(&b.code));
    here.dedup_by(|a, b| a.code == b.code);
    here
}

/// The page on the code of a message.
fn page(message: &Message) -> Option<String> {
    let page = explain_page(message.code.as_ref()?.parse().ok()?)?;
    // A title inside a hover is a line in bold; blocks of code keep their lines.
    let mut code = false;
    let lines = page.lines().map(|line| {
        code ^= line.starts_with("```");
        match line.strip_prefix("# ").or(line.strip_prefix("## ")).filter(|_| !code) {
            Some(title) => format!("**{title}**"),
            None => line.to_string(),
        }
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}
