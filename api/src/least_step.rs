//! A bound of the symbol that sets the trip count of a compiled kernel, with which its main loop has an iteration.
//!
//! Symbols of a compiled kernel may be computed from the same arguments. A fault that is found with some values of them,
//! and without an iteration of the main loop, may be one of no launch. Then the kernel is decided once more with at least
//! one iteration, and a launch may show a fault of that. A proof counts where the fault without an iteration is a hang.
//! Most often, roles then disagree about a number of iterations, because the values do not fit together. The proof lists
//! the bound among its assumptions.

use warpline_sim::ir::{Binary, Expr, Program};
use warpline_verify::Verdict;

use crate::load::Subject;
use crate::verify::trips;

/// The smallest value of a symbol with which the main loop has an iteration.
pub(crate) struct LeastStep {
    symbol: String,
    value: i64,
    /// Whether the kernel hangs without an iteration.
    pub(crate) hangs: bool,
}

impl LeastStep {
    /// The bound, where a verdict has a fault without an iteration. The subject has the program of the verdict.
    pub(crate) fn of(subject: &Subject, v: &Verdict) -> Option<LeastStep> {
        let x = v.violation.as_ref().filter(|x| x.trips == Some(0))?;
        let family = trips(subject)?.family();
        let hangs = x.findings.is_empty();
        Some(LeastStep { value: family.zero + family.step, symbol: family.symbol, hangs })
    }

    /// A program that requires such a value. One without the symbol stays as it is.
    pub(crate) fn required(&self, p: &Program) -> Program {
        let mut p = p.clone();
        if let Some(symbol) = p.symbol(&self.symbol) {
            p.forms.requires.push(Expr::binary(Binary::Ge, Expr::Param(symbol), Expr::Const(self.value)));
        }
        p
    }

    /// The assumption of a proof, in words.
    pub(crate) fn assumption(&self) -> String {
        let LeastStep { symbol, value, .. } = self;
        format!("`{symbol}` is at least {value}: below, a hang was found that no launch may have")
    }
}
