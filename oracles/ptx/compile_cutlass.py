"""Compiles examples of CUTLASS with nvcc. No GPU is needed.

    python3 -m venv n && n/bin/pip install nvidia-cuda-nvcc==13.5.37 nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl \\
        nvidia-curand nvidia-cublas
    python3 oracles/ptx/compile_cutlass.py FOLDER --cutlass C --nvcc n/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc

C is a checkout of CUTLASS 4.7 (github.com/NVIDIA/cutlass, commit 7107b05535f8977f5ecb9d01ee203205b1fd9bc4): examples, include, tools.

An example is a .cu file of `examples`. Examples of other architectures than sm_80, sm_90a and sm_100a and those of which
this folder has a kernel are left out. Of each other one at most two kernels are taken, at equal distances among those that
synchronize. `--every N` takes every Nth example.
"""

import pathlib
import re

import compiling

# Older, consumer and newer architectures, and examples that need other libraries or several files.
LEFT_OUT = re.compile(r"volta|turing|sm70|sm75|_ada_|/ada|geforce|sm103|sm120|distributed|cutlass_import|green_context|layout|utilities")
RECORDED = re.compile(r"77_blackwell_fmha\.cu|88_hopper_fmha\.cu|tutorial/blackwell/02_|tutorial/sgemm_sm80")


def arch(path):
    """The architecture that an example is for."""
    number = re.match(r"\d+", path.parent.name)
    name = str(path).lower()
    if "blackwell" in name or "sm100" in name or path.parent.name.startswith("91_"):
        return "sm_100a"
    if "hopper" in name or "sm90" in name:
        return "sm_90a"
    return "sm_90a" if number and 48 <= int(number[0]) <= 57 else "sm_80"


def main():
    args = compiling.arguments(__doc__, cutlass={"type": pathlib.Path, "required": True}, nvcc={"default": "nvcc"},
                               every={"type": int, "default": 1})
    examples = args.cutlass / "examples"
    chosen = [p for p in sorted(examples.rglob("*.cu")) if not LEFT_OUT.search(str(p)) and not RECORDED.search(str(p))]
    for path in chosen[::args.every]:
        described = str(path.relative_to(args.cutlass))
        if not re.search(args.only, described):
            continue
        if args.list:
            print(arch(path), described)
            continue
        flags = ["-std=c++17", "-w", "--expt-relaxed-constexpr", "--expt-extended-lambda", "-DCUTLASS_ENABLE_TENSOR_CORE_MMA=1",
                 *(f"-I{d}" for d in (args.cutlass / "include", args.cutlass / "tools/util/include", examples / "common", path.parent))]
        text = compiling.nvcc(args.nvcc, path, arch(path), flags, args.limit)
        number = re.match(r"\d+", path.parent.name)
        name = re.sub(r"^\d+[a-z]?_", "", path.stem)
        name = f"ex{number[0]}_{name}" if number else f"cute_tut_{path.stem}"
        if text and not compiling.write_spread(args.folder, "cutlass", name, text, described, arch(path), 2):
            print("no kernel that synchronizes", name, flush=True)


main()
