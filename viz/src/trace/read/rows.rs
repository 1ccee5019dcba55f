//! Rows and slices of a trace, from what our own files state, or from names in others.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use warpline_sim::timeline::{Engine, Lanes, Row, RowKind, Timeline};

use super::super::chrome::ROWS;
use super::json::{Any, Args};
use warpline_sim::words;

/// Identity of a process, thread or flow: a number equals a text of its digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key<'a> {
    Number(u64),
    Text(Cow<'a, str>),
}

impl<'a> Key<'a> {
    pub(super) fn of(any: &Any<'a>) -> Key<'a> {
        match any {
            Any::Whole(n) => Key::Number(*n),
            Any::Text(t) => match t.parse::<u64>() {
                Ok(n) if t.as_ref() == "0" || !t.starts_with(['0', '+']) => Key::Number(n),
                _ => Key::Text(t.clone()),
            },
            Any::Number(x) => Key::Text(Cow::Owned(x.to_string())),
            Any::Nothing => Key::Text(Cow::Borrowed("")),
        }
    }

    fn number(&self) -> Option<u32> {
        match self {
            Key::Number(n) => u32::try_from(*n).ok(),
            Key::Text(_) => None,
        }
    }

    /// The identity for display.
    fn shown(&self) -> String {
        match self {
            Key::Number(n) => n.to_string(),
            Key::Text(t) => t.to_string(),
        }
    }
}

/// A thread within its process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Thread<'a> {
    pub(super) pid: Key<'a>,
    pub(super) tid: Key<'a>,
}

/// What a name event says about a thread.
pub(super) struct Named {
    name: Option<String>,
    index: Option<u64>,
    /// The row, if the file is our own.
    row: Option<(String, RowKind)>,
}

impl Named {
    pub(super) fn new(args: &Args) -> Named {
        Named { name: args.name.text().map(str::to_string), index: args.index.whole(), row: own(args) }
    }
}

/// The rows of a timeline, found thread by thread.
pub(super) struct Rows<'b, 'a> {
    t: Timeline,
    threads: &'b [Thread<'a>],
    names: &'b FxHashMap<u32, Named>,
    processes: &'b FxHashMap<Key<'a>, String>,
    /// The row of each thread.
    of: Vec<Option<u32>>,
    /// Rows of our own traces, by their index there.
    by_index: FxHashMap<u64, u32>,
    ctas: FxHashMap<Key<'a>, u32>,
}

impl<'b, 'a> Rows<'b, 'a> {
    pub(super) fn new(
        t: Timeline,
        threads: &'b [Thread<'a>],
        names: &'b FxHashMap<u32, Named>,
        processes: &'b FxHashMap<Key<'a>, String>,
    ) -> Rows<'b, 'a> {
        let of = vec![None; threads.len()];
        Rows { t, threads, names, processes, of, by_index: FxHashMap::default(), ctas: FxHashMap::default() }
    }

    /// Adds rows without slices too.
    pub(super) fn all_named(&mut self) {
        let mut all: Vec<(u64, u32)> = self.names.iter().filter_map(|(t, n)| Some((n.index?, *t))).collect();
        all.sort_unstable();
        for (_, thread) in all {
            self.of(thread);
        }
    }

    /// The row of a thread.
    pub(super) fn of(&mut self, thread: u32) -> u32 {
        if let Some(row) = self.of[thread as usize] {
            return row;
        }
        let named = self.names.get(&thread);
        let index = named.and_then(|n| n.index);
        let row = match index.and_then(|i| self.by_index.get(&i)) {
            // Another lane of the row.
            Some(row) => *row,
            None => self.add(thread, named),
        };
        if let Some(i) = index {
            self.by_index.insert(i, row);
        }
        self.of[thread as usize] = Some(row);
        row
    }

    fn add(&mut self, thread: u32, named: Option<&Named>) -> u32 {
        let Thread { pid, tid } = &self.threads[thread as usize];
        let own = named.and_then(|n| n.row.clone()).zip(pid.number());
        let row = match own {
            Some(((name, kind), cta)) => Row { name, cta, kind },
            None => {
                // The first process gives the title.
                let process = self.processes.get(pid).cloned().unwrap_or_else(|| pid.shown());
                if self.t.title.is_empty() {
                    self.t.title = process.split(" Core").next().unwrap_or(&process).to_string();
                }
                let next = self.ctas.len() as u32;
                let cta = *self.ctas.entry(pid.clone()).or_insert(next);
                let name = named.and_then(|n| n.name.clone()).unwrap_or_else(|| tid.shown());
                other(&name, cta)
            }
        };
        // Overlap lanes of one warp of Proton are one row.
        let indexed = named.is_some_and(|n| n.index.is_some());
        let same = self.t.rows.iter().position(|r| !indexed && *r == row);
        let place = same.unwrap_or_else(|| {
            self.t.rows.push(row);
            self.t.rows.len() - 1
        });
        place as u32
    }

    pub(super) fn timeline(self) -> Timeline {
        self.t
    }
}

/// The row of a thread of another program: a warp with the number at the end of its name, if any.
fn other(name: &str, cta: u32) -> Row {
    // Proton's overlap lanes are in parentheses.
    let name = name.split(" (line").next().unwrap_or(name).to_string();
    let digits: String = name.chars().rev().take_while(char::is_ascii_digit).collect();
    let warp = digits.chars().rev().collect::<String>().parse().unwrap_or(0);
    let role = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ' || c == 'w').trim();
    let role = if name.starts_with("warp") || role.is_empty() { "warp" } else { role };
    Row { cta, kind: RowKind::Agent { role: role.to_string(), warp, lanes: None }, name }
}

/// The row that one of our own threads states.
fn own(args: &Args) -> Option<(String, RowKind)> {
    let (name, role) = (args.row.text()?, args.role.text()?.to_string());
    let engine = || [Engine::Loads, Engine::Copy, Engine::Tensor].into_iter().find(|e| words::engine(*e) == role);
    let kind = match ROWS.iter().position(|k| args.kind.text() == Some(k))? {
        0 => RowKind::Agent {
            warp: u32::try_from(args.warp.whole()?).ok()?,
            lanes: match args.lanes.text()? {
                "elected" => Some(Lanes::Elected),
                "rest" => Some(Lanes::Rest),
                _ => None,
            },
            role,
        },
        1 => RowKind::Engine(engine()?),
        2 => RowKind::Barrier(role),
        _ => RowKind::Slot(role),
    };
    Some((name.to_string(), kind))
}
