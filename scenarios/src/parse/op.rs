//! Operations.

use warpline_sim::alu::ALU_UNITS;
use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::{Cost, Fence, MmaKind, MoveKind, Order};

use super::{Parse, Parser};
use crate::ast::{Move, Operation, Place};
use crate::lex::Kind;
use crate::mnemonics::{Mnemonic, mnemonic};
use crate::suggest::did_you_mean;
use crate::words::{DECLARATIONS, HEADS, OPERATIONS};

impl Parser<'_> {
    /// A word with its dotted suffixes: `tmem.fence`.
    pub(super) fn dotted(&mut self) -> String {
        let mut word = self.word().to_string();
        self.bump();
        while self.at_sym(".") && self.glued(self.pos) && self.kind_at(self.pos + 1) == Kind::Name {
            self.bump();
            word.push('.');
            word.push_str(self.word());
            self.bump();
        }
        word
    }

    pub(super) fn operation_with_cost(&mut self) -> Parse<(Operation, Cost)> {
        let op = self.operation()?;
        let mut cost = Cost::default();
        loop {
            if self.eat_word("takes") {
                let start = self.span().start;
                let low = self.decimal()?;
                let high = if self.eat_sym("..") { self.decimal()? } else { low };
                if high < low {
                    let span = self.since(start);
                    return self.fail(Diagnostic::new(
                        self.file,
                        span,
                        "cycles from more to less",
                        "the smaller number first",
                    ));
                }
                (cost.takes, cost.spread) = (Some((low + high) / 2.0), (high - low) / 2.0);
            } else if self.eat_word("lands") {
                cost.lands = Some(self.decimal()?);
            } else {
                return Ok((op, cost));
            }
        }
    }

    /// A number of cycles, with decimals.
    fn decimal(&mut self) -> Parse<f64> {
        let start = self.span().start;
        if self.kind() == Kind::Int {
            self.bump();
            if self.at_sym(".") && self.kind_at(self.pos + 1) == Kind::Int {
                self.bump();
                self.bump();
            }
            let text = &self.text[self.since(start)];
            if let Ok(v) = text.replace('_', "").parse::<f64>() {
                return Ok(v);
            }
            self.pos -= 1;
        }
        self.expected("a number of cycles")
    }

    fn operation(&mut self) -> Parse<Operation> {
        let at = self.span();
        let word = self.dotted();
        let moves = |how| Some(how);
        let how = match word.as_str() {
            "load" => moves(MoveKind::Load),
            "ldg" => moves(MoveKind::Ldg),
            "sts" => moves(MoveKind::Sts),
            "lds" => moves(MoveKind::Lds),
            "store" => moves(MoveKind::Store),
            "cp" => moves(MoveKind::CpAsync),
            "dma" => moves(MoveKind::LdsDma),
            "tma" => moves(MoveKind::TmaLoad),
            "tma.store" => moves(MoveKind::TmaStore),
            "tmem.ld" => moves(MoveKind::TmemLd),
            "tmem.st" => moves(MoveKind::TmemSt),
            _ => None,
        };
        if let Some(how) = how {
            return self.move_operation(how);
        }
        Ok(match word.as_str() {
            "mma" | "mfma" => self.mma(MmaKind::Warp)?,
            "wgmma" => self.mma(MmaKind::Wgmma)?,
            "umma" => self.mma(MmaKind::Umma)?,
            "umma.pair" => self.mma(MmaKind::UmmaPair)?,
            "alu" => self.alu()?,
            "zero" => {
                let place = self.bare_place("the accumulator to clear")?;
                let ty = if self.eat_sym(":") { Some(self.ty()?) } else { None };
                Operation::Zero(place, ty)
            }
            "commit" => self.commit()?,
            "wait" => self.wait()?,
            "cp.arrive" => Operation::CpArrive { bar: self.bar()?, noinc: self.eat_word("noinc") },
            "init" => Operation::Init(self.stages()?),
            "inval" => Operation::Inval(self.stages()?),
            "arrive" => self.arrive()?,
            "expect" => {
                let bar = self.bar()?;
                Operation::Expect(bar, self.expr()?)
            }
            "barrier" if self.eat_word("none") => Operation::Barrier(Order::None),
            "barrier" if self.eat_word("device") => Operation::Barrier(Order::Device),
            "barrier" => Operation::Barrier(Order::Shared),
            "simd.barrier" | "warp.sync" => Operation::WarpSync,
            "bar" => {
                let sync = match self.name() {
                    Some("sync") => true,
                    Some("arrive") => false,
                    _ => return self.expected("`sync` or `arrive`"),
                };
                self.bump();
                let name = self.ident("a named barrier")?;
                let index = self.bracketed()?;
                let threads = self.count("`(` and the number of threads")?;
                Operation::Named { sync, name, index, threads }
            }
            "cluster.sync" => Operation::ClusterSync,
            "cluster.arrive" => Operation::ClusterArrive { relaxed: self.eat_word("relaxed") },
            "cluster.wait" => Operation::ClusterWait,
            "fence" => Operation::Fence(self.fence()?),
            "wgmma.fence" => Operation::Fence(Fence::Wgmma),
            "tmem.fence" if self.eat_word("before") => Operation::Fence(Fence::TmemBefore),
            "tmem.fence" if self.eat_word("after") => Operation::Fence(Fence::TmemAfter),
            "tmem.fence" => return self.expected("`before` or `after`"),
            "tmem.alloc" => Operation::TmemAlloc { name: self.ident("a tmem buffer")?, pair: self.eat_word("pair") },
            "tmem.dealloc" => {
                Operation::TmemDealloc { name: self.ident("a tmem buffer")?, pair: self.eat_word("pair") }
            }
            "regs" => {
                let inc = match self.name() {
                    Some("inc") => true,
                    Some("dec") => false,
                    _ => return self.expected("`inc` or `dec`"),
                };
                self.bump();
                Operation::Regs { inc, count: self.expr()? }
            }
            "put" => {
                let value = self.expr()?;
                self.arrow()?;
                let dst = self.bare_place("a mailbox")?;
                Operation::Put { value, dst, version: self.version()? }
            }
            "get" => {
                let src = self.bare_place("a mailbox")?;
                let version = self.version()?;
                self.arrow()?;
                Operation::Get { src, version, var: self.ident("a variable")? }
            }
            "clc" => {
                self.arrow()?;
                let dst = self.bare_place("a mailbox")?;
                if !self.eat_word("signals") {
                    return self.expected("`signals` and the mbarrier that gets the 16 bytes");
                }
                Operation::Clc { dst, signals: self.bar()? }
            }
            "red.add" | "atom.add" | "st" | "ld" => self.counter_operation(&word)?,
            "grid.wait" => Operation::GridWait,
            "exit" => Operation::Exit,
            _ => return self.unknown_operation(&word, at),
        })
    }

    fn unknown_operation(&mut self, word: &str, at: std::ops::Range<usize>) -> Parse<Operation> {
        let span = self.since(at.start);
        let diagnostic = if DECLARATIONS.contains(&word) || word == "set" {
            Diagnostic::new(
                self.file,
                span,
                format!("`{word}` is a declaration, and declarations stand first"),
                "a statement was expected here",
            )
            .help("move it up, before the first statement of the kernel")
        } else {
            let mut d = Diagnostic::new(
                self.file,
                span,
                format!("`{word}` is not a statement"),
                "an operation, a block or `let` was expected here",
            );
            let statements = OPERATIONS.into_iter().chain(HEADS);
            d.help = mnemonic(word).map(Mnemonic::sentence).or_else(|| did_you_mean(word, statements)).or_else(|| {
                self.at_sym("[").then(|| "a move reads `load source -> destination`, an assignment `x = e`".into())
            });
            d
        };
        self.fail(diagnostic)
    }

    pub(super) fn arrow(&mut self) -> Parse<()> {
        self.sym("->", "and the destination")
    }

    fn move_operation(&mut self, how: MoveKind) -> Parse<Operation> {
        let src = self.place("the place to read from")?;
        self.arrow()?;
        let dst = self.place("the place to write to")?;
        let mut m = Move { how, src, dst, batch: None, dequant: false, masked: false, signals: None, multicast: None };
        loop {
            match self.name() {
                Some("batch") if how == MoveKind::Load => {
                    self.bump();
                    m.batch = Some(self.expr()?);
                }
                Some("via") => {
                    self.bump();
                    if !self.eat_word("dequant") {
                        return self.expected("`dequant`");
                    }
                    m.dequant = true;
                }
                Some("masked") => {
                    self.bump();
                    m.masked = true;
                }
                Some("signals") if matches!(how, MoveKind::TmaLoad | MoveKind::Sts) => {
                    self.bump();
                    m.signals = Some(self.bar()?);
                }
                Some("multicast") if how == MoveKind::TmaLoad => {
                    self.bump();
                    m.multicast = Some(self.expr()?);
                }
                _ if how == MoveKind::TmaLoad && m.signals.is_none() => {
                    let message = format!("a `tma` load completes on an mbarrier, found {}", self.found());
                    return self.fail(
                        Diagnostic::new(self.file, self.span(), message, "`signals BARRIER` was expected here")
                            .help("write `tma A[cta.m, i] -> a[i % stages] signals full[i % stages]`"),
                    );
                }
                _ => return Ok(Operation::Move(Box::new(m))),
            }
        }
    }

    fn mma(&mut self, kind: MmaKind) -> Parse<Operation> {
        let a = self.place("the left operand")?;
        self.sym(",", "and the right operand")?;
        let b = self.place("the right operand")?;
        self.sym("->", "and the accumulator")?;
        let acc = self.place("the accumulator")?;
        Ok(Operation::Mma { kind, a, b, acc })
    }

    fn alu(&mut self) -> Parse<Operation> {
        let at = self.span();
        let unit = self.label("a unit, such as `fma` or `exp`,")?;
        if ALU_UNITS.iter().all(|u| u.name != unit.text) {
            let units: Vec<String> = ALU_UNITS.iter().map(|u| format!("`{}` ({})", u.name, u.doc)).collect();
            let near = did_you_mean(&unit.text, ALU_UNITS.map(|u| u.name)).map_or(String::new(), |d| d + " ");
            let message = format!("there is no unit `{}`", unit.text);
            let d = Diagnostic::new(self.file, at, message, "the unit is one of `fma`, `exp` and `int`");
            return self.fail(d.help(format!("{near}The units are {}", units.join(", "))));
        }
        let count = self.expr()?;
        let times = if self.eat_word("x") { Some(self.expr()?) } else { None };
        let mut uses: Vec<Place> = Vec::new();
        if self.eat_word("uses") {
            loop {
                uses.push(self.bare_place("a register object")?);
                if !self.eat_sym(",") {
                    break;
                }
            }
        }
        let dst = if self.eat_sym("->") { Some(self.bare_place("a register object")?) } else { None };
        Ok(Operation::Alu { unit, count, times, uses, dst })
    }
}
