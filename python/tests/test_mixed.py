"""Tables with categories, words, dates and sequences."""

import os
import pickle
import shutil
import subprocess

import multikernel as mk
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import cross_val_score

COMMAND = os.environ.get("MULTIKERNEL") or shutil.which("multikernel")


@pytest.fixture(scope="module")
def people():
    """Numbers, categories, an order, dates, words and a truth value; the colour and the words tell the class."""
    rng = np.random.default_rng(0)
    n = 120
    y = rng.integers(0, 2, n)
    words = np.array([["cold", "rain", "wind", "dark"], ["warm", "sun", "beach", "light"]])
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "colour": np.where(rng.random(n) < 0.85, np.array(["blue", "red"])[y], "green"),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "said": [" ".join(rng.choice(words[k], 8)) + f" number {i} of many" for i, k in enumerate(y)],
            "member": rng.random(n) < 0.5,
        }
    )
    return frame, y


def test_kinds_are_found_and_classes_learned(people):
    frame, y = people
    clf = mk.EvidenceMKL().fit(frame[:80], y[:80])
    kinds = clf.kinds_
    assert kinds["age"] == "number" and kinds["colour"] == "category" and kinds["said"] == "text"
    assert kinds["size"] == "ordered(S<M<L)" and kinds["day"].startswith("date")
    assert clf.score(frame[80:], y[80:]) > 0.9
    assert any("words(" in kernel for kernel in clf.kernels_)
    assert sum(clf.shares_) == pytest.approx(1)


def test_cross_validation_learns_levels_inside_folds(people):
    frame, y = people
    assert cross_val_score(mk.AverageMKL(), frame, y, cv=4).mean() > 0.9
    shuffled = np.random.default_rng(1).permutation(y)
    assert cross_val_score(mk.AverageMKL(), frame, shuffled, cv=4).mean() < 0.68


def test_kinds_can_be_told(people):
    frame, y = people
    told = frame[["age", "colour"]].assign(code=np.arange(len(y)) % 3)
    guessed = mk.AverageMKL().fit(told, y)
    clf = mk.AverageMKL(kinds={"code": "category"}).fit(told, y)
    assert guessed.kinds_["code"] == "number" and clf.kinds_["code"] == "category"
    with pytest.raises(ValueError, match="wrong"):
        mk.AverageMKL(kinds={"wrong": "category"}).fit(told, y)
    with pytest.raises(ValueError, match="kinds"):
        mk.AverageMKL(kinds={"code": "colour"}).fit(told, y)


def test_levels_never_seen_are_told(people):
    frame, y = people
    clf = mk.AverageMKL().fit(frame[["age", "colour"]], y)
    new = pd.DataFrame({"age": [40.0], "colour": ["violet"]})
    with pytest.warns(UserWarning, match="violet"):
        assert clf.predict(new).shape == (1,)


def test_missing_cells_of_any_kind(people):
    frame, y = people
    holes = frame.copy()
    holes.loc[3, "colour"] = None
    holes.loc[4, "day"] = pd.NaT
    holes.loc[5, "said"] = None
    holes.loc[6, "size"] = np.nan
    clf = mk.AverageMKL().fit(holes, y)
    assert clf.predict(holes).shape == y.shape


def test_pandas_and_polars_give_the_same_model(people):
    frame, y = people
    plain = frame[["age", "colour", "said", "member"]]
    one = mk.EvidenceMKL().fit(plain, y)
    two = mk.EvidenceMKL().fit(pl.from_pandas(plain), y)
    assert one.model_.to_bytes() == two.model_.to_bytes()
    assert (one.predict(plain) == two.predict(pl.from_pandas(plain))).all()


def test_pickled_and_saved(people, tmp_path):
    frame, y = people
    clf = mk.EvidenceMKL(proba=True).fit(frame, y)
    clf.save(tmp_path / "m.multikernel")
    for again in (pickle.loads(pickle.dumps(clf)), mk.load(tmp_path / "m.multikernel")):
        assert (again.predict_proba(frame) == clf.predict_proba(frame)).all()


def test_other_columns_and_objects_are_refused(people):
    frame, y = people
    clf = mk.AverageMKL().fit(frame[["age", "colour"]], y)
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[["colour"]])
    with pytest.raises(ValueError, match="list"):
        mk.AverageMKL().fit(frame[["age"]].assign(odd=[[1]] * len(y)), y)


def test_columns_called_by_numbers(people):
    frame, y = people
    numbered = frame[["age", "colour"]].set_axis([0, 1], axis=1)
    clf = mk.AverageMKL(kinds={"1": "category"}).fit(numbered, y)
    assert clf.kinds_ == {"0": "number", "1": "category"} and clf.predict(numbered).shape == y.shape


def test_arrays_have_no_kinds(people):
    frame, y = people
    with pytest.raises(ValueError, match="DataFrame"):
        mk.AverageMKL(kinds={"x1": "category"}).fit(frame[["age"]].to_numpy(), y)
    with pytest.raises(ValueError, match="give a table"):
        mk.AverageMKL().fit(frame[["age", "colour"]], y).predict(frame[["age", "colour"]].to_numpy())


@pytest.mark.parametrize("columns", [["age", "member"], ["age", "colour"]])
def test_a_stream_of_tables(people, columns):
    frame, y = people
    online = mk.OnlineMKLClassifier().partial_fit(frame[columns][:60], y[:60])
    # The levels of a batch come in another order, and one batch lacks some.
    online.partial_fit(frame[columns][60:90], y[60:90]).partial_fit(frame[columns][90:91], y[90:91])
    again = pickle.loads(pickle.dumps(online))
    assert (again.predict(frame[columns]) == online.predict(frame[columns])).all()
    if "colour" in columns:
        assert online.score(frame[columns], y) > 0.85


@pytest.mark.skipif(COMMAND is None, reason="no command line: set MULTIKERNEL or install it")
def test_a_model_of_the_command_line_predicts_the_same_here(people, tmp_path):
    frame, y = people
    table = frame.assign(label=np.where(y == 1, "warm", "cold"))
    table.to_csv(tmp_path / "people.csv", index=False)
    model = tmp_path / "m.multikernel"
    run = [COMMAND, "train", tmp_path / "people.csv", "--label", "label", "--method", "evidence", "--out", model]
    subprocess.run(run, check=True, capture_output=True)
    subprocess.run([COMMAND, "predict", model, tmp_path / "people.csv", "--out", tmp_path / "p.csv"], check=True)
    clf = mk.load(model)
    assert set(clf.kinds_) == set(frame.columns)
    read = pd.read_csv(tmp_path / "people.csv").drop(columns="label")
    assert clf.predict(read).tolist() == pd.read_csv(tmp_path / "p.csv").iloc[:, -1].tolist()
