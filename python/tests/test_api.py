"""The functions, their inputs and their results."""

import gzip
import json
import pathlib
import pickle
import subprocess
import sys
import threading
import time

import pytest

import warpline


def command(*args):
    """The JSON object of a command line."""
    found = subprocess.run([sys.executable, "-m", "warpline", *args, "--json"], capture_output=True, text=True)
    return json.loads(found.stdout)


def without_wall(found):
    return {key: value for key, value in found.items() if key != "wall_s"}


def test_a_run_is_that_of_the_command_line():
    found = warpline.run("metal/triple_buffer", values={"k": 1024})
    expected = command("run", "metal/triple_buffer", "--set", "k=1024")
    assert without_wall(found.to_dict()) == without_wall(expected)
    assert (found.outcome, found.cycles, found.parameters["k"]) == ("finished", expected["cycles"], 1024)
    assert str(found).strip() and "cycles" in repr(found)


def test_the_shares_of_a_role_add_up():
    frame = warpline.run("metal/triple_buffer").to_pandas()
    shares = frame.groupby("role")["share"].sum()
    assert shares.to_list() == pytest.approx([1.0] * len(shares), abs=1e-6)


def test_a_time_has_an_interval():
    found = warpline.run("hopper/tma_wgmma")
    known = found.to_dict().get("uncertainty") or {}
    assert found.uncertainty["kernels"] and known["kernels"]
    low, high = found.interval_us
    assert 0 < low < high and low / found.time_us == pytest.approx(known["low_cycles"] / found.cycles)
    other = warpline.run("metal/triple_buffer")
    assert (other.interval_us is None) == (other.uncertainty["low_cycles"] is None)


def test_a_verdict_is_that_of_the_command_line():
    found = warpline.verify("hopper/tma_wgmma")
    assert without_wall(found.to_dict()) == without_wall(command("verify", "hopper/tma_wgmma"))
    assert found.proved and found and found.counterexample is None and not found.refuted


def test_a_fault_has_its_line_and_its_repair(bug):
    found = warpline.verify(bug, machine="mi355x", values={"fixed": 0})
    assert found.refuted and not found.proved and not found and found.status == 1
    assert (found.violation["file"], found.violation["code"]) == ("kernel.pipe", "WL0101")
    assert found.violation["suggestion"]["verdict"] == "proved"
    assert "kernel.pipe:12" in found.counterexample
    assert found.to_pandas().iloc[0]["line"] == found.violation["line"]
    page = found._repr_html_()
    assert "VIOLATED" in page and "WL0101" in page and "<script" not in page


def test_a_bounded_verdict_is_no_proof():
    found = warpline.verify("hopper/tma_wgmma", max_steps=1)
    assert not found.proved and not found and not found.refuted and found.why


def test_text_path_and_file_are_one_kernel(bug, tmp_path):
    path = tmp_path / "kernel.pipe"
    path.write_text(bug)
    options = {"machine": "mi355x", "values": {"fixed": 1}}
    of_text, of_path = warpline.run(bug, **options), warpline.run(path, **options)
    assert of_text.cycles == of_path.cycles == warpline.run(str(path), **options).cycles


def test_ptx_as_text_file_and_object(proved_ptx, compiled, tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(proved_ptx)
    assert warpline.verify(proved_ptx).proved and warpline.verify(path).proved
    found = warpline.verify(compiled, suggest=False)
    assert found.refuted and found.scenario == "mm_ptr.ptx" and found.violation["line"] == 708


def test_a_compiled_kernel_runs_with_its_launch(compiled):
    found = warpline.run(compiled, grid=(64, 64), args={5: 4096})
    assert found.ctas == 4096 and found.time_us > 0
    assert found.shared_bytes == compiled.metadata.shared
    longer = warpline.run(compiled, grid=(64, 64), args={5: 8192})
    assert longer.cycles > found.cycles
    assert warpline.run(compiled, grid="64x64", args={5: 4096}).cycles == found.cycles
    with pytest.raises(warpline.Error, match="a run needs") as raised:
        warpline.run(compiled)
    # The message names arguments of the function, not options of the command line.
    assert "`args={5: VALUE}, grid=(X, Y, Z)`" in str(raised.value) and "--" not in raised.value.problems[0]["help"]


def test_sweep_with_progress():
    seen = []
    found = warpline.sweep("metal/triple_buffer", {"k": [1024, 2048]}, progress=lambda *p: seen.append(p))
    assert [p["values"]["k"] for p in found.points] == [1024, 2048] and seen[-1] == (2, 2)
    assert found.best()["values"] == {"k": 1024} and found._repr_svg_().startswith("<svg")
    assert list(found.to_pandas()["k"]) == [1024, 2048]


def test_barriers_compare_and_whatif():
    barriers = warpline.barriers("cdna/two_step_ahead")
    assert (
        barriers.verdict == "proved" and barriers.statements and len(barriers.to_pandas()) == len(barriers.statements)
    )
    two = warpline.compare("metal/triple_buffer", "metal/double_buffer")
    assert two.a["cycles"] > two.b["cycles"] and two._repr_svg_().startswith("<svg")
    whatif = warpline.whatif("metal/triple_buffer", values={"k": 1024})
    assert whatif.rows and {"slower", "faster", "free"} < set(whatif.to_pandas().columns)


def test_charts_and_pages(tmp_path, bug):
    chart = warpline.gantt("metal/triple_buffer", beside="metal/double_buffer", theme="dark")
    assert chart._repr_svg_().startswith("<svg") and "max-width:100%" in chart._repr_html_()
    chart.save(tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text() == chart.svg
    with pytest.raises(ValueError):
        chart.save(tmp_path / "chart.png")
    own = warpline.run("metal/triple_buffer")
    assert own._repr_svg_() == own.chart().svg == warpline.gantt("metal/triple_buffer").svg
    page = warpline.report(bug, machine="mi355x", values={"fixed": 0})
    assert page.html.startswith("<!DOCTYPE html>") and "WL0101" in page.html and page.status == 1


def test_two_texts_of_one_name(bug):
    two = warpline.compare(bug, bug.replace("vm <= each", "vm <= 0"), machine="mi355x", values={"fixed": 1})
    assert two.a["cycles"] <= two.b["cycles"]


def test_an_error_shows_file_line_and_caret():
    with pytest.raises(warpline.Error) as raised:
        warpline.run("kernel k()\n  grid 1\n  warps 1\n  oops\n", machine="paper")
    error = raised.value
    assert (error.file, error.line) == ("kernel.pipe", 4)
    assert "kernel.pipe:4:" in str(error) and "oops" in str(error) and "┬" in str(error) or "─" in str(error)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: warpline.run("metal/triple_bufer"), "triple_buffer"),
        (lambda: warpline.run("metal/triple_buffer", values={"nope": 1}), "no parameter"),
        (lambda: warpline.run("metal/triple_buffer", values={"k": 1.5}), "whole number"),
        (lambda: warpline.run("metal/triple_buffer", machine="h300"), "no machine"),
        (lambda: warpline.run("metal/triple_buffer", fidelity="none"), "invalid value"),
        (lambda: warpline.verify(".version 8.0\n.target sm_90\n.visible .entry k(\n"), "expected"),
        (lambda: warpline.run("--help"), "--help"),
    ],
)
def test_bad_input(ask, words):
    with pytest.raises(warpline.Error, match=words):
        ask()


def test_help_names_arguments_of_the_function():
    with pytest.raises(warpline.Error, match=r'`values=\{"m": VALUE\}`'):
        warpline.run("kernel k(m)\n  grid 1\n  warps 1\n", machine="paper")
    with pytest.raises(warpline.Error, match="`machine=NAME`"):
        warpline.run("kernel k()\n  grid 1\n  warps 1\n")
    with pytest.raises(warpline.Error) as raised:
        warpline.sweep("metal/triple_buffer", {"k": "1..x"})
    assert "--help" not in str(raised.value)


def test_a_proof_is_a_table_without_rows(tmp_path):
    proof = warpline.verify("hopper/tma_wgmma")
    assert list(proof.to_pandas().columns)[:2] == ["note", "code"] and proof.to_pandas().empty
    proof.to_csv(tmp_path / "findings.csv")
    assert (tmp_path / "findings.csv").read_text().startswith("note,code,")


def test_an_object_that_is_no_kernel():
    with pytest.raises(TypeError, match="is no kernel"):
        warpline.run(object())
    with pytest.raises(TypeError, match=r"warpline.run\(\) has no option `machin`; did you mean `machine`\?"):
        warpline.run("metal/triple_buffer", machin="m4")


def test_results_and_errors_are_pickled(bug):
    verdict = warpline.verify(bug, machine="mi355x", values={"fixed": 0})
    again = pickle.loads(pickle.dumps(verdict))
    assert (repr(again), str(again), again.to_dict()) == (repr(verdict), str(verdict), verdict.to_dict())
    with pytest.raises(warpline.Error) as raised:
        warpline.run("kernel k()\n  oops\n", machine="paper")
    error = pickle.loads(pickle.dumps(raised.value))
    assert (str(error), error.problems, error.line) == (str(raised.value), raised.value.problems, raised.value.line)


def test_other_threads_run_meanwhile():
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.002):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    warpline.sweep("metal/triple_buffer", {"k": "1024..16384+256"})
    end = time.monotonic()
    done.set()
    thread.join()
    gaps = [b - a for a, b in zip([start, *ticks], [*ticks, end])]
    assert max(gaps) < max(0.5 * (end - start), 0.2)


INTERRUPTED = """
import os, signal, threading, time, warpline
# A shell starts jobs in the background with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    warpline.sweep("metal/triple_buffer", {"k": "1024..1048576+1024", "m": "1024..65536+1024"})
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start)
"""


def test_ctrl_c_ends_a_sweep():
    found = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120)
    assert found.stdout.startswith("interrupted"), found.stderr
    assert found.returncode == 0


def test_no_framework_is_imported():
    code = "import sys, warpline, warpline.triton; print({'torch', 'triton', 'pandas', 'numpy', 'tqdm'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_names():
    assert "hopper/tma_wgmma" in warpline.scenarios() and "h200" in warpline.machines()


def test_the_command_line():
    def ask(*args):
        return subprocess.run([sys.executable, "-m", "warpline", *args], capture_output=True, text=True)

    assert ask("verify", "museum/m40_missing_vmcnt/fix").returncode == 0
    wrong = ask("run", "nothing")
    assert wrong.returncode == 2 and "no built-in scenario" in wrong.stderr
    assert ask("--version").stdout.strip() == f"warpline {warpline.__version__}"


def test_a_disassembly_says_which_loads_are_in_flight(tmp_path):
    folder = pathlib.Path(__file__).resolve().parents[2] / "calibrate/data/h100_kernels"
    name = "decode_8192x64x128_64_w4_s2"
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    launch = next(row["launch"] for row in rows if row["name"] == name)
    ptx, sass = (gzip.decompress((folder / f"{name}.{kind}.gz").read_bytes()).decode() for kind in ("ptx", "sass"))
    launched = {"grid": launch["grid"], "args": launch["args"], "shared": launch["shared"], "machine": "h100"}
    as_text = warpline.run(ptx, sass=sass, **launched)
    path = tmp_path / "k.sass"
    path.write_text(sass)
    assert as_text.cycles == warpline.run(ptx, sass=path, **launched).cycles
    assert as_text.cycles != warpline.run(ptx, **launched).cycles
    with pytest.raises(warpline.Error):
        warpline.run(ptx, sass="no\ndisassembly\n", **launched)
