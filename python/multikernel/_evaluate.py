"""Several methods on the same splits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from . import _core
from ._estimators import MKLClassifier, MKLRegressor, _depth, class_texts, default_names, target_names
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

        figures = (
            "accuracy",
            "balanced_accuracy",
            "macro_f",
            "mcc",
            "auroc",
            "brier",
            "log_loss",
            "r2",
            "rmse",
            "mae",
            "crps",
            "coverage",
            "train_seconds",
        )
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
    methods: Sequence[str | MKLClassifier | MKLRegressor] | None = None,
    *,
    kernels: str | None = None,
    views: Mapping[str, Any] | None = None,
    folds: int = 5,
    repeats: int | None = None,
    train_fraction: float = 0.5,
    groups: Any = None,
    ablate: str | None = None,
    target: str | None = None,
    proba: bool = False,
    max_seconds: float | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Evaluation:
    """Cross-validates methods on the same splits and compares them with paired intervals.

    Parameters
    ----------
    y : array
        Classes, or numbers.
    methods : sequence of str, MKLClassifier or MKLRegressor, optional
        Names of methods, or estimators with their parameters. None: average and evidence, and majority for classes.
    folds, repeats, train_fraction
        Stratified folds, or so many repeated splits with this share of rows to train on.
    groups : array, optional
        Rows of a group are never split.
    target : {"classes", "numbers"}, optional
        What y holds. None: numbers if some have a fraction or a method is an `MKLRegressor`, else classes.
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
    if isinstance(methods, (str, MKLClassifier, MKLRegressor)):
        methods = [methods]
    if target not in (None, "classes", "numbers"):
        raise ValueError(f"target must be None, 'classes' or 'numbers', got {target!r}")
    guess = any(isinstance(method, MKLRegressor) for method in methods or []) or _is_continuous(y)
    of_numbers = guess if target is None else target == "numbers"
    if methods is None:
        methods = ("average", "evidence") if of_numbers else ("majority", "average", "evidence")
    shared: dict[str, Any] = {"views": views, "random_state": random_state}
    if not of_numbers:
        shared["proba"] = proba
    kind: Any = MKLRegressor if of_numbers else MKLClassifier
    estimators = [_estimator(method, kernels, kind, shared) for method in methods]
    if not estimators:
        raise ValueError("evaluate needs at least one method")
    host = kind(
        kernels="precomputed" if kernels == "precomputed" else None,
        views=views, max_seconds=max_seconds, n_jobs=n_jobs, verbose=verbose,
    )  # fmt: skip
    called = target_names(y)
    rows, y = host._rows(X, y, reset=True, with_y=True)
    given: dict[str, Any] = {}
    classes, codes = [], None
    if of_numbers:
        values = np.ascontiguousarray(np.asarray(y, dtype=np.float64).reshape(len(y), -1))
        given["numbers"] = (called or default_names(values), values)
    else:
        check_classification_targets(y)
        found_classes, found_codes = np.unique(y, return_inverse=True)
        classes, codes = class_texts(found_classes), found_codes.astype(np.int64)
    names = [f"K{m + 1}" for m in range(_depth(X))]
    found, text, interrupt = _core.evaluate(
        [estimator._plan(names) for estimator in estimators],
        rows,
        classes,
        codes,
        host._limits(),
        **given,
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


def _is_continuous(y: Any) -> bool:
    """Whether y holds numbers that are no classes: fractions, or several columns of them."""
    try:
        return type_of_target(np.asarray(y)) in ("continuous", "continuous-multioutput")
    except ValueError:
        return False


def _estimator(method: Any, kernels: str | None, kind: Any, shared: dict[str, Any]) -> Any:
    if not isinstance(method, str):
        return method
    takes = _core.Plan(method).uses_kernels
    return kind(method, kernels if takes else None, **shared)
