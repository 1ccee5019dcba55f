"""The fourth list of configurations of kernels.py, for an H200: drawn at random, before any model was compared with it.

Sizes, tiles, warps and stages of each family are drawn from the values that users choose from, with a fixed seed. Nothing is chosen by its
time. A configuration that the chip has no room for is left out when it runs.
"""

import random

TILES = [(64, 64, 32), (64, 64, 64), (64, 64, 128), (64, 128, 32), (64, 128, 64), (128, 64, 32), (128, 64, 64), (128, 128, 32)]
TILES += [(128, 128, 64), (64, 256, 64), (128, 256, 64), (128, 256, 32)]
SIZES = [(4096, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 4096), (8192, 1024, 4096), (1024, 8192, 2048), (512, 4096, 8192)]
SIZES += [(6144, 3072, 1536), (3072, 6144, 1024), (4096, 4096, 512), (256, 8192, 4096), (2560, 2560, 2560), (8192, 2048, 3072)]


def products(draw):
    """Products of all kinds, as arguments of `product`."""
    for kind, number in [("gemm", 40), ("plain", 40), ("tma", 16), ("tmaloop", 10)]:
        for _ in range(number):
            tile = draw.choice(TILES)
            warps = 8 if tile[0] * tile[1] > 16384 else draw.choice((4, 4, 8))
            yield (kind, *draw.choice(SIZES), *tile, warps, draw.choice((1, 2, 3, 4))), {}
    for _ in range(8):
        bm, bn, w = draw.choice([(128, 128, 4), (128, 256, 8), (64, 128, 4), (64, 64, 4)])
        yield ("fp8", *draw.choice(SIZES), bm, bn, draw.choice((64, 128)), w, draw.choice((2, 3, 4))), {}
    for _ in range(8):
        bm, bn, w = draw.choice([(128, 64, 4), (128, 128, 8), (64, 64, 4), (64, 128, 4)])
        yield ("gated", *draw.choice(SIZES), bm, bn, 64, w, draw.choice((2, 3))), {}
    for _ in range(14):
        m, n, k, z = draw.choice([(512, 512, 2048, 24), (1024, 1024, 512, 16), (256, 1024, 1024, 32), (2048, 512, 768, 12), (1024, 2048, 4096, 4)])
        bm, bn, w = draw.choice([(64, 64, 4), (64, 128, 4), (128, 64, 4), (128, 128, 4), (128, 128, 8)])
        yield ("batched", m, n, k, bm, bn, draw.choice((32, 64)), w, draw.choice((2, 3, 4))), {"batch": z}
    for _ in range(10):
        m, n, k, p = draw.choice([(128, 4096, 8192, 4), (64, 8192, 4096, 4), (256, 2048, 8192, 8), (128, 8192, 4096, 2), (192, 3072, 6144, 6)])
        bm, bn = draw.choice([(64, 64), (64, 128), (64, 256)])
        yield ("split", m, n, k, bm, bn, 64, 4, draw.choice((2, 3, 4))), {"parts": p}
    for _ in range(8):
        m, n, k = draw.choice([(64, 8192, 8192), (128, 4096, 4096), (256, 6144, 2048), (64, 4096, 8192)])
        bm, bn = draw.choice([(64, 64), (64, 128)])
        yield ("int4", m, n, k, bm, bn, 64, 4, draw.choice((1, 2, 3, 4))), {}


def configurations():
    """Yields the name of a function of kernels.py, its arguments and its keywords, without repeats."""
    seen = set()
    for configuration in drawn():
        if str(configuration) not in seen:
            seen.add(str(configuration))
            yield configuration


def drawn():
    """Configurations as they are drawn."""
    draw = random.Random(30)
    for args, keywords in products(draw):
        yield "product", args, keywords
    for causal in (False, True):
        for _ in range(15):
            n, heads = draw.choice([(1024, 64), (2048, 24), (4096, 10), (8192, 6)])
            d = draw.choice((64, 128))
            bm, bn, w = draw.choice([(64, 32, 4), (64, 64, 4), (128, 32, 4), (128, 64, 4), (128, 64, 8), (128, 128, 8)])
            yield "attention", (n, heads, d, bm, bn, w, draw.choice((1, 2, 3)), causal), {}
    for _ in range(8):
        n, heads = draw.choice([(4096, 132), (8192, 96), (2048, 300), (16384, 64)])
        yield "decode", (n, heads, draw.choice((64, 128)), draw.choice((32, 64)), draw.choice((4, 8)), draw.choice((1, 2, 3))), {}
    for n, m in [(384, 40960), (1024, 20480), (2048, 12288), (3072, 8192), (4096, 6144), (5120, 4096), (8192, 3072), (12288, 2048), (640, 65536)]:
        block = 1 << (n - 1).bit_length()
        yield "rows", ("softmax", n, m, block, draw.choice((4, 8, 16)) if n > 1024 else draw.choice((2, 4))), {}
    for n, m in [(1024, 24576), (2048, 10240), (3072, 6144), (4096, 4096), (4096, 12288), (5120, 3072), (6144, 8192), (8192, 2048), (8192, 6144)]:
        for _ in range(2):
            block = draw.choice([b for b in (512, 1024, 2048, 4096) if n % b == 0])
            yield "rows", ("norm", n, m, block, 4 if block < 2048 else 8, draw.choice((1, 2, 3))), {}
        yield "rows", ("rowsum", n, m, block, 4 if block < 2048 else 8, draw.choice((1, 2))), {}
    for args in [(3 << 21, 1024, 4), (1 << 22, 2048, 8), (7 << 20, 1024, 8), (1 << 25, 512, 4), (3 << 23, 4096, 8), (1 << 26, 2048, 8)]:
        yield "add", args, {}
