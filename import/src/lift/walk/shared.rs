//! The state that the walks of all warps share.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::flow::{BlockId, Flow, Live};
use crate::lift::effects::mailbox::Mail;
use crate::lift::effects::{polls, states};
use crate::lift::facts::loop_parts::{Part, When};
use crate::lift::facts::{defaults, in_flight, liveness, natural, pointers, slice};
use crate::lift::launch::cases::{Cases, Outcome};
use crate::lift::launch::{Argument, Launch, ParamField};
use crate::lift::loops::{named, searches, strides};
use crate::lift::memory::anywhere::Unknown;
use crate::lift::timed::serial;
use crate::ptx::{Arg, Entry, Error, Inst, Module, Reg};
use crate::symbolic::{Arena, FUNCTIONS, Term};

/// The state that the walks of all warps share.
#[derive(Clone)]
pub(crate) struct Shared<'a> {
    pub(crate) module: &'a Module,
    pub(crate) entry: &'a Entry,
    pub(crate) flow: &'a Flow,
    pub(crate) need: Vec<bool>,
    /// Registers that are read behind a place.
    pub(crate) live: Rc<Live>,
    /// Whether the high half of a product with each register is computed, as for a division.
    pub(crate) divided: Rc<[bool]>,
    /// Polls of barriers and the waits behind them.
    pub(crate) polls: polls::Polls,
    /// Branches that are passed over.
    pub(crate) idle: BTreeSet<usize>,
    /// By their first blocks, loops that are passed over, with the blocks behind them.
    pub(crate) idle_loops: BTreeMap<BlockId, BlockId>,
    /// By their first blocks, loops that order nothing, with the blocks behind them.
    pub(crate) own_loops: BTreeMap<BlockId, BlockId>,
    /// Those of them that some warp could not follow, by number.
    pub(crate) not_followed: BTreeSet<usize>,
    /// Loops that search with all lanes of a warp.
    pub(crate) searches: searches::Searches,
    /// By instruction, accesses to registers of products that need operations.
    pub(crate) accesses: in_flight::List,
    /// The registers that may hold addresses of shared memory.
    pub(crate) pointers: pointers::Pointers,
    /// Whether each register is never negative.
    pub(crate) natural: Vec<bool>,
    /// What becomes of accesses at places that are not known.
    pub(crate) unknown: Unknown,
    /// The instructions that set a register to a count of memory in place of a number, with the number that bounds it.
    pub(crate) defaults: BTreeMap<usize, i64>,
    /// Whether this is the second try, behind one in which a value was not followed.
    pub(crate) second_try: bool,
    /// Line of the first of these accesses.
    pub(crate) unknown_at: Option<u32>,
    /// Why a proof of the program is none of the kernel.
    pub(crate) unproved: Option<String>,
    /// Why a fault of the program may be none of the kernel.
    pub(crate) approximates: Option<String>,
    /// Whether accesses are those of the launch of [`crate::lift::launch::possible::at_size`].
    pub(crate) of_one_launch: bool,
    /// Whether the result of each atomic access may order threads, by instruction.
    pub(crate) orders: BTreeMap<usize, bool>,
    /// Line of the first atomic access whose result decides operations, so that it may order threads.
    pub(crate) ordered_at: Option<u32>,
    /// The launch, where the program is for a run.
    pub(crate) timing: Option<Launch>,
    /// Whether a run waits for each `wgmma` where it is issued.
    pub(crate) serialized: bool,
    /// The arena of all terms.
    pub(crate) arena: Arena,
    pub(crate) addresses: FxHashMap<String, i64>,
    pub(crate) block: [u32; 3],
    /// CTAs of a cluster, by dimension.
    pub(crate) cluster: [u32; 3],
    /// The CTA of the cluster whose warps are walked.
    pub(crate) rank: u32,
    pub(crate) work: u64,
    /// Variables of the program: name and the loop header they belong to.
    pub(crate) vars: Vec<String>,
    pub(crate) var_ids: FxHashMap<(u32, Reg, u32), u32>,
    /// The values that each variable is set to.
    pub(crate) var_sets: BTreeMap<u32, Vec<Term>>,
    /// Whether the bounds of variables follow from these values.
    pub(crate) settled: bool,
    /// First columns of allocations of tensor memory, by the address that receives it.
    pub(crate) tensors: FxHashMap<Term, i64>,
    /// Products of elements of 8, 6 or 4 bits: the bits of an element of each operand, 8 where they are not known.
    pub(crate) element_bits: BTreeMap<usize, [u32; 2]>,
    /// Instructions that may store something else to such an address.
    pub(crate) overwritten: FxHashMap<Term, BTreeSet<usize>>,
    /// Columns allocated.
    pub(crate) columns: i64,
    /// Mailboxes of worker warps.
    pub(crate) mail: Mail,
    /// The registers that hold states of mbarriers.
    pub(crate) states: states::States,
    /// The case of the launch that is lifted.
    pub(crate) cases: Cases,
    /// The number of values of one iteration that depend on data.
    pub(crate) data: u32,
    /// Whether branches by data that only wait are taken, where there are such branches.
    pub(crate) taken: Option<Term>,
    /// The instruction of a condition over the launch that decides which iterations of a loop do something (`skipped.rs`).
    pub(crate) skips: Option<usize>,
    /// The waits of warps: the earlier history, the operation and its operands.
    pub(crate) histories: FxHashMap<(u32, (usize, Term, Term)), u32>,
    /// Reads of words that the kernel may change.
    pub(crate) words: FxHashMap<super::words::Word, i64>,
    /// Functions of values of the launch that are not computed: the instruction's name, and its place where that matters.
    pub(crate) functions: FxHashMap<(String, Vec<u64>), i64>,
    /// Functions that parts of loops compute, by the register, whether it is one of each iteration, and what they read.
    pub(crate) computed: FxHashMap<ComputedBy, Option<(named::Function, Option<named::Compared>)>>,
    /// The parts of loops that registers depend on, by loop, register and whether each iteration is meant.
    pub(crate) parts: FxHashMap<(usize, Reg, bool), Rc<Part<'a>>>,
    /// Whether a register of a loop decides where its own next value comes from.
    pub(crate) searching: FxHashMap<(usize, Reg), bool>,
    /// Those of them that a search leaves for the next iteration.
    pub(crate) searched: BTreeSet<i64>,
    /// The number of loads of tensor memory, in a text that never waits for them.
    pub(crate) loads: u32,
    /// Whether threads arrive at mbarriers.
    pub(crate) signals: bool,
    /// Whether the text has `tcgen05.wait::ld`.
    pub(crate) waits_for_loads: bool,
    /// Whether fences are required where kernels work without them.
    pub(crate) every_fence: bool,
    /// Assumptions, each with the line of the first instruction that needed it.
    pub(crate) assumed: BTreeMap<String, u32>,
}

/// How warps are walked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    /// Whether words in shared memory are looked up.
    pub(crate) words: bool,
    /// What becomes of accesses at places that are not known.
    pub(crate) unknown: Unknown,
    /// Whether counts that memory gives in place of a number are at most this number.
    pub(crate) counts_capped: bool,
    /// Whether this is the second try, behind one in which a value was not followed.
    pub(crate) second_try: bool,
}

/// The values of registers before a loop and of special registers.
type Before = (Vec<(Reg, Option<Term>)>, Vec<Option<Term>>);

/// The number of a loop, a register, whether its value in each iteration is meant, and what is read.
pub(crate) type ComputedBy = (usize, Reg, bool, Before);

impl<'a> Shared<'a> {
    /// The state before the first walk, and the first access by a generic address.
    pub(crate) fn new(
        (module, entry, flow): (&'a Module, &'a Entry, &'a Flow),
        launch: &Launch,
        block: [u32; 3],
        outcomes: &[Outcome],
        How { words, unknown, counts_capped, second_try }: How,
    ) -> (Shared<'a>, Option<usize>) {
        let mut addresses = FxHashMap::default();
        let mut next = 0u64;
        // Dynamic shared memory begins after the static variables.
        let all = module.shared.iter().chain(&entry.shared);
        for v in all.clone().filter(|v| v.bytes > 0).chain(all.filter(|v| v.bytes == 0)) {
            let align = if v.bytes == 0 { v.align.max(1024) } else { v.align.max(1) };
            next = next.next_multiple_of(align);
            addresses.insert(v.name.clone(), next as i64);
            next += v.bytes;
        }
        let pointers = pointers::Pointers::of(module, entry);
        let accesses = if launch.timed { in_flight::List::new() } else { in_flight::accesses(&entry.code, flow) };
        let slice::Slice { need, idle, idle_loops, generic } =
            slice::slice(&entry.code, flow, entry.regs.len(), launch.timed, (&pointers, &accesses));
        let searches =
            if launch.timed { searches::Searches::default() } else { searches::Searches::of(entry, flow, &need) };
        let mut shared = Shared {
            module,
            entry,
            flow,
            searches,
            need,
            live: Rc::new(liveness::live(entry, flow)),
            divided: divided(entry),
            idle,
            idle_loops,
            own_loops: if launch.timed { BTreeMap::new() } else { strides::loops(&entry.code, flow, &pointers) },
            not_followed: Default::default(),
            accesses,
            pointers,
            natural: natural::registers(entry),
            unknown,
            defaults: if counts_capped { defaults::defaults(entry, flow) } else { BTreeMap::new() },
            second_try,
            unproved: None,
            approximates: None,
            unknown_at: None,
            orders: BTreeMap::new(),
            ordered_at: None,
            of_one_launch: false,
            timing: launch.timed.then(|| launch.clone()),
            serialized: launch.timed && serial::serialized(&entry.code),
            arena: Arena::default(),
            addresses,
            block,
            cluster: [1; 3],
            rank: 0,
            work: 0,
            vars: Vec::new(),
            var_ids: Default::default(),
            var_sets: BTreeMap::new(),
            settled: true,
            tensors: Default::default(),
            element_bits: Default::default(),
            overwritten: Default::default(),
            columns: 0,
            assumed: BTreeMap::new(),
            mail: Mail::new(words),
            states: Default::default(),
            cases: Cases { outcomes: outcomes.to_vec(), ..Cases::default() },
            data: 0,
            taken: None,
            skips: None,
            histories: Default::default(),
            polls: Default::default(),
            words: Default::default(),
            functions: Default::default(),
            computed: Default::default(),
            parts: Default::default(),
            searching: Default::default(),
            searched: Default::default(),
            loads: 0,
            signals: entry.code.iter().any(|i| i.op == "mbarrier" && i.has("arrive")),
            every_fence: launch.every_fence,
            waits_for_loads: entry.code.iter().any(|i| i.op == "tcgen05" && i.has("wait::ld")),
        };
        shared.states = states::States::of(&entry.code, &mut shared.arena);
        for (parameter, offset, line) in natural::sizes(entry) {
            shared.arena.bound_param(parameter, offset);
            shared.assume(line, "sizes that set trip counts are not negative");
        }
        (shared, generic)
    }

    /// The part of loop `l` that a register depends on.
    pub(crate) fn part(&mut self, l: usize, r: Reg, when: When) -> Rc<Part<'a>> {
        let key = (l, r, when == When::Each);
        if let Some(known) = self.parts.get(&key) {
            return known.clone();
        }
        let part = Rc::new(Part::of((self.entry, self.flow), l, (r, when), |i| self.is_needed(i)));
        self.parts.insert(key, part.clone());
        part
    }
}

impl Shared<'_> {
    /// The name of a function without a meaning.
    pub(crate) fn function_id(&mut self, name: String) -> i64 {
        let next = self.functions.len() as i64;
        FUNCTIONS + *self.functions.entry((name, Vec::new())).or_insert(next)
    }

    /// CTAs of a cluster.
    pub(crate) fn ctas(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Whether an operation, an address or a branch needs a register that an instruction writes.
    pub(crate) fn is_needed(&self, i: &Inst) -> bool {
        let mut needed = false;
        slice::writes(i, &mut |r| needed |= self.need[r as usize]);
        needed
    }

    /// What the launch gives for a value among the parameters, in a program that is for a run.
    pub(crate) fn argument(&self, f: ParamField) -> Option<&Argument> {
        self.timing.as_ref()?.at(f)
    }

    pub(crate) fn assume(&mut self, line: u32, what: impl Into<String>) {
        self.assumed.entry(what.into()).or_insert(line);
    }

    /// Notes what terms were simplified by, where it is not known.
    pub(crate) fn assume_of_numbers(&mut self) {
        let line = self.entry.line;
        if self.arena.divides_unsigned {
            self.assume(line, "a number that an unsigned instruction divides is not negative");
        }
        if !self.arena.host_divisors.is_empty() {
            self.assume(line, "arguments that are the factor and the shift of a division belong to its divisor");
        }
        if self.arena.compares_unsigned {
            self.assume(line, "sizes that set trip counts are not negative");
        }
    }

    /// Notes why a proof of the program is none of the kernel. The first reason counts.
    pub(crate) fn leaves_open(&mut self, why: String) {
        self.unproved.get_or_insert(why);
    }

    pub(crate) fn has_assumed(&self, what: &str) -> bool {
        self.assumed.contains_key(what)
    }

    pub(crate) fn error(&self, i: &Inst, message: impl Into<String>, expected: impl Into<String>) -> Error {
        Error { line: i.line, span: i.span, message: message.into(), expected: expected.into() }
    }
}

/// For each register, whether the high half of a product with it is computed.
fn divided(entry: &Entry) -> Rc<[bool]> {
    let mut list = vec![false; entry.widths.len()];
    let products = entry.code.iter().filter(|i| i.op == "mul" && i.has("hi"));
    for a in products.flat_map(|i| i.args_from(1)) {
        if let Arg::Reg(r) = a {
            list[*r as usize] = true;
        }
    }
    list.into()
}
