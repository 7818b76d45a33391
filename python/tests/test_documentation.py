"""The notebooks and the examples of the manual run as they stand there, cell after cell."""

import os
import pathlib
import re

import nbformat
import pytest
from nbclient import NotebookClient

PROJECT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((PROJECT / "python").glob("*.ipynb"))


def said(notebook):
    """What the cells print and show as text, cell by cell."""

    def text(output):
        return output.get("text") or output.get("data", {}).get("text/plain", "")

    return ["".join(map(text, cell.outputs)) for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path):
    """The outputs that are committed are those of a run; ACCEPT=1 writes them."""
    notebook = nbformat.read(path, 4)
    committed = said(notebook)
    # Without what other notebooks have written.
    for name in ("configs", "docs", "examples", "fpga", "programs"):
        (tmp_path / name).symlink_to(PROJECT / name)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=900, record_timing=False, coalesce_streams=True, resources=where).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            # Progress, and what packages say of this computer.
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    if os.environ.get("ACCEPT"):
        notebook.metadata = {"kernelspec": notebook.metadata.kernelspec, "language_info": {"name": "python"}}
        nbformat.write(notebook, path)
        return
    assert said(notebook) == committed, "run with ACCEPT=1 and look at the change"


def test_all_notebooks_are_there():
    assert {path.stem for path in NOTEBOOKS} >= {"start", "bitstream", "onnx", "limits", "board"}


def test_manual(monkeypatch):
    monkeypatch.chdir(PROJECT)
    page = (PROJECT / "docs" / "python.md").read_text()
    first, *more = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(compile(first, "python.md", "exec"), names)
    assert names["model"].results["cycles"] > 0
    for text in more:
        exec(compile(text, "python.md", "exec"), {})
