"""Compiles examples of CuTe DSL as their own command lines do without arguments. No GPU is needed.

    python3 -m venv v && v/bin/pip install torch nvidia-cutlass-dsl==4.8.1
    v/bin/python oracles/ptx/compile_cutedsl.py FOLDER --cutlass C

C is a checkout of CUTLASS 4.7 (github.com/NVIDIA/cutlass, commit 7107b05535f8977f5ecb9d01ee203205b1fd9bc4) with its examples.

Each example runs in a process of its own in which tensors are in host memory and say that they are on a GPU. It ends at the
first launch. Each PTX file that it has left by then is a kernel here. Examples of other architectures than sm_80, sm_90a and
sm_100a, of several GPUs, of JAX and those of which this folder has a kernel are left out. `--every N` takes every Nth example.
"""

import ctypes
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
import types

import compiling

LEFT_OUT = re.compile(r"geforce|sm103|distributed|jax|_reference|helpers?\b|_utils|_common|/export/|aot_|export_|ffi/|/utils\.py|_scheduler|_extension|common_|"
                      r"load_in_python|__init__|iket|call_bypass|print_latex|autotune")
RECORDED = ("a_sgemm", "b_tut_fp16_gemm_1", "b_tut_fp16_gemm_4")
# A GPU of each architecture: multiprocessors and the largest shared memory of a CTA.
DEVICES = {"sm_80": (108, 166912), "sm_90a": (132, 232448), "sm_100a": (148, 232448)}


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
    folder = parts[-2] if parts[-2] not in ("kernel", "efc", parts[1], parts[-1], "tutorial_gemm", "tutorial_tma") and not parts[-1].startswith(parts[-2]) else ""
    return f"{letter}_{middle}{folder + '_' if folder else ''}{parts[-1]}"


def pretend(architecture):
    """Lets torch and CuTe DSL take host memory for a GPU of this architecture."""
    import cutlass.cute as cute
    import cutlass.utils
    import torch
    from torch.overrides import TorchFunctionMode

    processors, shared = DEVICES[architecture]
    capability = {"sm_80": (8, 0), "sm_90a": (9, 0), "sm_100a": (10, 0)}[architecture]
    random = {torch.randn: 1, torch.rand: 1, torch.Tensor.random_: 0, torch.Tensor.normal_: 0, torch.Tensor.uniform_: 0}

    def on_host(value):
        return "cpu" if isinstance(value, (str, torch.device)) and str(value).startswith("cuda") else value

    class Host(TorchFunctionMode):
        def __torch_function__(self, function, kinds, args=(), kwargs=None):
            kwargs = {name: on_host(value) for name, value in (kwargs or {}).items() if name != "pin_memory"}
            if function in (torch.Tensor.cuda, torch.Tensor.pin_memory):
                return args[0]
            if function in random:
                kwargs.pop("generator", None)
                return torch.empty(*args, **kwargs) if random[function] else args[0]
            return function(*(on_host(value) for value in args), **kwargs)

    plain = torch.Tensor.__dlpack__

    def on_gpu(tensor, *args, **kwargs):
        capsule = plain(tensor.detach(), *args, **{**kwargs, "stream": None, "dl_device": None})
        name = ctypes.pythonapi.PyCapsule_GetName
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        at = pointer(capsule, name(capsule)) + (40 if b"versioned" in name(capsule) else 8)
        ctypes.cast(at, ctypes.POINTER(ctypes.c_int32))[0] = 2  # kDLCUDA
        return capsule

    torch.Tensor.__dlpack__ = on_gpu
    torch.Tensor.__dlpack_device__ = lambda tensor: (2, 0)
    stream = types.SimpleNamespace(cuda_stream=0, synchronize=lambda: None)
    for name, value in {"is_available": True, "current_stream": stream, "default_stream": stream, "Stream": stream, "synchronize": None,
                        "device_count": 1, "current_device": 0, "set_device": None, "init": None, "empty_cache": None,
                        "manual_seed": None, "manual_seed_all": None, "get_device_capability": capability, "get_device_name": "GPU",
                        "get_device_properties": types.SimpleNamespace(
                            major=capability[0], minor=capability[1], multi_processor_count=processors, name="GPU",
                            shared_memory_per_block_optin=shared, L2_cache_size=50 << 20, total_memory=80 << 30)}.items():
        setattr(torch.cuda, name, lambda *_args, _value=value, **_kwargs: _value)
    hardware = cutlass.utils.HardwareInfo
    hardware.__init__ = lambda self, *args: None
    hardware.get_max_active_clusters = lambda self, size, *args, **kwargs: processors // size
    hardware.get_device_multiprocessor_count = lambda self: processors
    hardware.get_l2_cache_size_in_bytes = lambda self: 50 << 20

    class Compiled:
        def __init__(self, inner):
            self.inner = inner

        def __call__(self, *args, **kwargs):
            raise SystemExit(0)

        def __getattr__(self, name):
            return getattr(self.inner, name)

    class Compile:
        def __init__(self, inner):
            self.inner = inner

        def __getitem__(self, options):
            return Compile(self.inner[options])

        def __call__(self, *args, **kwargs):
            return Compiled(self.inner(*args, **kwargs))

        def __getattr__(self, name):
            return getattr(self.inner, name)

    cute.compile = Compile(cute.compile)
    return Host()


def example(path, architecture):
    """What a process of one example does."""
    with pretend(architecture):
        sys.path.insert(0, str(path.parent))
        sys.argv = [str(path)]
        runpy.run_path(str(path), run_name="__main__")


def compiled(path, architecture, limit):
    """The PTX texts of one example."""
    with tempfile.TemporaryDirectory() as temporary:
        environment = {**os.environ, "CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": temporary, "CUTE_DSL_ARCH": architecture,
                       "CUTE_DSL_NO_CACHE": "1", "MPLBACKEND": "Agg"}
        command = [sys.executable, __file__, str(path), "--example", architecture]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            compiling.failed(path, f"longer than {limit} s")
            done = None
        texts = [p.read_text().rstrip("\0") for p in sorted(pathlib.Path(temporary).rglob("*.ptx"))]
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
        texts = [text for text in compiled(path, arch(path), args.limit) if compiling.entries(text)]
        for number, text in enumerate(texts[:2]):
            kernel = name if len(texts) == 1 else f"{name}_{number}"
            compiling.write_spread(args.folder, "cutedsl", kernel, text, str(path.relative_to(args.cutlass)), arch(path), 1)
        print(len(texts), name, flush=True)


main()
