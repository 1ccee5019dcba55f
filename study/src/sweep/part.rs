//! A file of finished points: an interrupted sweep continues from it, and a shard delivers it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::plan::{Plan, Shard};
use super::row::Row;

/// Schema of the file.
const SCHEMA: &str = "warpline.sweep.part/1";

/// Identity of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The scenario or kernel, as named.
    pub scenario: String,
    /// The scenario that each point is compared with.
    pub against: Option<String>,
    /// Settings of the command line beside the axes.
    pub settings: Vec<String>,
    /// Version of the program, and a digest of every text and machine number used.
    pub inputs: String,
}

/// Some or all points of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    schema: String,
    /// Which sweep.
    pub subject: Subject,
    /// All points of the sweep.
    pub plan: Plan,
    /// Share of the points that this part holds.
    pub shard: Shard,
    /// Rows by number of the point.
    pub rows: BTreeMap<usize, Row>,
}

/// Why two parts, or a part and a command line, belong to different sweeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit(pub String);

impl Part {
    /// A part without rows.
    pub fn new(subject: Subject, plan: Plan, shard: Shard) -> Part {
        Part { schema: SCHEMA.into(), subject, plan, shard, rows: BTreeMap::new() }
    }

    /// Reads a file that [`Part::text`] wrote.
    ///
    /// # Errors
    /// What is wrong with the file, and where.
    pub fn read(text: &str) -> Result<Part, String> {
        let part: Part = serde_json::from_str(text).map_err(|e| format!("not a part of a sweep: {e}"))?;
        if part.schema != SCHEMA {
            return Err(format!("not a part of a sweep: its schema is `{}`, not `{SCHEMA}`", part.schema));
        }
        let plan = Plan::new(part.plan.axes().to_vec())?;
        let ragged = plan.axes().iter().any(|a| a.rows.iter().any(|r| r.len() != a.names.len()));
        if ragged || Shard::parse(&format!("{}/{}", part.shard.i, part.shard.n)).is_err() {
            return Err("not a part of a sweep: its points or its shard make no sense".to_string());
        }
        match part.rows.keys().find(|p| **p >= plan.len() || *p % part.shard.n != part.shard.i - 1) {
            Some(p) => {
                Err(format!("not a part of a sweep: point {p} is none of shard {}/{}", part.shard.i, part.shard.n))
            }
            None => Ok(part),
        }
    }

    /// The part as text; equal rows give equal text.
    pub fn text(&self) -> String {
        // Maps with whole-number and text keys and finite numbers always serialize.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Points of the shard without a row.
    pub fn missing(&self) -> Vec<usize> {
        self.shard.points(&self.plan).into_iter().filter(|p| !self.rows.contains_key(p)).collect()
    }

    /// Checks that the other part is of the same sweep.
    ///
    /// # Errors
    /// What differs.
    pub fn same_sweep(&self, other: &Part) -> Result<(), Misfit> {
        let (a, b) = (&self.subject, &other.subject);
        let differs = |what: &str, a: &str, b: &str| Err(Misfit(format!("{what}: `{a}` and `{b}`")));
        if a.scenario != b.scenario {
            return differs("the scenarios differ", &a.scenario, &b.scenario);
        }
        if a.against != b.against {
            let word = |s: &Option<String>| s.clone().unwrap_or("nothing".into());
            return differs("what they are held against differs", &word(&a.against), &word(&b.against));
        }
        if a.settings != b.settings {
            return differs("the settings differ", &a.settings.join(" "), &b.settings.join(" "));
        }
        if self.plan != other.plan {
            return Err(Misfit("the points differ".into()));
        }
        if a.inputs != b.inputs {
            return differs("the kernel, the machine or the program differs", &a.inputs, &b.inputs);
        }
        Ok(())
    }
}

/// Joins all parts of a sweep.
///
/// # Errors
/// Parts of different sweeps, a point in two parts, or a point in none. The texts given name the parts.
pub fn join(parts: Vec<(String, Part)>) -> Result<Part, String> {
    let Some((first, one)) = parts.first() else { return Err("no parts are given".to_string()) };
    for (name, part) in &parts[1..] {
        one.same_sweep(part).map_err(|m| format!("`{first}` and `{name}` are parts of different sweeps; {}", m.0))?;
    }
    let mut whole = Part::new(one.subject.clone(), one.plan.clone(), Shard::WHOLE);
    let mut from: BTreeMap<usize, &str> = BTreeMap::new();
    for (name, part) in &parts {
        let twice = part.rows.keys().find_map(|p| from.get(p).map(|other| (p, *other)));
        if let Some((p, other)) = twice {
            let n = part.rows.keys().filter(|p| from.contains_key(p)).count();
            let words = whole.plan.words(*p);
            return Err(format!("`{other}` and `{name}` overlap in {n} points, the first {words}"));
        }
        from.extend(part.rows.keys().map(|p| (*p, name.as_str())));
        whole.rows.extend(part.rows.clone());
    }
    let missing = whole.missing();
    if let Some(p) = missing.first() {
        let owner = parts.iter().find(|(_, part)| p % part.shard.n == part.shard.i - 1);
        let why = match owner {
            Some((name, _)) => format!("; `{name}` is not finished"),
            None => format!("; of {} shards, shard {} is not given", one.shard.n, p % one.shard.n + 1),
        };
        let words = whole.plan.words(*p);
        return Err(format!("{} of {} points are in no part, the first {words}{why}", missing.len(), whole.plan.len()));
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::super::axis;
    use super::*;

    fn part(i: usize, n: usize) -> Part {
        let plan = Plan::new(vec![axis("a=1..5").unwrap()]).unwrap();
        let subject = Subject { scenario: "s".into(), against: None, settings: vec![], inputs: "0".into() };
        let mut part = Part::new(subject, plan, Shard { i, n });
        for p in part.missing() {
            let mut row = Row::infeasible("registers", "too many".into());
            row.numbers.insert("cycles".into(), 0.1 + p as f64);
            part.rows.insert(p, row);
        }
        part
    }

    fn joined(parts: &[&Part]) -> Result<Part, String> {
        join(parts.iter().enumerate().map(|(i, p)| (format!("p{i}"), (*p).clone())).collect())
    }

    #[test]
    fn parts_in_any_order_are_the_whole() {
        let (a, b) = (part(1, 2), part(2, 2));
        assert_eq!(joined(&[&b, &a]).unwrap().text(), part(1, 1).text());
        assert_eq!(Part::read(&a.text()).unwrap(), a);
    }

    #[test]
    fn gaps_overlaps_and_strangers_are_refused() {
        let (a, b) = (part(1, 2), part(2, 2));
        assert!(
            joined(&[&a]).unwrap_err().contains("2 of 5 points are in no part, the first a=2; of 2 shards, shard 2")
        );
        assert!(joined(&[&a, &a, &b]).unwrap_err().contains("overlap in 3 points, the first a=1"));
        let mut short = b.clone();
        short.rows.remove(&3);
        assert!(joined(&[&a, &short]).unwrap_err().contains("`p1` is not finished"));
        let mut other = b.clone();
        other.subject.settings.push("m=1".into());
        assert!(joined(&[&a, &other]).unwrap_err().contains("the settings differ"));
        other = b;
        other.subject.inputs = "1".into();
        assert!(joined(&[&a, &other]).unwrap_err().contains("the program differs"));
        assert!(join(Vec::new()).is_err());
    }

    #[test]
    fn what_is_no_part_is_refused() {
        let a = part(1, 2);
        for (from, to) in
            [("/1\"", "/2\""), ("\"n\":2", "\"n\":0"), ("\"0\":", "\"1\":"), ("\"names\":[\"a\"]", "\"names\":[]")]
        {
            let text = a.text().replacen(from, to, 1);
            assert_ne!(text, a.text(), "{from}");
            assert!(Part::read(&text).is_err(), "{from}");
        }
        assert!(Part::read("").is_err() && Part::read("{}").is_err());
    }
}
