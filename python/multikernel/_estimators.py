"""The estimators: scikit-learn's interface to the library."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from . import _core
from ._data import Array, Views, columns_of, is_collection, is_table, rows_of, stack, table_values
from ._parts import Parts
from ._progress import CallbackSupportMixin, FitProgress, Stop, with_callbacks

T = TypeVar("T")

#: Methods whose models have probabilities of their own.
PROBABILISTIC = frozenset({"auto", "majority", "bm3kl", "bemkl", "sbemkl", "gpc", "svimkl", "mklr", "cik", "bank"})
#: Methods for two classes only.
TWO_CLASSES = frozenset({"bank"})
#: Clusterings with a density of rows.
DENSITIES = frozenset({"dpm", "cik"})


class _Fitted:
    """What a fitted model tells, whatever the estimator."""

    model_: _core.Model

    @property
    def kernels_(self) -> list[str]:
        """The kernels, in the order of the weights."""
        return self._model().kernels

    @property
    def weights_(self) -> Array:
        """One weight per kernel; there is no such attribute for methods that have none."""
        return self._present(self._model().weights, "kernel weights")

    @property
    def shares_(self) -> Array:
        """How much of the decision each kernel carries; they add up to 1."""
        return self._present(self._model().shares, "shares of the decision")

    @property
    def view_shares_(self) -> dict[str, float]:
        """The shares summed by view."""
        shares = self._model().shares
        return {} if shares is None else {name: float(shares[at].sum()) for name, at in self._model().kernels_of_views}

    @property
    def class_weights_(self) -> Array:
        """Weights of each class (columns), of methods that learn them."""
        return self._by_class(self._present(self._model().class_weights, "weights of classes"))

    @property
    def intervals_(self) -> dict[str, Any]:
        """Credible intervals of the weights: level, bounds, the prior's bounds, and what they hold under."""
        return self._present(self._model().intervals, "intervals of weights")

    @property
    def n_iter_(self) -> int:
        """Steps of the run; rows learned from a stream."""
        return self._model().steps

    @property
    def stopped_(self) -> str:
        """How the run ended: "finished", or why it stopped early."""
        return self._model().stop

    @property
    def kinds_(self) -> dict[str, str]:
        """What each column holds: number, category, text, ..."""
        model = self._model()
        return dict(zip(model.features, model.kinds, strict=True))

    @property
    def facts_(self) -> dict[str, str]:
        """What the method says about the model."""
        return dict(self._model().facts)

    def summary(self) -> str:
        """Everything about the fitted model, as text."""
        return self._model().text()

    def save(self, path: Any) -> None:
        """Writes the model to a file that the command line and `multikernel.load` read."""
        self._model().save(path)

    def posterior(self) -> Any:
        """Posterior draws as an ArviZ DataTree (needs `arviz>=1.0`); `posterior_dict` needs nothing."""
        from ._posterior import to_datatree

        return to_datatree(self.posterior_dict())

    def posterior_dict(self) -> dict[str, Any]:
        """Posterior draws as plain dictionaries: {group: {variable: (dims, array)}} and coordinates."""
        from ._posterior import to_dict

        return to_dict(self._model())

    def _model(self) -> _core.Model:
        check_is_fitted(self)
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        # Parameters such as lambda_ end in an underscore too.
        return "model_" in self.__dict__

    def _present(self, value: T | None, what: str) -> T:
        if value is None:
            raise AttributeError(f"a model of the method {self._model().method} has no {what}")
        return value

    def _by_class(self, columns: Array) -> Array:
        return columns


def text_of(value: Any) -> str:
    """A parameter's value as the library reads it."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


class _Base(_Fitted, CallbackSupportMixin, BaseEstimator):
    """Parameters and input shared by all estimators."""

    method: str
    kernels: str | None
    views: Mapping[str, Any] | None
    kinds: Mapping[str, str] | None
    kernel_names: list[str] | None
    scale: str
    log: str | list[str] | None
    top_variance: int | None
    missing: str
    proba: bool
    precision: str
    memory: int | None
    max_seconds: float | None
    n_jobs: int | None
    random_state: Any
    verbose: int

    #: What scikit-learn checks of y beside its length.
    _target_checks: ClassVar[Mapping[str, bool]] = {}

    def _method_params(self) -> dict[str, Any]:
        return dict(getattr(self, "params", None) or {})

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            if self.random_state < 0:
                raise ValueError(f"random_state must not be negative, got {self.random_state}")
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _plan(self, names: list[str] | None = None) -> _core.Plan:
        kernels = self.kernels
        if self._is_precomputed():
            kernels = ", ".join(f"precomputed({name}) raw" for name in names or [])
        params = [(name, text_of(value)) for name, value in self._method_params().items()]
        return _core.Plan(
            self.method,
            kernels=kernels,
            params=params,
            seed=self._seed(),
            scale=self.scale,
            log=[self.log] if isinstance(self.log, str) else list(self.log or []),
            top_variance=self._top_variance(),
            missing=self.missing,
            proba=bool(getattr(self, "proba", False)),
            precision=self.precision,
        )

    def _top_variance(self) -> int | None:
        if self.top_variance is None:
            return None
        if self.top_variance < 1:
            raise ValueError(f"top_variance must be 1 or more, got {self.top_variance}")
        return int(self.top_variance)

    def _threads(self) -> int:
        if self.n_jobs is None:
            return 1
        from joblib import effective_n_jobs

        return int(effective_n_jobs(self.n_jobs))

    def _limits(self) -> dict[str, Any]:
        memory = _free_memory() if self.memory is None else int(self.memory)
        seconds = None if self.max_seconds is None else float(self.max_seconds)
        device = str(getattr(self, "device", "cpu"))
        return {"threads": self._threads(), "device": device, "max_seconds": seconds, "memory": memory}

    def _kept(self, checkpoint: Any, seconds: float) -> dict[str, Any]:
        """Where the state of a fit is kept, as the compiled part takes it."""
        if checkpoint is None:
            return {}
        if not isinstance(self.random_state, (int, np.integer)):
            found = f"got {self.random_state!r}: another seed is another run"
            raise ValueError(f"a fit with a checkpoint needs a whole number as random_state, {found}")
        return {"checkpoint": checkpoint, "checkpoint_seconds": float(seconds)}

    def _is_precomputed(self) -> bool:
        return self.kernels == "precomputed"

    def _rows(self, X: Any, y: Any = None, *, reset: bool, with_y: bool = False) -> tuple[_core.Rows, Any]:
        """Rows for the library, checked as scikit-learn does; and the targets."""
        if self._is_precomputed():
            rows = self._gram_rows(X, reset=reset)
            return rows, self._targets(y, rows.n_rows) if with_y else None
        if isinstance(X, Mapping) and not issparse(X):
            X = Views(**X)
        if isinstance(X, Views):
            rows = self._view_rows(X, reset=reset)
            return rows, self._targets(y, rows.n_rows) if with_y else None
        if is_table(X) and (reset or self._has_texts()):
            columns = columns_of(X, self.kinds or {}) if reset else columns_of(X, self.kinds_, trained=True)
            if reset:
                self._mixed = columns is not None
            if columns is not None:
                rows = self._mixed_rows(columns, reset=reset)
                return rows, self._targets(y, rows.n_rows) if with_y else None
        elif reset:
            self._mixed = False
            if self.kinds:
                raise ValueError("kinds are for tables with named columns; give a DataFrame")
        elif self._has_texts():
            raise ValueError("the model was trained on columns that are not all numbers; give a table with the same columns")
        if is_table(X) and not hasattr(X, "iloc"):
            X = self._other_table(X, reset=reset)
            names: list[str] | None = list(self.feature_names_in_)
            target = self._targets(y, len(X)) if with_y else None
            return rows_of(X, names, self.views), target
        checks: dict[str, Any] = dict(
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
            reset=reset,
        )
        if with_y:
            X, y = validate_data(self, X, y, **checks, **self._target_checks)
        else:
            X = validate_data(self, X, **checks)
        names = getattr(self, "feature_names_in_", None)
        return rows_of(X, None if names is None else [str(name) for name in names], self.views), y

    def _targets(self, y: Any, n: int) -> npt.NDArray[Any]:
        from sklearn.utils import check_consistent_length, column_or_1d

        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = column_or_1d(np.asarray(y), warn=True)
        check_consistent_length(np.empty(n), y)
        return y

    def _has_texts(self) -> bool:
        # Known from the fit, or from a model that was loaded.
        mixed: bool | None = self.__dict__.get("_mixed")
        return any(kind != "number" for kind in self._model().kinds) if mixed is None else mixed

    def _mixed_rows(self, columns: list[tuple[str, str | None, Any]], *, reset: bool) -> _core.Rows:
        """Rows of a table that is not all numbers."""
        if self.views is not None:
            raise ValueError("views are for tables of numbers; X has columns of other kinds")
        names = [name for name, _, _ in columns]
        if reset:
            rows, notes = _core.Rows.table(columns)
            if rows.n_rows < 2:
                raise ValueError(f"Found array with {rows.n_rows} sample(s) while a minimum of 2 is required.")
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
            self._told_columns(notes)
            return rows
        if list(self.feature_names_in_) != names:
            raise ValueError(
                "The feature names should match those that were passed during fit.\n"
                f"Expected {list(self.feature_names_in_)[:10]}, got {names[:10]}"
            )
        # Columns that were left out in training do not count.
        model = self._model()
        used = set(model.features)
        rows, _ = _core.Rows.table([column for column in columns if column[0] in used])
        for line in model.unseen(rows):
            warnings.warn(line, UserWarning, stacklevel=5)
        return rows

    def _told_columns(self, notes: list[str]) -> None:
        """What was guessed is told if asked for; what was left out always is."""
        for note in notes:
            if "left out" in note:
                warnings.warn(note, UserWarning, stacklevel=6)
            elif self.verbose:
                print(f"[{type(self).__name__}] {note}", file=sys.stderr, flush=True)

    def _gram_rows(self, X: Any, *, reset: bool) -> _core.Rows:
        is_stack = getattr(X, "ndim", 2) == 3
        least = 2 if reset else 1
        # That values are finite is checked with the rest of a matrix, which is then read once.
        values = check_array(
            X,
            dtype=np.float64,
            ensure_2d=not is_stack,
            allow_nd=is_stack,
            ensure_min_samples=least,
            ensure_all_finite=False,
        )
        values = values if is_stack else stack(values)
        if values.shape[2] == 0:
            raise ValueError("the stack has no Gram matrix; build one with multikernel.stack")
        n_kernels = values.shape[2]
        # Where the shape is wrong, a value that is no number is told first, as scikit-learn does.
        if reset:
            if values.shape[0] != values.shape[1]:
                assert_all_finite(values)
                raise ValueError(f"the Gram matrices of training rows must be square, got {values.shape[:2]}")
            names = self.kernel_names or [f"K{m + 1}" for m in range(n_kernels)]
            if len(names) != n_kernels:
                raise ValueError(f"{len(names)} kernel_names for {n_kernels} kernels; give one each")
            self.n_features_in_ = values.shape[1]
            matrices = [(name, np.ascontiguousarray(values[:, :, m])) for m, name in enumerate(names)]
            return _core.Rows.grams(matrices)
        if values.shape[1] != self.n_features_in_:
            assert_all_finite(values)
            raise ValueError(
                f"X has {values.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input: one column for each training row"
            )
        trained = self.model_.gram_diagonals
        if n_kernels != len(trained):
            raise ValueError(f"{n_kernels} kernels, but the model was trained on {len(trained)}")
        matrices = [(name, np.ascontiguousarray(values[:, :, m])) for m, (name, _) in enumerate(trained)]
        return _core.Rows.grams(matrices, [diagonal for _, diagonal in trained])

    def _view_rows(self, X: Views, *, reset: bool) -> _core.Rows:
        if reset:
            self.n_features_in_ = X.shape[1]
            return rows_of(X, None, None)
        expected = self.model_.views
        known = {name for name, _, _ in expected}
        unknown = [name for name in X.columns if name not in known]
        if unknown:
            raise ValueError(f"views {unknown} are unknown to the model; it has {sorted(known)}")
        # Views that are absent altogether are absent for every row.
        names = self.model_.features
        values = np.full((len(X), len(names)), np.nan)
        at = {name: j for j, name in enumerate(names)}
        missing = [name for name in X.names if name not in at]
        if missing:
            raise ValueError(f"columns {missing[:5]} are unknown to the model")
        values[:, [at[name] for name in X.names]] = X.values
        return _core.Rows.dense(values, names, expected, None)

    def _other_table(self, X: Any, *, reset: bool) -> Array:
        """A table that is not of pandas: polars, Arrow."""
        values, names = table_values(X)
        names = names or []
        if reset:
            self.n_features_in_ = values.shape[1]
            self.feature_names_in_ = np.array(names, dtype=object)
        elif list(self.feature_names_in_) != names:
            raise ValueError(
                "The feature names should match those that were passed during fit.\n"
                f"Expected {list(self.feature_names_in_)[:10]}, got {names[:10]}"
            )
        return values

    def _end(self, progress: FitProgress, notes: list[str], interrupt: BaseException | None) -> None:
        """After a fit: passes Ctrl-C on and says what the run said."""
        if interrupt is not None and not isinstance(interrupt, Stop):
            # What is lost is told to those who stop a fit, too.
            for note in notes:
                if note.startswith("warning: "):
                    warnings.warn(note.removeprefix("warning: "), UserWarning, stacklevel=4)
            raise interrupt
        progress.finish()
        self._warn(notes)

    def _warn(self, notes: list[str]) -> None:
        for note in notes:
            if not note.startswith("resuming from "):
                warnings.warn(note.removeprefix("warning: "), UserWarning, stacklevel=5)
            elif self.verbose:
                print(f"[{type(self).__name__}] {note}", file=sys.stderr, flush=True)
        for warning in self.model_.warnings:
            warnings.warn(warning, ConvergenceWarning, stacklevel=5)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.three_d_array = self._is_precomputed()
        return tags

    def _truth(self, y: Any, rows: _core.Rows) -> dict[str, Any]:
        """What rows truly are, as the compiled part takes it."""
        raise ValueError(f"{type(self).__name__} predicts nothing that y could be compared with")

    def importance(self, X: Any, y: Any, *, by: Any = "columns", repeats: int = 10) -> list[dict[str, Any]]:
        """Permutation importance: how much the score falls when values are dealt to other rows, largest first.

        The score is accuracy for classes, R2 for numbers, concordance for times. ``by`` is "columns", "views", or a mapping
        from names to column positions that are permuted together. Each entry has the name, ``drop`` with its ``interval``
        over rows, whether that is ``distinguishable`` from nothing among all that were permuted, and for classes the share of
        predictions that ``changed``. Take rows that the estimator was not fitted on.
        """
        sets = {} if isinstance(by, str) else {str(name): np.atleast_1d(at) for name, at in dict(by).items()}
        if isinstance(by, str) and by not in ("columns", "views"):
            raise ValueError(f"by must be 'columns', 'views' or a mapping from names to columns, got {by!r}")
        model = self._model()
        rows, _ = self._rows(X, reset=False)
        pairs = [(name, [int(k) for k in at]) for name, at in sets.items()]
        what = by if isinstance(by, str) else "sets"
        truth = self._truth(y, rows)
        found = json.loads(model.importance(rows, what, pairs, repeats, self._seed(), threads=self._threads(), **truth))
        return list(found["found"])

    def _parts(self, X: Any, by: str) -> tuple[list[str], list[list[int]], Array, Array]:
        """Names, what each decision is about, biases and values (n_rows, n_decisions, n_names)."""
        if by not in ("view", "kernel"):
            raise ValueError(f"by must be 'view' or 'kernel', got {by!r}")
        model = self._model()
        rows, _ = self._rows(X, reset=False)
        names, decisions, biases, values = model.parts(rows, by == "view", self._threads())
        return names, decisions, np.asarray(biases), np.stack(values, axis=1)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = state["model_"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model_" in state:
            state = {**state, "model_": _core.Model.from_bytes(state["model_"])}
        super().__setstate__(state)


def _free_memory() -> int | None:
    """Four fifths of the free memory, where the system tells it."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024 // 10 * 8
    except OSError:
        pass
    return None


def on_partitions(estimator: Any, X: Any, y: Any, groups: Any, checkpoint: Any, checkpoint_seconds: float) -> Any:
    """A fit on the blocks of a Dask collection."""
    from .dask import fit

    if groups is not None:
        raise ValueError("groups are for inner folds, which a fit on partitions has not; leave them out")
    return fit(estimator, X, y, checkpoint, checkpoint_seconds)


def class_texts(classes: npt.NDArray[Any]) -> list[str]:
    """Classes as texts: whole numbers without a point."""

    def text(value: Any) -> str:
        if isinstance(value, (float, np.floating)) and float(value).is_integer():
            return str(int(value))
        return str(value)

    texts = [text(value) for value in classes.tolist()]
    if len(set(texts)) < len(texts):
        raise ValueError(f"two classes are written alike: {texts}")
    return texts


def label_texts(y: Any) -> list[str]:
    """The class of each row, as the library writes it."""
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    texts = class_texts(classes)
    return [texts[code] for code in codes]


class _Classifier(ClassifierMixin, _Base):
    """Classifiers: what they share, whatever the method."""

    classes_: npt.NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.method not in TWO_CLASSES
        return tags

    @with_callbacks
    def fit(self, X: Any, y: Any, *, groups: Any = None, checkpoint: Any = None, checkpoint_seconds: float = 5.0) -> Self:
        """Trains on rows X with classes y.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, Views, stack of Gram matrices or Dask collection
            Rows; NaN is a missing value. Of a collection, `multikernel.dask.train` is used on its blocks.
        y : array of shape (n_samples,)
            Classes.
        groups : array of shape (n_samples,), optional
            Rows of a group stay together in inner folds (``auto`` and ``proba``).
        checkpoint : path, optional
            A file for the state of the fit. After a crash or a stop, the same fit goes on from it, to the bits of an
            uninterrupted one; it is refused for other rows or settings, and removed when the fit is finished.
        checkpoint_seconds : float
            Least seconds between two checkpoints; 0 stores every step.
        """
        if is_collection(X):
            return on_partitions(self, X, y, groups, checkpoint, checkpoint_seconds)
        label = getattr(y, "name", None)
        rows, y = self._rows(X, y, reset=True, with_y=True)
        # Whole numbers are classes whatever they are.
        if y.dtype.kind not in "biu":
            check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"a classifier needs rows of at least two classes; y has one class, {self.classes_[0]!r}")
        if len(self.classes_) > 2 and self.method in TWO_CLASSES:
            raise ValueError(f"Only binary classification is supported. y has {len(self.classes_)} classes; take CIK")
        names = [self.kernel_names[m] if self.kernel_names else f"K{m + 1}" for m in range(_depth(X))]
        plan = self._plan(names)
        groups = None if groups is None else [str(group) for group in np.asarray(groups).tolist()]
        kept = self._kept(checkpoint, checkpoint_seconds)
        progress = FitProgress(self, X, y)
        self.model_, notes, interrupt = _core.fit(
            plan,
            rows,
            class_texts(self.classes_),
            codes.astype(np.int64),
            self._limits(),
            **kept,
            groups=groups,
            name=_name_of(X),
            label=label if isinstance(label, str) else None,
            on_progress=progress.hook,
        )
        self._end(progress, notes, interrupt)
        return self

    def _order(self) -> list[int]:
        """The library's place of each class."""
        at = {name: k for k, name in enumerate(self._model().classes)}
        return [at[text] for text in class_texts(self.classes_)]

    def _by_class(self, columns: Array) -> Array:
        return columns[:, self._order()]

    def _scores(self, X: Any) -> tuple[npt.NDArray[np.int64], Array]:
        model = self._model()
        rows, _ = self._rows(X, reset=False)
        return model.predict(rows, self._threads())

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Classes of rows."""
        codes, _ = self._scores(X)
        back = np.empty(len(self.classes_), dtype=np.int64)
        back[self._order()] = np.arange(len(self.classes_))
        return self.classes_[back[codes]]

    def decision_function(self, X: Any) -> Array:
        """Scores of rows: one column per class; with two classes one number, positive for the second."""
        scores = self._by_class(self._scores(X)[1])
        if scores.shape[1] == 2:
            return np.asarray((scores[:, 1] - scores[:, 0]) / 2)
        return scores

    def _truth(self, y: Any, rows: _core.Rows) -> dict[str, Any]:
        return {"labels": label_texts(y)}

    def parts(self, X: Any, *, by: str = "view") -> Parts:
        """Decisions on rows, each split exactly into parts of views or kernels and a constant.

        With two classes there is one decision, positive for the second class as in ``decision_function``. Methods whose
        decisions are no sums over kernels, such as votes, raise ``ValueError``. Data without views have one view.
        """
        model = self._model()
        names, decisions, biases, values = self._parts(X, by)
        told = {text: value for text, value in zip(class_texts(self.classes_), self.classes_, strict=True)}
        classes = [tuple(told[model.classes[code]] for code in codes) for codes in decisions]
        if len(self.classes_) == 2 and len(classes) == 1 and classes[0][0] == self.classes_[0]:
            classes, values, biases = [classes[0][::-1]], -values, -biases
        return Parts(names, [pair if len(pair) == 2 else pair[0] for pair in classes], biases, values)

    def _has_probabilities(self) -> bool:
        model = getattr(self, "model_", None)
        if model.has_probabilities if model is not None else self.proba or self.method in PROBABILISTIC:
            return True
        raise AttributeError(f"{type(self).__name__} learns no probabilities at these settings; set proba=True and fit")

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of classes; the largest is the predicted class."""
        model = self._model()
        rows, _ = self._rows(X, reset=False)
        return self._by_class(model.probabilities(rows, self._threads()))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities of classes."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))


def _depth(X: Any) -> int:
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return int(shape[2]) if len(shape) == 3 else 1


def _copied(X: Any) -> Any:
    """Rows that nobody else writes to."""
    if hasattr(X, "copy"):
        return X.copy()
    # Tables without it, of polars and Arrow, are not written to in place.
    return X if is_table(X) else np.array(X)


def _name_of(X: Any) -> str:
    """The data set's name in the model: that of the frame, or of the views."""
    if isinstance(X, Mapping) and not issparse(X):
        return "+".join(X)
    if isinstance(X, Views):
        return "+".join(X.columns)
    attrs = getattr(X, "attrs", None)
    name = attrs.get("name") if isinstance(attrs, dict) else None
    return name if isinstance(name, str) and name else "data"


class MKLClassifier(_Classifier):
    """A classifier by any of the library's methods.

    Parameters
    ----------
    method : str
        One of `multikernel.methods()`; "auto" tries several on inner folds and says in ``facts_`` what it kept.
    kernels : str, optional
        The bank of kernels, such as ``"gaussian(median*2^-3..2^3), linear"``, or ``"precomputed"`` for stacks of Gram
        matrices. None: the method's own bank.
    views : mapping, optional
        Columns of each view: ``{"rna": ["g1", "g2"], "clinic": slice(2, 9)}``.
    kinds : mapping, optional
        Kinds of columns of a table, where they are not to be guessed: ``{"zip": "category", "size": "ordered(S<M<L)"}``.
    params : mapping, optional
        Parameters of the method: ``{"effort": "thorough"}``, or ``{"c": 10}`` of "average".
    kernel_names : list of str, optional
        Names of precomputed kernels.
    scale : {"standard", "none"}
        How columns are scaled, learned on training rows.
    log : str or list of str, optional
        Views whose columns become ``ln(1 + x)`` before they are scaled; "all" for all columns.
    top_variance : int, optional
        Columns kept of each view (or of all): those that vary most over the training rows.
    missing : {"skip", "impute", "drop"}
        What is done about rows that lack a view.
    proba : bool
        Whether probabilities are learned, by inner folds where the method has none of its own.
    precision : {"f64", "f32"}
        Of stored kernels, and of the combined kernel of an SVM with fixed weights.
    device : {"cpu", "cuda"}
        What trains: the processor alone, or with an NVIDIA GPU beside it for kernels and their factors.
    memory : int, optional
        Bytes that kernels may take; None for four fifths of what is free.
    max_seconds : float, optional
        Time limit; the model then holds what was learned so far.
    n_jobs : int, optional
        Threads; -1 for all. The result is the same for any number.
    random_state : int, RandomState or None
        The seed.
    verbose : int
        Whether progress is written to standard error.

    Examples
    --------
    >>> import multikernel as mk
    >>> X, y = mk.datasets.load_wdbc(return_X_y=True)
    >>> clf = mk.MKLClassifier("average").fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    """

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
        proba: bool = False,
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
        self.proba = proba
        self.precision = precision
        self.device = device
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


#: Parameters of every method class, beside the method's own.
SHARED = (
    "kernels", "views", "kinds", "kernel_names", "scale", "log", "top_variance", "missing", "proba", "precision", "memory",
    "max_seconds", "n_jobs", "random_state", "verbose",
)  # fmt: skip


class _MethodParams(BaseEstimator):
    """Takes the method's parameters from the estimator's own attributes."""

    _renamed: Mapping[str, str] = {}

    def _method_params(self) -> dict[str, Any]:
        own = [name for name in self._get_param_names() if name not in SHARED]
        return {self._renamed.get(name, name): getattr(self, name) for name in own}


class MethodClassifier(_MethodParams, _Classifier):
    """Base of the classes of single methods."""


class _Mixture(_Base):
    """Finds clusters of rows, and where the method has one a density."""

    labels_: npt.NDArray[np.int64]

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, checkpoint: Any = None, checkpoint_seconds: float = 5.0) -> Self:
        """Finds clusters of rows X; y is ignored.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, Views or stack of Gram matrices
            Rows; NaN is a missing value.
        y : None
            Not used.
        checkpoint : path, optional
            A file for the state of the fit. After a crash or a stop, the same fit goes on from it, to the bits of an
            uninterrupted one; it is refused for other rows or settings, and removed when the fit is finished.
        checkpoint_seconds : float
            Least seconds between two checkpoints; 0 stores every step.
        """
        rows, _ = self._rows(X, reset=True)
        names = [self.kernel_names[m] if self.kernel_names else f"K{m + 1}" for m in range(_depth(X))]
        kept = self._kept(checkpoint, checkpoint_seconds)
        progress = FitProgress(self, X, None)
        self.model_, notes, interrupt = _core.fit(
            self._plan(names), rows, [], None, self._limits(), **kept, name=_name_of(X), on_progress=progress.hook
        )
        clusters = self.model_.clusters
        if clusters is None:
            raise ValueError(f"the method {self.method} finds no clusters; take dpm, mkc or cik")
        self.labels_ = clusters
        self._end(progress, notes, interrupt)
        return self

    @property
    def n_clusters_(self) -> int:
        """Number of clusters found."""
        check_is_fitted(self)
        return int(self.labels_.max()) + 1

    def _place(self, X: Any) -> tuple[npt.NDArray[np.int64], Array | None, Array | None]:
        model = self._model()
        rows, _ = self._rows(X, reset=False)
        return model.place(rows, self._threads())

    def _has_density(self) -> bool:
        if self.method in DENSITIES:
            return True
        raise AttributeError(f"the method {self.method} has no density; take dpm")

    @available_if(_has_density)
    def score_samples(self, X: Any) -> Array:
        """Log densities of rows: low for outliers."""
        density = self._place(X)[1]
        if density is None:
            raise ValueError(f"this model of {self.method} has no density")
        return density


class _AnyMixture(_Mixture):
    """Parameters of classes that take the method by name."""

    def __init__(
        self,
        method: str = "dpm",
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
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class _Clusterer(ClusterMixin, _Mixture):
    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Clusters of rows."""
        return self._place(X)[0]


class MKLClusterer(_Clusterer, _AnyMixture):
    """Clusters by any of the library's methods that find them: dpm, mkc.

    Parameters are those of `MKLClassifier`.

    Examples
    --------
    >>> import multikernel as mk
    >>> X, y = mk.datasets.load_ionosphere(return_X_y=True)
    >>> mk.MKLClusterer("dpm", params={"sweeps": 2}).fit(X).labels_.shape
    (351,)
    """


class MethodClusterer(_MethodParams, _Clusterer):
    """Base of the classes of single methods that find clusters."""


class CombinedKernel(TransformerMixin, _Classifier):
    """The learned kernel as a transformer: rows to the matrix of ``sum_m w_m k_m`` with the training rows.

    Any estimator that takes a precomputed kernel can follow it, such as ``SVC(kernel="precomputed")``. Parameters are
    those of `MKLClassifier`.

    Examples
    --------
    >>> import multikernel as mk
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> X, y = mk.datasets.load_sonar(return_X_y=True)
    >>> make_pipeline(mk.CombinedKernel("evidence"), SVC(kernel="precomputed", C=10)).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        method: str = "evidence",
        kernels: str | None = None,
        *,
        views: Mapping[str, Any] | None = None,
        kinds: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        scale: str = "standard",
        log: str | list[str] | None = None,
        top_variance: int | None = None,
        precision: str = "f64",
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
        self.scale = scale
        self.log = log
        self.top_variance = top_variance
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    missing = "impute"
    proba = False
    kernel_names = None

    def fit(self, X: Any, y: Any, *, groups: Any = None, checkpoint: Any = None, checkpoint_seconds: float = 5.0) -> Self:
        """Learns the weights of the kernels from rows X with classes y; see `MKLClassifier.fit`."""
        if self._is_precomputed():
            raise ValueError("CombinedKernel works on rows; combine given matrices with weights_ of a classifier")
        super().fit(X, y, groups=groups, checkpoint=checkpoint, checkpoint_seconds=checkpoint_seconds)
        self._train_rows = _copied(X)
        return self

    def transform(self, X: Any) -> Array:
        """The learned kernel between rows X and the training rows."""
        model = self._model()
        rows, _ = self._rows(X, reset=False)
        trained, _ = self._rows(self._train_rows, reset=False)
        return model.combined(rows, trained, self._threads())

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """One name for each training row."""
        check_is_fitted(self)
        return np.array([f"row{i}" for i in range(len(self._train_rows))], dtype=object)


class _Online(_Base):
    """What the estimators have in common that learn from rows as they come: their parameters, and the learner."""

    _online: _core.Online
    _stored: bytes

    def __init__(
        self,
        method: str = "mklda",
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
        self.method = method
        self.kernels = kernels
        self.params = params
        self.budget = budget
        self.update_every = update_every
        self.scale = scale
        self.log = log
        self.top_variance = top_variance
        self.precision = precision
        self.n_jobs = n_jobs
        self.random_state = random_state

    views = None
    kinds = None
    kernel_names = None
    missing = "skip"
    proba = False
    memory = None
    max_seconds = None
    verbose = 0

    def _learner(self, rows: _core.Rows, **first: Any) -> _core.Online:
        """The learner; where there is none yet, `first` is what it has to know of the first rows besides the rows."""
        if not hasattr(self, "_online"):
            if hasattr(self, "_stored"):
                self._online = self._resumed()
            else:
                self._online = _core.Online.begin(self._plan(), rows, **self._options(), **first)
        return self._online

    def _options(self) -> dict[str, Any]:
        return {"budget": self.budget, "update_every": self.update_every, "threads": self._threads()}

    def _resumed(self) -> _core.Online:
        """The learner as it was when it was stored."""
        return _core.Online.resume(self._stored, self._plan(), **self._options())

    def _model(self) -> _core.Model:
        check_is_fitted(self)
        if "model_" not in self.__dict__:
            self.model_ = self._online.model()
        return self.model_

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_online"):
            self._model()
        state = super().__getstate__()
        state.pop("_online", None)
        if "model_" in state:
            state["_stored"] = state["model_"]
        return state


class OnlineMKLClassifier(_Online, _Classifier):
    """A classifier that learns from rows as they come.

    Parameters
    ----------
    method : {"mklda", "ufomkl", "obscure"}
        A method that learns from streams.
    budget : int, optional
        Training rows kept; None for no limit.
    update_every : int
        Rows between updates of the kernel weights.

    Other parameters are those of `MKLClassifier`. Scales and widths of kernels are frozen from the first batch.

    Examples
    --------
    >>> import multikernel as mk
    >>> X, y = mk.datasets.load_wdbc(return_X_y=True)
    >>> clf = mk.OnlineMKLClassifier(budget=200)
    >>> for start in range(0, 500, 100):
    ...     clf = clf.partial_fit(X[start : start + 100], y[start : start + 100], classes=["B", "M"])
    >>> clf.score(X[500:], y[500:]) > 0.9
    True
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Forgets what was learned, then learns from rows X with classes y, in their order."""
        for name in ("model_", "_online", "_stored", "classes_"):
            self.__dict__.pop(name, None)
        self.partial_fit(X, y)
        # Says so where a model cannot be made yet, as with one class.
        self._model()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learns more rows. `classes`: all classes to expect, if not all are in the first batch."""
        first = not hasattr(self, "classes_")
        rows, y = self._rows(X, y, reset=first, with_y=True)
        check_classification_targets(y)
        if first:
            self.classes_ = np.unique(y if classes is None else np.asarray(classes))
            if len(self.classes_) < 2:
                raise ValueError(f"a classifier needs at least two classes; y has one class, {self.classes_[0]!r}")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has classes {unknown.tolist()} that are not in classes: {self.classes_.tolist()}")
        codes = np.searchsorted(self.classes_, y).astype(np.int64)
        self._learner(rows).learn(rows, class_texts(self.classes_), codes)
        self.__dict__.pop("model_", None)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "classes_" in self.__dict__

    def _order(self) -> list[int]:
        at = {name: k for k, name in enumerate(self._model().classes)}
        return [at.get(text, -1) for text in class_texts(self.classes_)]

    def _by_class(self, columns: Array) -> Array:
        order = self._order()
        # Classes that have not come yet are never predicted.
        lowest = np.full((len(columns), 1), np.finfo(np.float64).min / 4)
        return np.hstack([columns, lowest])[:, order] if -1 in order else columns[:, order]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Classes of rows."""
        model = self._model()
        codes, _ = self._scores(X)
        at = {text: k for k, text in enumerate(class_texts(self.classes_))}
        back = np.array([at[name] for name in model.classes])
        return self.classes_[back[codes]]
