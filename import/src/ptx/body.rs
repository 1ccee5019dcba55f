//! Statements of a kernel's body.

use std::collections::BTreeMap;

use super::lex::{Kind, Token};
use super::modifiers::unknown;
use super::scope::Scopes;
use super::{Arg, Entry, Error, Inst, Loc, Module, Variable};

/// A position in a list of tokens.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(tokens: &'a [Token]) -> Self {
        Cursor { tokens, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<&'a Kind> {
        self.tokens.get(self.at).map(|t| &t.kind)
    }

    pub(super) fn second(&self) -> Option<&'a Kind> {
        self.tokens.get(self.at + 1).map(|t| &t.kind)
    }

    /// The next token; at the end of the text, the last one.
    pub(super) fn here(&self) -> (u32, (usize, usize)) {
        let t = self.tokens.get(self.at).or(self.tokens.last());
        t.map_or((1, (0, 0)), |t| (t.line, t.span))
    }

    pub(super) fn next(&mut self) -> Option<&'a Token> {
        let t = self.tokens.get(self.at);
        self.at += 1;
        t
    }

    pub(super) fn is(&self, c: char) -> bool {
        self.peek() == Some(&Kind::Punct(c))
    }

    pub(super) fn take(&mut self, c: char) -> bool {
        let is = self.is(c);
        self.at += is as usize;
        is
    }

    pub(super) fn word(&mut self) -> Option<&'a str> {
        match self.peek() {
            Some(Kind::Word(w)) => {
                self.at += 1;
                Some(w)
            }
            _ => None,
        }
    }

    pub(super) fn int(&mut self) -> Option<i64> {
        let minus = self.take('-');
        match self.peek() {
            Some(Kind::Int(v)) => {
                self.at += 1;
                Some(if minus { v.wrapping_neg() } else { *v })
            }
            _ => None,
        }
    }

    pub(super) fn expected(&self, message: &str, expected: &str) -> Error {
        let (line, span) = self.here();
        Error { line, span, message: message.into(), expected: expected.into() }
    }

    pub(super) fn expect(&mut self, c: char, what: &str) -> Result<(), Error> {
        if self.take(c) { Ok(()) } else { Err(self.expected(&format!("`{c}` is missing {what}"), &format!("`{c}`"))) }
    }

    /// Skips to after the next `;`, over balanced brackets.
    pub(super) fn skip_statement(&mut self) {
        let mut depth = 0i32;
        while let Some(t) = self.next() {
            match t.kind {
                Kind::Punct('{' | '(' | '[') => depth += 1,
                Kind::Punct('}' | ')' | ']') => depth -= 1,
                Kind::Punct(';') if depth <= 0 => return,
                _ => {}
            }
        }
    }

    /// Skips the rest of the line of the last token.
    pub(super) fn skip_line(&mut self) {
        let line = self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(0, |t| t.line);
        while self.tokens.get(self.at).is_some_and(|t| t.line == line) {
            self.at += 1;
        }
    }
}

/// Reads the statements after the `{` of a body, up to its `}`.
pub(super) fn body(c: &mut Cursor<'_>, entry: &mut Entry, module: &mut Module) -> Result<(), Error> {
    let mut scopes = Scopes::new();
    let mut loc = None;
    let mut tables: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut last_label = None;
    loop {
        match c.peek() {
            None => return Err(c.expected("a body has no end", "`}`")),
            Some(Kind::Punct('{')) => {
                c.next();
                scopes.enter();
            }
            Some(Kind::Punct('}')) => {
                c.next();
                if !scopes.leave() {
                    break;
                }
            }
            Some(Kind::Punct(';')) => drop(c.next()),
            Some(Kind::Punct('.')) => {
                c.next();
                match c.word() {
                    Some("loc") => loc = read_loc(c),
                    Some("reg") => registers(c, entry, &mut scopes)?,
                    Some("shared") => entry.shared.extend(variables(c)?),
                    Some("branchtargets") => {
                        let mut list = Vec::new();
                        while let Some(name) = c.word() {
                            let (line, span) = c.here();
                            list.push(scopes.label_use(name, span, line));
                            c.take(',');
                        }
                        c.expect(';', "behind the targets of a branch")?;
                        let label =
                            last_label.ok_or_else(|| c.expected("a list of targets has no label", "a label"))?;
                        tables.insert(label, list);
                    }
                    Some("file") => c.skip_line(),
                    Some("local") => entry.local.extend(variables(c)?.into_iter().map(|v| v.name)),
                    Some("param" | "pragma" | "callprototype" | "calltargets" | "const" | "global") => {
                        c.skip_statement();
                    }
                    _ => return Err(c.expected("this directive is not known inside a kernel", "a directive of PTX")),
                }
            }
            Some(Kind::Word(name)) if c.second() == Some(&Kind::Punct(':')) => {
                // Two labels at one place may head two loops: each gets a block of its own.
                if entry.labels.last() == Some(&Some(entry.code.len())) {
                    let (line, span) = c.here();
                    entry.code.push(Inst {
                        line,
                        span,
                        loc,
                        guard: None,
                        op: "nop".into(),
                        mods: Vec::new(),
                        args: Vec::new(),
                    });
                }
                let at = entry.code.len();
                let label = scopes.label(entry, name, at);
                if label.is_none() {
                    return Err(c.expected(&format!("the label `{name}` stands twice in one scope"), "another name"));
                }
                last_label = label;
                c.next();
                c.next();
            }
            Some(Kind::Word(_) | Kind::Punct('@')) => {
                let inst = instruction(c, entry, &mut scopes, loc)?;
                entry.code.push(inst);
            }
            Some(_) => return Err(c.expected("no statement begins so", "a label, an instruction or a directive")),
        }
    }
    resolve(entry, &scopes, tables)?;
    let _ = module;
    Ok(())
}

/// Replaces provisional numbers by labels.
fn resolve(entry: &mut Entry, scopes: &Scopes, tables: BTreeMap<u32, Vec<u32>>) -> Result<(), Error> {
    let find = |l: u32| {
        scopes.resolve(l).map_err(|(name, span, line)| Error {
            line,
            span,
            message: format!("the label `{name}` is not defined"),
            expected: "a label of this kernel".into(),
        })
    };
    for i in &mut entry.code {
        for a in &mut i.args {
            if let Arg::Label(l) = a {
                *l = find(*l)?;
            }
        }
    }
    for (label, list) in tables {
        entry.tables.insert(label, list.into_iter().map(find).collect::<Result<_, _>>()?);
    }
    Ok(())
}

fn read_loc(c: &mut Cursor<'_>) -> Option<Loc> {
    let (file, line) = (c.int(), c.int());
    c.skip_line();
    Some(Loc { file: file? as u32, line: line? as u32 })
}

/// `.reg .b32 %r<331>, %x;`
fn registers(c: &mut Cursor<'_>, entry: &mut Entry, scopes: &mut Scopes) -> Result<(), Error> {
    let mut width = 0;
    while c.take('.') {
        let ty = c.word().unwrap_or_default();
        width = width.max(bits(ty));
    }
    loop {
        let Some(name) = c.word() else { return Err(c.expected("a register has no name", "a name")) };
        if c.take('<') {
            let n = c.int().ok_or_else(|| c.expected("a family of registers has no size", "a number"))?;
            c.expect('>', "behind the size of a family of registers")?;
            scopes.family(name, n.max(0) as u64, width);
        } else {
            scopes.declare(entry, name, width);
        }
        if !c.take(',') {
            return c.expect(';', "behind a declaration of registers");
        }
    }
}

/// Bits of a type; 1 for predicates, 0 if the word is not a type.
pub(super) fn bits(ty: &str) -> u16 {
    match ty {
        "pred" => 1,
        _ => ty.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(0),
    }
}

/// `.align 16 .b8 smem[1024];` after the word for the state space.
pub(super) fn variables(c: &mut Cursor<'_>) -> Result<Vec<Variable>, Error> {
    let (mut align, mut element) = (0u64, 0u64);
    while c.take('.') {
        match c.word() {
            Some("align") => align = c.int().unwrap_or(1).max(1) as u64,
            Some(ty) => element = element.max(bits(ty) as u64 / 8),
            None => return Err(c.expected("a variable has no type", "a type")),
        }
    }
    let mut list = Vec::new();
    loop {
        let Some(name) = c.word() else { return Err(c.expected("a variable has no name", "a name")) };
        let mut bytes = element.max(1);
        while c.take('[') {
            bytes = bytes.saturating_mul(c.int().unwrap_or(0).max(0) as u64);
            c.expect(']', "behind the size of a variable")?;
        }
        list.push(Variable { name: name.into(), bytes, align: align.max(element).max(1) });
        if c.take('=') {
            c.skip_statement();
            return Ok(list);
        }
        if !c.take(',') {
            c.expect(';', "behind a variable")?;
            return Ok(list);
        }
    }
}

fn instruction(c: &mut Cursor<'_>, entry: &mut Entry, scopes: &mut Scopes, loc: Option<Loc>) -> Result<Inst, Error> {
    let (line, span) = c.here();
    let mut guard = None;
    if c.take('@') {
        let not = c.take('!');
        let name = c.word().ok_or_else(|| c.expected("a guard has no predicate", "a predicate"))?;
        let reg = scopes.reg(entry, name);
        guard = Some((reg.ok_or_else(|| c.expected(&format!("`{name}` is not declared"), "a predicate"))?, not));
    }
    let op = c.word().ok_or_else(|| c.expected("an instruction has no opcode", "an opcode"))?.to_string();
    let mut mods = Vec::new();
    while c.take('.') {
        let mut m = c.word().ok_or_else(|| c.expected("a modifier has no name", "a modifier"))?.to_string();
        while c.is(':') && c.second() == Some(&Kind::Punct(':')) {
            c.next();
            c.next();
            m.push_str("::");
            m.push_str(c.word().ok_or_else(|| c.expected("a modifier has no name", "a modifier"))?);
        }
        mods.push(m);
    }
    if let Some((wrong, meant)) = unknown(&op, &mods) {
        let name = std::iter::once(op.as_str()).chain(mods.iter().map(String::as_str)).collect::<Vec<_>>().join(".");
        let before = c.at.checked_sub(1).and_then(|i| c.tokens.get(i)).map_or(span.1, |t| t.span.1);
        return Err(Error {
            line,
            span: (span.0, before),
            message: format!("`{name}` has the modifier `{wrong}`, which is not known here"),
            expected: meant.map_or("a modifier of PTX".into(), |m| format!("`{m}`")),
        });
    }
    let labels = matches!(op.as_str(), "bra" | "brx");
    let mut args = Vec::new();
    while !c.is(';') {
        args.push(operand(c, entry, scopes, labels)?);
        if !c.take(',') {
            break;
        }
    }
    let end = c.here().1.1;
    c.expect(';', "behind an instruction")?;
    Ok(Inst { line, span: (span.0, end), loc, guard, op, mods, args })
}

fn operand(c: &mut Cursor<'_>, entry: &mut Entry, scopes: &mut Scopes, labels: bool) -> Result<Arg, Error> {
    let list = |c: &mut Cursor<'_>, entry: &mut Entry, scopes: &mut Scopes, end: char| {
        let mut list = Vec::new();
        while !c.is(end) {
            list.push(operand(c, entry, scopes, false)?);
            if !c.take(',') {
                break;
            }
        }
        c.expect(end, "behind a list")?;
        Ok(list)
    };
    if c.take('{') {
        return Ok(Arg::List(list(c, entry, scopes, '}')?));
    }
    if c.take('(') {
        return Ok(Arg::Group(list(c, entry, scopes, ')')?));
    }
    if c.take('[') {
        let first = operand(c, entry, scopes, false)?;
        let mut extra = Vec::new();
        while c.take(',') {
            extra.push(operand(c, entry, scopes, false)?);
        }
        c.expect(']', "behind an address")?;
        return Ok(match first {
            Arg::Mem { base, offset, .. } => Arg::Mem { base, offset, extra },
            base => Arg::Mem { base: Box::new(base), offset: 0, extra },
        });
    }
    if c.take('!') {
        let name = c.word().unwrap_or_default();
        let reg = scopes.reg(entry, name);
        return reg.map(Arg::Not).ok_or_else(|| c.expected("`!` is not before a predicate", "a predicate"));
    }
    if let Some(Kind::Float(bits)) = c.peek() {
        let bits = *bits;
        c.next();
        return Ok(Arg::Float(bits));
    }
    if c.is('-')
        && let Some(Kind::Float(bits)) = c.second()
    {
        // The number's negative, which no notation of a positive number has.
        let bits = !*bits;
        c.next();
        c.next();
        return Ok(Arg::Float(bits));
    }
    if let Some(v) = c.int() {
        return Ok(Arg::Int(v));
    }
    let (line, span) = c.here();
    let Some(name) = c.word() else { return Err(c.expected("an operand is missing", "an operand")) };
    let arg = match scopes.reg(entry, name) {
        Some(r) => Arg::Reg(r),
        None if name == "_" => Arg::Sink,
        None if labels => Arg::Label(scopes.label_use(name, span, line)),
        None => {
            let mut name = name.to_string();
            if c.take('.') {
                name.push('.');
                name.push_str(c.word().unwrap_or_default());
            }
            Arg::Name(name)
        }
    };
    if c.take('|') {
        return Ok(Arg::Pair(Box::new(arg), Box::new(operand(c, entry, scopes, false)?)));
    }
    let minus = c.is('-');
    if c.take('+') || minus {
        let v = c.int().ok_or_else(|| c.expected("an offset is no number", "a number"))?;
        return Ok(Arg::Mem { base: Box::new(arg), offset: v, extra: Vec::new() });
    }
    Ok(arg)
}
