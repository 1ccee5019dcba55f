"""What the functions of this package return: plain objects with attributes.

Each result has the fields of its JSON object (docs/json.md) as attributes. `str` of a result is the text that the
command line prints. Times are in cycles of the machine's clock (`cycles`) or in microseconds (`us`), sizes in bytes, and
shares lie between 0 and 1.
"""

from __future__ import annotations

import copy
import csv
import html
import json
import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Union

from warpline._inputs import Question

if TYPE_CHECKING:
    import pandas

Object = dict[str, Any]


def table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """An HTML table. Long tables are scrolled by the notebook."""

    def row(cells: Sequence[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag} style='text-align:left'>{_cell(c)}</{tag}>" for c in cells) + "</tr>"

    return f"<table>{row(names, 'th')}{''.join(row(r, 'td') for r in rows)}</table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return html.escape(f"{value:,.6g}" if isinstance(value, float) else str(value))


def fitted(svg: Optional[str]) -> str:
    """A picture of a page, no wider than the cell of a notebook; nothing for none."""
    return (svg or "").replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)


def _at(place: Optional[Object]) -> str:
    """A place as `file:line`."""
    return f"{place['file']}:{place['line']}" if place else ""


class Result:
    """The answer to a question."""

    _columns: Sequence[str] = ()
    """The names of a table without rows."""

    status: int
    """0: no fault; 1: a fault, a hang or a failed claim; 3: a limit was reached. The exit status of the command."""

    def __init__(self, question: Question, status: int, text: str, found: str, picture: bytes) -> None:
        self._question, self._text, self._picture = question, text, picture.decode()
        self._object: Object = json.loads(found)
        self.status = status
        for name in type(self).__annotations__:
            if name in self._object:
                setattr(self, name, self._object[name])

    def to_dict(self) -> Object:
        """The JSON object of the command (docs/json.md), with every field."""
        return copy.deepcopy(self._object)

    def _rows(self) -> list[Object]:
        raise NotImplementedError

    def to_pandas(self) -> "pandas.DataFrame":
        """The rows of the result as a data frame. Needs pandas."""
        import pandas

        rows = self._rows()
        return pandas.DataFrame(rows) if rows else pandas.DataFrame(columns=list(self._columns))

    def to_csv(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write the rows of the result as CSV, with a line of names."""
        rows = self._rows()
        # Rows of a sweep differ in their numbers.
        names = list(dict.fromkeys(name for row in rows for name in row)) or list(self._columns)
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def to_parquet(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write the rows of the result as Parquet. Needs pandas and pyarrow."""
        self.to_pandas().to_parquet(path, index=False)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>{fitted(self._repr_svg_())}"

    def _repr_svg_(self) -> Optional[str]:
        return self._picture or None


class Run(Result):
    """The time of a kernel, and where the time goes."""

    scenario: str
    kernel: str
    machine: str
    parameters: dict[str, int]
    outcome: str
    """`finished`, `hung`, `broken`, `limit` or `stopped`. Only a finished run has a time."""
    cycles: float
    """The time of the whole launch, in cycles of the machine's clock."""
    time_us: float
    """The same in microseconds; 0 on a machine without a clock."""
    tflops: float
    """10^12 operations per second."""
    of_peak: Optional[float]
    """The share of the matrix peak, 0 to 1."""
    ctas: int
    """CTAs of the grid."""
    shared_bytes: int
    """Bytes of shared memory of a CTA."""
    occupancy: Object
    """`ctas_per_core`, `warps_per_core`, and `limit`, the resource that sets them."""
    bottleneck: str
    """One sentence."""
    roles: list[Object]
    """For each role: `work` and `stalls`, each a share of the role's time by its word, and `waits` with their lines."""
    findings: list[Object]
    """Faults and notes, each with `code`, `message` and `place`."""
    claims: list[Object]
    beside: list[Object]
    """The runs that the scenario compares itself with."""
    machine_numbers: dict[str, int]
    """How many numbers of the machine were used that are `documented`, `measured` and `estimated`."""
    uncertainty: Optional[Object]
    """How sure the time is, by the errors of measured kernels like this one (docs/json.md); `None` without a time."""

    @property
    def interval_us(self) -> Optional[tuple[float, float]]:
        """The least and the largest time in microseconds that the errors of measured kernels like this one allow; `None`
        where no such kernel was measured."""
        known = self._object.get("uncertainty") or {}
        low, high = known.get("low_cycles"), known.get("high_cycles")
        if low is None or high is None:
            return None
        us = self.time_us / self.cycles
        return low * us, high * us

    def chart(self, **options: Any) -> "Chart":
        """The timeline of this run. Options as for `warpline.gantt`, without those of the kernel."""
        from warpline._api import chart_of

        return chart_of(self._question, **options)

    def _rows(self) -> list[Object]:
        """A row for each kind of work and of wait of each role; `share` is of the role's time."""
        return [
            {"role": role["name"], "warps": role["warps"], "kind": kind, "what": what, "share": share}
            for role in self.roles
            for kind, shares in (("work", role["work"]), ("wait", role["stalls"]))
            for what, share in shares.items()
        ]

    def __repr__(self) -> str:
        return f"<Run {self.scenario} on {self.machine}: {self.outcome}, {self.cycles:,.0f} cycles, {self.time_us:,.1f} us>"

    def _repr_svg_(self) -> Optional[str]:
        # Drawn when it is first shown: a record of the run costs more than its time.
        if not self._picture:
            self._picture = self.chart().svg
        return self._picture

    def _repr_html_(self) -> str:
        head = [
            ("time", f"{self.cycles:,.0f} cycles, {self.time_us:,.1f} us"),
            ("outcome", self.outcome),
            ("bottleneck", self.bottleneck),
        ]
        title = f"<b>{html.escape(self.scenario)}</b> on {html.escape(self.machine)}"
        return f"<div>{title}{table(['', ''], head)}{fitted(self._repr_svg_())}</div>"


class Verdict(Result):
    """What is known about the barrier protocol of a kernel, over every schedule."""

    _columns = ("note", "code", "kind", "message", "file", "line", "text", "agent")

    scenario: str
    kernel: str
    machine: str
    parameters: dict[str, int]
    verdict: str
    """`proved`: for every schedule and trip count; `bounded`: only for some; `violated`; `gave_up`: nothing is decided."""
    why: Optional[str]
    """Why the verdict is bounded or nothing is decided."""
    trip_counts: Union[None, str, list[int]]
    """`all`, a range of two numbers, or `None` where no trip count varies."""
    varied: Optional[str]
    bound: dict[str, int]
    """Parameters that were not varied: the verdict is for these values."""
    classes: list[str]
    assumptions: list[str]
    properties: dict[str, str]
    violation: Optional[Object]
    """The fault: `code`, `kind`, `message`, `file`, `line`, `trips`, `steps` and `suggestion`."""
    violations: list[Object]
    notes: list[Object]
    wall_s: float
    """Seconds that the decision took on this computer."""

    @property
    def proved(self) -> bool:
        """Whether the protocol holds in every schedule and for every trip count. `False` where the verdict is bounded."""
        return self.verdict == "proved"

    @property
    def refuted(self) -> bool:
        """Whether a schedule leads to a fault."""
        return self.verdict == "violated"

    @property
    def counterexample(self) -> Optional[str]:
        """The fault, the steps that lead to it, and a repair where one was found, as text; `None` without a fault."""
        return self._text if self.refuted else None

    def __bool__(self) -> bool:
        """`assert warpline.verify(k)` fails unless the kernel is proved."""
        return self.proved

    def _rows(self) -> list[Object]:
        """A row for each finding: faults, and notes."""
        found = [(False, f) for f in self.violations] + [(True, f) for f in self.notes]
        return [
            {
                "note": note,
                "code": f["code"],
                "kind": f["kind"],
                "message": f["message"],
                "file": f["place"]["file"],
                "line": f["place"]["line"],
                "text": f["place"]["text"],
                "agent": f["agent"],
            }
            for note, f in found
        ]

    def __repr__(self) -> str:
        at = f": {self.violation['code']} at {_at(self.violation)}" if self.violation else ""
        return f"<Verdict {self.scenario} on {self.machine}: {self.verdict}{at}>"

    def _repr_svg_(self) -> Optional[str]:
        return None

    def _repr_html_(self) -> str:
        title = f"<b>{self.verdict.upper()}</b> {html.escape(self.scenario)} on {html.escape(self.machine)}"
        parts = [title, f"<br>{html.escape(self.why)}" if self.why else ""]
        parts.append(table(["property", "verdict"], list(self.properties.items())))
        rows = [(r["code"], r["message"], _at(r), r["text"]) for r in self._rows()]
        if rows:
            parts.append(table(["code", "finding", "line", "statement"], rows))
        if self.violation and self.violation["steps"]:
            steps = [(s["agent"], s["op"], _at(s)) for s in self.violation["steps"]]
            parts.append(f"<details><summary>{len(steps)} steps lead to it</summary>")
            parts.append(table(["agent", "statement", "line"], steps) + "</details>")
        suggestion = self.violation and self.violation["suggestion"]
        if suggestion:
            change, diff = html.escape(suggestion["change"]), html.escape(suggestion["diff"] or "")
            parts.append(f"<p>Repair ({html.escape(suggestion['verdict'])}): {change}</p><pre>{diff}</pre>")
        return f"<div>{''.join(parts)}</div>"


class Barriers(Result):
    """Which synchronization statements a kernel needs, and against what."""

    scenario: str
    machine: str
    verdict: str
    """The verdict on the whole kernel."""
    statements: list[Object]
    """Each statement: `place`, `need` (`needed`, `redundant`, `advised`, `undecided`, `not_judged`), and `prevents`."""
    spare: list[Object]
    """Statements that can all be left out together."""
    minimal: str
    """The verdict on the kernel without the spare statements."""

    def _rows(self) -> list[Object]:
        return [
            {
                "file": s["place"]["file"],
                "line": s["place"]["line"],
                "text": s["place"]["text"],
                "need": s["need"],
                "prevents": s["prevents"]["message"] if s["prevents"] else s["why"],
            }
            for s in self.statements
        ]

    def __repr__(self) -> str:
        return f"<Barriers {self.scenario}: {len(self.statements)} statements, {len(self.spare)} spare>"

    def _repr_html_(self) -> str:
        rows = [(_at(r), r["text"], r["need"], r["prevents"]) for r in self._rows()]
        return table(["line", "statement", "need", "prevents"], rows)


class Sweep(Result):
    """A kernel over many values: one run for each combination."""

    scenario: str
    varied: list[str]
    points: list[Object]
    """Each point: `values` by name, `outcome` (`fine`, `infeasible`, `faulty`, `hung`, `gave_up`), `numbers` by name."""

    def best(self, number: str = "time_us") -> Optional[Object]:
        """The finished point with the smallest value of a number; of a rate, look for the largest with `to_pandas`."""
        fine = [p for p in self.points if p["outcome"] == "fine" and number in p["numbers"]]
        return min(fine, key=lambda p: p["numbers"][number], default=None)

    def _rows(self) -> list[Object]:
        return [
            {**p["values"], "outcome": p["outcome"], "limit": p["limit"], **p["numbers"], "message": p["message"]}
            for p in self.points
        ]

    def __repr__(self) -> str:
        return f"<Sweep {self.scenario} over {', '.join(self.varied)}: {len(self.points)} points>"


class Comparison(Result):
    """Two runs side by side."""

    _columns = ("name", "a", "b")

    a: Object
    b: Object
    """Each run: `scenario`, `machine`, `cycles`, `time_us` and `bottleneck`."""
    changed: list[Object]
    """Numbers that differ: `name`, `a` and `b`."""
    roles: list[Object]
    operations: list[Object]

    def _rows(self) -> list[Object]:
        return self.changed

    def __repr__(self) -> str:
        a, b = self.a, self.b
        return f"<Comparison {a['scenario']}: {a['cycles']:,.0f} cycles, {b['scenario']}: {b['cycles']:,.0f} cycles>"


class Whatif(Result):
    """The time of a run with each number of the machine changed."""

    scenario: str
    machine: str
    cycles: float
    """Cycles of the run as it is."""
    rows: list[Object]
    """Each number: `key`, `value`, `unit`, and the `cycles` and `gain` if it were `slower`, `faster` (2x) and `free`."""

    def _rows(self) -> list[Object]:
        changes = ("slower", "faster", "free")
        return [
            {**{k: r[k] for k in ("key", "sort", "value", "unit", "kind")}, **{c: r[c]["gain"] for c in changes}}
            for r in self.rows
        ]

    def __repr__(self) -> str:
        return f"<Whatif {self.scenario} on {self.machine}: {len(self.rows)} numbers>"


class Plan(Result):
    """The pipelines of a plain loop: those that are proved, by simulated time, and the others with the reason."""

    scenario: str
    machine: str
    candidates: int
    """How many pipelines were tried."""
    beyond: int
    """How many were left out by a limit."""
    ranked: list[Object]
    """The proved ones, the fastest first: `via`, `schedule`, `stages`, `form`, `producers`; `cycles` and
    `time_us` are of the launch, `shared_bytes` of a CTA; `bottleneck` is a sentence."""
    others: list[Object]
    """The others: their names, `fate` and `why`."""
    text: Optional[str]
    """The text of the best kernel (.pipe); `None` without one."""

    def _rows(self) -> list[Object]:
        return self.ranked

    def __repr__(self) -> str:
        best = f", best {self.ranked[0]['time_us']:,.1f} us" if self.ranked else ""
        return f"<Plan {self.scenario} on {self.machine}: {len(self.ranked)} of {self.candidates} pipelines{best}>"

    def _repr_html_(self) -> str:
        return table(list(self.ranked[0]), [list(row.values()) for row in self.ranked]) if self.ranked else self._text


class Chart:
    """The timeline of a run, as SVG."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: str) -> None:
        """Write the chart. The name ends in `.svg`."""
        if not str(path).endswith(".svg"):
            raise ValueError(f"`{path}`: the name of a chart ends in .svg; `warpline gantt -o` writes PNG, too")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return fitted(self.svg)

    def __repr__(self) -> str:
        return f"<Chart, {len(self.svg):,} bytes of SVG>"


class Report:
    """A page about a kernel, without references to other files: run, timeline, claims and proof."""

    def __init__(self, page: str, status: int) -> None:
        self.html, self.status = page, status

    def save(self, path: str) -> None:
        """Write the page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        # A frame of its own: the page has its own style and script.
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:720px;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<Report, {len(self.html):,} bytes of HTML>"


Progress = Union[bool, Callable[[int, int], object]]
Fences = Mapping[str, str]
