//! Declarations, and the order of a kernel's parts.

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::{Class, Dtype, Waits};

use super::{Mark, Parse, Parser};
use crate::ast::{Axis, Decl, DeclKind, Ident, Kernel, Memory, Span, Type, TypeName, WarpSet};
use crate::lex::Kind;
use crate::mnemonics::element_type;
use crate::suggest::did_you_mean;
use crate::words::{DECLARATIONS, DTYPES};

impl Parser<'_> {
    /// Parses declarations, then statements. A declaration among the statements is reported, but still parsed.
    pub(super) fn kernel_body(&mut self, kernel: &mut Kernel) {
        let mut header = true;
        while !matches!(self.kind(), Kind::Dedent | Kind::End) {
            if self.kind() == Kind::Indent {
                self.stray_indent(&mut kernel.body);
                continue;
            }
            if self.at_declaration(header) {
                if !header {
                    let message = format!("`{}` is a declaration, and declarations stand first", self.word());
                    let diagnostic = Diagnostic::new(self.file, self.span(), message, "a statement was expected here")
                        .help("move it up, before the first statement of the kernel");
                    let _: Parse<()> = self.fail(diagnostic);
                }
                self.declaration_line(&mut kernel.decls);
            } else {
                header = false;
                self.statement_line(&mut kernel.body);
            }
        }
    }

    /// Whether a declaration starts here. Words of the grammar are not reserved: `load:` starts a block.
    pub(super) fn at_declaration(&self, header: bool) -> bool {
        let Some(word) = self.name() else { return false };
        let next = self.pos + 1;
        if self.sym_at(next, ":") || (self.sym_at(next, ".") && self.glued(next)) {
            return false;
        }
        match word {
            "let" => header,
            "set" => self.kind_at(next) == Kind::Name,
            "regs" => !matches!(self.word_at(next), "inc" | "dec"),
            // `warps 4..8:` is the head of a block.
            "warps" => {
                let rest = (next..self.tokens.len()).take_while(|p| self.kind_at(*p) != Kind::Newline);
                let stop = rest.into_iter().find(|p| self.sym_at(*p, "..") || self.declares(*p));
                stop.is_none_or(|p| !self.sym_at(p, ".."))
            }
            _ => DECLARATIONS.contains(&word),
        }
    }

    fn declares(&self, pos: usize) -> bool {
        self.kind_at(pos) == Kind::Name && DECLARATIONS.contains(&self.word_at(pos))
    }

    fn declaration_line(&mut self, out: &mut Vec<Decl>) {
        let mut first = true;
        while !matches!(self.kind(), Kind::Newline | Kind::Dedent | Kind::End) {
            let from = self.pos;
            if !first {
                self.marks[self.pos] = Mark::NextDecl;
            }
            first = false;
            let known = self.at_declaration(true);
            let done = if known {
                self.declaration(out)
            } else {
                let help = self.undeclared(out.last());
                self.expected_with("a declaration or the end of the line", help.as_deref())
            };
            if done.is_err() {
                self.recover_line(from);
            }
        }
        if self.kind() == Kind::Newline {
            self.bump();
        }
    }

    /// The help where a declaration goes on in a way of another language, after `last`.
    fn undeclared(&self, last: Option<&Decl>) -> Option<String> {
        if self.at_sym(",") {
            let comma = "declarations of a line follow each other without a comma: `mbar full (1)   mbar empty (1)`";
            return Some(comma.into());
        }
        let Some(DeclKind::Memory(memory)) = last.map(|d| &d.kind) else { return None };
        let name = &memory.name.text;
        self.at_sym("[").then(|| format!("the number of slots follows the name: `{name}[stages]: f16[128, 64]`"))
    }

    fn declaration(&mut self, out: &mut Vec<Decl>) -> Parse<()> {
        let start = self.span().start;
        let word = self.word();
        self.bump();
        let kind = match word {
            "needs" => DeclKind::Needs(self.label("a machine line, such as `sm_90a`, `apple7` or `gfx950`,")?),
            "let" => DeclKind::Let(self.bindings()?),
            "require" => {
                let cond = self.expr()?;
                let mut why = None;
                if self.kind() == Kind::Str {
                    why = Some(self.word().trim_matches('"').to_string());
                    self.bump();
                }
                DeclKind::Require(cond, why)
            }
            "grid" => {
                let mut dims = vec![self.expr()?];
                while self.eat_sym(",") {
                    dims.push(self.expr()?);
                }
                let group = if self.eat_word("group") { Some(self.expr()?) } else { None };
                DeclKind::Grid(dims, group)
            }
            "cluster" => DeclKind::Cluster(self.expr()?),
            "warps" => DeclKind::Warps(self.expr()?),
            "regs" => DeclKind::Regs(self.expr()?),
            "waits" => {
                let kind = match self.name() {
                    Some("auto") => Waits::Auto,
                    Some("manual") => Waits::Manual,
                    _ => return self.expected("`auto` or `manual`"),
                };
                self.bump();
                DeclKind::Waits(kind)
            }
            "cooperative" => DeclKind::Cooperative,
            "global" => match self.counter()? {
                Some(counter) => counter,
                None => DeclKind::Memory(self.memory(Class::Global)?),
            },
            "shared" => DeclKind::Memory(self.memory(Class::Shared)?),
            "tmem" => DeclKind::Memory(self.memory(Class::Tmem)?),
            "reg" => loop {
                let memory = self.memory(Class::Reg)?;
                out.push(Decl { kind: DeclKind::Memory(memory), span: self.since(start) });
                if !self.eat_sym(",") {
                    return Ok(());
                }
            },
            "mbar" => {
                let name = self.ident("the barrier's name")?;
                let len = self.bracketed()?;
                if !self.at_sym("(") {
                    let slots = if len.is_some() { "[stages]" } else { "" };
                    let help = format!("write `mbar {}{slots} (1)`", name.text);
                    return self.expected_with("`(` and the number of arrivals a phase needs", Some(&help));
                }
                DeclKind::Mbar(name, len, self.count("`(`")?)
            }
            "named" => {
                let name = self.ident("the barrier's name")?;
                DeclKind::Named(name, self.bracketed()?)
            }
            "role" => {
                let name = self.ident("the role's name")?;
                let members = self.bracketed()?;
                self.sym("=", "and the role's warps")?;
                DeclKind::Role(name, members, self.warp_set()?)
            }
            "set" => {
                let name = self.ident("the set's name")?;
                self.sym("=", "and `warps a..b` or `cta e`")?;
                if self.eat_word("cta") {
                    DeclKind::SetCta(name, self.expr()?)
                } else {
                    DeclKind::Set(name, self.warp_set()?)
                }
            }
            _ => self.trips()?,
        };
        out.push(Decl { kind, span: self.since(start) });
        Ok(())
    }

    /// The byte range from `start` to the end of the last parsed token.
    pub(super) fn since(&self, start: usize) -> Span {
        start..self.span_at(self.pos.saturating_sub(1)).end.max(start)
    }

    fn trips(&mut self) -> Parse<DeclKind> {
        let name = self.ident("the trip count's name")?;
        self.sym("=", "and `any`")?;
        if !self.eat_word("any") {
            return self.expected("`any`");
        }
        let per = if self.eat_word("per") { Some(self.ident("the name of the index")?) } else { None };
        if !self.eat_word("run") {
            return self.expected("`run` and the value to run with");
        }
        Ok(DeclKind::Trips { name, per, run: self.expr()? })
    }

    /// `flags: counter[n]`, after `global`; `None` for a matrix.
    fn counter(&mut self) -> Parse<Option<DeclKind>> {
        let colon = self.pos + 1;
        if !(self.kind() == Kind::Name && self.sym_at(colon, ":") && self.word_at(colon + 1) == "counter") {
            return Ok(None);
        }
        let name = self.ident("the counter's name")?;
        self.bump();
        self.bump();
        Ok(Some(DeclKind::Counter(name, self.bracketed()?)))
    }

    fn memory(&mut self, class: Class) -> Parse<Memory> {
        let name = self.ident("the buffer's name")?;
        let slots = self.bracketed()?;
        let mut ty = None;
        if self.at_sym(":") {
            self.bump();
            ty = Some(self.ty()?);
        } else if class != Class::Reg {
            return self.expected("`:` and an element type, such as `f16[64, 32]`,");
        }
        let mut memory = Memory { class, name, slots, ty, swizzle: None, pieces: None, overlay: None, group: None };
        loop {
            match self.name() {
                Some("swizzle") if class == Class::Shared => {
                    self.bump();
                    memory.swizzle = Some(self.expr()?);
                }
                Some("pieces") if class != Class::Global => {
                    self.bump();
                    let n = self.expr()?;
                    memory.pieces = Some((n, self.axis()?));
                }
                Some("overlay") if class != Class::Global => {
                    self.bump();
                    if !self.eat_word("on") {
                        return self.expected("`on` and the buffer whose storage it shares");
                    }
                    memory.overlay = Some(self.ident("a buffer's name")?);
                }
                Some("group") if class == Class::Global => {
                    self.bump();
                    memory.group = Some(self.expr()?);
                }
                _ => return Ok(memory),
            }
        }
    }

    fn axis(&mut self) -> Parse<Axis> {
        let axis = match self.name() {
            Some("rows") => Axis::Rows,
            Some("cols") => Axis::Cols,
            _ => return self.expected("`rows` or `cols`"),
        };
        self.bump();
        Ok(axis)
    }

    /// `f16[64, 32]`, `(bits == 8 ? fp8 : bf16)[64, 32]`.
    pub(super) fn ty(&mut self) -> Parse<Type> {
        let start = self.span().start;
        let dtype = if self.at_sym("(") {
            self.marks[self.pos] = Mark::Apart;
            self.bump();
            let cond = self.condition()?;
            self.sym("?", "and two element types")?;
            let yes = self.dtype()?;
            self.marks[self.pos] = Mark::WideColon;
            self.sym(":", "and the element type of the other case")?;
            let no = self.dtype()?;
            self.sym(")", "after the element types")?;
            TypeName::Cond(Box::new(cond), yes, no)
        } else {
            TypeName::Plain(self.dtype()?)
        };
        let shape = if self.eat_sym("[") { self.list("]", "an extent")? } else { Vec::new() };
        Ok(Type { dtype, shape, span: self.since(start) })
    }

    fn dtype(&mut self) -> Parse<Dtype> {
        let name: Ident = self.label("an element type, such as `f16`,")?;
        if let Some(dtype) = DTYPES.into_iter().find(|d| d.name() == name.text) {
            return Ok(dtype);
        }
        let names = DTYPES.map(Dtype::name);
        let mut diagnostic = Diagnostic::new(
            self.file,
            name.span,
            format!("`{}` is not an element type", name.text),
            "an element type was expected here",
        );
        let other = element_type(&name.text).or_else(|| did_you_mean(&name.text, names));
        diagnostic.help = Some(other.unwrap_or_else(|| format!("the element types are {}", names.join(" "))));
        self.fail(diagnostic)
    }

    /// `warps 0..4`, `warp 1`, `warpgroups 1..3`, `warpgroup 0`.
    pub(super) fn warp_set(&mut self) -> Parse<WarpSet> {
        let start = self.span().start;
        let (groups, several) = match self.name() {
            Some("warp") => (false, false),
            Some("warps") => (false, true),
            Some("warpgroup") => (true, false),
            Some("warpgroups") => (true, true),
            _ => return self.expected("`warp e`, `warps a..b`, `warpgroup e` or `warpgroups a..b`"),
        };
        self.bump();
        let from = self.expr()?;
        let to = if several {
            self.sym("..", "and the end, which is not included")?;
            Some(self.expr()?)
        } else {
            None
        };
        Ok(WarpSet { from, to, groups, span: self.since(start) })
    }
}
