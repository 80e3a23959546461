"""Estimators of numbers and of times to an event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted

from . import _core
from ._data import Array, is_collection
from ._estimators import _Base, _depth, _name_of, _Online, on_partitions
from ._parts import Parts
from ._progress import FitProgress, with_callbacks


class _Predictor(_Base):
    """What both have in common: their parameters."""

    def __init__(
        self,
        method: str = "auto",
        kernels: str | None = None,
        *,
        views: Mapping[str, Any] | None = None,
        kinds: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        log: str | list[str] | None = None,
        top_variance: int | None = None,
        missing: str = "skip",
        precision: str = "f64",
        device: str = "cpu",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.kernels = kernels
        self.views = views
        self.kinds = kinds
        self.params = params
        self.kernel_names = kernel_names
        self.scale = scale
        self.log = log
        self.top_variance = top_variance
        self.missing = missing
        self.precision = precision
        self.device = device
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class MKLRegressor(RegressorMixin, _Predictor):
    """Predicts numbers by the library's methods that can, most of them as normal distributions.

    Kernel weights are found by the method; amplitude and noise are those of the largest evidence, so there is nothing to
    tune. ``"simplemkl"``, ``"lpmkl"``, ``"silp"`` and ``"level"`` are support vector regressions on learned kernels instead,
    with ``c`` (or ``c="auto"``), ``epsilon`` and ``loss`` in `params`. ``"mklr"`` and ``"svimkl"`` minimise squared error, with
    ``{"loss": "poisson"}`` they predict counts; ``lambda`` (or ``"auto"``) is their smoothness, ``landmarks`` for very many rows.
    ``"ufomkl"`` and ``"mklda"`` go through the rows a few times, for tens of thousands of them. All of these, ``"bemkl"``,
    ``"sbemkl"`` and ``"cik"`` have no distribution. ``"bm3kl"`` samples kernel weights, functions and noise, and has one.

    Parameters
    ----------
    method : {"auto", "evidence", "average", "alignf", "fheuristic", "svm", "bemkl", "sbemkl", "simplemkl", "lpmkl", "silp", ...}
        Methods with ``"numbers"`` among their targets in `multikernel.methods()`.

    Other parameters are those of `MKLClassifier`.

    Examples
    --------
    >>> import multikernel as mk
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = mk.MKLRegressor().fit(X[:300], y[:300])
    >>> reg.score(X[300:], y[300:]) > 0.4
    True
    >>> low, high = reg.predict_interval(X[300:], 0.9).T
    >>> bool(0.85 < ((low <= y[300:]) & (y[300:] <= high)).mean() < 0.95)
    True
    """

    _target_checks: ClassVar[Mapping[str, bool]] = {"multi_output": True, "y_numeric": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _targets(self, y: Any, n: int) -> npt.NDArray[Any]:
        from sklearn.utils import check_consistent_length

        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = check_array(np.asarray(y), ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(np.empty(n), y)
        return np.asarray(y)

    @with_callbacks
    def fit(self, X: Any, y: Any, *, groups: Any = None, checkpoint: Any = None, checkpoint_seconds: float = 5.0) -> Self:
        """Trains on rows X with numbers y.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, Views, stack of Gram matrices or Dask collection
            Rows; NaN is a missing value. Of a collection, `multikernel.dask.train` is used on its blocks.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Numbers.
        groups : array of shape (n_samples,), optional
            Rows of a group stay together in inner folds.
        checkpoint : path, optional
            A file for the state of the fit. After a crash or a stop, the same fit goes on from it, to the bits of an
            uninterrupted one; it is refused for other rows or settings, and removed when the fit is finished.
        checkpoint_seconds : float
            Least seconds between two checkpoints; 0 stores every step.
        """
        if is_collection(X):
            return on_partitions(self, X, y, groups, checkpoint, checkpoint_seconds)
        names = target_names(y)
        rows, y = self._rows(X, y, reset=True, with_y=True)
        self._is_column = y.ndim == 1
        values = np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
        plan = self._plan([self.kernel_names[m] if self.kernel_names else f"K{m + 1}" for m in range(_depth(X))])
        kept = self._kept(checkpoint, checkpoint_seconds)
        progress = FitProgress(self, X, y)
        self.model_, notes, interrupt = _core.fit(
            plan,
            rows,
            [],
            None,
            self._limits(),
            **kept,
            groups=None if groups is None else [str(group) for group in np.asarray(groups).tolist()],
            name=_name_of(X),
            numbers=(names or default_names(values), values),
            on_progress=progress.hook,
        )
        self._end(progress, notes, interrupt)
        return self

    def _truth(self, y: Any, rows: _core.Rows) -> dict[str, Any]:
        y = self._targets(y, rows.n_rows)
        return {"numbers": (self._model().numbers, np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64))}

    def parts(self, X: Any, *, by: str = "view") -> Parts:
        """Predicted numbers of rows, each split exactly into parts of views or kernels and a constant."""
        names, decisions, biases, values = self._parts(X, by)
        return Parts(names, [self._model().numbers[at] for (at,) in decisions], biases, values)

    def _shaped(self, values: Array) -> Array:
        one = self.__dict__.get("_is_column", values.shape[1] == 1)
        return values[:, 0] if one else values

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Numbers of rows; with `return_std` also the standard deviation of each, noise included."""
        model = self._model()
        rows, _ = self._rows(X, reset=False)
        found = self._shaped(model.predict_numbers(rows, self._threads()))
        return (found, self._deviations(rows)) if return_std else found

    def _deviations(self, rows: _core.Rows) -> Array:
        deviations = self._model().deviations(rows, self._threads())
        return self._shaped(self._present(deviations, "distribution of its numbers; evidence and average have"))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Bounds that hold the number of a new row with this probability: (n_samples, 2), or (n_samples, n_targets, 2)."""
        from scipy.stats import norm

        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage}")
        mean, deviation = self.predict(X, return_std=True)
        wide = norm.ppf(0.5 + coverage / 2) * deviation
        return np.stack([mean - wide, mean + wide], axis=-1)


class OnlineMKLRegressor(_Online, MKLRegressor):
    """Predicts numbers, and learns from rows as they come.

    Parameters
    ----------
    method : {"ufomkl", "mklda"}
        A method that learns numbers from streams.
    budget : int, optional
        Training rows kept; None for no limit.
    update_every : int
        Rows between updates of the kernel weights.

    Other parameters are those of `MKLRegressor`. Scales, widths of kernels, and the mean and standard deviation of the numbers,
    in units of which they are learned, are frozen from the first batch: it should be typical. There are no intervals. `errors_`
    has R2, RMSE and MAE of each number (``r2``, ``rmse``, ``mae``) over all rows, each predicted before it was learned.

    Examples
    --------
    >>> import multikernel as mk
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = mk.OnlineMKLRegressor()
    >>> for start in range(0, 400, 100):
    ...     reg = reg.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> reg.score(X[400:], y[400:]) > 0.4
    True
    >>> reg.errors_[0]["r2"] > 0.3
    True
    """

    _is_column: bool

    def __init__(
        self,
        method: str = "ufomkl",
        kernels: str | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        budget: int | None = None,
        update_every: int = 100,
        scale: str = "standard",
        log: str | list[str] | None = None,
        top_variance: int | None = None,
        precision: str = "f64",
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        super().__init__(
            method,
            kernels,
            params=params,
            budget=budget,
            update_every=update_every,
            scale=scale,
            log=log,
            top_variance=top_variance,
            precision=precision,
            n_jobs=n_jobs,
            random_state=random_state,
        )

    def fit(self, X: Any, y: Any) -> Self:
        """Forgets what was learned, then learns from rows X with numbers y, in their order."""
        for name in ("model_", "_online", "_stored", "_is_column"):
            self.__dict__.pop(name, None)
        self.partial_fit(X, y)
        self._model()
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learns more rows, each predicted before it is learned."""
        first = not self.__sklearn_is_fitted__()
        names = target_names(y)
        rows, y = self._rows(X, y, reset=first, with_y=True)
        values = np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
        learner = self._learner(rows, numbers=(names or default_names(values), values))
        learner.learn_numbers(rows, values)
        if first:
            self._is_column = y.ndim == 1
        self.__dict__.pop("model_", None)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return any(name in self.__dict__ for name in ("_online", "_stored", "model_"))

    @property
    def errors_(self) -> list[dict[str, float | None]]:
        """R2, RMSE and MAE of each number over all rows, each predicted before it was learned."""
        check_is_fitted(self)
        if "_online" not in self.__dict__:
            self._online = self._resumed()
        return [dict(zip(("r2", "rmse", "mae"), errors, strict=True)) for errors in self._online.errors]


def target_names(y: Any) -> list[str] | None:
    """What the columns of y are called, if they are."""
    name, columns = getattr(y, "name", None), getattr(y, "columns", None)
    if columns is not None and not callable(columns):
        return [str(column) for column in columns]
    return [name] if isinstance(name, str) and name else None


def default_names(values: Array) -> list[str]:
    """Names for columns of y that have none."""
    n = values.shape[1]
    return ["y"] if n == 1 else [f"y{t + 1}" for t in range(n)]


class MKLSurvival(_Predictor):
    """Predicts the risk of an event over time, by Cox's model on learned kernels.

    Kernel weights are found by the method from the residuals of a model without columns; the amplitude of the log risks is
    that of the largest evidence, so there is nothing to tune. ``"mklr"`` and ``"svimkl"`` maximise the partial
    likelihood over kernel weights and log risks at once, with ``lambda`` (or ``"auto"``) in `params`, and ``landmarks`` for very
    many rows. Targets are structured arrays, as scikit-survival has them; `multikernel.survival_target` makes one.

    Parameters
    ----------
    method : {"auto", "evidence", "average", "alignf", "fheuristic", "svm", "svimkl", "mklr"}
        Methods with ``"times"`` among their targets in `multikernel.methods()`.

    Other parameters are those of `MKLClassifier`.

    Examples
    --------
    >>> import numpy as np, multikernel as mk
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = mk.survival_target(rng.exponential(np.exp(-2 * X[:, 0])), rng.random(200) < 0.8)
    >>> est = mk.MKLSurvival().fit(X[:120], y[:120])
    >>> est.score(X[120:], y[120:]) > 0.65
    True
    >>> est.predict_survival_function(X[:2], times=[0.5, 1.0]).shape
    (2, 2)
    """

    @with_callbacks
    def fit(self, X: Any, y: Any, *, checkpoint: Any = None, checkpoint_seconds: float = 5.0) -> Self:
        """Trains on rows X with times to an event y.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, Views, stack of Gram matrices or Dask collection
            Rows; NaN is a missing value. Of a collection, `multikernel.dask.train` is used on its blocks.
        y : structured array of shape (n_samples,)
            A field of booleans, whether the event happened, and one of times.
        checkpoint : path, optional
            A file for the state of the fit. After a crash or a stop, the same fit goes on from it, to the bits of an
            uninterrupted one; it is refused for other rows or settings, and removed when the fit is finished.
        checkpoint_seconds : float
            Least seconds between two checkpoints; 0 stores every step.
        """
        if is_collection(X):
            return on_partitions(self, X, y, None, checkpoint, checkpoint_seconds)
        rows, _ = self._rows(X, reset=True)
        times = survival_times(y, rows.n_rows)
        plan = self._plan([self.kernel_names[m] if self.kernel_names else f"K{m + 1}" for m in range(_depth(X))])
        kept = self._kept(checkpoint, checkpoint_seconds)
        progress = FitProgress(self, X, y)
        self.model_, notes, interrupt = _core.fit(
            plan, rows, [], None, self._limits(), **kept, name=_name_of(X), times=times, on_progress=progress.hook
        )
        self._end(progress, notes, interrupt)
        return self

    def _truth(self, y: Any, rows: _core.Rows) -> dict[str, Any]:
        return {"times": survival_times(y, rows.n_rows)}

    def parts(self, X: Any, *, by: str = "view") -> Parts:
        """Log risks of rows, each split exactly into parts of views or kernels and a constant."""
        names, _, biases, values = self._parts(X, by)
        return Parts(names, ["risk"], biases, values)

    def predict(self, X: Any) -> Array:
        """Log risks of rows: larger is earlier."""
        model = self._model()
        rows, _ = self._rows(X, reset=False)
        return model.risks(rows, self._threads())

    @property
    def event_times_(self) -> Array:
        """The times of events in the training rows."""
        return self._present(self._model().event_times, "times of events")

    def predict_survival_function(self, X: Any, times: Any = None) -> Array:
        """Probabilities to be without the event after each time, (n_samples, n_times); None: after each of `event_times_`."""
        model = self._model()
        at = self.event_times_ if times is None else np.atleast_1d(np.asarray(times, dtype=np.float64))
        rows, _ = self._rows(X, reset=False)
        return model.survival(rows, at.tolist(), self._threads())

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance: 0.5 is chance."""
        risks = self.predict(X)
        return _core.concordance(survival_times(y, len(risks)), risks)


def survival_target(time: Any, event: Any) -> npt.NDArray[Any]:
    """Times to an event as a structured array with the fields ``event`` and ``time``, as scikit-survival has them.

    Examples
    --------
    >>> import multikernel as mk
    >>> mk.survival_target([3.0, 5.5], [True, False])["time"]
    array([3. , 5.5])
    """
    time, event = np.asarray(time, dtype=np.float64), np.asarray(event)
    if time.ndim != 1 or time.shape != event.shape:
        raise ValueError(f"time and event must be one-dimensional and of one length, got {time.shape} and {event.shape}")
    if not np.isin(event, (0, 1)).all():
        raise ValueError("event must hold booleans, or 1 for an event and 0 for none")
    y = np.empty(len(time), dtype=[("event", bool), ("time", np.float64)])
    y["event"], y["time"] = event.astype(bool), time
    return y


def survival_times(y: Any, n: int) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Times and events of a structured array."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is None or len(names) != 2:
        raise ValueError("y must be a structured array of events and times; multikernel.survival_target(time, event) makes one")
    event, time = (y[name] for name in names)
    if event.dtype != bool:
        event, time = time, event
    if event.dtype != bool:
        raise ValueError(f"y must have a field of booleans, the events; its fields are {y.dtype}")
    if len(y) != n:
        raise ValueError(f"X has {n} rows, y {len(y)}")
    # A field of a single row is contiguous, but need not be aligned.
    return np.require(time, np.float64, ["C", "A"]), np.ascontiguousarray(event)
