"""Within scikit-learn's tools."""

import multiprocessing

import multikernel as mk
import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed, parallel_backend
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.inspection import permutation_importance
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def views(sonar):
    X, _ = sonar
    return mk.Views(low=X[:, :30], high=X[:, 30:])


@pytest.fixture(scope="module")
def grams(sonar):
    X, _ = sonar
    return mk.stack(rbf_kernel(X, gamma=0.1), linear_kernel(X), names=["rbf", "linear"])


def kinds(sonar, views, grams):
    return {
        "table": (sonar[0], None),
        "views": (views, None),
        "stack": (grams, "precomputed"),
    }


@pytest.mark.parametrize("kind", ["table", "views", "stack"])
def test_cross_validation(kind, sonar, views, grams):
    X, kernels = kinds(sonar, views, grams)[kind]
    scores = cross_val_score(mk.MKLClassifier("average", kernels), X, sonar[1], cv=FOLDS)
    assert scores.mean() > 0.7
    predicted = cross_val_predict(mk.MKLClassifier("average", kernels), X, sonar[1], cv=FOLDS)
    assert (predicted == sonar[1]).mean() > 0.7


@pytest.mark.parametrize("kind", ["table", "views", "stack"])
def test_grid_search(kind, sonar, views, grams):
    X, kernels = kinds(sonar, views, grams)[kind]
    search = GridSearchCV(mk.SimpleMKL(kernels=kernels), {"c": [0.1, 10.0]}, cv=3, n_jobs=2).fit(X, sonar[1])
    assert search.best_params_["c"] in (0.1, 10.0)
    params = [{"c": 0.1}, {"c": 10}]
    GridSearchCV(mk.MKLClassifier("average", kernels), {"params": params}, cv=3).fit(X, sonar[1])


@pytest.mark.parametrize("kind", ["table", "views", "stack"])
def test_learning_curve_and_split(kind, sonar, views, grams):
    X, kernels = kinds(sonar, views, grams)[kind]
    sizes, _, test = learning_curve(mk.AverageMKL(kernels=kernels), X, sonar[1], cv=3, train_sizes=[0.5, 1.0])
    assert len(sizes) == 2 and np.isfinite(test).all()
    if kind != "stack":
        train_test_split(X, sonar[1], random_state=0)


def test_pipeline_columns_and_categories(three):
    X, y = three
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["town"] = np.where(y == 0, "Ulm", "Bonn")
    columns = ColumnTransformer([("text", OneHotEncoder(), ["town"])], remainder=StandardScaler())
    assert cross_val_score(make_pipeline(columns, mk.AverageMKL()), frame, y, cv=3).mean() > 0.9


def test_calibrated(three):
    X, y = three
    model = CalibratedClassifierCV(mk.AverageMKL(), cv=3).fit(X, y)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_permutation_importance(three):
    X, y = three
    found = permutation_importance(mk.AverageMKL().fit(X, y), X, y, n_repeats=3, random_state=0)
    # The last column is noise.
    assert found.importances_mean[:3].min() > found.importances_mean[3]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_jobs(backend, three):
    X, y = three
    with parallel_backend(backend, n_jobs=2):
        scores = cross_val_score(mk.EvidenceMKL(), X, y, cv=4)
    assert (scores == cross_val_score(mk.EvidenceMKL(), X, y, cv=4)).all()


def _fit_in_child(data):
    X, y = data
    return mk.MKLClassifier("average", n_jobs=2).fit(X, y).predict(X)


def test_fork(three):
    X, y = three
    here = mk.MKLClassifier("average", n_jobs=2).fit(X, y)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert (pool.apply_async(_fit_in_child, (three,)).get(60) == here.predict(X)).all()
        assert (pool.apply_async(here.predict, (X,)).get(60) == here.predict(X)).all()


def test_threads_together(three):
    X, y = three
    models = Parallel(2, backend="threading")(delayed(clone(mk.EvidenceMKL()).fit)(X, y) for _ in range(4))
    assert all((model.weights_ == models[0].weights_).all() for model in models)


def test_combined_kernel_is_the_weighted_sum(three):
    X, y = three
    scaler = StandardScaler().fit(X)
    kernel = mk.CombinedKernel("evidence", "gaussian(1), gaussian(3)").fit(X, y)
    found = kernel.transform(X[:7])
    Z = scaler.transform(X)
    parts = [rbf_kernel(Z[:7], Z, gamma=1 / (2 * s * s)) for s in (1, 3)]
    wanted = sum(w * part for w, part in zip(kernel.weights_, parts, strict=True))
    assert np.allclose(found, wanted, rtol=1e-10)
    assert make_pipeline(kernel, SVC(kernel="precomputed")).fit(X, y).score(X, y) > 0.9


def test_any_threads_same_bits(three):
    X, y = three
    one, two = (mk.MKLClassifier("bm3kl", params={"draws": 5, "warmup": 5}, n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.model_.to_bytes() == two.model_.to_bytes()


def test_order_of_predicted_rows_does_not_matter(sonar):
    X, y = sonar
    clf = mk.AverageMKL().fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    assert (clf.decision_function(X)[order] == clf.decision_function(X[order])).all()
