//! A kernel text at any values.

use std::collections::{BTreeMap, BTreeSet};

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

/// Names of parameters that shape the kernel and are not varied.
const SHAPES: [&str; 4] = ["stages", "S", "slots", "readers"];

impl Subject {
    /// Reads a text; on failure, the first error in words.
    pub fn read(text: &str) -> Result<Subject, String> {
        let name = comment(text, "machine").next().unwrap_or("h200").to_string();
        let machine = warpline_models::embedded(&name).ok_or_else(|| format!("no machine {name}"))?;
        let read = Text::read("t.pipe", text);
        let cores = machine.get("core.count").map(|c| c as i64);
        let none = BTreeMap::new();
        let base = read
            .compile(&Inputs { set: &none, cores })
            .map_err(|e| e.first().map_or("refused".to_string(), |d| format!("{d:?}")))?;
        warpline_sim::engine::supported(&base, &machine).map_err(|e| e.to_string())?;
        let mut dimensions: Vec<Dimension> = base
            .params
            .iter()
            .filter(|(name, _)| !SHAPES.contains(&name.as_str()))
            .map(|(name, given)| Dimension { name: name.clone(), given: *given, unit: unit(text, name), tape: false })
            .collect();
        dimensions.extend(base.tapes.iter().filter_map(|t| {
            let given = if let Expr::Const(v) = t.run { v } else { return None };
            Some(Dimension { name: t.name.clone(), given, unit: 1, tape: true })
        }));
        let mut tries: Vec<Values> = comment(text, "try").map(values).collect();
        let tried_ctas = tries.iter_mut().filter_map(|v| v.remove("cta.id")).collect();
        tries.retain(|v| !v.is_empty());
        let rules = warpline_sim::engine::rules(&machine);
        let symbolic = read.compile_symbolic(&Inputs { set: &none, cores }).ok();
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

    /// The kernel at these values, bound from its symbolic form; `None` where it refuses the values.
    pub fn bound(&self, values: &Values) -> Option<Program> {
        let values: Vec<(&str, i64)> = values.iter().map(|(name, v)| (name.as_str(), *v)).collect();
        Some(self.symbolic.as_ref()?.with(&values)?.bind())
    }
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

/// The divisor of a `let` that divides a parameter.
fn unit(text: &str, name: &str) -> i64 {
    let start = format!("= {name} / ");
    let cdiv = format!("cdiv({name}, ");
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    let behind = |start: &str| text.split_once(start).and_then(|(_, rest)| digits(rest));
    behind(&start).or_else(|| behind(&cdiv)).unwrap_or(1)
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
