//! `tcgen05`: commits, tensor memory and its life (docs/rules.md 24, 26 to 28).

use super::check;

const HEAD: &str = "
          grid 1  warps 8
          global A: f16[128, 256]   global B: f16[128, 256]   global C: f16[128, 128]
          shared a: f16[128, 64]   shared b: f16[128, 64]
          tmem acc: f32[128, 128]
          mbar full (1)   mbar done (1)   mbar free (128)
          role part[4] = warps 4..8
          all:
            warp 0: elect: init full, done, free;  fence mbarrier_init
            warp 0: tmem.alloc acc
            barrier
          warp 1: elect:
            arrive full expect bytes(a) + bytes(b)
            tma A[0, 0] -> a signals full;  tma B[0, 0] -> b signals full
            wait full for 0
";

fn after_loads(rest: &str) {
    check("b200", &(HEAD.to_string() + rest));
}

#[test]
fn a_commit_arrives_when_the_multiplications_before_it_are_done() {
    after_loads(
        "
            umma a : A[0, 0], b : B[0, 0] -> acc
            commit umma -> done
          part:
            wait done for 0;  tmem.fence after
            tmem.ld acc.rows(self) -> r;  wait tmem.ld <= 0
            alu fma 32 x 128 uses r
          all: barrier
          warp 0: tmem.dealloc acc
        ",
    );
}

#[test]
fn the_accumulator_before_the_commit_is_a_raw() {
    after_loads(
        "
            umma a, b -> acc
            commit umma -> done
          part:
            alu fma 1 x 10000000
            tmem.ld acc.rows(self) -> r    //~ RAW race
            wait tmem.ld <= 0
            wait done for 0
          all: barrier
          warp 0: tmem.dealloc acc
        ",
    );
}

#[test]
fn an_operand_rewritten_before_the_commit_is_a_war() {
    after_loads(
        "
            umma a, b -> acc
            commit umma -> done
            arrive full expect bytes(a)
            tma A[0, 1] -> a signals full    //~ WAR race
            wait full for 1
            wait done for 0
          all: barrier
          warp 0: tmem.dealloc acc
        ",
    );
}

#[test]
fn multiplications_of_one_thread_are_in_order() {
    after_loads(
        "
            umma a, b -> acc
            umma a, b -> acc    //~ coverage
            commit umma -> done
            wait done for 0
          all: barrier
          warp 0: tmem.dealloc acc
        ",
    );
}

#[test]
fn a_tensor_memory_load_is_open_until_its_wait() {
    // CUTLASS 3652: no wait::ld before the arrival that gives the accumulator back.
    after_loads(
        "
            umma a, b -> acc
            commit umma -> done
            wait free for 0
            zero acc
            umma a, b -> acc    //~ WAR race
            commit umma -> done
            wait done for 1
          part:
            wait done for 0;  tmem.fence after
            tmem.ld acc.rows(self) -> r
            tmem.fence before
            arrive free
            wait tmem.ld <= 0
            alu fma 32 x 128 uses r
          all: barrier
          warp 0: tmem.dealloc acc
        ",
    );
}

#[test]
fn with_the_wait_before_the_release_it_is_none() {
    after_loads(
        "
            umma a, b -> acc
            commit umma -> done
            wait free for 0;  tmem.fence after
            zero acc
            umma a, b -> acc
            commit umma -> done
            wait done for 1
          part:
            wait done for 0;  tmem.fence after
            tmem.ld acc.rows(self) -> r
            wait tmem.ld <= 0;  tmem.fence before
            arrive free
            alu fma 32 x 128 uses r
          all: barrier
          warp 0: tmem.dealloc acc
        ",
    );
}

#[test]
fn registers_of_a_tensor_memory_load_before_its_wait_are_a_raw() {
    after_loads(
        "
            umma a, b -> acc
            commit umma -> done
          part:
            wait done for 0
            tmem.ld acc.rows(self) -> r
            alu fma 32 x 128 uses r    //~ RAW race
            wait tmem.ld <= 0
          all: barrier
          warp 0: tmem.dealloc acc
        ",
    );
}

#[test]
fn a_tensor_memory_store_is_open_until_its_wait() {
    // CUTLASS 3653: no wait::st before the arrival.
    let kernel = |wait: &str, mark: &str| {
        format!(
            "
          grid 1  warps 5
          global B: f16[128, 128]
          shared b: f16[128, 128]
          reg p: f16[32, 128]
          tmem left: f16[128, 128]   tmem acc: f32[128, 128]
          mbar full (1)   mbar ready (128)   mbar done (1)
          role part[4] = warps 0..4
          all:
            warp 4: elect: init full, ready, done;  fence mbarrier_init
            warp 4: tmem.alloc left;  tmem.alloc acc
            barrier
          part:
            alu fma 32 x 128 -> p
            tmem.st p -> left.rows(self);  {wait}
            arrive ready
          warp 4: elect:
            arrive full expect bytes(b)
            tma B[0, 0] -> b signals full
            wait full for 0
            wait ready for 0
            umma left, b -> acc    {mark}
            commit umma -> done
            wait done for 0
          part: wait tmem.st <= 0
          all: barrier
          warp 4: tmem.dealloc left;  tmem.dealloc acc
        "
        )
    };
    check("b200", &kernel("wait tmem.st <= 0", ""));
    check("b200", &kernel("tmem.fence before", "//~ RAW race"));
}

#[test]
fn tensor_memory_is_allocated_before_it_is_used() {
    check(
        "b200",
        "
          grid 1  warps 1
          tmem acc: f32[128, 128]
          reg r
          all:
            tmem.ld acc.rows(0, 4) -> r    //~ life cycle
            wait tmem.ld <= 0
        ",
    );
}

#[test]
fn the_use_is_ordered_after_the_allocation() {
    check(
        "b200",
        "
          grid 1  warps 2
          tmem acc: f32[128, 128]
          reg r: f32[32, 128]
          warp 0: tmem.alloc acc
          warp 1:
            alu fma 1 x 1000000
            tmem.st r -> acc.rows(1, 4)    //~ life cycle
            wait tmem.st <= 0
          all: barrier
          warp 0: tmem.dealloc acc
        ",
    );
}

#[test]
fn what_is_allocated_is_given_back() {
    check(
        "b200",
        "
          grid 1  warps 1
          tmem acc: f32[128, 128]
          all:
            tmem.alloc acc
            exit    //~ life cycle
        ",
    );
}

#[test]
fn an_overlay_lives_as_long_as_what_it_lies_over() {
    check(
        "b200",
        "
          grid 1  warps 8
          tmem s: f32[128, 128]
          tmem p: bf16[128, 128] overlay on s
          reg q: bf16[32, 128]
          all:
            warp 0: tmem.alloc s
            barrier
          warps 4..8:
            tmem.st q -> p.rows(warp % 4, 4)
            wait tmem.st <= 0
          warp 0:
            alu fma 1 x 1000000
            tmem.dealloc s    //~ life cycle
        ",
    );
}

#[test]
fn columns_of_an_overlay_that_hold_other_data_do_not_conflict() {
    // Two halves of the scores: the weights lie over the left one.
    for (half, race) in [(1, ""), (0, "//~ WAR race")] {
        let text = format!(
            "
          grid 1  warps 12
          tmem s: f32[128, 128]
          tmem p: bf16[128, 128] overlay on s
          reg r: f32[32, 64], q: bf16[32, 128]
          all:
            warp 0: tmem.alloc s
            barrier
          warps 4..8:
            tmem.ld s.rows(warp % 4, 4).cols({half}, 2) -> r;  wait tmem.ld <= 0
            alu fma 32 x 64 uses r
          warps 8..12:
            alu fma 1 x 1000000
            tmem.st q -> p.rows(warp % 4, 4)    {race}
            wait tmem.st <= 0
          all: barrier
          warp 0: tmem.dealloc s
        "
        );
        check("b200", &text);
    }
}

#[test]
fn what_is_given_back_is_no_longer_used() {
    after_loads(
        "
            umma a, b -> acc
            commit umma -> done
          part:
            wait done for 0
            tmem.ld acc.rows(self) -> r;  wait tmem.ld <= 0
          warp 0:
            wait done for 0
            alu fma 1 x 1000000
            tmem.dealloc acc    //~ life cycle
        ",
    );
}

#[test]
fn a_warp_reaches_a_quarter_of_the_lanes() {
    let kernel = |rows: &str| {
        format!(
            "
          grid 1  warps 6
          tmem acc: f32[128, 64]
          reg x: f32[32, 64]
          role part[4] = warps 2..6
          all: warp 0: tmem.alloc acc
          all: barrier
          part: tmem.st x -> acc.rows({rows})
          part: wait tmem.st <= 0
          all: barrier
          all: warp 0: tmem.dealloc acc
        "
        )
    };
    check("b200", &kernel("self)    //~ range").replace("range)", "range"));
    check("b200", &kernel("warp % 4, 4"));
}

#[test]
fn four_warps_that_name_all_lanes_take_a_quarter_each() {
    let kernel = |warps: &str, mark: &str| {
        format!(
            "
          grid 1  warps 8
          tmem acc: f32[128, 64]
          all: warp 0: tmem.alloc acc
          all: barrier
          warps {warps}: tmem.ld acc -> r    {mark}
          all: wait tmem.ld <= 0
          all: barrier
          all: warp 0: tmem.dealloc acc
        "
        )
    };
    check("b200", &kernel("4..8", ""));
    check("b200", &kernel("4..7", "//~ range"));
}

/// Each warp moves the rows that it reaches, which are different rows. Another group of four reaches the same rows.
#[test]
fn four_warps_that_move_all_lanes_move_a_quarter_each() {
    let kernel = |place: &str, readers: &str, mark: &str| {
        format!(
            "
          grid 1  warps 8
          tmem acc: f32[128, 64]
          all: warp 0: tmem.alloc acc
          all: barrier
          warps 4..8: alu fma 32 x 64 -> r
          warps 4..8: tmem.st r -> {place}    {mark}
          warps 4..8: wait tmem.st <= 0
          warps {readers}: tmem.ld {place} -> q
          all: wait tmem.ld <= 0
          all: barrier
          all: warp 0: tmem.dealloc acc
        "
        )
    };
    for place in ["acc", "acc.rows(warp % 4, 4)"] {
        check("b200", &kernel(place, "4..8", ""));
        check("b200", &kernel(place, "0..4", "//~ WAR race"));
    }
    check("b200", &kernel("acc.cols(0, 2)", "4..8", ""));
}

/// The issuer is in CTA 0. Each CTA of the pair holds its own rows of A and its own half of B.
#[test]
fn each_cta_of_a_pair_expects_its_own_tiles() {
    let kernel = |loaded: &str, mark: &str| {
        format!(
            "
          cluster 2  grid 1  warps 2
          global A: f16[256, 64]  global B: f16[64, 64]
          shared a: f16[128, 64]  shared b: f16[32, 64]
          tmem acc: f32[128, 64]
          mbar full (1)  mbar done (1)
          set leader = cta 0
          all: warp 0: elect: init full, done;  fence mbarrier_init.cluster
          all: warp 1: tmem.alloc acc pair
          all: cluster.sync
          all: warp 0: elect: arrive full expect bytes(a) + bytes(b)
          all: warp 0: elect: tma A[{loaded}, 0] -> a signals full
          all: warp 0: elect: tma B[0, 0].half(cta) -> b signals full
          all: wait full for 0
          all: cluster.sync
          leader: warp 0: elect: umma.pair a : A[cta, 0], b : B[0, 0].half(cta) -> acc    {mark}
          leader: warp 0: elect: commit umma -> done @ctas 0b11
          all: wait done for 0
          all: cluster.sync
          all: warp 1: tmem.dealloc acc pair
        "
        )
    };
    check("b200", &kernel("cta", ""));
    check("b200", &kernel("1 - cta", "//~ stale tile"));
}

#[test]
fn both_lane_classes_of_a_warp_wait_for_its_load() {
    let kernel = |wait: &str, mark: &str| {
        format!(
            "
          grid 1  warps 5
          shared a: bf16[128, 64] swizzle 128
          shared b: bf16[64, 64] swizzle 128
          tmem acc: f32[128, 64]
          mbar done (1)  mbar empty (1)
          all: warp 0: elect: init done, empty;  fence mbarrier_init
          all: warp 1: tmem.alloc acc
          all: barrier
          warp 0: elect: for job in 0..3:
            wait empty for job - 1
            tmem.fence after
            zero acc
            umma a, b -> acc    {mark}
            commit umma -> done
          warp 4: for job in 0..3:
            wait done for job
            elect: alu int 1
            tmem.fence after
            tmem.ld acc.rows(0, 4) -> r
            {wait}
            tmem.fence before
            arrive empty per warp
          warp 4: wait tmem.ld <= 0;  tmem.fence before
          all: barrier
          all: warp 1: tmem.dealloc acc
        "
        )
    };
    // The elected lane comes first to the wait, before the other lanes have begun the load.
    check("b200", &kernel("wait tmem.ld <= 0", ""));
    check("b200", &kernel("wait tmem.ld <= 1", "//~ WAR race"));
}
