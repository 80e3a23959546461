"""Pages about models and evaluations, and which columns matter."""

import json
import re

import multikernel as mk
import numpy as np
import pytest


@pytest.fixture(scope="module")
def sonar():
    return mk.datasets.load_sonar(return_X_y=True)


def data_of(page):
    """The JSON that a page carries along."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))


def test_page_of_an_evaluation_holds_its_numbers(sonar, tmp_path):
    X, y = sonar
    found = mk.evaluate(X, y, ["majority", "average"], folds=3, proba=True)
    page = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert data_of(page) == found.raw
    assert len(page) < 1_000_000 and "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    for section in ("verdict", "methods", "confusion", "curves", "calibration", "settings"):
        assert f'<section id="{section}"' in page
    with pytest.raises(ValueError, match="needs no rows"):
        mk.report(found, tmp_path / "page.html", X)


def test_page_of_an_estimator_by_rows(sonar, tmp_path):
    X, y = sonar
    clf = mk.MKLClassifier("evidence", "gaussian(median*2^-1..2^1) each view", views={"low": slice(0, 30), "high": slice(30, 60)})
    clf.fit(X[::2], y[::2])
    bare = mk.report(clf, tmp_path / "bare.html").read_text(encoding="utf-8")
    full = mk.report(clf, tmp_path / "full.html", X[1::2], y[1::2]).read_text(encoding="utf-8")
    assert "Shares by row" in full and "Shares by row" not in bare
    assert '<section id="importance"' in full and '<section id="confusion"' in full
    with pytest.raises(TypeError, match="Evaluation"):
        mk.report(3, tmp_path / "page.html")


def test_names_of_a_table_do_not_become_markup(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["<script>alert(1)</script>", "b" * 200])
    y = np.where(X.iloc[:, 0] > 0, "<b>yes", "no & never")
    clf = mk.MKLClassifier("average", "gaussian(1..2) each").fit(X, y)
    page = mk.report(clf, tmp_path / "page.html", X, y).read_text(encoding="utf-8")
    assert "<script>alert" not in page and "<b>yes" not in page and "&lt;b&gt;yes" in page


def test_importance_of_columns_views_and_sets(sonar):
    X, y = sonar
    clf = mk.MKLClassifier("average", views={"low": slice(0, 30), "high": slice(30, 60)}).fit(X[::2], y[::2])
    views = clf.importance(X[1::2], y[1::2], by="views", repeats=3)
    assert {row["name"] for row in views} == {"low", "high"} and views[0]["drop"] >= views[1]["drop"]
    assert views[0]["interval"][0] <= views[0]["drop"] <= views[0]["interval"][1]
    sets = clf.importance(X[1::2], y[1::2], by={"all": range(60)}, repeats=3)
    assert sets[0]["drop"] > 0.1 and sets[0]["n_columns"] == 60
    columns = clf.importance(X[1::2], y[1::2], repeats=1)
    assert len(columns) == 60
    with pytest.raises(ValueError, match="by must be"):
        clf.importance(X, y, by="rows")
    with pytest.raises(ValueError, match="must have columns from 0 to 59"):
        clf.importance(X, y, by={"a": [60]})
