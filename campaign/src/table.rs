//! The results of a campaign as a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::judge::{Judgment, Wrong};
use crate::verdict::Word;

/// Counts of one family.
#[derive(Clone, Debug, Default)]
struct Row {
    words: BTreeMap<Word, u64>,
    faulty: BTreeMap<Word, u64>,
    wrong: BTreeMap<Wrong, u64>,
    partial: u64,
}

/// Counts of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: BTreeMap<String, Row>,
    seconds: Vec<f64>,
    brute: Vec<f64>,
    reasons: BTreeMap<String, u64>,
}

impl Table {
    /// Counts a judgment.
    pub fn add(&mut self, family: &str, j: &Judgment) {
        let word = j.verdict.word;
        for name in [family, "all"] {
            let row = self.rows.entry(name.to_string()).or_default();
            *row.words.entry(word).or_default() += 1;
            if j.fault.is_some() {
                *row.faulty.entry(word).or_default() += 1;
            }
            if let Some(wrong) = j.wrong {
                *row.wrong.entry(wrong).or_default() += 1;
            }
            row.partial += u64::from(j.partial);
        }
        self.seconds.push(j.verdict.seconds);
        self.brute.push(j.seconds);
        if matches!(word, Word::Bounded | Word::GaveUp) {
            // Numbers and quoted text differ from kernel to kernel.
            let mut quoted = false;
            let plain: String = j
                .verdict
                .why()
                .chars()
                .filter(|c| {
                    quoted ^= *c == '`';
                    !quoted && !c.is_ascii_digit()
                })
                .collect();
            *self.reasons.entry(format!("{word:?}: {plain}")).or_default() += 1;
        }
    }

    /// Wrong verdicts of all kinds.
    pub fn all_wrong(&self) -> u64 {
        Wrong::ALL.iter().map(|w| self.wrong(*w)).sum()
    }

    /// Wrong verdicts of a kind.
    pub fn wrong(&self, wrong: Wrong) -> u64 {
        self.rows.get("all").and_then(|r| r.wrong.get(&wrong)).copied().unwrap_or(0)
    }

    /// The table as text.
    pub fn text(&self) -> String {
        let mut text = format!("{:<12}", "family");
        Word::ALL.iter().for_each(|w| _ = write!(text, "{:>16}", format!("{w:?}")));
        Wrong::ALL.iter().for_each(|w| _ = write!(text, "{:>14}", format!("!{w:?}")));
        text += "     partial\n";
        let named = self.rows.iter().filter(|(name, _)| *name != "all");
        for (name, row) in named.chain(self.rows.get_key_value("all")) {
            _ = write!(text, "{name:<12}");
            for w in Word::ALL {
                let (n, faulty) = (row.words.get(&w).unwrap_or(&0), row.faulty.get(&w).unwrap_or(&0));
                _ = write!(text, "{:>16}", format!("{n} ({faulty} faulty)"));
            }
            Wrong::ALL.iter().for_each(|w| _ = write!(text, "{:>14}", row.wrong.get(w).unwrap_or(&0)));
            _ = writeln!(text, "{:>12}", row.partial);
        }
        for (what, list) in [("verdict", &self.seconds), ("brute force", &self.brute)] {
            let mut list = list.clone();
            list.sort_by(f64::total_cmp);
            let at = |share: f64| 1e3 * list.get((share * (list.len() - 1) as f64) as usize).unwrap_or(&0.0);
            if !list.is_empty() {
                _ = writeln!(
                    text,
                    "{what}, milliseconds: mean {:.1}, p50 {:.1}, p90 {:.1}, p99 {:.1}, max {:.1}",
                    1e3 * list.iter().sum::<f64>() / list.len() as f64,
                    at(0.5),
                    at(0.9),
                    at(0.99),
                    at(1.0)
                );
            }
        }
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(why, n)| (std::cmp::Reverse(**n), (*why).clone()));
        if !reasons.is_empty() {
            text += "\nreasons\n";
        }
        reasons.iter().take(25).for_each(|(why, n)| _ = writeln!(text, "{n:>8}  {why}"));
        text
    }
}
