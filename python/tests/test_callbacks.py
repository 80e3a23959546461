"""scikit-learn's callbacks, where it has them."""

import multikernel as mk
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")


class Recorder:
    """Notes the tasks it hears of; asks to stop after so many steps."""

    def __init__(self, most=None):
        self.most, self.begun, self.ended, self.names = most, 0, 0, []

    def setup(self, estimator, context):
        self.names.append("setup")

    def teardown(self, estimator, context):
        self.names.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.begun += 1
        self.names.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended += 1
        return self.most is not None and self.names.count("step") >= self.most


def rows():
    X = np.random.default_rng(0).normal(size=(300, 10))
    return X, (X[:, 0] > 0).astype(int)


def test_a_fit_is_a_tree_of_tasks():
    seen = Recorder()
    clf = mk.BM3KL(draws=30, warmup=30, chains=2).set_callbacks(seen)
    clf.fit(*rows())
    assert seen.names[0] == "setup" and seen.names[1] == "fit" and seen.names[-1] == "teardown"
    assert seen.begun == seen.ended
    assert seen.names.count("step") > 3
    assert clf.stopped_ == "finished"


def test_a_callback_can_end_a_fit():
    seen = Recorder(most=2)
    clf = mk.BM3KL(draws=2000).set_callbacks(seen)
    clf.fit(*rows())
    assert clf.stopped_ != "finished" and clf.predict(rows()[0][:2]).shape == (2,)
    assert seen.names[-1] == "teardown"


def test_short_fits_and_clusterings_are_heard_of():
    for estimator in (mk.AverageMKL(), mk.DPM(sweeps=2)):
        seen = Recorder()
        estimator.set_callbacks(seen).fit(*rows())
        assert seen.names[1] == "fit" and seen.begun == seen.ended


def test_callbacks_inside_a_grid_search():
    seen = Recorder()
    search = GridSearchCV(mk.AverageMKL(), {"c": [1.0, 10.0]}, cv=2)
    search.set_callbacks(seen) if hasattr(search, "set_callbacks") else search.estimator.set_callbacks(seen)
    search.fit(*rows())
    assert search.best_params_["c"] in (1.0, 10.0) and seen.begun == seen.ended


def test_progress_bar(capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    mk.BM3KL(draws=20, warmup=20).set_callbacks(ProgressBar()).fit(*rows())
    assert "BM3KL" in capsys.readouterr().out
