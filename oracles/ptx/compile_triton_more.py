"""Compiles more kernels with Triton: attention backward, block sparse, of sequences of any length and with a latent cache,
experts, products with scales of blocks, and convolution. No GPU is needed.

    v/bin/python oracles/ptx/compile_triton_more.py FOLDER     # with the virtual environment of compile_triton.py

`pack.py FOLDER/*.ptx --producer triton` compresses them into this folder.
"""

import argparse
import pathlib

import triton
import triton.language as tl

from compile_triton import F16, F32, I32, Case, compiled


@triton.jit
def gradient_of_keys(q, k, v, do, lse, delta, dk, dv, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    first = tl.program_id(0) * BN
    head = tl.program_id(1)
    at = head.to(tl.int64) * n * D
    rn = first + tl.arange(0, BN)
    rd = tl.arange(0, D)
    keys = tl.load(k + at + rn[:, None] * D + rd[None, :])
    values = tl.load(v + at + rn[:, None] * D + rd[None, :])
    sum_k = tl.zeros((BN, D), tl.float32)
    sum_v = tl.zeros((BN, D), tl.float32)
    for start in range(first, n, BM):
        rm = start + tl.arange(0, BM)
        queries = tl.load(q + at + rm[None, :] * D + rd[:, None])
        p = tl.math.exp2(tl.dot(keys, queries) * scale - tl.load(lse + head * n + rm)[None, :])
        p = tl.where(rm[None, :] >= rn[:, None], p, 0.0)
        out = tl.load(do + at + rm[:, None] * D + rd[None, :])
        sum_v += tl.dot(p.to(tl.float16), out)
        ds = p * (tl.dot(values, tl.trans(out)) - tl.load(delta + head * n + rm)[None, :])
        sum_k += tl.dot(ds.to(tl.float16), tl.trans(queries))
    tl.store(dv + at + rn[:, None] * D + rd[None, :], sum_v.to(tl.float16))
    tl.store(dk + at + rn[:, None] * D + rd[None, :], (sum_k * scale).to(tl.float16))


@triton.jit
def gradient_of_queries(q, k, v, do, lse, delta, dq, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.program_id(0)
    head = tl.program_id(1)
    at = head.to(tl.int64) * n * D
    rm = block * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    queries = tl.load(q + at + rm[:, None] * D + rd[None, :])
    out = tl.load(do + at + rm[:, None] * D + rd[None, :])
    top = tl.load(lse + head * n + rm)
    less = tl.load(delta + head * n + rm)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, (block + 1) * BM, BN):
        rn = start + tl.arange(0, BN)
        keys = tl.load(k + at + rn[None, :] * D + rd[:, None])
        values = tl.load(v + at + rn[None, :] * D + rd[:, None])
        p = tl.math.exp2(tl.dot(queries, keys) * scale - top[:, None])
        p = tl.where(rm[:, None] >= rn[None, :], p, 0.0)
        ds = p * (tl.dot(out, values) - less[:, None])
        acc = tl.dot(ds.to(tl.float16), tl.trans(keys), acc)
    tl.store(dq + at + rm[:, None] * D + rd[None, :], acc.to(tl.float16))


@triton.jit
def attended(q, keys, values, at, rn, scale, m, l, acc, ok):
    """One block of keys and values. `at` has the places of its rows."""
    x = tl.where(ok, tl.dot(q, tl.trans(tl.load(keys + at))) * scale, -float("inf"))
    top = tl.maximum(m, tl.max(x, 1))
    p = tl.math.exp2(x - top[:, None])
    less = tl.math.exp2(m - top)
    acc = tl.dot(p.to(tl.float16), tl.load(values + at), acc * less[:, None])
    return top, l * less + tl.sum(p, 1), acc


@triton.jit
def sequences(q, k, v, o, starts, scale, heads, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.program_id(0)
    begin = tl.load(starts + tl.program_id(1))
    n = tl.load(starts + tl.program_id(1) + 1) - begin
    head = tl.program_id(2)
    if block * BM >= n:
        return
    rm = block * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    places = (begin + rm)[:, None] * heads * D + head * D + rd[None, :]
    queries = tl.load(q + places, mask=rm[:, None] < n, other=0.0)
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, tl.minimum((block + 1) * BM, n), BN):
        rn = start + tl.arange(0, BN)
        at = (begin + rn)[:, None] * heads * D + head * D + rd[None, :]
        x = tl.dot(queries, tl.trans(tl.load(k + at, mask=rn[:, None] < n, other=0.0))) * scale
        x = tl.where((rm[:, None] >= rn[None, :]) & (rn[None, :] < n), x, -float("inf"))
        top = tl.maximum(m, tl.max(x, 1))
        p = tl.math.exp2(x - top[:, None])
        less = tl.math.exp2(m - top)
        l = l * less + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + at, mask=rn[:, None] < n, other=0.0), acc * less[:, None])
        m = top
    tl.store(o + places, (acc / l[:, None]).to(tl.float16), mask=rm[:, None] < n)


@triton.jit
def sparse(q, k, v, o, ends, blocks, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1).to(tl.int64) * n * D
    rm = row * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    queries = tl.load(q + at + rm[:, None] * D + rd[None, :])
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for i in range(tl.load(ends + row), tl.load(ends + row + 1)):
        rn = tl.load(blocks + i) * BN + tl.arange(0, BN)
        places = at + rn[:, None] * D + rd[None, :]
        m, l, acc = attended(queries, k, v, places, rn, scale, m, l, acc, rm[:, None] >= 0)
    tl.store(o + at + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def latent(q, kv, o, lengths, pages, scale, PAGE: tl.constexpr, H: tl.constexpr, DC: tl.constexpr, DR: tl.constexpr,
           BN: tl.constexpr):
    row = tl.program_id(0)
    n = tl.load(lengths + row)
    rh = tl.program_id(1) * H + tl.arange(0, H)
    rc = tl.arange(0, DC)
    rr = DC + tl.arange(0, DR)
    first = row * 128 * (DC + DR) + rh[:, None] * (DC + DR)
    queries = tl.load(q + first + rc[None, :])
    turned = tl.load(q + first + rr[None, :])
    m = tl.full((H,), -float("inf"), tl.float32)
    l = tl.zeros((H,), tl.float32)
    acc = tl.zeros((H, DC), tl.float32)
    for start in range(0, n, BN):
        rn = start + tl.arange(0, BN)
        page = tl.load(pages + row * 4096 + rn // PAGE, mask=rn < n, other=0)
        at = (page * PAGE + rn % PAGE).to(tl.int64) * (DC + DR)
        keys = tl.load(kv + at[None, :] + rc[:, None], mask=rn[None, :] < n, other=0.0)
        more = tl.load(kv + at[None, :] + rr[:, None], mask=rn[None, :] < n, other=0.0)
        x = (tl.dot(queries, keys) + tl.dot(turned, more)) * scale
        x = tl.where(rn[None, :] < n, x, -float("inf"))
        top = tl.maximum(m, tl.max(x, 1))
        p = tl.math.exp2(x - top[:, None])
        less = tl.math.exp2(m - top)
        l = l * less + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.trans(keys), acc * less[:, None])
        m = top
    tl.store(o + row * 128 * DC + rh[:, None] * DC + rc[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def experts(a, b, c, tokens, which, total, N, K, sbe, TOP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
            BK: tl.constexpr):
    pid = tl.program_id(0)
    block = pid // tl.cdiv(N, BN)
    n = tl.load(total)
    if block * BM >= n:
        return
    token = tl.load(tokens + block * BM + tl.arange(0, BM))
    ok = token < n
    rn = pid % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + (token[:, None] // TOP) * K + rk[None, :]
    pb = b + tl.load(which + block).to(tl.int64) * sbe + rk[:, None] + (rn % N)[None, :] * K
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=ok[:, None] & (rk[None, :] < K - k * BK), other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
        acc += tl.dot(x, y)
        pa += BK
        pb += BK
    tl.store(c + token[:, None] * N + rn[None, :], acc.to(tl.float16), mask=ok[:, None] & (rn[None, :] < N))


@triton.jit
def scaled(a, b, c, sa, sb, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    rm = pid // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    rn = pid % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    blocks = tl.cdiv(K, BK)
    pa = a + (rm % M)[:, None] * K + rk[None, :]
    pb = b + (rn % N)[None, :] * K + rk[:, None]
    psa = sa + (rm % M) * blocks
    psb = sb + (rn % N) // BK * blocks
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(blocks):
        x = tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
        acc += tl.dot(x, y) * tl.load(psa + k)[:, None] * tl.load(psb + k)[None, :]
        pa += BK
        pb += BK
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def convolution(x, w, y, images, height, width, out, CI: tl.constexpr, SIZE: tl.constexpr, BM: tl.constexpr,
                BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    image = rm // (height * width)
    row = rm % (height * width) // width
    column = rm % width
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(SIZE * SIZE * (CI // BK)):
        tap = i // (CI // BK)
        r = row + tap // SIZE - SIZE // 2
        s = column + tap % SIZE - SIZE // 2
        rk = i % (CI // BK) * BK + tl.arange(0, BK)
        ok = (r >= 0) & (r < height) & (s >= 0) & (s < width) & (image < images)
        a = tl.load(x + ((image * height + r) * width + s)[:, None] * CI + rk[None, :], mask=ok[:, None], other=0.0)
        b = tl.load(w + (tap * CI + rk)[:, None] * out + rn[None, :], mask=rn[None, :] < out, other=0.0)
        acc += tl.dot(a, b)
    tl.store(y + rm[:, None] * out + rn[None, :], acc.to(tl.float16), mask=(image < images)[:, None] & (rn[None, :] < out))


HALVES = {"q": F16, "k": F16, "v": F16}
BACK = {**HALVES, "do": F16, "lse": F32, "delta": F32}
FP8, WORDS, SCALE = "*fp8e4nv", "*i32", "fp32"

# Family, function, signature, constants, and the targets with warps and stages.
KERNELS = [
    ("attnbwdk_d64_32x128", gradient_of_keys, {**BACK, "dk": F16, "dv": F16, "n": I32, "scale": SCALE},
     {"D": 64, "BM": 32, "BN": 128}, [(90, 4, 3), (100, 4, 3)]),
    ("attnbwdq_d64_128x32", gradient_of_queries, {**BACK, "dq": F16, "n": I32, "scale": SCALE},
     {"D": 64, "BM": 128, "BN": 32}, [(80, 4, 3), (100, 4, 3)]),
    ("attnvarlen_d128_128x64", sequences, {**HALVES, "o": F16, "starts": WORDS, "scale": SCALE, "heads": I32},
     {"D": 128, "BM": 128, "BN": 64}, [(90, 4, 3)]),
    ("attnsparse_d64_64x64", sparse, {**HALVES, "o": F16, "ends": WORDS, "blocks": WORDS, "n": I32, "scale": SCALE},
     {"D": 64, "BM": 64, "BN": 64}, [(100, 4, 3)]),
    ("decodelatent_16x32", latent, {"q": F16, "kv": F16, "o": F16, "lengths": WORDS, "pages": WORDS, "scale": SCALE},
     {"PAGE": 64, "H": 16, "DC": 512, "DR": 64, "BN": 32}, [(80, 4, 3)]),
    ("experts_64x128x64", experts, {"a": F16, "b": F16, "c": F16, "tokens": WORDS, "which": WORDS, "total": WORDS,
     "N": I32, "K": I32, "sbe": I32}, {"TOP": 2, "BM": 64, "BN": 128, "BK": 64}, [(90, 8, 2)]),
    ("scaled_128x128x128", scaled, {"a": FP8, "b": FP8, "c": F16, "sa": F32, "sb": F32, "M": I32, "N": I32, "K": I32},
     {"BM": 128, "BN": 128, "BK": 128}, [(90, 8, 2), (100, 4, 3)]),
    ("convolution_128x64x32", convolution, {"x": F16, "w": F16, "y": F16, "images": I32, "height": I32, "width": I32,
     "out": I32}, {"CI": 64, "SIZE": 3, "BM": 128, "BN": 64, "BK": 32}, [(80, 4, 3)]),
]


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("folder", type=pathlib.Path)
    folder = parse.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for family, function, signature, constants, targets in KERNELS:
        for arch, warps, stages in targets:
            case = Case(family, function, signature, constants, arch, warps, stages)
            (folder / f"{case.name}.ptx").write_text(compiled(case))


if __name__ == "__main__":
    main()
