#!/usr/bin/env python3
"""What counters say of the launches of fills.cu: calibrate/data/h200_fills.csv.

    ncu --clock-control none --cache-control none -k regex:k_counted --csv --page raw --print-units base --log-file counters.csv \\
        --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum ./fills > launches.csv
    python3 fills.py launches.csv counters.csv > ../data/h200_fills.csv

More metrics take a second pass, which begins with other caches. Columns: what a launch does, the loads and stores of a
thread, where the lines are before, and MiB of each array.
"""
import csv
import sys

launches, counters = sys.argv[1:]
launched = [line.strip() for line in open(launches) if line.count(",") == 3 and line[0] not in "=#"]
table = list(csv.reader(line for line in open(counters) if line.startswith('"')))
rows = [dict(zip(table[0], row)) for row in table[2:]]
assert len(rows) == len(launched), f"{len(rows)} launches counted of {len(launched)}"
print("# device: NVIDIA H200, 132 SMs, Nsight Compute")
print("what,ahead,lines,mib,ns,dram_read,dram_written")
names = ["gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"]
for line, row in zip(launched, rows):
    print(",".join([line] + [f"{float(row[name].replace(',', '')):.0f}" for name in names]))
