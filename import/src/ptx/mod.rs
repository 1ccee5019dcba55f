//! Reads PTX text.
//!
//! A statement is an opcode with modifiers and operands. Compilers write the modifiers of one instruction in different
//! orders, so the position of a modifier has no meaning here. Registers and labels of nested `{ }` scopes have their
//! own numbers.

mod body;
mod lex;
mod modifiers;
mod module;
mod scope;

pub use module::read;

use std::collections::BTreeMap;

/// Index of a register of an entry.
pub type Reg = u32;
/// Index of a label of an entry.
pub type Label = u32;

/// An error in PTX text: a syntax error, or an instruction that is not supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Line, from 1; 0 for the whole file.
    pub line: u32,
    /// The bytes of the text that are wrong.
    pub span: (usize, usize),
    /// The error, in words.
    pub message: String,
    /// What was expected there.
    pub expected: String,
}

/// A PTX file.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `.target`.
    pub target: String,
    /// `.file` numbers and names.
    pub files: BTreeMap<u32, String>,
    /// Shared variables of the whole file.
    pub shared: Vec<Variable>,
    /// Variables of other spaces, by name.
    pub others: Vec<String>,
    /// Kernels, in order.
    pub entries: Vec<Entry>,
    /// The code of each function that has a body, by name.
    pub functions: BTreeMap<String, Vec<Inst>>,
}

/// A variable in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// Bytes; 0 for memory that the launch sizes.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u64,
}

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name.
    pub name: String,
    /// Type, without its dot.
    pub ty: String,
    /// Bytes.
    pub bytes: u64,
}

/// A kernel.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Line of its `.entry`.
    pub line: u32,
    /// Parameters, in order.
    pub params: Vec<Param>,
    /// Threads of a block, where the text gives them (`.reqntid`, else `.maxntid`).
    pub block: Option<[u32; 3]>,
    /// `block` is an upper bound (`.maxntid`).
    pub block_is_bound: bool,
    /// CTAs of a cluster (`.reqnctapercluster`).
    pub cluster: Option<[u32; 3]>,
    /// Registers of a thread at launch, where the text limits them (`.maxnreg`).
    pub registers: Option<u32>,
    /// CTAs that an SM must have room for (`.minnctapersm`).
    pub ctas_of_sm: Option<u32>,
    /// Shared variables of this entry.
    pub shared: Vec<Variable>,
    /// Local variables, by name.
    pub local: Vec<String>,
    /// Names of registers.
    pub regs: Vec<String>,
    /// Width of each register in bits; 1 for predicates.
    pub widths: Vec<u16>,
    /// Instructions, in order.
    pub code: Vec<Inst>,
    /// The instruction after each label.
    pub labels: Vec<Option<usize>>,
    /// Targets of `.branchtargets` lists, by the list's label.
    pub tables: BTreeMap<Label, Vec<Label>>,
}

impl Entry {
    /// Whether `setmaxnreg` has an effect. ptxas ignores it where it cannot tell the registers at launch: its message is
    /// C7508.
    pub fn hands_registers(&self) -> bool {
        self.registers.is_some() || self.ctas_of_sm.is_some()
    }
}

/// A source line, from `.loc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loc {
    /// Number of the file.
    pub file: u32,
    /// Line.
    pub line: u32,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Line, from 1.
    pub line: u32,
    /// Bytes of the text.
    pub span: (usize, usize),
    /// Source line.
    pub loc: Option<Loc>,
    /// The predicate that guards it, and whether it is negated.
    pub guard: Option<(Reg, bool)>,
    /// The opcode's first word.
    pub op: String,
    /// The words after the first one, without dots.
    pub mods: Vec<String>,
    /// Operands.
    pub args: Vec<Arg>,
}

impl Inst {
    /// Whether the instruction has a modifier, at any position.
    pub fn has(&self, modifier: &str) -> bool {
        self.mods.iter().any(|m| m == modifier)
    }

    /// An operand; in a damaged text it may be missing.
    pub fn arg(&self, n: usize) -> &Arg {
        self.args.get(n).unwrap_or(&Arg::Sink)
    }

    /// The operands from one index on.
    pub fn args_from(&self, n: usize) -> &[Arg] {
        self.args.get(n..).unwrap_or_default()
    }

    /// The opcode and its modifiers.
    pub fn name(&self) -> String {
        let mut s = self.op.clone();
        self.mods.iter().for_each(|m| {
            s.push('.');
            s.push_str(m);
        });
        s
    }
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A register.
    Reg(Reg),
    /// A negated predicate.
    Not(Reg),
    /// A pair of results, `%p|%q`.
    Pair(Box<Arg>, Box<Arg>),
    /// An integer.
    Int(i64),
    /// A floating-point number: equal numbers of one notation have equal bits here.
    Float(u64),
    /// A special register, a variable or a parameter.
    Name(String),
    /// A label.
    Label(Label),
    /// `{a, b}`.
    List(Vec<Arg>),
    /// `[base + offset, extra...]`.
    Mem {
        /// The base register or symbol.
        base: Box<Arg>,
        /// Bytes.
        offset: i64,
        /// Coordinates and other operands in the brackets.
        extra: Vec<Arg>,
    },
    /// `(a, b)` of a call.
    Group(Vec<Arg>),
    /// `_`.
    Sink,
}

impl Arg {
    /// Calls `f` on each register in it.
    pub fn each_reg(&self, f: &mut impl FnMut(Reg)) {
        match self {
            Arg::Reg(r) | Arg::Not(r) => f(*r),
            Arg::Pair(a, b) => {
                a.each_reg(f);
                b.each_reg(f);
            }
            Arg::List(l) | Arg::Group(l) => l.iter().for_each(|a| a.each_reg(f)),
            Arg::Mem { base, extra, .. } => {
                base.each_reg(f);
                extra.iter().for_each(|a| a.each_reg(f));
            }
            Arg::Int(_) | Arg::Float(_) | Arg::Name(_) | Arg::Label(_) | Arg::Sink => {}
        }
    }
}
