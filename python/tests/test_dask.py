"""Evaluations on a Dask cluster of two processes: the same table whoever dies, and never a hang."""

import os
import threading
import time

import multikernel as mk
import numpy as np
import pytest
from multikernel.dask import check
from test_spread import timeless

distributed = pytest.importorskip("distributed")
METHODS = ["average", "evidence"]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("n_killed", [0, 1, 2])
def test_table_is_that_of_one_machine_whoever_dies(client, sonar, n_killed, kill):
    X, y = sonar
    client.wait_for_workers(1, timeout=60)
    killer = threading.Timer(0.5, kill, (client, n_killed))
    killer.start()
    found = mk.evaluate(X, y, METHODS, repeats=12, executor=client, deadline=60)
    killer.join()
    assert timeless(found) == timeless(mk.evaluate(X, y, METHODS, repeats=12))


class Deadly(np.ndarray):
    """Ends the process that unpacks it."""

    def __reduce__(self):
        return os._exit, (1,)


def test_a_part_that_ends_its_workers_is_an_error(client, sonar):
    X, y = sonar
    client.wait_for_workers(1, timeout=60)
    with pytest.raises(RuntimeError, match="too little memory"):
        mk.evaluate(X.view(Deadly), y, ["average"], folds=2, executor=client, deadline=120)


def test_workers_with_another_version_are_named(client, monkeypatch):
    monkeypatch.setattr("multikernel._core.__version__", "0.0.0")
    client.wait_for_workers(1, timeout=60)
    with pytest.raises(RuntimeError, match="is needed on every worker"):
        check(client)


# The last one: workers stay asleep.
def test_workers_that_are_busy_for_ever_are_named(client, sonar):
    X, y = sonar
    client.wait_for_workers(1, timeout=60)
    _busy = client.map(time.sleep, [60] * 4, key=[f"busy-{k}" for k in range(4)], pure=False)
    time.sleep(0.5)
    with pytest.raises(TimeoutError, match="tcp://"):
        mk.evaluate(X, y, METHODS, folds=2, executor=client, deadline=3)
