"""Compiles matrix products, attention and row kernels with Triton. No GPU is needed.

    python3 -m venv v && v/bin/pip install triton==3.9.0
    v/bin/python oracles/ptx/compile_triton.py FOLDER              # all, as FOLDER/NAME.ptx
    v/bin/python oracles/ptx/compile_triton.py FOLDER --recorded   # those that are recorded here

It is also a recipe for `python -m warpline.corpus`, with more tiles, warps and stages (docs/clusters.md).

`pack.py FOLDER/*.ptx --producer triton` compresses them into this folder.
"""

import argparse
import dataclasses
import itertools
import pathlib
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = pathlib.Path(__file__).resolve().parent


@triton.jit
def gemm(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACT: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :]
    pb = b + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * sbk
    if ACT:
        acc = tl.where(acc > 0, acc, 0.01 * acc)
    tl.store(c + rm[:, None] * scm + rn[None, :], acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def gemm_grouped(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GM: tl.constexpr):
    pid = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    per = GM * nn
    g = pid // per
    first = g * GM
    size = min(nm - first, GM)
    pm = first + (pid % per) % size
    pn = (pid % per) // size
    rm = (pm * BM + tl.arange(0, BM)) % M
    rn = (pn * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :]
    pb = b + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * sbk
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    tl.store(c + om[:, None] * scm + on[None, :], acc.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit
def gemm_tma(da, db, dc, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = da.load([pm * BM, k * BK])
        y = db.load([pn * BN, k * BK])
        acc = tl.dot(x, y.T, acc)
    dc.store([pm * BM, pn * BN], acc.to(tl.float16))


@triton.jit
def gemm_tma_device(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr, WS: tl.constexpr, FLAT: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), nm * nn, SMS, flatten=FLAT, warp_specialize=WS):
        pm = tile // nn
        pn = tile % nn
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            x = da.load([pm * BM, k * BK])
            y = db.load([pn * BN, k * BK])
            acc = tl.dot(x, y.T, acc)
        dc.store([pm * BM, pn * BN], acc.to(tl.float16))


@triton.jit
def gemm_tma_ws(da, db, dc, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=True):
        x = da.load([pm * BM, k * BK])
        y = db.load([pn * BN, k * BK])
        acc = tl.dot(x, y.T, acc)
    dc.store([pm * BM, pn * BN], acc.to(tl.float16))


@triton.jit
def splitk(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    pz = tl.program_id(2)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = pz * BK + tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :]
    pb = b + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK * SK)):
        x = tl.load(pa, mask=rk[None, :] < K - k * BK * SK, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k * BK * SK, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK * SK
        pb += BK * SK * sbk
    p = c + rm[:, None] * scm + rn[None, :]
    m = (rm[:, None] < M) & (rn[None, :] < N)
    if SK == 1:
        tl.store(p, acc.to(tl.float16), mask=m)
    else:
        tl.atomic_add(p, acc, mask=m)


@triton.jit
def w4a16(a, b, s, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :]
    pb = b + (rk[:, None] // 8) * sbk + rn[None, :]
    shift = (rk[:, None] % 8) * 4
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa)
        y = (tl.load(pb) >> shift) & 0xF
        sc = tl.load(s + k * N + rn)
        acc = tl.dot(x, ((y - 8).to(tl.float16) * sc[None, :]), acc)
        pa += BK
        pb += (BK // 8) * sbk
    tl.store(c + rm[:, None] * scm + rn[None, :], acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def gated(a, b, g, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :]
    pb = b + rk[:, None] * sbk + rn[None, :]
    pg = g + rk[:, None] * sbk + rn[None, :]
    up = tl.zeros((BM, BN), tl.float32)
    gate = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa)
        up = tl.dot(x, tl.load(pb), up)
        gate = tl.dot(x, tl.load(pg), gate)
        pa += BK
        pb += BK * sbk
        pg += BK * sbk
    out = up * gate * tl.sigmoid(gate)
    tl.store(c + rm[:, None] * scm + rn[None, :], out.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def bmm(a, b, c, M, N, K, sab, sam, sbb, sbk, scb, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    pb_ = tl.program_id(2)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + pb_ * sab + rm[:, None] * sam + rk[None, :]
    pb = b + pb_ * sbb + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(pa, mask=(rm[:, None] < M) & (rk[None, :] < K - k), other=0.0)
        y = tl.load(pb, mask=(rn[None, :] < N) & (rk[:, None] < K - k), other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * sbk
    tl.store(c + pb_ * scb + rm[:, None] * scm + rn[None, :], acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def attention(q, k, v, o, T, H, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    pm = tl.program_id(0)
    h = tl.program_id(1)
    base = h.to(tl.int64) * T * D
    rm = pm * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    x = tl.load(q + base + rm[:, None] * D + rd[None, :], mask=rm[:, None] < T, other=0.0)
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = min(T, (pm + 1) * BM) if CAUSAL else T
    for n in range(0, end, BN):
        kk = tl.load(k + base + (n + rn)[None, :] * D + rd[:, None], mask=(n + rn)[None, :] < T, other=0.0)
        s = tl.dot(x, kk) * scale
        if CAUSAL:
            s = tl.where(rm[:, None] >= (n + rn)[None, :], s, float("-inf"))
        mn = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - mn[:, None])
        alpha = tl.exp2(m - mn)
        l = l * alpha + tl.sum(p, 1)
        vv = tl.load(v + base + (n + rn)[:, None] * D + rd[None, :], mask=(n + rn)[:, None] < T, other=0.0)
        acc = tl.dot(p.to(tl.float16), vv, acc * alpha[:, None])
        m = mn
    acc = acc / l[:, None]
    tl.store(o + base + rm[:, None] * D + rd[None, :], acc.to(tl.float16), mask=rm[:, None] < T)


@triton.jit
def attention_tma(dq, dk, dv, do, T, H, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr, WS: tl.constexpr):
    pm = tl.program_id(0)
    h = tl.program_id(1)
    row = h * T
    rm = pm * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    x = dq.load([row + pm * BM, 0])
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = (pm + 1) * BM if CAUSAL else T
    for n in tl.range(0, end, BN, warp_specialize=WS):
        kk = dk.load([row + n, 0]).T
        s = tl.dot(x, kk) * scale
        if CAUSAL:
            s = tl.where(rm[:, None] >= (n + rn)[None, :], s, float("-inf"))
        mn = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - mn[:, None])
        alpha = tl.exp2(m - mn)
        l = l * alpha + tl.sum(p, 1)
        vv = dv.load([row + n, 0])
        acc = tl.dot(p.to(tl.float16), vv, acc * alpha[:, None])
        m = mn
    do.store([row + pm * BM, 0], (acc / l[:, None]).to(tl.float16))


@triton.jit
def decode(q, k, v, o, T, table, D: tl.constexpr, BN: tl.constexpr, PAGED: tl.constexpr):
    h = tl.program_id(0)
    z = tl.program_id(1)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    x = tl.load(q + h * D + rd).to(tl.float32)
    m = -float("inf")
    l = 0.0
    acc = tl.zeros((D,), tl.float32)
    for n in range(0, T, BN):
        page = tl.load(table + z * 1024 + n // BN) * BN if PAGED else n
        ok = (n + rn) < T
        kk = tl.load(k + (page + rn)[:, None] * D + rd[None, :], mask=ok[:, None], other=0.0).to(tl.float32)
        s = tl.where(ok, tl.sum(kk * x[None, :], 1), float("-inf"))
        mn = tl.maximum(m, tl.max(s, 0))
        p = tl.exp2(s - mn)
        al = tl.exp2(m - mn)
        l = l * al + tl.sum(p, 0)
        vv = tl.load(v + (page + rn)[:, None] * D + rd[None, :], mask=ok[:, None], other=0.0).to(tl.float32)
        acc = acc * al + tl.sum(vv * p[:, None], 0)
        m = mn
    tl.store(o + (z * 64 + h) * D + rd, (acc / l).to(tl.float16))


@triton.jit
def softmax(x, y, N, sx, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + row * sx + c, mask=c < N, other=-float("inf")).to(tl.float32)
    v = v - tl.max(v, 0)
    e = tl.exp(v)
    tl.store(y + row * sx + c, (e / tl.sum(e, 0)).to(tl.float16), mask=c < N)


@triton.jit
def softmax_rows(x, y, R, N, sx, B: tl.constexpr):
    for row in tl.range(tl.program_id(0), R, tl.num_programs(0)):
        c = tl.arange(0, B)
        v = tl.load(x + row * sx + c, mask=c < N, other=-float("inf")).to(tl.float32)
        v = v - tl.max(v, 0)
        e = tl.exp(v)
        tl.store(y + row * sx + c, (e / tl.sum(e, 0)).to(tl.float16), mask=c < N)


@triton.jit
def layernorm(x, w, b, y, N, sx, eps, B: tl.constexpr):
    row = tl.program_id(0)
    s = tl.zeros((B,), tl.float32)
    for n in range(0, N, B):
        c = n + tl.arange(0, B)
        s += tl.load(x + row * sx + c, mask=c < N, other=0.0).to(tl.float32)
    mean = tl.sum(s, 0) / N
    t = tl.zeros((B,), tl.float32)
    for n in range(0, N, B):
        c = n + tl.arange(0, B)
        d = tl.where(c < N, tl.load(x + row * sx + c, mask=c < N, other=0.0).to(tl.float32) - mean, 0.0)
        t += d * d
    r = 1 / tl.sqrt(tl.sum(t, 0) / N + eps)
    for n in range(0, N, B):
        c = n + tl.arange(0, B)
        v = tl.load(x + row * sx + c, mask=c < N, other=0.0).to(tl.float32)
        v = (v - mean) * r * tl.load(w + c, mask=c < N) + tl.load(b + c, mask=c < N)
        tl.store(y + row * sx + c, v.to(tl.float16), mask=c < N)


@triton.jit
def layernorm_dwdb(dw, db, gw, gb, M, N, BM: tl.constexpr, BN: tl.constexpr):
    p = tl.program_id(0)
    c = p * BN + tl.arange(0, BN)
    s = tl.zeros((BM, BN), tl.float32)
    t = tl.zeros((BM, BN), tl.float32)
    for i in range(0, M, BM):
        r = i + tl.arange(0, BM)
        ok = (r[:, None] < M) & (c[None, :] < N)
        s += tl.load(dw + r[:, None] * N + c[None, :], mask=ok, other=0.0)
        t += tl.load(db + r[:, None] * N + c[None, :], mask=ok, other=0.0)
    tl.store(gw + c, tl.sum(s, 0), mask=c < N)
    tl.store(gb + c, tl.sum(t, 0), mask=c < N)


@triton.jit
def lock_reduce(x, part, lock, count, M, N, sx, GROUPS: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + row * sx + c, mask=c < N, other=0.0).to(tl.float32)
    g = row % GROUPS
    lk = lock + g
    ck = count + g
    while tl.atomic_cas(lk, 0, 1) == 1:
        pass
    n = tl.load(ck)
    p = part + g * N + c
    if n == 0:
        tl.atomic_xchg(ck, 1)
    else:
        v += tl.load(p, mask=c < N)
    tl.store(p, v, mask=c < N)
    tl.debug_barrier()
    tl.atomic_xchg(lk, 0)


@triton.jit
def transpose(x, y, M, N, B: tl.constexpr):
    rm = tl.program_id(0) * B + tl.arange(0, B)
    rn = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N))
    tl.store(y + rn[:, None] * M + rm[None, :], v.T, mask=(rn[:, None] < N) & (rm[None, :] < M))


@triton.jit
def cumsum(x, y, N, sx, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + row * sx + c, mask=c < N, other=0.0)
    tl.store(y + row * sx + c, tl.cumsum(v, 0), mask=c < N)


@triton.jit
def histogram(x, y, N, B: tl.constexpr, BINS: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + c, mask=c < N, other=0)
    h = tl.histogram(v, BINS)
    tl.atomic_add(y + tl.arange(0, BINS), h)


@triton.jit
def topk(x, y, N, sx, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + row * sx + c, mask=c < N, other=-float("inf"))
    tl.store(y + row * sx + c, tl.sort(v), mask=c < N)


@triton.jit
def grouped(pa, pb, pc, sizes, G, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr):
    tile = tl.program_id(0)
    last = 0
    for g in range(G):
        m = tl.load(sizes + g * 3)
        n = tl.load(sizes + g * 3 + 1)
        kk = tl.load(sizes + g * 3 + 2)
        nm = tl.cdiv(m, BM)
        nn = tl.cdiv(n, BN)
        tiles = nm * nn
        while tile >= last and tile < last + tiles:
            a = tl.load(pa + g).to(tl.pointer_type(tl.float16))
            b = tl.load(pb + g).to(tl.pointer_type(tl.float16))
            c = tl.load(pc + g).to(tl.pointer_type(tl.float16))
            t = tile - last
            rm = (t // nn) * BM + tl.arange(0, BM)
            rn = (t % nn) * BN + tl.arange(0, BN)
            rk = tl.arange(0, BK)
            xa = a + rm[:, None] * kk + rk[None, :]
            xb = b + rk[:, None] * n + rn[None, :]
            acc = tl.zeros((BM, BN), tl.float32)
            for k in range(0, tl.cdiv(kk, BK)):
                acc = tl.dot(tl.load(xa), tl.load(xb), acc)
                xa += BK
                xb += BK * n
            tl.store(c + rm[:, None] * n + rn[None, :], acc.to(tl.float16))
            tile += SMS
        last += tiles


@triton.jit
def fused_mlp(x, w1, w2, y, M, K, H: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr, BH: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, N)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, N), tl.float32)
    for h in range(0, H, BH):
        rh = h + tl.arange(0, BH)
        mid = tl.zeros((BM, BH), tl.float32)
        for k in range(0, K, BK):
            u = tl.load(x + rm[:, None] * K + (k + rk)[None, :])
            v = tl.load(w1 + (k + rk)[:, None] * H + rh[None, :])
            mid = tl.dot(u, v, mid)
        z = tl.maximum(mid, 0).to(tl.float16)
        acc = tl.dot(z, tl.load(w2 + rh[:, None] * N + rn[None, :]), acc)
    tl.store(y + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=rm[:, None] < M)


F16, F32, I32 = "*fp16", "*fp32", "i32"

# Sizes that the compiler is not told to be multiples of 16.
ANY_SIZE = ("T", "R", "H", "G")


@dataclasses.dataclass
class Case:
    """One kernel for one target."""

    family: str
    function: object
    signature: dict
    constants: dict
    arch: int
    warps: int
    stages: int

    @property
    def name(self):
        return f"{self.family}_sm{self.arch}_w{self.warps}_s{self.stages}"

    def ptx(self):
        """The PTX, without the time of the assembler."""
        triton.knobs.runtime.add_stages_inspection_hook = no_assembler
        with tempfile.TemporaryDirectory() as cache:
            triton.knobs.cache.dir = cache
            return compiled(self)


def no_assembler(*stages):
    """Replaces the last stage of Triton's compiler. Without arguments: the name of the change, for Triton's cache."""
    if not stages:
        return "no assembler", "no assembler"
    stages[1]["cubin"] = lambda text, metadata: b""


def descriptor(rows, columns):
    return f"tensordesc<fp16[{rows}, {columns}]>"


# Matrix products: (BM, BN, BK, warps, stages).
PRODUCTS = [(64, 64, 32, 4, 2), (128, 128, 32, 4, 3), (128, 128, 64, 8, 3), (64, 128, 64, 4, 4), (128, 256, 64, 8, 3),
            (32, 32, 32, 4, 1), (16, 64, 128, 4, 5), (256, 64, 32, 4, 4)]

# Attention: (head, BM, BN, warps, stages).
ATTENTIONS = [(64, 128, 64, 4, 2), (128, 128, 64, 8, 2), (64, 64, 32, 4, 3), (128, 64, 64, 4, 1), (128, 128, 128, 8, 3),
              (32, 64, 64, 2, 2)]

# Attention of one query: (head, BN, stages).
DECODES = [(64, 64, 2), (128, 64, 3), (128, 32, 1)]

# Kernels over rows: (block, warps).
ROWS = [(256, 1), (1024, 4), (4096, 8), (1024, 2)]


def products(arch, sizes=PRODUCTS):
    """Matrix products."""
    g = {"a": F16, "b": F16, "c": F16, "M": I32, "N": I32, "K": I32, "sam": I32, "sbk": I32, "scm": I32}
    for bm, bn, bk, warps, stages in sizes:
        tile, c = f"{bm}x{bn}x{bk}", {"BM": bm, "BN": bn, "BK": bk}
        rows = [("gemm", gemm, g, {**c, "ACT": 0}), ("gemmgroup", gemm_grouped, g, {**c, "GM": 8})]
        if bm <= 128 and bn <= 128:
            rows += [
                ("gated", gated, {**g, "g": F16}, c),
                ("w4a16", w4a16, {**g, "b": "*i32", "s": F16}, c),
                ("splitk", splitk, {**g, "c": F32}, {**c, "SK": 4}),
                ("bmm", bmm, {**g, "sab": I32, "sbb": I32, "scb": I32}, c),
                ("fp8", gemm, {**g, "a": "*fp8e4nv", "b": "*fp8e4nv"}, {**c, "ACT": 1}),
            ]
        if arch >= 90:
            d = {"da": descriptor(bm, bk), "db": descriptor(bn, bk), "dc": descriptor(bm, bn), "M": I32, "N": I32, "K": I32}
            p = {k: g[k] for k in ("a", "b", "c", "M", "N", "K")}
            rows += [
                ("tma", gemm_tma, d, c),
                ("tmaws", gemm_tma_ws, d, c),
                ("persist", gemm_tma_device, p, {**c, "SMS": 132, "WS": False, "FLAT": False}),
                ("persistflat", gemm_tma_device, p, {**c, "SMS": 132, "WS": False, "FLAT": True}),
                ("persistws", gemm_tma_device, p, {**c, "SMS": 132, "WS": True, "FLAT": False}),
                ("persistflatws", gemm_tma_device, p, {**c, "SMS": 132, "WS": True, "FLAT": True}),
            ]
        pointers = {"pa": "*i64", "pb": "*i64", "pc": "*i64", "sizes": "*i32", "G": I32}
        rows.append(("grouped", grouped, pointers, {**c, "SMS": 132}))
        for family, function, signature, constants in rows:
            yield Case(f"{family}_{tile}", function, signature, constants, arch, warps, stages)


def attentions(arch, sizes=ATTENTIONS, decodes=DECODES):
    """Attention."""
    for dim, bm, bn, warps, stages in sizes:
        for causal in (0, 1):
            tile, c = f"d{dim}_{bm}x{bn}", {"D": dim, "BM": bm, "BN": bn, "CAUSAL": causal}
            last = "causal" if causal else ""
            a = {"q": F16, "k": F16, "v": F16, "o": F16, "T": I32, "H": I32, "scale": "fp32"}
            yield Case(f"attn{last}_{tile}", attention, a, c, arch, warps, stages)
            for ws in (False, True) if arch >= 90 else ():
                q, k = descriptor(bm, dim), descriptor(bn, dim)
                d = {"dq": q, "dk": k, "dv": k, "do": q, "T": I32, "H": I32, "scale": "fp32"}
                family = f"attntma{'ws' if ws else ''}{last}_{tile}"
                yield Case(family, attention_tma, d, {**c, "WS": ws}, arch, warps, stages)
    d = {"q": F16, "k": F16, "v": F16, "o": F16, "T": I32, "table": "*i32"}
    for dim, bn, stages in decodes:
        for paged in (0, 1):
            family = f"decode{'paged' if paged else ''}_d{dim}_{bn}"
            yield Case(family, decode, d, {"D": dim, "BN": bn, "PAGED": paged}, arch, 4, stages)


def rows(arch, sizes=ROWS):
    """Kernels over rows, and layouts."""
    row = {"x": F16, "y": F16, "N": I32, "sx": I32}
    norm = {**row, "w": F16, "b": F16, "eps": "fp32"}
    lock = {"x": F16, "part": F32, "lock": "*i32", "count": "*i32", "M": I32, "N": I32, "sx": I32}
    for b, warps in sizes:
        list = [
            ("softmax", softmax, row, {}, 1),
            ("softmaxrows", softmax_rows, {**row, "R": I32}, {}, 4),
            ("layernorm", layernorm, norm, {}, 1),
            ("layernormpipe", layernorm, norm, {}, 3),
            ("cumsum", cumsum, {**row, "x": F32, "y": F32}, {}, 1),
            ("lock", lock_reduce, lock, {"GROUPS": 64}, 1),
        ]
        if b <= 1024:
            list.append(("sort", topk, {**row, "x": F32, "y": F32}, {}, 1))
            list.append(("histogram", histogram, {"x": "*i32", "y": "*i32", "N": I32}, {"BINS": 64}, 1))
        for family, function, signature, constants, stages in list:
            yield Case(f"{family}_{b}", function, signature, {**constants, "B": b}, arch, warps, stages)
    d = {"dw": F32, "db": F32, "gw": F32, "gb": F32, "M": I32, "N": I32}
    for bm, bn, warps in [(32, 128, 4), (64, 64, 8)]:
        yield Case(f"dwdb_{bm}x{bn}", layernorm_dwdb, d, {"BM": bm, "BN": bn}, arch, warps, 2)
    for b, warps in [(32, 4), (64, 8)]:
        yield Case(f"transpose_{b}", transpose, {"x": F16, "y": F16, "M": I32, "N": I32}, {"B": b}, arch, warps, 1)
    m = {"x": F16, "w1": F16, "w2": F16, "y": F16, "M": I32, "K": I32}
    for bm, bk, bh, warps, stages in [(64, 64, 64, 4, 2), (128, 32, 64, 8, 3)]:
        c = {"H": 1024, "N": 128, "BM": bm, "BK": bk, "BH": bh}
        yield Case(f"mlp_{bm}x{bk}x{bh}", fused_mlp, m, c, arch, warps, stages)


def compiled(case):
    """The PTX of a case."""
    types = {p.name: case.signature.get(p.name, "constexpr") for p in case.function.params}
    aligned = [i for i, (n, t) in enumerate(types.items()) if t.startswith("*") or (t == I32 and n not in ANY_SIZE)]
    attributes = {(i,): [["tt.divisibility", 16]] for i in aligned}
    source = ASTSource(fn=case.function, signature=types, constexprs=case.constants, attrs=attributes)
    options = {"num_warps": case.warps, "num_stages": case.stages}
    return triton.compile(source, target=GPUTarget("cuda", case.arch, 32), options=options).asm["ptx"]


def cases():
    """The kernels that may be recorded."""
    return [c for arch in (80, 90, 100) for part in (products, attentions, rows) for c in part(arch)]


def kernels():
    """The kernels of the corpus run: those of `cases`, and further tiles, warps and stages."""
    depth = [(4, 2), (4, 3), (8, 3), (4, 4)]
    tiles = itertools.product((64, 128), (64, 128), (32, 64))
    sizes = [(*tile, *d) for tile in tiles for d in depth]
    sizes += [(128, 256, 64, 8, s) for s in (2, 4)] + [(256, 128, 64, 8, s) for s in (3, 4)]
    sizes += [(16, 64, 64, 4, s) for s in (2, 4)] + [(64, 64, 128, 4, s) for s in (2, 3)]
    heads = itertools.product((64, 128), ((64, 64), (128, 64), (128, 128)), ((4, 1), (4, 2), (8, 2), (8, 3)))
    heads = [(dim, *tile, *d) for dim, tile, d in heads]
    decodes = list(itertools.product((64, 128), (16, 32, 64, 128), (1, 2, 3, 4)))
    blocks = list(itertools.product((256, 512, 1024, 2048, 4096, 8192), (1, 2, 4, 8)))
    found = {case.name: case for case in cases()}
    for arch in (80, 90, 100):
        for case in (*products(arch, sizes), *attentions(arch, heads, decodes), *rows(arch, blocks)):
            found.setdefault(case.name, case)
    return found.values()


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("folder", type=pathlib.Path)
    parse.add_argument("--recorded", action="store_true", help="only kernels of which this folder has a file")
    args = parse.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for case in cases():
        path = args.folder / f"{case.name}.ptx"
        if path.exists() or (args.recorded and not (HERE / f"triton.{case.name}.ptx.gz").exists()):
            continue
        try:
            path.write_text(compiled(case))
        except Exception as error:  # Triton has no one class of them; some combinations are beyond it.
            print("not compiled", case.name, (str(error).strip().splitlines() or [type(error)])[-1], flush=True)


if __name__ == "__main__":
    main()
