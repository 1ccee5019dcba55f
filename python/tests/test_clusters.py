"""Shares on GNU parallel, on a Slurm of one machine, and on Ray: each gives the result of one process."""

import getpass
import gzip
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import ROOT

import warpline
import warpline.corpus

SCRIPTS = ROOT / "examples/clusters"
SWEEP = ["hopper/tma_wgmma", "--vary", "stages=1..3", "--vary", "k=1024,2048"]
KERNELS = [
    "emit.museum-m15_no_init_fence-bug",
    "emit.museum-m15_no_init_fence-fix",
    "emit.museum-m33_fence_in_a_loop_of_no_trips-bug",
    "tilelang.copy_64x64_sm80_ns2",
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment of the scripts: this interpreter, and the command line of this package."""
    command = tmp_path_factory.mktemp("bin") / "warpline"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m warpline "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "WARPLINE": str(command), "PYTHON": sys.executable}


@pytest.fixture(scope="module")
def expected_sweep(environment, tmp_path_factory):
    """The table of one process."""
    path = tmp_path_factory.mktemp("one") / "sweep.csv"
    subprocess.run([environment["WARPLINE"], "sweep", *SWEEP, "--csv", path, "--quiet"], check=True, env=environment)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path):
    """A corpus."""
    (tmp_path / "ptx").mkdir()
    for name in KERNELS:
        shutil.copy(ROOT / f"oracles/ptx/{name}.ptx.gz", tmp_path / "ptx")
    return tmp_path


@pytest.fixture(scope="module")
def expected_corpus(tmp_path_factory):
    """The verdicts of one process."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "ptx").mkdir()
    for name in KERNELS:
        shutil.copy(ROOT / f"oracles/ptx/{name}.ptx.gz", folder / "ptx")
    return warpline.corpus.verify(folder, workers=1).verdicts_csv()


def script(name, *words, environment, **more):
    """Call a script."""
    words = [str(SCRIPTS / name), *map(str, words)]
    return subprocess.run(words, env={**environment, **more}, capture_output=True, text=True, timeout=300)


def parallel(*words, environment):
    if shutil.which("parallel") is None:
        pytest.skip("GNU parallel is not installed")
    return script("parallel.sh", *words, environment=environment)


def test_a_sweep_on_gnu_parallel(tmp_path, environment, expected_sweep):
    assert parallel(tmp_path, 4, "sweep", *SWEEP, environment=environment).returncode == 0
    assert (tmp_path / "sweep.csv").read_bytes() == expected_sweep
    # The same command does what is missing, and nothing else.
    others = {path: path.stat().st_mtime_ns for path in tmp_path.glob("part-[134]-of-4.json")}
    (tmp_path / "part-2-of-4.json").unlink()
    (tmp_path / "sweep.csv").unlink()
    assert parallel(tmp_path, 4, "sweep", *SWEEP, environment=environment).returncode == 0
    assert (tmp_path / "sweep.csv").read_bytes() == expected_sweep
    assert others == {path: path.stat().st_mtime_ns for path in others}


def test_a_corpus_on_gnu_parallel(folder, environment, expected_corpus):
    found = parallel(folder, 3, "corpus", environment=environment)
    assert found.returncode == 0, found.stderr
    assert (folder / "verdicts.csv").read_text() == expected_corpus


def test_a_share_that_fails_is_tried_three_times(tmp_path, environment):
    found = parallel(tmp_path, 2, "sweep", "no/such_scenario", "--vary", "k=1,2", environment=environment)
    assert found.returncode != 0 and found.stderr.count("no built-in scenario") >= 2
    assert not list(tmp_path.glob("part-*.json"))


CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MailProg=/bin/true
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """A Slurm of one node, for this module."""
    for tool in ("munged", "slurmctld", "slurmd", "sbatch"):
        if shutil.which(tool) is None and not pathlib.Path("/usr/sbin", tool).exists():
            pytest.skip(f"{tool} is not installed (Debian: slurmctld, slurmd, slurm-client and munge)")
    if os.getuid() != 0:
        pytest.skip("slurmd needs root")
    folder = tmp_path_factory.mktemp("slurm")
    # munge refuses a socket below folders that others cannot enter.
    for path in (folder, *folder.parents[:3]):
        path.chmod(path.stat().st_mode | 0o711)
    (folder / "key").write_bytes(os.urandom(64))
    (folder / "key").chmod(0o600)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    host, ports = socket.gethostname().split(".")[0], [free_port(), free_port()]
    text = CONF.format(host=host, ports=ports, user=getpass.getuser(), folder=folder, cores=os.cpu_count())
    (folder / "slurm.conf").write_text(text)
    env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    munge = ["key-file", "socket", "pid-file", "log-file", "seed-file"]
    files = dict(zip(munge, ("key", "munge.socket", "munged.pid", "munged.log", "seed")))
    daemons = [
        ["munged", "--foreground", "--force", *(f"--{option}={folder / name}" for option, name in files.items())],
        ["slurmctld", "-D", "-L", str(folder / "slurmctld.log")],
        ["slurmd", "-D", "-L", str(folder / "slurmd.log")],
    ]
    started = []
    try:
        for daemon in daemons:
            started.append(subprocess.Popen(daemon, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            time.sleep(1)
        for _ in range(60):
            found = subprocess.run(["sinfo", "--noheader", "--format=%t"], env=env, capture_output=True, text=True)
            if found.stdout.strip() == "idle":
                break
            time.sleep(0.5)
        else:
            pytest.skip(f"Slurm does not start here: {found.stdout}{found.stderr}")
        yield {"SLURM_CONF": env["SLURM_CONF"], "WAIT": "1"}
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


def test_a_sweep_as_a_slurm_array(tmp_path, environment, slurm, expected_sweep):
    def submit():
        found = script("slurm.sh", tmp_path, 3, "sweep", *SWEEP, environment=environment, **slurm)
        assert found.returncode == 0, found.stdout + found.stderr
        return found.stdout

    assert "shares 1,2,3 of 3" in submit()
    assert (tmp_path / "sweep.csv").read_bytes() == expected_sweep
    (tmp_path / "part-2-of-3.json").unlink()
    (tmp_path / "sweep.csv").unlink()
    assert "shares 2 of 3" in submit()
    assert (tmp_path / "sweep.csv").read_bytes() == expected_sweep


def test_a_corpus_as_a_slurm_array(folder, environment, slurm, expected_corpus):
    found = script("slurm.sh", folder, 2, "corpus", environment=environment, **slurm)
    assert found.returncode == 0, found.stdout + found.stderr
    assert (folder / "verdicts.csv").read_text() == expected_corpus


@pytest.fixture(scope="module")
def ray():
    """A Ray of this machine, for this module."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield ray
    ray.shutdown()


def same(a, b):
    assert str(a) == str(b) and a._repr_svg_() == b._repr_svg_() and a.status == b.status
    assert {k: v for k, v in a.to_dict().items() if k != "wall_s"} == {
        k: v for k, v in b.to_dict().items() if k != "wall_s"
    }


VARY = {"stages": "1..4", "k": [1024, 2048, 4096]}


def test_a_sweep_on_ray(ray, tmp_path):
    import warpline.ray

    seen = []
    found = warpline.ray.sweep(
        "hopper/tma_wgmma", VARY, folder=tmp_path, batch_s=0.05, progress=lambda *p: seen.append(p), metrics=["tflops"]
    )
    expected = warpline.sweep("hopper/tma_wgmma", VARY, metrics=["tflops"])
    same(found, expected)
    assert len(seen) > 1 and seen[-1][0] == seen[-1][1]
    # The same call continues: only the missing share is computed.
    next(tmp_path.glob("part-*.json")).unlink()
    seen.clear()
    again = warpline.ray.sweep(
        "hopper/tma_wgmma", VARY, folder=tmp_path, progress=lambda *p: seen.append(p), metrics=["tflops"]
    )
    same(again, expected)
    assert len(seen) == 1
    with pytest.raises(warpline.Error, match="another sweep"):
        warpline.ray.sweep("hopper/tma_wgmma", {"stages": "1..2"}, folder=tmp_path)


def test_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    found = warpline.sweep("metal/triple_buffer", {"k": [1024, 2048]})
    found.to_csv(tmp_path / "s.csv")
    assert list(pandas.read_csv(tmp_path / "s.csv")["k"]) == [1024, 2048]
    pytest.importorskip("pyarrow")
    found.to_parquet(tmp_path / "s.parquet")
    assert pandas.read_parquet(tmp_path / "s.parquet").equals(found.to_pandas())


def test_a_kernel_of_this_machine_and_an_error_on_ray(ray, tmp_path, bug):
    import warpline.ray

    path = tmp_path / "kernel.pipe"
    path.write_text(bug)
    options = {"machine": "mi355x", "values": {"fixed": 1}}
    vary = {"tiles": [6, 12]}
    same(warpline.ray.sweep(path, vary, **options), warpline.sweep(path, vary, **options))
    with pytest.raises(warpline.Error, match="no parameter"):
        warpline.ray.sweep("metal/triple_buffer", {"nope": [1, 2]})


def test_a_corpus_on_ray(ray, folder, expected_corpus):
    import warpline.ray

    seen = []
    found = warpline.ray.corpus(folder, batch_s=0.5, progress=lambda *p: seen.append(p))
    assert found.verdicts_csv() == expected_corpus and seen[-1] == (len(KERNELS), len(KERNELS))
    # A local call has nothing left to do.
    before = (folder / "verdicts.jsonl").read_bytes()
    assert warpline.corpus.verify(folder).verdicts_csv() == expected_corpus
    assert (folder / "verdicts.jsonl").read_bytes() == before


def test_plans_on_ray(ray, tmp_path):
    import warpline.ray

    points = [{"k": 1024}, {"k": 2048}]
    found = warpline.ray.plan("pipelined/gemm_h200", points, stages=2, folder=tmp_path)
    for plan, point in zip(found, points):
        one = warpline.plan("pipelined/gemm_h200", stages=2, values=point)
        assert plan.to_dict() == one.to_dict() and str(plan) == str(one) and one.ranked
        assert one._repr_html_().count("<tr>") == 1 + len(one.ranked) == 1 + len(one.to_pandas())
    log = (tmp_path / "plans.jsonl").read_bytes()
    again = warpline.ray.plan("pipelined/gemm_h200", points, stages=2, folder=tmp_path)
    assert [str(p) for p in again] == [str(p) for p in found] and (tmp_path / "plans.jsonl").read_bytes() == log


def ray_workers():
    """Processes that do a task of this module's Ray."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::_batch"):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def test_a_killed_process_of_ray_is_replaced(ray, folder, expected_corpus):
    import warpline.ray

    for n in range(12):
        text = gzip.decompress((ROOT / f"oracles/ptx/{KERNELS[2]}.ptx.gz").read_bytes()).decode()
        (folder / f"ptx/copy{n:02}.ptx").write_text(text)
    killed, stop = [], threading.Event()

    def kill():
        while not stop.wait(0.01) and len(killed) < 2:
            for pid in set(ray_workers()) - {*killed}:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        found = warpline.ray.corpus(folder, retries=5)
    finally:
        stop.set()
        thread.join()
    assert killed and len(found.rows) == len(KERNELS) + 12
    assert {row["verdict"] for row in found.rows if row["name"].startswith("copy")} == {"violated"}


def test_importing_the_module_imports_no_ray():
    code = "import sys, warpline.ray; print('ray' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_the_log_names_the_build(folder):
    warpline.corpus.verify(folder, workers=1)
    head = json.loads((folder / "verdicts.jsonl").read_text().splitlines()[0])
    assert len(head["build"]) == 16 and head["args"] == []
