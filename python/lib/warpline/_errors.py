"""The exception of this package."""

from __future__ import annotations

import json
import re
from typing import Any, Optional

_NUMBERS = {"--set": "values", "--fence": "fences", "--arg": "args"}
"""Options of the command line that set something by name, and the mapping that does so here."""

_SIZES = {"--grid": "grid", "--block": "block", "--cluster": "cluster"}


def _options(words: list[str]) -> Optional[str]:
    """Options of the command line as arguments of a function; `None` where a word has no such form."""
    mappings: dict[str, list[str]] = {}
    others: list[str] = []
    for option, value in zip(words[::2], words[1::2]):
        if option in _NUMBERS and "=" in value:
            name, _, number = value.partition("=")
            key = name if name.isdigit() else f'"{name}"'
            mappings.setdefault(_NUMBERS[option], []).append(f"{key}: {number}")
        elif option in _SIZES:
            others.append(f"{_SIZES[option]}=({', '.join(value.split('x'))})")
        elif option in ("--machine", "--entry"):
            others.append(f"{option[2:]}={value}")
        else:
            return None
    if not words or len(words) % 2:
        return None
    return ", ".join([*(f"{name}={{{', '.join(items)}}}" for name, items in mappings.items()), *others])


def _for_python(text: str) -> str:
    """A message in which options of the command line are arguments of a function."""
    text = re.sub(r"`--(entry|grid|block|cluster|machine)`", r"`\1`", text)
    text = re.sub(r",\s+or\s+a\s+launch\s+file\s+with\s+`--launch\s+FILE`", "", text)
    return re.sub(r"`(--[^`]+)`", lambda m: f"`{_options(m[1].split()) or m[1]}`", text)


class Error(Exception):
    """A question without an answer: wrong input, or a file that cannot be read.

    `str` of the exception shows file, line and caret of every problem, as the command line does.
    """

    problems: list[dict[str, Any]]
    """Each problem: `message`, `file`, `line`, `column` (both from 1), `label` and `help`; `None` where there is none."""

    def __init__(self, text: str, problems: str = "") -> None:
        self._raw = (text, problems)
        text = _for_python(text)
        # The newline keeps the frame of the caret straight behind the exception's name.
        super().__init__(f"\n{text.rstrip()}" if "\n" in text.strip() else text.strip())
        self.problems = json.loads(problems)["errors"] if problems else []
        for problem in self.problems:
            problem["help"] = problem["help"] and _for_python(problem["help"])

    def __reduce__(self) -> tuple[type["Error"], tuple[str, str]]:
        return type(self), self._raw

    @property
    def summary(self) -> str:
        """The first problem in one line."""
        return self.problems[0]["message"] if self.problems else str(self).strip()

    @property
    def file(self) -> Optional[str]:
        """The file of the first problem."""
        return self.problems[0]["file"] if self.problems else None

    @property
    def line(self) -> Optional[int]:
        """The line of the first problem, from 1."""
        return self.problems[0]["line"] if self.problems else None
