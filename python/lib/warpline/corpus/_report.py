"""The tables of a corpus: verdicts, times, and what was rejected and why."""

from __future__ import annotations

import collections
import csv
import html
import io
import re
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Sequence

from warpline._log import Record
from warpline._results import table
from warpline.corpus._verify import COLUMNS

if TYPE_CHECKING:
    import pandas

VERDICTS = ("proved", "bounded", "violated", "gave_up", "rejected", "stopped", "crashed")
COSTS = ("wall_s", "cpu_s", "memory_kb")


class Corpus:
    """The verdicts on a corpus of compiled kernels.

    `rows` has one mapping for each kernel, by name: `name`, `target` (`sm_90a`), `instructions`, `sha` of the text,
    `verdict`, `code` and `line` of the fault, `why`, `trip_counts`, `wall_s` and `cpu_s` in seconds, and `memory_kb`.
    """

    def __init__(self, rows: list[Record], compiled: list[Record]) -> None:
        self.rows = rows
        self.not_compiled = [record for record in compiled if "sha" not in record]
        """Kernels of the recipe that the compiler refused: `name` and `why`."""
        self.compile_s = [record["cpu_s"] for record in compiled if "sha" in record and "cpu_s" in record]
        """CPU seconds of the compiler, for each kernel that was compiled here."""

    @property
    def counts(self) -> dict[str, int]:
        """How many kernels have each verdict."""
        found = collections.Counter(row["verdict"] for row in self.rows)
        return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}

    @property
    def distinct(self) -> int:
        """How many kernels have a text of their own."""
        return len({row["sha"] for row in self.rows})

    def reasons(self, *verdicts: str) -> list[tuple[str, int, str]]:
        """Why kernels have one of some verdicts: reason without names and numbers, count, and the first kernel."""
        groups: dict[str, list[str]] = {}
        for row in self.rows:
            if row["verdict"] in verdicts:
                groups.setdefault(_general(row), []).append(row["name"])
        return [(why, len(names), names[0]) for why, names in sorted(groups.items(), key=lambda g: (-len(g[1]), g[0]))]

    def verdicts_csv(self) -> str:
        """The verdicts as CSV. The same bytes for the same kernels, on any computer with any number of workers."""
        return _csv(("name", "target", "instructions", "sha", *COLUMNS), self.rows)

    def costs_csv(self) -> str:
        """Seconds and memory of each kernel as CSV."""
        return _csv(("name", *COSTS), self.rows)

    def to_pandas(self) -> "pandas.DataFrame":
        """A row for each kernel. Needs pandas."""
        import pandas

        return pandas.DataFrame(self.rows)

    def save(self, folder: Path) -> None:
        """Write `verdicts.csv`, `costs.csv` and `report.md` into a folder."""
        for name, text in (
            ("verdicts.csv", self.verdicts_csv()),
            ("costs.csv", self.costs_csv()),
            ("report.md", str(self)),
        ):
            (folder / name).write_text(text, encoding="utf-8")

    def __repr__(self) -> str:
        words = ", ".join(f"{count} {verdict}" for verdict, count in self.counts.items())
        return f"<Corpus of {len(self.rows)} kernels: {words or 'none'}>"

    def _repr_html_(self) -> str:
        return table(["verdict", "kernels"], list(self.counts.items())) + f"<pre>{html.escape(str(self))}</pre>"

    def __str__(self) -> str:
        return "\n".join(self._parts()) + "\n"

    def _parts(self) -> Iterable[str]:
        yield f"{len(self.rows):,} kernels, {self.distinct:,} distinct texts.\n"
        targets = sorted({str(row["target"]) for row in self.rows})
        used = list(self.counts)
        table = [[t, *(_count(self.rows, t, v) for v in used), _count(self.rows, t)] for t in targets]
        if len(targets) > 1:
            table.append(["all", *self.counts.values(), len(self.rows)])
        yield _markdown(["target", *used, "all"], table)
        yield ""
        costs = [(name, [row[name] for row in self.rows]) for name in ("cpu_s", "wall_s")]
        costs.append(("memory, MB", [row["memory_kb"] / 1024 for row in self.rows]))
        costs.append(("compile cpu_s", self.compile_s))
        head = ["of a kernel", "median", "mean", "95 %", "largest", "sum"]
        yield _markdown(head, [[name, *_statistics(numbers)] for name, numbers in costs if numbers])
        for title, verdicts in (
            ("Rejected", ("rejected", "crashed", "stopped")),
            ("Not decided for all trip counts", ("bounded", "gave_up")),
            ("Refuted", ("violated",)),
        ):
            reasons = self.reasons(*verdicts)
            if reasons:
                yield f"\n{title}:\n"
                yield _markdown(["kernels", "reason", "first"], [[count, why, name] for why, count, name in reasons])
        if self.not_compiled:
            groups = collections.Counter(_plain(record["why"]) for record in self.not_compiled)
            yield "\nNot compiled:\n"
            yield _markdown(
                ["kernels", "reason"], [[n, why] for why, n in sorted(groups.items(), key=lambda g: (-g[1], g[0]))]
            )


def _count(rows: Sequence[Record], target: str, verdict: str = "") -> int:
    return sum(str(row["target"]) == target and verdict in ("", row["verdict"]) for row in rows)


def _general(row: Record) -> str:
    """The reason of a verdict without registers, names and numbers."""
    why = _plain(row["why"] or "no reason is given")
    return f"{row['code']}: {why}" if row["code"] else why


def _plain(words: str) -> str:
    words = re.sub(r"%\w+|\$\w+|0x[0-9a-f]+", "*", words)
    words = re.sub(r"\b(mbar|smem|tmem)_\w+(\[[^\]]*\])?", r"\1_*", words)
    return re.sub(r"\b\d[\d,.]*", "*", words)[:160]


def _statistics(numbers: Sequence[float]) -> list[str]:
    ordered = sorted(numbers)
    high = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    values = (statistics.median(ordered), statistics.fmean(ordered), high, ordered[-1], sum(ordered))
    return [f"{value:,.2f}" for value in values]


def _markdown(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    def line(cells: Sequence[Any]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(head), "|" + "---|" * len(head), *map(line, rows)])


def _csv(columns: Sequence[str], rows: Iterable[Record]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(["" if row.get(c) is None else row[c] for c in columns])
    return text.getvalue()
