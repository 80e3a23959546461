"""Files, pickles and the command line."""

import copy
import os
import pickle
import shutil
import subprocess

import joblib
import multikernel as mk
import numpy as np
import pandas as pd
import pytest

COMMAND = os.environ.get("MULTIKERNEL") or shutil.which("multikernel")
# bestview needs views and has a test of its own.
CLASSIFIERS = [m["name"] for m in mk.methods() if m["is_supervised"] and m["name"] != "bestview"]
NEEDS_COMMAND = pytest.mark.skipif(COMMAND is None, reason="no command line: set MULTIKERNEL or install it")
QUICK = {
    "bm3kl": {"draws": 4, "warmup": 3, "chains": 2},
    "bsvm": {"sweeps": 4, "warmup": 3},
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A set of two classes as a file and as a frame."""
    frame = mk.datasets.load("sonar", as_frame=True).data.iloc[::2, :8].reset_index(drop=True)
    y = mk.datasets.load("sonar", as_frame=True).target.iloc[::2].reset_index(drop=True)
    frame.attrs["name"] = "part"
    path = tmp_path_factory.mktemp("data") / "part.csv"
    pd.concat([frame, y.rename("label")], axis=1).to_csv(path, index=False)
    return frame, y.rename("label"), path


def command(*words):
    subprocess.run([COMMAND, *map(str, words), "--seed", "3"], check=True, capture_output=True)


@NEEDS_COMMAND
@pytest.mark.parametrize("method", CLASSIFIERS)
def test_python_and_the_command_line_write_the_same_bytes(method, table, tmp_path):
    frame, y, path = table
    params = QUICK.get(method, {})
    out = tmp_path / "cli.multikernel"
    sets = [word for key, value in params.items() for word in ("--set", f"{key}={value}")]
    command("train", path, "--method", method, "--out", out, "--label", "label", *sets)
    clf = mk.MKLClassifier(method, params=params, random_state=3).fit(frame, y)
    assert clf.model_.to_bytes() == out.read_bytes()
    assert (mk.load(out).predict(frame) == clf.predict(frame)).all()


@NEEDS_COMMAND
@pytest.mark.parametrize("method", ["bestview", "evidence", "simplemkl"])
def test_views_have_the_same_bytes(method, table, tmp_path):
    frame, y, _ = table
    index = pd.Index([f"s{i}" for i in range(len(frame))], name="id")
    first, second, labels = (part.set_axis(index) for part in (frame.iloc[:, :3], frame.iloc[:, 3:], y))
    for name, part in {"first": first, "second": second, "labels": labels}.items():
        part.to_csv(tmp_path / f"{name}.csv")
    out = tmp_path / "cli.multikernel"
    files = [word for name in ("first", "second") for word in ("--view", f"{name}={tmp_path / name}.csv")]
    command("train", *files, "--labels", tmp_path / "labels.csv", "--method", method, "--out", out)
    X = mk.Views(first=first, second=second)
    clf = mk.MKLClassifier(method, random_state=3).fit(X, labels)
    assert clf.model_.to_bytes() == out.read_bytes()
    assert (mk.load(out).predict(X) == clf.predict(X)).all()


@NEEDS_COMMAND
@pytest.mark.parametrize("method", ["dpm", "mkc"])
def test_clusterings_have_the_same_bytes(method, table, tmp_path):
    frame, _, _ = table
    frame.to_csv(tmp_path / "part.csv", index=False)
    out = tmp_path / "cli.multikernel"
    command("cluster", tmp_path / "part.csv", "--method", method, "--model", out, "--out", tmp_path / "clusters.csv")
    found = mk.MKLClusterer(method, random_state=3).fit(frame)
    assert found.model_.to_bytes() == out.read_bytes()
    assert (mk.load(out).predict(frame) == found.predict(frame)).all()


@NEEDS_COMMAND
def test_the_command_line_predicts_with_models_of_python(table, tmp_path):
    frame, y, path = table
    clf = mk.SimpleMKL(log="all", top_variance=5, scale="none").fit(frame, y)
    clf.save(tmp_path / "m.multikernel")
    subprocess.run([COMMAND, "predict", tmp_path / "m.multikernel", path, "--out", tmp_path / "p.csv"], check=True)
    assert pd.read_csv(tmp_path / "p.csv").iloc[:, -1].tolist() == clf.predict(frame).tolist()


def test_saved_and_loaded_predict_alike(table, tmp_path):
    frame, y, _ = table
    clf = mk.EvidenceMKL(proba=True).fit(frame, y)
    clf.save(tmp_path / "m.multikernel")
    back = mk.load(tmp_path / "m.multikernel")
    assert (back.predict_proba(frame) == clf.predict_proba(frame)).all()
    assert back.kernels_ == clf.kernels_ and (back.weights_ == clf.weights_).all()


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_pickle_and_deepcopy(again, table):
    frame, y, _ = table
    clf = mk.SimpleMKL(c=3.0).fit(frame, y)
    twin = again(clf)
    assert twin.get_params() == clf.get_params()
    assert twin.model_.to_bytes() == clf.model_.to_bytes()
    assert (twin.predict(frame) == clf.predict(frame)).all()


def test_joblib(table, tmp_path):
    frame, y, _ = table
    clf = mk.AverageMKL().fit(frame, y)
    joblib.dump(clf, tmp_path / "m.joblib")
    assert (joblib.load(tmp_path / "m.joblib").predict(frame) == clf.predict(frame)).all()


def test_a_stream_goes_on_after_pickle_and_file(tmp_path):
    X, y = mk.datasets.load_wdbc(return_X_y=True)
    whole = mk.OnlineMKLClassifier(budget=100)
    halves = mk.OnlineMKLClassifier(budget=100)
    whole.partial_fit(X[:200], y[:200], classes=["B", "M"])
    halves.partial_fit(X[:200], y[:200], classes=["B", "M"])
    halves = pickle.loads(pickle.dumps(halves))
    whole.partial_fit(X[200:400], y[200:400])
    halves.partial_fit(X[200:400], y[200:400])
    assert whole._model().to_bytes() == halves._model().to_bytes()
    halves.save(tmp_path / "s.multikernel")
    resumed = mk.load(tmp_path / "s.multikernel").partial_fit(X[400:], y[400:])
    whole.partial_fit(X[400:], y[400:])
    assert resumed._model().to_bytes() == whole._model().to_bytes()
    assert whole.score(X, y) > 0.9


def test_model_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "no").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="no"):
        mk.load(tmp_path / "no")
    with pytest.raises(OSError):
        mk.load(tmp_path / "absent")


def test_numbers_as_classes_come_back_from_files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 3 * np.eye(2)[np.repeat([0, 1], 30)]
    y = np.repeat([9, 10], 30)
    mk.AverageMKL().fit(X, y).save(tmp_path / "n.multikernel")
    back = mk.load(tmp_path / "n.multikernel")
    assert back.classes_.tolist() == [9, 10] and (back.predict(X) == y).mean() > 0.9
