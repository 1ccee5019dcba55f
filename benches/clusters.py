"""Overhead and scaling of shares: one process, Ray and GNU parallel, with one core and with two.

    python benches/clusters.py [POINTS]      # needs warpline, ray and GNU parallel; prints a table

Each row is the median of three runs of one sweep: `metal/triple_buffer` over `k`. CPU seconds are of all processes of
the run, where they can be counted. docs/clusters.md has results.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "examples/clusters"
POINTS = int(sys.argv[1]) if len(sys.argv) > 1 else 400
VARY = f"1024..{1024 + 16 * (POINTS - 1)}+16"
SCENARIO = "metal/triple_buffer"
TIMES = 3


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(name, run):
    walls, cpus = [], []
    for _ in range(TIMES):
        cpu, start = children(), time.perf_counter()
        run()
        walls.append(time.perf_counter() - start)
        cpus.append(children() - cpu)
    cpu = f"{statistics.median(cpus):.1f}" if statistics.median(cpus) > 0.05 else ""
    print(f"| {name} | {statistics.median(walls):.1f} | {min(walls):.1f} | {cpu} |", flush=True)


def one(threads):
    env = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    words = [sys.executable, "-m", "warpline", "sweep", SCENARIO, "--vary", f"k={VARY}", "--quiet"]
    subprocess.run(words, env=env, check=True)


def parallel(jobs, shares, command):
    env = {**os.environ, "PARALLEL_FLAGS": f"--jobs {jobs}", "WARPLINE": command, "PYTHON": sys.executable}
    with tempfile.TemporaryDirectory() as folder:
        words = [SCRIPTS / "parallel.sh", folder, str(shares), "sweep", SCENARIO, "--vary", f"k={VARY}"]
        subprocess.run(words, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    print(f"{POINTS} points, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    print("| way | seconds | least | CPU seconds |\n|---|---|---|---|")
    for threads in (1, 2):
        measured(f"one process, threads: {threads}", lambda threads=threads: one(threads))
    if shutil.which("parallel"):
        with tempfile.TemporaryDirectory() as folder:
            command = Path(folder, "warpline")
            command.write_text(f'#!/bin/sh\nexec {sys.executable} -m warpline "$@"\n')
            command.chmod(0o755)
            for jobs in (1, 2):
                measured(f"GNU parallel, 4 shares, jobs: {jobs}", lambda jobs=jobs: parallel(jobs, 4, str(command)))
    import ray

    import warpline.ray

    for cores in (1, 2):
        start = time.perf_counter()
        ray.init(num_cpus=cores, log_to_driver=False, include_dashboard=False)
        print(f"Ray with {cores} cores starts in {time.perf_counter() - start:.1f} s", file=sys.stderr)
        measured(
            f"Ray, batch_s 2, cores: {cores}", lambda: warpline.ray.sweep(SCENARIO, {"k": VARY}, batch_s=2.0)
        )
        ray.shutdown()
    print(f"\nload at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
