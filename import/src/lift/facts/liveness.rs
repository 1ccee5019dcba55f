//! Which registers of a text are read behind a place.

use crate::flow::{Flow, Live};
use crate::ptx::Entry;

use super::slice::{reads, writes};

/// The registers that are read behind each place. A write under a guard leaves the old value to some lanes, and a product
/// adds to its result.
pub(crate) fn live(entry: &Entry, flow: &Flow) -> Live {
    let reads = |at: usize, f: &mut dyn FnMut(_)| {
        let i = &entry.code[at];
        reads(i, &mut |r| f(r));
        if matches!(i.op.as_str(), "wgmma" | "call") {
            i.args.iter().for_each(|a| a.each_reg(&mut |r| f(r)));
        }
    };
    let writes = |at: usize, f: &mut dyn FnMut(_)| {
        let i = &entry.code[at];
        if i.guard.is_none() && !matches!(i.op.as_str(), "wgmma" | "call") {
            writes(i, &mut |r| f(r));
        }
    };
    Live::of(flow, entry.widths.len(), reads, writes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx;

    #[test]
    fn a_value_that_is_written_first_is_not_live() {
        let text = "
            .version 8.0
            .target sm_90
            .address_size 64
            .visible .entry k() {
                .reg .pred %p<2>;
                .reg .b32 %r<6>;
                mov.u32 %r1, 1;
                mov.u32 %r2, 2;
                mov.u32 %r3, 3;
                setp.eq.s32 %p1, %r1, 0;
                @%p1 bra DONE;
                mov.u32 %r2, 4;
                @%p1 mov.u32 %r3, 5;
                add.s32 %r4, %r2, %r3;
            DONE:
                ret;
            }";
        let module = ptx::read(text).expect("it is PTX");
        let entry = &module.entries[0];
        let flow = Flow::of(entry).expect("it has blocks");
        let live = live(entry, &flow);
        let written = |n: usize| {
            let mut all = Vec::new();
            writes(&entry.code[n], &mut |r| all.push(r));
            all[0]
        };
        let [one, two, three] = [written(0), written(1), written(2)];
        assert_eq!([one, two, three].map(|r| live.is(1, r)), [false, false, true]);
    }
}
