"""Where a launch's CTAs run: which of a TPC's two SMs' CTAs share a tile, and which of a last wave's share a core.

Emits kernels with `warpline emit`, adds the SM's number to what they note of each CTA, times them with cold caches and sums up
what --ctas gives, launch by launch and wave by wave. Needs nvcc and a device of sm_90a.

    python3 places.py path/to/warpline > ../data/h200_places.csv
"""
import collections
import csv
import statistics
import sys
import tempfile

from emitted import SMS, build, emit, tile, time

LAUNCHES = 4
# Scenario, settings, CTAs on an SM, rows and columns of CTAs; their order is in groups of eight rows.
KERNELS = [
    ("hopper/tma_wgmma", "m=3072 n=3072 k=3072", 2, 24, 24),
    ("hopper/cp_async_wgmma", "m=3072 n=3072 k=3072", 2, 24, 24),
    ("hopper/tma_warp_specialized", "m=4096 n=4096 k=4096 tile_n=128 stages=6", 1, 32, 32),
]


def built(warpline, scenario, settings, folder):
    text = emit(warpline, scenario, settings, folder)
    # The last eight bits of the first tick become the SM's number.
    begin = "t[0] = wl::ticks(), t[1]"
    noted = "{ unsigned sm; asm volatile(\"mov.u32 %0, %%smid;\" : \"=r\"(sm)); t[0] = (wl::ticks() & ~255ull) | sm; } t[1]"
    row = 'fprintf(f, "%d,%llu,%llu,%llu\\n", c, t[1] - first, t[3] - first, t[2] - t[0]);'
    more = 'fprintf(f, "%d,%llu,%llu,%llu,%llu\\n", c, t[1] - first, t[3] - first, t[2] - t[0], t[0] & 255);'
    assert text.count(begin) == 1 and text.count(row) == 1, "the harness has changed"
    return build(text.replace(begin, noted).replace(row, more), folder)


def waves(ctas, each, rows, columns):
    """Of each wave: CTAs; shares with a CTA on the TPC's other SM that reads the same rows, or the same columns, halfway; CTAs of
    the wave with another of it on their SM; when the first and the second of an SM's CTAs end; their cycles."""
    on = collections.defaultdict(list)
    for c, (begin, end, _, sm) in ctas.items():
        on[sm].append((begin, end, c))
    size = SMS * each
    for first in range(0, len(ctas), size):
        wave = range(first, min(first + size, len(ctas)))
        same = [0, 0]
        for c in wave:
            begin, end, _, sm = ctas[c]
            there = [tile(d, rows, columns) for b, e, d in on[sm ^ 1] if b <= (begin + end) / 2 <= e]
            for i in (0, 1):
                same[i] += any(t[i] == tile(c, rows, columns)[i] for t in there)
        per = collections.Counter(ctas[c][3] for c in wave)
        ends = collections.defaultdict(list)
        for c in wave:
            ends[ctas[c][3]].append(ctas[c][1])
        early = sorted(min(e) for e in ends.values())
        apart = [max(e) - min(e) for e in ends.values() if len(e) > 1]
        cycles = sorted(ctas[c][2] for c in wave)
        n = len(wave)
        yield (first // size, n, f"{same[0] / n:.2f}", f"{same[1] / n:.2f}", sum(k for k in per.values() if k > 1), early[len(early) // 10],
               early[len(early) * 9 // 10], round(statistics.median(apart)) if apart else "", cycles[n // 10], cycles[n // 2], cycles[n * 9 // 10])


def main():
    print("# H200, launches with cold caches; ns from the first CTA's begin; cycles within 256")
    print("kernel,launch,wave,ctas,rows_next_door,columns_next_door,sharing_an_sm,sms_first_end_p10,p90,second_end_later,cycles_p10,median,p90")
    for scenario, settings, each, rows, columns in KERNELS:
        with tempfile.TemporaryDirectory() as folder:
            program = built(sys.argv[1], scenario, settings, folder)
            for launch in range(1, LAUNCHES + 1):
                _, lines = time(program, launch, folder)
                ctas = {int(r[0]): tuple(map(int, r[1:])) for r in csv.reader(lines[1:])}
                for row in waves(ctas, each, rows, columns):
                    print(f"{scenario} {settings},{launch}", *row, sep=",")


main()
