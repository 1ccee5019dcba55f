//! Names of registers and labels: the innermost scope that declares a name decides.

use std::collections::BTreeMap;

use super::{Entry, Label, Reg};

/// One `{ }` scope.
#[derive(Debug, Default)]
struct Scope {
    parent: Option<usize>,
    /// Registers declared by name.
    regs: BTreeMap<String, Reg>,
    /// Families declared as `%r<331>`: prefix, how many, width.
    families: Vec<(String, u64, u16)>,
    labels: BTreeMap<String, Label>,
}

/// All scopes of an entry.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    list: Vec<Scope>,
    open: usize,
    /// Uses of labels by provisional number: the scope and the name. They are resolved when all labels are known.
    uses: Vec<(usize, String, (usize, usize), u32)>,
}

impl Scopes {
    pub(super) fn new() -> Scopes {
        Scopes { list: vec![Scope::default()], ..Scopes::default() }
    }

    pub(super) fn enter(&mut self) {
        self.list.push(Scope { parent: Some(self.open), ..Scope::default() });
        self.open = self.list.len() - 1;
    }

    /// Leaves a scope; false if it is the outermost.
    pub(super) fn leave(&mut self) -> bool {
        match self.list[self.open].parent {
            Some(p) => {
                self.open = p;
                true
            }
            None => false,
        }
    }

    pub(super) fn declare(&mut self, entry: &mut Entry, name: &str, width: u16) {
        let reg = add(entry, name, width);
        self.list[self.open].regs.insert(name.to_string(), reg);
    }

    pub(super) fn family(&mut self, prefix: &str, n: u64, width: u16) {
        self.list[self.open].families.push((prefix.to_string(), n, width));
    }

    /// The register of a name.
    pub(super) fn reg(&mut self, entry: &mut Entry, name: &str) -> Option<Reg> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: Option<u64> = name[prefix.len()..].parse().ok();
        let mut at = Some(self.open);
        while let Some(s) = at {
            if let Some(r) = self.list[s].regs.get(name) {
                return Some(*r);
            }
            let family = self.list[s].families.iter().find(|(p, n, _)| p == prefix && number.is_some_and(|x| x < *n));
            if let Some((.., width)) = family {
                let reg = add(entry, name, *width);
                self.list[s].regs.insert(name.to_string(), reg);
                return Some(reg);
            }
            at = self.list[s].parent;
        }
        None
    }

    /// Defines a label here; false if its scope already has it.
    pub(super) fn label(&mut self, entry: &mut Entry, name: &str, at: usize) -> Option<Label> {
        let label = entry.labels.len() as Label;
        if self.list[self.open].labels.insert(name.to_string(), label).is_some() {
            return None;
        }
        entry.labels.push(Some(at));
        Some(label)
    }

    /// A use of a label, as a provisional number.
    pub(super) fn label_use(&mut self, name: &str, span: (usize, usize), line: u32) -> Label {
        self.uses.push((self.open, name.to_string(), span, line));
        (self.uses.len() - 1) as Label
    }

    /// The label of a provisional number.
    pub(super) fn resolve(&self, provisional: Label) -> Result<Label, (String, (usize, usize), u32)> {
        let (scope, name, span, line) = &self.uses[provisional as usize];
        let mut at = Some(*scope);
        while let Some(s) = at {
            if let Some(l) = self.list[s].labels.get(name) {
                return Ok(*l);
            }
            at = self.list[s].parent;
        }
        Err((name.clone(), *span, *line))
    }
}

fn add(entry: &mut Entry, name: &str, width: u16) -> Reg {
    entry.regs.push(name.to_string());
    entry.widths.push(width);
    (entry.regs.len() - 1) as Reg
}
