"""Evaluations on a Dask cluster.

``mk.evaluate(X, y, methods, executor=client)`` runs each method on each split as a task of its own. No task is tied to a
worker and none keeps anything there, so a lost worker costs the tasks it was running, and Dask's own rescheduling does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from . import _core
from ._spread import AHEAD, RETRIES, Part, in_turn, late, run_part


def _version() -> str:
    return _core.__version__


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
                    f"method {part[0]} on split {part[1]} ended each worker it ran on, the last {killed.last_worker}: probably "
                    "they have too little memory; give them more, or fewer rows"
                ) from killed
            yield part, content
            future.release()
    finally:
        client.cancel([rows], force=True)
