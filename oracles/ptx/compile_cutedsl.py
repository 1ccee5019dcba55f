"""Compiles examples of CuTe DSL as their own command lines do without arguments. No GPU is needed.

    python3 -m venv v && v/bin/pip install torch pytest nvidia-cutlass-dsl==4.8.1
    v/bin/python oracles/ptx/compile_cutedsl.py FOLDER --cutlass C

C is a checkout of CUTLASS 4.7 (github.com/NVIDIA/cutlass, commit 7107b05535f8977f5ecb9d01ee203205b1fd9bc4) with its examples.

Each example runs in a process of its own in which tensors are in host memory and say that they are on a GPU. It ends at the
first launch after a kernel with copies or barriers has been compiled; launches before do nothing. Of each example at most two
such kernels are taken. Examples of other architectures than sm_80, sm_90a and sm_100a, of several GPUs, of JAX and those of
which this folder has a kernel are left out. `--every N` takes every Nth example.
"""

import os
import pathlib
import re
import runpy
import sys
import tempfile

import compiling

# Other architectures, several GPUs, other frameworks, and files without a program.
LEFT_OUT = re.compile(r"geforce|sm103|distributed|jax|_reference|helpers?\b|_utils|_common|/export/|aot_|export_|ffi/|/utils\.py|"
                      r"_scheduler|_extension|common_|load_in_python|__init__|iket|call_bypass|print_latex|autotune")
RECORDED = ("a_dense_gemm_sgemm", "b_tut_fp16_gemm_1", "b_tut_fp16_gemm_4")


def arch(path):
    text = path.read_text()
    name = str(path)
    if "blackwell" in name or "tcgen05" in name or "tcgen05" in text or "tmem" in text:
        return "sm_100a"
    return "sm_80" if "ampere" in name else "sm_90a"


def short_name(path, root):
    parts = path.relative_to(root).with_suffix("").parts
    if parts[0] == "experimental":
        return "x_" + "_".join(p for p in parts[2:])
    if parts[0] == "dsl_tutorials":
        return "t_" + parts[-1]
    letter = parts[1][0] if parts[0] == "cute" else "e_" + parts[1][0]
    middle = "tut_" if "tutorial" in parts else "efc_" if "efc" in parts else ""
    folder = f"{parts[-2]}_"
    if parts[-2] in ("kernel", "efc", parts[1], "tutorial_gemm", "tutorial_tma") or parts[-1].startswith(parts[-2]):
        folder = ""
    return f"{letter}_{middle}{folder}{parts[-1]}"


def pretend(architecture):
    """Lets torch and CuTe DSL take host memory for a GPU of this architecture, and catches launches."""
    import cutlass.cute as cute
    import cutlass.cute.testing
    import cutlass.utils
    from cuda.bindings import driver
    from cutlass.base_dsl import jit_executor

    processors = compiling.DEVICES[architecture].multi_processor_count
    driver.cuInit = lambda flags: (driver.CUresult.CUDA_SUCCESS,)
    driver.cuDeviceGetCount = lambda: (driver.CUresult.CUDA_SUCCESS, 1)
    hardware = cutlass.utils.HardwareInfo
    hardware.__init__ = lambda self, *args: None
    hardware.get_max_active_clusters = lambda self, size, *args, **kwargs: processors // size
    hardware.get_device_multiprocessor_count = lambda self: processors
    hardware.get_l2_cache_size_in_bytes = lambda self: 50 << 20

    def launch(*_args, **_kwargs):
        if kept(os.environ["CUTE_DSL_DUMP_DIR"]):
            raise SystemExit(0)

    for kind in vars(jit_executor).values():
        if isinstance(kind, type) and "run_compiled_program" in vars(kind):
            kind.run_compiled_program = kind.__call__ = launch
    cute.testing.convert = lambda source, target: None
    return compiling.host(architecture)


def example(path, architecture):
    """What a process of one example does."""
    with pretend(architecture):
        sys.path.insert(0, str(path.parent))
        sys.argv = [str(path)]
        runpy.run_path(str(path), run_name="__main__")


def kept(folder):
    """The PTX texts in a folder whose kernels copy asynchronously or have barriers."""
    texts = [p.read_text().rstrip("\0") for p in sorted(pathlib.Path(folder).rglob("*.ptx"))]
    return [text for text in texts if compiling.entries(text)]


def compiled(path, architecture, limit):
    """The PTX texts of one example."""
    with tempfile.TemporaryDirectory() as temporary:
        settings = {"KEEP": "ptx", "DUMP_DIR": temporary, "ARCH": architecture, "NO_CACHE": "1"}
        environment = dict(os.environ)
        for dsl in ("CUTE_DSL", "CUTE_EXPERIMENTAL_DSL"):
            environment |= {f"{dsl}_{name}": value for name, value in settings.items()}
        command = [sys.executable, __file__, str(path), "--example", architecture]
        done = compiling.run(command, limit, env=environment)
        if not done:
            compiling.failed(path, f"longer than {limit} s")
        texts = kept(temporary)
        if not texts and done:
            compiling.failed(path, (done.stderr or done.stdout).strip()[-400:])
        return texts


def main():
    args = compiling.arguments(__doc__, cutlass={"type": pathlib.Path}, example={"help": "for the process of one example"},
                               every={"type": int, "default": 1})
    if args.example:
        return example(args.folder, args.example)

    root = args.cutlass / "examples/python/CuTeDSL"
    chosen = [p for p in sorted(root.rglob("*.py")) if not LEFT_OUT.search(str(p)) and short_name(p, root) not in RECORDED]
    for path in chosen[::args.every]:
        name = short_name(path, root)
        if not re.search(args.only, name):
            continue
        if args.list:
            print(arch(path), name, path.relative_to(args.cutlass))
            continue
        texts = compiled(path, arch(path), args.limit)
        for number, text in enumerate(texts[:2]):
            kernel = name if len(texts) == 1 else f"{name}_{number}"
            compiling.write_spread(args.folder, "cutedsl", kernel, text, str(path.relative_to(args.cutlass)), arch(path), 1)
        print(len(texts), name, flush=True)


main()
