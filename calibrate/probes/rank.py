"""Times twelve configurations of each of twenty products, for rankings: median of nine launches with a cold L2, in microseconds.

    python3 rank.py DIR    # writes DIR/rank.jsonl and DIR/ptx

calibrate/data/h100_rank.jsonl has what one H100 gave. Times are of CUDA events, so they contain the launch.
"""

import json
import os
import sys

import torch

out = sys.argv[1]
sys.argv = [sys.argv[0], "rank"]
from kernels import flattened, product  # noqa: E402

PROBLEMS = [(4096, 4096, 4096), (2048, 2048, 2048), (8192, 1024, 4096), (1024, 8192, 2048), (512, 4096, 8192)]
PROBLEMS += [(6144, 3072, 1536), (4096, 1024, 8192), (2048, 6144, 3072), (8192, 8192, 1024), (1536, 1536, 6144)]
CONFIGURATIONS = [(128, 128, 64, 4, s) for s in (2, 3, 4)] + [(128, 256, 64, 8, s) for s in (2, 3)]
CONFIGURATIONS += [(64, 128, 64, 4, 3), (64, 128, 64, 4, 4), (128, 64, 64, 4, 3), (64, 64, 64, 4, 4), (128, 128, 32, 4, 4)]
CONFIGURATIONS += [(64, 256, 64, 4, 3), (128, 128, 64, 8, 3)]


def timed(launch, flush):
    times = []
    for _ in range(9):
        flush.zero_()
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        launch()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return sorted(times)


def main():
    os.makedirs(out + "/ptx", exist_ok=True)
    flush = torch.empty(64 << 20, dtype=torch.int32, device="cuda")
    with open(out + "/rank.jsonl", "w") as log:
        for kind in ("gemm", "tma"):
            for m, n, k in PROBLEMS:
                for config in CONFIGURATIONS:
                    label, kernel, grid, args, meta = product(kind, m, n, k, *config)
                    compiled = kernel[grid](*args, **meta)
                    times = timed(lambda: kernel[grid](*args, **meta), flush)
                    with open(f"{out}/ptx/{label}.ptx", "w") as f:
                        f.write(compiled.asm["ptx"])
                    launch = {"grid": [*grid, 1, 1][:3], "args": flattened(args), "shared": compiled.metadata.shared, "regs": compiled.n_regs}
                    row = {"name": label, "problem": [kind, m, n, k], "us": times[4], "low": times[0], "high": times[-1], "launch": launch}
                    log.write(json.dumps(row) + "\n")


main()
