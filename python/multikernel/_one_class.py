"""Rows unlike those of training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ._data import Array
from ._estimators import _AnyMixture


class MKLOneClass(OutlierMixin, _AnyMixture):
    """Outliers by the density of a Dirichlet-process mixture: rows less probable than most of the training rows.

    Every training row is judged by the others, so that of new rows of the same kind a share of `quantile` is called an
    outlier. There are no labels to learn kernel weights from: this takes no kernels.

    Parameters
    ----------
    quantile : float, default=0.05
        Rows are outliers if they are as improbable as fewer than this share of the training rows.

    The others are those of `MKLClusterer`.

    Attributes
    ----------
    offset_ : float
        The log density below which rows are outliers.
    labels_ : ndarray
        The cluster of each training row.

    Examples
    --------
    >>> import multikernel as mk
    >>> X, y = mk.datasets.load_ionosphere(return_X_y=True)
    >>> est = mk.MKLOneClass(quantile=0.1, params={"sweeps": 2}).fit(X[:200])
    >>> sorted(set(est.predict(X[200:]).tolist()))
    [-1, 1]
    """

    def __init__(
        self,
        method: str = "dpm",
        *,
        quantile: float = 0.05,
        kernels: str | None = None,
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
        super().__init__(
            method,
            kernels,
            views=views,
            kinds=kinds,
            params=params,
            kernel_names=kernel_names,
            scale=scale,
            log=log,
            top_variance=top_variance,
            missing=missing,
            precision=precision,
            memory=memory,
            max_seconds=max_seconds,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.quantile = quantile

    def fit(self, X: Any, y: Any = None, *, checkpoint: Any = None, checkpoint_seconds: float = 5.0) -> Self:
        """Learns what is ordinary from rows X; y is ignored. See `MKLClusterer.fit`."""
        if not 0 < self.quantile < 1:
            raise ValueError(f"quantile is {self.quantile}; it must be between 0 and 1, such as 0.05")
        self._has_density()
        super().fit(X, checkpoint=checkpoint, checkpoint_seconds=checkpoint_seconds)
        offset = self.model_.threshold(self.quantile)
        if offset is None:
            raise ValueError(f"this model of {self.method} has no densities of its training rows")
        self.offset_ = offset
        return self

    def decision_function(self, X: Any) -> Array:
        """Log densities above `offset_`: negative for outliers."""
        check_is_fitted(self)
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """1 for rows like those of training, -1 for outliers."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def typical(self, X: Any) -> Array:
        """Shares of training rows that are as improbable as each row: low for outliers."""
        shares = self._place(X)[2]
        if shares is None:
            raise ValueError(f"this model of {self.method} has no densities of its training rows")
        return shares
