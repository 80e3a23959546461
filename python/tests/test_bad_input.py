"""Bad input: a clear exception, and the process goes on."""

import multikernel as mk
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

X = np.random.default_rng(0).normal(size=(20, 3))
y = np.array([0, 1] * 10)
K = X @ X.T
frame = pd.DataFrame(X, columns=list("abc"))


def fitted(**settings):
    return mk.MKLClassifier("average", **settings).fit(X, y)


def grams():
    return mk.MKLClassifier("average", "precomputed").fit(mk.stack(K, K + 1), y)


CASES = {
    "one dimension": (lambda: fitted().predict(X[0]), "Reshape your data"),
    "no rows": (lambda: mk.MKLClassifier("average").fit(X[:0], y[:0]), "0 sample"),
    "no columns": (lambda: mk.MKLClassifier("average").fit(X[:, :0], y), "0 feature"),
    "fewer labels": (lambda: mk.MKLClassifier("average").fit(X, y[:-1]), "inconsistent numbers of samples"),
    "labels in two columns": (lambda: mk.MKLClassifier("average").fit(X, np.c_[y, y]), "y should be a 1d array"),
    "no labels": (lambda: mk.MKLClassifier("average").fit(X, None), "y"),
    "one class": (lambda: mk.MKLClassifier("average").fit(X, np.zeros(20)), "class"),
    "continuous labels": (lambda: mk.MKLClassifier("average").fit(X, y + 0.5 * np.arange(20)), "Unknown label type"),
    "label NaN": (lambda: mk.MKLClassifier("average").fit(X, np.where(y, np.nan, 1.0)), "NaN"),
    "complex": (lambda: mk.MKLClassifier("average").fit(X + 1j, y), "Complex data"),
    "infinite": (lambda: mk.MKLClassifier("average").fit(np.where(X > 1, np.inf, X), y), "inf"),
    "infinite at predict": (lambda: fitted().predict(np.full((1, 3), np.inf)), "inf"),
    "text": (lambda: mk.MKLClassifier("average").fit(np.array([["a"] * 3] * 20), y), "a"),
    "objects": (lambda: mk.MKLClassifier("average").fit(np.array([[{}] * 3] * 20, dtype=object), y), "dict"),
    "text column": (lambda: mk.MKLClassifier("average").fit(frame.assign(town=[["Ulm"]] * len(frame)), y), "list"),
    "ragged": (lambda: mk.MKLClassifier("average").fit([[1, 2], [3]], [0, 1]), "inhomogeneous"),
    "other number of columns": (lambda: fitted().predict(X[:, :2]), "2 features"),
    "other names": (
        lambda: mk.MKLClassifier("average").fit(frame, y).predict(frame.rename(columns={"a": "z"})),
        "feature names should match",
    ),
    "names in another order": (
        lambda: mk.MKLClassifier("average").fit(frame, y).predict(frame[["c", "b", "a"]]),
        "feature names",
    ),
    "unknown method": (lambda: mk.MKLClassifier("simplemlk").fit(X, y), "simplemkl"),
    "unknown parameter": (lambda: mk.MKLClassifier("average", params={"C": 1}).fit(X, y), "c"),
    "parameter out of range": (lambda: mk.SimpleMKL(c=-1.0).fit(X, y), "c"),
    "parameter of another type": (lambda: mk.SimpleMKL(c="much").fit(X, y), "much"),
    "unknown kernel": (lambda: mk.MKLClassifier("average", kernels="gausian(1)").fit(X, y), "gaussian"),
    "kernels cut off": (lambda: mk.MKLClassifier("average", kernels="gaussian(").fit(X, y), "gaussian"),
    "kernels for a method of rows": (lambda: mk.MKLClassifier("majority", "linear").fit(X, y), "kernels"),
    "unknown scale": (lambda: mk.MKLClassifier("average", scale="big").fit(X, y), "scale"),
    "unknown missing": (lambda: mk.MKLClassifier("average", missing="ignore").fit(X, y), "missing"),
    "unknown precision": (lambda: mk.MKLClassifier("average", precision="f16").fit(X, y), "precision"),
    "negative seed": (lambda: mk.MKLClassifier("average", random_state=-1).fit(X, y), "random_state"),
    "negative time": (lambda: mk.MKLClassifier("average", max_seconds=-1).fit(X, y), "second"),
    "Gram not square": (lambda: mk.MKLClassifier("average", kernels="precomputed").fit(mk.stack(K[:, :5]), y), "square"),
    "Gram not symmetric": (
        lambda: mk.MKLClassifier("average", kernels="precomputed").fit(mk.stack(K + np.triu(K)), y),
        "symmetric",
    ),
    "Gram with NaN": (
        lambda: mk.MKLClassifier("average", kernels="precomputed").fit(mk.stack(np.where(K > 1, np.nan, K)), y),
        "NaN",
    ),
    "Grams of other rows": (lambda: grams().predict(mk.stack(K[:2, :5], K[:2, :5])), "20"),
    "fewer Grams": (lambda: grams().predict(mk.stack(K)), "kernels"),
    "shapes of Grams differ": (lambda: mk.stack(K, K[:5]), "shape"),
    "views that are no mapping": (lambda: mk.MKLClassifier("average", views=3).fit(X, y), "views must map names to columns"),
    "view without columns": (lambda: mk.MKLClassifier("average", views={"a": []}).fit(X, y), "no columns"),
    "view of an absent column": (lambda: mk.MKLClassifier("average", views={"v": ["z"]}).fit(frame, y), "'z'"),
    "column in two views": (lambda: mk.MKLClassifier("average", views={"v": ["a"], "w": ["a"]}).fit(frame, y), "another view"),
    "unknown view": (
        lambda: mk.MKLClassifier("average").fit(mk.Views(a=X, b=X), y).predict(mk.Views(c=X)),
        "unknown to the model",
    ),
    "views of other lengths": (lambda: mk.Views(a=X, b=X[:5]), "as many rows"),
    "index twice": (lambda: mk.Views(a=frame.set_axis(["s"] * 20)), "same index"),
    "new class in a stream": (
        lambda: mk.OnlineMKLClassifier().partial_fit(X, y, classes=[0, 1]).partial_fit(X, y + 1),
        "classes",
    ),
    "stream by a method of all rows": (lambda: mk.OnlineMKLClassifier("evidence").partial_fit(X, y), "stream"),
    "sparse with NaN": (lambda: mk.MKLClassifier("average").fit(sp.csr_matrix(np.where(X > 1, np.nan, X)), y), "missing"),
    "clusters of a classifier": (lambda: mk.MKLClusterer("svm").fit(X), "class|cluster"),
    "unknown data set": (lambda: mk.datasets.load("iris2"), "iris2"),
    "posterior of a method without": (lambda: fitted().posterior_dict(), "posterior"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_with_its_reason(name):
    call, reason = CASES[name]
    with pytest.raises((ValueError, TypeError), match=f"(?i){reason}"):
        call()
    # The process goes on.
    assert fitted().score(X, y) > 0.5


@pytest.mark.parametrize("call", ["predict", "decision_function", "predict_proba"])
def test_unfitted(call):
    with pytest.raises(NotFittedError):
        getattr(mk.MKLClassifier("average", proba=True), call)(X)


@pytest.mark.parametrize("name", ["weights_", "kernels_", "shares_", "n_iter_", "stopped_"])
def test_unfitted_attributes(name):
    with pytest.raises(NotFittedError):
        getattr(mk.MKLClassifier("average"), name)
    assert not hasattr(mk.MKLClassifier("average"), "classes_")


def test_too_little_memory_is_an_exception():
    big = np.random.default_rng(0).normal(size=(3000, 2))
    with pytest.raises(MemoryError):
        mk.BM3KL(memory=1_000_000).fit(big, np.arange(3000) % 2)
