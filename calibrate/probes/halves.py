#!/usr/bin/env python3
"""Of what order.cu prints: the half of the second-level cache that each SM is at, and in which order launches go through them.

SMs at one half have the same lines near. The largest component of the latencies (each SM's and each line's mean taken off)
tells the halves apart.
"""
import sys

rows, orders = {}, []
for line in sys.stdin:
    words = line.split()
    if words[0] in ("lines", "lat"):
        rows[int(words[1])] = [float(w) for w in words[2:]]
    elif words[0].startswith("order"):
        orders.append((words[0][5:], [int(w) for w in words[1:]]))
sms, lines = len(rows), len(rows[0])
table = [rows[s] for s in range(sms)]
flat = [[x - sum(r) / lines for x in r] for r in table]
means = [sum(r[i] for r in flat) / sms for i in range(lines)]
# A line that was late for another reason says nothing.
flat = [[max(-80.0, min(80.0, r[i] - means[i])) for i in range(lines)] for r in flat]
side = [1.0 + s % 7 for s in range(sms)]
for _ in range(100):
    line = [sum(side[s] * flat[s][i] for s in range(sms)) for i in range(lines)]
    side = [sum(flat[s][i] * line[i] for i in range(lines)) for s in range(sms)]
    norm = sum(x * x for x in side) ** 0.5
    side = [x / norm for x in side]
half = ["ab"[x > 0] for x in side]
least = min(abs(x) for x in side) / max(abs(x) for x in side)
print(f"# halves by SM: {half.count('a')} and {half.count('b')}; the least certain is {least:.2f} of the most")
print("".join(half))
print("# the same in the order of launch: KB of shared memory a CTA, halves of CTAs 0, 1, ...; then the SMs of the first launch")
for kb, order in orders:
    print(kb, "".join(half[s] for s in order))
print(" ".join(map(str, orders[0][1][:sms])))
