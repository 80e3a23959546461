"""Training on partitions of rows: what is done with each, and where.

A partition is a slice of a file, or a block of a Dask collection. The driver asks all of them the same question; each answers
with sums that depend on its rows and the question alone, and the answers are added in the order of partitions.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from . import _core
from ._data import Array, ViewColumns, category, columns_as, is_missing, rows_of, text_of_cell
from ._estimators import _Base, _Classifier, _Online, class_texts
from ._targets import MKLRegressor, MKLSurvival, default_names, survival_target, survival_times

#: Rows of a file that become one partition, unless told otherwise.
ROWS = 200_000
#: Seconds of a pass below which a cluster costs more than it gives.
SHORT = 1.0
#: Rows of a partition whose kernels with the landmarks are held at a time, and how many such matrices.
BLOCK, BLOCKS = 2048, 6
#: Numbers held for each time of an event and node: sums, hazards, and both as bytes.
RISKS = 20
#: The most features of `evidence`, and how many a landmark has where nothing is known of the kernels.
FEATURES, OF_LANDMARK = 4000, 10
#: Seconds that the kernels of two rows take, and a product of the curvature, on a slow machine.
KERNELS, PRODUCT = 5e-8, 2e-10

#: A column of files, by name or position.
Column = str | int
#: What is predicted: classes, numbers, or times from a column of times and one of events.
Target = Column | tuple[Column, Column]
#: What is no more than numbers.
NUMBERS = ("number", "bool", "gap")
#: Characters of distinct texts of a column by which a partition says what the column holds, and of a single one.
EVIDENCE, LONGEST = 2**16, 2**11

#: What is in a partition: a table or an array, and what is predicted.
Block = tuple[Any, npt.NDArray[Any]]


@dataclass(frozen=True)
class Stored:
    """Rows of a file: from `start` to `stop`, for Parquet in row groups."""

    path: str
    target: Target
    start: int
    stop: int | None

    @property
    def name(self) -> str:
        rows = "" if self.stop is None else f" [{self.start}:{self.stop}]"
        return f"{Path(self.path).name}{rows}"

    def load(self, kinds: Mapping[str, str | None]) -> Block:
        """The rows and what is predicted. Columns of a kind that is known and no number are read as texts."""
        if self.path.endswith(".npy"):
            return self._array()
        import pandas as pd

        texts = [name for name, kind in kinds.items() if kind != "number" and name not in self._columns()]
        if self.path.endswith(".parquet"):
            table = self._parquet(texts)
        else:
            table = pd.read_csv(self.path, dtype=dict.fromkeys(texts, str))
        for column in self._columns():
            if column not in table.columns:
                raise ValueError(f"{self.path}: there is no column {column!r} to predict; it has {list(table.columns)[:8]}")
        targets = [table[column] for column in self._columns()]
        return table.drop(columns=self._columns()), np.asarray(self._targets(targets))

    def _columns(self) -> list[Column]:
        return list(self.target) if isinstance(self.target, tuple) else [self.target]

    def _targets(self, columns: Sequence[Any]) -> Any:
        if len(columns) == 1:
            return columns[0]
        try:
            return survival_target(*columns)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    def _parquet(self, texts: list[str]) -> Any:
        import pyarrow as arrow
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(self.path) as file:
            found = file.read_row_groups(range(self.start, self.stop or file.num_row_groups))
        table = found.to_pandas(date_as_object=False)
        for name in texts:
            at = found.schema.get_field_index(name)
            # pandas writes whole numbers as fractions where one is missing.
            if at >= 0 and arrow.types.is_integer(found.schema.field(at).type):
                table[name] = found.column(at).cast(arrow.string()).to_numpy()
        return table

    def _array(self) -> Block:
        values = np.load(self.path, mmap_mode="r")[self.start : self.stop]
        at = [int(column) % values.shape[1] for column in self._columns()]
        rest = np.delete(np.asarray(values, dtype=np.float64), at, axis=1)
        return np.ascontiguousarray(rest), np.array(self._targets([values[:, column] for column in at]))


def stored(paths: Any, target: Target | None, rows: int) -> list[Stored]:
    """The partitions of files, in their order: Parquet, npy and CSV."""
    if isinstance(paths, (str, Path)):
        paths = sorted(glob(str(paths))) if any(sign in str(paths) for sign in "*?[") else [paths]
    parts: list[Stored] = []
    for path in map(str, paths):
        if not Path(path).is_file():
            raise FileNotFoundError(f"{path} is no file; partitions are files, seen under the same name by every worker")
        parts.extend(_cut(path, target, rows))
    if not parts:
        raise ValueError("there are no files; give at least one path, or a pattern that matches one")
    return parts


def _cut(path: str, target: Target | None, rows: int) -> Iterator[Stored]:
    columns = target if isinstance(target, tuple) else (target,)
    if path.endswith(".npy"):
        array = np.load(path, mmap_mode="r")
        if array.ndim != 2:
            raise ValueError(f"{path} holds an array of shape {array.shape}; give rows x columns, with the target as a column")
        if any(isinstance(column, str) for column in columns):
            raise ValueError(f"{path} has no names of columns; give y as a position, such as -1 for the last, got {target!r}")
        for start in range(0, len(array), rows):
            yield Stored(path, -1 if target is None else target, start, min(start + rows, len(array)))
        return
    if target is None or not all(isinstance(column, str) for column in columns):
        raise ValueError(f"{path}: give y, the name of the column to predict, got {target!r}")
    if not path.endswith(".parquet"):
        yield Stored(path, target, 0, None)
        return
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
    start, held = 0, 0
    for k, size in enumerate(sizes):
        if held and held + size > rows:
            yield Stored(path, target, start, k)
            start, held = k, 0
        held += size
    yield Stored(path, target, start, len(sizes))


def block_of(name: str, part: Sequence[Any], kinds: Mapping[str, str | None], target: str) -> Block:
    """What a partition holds, to predict classes, numbers or times: read from its file, or as Dask gives it."""
    X, y = part[0].load(kinds) if isinstance(part[0], Stored) else part[:2]
    if target == "times" and hasattr(y, "to_records"):
        y = y.to_records(index=False)
    y = np.asarray(y)
    if not hasattr(X, "columns"):
        # What came over the network need not be aligned.
        X = np.require(np.asarray(X, dtype=np.float64), requirements=["C", "A"])
        if X.ndim != 2:
            raise ValueError(f"{name}: rows must be two-dimensional, got shape {X.shape}")
    return X, y


def numbers_of(X: Any) -> tuple[Array, list[str] | None]:
    """The values of a table of numbers, and the names of its columns where there are any."""
    if not hasattr(X, "columns"):
        return X, None
    names = [str(column) for column in X.columns]
    if all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in X.dtypes):
        return np.require(np.asarray(X, dtype=np.float64), requirements=["C", "A"]), names
    # Numbers that may be missing have types of their own, and columns without any value none.
    columns = [values for _, _, values in columns_as(X, dict.fromkeys(names, "number"))]
    return np.ascontiguousarray(np.column_stack(columns)), names


@dataclass(frozen=True)
class Held:
    """What the values of a column say about its kind, in one partition."""

    #: "number", "bool", "text", "gap" where there is no value, or a kind that the type of the column tells.
    kind: str
    #: Its distinct texts and how many rows hold each, as far as they were counted.
    texts: dict[str, int]
    n_rows: int


def held(X: Any, kinds: Mapping[str, str]) -> list[Held]:
    """What each column of a table holds; `kinds` are those that are told."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    return [_held(frame.get_column(name), str(name), kinds.get(str(name))) for name in frame.columns]


def _held(series: Any, name: str, told: str | None) -> Held:
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if told not in (None, "ordered"):
        return Held(told, {}, len(series))
    if dtype.is_numeric() and told is None:
        values = series.cast(nw.Float64).fill_null(np.nan).to_numpy()
        return Held("gap" if np.isnan(values).all() else "number", {}, len(series))
    if dtype == nw.Boolean and told is None:
        return Held("bool", *_counted(series, name))
    if dtype in (nw.Date, nw.Datetime) and told is None:
        return Held("gap" if series.is_null().all() else "date(ymd)", {}, len(series))
    if dtype in (nw.Categorical, nw.Enum) and told is None:
        return Held(category(series), {}, len(series))
    texts, n_rows = _counted(series, name)
    return Held("text" if texts else "gap", texts, n_rows)


def _counted(series: Any, name: str) -> tuple[dict[str, int], int]:
    """The distinct texts of a column, in the order in which they come, and in how many rows they were counted."""
    texts: dict[str, int] = {}
    size = 0
    for at, value in enumerate(series.to_list()):
        if is_missing(value):
            continue
        text = text_of_cell(value, name)[:LONGEST]
        if text not in texts:
            size += len(text)
            if size > EVIDENCE:
                return texts, at
        texts[text] = texts.get(text, 0) + 1
    return texts, len(series)


def kind_of(name: str, told: str | None, found: Sequence[Held], parts: Sequence[str]) -> tuple[str | None, str | None]:
    """The kind of a column in all partitions, and a remark; no kind if it is left out."""
    kinds = [each.kind for each in found]
    first = next((k for k, kind in enumerate(kinds) if kind != "gap"), 0)
    plain = {"gap", "bool", "text" if "text" in kinds else "number"}
    same = plain if kinds[first] in plain else {"gap", kinds[first]}
    for number, kind in enumerate(kinds):
        if kind not in same:
            raise ValueError(
                f"partition {number}, {parts[number]}: column {name!r} holds {_words(kind)}, in partition {first}, "
                f"{parts[first]}, {_words(kinds[first])}; say what it is in all of them, such as kinds={{{name!r}: 'category'}}"
            )
    if "text" not in kinds:
        kind = "number" if kinds[first] in ("gap", "bool", "number") else kinds[first]
        return kind, None if kind == "number" else f"column {name!r} taken as {kind}"
    texts: dict[str, int] = {}
    for each in found:
        for text, n in each.texts.items():
            texts[text] = texts.get(text, 0) + n
    try:
        kind_found, why = _core.kind_of_texts(name, told, list(texts.items()), sum(each.n_rows for each in found))
    except ValueError as error:
        # The text that does not fit is quoted.
        guilty = (k for k, each in enumerate(found) if any(f"'{text}'" in str(error) for text in each.texts))
        at = next(guilty, None)
        raise ValueError(str(error) if at is None else f"partition {at}, {parts[at]}: {error}") from None
    if kind_found is None:
        return None, f"column {name!r} left out: {why}"
    return kind_found, f"column {name!r} taken as {kind_found}"


def _words(kind: str) -> str:
    return {"number": "numbers", "bool": "truth values", "text": "texts"}.get(kind, f"what is {kind}")


@dataclass(frozen=True)
class Found:
    """What is in a partition."""

    n_rows: int
    names: list[str] | None
    n_columns: int
    #: What each column of a table holds; None for arrays.
    held: list[Held] | None
    n_bytes: int
    #: The classes; none where numbers are predicted.
    labels: npt.NDArray[Any] | None
    shape: tuple[int, ...]
    #: The distinct times of events, where times are predicted.
    times: Array | None


@dataclass(frozen=True)
class Goal:
    """What is predicted: classes, numbers or times."""

    kind: str
    classes: npt.NDArray[Any] | None
    numbers: list[str]
    label: str | None
    #: The kind of each column of a table that is not all numbers, None for those left out; None for numbers alone.
    kinds: dict[str, str | None] | None = None
    views: ViewColumns | None = None


def rows_for(name: str, X: Any, goal: Goal) -> _core.Rows:
    """The rows of a partition for the library, with the kinds that all partitions have."""
    try:
        if goal.kinds is None:
            return rows_of(*numbers_of(X), goal.views)
        return _core.Rows.table(columns_as(X, goal.kinds))[0]
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _missing(labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    if labels.dtype.kind != "O":
        return np.zeros(len(labels), dtype=bool)
    gaps = ("NoneType", "NAType", "NaTType")
    return np.array([type(label).__name__ in gaps or label != label for label in labels.ravel()], dtype=bool)


def _times(name: str, y: npt.NDArray[Any]) -> tuple[Array, npt.NDArray[np.bool_]]:
    try:
        return survival_times(y, len(y))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def look(name: str, target: str, kinds: Mapping[str, str], *part: Any) -> Found:
    """The first question to a partition; `kinds` are those that are told."""
    X, y = block_of(name, part, kinds, target)
    if len(X) != len(y):
        raise ValueError(f"{name}: {len(X)} rows, but {len(y)} targets")
    names, found, n_bytes = None, None, getattr(X, "nbytes", 0)
    if hasattr(X, "columns"):
        names, n_bytes = [str(column) for column in X.columns], int(X.memory_usage(deep=True).sum())
        try:
            found = held(X, kinds)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if found is None or all(each.kind in NUMBERS for each in found):
        rows_for(name, X, Goal(target, None, [], None))
    labels, times = None, None
    if target == "times":
        time, event = _times(name, y)
        bad, times = np.flatnonzero(~(np.isfinite(time) & (time >= 0))), np.unique(time[event])
    elif target == "numbers":
        bad = np.flatnonzero(~np.isfinite(np.asarray(y, dtype=np.float64).reshape(len(y), -1)).all(axis=1))
    else:
        bad = np.flatnonzero(_missing(y))
        labels = np.unique(y) if len(bad) == 0 else None
    if len(bad):
        raise ValueError(f"{name}: the target of row {bad[0]} is {y[bad[0]]}; remove the row, or fill it in")
    return Found(len(X), names, X.shape[1], found, n_bytes, labels, y.shape[1:], times)


def answer(setup: bytes, request: bytes, number: int, name: str, goal: Goal, threads: int, *part: Any) -> bytes:
    """What a partition answers to a question of the training, wherever that is."""
    X, y = block_of(name, part, goal.kinds or {}, goal.kind)
    rows = rows_for(name, X, goal)
    given: dict[str, Any] = {}
    if goal.kind == "times":
        given["times"] = _times(name, y)
    elif goal.classes is None:
        given["numbers"] = (goal.numbers, np.ascontiguousarray(np.asarray(y, dtype=np.float64).reshape(len(y), -1)))
    else:
        codes = np.minimum(np.searchsorted(goal.classes, y), len(goal.classes) - 1)
        if not (goal.classes[codes] == y).all():
            raise ValueError(f"{name}: partition {number} has changed since training began: it has classes that were not there")
        given["classes"], given["codes"] = class_texts(goal.classes), codes.astype(np.int64)
        given["label"] = goal.label
    return _core.answer_partition(setup, request, number, rows, name=name, threads=threads, **given)


def learn(state: bytes, number: int, name: str, goal: Goal, *part: Any) -> bytes:
    """A learner of rows, after those of one more partition."""
    table, found = block_of(name, part, {}, goal.kind)
    if len(table) == 0:
        return state
    learner = pickle.loads(state)
    values, names = numbers_of(table)
    X: Any = values
    y: Any = found
    if names is not None:
        import pandas as pd

        X = pd.DataFrame(values, columns=names, copy=False)
        if goal.classes is None and found.ndim == 1:
            y = pd.Series(found, name=goal.numbers[0])
    try:
        learner.partial_fit(X, y) if goal.classes is None else learner.partial_fit(X, y, classes=goal.classes)
        # What is handed on is a model, which needs two classes.
        return pickle.dumps(learner)
    except ValueError as error:
        raise ValueError(f"partition {number}, {name}: {error}") from None


class Engine(Protocol):
    """Where partitions are asked."""

    def share(self, content: bytes) -> Any:
        """Bytes that many calls need, as they are handed to `each`."""

    def each(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], names: Sequence[str]) -> Iterator[Any]:
        """The results of a function for each partition, in their order."""

    def chain(self, function: Callable[..., Any], first: bytes, calls: Sequence[tuple[Any, ...]], names: Sequence[str]) -> bytes:
        """The last result of a function that is given its own result for the partition before."""

    def allow(self, need: int, name: str) -> None:
        """Raises `MemoryError` if a worker has less memory than a task on this partition needs."""

    def expect(self, seconds: float) -> None:
        """How long an answer may take, by a rough estimate."""


class Here:
    """Asks partitions one after the other in this process: the reference, and the way for one machine."""

    def share(self, content: bytes) -> Any:
        return content

    def each(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], names: Sequence[str]) -> Iterator[Any]:
        for call in calls:
            yield function(*map(_computed, call))

    def chain(self, function: Callable[..., Any], first: bytes, calls: Sequence[tuple[Any, ...]], names: Sequence[str]) -> bytes:
        for call in calls:
            first = function(first, *map(_computed, call))
        return first

    def allow(self, need: int, name: str) -> None:
        pass

    def expect(self, seconds: float) -> None:
        pass


def _computed(value: Any) -> Any:
    """A block of a Dask collection, computed here."""
    return value.compute(scheduler="synchronous") if hasattr(value, "dask") and hasattr(value, "compute") else value


class Training:
    """One training on partitions."""

    def __init__(self, estimator: Any, parts: Sequence[tuple[Any, ...]], names: Sequence[str], engine: Engine) -> None:
        if not isinstance(estimator, (_Classifier, MKLRegressor, MKLSurvival)):
            raise TypeError(f"partitions train MKLClassifier, MKLRegressor and MKLSurvival, got {type(estimator).__name__}")
        if estimator.kernels == "precomputed":
            raise ValueError("precomputed kernels are between all rows, which no partition has; leave them out")
        if isinstance(estimator, _Online) and (estimator.views is not None or getattr(estimator, "kinds", None)):
            raise ValueError("partitions of a stream are plain tables of numbers; leave out views and kinds")
        self.estimator, self.parts, self.names, self.engine = estimator, parts, names, engine
        self.threads = estimator._threads()
        self.seconds: list[float] = []
        self.setup: tuple[bytes, Any] = (b"", None)

    def run(self, label: str | None, targets: list[str] | None, told: bool, kept: Mapping[str, Any] | None = None) -> Any:
        """Trains the estimator; `told` says whether short passes are worth a warning, `kept` where its state is kept."""
        estimator, kind = self.estimator, target_of(self.estimator)
        plan = estimator._plan()
        is_stream = isinstance(estimator, _Online)
        if is_stream and kept:
            raise ValueError("learners of streams have no checkpoint on partitions; leave it out")
        told_kinds = dict(getattr(estimator, "kinds", None) or {})
        calls = [(name, kind, told_kinds, *part) for name, part in zip(self.names, self.parts, strict=True)]
        found = self._with_rows(list(self.engine.each(look, calls, self.names)))
        self._check(found, None if is_stream else plan)
        kinds = self._kinds(found, told_kinds, is_stream)
        shape = found[0].shape
        names = targets or default_names(np.empty((0, *(shape or (1,)))))
        self.goal = Goal(kind, _classes(found) if kind == "classes" else None, names, label, kinds, estimator.views)
        if is_stream:
            return self._stream(told)
        tell = None
        if estimator.verbose:
            from ._progress import printer

            tell = printer(type(estimator).__name__)
        model, notes = _core.fit_partitions(plan, self._ask, estimator._limits(), **(kept or {}), on_progress=tell)
        self._fill(found[0], model, shape)
        estimator._warn(notes)
        if told and self.seconds and min(self.seconds) < SHORT:
            warnings.warn(
                f"a pass over all rows took {min(self.seconds):.2g} s, less than the {SHORT:.0f} s from which a cluster is worth "
                "it; train on one machine: client=None, or fit on the rows themselves",
                UserWarning,
                stacklevel=4,
            )
        return estimator

    def _with_rows(self, found: list[Found]) -> list[Found]:
        """Goes on with the partitions that have rows."""
        kept = [number for number, part in enumerate(found) if part.n_rows]
        if not kept:
            raise ValueError("no partition has rows; give at least two")
        self.parts, self.names = [self.parts[k] for k in kept], [self.names[k] for k in kept]
        return [found[k] for k in kept]

    def _kinds(self, found: list[Found], told: Mapping[str, str], is_stream: bool) -> dict[str, str | None] | None:
        """The kind of each column, the same in all partitions; None if all are numbers."""
        if found[0].held is None or found[0].names is None:
            if told:
                raise ValueError("kinds are for tables with named columns; give files with a header, or a Dask DataFrame")
            return None
        names = found[0].names
        columns = list(zip(*(part.held or [] for part in found), strict=True))
        unknown = [name for name in told if name not in names]
        if unknown:
            raise ValueError(f"kinds names columns {unknown} that the partitions do not have; their columns are {names[:10]}")
        for k, part in enumerate(self.names if is_stream else []):
            bad = [name for name, each in zip(names, columns, strict=True) if each[k].kind not in NUMBERS]
            if bad:
                raise ValueError(
                    f"{part}: columns {bad[:5]} are not numbers; partitions of a stream are tables of numbers: leave them out, "
                    "or encode them"
                )
        if all(each.kind in NUMBERS for column in columns for each in column):
            return None
        if self.estimator.views is not None:
            raise ValueError("views are for tables of numbers; the partitions have columns of other kinds")
        kinds, notes = dict[str, str | None](), []
        for name, column in zip(names, columns, strict=True):
            kinds[name], note = kind_of(name, told.get(name), column, self.names)
            notes += [note] if note else []
        self.estimator._told_columns(notes)
        return kinds

    def _stream(self, told: bool) -> Any:
        """Goes through the rows once, in the order of partitions."""
        if told:
            warnings.warn(
                f"{self.estimator.method} learns row by row: partitions are streamed in their order, one worker at a time; more "
                "workers do not make it faster",
                UserWarning,
                stacklevel=5,
            )
        first = clone(self.estimator)
        calls = [(number, name, self.goal, *part) for number, (name, part) in enumerate(zip(self.names, self.parts, strict=True))]
        learned = pickle.loads(self.engine.chain(learn, pickle.dumps(first), calls, self.names))
        self.estimator.__dict__.update(learned.__dict__)
        return self.estimator

    def _check(self, found: list[Found], plan: _core.Plan | None) -> None:
        """Whether partitions fit together, and into memory; `plan` is that of landmarks."""
        n_rows = sum(part.n_rows for part in found)
        wanted = "0" if plan is None else dict(plan.settings()).get("landmarks", "0")
        # What is auto is refused later, in better words.
        landmarks = int(wanted) if wanted.isdigit() else 0
        landmarks = 0 if plan is None else landmarks or (1000 if n_rows > 4000 else n_rows)
        is_evidence = getattr(self.estimator, "method", None) == "evidence"
        width = min(FEATURES, OF_LANDMARK * landmarks) if is_evidence else landmarks
        times = [part.times for part in found if part.times is not None]
        nodes = int(dict(plan.settings()).get("nodes", "1")) if plan is not None and times else 0
        risks = RISKS * nodes * len(np.unique(np.concatenate(times))) if times else 0
        for number, (part, name) in enumerate(zip(found, self.names, strict=True)):
            if (part.n_columns, part.names) != (found[0].n_columns, found[0].names):
                raise ValueError(f"partition {number}, {name}, has other columns than the first, {self.names[0]}")
            values = BLOCKS * BLOCK * width + 2 * width * width + risks
            need = 3 * max(part.n_bytes, 8 * part.n_rows * part.n_columns) + 8 * values
            self.engine.allow(need, f"partition {number}, {name}, of {part.n_rows} rows")
        most = max(part.n_rows for part in found)
        self.engine.expect(most * (landmarks * KERNELS + width * width * PRODUCT))

    def _ask(self, setup: bytes, request: bytes) -> Iterable[bytes]:
        if self.setup[0] != setup:
            self.setup = (setup, self.engine.share(setup))
            # Only passes of one kind are compared.
            self.seconds = []
        shared = self.engine.share(request)
        calls = [
            (self.setup[1], shared, number, name, self.goal, self.threads, *part)
            for number, (name, part) in enumerate(zip(self.names, self.parts, strict=True))
        ]
        start = time.perf_counter()
        yield from self.engine.each(answer, calls, self.names)
        self.seconds.append(time.perf_counter() - start)

    def _fill(self, first: Found, model: _core.Model, shape: tuple[int, ...]) -> None:
        """What a fit on rows would leave in the estimator."""
        estimator: _Base = self.estimator
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = first.n_columns
        if first.names is not None:
            estimator.feature_names_in_ = np.array(first.names, dtype=object)
        estimator._mixed = self.goal.kinds is not None
        if isinstance(estimator, _Classifier):
            assert self.goal.classes is not None
            estimator.classes_ = self.goal.classes
        elif isinstance(estimator, MKLRegressor):
            estimator._is_column = not shape
        estimator.model_ = model


def target_of(estimator: Any) -> str:
    """What it predicts."""
    if isinstance(estimator, MKLSurvival):
        return "times"
    return "numbers" if isinstance(estimator, MKLRegressor) else "classes"


def _classes(found: list[Found]) -> npt.NDArray[Any]:
    classes = np.unique(np.concatenate([part.labels for part in found if part.labels is not None]))
    if len(classes) < 2:
        raise ValueError(f"a classifier needs rows of at least two classes; y has one class, {classes[:1]!r}")
    return classes
