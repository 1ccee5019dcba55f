//! The mistakes: a kernel that is right, a change of its text, and the lines that repair it.

pub(super) const SPECIALIZED: &str = "hopper/tma_warp_specialized";
const BLACKWELL: &str = "blackwell/gemm_1sm";
const CLUSTER: &str = "correct/tma_async";
const PINGPONG: &str = "hopper/pingpong";
const CP_WGMMA: &str = "hopper/cp_async_wgmma";
const MULTISTAGE: &str = "correct/sm80_multistage";

pub(super) const EXPECT: &str = "      arrive full[i % stages] expect bytes(a) + bytes(b)\n";
pub(super) const FULL: &str = "      wait full[i % stages] for i / stages\n";
pub(super) const EMPTY: &str = "wait empty[i % stages] for i / stages - 1";
const LOADS: &str = "arrive full[i % stages] expect bytes(a) + bytes(b)";

const AMPERE: &str = "ampere/smem_double_buffer";
const CDNA: &str = "cdna/num_stages_2";
const CDNA_ROLES: &str = "cdna/producer_consumer";
const METAL_ROLES: &str = "metal/triple_buffer";
const METAL: &str = "metal/double_buffer";
const METAL_AHEAD: &str = "metal/fused_dequant_hybrid";
const PREFETCH: &str = "ampere/register_prefetch";
const ROPE: &str = "mla/rope_fixed";
const FUSED: &str = "mla/fused_kv_fixed";
const DEEPGEMM: &str = "correct/deepgemm_sm90";
const ORDERED: &str = "correct/ordered_sequence";
const SEMAPHORE: &str = "global/splitk_semaphore";
const STREAMK: &str = "global/streamk";

/// The kernel, the text that the mistake changes, what it becomes, and a part of the repair's new lines (`+`) or of the
/// lines that it takes out (`-`). Several right answers stand behind `|`.
pub(super) type Case = (&'static str, &'static str, &'static str, &'static str);

/// Kernels with mbarriers: TMA, `wgmma` and `tcgen05`.
pub(super) const MBARRIERS: [Case; 50] = [
    // A missing `arrive expect`.
    (SPECIALIZED, EXPECT, "", "+arrive full[i % stages] expect bytes(a) + bytes(b)"),
    (BLACKWELL, EXPECT, "", "+arrive full[i % stages] expect bytes(a) + bytes(b)"),
    (CLUSTER, EXPECT, "", "+arrive full[i % stages] expect bytes(a) + bytes(b)"),
    (
        PINGPONG,
        "        arrive full[it % stages] expect bytes(a) + bytes(b)\n",
        "",
        "+arrive full[it % stages] expect bytes(a) + bytes(b)",
    ),
    (SPECIALIZED, LOADS, "arrive full[i % stages]", "+expect bytes(a) + bytes(b)"),
    (BLACKWELL, LOADS, "arrive full[i % stages]", "+expect bytes(a) + bytes(b)"),
    (CLUSTER, LOADS, "arrive full[i % stages]", "+expect bytes(a) + bytes(b)"),
    (PINGPONG, " expect bytes(a) + bytes(b)", "", "+expect bytes(a) + bytes(b)"),
    // Wrong bytes.
    (SPECIALIZED, "expect bytes(a) + bytes(b)", "expect bytes(a)", "+expect bytes(a) + bytes(b)"),
    (SPECIALIZED, "expect bytes(a) + bytes(b)", "expect bytes(b)", "+expect bytes(b) + bytes(a)"),
    (SPECIALIZED, "expect bytes(a) + bytes(b)", "expect bytes(a) + bytes(b) + 1", "+expect bytes(a) + bytes(b)"),
    (
        BLACKWELL,
        "expect bytes(a) + bytes(b)",
        "expect bytes(b)",
        "+expect bytes(b) + bytes(a)|+expect bytes(b) + bytes(b)",
    ),
    (
        BLACKWELL,
        "expect bytes(a) + bytes(b)",
        "expect bytes(a) + bytes(b) + bytes(a)",
        "+expect bytes(a) + bytes(b)|+expect bytes(b) + bytes(a)",
    ),
    (CLUSTER, "expect bytes(a) + bytes(b)", "expect bytes(a)", "+expect bytes(a) + bytes"),
    (PINGPONG, "expect bytes(a) + bytes(b)", "expect bytes(a)", "+expect bytes(a) + bytes"),
    // A missing wait.
    (SPECIALIZED, FULL, "", "+wait full[i % stages] for i / stages"),
    (SPECIALIZED, EMPTY, "", "+wait empty[i % stages] for i / stages - 1"),
    (BLACKWELL, FULL, "", "+wait full[i % stages] for i / stages"),
    (BLACKWELL, EMPTY, "", "+wait empty[i % stages] for i / stages - 1"),
    (CLUSTER, FULL, "", "+wait full[i % stages] for i / stages"),
    (PINGPONG, "          wait full[it % stages] for it / stages\n", "", "+wait full[it % stages] for it / stages"),
    (SPECIALIZED, "      wait wgmma <= 1  // tile i - 1 is read\n", "", "+wait wgmma <= "),
    (BLACKWELL, "-> r;  wait tmem.ld <= 0", "-> r", "+wait tmem.ld <= 0"),
    (MULTISTAGE, "    wait cp <= stages - 2;  barrier\n    lds", "    barrier\n    lds", "+wait cp <= "),
    (BLACKWELL, "    wait done for 0\n", "", "+wait done for 0"),
    // A missing fence.
    (SPECIALIZED, "      wgmma.fence\n", "", "+wgmma.fence"),
    (SPECIALIZED, ";  fence mbarrier_init", "", "+fence mbarrier_init"),
    (BLACKWELL, ";  fence mbarrier_init", "", "+fence mbarrier_init"),
    (PINGPONG, ";  fence mbarrier_init", "", "+fence mbarrier_init"),
    (CP_WGMMA, "        if fence: fence async\n", "", "+fence async"),
    (CLUSTER, "      wgmma.fence\n", "", "+wgmma.fence"),
    // A wrong count.
    (SPECIALIZED, "mbar empty[stages] (8)", "mbar empty[stages] (2)", "+mbar empty[stages] (8)|+once"),
    (
        SPECIALIZED,
        "mbar empty[stages] (8)",
        "mbar empty[stages] (256)",
        "+mbar empty[stages] (8)|+arrive empty[(i - 1) % stages]",
    ),
    (SPECIALIZED, "mbar full[stages] (1)", "mbar full[stages] (2)", "+mbar full[stages] (1)"),
    (BLACKWELL, "mbar full[stages] (1)", "mbar full[stages] (2)", "+mbar full[stages] (1)"),
    (PINGPONG, "mbar empty[stages] (4)", "mbar empty[stages] (8)", "+mbar empty[stages] (4)"),
    (CLUSTER, "mbar empty[stages] (4)", "mbar empty[stages] (2)", "+mbar empty[stages] (4)"),
    // Swapped phases.
    (SPECIALIZED, EMPTY, "wait empty[i % stages] for i / stages", "+wait empty[i % stages] for i / stages - 1"),
    (SPECIALIZED, FULL, "      wait full[i % stages] for i / stages - 1\n", "+wait full[i % stages] for i / stages"),
    (BLACKWELL, EMPTY, "wait empty[i % stages] for i / stages", "+wait empty[i % stages] for i / stages - 1"),
    (BLACKWELL, FULL, "      wait full[i % stages] for i / stages - 1\n", "+wait full[i % stages] for i / stages"),
    (
        PINGPONG,
        "wait empty[it % stages] for it / stages - 1",
        "wait empty[it % stages] for it / stages",
        "+for it / stages - 1",
    ),
    (BLACKWELL, "wait done for 0", "wait done for 1", "+wait done for 0"),
    // A missing commit.
    (SPECIALIZED, "      commit wgmma\n", "", "+commit wgmma"),
    (CLUSTER, "      commit wgmma\n", "", "+commit wgmma"),
    (PINGPONG, "          commit wgmma\n", "", "+commit wgmma"),
    (CP_WGMMA, "        commit wgmma\n", "", "+commit wgmma"),
    // An early exit.
    (SPECIALIZED, FULL, "      if i == 3: exit\n      wait full[i % stages] for i / stages\n", "-exit"),
    (BLACKWELL, FULL, "      if i == 2: exit\n      wait full[i % stages] for i / stages\n", "-exit"),
    (
        "metal/double_buffer",
        "      barrier  // the next",
        "      if i == 1: warp 3: exit\n      barrier  // the next",
        "-exit",
    ),
];

/// Kernels of the other families: `cp.async`, `vmcnt`, Metal, and counters in global memory.
pub(super) const OTHERS: [Case; 53] = [
    // A missing wait.
    (AMPERE, "      wait cp <= stages - 2  // own copies of tile i\n", "", "+wait cp <= "),
    (
        CDNA,
        "      wait vm <= (more ? q : 0);  barrier  // step i has landed, from every wave\n",
        "      barrier\n",
        "+wait vm <= ",
    ),
    (CDNA, "      wait lgkm <= 0;  barrier  // step i is read, by every wave\n", "      barrier\n", "+wait lgkm <= 0"),
    (CDNA_ROLES, "        wait lgkm <= 0\n", "", "+wait lgkm <= 0"),
    (CDNA_ROLES, "        wait vm <= (next < tiles ? (ahead - 1) * q : 0)\n", "", "+wait vm <= 0"),
    (DEEPGEMM, "      wait full[i % stages] for i / stages\n", "", "+wait full[i % stages] for i / stages"),
    (DEEPGEMM, "      wait empty[i % stages] for i / stages - 1\n", "", "+wait empty[i % stages] for i / stages - 1"),
    // A missing barrier.
    (AMPERE, "      barrier                // copies of all warps\n", "", "+barrier"),
    (
        CDNA,
        "      wait vm <= (more ? q : 0);  barrier  // step i has landed, from every wave\n",
        "      wait vm <= (more ? q : 0)\n",
        "+barrier",
    ),
    (CDNA, "      wait lgkm <= 0;  barrier  // step i is read, by every wave\n", "      wait lgkm <= 0\n", "+barrier"),
    (CDNA_ROLES, "      barrier  // step i + 1 has landed, step i is read\n", "", "+barrier"),
    (CDNA_ROLES, "    barrier  // step 0 has landed\n", "", "+barrier"),
    (METAL_ROLES, "      barrier  // the loads of step i end here, however many slots there are\n", "", "+barrier"),
    (METAL, "      barrier  // the next tile is written, this one is read\n", "", "+barrier"),
    (METAL, "    barrier\n    for i", "    for i", "+barrier"),
    (ROPE, "      barrier  // line 725\n", "", "+barrier"),
    (ROPE, "    barrier  // line 752: columns are written, rows are read\n", "", "+barrier"),
    (FUSED, "        barrier  // line 492\n", "", "+barrier"),
    (FUSED, "        barrier  // line 533: h and w are read\n", "", "+barrier"),
    (FUSED, "      barrier  // line 575\n", "", "+barrier"),
    (SEMAPHORE, "    barrier\n    warp 0: elect: st", "    warp 0: elect: st", "+barrier"),
    (SEMAPHORE, "acquire gpu\n      barrier\n", "acquire gpu\n", "+barrier"),
    (STREAMK, "        barrier\n        warp 0: elect: red", "        warp 0: elect: red", "+barrier"),
    // A barrier without memory, and a weak memory order.
    (METAL, "      barrier  // the next tile", "      barrier none  // the next tile", "+barrier"),
    (SEMAPHORE, " release gpu", " relaxed gpu", "+release"),
    (SEMAPHORE, " acquire gpu", " relaxed gpu", "+acquire"),
    (STREAMK, "1 release gpu", "1 relaxed gpu", "+release"),
    // A wrong number of open groups.
    (AMPERE, "wait cp <= stages - 2", "wait cp <= stages - 1", "+wait cp <= stages - 2"),
    (CDNA, "wait vm <= (more ? q : 0)", "wait vm <= q", "+wait vm <= "),
    // A missing commit.
    (AMPERE, "      commit cp  // an empty group counts\n", "", "+commit cp"),
    (AMPERE, "b[next % stages]\n      commit cp\n", "b[next % stages]\n", "+commit cp"),
    // A missing `arrive expect`, and wrong bytes.
    (
        DEEPGEMM,
        "      arrive full[i % stages] expect bytes(a) + bytes(sfa) + bytes(b)\n",
        "",
        "+arrive full[i % stages] expect",
    ),
    (DEEPGEMM, "bytes(a) + bytes(sfa) + bytes(b)", "bytes(a) + bytes(b)", "+bytes(sfa)"),
    // A wrong count.
    (ORDERED, "(128)", "(1)", "+(128)|+once"),
    (DEEPGEMM, "mbar empty[stages] (16)", "mbar empty[stages] (8)", "+(16)"),
    (DEEPGEMM, "per warp cluster", "cluster", "+per warp"),
    // Swapped phases.
    (ORDERED, "for i / depth - 1 + self", "for i / depth + self", "+for i / depth + self - 1"),
    // An early exit.
    (
        DEEPGEMM,
        "      wait full[i % stages] for i / stages\n",
        "      if i == 3: exit\n      wait full[i % stages] for i / stages\n",
        "-exit",
    ),
    (METAL_ROLES, "      barrier  // the loads", "      if i == 1: warp 3: exit\n      barrier  // the loads", "-exit"),
    (CDNA, "      wait lgkm <= 0;  barrier", "      if i == 1: warp 3: exit\n      wait lgkm <= 0;  barrier", "-exit"),
    (
        AMPERE,
        "      barrier                // copies",
        "      if i == 1: warp 5: exit\n      barrier                // copies",
        "-exit",
    ),
    // A prologue or a prefetch without its guard.
    (AMPERE, "      if next < tiles: cp A", "      cp A", "+if next < tiles"),
    (METAL_AHEAD, "0..min(ahead, tiles): load", "0..ahead: load", "+min(ahead, tiles)|+if j < tiles"),
    (PREFETCH, "      if i + 1 < tiles: ldg A", "      ldg A", "+if i + 1 < tiles"),
    // Tensor memory that is never freed.
    (BLACKWELL, "  all:\n    barrier\n    warp 0: tmem.dealloc acc\n", "", "+warp 0: tmem.dealloc acc"),
    (BLACKWELL, "    barrier\n    warp 0: tmem.dealloc", "    warp 0: tmem.dealloc", "+barrier"),
    // Rows of tensor memory by the index of a warp in its role, and not by its number.
    (BLACKWELL, "role part[4] = warps 4..8", "role part[4] = warps 3..7", "+tmem.ld acc.rows(warp % 4, 4)"),
    // An mbarrier without `init`, and no barrier behind it.
    (SPECIALIZED, "init full, empty", "init full", "+init full, empty"),
    (SPECIALIZED, "init full, empty", "init full, empty[0], empty[1], empty[3]", "empty[3], empty[2]"),
    (SPECIALIZED, "mbarrier_init\n    barrier\n", "mbarrier_init\n", "+barrier"),
    // Another slot.
    (SPECIALIZED, "-> a[i % stages]", "-> a[(i + 1) % stages]", "+-> a[i % stages]"),
    (CLUSTER, "a[i % stages] signals full[i", "a[i % stages] signals full[(i + 1)", "+signals full[i % stages]"),
    (AMPERE, "lds a[i % stages]", "lds a[0]", "+lds a[i % stages]"),
];
