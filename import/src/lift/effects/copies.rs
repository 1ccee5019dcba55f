//! Copies and matrix instructions: the bytes that they access and the barriers that they signal.

use crate::lift::launch::cases::Wanted;
use crate::lift::tree::{Effect, Fence, Run, Stream, Touch};
use crate::lift::walk::Walk;
use crate::lift::walk::shared;
use crate::ptx::{Arg, Error, Inst};
use crate::symbolic::Term;

impl Walk<'_, '_> {
    /// `cp.async` and its variants.
    pub(crate) fn copy(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        if i.has("commit_group") {
            let s = if i.has("bulk") { Stream::Bulk } else { Stream::Copy };
            self.groups_of_lanes(i, s)?;
            return self.push(at, 0, Effect::Commit(s));
        }
        if i.has("wait_group") || i.has("wait_all") {
            let s = match (i.has("bulk"), i.has("read")) {
                (false, _) => Stream::Copy,
                (true, false) => Stream::Bulk,
                (true, true) => Stream::BulkRead,
            };
            self.groups_of_lanes(i, s)?;
            if i.has("wait_all") {
                self.push(at, 1, Effect::Commit(s))?;
            }
            return self.group(at, i, s, 0);
        }
        if i.has("prefetch") {
            return Ok(());
        }
        if !i.has("bulk") {
            if i.has("mbarrier") {
                let bar = self.same(i, i.arg(0), "address")?;
                return self.push(at, 0, Effect::CopyArrive(bar, i.has("noinc")));
            }
            let v = self.address(i.arg(0))?;
            let bytes = self.number(i, i.arg(2), "bytes")?;
            let runs = self.runs(i, &v, bytes as u32, 32)?;
            return self.push(at, 0, Effect::Touch(Touch::Copy, runs));
        }
        // The first state space is the destination.
        let spaces: Vec<&str> =
            i.mods.iter().map(String::as_str).filter(|m| m.starts_with("shared") || *m == "global").collect();
        let tensor = i.has("tensor");
        match spaces.as_slice() {
            [to, "global"] if to.starts_with("shared") => {
                let to = self.same(i, i.arg(0), "address")?;
                let bytes = if tensor { None } else { Some(self.same(i, i.arg(2), "bytes")?) };
                let at_bar = if tensor { 2 } else { 3 };
                let bar = self.same(i, i.arg(at_bar), "barrier")?;
                // Offsets of pixels (im2col) say where the copy reads, not how much.
                let behind = |n: usize| i.args.get(n).filter(|a| !matches!(a, Arg::List(_)));
                let multicast = match behind(at_bar + 1).or(behind(at_bar + 2)) {
                    Some(a) if i.has("multicast::cluster") => Some(self.mask(i, a)?),
                    _ => None,
                };
                let (to, far) = self.s.remote(to);
                let (bar, cta) = self.s.remote(bar);
                // A copy of a pair signals in one of the two CTAs: the lowest bit of the address says which.
                let own = self.s.arena.int(self.s.rank as i64);
                let cta = if i.has("cta_group::2") { cta.or(Some(own)) } else { cta };
                if far.is_some() {
                    return Err(self.s.error(
                        i,
                        "a copy from global memory into another CTA is not supported yet",
                        "a copy into the own CTA, or a multicast",
                    ));
                }
                self.push(at, 0, Effect::BulkLoad { to, bar, bytes, multicast, cta })
            }
            ["global", _] => {
                if self.rows_by_lane(at, i)? {
                    return Ok(());
                }
                let from = self.same(i, i.arg(1), "address")?;
                let bytes = if tensor { None } else { Some(self.same(i, i.arg(2), "bytes")?) };
                if self.lanes == u32::MAX {
                    self.s.assume(i.line, "lanes of a warp that start the same bulk store all store the same bytes");
                }
                self.push(at, 0, Effect::BulkStore { from, bytes })
            }
            _ => Err(self.unknown(i)),
        }
    }

    /// The CTAs of a mask of 16 bits.
    pub(crate) fn mask(&mut self, i: &Inst, a: &Arg) -> Result<Term, Error> {
        let t = self.same(i, a, "mask")?;
        let ctas = self.s.ctas();
        let named = self.s.arena.constant(t).map_or(0, |m| 64 - ((m & 0xffff) as u64).leading_zeros());
        if self.s.entry.cluster.is_none() && named > ctas {
            self.s.cases.wanted = Some(Wanted::Ctas(named, i.line));
            return Err(self.s.error(
                i,
                format!("the mask names a CTA that a cluster of {ctas} does not have"),
                "the cluster's size, which the text does not say (`--cluster`)",
            ));
        }
        let size = self.s.arena.int(1 << 16);
        Ok(self.s.arena.rem(t, size))
    }

    /// `wgmma`: its fences, groups and matrix multiplications.
    pub(crate) fn wgmma(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        if i.has("fence") {
            return self.push(at, 0, Effect::Fence(Fence::Wgmma));
        }
        if i.has("commit_group") {
            return self.push(at, 0, Effect::Commit(Stream::Wgmma));
        }
        if i.has("wait_group") {
            return self.group(at, i, Stream::Wgmma, 0);
        }
        let shape = i.mods.iter().find_map(|m| shape(m));
        let (Some((_, n, k)), Some(Arg::List(acc))) = (shape, i.args.first()) else { return Err(self.unknown(i)) };
        // A sparse left matrix keeps two elements of four, and metadata in registers say which.
        let sparse = i.has("sp");
        let types: Vec<&str> = i.mods.iter().filter_map(|m| width(m).map(|_| m.as_str())).collect();
        let of = |n: usize| types.get(n).and_then(|m| width(m)).unwrap_or(16);
        // Accumulator, left, right.
        let (left, right) = (of(1), of(2));
        let first = acc.iter().find_map(|a| if let Arg::Reg(r) = a { Some(*r) } else { None }).unwrap_or(0);
        // ..., scale-d, imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b; before them the metadata and their selector.
        let flags: Vec<i64> = i
            .args_from(if sparse { 5 } else { 3 })
            .iter()
            .filter_map(|a| if let Arg::Int(v) = a { Some(*v) } else { None })
            .collect();
        let in_registers = matches!(i.args.get(1), Some(Arg::List(_)));
        let (trans_a, trans_b) = match (flags.as_slice(), in_registers) {
            ([.., a, b], false) if flags.len() >= 4 => (*a == 1, *b == 1),
            ([.., b], true) if flags.len() >= 3 => (false, *b == 1),
            _ => (false, false),
        };
        let a = match i.arg(1) {
            Arg::List(_) => None,
            a => {
                let kept = if sparse { k / 2 } else { k };
                Some(self.described(i, a, 64, kept * left / 8, left, trans_a, kept)?)
            }
        };
        let b = self.described(i, i.arg(2), n, k * right / 8, right, trans_b, k)?;
        self.push(at, 0, Effect::Wgmma { a, b, acc: first, n, k: k * left / 8 })?;
        if self.s.serialized {
            self.push(at, 1, Effect::Commit(Stream::Wgmma))?;
            self.push(at, 2, Effect::WaitGroup(Stream::Wgmma, 0))?;
        }
        Ok(())
    }

    /// The bytes of an operand that a matrix descriptor describes. They are whole swizzle atoms: possibly more than the
    /// operand reads, never less.
    #[expect(clippy::too_many_arguments, reason = "the shape of one operand")]
    pub(crate) fn described(
        &mut self,
        i: &Inst,
        a: &Arg,
        rows: u32,
        k_bytes: u32,
        bits: u32,
        transposed: bool,
        k: u32,
    ) -> Result<Vec<Run>, Error> {
        let d = self.same(i, a, "descriptor")?;
        if self.dry > 0 {
            return Ok(Vec::new());
        }
        let d = self.descriptor(i, d)?;
        let (address, leading, stride, swizzle) = (d.address, d.leading(), d.stride(), d.swizzle());
        let atom = 8 * swizzle;
        let by = self.s.arena.int(swizzle as i64);
        // An advance along k stays inside the rows of the atom; an atom begins at the start of the operand.
        let inside = self.s.arena.rem(address, by);
        let base = self.s.arena.sub(address, inside);
        let mut starts: Vec<u32> = Vec::new();
        if transposed {
            let across = (rows * bits / 8).div_ceil(swizzle);
            for x in 0..across {
                for y in 0..k.div_ceil(8) {
                    starts.push(x * leading + y * stride);
                }
            }
        } else {
            let along = if swizzle == 16 { k_bytes.div_ceil(16) } else { 1 };
            for x in 0..rows.div_ceil(8) {
                for y in 0..along {
                    starts.push(x * stride + y * leading);
                }
            }
        }
        let crosses =
            swizzle > 16 && self.s.arena.constant(inside).is_some_and(|v| v as u32 % swizzle + k_bytes > swizzle);
        if !transposed && crosses && d.next.is_none() {
            let next: Vec<u32> = starts.iter().map(|s| s + atom).collect();
            starts.extend(next);
        }
        let mut runs: Vec<Run> = starts.iter().map(|s| (self.s.arena.plus(base, *s as i64), atom)).collect();
        if let Some(next) = d.next {
            if transposed || swizzle != 128 {
                return Err(self.unknown(i));
            }
            let most = self.s.arena.range(inside).1;
            if most + i64::from(k_bytes) > i64::from(swizzle) {
                let within = self.s.arena.rem(next, by);
                let next = self.s.arena.sub(next, within);
                runs.extend(starts.iter().map(|s| (self.s.arena.plus(next, *s as i64), atom)));
            }
        }
        runs.sort_unstable();
        runs.dedup();
        Ok(runs)
    }
}

/// `m64n128k16`.
pub(crate) fn shape(m: &str) -> Option<(u32, u32, u32)> {
    let (a, rest) = m.strip_prefix('m')?.split_once('n')?;
    let (b, c) = rest.split_once('k')?;
    Some((a.parse().ok()?, b.parse().ok()?, c.parse().ok()?))
}

/// Bits of an element type of a matrix multiplication.
pub(crate) fn width(m: &str) -> Option<u32> {
    Some(match m {
        "f32" | "tf32" | "s32" => 32,
        "f16" | "bf16" => 16,
        "e4m3" | "e5m2" | "s8" | "u8" => 8,
        "b1" => 1,
        _ => return None,
    })
}

impl shared::Shared<'_> {
    /// Splits an address in the cluster's window into the address in its CTA and, for another CTA, the number of that
    /// CTA.
    pub(crate) fn remote(&mut self, t: Term) -> (Term, Option<Term>) {
        let (k, parts) = self.arena.parts(t);
        let (far, near): (Vec<_>, Vec<_>) = parts.iter().copied().partition(|(_, c)| c % crate::lift::REMOTE == 0);
        let (high, low) = (k.div_euclid(crate::lift::REMOTE), k.rem_euclid(crate::lift::REMOTE));
        let (least, most) = self.arena.range(t);
        // A constant below 0 is a distance back from what a loop carries.
        if far.is_empty() && (high <= 0 || least >= 0 && most < crate::lift::REMOTE) {
            return (t, None);
        }
        let cta = self.arena.sum(high - 1, far.into_iter().map(|(t, c)| (t, c / crate::lift::REMOTE)).collect());
        let own = self.arena.constant(cta) == Some(self.rank as i64);
        (self.arena.sum(low, near), (!own).then_some(cta))
    }
}
