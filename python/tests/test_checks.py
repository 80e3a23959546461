"""scikit-learn's own checks on every class."""

import os

import multikernel as mk
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks


@pytest.fixture(scope="module", autouse=True)
def one_processor():
    """Each worker of pytest-xdist on a processor of its own: the threads of several on all of them wait for one another."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if not worker.isdigit() or not hasattr(os, "sched_setaffinity"):
        yield
        return
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(every)[int(worker) % len(every)]})
    yield
    os.sched_setaffinity(0, every)


#: A bank for methods that work long on each kernel; the others have their own.
FEW = "gaussian(1), gaussian(4), linear"
#: Quick settings for methods that sample or take many steps.
QUICK = {
    "AutoMKL": {"effort": "quick"},
    "BankMKL": {"frequencies": 64, "warmup": 10, "sweeps": 20},
    "BM3KL": {"kernels": FEW, "chains": 2, "warmup": 5, "draws": 5},
    "BSVM": {"warmup": 5, "sweeps": 5},
    "MKC": {"clusters": 3},
    "DPM": {"sweeps": 3},
    "GPC": {"kernels": FEW},
    "BestView": {"views": {"first": slice(0, 1), "rest": slice(1, None)}},
}


def estimators():
    yield mk.MKLClassifier("average")
    yield mk.MKLClassifier("evidence", proba=True)
    yield mk.MKLClassifier("average", kernels="precomputed")
    yield mk.MKLClusterer("dpm", params={"sweeps": 3})
    yield mk.MKLOneClass(params={"sweeps": 3})
    yield mk.OnlineMKLClassifier()
    yield mk.OnlineMKLRegressor()
    yield mk.CombinedKernel()
    yield mk.MKLRegressor("evidence")
    yield mk.MKLRegressor("average", kernels="gaussian(1), linear")
    for name in mk._methods.__all__:
        cls = getattr(mk, name)
        known = cls._get_param_names()
        yield cls(**{key: value for key, value in QUICK.get(name, {}).items() if key in known})


def expected(estimator):
    """Checks that cannot pass, each with the reason."""
    failed = {}
    if getattr(estimator, "method", None) == "majority":
        failed["check_classifiers_train"] = "the most frequent class is right for a third of the rows"
        failed["check_classifiers_classes"] = "it predicts one class only"
        failed["check_classifiers_regression_target"] = "it predicts one class only"
    if getattr(estimator, "kernels", None) == "precomputed":
        failed["check_positive_only_tag_during_fit"] = "a Gram matrix has no negative number on its diagonal"
    if getattr(estimator, "method", None) == "bestview":
        failed["check_fit2d_1feature"] = "it chooses among views, and one column makes one view"
        failed["check_classifiers_train"] = "it decides by one view, here one column of two"
    return failed


@parametrize_with_checks(list(estimators()), expected_failed_checks=expected)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_every_method_has_a_class():
    assert sorted(getattr(mk, name).method for name in mk._methods.__all__) == sorted(m["name"] for m in mk.methods())


@pytest.mark.parametrize("name", mk._methods.__all__)
def test_defaults_are_the_library_s(name):
    cls = getattr(mk, name)
    settings = dict(cls()._plan().settings())
    plain = dict(mk._core.Plan(cls.method).settings())
    assert settings == plain
