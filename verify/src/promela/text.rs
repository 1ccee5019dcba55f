//! The text of the model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use warpline_sim::ir::{Phase, Program};
use warpline_sim::timeline::Lanes;

use super::place::{Piece, Tile};
use super::steps::{Flight, Key, Rendezvous, Step, Steps, Touch};

/// The source of an access: `None` for agents, which share one counter, or a queue.
type Maker = Option<usize>;

struct Names<'s, 'p> {
    steps: &'s Steps<'p>,
    queues: BTreeMap<&'s Key, usize>,
    meets: BTreeMap<Rendezvous, usize>,
    /// Pieces that need a record, because several sources access them or a read expects a tile, with these sources.
    pieces: BTreeMap<Piece, (usize, BTreeSet<Maker>)>,
    tiles: BTreeMap<Tile, usize>,
}

impl<'s, 'p> Names<'s, 'p> {
    fn new(steps: &'s Steps<'p>) -> Self {
        let queues: BTreeMap<&Key, usize> = steps.queues.keys().enumerate().map(|(i, k)| (k, i)).collect();
        let mut meets = BTreeMap::new();
        let mut all: BTreeMap<Piece, BTreeSet<(bool, usize)>> = BTreeMap::new();
        let (mut asked, mut tiles) = (BTreeSet::new(), BTreeMap::new());
        let mut touch = |t: &Touch, who: (bool, usize)| {
            for (p, tile) in t.reads.iter().chain(&t.writes) {
                all.entry(*p).or_default().insert(who);
                if let Some(tile) = tile {
                    let n = tiles.len() + 1;
                    tiles.entry(*tile).or_insert(n);
                }
            }
            asked.extend(t.reads.iter().filter(|r| r.1.is_some()).map(|r| r.0));
        };
        for (a, list) in steps.of.iter().enumerate() {
            for (_, step) in list {
                match step {
                    Step::Touch(t) => touch(t, (false, a)),
                    Step::Rendezvous(m, ..) | Step::Join(m, ..) | Step::RendezvousWait(m) => {
                        let n = meets.len();
                        meets.entry(*m).or_insert(n);
                    }
                    _ => {}
                }
            }
        }
        for (key, flights) in &steps.queues {
            flights.iter().for_each(|(_, f)| touch(&f.touch, (true, queues[key])));
        }
        let kept = all.into_iter().filter(|(p, who)| who.len() > 1 || asked.contains(p));
        let pieces = kept
            .enumerate()
            .map(|(i, (p, who))| (p, (i, who.into_iter().map(|(queue, n)| queue.then_some(n)).collect())));
        Names { steps, queues, meets, pieces: pieces.collect(), tiles }
    }

    /// Asserts that an access conflicts with no other, and marks it.
    fn begin(&self, t: &Touch, by: Maker) -> String {
        let mut text = String::new();
        for (list, writes) in [(&t.reads, false), (&t.writes, true)] {
            for (p, tile) in list {
                let Some((i, makers)) = self.pieces.get(p) else { continue };
                let others = makers.iter().filter(|m| **m != by || m.is_none());
                let mut clear: Vec<String> = others.clone().map(|m| format!("{} == 0", mark(*i, *m, true))).collect();
                if writes {
                    clear.extend(others.map(|m| format!("{} == 0", mark(*i, *m, false))));
                }
                if !clear.is_empty() {
                    let _ = write!(text, "assert({}); ", clear.join(" && "));
                }
                if let (false, Some(tile)) = (writes, tile) {
                    let _ = write!(text, "assert(tile[{i}] == {} || tile[{i}] == UNKNOWN); ", self.tiles[tile]);
                }
            }
        }
        // Marks follow all assertions, so a step does not conflict with itself.
        text + &self.marks(t, by, "++")
    }

    /// Ends an access; its writes take effect.
    fn end(&self, t: &Touch, by: Maker) -> String {
        let mut text = self.marks(t, by, "--");
        for (p, tile) in &t.writes {
            if let Some((i, _)) = self.pieces.get(p) {
                let id = tile.map_or("UNKNOWN".to_string(), |t| self.tiles[&t].to_string());
                let _ = write!(text, "tile[{i}] = {id}; ");
            }
        }
        text
    }

    fn marks(&self, t: &Touch, by: Maker, change: &str) -> String {
        let mut text = String::new();
        for (list, writes) in [(&t.reads, false), (&t.writes, true)] {
            for (p, _) in list {
                if let Some((i, _)) = self.pieces.get(p) {
                    let _ = write!(text, "{}{change}; ", mark(*i, by, writes));
                }
            }
        }
        text
    }

    fn start(&self, key: &Key, n: usize) -> String {
        let (q, f) = (self.queues[key], &self.steps.queues[key][n - 1].1);
        let mut text = self.begin(&f.touch, Some(q));
        for (i, (b, _)) in f.delivers.iter().enumerate() {
            let _ = write!(text, "meant{q}_{i} = b[{b}].n; ");
        }
        text + &format!("started[{q}] = {n}; ")
    }

    fn landed(&self, q: usize, n: usize, f: &Flight) -> String {
        let mut text = self.end(&f.touch, Some(q));
        for (i, (b, bytes)) in f.delivers.iter().enumerate() {
            let _ = write!(text, "assert(b[{b}].n == meant{q}_{i}); b[{b}].tx = b[{b}].tx - {bytes}; settle({b}); ");
        }
        for (b, count, bytes) in &f.arrives {
            text += &arrive(*b, *count, *bytes);
        }
        text + &format!("ended[{q}] = {n}; ")
    }

    fn step(&self, s: &Step) -> String {
        match s {
            Step::Touch(t) => match self.begin(t, None) {
                begin if begin.is_empty() => String::new(),
                begin => format!("atomic {{ {begin}}}\n  atomic {{ {}}}", self.end(t, None)),
            },
            Step::Start(key, n) => format!("atomic {{ {}}}", self.start(key, *n)),
            Step::Ended(key, n) => format!("ended[{}] >= {n};", self.queues[key]),
            Step::Init(b, count) => {
                format!(
                    "atomic {{ b[{b}].live = 1; b[{b}].n = 0; b[{b}].tx = 0; b[{b}].count = {count}; b[{b}].pending = {count} }}"
                )
            }
            Step::Inval(b) => format!("atomic {{ assert(b[{b}].live && b[{b}].tx == 0); b[{b}].live = 0 }}"),
            Step::Arrive(b, count, bytes) => format!("atomic {{ {}}}", arrive(*b, *count, *bytes)),
            Step::Owe(b, n) => format!("b[{b}].pending = b[{b}].pending + {n};"),
            Step::Expect(b, bytes) => format!("atomic {{ assert(b[{b}].live); b[{b}].tx = b[{b}].tx + {bytes} }}"),
            Step::Wait(b, Phase::Parity(_), p) => format!("(b[{b}].n & 1) != {};", p & 1),
            Step::Wait(_, _, h) if *h < 0 => String::new(),
            // The parity bit ends the wait. If the bit belongs to another phase, this is a fault.
            Step::Wait(b, _, h) => {
                format!("atomic {{ (b[{b}].n & 1) != {}; assert(b[{b}].live && b[{b}].n == {}) }}", h & 1, h + 1)
            }
            Step::Rendezvous(m, weight, of, waits) => self.meet(m, *weight, *of, *waits, ""),
            Step::Join(m, of, key, n) => self.meet(m, 1, *of, true, &self.start(key, *n)),
            Step::RendezvousWait(m) => format!("round[{}] != entered;", self.meets[m]),
        }
    }

    fn meet(&self, m: &Rendezvous, weight: u32, of: u32, waits: bool, last: &str) -> String {
        let i = self.meets[m];
        // At a cluster arrival, the generation is kept for the wait.
        let mine = match (waits, m.0) {
            (true, _) => format!("mine = round[{i}]; "),
            (false, "cluster") => format!("entered = round[{i}]; "),
            _ => String::new(),
        };
        let text = format!(
            "atomic {{ {mine}here[{i}] = here[{i}] + {weight}; assert(here[{i}] <= {of}); if :: here[{i}] == {of} -> here[{i}] = 0; round[{i}]++; {last}:: else fi }}"
        );
        if waits { format!("{text}\n  round[{i}] != mine;") } else { text }
    }
}

fn mark(piece: usize, by: Maker, writes: bool) -> String {
    let what = if writes { "writing" } else { "reading" };
    by.map_or(format!("{what}[{piece}]"), |q| format!("{what}{piece}_{q}"))
}

fn arrive(b: usize, count: i64, bytes: i64) -> String {
    let expect = if bytes == 0 { String::new() } else { format!("b[{b}].tx = b[{b}].tx + {bytes}; ") };
    format!(
        "assert(b[{b}].live && b[{b}].pending >= {count}); {expect}b[{b}].pending = b[{b}].pending - {count}; settle({b}); "
    )
}

/// The model of a program.
pub(super) fn text(prog: &Program, steps: &Steps<'_>) -> String {
    let names = Names::new(steps);
    let at = |pc: u32| {
        let s = prog.site(pc);
        format!("  /* {}: {} */", s.line, s.text.replace("*/", "* /"))
    };
    let values: Vec<String> = prog.params.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let mut t = format!("/* {} ({}), {} */\n", prog.name, prog.file, values.join(" "));
    t += "#define UNKNOWN -1\n";
    t += "typedef mbar { bit live; short n; int pending; int count; int tx }\n";
    let bars: u32 = prog.mbars.iter().map(|b| b.stages * prog.cluster).sum();
    let mut array = |kind: &str, name: &str, n: usize| {
        if n > 0 {
            let _ = writeln!(t, "{kind} {name}[{n}];");
        }
    };
    array("mbar", "b", bars as usize);
    array("short", "started", names.queues.len());
    array("short", "ended", names.queues.len());
    array("short", "here", names.meets.len());
    array("short", "round", names.meets.len());
    array("short", "tile", names.pieces.len());
    array("byte", "reading", names.pieces.len());
    array("byte", "writing", names.pieces.len());
    for (i, makers) in names.pieces.values() {
        for q in makers.iter().flatten() {
            let _ = writeln!(t, "byte reading{i}_{q}, writing{i}_{q};");
        }
    }
    for (key, flights) in &steps.queues {
        for i in 0..flights.iter().map(|(_, f)| f.delivers.len()).max().unwrap_or(0) {
            let _ = writeln!(t, "short meant{}_{i};", names.queues[key]);
        }
    }
    if bars > 0 {
        t += "/* A phase ends with its last arrival and its last byte; more bytes than expected cannot be taken back. */\n";
        t += "inline settle(i) {\n  assert(b[i].pending > 0 || b[i].tx >= 0);\n  if :: b[i].pending == 0 && b[i].tx == 0 -> b[i].n++; b[i].pending = b[i].count :: else fi\n}\n";
    }
    for (who, list) in steps.who.iter().zip(&steps.of) {
        let lanes = match who.lanes {
            None => "",
            Some(Lanes::Elected) => "_elected",
            Some(Lanes::Rest) => "_rest",
        };
        let _ = writeln!(t, "\nactive proctype cta{}_warp{}{lanes}() {{\n  short mine, entered;", who.cta, who.warp);
        for (pc, step) in list {
            let line = names.step(step);
            if !line.is_empty() {
                let _ = writeln!(t, "{}\n  {line}", at(*pc));
            }
        }
        t += "  skip\n}\n";
    }
    for (key, flights) in &steps.queues {
        let q = names.queues[key];
        let _ = writeln!(t, "\n/* {key:?} */\nactive proctype queue{q}() {{");
        for (i, (pc, f)) in flights.iter().enumerate() {
            let n = i + 1;
            let _ = writeln!(t, "{}\nend{n}:\n  atomic {{ started[{q}] >= {n}; {}}}", at(*pc), names.landed(q, n, f));
        }
        t += "  skip\n}\n";
    }
    t
}
