"""Decisions split into the parts of views and kernels."""

import multikernel as mk
import numpy as np
import pytest


@pytest.fixture(scope="module")
def sonar():
    return mk.datasets.load_sonar(return_X_y=True)


def test_parts_add_up_to_the_decision(sonar):
    X, y = sonar
    clf = mk.MKLClassifier(
        "evidence", "gaussian(median*2^-1..2^1) each view", views={"low": slice(0, 30), "high": slice(30, 60)}
    ).fit(X, y)
    parts = clf.parts(X)
    assert parts.names == ["low", "high"] and parts.values.shape == (208, 1, 2)
    np.testing.assert_allclose(parts.totals[:, 0], clf.decision_function(X), rtol=1e-10, atol=1e-12)
    assert parts.decisions == [(clf.classes_[1], clf.classes_[0])]
    by_kernel = clf.parts(X, by="kernel")
    assert by_kernel.names == clf.kernels_
    np.testing.assert_allclose(by_kernel.totals, parts.totals, rtol=1e-10, atol=1e-12)
    frame = parts.to_frame()
    assert list(frame.columns) == ["low", "high", "bias", "decision"]
    np.testing.assert_allclose(frame[["low", "high", "bias"]].sum(axis=1), frame["decision"])


def test_classes_one_against_one_and_each(sonar):
    X, y = mk.datasets.load_glass6(return_X_y=True)
    pairs = mk.MKLClassifier("average").fit(X, y).parts(X[:5], by="kernel")
    n = len(np.unique(y))
    assert len(pairs.decisions) == n * (n - 1) // 2 and all(len(pair) == 2 for pair in pairs.decisions)
    each = mk.MKLClassifier("bemkl", "gaussian(1..2)").fit(X, y)
    parts = each.parts(X)
    np.testing.assert_allclose(
        parts.totals, each.decision_function(X)[:, np.searchsorted(each.classes_, parts.decisions)], rtol=1e-9
    )


def test_no_sum_no_parts(sonar):
    X, y = sonar
    clf = mk.MKLClassifier("majority").fit(X, y)
    with pytest.raises(ValueError, match="no sums over kernels"):
        clf.parts(X)
    with pytest.raises(ValueError, match="by must be"):
        mk.MKLClassifier("average").fit(X, y).parts(X, by="column")


def test_strip_of_samples(sonar):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = sonar
    clf = mk.MKLClassifier("average", "gaussian(1..4), linear").fit(X, y)
    ax = mk.plot.parts(clf, X, by="kernel")
    (image,) = ax.get_images()
    found = np.asarray(image.get_array())
    parts = clf.parts(X, by="kernel")
    assert found.shape == (5, 208)
    sums = found.sum(axis=0) + parts.biases[0]
    assert (np.diff(sums) >= -1e-12).all()
    np.testing.assert_allclose(sums, np.sort(parts.totals[:, 0]), atol=1e-12)
