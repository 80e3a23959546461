"""Tables, views and stacks of kernels, as the library takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core

Array = npt.NDArray[np.float64]
ViewColumns = Mapping[str, Any]


class Views:
    """Tables of the same samples, one for each view, joined by their index.

    Parameters
    ----------
    how : {"outer", "inner"}
        Samples that are in some tables ("outer": absent views stay absent), or in all of them.
    **tables
        A table for each view: a pandas DataFrame, joined by its index, or an array, joined by position.

    It slices like an array, so cross-validation and grid search take it.

    Examples
    --------
    >>> import numpy as np, multikernel as mk
    >>> X = mk.Views(rna=np.ones((4, 3)), meth=np.zeros((4, 2)))
    >>> X.shape, X[[0, 2]].shape
    ((4, 5), (2, 5))
    """

    def __init__(self, *, how: str = "outer", **tables: Any) -> None:
        if how not in ("outer", "inner"):
            raise ValueError(f"how must be 'outer' or 'inner', got {how!r}")
        if not tables:
            raise ValueError("Views needs at least one table: Views(rna=df1, meth=df2)")
        parts = {name: _view(name, table) for name, table in tables.items()}
        self._id_name = _id_name(tables) if any(index is not None for _, _, index in parts.values()) else None
        self.index = _joined_index(parts, how)
        self.columns: dict[str, list[str]] = {name: columns for name, (_, columns, _) in parts.items()}
        blocks = [_placed(values, index, self.index) for values, _, index in parts.values()]
        self.values: Array = np.ascontiguousarray(np.hstack(blocks))

    @classmethod
    def _of(cls, values: Array, columns: dict[str, list[str]]) -> Views:
        """Views of one array, whose columns are those of the views in order."""
        whole = object.__new__(cls)
        whole.values, whole.columns, whole.index, whole._id_name = values, columns, np.arange(len(values)), None
        return whole

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape

    @property
    def ndim(self) -> int:
        return 2

    @property
    def dtype(self) -> np.dtype[np.float64]:
        return self.values.dtype

    @property
    def names(self) -> list[str]:
        """Column names, with the view in front."""
        return [f"{view}:{column}" for view, columns in self.columns.items() for column in columns]

    @property
    def ids(self) -> tuple[list[str], str | None] | None:
        """The samples' ids and what they are called; None for views joined by position."""
        return None if self._id_name is None else ([str(key) for key in self.index.tolist()], self._id_name)

    @property
    def spans(self) -> list[tuple[str, int, int]]:
        """Name, first column and one past the last column of each view."""
        ends = np.cumsum([len(columns) for columns in self.columns.values()]).tolist()
        return [(view, end - len(columns), end) for (view, columns), end in zip(self.columns.items(), ends, strict=True)]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Array]:
        return iter(self.values)

    def __getitem__(self, key: Any) -> Views:
        # scikit-learn asks for X[rows] and for X[rows, ...].
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] not in (Ellipsis, slice(None)):
                raise IndexError("Views are sliced by rows: X[rows]")
            key = key[0]
        rows = np.atleast_1d(np.arange(len(self))[key])
        part = Views._of(self.values[rows], self.columns)
        part.index, part._id_name = self.index[rows], self._id_name
        return part

    def copy(self) -> Views:
        """The same with values of its own."""
        return self[:]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.values.astype(dtype, copy=False) if dtype is not None else self.values

    def __repr__(self) -> str:
        views = ", ".join(f"{name}: {len(columns)} columns" for name, columns in self.columns.items())
        return f"Views({len(self)} samples; {views})"


def _view(name: str, table: Any) -> tuple[Array, list[str], npt.NDArray[Any] | None]:
    """Values, column names and index (None: by position) of one view."""
    values, columns = table_values(table, f"view {name!r}")
    index = getattr(table, "index", None)
    if columns is None:
        columns = [f"{name}{j + 1}" for j in range(values.shape[1])]
    if index is None or callable(index):
        return values, columns, None
    index = np.asarray(index)
    if len(set(index.tolist())) != len(index):
        raise ValueError(f"view {name!r}: two rows have the same index; tables are joined by it, so make it unique")
    return values, columns, index


def _id_name(tables: Mapping[str, Any]) -> str:
    """What the tables call their index."""
    names = (getattr(getattr(table, "index", None), "name", None) for table in tables.values())
    return next((name for name in names if isinstance(name, str)), "id")


def _joined_index(parts: Mapping[str, tuple[Array, list[str], Any]], how: str) -> npt.NDArray[Any]:
    given = {name: index for name, (_, _, index) in parts.items() if index is not None}
    if not given:
        lengths = {name: len(values) for name, (values, _, _) in parts.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"views without an index are joined by position and need as many rows each, got {lengths}")
        return np.arange(next(iter(lengths.values())))
    if len(given) < len(parts):
        bare = [name for name in parts if name not in given]
        raise ValueError(f"views {bare} have no index, the others have; give all of them one, or none")
    first, *others = given.values()
    if all(len(index) == len(first) and (index == first).all() for index in others):
        return first
    if how == "inner":
        common = set(first.tolist()).intersection(*(set(index.tolist()) for index in others))
        return first[[key in common for key in first.tolist()]]
    seen = dict.fromkeys(key for index in given.values() for key in index.tolist())
    return np.array(list(seen), dtype=first.dtype if all(i.dtype == first.dtype for i in others) else object)


def _placed(values: Array, index: npt.NDArray[Any] | None, joined: npt.NDArray[Any]) -> Array:
    """The values in the order of the joined index; rows that are absent are all NaN."""
    if index is None or index is joined:
        return values
    at = {key: i for i, key in enumerate(index.tolist())}
    placed = np.full((len(joined), values.shape[1]), np.nan)
    rows = [(i, at[key]) for i, key in enumerate(joined.tolist()) if key in at]
    if rows:
        to, of = (list(side) for side in zip(*rows, strict=True))
        placed[to] = values[of]
    return placed


def stack(*kernels: Any, names: Sequence[str] | None = None) -> Array:
    """Gram matrices as one array of shape (n, m, M), which cross-validation can slice.

    Parameters
    ----------
    *kernels
        Matrices of the same shape: (n, n) among training rows, (m, n) between new rows and them. Or one mapping from
        names to matrices.
    names : sequence of str, optional
        The kernels' names. They come back in ``kernels_`` if the estimator is given them too (``kernel_names``).

    Examples
    --------
    >>> import numpy as np, multikernel as mk
    >>> mk.stack(np.eye(3), np.ones((3, 3)), names=["same", "one"]).shape
    (3, 3, 2)
    """
    if len(kernels) == 1 and isinstance(kernels[0], Mapping):
        names, kernels = list(kernels[0]), tuple(kernels[0].values())
    if not kernels:
        raise ValueError("stack needs at least one Gram matrix")
    matrices = [np.asarray(kernel, dtype=np.float64) for kernel in kernels]
    shapes = {matrix.shape for matrix in matrices}
    if len(shapes) > 1 or matrices[0].ndim != 2:
        raise ValueError(f"all Gram matrices must have the same two-dimensional shape, got {[m.shape for m in matrices]}")
    if names is not None and len(names) != len(matrices):
        raise ValueError(f"{len(names)} names for {len(matrices)} Gram matrices; give one each")
    return np.stack(matrices, axis=-1)


def is_table(X: Any) -> bool:
    """Whether it has named columns: pandas, polars, Arrow."""
    return not isinstance(X, Views) and (hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__"))


def is_collection(X: Any) -> bool:
    """Whether it is a Dask collection: rows in blocks, perhaps of other machines."""
    return hasattr(type(X), "__dask_graph__") and hasattr(X, "to_delayed")


def table_values(X: Any, what: str = "X") -> tuple[Array, list[str] | None]:
    """The values of a table as a C-ordered float64 array, and its column names if it has any."""
    if not is_table(X):
        values = np.asarray(X)
        if values.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: {what} has the type {values.dtype}")
        if values.dtype.kind == "O" or values.dtype.kind in "US":
            values = _numbers_of_objects(values, what)
        if values.ndim != 2:
            raise ValueError(
                f"Expected 2D array for {what}, got {values.ndim}D array instead. Reshape your data: one row per sample."
            )
        return np.ascontiguousarray(values, dtype=np.float64), None
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    wrong = [name for name, dtype in frame.schema.items() if not (dtype.is_numeric() or dtype == nw.Boolean)]
    if wrong:
        raise ValueError(
            f"{what}: columns {wrong[:10]} are not numbers; encode them (OneHotEncoder, OrdinalEncoder) or drop them"
        )
    frame = frame.select(nw.all().cast(nw.Float64))
    values = np.ascontiguousarray(frame.to_numpy(), dtype=np.float64)
    return values, [str(name) for name in frame.columns]


def columns_of(X: Any, kinds: Mapping[str, str], *, trained: bool = False) -> list[tuple[str, str | None, Any]] | None:
    """The columns of a table that is not all numbers: name, kind if it is known, values. None for numbers alone.

    `trained`: the kinds are those of a model, whose columns are compared elsewhere.
    """
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    names = [str(name) for name in frame.columns]
    unknown = [name for name in kinds if name not in names]
    if unknown and not trained:
        raise ValueError(f"kinds names columns {unknown} that X does not have; its columns are {names[:10]}")
    numbers = all(dtype.is_numeric() or dtype == nw.Boolean for dtype in frame.schema.values())
    if numbers and not any(kind != "number" for kind in kinds.values()):
        return None
    return [(str(name), *_column(frame.get_column(name), str(name), kinds.get(str(name)))) for name in frame.columns]


def columns_as(X: Any, kinds: Mapping[str, str | None]) -> list[tuple[str, str | None, Any]]:
    """The columns of a table as `columns_of` gives them, of these kinds; those of the kind None are left out."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    used = [(name, kinds[str(name)]) for name in frame.columns if kinds[str(name)] is not None]
    return [(str(name), *_column(frame.get_column(name), str(name), kind)) for name, kind in used]


YES_NO = frozenset({"yes", "no", "true", "false", "t", "f"})
"""The words that the library reads as 1 and 0."""


def _column(series: Any, name: str, kind: str | None) -> tuple[str | None, Any]:
    """The kind of a column, if it is known, and its values: numbers, or texts with None where missing."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if (dtype.is_numeric() or dtype == nw.Boolean) and kind in (None, "number"):
        return "number", np.ascontiguousarray(series.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)
    if dtype in (nw.Date, nw.Datetime):
        texts = series.dt.to_string("%Y-%m-%d" if dtype == nw.Date else "%Y-%m-%d %H:%M:%S").to_list()
        return kind or "date(ymd)", [None if is_missing(text) else str(text) for text in texts]
    values = series.to_list()
    if kind is None and dtype in (nw.Categorical, nw.Enum):
        kind = category(series)
    texts = [None if is_missing(value) else text_of_cell(value, name) for value in values]
    if kind == "number" and any(texts) and all(text is None or text.lower() in YES_NO for text in texts):
        # A model of numbers and such words alone keeps no kinds.
        return "yesno", texts
    if kind == "number":
        return kind, np.array([np.nan if text is None else float(text) for text in texts])
    return kind, texts


def category(series: Any) -> str:
    """Categories have an order if pandas says so."""
    native = series.to_native()
    levels = [str(level) for level in getattr(getattr(native, "cat", None), "categories", [])]
    ordered = getattr(getattr(native, "dtype", None), "ordered", False) and levels
    if ordered and not any(mark in level for level in levels for mark in "<>(),"):
        return f"ordered({'<'.join(levels)})"
    return "category"


def is_missing(value: Any) -> bool:
    # NaN, NaT and pandas.NA are not equal to themselves, or not to be asked.
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def text_of_cell(value: Any, name: str) -> str:
    if isinstance(value, (str, bool, int, float, np.generic)):
        return str(value)
    raise ValueError(f"column {name!r} has a value of the type {type(value).__name__}; a column holds numbers or texts")


def _numbers_of_objects(values: npt.NDArray[Any], what: str) -> Array:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} has values that are not numbers: {error}; encode or drop these columns") from error


def rows_of(X: Any, names: list[str] | None, views: ViewColumns | None) -> _core.Rows:
    """Rows for the library. `names`: the columns' names, None for x1, x2, ..."""
    if isinstance(X, Views):
        return _core.Rows.dense(X.values, X.names, X.spans, X.ids)
    import scipy.sparse as sp

    spans: list[tuple[str, int, int]] = []
    if views is not None:
        X, names, spans = _grouped(X, names, views)
    if sp.issparse(X):
        csr = X.tocsr()
        csr.sum_duplicates()
        csr.sort_indices()
        indptr, indices = csr.indptr.astype(np.int64), csr.indices.astype(np.int64)
        return _core.Rows.sparse(indptr, indices, csr.data.astype(np.float64), csr.shape[1], names, spans)
    return _core.Rows.dense(np.ascontiguousarray(X), names, spans, None)


def _grouped(values: Any, names: list[str] | None, views: ViewColumns) -> tuple[Any, list[str], list[tuple[str, int, int]]]:
    """Columns in the order of their views; those of no view come last."""
    if not isinstance(views, Mapping):
        raise TypeError(f"views must map names to columns, such as {{'rna': slice(0, 30)}}, got {views!r}")
    names = names or [f"x{j + 1}" for j in range(values.shape[1])]
    order: list[int] = []
    spans = []
    for view, columns in views.items():
        picked = _positions(columns, names, view)
        taken = [names[j] for j in picked if j in order]
        if taken:
            raise ValueError(f"view {view!r}: columns {taken[:5]} belong to another view already")
        spans.append((view, len(order), len(order) + len(picked)))
        order += picked
    order += [j for j in range(len(names)) if j not in set(order)]
    return values[:, order], [names[j] for j in order], spans


def _positions(columns: Any, names: list[str], view: str) -> list[int]:
    if isinstance(columns, slice):
        return list(range(len(names)))[columns]
    at = {name: j for j, name in enumerate(names)}
    picked = []
    for column in [columns] if isinstance(columns, str) else list(columns):
        if isinstance(column, str):
            if column not in at:
                raise ValueError(f"view {view!r}: no column is called {column!r}; columns are {names[:10]}")
            picked.append(at[column])
        else:
            picked.append(range(len(names))[int(column)])
    if not picked:
        raise ValueError(f"view {view!r} has no columns")
    return picked
