//! Texts with one synchronization dropped, repeated or changed.

use warpline_import::ptx::{Arg, Entry, Inst};

/// A change of one instruction.
pub(crate) struct Mutation {
    /// Line of the instruction, from 1.
    pub(crate) line: u32,
    /// The instruction's opcode and modifiers.
    pub(crate) instruction: String,
    /// What is changed.
    pub(crate) change: &'static str,
    span: (usize, usize),
    by: String,
}

impl Mutation {
    /// The text with the change.
    pub(crate) fn apply(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.span.0], self.by, &text[self.span.1..])
    }
}

/// All mutations of a kernel's synchronization, in the order of its text.
pub(crate) fn mutations(text: &str, entry: &Entry) -> Vec<Mutation> {
    let mut list = Vec::new();
    let threads = entry.block.map(|b| b.iter().product::<u32>());
    for inst in entry.code.iter().filter(|i| synchronizes(i)) {
        let statement = Statement::new(&text[inst.span.0..inst.span.1]);
        for (change, by) in changes(inst, &statement, threads) {
            list.push(Mutation { line: inst.line, instruction: inst.name(), change, span: inst.span, by });
        }
    }
    list
}

/// Whether an instruction orders others, or says for what others wait.
fn synchronizes(i: &Inst) -> bool {
    let has = |list: &[&str]| list.iter().any(|m| i.has(m));
    match i.op.as_str() {
        "mbarrier" | "bar" | "barrier" | "fence" | "membar" | "griddepcontrol" => true,
        "cp" => has(&["commit_group", "wait_group", "wait_all", "arrive"]),
        "wgmma" => has(&["fence", "commit_group", "wait_group"]),
        "tcgen05" => has(&["commit", "wait::ld", "wait::st", "fence::before_thread_sync", "fence::after_thread_sync"]),
        _ => false,
    }
}

/// The parts of a statement's text.
struct Statement<'t> {
    /// The guard with its blank, or nothing.
    guard: &'t str,
    opcode: &'t str,
    operands: Vec<&'t str>,
}

impl<'t> Statement<'t> {
    fn new(text: &'t str) -> Statement<'t> {
        let body = text.trim_end_matches(';');
        let rest =
            if body.starts_with('@') { body.split_once(char::is_whitespace).map_or("", |(_, r)| r) } else { body };
        let rest = rest.trim_start();
        let guard = &body[..body.len() - rest.len()];
        let (opcode, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        Statement { guard, opcode, operands: split(operands) }
    }

    fn text(&self, opcode: &str, operands: &[String]) -> String {
        format!("{}{opcode} {};", self.guard, operands.join(", "))
    }

    fn operands(&self) -> Vec<String> {
        self.operands.iter().map(|s| s.to_string()).collect()
    }

    /// With another opcode.
    fn renamed(&self, opcode: &str) -> String {
        self.text(opcode, &self.operands())
    }

    /// With another operand, or one more.
    fn with(&self, n: usize, operand: impl ToString) -> String {
        let mut list = self.operands();
        list.truncate(list.len().max(n));
        match list.get_mut(n) {
            Some(o) => *o = operand.to_string(),
            None => list.push(operand.to_string()),
        }
        self.text(self.opcode, &list)
    }

    /// With an operand computed from what stands there, in a register of its own.
    fn computed(&self, n: usize, instruction: &str, by: i64) -> String {
        let (old, new) = (self.operands[n], self.with(n, "wl_m"));
        format!("{{ .reg .b32 wl_m; {instruction} wl_m, {old}, {by}; {new} }}")
    }

    /// With a number added to an operand; none where it would no longer be positive.
    fn added(&self, i: &Inst, n: usize, by: i64) -> Option<String> {
        match i.arg(n) {
            Arg::Int(v) => (v + by > 0).then(|| self.with(n, v + by)),
            Arg::Reg(_) => Some(self.computed(n, "add.s32", by)),
            _ => None,
        }
    }
}

/// Operands at the top level.
fn split(text: &str) -> Vec<&str> {
    let (mut list, mut depth, mut from) = (Vec::new(), 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                list.push(text[from..i].trim());
                from = i + 1;
            }
            _ => {}
        }
    }
    list.push(text[from..].trim());
    list.retain(|s| !s.is_empty());
    list
}

fn changes(i: &Inst, s: &Statement<'_>, threads: Option<u32>) -> Vec<(&'static str, String)> {
    let waits = i.op == "mbarrier" && (i.has("try_wait") || i.has("test_wait"));
    let mut list = Vec::new();
    let mut add = |change, by: Option<String>| list.extend(by.map(|b| (change, b)));
    let passed = || format!("setp.eq.s32 {}, 0, 0;", s.operands[0]);
    add("drop", Some(if waits { passed() } else { String::new() }));
    add("repeat", Some(format!("{0} {0}", s.renamed(s.opcode))));
    match i.op.as_str() {
        "mbarrier" if waits => {
            let flipped = match i.arg(2) {
                Arg::Int(v) => s.with(2, v ^ 1),
                _ => s.computed(2, "xor.b32", 1),
            };
            add("other parity", i.has("parity").then_some(flipped));
        }
        "mbarrier" if i.has("init") => {
            add("count + 1", s.added(i, 1, 1));
            add("count - 1", s.added(i, 1, -1));
        }
        "mbarrier" if i.has("expect_tx") => {
            let last = i.args.len() - 1;
            add("bytes + 16", s.added(i, last, 16));
            add("bytes - 16", s.added(i, last, -16));
        }
        "mbarrier" if i.has("arrive") => {
            let count = if matches!(i.arg(0), Arg::Mem { .. }) { 1 } else { 2 };
            let more = if i.args.len() > count { s.added(i, count, 1) } else { Some(s.with(count, 2)) };
            add("count + 1", more);
        }
        "bar" | "barrier" if i.has("cluster") => {
            let relaxed = i.has("arrive") && !i.has("relaxed");
            add("relaxed", relaxed.then(|| s.renamed(&format!("{}.relaxed", s.opcode))));
        }
        "bar" | "barrier" if !i.has("warp") => {
            let id = match i.arg(0) {
                Arg::Int(v) => Some(s.with(0, (v + 1) % 16)),
                _ => s.added(i, 0, 1),
            };
            add("other id", id);
            if i.args.len() > 1 {
                add("count + 32", s.added(i, 1, 32));
                add("count - 32", s.added(i, 1, -32));
            } else {
                add("count - 32", threads.filter(|n| *n > 32).map(|n| s.with(1, n - 32)));
            }
        }
        "cp" | "wgmma" if i.has("wait_group") => {
            if let Arg::Int(n) = i.arg(0) {
                add("group + 1", Some(s.with(0, n + 1)));
                add("group - 1", (*n > 0).then(|| s.with(0, n - 1)));
            }
            add("reads only", (i.has("bulk") && !i.has("read")).then(|| s.renamed(&format!("{}.read", s.opcode))));
        }
        "cp" if i.has("wait_all") => add("group + 1", Some(format!("{}cp.async.wait_group 1;", s.guard))),
        "cp" if i.has("noinc") => add("without noinc", Some(s.renamed(&s.opcode.replace(".noinc", "")))),
        "fence" => {
            let proxy = i.has("proxy") && i.has("async");
            add("of memory only", proxy.then(|| format!("{}fence.acq_rel.cta;", s.guard)));
        }
        _ => {}
    }
    let scoped = i.op == "mbarrier" && i.has("cluster") && (i.has("release") || i.has("acquire"));
    add("scope of the CTA", scoped.then(|| s.renamed(&s.opcode.replace(".cluster.", ".cta."))));
    let order = ["release", "acquire"].into_iter().find(|o| i.has(o) && i.op == "mbarrier");
    add("relaxed", order.map(|o| s.renamed(&s.opcode.replace(&format!(".{o}."), ".relaxed."))));
    list.retain(|(_, by)| *by != s.renamed(s.opcode));
    list
}
