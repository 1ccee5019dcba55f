"""Compiles a matrix product with Triton, proves its barrier protocol and draws it. Needs no GPU.

Writes gemm.ptx and gemm.svg into the working folder.
"""

import os
import pathlib
import sys

# Triton 3.9 asks for this choice.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import triton
import triton.language as tl

import warpline
import warpline.triton


@triton.jit
def gemm(a, b, c, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :]
    pb = b + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * sbk
    tl.store(c + rm[:, None] * scm + rn[None, :], acc.to(tl.float16))


def main() -> int:
    size = 4096
    config = triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=4, num_stages=3)
    args = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "K": size, "sam": size, "sbk": size, "scm": size}
    compiled = warpline.triton.compile_config(gemm, config, args, machine="h200")
    pathlib.Path("gemm.ptx").write_text(compiled.kernel.asm["ptx"])

    verdict = warpline.verify(compiled.kernel)
    print(verdict)
    launch = {"grid": (size // 128, size // 128), "args": compiled.arguments, "registers": compiled.registers}
    run = warpline.run(compiled.kernel, **launch)
    print(f"{run.time_us:,.0f} us simulated; {run.bottleneck}")
    run.chart().save("gemm.svg")
    return 0 if verdict.proved else 1


if __name__ == "__main__":
    sys.exit(main())
