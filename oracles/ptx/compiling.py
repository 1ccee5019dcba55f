"""Shared by the scripts that compile kernels of other producers.

A script gives nvcc one source after the other and writes each kernel as FOLDER/PRODUCER/PRODUCER.NAME.ptx, one kernel a file,
without debug sections and paths. It adds a line to FOLDER/index.tsv: file, producer, source, architecture.
"""

import argparse
import contextlib
import ctypes
import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import types

import pack

# Kernels without any of these have no pipeline to check.
COPIES = re.compile(r"\b(mbarrier\.|cp\.async|cp\.reduce\.async|tcgen05\.)")
BARRIERS = re.compile(r"\b(bar\.(sync|arrive|red)|barrier\.)")
# What torch says of a GPU of each architecture.
DEVICES = {arch: types.SimpleNamespace(name="GPU", major=major, minor=0, multi_processor_count=processors,
                                       shared_memory_per_block_optin=shared, L2_cache_size=50 << 20, total_memory=80 << 30)
           for arch, major, processors, shared in (("sm_80", 8, 108, 166912), ("sm_90a", 9, 132, 232448), ("sm_100a", 10, 148, 232448))}
INDEX = "file\tproducer\tsource\tarch\n"


def arguments(doc, **more):
    """The arguments that all scripts take, and `more` of the script's own."""
    parse = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("folder", type=pathlib.Path)
    parse.add_argument("--only", default="", help="only sources whose names match this regular expression")
    parse.add_argument("--limit", type=int, default=300, help="seconds that one compilation may take")
    parse.add_argument("--list", action="store_true", help="say what would be compiled")
    for name, options in more.items():
        parse.add_argument(f"--{name}", **options)
    return parse.parse_args()


def short(text):
    """Six hexadecimal digits that stand for a long name."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def entries(text):
    """Names of the kernels that copy asynchronously or, if none does, of those with barriers, in the order of the text."""
    kernels = list(pack.kernels(text))
    for what in (COPIES, BARRIERS):
        found = [name for name, start, end in kernels if what.search(text, start, end)]
        if found:
            return found
    return []


def alone(text, name):
    """The text without all other kernels."""
    return pack.only(text, f"^{re.escape(name)}$")


def spread(items, count):
    """`count` of the items at equal distances, the middle one if it is one."""
    count = min(count, len(items))
    return [items[(2 * i + 1) * len(items) // (2 * count)] for i in range(count)]


def run(command, limit, **options):
    """A finished process, or None if it took longer than `limit` seconds: then it and those that it started are ended."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def nvcc(program, source, arch, flags, limit):
    """PTX of one source, or None if nvcc rejects it or takes too long."""
    with tempfile.TemporaryDirectory() as temporary:
        out = pathlib.Path(temporary) / "k.ptx"
        command = [program, "-ptx", f"-arch={arch}", "-o", str(out), *flags, str(source)]
        began = time.monotonic()
        done = run(command, limit)
        if not done:
            return failed(source, f"longer than {limit} s")
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            return failed(source, (errors or [done.stderr])[0][-300:])
        print(f"{time.monotonic() - began:.0f} s {pathlib.Path(source).name} {arch}", flush=True)
        return without_ids(out.read_text())


def without_ids(text):
    """The text without hashes of paths and process ids, which nvcc writes into names of internal symbols."""
    ids = {m[2][:int(m[1])] for m in re.finditer(r"_ZN(\d+)(_INTERNAL_\w+)", text)}
    for full in sorted(ids, key=len, reverse=True):
        old = full.removeprefix("_INTERNAL_")
        new = re.sub(r"^[0-9a-f]{8}(_.*_)[0-9a-f]{8}(_\d+)?$", r"00000000\g<1>00000000", old)
        for prefix in ("_INTERNAL_", "_GLOBAL__N__"):
            text = text.replace(f"{len(prefix + old)}{prefix}{old}", f"{len(prefix + new)}{prefix}{new}")
        text = text.replace(old, new)
    return re.sub(r"(_INTERNAL_|_GLOBAL__N__)[0-9a-f]{8}(_\d+_\w+?_cu_)[0-9a-f]{8}", r"\g<1>00000000\g<2>00000000", text)


def failed(source, why):
    print("not compiled", source, why, file=sys.stderr, flush=True)


def write(folder, producer, name, text, source, arch):
    """Writes one kernel and its line of the index, unless another file has the same text."""
    file = f"{producer}.{name}.ptx"
    written = pack.stripped(text).encode()
    (folder / producer).mkdir(parents=True, exist_ok=True)
    for other in (folder / producer).glob("*.ptx"):
        if other.name != file and other.stat().st_size == len(written) and other.read_bytes() == written:
            print(file, "is the same as", other.name, flush=True)
            return
    (folder / producer / file).write_bytes(written)
    index = folder / "index.tsv"
    lines = index.read_text().splitlines(keepends=True) if index.exists() else [INDEX]
    lines = [line for line in lines if not line.startswith(f"{file}\t")]
    index.write_text("".join(lines) + f"{file}\t{producer}\t{source}\t{arch}\n")


def write_spread(folder, producer, name, text, source, arch, count):
    """Writes at most `count` kernels of one text, those that synchronize, at equal distances."""
    found = entries(text)
    for name_of_kernel in spread(found, count):
        number = found.index(name_of_kernel)
        file = name if len(found) == 1 else f"{name}_k{number}"
        write(folder, producer, file, alone(text, name_of_kernel), source, arch)
    return len(found)


def host(architecture):
    """Lets torch take host memory for a GPU of this architecture. The result is a context in which that holds."""
    import torch
    from torch.overrides import TorchFunctionMode

    random = {torch.randn: True, torch.rand: True, torch.Tensor.random_: False, torch.Tensor.normal_: False, torch.Tensor.uniform_: False}

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
        at = pointer(capsule, name(capsule)) + (32 if b"versioned" in name(capsule) else 0)
        ctypes.cast(at, ctypes.POINTER(ctypes.c_uint64))[0] &= ~0xfff  # aligned as on a GPU; nothing reads it
        ctypes.cast(at + 8, ctypes.POINTER(ctypes.c_int32))[0] = 2  # kDLCUDA
        return capsule

    address = torch.Tensor.data_ptr
    torch.Tensor.data_ptr = lambda tensor: address(tensor) & ~0xfff
    torch.Tensor.__dlpack__ = on_gpu
    torch.Tensor.__dlpack_device__ = lambda tensor: (2, 0)
    torch.profiler.profile = lambda **_options: contextlib.nullcontext()
    device = DEVICES[architecture]
    stream = types.SimpleNamespace(cuda_stream=0, synchronize=lambda: None)
    for name, value in {"is_available": True, "current_stream": stream, "default_stream": stream, "Stream": stream, "synchronize": None,
                        "device_count": 1, "current_device": 0, "set_device": None, "init": None, "empty_cache": None,
                        "manual_seed": None, "manual_seed_all": None, "get_device_capability": (device.major, device.minor),
                        "get_device_name": device.name, "get_device_properties": device}.items():
        setattr(torch.cuda, name, lambda *_args, _value=value, **_kwargs: _value)
    return Host()
