"""Generates loops, and records what TileLang's own pipelining passes decide about each.

    venv/bin/python oracles/tilelang/generated.py > oracles/tilelang/generated.tsv

A loop is written as words, one a statement, so that TileLang and warpline's test read the same text:

    g0>s1   global matrix 0 to shared buffer 1       g0?s1  the same under a condition
    g0>f1   global matrix 0 to registers 1           f0>g   registers 0 to a global matrix
    s0>f1   shared buffer 0 to registers 1           f0>s1  and back
    s0*s1>f2, f0*s1>f2   a product that accumulates  f0+f1>f2  element by element
    0>f1    zeros

Columns: words, `stage/order` pairs where the loop is annotated (else `-`), trips (a number, or `n` where the size is
dynamic), target, stages asked for, then those of `record.py`; or `refused` and TileLang's reason. The generator is seeded;
the loops do not change from run to run.
"""

import importlib.util
import logging
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
import record  # noqa: E402

LOOPS = 120
ANNOTATED = 60


def words(rng):
    """The statements of a loop: copies, what reads them, and now and then a value from the step before."""
    copies = rng.randint(1, 3)
    pool, written = [], {"s": [], "f": []}

    def pick(kind, new=False):
        known = written[kind]
        if known and not new and rng.random() < 0.9:
            return rng.choice(known)
        return rng.randrange(4)

    def write(kind, n):
        if n not in written[kind]:
            written[kind].append(n)

    targets = rng.sample(range(4), copies)
    for t in targets:
        mark = "?" if rng.random() < 0.1 else ">"
        pool.append(f"g{rng.randrange(3)}{mark}s{t}")
    out = []
    size = rng.randint(copies + 1, 6)
    late = rng.random() < 0.4
    while len(out) < size:
        if pool and (not late or rng.random() < 0.5 or not written["s"]):
            w = pool.pop(0)
            write("s", int(w[-1]))
        else:
            kind = rng.choice(["ss", "fs", "lds", "lds", "sts", "alu", "alu", "zero", "ldg", "store"])
            if kind in ("ss", "fs", "lds") and not written["s"]:
                continue
            if kind == "ss":
                f = rng.randrange(4)
                w = f"s{pick('s')}*s{pick('s')}>f{f}"
                write("f", f)
            elif kind == "fs":
                f = rng.randrange(4)
                w = f"f{pick('f')}*s{pick('s')}>f{f}"
                write("f", f)
            elif kind == "lds":
                f = pick("f", True)
                w = f"s{pick('s')}>f{f}"
                write("f", f)
            elif kind == "sts":
                free = [n for n in range(4) if n not in targets]
                if not free:
                    continue
                s = rng.choice(free)
                w = f"f{pick('f')}>s{s}"
                write("s", s)
            elif kind == "alu":
                f = pick("f", rng.random() < 0.5)
                w = f"f{pick('f')}+f{pick('f')}>f{f}"
                write("f", f)
            elif kind == "zero":
                w = f"0>f{pick('f', True)}"
                write("f", int(w[-1]))
            elif kind == "ldg":
                f = pick("f", True)
                w = f"g{rng.randrange(3)}>f{f}"
                write("f", f)
            else:
                if not written["f"]:
                    continue
                w = f"f{pick('f')}>g"
        out.append(w)
    # Most of the copies are read by somebody.
    for t in targets:
        read = any(re.search(rf"s{t}", w.split(">")[0]) for w in out)
        if not read and rng.random() < 0.85:
            f = rng.randrange(4)
            out.append(rng.choice([f"s{t}>f{f}", f"f{rng.randrange(4)}*s{t}>f{f}", f"s{t}*s{rng.choice(targets)}>f{f}"]))
    return out


def line(w):
    """A statement as TileLang has it."""
    src, dst = w.replace("?", ">").split(">")
    at = {"g": "G{}[ko * 64, 0]", "s": "s{}", "f": "f{}"}

    def name(p):
        return at[p[0]].format(p[1:]) if p != "g" else "O[ko * 64, 0]"

    if src == "0":
        return [f"T.clear({dst})"]
    if "*" in src:
        a, b = src.split("*")
        return [f"T.gemm({a}, {b}, {dst})"]
    if "+" in src:
        a, b = src.split("+")
        return ["for i, j in T.Parallel(64, 64):", f"    {dst}[i, j] = {a}[i, j] + {b}[i, j]"]
    copy = f"T.copy({name(src)}, {name(dst)})"
    return ["if bx % 3 != 1:", f"    {copy}"] if "?" in w else [copy]


SOURCE = """
import tilelang.language as T
F16 = T.float16

def make(k, s):
    @T.prim_func
    def main(G0: T.Tensor((k, 64), F16), G1: T.Tensor((k, 64), F16), G2: T.Tensor((k, 64), F16), O: T.Tensor((k, 64), F16)):
        with T.Kernel(8, threads=128) as bx:
{allocs}
            for ko in T.Pipelined(T.ceildiv(k, 64), {how}):
{body}

    return main
"""


def function(loop, table, folder):
    # Nothing else refers to buffers that the loop does not use.
    used = sorted(set(re.findall(r"[sf]\d", " ".join(loop))))
    allocs = "\n".join(
        f"            {b} = T.alloc_{'shared' if b[0] == 's' else 'fragment'}((64, 64), F16)" for b in used
    )
    body = "\n".join(f"                {l}" for w in loop for l in line(w))
    how = f"order={[o for _, o in table]}, stage={[s for s, _ in table]}" if table else "num_stages=s"
    path = os.path.join(folder, "loop.py")
    with open(path, "w") as f:
        f.write(SOURCE.format(allocs=allocs, body=body, how=how))
    import linecache

    linecache.clearcache()
    spec = importlib.util.spec_from_file_location("loop", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make


def annotated(rng, loop):
    """A stage and a place in the order of each statement; now and then in order of the text."""
    n = len(loop)
    deepest = rng.randint(1, 3)
    copies = [("g" in w.split(">")[0] or "?" in w) and "s" in w[-2:] for w in loop]
    stages = [rng.choice([0, 0, 0, 1]) if c else rng.choice([deepest, deepest, max(deepest - 1, 0)]) for c in copies]
    for i in range(1, n):
        if not copies[i] and not copies[i - 1]:
            stages[i] = max(stages[i], stages[i - 1])
    order = list(range(n))
    if rng.random() < 0.6:
        a, b = rng.randrange(n), rng.randrange(n)
        order[a], order[b] = order[b], order[a]
    return list(zip(stages, order))


def reason(text):
    """The first line that says what is wrong."""
    lines = [re.sub(r"\s+", " ", l).strip() for l in text.splitlines()]
    told = [l for l in lines if re.match("(InternalError|Check failed|error|Error|ValueError)", l)] or lines
    return re.sub(r"/\S+/", "", told[0] if told else "")[:160]


def rows():
    rng = random.Random(7)
    targets = list(record.TARGETS)
    with tempfile.TemporaryDirectory() as folder:
        for n in range(LOOPS + ANNOTATED):
            loop = words(rng)
            table = annotated(rng, loop) if n >= LOOPS else None
            make = function(loop, table, folder)
            target = targets[0] if n % 3 else targets[rng.randrange(3)]
            for stages in [1] if table else range(1, 5):
                trips = "n" if (n + stages) % 2 else "32"
                note = " ".join(f"{s}/{o}" for s, o in table) if table else "-"
                head = [" ".join(loop), note, trips, target, str(stages)]
                try:
                    said = record.decided(make, trips, target, stages, 64)
                except Exception as e:  # TileLang's own refusals come as several kinds
                    said = ["refused", reason(str(e))]
                yield head + said


def main():
    logging.disable(logging.WARNING)
    columns = "words table trips target stages stage order versions prologue commits waits less epilogue"
    print("\t".join(columns.split()))
    for row in rows():
        print("\t".join(row))


if __name__ == "__main__":
    main()
