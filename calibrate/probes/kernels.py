"""Kernels of several families as Triton compiles them, with their launches, for `warpline run k.ptx --launch l.json`.

    python3 kernels.py compile DIR LIST SHARD SHARDS   # fills Triton's cache; several at a time
    ncu --clock-control none --cache-control all -k regex:^k_ --csv --page raw --metrics M python3 kernels.py run DIR LIST > DIR/ncu.csv

LIST is `first` (below), `second`, `third`, `fourth` or `waves` (kernels_second.py and so on). A pattern after LIST selects configurations by their names. `run` launches every
configuration once and writes DIR/rows.jsonl, one launch a line in the order of the profiler's rows, DIR/ptx and DIR/cubin.
M is sm__cycles_elapsed.max,gpu__time_duration.sum,lts__t_sector_hit_rate.pct,dram__bytes_read.sum,dram__bytes_write.sum,
smsp__inst_executed.sum.

    python3 kernels.py join DIR > calibrate/data/h100_kernels/rows.jsonl   # and DIR/ptx, compressed by gzip -9n, beside it

The second list is in calibrate/data/h100_kernels_second. `device` of a row names the device that ran it.
"""

import csv
import json
import os
import re
import sys


def join(folder):
    """Prints each row with what the profiler counted, in bytes, nanoseconds and percent."""
    rows = [json.loads(line) for line in open(folder + "/rows.jsonl")]
    units, *counted = csv.DictReader(line for line in open(folder + "/ncu.csv") if not line.startswith("=="))
    assert len(rows) == len(counted)
    scale = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1, "us": 1e3, "ms": 1e6}
    names = {
        "cycles": "sm__cycles_elapsed.max",
        "ns": "gpu__time_duration.sum",
        "l2_hit": "lts__t_sector_hit_rate.pct",
        "dram_read": "dram__bytes_read.sum",
        "dram_write": "dram__bytes_write.sum",
        "instructions": "smsp__inst_executed.sum",
    }
    for row, count in zip(rows, counted):
        assert count["Kernel Name"].startswith(row["kernel"])
        for name, metric in names.items():
            row[name] = round(float(count[metric].replace(",", "")) * scale.get(units[metric], 1), 3)
        print(json.dumps(row))


if sys.argv[1] == "join":
    join(sys.argv[2])
    sys.exit()

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import kernels_fourth
import kernels_second
import kernels_third
import kernels_waves

BF16, F16, F32, F8 = torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn


@triton.jit
def grouped(M, N, BM: tl.constexpr, BN: tl.constexpr):
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (8 * cols) * 8
    height = min(rows - first, 8)
    return first + (pid % (8 * cols)) % height, (pid % (8 * cols)) // height


@triton.jit
def k_gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = grouped(M, N, BM, BN)
    rm = (pm * BM + tl.arange(0, BM)) % M
    rn = (pn * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * N
    cm, cn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(c + cm[:, None] * N + cn[None, :], acc.to(c.dtype.element_ty), mask=(cm[:, None] < M) & (cn[None, :] < N))


@triton.jit
def k_plain(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * N
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def k_fp8(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


@triton.jit
def k_gated(a, b, v, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa, pb, pv = a + rm[:, None] * K + rk[None, :], b + rk[:, None] * N + rn[None, :], v + rk[:, None] * N + rn[None, :]
    g, u = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        x = tl.load(pa)
        g = tl.dot(x, tl.load(pb), g)
        u = tl.dot(x, tl.load(pv), u)
        pa += BK
        pb += BK * N
        pv += BK * N
    tl.store(c + rm[:, None] * N + rn[None, :], (g * tl.sigmoid(g) * u).to(tl.bfloat16))


@triton.jit
def k_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = grouped(M, N, BM, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(tl.cdiv(K, BK)):
        acc = tl.dot(a.load([pm * BM, i * BK]), b.load([pn * BN, i * BK]).T, acc)
    c.store([pm * BM, pn * BN], acc.to(tl.bfloat16))


@triton.jit
def k_tmaloop(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, CTAS: tl.constexpr):
    cols = tl.cdiv(N, BN)
    for t in tl.range(tl.program_id(0), tl.cdiv(M, BM) * cols, CTAS):
        acc = tl.zeros((BM, BN), tl.float32)
        for i in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([t // cols * BM, i * BK]), b.load([t % cols * BN, i * BK]).T, acc)
        c.store([t // cols * BM, t % cols * BN], acc.to(tl.bfloat16))


@triton.jit
def k_split(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.program_id(2) * (K // PARTS) + tl.arange(0, BK)
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K // PARTS, BK)):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * N
    tl.atomic_add(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def k_int4(a, b, scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa, pb = a + rm[:, None] * K + rk[None, :], b + (rk[:, None] // 8) * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(tl.cdiv(K, BK)):
        w = ((tl.load(pb) >> ((rk % 8) * 4)[:, None]) & 15).to(tl.float16) - 8.0
        w = w * tl.load(scales + i * BK // 128 * N + rn)[None, :]
        acc = tl.dot(tl.load(pa), w, acc)
        pa += BK
        pb += BK // 8 * N
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def k_attention(q, k, v, o, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    first = tl.program_id(0) * BM
    base = tl.program_id(1).to(tl.int64) * N * D
    rm, rn, rd = first + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + base + rm[:, None] * D + rd[None, :])
    top = tl.full([BM], -1e30, tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    end = first + BM if CAUSAL else N
    for n in range(0, end, BN):
        s = tl.dot(x, tl.load(k + base + (n + rn)[None, :] * D + rd[:, None])) * scale
        if CAUSAL:
            s = tl.where(rm[:, None] >= (n + rn)[None, :], s, -1e30)
        now = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - now[:, None])
        less = tl.exp2(top - now)
        total = total * less + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + base + (n + rn)[:, None] * D + rd[None, :]), acc * less[:, None])
        top = now
    tl.store(o + base + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def k_decode(q, k, v, o, scale, N, D: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(0)
    base = head.to(tl.int64) * N * D
    rn, rd = tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + head * D + rd).to(tl.float32)
    top, total, acc = -1e30, 0.0, tl.zeros([D], tl.float32)
    for n in range(0, N, BN):
        s = tl.sum(tl.load(k + base + (n + rn)[:, None] * D + rd[None, :]).to(tl.float32) * x[None, :], 1) * scale
        now = tl.maximum(top, tl.max(s, 0))
        p, less = tl.exp2(s - now), tl.exp2(top - now)
        y = tl.load(v + base + (n + rn)[:, None] * D + rd[None, :]).to(tl.float32)
        acc = acc * less + tl.sum(p[:, None] * y, 0)
        total = total * less + tl.sum(p, 0)
        top = now
    tl.store(o + head * D + rd, (acc / total).to(tl.float16))


@triton.jit
def k_softmax(x, y, N, BLOCK: tl.constexpr):
    row, r = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    v = tl.load(x + row * N + r, mask=r < N, other=-1e30).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * N + r, (e / tl.sum(e, 0)).to(tl.bfloat16), mask=r < N)


@triton.jit
def k_norm(x, w, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    s, q = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for i in range(0, N, BLOCK):
        v = tl.load(x + row * N + i + tl.arange(0, BLOCK)).to(tl.float32)
        s += v
        q += v * v
    mean = tl.sum(s, 0) / N
    scale = 1 / tl.sqrt(tl.sum(q, 0) / N - mean * mean + 1e-5)
    for i in range(0, N, BLOCK):
        r = i + tl.arange(0, BLOCK)
        v = tl.load(x + row * N + r).to(tl.float32)
        tl.store(y + row * N + r, ((v - mean) * scale * tl.load(w + r)).to(tl.bfloat16))


@triton.jit
def k_batched(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    z = tl.program_id(2).to(tl.int64)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa, pb = a + z * M * K + rm[:, None] * K + rk[None, :], b + z * K * N + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(tl.cdiv(K, BK)):
        x = tl.load(pa, mask=rk[None, :] < K - i * BK, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - i * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * N
    tl.store(c + z * M * N + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def k_add(x, y, z, N, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + r, tl.load(x + r, mask=r < N) + tl.load(y + r, mask=r < N), mask=r < N)


@triton.jit
def k_rowsum(x, y, N, BLOCK: tl.constexpr):
    row, s = tl.program_id(0).to(tl.int64), tl.zeros([BLOCK], tl.float32)
    for i in range(0, N, BLOCK):
        s += tl.load(x + row * N + i + tl.arange(0, BLOCK)).to(tl.float32)
    tl.store(y + row, tl.sum(s, 0))


kept = {}


def tensor(tag, shape, dtype):
    """A tensor of random numbers; tensors of one tag share memory."""
    n = 1
    for d in shape:
        n *= d
    key = (tag, dtype)
    if key not in kept or kept[key].numel() < n:
        kept[key] = None
        if dtype in (BF16, F16, F32):
            kept[key] = torch.randn(n, device="cuda", dtype=dtype)
        elif dtype == F8:
            kept[key] = torch.randn(n, device="cuda", dtype=F16).to(F8)
        else:
            kept[key] = torch.randint(-(1 << 31), (1 << 31) - 1, (n,), device="cuda", dtype=dtype)
    return kept[key][:n].view(shape)


def described(a):
    name = str(getattr(a, "dtype", "")).replace("torch.", "")
    if isinstance(a, TensorDescriptor):
        name = str(a.base.dtype).replace("torch.", "")
        return {"desc": list(a.shape), "strides": list(a.strides), "box": list(a.block_shape), "dtype": name}
    return {"ptr": list(a.shape), "dtype": name} if torch.is_tensor(a) else a


def cdiv(a, b):
    return (a + b - 1) // b


def product(kind, m, n, k, bm, bn, bk, warps, stages, dtype=BF16, parts=1, batch=1):
    """One launch: name, kernel, grid, arguments, constants."""
    label = f"{kind}_{m}x{n}x{k}_{bm}x{bn}x{bk}_w{warps}_s{stages}" + (f"_p{parts}" if parts > 1 else "") + (f"_z{batch}" if batch > 1 else "")
    meta = dict(BM=bm, BN=bn, BK=bk, num_warps=warps, num_stages=stages)
    if kind in ("tma", "tmaloop"):
        desc = [
            TensorDescriptor.from_tensor(tensor("a", (m, k), BF16), [bm, bk]),
            TensorDescriptor.from_tensor(tensor("b", (n, k), BF16), [bn, bk]),
            TensorDescriptor.from_tensor(tensor("c", (m, n), BF16), [bm, bn]),
        ]
        tiles = cdiv(m, bm) * cdiv(n, bn)
        if kind == "tma":
            return label, k_tma, (tiles,), [*desc, m, n, k], meta
        return label, k_tmaloop, (min(132, tiles),), [*desc, m, n, k], dict(meta, CTAS=min(132, tiles))
    if kind == "gemm":
        c = tensor("c", (m, n), F16 if dtype == F16 else BF16)
        return label, k_gemm, (cdiv(m, bm) * cdiv(n, bn),), [tensor("a", (m, k), dtype), tensor("b", (k, n), dtype), c, m, n, k], meta
    grid = (m // bm, n // bn, parts * batch)
    if kind == "plain":
        return label, k_plain, grid[:2], [tensor("a", (m, k), BF16), tensor("b", (k, n), BF16), tensor("c", (m, n), BF16), m, n, k], meta
    if kind == "fp8":
        return label, k_fp8, grid[:2], [tensor("a", (m, k), F8), tensor("b", (n, k), F8), tensor("c", (m, n), BF16), m, n, k], meta
    if kind == "gated":
        inputs = [tensor("a", (m, k), BF16), tensor("b", (k, n), BF16), tensor("v", (k, n), BF16)]
        return label, k_gated, grid[:2], [*inputs, tensor("c", (m, n), BF16), m, n, k], meta
    if kind == "split":
        return label, k_split, grid, [tensor("a", (m, k), BF16), tensor("b", (k, n), BF16), tensor("c", (m, n), F32), m, n, k], dict(meta, PARTS=parts)
    if kind == "int4":
        args = [tensor("a", (m, k), F16), tensor("b", (k // 8, n), torch.int32), tensor("s", (k // 128, n), F16), tensor("c", (m, n), F16)]
        return label, k_int4, grid[:2], [*args, m, n, k], meta
    args = [tensor("a", (batch, m, k), F16), tensor("b", (batch, k, n), F16), tensor("c", (batch, m, n), F16)]
    return label, k_batched, grid, [*args, m, n, k], meta


def attention(n, heads, d, bm, bn, warps, stages, causal):
    label = f"{'causal' if causal else 'attention'}_{n}x{heads}x{d}_{bm}x{bn}_w{warps}_s{stages}"
    args = [tensor(t, (heads, n, d), F16) for t in "qkvo"]
    meta = dict(D=d, BM=bm, BN=bn, CAUSAL=causal, num_warps=warps, num_stages=stages)
    return label, k_attention, (n // bm, heads), [*args, 0.18, n], meta


def decode(n, heads, d, bn, warps, stages):
    args = [tensor("q", (heads, d), F16), tensor("k", (heads, n, d), F16), tensor("v", (heads, n, d), F16), tensor("o", (heads, d), F16)]
    return f"decode_{n}x{heads}x{d}_{bn}_w{warps}_s{stages}", k_decode, (heads,), [*args, 0.1, n], dict(D=d, BN=bn, num_warps=warps, num_stages=stages)


def rows(kind, n, m, block, warps, stages=1):
    x, y = tensor("a", (m, n), BF16), tensor("c", (m, n), BF16)
    meta, label = dict(BLOCK=block, num_warps=warps), f"{kind}_{m}x{n}_{block}_w{warps}"
    if kind == "softmax":
        return label, k_softmax, (m,), [x, y, n], meta
    meta["num_stages"] = stages
    if kind == "norm":
        return f"{label}_s{stages}", k_norm, (m,), [x, tensor("b", (n,), BF16), y, n], meta
    return f"{label}_s{stages}", k_rowsum, (m,), [x, tensor("s", (m,), F32), n], meta


def add(n, block, warps):
    a = [tensor(t, (n,), F32) for t in "abc"]
    return f"add_{n}_{block}_w{warps}", k_add, (cdiv(n, block),), [*a, n], dict(BLOCK=block, num_warps=warps)


def first():
    tiles = [(128, 128, 64, 4), (64, 128, 64, 4), (128, 256, 64, 8), (64, 64, 64, 4), (128, 64, 32, 4)]
    for i, t in enumerate(tiles):
        for m, n, k in [(4096, 4096, 2048), (2048, 2048, 4096), (1024, 1024, 2048), (8192, 2048, 1024)]:
            yield lambda m=m, n=n, k=k, t=t, i=i: product("gemm", m, n, k, *t, 2 + (i + m // 1024) % 3)
    for s in (1, 2, 4):
        yield lambda s=s: product("gemm", 4096, 2048, 4096, 128, 128, 64, 8, s)
        yield lambda s=s: product("gemm", 2048, 4096, 4096, 64, 64, 32, 4, s)
    for i, t in enumerate(tiles[:4]):
        for m, n, k in [(4096, 4096, 2048), (2048, 2048, 4096), (1024, 1024, 2048)]:
            yield lambda m=m, n=n, k=k, t=t, i=i: product("tma", m, n, k, *t, 2 + (i + m // 1024) % 3)
            if i != 1:
                yield lambda m=m, n=n, k=k, t=t, i=i: product("tmaloop", m, n, k, *t, 2 + (i + m // 2048) % 3)
    for m, n, k, t, s in [(4096, 4096, 4096, (128, 128, 128, 4), 3), (2048, 4096, 2048, (64, 128, 128, 4), 2), (2048, 2048, 8192, (128, 128, 64, 8), 4)]:
        yield lambda m=m, n=n, k=k, t=t, s=s: product("gemm", m, n, k, *t, s, dtype=F16)
    for m, n, k, bm, bn, s, p in [(64, 4096, 4096, 64, 128, 3, 4), (128, 2048, 8192, 64, 64, 2, 8), (256, 4096, 8192, 128, 128, 3, 4), (64, 8192, 8192, 64, 128, 4, 2), (128, 8192, 2048, 128, 64, 2, 2), (64, 2048, 16384, 64, 64, 3, 16)]:
        yield lambda m=m, n=n, k=k, bm=bm, bn=bn, s=s, p=p: product("split", m, n, k, bm, bn, 64, 4, s, parts=p)
    for m, n, k, bm, bn, s in [(64, 4096, 4096, 64, 128, 2), (64, 8192, 4096, 64, 64, 3), (128, 4096, 8192, 128, 128, 3), (256, 8192, 4096, 64, 128, 2)]:
        yield lambda m=m, n=n, k=k, bm=bm, bn=bn, s=s: product("int4", m, n, k, bm, bn, 64, 4, s)
    for m, n, k, z, bm, bn, w, s in [(512, 512, 1024, 32, 128, 128, 8, 2), (1024, 512, 2048, 16, 64, 128, 4, 3), (256, 256, 4096, 64, 64, 64, 4, 3), (1024, 1024, 1024, 8, 128, 128, 4, 2)]:
        yield lambda m=m, n=n, k=k, z=z, bm=bm, bn=bn, w=w, s=s: product("batched", m, n, k, bm, bn, 64, w, s, batch=z)
    for n, h in [(2048, 32), (4096, 16), (8192, 4)]:
        for d, bm, bn, w, s in [(64, 128, 64, 4, 2), (64, 64, 32, 4, 3), (128, 128, 64, 8, 2), (128, 64, 64, 4, 1), (64, 128, 128, 8, 2)]:
            yield lambda n=n, h=h, d=d, bm=bm, bn=bn, w=w, s=s: attention(n, h, d, bm, bn, w, s, True)
            yield lambda n=n, h=h, d=d, bm=bm, bn=bn, w=w, s=s: attention(n, h, d, bm, bn, w, s, False)
    for n, h, d, bn, w, s in [(4096, 128, 128, 32, 4, 1), (8192, 64, 128, 64, 4, 2), (16384, 132, 64, 64, 4, 3), (4096, 264, 64, 128, 8, 1), (8192, 128, 128, 32, 8, 2)]:
        yield lambda n=n, h=h, d=d, bn=bn, w=w, s=s: decode(n, h, d, bn, w, s)
    for n, m, w in [(512, 65536, 4), (2048, 16384, 8), (4096, 8192, 8), (1000, 32768, 4), (8192, 4096, 16), (4096, 1024, 4), (256, 65536, 2)]:
        yield lambda n=n, m=m, w=w: rows("softmax", n, m, triton.next_power_of_2(n), w)
    for n, m, b, w, s in [(1024, 16384, 1024, 4, 1), (4096, 8192, 1024, 8, 2), (8192, 4096, 2048, 8, 1), (2048, 16384, 512, 4, 3), (4096, 2048, 4096, 8, 1), (512, 65536, 512, 4, 1)]:
        yield lambda n=n, m=m, b=b, w=w, s=s: rows("norm", n, m, b, w, s)
        yield lambda n=n, m=m, b=b, w=w, s=s: rows("rowsum", n, m, b, w, s)
    for n, b, w in [(1 << 24, 1024, 4), (1 << 26, 4096, 8), (1 << 22, 1024, 8), (1 << 25, 2048, 4)]:
        yield lambda n=n, b=b, w=w: add(n, b, w)


def listed(module):
    """The configurations of a list in a file of its own."""
    makers = {"product": product, "attention": attention, "decode": decode, "rows": rows, "add": add}
    for maker, args, keywords in module.configurations():
        yield lambda maker=maker, args=args, keywords=keywords: makers[maker](*args, **keywords)


def main():
    lists = {"second": kernels_second, "third": kernels_third, "fourth": kernels_fourth, "waves": kernels_waves}
    action, folder = sys.argv[1], sys.argv[2]
    configurations = first if sys.argv[3] == "first" else lambda: listed(lists[sys.argv[3]])
    shard, shards = (int(sys.argv[4]), int(sys.argv[5])) if action == "compile" else (0, 1)
    wanted = re.compile(sys.argv[4] if action == "run" and len(sys.argv) > 4 else "")
    for part in ("/ptx", "/cubin"):
        os.makedirs(folder + part, exist_ok=True)
    log = None if action == "compile" else open(folder + "/rows.jsonl", "w")
    for i, make in enumerate(configurations()):
        if i % shards != shard:
            continue
        try:
            label = f"configuration {i}"
            label, kernel, grid, args, meta = make()
            if not wanted.search(label):
                continue
            if action == "compile":
                kernel.warmup(*args, grid=grid, **meta)
                continue
            k = kernel[grid](*args, **meta)
            torch.cuda.synchronize()
        except Exception as e:  # a configuration that the chip has no room for is left out
            print("left out:", label, str(e).splitlines()[:1], file=sys.stderr)
            continue
        with open(f"{folder}/ptx/{label}.ptx", "w") as f:
            f.write(k.asm["ptx"])
        with open(f"{folder}/cubin/{label}.cubin", "wb") as f:
            f.write(k.asm["cubin"])
        launch = {"grid": [*grid, 1, 1][:3], "args": flattened(args), "shared": k.metadata.shared, "regs": k.n_regs}
        row = {"name": label, "kernel": kernel.fn.__name__, "device": torch.cuda.get_device_name(), "spills": k.n_spills, "launch": launch}
        log.write(json.dumps(row) + "\n")
        log.flush()


def flattened(args):
    """The arguments as PTX has them: a tensor map is followed by the shape and strides of its tensor."""
    out = []
    for a in args:
        out.append(described(a))
        if isinstance(a, TensorDescriptor):
            out += [*a.shape, *a.strides]
    return out + [None, None]


if __name__ == "__main__":
    main()
