"""Where warps of recorded kernels wait in their machine code: calibrate/data/h100_sources.csv.

    ncu --clock-control none --cache-control all -k regex:^k_ --section SourceCounters -f -o rep python3 stalls.py DATA DIR LOG PATTERN
    ncu -i rep.ncu-rep --page source --csv --print-source sass > src.csv
    python3 sources.py LOG src.csv > ../data/h100_sources.csv

A line is a stretch of machine code up to a barrier, a fence or a wait: its instructions, how many of them are special functions and
shuffles, how often a warp executes it, its share of the samples, and the share of each of its three most frequent reasons.
"""

import csv
import re
import sys

ENDS = re.compile(r"BAR\.SYNC|WARPGROUP\.(ARRIVE|DEPBAR)|DEPBAR|MEMBAR|FENCE|BRA|HGMMA.*gsb0|LDG\.|STS|EXIT")


def kernels(path):
    """The instructions of each kernel, as dictionaries."""
    out = []
    for row in csv.reader(open(path)):
        if row and row[0] == "Kernel Name":
            out.append([])
        elif row and row[0] == "Address":
            head = row
        elif len(row) > 1 and row[1]:
            out[-1].append(dict(zip(head, row)))
    return out


def number(row, column):
    return int(row[column] or 0)


def main():
    log, path = sys.argv[1:]
    print("name,instructions,special,shuffles,executed,share,ends_with,reasons")
    for name, code in zip((line.split()[1] for line in open(log)), kernels(path)):
        all_samples, stretch = sum(number(r, "# Samples") for r in code), []
        for at, row in enumerate(code):
            stretch.append(row)
            last = at + 1 == len(code) or number(code[at + 1], "Instructions Executed") != number(row, "Instructions Executed")
            if not last and not ENDS.search(row["Source"]):
                continue
            samples = sum(number(r, "# Samples") for r in stretch)
            if samples > 0.004 * all_samples:
                reasons = {}
                for r in stretch:
                    for column in r:
                        if column.startswith("stall_") and "(" not in column and r[column]:
                            reasons[column[6:]] = reasons.get(column[6:], 0) + int(r[column])
                most = sorted(reasons.items(), key=lambda x: (-x[1], x[0]))[:3]
                count = [sum(word in r["Source"] for r in stretch) for word in ("MUFU", "SHFL")]
                ends = re.sub(r"^(@!?U?P\S+ )?", "", row["Source"].strip()).split(" ")[0]
                shown = " ".join(f"{k}:{v / samples:.2f}" for k, v in most)
                executed = number(stretch[0], "Instructions Executed")
                print(f"{name},{len(stretch)},{count[0]},{count[1]},{executed},{samples / all_samples:.3f},{ends},{shown}")
            stretch = []


if __name__ == "__main__":
    main()
