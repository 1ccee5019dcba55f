"""Executes the notebooks and looks at what they show; skipped without nbclient and ipykernel."""

import pytest
from conftest import ROOT

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
nbformat = pytest.importorskip("nbformat")

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
PICTURES = {"first_hour": 2}
"""How many cells of a notebook show a picture."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_pictures(path):
    notebook = nbformat.read(path, as_version=4)
    stored = [cell for cell in notebook.cells if cell.get("outputs")]
    assert not stored, "a notebook is stored without outputs"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    pictures = [out for out in shown if out.get("data", {}).get("image/svg+xml", "").startswith("<svg")]
    assert len(pictures) == PICTURES[path.stem]
    assert any("VIOLATED" in out.get("data", {}).get("text/html", "") for out in shown)
