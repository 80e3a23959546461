"""One HTML page about a model or an evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import _core
from ._estimators import _Base
from ._evaluate import Evaluation


def report(what: Any, path: Any, X: Any = None, y: Any = None) -> Path:
    """Writes one HTML page that holds everything about a fitted estimator or an evaluation, and returns its path.

    The page is one file that loads nothing: charts, the numbers behind each, and what they mean.

    Parameters
    ----------
    what : estimator or Evaluation
        A fitted estimator, or what `evaluate` returned.
    path : path
        The file to write.
    X, y : optional
        For an estimator: rows to look at, best ones that it was not fitted on, and what they truly are. With rows the page
        shows what each view adds to the decision on each of them; with y also which columns matter, and confusion and
        calibration (classes), residuals and coverage (numbers) or survival by risk (times).

    Examples
    --------
    >>> import multikernel as mk, tempfile, os
    >>> X, y = mk.datasets.load_sonar(return_X_y=True)
    >>> clf = mk.MKLClassifier("average", "gaussian(1..3), linear").fit(X[:150], y[:150])
    >>> page = mk.report(clf, os.path.join(tempfile.mkdtemp(), "sonar.html"), X[150:], y[150:])
    >>> "Shares by row" in page.read_text()
    True
    """
    if isinstance(what, Evaluation):
        if X is not None or y is not None:
            raise ValueError("the page of an evaluation needs no rows; X and y are for the page of an estimator")
        page = _core.evaluation_page(json.dumps(what.raw))
    elif isinstance(what, _Base):
        model = what._model()
        if X is None and y is not None:
            raise ValueError("y was given without X")
        rows = None if X is None else what._rows(X, reset=False)[0]
        truth = {} if rows is None or y is None else what._truth(y, rows)
        page = model.page(rows, threads=what._threads(), **truth)
    else:
        raise TypeError(f"report takes a fitted estimator or an Evaluation, got {type(what).__name__}")
    target = Path(path)
    target.write_text(page, encoding="utf-8")
    return target
