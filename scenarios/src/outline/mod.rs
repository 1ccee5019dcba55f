//! The outline of a kernel text: declarations with their places, the names that refer to these, and the statements.
//!
//! ```text
//!   text ──parse──▶ tree ──declared──▶ declarations, with the range in which each is visible
//!                    │  └──statements──▶ statements, each with the topic that documents explain
//!                    └── marks of names ──▶ references
//! ```
//!
//! An outline exists for every text, also for one with errors: statements with errors are left out, and their names
//! still refer to declarations. Nothing is evaluated.

mod declared;
mod statements;

use std::ops::Range;

use crate::lex::Kind;
use crate::parse::parse;

/// The kind of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeclarationKind {
    /// A parameter of the kernel.
    Parameter,
    /// A `let` among the declarations.
    Value,
    /// A trip count known only at run time.
    TripCount,
    /// A buffer in global, shared or tensor memory, or a mailbox.
    Buffer,
    /// Registers, declared or written without a declaration.
    Registers,
    /// An array of counters.
    Counter,
    /// An array of mbarriers.
    Mbarrier,
    /// An array of named barriers.
    NamedBarrier,
    /// A role.
    Role,
    /// A set of warps or CTAs.
    Set,
    /// A variable of an agent.
    Variable,
    /// The index of a loop.
    Index,
}

impl DeclarationKind {
    /// A noun for displays.
    pub fn noun(self) -> &'static str {
        match self {
            DeclarationKind::Parameter => "parameter",
            DeclarationKind::Value => "value",
            DeclarationKind::TripCount => "trip count",
            DeclarationKind::Buffer => "buffer",
            DeclarationKind::Registers => "registers",
            DeclarationKind::Counter => "counter",
            DeclarationKind::Mbarrier => "mbarrier",
            DeclarationKind::NamedBarrier => "named barrier",
            DeclarationKind::Role => "role",
            DeclarationKind::Set => "set",
            DeclarationKind::Variable => "variable",
            DeclarationKind::Index => "loop index",
        }
    }
}

/// A declaration of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The name.
    pub name: String,
    /// The kind.
    pub kind: DeclarationKind,
    /// Byte range of the name.
    pub span: Range<usize>,
    /// Byte range of the declaration; for registers without one, of the first statement that writes them.
    pub extent: Range<usize>,
    /// Byte range in which the name has this meaning.
    pub scope: Range<usize>,
}

/// A statement or declaration of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Byte range; for a block, the range of its head.
    pub span: Range<usize>,
    /// The first words, as the documents of the language write the statement: `wait cp`, `wait b for`, `elect`.
    pub topic: String,
}

/// The outline of a kernel text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Byte range of the kernel's name; `None` where the first line has an error.
    pub kernel: Option<Range<usize>>,
    /// Declarations, in the order of the text.
    pub declarations: Vec<Declaration>,
    /// Statements and declarations, in the order of the text.
    pub statements: Vec<Statement>,
    /// Byte ranges of the names that may refer to a declaration, in order.
    names: Vec<Range<usize>>,
    text: String,
}

impl Outline {
    /// Reads a text.
    pub fn read(text: &str) -> Outline {
        let parsed = parse("", text);
        let marked = parsed.tokens.iter().zip(&parsed.names).filter(|(t, name)| **name && t.kind == Kind::Name);
        let names = marked.map(|(t, _)| t.span.clone()).collect();
        let (mut declarations, mut statements) = (Vec::new(), Vec::new());
        if let Some(kernel) = &parsed.kernel {
            declarations = declared::declarations(kernel, text.len());
            statements = statements::statements(kernel);
        }
        declarations.sort_by_key(|d| (d.span.start, d.span.end));
        statements.sort_by_key(|s| (s.span.start, std::cmp::Reverse(s.span.end)));
        let kernel = parsed.kernel.map(|k| k.name.span);
        Outline { kernel, declarations, statements, names, text: text.to_string() }
    }

    /// The name at a byte offset, with the range of the name. An offset just behind a name counts as the name's.
    pub fn name_at(&self, offset: usize) -> Option<(&str, Range<usize>)> {
        let span = self.names.iter().find(|s| s.start <= offset && offset <= s.end)?;
        Some((&self.text[span.clone()], span.clone()))
    }

    /// The declaration that the name at a byte offset refers to.
    pub fn declaration_at(&self, offset: usize) -> Option<&Declaration> {
        let (name, span) = self.name_at(offset)?;
        self.resolve(name, span.start)
    }

    /// The meaning of a name at a byte offset: the innermost declaration whose scope has the offset.
    pub fn resolve(&self, name: &str, offset: usize) -> Option<&Declaration> {
        let visible = self.declarations.iter().filter(|d| d.name == name && d.scope.contains(&offset));
        visible.max_by_key(|d| d.scope.start)
    }

    /// The declarations that are visible at a byte offset.
    pub fn visible_at(&self, offset: usize) -> impl Iterator<Item = &Declaration> {
        self.declarations.iter().filter(move |d| d.scope.contains(&offset))
    }

    /// The places that refer to a declaration, its own name included, in order.
    pub fn references(&self, declaration: &Declaration) -> Vec<Range<usize>> {
        let refers = |s: &&Range<usize>| {
            self.text[(*s).clone()] == declaration.name
                && self.resolve(&declaration.name, s.start).is_some_and(|d| d.span == declaration.span)
        };
        self.names.iter().filter(refers).cloned().collect()
    }

    /// The innermost statement at a byte offset.
    pub fn statement_at(&self, offset: usize) -> Option<&Statement> {
        let around = self.statements.iter().filter(|s| s.span.start <= offset && offset <= s.span.end);
        around.min_by_key(|s| s.span.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "\
kernel k(m, stages = 2)
  grid m   warps 4
  global A: f16[m, 64]
  shared a[stages]: f16[64, 64]
  mbar full[stages] (1)
  role load = warp 0
  role math = warps 1..4

  load: elect:
    for i in 0..m:
      let s = i % stages
      arrive full[s] expect bytes(a)
      tma A[cta.m, i] -> a[s] signals full[s]
  math:
    for i in 0..m:
      wait full[i % stages] for i / stages
      lds a[i % stages] -> r
";

    /// The offset of the n-th occurrence of a piece of text.
    fn at(piece: &str, n: usize) -> usize {
        KERNEL.match_indices(piece).nth(n).expect("in the kernel").0
    }

    #[test]
    fn names_lead_to_their_declarations() {
        let outline = Outline::read(KERNEL);
        let declared = |piece: &str, n: usize, inside: usize| {
            let d = outline.declaration_at(at(piece, n) + inside)?;
            Some((d.kind, KERNEL[d.extent.clone()].to_string()))
        };
        let role = Some((DeclarationKind::Role, "role load = warp 0".to_string()));
        assert_eq!(declared("load:", 0, 0), role);
        let barrier = Some((DeclarationKind::Mbarrier, "mbar full[stages] (1)".to_string()));
        assert_eq!(declared("signals full", 0, 9), barrier);
        assert_eq!(declared("stages", 3, 0), Some((DeclarationKind::Parameter, "stages = 2".to_string())));
        assert_eq!(declared("cta.m", 0, 4), None, "a part of `cta` is no parameter");
        assert_eq!(declared("a[s]", 0, 2), Some((DeclarationKind::Variable, "let s = i % stages".to_string())));
        let written = Some((DeclarationKind::Registers, "lds a[i % stages] -> r".to_string()));
        assert_eq!(declared("-> r", 0, 3), written);
    }

    #[test]
    fn each_loop_has_its_own_index() {
        let outline = Outline::read(KERNEL);
        let first = outline.declaration_at(at("i %", 0)).expect("a value").span.start;
        let second = outline.declaration_at(at("i %", 1)).expect("a value").span.start;
        assert_eq!((first, second), (at("i in", 0), at("i in", 1)));
        let references = outline.references(outline.declaration_at(first).expect("a value"));
        assert_eq!(references.len(), 3);
    }

    #[test]
    fn a_broken_statement_still_refers_to_declarations() {
        let broken = KERNEL.replace("signals full[s]", "sginals full[s]");
        let outline = Outline::read(&broken);
        let offset = broken.find("sginals full").expect("a value") + 8;
        assert_eq!(outline.declaration_at(offset).expect("a value").kind, DeclarationKind::Mbarrier);
        assert_eq!(outline.statement_at(offset), None);
        assert!(Outline::read("kern").declarations.is_empty());
    }

    #[test]
    fn statements_have_topics() {
        let outline = Outline::read(KERNEL);
        let topic = |piece: &str| outline.statement_at(at(piece, 0)).map(|s| s.topic.as_str());
        assert_eq!(topic("wait full"), Some("wait b for"));
        assert_eq!(topic("expect bytes"), Some("arrive"));
        assert_eq!(topic("elect"), Some("elect"));
        assert_eq!(topic("mbar full"), Some("mbar"));
        assert_eq!(topic("for i"), Some("for"));
    }
}
