//! Remainders of the parameter that sets the trip count, where several of its values give one trip count.
//!
//! A loop over `n / 2` makes as many iterations for `n` = 6 as for `n` = 7. The induction varies one remainder of the
//! parameter: `n = 6 + 2 k`. If the code tells remainders apart (`if n % 2 == 1`, or another loop over `n`), each of
//! them is a kernel of its own. This module finds representatives of the remainders that the code can tell apart.

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Expr, Instr, MoveKind, Op, ParamId, Place, Program, Unary, each, gcd};

use crate::Trips;

/// Largest number of remainders of which each one is decided.
const EACH: i64 = 8;
/// Largest number of representatives of more remainders, where each takes many steps and where each takes few.
const FEW: u64 = 32;
const MOST: u64 = 256;
/// Steps of all representatives, by which their number is chosen between these.
const STEPS: u64 = 1_000_000;
/// Largest number of remainders that are told apart.
const REMAINDERS: i64 = 1 << 16;
/// Number of values of a remainder that are tried until the kernel accepts one.
const TRIED: i64 = 8;

/// Other values of parameters for which a kernel is decided.
#[derive(Debug)]
pub(crate) struct Others {
    /// The kernel with a value of each of the other remainders.
    pub(crate) kernels: Vec<Program>,
    /// Whether the given values and these stand for all values.
    pub(crate) all: bool,
}

/// Representatives of the other remainders of the parameters that set the trip counts of the main loop and of the loop
/// around it. The given values took `steps`.
pub(crate) fn others(prog: &Program, trips: &Trips, steps: u64) -> Others {
    let mut found = Others { kernels: Vec::new(), all: true };
    // The symbols of a compiled kernel stand for any launch, and its arithmetic is not that of a design.
    if prog.opaque_globals {
        return found;
    }
    let main = trips.family();
    let main = Some((main.symbol, main.step)).filter(|_| !trips.refuses_others());
    for (name, den) in main.into_iter().chain(trips.turns_divisor()) {
        found.add(prog, &name, den, (STEPS / steps.max(1)).clamp(FEW, MOST) as usize);
    }
    found
}

impl Others {
    /// Adds the remainders of one parameter, at most as many as given.
    fn add(&mut self, prog: &Program, name: &str, den: i64, most: usize) {
        let Some(param) = prog.symbol(name).filter(|_| den > 1) else { return };
        let mut marks = Marks { prog, param, den, at: BTreeSet::new(), raw: false };
        for i in &prog.code {
            each(prog, i, &mut |_, e| marks.read(e));
        }
        prog.loops.iter().filter_map(|l| l.bound.as_ref()).for_each(|e| marks.read(e));
        marks.ends_of_matrices();
        if !marks.raw && marks.at.len() < 2 {
            return;
        }
        let mut list: BTreeSet<i64> = if den <= EACH { (0..den).collect() } else { marks.beside() };
        let (raw, value) = (marks.raw, prog.symbols[param as usize].value);
        list.remove(&value.rem_euclid(den));
        let kernel = |r: i64| {
            let first = value - value.rem_euclid(den) + r;
            // Near the given value, on both sides: the kernel may refuse what is larger or smaller.
            let near = (0..TRIED).chain((1..TRIED).map(|k| -k));
            near.into_iter().find_map(|k| prog.with(&[(name, first.checked_add(k * den)?)]))
        };
        // A remainder that the kernel refuses has no run.
        let few = list.len() <= MOST as usize;
        let kernels: Vec<Program> = list.into_iter().take(MOST as usize).filter_map(kernel).collect();
        self.all &= den <= EACH || !raw && few && kernels.len() <= most;
        self.kernels.extend(kernels.into_iter().take(most));
    }
}

/// The remainders at which a decision can change.
struct Marks<'p> {
    prog: &'p Program,
    param: ParamId,
    den: i64,
    /// Remainders at which a quotient or a comparison changes.
    at: BTreeSet<i64>,
    /// Whether the code reads the parameter itself.
    raw: bool,
}

/// `param * p + others * (unknown numbers) + constant`.
#[derive(Clone, Copy)]
struct Linear {
    param: i64,
    others: i64,
    constant: i64,
}

impl Linear {
    fn constant(constant: i64) -> Linear {
        Linear { param: 0, others: 0, constant }
    }

    const UNKNOWN: Linear = Linear { param: 0, others: 1, constant: 0 };

    fn times(self, by: i64) -> Option<Linear> {
        let [param, others, constant] = [self.param, self.others, self.constant].map(|x| x.checked_mul(by));
        Some(Linear { param: param?, others: others?, constant: constant? })
    }

    fn plus(self, other: Linear) -> Option<Linear> {
        let (param, constant) = (self.param.checked_add(other.param)?, self.constant.checked_add(other.constant)?);
        Some(Linear { param, others: common(self.others, other.others), constant })
    }

    fn minus(self, other: Linear) -> Option<Linear> {
        self.plus(other.times(-1)?)
    }
}

/// The greatest common divisor of two numbers, of any sign.
fn common(a: i64, b: i64) -> i64 {
    gcd(a.saturating_abs(), b.saturating_abs())
}

impl Marks<'_> {
    /// The remainders beside each mark, and a few more where the code reads the parameter itself.
    fn beside(&self) -> BTreeSet<i64> {
        let marks = self.at.iter().flat_map(|r| [r - 1, *r, r + 1]);
        let few = [0, 1, self.den / 2, self.den - 1].into_iter().filter(|_| self.raw);
        marks.chain(few).map(|r| r.rem_euclid(self.den)).collect()
    }

    fn depends(&self, e: &Expr) -> bool {
        self.prog.parameters_of(e).contains(&self.param)
    }

    /// Notes how a value of the code depends on the remainder.
    fn read(&mut self, e: &Expr) {
        if !self.depends(e) {
            return;
        }
        match e {
            Expr::Param(q) => match &self.prog.symbols[*q as usize].definition {
                Some(definition) => self.read(definition),
                None => self.raw = true,
            },
            Expr::Binary(op, pair) => {
                let (x, y) = (&pair.0, &pair.1);
                match op {
                    Binary::Div | Binary::CeilDiv if self.quotient(*op, x, y).is_some() => {}
                    Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => self.compare(x, y),
                    Binary::Min | Binary::Max => {
                        self.compare(x, y);
                        self.read(x);
                        self.read(y);
                    }
                    _ => {
                        self.read(x);
                        self.read(y);
                    }
                }
            }
            _ => e.operands().for_each(|x| self.read(x)),
        }
    }

    /// Notes where the ends of matrices decide: how many blocks a matrix has, which sums and stores must cover, and
    /// whether a block that threads access begins inside.
    fn ends_of_matrices(&mut self) {
        let prog = self.prog;
        for (o, extents) in prog.objects.iter().zip(&prog.forms.extents) {
            for (axis, extent) in extents.iter().flatten().enumerate() {
                if self.depends(extent)
                    && self.quotient(Binary::CeilDiv, extent, &Expr::Const(o.block[axis].max(1))).is_none()
                {
                    self.read(extent);
                }
            }
        }
        for i in &prog.code {
            // Other copies leave out what lies outside.
            if let Instr::Op { op: Op::Move { how, src, dst, masked: false, .. }, .. } = i
                && !matches!(how, MoveKind::TmaLoad | MoveKind::TmaStore)
            {
                [src, dst].into_iter().for_each(|place| self.begins_inside(place));
            }
        }
    }

    /// Notes where it changes whether a block begins inside its matrix.
    fn begins_inside(&mut self, place: &Place) {
        let prog = self.prog;
        let o = &prog.objects[place.obj as usize];
        let Some(Some(extents)) = prog.forms.extents.get(place.obj as usize) else { return };
        let coordinates = place.inside.as_ref().unwrap_or(&place.at);
        for (axis, (at, extent)) in coordinates.iter().zip(extents).enumerate() {
            if place.begins_inside[axis] || !self.depends(at) && !self.depends(extent) {
                continue;
            }
            let by = if place.elements { 1 } else { o.block[axis] };
            let begin = self.linear(at).and_then(|at| at.times(by));
            // The block begins inside where this is not below zero.
            let room = self.linear(extent).zip(begin).and_then(|(end, begin)| end.minus(begin));
            match room.and_then(|room| room.plus(Linear::constant(-1))) {
                Some(room) => self.mark(room, room.others),
                None => {
                    self.read(at);
                    self.read(extent);
                }
            }
        }
    }

    /// Notes where a comparison changes.
    fn compare(&mut self, x: &Expr, y: &Expr) {
        match self.linear(x).zip(self.linear(y)).and_then(|(x, y)| x.minus(y)) {
            // A comparison can change before and behind the remainder at which both sides are equal.
            Some(d) => {
                self.mark(d, d.others);
                let behind = Linear { constant: d.constant.saturating_sub(d.param), ..d };
                self.mark(behind, d.others);
            }
            None => {
                self.read(x);
                self.read(y);
            }
        }
    }

    /// Notes where a linear form passes a multiple of a number, or 0 if the number is 0.
    fn mark(&mut self, form: Linear, multiple: i64) {
        if form.param == 0 {
            return;
        }
        let Some(period) = form.param.checked_mul(self.den).filter(|_| self.den <= REMAINDERS) else {
            self.raw = true;
            return;
        };
        let step = common(multiple, period);
        let passed = |r: i64| form.param.checked_mul(r)?.checked_add(form.constant).map(|x| x.div_euclid(step));
        self.at.extend((0..self.den).filter(|r| passed(*r) != passed(r - 1)));
    }

    /// Notes where a quotient of the parameter changes; `None` where its form is not linear.
    fn quotient(&mut self, op: Binary, x: &Expr, y: &Expr) -> Option<Linear> {
        let by = self.prog.launch_value(y).filter(|v| *v > 0 && !self.depends(y))?;
        let form = self.linear(x)?;
        let up = if op == Binary::CeilDiv { by - 1 } else { 0 };
        let form = form.plus(Linear::constant(up))?;
        self.mark(form, common(by, form.others));
        Some(form)
    }

    fn linear(&mut self, e: &Expr) -> Option<Linear> {
        if !self.depends(e) {
            return Some(self.prog.launch_value(e).map_or_else(|| self.unknown(e), Linear::constant));
        }
        match e {
            Expr::Param(q) => match &self.prog.symbols[*q as usize].definition {
                Some(definition) => self.linear(definition),
                None => Some(Linear { param: 1, others: 0, constant: 0 }),
            },
            Expr::Unary(Unary::Neg, x) => self.linear(x)?.times(-1),
            Expr::Binary(op, pair) => {
                let (x, y) = (&pair.0, &pair.1);
                match op {
                    Binary::Add => self.linear(x)?.plus(self.linear(y)?),
                    Binary::Sub => self.linear(x)?.minus(self.linear(y)?),
                    Binary::Mul => {
                        let (x, by) = if self.depends(x) { (x, y) } else { (y, x) };
                        if self.depends(by) {
                            return None;
                        }
                        match self.prog.launch_value(by) {
                            Some(by) => self.linear(x)?.times(by),
                            // A product of two numbers that are the same for all remainders between marks is one, too.
                            None => self.linear(x).filter(|x| x.param == 0).map(|x| Linear {
                                param: 0,
                                others: common(x.others, x.constant),
                                constant: 0,
                            }),
                        }
                    }
                    Binary::Div | Binary::CeilDiv => self.quotient(*op, x, y).map(|_| Linear::UNKNOWN),
                    // A remainder is the number less a multiple of the divisor.
                    Binary::Rem => {
                        let form = self.quotient(*op, x, y)?;
                        let by = self.prog.launch_value(y)?;
                        Some(Linear { others: common(form.others, by), ..form })
                    }
                    Binary::Min | Binary::Max => self.one_of(x, y),
                    _ => None,
                }
            }
            Expr::If(parts) => {
                self.read(&parts.0);
                self.one_of(&parts.1, &parts.2)
            }
            _ => None,
        }
    }

    /// The form of one of two numbers that are the same for all remainders between marks.
    fn one_of(&mut self, x: &Expr, y: &Expr) -> Option<Linear> {
        let (x, y) = (self.linear(x)?, self.linear(y)?);
        let others = [x.constant, y.others, y.constant].into_iter().fold(x.others, common);
        (x.param == 0 && y.param == 0).then_some(Linear { param: 0, others, constant: 0 })
    }

    /// The form of a number that does not depend on the parameter: a multiple of its coefficients.
    fn unknown(&mut self, e: &Expr) -> Linear {
        let product = |pair: &(Expr, Expr)| {
            let by = [&pair.0, &pair.1].into_iter().find_map(|x| self.prog.launch_value(x))?;
            Linear::UNKNOWN.times(by)
        };
        match e {
            Expr::Binary(Binary::Add, pair) => self.unknown_sum(pair, 1),
            Expr::Binary(Binary::Sub, pair) => self.unknown_sum(pair, -1),
            Expr::Binary(Binary::Mul, pair) => product(pair),
            _ => None,
        }
        .unwrap_or(Linear::UNKNOWN)
    }

    fn unknown_sum(&mut self, pair: &(Expr, Expr), sign: i64) -> Option<Linear> {
        let (x, y) = (self.linear(&pair.0)?, self.linear(&pair.1)?);
        x.plus(y.times(sign)?)
    }
}
