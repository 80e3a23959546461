"""Evaluation, posterior, plots, lists, clusters."""

import importlib.util
import pathlib

import multikernel as mk
import numpy as np
import pytest


def test_evaluate(sonar):
    X, y = sonar
    found = mk.evaluate(X, y, ["majority", mk.MKLClassifier("average", params={"c": 50})], folds=3)
    assert [row["method"] for row in found.results] == ["majority", "average"]
    assert found.paired and "average" in repr(found)
    assert len(found.to_frame()) == 2
    assert "<pre>" in found._repr_html_()


def test_auto_is_the_default(three):
    X, y = three
    clf = mk.MKLClassifier().fit(X, y)
    assert clf.method == "auto" and "left out" in clf.facts_["candidates"]
    assert np.allclose(clf.predict_proba(X).sum(axis=1), 1)
    assert mk.MKLRegressor().method == mk.MKLSurvival().method == "auto"
    found = mk.evaluate(X, y, folds=2)
    assert [row["method"] for row in found.results] == ["majority", "average", "auto"]
    # One Gram matrix leaves nothing to weigh.
    K = mk.stack(X @ X.T)
    only = mk.MKLClassifier(kernels="precomputed").fit(K, y)
    assert only.facts_["kept"].startswith("average (1 kernel")
    # Too few rows for inner folds: the plain sum, and it is told.
    few = [0, *np.flatnonzero(y != y[0])[:3]]
    tiny = mk.MKLClassifier().fit(X[few], y[few])
    assert tiny.facts_["kept"].startswith("average") and "not compared" in tiny.facts_["candidates"]


def test_search_compares_banks(three):
    X, y = three
    banks = {"noise": "linear on [3]", "widths": "gaussian(median*2^-1..2^1)", "again": "gaussian(median*2^-1..2^1)"}
    found = mk.search(X, y, banks, "average")
    assert [row["method"] for row in found.results] == list(banks)
    assert found.best == {"method": "widths", "level": ["again"]}
    unnamed = mk.search(X, y, list(banks.values()), "average")
    assert unnamed.best == {"method": "bank 2", "level": ["bank 3"]}
    for wrong in ["linear", ["linear"]]:
        with pytest.raises(ValueError, match="two banks or more"):
            mk.search(X, y, wrong)


def test_evaluate_keeps_groups_together(three):
    X, y = three
    groups = np.arange(90) // 3
    found = mk.evaluate(X, y, ["average"], folds=3, groups=groups)
    assert len(found.results) == 1


def test_evaluate_views(sonar):
    X, y = sonar
    found = mk.evaluate(mk.Views(low=X[:, :30], high=X[:, 30:]), y, ["average"], folds=3, ablate="views")
    assert len(found.results) >= 3


def test_posterior(sonar):
    X, y = sonar
    clf = mk.BM3KL(draws=10, warmup=5, chains=2, kernels="gaussian(1..3)").fit(X, y)
    draws = clf.posterior_dict()
    dims, values = draws["posterior"]["weights"]
    assert dims[:2] == ("chain", "draw") and values.shape == (2, 10, 3)
    assert np.allclose(values.sum(axis=-1), 1)
    assert np.allclose(values.mean(axis=(0, 1)), clf.weights_, atol=1e-6)
    level, bounds = clf.intervals_["level"], clf.intervals_["bounds"]
    assert 0 < level < 1 and (bounds[:, 0] <= bounds[:, 1]).all()


def test_datatree(sonar):
    pytest.importorskip("arviz_base")
    X, y = sonar
    tree = mk.BM3KL(draws=10, warmup=5, chains=2, kernels="gaussian(1..3)").fit(X, y).posterior()
    assert tree["posterior"]["weights"].shape == (2, 10, 3)


def test_plots(sonar, three):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    X, y = sonar
    clf = mk.EvidenceMKL(proba=True, views={"low": slice(0, 30), "high": slice(30, 60)}).fit(X, y)
    for ax in (
        mk.plot.weights(clf),
        mk.plot.weights(mk.BM3KL(draws=5, warmup=5).fit(X, y)),
        mk.plot.shares(clf),
        mk.plot.shares(clf, by="kernel"),
        mk.plot.calibration(clf, X, y),
        mk.plot.paired(mk.evaluate(X, y, ["majority", "average"], folds=3)),
        mk.plot.boundary(mk.AverageMKL().fit(three[0][:, :2], three[1]), three[0][:, :2], three[1], resolution=20),
    ):
        assert ax.figure is not None
    plt.close("all")


def test_clusters(three):
    X, y = three
    found = mk.MKLClusterer("dpm").fit(X)
    assert found.labels_.shape == y.shape and found.n_clusters_ >= 2
    assert (found.predict(X) == found.labels_).mean() > 0.9
    far = found.score_samples(np.full((1, 4), 100.0))
    assert far[0] < found.score_samples(X).min()
    assert (mk.DPM().fit_predict(X) == found.labels_).all()


def test_outliers():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(300, 3)), rng.normal(size=(2000, 3))
    est = mk.MKLOneClass(quantile=0.1).fit(X)
    # 300 rows know a share of 0.1 to 0.017, 2,000 tell it to 0.007.
    assert abs((est.predict(new) == -1).mean() - 0.1) < 3 * 0.019
    assert ((est.typical(new) < 0.1) == (est.predict(new) == -1)).all()
    assert (est.predict(new + 9) == -1).all() and (est.decision_function(new + 9) < 0).all()
    with pytest.raises(ValueError, match=r"quantile is 1\.5"):
        mk.MKLOneClass(quantile=1.5).fit(X)
    with pytest.raises(AttributeError, match="take dpm"):
        mk.MKLOneClass("mkc").fit(X)


def test_lists(capsys):
    assert len(mk.methods()) == 32 and "bm3kl" in repr(mk.methods())
    assert any(kernel["name"] == "gaussian" for kernel in mk.kernels())
    mk.show_versions()
    assert "multikernel" in capsys.readouterr().out
    assert set(mk.datasets.names()) >= {"sonar", "wdbc", "ionosphere"}


@pytest.mark.parametrize(
    "tool, page", [("methods", "python/multikernel/_methods.pyi"), ("api", "docs/python/api.md")], ids=["methods", "api"]
)
def test_generated_files_are_in_step(tool, page):
    root = pathlib.Path(__file__).parents[2]
    spec = importlib.util.spec_from_file_location(tool, root / "python" / "tools" / f"{tool}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (root / page).read_text() == module.main(), f"run python python/tools/{tool}.py > {page}"
