//! Shapes of products of tensor memory.

use std::collections::BTreeSet;

use crate::lift::walk::Walk;
use crate::ptx::{Error, Inst};
use crate::symbolic::{Atom, Term};

/// The name of CUTLASS's products of tensor memory, up to their types.
const PRODUCT: &str = "SM100_MMA_";

/// The assumption about a product whose columns data decide.
pub(crate) const WIDEST: &str =
    "a product has the most columns that its descriptor can state, where data decide how many";

/// The bits of an instruction descriptor that state the columns of the result.
const COLUMNS: i64 = 0x3f << 17;

/// The largest number of columns of a product.
const MOST_COLUMNS: u32 = 256;

/// The shape and the layouts of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    /// Rows of the result, in both CTAs of a pair.
    pub(crate) m: u32,
    /// Columns of the result.
    pub(crate) n: u32,
    /// Whether the rows of the left operand are contiguous.
    pub(crate) trans_a: bool,
    /// Whether the columns of the right operand are contiguous.
    pub(crate) trans_b: bool,
    /// Whether a product of 4-bit elements has 96 of them along k, and not 64.
    pub(crate) longer: bool,
}

impl Shape {
    /// The shape in an instruction descriptor. The scaled forms have 128 rows.
    fn of(descriptor: i64, scaled: bool) -> Shape {
        let field = |from: u32, bits: u32| (descriptor >> from & ((1 << bits) - 1)) as u32;
        let m = if scaled { 128 } else { field(24, 5) * 16 };
        let longer = scaled && field(31, 1) == 1;
        Shape { m, n: field(17, 6) * 8, trans_a: field(15, 1) == 1, trans_b: field(16, 1) == 1, longer }
    }

    /// The shape that a mangled name of CUTLASS gives its products, if it gives all of them one shape.
    fn in_name(name: &str) -> Option<Shape> {
        let number = |rest: &mut &str, before: &str| {
            *rest = rest.split_once(before)?.1;
            let (digits, after) = rest.split_once('E')?;
            *rest = after;
            digits.parse::<u32>().ok()
        };
        // `SM100_MMA_F16BF16_SSI<types>Li<M>ELi<N>ELN<..>MajorE<left>ELS<..>_<right>E`.
        let one = |mut rest: &str| {
            let (m, n) = (number(&mut rest, "Li")?, number(&mut rest, "Li")?);
            let a = number(&mut rest, "MajorE")?;
            // The type of the second layout is a substitution, such as `LS1E_`.
            rest = rest.strip_prefix("LS")?;
            let b = number(&mut rest, "_")?;
            let fits = matches!(m, 64 | 128 | 256) && (8..=256).contains(&n) && n % 8 == 0 && a < 2 && b < 2;
            fits.then_some(Shape { m, n, trans_a: a == 1, trans_b: b == 1, longer: false })
        };
        let all: Option<BTreeSet<Shape>> = name.split(PRODUCT).skip(1).map(one).collect();
        let all = all?;
        if all.len() == 1 { all.first().copied() } else { None }
    }
}

impl Walk<'_, '_> {
    /// The shape that an instruction descriptor states. A descriptor that is an argument has the shape in the kernel's
    /// name.
    pub(crate) fn shape(&mut self, i: &Inst, descriptor: Term, scaled: bool) -> Result<Shape, Error> {
        // Bits that are not used here, such as signs, may depend on arguments.
        let found: Option<BTreeSet<Shape>> =
            self.s.values(descriptor).map(|l| l.iter().map(|v| Shape::of(*v, scaled)).collect());
        if let Some(shape) = found.filter(|l| l.len() == 1).and_then(|l| l.first().copied()) {
            return Ok(shape);
        }
        if let Some(shape) = self.widest(descriptor, scaled) {
            self.s.assume(i.line, WIDEST);
            return Ok(shape);
        }
        let is_argument = !self.s.arena.mentions(descriptor, |a| !matches!(a, Atom::Param(..)));
        if let (true, false, Some(shape)) = (is_argument, scaled, Shape::in_name(&self.s.entry.name)) {
            self.s.assume(i.line, "an instruction descriptor that is an argument has the shape in the kernel's name");
            return Ok(shape);
        }
        let message = format!("the instruction descriptor of `{}` is not a number that is known", i.name());
        Err(self.s.error(i, message, "a constant"))
    }

    /// The shape with the most columns that a descriptor can state, if it varies in nothing else: such a product
    /// accesses all that one with fewer columns does.
    fn widest(&self, descriptor: Term, scaled: bool) -> Option<Shape> {
        let (known, varying) = self.s.arena.bits_of(descriptor)?;
        (varying & !COLUMNS == 0).then(|| Shape::of(known | varying, scaled)).filter(|s| s.n <= MOST_COLUMNS)
    }
}

/// The bits of an element of a type in the instruction descriptor of a product of 8, 6 and 4 bits.
fn bits_of(format: i64) -> Option<u32> {
    match format & 7 {
        0 | 1 => Some(8),
        3 | 4 => Some(6),
        5 => Some(4),
        _ => None,
    }
}

impl Walk<'_, '_> {
    /// Notes how many bits the elements of both operands of a product have: 8 where its descriptor does not say so.
    pub(crate) fn note_elements(&mut self, at: usize, descriptor: Term) {
        let of = |v: &i64| Some([bits_of(v >> 7)?, bits_of(v >> 10)?]);
        let all: Option<BTreeSet<[u32; 2]>> = self.s.values(descriptor).and_then(|l| l.iter().map(of).collect());
        let one = all.filter(|l| l.len() == 1).and_then(|l| l.first().copied());
        let known = self.s.element_bits.get(&at).copied();
        let bits = one.filter(|bits| known.is_none_or(|k| k == *bits)).unwrap_or([8, 8]);
        self.s.element_bits.insert(at, bits);
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn names_of_cutlass_have_the_shape_of_their_products() {
        let atom =
            "MMA_AtomIJNS3_25SM100_MMA_F16BF16_2x1SM_SSIS2_S2_fLi256ELi128ELNS3_4UMMA5MajorE0ELS1L_1ELNS1K_7ScaleE";
        let shape = Shape { m: 256, n: 128, trans_a: false, trans_b: true, longer: false };
        assert_eq!(Shape::in_name(&format!("_Z11gemm_device{atom}{atom}")), Some(shape));
        assert_eq!(Shape::in_name(&format!("{atom}{}", atom.replace("Li128E", "Li64E"))), None);
        assert_eq!(Shape::in_name(&atom.replace("Li256E", "Li257E")), None);
        assert_eq!(Shape::in_name("_Z11gemm_device"), None);
    }
}
