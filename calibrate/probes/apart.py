"""How far apart in time the CTAs of a first wave ask for the lines that they share.

Emits kernels with `warpline emit`, as they are and without what each CTA draws for its prologue, has a thread of each CTA note when
it loads its part of A, step by step, and sums up CTAs of one group of SMs that read the same rows, and the same columns. Needs nvcc
and a device of sm_90a.

    python3 apart.py path/to/warpline > ../data/h200_apart.csv
"""
import collections
import itertools
import json
import re
import statistics
import sys
import tempfile

from emitted import SMS, build, emit, tile, time

LAUNCHES = 5
STEPS = 64
# SMs that a launch fills one after the other and that are near each other (h200_order.txt).
GROUP = 16
# Scenario, settings, CTAs on an SM, rows and columns of CTAs; their order is in groups of eight rows. All of them are in `train`.
KERNELS = [
    ("hopper/tma_wgmma", "stages=3", 2, 32, 32),
    ("hopper/tma_wgmma", "stages=4", 1, 32, 32),
    ("hopper/cp_async_wgmma", "stages=3", 2, 32, 32),
    ("hopper/cp_async_wgmma", "stages=4", 1, 32, 32),
    ("hopper/tma_warp_specialized", "stages=4", 1, 32, 16),
]
DRAW = re.compile(r"wl::busy\((\d+) \+ wl::mix\(cta \+ 1\) % (\d+)u\);")


def built(warpline, scenario, settings, draws, folder):
    text = emit(warpline, scenario, f"m=4096 n=4096 k=4096 {settings}", folder)
    drawn = DRAW.search(text)
    if drawn and not draws:
        text = DRAW.sub(lambda m: f"wl::busy({int(m[1]) + int(m[2]) // 2});", text)
    text, there = re.subn(
        r"(// \d+: (?:tma|cp) A\[[^\n]*\n\s*\{)",
        rf"\1 if (threadIdx.x == 0) {{ if (noted < {STEPS}) noted_at[cta * {STEPS} + noted] = wl::nanoseconds(); noted++; }}",
        text,
    )
    begin = "wl::Agent a(common, cta, rank, warp, lane);"
    dump = 'fprintf(f, "cta,begin_ns,end_ns,cycles\\n");'
    assert there >= 1 and text.count(begin) >= 1 and text.count(dump) == 1, "the harness has changed"
    text = text.replace(begin, begin + " int noted = 0;")
    text = text.replace(
        dump,
        f"static u64 noted[4096 * {STEPS}]; WL_CHECK(cudaMemcpyFromSymbol(noted, noted_at, sizeof noted));"
        f' for (int c = 0; c < CTAS; c++) for (int s = 0; s < {STEPS}; s++) fprintf(f, "%llu%c", noted[c * {STEPS} + s], s < {STEPS - 1} ? \',\' : \'\\n\');'
        " fclose(f); return 0;",
    )
    # Before the kernel, behind the last include.
    at = text.index("\n", text.rindex("#include")) + 1
    text = text[:at] + f"__device__ unsigned long long noted_at[4096 * {STEPS}];\n" + text[at:]
    return build(text, folder), int(drawn[2]) - 1 if drawn and draws else 0


def apart(at, each, rows, columns, mhz):
    """Of sets of CTAs of a group of SMs that read the same rows (0), or the same columns (1), and at a step: how many a set has on
    average, how wide it is (of what is spread evenly, by its standard deviation), and what share of pairs is within 75 cycles."""
    for side in (0, 1):
        sets = collections.defaultdict(list)
        for cta in range(min(len(at), SMS * each)):
            sets[cta % SMS // GROUP, tile(cta, rows, columns)[side]].append(cta)
        sets = [s for s in sets.values() if len(s) > 1]
        for first in range(0, STEPS, 16):
            wide, near = [], []
            for some, step in itertools.product(sets, range(first, first + 16)):
                times = [(at[c][step] - at[some[0]][step]) * mhz / 1000 for c in some]
                wide.append(12**0.5 * statistics.stdev(times))
                near += [abs(a - b) < 75 for a, b in itertools.combinations(times, 2)]
            yield "rows columns".split()[side], first, statistics.mean(map(len, sets)), statistics.median(wide), statistics.mean(near)


def main():
    print(f"# H200, 4096 x 4096 x 4096, {LAUNCHES} launches with cold caches, first waves; medians over launches; in cycles; drawn: up to so many")
    print("kernel,drawn,same,steps_from,ctas,wide,within_75")
    for (scenario, settings, each, rows, columns), draws in itertools.product(KERNELS, (False, True)):
        with tempfile.TemporaryDirectory() as folder:
            program, drawn = built(sys.argv[1], scenario, settings, draws, folder)
            if draws and not drawn:
                continue
            seen = collections.defaultdict(list)
            for launch in range(1, LAUNCHES + 1):
                said, lines = time(program, launch, folder)
                at = [list(map(int, line.split(","))) for line in lines]
                for *key, ctas, wide, near in apart(at, each, rows, columns, json.loads(said.splitlines()[0])["mhz"]):
                    seen[tuple(key)].append((ctas, wide, near))
            for key, got in seen.items():
                ctas, wide, near = (statistics.median(v) for v in zip(*got))
                print(f"{scenario} {settings},{drawn}", *key, f"{ctas:.1f},{wide:.0f},{near:.2f}", sep=",")


main()
