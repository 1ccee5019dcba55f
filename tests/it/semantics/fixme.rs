//! Today's wrong answers, each a row of DEVIATIONS.md: what is accepted here is a fault (or deserves a note). A test that
//! fails because its rule was added moves to the module of its family.

use super::check;

#[test]
fn fixme_lanes_of_an_unsplit_warp_are_in_step() {
    // One lane arrives for the warp without a `warp.sync`: found where the warp also has an `elect:` block, not here.
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          mbar b (1)
          warp 1: init b
          all: barrier
          warp 0: sts r -> s;  arrive b per warp
          warp 1: wait b for 0;  lds s -> r
        ",
    );
}
