"""Sweeps, corpora and plan searches on the machines of a Ray cluster.

The results are those of one machine, byte for byte: a task is a share of the sweep, or a call of the command line, and
the shares are joined as `warpline merge` does. Short points are batched into tasks of about `batch_s` seconds. A task
whose process or machine ends is tried again, and a call with the same `folder` continues after an interruption.

Importing this module does not import ray; its functions do. They use the cluster that the program is connected to, or
else the one of `RAY_ADDRESS`, or else start Ray on this machine. warpline must be installed on every machine, in the
same build; files of scenarios and machines (.toml) must have the same path everywhere, and kernels (.pipe, .ptx) are
sent along.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from warpline import _native
from warpline import corpus as corpora
from warpline._api import counted, sweep_question
from warpline._errors import Error
from warpline._inputs import Kernel, PlanOptions, Question, RunOptions, question
from warpline._log import Log, Record
from warpline._results import Plan, Progress, Sweep
from warpline.corpus._verify import build, text_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Folder = Union[str, "os.PathLike[str]"]

_MOST_POINTS = 1_000_000
"""The largest number of points of a sweep, and so of shares (`MOST_POINTS` in study/src/sweep/plan.rs)."""

_AHEAD = 3
"""Tasks in flight for each core, so that no core waits for the driver."""


def sweep(
    kernel: Kernel,
    vary: Mapping[str, Union[str, Sequence[Any]]],
    *,
    folder: Optional[Folder] = None,
    batch_s: float = 2.0,
    retries: int = 3,
    against: Optional[str] = None,
    metrics: Sequence[str] = (),
    progress: Progress = False,
    **options: Unpack[RunOptions],
) -> Sweep:
    """`warpline.sweep` on a Ray cluster: the same result, computed in shares of about `batch_s` seconds.

    `folder` keeps finished shares, as files of `warpline sweep --shard`; the same call continues from them. A share whose
    process ends is tried `retries` times more. `progress` is `True` for a bar (needs tqdm), or is called with the number
    of finished shares and of all. Other options as for `warpline.sweep`.
    """
    asked = _with_texts(sweep_question(kernel, vary, against, metrics, **options))
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            return _swept(asked, Path(temporary), batch_s, retries, progress)
    return _swept(asked, Path(folder), batch_s, retries, progress)


def _swept(asked: Question, folder: Path, batch_s: float, retries: int, progress: Progress) -> Sweep:
    shares = _shares(asked, folder, batch_s)
    parts = {i: folder / f"part-{i}-of-{shares}.json" for i in range(1, shares + 1)}
    missing = [i for i, path in parts.items() if not path.exists()]

    def keep(i: int, result: bytes) -> None:
        beside = parts[i].with_suffix(".new")
        beside.write_bytes(result)
        beside.replace(parts[i])

    # A share is as long as a task should be.
    work = _Work(lambda i: (asked, f"{i}/{shares}"), _share, keep, math.inf, retries, size=1)
    _spread(missing, work, progress, "share", shares)
    joined = _native.answer(["merge", *asked.metrics(), *map(str, parts.values())], {})
    return Sweep(asked, *joined)


def _shares(asked: Question, folder: Path, batch_s: float) -> int:
    """The number of shares: kept in the folder, or chosen by the time of the first points."""
    path = folder / "sweep.json"
    texts = hashlib.sha256(json.dumps(asked.texts, sort_keys=True).encode()).hexdigest()
    head: Record = {"schema": "warpline.ray.sweep/1", "build": build(), "args": asked.args, "texts": texts}
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        shares = before.pop("shares")
        if before != head:
            raise Error(f"{path}: the folder has another sweep; remove it, or name another folder")
        return int(shares)
    # One point tells how many there are; a few tell how long one takes.
    axes = json.loads(_share((asked, f"1/{_MOST_POINTS}")))["plan"]["axes"]
    points = math.prod(len(axis["rows"]) for axis in axes)
    few = max(1, points // 8)
    start = time.perf_counter()
    measured = len(json.loads(_share((asked, f"1/{few}")))["rows"])
    seconds = (time.perf_counter() - start) / measured
    shares = max(1, min(points, math.ceil(points * seconds / batch_s)))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**head, "shares": shares}, indent=1) + "\n", encoding="utf-8")
    return shares


def _share(task: tuple[Question, str]) -> bytes:
    """The state file of a share of a sweep."""
    asked, share = task
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part.json")
        more = asked.asked("sweep", f"--shard={share}", f"--state={path}")
        _native.answer(more.args, more.texts)
        return Path(path).read_bytes()


def corpus(
    folder: Folder,
    *,
    args: Sequence[str] = (),
    batch_s: float = 2.0,
    limit_s: float = 3600.0,
    retries: int = 3,
    progress: Progress = False,
) -> corpora.Corpus:
    """`warpline.corpus.verify` on a Ray cluster: the same records in the same folder, which only the driver reads.

    Options as for `warpline.corpus.verify`, and `batch_s` and `retries` as for `sweep`.
    """
    folder = Path(folder)
    files, log, missing = corpora.undecided(folder, args)

    send = lambda name: (name, text_of(files[name]), tuple(args), limit_s)  # noqa: E731
    _spread(missing, _Work(send, _decided, log.add, batch_s, retries), progress, "kernel", len(missing))
    return corpora.report(folder)


def _decided(task: tuple[str, str, tuple[str, ...], float]) -> Record:
    """The verdict on a text."""
    name, text, args, limit_s = task
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.ptx")
        path.write_text(text, encoding="utf-8")
        return corpora.decide(path, args, limit_s)


def plan(
    kernel: Kernel,
    points: Sequence[Mapping[str, Union[int, float]]],
    *,
    folder: Optional[Folder] = None,
    batch_s: float = 2.0,
    retries: int = 3,
    stages: Optional[int] = None,
    progress: Progress = False,
    **options: Unpack[PlanOptions],
) -> list[Plan]:
    """`warpline.plan` for each of several values, on a Ray cluster: one search for each, in the order of `points`.

    `points` has the values of parameters of each search: `[{"k": 1024}, {"k": 4096}]`; `values` are common to all.
    `folder` keeps finished searches; the same call continues from them. Other options as for `sweep` and `warpline.plan`.
    """
    more = [f"--stages={stages}"] if stages is not None else []
    common = options.get("values") or {}
    all_options: list[PlanOptions] = [{**options, "values": {**common, **point}} for point in points]
    asked = [_with_texts(question("plan", kernel, *more, **own)) for own in all_options]
    keys = [json.dumps([q.args, q.texts], sort_keys=True) for q in asked]
    by_key = dict(zip(keys, asked))
    path = None if folder is None else Path(folder, "plans.jsonl")
    log = Log(path, {"schema": "warpline.ray.plan/1", "build": build()})
    missing = log.missing(list(by_key))

    keep = lambda key, answer: log.add(key, {"answer": answer})  # noqa: E731
    work = _Work(by_key.__getitem__, _planned, keep, batch_s, retries)
    _spread(missing, work, progress, "search", len(missing))
    answers = [log.records[key]["answer"] for key in keys]
    return [Plan(q, status, text, found, b"") for q, (status, text, found) in zip(asked, answers)]


def _planned(asked: Question) -> list[Any]:
    """Status, text and JSON of a search."""
    return list(_native.answer(asked.args, asked.texts)[:3])


def _with_texts(asked: Question) -> Question:
    """The question with the texts of the kernels that it names as files, which are on this machine alone."""
    names = asked.args[asked.args.index("--") + 1 :]
    own = {
        n: Path(n).read_text(encoding="utf-8") for n in names if n.endswith((".pipe", ".ptx")) and n not in asked.texts
    }
    return asked._replace(texts={**asked.texts, **own})


def _batch(work: Callable[[Any], Any], tasks: list[Any], expected: str) -> tuple[float, Any]:
    """Seconds and results of some tasks, on a machine of the cluster."""
    # One task has one core; the thread pool of the library is made with the first question.
    os.environ["RAYON_NUM_THREADS"] = "1"
    if build() != expected:
        raise Error("a machine of the cluster has another build of warpline")
    start = time.perf_counter()
    results = [work(task) for task in tasks]
    return time.perf_counter() - start, results


@contextmanager
def _cluster() -> Iterator[Any]:
    """Ray, connected; ended again where this call started it."""
    import ray

    if ray.is_initialized():
        yield ray
        return
    ray.init(log_to_driver=False, include_dashboard=False, logging_level=logging.WARNING)
    try:
        yield ray
    finally:
        ray.shutdown()


class _Work(NamedTuple):
    """What to do with tasks: the argument of each, the function on the cluster, and what keeps its result."""

    send: Callable[[Any], Any]
    work: Callable[[Any], Any]
    keep: Callable[[Any, Any], None]
    batch_s: float
    retries: int
    size: Optional[int] = None
    """Tasks of a batch; `None` for as many as took `batch_s` seconds until now."""


def _spread(tasks: Sequence[Any], of: _Work, progress: Progress, unit: str, total: int) -> None:
    """Do tasks on the cluster, and keep and count the results as they come. `total` has tasks that were done before, too.

    The end of the work is kept even: no batch has more than its share of what is left.
    """
    with counted(progress, unit) as count:
        if not tasks:
            return
        with _cluster() as ray:
            remote = ray.remote(num_cpus=1, max_retries=of.retries)(_batch)
            cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
            todo, flying = list(tasks), dict[Any, list[Any]]()
            seconds, done = 0.0, 0
            try:
                while todo or flying:
                    while todo and len(flying) < _AHEAD * cores:
                        as_fast = int(of.batch_s * done / seconds) if done else 1
                        fit = of.size or max(1, min(as_fast, len(todo) // (2 * cores)))
                        batch, todo = todo[:fit], todo[fit:]
                        flying[remote.remote(of.work, [of.send(task) for task in batch], build())] = batch
                    ready, _ = ray.wait(list(flying), num_returns=1, timeout=1.0)
                    for reference in ready:
                        batch = flying.pop(reference)
                        took, results = _result(ray, reference)
                        seconds, done = seconds + took, done + len(batch)
                        for task, result in zip(batch, results):
                            of.keep(task, result)
                        if count:
                            count(total - len(tasks) + done, total)
            finally:
                for reference in flying:
                    ray.cancel(reference, force=True)


def _result(ray: Any, reference: Any) -> Any:
    """The result of a batch; an error of warpline as it was raised."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
