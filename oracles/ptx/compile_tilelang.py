"""Compiles matrix products and a copy with TileLang and nvcc. No GPU is needed.

    python3 -m venv v && v/bin/pip install tilelang==0.1.15 nvidia-cuda-nvcc==13.5.37 nvidia-nvvm nvidia-cuda-crt \\
        nvidia-cuda-cccl && v/bin/pip install --no-deps nvidia-cuda-runtime==13.5.37
    v/bin/python oracles/ptx/compile_tilelang.py FOLDER --nvcc v/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc

It is also a recipe for `python -m warpline.corpus` (docs/clusters.md); `NVCC` names nvcc.

`pack.py --producer tilelang FOLDER/*.ptx` compresses them into this folder.
"""

import argparse
import dataclasses
import itertools
import os
import pathlib
import subprocess
import tempfile

import tilelang as tl
import tilelang.language as T
from tilelang import tvm

F16, F32, I8 = T.float16, T.float32, T.int8
PACKAGE = pathlib.Path(tl.__file__).resolve().parent
FLAGS = ["-std=c++17", "--expt-relaxed-constexpr", "--expt-extended-lambda", "-DENABLE_BF16",
         "-diag-suppress", "20012,186,20013,20015,177", f"-I{PACKAGE}/src", f"-I{PACKAGE}/3rdparty/cutlass/include"]


def gemm(bm, bn, bk, stages, threads):
    @T.prim_func
    def main(A: T.Tensor((1024, 1024), F16), B: T.Tensor((1024, 1024), F16), C: T.Tensor((1024, 1024), F16)):
        with T.Kernel(1024 // bn, 1024 // bm, threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), F16)
            b = T.alloc_shared((bk, bn), F16)
            c = T.alloc_fragment((bm, bn), F32)
            T.clear(c)
            for k in T.Pipelined(1024 // bk, num_stages=stages):
                T.copy(A[by * bm, k * bk], a)
                T.copy(B[k * bk, bx * bn], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * bm, bx * bn])

    return main


def dequant(bm, bn, bk, stages, threads):
    @T.prim_func
    def main(A: T.Tensor((1024, 1024), F16), B: T.Tensor((1024, 1024), I8), C: T.Tensor((1024, 1024), F16)):
        with T.Kernel(1024 // bn, 1024 // bm, threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), F16)
            q = T.alloc_shared((bk, bn), I8)
            b = T.alloc_shared((bk, bn), F16)
            c = T.alloc_fragment((bm, bn), F32)
            T.clear(c)
            for k in T.Pipelined(1024 // bk, num_stages=stages):
                T.copy(A[by * bm, k * bk], a)
                T.copy(B[k * bk, bx * bn], q)
                for i, j in T.Parallel(bk, bn):
                    b[i, j] = T.cast(q[i, j], F16)
                T.gemm(a, b, c)
            T.copy(c, C[by * bm, bx * bn])

    return main


def copy(bm, bn, _, stages, threads):
    @T.prim_func
    def main(A: T.Tensor((1024, 1024), F16), C: T.Tensor((1024, 1024), F16)):
        with T.Kernel(1024 // bm, threads=threads) as bx:
            a = T.alloc_shared((bm, bn), F16)
            r = T.alloc_fragment((bm, bn), F16)
            for k in T.Pipelined(1024 // bn, num_stages=stages):
                T.copy(A[bx * bm, k * bn], a)
                T.copy(a, r)
                T.copy(r, C[bx * bm, k * bn])

    return main


# Name, function, tile, stages, threads.
CASES = [
    ("gemm", gemm, (64, 64, 32), 1, 128), ("gemm", gemm, (64, 64, 32), 2, 128), ("gemm", gemm, (128, 64, 32), 4, 128),
    ("gemm", gemm, (128, 128, 64), 3, 256), ("dequant", dequant, (64, 64, 32), 3, 128), ("copy", copy, (64, 64, 0), 2, 128),
    ("copy", copy, (32, 128, 0), 4, 128),
]


@dataclasses.dataclass
class Case:
    """One kernel for one target."""

    family: str
    function: object
    tile: tuple
    stages: int
    threads: int
    arch: str
    nvcc: str = os.environ.get("NVCC", "nvcc")

    @property
    def name(self):
        bm, bn, bk = self.tile
        return f"{self.family}_{bm}x{bn}{f'x{bk}' if bk else ''}_{self.arch.replace('_', '')}_ns{self.stages}"

    def ptx(self):
        """The PTX of nvcc."""
        target = tvm.target.Target({"kind": "cuda", "arch": self.arch})
        with target:
            source = tl.lower(self.function(*self.tile, self.stages, self.threads), target=target).kernel_source
        with tempfile.TemporaryDirectory() as temporary:
            path, out = pathlib.Path(temporary) / "k.cu", pathlib.Path(temporary) / "k.ptx"
            path.write_text(source)
            words = [self.nvcc, "-ptx", f"-arch={self.arch}", *FLAGS, "-o", out, path]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"nvcc: {done.stderr[-500:]}")
            return out.read_text()


def cases():
    """The kernels that are recorded."""
    return [Case(*case, arch) for arch in ("sm_80", "sm_90a") for case in CASES]


def kernels():
    """The kernels of a corpus run: those of `cases`, and further tiles and stages."""
    tiles = itertools.product((64, 128), (64, 128), (32, 64))
    more = [("gemm", gemm, tile, stages, 128) for tile in tiles for stages in (1, 2, 3, 4)]
    more += [("dequant", dequant, (64, 64, 32), stages, 128) for stages in (1, 2, 4)]
    more += [("copy", copy, (64, 64, 0), stages, 128) for stages in (1, 3, 4)]
    found = {case.name: case for case in cases()}
    for arch in ("sm_80", "sm_90a"):
        for case in more:
            made = Case(*case, arch)
            found.setdefault(made.name, made)
    return found.values()


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("folder", type=pathlib.Path)
    parse.add_argument("--nvcc", default="nvcc")
    args = parse.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for case in cases():
        file = args.folder / f"{case.name}.ptx"
        if file.exists():
            continue
        case.nvcc = args.nvcc
        try:
            file.write_text(case.ptx())
        except Exception as error:
            print("not compiled", case.name, (str(error).strip().splitlines() or [type(error)])[-1], flush=True)


if __name__ == "__main__":
    main()
