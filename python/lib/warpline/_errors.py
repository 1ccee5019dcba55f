"""The exception of this package."""

from __future__ import annotations

import json
from typing import Any, Optional


class Error(Exception):
    """A question without an answer: wrong input, or a file that cannot be read.

    `str` of the exception shows file, line and caret of every problem, as the command line does.
    """

    problems: list[dict[str, Any]]
    """Each problem: `message`, `file`, `line`, `column` (both from 1), `label` and `help`; `None` where there is none."""

    def __init__(self, text: str, problems: str = "") -> None:
        # The newline keeps the frame of the caret straight behind the exception's name.
        super().__init__(f"\n{text.rstrip()}" if "\n" in text.strip() else text.strip())
        self.problems = json.loads(problems)["errors"] if problems else []
        self._raw = (text, problems)

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
