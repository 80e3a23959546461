"""Fits that are killed or stopped go on from their checkpoint."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import multikernel as mk
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

#: One estimator of each kind, with settings that make its fit last about a second.
SLOW = """
import sys
import numpy as np
import multikernel as mk

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0).astype(int)
bank = "gaussian(1), linear"
FITS = {
    "classifier": (mk.BM3KL(kernels=bank, draws=800, verbose=1), y),
    "regressor": (mk.MKLRegressor("bemkl", bank, params={"tol": 0, "iterations": 10000}, verbose=1), X[:, 0] * X[:, 1]),
    "survival": (
        mk.MKLSurvival("svimkl", bank, params={"solver": "ascent", "iterations": 3000}, verbose=1),
        mk.survival_target(rng.exponential(np.exp(X[:, 0])), rng.random(60) < 0.8),
    ),
    "clusterer": (mk.DPM(sweeps=300, verbose=1), None),
}
"""

RUN = """
kind, out, checkpoint, seconds = sys.argv[1:]
estimator, target = FITS[kind]
estimator.fit(X, target, checkpoint=checkpoint or None, checkpoint_seconds=float(seconds))
estimator.save(out)
"""


def begun(kind, out, checkpoint="", seconds=0):
    line = [sys.executable, "-c", SLOW + RUN, kind, str(out), str(checkpoint), str(seconds)]
    return subprocess.Popen(line, stderr=subprocess.PIPE, text=True)


def steps_in(checkpoint):
    """The steps that a checkpoint holds."""
    content = checkpoint.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return json.loads(header["__metadata__"]["multikernel"])["values"]["steps"]


@pytest.mark.parametrize("kind", ["classifier", "regressor", "survival", "clusterer"])
def test_a_killed_fit_goes_on_to_the_same_bytes(tmp_path, kind):
    whole, out, checkpoint = (tmp_path / name for name in ("whole", "out", "run"))
    _, said = (process := begun(kind, whole)).communicate()
    assert process.returncode == 0 and "resuming" not in said, said
    reached = [0]
    for _ in range(2):
        process = begun(kind, out, checkpoint)
        # Until a step is stored that this process has made.
        while process.poll() is None and not (checkpoint.exists() and steps_in(checkpoint) != reached[-1]):
            time.sleep(0.002)
        process.kill()
        _, said = process.communicate()
        assert process.returncode == -9 and checkpoint.exists() and not out.exists(), said
        reached.append(steps_in(checkpoint))
    # The second went on from where the first had come to.
    assert reached == sorted(set(reached)), reached
    # A busy disk takes long for each checkpoint.
    _, said = (process := begun(kind, out, checkpoint, seconds=60)).communicate()
    assert process.returncode == 0 and f"resuming from {checkpoint} after step {reached[-1]}" in said, said
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "whole"]


def rows():
    X = np.random.default_rng(0).normal(size=(150, 5))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def stopped(path, **params):
    """A fit that its time limit has stopped, with its checkpoint."""
    clf = mk.BM3KL(draws=100_000, max_seconds=1.0, **params)
    with pytest.warns(UserWarning, match="goes on from .*run"):
        clf.fit(*rows(), checkpoint=path)
    assert clf.stopped_ != "finished" and path.exists()
    return clf


def test_a_stopped_fit_goes_on(tmp_path):
    clf = stopped(tmp_path / "run")
    first = clf.n_iter_
    with pytest.warns(UserWarning, match="goes on from"):
        clf.fit(*rows(), checkpoint=str(tmp_path / "run"))
    assert clf.n_iter_ > first


def test_other_rows_and_settings_are_refused(tmp_path):
    path = tmp_path / "run"
    clf = stopped(path)
    kept, (X, y) = path.read_bytes(), rows()
    other = X.copy()
    other[7, 3] += 1e-9
    with pytest.raises(ValueError, match="run: belongs to another run: its data fingerprint is"):
        clf.fit(other, y, checkpoint=path)
    with pytest.raises(ValueError, match="belongs to another run: its data fingerprint is"):
        clf.fit(X, 1 - y, checkpoint=path)
    for settings, named in [({"scale": "none"}, "scale"), ({"random_state": 1}, "seed"), ({"draws": 99_999}, "draws")]:
        with pytest.raises(ValueError, match=f"belongs to another run: its {named} is"):
            clone(clf).set_params(**settings).fit(X, y, checkpoint=path)
    with pytest.raises(ValueError, match="belongs to another run: its method is `bm3kl`, this run's is `average`"):
        mk.AverageMKL().fit(X, y, checkpoint=path)
    assert path.read_bytes() == kept


def test_an_interrupted_fit_tells_that_its_checkpoints_failed(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()

    def interrupt():
        while not (folder / "run").exists():
            time.sleep(0.01)
        shutil.rmtree(folder)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.warns(UserWarning, match="this checkpoint was not stored"), pytest.raises(KeyboardInterrupt):
        mk.BM3KL(draws=100_000).fit(*rows(), checkpoint=folder / "run", checkpoint_seconds=0)
    thread.join()


def test_files_that_are_no_checkpoints_are_left_alone(tmp_path):
    X, y = rows()
    (tmp_path / "notes").write_text("mine\n")
    with pytest.raises(ValueError, match="notes: exists and looks like"):
        mk.AverageMKL().fit(X, y, checkpoint=tmp_path / "notes")
    mk.AverageMKL().fit(X, y).save(tmp_path / "model")
    with pytest.raises(ValueError, match="model: "):
        mk.AverageMKL().fit(X, y, checkpoint=tmp_path / "model")
    with pytest.raises(ValueError, match="is a folder"):
        mk.AverageMKL().fit(X, y, checkpoint=tmp_path)
    assert (tmp_path / "notes").read_text() == "mine\n"
    assert mk.load(tmp_path / "model").predict(X).shape == y.shape


def test_bad_arguments_are_refused(tmp_path):
    X, y = rows()
    for seed in (None, np.random.RandomState(0)):
        with pytest.raises(ValueError, match="needs a whole number as random_state"):
            mk.AverageMKL(random_state=seed).fit(X, y, checkpoint=tmp_path / "run")
    for seconds in (-1, float("nan")):
        with pytest.raises(ValueError, match="checkpoint_seconds must be 0"):
            mk.AverageMKL().fit(X, y, checkpoint=tmp_path / "run", checkpoint_seconds=seconds)
    with pytest.raises(TypeError, match="PathLike"):
        mk.AverageMKL().fit(X, y, checkpoint=7)


def test_a_checkpoint_is_of_one_fit_at_a_time(tmp_path):
    process = begun("classifier", tmp_path / "out", tmp_path / "run")
    while process.poll() is None and not (tmp_path / "run").exists():
        time.sleep(0.002)
    with pytest.raises(ValueError, match="is being written by another run"):
        mk.AverageMKL().fit(*rows(), checkpoint=tmp_path / "run")
    process.kill()
    process.communicate()


def test_every_estimator_takes_one(tmp_path):
    X, y = rows()
    times = mk.survival_target(1 + np.abs(X[:, 0]), y)
    for estimator, target in [
        (mk.MKLClassifier("average"), y),
        (mk.CombinedKernel(), y),
        (mk.MKLRegressor("evidence"), X[:, 0]),
        (mk.MKLSurvival("evidence"), times),
        (mk.MKLClusterer("dpm", params={"sweeps": 2}), None),
        (mk.MKLOneClass(params={"sweeps": 2}), None),
    ]:
        plain = clone(estimator).fit(X, target).model_.to_bytes()
        assert estimator.fit(X, target, checkpoint=tmp_path / "run").model_.to_bytes() == plain
    assert sorted(tmp_path.iterdir()) == []


def test_through_pipelines_searches_and_routing(tmp_path):
    X, y = rows()
    path = tmp_path / "run"
    pipe = make_pipeline(StandardScaler(), mk.AverageMKL())
    pipe.fit(X, y, averagemkl__checkpoint=path)
    # The folds share the file one after the other.
    GridSearchCV(mk.AverageMKL(), {"c": [1.0, 10.0]}, cv=2).fit(X, y, checkpoint=path)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), mk.BM3KL(draws=100_000, max_seconds=1.0).set_fit_request(checkpoint=True))
        with pytest.warns(UserWarning, match="goes on from"):
            routed.fit(X, y, checkpoint=path)
    assert path.exists()


def test_on_partitions_too(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = rows()
    blocks, target = da.from_array(X, chunks=(50, 5)), da.from_array(y, chunks=50)
    settings = {"landmarks": 20, "iterations": 5}
    plain = mk.MKLR(**settings).fit(blocks, target).model_.to_bytes()
    assert mk.MKLR(**settings).fit(blocks, target, checkpoint=tmp_path / "run", checkpoint_seconds=0).model_.to_bytes() == plain
    with pytest.raises(ValueError, match="checkpoint_seconds must be 0"):
        mk.MKLR(**settings).fit(blocks, target, checkpoint=tmp_path / "run", checkpoint_seconds=-1)
    assert sorted(tmp_path.iterdir()) == []
