"""Pictures of models and evaluations; each function returns a matplotlib Axes."""

from __future__ import annotations

from typing import Any

import numpy as np


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def weights(estimator: Any, *, top: int = 20, ax: Any = None) -> Any:
    """Kernel weights, largest first, with their intervals where the method has them."""
    values = estimator.weights_
    order = np.argsort(-values)[:top][::-1]
    ax = _axes(ax)
    at = np.arange(len(order))
    ax.barh(at, values[order], color="0.75")
    intervals = getattr(estimator, "intervals_", None)
    if intervals is not None:
        low, high = intervals["bounds"][order].T
        ax.hlines(at, low, high, color="k")
        ax.axvspan(*intervals["prior"], color="C0", alpha=0.1, label="prior")
        ax.legend()
    ax.set_yticks(at, [estimator.kernels_[k] for k in order])
    ax.set_xlabel("weight")
    return ax


def shares(estimator: Any, *, by: str = "view", top: int = 20, ax: Any = None) -> Any:
    """Shares of the decision, by view or by kernel."""
    if by not in ("view", "kernel"):
        raise ValueError(f"by must be 'view' or 'kernel', got {by!r}")
    named = dict(zip(estimator.kernels_, estimator.shares_, strict=True))
    if by == "view" and estimator.view_shares_:
        named = estimator.view_shares_
    pairs = sorted(named.items(), key=lambda pair: -pair[1])[:top][::-1]
    ax = _axes(ax)
    ax.barh([name for name, _ in pairs], [share for _, share in pairs])
    ax.set_xlabel("share of the decision")
    return ax


def parts(estimator: Any, X: Any, *, by: str = "view", decision: int = 0, top: int = 20, ax: Any = None) -> Any:
    """Shares by sample: what each view (or kernel) adds to the decision on each row.

    One column for each row of ``X``, sorted by the decision, which the line shows; red speaks for the first class of the
    decision, blue against it. With more than ``top`` names the largest are shown.
    """
    found = estimator.parts(X, by=by)
    values, total = found.values[:, decision, :], found.totals[:, decision]
    names = np.argsort(-np.abs(values).mean(axis=0))[:top]
    rows = np.argsort(total, kind="stable")
    shown = values[np.ix_(rows, names)].T
    limit = float(np.abs(shown).max(initial=0.0)) or 1.0
    ax = _axes(ax)
    picture = ax.imshow(
        shown, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest",
        extent=(0, len(rows), len(names), 0),
    )  # fmt: skip
    ax.set_yticks(np.arange(len(names)) + 0.5, [found.names[k] for k in names])
    pair = found.decisions[decision]
    what = f"{pair[0]} or {pair[1]}" if isinstance(pair, tuple) else f"{pair}"
    ax.set_xlabel(f"rows, sorted by the decision ({what})")
    ax.axvline(int((total < 0).sum()), color="k", linewidth=1)
    ax.figure.colorbar(picture, ax=ax, label="part of the decision")
    return ax


def paired(evaluation: Any, *, ax: Any = None) -> Any:
    """Paired differences of accuracy with their intervals."""
    ax = _axes(ax)
    rows = evaluation.paired
    at = np.arange(len(rows))[::-1]
    for k, row in zip(at, rows, strict=True):
        ax.plot(row["interval"], [k, k], color="k")
        ax.plot(row["difference"], k, "o", color="k")
    ax.axvline(0, color="0.6", linewidth=1)
    ax.set_yticks(at, [f"{row['a']} - {row['b']}" for row in rows])
    ax.set_xlabel("difference of accuracy")
    return ax


def calibration(estimator: Any, X: Any, y: Any, *, bins: int = 10, ax: Any = None) -> Any:
    """Frequency of being right against the probability of the predicted class."""
    probabilities = estimator.predict_proba(X)
    top = probabilities.max(axis=1)
    right = estimator.classes_[probabilities.argmax(axis=1)] == np.asarray(y)
    edges = np.linspace(top.min(), 1, bins + 1)
    place = np.clip(np.digitize(top, edges) - 1, 0, bins - 1)
    ax = _axes(ax)
    filled = [k for k in range(bins) if (place == k).any()]
    ax.plot([top[place == k].mean() for k in filled], [right[place == k].mean() for k in filled], "o-")
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    ax.set_xlabel("probability of the predicted class")
    ax.set_ylabel("share that is right")
    return ax


def boundary(estimator: Any, X: Any, y: Any, *, resolution: int = 150, ax: Any = None) -> Any:
    """Regions of the classes for rows of two columns."""
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"a boundary needs two columns, got shape {X.shape}")
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.1 * (high - low)
    sides = [np.linspace(low[j] - margin[j], high[j] + margin[j], resolution) for j in (0, 1)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    codes = np.searchsorted(estimator.classes_, estimator.predict(grid)).reshape(resolution, resolution)
    ax = _axes(ax)
    ax.contourf(*sides, codes, levels=np.arange(len(estimator.classes_) + 1) - 0.5, alpha=0.3)
    ax.scatter(*X.T, c=np.searchsorted(estimator.classes_, np.asarray(y)), s=12)
    return ax
