"""An evaluation spread over processes or machines."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from . import _core
from ._estimators import MKLClassifier, _depth, class_texts
from ._progress import printer
from ._targets import MKLRegressor, default_names, target_names

#: How often a part is tried again after its worker was lost.
RETRIES = 2
#: Parts that are under way at a time, for each worker: enough to keep it busy, few enough to hold little.
AHEAD = 2


class Job:
    """What `multikernel.evaluate` was asked for, as it travels to where it is done."""

    def __init__(
        self,
        X: Any,
        y: Any,
        methods: Sequence[Any] | None,
        *,
        kernels: str | None,
        views: Mapping[str, Any] | None,
        folds: int,
        repeats: int | None,
        train_fraction: float,
        groups: Any,
        ablate: str | None,
        target: str | None,
        proba: bool,
        random_state: int,
    ) -> None:
        if ablate not in (None, "views"):
            raise ValueError(f"ablate must be None or 'views', got {ablate!r}")
        if target not in (None, "classes", "numbers"):
            raise ValueError(f"target must be None, 'classes' or 'numbers', got {target!r}")
        if isinstance(methods, (str, MKLClassifier, MKLRegressor)):
            methods = [methods]
        guess = any(isinstance(method, MKLRegressor) for method in methods or []) or _is_continuous(y)
        self.of_numbers = guess if target is None else target == "numbers"
        if methods is None:
            baselines = ("average",) if self.of_numbers else ("majority", "average")
            methods = ("auto",) if ablate else (*baselines, "auto")
        shared: dict[str, Any] = {"views": views, "random_state": random_state}
        if not self.of_numbers:
            shared["proba"] = proba
        self.kind: Any = MKLRegressor if self.of_numbers else MKLClassifier
        self.estimators = [_estimator(method, kernels, self.kind, shared) for method in methods]
        self.titles: Sequence[str] | None = None
        if not self.estimators:
            raise ValueError("evaluate needs at least one method")
        self.X, self.y, self.views = X, y, views
        self.is_precomputed = kernels == "precomputed"
        self.options: dict[str, Any] = {
            "folds": folds,
            "n_repeats": repeats,
            "train_fraction": train_fraction,
            "ablate": ablate is not None,
            "seed": random_state,
            "groups": None if groups is None else [str(group) for group in np.asarray(groups).tolist()],
        }

    def evaluating(self) -> _core.Evaluating:
        """The evaluation in the compiled part."""
        host = self.kind(kernels="precomputed" if self.is_precomputed else None, views=self.views)
        called = target_names(self.y)
        rows, y = host._rows(self.X, self.y, reset=True, with_y=True)
        given: dict[str, Any] = {}
        classes, codes = [], None
        if self.of_numbers:
            values = np.ascontiguousarray(np.asarray(y, dtype=np.float64).reshape(len(y), -1))
            given["numbers"] = (called or default_names(values), values)
        else:
            check_classification_targets(y)
            found_classes, found_codes = np.unique(y, return_inverse=True)
            classes, codes = class_texts(found_classes), found_codes.astype(np.int64)
        names = [f"K{m + 1}" for m in range(_depth(self.X))]
        plans = [estimator._plan(names) for estimator in self.estimators]
        if self.titles is not None:
            plans = [plan.titled(title) for plan, title in zip(plans, self.titles, strict=True)]
        return _core.Evaluating(plans, rows, classes, codes, **given, **self.options)


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


#: The evaluation that this process last worked on, by its key.
_known: dict[str, _core.Evaluating] = {}


def run_part(key: str, pickled: bytes, plan: int, split: int, threads: int) -> bytes:
    """One part, on any machine that has the package. The job is unpacked once by each process."""
    if key not in _known:
        _known.clear()
        _known[key] = pickle.loads(pickled).evaluating()
    limits = MKLClassifier(n_jobs=threads)._limits()
    return _known[key].run(plan, split, limits)


def spread(
    job: Job, executor: Any, *, checkpoint: Any, deadline: float | None, n_jobs: int | None, verbose: int
) -> tuple[str, str]:
    """Runs all parts elsewhere; returns JSON and text of the whole."""
    evaluating = job.evaluating()
    fingerprint, parts = evaluating.parts()
    stored = Stored(checkpoint, fingerprint)
    pickled = pickle.dumps(job)
    key = hashlib.sha256(pickled).hexdigest()
    tell = printer("evaluate") if verbose else None
    # Two clients would cut off each other's parts.
    with nullcontext() if checkpoint is None else closing(_core.Claim(checkpoint)):
        done = stored.read()
        left = [part for part in parts if part not in done]
        for part, content in _results(executor, key, pickled, left, n_jobs or 1, deadline):
            done[part] = content
            stored.add(part, content)
            if tell is not None:
                tell("parts", len(done), len(parts))
    return evaluating.join([done[part] for part in parts])


Part = tuple[int, int]


def _results(
    executor: Any, key: str, pickled: bytes, parts: list[Part], threads: int, deadline: float | None
) -> Iterator[tuple[Part, bytes]]:
    module = type(executor).__module__.partition(".")[0]
    if module == "joblib":
        from joblib import delayed

        found = executor(delayed(run_part)(key, pickled, plan, split, threads) for plan, split in parts)
        yield from zip(parts, found, strict=True)
    elif module == "distributed":
        from .dask import results

        yield from results(executor, key, pickled, parts, threads, deadline)
    elif hasattr(executor, "submit"):
        yield from _pool(executor, key, pickled, parts, threads, deadline)
    else:
        raise TypeError(
            "executor must be a concurrent.futures executor, a joblib.Parallel or the Client of a Dask cluster, got "
            f"{type(executor).__name__}"
        )


def in_turn(
    parts: list[Part],
    width: int,
    submit: Callable[[Part], Any],
    wait: Callable[[list[Any]], Any],
    late: Callable[[list[Part]], str],
) -> Iterator[tuple[Part, Any]]:
    """Futures of parts as they are done, `width` of them under way at a time. `wait` returns those that are done, none if that
    takes too long."""
    waiting, running = list(reversed(parts)), dict[Any, Part]()
    try:
        while waiting or running:
            while waiting and len(running) < width:
                part = waiting.pop()
                running[submit(part)] = part
            finished = wait(list(running))
            if not finished:
                raise TimeoutError(late(list(running.values())))
            for future in finished:
                yield running.pop(future), future
    finally:
        for future in running:
            future.cancel()


def _pool(executor: Any, key: str, pickled: bytes, parts: list[Part], threads: int, deadline: float | None) -> Iterator[Any]:
    from concurrent.futures import FIRST_COMPLETED, wait

    width = AHEAD * int(getattr(executor, "_max_workers", 8))
    turns = in_turn(
        parts,
        width,
        lambda part: executor.submit(run_part, key, pickled, *part, threads),
        lambda running: wait(running, timeout=deadline, return_when=FIRST_COMPLETED).done,
        lambda open_parts: late(open_parts, deadline, "the executor"),
    )
    for part, future in turns:
        yield part, future.result()


def late(parts: list[Part], deadline: float | None, where: str) -> str:
    """What to say when nothing was done in time."""
    first = ", ".join(f"method {plan} on split {split}" for plan, split in parts[:5])
    more = f" and {len(parts) - 5} more" if len(parts) > 5 else ""
    return f"no part was done in {deadline} s; open on {where}: {first}{more}; raise deadline, or look at the workers"


class Stored:
    """Finished parts in a file: a line of JSON, then the bytes of the part, and so on. What a lost client had not written
    whole is cut off."""

    def __init__(self, path: Any, fingerprint: str) -> None:
        self.path = None if path is None else Path(path)
        self.fingerprint = fingerprint
        self._is_failing = False

    def read(self) -> dict[Part, bytes]:
        found: dict[Part, bytes] = {}
        if self.path is None or not self.path.exists():
            return found
        end = 0
        with self.path.open("r+b") as file:
            length = os.fstat(file.fileno()).st_size
            while line := file.readline():
                head = _head(line)
                if head is None:
                    if end == 0 and not _is_begun(line):
                        raise ValueError(f"{self.path} is no checkpoint of an evaluation; give another file")
                    break
                if head["fingerprint"] != self.fingerprint:
                    raise ValueError(f"{self.path} holds parts of another evaluation; give another file, or remove it")
                # A size that lies would take memory.
                if head["size"] > length - file.tell():
                    break
                found[head["plan"], head["split"]], end = file.read(head["size"]), file.tell()
            file.truncate(end)
        return found

    def add(self, part: Part, content: bytes) -> None:
        """Appends a part. A disk that is full for a while must not cost the evaluation: told once, and what was written of
        the part is taken back."""
        if self.path is None:
            return
        head = {"fingerprint": self.fingerprint, "plan": part[0], "split": part[1], "size": len(content)}
        try:
            with self.path.open("ab", buffering=0) as file:
                _append(file, json.dumps(head).encode() + b"\n" + content)
        except OSError as error:
            if not self._is_failing:
                message = f"this part was not stored in {self.path}, the evaluation goes on: {error}"
                warnings.warn(message, UserWarning, stacklevel=5)
            self._is_failing = True
        else:
            self._is_failing = False


#: How every checkpoint begins.
BEGIN = b'{"fingerprint": "'


def _is_begun(line: bytes) -> bool:
    """Whether a client was lost amid the first line."""
    return BEGIN.startswith(line[: len(BEGIN)]) and len(line) < 200 and not line.endswith(b"\n")


def _head(line: bytes) -> dict[str, Any] | None:
    """The line before a part, if it is one."""
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        return None
    numbers = [head.get(name) for name in ("plan", "split", "size")] if isinstance(head, dict) else [None]
    is_whole = all(type(number) is int and number >= 0 for number in numbers)
    return head if is_whole and isinstance(head.get("fingerprint"), str) else None


def _append(file: Any, record: bytes) -> None:
    """Writes all of a record or none of it."""
    begin, left = file.tell(), memoryview(record)
    try:
        while left:
            left = left[file.write(left) :]
    except OSError:
        file.truncate(begin)
        raise
