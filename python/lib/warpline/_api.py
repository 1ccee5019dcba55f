"""The functions of this package. Each asks the native library one question, as a command line."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Optional, Sequence, TypeVar, Union, overload

from warpline import _native
from warpline._inputs import Kernel, PlanOptions, ProofOptions, Question, RunOptions, question
from warpline._results import Barriers, Chart, Comparison, Plan, Progress, Report, Result, Run, Sweep, Verdict, Whatif

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R", bound=Result)

on_verdict: list[Callable[[Verdict], None]] = []
"""Called with each verdict; the pytest plugin listens here."""


@contextmanager
def counted(progress: Progress, unit: str = "point") -> Iterator[Optional[Callable[[int, int], object]]]:
    """The callback of a progress: the caller's, or a bar of tqdm."""
    if callable(progress):
        yield progress
    elif progress:
        from tqdm.auto import tqdm

        with tqdm(unit=unit) as bar:

            def count(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            yield count
    else:
        yield None


def _answer(make: type[R], asked: Question, progress: Progress = False) -> R:
    with counted(progress) as count:
        return make(asked, *_native.answer(asked.args, asked.texts, count))


def scenarios() -> list[str]:
    """Names of the built-in scenarios."""
    return _native.scenarios()


def machines() -> list[str]:
    """Names of the built-in machines."""
    return _native.machines()


def run(kernel: Kernel, **options: Unpack[RunOptions]) -> Run:
    """Simulate a kernel and return its time, in cycles and microseconds, and where the time goes.

    `kernel` is a scenario's name, a path, the text of a kernel or of PTX, or a compiled kernel: Triton's `CompiledKernel`,
    a `JITKernel` of TileLang (which calls nvcc for the PTX), or a function that CuTe DSL compiled with
    `options="--keep-ptx"`.

    Options:

    - `machine`: a built-in name (`"h200"`) or a machine file. A kernel without a scenario needs it; PTX has its target's.
    - `values`: values of parameters and of machine numbers, `{"k": 4096, "machine.memory.dram_gbps": 4000}`.
    - `fences`: levels of fence rules, `{"async-read": "strict"}`.
    - `name`: the file name of a text in messages, ending in `.pipe` or `.ptx`.
    - `fidelity`: `"device"` or `"core"`. `clock`: `"given"` or `"sustained"`.
    - `max_events`: give up after this many events.

    Options of a compiled kernel (docs/import.md):

    - `entry`: the kernel of a module with several.
    - `grid`, `block`, `cluster`: one to three sizes (`(64, 64)` or `"64x64"`), in CTAs, threads and CTAs.
    - `args`: `{position: number}` of the PTX parameters (`"0+8"` is byte 8 of parameter 0), or a list with one value for
      each parameter, as in a launch file.
    - `shared`: bytes of shared memory beyond those of the text. Kernels of Triton, and of TileLang before its cache, bring
      their own.
    - `registers`: registers of a thread. Kernels of Triton, and of CuTe DSL with `--keep-cubin`, bring their own.
    - `sass`: the disassembly, as text or path (`nvdisasm -c`, `cuobjdump -sass`, or `kernel.asm["sass"]` of Triton). The
      run takes its registers and the order of its loads from it.
    """
    return _answer(Run, question("run", kernel, **options))


def verify(
    kernel: Kernel,
    *,
    max_trips: Optional[int] = None,
    max_steps: Optional[int] = None,
    suggest: bool = True,
    **options: Unpack[ProofOptions],
) -> Verdict:
    """Prove the barrier protocol of a kernel for every schedule and trip count, or show a fault.

    `max_trips` is the largest trip count that is tried by itself, `max_steps` the steps after which nothing is decided,
    and `suggest` looks for a repair of a fault. The other options are those of `run` that are no options of a run:
    `machine`, `values`, `fences`, `name`, `entry`, `block` and `cluster`. A proof is for every launch.
    """
    more = [f"--max-trips={max_trips}"] if max_trips is not None else []
    more += [f"--max-steps={max_steps}"] if max_steps is not None else []
    more += [] if suggest else ["--no-suggestion"]
    verdict = _answer(Verdict, question("verify", kernel, *more, **options))
    for hear in on_verdict:
        hear(verdict)
    return verdict


def barriers(kernel: Kernel, **options: Unpack[ProofOptions]) -> Barriers:
    """Remove each synchronization statement of a kernel in turn, and verify the rest. Options as for `verify`."""
    return _answer(Barriers, question("barriers", kernel, **options))


def sweep(
    kernel: Kernel,
    vary: Mapping[str, Union[str, Sequence[Any]]],
    *,
    against: Optional[str] = None,
    metrics: Sequence[str] = (),
    state: Optional[str] = None,
    progress: Progress = False,
    **options: Unpack[RunOptions],
) -> Sweep:
    """Run a kernel at every combination of values, on all cores.

    `vary` has a list of values for each name, or a range as text: `{"stages": "1..6", "k": [1024, 4096]}`. A name is a
    parameter, a machine number (`"machine.memory.dram_gbps"`), `"machine"`, `"scenario"`, or `"arg5"` of a compiled
    kernel. `against` runs a second scenario at every point, `metrics` keeps further numbers, and `state` is a file that
    keeps finished points. `progress` is `True` for a bar (needs tqdm), or is called with done and total. Ctrl-C stops
    the sweep; finished points stay in the state file. Options as for `run`.
    """
    asked = sweep_question(kernel, vary, against, metrics, **options)
    return _answer(Sweep, asked.asked("sweep", f"--state={state}") if state else asked, progress)


def sweep_question(
    kernel: Kernel,
    vary: Mapping[str, Union[str, Sequence[Any]]],
    against: Optional[str] = None,
    metrics: Sequence[str] = (),
    **options: Unpack[RunOptions],
) -> Question:
    """The command line of a sweep."""
    axes = [f"--vary={n}={v if isinstance(v, str) else ','.join(map(str, v))}" for n, v in vary.items()]
    more = [*axes, *(f"--metric={m}" for m in metrics)]
    more += [f"--against={against}"] if against else []
    return question("sweep", kernel, *more, **options)


def plan(
    kernel: Kernel, *, stages: Optional[int] = None, progress: Progress = False, **options: Unpack[PlanOptions]
) -> Plan:
    """Search the pipelines of a kernel with a plain `pipelined` loop, and rank the proved ones by simulated time.

    `stages` is the largest number of stages that is tried, 6 by default. `progress` is as for `sweep`. The other options
    are `machine`, `values`, `fences`, `name` and `max_events`, as for `run`.
    """
    more = [f"--stages={stages}"] if stages is not None else []
    return _answer(Plan, question("plan", kernel, *more, **options), progress)


def compare(
    a: Kernel, b: Kernel, *, values_b: Optional[Mapping[str, Union[int, float]]] = None, **options: Unpack[RunOptions]
) -> Comparison:
    """Run two kernels, or one with other values, and return which numbers differ and at which line.

    `values_b` are values of the second run alone. Options as for `run`; they are for both where both had the same value.
    """
    more = [f"--with-set={name}={value}" for name, value in (values_b or {}).items()]
    return _answer(Comparison, question("compare", a, *more, second=b, **options))


def whatif(kernel: Kernel, **options: Unpack[RunOptions]) -> Whatif:
    """Run a kernel with each number of the machine made slower, faster and free. Options as for `run`."""
    return _answer(Whatif, question("whatif", kernel, **options))


def gantt(
    kernel: Kernel,
    *,
    beside: Optional[Kernel] = None,
    first: Optional[int] = None,
    last: Optional[int] = None,
    whole: bool = False,
    rows: Sequence[str] = (),
    size: Optional[str] = None,
    theme: str = "light",
    **options: Unpack[RunOptions],
) -> Chart:
    """Draw the timeline of a run, or of two with `beside`.

    `first` and `last` are cycles; without them and without `whole`, the chart shows the first steps of the main loop.
    `rows` are roles, `"agents"`, `"engines"`, `"barriers"`, `"slots"` or part of a name. `size` is in pixels: `"page"`
    (1600 wide), `"slide"` (1920x1080), a width or `"1600x900"`. `theme` is `"light"` or `"dark"`. Options as for `run`.
    """
    asked = question("gantt", kernel, second=beside, **options)
    return chart_of(asked, first=first, last=last, whole=whole, rows=rows, size=size, theme=theme)


def chart_of(
    asked: Question,
    *,
    first: Optional[int] = None,
    last: Optional[int] = None,
    whole: bool = False,
    rows: Sequence[str] = (),
    size: Optional[str] = None,
    theme: str = "light",
) -> Chart:
    """The chart of a question that names a run."""
    more = ["--output=chart.svg", f"--theme={theme}"]
    more += [
        f"--{word}={value}" for word, value in (("from", first), ("to", last), ("size", size)) if value is not None
    ]
    more += ["--whole"] if whole else []
    more += [f"--roles={','.join(rows)}"] if rows else []
    asked = asked.asked("gantt", *more)
    return Chart(_native.answer(asked.args, asked.texts)[3].decode())


def report(kernel: Kernel, *, verify: bool = True, **options: Unpack[RunOptions]) -> Report:
    """Write a page about a kernel, without references to other files: run, timeline, claims, and with `verify` the proof.

    Options as for `run`.
    """
    asked = question("report", kernel, "--output=-", *([] if verify else ["--no-verify"]), **options)
    status, _, _, page = _native.answer(asked.args, asked.texts)
    return Report(page.decode(), status)


F = TypeVar("F", bound=Callable[..., Any])


@overload
def proved(factory: F) -> F: ...
@overload
def proved(
    *,
    max_trips: Optional[int] = None,
    max_steps: Optional[int] = None,
    suggest: bool = True,
    **options: Unpack[ProofOptions],
) -> Callable[[F], F]: ...
def proved(factory: Optional[F] = None, **options: Any) -> Any:
    """Decorate a function that returns a kernel: each call proves the kernel, or raises with the counterexample.

    pytest collects a decorated function as a test under any name, with its fixtures and parameters. Options as for
    `verify`: `@warpline.proved(machine="h200")`.
    """
    if factory is None:
        return functools.partial(proved, **options)

    @functools.wraps(factory)
    def checked(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # pytest shows the verdict, not this function
        kernel = factory(*args, **kwargs)
        verdict = verify(kernel, **options)
        if not verdict.proved:
            raise AssertionError(f"the kernel is not proved\n{verdict}")
        return kernel

    checked.__warpline_proved__ = True  # type: ignore[attr-defined]
    return checked
