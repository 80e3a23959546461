"""Evaluations spread over processes, and what comes back."""

import copy
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import joblib
import multikernel as mk
import numpy as np
import pytest
from sklearn.datasets import load_diabetes

METHODS = ["majority", "average", "evidence"]


def timeless(found):
    """All that an evaluation tells but seconds."""
    raw = copy.deepcopy(found.raw)

    def strip(value):
        if isinstance(value, dict):
            return {name: strip(inner) for name, inner in value.items() if "seconds" not in name}
        return [strip(inner) for inner in value] if isinstance(value, list) else value

    return strip(raw)


class Counting(ThreadPoolExecutor):
    """Counts what it is given, and may break."""

    def __init__(self, most=None):
        super().__init__(2)
        self.count, self.most = 0, most

    def submit(self, *args, **kwargs):
        if self.count == self.most:
            raise ConnectionError("the cluster is gone")
        self.count += 1
        return super().submit(*args, **kwargs)


def test_table_is_that_of_one_machine(sonar):
    X, y = sonar
    here = mk.evaluate(X, y, METHODS, folds=3, proba=True)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert timeless(mk.evaluate(X, y, METHODS, folds=3, proba=True, executor=pool)) == timeless(here)
    with joblib.Parallel(2) as parallel:
        assert timeless(mk.evaluate(X, y, METHODS, folds=3, proba=True, executor=parallel)) == timeless(here)


def test_views_numbers_and_repeats_are_spread_too(sonar):
    X, y = sonar
    views = {"low": slice(0, 30), "high": slice(30, 60)}
    with ThreadPoolExecutor(2) as pool:
        for data, options in [
            ((X, y, "average"), {"views": views, "ablate": "views", "repeats": 3}),
            ((*load_diabetes(return_X_y=True), ["average"]), {"folds": 2, "target": "numbers"}),
        ]:
            assert timeless(mk.evaluate(*data, **options, executor=pool)) == timeless(mk.evaluate(*data, **options))


def test_a_lost_client_goes_on_from_its_checkpoint(sonar, tmp_path):
    X, y = sonar
    path = tmp_path / "parts"
    with pytest.raises(ConnectionError), Counting(most=7) as pool:
        mk.evaluate(X, y, METHODS, folds=4, executor=pool, checkpoint=path)
    # What was being written when the client was lost.
    stored = path.read_bytes()
    path.write_bytes(stored + b'{"fingerprint": "')
    with Counting() as pool:
        found = mk.evaluate(X, y, METHODS, folds=4, executor=pool, checkpoint=path)
        assert 0 < pool.count < 12
    assert timeless(found) == timeless(mk.evaluate(X, y, METHODS, folds=4))
    with Counting() as pool:
        mk.evaluate(X, y, METHODS, folds=4, executor=pool, checkpoint=path)
        assert pool.count == 0
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match="another evaluation"):
            mk.evaluate(X, y, METHODS, folds=3, executor=pool, checkpoint=path)
        path.write_text("my notes")
        with pytest.raises(ValueError, match="no checkpoint"):
            mk.evaluate(X, y, METHODS, folds=3, executor=pool, checkpoint=path)
        assert path.read_text() == "my notes"


def test_nothing_in_time_is_an_error_that_names_the_parts(sonar):
    X, y = sonar

    class Stuck:
        def submit(self, *args, **kwargs):
            return Future()

    with pytest.raises(TimeoutError, match="method 0 on split 0"):
        mk.evaluate(X, y, METHODS, folds=2, executor=Stuck(), deadline=0.1)
    with pytest.raises(TypeError, match="Client of a Dask cluster"):
        mk.evaluate(X, y, METHODS, executor=np)
    with pytest.raises(ValueError, match="deadline"):
        mk.evaluate(X, y, METHODS, executor=Stuck(), max_seconds=3)
    with pytest.raises(ValueError, match="with an executor"):
        mk.evaluate(X, y, METHODS, checkpoint="parts")
