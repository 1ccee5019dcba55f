"""Compiles kernels that `warpline emit` writes to PTX with nvcc. No GPU is needed.

    python3 -m venv v && v/bin/pip install nvidia-cuda-nvcc==13.5.37 nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl
    python3 oracles/ptx/compile_emit.py FOLDER --warpline W --nvcc v/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc

W is the built program. FOLDER gets one file a scenario, for instance `hopper-pingpong.ptx`. The size of its clusters, which
the harness gives at the launch, is written into it. `pack.py --producer emit --entry '^_Z6kernel' FOLDER/*.ptx` compresses
the kernels into this folder, without the kernels of the harness.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ARCH = {"a100": "sm_80", "h100": "sm_90a", "h200": "sm_90a", "b200": "sm_100a"}


def scenarios():
    """The built-in scenarios of NVIDIA's machines."""
    root = HERE.parent.parent / "scenarios"
    for path in sorted(p for p in root.glob("*/**/*.toml") if "tests" not in p.parts):
        machine = tomllib.loads(path.read_text()).get("machine")
        if machine in ARCH:
            yield str(path.relative_to(root).with_suffix("")), ARCH[machine]


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("folder", type=pathlib.Path)
    parse.add_argument("--warpline", required=True)
    parse.add_argument("--nvcc", default="nvcc")
    parse.add_argument("--only", default="", help="scenarios whose names match")
    parse.add_argument("--recorded", action="store_true", help="only kernels of which this folder has a file")
    args = parse.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, arch in scenarios():
        file = args.folder / (name.replace("/", "-") + ".ptx")
        if not re.search(args.only, name) or (args.recorded and not (HERE / f"emit.{file.name}.gz").exists()):
            continue
        with tempfile.TemporaryDirectory() as temporary:
            source = pathlib.Path(temporary) / "k.cu"
            emitted = subprocess.run([args.warpline, "emit", name, "--target", "cuda", "-o", source], capture_output=True, text=True)
            if emitted.returncode:
                print("not emitted", name, flush=True)
                continue
            text = source.read_text()
            if int(re.search(r"constexpr int .*CLUSTER = (\d+)", text)[1]) > 1:
                source.write_text(re.sub(r"^(__global__ .*)(?=\bkernel\()", r"\1__cluster_dims__(CLUSTER) ", text, flags=re.M))
            compiled = subprocess.run([args.nvcc, "-O3", "-std=c++17", f"-arch={arch}", "-ptx", "-o", file, source],
                                      capture_output=True, text=True)
            if compiled.returncode:
                print("not compiled", name, compiled.stderr[-500:], file=sys.stderr, flush=True)


main()
