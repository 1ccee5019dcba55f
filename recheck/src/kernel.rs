//! The statement of a certificate: a kernel's text, compiled with symbols, for any values of the varied symbols.

use std::collections::{BTreeMap, BTreeSet};

use warpline_scenarios::{Inputs, Text};
use warpline_sim::engine;
use warpline_sim::fences::{Fences, RULES};
use warpline_sim::ir::{Expr, Instr, Op, Program, each};
use warpline_sim::machine::Machine;
use warpline_sim::protocol::{Rules, decisions_at_launch};
use warpline_sim::report::FindingKind;

use crate::schema::{Family, Fence, Statement, Symbol, Value};
use crate::{Refusal, counters, decisions, sizes, state};

/// The file name in diagnostics.
const FILE: &str = "certificate.pipe";

/// A compiled statement.
pub(crate) struct Kernel {
    /// The program; the varied values are symbols.
    program: Program,
    pub(crate) rules: Rules,
    trips: Option<Family>,
    turns: Option<Family>,
    /// The statement with its facts computed.
    pub(crate) statement: Statement,
}

impl Kernel {
    /// Compiles a statement from its claims.
    pub(crate) fn of(claim: &Statement, machine: &Machine) -> Result<Kernel, Refusal> {
        let wrong = |entry: &str, why: String| Err(Refusal::rejected(format!("statement.{entry}"), why));
        let set: BTreeMap<String, i64> = claim.values.iter().map(|v| (v.name.clone(), v.value)).collect();
        let inputs = Inputs { set: &set, cores: machine.get("core.count").map(|c| c as i64) };
        let text = claim.text.join("\n") + "\n";
        let read = Text::read(FILE, &text);
        let (symbolic, bound) =
            match (read.compile_symbolic_for(&machine.arch, &inputs), read.compile_for(&machine.arch, &inputs)) {
                (Ok(symbolic), Ok(bound)) => (symbolic, bound),
                (Err(list), _) | (_, Err(list)) => {
                    let why = list.first().map_or("does not compile".into(), |d| d.message.clone());
                    return wrong("text", why);
                }
            };
        if let Err(why) = engine::admit(&bound, machine) {
            return wrong("text", why.to_string());
        }
        let mut fences = Fences::default();
        for (i, Fence { rule, level }) in claim.fences.iter().enumerate() {
            if RULES.get(i).is_none_or(|r| r.0 != rule) {
                return wrong(&format!("fences[{i}]"), format!("`{rule}` is not the rule in this place"));
            }
            if let Err(why) = fences.set(rule, level) {
                return wrong(&format!("fences[{i}]"), why.to_string());
            }
        }
        let families = [("trips", &claim.trips), ("turns", &claim.turns)];
        let mut varied = BTreeSet::new();
        for (entry, family) in families.into_iter().filter_map(|(entry, f)| Some((entry, f.as_ref()?))) {
            let Some(id) = symbolic.symbol(&family.symbol) else {
                return wrong(entry, format!("the kernel keeps no symbol `{}`", family.symbol));
            };
            if family.step < 1 {
                return wrong(entry, "the step is not positive".into());
            }
            if !varied.insert(id) {
                return wrong(entry, "both loops have one symbol".into());
            }
        }
        let mut sizes = BTreeSet::new();
        for (i, name) in claim.sizes.iter().enumerate() {
            let entry = format!("sizes[{i}]");
            let Some(id) = symbolic.symbol(name).filter(|id| symbolic.symbols[*id as usize].definition.is_none())
            else {
                return wrong(&entry, format!("`{name}` is no parameter that stays a symbol"));
            };
            if varied.contains(&id) || !sizes.insert(id) {
                return wrong(&entry, format!("`{name}` is varied twice"));
            }
        }
        let symbols = symbolic.symbols.iter().enumerate().map(|(id, s)| {
            let varied = varied.contains(&(id as u16)) || sizes.contains(&(id as u16));
            Symbol { name: s.name.clone(), value: s.value, varied }
        });
        let mut statement = Statement {
            kernel: bound.name.clone(),
            fences: fences.list().map(|(rule, level)| Fence { rule: rule.into(), level: level.into() }).into(),
            values: bound.params.iter().map(|(name, value)| Value { name: name.clone(), value: *value }).collect(),
            symbols: symbols.collect(),
            grid: [bound.grid.m, bound.grid.n, bound.grid.z],
            excludes: FindingKind::ALL.iter().map(|kind| kind.name().to_string()).collect(),
            ..claim.clone()
        };
        statement.digest = digest(&statement);
        let mut program = if varied.is_empty() { bound } else { counters::counted(&symbolic).bind_all_but(&varied) };
        if !sizes.is_empty() {
            let Some(any) = counters::counted(&symbolic).of_any_size(&sizes) else {
                return wrong("sizes", "the largest grid has too many CTAs".into());
            };
            program = if varied.is_empty() { any.bind() } else { any.bind_all_but(&varied) };
            if let Err(why) = sizes::check(&symbolic, &sizes, &program) {
                return wrong("sizes", why);
            }
        }
        let rules = Rules { fences, ..engine::rules(machine) };
        Ok(Kernel { program, rules, trips: claim.trips.clone(), turns: claim.turns.clone(), statement })
    }

    /// The kernel with the values in the statement.
    pub(crate) fn given(&self) -> &Program {
        &self.program
    }

    /// Whether the program has the largest grid, and matrices without an end.
    pub(crate) fn of_any_size(&self) -> bool {
        !self.statement.sizes.is_empty()
    }

    pub(crate) fn varies_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// The values of the varied symbols for a trip count and, if varied, a number of outer iterations.
    fn values(&self, trips: i64, turns: Option<i64>) -> Option<Vec<(&str, i64)>> {
        let at = |family: &Family, n: i64| family.step.checked_mul(n)?.checked_add(family.zero).filter(|v| *v >= 0);
        let family = self.trips.as_ref()?;
        let mut values = vec![(family.symbol.as_str(), at(family, trips)?)];
        if let Some(turns) = turns {
            let family = self.turns.as_ref()?;
            values.push((family.symbol.as_str(), at(family, turns)?));
        }
        Some(values)
    }

    /// The kernel with this trip count and number of outer iterations. `None` where the kernel refuses them or launches
    /// nothing.
    pub(crate) fn at(&self, trips: i64, turns: Option<i64>) -> Option<Program> {
        // A launch without tiles hands out none.
        if turns == Some(0) && self.program.hands_out() {
            return None;
        }
        self.program.with(&self.values(trips, turns)?).filter(|p| !p.grid.is_empty())
    }

    /// Whether the kernel refuses these numbers and all that are larger by whole periods. The form of its requirements
    /// decides: a condition stays false, or an extent or a grid stays empty.
    pub(crate) fn refuses_on(&self, less: (i64, Option<i64>), more: (i64, Option<i64>)) -> bool {
        let settled = |(trips, turns)| {
            let mut prog = self.program.clone();
            for (name, value) in self.values(trips, turns)? {
                let id = prog.symbol(name)? as usize;
                (prog.symbols[id].value, prog.symbols[id].definition) = (value, None);
            }
            for id in 0..prog.symbols.len() {
                if let Some(e) = prog.symbols[id].definition.clone() {
                    prog.symbols[id].value = prog.launch_value(&e)?;
                }
            }
            Some(prog)
        };
        let (Some(a), Some(b)) = (settled(less), settled(more)) else {
            // A symbol below zero that does not grow.
            return less.0 == more.0 && self.values(less.0, None).is_none();
        };
        let forms = &self.program.forms;
        let sizes: Vec<&Expr> = forms.grid.iter().flatten().chain(forms.extents.iter().flatten().flatten()).collect();
        let all: Vec<&Expr> = forms.requires.iter().chain(sizes.iter().copied()).collect();
        let decisions = [&a, &b].map(|prog| decisions_at_launch(prog, all.iter().copied()));
        let both = |e: &Expr| Some((a.launch_value(e)?, b.launch_value(e)?));
        let fails = forms.requires.iter().any(|e| both(e) == Some((0, 0)));
        let empty = sizes.iter().any(|e| both(e).is_some_and(|(x, y)| x < 1 && y <= x));
        decisions::alike(&[&decisions[0], &decisions[1]], None) && (fails || empty)
    }

    /// The reason why one run cannot decide all schedules of this kernel, whatever the run shows; `None` without such a
    /// reason.
    pub(crate) fn limit(&self) -> Option<String> {
        let prog = &self.program;
        let mut tape = false;
        let mut grown = false;
        for (pc, i) in prog.code.iter().enumerate() {
            each(prog, i, &mut |_, e| e.visit(&mut |x| tape |= matches!(x, Expr::Tape(..))));
            if let Instr::Op { op: Op::Regs { inc, .. }, .. } = i {
                let looped = prog.loops.iter().any(|l| (l.head..l.end).contains(&(pc as u32)));
                if looped || grown && !inc {
                    return Some("registers are exchanged more than once, and their order can matter".into());
                }
                grown |= inc;
            }
        }
        tape.then(|| "a decision depends on a value known only at run time".into())
    }
}

/// A digest of the claims of a statement.
fn digest(s: &Statement) -> String {
    let families = [&s.trips, &s.turns]
        .map(|f| f.as_ref().map_or(String::new(), |f| format!("{} {} {}", f.symbol, f.zero, f.step)));
    let words = s.text.iter().cloned().chain([s.machine.clone()]);
    let words = words.chain(s.fences.iter().map(|f| format!("{}={}", f.rule, f.level)));
    let words = words.chain(s.machine_numbers.iter().map(|n| format!("{}={}", n.key, n.value)));
    let words = words.chain(s.values.iter().map(|v| format!("{}={}", v.name, v.value))).chain(families);
    let words = words.chain(s.sizes.iter().cloned());
    state::fnv(words.flat_map(|word| word.into_bytes().into_iter().chain([0xff])))
}
