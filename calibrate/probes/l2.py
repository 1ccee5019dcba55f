#!/usr/bin/env python3
"""Of what l2.cu prints and counters say of the same launches: calibrate/data/h200_l2.csv.

    ./l2 > times.csv
    ncu --clock-control none --cache-control none -k regex:k_read --csv --page raw --print-units base --log-file counters.csv \\
        --metrics lts__t_sectors_srcunit_tex.sum,lts__t_sectors_srcunit_ltcfabric.sum,lrc__lrc2xbar_sectors_op_read.sum,\\
    l1tex__m_xbar2l1tex_read_bytes.sum,lts__cycles_elapsed.max ./l2 once > once.csv
    python3 l2.py times.csv once.csv counters.csv > ../data/h200_l2.csv

`looked` is sectors that slices looked up for SMs, of those that SMs got; `coalesced` those that left the coalescers for slices;
`fabric` those that the other half was asked for; `l2_bytes_per_clk` bytes looked up a cycle of L2. Pairs become one line a group.
"""
import csv
import sys

times, once, counters = sys.argv[1:]
plain = [line.rstrip("\n") for line in open(times)]
launched = [line.rstrip("\n").split(",") for line in open(once) if line[0] not in "#=" and not line.startswith("probe,")]
table = list(csv.reader(line for line in open(counters) if line.startswith('"')))
rows = [dict(zip(table[0], row)) for row in table[2:]][1::2]  # each was launched twice
assert len(rows) == len(launched), f"{len(rows)} launches counted of {len(launched)}"


def of(row, name):
    return float(row[name].replace(",", ""))


found, pairs = {}, {}
for what, row in zip(launched, rows):
    got = of(row, "l1tex__m_xbar2l1tex_read_bytes.sum") / 32
    looked = of(row, "lts__t_sectors_srcunit_tex.sum")
    fabric = of(row, "lts__t_sectors_srcunit_ltcfabric.sum")
    left = of(row, "lrc__lrc2xbar_sectors_op_read.sum")
    rate = (looked + fabric) * 32 / of(row, "lts__cycles_elapsed.max")
    if what[0] == "pair":
        a, b = map(int, what[2].split("+"))
        pairs.setdefault(a, []).append((b, left / got))
    else:
        found[tuple(what[:8])] = f"{looked / got:.3f},{left / got:.3f},{fabric / got:.3f},{rate:.0f}"
for line in plain:
    if line.startswith("#"):
        print(line)
    elif line.startswith("probe,"):
        for a, others in pairs.items():
            merged = [(b, x) for b, x in others if x < 0.75]
            rest = [x for _, x in others if x >= 0.75]
            print(f"# pairs: SM {a} is merged with {' '.join(str(b) for b, _ in merged)}: {max(x for _, x in merged):.2f} and less; "
                  f"with each other SM {min(rest):.2f} and more")
        print(line + ",looked,coalesced,fabric,l2_bytes_per_clk")
    else:
        print(line + "," + found[tuple(line.split(",")[:8])])
