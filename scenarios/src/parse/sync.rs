//! Operations that synchronize: commits, waits, arrivals, fences.

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::{ArrivalsPer, Binary, Fence, MemOrder, Queue, STATES, Scope, StateId};

use super::{Parse, Parser};
use crate::ast::{Arrive, AwaitedPhase, Bar, BarAt, Counter, CounterVerb, Ident, Operation, Stages};
use crate::lex::Kind;
use crate::mnemonics::PHASE;
use crate::suggest::did_you_mean;

impl Parser<'_> {
    pub(super) fn commit(&mut self) -> Parse<Operation> {
        let queue = match self.name() {
            Some("cp") => Queue::Cp,
            Some("wgmma") => Queue::Wgmma,
            Some("bulk") => Queue::Bulk,
            Some("umma") => {
                self.bump();
                self.sym("->", "and the mbarrier to arrive on")?;
                let mut bars: Vec<Bar> = vec![self.bar()?];
                while self.eat_sym(",") {
                    bars.push(self.bar()?);
                }
                return Ok(Operation::CommitUmma(bars));
            }
            _ => return self.expected("`cp`, `wgmma`, `bulk` or `umma`"),
        };
        self.bump();
        Ok(Operation::Commit(queue))
    }

    pub(super) fn wait(&mut self) -> Parse<Operation> {
        if self.kind() != Kind::Name {
            return self.expected("a queue or an mbarrier");
        }
        let from = self.pos;
        let start = self.span().start;
        let word = self.dotted();
        if self.at_sym("<=") {
            let Some(queue) = Queue::ALL.iter().find(|q| q.name() == word) else {
                let names = Queue::ALL.map(Queue::name);
                let mut d = Diagnostic::new(
                    self.file,
                    self.since(start),
                    format!("`{word}` is not a queue"),
                    "a queue was expected before `<=`",
                );
                d.help = did_you_mean(&word, names).or_else(|| {
                    let names = names.join(", ");
                    Some(format!("the queues are {names}; a wait on an mbarrier reads `wait {word} for phase`"))
                });
                return self.fail(d);
            };
            self.bump();
            return Ok(Operation::Wait(*queue, self.expr()?));
        }
        self.pos = from;
        let queue = Queue::ALL.iter().any(|q| q.name() == word);
        let bar = self.bar()?;
        if let Some(word @ ("for" | "parity" | "state")) = self.name() {
            self.bump();
            let phase = match word {
                "for" => AwaitedPhase::Number(self.expr()?),
                "parity" => AwaitedPhase::Parity(self.expr()?),
                _ => AwaitedPhase::State(self.state()?),
            };
            return Ok(Operation::MbarWait { bar, phase });
        }
        let compare = if self.at_sym(">=") {
            Some(Binary::Ge)
        } else if self.at_sym("==") {
            Some(Binary::Eq)
        } else {
            None
        };
        if let (Some(compare), BarAt::Own) = (compare, &bar.at) {
            self.bump();
            let verb = CounterVerb::Wait(compare, self.expr()?);
            return self.counter_order(verb, bar.name, bar.index);
        }
        if queue {
            return self.expected("`<=` and how many may be outstanding");
        }
        let message = format!("expected `for` and a phase, found {}", self.found());
        let name = bar.name.text;
        let help = match self.name() {
            Some(PHASE) => "write `for` in the place of `phase`".into(),
            _ => format!("write `wait {name}[i % stages] for i / stages`, or `wait {name} for 0`"),
        };
        self.fail(Diagnostic::new(self.file, self.span(), message, "`for` or `parity` was expected here").help(help))
    }

    /// `red.add x, v`, `atom.add x, v -> old`, `st x, v`, `ld x -> v`, after the word.
    pub(super) fn counter_operation(&mut self, word: &str) -> Parse<Operation> {
        let name = self.ident("a counter")?;
        let index = self.bracketed()?;
        let mut value = None;
        if word != "ld" {
            self.sym(",", "and the value")?;
            value = Some(self.expr()?);
        }
        let mut var = None;
        if matches!(word, "ld" | "atom.add") {
            self.arrow()?;
            var = Some(self.ident("a variable")?);
        }
        let verb = match (word, value, var) {
            ("red.add", Some(v), None) => CounterVerb::Add(v),
            ("st", Some(v), None) => CounterVerb::Set(v),
            (_, Some(v), Some(var)) => CounterVerb::Fetch(v, var),
            (_, None, Some(var)) => CounterVerb::Load(var),
            _ => return self.expected("a value"),
        };
        self.counter_order(verb, name, index)
    }

    /// `release gpu`: the memory order and the scope of an operation on a counter.
    fn counter_order(&mut self, verb: CounterVerb, name: Ident, index: Option<crate::ast::Expr>) -> Parse<Operation> {
        let mut c = Counter { verb, name, index, order: MemOrder::default(), scope: Scope::default() };
        loop {
            let (acquires, releases) = match c.verb {
                CounterVerb::Wait(..) | CounterVerb::Load(_) => (true, false),
                CounterVerb::Add(_) | CounterVerb::Set(_) => (false, true),
                CounterVerb::Fetch(..) => (true, true),
            };
            match self.name() {
                Some("relaxed") => c.order = MemOrder::Relaxed,
                Some("acquire") if acquires => c.order = MemOrder::Acquire,
                Some("release") if releases => c.order = MemOrder::Release,
                Some("acq_rel") if acquires && releases => c.order = MemOrder::AcqRel,
                Some(wrong @ ("acquire" | "release" | "acq_rel")) => {
                    let message = format!("this operation cannot `{wrong}`");
                    let label = if acquires {
                        "`acquire` or `relaxed` was expected"
                    } else {
                        "`release` or `relaxed` was expected"
                    };
                    return self.fail(Diagnostic::new(self.file, self.span(), message, label));
                }
                Some("cta") => c.scope = Scope::Cta,
                Some("cluster") => c.scope = Scope::Cluster,
                Some("gpu") => c.scope = Scope::Gpu,
                _ => return Ok(Operation::Counter(Box::new(c))),
            }
            self.bump();
        }
    }

    pub(super) fn stages(&mut self) -> Parse<Vec<Stages>> {
        let mut all = Vec::new();
        loop {
            all.push(Stages { name: self.ident("an mbarrier")?, index: self.bracketed()? });
            if !self.eat_sym(",") {
                return Ok(all);
            }
        }
    }

    pub(super) fn arrive(&mut self) -> Parse<Operation> {
        let bar = self.bar()?;
        let (relaxed, cluster, drop) = (false, false, false);
        let mut a = Arrive { bar, per: None, count: None, expect: None, relaxed, cluster, drop, state: None };
        loop {
            match self.name() {
                Some("expect") => {
                    self.bump();
                    a.expect = Some(self.expr()?);
                }
                Some("count") => {
                    self.bump();
                    a.count = Some(self.expr()?);
                }
                Some("per") => {
                    self.bump();
                    a.per = match self.name() {
                        Some("thread") => Some(ArrivalsPer::Thread),
                        Some("warp") => Some(ArrivalsPer::Warp),
                        _ => return self.expected("`thread` or `warp`"),
                    };
                    self.bump();
                }
                Some("once") => {
                    self.bump();
                    a.per = Some(ArrivalsPer::Once);
                }
                Some("relaxed") => {
                    self.bump();
                    a.relaxed = true;
                }
                Some("cluster") => {
                    self.bump();
                    a.cluster = true;
                }
                Some("drop") => {
                    self.bump();
                    a.drop = true;
                }
                Some("state") => {
                    self.bump();
                    a.state = Some(self.state()?);
                }
                _ => return Ok(Operation::Arrive(Box::new(a))),
            }
        }
    }

    /// The number of a state of an mbarrier.
    fn state(&mut self) -> Parse<StateId> {
        let at = self.span();
        if self.kind() != Kind::Int {
            return self.expected("the number of a state");
        }
        match self.int()? {
            n if n < STATES => Ok(n as StateId),
            _ => {
                let label = format!("a number from 0 to {} was expected", STATES - 1);
                self.fail(Diagnostic::new(self.file, at, format!("an agent has {STATES} states"), label))
            }
        }
    }

    pub(super) fn fence(&mut self) -> Parse<Fence> {
        if self.kind() != Kind::Name {
            return self.expected("`async`, `async.global`, `mbarrier_init`, `cta` or `gpu`");
        }
        let at = self.pos;
        Ok(match self.dotted().as_str() {
            "async" => Fence::Async,
            "async.global" => Fence::AsyncGlobal,
            "mbarrier_init" | "mbarrier_init.cluster" => Fence::MbarrierInit,
            "cta" => Fence::Cta,
            "gpu" => Fence::Gpu,
            _ => {
                self.pos = at;
                return self.expected("`async`, `async.global`, `mbarrier_init`, `cta` or `gpu`");
            }
        })
    }
}
