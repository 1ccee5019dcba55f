//! Published ladders and ablations: what each step or each mechanism was worth.

use super::others::Beside::{Launch, Rate};
use super::others::{Asked, LADDER, RING, Run, Values};

const FA3: &str = "FlashAttention-3 (arXiv 2407.08608), table 2, H100: 4 x 16 heads of 8448 x 128, not causal";
/// The paper does not state its blocks; those of its code at the time, 128 x 176, divide 8448.
const FA3_SIZE: Values = &[("heads", 64.0), ("seq", 8448.0), ("tile_n", 176.0)];
const FA3_WHOLE: Run = ("attention/fa3", &[FA3_SIZE]);

const WORKSTATION: &str = "waynehacking8/blackwell-tensorcore-kernels, RTX PRO 6000 Max-Q, f16 8192^3, 128x128x32";
const DEEP: &str = "ampere/multistage_f32";
const SIXTEEN: Values = &[("down", 4.0), ("across", 4.0), ("regs", 64.0)];
const FOUR: Values = &[("down", 2.0), ("across", 2.0), ("regs", 196.0)];

const MI300X: &str = "gau-nernst/learn-cuda, 02d, MI300X, bf16 4096^3, 128x128x64, 4 waves";
const CDNA: &str = "cdna/register_buffer";
const NARROW: Values = &[("machine.memory.bytes_per_lane", 8.0)];

pub(super) const LADDERS: &[Asked] = &[
    Asked {
        what: "a pair of SMs on 256x256, seven stages / one SM on 128x128",
        source: "gau-nernst's blog, v5 / v4, B200, bf16 4096^3",
        measured: 1302.29 / 1208.83,
        first: ("blackwell/gemm_2sm", &[]),
        second: Rate((RING, &[LADDER, &[("tile_n", 128.0), ("tile_k", 64.0), ("stages", 7.0)]])),
        why: "a later run of the same kernels has 1.110; a trace of v5 has 2.5 us for a tile's stores, one row per lane, and here only their bytes cost time (DEVIATIONS.md 38)",
    },
    Asked {
        what: "64 pairs that stay, two accumulators / a pair for each tile",
        source: "gau-nernst's blog, v6 / v5, B200, bf16 4096^3",
        measured: 1475.93 / 1302.29,
        first: ("blackwell/gemm_2sm_persistent", &[&[("stages", 7.0)]]),
        second: Rate(("blackwell/gemm_2sm", &[])),
        why: "a later run of the same kernels has 1.089; the stores that v6 hides are cheap here, as above, and so is a pair's start. Its stages are not published: seven, as in v5",
    },
    Asked {
        what: "no overlap of softmax and products in a group / whole",
        source: FA3,
        measured: 582.0 / 661.0,
        first: ("attention/fa3", &[FA3_SIZE, &[("overlap", 0.0)]]),
        second: Rate(FA3_WHOLE),
        why: "both are too fast here (930 and 858 TFLOPS): the vector unit works without a gap, which the instructions of a compiled softmax do not allow, and the clock is 1755 MHz throughout",
    },
    Asked {
        what: "no producer and no turns / whole",
        source: FA3,
        measured: 570.0 / 661.0,
        first: ("attention/fa3_uniform", &[FA3_SIZE]),
        second: Rate(FA3_WHOLE),
        why: "their kernel without the producer is not published; ours keeps the overlap in a group, and a lane that multiplies loads",
    },
    Asked {
        what: "three stages / two, four warps of 64x64",
        source: WORKSTATION,
        measured: 238.37 / 243.73,
        first: (DEEP, &[FOUR, &[("stages", 3.0)]]),
        second: Rate((DEEP, &[FOUR, &[("stages", 2.0)]])),
        why: "registers hold it to two CTAs a core in both",
    },
    Asked {
        what: "four stages / two, four warps of 64x64",
        source: WORKSTATION,
        measured: 180.28 / 243.73,
        first: (DEEP, &[FOUR, &[("stages", 4.0)]]),
        second: Rate((DEEP, &[FOUR, &[("stages", 2.0)]])),
        why: "one CTA a core: deeper is slower. The clock rises where the tensor cores idle, under the cap of 300 W; here it is the same",
    },
    Asked {
        what: "three stages / two, sixteen warps of 32x32",
        source: WORKSTATION,
        measured: 172.72 / 178.78,
        first: (DEEP, &[SIXTEEN, &[("stages", 3.0)]]),
        second: Rate((DEEP, &[SIXTEEN, &[("stages", 2.0)]])),
        why: "registers are not published: 64, so that two CTAs fit",
    },
    Asked {
        what: "four stages / two, sixteen warps of 32x32",
        source: WORKSTATION,
        measured: 151.68 / 178.78,
        first: (DEEP, &[SIXTEEN, &[("stages", 4.0)]]),
        second: Rate((DEEP, &[SIXTEEN, &[("stages", 2.0)]])),
        why: "as above",
    },
    Asked {
        what: "cycles of the launch with four warps, two stages",
        source: "the same, Nsight Compute at 1010 MHz (ncu_sm120_mma_warptile_8192.txt)",
        measured: 6936768.0,
        first: (DEEP, &[FOUR, &[("stages", 2.0), ("machine.clock.mhz", 1010.0)]]),
        second: Launch,
        why: "a warp's products wait for its own loads from shared memory there (85 % of the tensor pipe is in use); here other warps fill the gaps",
    },
    Asked {
        what: "LDS swizzled / as rows lie",
        source: MI300X,
        measured: 369.57 / 122.21,
        first: (CDNA, &[NARROW, &[("ahead", 0.0)]]),
        second: Rate((CDNA, &[NARROW, &[("ahead", 0.0), ("atom", 0.0)]])),
        why: "reads of 8 bytes a lane; bank conflicts are one factor here (DEVIATIONS.md 3)",
    },
    Asked {
        what: "the next tile in registers / no tile ahead",
        source: MI300X,
        measured: 421.10 / 369.57,
        first: (CDNA, &[NARROW]),
        second: Rate((CDNA, &[NARROW, &[("ahead", 0.0)]])),
        why: "open: the loads of the next tile are all in flight here before the first product; and the clock of this chip falls with matrix work (models/mi300x.toml), by how much in these runs is not recorded",
    },
    Asked {
        what: "reads from LDS of 16 bytes a lane / of 8",
        source: MI300X,
        measured: 454.12 / 421.10,
        first: (CDNA, &[]),
        second: Rate((CDNA, &[NARROW])),
        why: "`memory.bytes_per_lane` narrows the loads from global memory as well, which theirs are not",
    },
];
