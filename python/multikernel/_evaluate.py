"""Several methods on the same splits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from . import _core
from ._estimators import MKLClassifier, _depth, class_texts
from ._progress import printer


class Evaluation:
    """What `evaluate` found: figures of each method, and paired differences with intervals.

    ``results`` is a list of dictionaries, one for each method; ``paired`` one for each comparison; ``raw`` all of it as
    the command line prints it with ``--json``.
    """

    def __init__(self, raw: dict[str, Any], text: str) -> None:
        self.raw, self._text = raw, text

    @property
    def results(self) -> list[dict[str, Any]]:
        return list(self.raw["results"])

    @property
    def paired(self) -> list[dict[str, Any]]:
        return list(self.raw.get("paired", []))

    def to_frame(self) -> Any:
        """The figures as a pandas DataFrame, one row for each method."""
        import pandas as pd

        figures = ("accuracy", "balanced_accuracy", "macro_f", "mcc", "auroc", "brier", "log_loss", "train_seconds")
        means = [{name: (row.get(name) or {}).get("mean") for name in figures} for row in self.results]
        frame = pd.DataFrame(means, index=pd.Index([row["method"] for row in self.results], name="method"))
        return frame.dropna(axis=1, how="all")

    def report(self, path: Any) -> Any:
        """Writes one HTML page with charts of all of it; see `multikernel.report`."""
        from ._report import report

        return report(self, path)

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self._text)}</pre>"


def evaluate(
    X: Any,
    y: Any,
    methods: Sequence[str | MKLClassifier] = ("majority", "average", "evidence"),
    *,
    kernels: str | None = None,
    views: Mapping[str, Any] | None = None,
    folds: int = 5,
    repeats: int | None = None,
    train_fraction: float = 0.5,
    groups: Any = None,
    ablate: str | None = None,
    proba: bool = False,
    max_seconds: float | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Evaluation:
    """Cross-validates methods on the same splits and compares them with paired intervals.

    Parameters
    ----------
    methods : sequence of str or MKLClassifier
        Names of methods, or estimators with their parameters.
    folds, repeats, train_fraction
        Stratified folds, or so many repeated splits with this share of rows to train on.
    groups : array, optional
        Rows of a group are never split.
    ablate : {"views"}, optional
        The one method given, with all views, without each of them and with each alone.

    Examples
    --------
    >>> import multikernel as mk
    >>> X, y = mk.datasets.load_sonar(return_X_y=True)
    >>> found = mk.evaluate(X, y, ["majority", "average"], folds=3)
    >>> [row["method"] for row in found.results]
    ['majority', 'average']
    """
    if ablate not in (None, "views"):
        raise ValueError(f"ablate must be None or 'views', got {ablate!r}")
    if isinstance(methods, (str, MKLClassifier)):
        methods = [methods]
    shared: dict[str, Any] = {"views": views, "proba": proba, "random_state": random_state}
    estimators = [_estimator(method, kernels, shared) for method in methods]
    if not estimators:
        raise ValueError("evaluate needs at least one method")
    host = MKLClassifier(
        kernels="precomputed" if kernels == "precomputed" else None,
        views=views, max_seconds=max_seconds, n_jobs=n_jobs, verbose=verbose,
    )  # fmt: skip
    rows, y = host._rows(X, y, reset=True, with_y=True)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    names = [f"K{m + 1}" for m in range(_depth(X))]
    found, text, interrupt = _core.evaluate(
        [estimator._plan(names) for estimator in estimators],
        rows,
        class_texts(classes),
        codes.astype(np.int64),
        host._limits(),
        folds=folds,
        n_repeats=repeats,
        train_fraction=train_fraction,
        ablate=ablate is not None,
        seed=random_state,
        groups=None if groups is None else [str(group) for group in np.asarray(groups).tolist()],
        on_progress=printer("evaluate") if verbose else None,
    )
    if interrupt is not None:
        raise interrupt
    return Evaluation(json.loads(found), text)


def _estimator(method: Any, kernels: str | None, shared: dict[str, Any]) -> Any:
    if not isinstance(method, str):
        return method
    takes = _core.Plan(method).uses_kernels
    return MKLClassifier(method, kernels if takes else None, **shared)
