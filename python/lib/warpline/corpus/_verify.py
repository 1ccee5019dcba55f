"""Decides compiled kernels, each in a process of its own.

No verdict can depend on what a process did before, on the number of processes, or on their order: every kernel is one
call of the command line with one thread. Its CPU time and memory are those of that process.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Sequence

from warpline import _native
from warpline._log import Record

COLUMNS = ("verdict", "code", "line", "why", "trip_counts")
"""What is decided. The rest of a record are costs."""

UNDECIDED = ("stopped", "crashed")
"""Ends that depend on the computer; a later call tries again."""


@functools.lru_cache(maxsize=None)
def build() -> str:
    """The name of this build of warpline: a hash of its native library."""
    with open(str(_native.__file__), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def text_of(path: Path) -> str:
    """The PTX of a file, compressed or not."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def sha_of(text: str) -> str:
    """The hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def decide(path: Path, args: Sequence[str] = (), limit_s: float = 3600.0) -> Record:
    """The verdict on a PTX file, and what it cost.

    `args` are options of `warpline verify`. After `limit_s` seconds the process is ended and the verdict is `stopped`.
    A file that is not read has the verdict `rejected`, with line and reason.
    """
    text = text_of(path)
    target = re.search(r"^\s*\.target\s+(\w+)", text, re.M)
    record: Record = {
        "sha": sha_of(text),
        "target": target[1] if target else None,
        "instructions": len(re.findall(r";\s*(?://.*)?$", text, re.M)),
    }
    line = [sys.executable, "-m", "warpline", "verify", "--json", "--no-suggestion", *args, "--", str(path)]
    env = {**os.environ, "RAYON_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env)
        ended = threading.Event()

        def end() -> None:
            ended.set()
            process.kill()

        watch = threading.Timer(limit_s, end)
        watch.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            watch.cancel()
        record["wall_s"] = round(time.perf_counter() - start, 3)
        record["cpu_s"] = round(usage.ru_utime + usage.ru_stime, 3)
        record["memory_kb"] = usage.ru_maxrss
        out.seek(0)
        err.seek(0)
        printed, said = out.read().decode(), err.read().decode(errors="replace")
    if ended.is_set():
        return {**record, **_none("stopped", f"ended after {limit_s:g} s")}
    if process.returncode < 0 or process.returncode > 3 or not printed:
        # An interruption of the whole group of processes is no verdict.
        if process.returncode == -signal.SIGINT:
            raise KeyboardInterrupt
        return {**record, **_none("crashed", said.strip()[-300:] or f"exit status {process.returncode}")}
    return {**record, **_decided(json.loads(printed))}


def _none(verdict: str, why: str) -> Record:
    return {"verdict": verdict, "code": None, "line": None, "why": why, "trip_counts": None}


def _decided(found: Record) -> Record:
    """The columns of a JSON object of `verify`, or of an error."""
    if "errors" in found:
        first = found["errors"][0]
        return {**_none("rejected", first["message"]), "line": first["line"]}
    fault = found["violation"] or {}
    trips = found["trip_counts"]
    return {
        "verdict": found["verdict"],
        "code": fault.get("code"),
        "line": fault.get("line"),
        "why": fault.get("message") or found["why"],
        "trip_counts": trips if isinstance(trips, (str, type(None))) else "..".join(map(str, trips)),
    }
