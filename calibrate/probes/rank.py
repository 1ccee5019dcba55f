"""Times twelve configurations of each of forty products, for rankings: launches with a cold L2, in microseconds.

    python3 rank.py DIR    # writes DIR/rows.jsonl, DIR/cost.json and DIR/ptx

calibrate/data/h100_rank has what one H100 gave, for `warpline validate --rows`. Times are of CUDA events, so they contain the launch. The twelve configurations of
a product take turns, so that a clock that changes meets all of them. `us` is the median, `low` and `high` are the quartiles.
DIR/cost.json has what Triton's way of tuning takes: seconds to compile the configurations, and to time those of one product.
"""

import json
import os
import sys
import time

import torch
import triton

out = sys.argv[1]
sys.argv = [sys.argv[0], "rank"]
from kernels import flattened, product  # noqa: E402

ROUNDS = 41
PROBLEMS = [(4096, 4096, 4096), (2048, 2048, 2048), (8192, 1024, 4096), (1024, 8192, 2048), (512, 4096, 8192)]
PROBLEMS += [(6144, 3072, 1536), (4096, 1024, 8192), (2048, 6144, 3072), (8192, 8192, 1024), (1536, 1536, 6144)]
# The second half, never used to develop the model.
PROBLEMS += [(3072, 3072, 3072), (1024, 1024, 4096), (5120, 2560, 5120), (2048, 8192, 8192), (256, 8192, 4096)]
PROBLEMS += [(4096, 14336, 1024), (12288, 1536, 2048), (768, 3072, 3072), (7168, 2048, 7168), (4096, 4096, 512)]
CONFIGURATIONS = [(128, 128, 64, 4, s) for s in (2, 3, 4)] + [(128, 256, 64, 8, s) for s in (2, 3)]
CONFIGURATIONS += [(64, 128, 64, 4, 3), (64, 128, 64, 4, 4), (128, 64, 64, 4, 3), (64, 64, 64, 4, 4), (128, 128, 32, 4, 4)]
CONFIGURATIONS += [(64, 256, 64, 4, 3), (128, 128, 64, 8, 3)]


def once(launch, flush):
    flush.zero_()
    begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
    begin.record()
    launch()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e3


def main():
    os.makedirs(out + "/ptx", exist_ok=True)
    flush = torch.empty(64 << 20, dtype=torch.int32, device="cuda")
    cost = {"compile_s": 0.0, "bench_s": None, "compiled": 0}
    texts = {}
    with open(out + "/rows.jsonl", "w") as log:
        for kind in ("gemm", "tma"):
            for m, n, k in PROBLEMS:
                rows, launches = [], []
                for config in CONFIGURATIONS:
                    _, kernel, grid, args, meta = product(kind, m, n, k, *config)
                    begin = time.perf_counter()
                    compiled = kernel[grid](*args, **meta)
                    torch.cuda.synchronize()
                    name = f"{kind}_{config[0]}x{config[1]}x{config[2]}_w{config[3]}_s{config[4]}"
                    if name not in texts:
                        cost["compile_s"] += time.perf_counter() - begin
                        cost["compiled"] += 1
                        texts[name] = compiled.asm["ptx"]
                        with open(f"{out}/ptx/{name}.ptx", "w") as f:
                            f.write(texts[name])
                    # One text serves all sizes.
                    assert texts[name] == compiled.asm["ptx"], name
                    launch = {"grid": [*grid, 1, 1][:3], "args": flattened(args), "shared": compiled.metadata.shared, "regs": compiled.n_regs}
                    rows.append({"name": name, "problem": f"{kind} {m}x{n}x{k}", "launch": launch, "times": []})
                    launches.append(lambda kernel=kernel, grid=grid, args=args, meta=meta: kernel[grid](*args, **meta))
                if cost["bench_s"] is None:
                    begin = time.perf_counter()
                    for launch in launches:
                        triton.testing.do_bench(launch)
                    cost["bench_s"] = time.perf_counter() - begin
                for _ in range(ROUNDS):
                    for row, launch in zip(rows, launches):
                        row["times"].append(once(launch, flush))
                for row in rows:
                    times = sorted(row.pop("times"))
                    row |= {"us": times[ROUNDS // 2], "low": times[ROUNDS // 4], "high": times[3 * ROUNDS // 4]}
                    log.write(json.dumps(row) + "\n")
                log.flush()
    with open(out + "/cost.json", "w") as f:
        json.dump(cost, f)


if __name__ == "__main__":
    main()
