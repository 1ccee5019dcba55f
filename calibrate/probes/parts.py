"""What the parts of a compiled product take: its copies without its products, and its products without its copies.

    python3 parts.py build DATA PTXAS DIR   # DATA: calibrate/data; assembles the products of the recorded lists, whole and in part, into DIR
    ncu --clock-control none --cache-control all -k regex:^k_ --csv --page raw --metrics M python3 parts.py run DIR 1 LOG

M is sm__cycles_elapsed.max, gpu__time_duration.sum, lts__cycles_elapsed.avg, lts__t_sectors_srcunit_tex.sum,
lts__t_sectors_srcunit_ltcfabric.sum, lts__lts2xbar_cycles_active.sum, l1tex__m_xbar2l1tex_read_bytes.sum. With warm caches:
--cache-control none, three launches, of which the last counts. The variants are `a` (whole), `b` (without wgmma) and `c` (without
loads and copies of global memory). Data: ../data/h100_parts.csv. ptxas removes addresses that nothing needs, so `c` is a lower bound.
"""

import gzip
import json
import os
import re
import subprocess
import sys

LISTS = ["h100_kernels", "h100_kernels_second", "h100_kernels_waves"]


def build(data, ptxas, folder):
    rows = []
    for name in LISTS:
        for line in open(f"{data}/{name}/rows.jsonl"):
            row = json.loads(line)
            if row["name"].split("_")[0] not in ("gemm", "plain", "split", "batched"):
                continue
            text = gzip.open(f"{data}/{name}/{row['name']}.ptx.gz", "rt").read()
            texts = {
                "a": text,
                "b": re.sub(r"(?m)^\s*wgmma\.mma_async.*\n", "", text),
                "c": re.sub(r"(?m)^.*(cp\.async\.c[ga]\.shared\.global|ld\.global).*\n", "", text),
            }
            for variant, text in texts.items():
                with open(f"{folder}/part.ptx", "w") as f:
                    f.write(text)
                subprocess.run([ptxas, "-arch=sm_90a", f"{folder}/part.ptx", "-o", f"{folder}/{row['name']}.{variant}.cubin"], check=True)
            row["threads"] = 32 * int(re.search(r"_w(\d+)_", row["name"])[1])
            rows.append(row)
    with open(f"{folder}/rows.json", "w") as f:
        json.dump(rows, f)


def run(folder, times, log):
    import cupy
    from stalls import value

    with open(log, "w") as out:
        for row in json.load(open(f"{folder}/rows.json")):
            for variant in "abc":
                kernel = cupy.RawModule(path=f"{folder}/{row['name']}.{variant}.cubin").get_function(row["kernel"])
                launch = row["launch"]
                kernel.max_dynamic_shared_size_bytes = launch["shared"]
                args = tuple(value(i, a) for i, a in enumerate(launch["args"]))
                for t in range(times):
                    kernel(tuple(launch["grid"]), (row["threads"], 1, 1), args, shared_mem=launch["shared"])
                    cupy.cuda.Device().synchronize()
                    print(row["name"], variant, t, file=out, flush=True)


if sys.argv[1] == "build":
    os.makedirs(sys.argv[4], exist_ok=True)
    build(*sys.argv[2:5])
else:
    run(sys.argv[2], int(sys.argv[3]), sys.argv[4])
