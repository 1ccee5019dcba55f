"""What the way in which a wait gives up costs a kernel that never does.

    python3 calibrate/probes/waits.py WARPLINE FOLDER      # writes FOLDER/<kernel>.<variant>.cu
    nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o x x.cu && ./x --time 15 --cold --real --no-reference

One kernel in six ways that differ in one function, `wl::wait`:

    clock   each try that fails reads %globaltimer; past the deadline a function writes who waits, and traps
    clock64 every 64th does
    tries   the tries are counted, else the same
    none    no deadline
    stores  the tries are counted, and predicated stores end the kernel
    emitted as it is emitted: each try that fails reads %globaltimer, and predicated stores end the kernel

calibrate/data/h200_waits.csv is what one H200 gave on 2026-11-23, each row the median of 15 launches with cold caches (`us` by events,
`span_ns` from the first CTA's begin to the last one's end). The kernels were patched as here, from what was emitted then; calls
are machines asked for anew. `timed` of call 7 is `emitted`, each try given a millisecond to sleep; `emitted` itself was timed as the last column of
h200_descriptors.csv, whose columns before it are `timed` with the descriptors of wgmma as they were, and as they are. h200_turnover.csv has when CTAs of one launch began, met, had their first tile, had multiplied, had
stored and ended, by their cores' clocks: median, least and most over the CTAs of a wave, the gap from one's end to the next one's begin.
"""

import pathlib
import re
import subprocess
import sys

KERNELS = {
    "tma_warp_specialized.d": ("hopper/tma_warp_specialized", "m=4096 n=4096 k=512"),
    "tma_warp_specialized.a": ("hopper/tma_warp_specialized", "m=8192 n=4096 k=2048"),
    "tma_warp_specialized.s3": ("hopper/tma_warp_specialized", "m=4096 n=4096 k=4096 stages=3"),
    "tma_warp_specialized.128x128x6": ("hopper/tma_warp_specialized", "m=4096 n=4096 k=4096 tile_n=128 stages=6"),
    "persistent.a": ("hopper/persistent", "m=8192 n=4096 k=2048"),
    "pingpong.a": ("hopper/pingpong", "m=8192 n=4096 k=2048"),
    "tma_wgmma.d": ("hopper/tma_wgmma", "m=4096 n=4096 k=512"),
}

GIVE_UP = """__device__ __forceinline__ void give_up(const Agent& a, u32 pc, u32 bar, u32 parity) {
    u32 i = atomicAdd_system(&a.common.report->done, 0x100u);
    volatile Wait* w = &a.common.report->waits[i % LATE];
    w->phase = pc * 2 + 2 + parity, w->cta = a.cta, w->thread_bar = bar << 16 | threadIdx.x, w->when = 0;
    __threadfence_system();
    u64 t = nanoseconds();
    while (nanoseconds() - t < 2000000) {
    }
    asm volatile("trap;");
}
"""
HEAD = "    u32 parity = phase & 1, tries = 0;\n"
CLOCK = """    if (try_wait<CLUSTER>(bar, parity)) return;
    u64 t = nanoseconds();
    while (!try_wait<CLUSTER>(bar, parity))
        if (nanoseconds() - t > a.common.deadline_ns) give_up(a, pc, index, parity);
"""
CLOCK64 = """    if (try_wait<CLUSTER>(bar, parity)) return;
    u64 since = 0;
    for (tries = 1; !try_wait<CLUSTER>(bar, parity); tries++)
        if (tries % 64 == 0) {
            u64 now = nanoseconds();
            if (!since) since = now;
            if (now - since > a.common.deadline_ns) give_up(a, pc, index, parity);
        }
"""
TRIES = """    for (; tries < 1u << 20; tries++)
        if (try_wait<CLUSTER>(bar, parity)) return;
    give_up(a, pc, index, parity);
"""
STORES = """    while (!try_wait<CLUSTER>(bar, parity)) {
        Wait* w = a.common.report->waits + (a.cta * blockDim.x + threadIdx.x) % LATE;
        asm volatile("{ .reg .pred q; .reg .u32 t; setp.eq.u32 q, %0, %1; @q mov.u32 t, %%globaltimer_lo;"
                     " @q st.volatile.global.v4.u32 [%2], {%3, %4, %5, t};"
                     " add.u32 t, %1, 2; setp.eq.u32 q, %0, t; @q st.volatile.global.u32 [%6], t; }"
                     ::"r"(++tries), "r"(a.common.deadline_ns), "l"(w), "r"(pc * 2 + 2 + parity), "r"(a.cta),
                     "r"(index << 16 | threadIdx.x), "l"(0ull) : "memory");
    }
"""
NONE = """    while (!try_wait<CLUSTER>(bar, parity)) {
    }
"""


def main(warpline, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (scenario, values) in KERNELS.items():
        file = folder / f"{name}.emitted.cu"
        sets = [word for v in values.split() for word in ("--set", v)]
        subprocess.run([warpline, "emit", scenario, "--target", "cuda", "-o", str(file), *sets], check=True)
        text = file.read_text()
        loop = re.search(r"    u32 parity = [^\n]*\n    while \(!try_wait<CLUSTER>\(bar, parity\)\) late\([^\n]*\n", text)[0]
        # As they were timed: how long a try may sleep is said where tries are counted for milliseconds.
        head = text.replace("%2, 1000000; selp", "%2; selp").replace("// Past the deadline says who waits", GIVE_UP + "// Past the deadline says who waits", 1)
        for variant, with_ in (("clock", CLOCK), ("clock64", CLOCK64), ("tries", TRIES), ("none", NONE)):
            (folder / f"{name}.{variant}.cu").write_text(head.replace(loop, HEAD + with_))
        (folder / f"{name}.stores.cu").write_text(text.replace(loop, HEAD + STORES))


if __name__ == "__main__":
    main(*sys.argv[1:])
