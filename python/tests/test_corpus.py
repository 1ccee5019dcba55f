"""A corpus of compiled kernels: one command, any number of workers, shares, and interruptions."""

import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import ROOT

import warpline
import warpline.corpus

NAMES = [
    "emit.museum-m09_expect_without_arrive-bug",
    "emit.museum-m15_no_init_fence-bug",
    "emit.museum-m15_no_init_fence-fix",
    "emit.museum-m33_fence_in_a_loop_of_no_trips-bug",
    "emit.museum-m35_epilogue_without_a_barrier-fix",
    "emit.museum-m37_barrier_number_out_of_range-bug",
    "emit.museum-m52_a_warp_arrives_for_one-fix",
    "tilelang.copy_64x64_sm80_ns2",
]

RECIPE = f"""
import gzip, os, pathlib

FOLDER = pathlib.Path({str(ROOT / "oracles/ptx")!r})

class Kernel:
    def __init__(self, name):
        self.name = name

    def ptx(self):
        print("compilers print to the standard output")
        if self.name == "refused":
            raise ValueError("no such tile")
        if self.name == "crashes":
            os.abort()
        return gzip.decompress((FOLDER / f"{{self.name}}.ptx.gz").read_bytes()).decode()

def kernels():
    return [Kernel(name) for name in [*{NAMES!r}, "refused", "crashes"]]
"""


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "recipe.py"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The verdicts of one process without interruption."""
    folder = tmp_path_factory.mktemp("expected")
    (folder / "recipe.py").write_text(RECIPE)
    return warpline.corpus.run(folder, [folder / "recipe.py"], workers=1).verdicts_csv()


def command(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "warpline.corpus", *map(str, words)], capture_output=True, text=True, **options
    )


def test_the_verdicts_are_those_of_single_calls(expected):
    rows = [line.split(",") for line in expected.splitlines()]
    assert [row[0] for row in rows[1:]] == sorted(NAMES)
    found = {row[0]: row[rows[0].index("verdict")] for row in rows[1:]}
    assert found[NAMES[0]] == "violated" and found[NAMES[2]] == "proved" and found[NAMES[5]] == "rejected"
    assert warpline.verify(ROOT / f"oracles/ptx/{NAMES[4]}.ptx.gz").verdict == found[NAMES[4]]


@pytest.mark.parametrize("workers", [2, 3])
def test_no_verdict_depends_on_the_number_of_workers(tmp_path, recipe, expected, workers):
    found = warpline.corpus.run(tmp_path, [recipe], workers=workers)
    assert found.verdicts_csv() == expected == (tmp_path / "verdicts.csv").read_text()
    why = {record["name"]: record["why"] for record in found.not_compiled}
    assert why["refused"] == "ValueError: no such tile" and "crashed" in why["crashes"] and len(why) == 2
    assert sum(found.counts.values()) == found.distinct == len(NAMES) == len(found.to_pandas())
    assert "WL0201" in found._repr_html_() and f"{len(NAMES)} kernels" in repr(found)
    report = (tmp_path / "report.md").read_text()
    assert "barrier * does not exist" in report and "no such tile" in report and "WL0201" in report


def test_no_verdict_depends_on_an_interruption(tmp_path, recipe, expected):
    words = [sys.executable, "-m", "warpline.corpus", "run", tmp_path, "--recipe", recipe, "--workers", "2"]
    interrupted, log = 0, tmp_path / "verdicts.jsonl"
    for attempt in range(30):
        before = len(log.read_bytes().splitlines()) if log.exists() else 0
        process = subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while process.poll() is None:
            if log.exists() and len(log.read_bytes().splitlines()) > max(before, 1):
                # By turns an interruption from the keyboard, and the end of the process without notice.
                process.send_signal(signal.SIGINT if attempt % 2 else signal.SIGKILL)
                interrupted += 1
                break
            time.sleep(0.005)
        process.communicate()
        if process.returncode == 0:
            break
    assert process.returncode == 0 and interrupted >= 2
    assert (tmp_path / "verdicts.csv").read_text() == expected


def test_a_cut_line_is_dropped(tmp_path, recipe, expected):
    warpline.corpus.run(tmp_path, [recipe], workers=2)
    log = tmp_path / "verdicts.jsonl"
    log.write_bytes(log.read_bytes()[:-20])
    assert warpline.corpus.verify(tmp_path, workers=1).verdicts_csv() == expected
    assert len(log.read_bytes().splitlines()) == 1 + len(NAMES)


def test_a_changed_kernel_is_decided_again(tmp_path, recipe):
    warpline.corpus.run(tmp_path, [recipe], workers=2)
    fix, bug = (tmp_path / f"ptx/emit.museum-m15_no_init_fence-{end}.ptx.gz" for end in ("fix", "bug"))
    bug.write_bytes(fix.read_bytes())
    found = {row["name"]: row["verdict"] for row in warpline.corpus.verify(tmp_path).rows}
    assert found["emit.museum-m15_no_init_fence-bug"] == "proved"


def test_shares_make_up_the_whole(tmp_path, recipe, expected):
    assert command("generate", tmp_path, "--recipe", recipe).returncode == 0
    for share in ("2/3", "1/3", "3/3"):
        found = command("verify", tmp_path, "--shard", share, "--workers", 1)
        assert found.returncode == 0, found.stderr
    assert command("report", tmp_path).returncode == 0
    assert (tmp_path / "verdicts.csv").read_text() == expected


def test_records_of_other_options_are_refused(tmp_path, recipe):
    assert command("run", tmp_path, "--recipe", recipe).returncode == 0
    found = command("run", tmp_path, "--fence", "init=off")
    assert found.returncode == 2 and "args differs" in found.stderr


def test_a_kernel_that_takes_too_long_has_no_verdict_and_is_tried_again(tmp_path, recipe, expected):
    (tmp_path / "ptx").mkdir()
    text = gzip.decompress((ROOT / "oracles/ptx/emit.museum-m27_two_warpgroups_one_tile-bug.ptx.gz").read_bytes())
    (tmp_path / "ptx/k.ptx").write_bytes(text)
    assert warpline.corpus.verify(tmp_path, limit_s=0.01).counts == {"stopped": 1}
    assert warpline.corpus.verify(tmp_path).counts == {"violated": 1}


def test_bad_input(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_compiler\n")
    for words, expected in (
        (["verify", tmp_path], "has no PTX"),
        (["run", tmp_path, "--recipe", "none.py"], "no such recipe"),
        (["run", tmp_path, "--recipe", broken], "no_such_compiler"),
        (["verify", tmp_path, "--shard", "3/2"], "expected I/N"),
    ):
        found = command(*words)
        assert found.returncode == 2 and expected in found.stderr, found.stderr


def test_the_recipe_of_triton(tmp_path):
    pytest.importorskip("triton")
    some = tmp_path / "some.py"
    some.write_text(
        textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(ROOT / "oracles/ptx")!r})
        import compile_triton

        def kernels():
            return [k for k in compile_triton.kernels() if k.name in ("gemm_64x64x32_sm80_w4_s2", "fp8_64x64x32_sm80_w4_s2")]
        """)
    )
    found = warpline.corpus.run(tmp_path, [some], workers=1)
    assert found.counts == {"proved": 1} and found.rows[0]["target"] == "sm_80"
    assert [record["name"] for record in found.not_compiled] == ["fp8_64x64x32_sm80_w4_s2"]
    assert json.loads((tmp_path / "compiled.jsonl").read_text().splitlines()[1])["recipe"] == "some"
    assert os.listdir(tmp_path / "ptx") == ["gemm_64x64x32_sm80_w4_s2.ptx.gz"]
