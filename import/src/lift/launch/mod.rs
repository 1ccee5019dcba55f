//! The values of a launch, and the symbols of a kernel as expressions over them.
//!
//! | file | what it does |
//! |---|---|
//! | `mod` | the arguments, arrays and tensor maps that a launch gives |
//! | `symbols`, `exprs` | the symbols that bounds of loops are computed from, as expressions of the program |
//! | `cases`, `argument_cases`, `clusters` | conditions, arguments and cluster sizes for which the kernel is lifted apart |
//! | `asserted`, `rounded_up` | assertions over arguments; trip counts of CTAs that have a part of a size |
//! | `capped`, `alone` | symbols with few values; kernels whose threads do not meet |
//! | `related`, `possible`, `possible_launch` | symbols that depend on each other, and values that occur together |
//! | `one_launch`, `launch_values`, `tickets` | the kernel in a chosen launch, to find out whether a fault is one of a launch |

pub(crate) mod alone;
pub(crate) mod argument_cases;
pub(crate) mod asserted;
pub(crate) mod capped;
pub(crate) mod cases;
pub(crate) mod clusters;
pub(crate) mod exprs;
pub(crate) mod launch_values;
pub(crate) mod one_launch;
pub(crate) mod possible;
pub(crate) mod possible_launch;
pub(crate) mod related;
pub(crate) mod rounded_up;
pub(crate) mod symbols;
pub(crate) mod tickets;

use std::collections::BTreeMap;
use std::fmt;

use rustc_hash::FxHashMap;
use warpline_sim::ir::{Env, Expr, Grid, Program, Symbol};

use crate::lift::merge::{Merged, each_op};
use crate::ptx::Entry;
use crate::sass::LoadOrder;
use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Op, Place, Term};

use super::Lifted;
use super::tree::Effect;
use exprs::{operator, sum, table};

/// Values that a launch gives and the text may lack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// Threads of a block.
    pub block: Option<[u32; 3]>,
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// CTAs of the grid.
    pub grid: Option<[u32; 3]>,
    /// Values of parameters, by position.
    pub args: BTreeMap<u16, Argument>,
    /// Bytes of dynamic shared memory.
    pub shared: Option<u32>,
    /// Registers of a thread.
    pub regs: Option<u32>,
    /// The order of loads in the machine code, where a disassembly gives it.
    pub load_order: Option<LoadOrder>,
    /// Whether the program is for a run: it then contains the instructions between operations of the protocol, and the
    /// accesses to global memory, for the values of this launch.
    pub timed: bool,
    /// Whether fences are required where kernels work without them: in the thread that wrote, or between accesses to tensor
    /// memory.
    pub every_fence: bool,
}

impl Launch {
    /// Gives a parameter a value. Of a structure, the other values stay.
    pub fn give(&mut self, param: u16, value: Argument) {
        let Argument::Fields(new) = value else {
            self.args.insert(param, value);
            return;
        };
        let mut fields = match self.args.remove(&param) {
            Some(Argument::Fields(fields)) => fields,
            None | Some(Argument::Unused) => BTreeMap::new(),
            Some(first) => BTreeMap::from([(0, first)]),
        };
        fields.extend(new);
        self.args.insert(param, Argument::Fields(fields));
    }

    /// What the launch gives for a value among the parameters.
    pub fn at(&self, f: ParamField) -> Option<&Argument> {
        match self.args.get(&f.param)? {
            Argument::Fields(fields) => fields.get(&f.offset),
            a => (f.offset == 0).then_some(a),
        }
    }

    /// The whole numbers among the parameters, in order.
    fn numbers(&self) -> impl Iterator<Item = (ParamField, i64)> + '_ {
        let fields = |(param, a): (&u16, &Argument)| -> Vec<ParamField> {
            let at = |offset: u32| ParamField { param: *param, offset };
            match a {
                Argument::Fields(list) => list.keys().map(|offset| at(*offset)).collect(),
                _ => vec![at(0)],
            }
        };
        let number = |f: ParamField| match self.at(f) {
            Some(Argument::Number(v)) => Some((f, *v)),
            _ => None,
        };
        self.args.iter().flat_map(fields).filter_map(number)
    }

    /// The whole number that a load at this place reads. A load can read the upper half of a number of 64 bits.
    pub fn number(&self, f: ParamField) -> Option<i64> {
        match self.at(f) {
            Some(Argument::Number(v)) => Some(*v),
            Some(_) => None,
            None => match self.at(ParamField { offset: f.offset.checked_sub(4)?, ..f }) {
                Some(Argument::Number(v)) => Some(v >> 32),
                _ => None,
            },
        }
    }
}

/// A value among the parameters of a kernel. A parameter can be a structure of several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParamField {
    /// Position of the parameter, from 0.
    pub param: u16,
    /// The byte of the parameter at which the value starts.
    pub offset: u32,
}

impl fmt::Display for ParamField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            0 => write!(f, "arg{}", self.param),
            offset => write!(f, "arg{}+{offset}", self.param),
        }
    }
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A whole number.
    Number(i64),
    /// Any other number; no protocol may depend on it.
    Real(f64),
    /// An array in global memory.
    Array(Array),
    /// A tensor map.
    Map(TensorMap),
    /// A structure: its values by the byte at which each starts.
    Fields(BTreeMap<u32, Argument>),
    /// Not used by the kernel.
    Unused,
}

/// An array in global memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Elements along each dimension, outermost first.
    pub shape: Vec<u64>,
    /// Name of the element type.
    pub dtype: String,
}

/// A tensor map.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMap {
    /// The array that it describes.
    pub array: Array,
    /// Elements from one index to the next, along each dimension.
    pub strides: Vec<u64>,
    /// Elements of a box along each dimension.
    pub tile: Vec<u32>,
    /// Bytes of the swizzle atom; 0 for none.
    pub swizzle: u32,
}

/// A value that a symbol needs and that the launch does not give.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A value among the parameters.
    Argument(ParamField),
    /// The size of the grid.
    Grid,
    /// The value of a symbol: its name and what it stands for.
    Symbol(String, String),
    /// Words of memory that decide what the iterations of the loop at this line do: no option gives them.
    Iterations(u32),
}

/// A symbol of a program under a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundSymbol {
    /// Its name.
    pub name: String,
    /// Its value, which may read the coordinates of the CTA; or the value that is missing.
    pub value: Result<Expr, Need>,
}

/// The largest trip count that is found by evaluating the condition for each iteration.
const MOST_TRIPS: i64 = 1 << 16;

/// The symbols of a kernel under a launch.
pub(crate) struct Binder<'b> {
    pub(crate) arena: &'b mut Arena,
    pub(crate) launch: &'b Launch,
    pub(crate) cluster: [u32; 3],
    /// The terms that symbols of sums stand for.
    pub(crate) original: &'b FxHashMap<Term, Term>,
}

impl Binder<'_> {
    /// Symbols, of terms and names.
    pub(crate) fn symbols(mut self, order: &[(Term, String)]) -> Vec<BoundSymbol> {
        order.iter().map(|(t, name)| self.symbol(name, *t)).collect()
    }

    /// The symbol of a term.
    fn symbol(&mut self, name: &str, t: Term) -> BoundSymbol {
        let shown = self.arena.show(self.original.get(&t).copied().unwrap_or(t));
        let value = match self.given(t) {
            Ok(t) => self.expression(t).ok_or_else(|| Need::Symbol(name.to_string(), shown)),
            Err(need) => Err(need),
        };
        BoundSymbol { name: name.to_string(), value }
    }

    /// A term in which constants of the launch replace arguments and sizes of the grid.
    fn given(&mut self, t: Term) -> Result<Term, Need> {
        let mut t = self.arena.replace(t, self.original, &mut FxHashMap::default());
        // The sum of a symbol can have symbols of other sums.
        while self.arena.mentions(t, |a| matches!(a, Atom::Symbol(_))) {
            let further = self.arena.replace(t, self.original, &mut FxHashMap::default());
            if std::mem::replace(&mut t, further) == further {
                break;
            }
        }
        let mut atoms = Vec::new();
        self.arena.each_atom(t, &mut |a| atoms.push(a));
        let mut with = FxHashMap::default();
        for atom in atoms {
            let value = match atom {
                Atom::Param(param, offset) => {
                    let field = ParamField { param, offset };
                    self.launch.number(field).ok_or(Need::Argument(field))?
                }
                Atom::Place(place) => {
                    let grid = self.launch.grid.ok_or(Need::Grid)?;
                    match place {
                        Place::Ctas(d) | Place::Clusters(d) => {
                            let d = usize::from(d);
                            i64::from(grid[d] / self.cluster[d].max(1))
                        }
                        Place::Cta(_) | Place::Cluster(_) => continue,
                    }
                }
                _ => continue,
            };
            let (atom, value) = (self.arena.atom(atom), self.arena.int(value));
            with.insert(atom, value);
        }
        Ok(self.arena.replace(t, &with, &mut FxHashMap::default()))
    }

    /// An expression over the coordinates of the CTA; `None` if a term reads memory or a value that is not tracked.
    fn expression(&mut self, t: Term) -> Option<Expr> {
        Some(match self.arena.node(t).clone() {
            Node::Const(v) => Expr::Const(v),
            // The rank in the cluster is a constant already.
            Node::Atom(Atom::Place(Place::Cta(d) | Place::Cluster(d))) => Expr::Env(match d {
                0 => Env::ClusterM,
                1 => Env::ClusterN,
                _ => Env::CtaZ,
            }),
            Node::Atom(_) => return None,
            Node::Sum(k, parts) => {
                let mut list = Vec::new();
                for (x, c) in parts.iter() {
                    list.push((self.expression(*x)?, *c));
                }
                sum(k, list)?
            }
            Node::Op(Op::Trips, args) => match self.trips(args[0]) {
                Some(n) => Expr::Const(n),
                None => {
                    let count = self.steps(args[0])?;
                    self.expression(count)?
                }
            },
            Node::Op(Op::HowOften, args) => Expr::Const(self.how_often(args[0], args[1])?),
            Node::Op(op, args) => {
                let mut list = Vec::new();
                for x in args.iter() {
                    list.push(self.expression(*x)?);
                }
                operator(op, list)?
            }
            Node::Table(i, first, cycle) => table(self.expression(i)?, &first, &cycle),
        })
    }

    /// The trip count, by evaluation: the condition reads only the index of the loop.
    fn trips(&mut self, stays: Term) -> Option<i64> {
        for n in 0..MOST_TRIPS {
            let now = self.arena.at_number(stays, n);
            if self.arena.constant(now)? == 0 {
                return Some(n);
            }
        }
        None
    }

    /// The trip count of a loop that a number of equal steps ends, where the number depends on the CTA.
    fn steps(&mut self, stays: Term) -> Option<Term> {
        let Node::Op(Op::Ge, args) = self.arena.node(stays).clone() else { return None };
        let (count, none) = (self.arena.falls(args[0], NO_LOOP)?, self.arena.int(0));
        Some(self.arena.op(Op::Max, &[count, none]))
    }

    /// How often a condition over the index of the loop holds in the first iterations, by evaluation.
    fn how_often(&mut self, holds: Term, iterations: Term) -> Option<i64> {
        let iterations = self.arena.constant(iterations).filter(|n| *n <= MOST_TRIPS)?;
        let mut often = 0;
        for n in 0..iterations {
            let now = self.arena.at_number(holds, n);
            often += (self.arena.constant(now)? != 0) as i64;
        }
        Some(often)
    }
}

impl Lifted {
    /// The program of the launch: symbols have their values, and the grid has its size. `set` gives symbols values that
    /// replace those of the launch.
    ///
    /// # Errors
    /// All values that are missing.
    pub fn launched(&self, launch: &Launch, set: &BTreeMap<String, i64>) -> Result<Program, Vec<Need>> {
        // The case of the launch.
        let mut cases = std::iter::once(self).chain(&self.others);
        match cases.find(|l| l.is_of_launch() == Ok(true)) {
            Some(l) => l.launched_here(launch, set),
            None => Err(self.is_of_launch().err().into_iter().collect()),
        }
    }

    /// Whether the launch meets the conditions of this case.
    fn is_of_launch(&self) -> Result<bool, Need> {
        let mut all = true;
        for (s, outcome) in &self.under {
            let value = s.value.clone()?.constant().ok_or_else(|| Need::Symbol(s.name.clone(), s.name.clone()))?;
            all &= (value != 0) == *outcome;
        }
        Ok(all)
    }

    fn launched_here(&self, launch: &Launch, set: &BTreeMap<String, i64>) -> Result<Program, Vec<Need>> {
        let (mut images, mut needs) = (Vec::new(), Vec::new());
        for s in &self.bound {
            match (set.get(&s.name), &s.value) {
                (Some(v), _) => images.push(Expr::Const(*v)),
                (None, Ok(e)) => images.push(e.clone()),
                (None, Err(need)) => needs.push(need.clone()),
            }
        }
        needs.extend(self.cut.map(Need::Iterations));
        let Some(grid) = launch.grid else {
            needs.push(Need::Grid);
            needs.sort();
            needs.dedup();
            return Err(needs);
        };
        if !needs.is_empty() {
            needs.sort();
            needs.dedup();
            return Err(needs);
        }
        let mut program = self.program.with_expressions(&images);
        let along = |d: usize| i64::from(grid[d] / self.cluster[d].max(1));
        program.grid = Grid { m: along(0), n: along(1), z: along(2), group: 0 };
        program.params = values(&self.program, &images);
        if launch.timed {
            // The arguments are constants of the program.
            let more = launch.numbers().map(|(field, v)| (field.to_string(), v));
            let more: Vec<_> = more.filter(|(n, _)| program.params.iter().all(|(m, _)| m != n)).collect();
            program.params.extend(more);
        }
        program.regs = launch.regs.or(program.regs);
        Ok(program)
    }
}

/// The symbols that are one number in the launch, with that number.
fn values(program: &Program, images: &[Expr]) -> Vec<(String, i64)> {
    let value = |(s, e): (&Symbol, &Expr)| Some((s.name.clone(), e.constant()?));
    program.symbols.iter().zip(images).filter_map(value).collect()
}

/// Registers of an SM of every GPU that has `setmaxnreg` (NVIDIA/cccl `arch_traits.h`, compute capability 9.0 to 12.0).
const REGISTERS_OF_SM: u32 = 65_536;

/// Registers per thread at launch, in a kernel whose warps change them: the number that the text gives (`.maxnreg`).
///
/// With `.minnctapersm`, ptxas gives a thread as many as have room, at most the largest number that a `setmaxnreg` asks
/// for. It reserves them for whole groups of four warps (ptxas 13.0 of 39 small kernels, `-v`). A text without both has
/// no `setmaxnreg` (`Entry::hands_registers`).
pub(crate) fn registers(tree: &[Merged], warps: u32, entry: &Entry) -> Option<u32> {
    let mut most = None;
    each_op(tree, &mut |_, (_, _, e)| {
        if let Effect::Regs(n, _) = e {
            most = most.max(Some(*n));
        }
    });
    let most = most?.max(24);
    let warps = entry.block.map_or(warps, |b| b.iter().product::<u32>().div_ceil(32));
    let warps = entry.ctas_of_sm.unwrap_or(1).max(1).saturating_mul(warps).next_multiple_of(4);
    let room = (REGISTERS_OF_SM / (32 * warps.max(4)) / 8 * 8).clamp(24, most);
    Some(entry.registers.map_or(room, |n| n.next_multiple_of(8)))
}
