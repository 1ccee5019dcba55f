"""bf16 matrix products as Triton compiles them, on one GPU: cp.async (`ptr`) and TMA (`tma`) into wgmma.

    ncu --clock-control none --metrics sm__cycles_elapsed.max,... -k regex:mm_ --csv --page raw python3 gemm.py rows grid LIST
    ncu --clock-control none --cache-control none ... python3 gemm.py rows few LIST
    python3 gemm.py times OUT.npz
    ncu --clock-control none --metrics sm__cycles_elapsed.max -k regex:empty --csv python3 gemm.py empty

`rows` launches the configurations of a set and writes them to LIST, one JSON array a launch, in the order of the profiler's rows:
`grid` and `late` have whole products; `few` one CTA, one wave and two at two depths (the slope is a K-tile's cycles, the rest a launch's),
each launched twice, of which the second counts. `times` reads clock64 at a CTA's start, behind its address arithmetic (and
descriptors), behind its loop and behind its stores. The results are calibrate/data/h200_gemm.csv and the numbers that
models/h200.toml cites.
"""

import json
import sys

import numpy as np
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer, smid


@triton.jit
def clock():
    return tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def tile_of(M, N, BM: tl.constexpr, BN: tl.constexpr):
    pid = tl.program_id(0)
    nm, nn = tl.cdiv(M, BM), tl.cdiv(N, BN)
    g = nn * 8
    first = pid // g * 8
    size = min(nm - first, 8)
    return first + (pid % g) % size, (pid % g) // size


@triton.jit
def note(out, t0, t1, t2, g0, TIMED: tl.constexpr):
    if TIMED:
        q = out + tl.program_id(0) * 8
        tl.store(q + 3, clock())
        tl.store(q, t0)
        tl.store(q + 1, t1)
        tl.store(q + 2, t2)
        tl.store(q + 4, g0)
        tl.store(q + 5, globaltimer())
        tl.store(q + 6, smid().to(tl.int64))


@triton.jit
def mm_ptr(out, a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TIMED: tl.constexpr):
    t0, g0 = 0, 0
    if TIMED:
        t0, g0 = clock(), globaltimer()
    pm, pn = tile_of(M, N, BM, BN)
    om = (pm * BM + tl.arange(0, BM)) % M
    on = (pn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    ap = a + om[:, None] * sam + ok[None, :]
    bp = b + ok[:, None] * sbk + on[None, :]
    t1 = 0
    if TIMED:
        t1 = clock()
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        x = tl.load(ap)
        y = tl.load(bp)
        acc = tl.dot(x, y, acc)
        ap += BK
        bp += BK * sbk
    t2 = 0
    if TIMED:
        t2 = clock()
    cm, cn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(c + cm[:, None] * scm + cn[None, :], acc.to(tl.bfloat16), mask=(cm[:, None] < M) & (cn[None, :] < N))
    note(out, t0, t1, t2, g0, TIMED)


@triton.jit
def mm_tma(out, a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TIMED: tl.constexpr):
    t0, g0 = 0, 0
    if TIMED:
        t0, g0 = clock(), globaltimer()
    ad = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    bd = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    pm, pn = tile_of(M, N, BM, BN)
    t1 = 0
    if TIMED:
        t1 = clock()
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(tl.cdiv(K, BK)):
        x = ad.load([pm * BM, i * BK])
        y = bd.load([pn * BN, i * BK])
        acc = tl.dot(x, y.T, acc)
    t2 = 0
    if TIMED:
        t2 = clock()
    cm, cn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(c + cm[:, None] * N + cn[None, :], acc.to(tl.bfloat16), mask=(cm[:, None] < M) & (cn[None, :] < N))
    note(out, t0, t1, t2, g0, TIMED)


@triton.jit
def empty(a):
    tl.program_id(0)


triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
buffers = {}


def buffer(tag, n):
    if tag not in buffers or buffers[tag].numel() < n:
        buffers[tag] = torch.randn(n, device="cuda", dtype=torch.bfloat16)
    return buffers[tag]


def launch(config, out=None):
    v, M, N, K, BM, BN, BK, warps, stages = config
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    a, b, c = buffer("a", M * K), buffer("b", N * K), buffer("c", M * N)
    common = dict(BM=BM, BN=BN, BK=BK, TIMED=out is not None, num_warps=warps, num_stages=stages)
    out = a if out is None else out
    if v == "ptr":
        return mm_ptr[grid](out, a, b, c, M, N, K, K, N, N, **common)
    return mm_tma[grid](out, a, b, c, M, N, K, **common)


def grids():
    small = [(64, 64, 32, 4), (64, 64, 64, 4), (128, 64, 64, 4), (128, 128, 32, 4), (128, 128, 64, 8), (64, 256, 64, 4)]
    for v in ("ptr", "tma"):
        for t in [(128, 128, 64, 4), (64, 128, 64, 4)]:
            yield from ((v, 4096, 4096, 4096, *t, s) for s in (1, 2, 3, 4))
        for t in small + [(128, 256, 64, 8), (128, 256, 32, 8)]:
            yield from ((v, 4096, 4096, 4096, *t, s) for s in (2, 3, 4))
        for m, n, k in [(8192,) * 3, (2048,) * 3, (1024, 4096, 8192), (3000,) * 3, (512,) * 3, (8192, 8192, 1024)]:
            yield from ((v, m, n, k, *t, 3) for t in [(128, 128, 64, 4), (128, 256, 64, 8)])


def late():
    odd = [(128, 256, 64, 4), (64, 64, 64, 8), (64, 128, 64, 8), (64, 256, 64, 8), (128, 64, 64, 8), (64, 128, 32, 4), (128, 64, 32, 4)]
    odd += [(64, 256, 32, 4), (64, 128, 32, 8), (128, 64, 32, 8), (64, 64, 32, 8)]
    once = [(64, 64, 32, 4), (64, 64, 64, 4), (128, 64, 64, 4), (64, 256, 64, 4), (128, 256, 64, 8), (128, 128, 64, 8)]
    once += [(128, 128, 32, 4), (64, 256, 64, 8)]
    sizes = [(4096, 4096, 512), (1024,) * 3, (1536, 6144, 2048), (8192, 1024, 4096), (4096, 4096, 16384)]
    for v in ("ptr", "tma"):
        yield from ((v, 4096, 4096, 4096, *t, s) for t in odd for s in (2, 4))
        yield from ((v, 4096, 4096, 4096, *t, 1) for t in once)
        yield from ((v, 4096, 4096, 4096, *t, s) for t in [(128, 128, 64, 8), (64, 64, 64, 4)] for s in (5, 6))
        for size in sizes + [(2000, 4016, 1040), (512, 8192, 8192)]:
            yield from ((v, *size, *t) for t in [(128, 128, 64, 4, 3), (64, 128, 64, 4, 4), (128, 256, 64, 8, 3)])


def few():
    for v in ("ptr", "tma"):
        for t in [(128, 128, 64, 4), (64, 128, 64, 4), (128, 256, 64, 8), (64, 64, 32, 4)]:
            for s in (1, 2, 3, 4):
                yield from ((v, t[0], t[1], k, *t, s) for k in (1024, 4096))
                if t[2] == 64 and t[3] == 4:
                    yield from ((v, t[0] * 12, t[1] * 11, k, *t, s) for k in (1024, 4096))
                    yield (v, t[0] * 24, t[1] * 11, 4096, *t, s)


def rows(which, path):
    with open(path, "w") as log:
        for config in {"grid": grids, "late": late, "few": few}[which]():
            for again in range(2 if which == "few" else 1):
                k = launch(config)
                torch.cuda.synchronize()
                log.write(json.dumps([*config, again, k.n_regs, k.metadata.shared]) + "\n")


def times(path):
    found = {}
    for v in ("ptr", "tma"):
        for t in [(128, 128, 64, 4, 2), (128, 128, 64, 4, 4), (64, 128, 64, 4, 4), (128, 256, 64, 8, 3), (64, 64, 32, 4, 3)]:
            config = (v, 4096, 4096, 4096, *t)
            n = triton.cdiv(4096, t[0]) * triton.cdiv(4096, t[1])
            out = torch.zeros(n * 8, dtype=torch.int64, device="cuda")
            for _ in range(2):
                buffer("flush", 256 << 20).fill_(1)
                torch.cuda.synchronize()
                launch(config, out)
            torch.cuda.synchronize()
            found["_".join(map(str, (v, *t)))] = out.cpu().numpy().reshape(n, 8)
    np.savez_compressed(path, **found)


if sys.argv[1] == "rows":
    rows(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "times":
    times(sys.argv[2])
else:
    for n in (1, 132, 1024, 2048, 8192):
        for w in (4, 8):
            empty[(n,)](buffer("a", 64), num_warps=w)
    torch.cuda.synchronize()
