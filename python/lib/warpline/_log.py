"""Records of finished tasks in a file, one JSON object for each line, so that a later call continues.

The first line names the question that the records answer. A record is written as a whole line. A line that an
interruption cut is dropped when the file is opened again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Sequence, Union

from warpline._errors import Error

Record = dict[str, Any]


def read(path: Path) -> tuple[Record, dict[str, Record]]:
    """The question of a file and its records by key. The last record of a key counts."""
    data = path.read_bytes()
    lines = data[: data.rfind(b"\n") + 1].decode("utf-8").splitlines()
    records = [json.loads(line) for line in lines[1:]]
    return (json.loads(lines[0]) if lines else {}), {record["key"]: record for record in records}


class Log:
    """Finished tasks by their key, kept in a file or only in memory."""

    def __init__(self, path: Union[None, str, "os.PathLike[str]"], question: Record) -> None:
        """Open or begin the file. A file of another question is an `Error`."""
        self.records: dict[str, Record] = {}
        self._path = None if path is None else Path(path)
        if self._path is None:
            return
        question = json.loads(json.dumps(question))
        before: Record = {}
        if self._path.exists():
            before, self.records = read(self._path)
            # What an interruption cut is dropped.
            whole = self._path.read_bytes().rfind(b"\n") + 1
            os.truncate(self._path, whole)
        if not before:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(question, sort_keys=True) + "\n", encoding="utf-8")
        elif before != question:
            other = sorted(name for name in {*before, *question} if before.get(name) != question.get(name))
            raise Error(f"{self._path} holds results of another question ({', '.join(other)} differs); remove the file")

    def add(self, key: str, record: Record) -> None:
        """Keep a record. A later record of the same key replaces it."""
        self.records[key] = {"key": key, **record}
        if self._path is not None:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps(self.records[key], sort_keys=True) + "\n")

    def missing(self, keys: Sequence[str]) -> list[str]:
        """The keys without a record, in their order."""
        return [key for key in keys if key not in self.records]
