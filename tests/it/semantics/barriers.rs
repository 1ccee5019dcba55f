//! CTA barriers and numbered barriers (docs/rules.md 29, 30).

use super::{check, message};

#[test]
fn a_cta_barrier_orders_what_is_before_it() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all:
            sts r.rows(warp, 2) -> s.rows(warp, 2)
            barrier
            lds s -> r
            barrier
            sts r.rows(warp, 2) -> s.rows(warp, 2)
        ",
    );
}

#[test]
fn reuse_without_a_second_barrier_is_a_war() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all:
            sts r.rows(warp, 2) -> s.rows(warp, 2)
            barrier
            lds s -> r
            sts r.rows(warp, 2) -> s.rows(warp, 2)    //~ WAR race
        ",
    );
}

#[test]
fn two_writers_without_order_are_a_waw() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          all: sts r -> s    // shared out: no conflict
          barrier
          warp 0: sts r -> s
          warp 1: sts r -> s    //~ WAW race
        ",
    );
}

#[test]
fn a_barrier_that_a_warp_left_by_ending_is_divergent() {
    check(
        "a100",
        "
          grid 1  warps 2
          all:
            warp 1:
              alu fma 1 x 1000000
              exit
            barrier    //~ divergent barrier
        ",
    );
}

#[test]
fn so_is_one_that_the_ended_warp_left_long_before() {
    check(
        "a100",
        "
          grid 1  warps 2
          all:
            warp 1: exit
            alu fma 1 x 1000000
            barrier    //~ divergent barrier
        ",
    );
}

#[test]
fn warps_that_meet_a_barrier_a_different_number_of_times() {
    check(
        "a100",
        "
          grid 1  warps 2
          all:
            barrier
            warp 0: barrier    //~ divergent barrier
        ",
    );
}

#[test]
fn arrive_and_sync_of_one_numbered_barrier_pair() {
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          named full
          warp 0: sts r -> s;  bar arrive full (64)
          warp 1: bar sync full (64);  lds s -> r
        ",
    );
}

#[test]
fn arrivals_alone_do_not_order_the_arriving_warp() {
    // Weft's `arrival`: all arrive, nobody waits.
    check(
        "a100",
        "
          grid 1  warps 2
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          named full
          warp 0: sts r -> s;  bar arrive full (64)
          warp 1:
            bar arrive full (64)
            lds s -> r    //~ RAW race
        ",
    );
}

#[test]
fn crossed_numbered_barriers_deadlock() {
    // Weft's `deadlock`.
    check(
        "a100",
        "
          grid 1  warps 2
          named x   named y
          warp 0:
            bar sync x (64)    //~ hangs
            bar sync y (64)
          warp 1:
            bar sync y (64)    //~ hangs
            bar sync x (64)
        ",
    );
}

#[test]
fn participants_of_one_numbered_barrier_give_the_same_count() {
    // Weft's `different`.
    let r = check(
        "a100",
        "
          grid 1  warps 4
          named x
          warps 0..2: bar sync x (96)
          warps 2..4: bar sync x (128)    //~ arrival count
        ",
    );
    assert_eq!(message(&r, "barrier x"), "barrier x is used with 128 threads here and 96 there");
}

#[test]
fn more_warps_than_a_numbered_barrier_has_leave_one_behind() {
    // Weft's `over`: three warps at a barrier of 64 threads.
    check(
        "a100",
        "
          grid 1  warps 3
          named x
          all: bar sync x (64)    //~ hangs, arrival count
        ",
    );
}

#[test]
fn three_warps_that_share_a_barrier_of_two_an_even_number_of_times() {
    // No agent is left waiting; the schedule decides which agents meet.
    let r = check(
        "a100",
        "
          grid 1  warps 3
          named x
          all: for i in 0..2: bar sync x (64)    //~ arrival count
        ",
    );
    let said = message(&r, "arrives at barrier x");
    assert!(said.contains("depends on the schedule"), "{said}");
}

#[test]
fn pairs_that_meet_at_one_numbered_barrier_have_an_order() {
    // Two pairs: whichever warps come first are a generation, and a warp may learn of the wrong one's arrival.
    let body = "
          grid 1  warps 4
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          named x
          all:
            warps 0..2: bar sync x (64)
            BETWEEN
            warps 2..4: bar sync x (64)    //~ arrival count
    ";
    check("a100", &body.replace("BETWEEN", "alu fma 1 x 32"));
    // The first pair waits at the barrier of all, and so knows that its own generation is over.
    check("a100", &body.replace("BETWEEN", "barrier").replace("//~ arrival count", ""));
}

#[test]
fn who_knows_of_every_arrival_knows_of_the_generation() {
    // Nobody waits at x: that a generation is over follows from the arrivals, and these from the barrier of all.
    let body = "
          grid 1  warps 2
          named x
          all: for i in 0..2:
            bar arrive x (64)    //~ arrival count
            BETWEEN
    ";
    check("a100", &body.replace("BETWEEN", "barrier").replace("//~ arrival count", ""));
    check("a100", &body.replace("BETWEEN", "alu fma 1 x 32"));
}

#[test]
fn producers_that_take_turns_at_one_numbered_barrier() {
    // The second producer can come before the first, and then hands the consumer the wrong half.
    let body = "
          grid 1  warps 3
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          named full   named next
          warps 0..2: sts r.rows(warp, 2) -> s.rows(warp, 2)
          warp 0: bar arrive full (64);  FIRST
          warp 1: SECOND;  bar arrive full (64)    //~ MARK
          warp 2: bar sync full (64);  LEARNS;  bar sync full (64);  lds s -> r
    ";
    let with = |first: &str, second: &str, learns: &str, mark: &str| {
        let text = body.replace("FIRST", first).replace("SECOND", second).replace("LEARNS", learns);
        check("a100", &text.replace("//~ MARK", mark));
    };
    let none = "alu fma 1 x 32";
    with(none, none, none, "//~ arrival count");
    // Told by the first producer, who does not wait for the consumer: knowing of its arrival is not knowing of both.
    with("bar arrive next (64)", "bar sync next (64)", none, "//~ arrival count");
    with(none, "bar sync next (64)", "bar arrive next (64)", "");
}

#[test]
fn a_warp_may_prime_the_numbered_barrier_it_waits_at() {
    // FlashAttention-3's first turn.
    check(
        "h200",
        "
          grid 1  warps 2
          named turn[2]
          all:
            if warp == 0: bar arrive turn[0] (64)
            for i in 0..3:
              bar sync turn[warp] (64)
              if i < 2 or warp == 0: bar arrive turn[1 - warp] (64)
        ",
    );
}

#[test]
fn a_count_that_is_no_number_of_warps_is_a_fault() {
    check(
        "a100",
        "
          grid 1  warps 2
          named x
          all: bar sync x (48)    //~ range
        ",
    );
}

#[test]
fn only_the_participants_of_a_numbered_barrier_are_ordered() {
    check(
        "a100",
        "
          grid 1  warps 3
          shared s: f16[64, 64]
          reg r: f16[64, 64]
          named x
          warp 0: sts r -> s
          warps 0..2: bar sync x (64)
          warp 1: lds s -> r
          warp 2: lds s -> r    //~ RAW race
        ",
    );
}

#[test]
fn a_loop_that_repeats_its_state_never_ends() {
    let report = check(
        "h200",
        "
          grid 1  warps 2
          all:
            while 1:    //~ deadlock
              barrier
        ",
    );
    assert!(report.events < 1000, "{}", report.events);
}

#[test]
fn a_loop_whose_variables_change_ends() {
    check(
        "h200",
        "
          grid 1  warps 2
          all:
            var left = 100
            while left > 0:
              barrier
              left -= 1
        ",
    );
}
