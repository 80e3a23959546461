"""The data sets that come with the package, each under a free licence."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from . import _core
from ._data import Views


def names() -> list[str]:
    """Names of all sets."""
    return [row[0] for row in _core.datasets()]


def load(name: str, *, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """A data set as scikit-learn's loaders give it: a Bunch, or (X, y).

    Parameters
    ----------
    name : str
        One of `names()`.
    return_X_y : bool
        Whether (X, y) is returned instead of a Bunch.
    as_frame : bool
        Whether X is a pandas DataFrame and y a Series. Sets of several views are `Views` otherwise.
    """
    values, columns, codes, classes, spans, label = _core.load_dataset(name)
    y: Any = np.array(classes)[codes]
    X: Any = values
    if as_frame:
        import pandas as pd

        X = pd.DataFrame(values, columns=columns)
        X.attrs["name"] = name
        y = pd.Series(y, name=label or "label")
    elif spans:
        X = Views._of(values, {view: [_bare(name, view) for name in columns[start:end]] for view, start, end in spans})
    if return_X_y:
        return X, y
    row = next(row for row in _core.datasets() if row[0] == name)
    description = f"{name}: {row[1]} rows, {row[2]} columns, {row[3]} classes. Source: {row[4]}. Licence: {row[5]}. {row[6]}"
    return Bunch(data=X, target=y, feature_names=columns, target_names=np.array(classes), views=spans, DESCR=description)


def _bare(name: str, view: str) -> str:
    """A column's name without the view in front."""
    return name.removeprefix(f"{view}:")


def __getattr__(name: str) -> Any:
    """`load_sonar`, `load_wdbc`, ...: one loader for each set."""
    set_name = name.removeprefix("load_").replace("_", "-")
    for known in names():
        if name.startswith("load_") and set_name == known.replace("_", "-").replace(".", "-"):

            def loader(*, return_X_y: bool = False, as_frame: bool = False, _set: str = known) -> Any:
                return load(_set, return_X_y=return_X_y, as_frame=as_frame)

            loader.__name__ = name
            loader.__doc__ = load.__doc__
            return loader
    raise AttributeError(f"there is no data set for {name}; there are {', '.join(names())}")


def __dir__() -> list[str]:
    return [*globals(), *(f"load_{name.replace('-', '_').replace('.', '_')}" for name in names())]
