"""The process that compiles kernels of a recipe: reads a name from each line, writes a JSON object for each.

`python -m warpline.corpus._worker RECIPE`. It is a process of its own because a compiler can crash, and because the
recipe imports the compiler.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def load(recipe: str) -> dict[str, Any]:
    """The kernels of a recipe by name: objects with `name` and `ptx()`."""
    path = Path(recipe).resolve()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{recipe}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Compilers look for the module of a kernel.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "kernels"):
        raise SystemExit(f"{recipe}: has no function `kernels()`")
    found: dict[str, Any] = {}
    for kernel in module.kernels():
        if found.setdefault(kernel.name, kernel) is not kernel:
            raise SystemExit(f"{recipe}: two kernels have the name `{kernel.name}`")
    return found


def compiled(kernel: Any) -> dict[str, Any]:
    """PTX and CPU seconds of a kernel, or the reason why there is none."""
    start = time.process_time()
    try:
        text = kernel.ptx()
    except Exception as error:  # Compilers raise errors of many kinds.
        # Compilers say what is wrong in the first line or in the last.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        why = " ... ".join(dict.fromkeys([*lines[:1], *lines[-1:]]))
        return {"why": f"{type(error).__name__}: {why}", "cpu_s": time.process_time() - start}
    return {"ptx": text, "cpu_s": time.process_time() - start}


def main() -> None:
    # Compilers print to the standard output, which is for the answers alone.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    kernels = load(sys.argv[1])
    print(json.dumps(list(kernels)), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(compiled(kernels[line.strip()])), file=answers, flush=True)


if __name__ == "__main__":
    main()
