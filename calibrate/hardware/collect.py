#!/usr/bin/env python3
"""Keeps of the harness's lines what calibrate/data records: collect.py runs IN.. OUT, or collect.py timed FIRST AGAIN OUT."""
import json
import sys


def load(path):
    return {r["case"]: r for r in map(json.loads, open(path))}


def write(path, rows):
    with open(path, "w") as f:
        for case in sorted(rows):
            f.write(json.dumps(rows[case], separators=(",", ":")) + "\n")


def run(r):
    out = {k: r[k] for k in ("case", "outcome", "run", "runs", "checked", "wrong", "free") if k in r}
    if r.get("free_same") is False:
        out["free_same"] = False
    if r.get("waits"):
        w = r["waits"][0]
        out["waits"] = f"line {w['line']}, {w['barrier']}"
    elif "where" in r:
        lines = [x for x in r["where"] if x]
        out["waits"] = f"line {max(sorted(set(lines)), key=lines.count)}" if lines else ""
    return out


def timed(r, again):
    out = {k: r[k] for k in ("case", "us", "us_low", "us_high", "span_ns", "span_low", "span_high", "mhz", "runs", "regs", "spilled", "shared")}
    return out | {"again_us": again["us"], "again_span_ns": again["span_ns"], "again_mhz": again["mhz"]}


kind, *paths, to = sys.argv[1:]
if kind == "runs":
    write(to, {c: run(r) for p in paths for c, r in load(p).items()})
else:
    first, again = map(load, paths)
    write(to, {c: timed(r, again[c]) for c, r in first.items()})
