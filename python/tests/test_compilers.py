"""Compiled kernels as objects: the shapes of Triton, TileLang and CuTe DSL, and the packages where they are installed."""

import linecache
import shutil

import pytest
from conftest import CompiledKernel, recorded

import warpline
from warpline import _cubin
from warpline._compiled import compiled

TILELANG = "tilelang.gemm_64x64x32_sm80_ns2"
CUTE = "cutedsl.a_sgemm"


class Function:
    """A device function of TVM, as far as warpline looks at it."""

    def __init__(self, **attrs):
        self.attrs = attrs


class JITKernel:
    """The shape of TileLang's kernel."""

    def __init__(self, ptx, **attrs):
        self.ptx, self.exports = ptx, 0
        module = type("IRModule", (), {"functions": {"main_kernel": Function(**attrs)}})()
        self.artifact = type("CompiledArtifact", (), {"device_mod": module})() if attrs else None

    def get_kernel_source(self):
        return "// CUDA"

    def export_ptx(self, path):
        self.exports += 1
        if self.ptx is not None:
            with open(path, "w") as file:
                file.write(self.ptx)


class JitCompiledFunction:
    """The shape of CuTe DSL's compiled function."""

    function_name = "cutlass_host_gemm"

    def __init__(self, ptx, kernels=()):
        self.ptx, self.kernel_info = ptx, {name: {} for name in kernels}

    @property
    def __ptx__(self):
        return self.ptx

    __cubin__ = None


def test_a_kernel_of_tilelang():
    extents = {"blockIdx.x": 16, "blockIdx.y": 16, "threadIdx.x": 128}
    attrs = {"global_symbol": "main_kernel", "dyn_shared_memory_buf": 16384, "thread_extent": extents}
    kernel = JITKernel(recorded(TILELANG), **attrs)
    found = compiled(kernel)
    assert (found.name, found.shared, found.grid) == ("main_kernel", 16384, [16, 16, 1])
    assert warpline.verify(kernel).proved
    run = warpline.run(kernel)
    assert run.ctas == 256 and run.shared_bytes >= 16384 and run.scenario == "main_kernel.ptx"
    assert kernel.exports == 1, "nvcc is called once"


def test_a_kernel_of_tilelang_from_its_cache():
    kernel = JITKernel(recorded(TILELANG))
    assert warpline.verify(kernel).proved
    with pytest.raises(warpline.Error, match="size of the grid"):
        warpline.run(kernel)
    assert warpline.run(kernel, grid=(16, 16), shared=16384).ctas == 256
    with pytest.raises(RuntimeError, match="wrote no PTX"):
        warpline.verify(JITKernel(None))


def test_a_function_of_cute_dsl():
    text = recorded(CUTE)
    kernel = JitCompiledFunction(text + "\0", ["kernel_sgemm"])
    found = warpline.verify(kernel)
    assert found.scenario == "kernel_sgemm.ptx" and found.verdict == warpline.verify(text).verdict
    with pytest.raises(TypeError, match="--keep-ptx"):
        warpline.verify(JitCompiledFunction(None))


def test_an_object_of_another_package():
    with pytest.raises(TypeError, match="Triton, TileLang or CuTe DSL"):
        warpline.verify(Function())


def test_options_of_the_caller_come_first(refuted_ptx):
    kernel = CompiledKernel("mm", refuted_ptx)
    assert warpline.run(kernel, grid=(64, 64), args={5: 4096}, shared=131072).shared_bytes == 131072


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02", b"\x7fELF\x02" + bytes(59), b"MZ" + bytes(200)])
def test_a_file_that_is_no_cubin(data):
    assert _cubin.registers(data) == {}


def test_registers_of_triton():
    pytest.importorskip("triton")
    import test_triton

    import warpline.triton

    made = warpline.triton.compile_config(test_triton.gemm, test_triton.config(64, 64, 32, 4, 2), test_triton.ARGS)
    found = compiled(made.kernel)
    assert found.registers == made.registers and 16 <= made.registers <= 255 and found.shared > 0


def test_the_real_cute_dsl(monkeypatch):
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_90a")
    cute = pytest.importorskip("cutlass.cute")
    from cutlass import Float32
    from cutlass.cute.runtime import make_fake_compact_tensor

    @cute.kernel
    def device(source: cute.Tensor, target: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        cute.arch.sync_threads()
        target[thread] = source[127 - thread]

    @cute.jit
    def host(source: cute.Tensor, target: cute.Tensor):
        device(source, target).launch(grid=(1, 1, 1), block=(128, 1, 1))

    tensors = [make_fake_compact_tensor(Float32, (128,)) for _ in range(2)]
    kernel = cute.compile(host, *tensors, options="--keep-ptx --keep-cubin")
    assert warpline.verify(kernel).proved
    found = compiled(kernel)
    assert found.name.startswith("kernel_") and found.registers
    assert warpline.run(kernel, grid=1).time_us > 0
    with pytest.raises(TypeError, match="--keep-ptx"):
        warpline.verify(cute.compile(host, *tensors))


def test_the_real_tilelang(monkeypatch, tmp_path):
    monkeypatch.setenv("TILELANG_DISABLE_CACHE", "1")
    tilelang = pytest.importorskip("tilelang")
    if shutil.which("nvcc") is None:
        pytest.skip("TileLang needs nvcc")
    import tilelang.language as T

    @T.prim_func
    def copy(a: T.Tensor((1024, 1024), T.float16), b: T.Tensor((1024, 1024), T.float16)):
        with T.Kernel(16, threads=128) as i:
            s = T.alloc_shared((64, 64), T.float16)
            for k in T.Pipelined(16, num_stages=2):
                T.copy(a[i * 64, k * 64], s)
                T.copy(s, b[i * 64, k * 64])

    linecache.checkcache(__file__)
    target = tilelang.tvm.target.Target({"kind": "cuda", "arch": "sm_80"})
    try:
        kernel = tilelang.compile(copy, target=target)
    except Exception as error:  # The host's half needs the library of the driver.
        pytest.skip(f"TileLang does not compile here: {error}")
    found = compiled(kernel)
    assert found.name == "copy_kernel" and found.shared > 0 and found.grid == [16, 1, 1]
    assert warpline.verify(kernel).proved and warpline.run(kernel).ctas == 16
