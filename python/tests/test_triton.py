"""Triton's own compiler, without a GPU; skipped where triton is not installed."""

import pathlib
import subprocess
import sys
import warnings

import pytest

triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402

import warpline  # noqa: E402
import warpline.triton as wt  # noqa: E402


@triton.jit
def gemm(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :]
    pb = b + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * sbk
    tl.store(c + rm[:, None] * scm + rn[None, :], acc.to(tl.float16))


@triton.jit
def gemm_tma(da, db, dc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(da.load([pm * BM, k * BK]), db.load([pn * BN, k * BK]).T, acc)
    dc.store([pm * BM, pn * BN], acc.to(tl.float16))


ARGS = {
    "a": "*fp16",
    "b": "*fp16",
    "c": "*fp16",
    "M": 4096,
    "N": 4096,
    "K": 4096,
    "sam": 4096,
    "sbk": 4096,
    "scm": 4096,
}


def config(bm, bn, bk, warps, stages):
    return triton.Config({"BM": bm, "BN": bn, "BK": bk}, num_warps=warps, num_stages=stages)


def grid(values):
    return 4096 // values["BM"], 4096 // values["BN"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(triton.knobs.cache, "dir", str(tmp_path_factory.getbasetemp() / "triton"))


def test_a_kernel_is_proved_and_drawn():
    compiled = wt.compile_config(gemm, config(128, 128, 64, 4, 3), ARGS)
    assert warpline.verify(compiled.kernel).proved
    found = warpline.run(compiled.kernel, grid=grid(compiled.values), args=compiled.arguments)
    assert found.time_us > 0 and found._repr_svg_().startswith("<svg")
    assert compiled.registers and compiled.registers <= 255


def test_rank_orders_by_time_and_names_what_it_rejects():
    # Shared memory of the last one is more than a core has.
    configs = [config(32, 32, 32, 4, 1), config(128, 128, 64, 4, 3), config(256, 256, 128, 8, 5)]
    seen = []
    ranking = wt.rank(gemm, configs, ARGS, grid=grid, progress=lambda *p: seen.append(p))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert [r.config for r in ranking] == [configs[1], configs[0]]
    assert ranking[0].time_us < ranking[1].time_us
    assert [r.config for r in ranking.rejected] == [configs[2]]
    assert "bytes of shared memory; h200 gives one at most" in ranking.rejected[0].reason
    assert ranking.compile_s > 0 and ranking.model_s > 0 and len(ranking.to_pandas()) == 2
    page = ranking._repr_html_()
    assert page.count("<tr>") == 1 + 2 + 1 + 1 and "num_stages: 3" in page


def test_mistakes_of_the_caller_are_no_rejected_configurations():
    with pytest.raises(ValueError, match="Triton compiles for a100"):
        wt.rank(gemm, [config(32, 32, 32, 4, 1)], ARGS, "h300", grid=grid)
    with pytest.raises(TypeError, match="no value for `M`, `N`"):
        wt.rank(gemm, [config(32, 32, 32, 4, 1)], {k: v for k, v in ARGS.items() if k not in "MN"}, grid=grid)
    with pytest.raises(TypeError, match="compile_config"):
        warpline.verify(gemm)


def tma_args(chosen):
    boxes = {"da": ("BM", "BK"), "db": ("BN", "BK"), "dc": ("BM", "BN")}
    return {**{n: f"tensordesc<fp16[{chosen[r]}, {chosen[c]}]>" for n, (r, c) in boxes.items()}, "K": 4096}


def test_a_refuted_configuration_is_never_returned():
    configs = [config(128, 128, 64, 8, 3)]
    refuted = wt.rank(gemm_tma, configs, tma_args, grid=grid)
    assert not refuted and "refuted" in refuted.rejected[0].reason


@pytest.fixture
def installed(request):
    remove = wt.install(level=request.param)
    yield
    remove()


@pytest.mark.parametrize("installed", ["warn"], indirect=True)
def test_install_warns_once_for_a_kernel_that_is_not_proved(installed):
    def compile_tma():
        return wt.compile_config(gemm_tma, config(128, 128, 64, 8, 3), tma_args)

    with pytest.warns(wt.ProtocolWarning, match="gemm_tma"):
        compile_tma()
    with warnings.catch_warnings():
        warnings.simplefilter("error", wt.ProtocolWarning)
        compile_tma()
        wt.compile_config(gemm, config(128, 128, 64, 4, 3), ARGS)


@pytest.mark.parametrize("installed", ["error"], indirect=True)
def test_install_raises_with_the_counterexample(installed):
    with pytest.raises(wt.ProtocolError, match="WL0603"):
        wt.compile_config(gemm_tma, config(128, 128, 64, 8, 3), tma_args)


def test_install_leaves_no_listener_behind():
    before = triton.knobs.compilation.listener
    wt.install()()
    assert triton.knobs.compilation.listener is before
    with pytest.raises(ValueError):
        wt.install(level="loud")


def test_the_models_of_an_autotuner():
    configs = [config(32, 32, 32, 4, 1), config(128, 128, 64, 4, 3)]

    class Tuner:
        """The part of Triton's autotuner that calls the models; the rest of it needs a GPU."""

        prune_configs = triton.runtime.autotuner.Autotuner.prune_configs

        def __init__(self):
            self.fn, self.configs, self.nargs = gemm, configs, ARGS
            self.early_config_prune, self.perf_model, self.configs_top_k = wt.prune, wt.perf_model, 1

    assert Tuner().prune_configs({"grid": grid, "warmup": False}) == [configs[1]]


def test_the_example_of_the_readme(tmp_path):
    example = pathlib.Path(__file__).resolve().parents[1] / "examples/gemm.py"
    found = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "PROVED" in found.stdout and (tmp_path / "gemm.svg").read_text().startswith("<svg")
