//! `docs/mutation.md`, from the record.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use warpline_verify::{Change, Edit};

use super::Row;
use super::fate::Fate;

const HEAD: &str = "# Mutation

What the verifier makes of mutants: kernels with one small deliberate change. Written by `tests/it/mutation.rs`; nothing here is
written by hand.

Every synchronization of every scenario that holds (built in, the museum's repairs, `correct/`) is removed, doubled, swapped with its
neighbor, moved to the next stage, waited for a phase early or late, and counted one off. Every access goes to the next slot.
`verify/src/mutation` makes the changes.

| result | meaning |
|---|---|
| refused | the compiler refuses the mutant |
| caught | the verifier finds a fault |
| equivalent | the mutant holds for every schedule and trip count that the original holds for. Neither random schedules nor an explicit search found a fault |
| tried only | the mutant holds for trip counts 0 to 40, or in every order of two steps; the original holds for all |
| not held to | a fence that no rule requires or whose absence is a note by default ([fences.md](fences.md)), or a barrier of lanes in step ([DEVIATIONS.md](../DEVIATIONS.md), 16) |

A mutant that is undecided fails the tests.
";

/// The operators, in the order of the table.
fn operator(c: &Change) -> &'static str {
    match c {
        Change::Drop => "removed",
        Change::Double => "doubled",
        Change::Swap => "swapped with its neighbor",
        Change::Stage { .. } => "next barrier of the array",
        Change::Slot { .. } => "next slot",
        Change::Phase(_) => "phase or parity one off",
        Change::Count(_) | Change::Declared(..) => "wrong count of arrivals or threads",
        Change::Bytes(_) => "bytes off",
        Change::Outstanding(_) => "outstanding one off",
        Change::Before(_) | Change::Behind(_) => "inserted",
        // Tried as repairs only.
        Change::Per(_) | Change::Releases | Change::Orders(_) | Change::Always => "reworded",
    }
}

/// Why a mutant that is equivalent is so; `None` where its words are listed.
fn class(row: &Row, edit: &Edit) -> Option<&'static str> {
    let same = |other: &&(&Edit, &Fate)| other.0.site == edit.site && other.0.change == Change::Drop;
    let pairs: Vec<(&Edit, &Fate)> = row.edits.iter().zip(&row.fates).collect();
    let spare = pairs.iter().find(same).is_some_and(|(_, f)| **f == Fate::Equivalent);
    match edit.change {
        Change::Drop => None,
        _ if spare => Some("a statement that is not needed"),
        Change::Double => Some("said twice"),
        Change::Swap => Some("either order"),
        Change::Outstanding(by) if by < 0 => Some("waits for more"),
        _ => None,
    }
}

/// The whole page.
pub(super) fn page(rows: &[Row]) -> String {
    let mut s = HEAD.to_string();
    let all = || rows.iter().flat_map(|r| r.edits.iter().zip(&r.fates));
    let count = |f: &dyn Fn(&Edit, Fate) -> bool| all().filter(|(e, x)| f(e, **x)).count();
    let judged = count(&|_, f| f != Fate::NotHeldTo);
    let decided = count(&|_, f| !matches!(f, Fate::NotHeldTo | Fate::Undecided));
    let _ = writeln!(
        s,
        "\n{} scenarios, {} mutants, {judged} judged: **{:.1} % decided**, {} caught, {} equivalent, {} tried only.\n",
        rows.len(),
        all().count(),
        100.0 * decided as f64 / judged.max(1) as f64,
        count(&|_, f| f.caught()),
        count(&|_, f| f == Fate::Equivalent),
        count(&|_, f| f.tried()),
    );
    s += "## By operator\n\n";
    table(&mut s, "change", all().map(|(e, f)| (operator(&e.change).to_string(), *f)));
    s += "\n## By scenario\n\n";
    table(&mut s, "scenario", rows.iter().flat_map(|r| r.fates.iter().map(|f| (r.name.to_string(), *f))));
    kinds(&mut s, all().map(|(_, f)| *f));
    equivalent(&mut s, rows);
    s
}

fn table(s: &mut String, what: &str, all: impl Iterator<Item = (String, Fate)>) {
    let mut by: BTreeMap<String, Vec<Fate>> = BTreeMap::new();
    all.for_each(|(name, fate)| by.entry(name).or_default().push(fate));
    let _ = writeln!(
        s,
        "| {what} | mutants | refused | caught | equivalent | tried only | not held to |\n|---|---|---|---|---|---|---|"
    );
    for (name, fates) in by {
        let n = |f: &dyn Fn(Fate) -> bool| fates.iter().filter(|x| f(**x)).count();
        let (refused, caught) = (n(&|f| f == Fate::Refused), n(&Fate::caught));
        let _ = writeln!(
            s,
            "| {name} | {} | {refused} | {} | {} | {} | {} |",
            fates.len(),
            caught - refused,
            n(&|f| f == Fate::Equivalent),
            n(&|f| f.tried()),
            n(&|f| f == Fate::NotHeldTo)
        );
    }
}

/// How many are caught as what.
fn kinds(s: &mut String, all: impl Iterator<Item = Fate>) {
    let mut by: BTreeMap<Fate, usize> = BTreeMap::new();
    all.filter(|f| f.caught()).for_each(|f| *by.entry(f).or_default() += 1);
    let mut words: BTreeMap<&str, usize> = BTreeMap::new();
    by.iter().for_each(|(f, n)| *words.entry(f.words()).or_default() += n);
    s.push_str("\n## Caught as\n\n| first finding | mutants |\n|---|---|\n");
    let mut list: Vec<_> = words.into_iter().collect();
    list.sort_by_key(|(word, n)| (std::cmp::Reverse(*n), *word));
    for (word, n) in list {
        let _ = writeln!(s, "| {word} | {n} |");
    }
}

/// The equivalent ones: classes with their numbers, and the others one by one.
fn equivalent(s: &mut String, rows: &[Row]) {
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut list = String::new();
    for row in rows {
        let mut mine = Vec::new();
        for (e, f) in row.edits.iter().zip(&row.fates) {
            match (f, class(row, e)) {
                (Fate::Equivalent, Some(class)) => *classes.entry(class).or_default() += 1,
                (Fate::Equivalent | Fate::Bounded | Fate::Searched, _) => mine.push(e.words.as_str()),
                _ => {}
            }
        }
        if !mine.is_empty() {
            let _ = writeln!(list, "* {}", row.name);
            mine.iter().for_each(|w| list += &format!("  * {w}\n"));
        }
    }
    s.push_str("\n## Equivalent\n\n| why | mutants |\n|---|---|\n");
    for (class, n) in classes {
        let _ = writeln!(s, "| {class} | {n} |");
    }
    s.push_str("\nThe others one by one. The verdict of a mutant of a bounded scenario has the bounds of the scenario. A read without a stated tile accepts any\nearlier tile, so a wrong slot shows there only through a race.\n\n");
    s.push_str(&list);
}
