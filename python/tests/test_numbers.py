"""Numbers and times to predict."""

import os
import pickle
import shutil
import subprocess

import multikernel as mk
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVR

COMMAND = os.environ.get("MULTIKERNEL") or shutil.which("multikernel")
X, y = load_diabetes(return_X_y=True)


def test_mean_deviation_and_evidence_are_those_of_scikit_learn():
    width = 2.5
    ours = mk.MKLRegressor("svm", f"gaussian({width})", scale="none").fit(20 * X[:200], y[:200])
    facts = ours.facts_
    center, spread = y[:200].mean(), y[:200].std()
    noise = float(facts["noise of the numbers"].split()[0]) ** 2
    # The amplitude is found from the variance far away from all training rows.
    far = np.full((1, X.shape[1]), 1e3)
    amplitude = (ours.predict(far, return_std=True)[1][0] / spread) ** 2 - noise
    assert np.isclose(ours.predict(far)[0], center)
    kernel = ConstantKernel(amplitude, "fixed") * RBF(width, "fixed") + WhiteKernel(noise, "fixed")
    theirs = GaussianProcessRegressor(kernel, alpha=0).fit(20 * X[:200], (y[:200] - center) / spread)
    mean, deviation = theirs.predict(20 * X[200:], return_std=True)
    found, wide = ours.predict(20 * X[200:], return_std=True)
    # The noise is printed with four digits.
    assert np.allclose(found, center + spread * mean, rtol=0, atol=2e-2)
    assert np.allclose(wide, spread * deviation, rtol=1e-3)
    assert abs(theirs.log_marginal_likelihood_value_ - float(facts["log evidence of the numbers"])) < 0.02


def test_regression_works_with_the_tools_of_scikit_learn():
    scores = cross_val_score(mk.MKLRegressor("evidence"), X, y, cv=3)
    assert scores.min() > 0.4
    search = GridSearchCV(mk.MKLRegressor("evidence"), {"method": ["average", "evidence"]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.4
    reg = mk.MKLRegressor("evidence").fit(X[:300], y[:300])
    assert np.isclose(reg.score(X[300:], y[300:]), r2_score(y[300:], reg.predict(X[300:])))
    assert np.array_equal(pickle.loads(pickle.dumps(reg)).predict(X), reg.predict(X))


def test_intervals_hold_what_they_say_and_shapes_follow_y():
    reg = mk.MKLRegressor("evidence").fit(X[:300], y[:300])
    bounds = reg.predict_interval(X[300:], 0.9)
    assert bounds.shape == (142, 2)
    inside = (bounds[:, 0] <= y[300:]) & (y[300:] <= bounds[:, 1])
    assert 0.82 < inside.mean() < 0.97
    both = mk.MKLRegressor("evidence").fit(X[:, 1:], np.c_[y, X[:, 0]])
    assert both.predict(X[:5, 1:]).shape == (5, 2)
    assert both.predict_interval(X[:5, 1:]).shape == (5, 2, 2)
    column = mk.MKLRegressor("evidence").fit(X, y[:, None])
    assert column.predict(X[:5]).shape == (5, 1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        reg.predict_interval(X, 1.5)


@pytest.mark.skipif(COMMAND is None, reason="no command line: set MULTIKERNEL or install it")
def test_tables_name_the_target_and_models_are_those_of_the_command_line(tmp_path):
    frame, target = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    reg = mk.MKLRegressor("evidence").fit(frame, target)
    assert reg.model_.numbers == ["target"]
    table, model = tmp_path / "data.csv", tmp_path / "m.multikernel"
    pd.concat([frame, target], axis=1).to_csv(table, index=False)
    words = ["train", table, "--target", "target", "--method", "evidence", "--out", model]
    subprocess.run([COMMAND, *map(str, words)], check=True, capture_output=True)
    loaded = mk.load(model)
    assert isinstance(loaded, mk.MKLRegressor)
    assert np.array_equal(loaded.predict(frame), reg.predict(frame))


def test_evaluate_takes_numbers():
    found = mk.evaluate(X, y, [mk.MKLRegressor("average"), mk.MKLRegressor("evidence")], folds=3)
    assert all(row["r2"]["mean"] > 0.4 and 0.8 < row["coverage"]["mean"] <= 1 for row in found.results)
    assert "r2" in found.to_frame() and "accuracy" not in found.to_frame()
    assert found.raw["target"] == "numbers"
    fractions = mk.evaluate(X, y + 0.5, folds=3)
    assert [row["method"] for row in fractions.results] == ["average", "auto"]
    assert mk.evaluate(X, y, ["average"], target="numbers", folds=3).results[0]["r2"]["mean"] > 0.4
    with pytest.raises(ValueError, match="MKLRegressor"):
        mk.evaluate(X, y, ["average"], folds=3)


def test_methods_say_what_they_predict_and_refuse_the_rest():
    takes = {method["name"]: method["targets"] for method in mk.methods()}
    assert takes["evidence"] == ["classes", "numbers", "times"] and takes["gpc"] == ["classes"]
    assert takes["bm3kl"] == takes["cik"] == ["classes", "numbers"]
    with pytest.raises(ValueError, match=r"gpc does not predict numbers; use .*evidence"):
        mk.MKLRegressor("gpc").fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        mk.MKLRegressor("evidence").fit(X, np.where(np.arange(len(y)) == 3, np.nan, y))


def study(n, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 4))
    own = rng.exponential(np.exp(-rows[:, 0] - 0.7 * rows[:, 1]))
    censored = rng.exponential(3.0, size=n)
    return rows, mk.survival_target(np.minimum(own, censored), own <= censored)


def test_survival_orders_new_rows_and_curves_fall():
    rows, target = study(300, 0)
    est = mk.MKLSurvival("evidence").fit(rows[:200], target[:200])
    truth = mk.MKLSurvival("svm", "linear raw", scale="none").fit(rows[:200], target[:200])
    assert est.score(rows[200:], target[200:]) > 0.7
    assert abs(est.score(rows[200:], target[200:]) - truth.score(rows[200:], target[200:])) < 0.05
    curves = est.predict_survival_function(rows[200:], times=[0.2, 1.0, 5.0])
    assert curves.shape == (100, 3) and (np.diff(curves, axis=1) <= 0).all() and (curves <= 1).all()
    assert est.predict_survival_function(rows[:2]).shape == (2, len(est.event_times_))
    first, last = np.argsort(est.predict(rows[200:]))[[0, -1]]
    assert curves[first, 1] > curves[last, 1]
    assert np.array_equal(pickle.loads(pickle.dumps(est)).predict(rows), est.predict(rows))


def test_linear_kernel_has_the_coefficients_of_ridge_cox():
    """At the chosen amplitude a, a linear kernel is Cox's model with the penalty |beta|^2 / (2 a)."""
    rows, target = study(80, 1)
    est = mk.MKLSurvival("svm", "linear raw", scale="none").fit(rows, target)
    beta = est.predict(np.eye(4))
    order = np.argsort(-target["time"])
    x, event = rows[order], target["event"][order]

    def slope(beta):
        risk = np.exp(x @ beta)
        sums, weighted = np.cumsum(risk), np.cumsum(risk[:, None] * x, axis=0)
        return ((x - weighted / sums[:, None])[event]).sum(axis=0)

    # At the penalised maximum the slope of the partial likelihood is beta / a, with the same a for all columns.
    ratio = slope(beta) / beta
    assert np.ptp(ratio) < 1e-6 * abs(ratio.mean())


def test_survival_targets_that_are_none_are_refused():
    rows, target = study(20, 2)
    with pytest.raises(ValueError, match="survival_target"):
        mk.MKLSurvival("evidence").fit(rows, target["time"])
    with pytest.raises(ValueError, match="20 rows, y 19"):
        mk.MKLSurvival("evidence").fit(rows, target[:19])
    with pytest.raises(ValueError, match="booleans"):
        mk.survival_target([1.0, 2.0], [0, 2])
    with pytest.raises(ValueError, match="no training row has an event"):
        mk.MKLSurvival("evidence").fit(rows, mk.survival_target(target["time"], np.zeros(20, dtype=bool)))


def test_numbers_and_risks_split_into_parts_and_columns_matter(tmp_path):
    reg = mk.MKLRegressor("average", "gaussian(1..3), linear").fit(X[:200, :6], y[:200])
    parts = reg.parts(X[200:, :6], by="kernel")
    assert parts.decisions == ["y"] and len(parts.names) == len(reg.kernels_)
    np.testing.assert_allclose(parts.totals[:, 0], reg.predict(X[200:, :6]), rtol=1e-10)
    found = reg.importance(X[200:, :6], y[200:], repeats=5)
    # Body mass and blood pressure are columns 2 and 3.
    assert {one["name"] for one in found[:2]} == {"x3", "x4"} and found[0]["distinguishable"] and "changed" not in found[0]
    page = mk.report(reg, tmp_path / "numbers.html", X[200:, :6], y[200:]).read_text(encoding="utf-8")
    assert '<section id="residuals"' in page and '<section id="importance"' in page

    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 3))
    times = mk.survival_target(rng.exponential(np.exp(-2 * rows[:, 1])), rng.random(200) < 0.8)
    est = mk.MKLSurvival("average", "gaussian(1..3)").fit(rows[:120], times[:120])
    np.testing.assert_allclose(est.parts(rows[120:]).totals[:, 0], est.predict(rows[120:]), rtol=1e-10, atol=1e-12)
    first = est.importance(rows[120:], times[120:], repeats=5)[0]
    assert first["name"] == "x2" and first["interval"][0] > 0
    page = mk.report(est, tmp_path / "times.html", rows[120:], times[120:]).read_text(encoding="utf-8")
    assert '<section id="survival"' in page
    with pytest.raises(ValueError, match="structured array"):
        est.importance(rows, rows[:, 0])


@pytest.mark.parametrize(("c", "epsilon"), [(1.0, 0.1), (10.0, 0.3), (100.0, 0.02)])
def test_support_vector_regression_is_that_of_libsvm(c, epsilon):
    rows, target = 20 * X[:150], (y[:150] - y[:150].mean()) / y[:150].std()
    params = {"c": c, "epsilon": epsilon, "tol": 1e-7}
    ours = mk.MKLRegressor("simplemkl", "gaussian(2)", params=params, scale="none").fit(rows, target)
    gram = RBF(2.0)(rows).astype(np.float32).astype(float)
    theirs = SVR(kernel="precomputed", C=c, epsilon=epsilon, tol=1e-7).fit(gram, target)
    np.testing.assert_allclose(ours.predict(rows), theirs.predict(gram), atol=2e-5)


def test_squared_loss_is_kernel_ridge_with_an_intercept():
    params = {"c": 5.0, "loss": "squared"}
    ours = mk.MKLRegressor("simplemkl", "gaussian(2)", params=params, scale="none").fit(20 * X[:120], y[:120])
    gram, one = RBF(2.0)(20 * X[:120]), np.ones(120)
    inverse = np.linalg.inv(gram + np.eye(120) / 5)
    bias = one @ inverse @ y[:120] / (one @ inverse @ one)
    np.testing.assert_allclose(ours.predict(20 * X[:120]), gram @ inverse @ (y[:120] - bias) + bias, rtol=1e-8)
    with pytest.raises(AttributeError, match="simplemkl has no distribution of its numbers; evidence"):
        ours.predict_interval(X[:3], 0.9)


@pytest.mark.parametrize("method", ["bemkl", "sbemkl"])
def test_variational_numbers_are_predicted(method):
    reg = mk.MKLRegressor(method).fit(X[:200], y[:200])
    assert r2_score(y[200:], reg.predict(X[200:])) > 0.4


def test_sampled_numbers_have_intervals_and_clustered_ones_have_none():
    for likelihood in ("margin", "normal"):
        params = {"likelihood": likelihood, "chains": 2, "warmup": 20, "draws": 20}
        reg = mk.MKLRegressor("bm3kl", params=params).fit(X[:200], y[:200])
        assert r2_score(y[200:], reg.predict(X[200:])) > 0.4
        low, high = reg.predict_interval(X[200:], 0.9).T
        assert 0.8 < np.mean((low <= y[200:]) & (y[200:] <= high)) < 0.98
    reg = mk.MKLRegressor("cik", params={"epochs": 30}).fit(X[:200], y[:200])
    assert r2_score(y[200:], reg.predict(X[200:])) > 0.2
    with pytest.raises(AttributeError, match="cik has no distribution of its numbers"):
        reg.predict_interval(X[:3], 0.9)


@pytest.mark.parametrize("method", ["mklr", "svimkl"])
def test_likelihood_methods_predict_numbers_and_times(method):
    reg = mk.MKLRegressor(method, params={"landmarks": 60}).fit(X[:200], y[:200])
    assert r2_score(y[200:], reg.predict(X[200:])) > 0.4
    with pytest.raises(AttributeError, match=f"{method} has no distribution of its numbers"):
        reg.predict_interval(X[:3], 0.9)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    target = mk.survival_target(rng.exponential(np.exp(-2 * rows[:, 0])), rng.random(200) < 0.8)
    est = mk.MKLSurvival(method, params={"lambda": 1.0, "landmarks": 60}).fit(rows[:120], target[:120])
    assert est.score(rows[120:], target[120:]) > 0.7
    curves = est.predict_survival_function(rows[120:], times=[0.1, 0.5])
    assert np.all(curves[:, 0] >= curves[:, 1])


def test_counts_on_a_linear_kernel_are_those_of_a_poisson_regression():
    from sklearn.linear_model import PoissonRegressor

    rng = np.random.default_rng(3)
    rows = rng.normal(size=(150, 3))
    counts = rng.poisson(np.exp(1 + rows @ [0.5, -0.3, 0.0]))
    params = {"loss": "poisson", "weights": "uniform", "lambda": 0.7, "tol": 1e-14}
    ours = mk.MKLRegressor("mklr", "linear raw", params=params, scale="none").fit(rows, counts)
    theirs = PoissonRegressor(alpha=2 * 0.7 / 150, tol=1e-10, max_iter=1000).fit(rows, counts)
    np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=1e-5)
    with pytest.raises(ValueError, match="the target 'y' is -1 in row 3"):
        ours.fit(rows, np.where(np.arange(150) == 2, -1, counts))


def test_yes_and_no_are_read_again_at_prediction():
    table = pd.DataFrame({"a": np.arange(40.0) % 7, "b": ["Yes", "No"] * 20})
    target = np.arange(40.0) % 7 + 3.0 * (table["b"] == "Yes")
    reg = mk.MKLRegressor("average").fit(table, target)
    assert r2_score(target, reg.predict(table)) > 0.95
    assert reg.predict(table.iloc[[0]])[0] == reg.predict(table)[0]


def test_numbers_of_a_stream_are_learned_saved_and_gone_on_with(tmp_path):
    order = np.random.default_rng(0).permutation(len(y))
    rows, numbers = X[order], np.c_[y, 5 * X[:, 2] + 1][order]
    for method in ("ufomkl", "mklda"):
        for target in (numbers[:, 0], numbers):
            whole, halves = (mk.OnlineMKLRegressor(method) for _ in range(2))
            whole.partial_fit(rows[:150], target[:150]).partial_fit(rows[150:], target[150:])
            halves.partial_fit(rows[:150], target[:150]).save(tmp_path / "s.multikernel")
            resumed = mk.load(tmp_path / "s.multikernel").partial_fit(rows[150:], target[150:])
            pickled = pickle.loads(pickle.dumps(halves)).partial_fit(rows[150:], target[150:])
            expected = whole.predict(X)
            assert expected.shape == ((442,) if target.ndim == 1 else (442, 2))
            for other in (resumed, pickled):
                assert np.array_equal(other.predict(X), expected)
                assert other.errors_ == whole.errors_
            assert whole.errors_[0]["r2"] > 0.3
            assert len(whole.errors_) == expected.ndim
    assert pickle.loads(pickle.dumps(whole)).errors_ == whole.errors_
    assert isinstance(resumed, mk.OnlineMKLRegressor)


def test_progressive_errors_are_those_of_predictions_before_learning():
    reg = mk.OnlineMKLRegressor(kernels="gaussian(3), linear", update_every=50)
    reg.partial_fit(X[:100], y[:100])
    found = []
    for i in range(100, 160):
        found.append(reg.predict(X[i : i + 1])[0])
        before = reg.errors_[0]["rmse"] ** 2 * i
        reg.partial_fit(X[i : i + 1], y[i : i + 1])
        after = reg.errors_[0]["rmse"] ** 2 * (i + 1)
        assert np.isclose(after - before, (y[i] - found[-1]) ** 2, rtol=1e-6, atol=1e-6 * after)


def test_streams_of_numbers_refuse_what_they_cannot_learn():
    with pytest.raises(ValueError, match=r"the method obscure does not predict numbers; use .*ufomkl"):
        mk.OnlineMKLRegressor("obscure").fit(X, y)
    with pytest.raises(ValueError, match="expected 442 x 1"):
        mk.OnlineMKLRegressor().partial_fit(X, y).partial_fit(X, np.c_[y, y])
    with pytest.raises(AttributeError, match="no distribution"):
        mk.OnlineMKLRegressor().fit(X, y).predict_interval(X)
