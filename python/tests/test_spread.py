"""Evaluations spread over processes, and what comes back."""

import copy
import errno
import itertools
import json
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import joblib
import multikernel as mk
import numpy as np
import pytest
from multikernel import _spread
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


def test_a_client_lost_amid_its_first_part_begins_anew(sonar, tmp_path):
    X, y = sonar
    path = tmp_path / "parts"
    wanted = timeless(mk.evaluate(X, y, METHODS, folds=2))
    for begun in [b"", b"{", b'{"fingerprint": "', b'{"fingerprint": "0123456789abcdef']:
        path.write_bytes(begun)
        with ThreadPoolExecutor(1) as pool:
            assert timeless(mk.evaluate(X, y, METHODS, folds=2, executor=pool, checkpoint=path)) == wanted
    for other in [b'{"fingerprint": "mine"}\n', b"{}", b'{"fingerprint": "' + b"x" * 500]:
        path.write_bytes(other)
        with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="no checkpoint"):
            mk.evaluate(X, y, METHODS, folds=2, executor=pool, checkpoint=path)
        assert path.read_bytes() == other


def test_two_clients_do_not_share_a_checkpoint(sonar, tmp_path):
    X, y = sonar

    class Second(Counting):
        def submit(self, *args, **kwargs):
            if self.count == 0:
                with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="is being written by another run"):
                    mk.evaluate(X, y, METHODS, folds=2, executor=pool, checkpoint=tmp_path / "parts")
            return super().submit(*args, **kwargs)

    with Second() as pool:
        mk.evaluate(X, y, METHODS, folds=2, executor=pool, checkpoint=tmp_path / "parts")
        assert pool.count == 6
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_forged_parts_in_a_checkpoint_are_left_out(sonar, tmp_path):
    X, y = sonar
    path = tmp_path / "parts"
    with ThreadPoolExecutor(1) as pool:
        found = mk.evaluate(X, y, METHODS, folds=2, executor=pool, checkpoint=path)
    whole = path.read_bytes()
    head = json.loads(whole.partition(b"\n")[0])
    changes = [{"size": size} for size in (-1, "9", 1e300, 10**12, 10**30, None, True)]
    changes += [{"plan": [0]}, {"plan": {}}, {"split": "0"}, {"split": None}]
    lines = [json.dumps(head | change).encode() for change in changes] + [b"[" * 100_000, b"null", b"[1]", b"\xff"]
    for line in lines:
        path.write_bytes(whole + line + b"\n")
        with Counting() as pool:
            again = mk.evaluate(X, y, METHODS, folds=2, executor=pool, checkpoint=path)
            assert pool.count == 0
        assert timeless(again) == timeless(found) and path.read_bytes() == whole, line[:80]


def test_a_full_disk_costs_the_checkpoint_alone(sonar, tmp_path, monkeypatch):
    X, y = sonar
    path = tmp_path / "parts"
    append, n = _spread._append, itertools.count()

    def full(file, record):
        if next(n) in (1, 2):
            with pytest.raises(OSError):
                append(Half(file), record)
            raise OSError(errno.ENOSPC, "No space left on device")
        append(file, record)

    class Half:
        """A file on a disk that takes half of what is written."""

        def __init__(self, file):
            self.file, self.is_full = file, False

        def write(self, record):
            if self.is_full:
                raise OSError(errno.ENOSPC, "No space left on device")
            self.is_full = True
            return self.file.write(record[: len(record) // 2])

        def __getattr__(self, name):
            return getattr(self.file, name)

    monkeypatch.setattr(_spread, "_append", full)
    with ThreadPoolExecutor(1) as pool, pytest.warns(UserWarning, match="No space left") as told:
        found = mk.evaluate(X, y, METHODS, folds=4, executor=pool, checkpoint=path)
    assert len(told) == 1 and "the evaluation goes on" in str(told[0].message)
    assert timeless(found) == timeless(mk.evaluate(X, y, METHODS, folds=4))
    # What was stored is whole: two parts are computed again.
    with Counting() as pool:
        mk.evaluate(X, y, METHODS, folds=4, executor=pool, checkpoint=path)
        assert pool.count == 2


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
