"""Models in files: the same that the command line reads and writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._estimators import MKLClassifier, MKLClusterer, OnlineMKLClassifier, _Base
from ._targets import MKLRegressor, MKLSurvival, OnlineMKLRegressor


def save(estimator: _Base, path: Any) -> None:
    """Writes a fitted estimator's model to a file that the command line and `load` read.

    Parameters of the estimator that are not part of a model (n_jobs, verbose, limits) are not kept; pickle keeps them.
    """
    estimator.save(path)


def load(path: Any) -> MKLClassifier | MKLClusterer | MKLRegressor | MKLSurvival | OnlineMKLClassifier:
    """Reads a model file, whether Python or the command line wrote it.

    Loading runs no code of the file. Classes are numbers if all of them are written as numbers, else texts.

    Examples
    --------
    >>> import multikernel as mk, tempfile, os
    >>> X, y = mk.datasets.load_sonar(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "sonar.multikernel")
    >>> clf = mk.MKLClassifier("average").fit(X, y)
    >>> clf.save(path)
    >>> bool((mk.load(path).predict(X) == clf.predict(X)).all())
    True
    """
    model = _core.Model.load(path)
    grams = [name for name, _ in model.gram_diagonals]
    shared: dict[str, Any] = {
        "method": model.method,
        "kernels": "precomputed" if grams and not model.features else model.bank,
        "params": dict(model.params),
        "random_state": model.seed,
    }
    estimator: Any
    if model.is_online:
        estimator = OnlineMKLRegressor(**shared) if model.numbers else OnlineMKLClassifier(**shared)
        estimator._stored = model.to_bytes()
    elif model.clusters is not None and len(model.classes) < 2:
        estimator = MKLClusterer(**shared, kernel_names=grams or None)
        estimator.labels_ = model.clusters
    elif model.numbers:
        estimator = MKLRegressor(**shared, kernel_names=grams or None)
    elif model.event_times is not None:
        estimator = MKLSurvival(**shared, kernel_names=grams or None)
    else:
        estimator = MKLClassifier(**shared, kernel_names=grams or None, proba=model.has_probabilities)
    estimator.model_ = model
    if not isinstance(estimator, (MKLClusterer, MKLRegressor, MKLSurvival)):
        estimator.classes_ = _classes(model.classes)
    if grams:
        estimator.n_features_in_ = len(model.gram_diagonals[0][1])
    else:
        estimator.n_features_in_ = len(model.features)
        if model.features != [f"x{j + 1}" for j in range(len(model.features))] and not model.views:
            estimator.feature_names_in_ = np.array(model.features, dtype=object)
    return estimator


def _classes(texts: list[str]) -> Any:
    """Classes in numpy's order, as whole numbers where their texts are."""
    try:
        numbers = np.array([int(text) for text in texts], dtype=np.int64)
        if [str(number) for number in numbers.tolist()] == texts or len(set(numbers.tolist())) == len(texts):
            return np.sort(numbers)
    except ValueError:
        pass
    return np.sort(np.array(texts, dtype=object)).astype(str)
