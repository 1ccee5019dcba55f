"""Kernels that the tests share."""

import gzip
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytest_plugins = ["pytester"]


class CompiledKernel:
    """The shape of Triton's `CompiledKernel`, as far as warpline looks at it."""

    class metadata:
        shared = 98304
        num_warps = 4

    def __init__(self, name: str, ptx: str) -> None:
        self.name, self.asm = name, {"ptx": ptx}


def recorded(name: str) -> str:
    """A recorded PTX text."""
    return gzip.decompress((ROOT / f"oracles/ptx/{name}.ptx.gz").read_bytes()).decode()


@pytest.fixture
def bug() -> str:
    """The text of a kernel that reads a slot before it is written."""
    return (ROOT / "scenarios/museum/m40_missing_vmcnt/kernel.pipe").read_text()


@pytest.fixture
def proved_ptx() -> str:
    """PTX of Triton that is proved."""
    return recorded("triton.tma_128x128x64_w4_s3")


@pytest.fixture
def refuted_ptx() -> str:
    """PTX of Triton without a fence between copies and `wgmma`."""
    return recorded("triton.ptr_128x128x64_w4_s3")


@pytest.fixture
def compiled(refuted_ptx: str) -> CompiledKernel:
    """An object of Triton's shape."""
    return CompiledKernel("mm_ptr", refuted_ptx)
