"""Arrays stay where they are, and models own what they keep."""

import subprocess
import sys
import textwrap

import multikernel as mk
import numpy as np
import pytest

QUICK = {"bm3kl": {"draws": 4, "warmup": 3, "chains": 2}, "bsvm": {"sweeps": 4, "warmup": 3}}
METHODS = [m["name"] for m in mk.methods()]


@pytest.mark.parametrize("method", METHODS)
def test_a_model_does_not_change_with_the_array_it_was_trained_on(method):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 4)) + 2.0 * y[:, None]
    # Unscaled, so that the library has no reason of its own to copy.
    kind = mk.MKLClassifier if next(m for m in mk.methods() if m["name"] == method)["is_supervised"] else mk.MKLClusterer
    views = {"a": slice(0, 2), "b": slice(2, 4)} if method == "bestview" else None
    clf = kind(method, scale="none", params=QUICK.get(method, {}), views=views).fit(X, y)
    before, new = clf.model_.to_bytes(), X[:5].copy()
    predicted = clf.predict(new)
    X[:] = 0.0
    assert clf.model_.to_bytes() == before
    assert (clf.predict(new) == predicted).all()


def test_gram_matrices_of_a_model_are_its_own():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 4)) + 2.0 * y[:, None]
    K = mk.stack(X @ X.T, (1 + X @ X.T) ** 2)
    clf = mk.SimpleMKL(kernels="precomputed").fit(K, y)
    before = clf.model_.to_bytes()
    K[:] = 0.0
    assert clf.model_.to_bytes() == before


def test_a_gigabyte_is_not_copied():
    """Checked as scikit-learn does and handed to the library, which reads it where it is."""
    code = textwrap.dedent(
        """
        import resource
        import numpy as np
        import multikernel as mk
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        mk.MKLClassifier("average")._rows(np.ones((4, 2)), np.arange(4), reset=True, with_y=True)
        X = np.ones((131_072, 1024))
        before = peak()
        rows, y = mk.MKLClassifier("average")._rows(X, np.arange(len(X)) % 2, reset=True, with_y=True)
        print(X.nbytes / 2**20, peak() - before, rows.n_rows)
        """
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    size, extra, n_rows = map(float, done.stdout.split())
    assert size == 1024 and n_rows == 131_072
    assert extra < 10, f"{extra} MiB more than the matrix"
