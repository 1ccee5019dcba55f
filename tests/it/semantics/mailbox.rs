//! Words that roles pass to each other, and tiles handed out at run time (docs/rules.md 33).

use super::check;

#[test]
fn a_word_is_read_after_it_was_put() {
    check(
        "h200",
        "
          grid 1  warps 2
          shared box: i32
          all:
            warp 0: put 7 -> box : 0
            barrier
            var w = 0
            warp 1: get box : 0 -> w
        ",
    );
}

#[test]
fn a_word_put_again_before_everybody_read_it_is_a_war() {
    // cuda-oxide 1066.
    check(
        "h200",
        "
          grid 1  warps 2
          shared box: i32
          mbar ready (1)
          all: warp 0: elect: init ready
          barrier
          warp 0: elect:
            put 7 -> box : 0
            arrive ready
            alu fma 1 x 1000000
            put 8 -> box : 1    //~ WAR race
          warp 1:
            var w = 0
            wait ready for 0
            get box : 0 -> w
        ",
    );
}

#[test]
fn a_reader_that_finds_another_version() {
    check(
        "h200",
        "
          grid 1  warps 2
          shared box: i32
          all:
            warp 0: put 7 -> box : 0
            barrier
            var w = 0
            warp 1: get box : 1 -> w    //~ stale tile
        ",
    );
}

#[test]
fn clc_hands_out_tiles_and_then_minus_one() {
    let r = check(
        "b200",
        "
          grid 296  warps 1
          shared box: i32
          mbar sched (1)
          all: elect:
            init sched;  fence mbarrier_init
            var tile = cta.id
            var n = 0
            while tile.valid:
              arrive sched expect 16
              clc -> box signals sched
              wait sched for n
              get box -> tile
              n += 1
        ",
    );
    assert_eq!(r.ctas_simulated, 2);
}

#[test]
fn clc_is_waited_for() {
    check(
        "b200",
        "
          grid 1  warps 1
          shared box: i32
          mbar sched (1)
          all: elect:
            init sched;  fence mbarrier_init
            var tile = 0
            arrive sched expect 16
            clc -> box signals sched
            get box -> tile    //~ RAW race
            wait sched for 0
        ",
    );
}
