"""Triton kernels: check each when it is compiled, and rank configurations without a GPU.

Importing this module does not import triton; its functions do.

What a ranking can and cannot say: every instruction of the PTX is charged by class, and addresses are those of the
launch. The assembler's schedule, registers and spills are not known. docs/import.md (Times) says how far the times are
from measured ones, and README.md how good the choices of a ranking were.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

from warpline import _cubin
from warpline._api import counted, run, verify
from warpline._errors import Error
from warpline._results import Progress, Run, Verdict, table

ARCHITECTURES = {"a100": 80, "h100": 90, "h200": 90, "b200": 100}
"""The compute capability of each built-in machine that Triton compiles for."""

_TYPES = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "bool": "i1",
}

_verdicts: dict[str, Union[Verdict, Error]] = {}


class ProtocolWarning(UserWarning):
    """A compiled kernel whose barrier protocol is not proved."""


class ProtocolError(AssertionError):
    """A compiled kernel whose barrier protocol is refuted."""


def check(kernel: Any, **options: Any) -> Union[Verdict, Error]:
    """The verdict on a compiled kernel or PTX text, kept by the hash of the PTX; an `Error` where it is not read.

    Options as for `warpline.verify`.
    """
    text = kernel if isinstance(kernel, str) else kernel.asm["ptx"]
    key = hashlib.sha256("\n".join([repr(sorted(options.items())), text]).encode()).hexdigest()
    if key not in _verdicts:
        try:
            _verdicts[key] = verify(kernel, **options)
        except Error as error:
            _verdicts[key] = error
    return _verdicts[key]


def install(level: str = "warn", **options: Any) -> Callable[[], None]:
    """Check every kernel that Triton compiles or takes from its cache in this process, once for each PTX.

    `level` is `"warn"`: a `ProtocolWarning` where a kernel is not proved; or `"error"`: a `ProtocolError` where it is
    refuted, and a warning where nothing is decided. Options as for `warpline.verify`. Returns a function that removes
    the check. A listener that was there before is called, too.
    """
    if level not in ("warn", "error"):
        raise ValueError(f"level is 'warn' or 'error', not {level!r}")
    from triton import knobs

    before = knobs.compilation.listener
    warned: set[str] = set()

    def listener(**event: Any) -> None:
        if before is not None:
            before(**event)
        path = next((p for name, p in event["metadata_group"].items() if name.endswith(".ptx")), None)
        if path is None:
            return
        text = Path(path).read_text()
        # The name that Triton gives the kernel is in the metadata of a finished compilation.
        name = event["metadata"].get("name") or Path(path).stem
        verdict = check(text, name=f"{name}.ptx", **options)
        if level == "error" and isinstance(verdict, Verdict) and verdict.refuted:
            raise ProtocolError(f"{name}: the barrier protocol is refuted\n{verdict}")
        words = _words(verdict)
        if words and text not in warned:
            warned.add(text)
            warnings.warn(f"{name}: {words}", ProtocolWarning, stacklevel=2)

    knobs.compilation.listener = listener

    def remove() -> None:
        if knobs.compilation.listener is listener:
            knobs.compilation.listener = before

    return remove


def _words(verdict: Union[Verdict, Error]) -> Optional[str]:
    """Why a kernel is not proved; `None` where it is."""
    if isinstance(verdict, Error):
        return f"the PTX was not read, so nothing is known: {verdict}"
    return None if verdict.proved else f"the barrier protocol is not proved: {verdict.verdict}\n{verdict}"


class Ranked(NamedTuple):
    """A configuration with its simulated time."""

    config: Any
    """The `triton.Config`."""
    time_us: float
    """Microseconds of the launch."""
    run: Run
    """The run; `run.interval_us` and `run.machine_numbers` say how sure the time is."""
    verdict: Verdict
    """The verdict: proved, bounded or undecided, never refuted."""


class Rejected(NamedTuple):
    """A configuration without a place in a ranking."""

    config: Any
    reason: str


class Ranking(Sequence[Ranked]):
    """Configurations by simulated time, the fastest first."""

    def __init__(self, ranked: list[Ranked], rejected: list[Rejected], compile_s: float, model_s: float) -> None:
        self._ranked = sorted(ranked, key=lambda r: r.time_us)
        self.rejected = rejected
        """Configurations that are refuted, not compiled, or not timed, with the reason."""
        self.compile_s, self.model_s = compile_s, model_s
        """Seconds in Triton's compiler, and in warpline."""

    def __getitem__(self, index: Any) -> Any:
        return self._ranked[index]

    def __len__(self) -> int:
        return len(self._ranked)

    def __repr__(self) -> str:
        rows = [f"{r.time_us:12,.1f} us  {r.verdict.verdict:8}  {r.config}" for r in self]
        rows += [f"{'rejected':>15}  {r.config}: {r.reason.strip().splitlines()[0]}" for r in self.rejected]
        return "\n".join(rows) or "no configurations"

    def _repr_html_(self) -> str:
        rows = [(r.config, r.time_us, *(r.run.interval_us or (None, None)), r.verdict.verdict) for r in self]
        ranked = table(["configuration", "time, us", "from", "to", "verdict"], rows)
        rejected = [(r.config, r.reason.strip().splitlines()[0]) for r in self.rejected]
        return ranked + (table(["rejected", "reason"], rejected) if rejected else "")

    def to_pandas(self) -> Any:
        """A row for each ranked configuration, with the interval of its time. Needs pandas."""
        import pandas

        rows = []
        for r in self:
            low, high = r.run.interval_us or (None, None)
            found = {"time_us": r.time_us, "low_us": low, "high_us": high, "cycles": r.run.cycles}
            rows.append({**r.config.all_kwargs(), **found, "verdict": r.verdict.verdict})
        return pandas.DataFrame(rows)


Arguments = Union[Mapping[str, Any], Callable[[Mapping[str, Any]], Mapping[str, Any]]]
Grid = Union[int, Sequence[int], Callable[[Mapping[str, Any]], Sequence[int]]]


def rank(
    kernel: Any,
    configs: Iterable[Any],
    args: Arguments,
    machine: str = "h200",
    *,
    grid: Grid,
    fences: Optional[Mapping[str, str]] = None,
    progress: Progress = False,
    **options: Any,
) -> Ranking:
    """Compile a kernel in each configuration without a GPU, and rank them by simulated time in microseconds.

    `kernel` is a `triton.jit` function, also autotuned. `configs` are `triton.Config`. `args` has a value for each
    parameter that no configuration sets, by name: a number, a tensor (of any library; only `shape` and `dtype` are read), a
    `TensorDescriptor`, or Triton's word for a type (`"*fp16"`); or it is a function from a configuration's values to
    such a mapping. `grid` is as in a launch: sizes, or a function from the values to sizes.

    A configuration whose protocol is refuted is not in the ranking: it is in `rejected`. `fences` are levels of fence
    rules for the verdict and the run. `progress` is `True` for a bar (needs tqdm), or is called with the number of ranked
    configurations and of all. Options as for `warpline.run`.
    """
    configs = list(configs)
    _supported(machine)
    for config in configs:
        _values(_function(kernel), config, args)
    with counted(progress, "config") as count:
        return _rank(kernel, configs, args, machine, grid, fences, options, count)


def _rank(
    kernel: Any,
    configs: Sequence[Any],
    args: Arguments,
    machine: str,
    grid: Grid,
    fences: Optional[Mapping[str, str]],
    options: Mapping[str, Any],
    count: Optional[Callable[[int, int], object]],
) -> Ranking:
    ranked: list[Ranked] = []
    rejected: list[Rejected] = []
    compile_s, model_s = 0.0, 0.0
    for done, config in enumerate(configs):
        if count:
            count(done, len(configs))
        start = time.perf_counter()
        try:
            compiled = compile_config(kernel, config, args, machine)
        except Exception as error:  # Triton's compiler raises errors of many kinds.
            rejected.append(Rejected(config, f"Triton does not compile it: {error}"))
            compile_s += time.perf_counter() - start
            continue
        compile_s += time.perf_counter() - start
        start = time.perf_counter()
        placed = _timed(compiled, config, machine, grid, fences, options)
        model_s += time.perf_counter() - start
        if isinstance(placed, Ranked):
            ranked.append(placed)
        else:
            rejected.append(placed)
    if count:
        count(len(configs), len(configs))
    return Ranking(ranked, rejected, compile_s, model_s)


def _timed(
    compiled: "Compiled",
    config: Any,
    machine: str,
    grid: Grid,
    fences: Optional[Mapping[str, str]],
    options: Mapping[str, Any],
) -> Union[Ranked, Rejected]:
    """The place of a compiled configuration, or the reason why it has none."""
    verdict = check(compiled.kernel, machine=machine, fences=fences, suggest=False)
    if isinstance(verdict, Error):
        return Rejected(config, f"no verdict: {verdict.summary}\n{verdict}")
    if verdict.refuted:
        return Rejected(config, f"the protocol is refuted: {verdict.violation['message']}\n{verdict}")  # type: ignore[index]
    sizes = grid(compiled.values) if callable(grid) else grid
    try:
        launch = {"grid": sizes, "args": compiled.arguments, "registers": compiled.registers}
        found = run(compiled.kernel, machine=machine, fences=fences, **{**launch, **options})
    except Error as error:
        return Rejected(config, f"no time: {error.summary}\n{error}")
    if found.outcome != "finished":
        return Rejected(config, f"the run did not finish: {found.outcome}")
    return Ranked(config, found.time_us, found, verdict)


class Compiled(NamedTuple):
    """A kernel compiled in a configuration."""

    kernel: Any
    """Triton's `CompiledKernel`."""
    values: dict[str, Any]
    """Values of arguments and of the configuration, by name."""
    arguments: list[Any]
    """Numbers of the launch, by position of the PTX parameter."""
    registers: Optional[int]
    """Registers of a thread that the assembler gave out."""


def _supported(machine: str) -> None:
    """Raise where Triton has no target for a machine."""
    if machine not in ARCHITECTURES:
        raise ValueError(f"Triton compiles for {', '.join(ARCHITECTURES)}, not for {machine!r}")


def _function(kernel: Any) -> Any:
    """The `triton.jit` function of a kernel, which may be autotuned."""
    import triton

    while not isinstance(kernel, triton.runtime.JITFunction):
        kernel = kernel.fn
    return kernel


def _values(kernel: Any, config: Any, args: Arguments) -> dict[str, Any]:
    """Values of arguments and of a configuration, by name: one for each parameter of the function."""
    chosen = config.all_kwargs()
    values = {**(args(chosen) if callable(args) else args), **chosen}
    missing = [f"`{p.name}`" for p in kernel.params if p.name not in values]
    if missing:
        raise TypeError(f"{kernel.__name__}: no value for {', '.join(missing)}")
    return values


def compile_config(kernel: Any, config: Any, args: Arguments, machine: str = "h200") -> Compiled:
    """Compile a `triton.jit` function in a configuration for a machine, without a GPU. Arguments as for `rank`."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = _function(kernel)
    _supported(machine)
    chosen, values = config.all_kwargs(), _values(kernel, config, args)
    signature, constants, attributes, arguments = {}, {}, {}, []
    for index, parameter in enumerate(kernel.params):
        value = values[parameter.name]
        # Triton compiles an argument of 1 in.
        one = value == 1 if type(value) is int else False
        if parameter.is_constexpr or one and not parameter.do_not_specialize:
            signature[parameter.name], constants[parameter.name] = "constexpr", value
            continue
        kind, numbers = _argument(value)
        signature[parameter.name] = kind
        aligned = kind.startswith("*") or type(value) is int and value % 16 == 0
        if aligned and not parameter.do_not_specialize:
            attributes[(index,)] = [["tt.divisibility", 16]]
        arguments += numbers
    own = {*kernel.arg_names}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    compiled = triton.compile(
        source,
        target=GPUTarget("cuda", ARCHITECTURES[machine], 32),
        options={name: value for name, value in chosen.items() if name not in own and value is not None},
    )
    # Triton adds pointers to scratch memory.
    last = max(
        (int(n) for n in re.findall(r"^\s*\.param .*_param_(\d+)", compiled.asm["ptx"], re.MULTILINE)), default=-1
    )
    arguments += [None] * (last + 1 - len(arguments))
    return Compiled(compiled, values, arguments, _cubin.registers(compiled.asm["cubin"]).get(compiled.name))


def _argument(value: Any) -> tuple[str, list[Any]]:
    """Triton's type of an argument, and its PTX parameters as in a launch file; `None` for an array of unknown size."""
    if isinstance(value, str):
        # A tensor map is followed by the sizes and the strides of its tensor.
        tile = re.match(r"tensordesc<\w+\[([^\]]*)\]", value)
        return value, [None] * (1 + 2 * len(tile[1].split(","))) if tile else [None]
    if isinstance(value, bool):
        return "i1", [int(value)]
    if isinstance(value, int):
        return ("i32" if -(2**31) <= value < 2**31 else "i64"), [value]
    if isinstance(value, float):
        return "fp32", [None]
    if hasattr(value, "block_shape"):
        kind, box = _type(value.base.dtype), [int(n) for n in value.block_shape]
        shape, strides = [int(n) for n in value.shape], [int(n) for n in value.strides]
        map_of = {"desc": shape, "strides": strides, "box": box, "dtype": _name(value.base.dtype)}
        return f"tensordesc<{kind}[{', '.join(map(str, box))}]>", [map_of, *shape, *strides]
    if hasattr(value, "dtype"):
        array = {"ptr": [int(n) for n in value.shape], "dtype": _name(value.dtype)} if hasattr(value, "shape") else None
        return f"*{_type(value.dtype)}", [array]
    raise TypeError(f"{type(value).__name__} is no argument of a Triton kernel")


def _name(dtype: Any) -> str:
    """The name of an element type, as frameworks have it."""
    return str(dtype).rsplit(".", 1)[-1]


def _type(dtype: Any) -> str:
    """Triton's word for an element type of torch, numpy or Triton."""
    word = str(dtype).rsplit(".", 1)[-1]
    return _TYPES.get(word, word)


def perf_model(machine: str = "h200", **named: Any) -> float:
    """Simulated microseconds of one configuration, for `prune_configs_by` of `triton.autotune`.

    `@triton.autotune(configs, key, prune_configs_by={"early_config_prune": warpline.triton.prune, "perf_model":
    warpline.triton.perf_model, "top_k": 8})`. A configuration that is refuted or has no time is infinitely slow; add
    `prune`, which removes refuted ones. Another machine: `functools.partial(perf_model, machine="a100")`.
    """
    tuner = _tuner()
    config = _config_of(tuner, named)
    ranking = rank(tuner.fn, [config], _plain(named), machine, grid=named["grid"])
    return ranking[0].time_us if ranking else math.inf


def prune(configs: Sequence[Any], named: Mapping[str, Any], machine: str = "h200", **kwargs: Any) -> list[Any]:
    """The configurations whose protocol is not refuted, for `early_config_prune` of `triton.autotune`."""
    kernel, kept = _tuner().fn, []
    _supported(machine)
    for config in configs:
        try:
            compiled = compile_config(kernel, config, {**_plain(kwargs), **named}, machine)
        except Exception:  # Triton's compiler raises errors of many kinds; the autotuner says which when it compiles.
            kept.append(config)
            continue
        verdict = check(compiled.kernel, machine=machine, fences=None, suggest=False)
        if isinstance(verdict, Error) or not verdict.refuted:
            kept.append(config)
    return kept


def _tuner() -> Any:
    """The autotuner that calls: Triton does not tell a model which kernel is asked about."""
    frame = sys._getframe(2)
    while frame is not None:
        this = frame.f_locals.get("self")
        if hasattr(this, "configs") and hasattr(this, "fn") and hasattr(this, "prune_configs"):
            return this
        frame = frame.f_back  # type: ignore[assignment]
    raise RuntimeError("no autotuner of Triton calls; use warpline.triton.rank")


def _config_of(tuner: Any, named: Mapping[str, Any]) -> Any:
    """The configuration that a call of the model is about."""
    for config in tuner.configs:
        if all(named.get(name) == value for name, value in config.all_kwargs().items()):
            return config
    raise RuntimeError("the autotuner has no such configuration")


def _plain(named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a launch without its own words."""
    return {name: value for name, value in named.items() if name not in ("grid", "warmup")}
