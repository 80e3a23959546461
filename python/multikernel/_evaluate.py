"""Several methods on the same splits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ._estimators import MKLClassifier
from ._progress import printer
from ._spread import Job, spread
from ._targets import MKLRegressor


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
    def best(self) -> dict[str, Any] | None:
        """The method with the highest mean score, and under ``level`` those that cannot be told from it."""
        found: dict[str, Any] | None = self.raw.get("best")
        return found

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
    executor: Any = None,
    checkpoint: Any = None,
    deadline: float | None = None,
) -> Evaluation:
    """Cross-validates methods on the same splits and compares them with paired intervals.

    Parameters
    ----------
    y : array
        Classes, or numbers.
    methods : sequence of str, MKLClassifier or MKLRegressor, optional
        Names of methods, or estimators with their parameters. None: "auto" beside "average", and beside
        "majority" for classes; only "auto" with `ablate`.
    folds, repeats, train_fraction
        Stratified folds, or so many repeated splits with this share of rows to train on.
    groups : array, optional
        Rows of a group are never split.
    target : {"classes", "numbers"}, optional
        What y holds. None: numbers if some have a fraction or a method is an `MKLRegressor`, else classes.
    ablate : {"views"}, optional
        The one method, with all views, without each of them and with each alone.
    executor : optional
        What runs each method on each split elsewhere: a ``concurrent.futures`` executor, a ``joblib.Parallel``, or the
        ``Client`` of a Dask cluster. The table is the same, but for seconds. `n_jobs` are then the threads of one part, 1
        unless set.
    checkpoint : path, optional
        With an executor: a file that finished parts are added to, and taken from when the same evaluation starts again.
    deadline : float, optional
        With an executor: seconds without any finished part after which `TimeoutError` names the parts that are open.

    Examples
    --------
    >>> import multikernel as mk
    >>> X, y = mk.datasets.load_sonar(return_X_y=True)
    >>> found = mk.evaluate(X, y, ["majority", "average"], folds=3)
    >>> [row["method"] for row in found.results]
    ['majority', 'average']
    """
    job = Job(
        X, y, methods, kernels=kernels, views=views, folds=folds, repeats=repeats, train_fraction=train_fraction, groups=groups,
        ablate=ablate, target=target, proba=proba, random_state=random_state,
    )  # fmt: skip
    return _run(job, max_seconds, n_jobs, verbose, executor, checkpoint, deadline)


def search(
    X: Any,
    y: Any,
    banks: Sequence[str] | Mapping[str, str],
    method: str = "auto",
    *,
    views: Mapping[str, Any] | None = None,
    folds: int = 5,
    repeats: int | None = None,
    train_fraction: float = 0.5,
    groups: Any = None,
    target: str | None = None,
    proba: bool = False,
    max_seconds: float | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
    executor: Any = None,
    checkpoint: Any = None,
    deadline: float | None = None,
) -> Evaluation:
    """Compares banks of kernels, with one method for all, on the same splits; ``best`` of the result says which to take.

    Parameters
    ----------
    banks : sequence or mapping of str
        Two banks or more, called "bank 1", "bank 2", ... or by the keys of a mapping.
    method : str
        The method that every bank is for.

    Other parameters are those of `evaluate`.

    Examples
    --------
    >>> import multikernel as mk
    >>> X, y = mk.datasets.load_sonar(return_X_y=True)
    >>> found = mk.search(X, y, {"widths": "gaussian(median*2^-1..2^1)", "line": "linear"}, "average", folds=3)
    >>> found.best["method"]
    'widths'
    """
    named = banks if isinstance(banks, Mapping) else {f"bank {k + 1}": bank for k, bank in enumerate(banks)}
    if isinstance(banks, str) or len(named) < 2:
        raise ValueError("search compares two banks or more: give a sequence of texts, or a mapping of names to them")
    job = Job(
        X, y, [method] * len(named), kernels=None, views=views, folds=folds, repeats=repeats, train_fraction=train_fraction,
        groups=groups, ablate=None, target=target, proba=proba, random_state=random_state,
    )  # fmt: skip
    for estimator, bank in zip(job.estimators, named.values(), strict=True):
        estimator.set_params(kernels=bank)
    job.titles = list(named)
    return _run(job, max_seconds, n_jobs, verbose, executor, checkpoint, deadline)


def _run(
    job: Job, max_seconds: float | None, n_jobs: int | None, verbose: int, executor: Any, checkpoint: Any, deadline: float | None
) -> Evaluation:
    """Runs a job here, or spread over the workers of an executor."""
    if executor is not None:
        if max_seconds is not None:
            raise ValueError("max_seconds ends a job on one machine; with an executor set deadline, the seconds for one part")
        json_text, text = spread(job, executor, checkpoint=checkpoint, deadline=deadline, n_jobs=n_jobs, verbose=verbose)
        return Evaluation(json.loads(json_text), text)
    if checkpoint is not None or deadline is not None:
        raise ValueError("checkpoint and deadline are for evaluations with an executor")
    evaluating = job.evaluating()
    limits = MKLClassifier(max_seconds=max_seconds, n_jobs=n_jobs)._limits()
    found, text, interrupt = evaluating.whole(limits, printer("evaluate") if verbose else None)
    if interrupt is not None:
        raise interrupt
    return Evaluation(json.loads(found), text)
