//! The meaning of names.

use warpline_sim::ir::{CounterId, Expr, MbarId, NamedId, ObjId, ParamId, TapeId};

use super::{Local, Lower};
use crate::ast::Span;
use crate::suggest::did_you_mean;
use crate::words::BUILT_IN;

/// What the head of a block names.
pub(super) const ROLE: &str = "a role or set";

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A parameter or header `let`: its value, or `None` after a reported error; its symbol, if it only counts.
    Value(Option<i64>, Option<ParamId>),
    Object(ObjId),
    Mbar(MbarId),
    Named(NamedId),
    Counter(CounterId),
    /// A role or a set of warps, and whether it has members.
    Role(usize, bool),
    /// `set leader = cta 0`.
    Cta(Expr),
    /// A tape, and whether the tape has an index.
    Tape(TapeId, bool),
}

impl Meaning {
    /// A noun for messages.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Meaning::Value(..) => "a value",
            Meaning::Object(_) => "a buffer",
            Meaning::Mbar(_) => "an mbarrier",
            Meaning::Named(_) => "a named barrier",
            Meaning::Counter(_) => "a counter",
            Meaning::Role(..) => "a set of warps",
            Meaning::Cta(_) => "a set of CTAs",
            Meaning::Tape(..) => "a trip count",
        }
    }
}

impl Lower<'_> {
    /// Defines a name; a second definition is an error.
    pub(super) fn define(&mut self, name: &str, span: &Span, meaning: Meaning) {
        if BUILT_IN.contains(&name) {
            let d = self.diag(span, format!("`{name}` is a built-in name"), "another name was expected");
            self.error(d);
            return;
        }
        if let Some((old, at)) = self.names.get(name) {
            let d = self
                .diag(span, format!("`{name}` is declared twice"), "another name was expected")
                .also(at.clone(), format!("it is {} since here", old.noun()));
            self.error(d);
            return;
        }
        self.order.push(name.into());
        self.names.insert(name.into(), (meaning, span.clone()));
    }

    /// The meaning of a name of the header. `wanted` says what was expected; `fits` filters suggestions.
    pub(super) fn lookup(
        &mut self,
        name: &str,
        span: &Span,
        wanted: &str,
        fits: fn(&Meaning) -> bool,
    ) -> Option<Meaning> {
        if let Some((meaning, at)) = self.names.get(name).cloned() {
            if fits(&meaning) {
                return Some(meaning);
            }
            let d = self
                .diag(span, format!("`{name}` is {}, not {wanted}", meaning.noun()), format!("{wanted} was expected"))
                .also(at, "declared here");
            self.error(d);
            return None;
        }
        self.unknown(name, span, wanted, fits);
        None
    }

    /// Reports an unknown name, unless unreadable text may declare it.
    fn unknown(&mut self, name: &str, span: &Span, wanted: &str, fits: fn(&Meaning) -> bool) {
        if self.skipped.contains(name) {
            return;
        }
        let known: Vec<&str> = self
            .order
            .iter()
            .filter(|n| self.names.get(*n).is_some_and(|(m, _)| fits(m)))
            .map(String::as_str)
            .collect();
        let help = did_you_mean(name, known.iter().copied())
            .or_else(|| (!known.is_empty() && known.len() <= 8).then(|| format!("declared are: {}", known.join(", "))));
        let mut d = self.diag(span, format!("unknown name `{name}`"), format!("{wanted} was expected here"));
        d.help = help.or_else(|| {
            let place = "declare it above this line, and before the first statement of the kernel";
            Some(match wanted {
                ROLE => format!("declare it before the first statement of the kernel: `role {name} = warp 0`"),
                "a named barrier" => format!("{place}: `named {name}`"),
                "an mbarrier" => format!("{place}, with its number of arrivals: `mbar {name} (1)`"),
                "a counter" => format!("{place}: `global {name}: counter`"),
                _ => place.into(),
            })
        });
        self.error(d);
    }

    pub(super) fn find_local(&self, name: &str) -> Option<&Local> {
        self.scopes.iter().rev().find_map(|s| s.get(name))
    }
}
