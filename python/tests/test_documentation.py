"""The notebook and the examples of the manual run as they stand there, cell after cell."""

import json
import pathlib
import re

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def test_notebook():
    cells = json.loads((PROJECT / "python" / "start.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5
    names = {}
    for number, text in enumerate(code):
        exec(compile(text, f"start.ipynb, cell {number}", "exec"), names)
    # What a notebook shows of the objects.
    assert "<polyline" in names["model"]._repr_html_()
    assert "h = sigmoid(sum[i](w[i] * x[i]));" in names["explanation"]._repr_html_()


def test_manual():
    page = (PROJECT / "docs" / "python.md").read_text()
    first, *more = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(compile(first, "python.md", "exec"), names)
    assert names["model"].results["cycles"] > 0
    for text in more:
        exec(compile(text, "python.md", "exec"), {})
