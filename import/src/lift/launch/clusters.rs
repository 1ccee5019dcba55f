//! The size of a cluster, which a text may leave to the launch.

use crate::flow::Flow;
use crate::lift::build::lift_cases;
use crate::lift::facts::headers::separated;
use crate::lift::walk::shared::Shared;
use crate::lift::{Launch, Lifted};
use crate::ptx::{Arg, Entry, Error, Inst, Module};

use super::alone;
use super::cases::Wanted;

/// The largest cluster that a device can launch. More than 8 CTAs need an attribute of the kernel.
const LARGEST: u32 = 16;

/// Lifts an entry. The text may give no size of a cluster, and a mask name a CTA that the assumed cluster lacks. Then the
/// cluster is the smallest one with this CTA that can be lifted.
pub fn lift(module: &Module, entry: &Entry, file: &str, text: &str, launch: &Launch) -> Result<Lifted, Error> {
    let without = alone::without_work(entry).filter(|_| !launch.timed);
    let entry = without.as_ref().unwrap_or(entry);
    let apart = separated(entry);
    let entry = apart.as_ref().unwrap_or(entry);
    let flow = Flow::of(entry)?;
    let (error, wanted) = match lift_cases(module, entry, &flow, (file, text), launch) {
        Ok(lifted) => return Ok(lifted),
        Err(failed) => failed,
    };
    let Some(Wanted::Ctas(named, line)) = wanted.filter(|_| launch.cluster.is_none()) else { return Err(error) };
    for [x, y, z] in shapes(named) {
        let given = Launch { cluster: Some([x, y, z]), ..launch.clone() };
        if let Ok(mut lifted) = lift_cases(module, entry, &flow, (file, text), &given) {
            let what = format!("a cluster has {x}x{y}x{z} CTAs, the fewest that its masks name (`--cluster`)");
            lifted.assumptions.push((what, line));
            return Ok(lifted);
        }
    }
    Err(error)
}

/// The shapes of clusters with at least this number of CTAs, smallest first.
fn shapes(ctas: u32) -> impl Iterator<Item = [u32; 3]> {
    let sizes = std::iter::successors(Some(ctas.next_power_of_two()), |n| Some(n * 2)).take_while(|n| *n <= LARGEST);
    sizes.flat_map(|n| [1, 2, 4, 8, 16].into_iter().filter(move |y| n % y == 0).map(move |y| [n / y, y, 1]))
}

/// CTAs of a cluster. Where the text gives no size, it is one CTA, or two where instructions need a pair.
pub(crate) fn cluster(s: &mut Shared<'_>, launch: &Launch) -> Result<[u32; 3], Error> {
    if let Some(size) = s.entry.cluster.or(launch.cluster) {
        return Ok(size);
    }
    if let Some([x, y]) = named(&s.entry.name) {
        let line = s.entry.line;
        s.assume(line, format!("a cluster has {x}x{y}x1 CTAs, as the kernel's name says"));
        return Ok([x, y, 1]);
    }
    let code = &s.entry.code;
    // A mask of the first CTA alone needs no second one.
    let alone = |i: &Inst| match i.args.last() {
        Some(Arg::Int(1)) => true,
        Some(mask @ Arg::Reg(_)) => {
            let mut sets = code.iter().filter(|i| i.args.first() == Some(mask)).peekable();
            sets.peek().is_some() && sets.all(|i| i.op == "mov" && i.args.get(1) == Some(&Arg::Int(1)))
        }
        _ => false,
    };
    let pairs = |i: &&Inst| i.has("cta_group::2") || i.has("multicast::cluster") && !alone(i);
    let Some(first) = s.entry.code.iter().find(pairs) else { return Ok([1; 3]) };
    s.assume(first.line, "a cluster has 2x1x1 CTAs, as the text does not say (`--cluster`)");
    Ok([2, 1, 1])
}

/// The cluster in the mangled name of a kernel of CUTLASS: the first tuple among the arguments of its main loop, such as
/// `MainloopSm90TmaGmmaWarpSpecializedILi7ENS5_IJNS4_1CILi1EEENSA_ILi2EEESB_EEE` for 1x2x1. A size that is equal to the first
/// one is a reference to it.
fn named(name: &str) -> Option<[u32; 2]> {
    let (_, of) = name.split_once("Mainloop")?;
    let (_, mut rest) = of.split_once("ILi")?;
    // Numbers of stages.
    loop {
        let (_, after) = number(rest)?;
        match after.strip_prefix("Li") {
            Some(next) => rest = next,
            None => break rest = after,
        }
    }
    let (head, sizes) = rest.split_once("_IJ")?;
    let is_reference = |t: &str| t.len() <= 5 && t.starts_with("NS") && !t.contains('_');
    // A number is of a class template that is named here, or that was named before.
    let sized = |t: &str| {
        let of = |mark: &str| t.split_once(mark).filter(|(space, _)| is_reference(space)).map(|(_, rest)| rest.len());
        of("_1CILi").map(|left| (t.len() - left, true)).or_else(|| of("_ILi").map(|left| (t.len() - left, false)))
    };
    let (at, is_new) = sized(sizes)?;
    let (x, rest) = number(&sizes[at..]).filter(|_| is_reference(head))?;
    let rest = rest.strip_prefix("EE")?;
    let y = match sized(rest) {
        Some((at, _)) => number(&rest[at..])?.0,
        // Where numbers were named before, the first size is what was named last.
        _ if rest.starts_with('S') && (is_new || is_last(&name[..name.len() - rest.len()], rest)) => x,
        _ => return None,
    };
    (x >= 1 && y >= 1 && x.checked_mul(y)? <= 16).then_some([x, y])
}

/// Whether the reference that a mangled name goes on with is the newest of all so far, and of the next one.
fn is_last(before: &str, rest: &str) -> bool {
    let number = |t: &str| {
        let (digits, _) = t.split_once('_')?;
        let fits = digits.len() <= 2 && digits.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
        if digits.is_empty() { Some(0) } else { u32::from_str_radix(digits, 36).ok().filter(|_| fits).map(|n| n + 1) }
    };
    let Some(own) = rest.strip_prefix('S').and_then(number) else { return false };
    let next = rest.split_once('_').map_or("", |(_, next)| next);
    let next = next.strip_prefix('S').and_then(number);
    let named = before.split('S').skip(1).filter_map(number).chain(next);
    named.into_iter().all(|n| n < own)
}

/// A number that ends with `E`, and what follows.
fn number(t: &str) -> Option<(u32, &str)> {
    let (digits, rest) = t.split_once('E')?;
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn names_of_cutlass_say_the_cluster() {
        let kernel =
            |args: &str| format!("_ZN7cutlass13device_kernelINS1_34MainloopSm90TmaGmmaWarpSpecialized{args}NS1_3RowEE");
        assert_eq!(named(&kernel("ILi7ENS5_IJNS4_1CILi1EEENSA_ILi2EEESB_EEE")), Some([1, 2]));
        assert_eq!(named(&kernel("ILi7ENS5_IJNS4_1CILi2EEENSA_ILi1EEESC_EEE")), Some([2, 1]));
        assert_eq!(named(&kernel("ILi8ELi2ELi4ENS5_IJNS4_1CILi2EEESA_NSA_ILi1EEEEEE")), Some([2, 2]));
        assert_eq!(named(&kernel("ILi7ENS5_IJNS4_1CILi1EEESB_SB_EEE")), Some([1, 1]));
        assert_eq!(named(&kernel("ILi7ENS5_IJNS7_ILi2EEESG_NS7_ILi1EEEEEE")), Some([2, 2]));
        assert_eq!(named(&kernel("ILi7ENS5_IJNS7_ILi2EEENS7_ILi1EEESG_EEE")), Some([2, 1]));
        assert_eq!(named(&kernel("ILi5ENS5_IJNS6_ILi1EEES8_SE_EEE")), None);
        // The launch says it.
        assert_eq!(named(&kernel("ILi8ELi2ELi4ENS5_IJiiNS4_1CILi1EEEEEE")), None);
        assert_eq!(named("matmul_kernel"), None);
    }
}
