"""Runs TileLang's own pipelining passes over a few kernels and records what they decide.

    python3 -m venv venv && venv/bin/pip install tilelang==0.1.15
    venv/bin/python oracles/tilelang/record.py > oracles/tilelang/plans.tsv

No GPU and no nvcc are needed: PipelinePlanning and InjectSoftwarePipeline work on TileLang's IR.
Columns: kernel, trips (a number, or `n` where the size is dynamic), target, stages asked for, stage and order of every
statement, versions of every buffer that has several, commit groups of the prologue and of a step of the body, waits of a
step (groups that may stay outstanding), how many steps the body has less than n, waits behind it.
"""

import logging
import re
import sys

import tilelang as tl
import tilelang.language as T
from tilelang import tvm
from tvm.tirx.stmt_functor import post_order_visit

tir = tvm.tirx
F16, F32, I8 = T.float16, T.float32, T.int8

TARGETS = {
    "sm_80": {"kind": "cuda", "arch": "sm_80"},
    "sm_90a": {"kind": "cuda", "arch": "sm_90a"},
    "gfx950": {"kind": "hip", "mcpu": "gfx950"},
    "gfx942": {"kind": "hip", "mcpu": "gfx942"},
}


def gemm(k, s):
    @T.prim_func
    def main(A: T.Tensor((1024, k), F16), B: T.Tensor((k, 1024), F16), C: T.Tensor((1024, 1024), F16)):
        with T.Kernel(8, 8, threads=128) as (bx, by):
            a = T.alloc_shared((128, 32), F16)
            b = T.alloc_shared((32, 128), F16)
            c = T.alloc_fragment((128, 128), F32)
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=s):
                T.copy(A[by * 128, ko * 32], a)
                T.copy(B[ko * 32, bx * 128], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, bx * 128])

    return main


def copy2(k, s):
    @T.prim_func
    def main(A: T.Tensor((1024, k), F16), B: T.Tensor((1024, k), F16), C: T.Tensor((1024, 128), F32)):
        with T.Kernel(8, threads=128) as by:
            a = T.alloc_shared((128, 32), F16)
            b = T.alloc_shared((128, 32), F16)
            c = T.alloc_fragment((128, 32), F32)
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=s):
                T.copy(A[by * 128, ko * 32], a)
                T.copy(B[by * 128, ko * 32], b)
                for i, j in T.Parallel(128, 32):
                    c[i, j] += a[i, j] * b[i, j]
            T.copy(c, C[by * 128, 0])

    return main


def dequant(k, s):
    @T.prim_func
    def main(A: T.Tensor((1024, k), F16), B: T.Tensor((1024, k), I8), C: T.Tensor((1024, 1024), F16)):
        with T.Kernel(8, 8, threads=128) as (bx, by):
            a = T.alloc_shared((128, 32), F16)
            q = T.alloc_shared((128, 32), I8)
            r = T.alloc_fragment((128, 32), I8)
            d = T.alloc_fragment((128, 32), F16)
            b = T.alloc_shared((128, 32), F16)
            c = T.alloc_fragment((128, 128), F32)
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=s):
                T.copy(A[by * 128, ko * 32], a)
                T.copy(B[bx * 128, ko * 32], q)
                T.copy(q, r)
                for i, j in T.Parallel(128, 32):
                    d[i, j] = T.cast(r[i, j], F16) * T.float16(0.5)
                T.copy(d, b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * 128, bx * 128])

    return main


def attention(n, s):
    @T.prim_func
    def main(Q: T.Tensor((1024, 64), F16), K: T.Tensor((n, 64), F16), V: T.Tensor((n, 64), F16), O: T.Tensor((1024, 64), F32)):
        with T.Kernel(8, threads=128) as bx:
            q = T.alloc_shared((128, 64), F16)
            ks = T.alloc_shared((32, 64), F16)
            vs = T.alloc_shared((32, 64), F16)
            acc = T.alloc_fragment((128, 32), F32)
            p = T.alloc_fragment((128, 32), F16)
            o = T.alloc_fragment((128, 64), F32)
            T.copy(Q[bx * 128, 0], q)
            T.clear(o)
            for ko in T.Pipelined(T.ceildiv(n, 32), num_stages=s):
                T.copy(K[ko * 32, 0], ks)
                T.clear(acc)
                T.gemm(q, ks, acc, transpose_B=True)
                for i, j in T.Parallel(128, 32):
                    p[i, j] = T.cast(T.exp2(acc[i, j]), F16)
                T.copy(V[ko * 32, 0], vs)
                T.gemm(p, vs, o)
            T.copy(o, O[bx * 128, 0])

    return main


def three(k, s):
    """Three operands, one of them read twice."""

    @T.prim_func
    def main(A: T.Tensor((1024, k), F16), B: T.Tensor((k, 1024), F16), D: T.Tensor((k, 1024), F16), C: T.Tensor((1024, 1024), F16)):
        with T.Kernel(8, 8, threads=128) as (bx, by):
            a = T.alloc_shared((128, 32), F16)
            b = T.alloc_shared((32, 128), F16)
            d = T.alloc_shared((32, 128), F16)
            c = T.alloc_fragment((128, 128), F32)
            e = T.alloc_fragment((128, 128), F32)
            T.clear(c)
            T.clear(e)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=s):
                T.copy(A[by * 128, ko * 32], a)
                T.copy(B[ko * 32, bx * 128], b)
                T.copy(D[ko * 32, bx * 128], d)
                T.gemm(a, b, c)
                T.gemm(a, d, e)
            for i, j in T.Parallel(128, 128):
                c[i, j] += e[i, j]
            T.copy(c, C[by * 128, bx * 128])

    return main


def chained(k, s):
    """A second product that reads the first one's result through shared memory."""

    @T.prim_func
    def main(A: T.Tensor((1024, k), F16), B: T.Tensor((k, 64), F16), D: T.Tensor((k, 64), F16), C: T.Tensor((1024, 64), F32)):
        with T.Kernel(8, threads=128) as by:
            a = T.alloc_shared((128, 32), F16)
            b = T.alloc_shared((32, 64), F16)
            d = T.alloc_shared((64, 64), F16)
            t = T.alloc_shared((128, 64), F16)
            p = T.alloc_fragment((128, 64), F32)
            c = T.alloc_fragment((128, 64), F32)
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=s):
                T.copy(A[by * 128, ko * 32], a)
                T.copy(B[ko * 32, 0], b)
                T.clear(p)
                T.gemm(a, b, p)
                T.copy(p, t)
                T.copy(D[ko * 32, 0], d)
                T.gemm(t, d, c)
            T.copy(c, C[by * 128, 0])

    return main


def registers(k, s):
    """One operand goes through registers: no copy as far as the pass can see."""

    @T.prim_func
    def main(A: T.Tensor((1024, k), F16), B: T.Tensor((k, 1024), F16), C: T.Tensor((1024, 1024), F16)):
        with T.Kernel(8, 8, threads=128) as (bx, by):
            a = T.alloc_shared((128, 32), F16)
            r = T.alloc_fragment((32, 128), F16)
            b = T.alloc_shared((32, 128), F16)
            c = T.alloc_fragment((128, 128), F32)
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=s):
                T.copy(A[by * 128, ko * 32], a)
                T.copy(B[ko * 32, bx * 128], r)
                T.copy(r, b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, bx * 128])

    return main


def conditional(k, s):
    """One of the copies under a condition: it moves ahead, but is not asynchronous."""

    @T.prim_func
    def main(A: T.Tensor((1024, k), F16), B: T.Tensor((k, 1024), F16), C: T.Tensor((1024, 1024), F16), w: T.int32):
        with T.Kernel(8, 8, threads=128) as (bx, by):
            a = T.alloc_shared((128, 32), F16)
            b = T.alloc_shared((32, 128), F16)
            c = T.alloc_fragment((128, 128), F32)
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=s):
                T.copy(A[by * 128, ko * 32], a)
                if ko < w:
                    T.copy(B[ko * 32, bx * 128], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, bx * 128])

    return main


def unread(k, s):
    """A copy that no statement of the loop reads."""

    @T.prim_func
    def main(A: T.Tensor((1024, k), F16), B: T.Tensor((k, 1024), F16), C: T.Tensor((1024, 1024), F16)):
        with T.Kernel(8, 8, threads=128) as (bx, by):
            a = T.alloc_shared((128, 32), F16)
            b = T.alloc_shared((32, 128), F16)
            c = T.alloc_fragment((128, 32), F32)
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=s):
                T.copy(A[by * 128, ko * 32], a)
                T.copy(B[ko * 32, bx * 128], b)
                for i, j in T.Parallel(128, 32):
                    c[i, j] += a[i, j]
            T.copy(c, C[by * 128, bx * 128])

    return main


KERNELS = {
    "gemm": gemm,
    "copy2": copy2,
    "dequant": dequant,
    "attention": attention,
    "three": three,
    "chained": chained,
    "registers": registers,
    "conditional": conditional,
    "unread": unread,
}


def lowered(func, target):
    mod = tvm.IRModule.from_expr(func.with_attr("global_symbol", "main"))
    mod = tir.transform.BindTarget(tvm.target.Target(target))(mod)
    mod = tl.transform.MaterializeKernelLaunch()(mod)
    mod = tl.transform.Simplify()(mod)
    mod = tl.transform.IfStmtBinding()(mod)
    planned = tl.transform.PipelinePlanning()(mod)
    injected = tl.transform.Simplify()(tl.transform.InjectSoftwarePipeline()(planned))
    return planned, injected


def ints(array):
    return ",".join(str(int(v)) for v in array)


def record(name, trips, target, stages):
    return [name, trips, target, str(stages), *decided(KERNELS[name], trips, target, stages, 32)]


def decided(make, trips, target, stages, tile):
    """What the passes make of a loop over tiles of k."""
    k = T.dynamic("k") if trips == "n" else tile * int(trips)
    planned, injected = lowered(make(k, stages), TARGETS[target])
    notes = []

    def visit(node):
        if isinstance(node, tir.For) and "software_pipeline_stage" in node.annotations:
            notes.append(node.annotations)

    post_order_visit(planned["main"].body, visit)
    stage = ints(notes[0]["software_pipeline_stage"]) if notes else "-"
    order = ints(notes[0]["software_pipeline_order"]) if notes else "-"
    before, after = shapes(planned["main"]), shapes(injected["main"])
    grown = sorted(f"{b}={after[b][0]}" for b in before if len(after.get(b, ())) > len(before[b]))
    text = injected["main"].script()
    return [stage, order, ",".join(grown) or "-", *steps(text, trips, tile)]


def shapes(func):
    found = {}

    def visit(node):
        for b in getattr(node, "alloc_buffers", []) or []:
            found[str(b.name)] = [str(e) for e in b.shape]
        if type(node).__name__ == "AllocBuffer":
            found[str(node.buffer.name)] = [str(e) for e in node.buffer.shape]

    post_order_visit(func.body, visit)
    return found


def steps(text, trips, tile):
    """Commits and waits of the body, how many steps it has less than n, waits behind it. From the printed IR, by indentation."""
    lines = text.splitlines()
    depth = [len(l) - len(l.lstrip()) for l in lines]

    def block(at):
        end = at + 1
        while end < len(lines) and (depth[end] > depth[at] or not lines[end].strip()):
            end += 1
        return end

    at = next(i for i, l in enumerate(lines) if re.match(r"\s*for ko in (T\.serial|range)\(", l))
    end = block(at)
    count = re.match(r"\s*for ko in (?:T\.serial|range)\((.*?)(?:, annotations=.*)?\):", lines[at]).group(1)
    n = 100 if trips == "n" else int(trips)
    less = n - eval(count, {"k": tile * n, "n": tile * n, "T": T})
    body = lines[at:end]
    rest, i = [], end
    while i < len(lines):
        loop = re.match(r"\s*for (\w+) in T\.unroll\((\d+)", lines[i])
        stop = block(i) if loop else i + 1
        turns = range(int(loop.group(2))) if loop else [0]
        for t in turns:
            names = {loop.group(1): t} if loop else {}
            rest += [str(eval(w, names)) for l in lines[i:stop] for w in waits_of(l)]
        i = stop
    commits = sum("ptx_commit_group()" in l for l in body)
    before = sum("ptx_commit_group()" in l for l in lines[:at])
    waits = [w for l in body for w in waits_of(l)]
    return [str(before), str(commits), ",".join(waits) or "-", str(less), ",".join(rest) or "-"]


def waits_of(line):
    return re.findall(r"ptx_wait_group\((.*)\)", line)


def main():
    logging.disable(logging.WARNING)
    print("\t".join("kernel trips target stages stage order versions prologue commits waits less epilogue".split()))
    for name in KERNELS:
        for trips in ("32", "n"):
            for target in TARGETS:
                for stages in range(5):
                    row = record(name, trips, target, stages)
                    print("\t".join(row))


if __name__ == "__main__":
    if sys.argv[1:] == ["--show"]:
        planned, injected = lowered(KERNELS["dequant"](T.dynamic("k"), 2), TARGETS["sm_80"])
        print(planned["main"].script())
        print(injected["main"].script())
    else:
        main()
