"""Progress of a fit: lines on standard error, and scikit-learn's callbacks (scikit-learn >= 1.9)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        return method


__all__ = ["CallbackSupportMixin", "FitProgress", "Stop", "printer", "with_callbacks"]

#: What the library calls with the phase, the steps done and all steps (0: unknown).
OnProgress = Callable[[str, int, int], None]

#: Tasks of a phase that callbacks hear of at most, so that a run of a million steps is not slowed down by them.
MAX_TASKS = 100


class Stop(Exception):
    """A callback asked the fit to end."""


def printer(name: str) -> OnProgress:
    """Writes a line when a phase begins, and one a second while it lasts."""
    shown, at = "", 0.0

    def tell(phase: str, done: int, total: int) -> None:
        nonlocal shown, at
        now = time.monotonic()
        if phase == shown and now - at < 1.0:
            return
        shown, at = phase, now
        print(f"[{name}] {phase}" + (f" {done}/{total}" if total else ""), file=sys.stderr, flush=True)

    return tell


class FitProgress:
    """One fit as a tree of tasks for scikit-learn's callbacks: the fit, its phases, their steps."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._estimator = estimator
        self._print = printer(type(estimator).__name__) if estimator.verbose else None
        init = getattr(estimator, "_init_callback_context", None)
        self._root: Any = None if init is None else init(max_subtasks=None)
        self._heard = self._root is not None and bool(getattr(estimator, "_skl_callbacks", None))
        if self._root is not None:
            self._root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        self._phase: Any = None
        self._key = ("", 0)
        self._done = 0

    @property
    def hook(self) -> OnProgress | None:
        """What the library is to call; None if nobody listens."""
        return self._tell if self._heard or self._print is not None else None

    def _tell(self, phase: str, done: int, total: int) -> None:
        if self._print is not None:
            self._print(phase, done, total)
        if not self._heard or not total:
            return
        if (phase, total) != self._key:
            self._end_phase()
            self._key, self._done = (phase, total), 0
            self._phase = self._root.subcontext(task_name=phase, max_subtasks=min(total, MAX_TASKS))
            self._phase.call_on_fit_task_begin(estimator=self._estimator)
        self._advance(done * min(total, MAX_TASKS) // total)

    def _advance(self, reached: int) -> None:
        stop = False
        while self._done < reached:
            task = self._phase.subcontext(task_name="step")
            task.call_on_fit_task_begin(estimator=self._estimator)
            stop |= task.call_on_fit_task_end(estimator=self._estimator)
            self._done += 1
        if stop:
            raise Stop

    def _end_phase(self) -> None:
        if self._phase is not None:
            self._phase.call_on_fit_task_end(estimator=self._estimator)
            self._phase = None

    def finish(self) -> None:
        """Ends the phase and the fit."""
        self._end_phase()
        if self._root is not None:
            self._root.call_on_fit_task_end(estimator=self._estimator)
