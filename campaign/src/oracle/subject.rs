//! A kernel text at any values.

use std::collections::{BTreeMap, BTreeSet};

use warpline_scenarios::pipeline::{self, PassOptions};
use warpline_scenarios::{Inputs, Text};
use warpline_sim::ir::{Binary, Env, Expr, Program};
use warpline_sim::machine::Machine;
use warpline_sim::protocol::Rules;

/// Values by name.
pub type Values = BTreeMap<String, i64>;

/// A number of the kernel that is varied.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// The given value.
    pub given: i64,
    /// Steps of a loop per unit: `let tiles = k / 16` makes it 16.
    pub unit: i64,
    /// Whether it is a run-time trip count.
    pub tape: bool,
}

/// A kernel text with its machine.
pub struct Subject {
    text: Text,
    source: String,
    /// The machine.
    pub machine: Machine,
    /// The machine's rules for operations.
    pub rules: Rules,
    /// The varied numbers.
    pub dimensions: Vec<Dimension>,
    /// Values that the text asks to be tried.
    pub tries: Vec<Values>,
    /// Whether only the row of a tile depends on the CTA.
    pub alike: bool,
    /// CTAs that the text asks to be tried, by launch index.
    pub tried_ctas: Vec<i64>,
    /// Numbers in the text.
    pub constants: BTreeSet<i64>,
    /// The kernel at the given values.
    pub base: Program,
    /// The kernel with symbols for all values that only count.
    symbolic: Option<Program>,
}

/// Names of parameters that are not varied even where they only count. Others that shape the kernel are not varied
/// either: no verdict speaks of other values of them.
const SHAPES: [&str; 4] = ["stages", "S", "slots", "readers"];

impl Subject {
    /// Reads a text; on failure, the first error in words.
    pub fn read(text: &str) -> Result<Subject, String> {
        let name = comment(text, "machine").next().unwrap_or("h200").to_string();
        let machine = warpline_models::embedded(&name).ok_or_else(|| format!("no machine {name}"))?;
        let cores = machine.get("core.count").map(|c| c as i64);
        let none = BTreeMap::new();
        // Waits of an expanded loop count the copies of this machine.
        let expanded = if pipeline::is_pipelined("t.pipe", text) {
            let ask = PassOptions { arch: Some(machine.arch.as_str()), ..PassOptions::default() };
            let expanded = pipeline::expand("t.pipe", text, &Inputs { set: &none, cores }, &ask);
            Some(expanded.map_err(|e| e.first().map_or("not expanded".to_string(), |d| format!("{d:?}")))?.text)
        } else {
            None
        };
        let text = expanded.as_deref().unwrap_or(text);
        let read = Text::read("t.pipe", text);
        let base = read
            .compile(&Inputs { set: &none, cores })
            .map_err(|e| e.first().map_or("refused".to_string(), |d| format!("{d:?}")))?;
        warpline_sim::engine::supported(&base, &machine).map_err(|e| e.to_string())?;
        let symbolic = read.compile_symbolic(&Inputs { set: &none, cores }).ok();
        let counts = |name: &str| symbolic.as_ref().is_none_or(|s| s.symbols.iter().any(|s| s.name == name));
        let mut dimensions: Vec<Dimension> = base
            .params
            .iter()
            .filter(|(name, _)| !SHAPES.contains(&name.as_str()) && counts(name))
            .map(|(name, given)| {
                let unit = unit(text, name, &base.params);
                Dimension { name: name.clone(), given: *given, unit, tape: false }
            })
            .collect();
        dimensions.extend(base.tapes.iter().filter_map(|t| {
            let given = if let Expr::Const(v) = t.run { v } else { return None };
            Some(Dimension { name: t.name.clone(), given, unit: 1, tape: true })
        }));
        let mut tries: Vec<Values> = comment(text, "try").map(values).collect();
        let tried_ctas = tries.iter_mut().filter_map(|v| v.remove("cta.id")).collect();
        tries.retain(|v| !v.is_empty());
        let rules = warpline_sim::engine::rules(&machine);
        let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
        let alike = !code.map(|l| l.replace("[cta.m, ", "[")).any(|l| l.contains("cta") || l.contains("cluster"));
        Ok(Subject {
            constants: constants(text),
            text: read,
            source: text.to_string(),
            machine,
            rules,
            dimensions,
            tries,
            alike,
            tried_ctas,
            base,
            symbolic,
        })
    }

    /// The given values.
    pub fn given(&self) -> Values {
        self.dimensions.iter().map(|d| (d.name.clone(), d.given)).collect()
    }

    /// The kernel at these values; names that are neither parameters nor run-time trip counts are header `let`s. `None`
    /// where the kernel refuses the values.
    pub fn compile(&self, values: &Values) -> Option<Program> {
        let (mut set, mut lets) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in values {
            if self.base.params.iter().any(|(p, _)| p == name) {
                set.insert(name.clone(), *value);
            } else if self.base.tapes.iter().all(|t| t.name != *name) {
                lets.insert(name.clone(), *value);
            }
        }
        let cores = self.machine.get("core.count").map(|c| c as i64);
        let mut prog = self.text.compile_given(&Inputs { set: &set, cores }, &lets).ok()?;
        for tape in &mut prog.tapes {
            if let Some(value) = values.get(&tape.name) {
                tape.run = Expr::Const(*value);
            }
        }
        Some(prog)
    }
}

impl Subject {
    /// Whether CTAs share out jobs, so that no two make the same one.
    fn shares_out(&self) -> bool {
        self.source.contains("step grid.size")
    }

    /// The CTAs that share out jobs, each of which makes one where each other one does.
    pub fn ctas_for_a_job(&self, values: &Values) -> i64 {
        self.compile(values).filter(|_| self.shares_out()).map_or(1, |prog| prog.grid.len())
    }

    /// Gives the jobs of a cluster these lengths, one after the other, and the last one to all others.
    pub fn set_lengths(&self, prog: &mut Program, cluster: i64, lengths: &[i64]) {
        let (first, step) = if self.shares_out() { (cluster, prog.grid.len()) } else { (0, 1) };
        let last = Expr::Const(lengths.last().copied().unwrap_or(0));
        let run = lengths.iter().enumerate().rev().fold(last, |rest, (k, n)| {
            let job = Expr::Const(first + k as i64 * step);
            Expr::cond(Expr::binary(Binary::Eq, Expr::Env(Env::TapeIndex), job), Expr::Const(*n), rest)
        });
        prog.tapes.iter_mut().for_each(|tape| tape.run = run.clone());
    }

    /// The kernel with other values of numbers that are known only at run time, in terms of `index`, if there are any.
    pub fn with_run_time(&self, values: &BTreeMap<String, String>) -> Option<Subject> {
        if values.is_empty() {
            return None;
        }
        let lines = self.source.lines().map(|line| with_run(line, values).unwrap_or_else(|| line.to_string()));
        Subject::read(&lines.collect::<Vec<_>>().join("\n")).ok()
    }

    /// The kernel at these values, bound from its symbolic form; `None` where it refuses the values.
    pub fn bound(&self, values: &Values) -> Option<Program> {
        let values: Vec<(&str, i64)> = values.iter().map(|(name, v)| (name.as_str(), *v)).collect();
        Some(self.symbolic.as_ref()?.with(&values)?.bind())
    }
}

/// `trips steps = any per j run j % 4` with another value of `steps`.
fn with_run(line: &str, values: &BTreeMap<String, String>) -> Option<String> {
    let (name, rest) = line.trim_start().strip_prefix("trips ")?.split_once(" = any per ")?;
    let (index, _) = rest.split_once(" run ")?;
    let value = values.get(name)?.replace("index", index);
    Some(format!("  trips {name} = any per {index} run {value}"))
}

/// The texts after `// key: ` in lines of the text.
pub fn comment<'t>(text: &'t str, key: &str) -> impl Iterator<Item = &'t str> {
    let start = format!("// {key}:");
    text.lines().filter_map(move |l| l.trim().strip_prefix(&start).map(str::trim))
}

/// `k = 80, jobs = 3`.
fn values(list: &str) -> Values {
    let pairs = list.split(',').filter_map(|p| p.split_once('='));
    pairs.filter_map(|(n, v)| Some((n.trim().to_string(), v.trim().parse().ok()?))).collect()
}

/// The divisor of a `let` that divides a parameter: a number or another parameter.
fn unit(text: &str, name: &str, params: &[(String, i64)]) -> i64 {
    let divisor = |start: &str| {
        let (_, rest) = text.split_once(start)?;
        let word = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
        let given = params.iter().find(|(p, _)| p == word).map(|(_, v)| *v);
        word.parse().ok().or(given).filter(|v| *v > 0)
    };
    divisor(&format!("= {name} / ")).or_else(|| divisor(&format!("cdiv({name}, "))).unwrap_or(1)
}

/// Numbers in the text, without large sizes of matrices, which are as large as needed.
fn constants(text: &str) -> BTreeSet<i64> {
    let mut all = BTreeSet::new();
    for line in text.lines().map(str::trim_start).filter(|l| !l.starts_with("//")) {
        let word = line.split_whitespace().next().unwrap_or("");
        if ["shared", "mbar", "role", "warps", "needs", "kernel", "reg", "named", "tmem"].contains(&word) {
            continue;
        }
        let most = if word == "global" { 100 } else { i64::MAX };
        let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        all.extend(words.filter_map(|w| w.parse::<i64>().ok()).filter(|c| *c <= most));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_time_number_gets_another_value() {
        let values = BTreeMap::from([("n".to_string(), "index % 2 * 3".to_string())]);
        let line = |line: &str| with_run(line, &values);
        assert_eq!(line("  trips n = any per job run 2"), Some("  trips n = any per job run job % 2 * 3".to_string()));
        assert_eq!(line("  trips m = any per job run 2"), None);
    }

    #[test]
    fn steps_of_a_loop_per_unit_are_read() {
        let params = [("k".to_string(), 64), ("tile_k".to_string(), 16), ("n".to_string(), 8)];
        let text = "let tiles = k / tile_k\nlet blocks = cdiv(n, 4)\n";
        assert_eq!([unit(text, "k", &params), unit(text, "n", &params), unit(text, "tile_k", &params)], [16, 4, 1]);
    }
}
