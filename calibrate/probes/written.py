#!/usr/bin/env python3
"""What counters say of the launches of written.cu: calibrate/data/h200_written.csv.

    ncu --clock-control none --cache-control none -k regex:k_counted --csv --page raw --print-units base --log-file counters.csv \\
        --metrics dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_srcunit_ltcfabric.sum ./written > launches.csv
    python3 written.py launches.csv counters.csv > ../data/h200_written.csv

Sizes in MiB. `fabric` is what one half of the cache asked of the other, or gave it.
"""
import csv
import sys

launches, counters = sys.argv[1:]
launched = [line.strip() for line in open(launches) if line.count(",") == 4 and line[0] not in "=#"]
table = list(csv.reader(line for line in open(counters) if line.startswith('"')))
rows = [dict(zip(table[0], row)) for row in table[2:]]
assert len(rows) == len(launched), f"{len(rows)} launches counted of {len(launched)}"
print("what,way,before_mib,mib,launch,dram_read,dram_written,fabric")
for line, row in zip(launched, rows):
    of = lambda name, scale: float(row[name].replace(",", "")) * scale / 2**20
    print(f"{line},{of('dram__bytes_read.sum', 1):.2f},{of('dram__bytes_write.sum', 1):.2f},{of('lts__t_sectors_srcunit_ltcfabric.sum', 32):.2f}")
