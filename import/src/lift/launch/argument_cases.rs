//! Cases of a launch by an argument: it is a number, or not.
//!
//! The epilogue of CUTLASS reads the factor of C anew for each tile where an argument, the stride of the factors, is not
//! 0. Else it has read the factor ahead of the loop over tiles. So the register has a value that no iteration changes in
//! one case, and a function of the tile in the other one. No single form has both. With the outcome known from the start,
//! each case has a form.
//!
//! In the case in which the argument is the number, each load of the argument gives this number. In the other case, each
//! comparison of the argument with the number fails. Both are what every launch of the case computes.

use std::collections::BTreeMap;

use crate::lift::walk::Walk;
use crate::ptx::Error;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

use super::cases::{Asked, Cases, Outcome, Wanted};

/// The largest number that an argument is compared with.
const MOST: i64 = 1 << 31;

/// The condition that an argument is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentIs {
    /// The position of the parameter.
    param: u16,
    /// The byte of the parameter at which the argument starts.
    offset: u32,
    /// The bytes that the text loads of it.
    bytes: u32,
    value: i64,
}

impl ArgumentIs {
    /// What a condition asks, if it asks whether an argument is a number, or whether it is not.
    fn asked(a: &Arena, cond: Term, bytes: &BTreeMap<(u16, u32), u32>) -> Option<ArgumentIs> {
        let difference = match a.node(cond) {
            Node::Op(Op::Not, args) => match a.node(args[0]) {
                Node::Op(Op::Eq, args) => args[0],
                _ => return None,
            },
            Node::Op(Op::Eq, args) => args[0],
            _ => return None,
        };
        let (k, parts) = a.parts(difference);
        let [(argument, 1)] = *parts else { return None };
        let Node::Atom(Atom::Param(param, offset)) = *a.node(argument) else { return None };
        let value = k.checked_neg().filter(|v| (0..MOST).contains(v))?;
        Some(ArgumentIs { param, offset, bytes: *bytes.get(&(param, offset))?, value })
    }

    /// The condition as a term.
    fn condition(self, a: &mut Arena) -> Term {
        let argument = a.atom(Atom::Param(self.param, self.offset));
        let difference = a.plus(argument, -self.value);
        a.eq(difference)
    }
}

impl Outcome {
    /// Whether the case has all launches in which an argument is another number.
    pub(crate) fn is_other_argument(&self) -> bool {
        matches!(self.of, Asked::Argument(_)) && !self.taken
    }
}

/// The launches of a case, in words, by the arguments that are another number.
pub(crate) fn launches(outcomes: &[Outcome]) -> String {
    let of = |o: &Outcome| match o.of {
        Asked::Argument(of) if !o.taken && of.offset == 0 => Some(format!("`arg{}` is not {}", of.param, of.value)),
        Asked::Argument(of) if !o.taken => Some(format!("`arg{}+{}` is not {}", of.param, of.offset, of.value)),
        _ => None,
    };
    let all: Vec<String> = outcomes.iter().filter_map(of).collect();
    format!("launches in which {}", all.join(" and "))
}

impl Cases {
    /// Notes the conditions of the case over arguments.
    pub(crate) fn note_arguments(&mut self, a: &mut Arena) {
        for outcome in &self.outcomes {
            if let Asked::Argument(of) = outcome.of {
                self.conditions.insert(outcome.at, of.condition(a));
            }
        }
    }

    /// The number that an argument is in this case. A load of other bytes is not one of the argument.
    pub(crate) fn argument(&mut self, param: u16, offset: u32, bytes: u32) -> Option<i64> {
        self.bytes.entry((param, offset)).or_insert(bytes);
        self.outcomes.iter().filter(|o| o.taken).find_map(|o| match o.of {
            Asked::Argument(of) if (of.param, of.offset, of.bytes) == (param, offset, bytes) => Some(of.value),
            _ => None,
        })
    }
}

impl Walk<'_, '_> {
    /// Looks for an argument that would decide a condition that is not followed. The argument chooses one of two values. One
    /// of them is followed, or each is in one case.
    pub(crate) fn wants_argument(&mut self, at: usize, cond: Term) {
        let mut open = vec![cond];
        while let Some(t) = open.pop() {
            let Node::Op(op, args) = self.s.arena.node(t) else { continue };
            if let (Op::If, Some(of)) = (op, ArgumentIs::asked(&self.s.arena, args[0], &self.s.cases.bytes)) {
                self.s.cases.wanted = Some(Wanted::Outcome(at, Asked::Argument(of)));
                return;
            }
            open.extend(args.iter().rev().filter(|x| self.opaque(**x)));
        }
    }

    /// A condition, and what a number is where the condition holds and where it does not.
    fn one_of_two(&mut self, number: Term) -> Option<[Term; 3]> {
        if let Node::Op(Op::If, args) = self.s.arena.node(number) {
            return Some([args[0], args[1], args[2]]);
        }
        let (k, parts) = self.s.arena.parts(number);
        let [(cond, by)] = *parts else { return None };
        let a = &mut self.s.arena;
        a.is_boolean(cond).then(|| [cond, a.int(k + by), a.int(k)])
    }

    /// The count of a barrier, where a condition over the launch chooses one of two numbers: the number of this case.
    ///
    /// # Errors
    /// No case has the outcome of the condition. The next lift has it.
    pub(crate) fn chosen_count(&mut self, at: usize, count: Term) -> Result<Term, Error> {
        let Some(args) = self.one_of_two(count) else { return Ok(count) };
        let of_launch = |x| matches!(x, Atom::Param(..) | Atom::Place(_));
        let (cond, a) = (args[0], &self.s.arena);
        let numbers = args[1..].iter().all(|t| a.constant(*t).is_some());
        if self.dry > 0 || !numbers || a.reads_words(cond) || a.mentions(cond, |x| !of_launch(x)) {
            return Ok(count);
        }
        if let Some(outcome) = self.s.cases.outcomes.iter().find(|o| o.at == at && o.of == Asked::Count) {
            let chosen = if outcome.taken { args[1] } else { args[2] };
            // All warps know the outcome from the start of the last walk on.
            let known = match self.s.cases.last {
                true => self.s.cases.conditions.get(&at).copied(),
                false => Some(*self.s.cases.conditions.entry(at).or_insert(cond)),
            };
            return if known == Some(cond) { Ok(chosen) } else { Ok(count) };
        }
        self.s.cases.wanted = Some(Wanted::Outcome(at, Asked::Count));
        let message = "a condition over the launch decides how many arrivals this barrier expects";
        Err(self.s.error(self.inst(at), message, "a count that is one number"))
    }
}
