//! Operands: places, tiles, selectors, mbarriers.

use warpline_sim::diag::Diagnostic;

use super::{Mark, Parse, Parser};
use crate::ast::{Axis, Bar, BarAt, Expr, Place, SelKind, Selector, Tile};
use crate::lex::Kind;

impl Parser<'_> {
    /// A place with the tile that it should hold, if one is written.
    pub(super) fn place(&mut self, what: &str) -> Parse<Place> {
        let mut place = self.bare_place(what)?;
        if self.at_sym(":") {
            self.marks[self.pos] = Mark::WideColon;
            self.bump();
            place.tile = Some(self.tile()?);
        }
        Ok(place)
    }

    /// A place without a tile.
    pub(super) fn bare_place(&mut self, what: &str) -> Parse<Place> {
        let name = self.ident(what)?;
        let start = name.span.start;
        let mut place = Place {
            name,
            at: Vec::new(),
            elements: false,
            piece: None,
            sels: Vec::new(),
            cta: None,
            tile: None,
            span: 0..0,
        };
        if self.at_sym(".") && self.word_at(self.pos + 1) == "at" {
            self.bump();
            self.bump();
            self.sym("(", "and the element's row and column")?;
            place.at = self.list(")", "an element's row")?;
            place.elements = true;
        } else if self.eat_sym("[") {
            place.at = self.list("]", "an index")?;
            place.piece = self.bracketed()?;
        }
        place.sels = self.selectors()?;
        place.span = self.since(start);
        if self.eat_sym("@") {
            if !self.eat_word("cta") {
                return self.expected("`cta` and the rank of one CTA");
            }
            place.cta = Some(self.expr()?);
        }
        Ok(place)
    }

    fn tile(&mut self) -> Parse<Tile> {
        let name = self.ident("the tile that is meant, such as `A[cta.m, i]`,")?;
        let start = name.span.start;
        let mut member = None;
        if self.eat_sym("(") {
            member = Some(self.expr()?);
            self.sym(")", "after the member")?;
        }
        let at = if self.eat_sym("[") { self.list("]", "an index")? } else { Vec::new() };
        let sels = self.selectors()?;
        Ok(Tile { name, member, at, sels, span: self.since(start) })
    }

    fn selectors(&mut self) -> Parse<Vec<Selector>> {
        let mut sels = Vec::new();
        while self.at_sym(".") {
            let start = self.span().start;
            self.bump();
            if self.kind() == Kind::Int {
                let digits = self.word().to_string();
                self.bump();
                sels.push(Selector { kind: SelKind::Digits(digits), span: self.since(start) });
                continue;
            }
            let word = self.name().unwrap_or_default();
            let want = match word {
                "rows" | "cols" => 1..=2,
                "half" => 1..=1,
                "block" => 2..=2,
                _ => {
                    let message = format!("expected a part, found {}", self.found());
                    return self.fail(
                        Diagnostic::new(self.file, self.span(), message, "a selector was expected after `.`").help(
                            "parts are `.rows(i, n)`, `.cols(i, n)`, `.half(e)`, `.block(r, c)`, and `.0`, `.1` of \
                             a buffer with pieces",
                        ),
                    );
                }
            };
            self.bump();
            self.sym("(", &format!("and the arguments of `.{word}`"))?;
            let mut args = self.list(")", "an argument")?;
            if !want.contains(&args.len()) {
                let message = format!("`.{word}` takes {} arguments, not {}", counts(&want), args.len());
                let span = self.since(start);
                return self.fail(Diagnostic::new(self.file, span, message, "the arguments are counted here"));
            }
            let second = if args.len() == 2 { args.pop() } else { None };
            let Some(first) = args.pop() else { return self.expected("an argument") };
            let kind = match (word, second) {
                ("rows", n) => SelKind::Part(Axis::Rows, first, n),
                ("cols", n) => SelKind::Part(Axis::Cols, first, n),
                ("block", Some(c)) => SelKind::Block(first, c),
                _ => SelKind::Half(first),
            };
            sels.push(Selector { kind, span: self.since(start) });
        }
        Ok(sels)
    }

    /// `full[i % stages] @cta 0`.
    pub(super) fn bar(&mut self) -> Parse<Bar> {
        let name = self.ident("an mbarrier")?;
        let start = name.span.start;
        let index = self.bracketed()?;
        let mut at = BarAt::Own;
        if self.eat_sym("@") {
            at = if self.eat_word("cta") {
                BarAt::Cta(self.expr()?)
            } else if self.eat_word("ctas") {
                BarAt::Ctas(self.expr()?)
            } else {
                return self.expected("`cta e` or `ctas mask`");
            };
        }
        Ok(Bar { name, index, at, span: self.since(start) })
    }

    /// `: t`, the version of a mailbox.
    pub(super) fn version(&mut self) -> Parse<Option<Expr>> {
        if !self.at_sym(":") {
            return Ok(None);
        }
        self.marks[self.pos] = Mark::WideColon;
        self.bump();
        Ok(Some(self.expr()?))
    }
}

fn counts(want: &std::ops::RangeInclusive<usize>) -> String {
    if want.start() == want.end() { want.start().to_string() } else { format!("{} or {}", want.start(), want.end()) }
}
