"""Compiles the kernels of a recipe, in processes that may crash."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Optional

from warpline._errors import Error
from warpline._log import Log, Record
from warpline.corpus._pool import each
from warpline.corpus._verify import sha_of


class Compiler:
    """A process with a recipe; it begins with the first kernel."""

    def __init__(self, recipe: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "warpline.corpus._worker", str(recipe)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Compilers print much; the last lines say why a recipe does not load.
        self.said: list[str] = []
        self.reader = threading.Thread(target=self._listen, daemon=True)
        self.reader.start()
        self.names: Optional[list[str]] = self._read()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said = [*self.said[-20:], line]

    def _read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line.endswith("\n") else None

    def compile(self, name: str, limit_s: float) -> Optional[Record]:
        """The answer of the process; `None` where the process ended, or was ended after `limit_s` seconds."""
        assert self.process.stdin is not None
        watch = threading.Timer(limit_s, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(f"{name}\n")
            self.process.stdin.flush()
            answer: Optional[Record] = self._read()
            return answer
        except BrokenPipeError:
            return None
        finally:
            watch.cancel()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        self.reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass


def names_of(recipe: Path) -> list[str]:
    """Names of the kernels of a recipe."""
    compiler = Compiler(recipe)
    compiler.close()
    if compiler.names is None:
        raise Error(f"{recipe}: the recipe does not load\n{''.join(compiler.said)}")
    return compiler.names


def write(path: Path, text: str) -> None:
    """A compressed file with the same bytes for the same text, written beside its place and renamed."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    beside.write_bytes(gzip.compress(text.encode(), 6, mtime=0))
    beside.replace(path)


def compile_all(
    folder: Path,
    recipe: Path,
    log: Log,
    workers: int,
    limit_s: float,
    count: Callable[[int, int], object],
) -> None:
    """Compile each kernel of a recipe that has no record, into `FOLDER/ptx`."""
    names = names_of(recipe)
    missing = log.missing(names)
    own, every = threading.local(), list[Compiler]()

    def task(name: str) -> Record:
        compiler = getattr(own, "compiler", None)
        if compiler is None:
            own.compiler = compiler = Compiler(recipe)
            every.append(compiler)
        record = compiler.compile(name, limit_s)
        if record is None:
            compiler.close()
            own.compiler = None
            return {"why": f"the compiler crashed, or took more than {limit_s:g} s"}
        text = record.pop("ptx", None)
        if text is not None:
            record["sha"] = sha_of(text)
            write(folder / "ptx" / f"{name}.ptx.gz", text)
        return {**record, "recipe": recipe.stem}

    (folder / "ptx").mkdir(parents=True, exist_ok=True)
    try:
        each(missing, task, log, workers, lambda done: count(len(names) - len(missing) + done, len(names)))
    finally:
        for compiler in every:
            compiler.close()
