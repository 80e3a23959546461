"""What users of other packages asked for: the lines of docs/python/requests.md, each run."""

import pathlib
import re

import multikernel as mk
import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python" / "requests.md"
LINES = [match[1] for match in re.finditer(r"\| `([^`]*)` \|$", PAGE.read_text(), re.M) if match[1].startswith(("mk.", "cross"))]


@pytest.mark.parametrize("line", LINES)
def test_requests(line, three):
    X, y = three
    K = mk.stack(X @ X.T, (X @ X.T) ** 2)
    found = eval(line, {"mk": mk, "X": X, "y": y, "K": K, "cross_val_score": cross_val_score, "slice": slice})
    assert found is not None
    if isinstance(found, np.ndarray):
        assert np.asarray(found).size > 0


def test_the_page_has_eleven_requests():
    assert len(PAGE.read_text().strip().splitlines()) == 4 + 11
    assert len(LINES) == 10
