"""Compiles the tutorials and examples of Triton's Gluon. No GPU is needed.

    python3 -m venv v && v/bin/pip install torch pytest && v/bin/pip install triton==3.8.0
    v/bin/python oracles/ptx/compile_gluon.py FOLDER --triton T

T is a checkout of Triton with python/tutorials/gluon and python/examples/gluon (here that of github.com/facebookexperimental/triton,
commit db4666f22c1f8b206584c3f06e3b4a0ff035989e).

Each file's tests run once as on an H100 and once as on a B200, with tensors in host memory. Of the parameter sets of each test the
middle one is taken. A test ends at the first launch of a kernel with copies or barriers, and that kernel is taken.
"""

import os
import pathlib
import re
import sys
import tempfile
import types

import compiling

# Files without tests of their own and those for other GPUs.
LEFT_OUT = re.compile(r"conftest|common|01-intro|02-layouts")
# Tests of Triton's sanitizers.
SANITIZERS = re.compile(r"consan|fpsan|gsan")


class Launched(Exception):
    pass


def tests(path, architecture):
    """What a process of one file does: runs its tests and leaves PTX as TEST.ptx in the working folder."""
    import pytest
    import triton
    from triton._C.libtriton import nvidia
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import CompiledKernel

    context = compiling.host(architecture)
    device = compiling.DEVICES[architecture]
    running = []

    class Driver:
        utils = types.SimpleNamespace(get_device_properties=lambda index: {
            "max_shared_mem": device.shared_memory_per_block_optin, "multiprocessor_count": device.multi_processor_count})
        launcher_cls = None

        def __getattr__(self, name):
            return lambda *args, **kwargs: 0

        def get_current_target(self):
            return GPUTarget("cuda", 10 * device.major, 32)

        def get_active_torch_device(self):
            return "cpu"

        def get_benchmarker(self):
            return lambda call, **options: [call()] * 3

    def launch(kernel):
        text = kernel.asm["ptx"]
        kernel._run = lambda *args, **kwargs: None
        if compiling.entries(text) and kernel.metadata.shared <= device.shared_memory_per_block_optin:
            pathlib.Path(f"{running[-1]}.ptx").write_text(text)
            raise Launched

    class Middle:
        def pytest_collection_modifyitems(self, items):
            by_function = {}
            for item in items:
                by_function.setdefault(item.function.__name__, []).append(item)
            items[:] = [members[len(members) // 2] for name, members in by_function.items() if not SANITIZERS.search(name)]

        def pytest_runtest_setup(self, item):
            running.append(item.function.__name__)

    GPUTarget.is_cuda_backend = lambda target: target.backend == "cuda"  # of the fork
    triton.runtime.driver.set_active(Driver())
    CompiledKernel._init_handles = launch
    nvidia.cublas.CublasLt = lambda *args: None
    with context:
        pytest.main([str(path), "-q", "-p", "no:cacheprovider", "--tb=short", "--rootdir", str(path.parent)], plugins=[Middle()])


def main():
    args = compiling.arguments(__doc__, triton={"type": pathlib.Path}, tests={"help": "for the process of one file"})
    if args.tests:
        return tests(args.folder, args.tests)
    files = [p for kind in ("tutorials", "examples") for p in sorted((args.triton / "python" / kind / "gluon").glob("*.py"))]
    for path in files:
        if LEFT_OUT.search(path.name) or not re.search(args.only, path.name):
            continue
        for architecture in ("sm_90a", "sm_100a"):
            if args.list:
                print(path.name, architecture)
                continue
            with tempfile.TemporaryDirectory() as temporary:
                command = [sys.executable, str(pathlib.Path(__file__).resolve()), str(path.resolve()), "--tests", architecture]
                environment = {**os.environ, "TRITON_CACHE_DIR": f"{temporary}/cache"}
                done = compiling.run(command, args.limit, env=environment, cwd=temporary)
                said = done.stdout if done else f"longer than {args.limit} s"
                found = sorted(pathlib.Path(temporary).glob("*.ptx"))
                for ptx in found:
                    kind = "tut" if path.parts[-3] == "tutorials" else "ex"
                    name = f"{kind}{path.stem}_{ptx.stem.removeprefix('test_')}_{architecture.removesuffix('a')}".replace("-", "_")
                    source = f"{path.relative_to(args.triton)} {ptx.stem}"
                    compiling.write_spread(args.folder, "gluon", name, ptx.read_text(), source, architecture, 1)
                print(len(found), path.name, architecture, said.strip().splitlines()[-1:], flush=True)


main()
