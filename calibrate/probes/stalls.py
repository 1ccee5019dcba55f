"""Runs recorded kernels once each, for the profiler: why warps wait, what L2 and L1 do.

    python3 loops.py DATA DIR > /dev/null          # the cubins
    ncu --clock-control none --cache-control all -k regex:^k_ --csv --page raw --section WarpStateStats --metrics M \\
        python3 stalls.py DATA DIR LOG PATTERN > ncu.csv

M: sm__cycles_elapsed.max, sm__cycles_active.min, .avg, .max, smsp__inst_executed.sum, smsp__issue_active.sum,
l1tex__m_xbar2l1tex_read_bytes.sum, lts__t_sectors_srcunit_tex.sum, lts__t_sector_hit_rate.pct, lts__cycles_elapsed.avg, lts__t_sectors.avg,
.max, l1tex__t_sector_hit_rate.pct, dram__bytes_read.sum, dram__bytes_write.sum, gpu__time_duration.sum. Kernels with tensor maps are left
out. LOG has the list and the name of each launch, in order. Data: ../data/h100_stalls.csv, whose reasons are shares of their sum.
The counters of ../data/h100_lookups.csv are named in its first line.
"""

import json
import re
import sys

import cupy
import numpy

pool = {}


def array(i, shape, dtype):
    """An array for parameter `i`, shared by all kernels."""
    halves = int(numpy.prod(shape)) * (2 if dtype in ("float32", "int32") else 1)
    if i not in pool or pool[i].size < halves:
        pool[i] = None
        pool[i] = cupy.random.standard_normal(halves, dtype=cupy.float32).astype(cupy.float16)
    return pool[i]


def value(i, a):
    """A parameter as the kernel gets it."""
    if isinstance(a, dict):
        return array(i, a["ptr"], a["dtype"])
    return numpy.uint64(0) if a is None else numpy.float32(a) if isinstance(a, float) else numpy.int32(a)


def launched(kernel, row):
    """Launches a kernel as its row says, and waits for its end."""
    launch, warps = row["launch"], int(re.search(r"_w(\d+)", row["name"])[1])
    kernel.max_dynamic_shared_size_bytes = launch["shared"]
    args = tuple(value(i, a) for i, a in enumerate(launch["args"]))
    kernel(tuple(launch["grid"]), (32 * warps, 1, 1), args, shared_mem=launch["shared"])
    cupy.cuda.Device().synchronize()


def rows(data):
    """The rows of the recorded lists whose kernels have no tensor maps, with the name of the list."""
    for name in ["h100_kernels", "h100_kernels_second", "h100_kernels_waves"]:
        for line in open(f"{data}/{name}/rows.jsonl"):
            row = json.loads(line)
            if not any(isinstance(a, dict) and "desc" in a for a in row["launch"]["args"]):
                yield name, row


def main():
    data, folder, log, pattern = sys.argv[1:5]
    with open(log, "w") as out:
        for name, row in rows(data):
            if re.search(pattern, row["name"]):
                launched(cupy.RawModule(path=f"{folder}/{row['name']}.cubin").get_function(row["kernel"]), row)
                print(name, row["name"], file=out, flush=True)


if __name__ == "__main__":
    main()
