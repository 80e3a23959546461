"""While it runs: threads, Ctrl-C, progress, time limits."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import multikernel as mk
import numpy as np
import pytest


def test_ctrl_c_ends_a_fit_within_a_second_and_keeps_what_was_learned():
    code = textwrap.dedent(
        """
        import os, signal, sys, threading, time
        import numpy as np
        import multikernel as mk
        X = np.random.default_rng(0).normal(size=(400, 10))
        y = (X[:, 0] > 0).astype(int)
        clf = mk.BM3KL(draws=100000)
        asked = []
        def ask():
            time.sleep(1.5)
            asked.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=ask).start()
        try:
            clf.fit(X, y)
        except KeyboardInterrupt:
            print("waited", time.monotonic() - asked[0])
            print("kept", clf.stopped_, clf.predict(X[:1]).shape)
        """
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "kept" in result.stdout, result.stderr
    assert "cancel" in result.stdout.lower() or "stopp" in result.stdout.lower()


def test_the_interpreter_stays_alive():
    X = np.random.default_rng(0).normal(size=(300, 10))
    y = (X[:, 0] > 0).astype(int)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    mk.BM3KL(draws=20, warmup=20).fit(X, y)
    done.set()
    thread.join()
    assert len(ticks) > 10


def test_time_limit_keeps_what_was_learned():
    X = np.random.default_rng(0).normal(size=(300, 10))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(UserWarning):
        clf = mk.BM3KL(draws=100000, max_seconds=1.0).fit(X, y)
    assert clf.stopped_ != "finished" and clf.predict(X).shape == y.shape


def test_nothing_is_printed_unasked(capfd, sonar):
    mk.AverageMKL().fit(*sonar).predict(sonar[0])
    assert capfd.readouterr() == ("", "")


def test_verbose_tells_the_phases(capfd):
    X = np.random.default_rng(0).normal(size=(300, 10))
    mk.BM3KL(draws=30, warmup=30, verbose=1).fit(X, (X[:, 0] > 0).astype(int))
    assert "[BM3KL]" in capfd.readouterr().err


OPTIONAL = ("pandas", "polars", "matplotlib", "arviz", "xarray", "pyarrow")


def test_import_takes_no_optional_packages():
    def imported(first):
        code = f"import sys; {first}; print([m for m in {OPTIONAL} if m in sys.modules])"
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ}).stdout

    # scikit-learn itself may import pandas; multikernel must not add to it.
    assert imported("import multikernel") == imported("import sklearn.base, joblib")


def test_import_leaves_the_handler_of_interrupts():
    code = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import multikernel
sys.exit(signal.getsignal(signal.SIGINT) is not signal.default_int_handler)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
