"""From what a caller has to a command line: scenario names, texts, paths and compiled kernels."""

from __future__ import annotations

import difflib
import json
import operator
import os
import re
from typing import Any, Mapping, NamedTuple, Optional, Sequence, TypedDict, Union

from warpline._compiled import Compiled, compiled

Kernel = Union[str, "os.PathLike[str]", Any]
"""A scenario name, a path, the text of a kernel (.pipe) or of PTX, or a compiled kernel of Triton, TileLang or CuTe DSL."""

PROOFS = ("verify", "barriers")
"""Commands whose answer is for every launch."""

Numbers = Mapping[str, Union[int, float]]
Sizes = Union[int, str, Sequence[int]]


class _Options(TypedDict, total=False):
    name: Optional[str]
    machine: Optional[str]
    values: Optional[Numbers]
    fences: Optional[Mapping[str, str]]


class ProofOptions(_Options, total=False):
    """Options of `verify` and `barriers`; `warpline.run` has their meaning."""

    entry: Optional[str]
    block: Optional[Sizes]
    cluster: Optional[Sizes]


class RunOptions(ProofOptions, total=False):
    """Options of functions that run a kernel; `warpline.run` has their meaning."""

    grid: Optional[Sizes]
    args: Union[None, Mapping[Union[int, str], Union[int, float]], Sequence[Any]]
    shared: Optional[int]
    registers: Optional[int]
    sass: Union[None, str, "os.PathLike[str]"]
    fidelity: Optional[str]
    clock: Optional[str]
    max_events: Optional[int]


class PlanOptions(_Options, total=False):
    """Options of `plan`; `warpline.run` has their meaning."""

    max_events: Optional[int]


class Question(NamedTuple):
    """A command line, and texts that stand in the place of files."""

    args: list[str]
    texts: dict[str, str]

    def asked(self, command: str, *more: str) -> "Question":
        """The same question to another command."""
        return Question([command, *more, *self.args[1:]], self.texts)

    def metrics(self) -> list[str]:
        """The options of a sweep that say what is shown."""
        return [word for word in self.args if word.startswith("--metric=")]


class _Named(NamedTuple):
    """A kernel as a command line names it."""

    name: str
    text: Optional[str] = None
    compiled: Optional[Compiled] = None


def is_ptx(text: str) -> bool:
    """Whether a text is PTX: it has a version and a target."""
    return all(re.search(rf"^\s*\.{word}\s", text, re.M) for word in ("version", "target"))


def _named(kernel: Kernel, name: Optional[str]) -> _Named:
    """The kernel by name, with its text where it is no file."""
    if isinstance(kernel, os.PathLike):
        return _Named(os.fspath(kernel))
    if isinstance(kernel, str):
        if "\n" not in kernel:
            return _Named(kernel)
        ending = ".ptx" if is_ptx(kernel) else ".pipe"
        return _Named(name or f"kernel{ending}", kernel)
    found = compiled(kernel)
    if found is not None:
        return _Named(name or f"{found.name}.ptx", found.text, found)
    what = f"{type(kernel).__module__}.{type(kernel).__qualname__}"
    expected = (
        "a scenario name, a path, the text of a kernel or of PTX, or a compiled kernel of Triton, TileLang or CuTe DSL"
    )
    source = type(kernel).__name__ in ("JITFunction", "Autotuner", "Heuristics")
    hint = "; `warpline.triton.compile_config` compiles a function of Triton without a GPU" if source else ""
    raise TypeError(f"{what} is no kernel: expected {expected}{hint}")


def sizes(value: Sizes) -> str:
    """One to three sizes as the command line has them: `64x64`."""
    if isinstance(value, str):
        return value
    return "x".join(str(int(n)) for n in ([value] if isinstance(value, int) else value))


def question(
    command: str,
    kernel: Kernel,
    *more: str,
    name: Optional[str] = None,
    machine: Optional[str] = None,
    values: Optional[Numbers] = None,
    fences: Optional[Mapping[str, str]] = None,
    entry: Optional[str] = None,
    block: Optional[Sizes] = None,
    cluster: Optional[Sizes] = None,
    grid: Optional[Sizes] = None,
    args: Union[None, Mapping[Union[int, str], Union[int, float]], Sequence[Any]] = None,
    shared: Optional[int] = None,
    registers: Optional[int] = None,
    sass: Union[None, str, "os.PathLike[str]"] = None,
    fidelity: Optional[str] = None,
    clock: Optional[str] = None,
    max_events: Optional[int] = None,
    second: Optional[Kernel] = None,
    **unknown: Any,
) -> Question:
    """The command line of a question about a kernel."""
    for option_name in unknown:
        near = difflib.get_close_matches(option_name, RunOptions.__annotations__, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise TypeError(f"warpline.{command}() has no option `{option_name}`{hint}")
    this, texts, line = _named(kernel, name), {}, [command, *more]
    if this.text is not None:
        texts[this.name] = this.text
    if this.compiled is not None:
        shared = this.compiled.shared if shared is None else shared
        if command not in PROOFS:
            grid = this.compiled.grid if grid is None else grid
            registers = this.compiled.registers if registers is None else registers

    def option(flag: str, value: Any) -> None:
        if value is not None:
            # One word, so that a value may begin with a dash.
            line.append(f"{flag}={value}")

    option("--machine", machine)
    for key, number in (values or {}).items():
        option("--set", f"{key}={_number(number)}")
    for rule, level in (fences or {}).items():
        option("--fence", f"{rule}={level}")
    option("--entry", entry)
    option("--block", block and sizes(block))
    option("--cluster", cluster and sizes(cluster))
    option("--grid", grid and sizes(grid))
    option("--fidelity", fidelity)
    option("--clock", clock)
    option("--max-events", max_events)
    launch: dict[str, Any] = {"shared": shared, "regs": registers}
    if isinstance(args, Mapping):
        for position, number in args.items():
            option("--arg", f"{position}={_number(number)}")
    elif args is not None:
        launch["args"] = list(args)
    launch = {key: value for key, value in launch.items() if value is not None}
    if launch:
        texts["launch.json"] = json.dumps(launch, indent=1)
        option("--launch", "launch.json")
    if sass is not None:
        named = os.fspath(sass)
        if "\n" in named:
            texts["kernel.sass"], named = named, "kernel.sass"
        option("--sass", named)
    kernels = [this.name]
    if second is not None:
        other = _named(second, None)
        if other.text is not None:
            # Two texts may have one name.
            stem, ending = os.path.splitext(other.name)
            other = other._replace(name=f"{stem}_b{ending}" if other.name in texts else other.name)
            texts[other.name] = str(other.text)
        if command == "compare":
            kernels.append(other.name)
        else:
            option("--with", other.name)
    return Question([*line, "--", *kernels], texts)


def _number(value: Any) -> Union[int, float]:
    """A plain number: numpy's integers become Python's."""
    try:
        return operator.index(value)
    except TypeError:
        return float(value)
