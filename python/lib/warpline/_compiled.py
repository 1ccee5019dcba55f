"""Compiled kernels of other packages: their PTX, and what a launch needs. None of these packages is imported.

| object | PTX | shared memory | registers | grid |
|---|---|---|---|---|
| Triton's `CompiledKernel` | `asm["ptx"]` | `metadata.shared` | `asm["cubin"]` | |
| CuTe DSL's compiled function | `__ptx__`, kept by `options="--keep-ptx"` | | `__cubin__`, kept by `--keep-cubin` | |
| TileLang's `JITKernel` | `export_ptx`, which calls nvcc | `artifact` | | `artifact`, where it is constant |
| TileLang's `CompiledArtifact` | none: it is CUDA source | | | |

TileLang keeps the artifact of a kernel that it compiled in this process, and not of one from its cache on disk.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

from warpline import _cubin

_exported: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()
"""PTX of TileLang's kernels: nvcc takes seconds."""


class Compiled(NamedTuple):
    """A compiled kernel as text, with what it knows of its launch."""

    name: str
    text: str
    shared: Optional[int] = None
    """Bytes of shared memory beyond those of the text."""
    registers: Optional[int] = None
    """Registers of a thread."""
    grid: Optional[Sequence[int]] = None
    """CTAs of the grid."""


def compiled(kernel: Any) -> Optional[Compiled]:
    """A compiled kernel of Triton, TileLang or CuTe DSL; `None` for other objects."""
    asm = getattr(kernel, "asm", None)
    # Triton's own mapping answers `in` by keys alone.
    if asm is not None and "ptx" in asm:
        return _triton(kernel, asm)
    if hasattr(type(kernel), "__ptx__") or hasattr(kernel, "__ptx__"):
        return _cute(kernel)
    if hasattr(kernel, "export_ptx") and hasattr(kernel, "get_kernel_source"):
        return _tilelang(kernel)
    return None


def _triton(kernel: Any, asm: Mapping[str, Any]) -> Compiled:
    metadata = getattr(kernel, "metadata", None)
    name = getattr(kernel, "name", None) or getattr(metadata, "name", None) or "kernel"
    registers = _registers(asm["cubin"] if "cubin" in asm else None, name)
    return Compiled(name, _decoded(asm["ptx"]), getattr(metadata, "shared", None), registers)


def _cute(kernel: Any) -> Compiled:
    text = kernel.__ptx__
    if not text:
        raise TypeError('the compiled function of CuTe DSL has no PTX: compile it with options="--keep-ptx"')
    # The names of the kernels; `function_name` is that of the host.
    kernels = list(getattr(kernel, "kernel_info", None) or ())
    name = kernels[0] if kernels else getattr(kernel, "function_name", "kernel")
    return Compiled(name, _decoded(text), None, _registers(getattr(kernel, "__cubin__", None), name))


def _tilelang(kernel: Any) -> Compiled:
    text: Optional[str] = _exported.get(kernel)
    if text is None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernel.ptx")
            kernel.export_ptx(path)
            # TileLang logs an error of nvcc, and writes no file.
            if not os.path.exists(path):
                raise RuntimeError("TileLang wrote no PTX of the kernel; its log has the reason (it needs nvcc)")
            with open(path, encoding="utf-8") as file:
                text = file.read()
        _exported[kernel] = text
    assert text is not None
    module = getattr(getattr(kernel, "artifact", None), "device_mod", None)
    functions = [] if module is None else list(module.functions.values())
    if len(functions) != 1:
        return Compiled("kernel", text)
    attributes = functions[0].attrs
    shared = int(attributes["dyn_shared_memory_buf"]) if "dyn_shared_memory_buf" in attributes else None
    extents = attributes["thread_extent"] if "thread_extent" in attributes else {}
    try:
        # Extents that depend on arguments are expressions.
        grid = [int(extents[f"blockIdx.{axis}"]) if f"blockIdx.{axis}" in extents else 1 for axis in "xyz"]
    except TypeError:
        grid = None
    return Compiled(str(attributes["global_symbol"]), text, shared, None, grid if extents else None)


def _decoded(text: Union[str, bytes]) -> str:
    return (text.decode() if isinstance(text, bytes) else str(text)).rstrip("\0")


def _registers(cubin: Any, name: str) -> Optional[int]:
    """Registers of a kernel, or of the only one."""
    found = _cubin.registers(cubin) if isinstance(cubin, bytes) else {}
    return found.get(name) or (next(iter(found.values())) if len(found) == 1 else None)
