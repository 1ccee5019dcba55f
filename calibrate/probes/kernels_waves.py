"""Launches of kernels.py that fill the SMs exactly: one or more CTAs on each of 132 SMs, one or two rounds of them, short and long loops.

The difference of two launches is one term of the time: an iteration with one CTA an SM or with several, a round of CTAs, a start.
"""


def configurations():
    """Yields the name of a function of kernels.py, its arguments and its keywords."""
    attention = [
        (64, 128, 64, 8, 3, 2),
        (64, 64, 128, 4, 2, 3),
        (64, 64, 64, 4, 2, 4),
        (64, 128, 64, 4, 2, 2),
        (64, 64, 32, 4, 3, 5),
        (128, 64, 128, 4, 1, 2),
        (128, 64, 64, 4, 1, 3),
        (128, 128, 128, 8, 2, 1),
        (128, 128, 32, 8, 3, 2),
        (128, 64, 64, 4, 2, 2),
        (128, 128, 64, 8, 2, 1),
    ]
    for d, bm, bn, w, s, most in attention:
        yield "attention", (12 * bm, 11, d, bm, bn, w, s, False), {}
        yield "attention", (24 * bm, 11, d, bm, bn, w, s, False), {}
        if most != 2:
            yield "attention", (12 * bm, 11 * most, d, bm, bn, w, s, False), {}
        if most > 1:
            yield "attention", (12 * bm, 22, d, bm, bn, w, s, False), {}
    # Tile, warps, stages, CTAs that fit on an SM, as rows and columns of CTAs.
    products = [
        ((128, 128, 64, 8, 1), (12, 22)),
        ((64, 64, 32, 4, 1), (28, 33)),
        ((64, 128, 32, 4, 1), (24, 22)),
        ((64, 64, 64, 4, 4), (12, 33)),
        ((64, 64, 64, 4, 3), (24, 22)),
        ((64, 64, 32, 4, 2), (32, 33)),
        ((128, 64, 32, 4, 2), (24, 22)),
        ((128, 256, 64, 8, 2), (12, 11)),
        ((128, 128, 64, 4, 3), (12, 22)),
        ((64, 64, 128, 4, 2), (12, 33)),
        ((64, 128, 64, 4, 4), (12, 22)),
    ]
    for (bm, bn, bk, w, s), (rows, cols) in products:
        for across, down, k in [(rows, cols, 1024), (rows, cols, 4096), (2 * rows, cols, 1024), (12, 11, 4096)]:
            if (across, down, k) != (rows, cols, 4096) or (rows, cols) != (12, 11):
                yield "product", ("plain", bm * across, bn * down, k, bm, bn, bk, w, s), {}
