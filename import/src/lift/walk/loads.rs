//! Values that come from parameters, from global and constant memory, and from floating-point constants.

use crate::lift::tree::Val;
use crate::ptx::{Arg, Error, Inst};
use crate::symbolic::{Arena, Atom, Op, Term};

use super::Walk;
use super::values::bytes_of;

/// The bits of a floating-point constant that an instruction copies. A decimal number is read as `f64`, so that one of
/// another type is not known.
pub(crate) fn copied_float(i: &Inst, a: &Arg) -> Option<i64> {
    match a {
        Arg::Float(bits)
            if matches!(i.op.as_str(), "mov" | "selp") && (i.has("f64") || *bits <= u64::from(u32::MAX)) =>
        {
            Some(*bits as i64)
        }
        _ => None,
    }
}

impl Walk<'_, '_> {
    /// Loads of parameters, global and constant memory.
    pub(crate) fn load(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        let (to, from) = (i.arg(0), i.arg(1));
        let why = format!("the load at line {}", i.line);
        let list: Vec<&Arg> = if let Arg::List(l) = to { l.iter().collect() } else { vec![to] };
        let size = bytes_of(i) / list.len().max(1) as u32;
        if i.has("param") {
            let Arg::Mem { base, offset, .. } = from else { return Ok(()) };
            let index = match &**base {
                Arg::Name(n) => self.s.entry.params.iter().position(|p| p.name == *n).map(|p| (p as u16, *offset)),
                base => {
                    let v = self.operand(base)?;
                    self.parameter_at(&v).map(|(p, at)| (p, at + *offset))
                }
            };
            let index = index.and_then(|(p, at)| Some((p, u32::try_from(at).ok()?)));
            for (n, a) in list.iter().enumerate() {
                let place = index.map(|(p, at)| (p, at + n as u32 * size));
                let given = place.and_then(|(p, at)| self.argument(p, at).or(self.s.cases.argument(p, at, size)));
                let t = match place {
                    _ if given.is_some() => self.s.arena.int(given.unwrap_or_default()),
                    Some((p, at)) => self.s.arena.atom(Atom::Param(p, at)),
                    // What a function returns differs by lane.
                    None if matches!(**base, Arg::Name(_)) => {
                        let v = self.opaque_lanes(why.clone());
                        self.set_arg(a, v);
                        continue;
                    }
                    None => self.s.arena.opaque(why.clone()),
                };
                self.set_arg(a, Val::Uni(t));
            }
            return Ok(());
        }
        let address = self.address(from)?;
        let shared = self.is_shared(i, &address);
        if i.has("volatile") || shared {
            // The address of tensor memory, which `alloc` wrote there.
            if let (Some(base), [a]) = (self.allocated_at(at, &address), list.as_slice()) {
                self.set_arg(a, Val::Uni(base));
                return Ok(());
            }
        }
        // A byte or a half is the low part of the word at its address.
        let part = (size < 4).then(|| 1i64 << (8 * size));
        let signed = i.has("s8") || i.has("s16");
        let followed =
            !shared && !["local", "volatile", "acquire", "relaxed", "mmio"].iter().any(|m| i.has(m)) && !signed;
        for (n, a) in list.iter().enumerate() {
            let offset = n as i64 * size as i64;
            let v = match (&address, followed) {
                (Val::Uni(t), true) if !self.opaque(*t) => {
                    self.s.assume(
                        i.line,
                        "global memory that decides control flow does not change while the kernel runs",
                    );
                    let t = self.s.arena.plus(*t, offset);
                    let word = self.s.arena.op(Op::Load, &[t]);
                    Val::Uni(part.map_or(word, |values| {
                        let values = self.s.arena.int(values);
                        self.s.arena.rem(word, values)
                    }))
                }
                (Val::Uni(t), _) if shared && !self.opaque(*t) => {
                    let t = self.s.arena.plus(*t, offset);
                    match self.known_word(t, size) {
                        Some(value) => Val::Uni(value),
                        None => self.shared_word(at, n, t),
                    }
                }
                (Val::Uni(_), _) if !shared => self.own_word(at, n, i, true),
                (Val::Uni(_), _) => Val::Uni(self.s.arena.opaque(why.clone())),
                (address, true) if self.is_searched(a) && part.is_none() => {
                    let word = |a: &mut Arena, x: &[Term]| {
                        let t = a.plus(x[0], offset);
                        Some(a.op(Op::Load, &[t]))
                    };
                    self.each(std::slice::from_ref(address), word, &why)
                }
                _ => self.opaque_lanes(why.clone()),
            };
            self.set_arg(a, v);
        }
        Ok(())
    }

    /// Whether a loop that searches with all lanes reads a register.
    fn is_searched(&self, a: &Arg) -> bool {
        matches!(a, Arg::Reg(r) if self.s.searches.read.contains(r))
    }
}
