"""Every kind of input."""

import multikernel as mk
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp


def test_tables_of_all_kinds_give_the_same_model(three):
    X, y = three
    frame = pd.DataFrame(X, columns=list("abcd"))
    tables = [frame, pl.DataFrame(X, schema=list("abcd")), pa.table({c: X[:, j] for j, c in enumerate("abcd")})]
    fitted = [mk.EvidenceMKL().fit(table, y) for table in tables]
    assert len({model.model_.to_bytes() for model in fitted}) == 1
    predicted = [model.predict(table) for model, table in zip(fitted, tables, strict=True)]
    assert all((one == predicted[0]).all() for one in predicted)


@pytest.mark.parametrize("layout", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_rows_are_as_good_as_dense(three, layout):
    X, y = three
    X = np.where(np.abs(X) < 0.5, 0, X)
    dense, sparse = mk.AverageMKL().fit(X, y), mk.AverageMKL().fit(layout(X), y)
    assert np.allclose(dense.decision_function(X), sparse.decision_function(layout(X)), atol=1e-8)


def test_missing_values_are_filled_and_kept_apart(three):
    X, y = three
    holes = X.copy()
    holes[::7, 1] = np.nan
    assert mk.AverageMKL().fit(holes, y).score(holes, y) > 0.9


def test_views_by_columns_and_as_tables_agree(three):
    X, y = three
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_columns = mk.EvidenceMKL(views={"left": ["a", "b"], "right": slice(2, 4)}).fit(frame, y)
    tables = mk.Views(left=frame[["a", "b"]], right=frame[["c", "d"]])
    by_tables = mk.EvidenceMKL().fit(tables, y)
    # The names of columns differ, nothing else.
    assert (by_columns.weights_ == by_tables.weights_).all() and (by_columns.shares_ == by_tables.shares_).all()
    assert (by_columns.decision_function(frame) == by_tables.decision_function(tables)).all()
    assert set(by_columns.view_shares_) == {"left", "right"}
    assert sum(by_columns.view_shares_.values()) == pytest.approx(1)
    # Sparse rows have views too.
    by_sparse = mk.EvidenceMKL(views={"left": [0, 1], "right": slice(2, 4)}, scale="none").fit(sp.csr_array(X), y)
    dense = mk.EvidenceMKL(views={"left": [0, 1], "right": slice(2, 4)}, scale="none").fit(X, y)
    assert (
        np.allclose(by_sparse.weights_, dense.weights_, rtol=1e-6) and by_sparse.view_shares_.keys() == dense.view_shares_.keys()
    )


def test_outer_join_keeps_absent_views_absent():
    left = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["s1", "s2", "s3"])
    right = pd.DataFrame({"b": [5.0, 6.0]}, index=["s3", "s9"])
    outer = mk.Views(left=left, right=right)
    assert list(outer.index) == ["s1", "s2", "s3", "s9"]
    assert np.isnan(outer.values[[0, 1], 1]).all() and np.isnan(outer.values[3, 0])
    inner = mk.Views(left=left, right=right, how="inner")
    assert list(inner.index) == ["s3"] and inner.values.tolist() == [[3.0, 5.0]]


def test_predicting_with_one_view_alone(three):
    X, y = three
    frame = pd.DataFrame(X, columns=list("abcd"))
    clf = mk.EvidenceMKL().fit(mk.Views(left=frame[["a", "b"]], right=frame[["c", "d"]]), y)
    assert clf.predict(mk.Views(left=frame[["a", "b"]])).shape == y.shape
    assert clf.predict({"right": frame[["c", "d"]]}).shape == y.shape


@pytest.mark.parametrize(
    "y",
    [
        np.array(["b", "a"] * 20),
        np.array([3, -1] * 20),
        np.array([True, False] * 20),
        np.array([0.0, 1.0] * 20),
        pd.Series(["x", "y"] * 20, dtype="category"),
        np.array(["b", "a"] * 20, dtype=object),
        np.array([10, 9] * 20),
    ],
)
def test_labels_of_any_type_come_back(y):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[::2] += 3
    clf = mk.AverageMKL().fit(X, y)
    assert (clf.predict(X) == np.asarray(y)).all()
    assert (clf.classes_ == np.unique(np.asarray(y))).all()
    assert ((clf.decision_function(X) > 0) == (np.asarray(y) == clf.classes_[1])).all()


def test_probabilities_agree_with_predictions(sonar):
    X, y = sonar
    clf = mk.AverageMKL(proba=True).fit(X, y)
    probabilities = clf.predict_proba(X)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert (clf.classes_[probabilities.argmax(axis=1)] == clf.predict(X)).all()
    with pytest.raises(AttributeError) as error:
        mk.AverageMKL().predict_proba(X)
    assert "proba=True" in str(error.value.__cause__)


def test_stacks_of_grams(three):
    X, y = three
    K1, K2 = X @ X.T, np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))
    clf = mk.SimpleMKL(kernels="precomputed", kernel_names=["lin", "rbf"]).fit(mk.stack(K1, K2), y)
    assert len(clf.kernels_) == 2 and "lin" in clf.kernels_[0]
    assert (clf.predict(mk.stack(K1[:5], K2[:5])) == clf.predict(mk.stack(K1, K2))[:5]).all()
