"""Examples and documents run as they stand."""

import doctest
import os
import pathlib
import re
import runpy
import subprocess
import sys

import multikernel as mk
import multikernel.dask
import pytest

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))
PAGES = sorted([*(ROOT / "docs" / "python").glob("*.md"), ROOT / "python" / "README.md", ROOT / "README.md"])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    said, stored = capsys.readouterr().out, path.with_suffix(".txt")
    if os.environ.get("EXAMPLES") == "overwrite":
        stored.write_text(said)
    assert said == stored.read_text(), f"{stored.name}: EXAMPLES=overwrite writes it anew"


def blocks():
    for page in PAGES:
        for k, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S)):
            yield pytest.param(code, id=f"{page.stem}-{k + 1}")


@pytest.mark.parametrize("code", blocks())
def test_documents(code, tmp_path):
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("module", ["_data", "_estimators", "_evaluate", "_files", "_info", "_targets", "dask"])
def test_docstrings(module):
    failed, tried = doctest.testmod(getattr(mk, module))
    assert failed == 0 and tried > 0
