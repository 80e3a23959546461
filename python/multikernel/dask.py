"""Evaluations and training on a Dask cluster.

``mk.evaluate(X, y, methods, executor=client)`` runs each method on each split as a task of its own; `train` sums up what steps of
one training need over partitions of rows. No task is tied to a worker and none keeps anything there, so a lost worker costs the
tasks it was running, and Dask's own rescheduling does the rest.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from os import PathLike
from typing import Any
from uuid import uuid4

import numpy as np

from . import _core
from ._data import is_collection
from ._estimators import MKLClassifier
from ._partitions import ROWS, Engine, Here, Training, stored, target_of
from ._spread import AHEAD, RETRIES, Part, in_turn, late, run_part
from ._targets import target_names

__all__ = ["check", "train"]

#: Partitions under way or waiting for their turn, for each worker.
HELD = 4
#: Seconds to wait for an answer, at least.
PATIENCE = 600.0


def _version() -> str:
    return _core.__version__


def _address(killed: Any) -> str:
    return str(getattr(killed.last_worker, "address", killed.last_worker))


def check(client: Any) -> None:
    """Raises `RuntimeError` that names the workers which lack this package or have another version of it."""
    here = _version()
    found = client.run(_version, on_error="return")
    if not found:
        raise RuntimeError("the cluster has no workers; start some, or wait with client.wait_for_workers(1)")
    bad = [f"{worker}: {there}" for worker, there in sorted(found.items()) if there != here]
    if bad:
        raise RuntimeError(f"multikernel {here} is needed on every worker; found {'; '.join(bad[:5])}")


def results(
    client: Any, key: str, pickled: bytes, parts: list[Part], threads: int, deadline: float | None
) -> Iterator[tuple[Part, bytes]]:
    """The parts as they are done, in any order."""
    # It has no complete types.
    distributed: Any = import_module("distributed")
    check(client)
    # The rows are a task of their own: they travel once to each worker, and are made again if all of them are lost, as what was
    # scattered is not.
    rows = client.submit(bytes, pickled, key=f"multikernel-{key[:16]}-rows", retries=RETRIES)

    def submit(part: Part) -> Any:
        name = f"multikernel-{key[:16]}-{part[0]}-{part[1]}"
        return client.submit(run_part, key, rows, *part, threads, key=name, retries=RETRIES)

    def first(running: list[Any]) -> Any:
        try:
            return distributed.wait(running, timeout=deadline, return_when="FIRST_COMPLETED").done
        except distributed.TimeoutError:
            return []

    def too_late(open_parts: list[Part]) -> str:
        workers = sorted(str(worker) for worker, tasks in client.processing().items() if tasks) or ["no worker"]
        return late(open_parts, deadline, ", ".join(workers))

    width = AHEAD * max(len(client.nthreads()), 1)
    try:
        for part, future in in_turn(parts, width, submit, first, too_late):
            try:
                content = future.result()
            except distributed.KilledWorker as killed:
                raise RuntimeError(
                    f"method {part[0]} on split {part[1]} ended each worker it ran on, the last {_address(killed)}: probably "
                    "they have too little memory; give them more, or fewer rows"
                ) from killed
            yield part, content
            future.release()
    finally:
        client.cancel([rows], force=True)


class Cluster:
    """Asks partitions on the workers of a cluster. No task is tied to a worker and none keeps anything there: one that is lost
    costs the tasks it was running."""

    def __init__(self, client: Any, timeout: float | None) -> None:
        check(client)
        self.client, self.timeout = client, timeout
        self.run, self.step, self.longest, self.expected = uuid4().hex[:12], 0, 0.0, 0.0
        # It has no complete types.
        self.distributed: Any = import_module("distributed")

    def share(self, content: bytes) -> Any:
        self.step += 1
        # A task, not something scattered: it is made again if all workers that have it are lost.
        return self.client.submit(bytes, content, key=f"multikernel-{self.run}-{self.step}-shared", pure=False)

    def allow(self, need: int, name: str) -> None:
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        except TypeError:  # distributed < 2025
            workers = self.client.scheduler_info()["workers"]
        limits = {at: told["memory_limit"] / max(told["nthreads"], 1) for at, told in workers.items() if told.get("memory_limit")}
        if limits and need > min(limits.values()):
            at, least = min(limits.items(), key=lambda pair: pair[1])
            raise MemoryError(
                f"{name}, needs about {need / 2**30:.1f} GiB, but {at} has {least / 2**30:.1f} GiB for each of its threads; give "
                "smaller partitions, fewer landmarks, or workers with more memory or fewer threads"
            )

    def expect(self, seconds: float) -> None:
        self.expected = seconds

    def limit(self) -> float:
        """Seconds to wait for the next answer."""
        return max(PATIENCE, 10 * self.longest, 10 * self.expected) if self.timeout is None else self.timeout

    def each(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], names: Sequence[str]) -> Iterator[Any]:
        self.step += 1
        key = f"multikernel-{self.run}-{self.step}"
        width = HELD * max(len(self.client.nthreads()), 1)
        running, done, sent = dict[Any, int](), dict[int, Any](), 0
        try:
            for number in range(len(calls)):
                while number not in done:
                    while sent < len(calls) and len(running) + len(done) < width:
                        future = self.client.submit(function, *calls[sent], key=f"{key}-{sent}", pure=False)
                        running[future], sent = sent, sent + 1
                    for future in self._finished(running, names):
                        at = running.pop(future)
                        done[at] = self._result(future, at, names)
                yield done.pop(number)
        finally:
            for future in running:
                future.cancel()

    def chain(self, function: Callable[..., Any], first: bytes, calls: Sequence[tuple[Any, ...]], names: Sequence[str]) -> bytes:
        self.step += 1
        key, state, last = f"multikernel-{self.run}-{self.step}", self.share(first), None
        try:
            for number, call in enumerate(calls):
                # Only the last result is held: if it is lost, Dask makes those before it again.
                state = self.client.submit(function, state, *call, key=f"{key}-{number}", pure=False, retries=RETRIES)
                self._finished({state: number}, names)
                last = number
            return bytes(state.result()) if last is None else bytes(self._result(state, last, names))
        finally:
            state.cancel()

    def _finished(self, running: dict[Any, int], names: Sequence[str]) -> Any:
        """Those that are done; waits for the first of them."""
        start = time.monotonic()
        limit = self.limit()
        try:
            finished = self.distributed.wait(list(running), timeout=limit, return_when="FIRST_COMPLETED").done
        except self.distributed.TimeoutError:
            raise TimeoutError(self._late(running, names, limit)) from None
        self.longest = max(self.longest, time.monotonic() - start)
        return finished

    def _late(self, running: dict[Any, int], names: Sequence[str], limit: float) -> str:
        workers = {str(key): str(worker) for worker, keys in self.client.processing().items() for key in keys}
        open_ones = [
            f"partition {number}, {names[number]}, on {workers.get(str(future.key), 'no worker')}"
            for future, number in list(running.items())[:5]
        ]
        more = f" and {len(running) - 5} more" if len(running) > 5 else ""
        told = f"{'; '.join(open_ones)}{more}"
        return f"no partition answered in {limit:.0f} s; open: {told}; raise timeout, or look at the workers"

    def _result(self, future: Any, number: int, names: Sequence[str]) -> Any:
        told = f"partition {number}, {names[number]},"
        try:
            return future.result(timeout=self.limit())
        except self.distributed.KilledWorker as killed:
            raise RuntimeError(
                f"{told} ended each worker it ran on, the last {_address(killed)}: probably they have too little memory; give "
                "smaller partitions, or more memory"
            ) from killed
        except self.distributed.TimeoutError:
            late = f"{told} was done, but its answer did not come in {self.limit():.0f} s; look at the workers"
            raise TimeoutError(late) from None


def train(
    data: Any,
    y: Any = None,
    estimator: Any = None,
    *,
    client: Any = None,
    rows: int = ROWS,
    timeout: float | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_seconds: float = 5.0,
) -> Any:
    """Trains on rows that lie in partitions: files, or the blocks of a Dask collection.

    The objective of ``"mklr"`` and ``"svimkl"`` is a sum over rows, so it is summed up where the rows are; landmarks, drawn with
    the seed, carry the functions. ``"evidence"`` on landmarks needs one pass over the rows. The clusters of ``"cik"`` and
    ``"dpm"``, looked for in rows drawn at first, are sums, too. Times to an event take two passes over the rows where others
    take one. Learners of streams go through the partitions once, in their order, on one worker at a time. The estimator is
    fitted as by `fit`; its model has the same bits with any workers, whoever of them died, and with ``client=None``, which asks
    the partitions in this process one after the other.

    Parameters
    ----------
    data : path, pattern, list of paths, Dask DataFrame or Dask array
        Tables with columns of any kind, or arrays of numbers; NaN is a missing value. A column is of one kind in all partitions:
        found from all of them, or as the estimator's `kinds` says. Files are Parquet, npy or CSV, and have the same name for
        every worker.
    y : str, int, pair of these, Dask Series, Dask DataFrame or Dask array
        What is predicted: a column of the files (its position for npy, the last if none is given), or a collection with
        the partitions of `data`. For times to an event two columns, of times and of events (1 or 0, True or False); of a
        collection, a structured array as for `MKLSurvival`, or a DataFrame of a column of booleans and one of times.
    estimator : MKLClassifier, MKLRegressor, MKLSurvival, OnlineMKLClassifier or OnlineMKLRegressor
        What is trained; ``MKLClassifier("mklr")`` if none is given.
    client : Client, optional
        The cluster.
    rows : int
        Rows of a file that become one partition. CSV files are not divided; Parquet files are by row groups.
    timeout : float, optional
        Seconds without an answer after which `TimeoutError` names the open partitions and their workers. None: ten minutes, or
        ten times what an answer took so far or is estimated to take, if that is longer.
    checkpoint : path, optional
        A file for the state of the training, written now and then, and when a partition could not be asked. The same call goes
        on from it, to the bits of an uninterrupted run; it is refused for other rows, partitions or settings, and removed when
        the training is finished.
    checkpoint_seconds : float
        Least seconds between two checkpoints; 0 stores every step.

    Returns
    -------
    The estimator.

    Examples
    --------
    >>> import tempfile, numpy as np, multikernel as mk
    >>> from multikernel.dask import train
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.column_stack([X, X[:, 0] * X[:, 1] > 0]))
    ...     clf = train(f"{folder}/rows.npy", -1, mk.MKLClassifier("mklr", params={"landmarks": 100}), rows=200)
    >>> clf.score(X, X[:, 0] * X[:, 1] > 0) > 0.95
    True
    """
    estimator = MKLClassifier("mklr") if estimator is None else estimator
    # Workers are looked at before any has work.
    engine: Engine = Here() if client is None else Cluster(client, timeout)
    label, targets = None, None
    of_times = target_of(estimator) == "times"
    if is_collection(data):
        parts, names = _blocks(data, y, client)
        # The name of an array is that of its graph, which may be another in the next run.
        targets = None if of_times or hasattr(y, "chunks") else target_names(y)
        label = targets[0] if targets else None
    else:
        files = stored(data, _columns(y, of_times), rows)
        parts, names = [(part,) for part in files], [part.name for part in files]
        targets = [y] if isinstance(y, str) else None
        label = y if isinstance(y, str) else None
    kept = estimator._kept(checkpoint, checkpoint_seconds)
    return Training(estimator, parts, names, engine).run(label, targets, told=client is not None, kept=kept)


def _columns(y: Any, of_times: bool) -> Any:
    """The columns of files that are predicted."""
    if not of_times and isinstance(y, (tuple, list)):
        raise ValueError(f"give one column to predict, got {y!r}; two, of times and of events, are for MKLSurvival")
    if not of_times:
        return y
    if not isinstance(y, (tuple, list)) or len(y) != 2:
        raise ValueError(f'give two columns to predict, of times and of events, such as y=("time", "event"), got {y!r}')
    return tuple(y)


def fit(estimator: Any, X: Any, y: Any, checkpoint: Any, checkpoint_seconds: float) -> Any:
    """`train` on the cluster of the current client, if there is one."""
    client = None
    # There is no client, or no such package.
    with contextlib.suppress(ImportError, ValueError):
        client = import_module("distributed").get_client()
    return train(X, y, estimator, client=client, checkpoint=checkpoint, checkpoint_seconds=checkpoint_seconds)


def _blocks(X: Any, y: Any, client: Any) -> tuple[list[tuple[Any, ...]], list[str]]:
    """The blocks of collections of rows and of what is predicted, on the cluster if there is one."""
    if not is_collection(y):
        raise ValueError("y must be a Dask collection too, with the partitions of X")
    if hasattr(X, "chunks") and len(X.chunks) == 2 and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    xs, ys = (list(np.ravel(np.asarray(each.to_delayed(), dtype=object))) for each in (X, y))
    if len(xs) != len(ys):
        raise ValueError(f"X has {len(xs)} partitions, y {len(ys)}; give them the same")
    if client is not None:
        # Kept on the cluster, with the graph they are made from again if workers are lost.
        xs, ys = client.compute(xs), client.compute(ys)
    return list(zip(xs, ys, strict=True)), [f"block {k}" for k in range(len(xs))]
