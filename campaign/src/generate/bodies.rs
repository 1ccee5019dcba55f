//! Loops that move tiles through shared memory, with the sites where they can be broken.

use super::guard::Scope;
use super::template::{Site, Template};
use crate::dice::Dice;

/// Loops around a body, outermost first.
#[derive(Clone, Debug)]
pub(super) struct Loops {
    /// Heads, such as `for i in 0..tiles:`.
    pub(super) heads: Vec<String>,
    /// Coordinates of the tile of a step, such as `cta.m, i`.
    pub(super) tile: String,
    /// Coordinates of another tile, which is wrong.
    pub(super) other: String,
    /// The end of an iteration of the innermost loop, if this loop is a `while`.
    pub(super) step: Option<String>,
}

/// Names of the sites of a first and a second body.
type Names = [&'static str; 12];

const NAMES: [Names; 2] = [
    ["update", "load", "filled", "use", "soft", "freed", "late", "wait_empty", "fill", "wait_full", "free", "outer"],
    [
        "update2",
        "load2",
        "filled2",
        "use2",
        "soft2",
        "freed2",
        "late2",
        "wait_empty2",
        "fill2",
        "wait_full2",
        "free2",
        "outer2",
    ],
];

/// One buffer that a loader fills and a reader reads, with barriers around each; `which` distinguishes two bodies of a
/// kernel.
pub(super) fn buffer(t: &mut Template, loops: &Loops, which: usize, updates: &[String], op: &str) {
    if loops.step.is_some() {
        t.lines(1, "var i = 0");
    }
    let [update, load, filled, used, soft, freed, late, ..] = NAMES[which];
    let depth = loops.heads.len();
    for (k, head) in loops.heads.iter().enumerate() {
        t.lines(1 + k, head);
        if k == 0 && depth > 1 {
            t.lines(2, &format!("@{}", NAMES[which][11]));
        }
    }
    updates.iter().for_each(|u| t.lines(1 + depth, u));
    for place in [update, load, filled, used, soft, freed, late] {
        t.lines(1 + depth, &format!("@{place}"));
    }
    if let Some(step) = &loops.step {
        t.lines(1 + depth, step);
    }
    let Loops { tile, other, .. } = loops;
    let b = NAMES[which][0].ends_with('2') as u8;
    let load_it = |tile: &str| match op {
        "cp" => format!("load: cp A[{tile}] -> a; commit cp; wait cp <= 0"),
        _ => format!("load: load A[{tile}] -> a"),
    };
    let (good, read) = (load_it(tile), format!("use: lds a : A[{tile}] -> r{b}; alu fma 64 x 16 uses r{b}"));
    t.fault(load, 0, &good, &load_it(other));
    t.fault(load, 0, &good, "");
    t.fault(filled, 0, "barrier", "");
    t.fault(filled, 0, "barrier", "load: barrier");
    t.fault(freed, 0, "barrier", "");
    t.fault(freed, 0, "barrier", "use: barrier");
    t.harmless(filled, 0, "barrier", "barrier\nbarrier");
    t.harmless(freed, 0, "barrier", "barrier");
    t.harmless(used, 0, &read, "use: alu fma 64 x 16");
    t.harmless(soft, 0, "", &format!("use: lds a : A[{tile}] -> p{b}"));
    t.harmless(soft, 0, "", "load: alu fma 64 x 16");
    t.fault(late, 0, "", &format!("use: lds a : A[{tile}] -> q{b}"));
    t.fault(late, 0, "", &format!("use: lds a : A[{tile}] -> q{b}"));
    t.fault(late, 0, "", "load: barrier");
    t.harmless(late, 0, "", "use: alu fma 64 x 16");
    if depth > 1 {
        t.harmless(NAMES[which][11], 1, "", "barrier");
        t.fault(NAMES[which][11], 1, "", "use: barrier");
    }
}

/// How a ring counts its steps.
#[derive(Clone, Debug)]
pub(super) enum Index {
    /// An expression over the loop counters.
    Form(String),
    /// A variable that every step increments.
    Counter,
    /// A slot and a phase that wrap by comparison.
    Wrapped,
}

/// A ring of slots with mbarriers.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// Slots.
    pub(super) slots: i64,
    /// How steps are counted.
    pub(super) index: Index,
    /// Waits name a parity instead of a phase.
    pub(super) parity: bool,
    /// Warps that read each tile.
    pub(super) readers: i64,
    /// Conditions under which a step moves a tile, for the loader and for the reader, if steps may be skipped.
    pub(super) taken: Option<[String; 2]>,
}

/// The slot, the phases of the reader and the loader, and the lines after each step.
struct Counting {
    declare: String,
    slot: String,
    phase: String,
    step: String,
}

impl Ring {
    /// A ring with a random number of slots.
    pub(super) fn random(dice: &mut Dice, form: &str) -> Ring {
        let index = match dice.range(1, 10) {
            1..=5 => Index::Form(form.to_string()),
            6..=8 => Index::Counter,
            _ => Index::Wrapped,
        };
        let (parity, readers) = (dice.chance(12), if dice.chance(20) { 2 } else { 1 });
        Ring { slots: dice.range(1, 5), index, parity, readers, taken: None }
    }

    /// A wait for the phase `back` phases before that of the step.
    fn wait(&self, bar: &str, slot: &str, phase: &str, back: i64) -> String {
        let phase = if back == 0 { phase.to_string() } else { format!("{phase} - {back}") };
        if self.parity {
            format!("wait {bar}[{slot}] parity ({phase}) % 2")
        } else {
            format!("wait {bar}[{slot}] for {phase}")
        }
    }

    /// A step of a role without sites.
    fn plain(&self, c: &Counting, tile: &str, loader: bool) -> String {
        let (slot, phase) = (&c.slot, &c.phase);
        if loader {
            let wait = self.wait("empty", slot, phase, 1);
            format!("{wait}\narrive full[{slot}] expect bytes(a)\ntma A[{tile}] -> a[{slot}] signals full[{slot}]")
        } else {
            let wait = self.wait("full", slot, phase, 0);
            format!("{wait}\nlds a[{slot}] : A[{tile}] -> s; alu fma 64 x 16 uses s\narrive empty[{slot}]")
        }
    }

    fn counting(&self) -> Counting {
        let s = self.slots;
        match &self.index {
            Index::Form(form) => {
                let form = if form.contains(' ') { format!("({form})") } else { form.clone() };
                Counting {
                    declare: String::new(),
                    slot: format!("{form} % {s}"),
                    phase: format!("{form} / {s}"),
                    step: String::new(),
                }
            }
            Index::Counter => Counting {
                declare: "var it = 0".into(),
                slot: format!("it % {s}"),
                phase: format!("it / {s}"),
                step: "it += 1".into(),
            },
            Index::Wrapped => Counting {
                declare: "var slot = 0\nvar turn = 0".into(),
                slot: "slot".into(),
                phase: "turn".into(),
                step: format!("slot += 1\nif slot == {s}:\n  slot = 0\n  turn += 1"),
            },
        }
    }

    /// Declarations and set-up; before the loops.
    pub(super) fn declare(&self, t: &mut Template) {
        t.header.extend([
            format!("shared a[{}]: f16[64, 16]", self.slots),
            format!("mbar full[{0}] (1)   mbar empty[{0}] ({1})", self.slots, 32 * self.readers),
        ]);
        if self.readers > 1 {
            for line in &mut t.header {
                *line = line.replace("role use = warp 1", "role use[2] = warps 1..3").replace("warps 2", "warps 3");
            }
        }
        t.lines(0, "all:");
        t.lines(1, "warp 0: elect: init full, empty;  fence mbarrier_init\nbarrier");
    }

    /// The loops of both roles.
    pub(super) fn write(&self, t: &mut Template, loops: &Loops, updates: &[String], vars: &[String]) {
        self.write_all(t, std::slice::from_ref(loops), updates, vars);
    }

    /// The sites of a step that moves a tile; another tile is wrong.
    pub(super) fn sites(&self, t: &mut Template, tile: &str, other: &str) {
        let [.., late, wait_empty, fill, wait_full, free, _] = NAMES[0];
        let c = self.counting();
        let (slot, phase) = (&c.slot, &c.phase);
        let wait = self.wait("empty", slot, phase, 1);
        t.fault(wait_empty, 0, &wait, "");
        t.fault(wait_empty, 0, &wait, &self.wait("empty", slot, phase, 2));
        t.harmless(wait_empty, 0, &wait, &wait);
        let fills = |bytes: &str, tile: &str| {
            format!("arrive full[{slot}] expect {bytes}\ntma A[{tile}] -> a[{slot}] signals full[{slot}]")
        };
        let filled = fills("bytes(a)", tile);
        t.fault(fill, 0, &filled, &fills("bytes(a) / 2", tile));
        t.fault(fill, 0, &filled, &fills("bytes(a)", other));
        t.fault(fill, 0, &filled, &format!("arrive full[{slot}]"));
        t.harmless(fill, 0, &filled, &filled);
        let wait = self.wait("full", slot, phase, 0);
        t.fault(wait_full, 0, &wait, "");
        t.harmless(wait_full, 0, &wait, &format!("{wait}\nalu fma 64 x 16"));
        let read = format!("lds a[{slot}] : A[{tile}] -> r; alu fma 64 x 16 uses r");
        t.harmless("use", 0, &read, &format!("{read}\nlds a[{slot}] : A[{tile}] -> p"));
        t.fault("use", 0, &read, &format!("lds a[({slot} + 1) % {}] : A[{tile}] -> p", self.slots));
        let give = format!("arrive empty[{slot}]");
        t.fault(free, 0, &give, "");
        t.fault(free, 0, &give, &format!("{give}\n{give}"));
        t.harmless(free, 0, &give, &give);
        t.fault(late, 0, "", &format!("lds a[{slot}] : A[{tile}] -> q"));
        t.fault(late, 0, "", &format!("lds a[{slot}] : A[{tile}] -> q"));
        t.harmless(late, 0, "", "alu fma 64 x 16");
    }

    /// [`Self::write`] with several consecutive loops, of which the first has the sites.
    pub(super) fn write_all(&self, t: &mut Template, list: &[Loops], updates: &[String], vars: &[String]) {
        let loops = &list[0];
        let [update, .., late, wait_empty, fill, wait_full, free, _] = NAMES[0];
        let c = self.counting();
        let Loops { tile, other, .. } = loops;
        let depth = loops.heads.len();
        for loader in [true, false] {
            t.lines(0, if loader { "load: elect:" } else { "use:" });
            vars.iter().for_each(|v| t.lines(1, v));
            t.lines(1, &c.declare);
            if loops.step.is_some() {
                t.lines(1, "var i = 0");
            }
            for (k, head) in loops.heads.iter().enumerate() {
                t.lines(1 + k, head);
            }
            updates.iter().for_each(|u| t.lines(1 + depth, u));
            let mut at = 1 + depth;
            if !loader {
                t.lines(at, &format!("@{update}"));
            }
            if let Some(taken) = &self.taken {
                t.lines(at, &format!("if {}:", taken[usize::from(!loader)]));
                at += 1;
            }
            let places: &[&str] = if loader { &[wait_empty, fill] } else { &[wait_full, "use", free, late] };
            places.iter().for_each(|p| t.lines(at, &format!("@{p}")));
            t.lines(at, &c.step);
            if let Some(step) = &loops.step {
                t.lines(1 + depth, step);
            }
            for later in &list[1..] {
                later.heads.iter().enumerate().for_each(|(k, head)| t.lines(1 + k, head));
                let at = 1 + later.heads.len();
                t.lines(at, &self.plain(&c, &later.tile, loader));
                t.lines(at, &c.step);
            }
        }
        self.sites(t, tile, other);
        if self.readers > 1 {
            // Members are known to the reader only.
            let scope = Scope { members: true, ..t.scopes[0].clone() };
            t.scopes.push(scope);
            let last = t.scopes.len() - 1;
            let reader = |s: &&mut Site| ![wait_empty, fill].contains(&s.place);
            t.sites.iter_mut().filter(reader).for_each(|s| s.scope = last);
        }
    }
}
