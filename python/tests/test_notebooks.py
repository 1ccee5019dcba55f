"""Executes the notebooks and compares what they show with what is stored; skipped without nbclient and ipykernel.

Of pictures the titles are compared, and of printed texts the words, so that a change of a model makes the stored outputs
old and not wrong. `WARPLINE_NOTEBOOKS=write` stores the outputs of the execution. It needs triton, too.
"""

import copy
import importlib.util
import os
import re

import pytest
from conftest import ROOT

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
nbformat = pytest.importorskip("nbformat")

FOLDER = ROOT / "docs/notebooks"
PICTURES = {"first_hour": 2, "museum_from_ptx": 2, "stages_and_tiles": 2}
"""How many cells of a notebook show a picture."""

VERDICTS = {"first_hour": ["PROVED", "VIOLATED"], "museum_from_ptx": ["VIOLATED", "PROVED"], "stages_and_tiles": []}
"""The verdicts that a notebook shows, in this order."""

WRITE = os.environ.get("WARPLINE_NOTEBOOKS") == "write"
TRITON = importlib.util.find_spec("triton") is not None


def shown(cell):
    """The titles of the pictures of a cell, and its printed text without numbers. Tables are left to pandas' version."""
    outputs = cell.get("outputs", [])
    printed = "".join(out["text"] for out in outputs if out["output_type"] == "stream" and out["name"] == "stdout")
    pictures = [out["data"]["image/svg+xml"] for out in outputs if "image/svg+xml" in out.get("data", {})]
    titles = [re.search(r"<title>(.*?)</title>", picture)[1] for picture in pictures]
    return titles, re.sub(r"[\d.,%]+|\s+", " ", printed)


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_a_notebook_runs_and_shows_what_is_stored(name):
    path = FOLDER / f"{name}.ipynb"
    stored = nbformat.read(path, as_version=4)
    notebook = copy.deepcopy(stored)
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    pictures = [out for out in outputs if out.get("data", {}).get("image/svg+xml", "").startswith("<svg")]
    assert len(pictures) == PICTURES[name]
    pages = [out.get("data", {}).get("text/html", "") for out in outputs]
    assert [v for page in pages for v in ("PROVED", "VIOLATED") if f"<b>{v}</b>" in page] == VERDICTS[name]
    if WRITE:
        assert TRITON, "the stored outputs are those with triton"
        # Times of the execution change each time.
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        nbformat.write(notebook, path)
        return
    for before, after in zip(stored.cells, notebook.cells):
        if TRITON or "triton" not in before.metadata.get("tags", []):
            words = f"{path.name}: store it again with WARPLINE_NOTEBOOKS=write\n{before.source}"
            assert shown(before) == shown(after), words


def test_every_notebook_is_executed():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*PICTURES}
