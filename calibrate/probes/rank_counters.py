"""Launches each configuration of each product of rank.py once, for the profiler: cycles, lookups and the clock of L2.

    ncu --clock-control none --cache-control all -k regex:^k_ --csv --page raw --metrics M python3 rank_counters.py LOG > ncu.csv

M: sm__cycles_elapsed.max, sm__cycles_active.avg, gpu__time_duration.sum, lts__cycles_elapsed.avg, l1tex__m_xbar2l1tex_read_bytes.sum,
lts__t_sectors_srcunit_tex_op_read.sum, lts__t_sectors_srcunit_tex.sum, lts__t_sectors_srcunit_ltcfabric.sum, lts__t_sector_hit_rate.pct,
lts__t_sectors.avg, .max, dram__bytes_read.sum, dram__bytes_write.sum. LOG has the name of each launch, in order. Data:
../data/h100_rank_counters.csv.

    ncu (as above, with the M below) python3 rank_counters.py LOG TIMES [FIRST] > ncu.csv

launches each TIMES times, in turn, or those of the FIRST products only. One pass counts this M: sm__cycles_elapsed.max,
gpu__time_duration.sum, lts__t_sectors_srcunit_tex_op_read.sum. Data: ../data/h100_rank_again.csv (20 1) and
../data/h100_rank_five.csv (5).
"""

import sys

import torch

log, (times, first), sys.argv = sys.argv[1], [int(n) for n in sys.argv[2:] + ["1", "40"][len(sys.argv) - 2 :]], ["rank.py", "."]
from rank import CONFIGURATIONS, PROBLEMS, product  # noqa: E402


def main():
    with open(log, "w") as out:
        for m, n, k in PROBLEMS[:first] * times:
            for kind in ("gemm", "tma"):
                for config in CONFIGURATIONS:
                    name, kernel, grid, args, meta = product(kind, m, n, k, *config)
                    kernel.warmup(*args, grid=grid, **meta)
                    kernel[grid](*args, **meta)
                    torch.cuda.synchronize()
                    print(name, file=out, flush=True)


if __name__ == "__main__":
    main()
