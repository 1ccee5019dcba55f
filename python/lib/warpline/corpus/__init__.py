"""A corpus of compiled kernels: compile, verify and report, with one command that continues after an interruption.

`python -m warpline.corpus run FOLDER --recipe RECIPE.py --workers 8` compiles every kernel of the recipe into
`FOLDER/ptx`, decides each, and writes `verdicts.csv`, `costs.csv` and `report.md`. The same command continues where
the last one ended. A folder with PTX of your own needs no recipe.

```text
RECIPE.py ──compile──▶ FOLDER/ptx/NAME.ptx.gz ──verify──▶ FOLDER/verdicts*.jsonl ──report──▶ verdicts.csv, costs.csv
           compiled.jsonl                        (shares of several computers)               report.md
```

A recipe is a Python file with a function `kernels()`: objects with a `name` and a method `ptx()`. The recipe of
Triton kernels is `oracles/ptx/compile_triton.py`. The reasons of kernels that are not compiled are kept, too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable, Optional, Sequence, Union

from warpline._api import counted
from warpline._errors import Error
from warpline._log import Log, Record, read
from warpline._results import Progress
from warpline.corpus._generate import compile_all
from warpline.corpus._pool import each
from warpline.corpus._report import Corpus
from warpline.corpus._verify import UNDECIDED, build, decide, sha_of, text_of

__all__ = ["Corpus", "decide", "generate", "kernels", "report", "run", "verify"]

Folder = Union[str, "os.PathLike[str]"]

COMPILED = {"schema": "warpline.corpus.compiled/1"}


def kernels(folder: Folder) -> dict[str, Path]:
    """The PTX files of a corpus by kernel, in the order of their names: `FOLDER/ptx/*.ptx` and `*.ptx.gz`."""
    found: dict[str, Path] = {}
    for path in sorted(Path(folder, "ptx").glob("[!.]*")):
        name = path.name[: -len(".gz")] if path.name.endswith(".ptx.gz") else path.name
        if name.endswith(".ptx"):
            if name[: -len(".ptx")] in found:
                raise Error(f"{path}: the folder has this kernel compressed and not compressed")
            found[name[: -len(".ptx")]] = path
    return found


def generate(
    folder: Folder,
    recipe: Folder,
    *,
    workers: Optional[int] = None,
    limit_s: float = 600.0,
    progress: Progress = False,
) -> dict[str, Path]:
    """Compile the kernels of a recipe that are not compiled yet, and return the PTX files of the corpus.

    `workers` is the number of compiler processes, one for each core by default. A kernel that takes more than
    `limit_s` seconds is left out.
    """
    folder, recipe = Path(folder), Path(recipe)
    if not recipe.is_file():
        raise Error(f"{recipe}: there is no such recipe")
    log = Log(folder / "compiled.jsonl", COMPILED)
    with counted(progress, "kernel") as count:
        compile_all(folder, recipe, log, workers or os.cpu_count() or 1, limit_s, count or _nothing)
    return kernels(folder)


def verify(
    folder: Folder,
    *,
    args: Sequence[str] = (),
    shard: tuple[int, int] = (1, 1),
    workers: Optional[int] = None,
    limit_s: float = 3600.0,
    progress: Progress = False,
) -> Corpus:
    """Decide the kernels of a corpus that are not decided yet.

    `args` are options of `warpline verify` (`["--fence=async-read=off"]`). `shard` is the share of this computer, the
    I-th of N; each share has a file of its own. `workers` is the number of processes, one for each core by default; no
    verdict depends on it. A kernel that takes more than `limit_s` seconds is `stopped`, and tried again by a later call.
    """
    folder = Path(folder)
    files, log, missing = undecided(folder, args, shard)
    with counted(progress, "kernel") as count:
        each(
            missing,
            lambda key: decide(files[key], args, limit_s),
            log,
            workers or os.cpu_count() or 1,
            lambda done: (count or _nothing)(done, len(missing)),
        )
    return report(folder)


def undecided(
    folder: Path, args: Sequence[str], shard: tuple[int, int] = (1, 1)
) -> tuple[dict[str, Path], Log, list[str]]:
    """The kernels of a corpus, the log of a share, and the kernels of the share without a verdict on their text."""
    i, n = shard
    if not 1 <= i <= n:
        raise Error(f"share {i} of {n}: shares are 1 to {n}")
    files = kernels(folder)
    if not files:
        raise Error(f"{folder / 'ptx'} has no PTX; name a recipe")
    name = "verdicts.jsonl" if n == 1 else f"verdicts.{i}-of-{n}.jsonl"
    log = Log(folder / name, question(args))
    # A compiler that ran again may have written another text.
    missing = [key for key in list(files)[i - 1 :: n] if not _current(log.records.get(key), files[key])]
    return files, log, missing


def question(args: Sequence[str]) -> Record:
    """What the records of verdicts answer."""
    return {"schema": "warpline.corpus.verdicts/1", "build": build(), "args": list(args)}


def report(folder: Folder) -> Corpus:
    """The verdicts of a corpus, from the records of all shares."""
    folder = Path(folder)
    files, found = kernels(folder), dict[str, Record]()
    heads = list[Record]()
    for path in sorted(folder.glob("verdicts*.jsonl")):
        head, records = read(path)
        heads.append(head)
        if head != heads[0]:
            raise Error(f"{path}: the options or the build of warpline differ from those of another share")
        for key, record in records.items():
            if key in files and (key not in found or found[key]["verdict"] in UNDECIDED):
                found[key] = record
    compiled = read(folder / "compiled.jsonl")[1] if (folder / "compiled.jsonl").exists() else {}
    rows = [{"name": key, **_without_key(found[key])} for key in files if key in found]
    return Corpus(rows, [{"name": key, **_without_key(compiled[key])} for key in sorted(compiled)])


def run(
    folder: Folder,
    recipes: Sequence[Folder] = (),
    *,
    args: Sequence[str] = (),
    workers: Optional[int] = None,
    limit_s: float = 3600.0,
    progress: Progress = False,
) -> Corpus:
    """Compile, verify and report, from where the last call ended. Options as for `generate` and `verify`."""
    for recipe in recipes:
        generate(folder, recipe, workers=workers, limit_s=limit_s, progress=progress)
    corpus = verify(folder, args=args, workers=workers, limit_s=limit_s, progress=progress)
    corpus.save(Path(folder))
    return corpus


def _current(record: Optional[Record], path: Path) -> bool:
    """Whether a record is a verdict on this text."""
    return record is not None and record["verdict"] not in UNDECIDED and record["sha"] == sha_of(text_of(path))


def _without_key(record: Record) -> Record:
    return {name: value for name, value in record.items() if name != "key"}


_nothing: Callable[[int, int], object] = lambda done, total: None  # noqa: E731
