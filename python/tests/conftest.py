import contextlib
import os
import signal

import multikernel as mk
import numpy as np
import pytest


@pytest.fixture(scope="session", autouse=True)
def ctrl_c():
    """Ctrl-C interrupts, also in the background of a shell, which ignores it: tests of it would wait for ever."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def sonar():
    return mk.datasets.load_sonar(return_X_y=True)


@pytest.fixture(scope="session")
def three():
    """Three classes in four columns, easily told apart."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 4)) + 2.5 * np.eye(3, 4)[y]
    order = rng.permutation(90)
    return X[order], y[order]


@pytest.fixture(scope="module")
def client():
    """A Dask cluster of two processes on this machine."""
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")

    class Cluster(distributed.LocalCluster):
        """Also hears of the end of a worker whose begin it missed."""

        def _update_worker_status(self, op, msg):
            with contextlib.suppress(KeyError):
                super()._update_worker_status(op, msg)

    # A worker that was killed is started again. On a busy machine that takes longer than the 15 s after which it is given up.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        Cluster(2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def kill():
    """Ends some workers of a cluster as a machine that is switched off does."""

    def kill(client, n):
        for pid in list(client.run(os.getpid).values())[:n]:
            os.kill(pid, signal.SIGKILL)

    return kill
