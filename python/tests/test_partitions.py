"""Training on partitions: the same model as in one process, whoever dies, and never a hang."""

import os
import re
import threading

import multikernel as mk
import numpy as np
import pytest
from multikernel import dask as on_dask
from multikernel._partitions import Here, Stored, Training
from multikernel.dask import Cluster, train

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore")
# Few steps: each asks a cluster twice.
SETTINGS = {"landmarks": 40, "iterations": 6}


@pytest.fixture(scope="module")
def rows():
    """Two classes that a product of columns tells apart, with gaps, and a column that says nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)) * [1, 1, 30] + [0, 0, 500]
    y = np.where(X[:, 0] * X[:, 1] > 0, "up", "down")
    X[::50, 2] = np.nan
    return X, y


@pytest.fixture(scope="module")
def tables(rows, tmp_path_factory):
    """Three files of 300 rows."""
    X, y = rows
    folder = tmp_path_factory.mktemp("tables")
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(way=y)
    for k in range(3):
        table[300 * k : 300 * (k + 1)].to_csv(folder / f"rows-{k}.csv", index=False)
    return folder


def classifier(**more):
    return mk.MKLClassifier("mklr", "gaussian(1, 4), linear", params={**SETTINGS, **more})


@pytest.fixture(scope="module")
def here(tables):
    """The model of one process."""
    return train(f"{tables}/*.csv", "way", classifier())


def test_model_of_files_is_like_any_other(rows, here, tmp_path):
    X, y = rows
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    assert here.score(table, y) > 0.95
    assert list(here.classes_) == ["down", "up"] and list(here.feature_names_in_) == ["a", "b", "c"]
    assert here.predict_proba(table).shape == (900, 2)
    assert here.facts_["rows"] == "900 in partitions"
    assert here.kernels_[int(np.argmax(here.weights_))].startswith("gaussian")
    here.save(tmp_path / "model")
    assert (mk.load(tmp_path / "model").predict(table) == here.predict(table)).all()
    with pytest.raises(ValueError, match="feature names"):
        here.predict(table.rename(columns={"a": "z"}))


def test_classes_are_those_of_a_fit_on_all_rows(rows, tmp_path):
    X, y = rows[0][:150], rows[1][:150] == "up"
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    # All rows are landmarks, so that both have the same; the optimum is unique.
    made = [mk.MKLClassifier("mklr", "gaussian(1, 4), linear", params={"tol": 1e-12}) for _ in range(2)]
    found = train(tmp_path / "rows.npy", -1, made[0], rows=70).decision_function(X)
    whole = made[1].fit(X, y).decision_function(X)
    assert np.abs(found - whole).max() < 1e-3 * np.abs(whole).max()


def test_formats_of_the_same_rows_have_the_same_model(rows, tables, here, tmp_path):
    pytest.importorskip("pyarrow")
    X, y = rows
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(way=y)
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=150)
    found = train(tmp_path / "rows.parquet", "way", classifier(), rows=300)
    assert found.model_.to_bytes() == here.model_.to_bytes()
    np.save(tmp_path / "rows.npy", np.column_stack([X, y == "up"]))
    found = train(tmp_path / "rows.npy", estimator=classifier(), rows=300)
    assert np.allclose(found.decision_function(X), here.decision_function(table[["a", "b", "c"]]), rtol=0, atol=1e-12)


def test_evidence_is_that_of_a_fit_with_landmarks(rows, tmp_path):
    X, y = rows[0][:200, :2], rows[1][:200] == "up"
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    # All rows are landmarks, so that both have the same sums to rounding.
    made = [mk.MKLClassifier("evidence", "gaussian(1, 4), linear", params={"landmarks": 200}) for _ in range(2)]
    found, whole = train(tmp_path / "rows.npy", -1, made[0], rows=70), made[1].fit(X, y)
    scores = whole.decision_function(X)
    assert np.abs(found.decision_function(X) - scores).max() < 1e-6 * np.abs(scores).max()
    assert found.score(X, y) > 0.95 and np.allclose(found.weights_, whole.weights_, rtol=0, atol=1e-6)
    assert found.facts_["rows"] == "200 in partitions" and found.facts_["landmarks"] == "200"


@pytest.mark.parametrize("loss", ["gaussian", "poisson"])
def test_numbers_and_counts_are_those_of_a_fit_on_all_rows(tmp_path, loss):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1] / 2
    y = rng.poisson(np.exp(f)) if loss == "poisson" else 50 + 10 * f + rng.normal(size=200)
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    # All rows are landmarks, so that both have the same; the optimum is unique.
    made = [mk.MKLRegressor("mklr", "gaussian(1, 2), linear", params={"tol": 1e-12, "loss": loss}) for _ in range(2)]
    found, whole = train(tmp_path / "rows.npy", -1, made[0], rows=70).predict(X), made[1].fit(X, y).predict(X)
    assert np.abs(found - whole).max() < 1e-3 * np.abs(whole).max()
    assert found.shape == (200,) and made[0].score(X, y) > 0.4


@pytest.fixture(scope="module")
def study():
    """Rows whose events come the earlier the larger the first column, with ties; a third is censored."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(240, 2))
    return X, np.ceil(20 * rng.exponential(np.exp(-X[:, 0]))), rng.random(240) < 0.67


def survival(**more):
    return mk.MKLSurvival("mklr", "gaussian(1, 4), linear", params=more)


def test_times_are_those_of_a_fit_on_all_rows(study, tmp_path):
    X, time, event = (values[:150] for values in study)
    np.save(tmp_path / "rows.npy", np.column_stack([time, X, event]))
    found = train(tmp_path / "rows.npy", (0, -1), survival(tol=1e-12), rows=60)
    y = mk.survival_target(time, event)
    # All rows are landmarks, so that both have the same; the optimum is unique.
    whole = survival(tol=1e-12).fit(X, y)
    assert np.abs(found.predict(X) - whole.predict(X)).max() < 1e-3 * np.abs(whole.predict(X)).max()
    assert (found.event_times_ == whole.event_times_).all()
    curves = [each.predict_survival_function(X, [2.0, 9.0, 30.0]) for each in (found, whole)]
    assert np.abs(curves[0] - curves[1]).max() < 1e-3
    assert found.score(X, y) > 0.65
    assert found.facts_["events"] == f"{event.sum()} of 150 rows"
    assert found.facts_["log risks"][:22] == whole.facts_["log risks"][:22]


def test_formats_of_times_have_the_same_model(study, tmp_path):
    array, frames = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    X, time, event = study
    table = pd.DataFrame(X, columns=["a", "b"]).assign(died=event.astype(int), days=time)
    for k in range(2):
        table[120 * k : 120 * (k + 1)].to_csv(tmp_path / f"rows-{k}.csv", index=False)
    here = train(f"{tmp_path}/*.csv", ("days", "died"), survival(**SETTINGS)).model_.to_bytes()
    table["died"] = table["died"] == 1
    blocks = frames.from_pandas(table, npartitions=2)
    found = train(blocks[["a", "b"]], blocks[["days", "died"]], survival(**SETTINGS))
    assert found.model_.to_bytes() == here
    plain = [
        train(array.from_array(X, chunks=(120, 2)), array.from_array(y, chunks=120), survival(**SETTINGS))
        for y in (mk.survival_target(time, event), np.rec.fromarrays([time, event], names="t,e"))
    ]
    assert plain[0].model_.to_bytes() == plain[1].model_.to_bytes()
    assert np.allclose(plain[0].predict(X), found.predict(table[["a", "b"]]), rtol=0, atol=1e-9)


def test_arrays_give_targets_no_name(study):
    array = pytest.importorskip("dask.array")
    X, time, _ = study
    y = array.from_array(time, chunks=120)
    found = train(array.from_array(X, chunks=(120, 2)), y, mk.MKLRegressor("mklr", "linear", params=SETTINGS))
    assert found.model_.numbers == ["y"]


def test_times_that_are_none_are_named(study, tmp_path):
    X, time, event = study
    for y in (None, -1, (0, 1, 2)):
        with pytest.raises(ValueError, match=r"give two columns to predict, of times and of events"):
            train("rows.npy", y, survival())
    with pytest.raises(ValueError, match="are for MKLSurvival"):
        train("rows.npy", (0, 1), classifier())
    for column, told in (
        (0, r"rows\.npy \[100:200\]: the target of row 50 is .*-1"),
        (3, r"rows\.npy \[100:200\]: event must hold booleans"),
    ):
        bad = np.column_stack([time, X, event])
        bad[150, column] = -1.0
        np.save(tmp_path / "rows.npy", bad)
        with pytest.raises(ValueError, match=told):
            train(tmp_path / "rows.npy", (0, 3), survival(), rows=100)
    np.save(tmp_path / "rows.npy", np.column_stack([time, X, np.zeros(240)]))
    with pytest.raises(ValueError, match="no row of any partition has an event"):
        train(tmp_path / "rows.npy", (0, 3), survival(), rows=100)
    array = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="block 0: y must be a structured array"):
        survival().fit(array.from_array(X, chunks=(120, 2)), array.from_array(time, chunks=120))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (mk.MKLClassifier("average"), "no sum over rows.*evidence, .*svimkl, mklr.* can"),
        (classifier(**{"lambda": "auto"}), "choose it on a sample"),
        (mk.MKLClassifier("mklr", "linear centred"), "depends on all training rows"),
        (mk.MKLClassifier("mklr", "precomputed"), "precomputed kernels are between all rows"),
    ],
)
def test_what_cannot_be_summed_is_refused(tables, estimator, message):
    with pytest.raises(ValueError, match=message):
        train(f"{tables}/*.csv", "way", estimator)


def test_bad_files_are_named(tables, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.csv"):
        train([tmp_path / "gone.csv"], "way", classifier())
    with pytest.raises(ValueError, match=r"rows-0\.csv: there is no column 'nay'"):
        train(f"{tables}/*.csv", "nay", classifier())
    with pytest.raises(ValueError, match=r"partition 1, words\.csv, has other columns"):
        (tmp_path / "words.csv").write_text("a,d,way\n1,2,x\n2,3,y\n")
        train([tables / "rows-0.csv", tmp_path / "words.csv"], "way", classifier())


def test_partitions_without_rows_do_not_count(tables, here, tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text("a,b,c,way\n")
    paths = [empty, tables / "rows-0.csv", tables / "rows-1.csv", empty, tables / "rows-2.csv"]
    assert train(paths, "way", classifier()).model_.to_bytes() == here.model_.to_bytes()
    with pytest.raises(ValueError, match="no partition has rows"):
        train(empty, "way", classifier())


def test_values_that_are_no_numbers_are_named(tmp_path):
    values = np.random.default_rng(0).normal(size=(20, 3))
    for at, told in (((7, 2), r"rows\.npy \[5:10\]: the target of row 2 is nan"), ((7, 0), r"rows\.npy \[5:10\]: .*row 3.*inf")):
        bad = values.copy()
        bad[at] = np.nan if at[1] == 2 else np.inf
        np.save(tmp_path / "rows.npy", bad)
        with pytest.raises(ValueError, match=told):
            train(tmp_path / "rows.npy", -1, mk.MKLRegressor("mklr"), rows=5)


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_missing_labels_are_named(gap):
    array = pytest.importorskip("dask.array")
    y = np.array(["a", "b", "a", gap, "b", "a"], dtype=object)
    with pytest.raises(ValueError, match="block 1: the target of row 0 is"):
        train(array.zeros((6, 2), chunks=3), array.from_array(y, chunks=3), classifier())


def test_a_file_that_changes_is_noticed(tables, tmp_path, monkeypatch):
    paths = [tmp_path / f"rows-{k}.csv" for k in range(2)]
    for k, path in enumerate(paths):
        path.write_text((tables / f"rows-{k}.csv").read_text())
    asked = []

    def each(self, function, calls, names):
        asked.append(function)
        if len(asked) == 6:
            paths[1].write_text(paths[1].read_text().replace("down", "up", 1))
        yield from original(self, function, calls, names)

    original = Here.each
    monkeypatch.setattr(Here, "each", each)
    with pytest.raises(ValueError, match=r"rows-1\.csv: the rows of partition 1 have changed"):
        train(paths, "way", classifier())


@pytest.mark.parametrize("method", ["mklr", "svimkl", "dpm"])
def test_a_lost_driver_goes_on_from_its_checkpoint(tables, tmp_path, monkeypatch, method):
    params = {"sweeps": 12} if method == "dpm" else {**SETTINGS, "iterations": 10}

    def made():
        return mk.MKLClassifier(method, None if method == "dpm" else "gaussian(1, 4), linear", params=params)

    whole = train(f"{tables}/*.csv", "way", made()).model_.to_bytes()
    asked, most, file = [], [0], tmp_path / "run"

    def each(self, function, calls, names):
        asked.append(function)
        if len(asked) > most[0]:
            raise ConnectionError("the cluster is gone")
        yield from original(self, function, calls, names)

    original = Here.each
    monkeypatch.setattr(Here, "each", each)
    # A look and two questions; then more and more steps.
    for count in (5, 6, 7):
        asked.clear()
        most[0] = count
        with pytest.raises(ConnectionError, match="is gone"):
            train(f"{tables}/*.csv", "way", made(), checkpoint=file)
    assert file.exists()
    asked.clear()
    most[0] = 10**6
    with pytest.raises(ValueError, match="belongs to another run: its data fingerprint"):
        train([tables / "rows-0.csv", tables / "rows-2.csv"], "way", made(), checkpoint=file)
    with pytest.raises(ValueError, match="belongs to another run: its scale is"):
        train(f"{tables}/*.csv", "way", made().set_params(scale="none"), checkpoint=file)
    found = train(f"{tables}/*.csv", "way", made(), checkpoint=str(file))
    assert found.model_.to_bytes() == whole
    assert sorted(tmp_path.iterdir()) == []


def test_checkpoints_of_streams_are_refused(tables, tmp_path):
    with pytest.raises(ValueError, match="have no checkpoint"):
        train(f"{tables}/*.csv", "way", learner(), checkpoint=tmp_path / "run")


WORDS = [["well", "fine", "calm"], ["fever", "cough", "pain"]]


def patients(n=150):
    """A table of every kind; words and categories together tell who is sick."""
    rng = np.random.default_rng(3)
    sick = rng.integers(0, 2, n)
    table = pd.DataFrame(
        {
            "age": np.round(rng.normal(40, 10, n), 3),
            # Some cities are in some partitions only.
            "city": [f"town{rng.integers(3) + i // 40}" for i in range(n)],
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), categories=["low", "mid", "high"], ordered=True),
            "day": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "smoker": rng.choice(["yes", "no"], n),
            "note": [f"patient says {rng.choice(WORDS[s])} and {rng.choice(WORDS[s])} at {i % 17}" for i, s in enumerate(sick)],
            "code": [f"P{i:04}" for i in range(n)],
        }
    )
    table.loc[::9, "age"] = np.nan
    table.loc[::11, "city"] = None
    return table, np.where(sick == 1, "sick", "well")


#: Without the columns that say nothing.
KINDS = {
    "age": "number",
    "city": "category",
    "sex": "category",
    "grade": "ordered(low<mid<high)",
    "day": "date(ymd)",
    "smoker": "yesno",
    "note": "text",
}


def of_kinds(bank="gaussian(1) on numbers, overlap, linear on words(note)", **params):
    return mk.MKLClassifier("mklr", bank, kinds={"grade": "ordered(low<mid<high)"}, params={**SETTINGS, **params})


@pytest.fixture(scope="module")
def of_patients(tmp_path_factory):
    """The same rows as CSV and as Parquet, in partitions of 50."""
    folder, (table, y) = tmp_path_factory.mktemp("patients"), patients()
    table = table.assign(state=y)
    for k in range(3):
        table[50 * k : 50 * (k + 1)].to_csv(folder / f"rows-{k}.csv", index=False)
    table.to_parquet(folder / "rows.parquet", row_group_size=50)
    return folder


def test_tables_of_every_kind_are_those_of_a_fit_on_all_rows(of_patients, tmp_path):
    table, y = patients()
    # All rows are landmarks, so that both have the same; the optimum is unique.
    params = {"landmarks": 0, "iterations": 1000, "tol": 1e-12}
    with pytest.warns(UserWarning, match="column 'code' left out: all its texts differ"):
        found = train(f"{of_patients}/*.csv", "state", of_kinds(**params))
    whole = of_kinds(**params).fit(table, y)
    assert found.kinds_ == whole.kinds_ == KINDS
    a, b = found.decision_function(table), whole.decision_function(table)
    assert np.abs(a - b).max() < 1e-3 * np.abs(b).max()
    assert found.score(table, y) > 0.95 and list(found.feature_names_in_) == list(table.columns)
    found.save(tmp_path / "model")
    assert (mk.load(tmp_path / "model").predict(table[list(KINDS)]) == found.predict(table)).all()
    with pytest.warns(UserWarning, match="level that no training row has, 'Atlantis'"):
        found.predict(table.assign(city="Atlantis"))
    # One partition that is all rows.
    alone = train(of_patients / "rows.parquet", "state", of_kinds(**params))
    c = alone.decision_function(table)
    assert alone.kinds_ == KINDS and np.abs(c - b).max() < 1e-3 * np.abs(b).max()


def test_default_banks_of_other_kinds_are_those_of_a_fit(of_patients):
    table, y = patients()
    found = train(of_patients / "rows.parquet", "state", of_kinds(None), rows=50)
    whole = of_kinds(None).fit(table, y)

    # Widths are medians of rows scaled by sums in another order.
    def rounded(kernels):
        return [re.sub(r"\d+\.\d+", lambda width: f"{float(width[0]):.12g}", kernel) for kernel in kernels]

    assert rounded(found.kernels_) == rounded(whole.kernels_) and "linear on words(note)" in found.kernels_


def test_formats_of_tables_of_every_kind_have_the_same_model(of_patients):
    files = train(f"{of_patients}/*.csv", "state", of_kinds())
    parquet = train(of_patients / "rows.parquet", "state", of_kinds(), rows=50)
    assert files.model_.to_bytes() == parquet.model_.to_bytes()


def test_numbers_are_predicted_from_other_kinds(of_patients):
    table, _ = patients()
    y = table.pop("age").fillna(40)
    columns = ["city", "sex", "note"]
    frames = pytest.importorskip("dask.dataframe")
    rows = frames.from_pandas(table[columns].assign(age=y), npartitions=3)
    params = {"landmarks": 0, "tol": 1e-12}
    made = [mk.MKLRegressor("mklr", "overlap, linear on words(note)", params=params) for _ in range(2)]
    found = train(rows[columns], rows["age"], made[0]).predict(table[columns])
    whole = made[1].fit(table[columns], y).predict(table[columns])
    assert np.abs(found - whole).max() < 1e-3 * np.abs(whole).max()


def write(folder, name, columns):
    pd.DataFrame(columns).to_csv(folder / name, index=False)
    return folder / name


def test_kinds_are_those_of_all_partitions(tmp_path):
    way = ["x", "y"] * 10
    words = ["red", "blue", "green", "red"] * 5
    numbers = write(tmp_path, "numbers.csv", {"a": range(20), "b": range(20), "way": way})
    texts = write(tmp_path, "texts.csv", {"a": range(20), "b": words, "way": way})
    told = r"partition 1, texts\.csv: column 'b' holds texts, in partition 0, numbers\.csv, numbers; .* kinds=\{'b': 'category'\}"
    with pytest.raises(ValueError, match=told):
        train([numbers, texts], "way", classifier())
    made = mk.MKLClassifier("mklr", "gaussian(1), overlap", kinds={"b": "category"}, params=SETTINGS)
    assert train([numbers, texts], "way", made).kinds_ == {"a": "number", "b": "category"}
    with pytest.raises(ValueError, match=r"numbers\.csv: column 'b': '0' is no date"):
        train([numbers, texts], "way", mk.MKLClassifier("mklr", kinds={"b": "date"}))
    with pytest.raises(ValueError, match=r"kinds names columns \['z'\]"):
        train([texts], "way", mk.MKLClassifier("mklr", kinds={"z": "category"}))
    with pytest.raises(ValueError, match=r"partition 1, late\.csv: column 'b': 'soon' is no date, though others are"):
        days = [f"2021-02-{1 + k:02}" for k in range(20)]
        first = write(tmp_path, "days.csv", {"b": days, "way": way})
        train([first, write(tmp_path, "late.csv", {"b": ["soon", *days[1:]], "way": way})], "way", classifier())
    # More than is looked at to find the kind.
    long = [f"{k} " + "many words of a long text " * 8000 for k in range(20)]
    found = train([write(tmp_path, "long.csv", {"a": range(20), "b": long, "way": way})], "way", classifier())
    assert found.kinds_ == {"a": "number", "b": "text"}
    # The same in every row of a partition, not of all; nothing in another; truth values in some.
    parts = [
        write(tmp_path, "one.csv", {"a": range(20), "b": ["red"] * 20, "c": [True, False] * 10, "d": [None] * 20, "way": way}),
        write(tmp_path, "two.csv", {"a": range(20), "b": words, "c": ["yes", None] * 10, "d": range(20), "way": way}),
        write(tmp_path, "gap.csv", {"a": range(20), "b": [None] * 20, "c": [None] * 20, "d": [None] * 20, "way": way}),
    ]
    found = train(parts, "way", classifier())
    assert found.kinds_ == {"a": "number", "b": "category", "c": "yesno", "d": "number"}
    frames = pytest.importorskip("dask.dataframe")
    other = [pd.Categorical(["lo", "hi"] * 5, categories=levels, ordered=True) for levels in (["lo", "hi"], ["hi", "lo"])]
    rows = frames.from_map(lambda cat: pd.DataFrame({"a": range(10), "b": cat, "way": ["x", "y"] * 5}), other)
    with pytest.raises(ValueError, match=r"partition 1, block 1: column 'b' holds what is ordered\(hi<lo\), in partition 0"):
        train(rows[["a", "b"]], rows["way"], classifier())


def test_whole_numbers_told_to_be_categories_have_the_same_levels_in_all_partitions(tmp_path):
    codes = pd.array([*[1, 2, 3] * 10, *[3, None, 1] * 10], dtype="Int64")
    table = pd.DataFrame({"a": np.arange(60) % 7.0, "b": codes, "way": ["x", "y"] * 30})
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=30)
    for k in range(2):
        table[30 * k : 30 * (k + 1)].to_csv(tmp_path / f"rows-{k}.csv", index=False)
    made = [mk.MKLClassifier("mklr", "gaussian(1), overlap", kinds={"b": "category"}, params=SETTINGS) for _ in range(2)]
    found = train(tmp_path / "rows.parquet", "way", made[0], rows=30)
    assert found.model_.to_bytes() == train(f"{tmp_path}/*.csv", "way", made[1]).model_.to_bytes()


def test_numbers_that_may_be_missing_are_numbers():
    frames = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(
        {"a": pd.array([*range(29), None], dtype="Int64"), "b": np.arange(30) % 7.0, "way": ["x", "y", "y"] * 10}
    )
    rows = frames.from_pandas(table, npartitions=2)
    found = train(rows[["a", "b"]], rows["way"], classifier())
    plain = table[["a", "b"]].astype(float)
    again = train(*(frames.from_pandas(part, npartitions=2) for part in (plain, table["way"])), classifier())
    assert found.kinds_ == {"a": "number", "b": "number"}
    assert found.model_.to_bytes() == again.model_.to_bytes()


def test_views_are_those_of_a_fit_on_all_rows(rows, tmp_path):
    X, y = rows[0][:150].copy(), rows[1][:150]
    X[3::10, :2] = np.nan
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table.assign(way=y).to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    views = {"right": ["c"], "left": ["a", "b"]}
    params = {"tol": 1e-12}
    made = [mk.MKLClassifier("mklr", "gaussian(1, 4) each view, linear on left", views=views, params=params) for _ in range(2)]
    found = train(tmp_path / "rows.parquet", "way", made[0], rows=50).decision_function(table)
    whole = made[1].fit(table, y).decision_function(table)
    assert np.abs(found - whole).max() < 1e-3 * np.abs(whole).max()
    assert made[0].model_.views == made[1].model_.views
    with pytest.raises(ValueError, match="views are for tables of numbers"):
        table.assign(way=y, d="x").to_parquet(tmp_path / "rows.parquet")
        train(tmp_path / "rows.parquet", "way", made[0])


distributed = pytest.importorskip("distributed")


def ready(client, n):
    """Waits for workers. Dask does not always start another in place of one that was killed as it began."""
    try:
        client.wait_for_workers(n, timeout=20)
    except TimeoutError:
        client.cluster.scale(0)
        client.cluster.scale(2)
        client.wait_for_workers(n, timeout=60)


def test_tables_of_every_kind_have_the_bits_of_one_process(client, of_patients):
    frames = pytest.importorskip("dask.dataframe")
    ready(client, 2)
    found = train(of_patients / "rows.parquet", "state", of_kinds(), rows=50, client=client, timeout=120)
    assert found.model_.to_bytes() == train(of_patients / "rows.parquet", "state", of_kinds(), rows=50).model_.to_bytes()
    table, y = patients()
    rows = frames.from_pandas(table.assign(state=y), npartitions=3)
    blocks = rows[list(table.columns)], rows["state"]
    on_cluster, alone = train(*blocks, of_kinds(), client=client, timeout=120), train(*blocks, of_kinds())
    assert on_cluster.model_.to_bytes() == alone.model_.to_bytes()
    assert on_cluster.kinds_ == KINDS and on_cluster.score(table, y) > 0.9


@pytest.mark.parametrize("n_killed", [0, 1, 2])
def test_model_has_the_bits_of_one_process_whoever_dies(client, tables, here, monkeypatch, n_killed, kill):
    ready(client, 2)
    asked = []

    def each(self, function, calls, names):
        asked.append(function)
        for number, found in enumerate(original(self, function, calls, names)):
            # A look, two questions for preprocessing, the start and its curvature: in the middle of the third step.
            if len(asked) == 8 and number == 0:
                kill(client, n_killed)
            yield found

    original = Cluster.each
    monkeypatch.setattr(Cluster, "each", each)
    found = train(f"{tables}/*.csv", "way", classifier(), client=client, timeout=120)
    assert len(asked) > 8
    assert found.model_.to_bytes() == here.model_.to_bytes()
    assert not any(client.processing().values())


def test_times_have_the_bits_of_one_process_whoever_dies(client, study, tmp_path, monkeypatch, kill):
    X, time, event = study
    np.save(tmp_path / "rows.npy", np.column_stack([X, time, event]))
    made = [survival(**SETTINGS) for _ in range(2)]
    here = train(tmp_path / "rows.npy", (-2, -1), made[0], rows=90)
    ready(client, 2)
    asked = []

    def each(self, function, calls, names):
        asked.append(function)
        for number, found in enumerate(original(self, function, calls, names)):
            # In the middle of a first round.
            if len(asked) == 9 and number == 0:
                kill(client, 1)
            yield found

    original = Cluster.each
    monkeypatch.setattr(Cluster, "each", each)
    found = train(tmp_path / "rows.npy", (-2, -1), made[1], rows=90, client=client, timeout=120)
    assert len(asked) > 9
    assert found.model_.to_bytes() == here.model_.to_bytes()


def test_collections_have_the_model_of_their_blocks(client, rows):
    array = pytest.importorskip("dask.array")
    frames = pytest.importorskip("dask.dataframe")
    X, y = rows
    ready(client, 1)
    blocks = array.from_array(X, chunks=(300, 2)), array.from_array(y, chunks=300)
    with pytest.warns(UserWarning, match="train on one machine"):
        found = classifier().fit(*blocks)
    alone = train(*blocks, classifier())
    assert found.model_.to_bytes() == alone.model_.to_bytes()
    assert found.score(X, y) > 0.95
    table = frames.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]).assign(way=y), npartitions=3)
    found = classifier().fit(table[["a", "b", "c"]], table["way"])
    assert list(found.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="partitions"):
        classifier().fit(blocks[0], array.from_array(y, chunks=450))


def learner():
    return mk.OnlineMKLClassifier(kernels="gaussian(1, 4), linear", budget=150)


def test_learners_of_streams_go_through_partitions_in_their_order(rows, tables, tmp_path):
    X, y = rows
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    found = train(f"{tables}/*.csv", "way", learner())
    alone = learner()
    for start in range(0, 900, 300):
        alone.partial_fit(table[start : start + 300], y[start : start + 300], classes=["down", "up"])
    assert (found.decision_function(table) == alone.decision_function(table)).all()
    np.save(tmp_path / "rows.npy", np.column_stack([X[:, :2], X[:, 0] * X[:, 1]]))
    numbers = train(tmp_path / "rows.npy", -1, mk.OnlineMKLRegressor(kernels="polynomial(2)"), rows=300)
    alone = mk.OnlineMKLRegressor(kernels="polynomial(2)")
    for start in range(0, 900, 300):
        alone.partial_fit(X[start : start + 300, :2], X[start : start + 300, 0] * X[start : start + 300, 1])
    assert (numbers.predict(X[:, :2]) == alone.predict(X[:, :2])).all()
    np.save(tmp_path / "sorted.npy", np.column_stack([X[:, :2], np.arange(900) > 450]))
    with pytest.raises(ValueError, match=r"partition 0, sorted\.npy \[0:300\]: .*at least two classes"):
        train(tmp_path / "sorted.npy", -1, learner(), rows=300)
    with pytest.raises(ValueError, match=r"rows-1.csv: columns \['c'\] are not numbers"):
        (tmp_path / "rows-1.csv").write_text("a,b,c,way\n1,2,x,up\n1,2,y,down\n")
        train([tables / "rows-0.csv", tmp_path / "rows-1.csv"], "way", learner())


@pytest.mark.parametrize("n_killed", [0, 2])
def test_streams_have_the_bits_of_one_process_whoever_dies(client, tables, monkeypatch, n_killed, kill):
    ready(client, 2)
    here, done = train(f"{tables}/*.csv", "way", learner()), []

    def finished(self, running, names):
        if list(running.values()) == [1] and len(done) == 1:
            kill(client, n_killed)
        done.append(1)
        return original(self, running, names)

    original = Cluster._finished
    monkeypatch.setattr(Cluster, "each", lambda self, function, calls, names: Here().each(function, calls, names))
    monkeypatch.setattr(Cluster, "_finished", finished)
    with pytest.warns(UserWarning, match="learns row by row"):
        found = train(f"{tables}/*.csv", "way", learner(), client=client, timeout=120)
    assert found._model().to_bytes() == here._model().to_bytes()


def test_tasks_that_do_not_fit_are_not_sent(client, tables, monkeypatch):
    ready(client, 1)
    told = {"workers": {"tcp://small": {"memory_limit": 2**20, "nthreads": 2}}}
    monkeypatch.setattr(client, "scheduler_info", lambda n_workers: told)
    with pytest.raises(MemoryError, match=r"partition 0, rows-0\.csv, of 300 rows, needs about .* but tcp://small has"):
        train(f"{tables}/*.csv", "way", classifier(), client=client)


# The last one: a worker stays stuck.
def test_a_task_that_never_ends_is_named(client, tables, tmp_path):
    ready(client, 1)
    stuck = tmp_path / "stuck.csv"
    os.mkfifo(stuck)
    parts = [Stored(str(path), "way", 0, None) for path in (tables / "rows-0.csv", stuck)]
    training = Training(classifier(), [(part,) for part in parts], [part.name for part in parts], Cluster(client, 3))
    with pytest.raises(TimeoutError, match=r"no partition answered in 3 s; open: partition 1, stuck\.csv, on tcp://"):
        training.run("way", None, told=False)
    assert threading.active_count() < 100 and on_dask.check(client) is None
    # Lets the reader go.
    os.close(os.open(stuck, os.O_RDWR | os.O_NONBLOCK))
