#!/usr/bin/env python
"""Random arrays and tables against what Python hands to the library: an exception that says what is wrong, or a model.

    PYTHONPATH=python python fuzz/python.py --runs 10000

Arrays of all types, orders and strides, sparse matrices, frames with columns of all kinds, views and kernels, and labels as
odd. Every run draws from a seed of its own, which is printed with a fault: `--seed N --runs 1` repeats it. A panic, an
exception of Python's own making (AttributeError and the like), or other predictions for the same values in another layout
are faults.
"""

import argparse
import collections
import sys
import time
import traceback
import warnings

import multikernel as mk
import numpy as np
import pandas as pd
import scipy.sparse as sp

# What a caller may get: a value or a type that is wrong, scikit-learn's among them.
ALLOWED = (ValueError, TypeError, NotImplementedError, OverflowError, IndexError)
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 2.0**53, 1e-30]
TYPES = ["f8", ">f8", "f4", "f2", "g", "i8", ">i4", "i1", "u1", "u8", "?", "c16", "O", "U3", "S2", "M8[s]", "m8[D]"]


def array(rng, n, p):
    """An array of any type and layout, mostly n x p."""
    shape = [(n, p), (n, p), (n, p), (n, p), (n,), (n, p, 1), (0, p), (n, 0), (p, n), ()][rng.integers(10)]
    kind = TYPES[rng.integers(len(TYPES))] if rng.random() < 0.4 else "f8"
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 0.15 and values.size:
        values.flat[rng.integers(values.size)] = ODD[rng.integers(len(ODD))]
    with np.errstate(all="ignore"):
        X = values.astype("i8").astype(kind) if kind[0] in "Mm" else values.astype(kind)
    how = rng.integers(10)
    if how == 0:
        X = np.asfortranarray(X)
    elif how == 1 and X.ndim == 2:
        X = np.repeat(X, 2, axis=0)[::2]
    elif how == 2 and X.ndim == 2:
        X = X[::-1, ::-1]
    elif how == 3:
        X.flags.writeable = False
    elif how == 4 and X.ndim == 2:
        X = np.broadcast_to(X[:1], X.shape)
    elif how == 5:
        X = np.ma.masked_array(X, mask=rng.random(X.shape) < 0.2)
    elif how == 6:
        X = X.tolist()
    elif how == 7 and X.ndim == 2:
        X = np.frombuffer(b"\0" + X.tobytes(), dtype="u1")[1:].view(X.dtype).reshape(X.shape) if kind not in ("O",) else X
    return X


def sparse(rng, n, p):
    X = sp.random(n, p, density=rng.random(), format=["csr", "csc", "coo", "lil", "dok", "bsr", "dia"][rng.integers(7)], random_state=rng)
    if rng.random() < 0.3:
        X = X.tocsr()
        X = [X.astype("f4"), X[:, ::-1], X * np.nan, sp.csr_array(X), -X, X.astype("i8")][rng.integers(6)]
    if rng.random() < 0.1 and X.format == "csr" and X.nnz:
        X.indices[rng.integers(X.nnz)] = rng.integers(-2, 2 * p)
    return X


def column(rng, n):
    """A column of a frame."""
    number = rng.normal(size=n)
    words = np.array(["red", "blue", "", "a b", "é\u202e", "x" * 50, "1", "nan"])[rng.integers(8, size=n)]
    made = [
        lambda: number,
        lambda: words,
        lambda: pd.Categorical(words),
        lambda: pd.Categorical(words, categories=sorted(set(words)), ordered=True),
        lambda: pd.date_range("2020-01-01", periods=n).to_series().to_numpy(),
        lambda: pd.array(np.where(number > 1, None, number.round()), dtype="Int64"),
        lambda: pd.array(np.where(number > 1, None, number), dtype="Float64"),
        lambda: pd.array(number > 0, dtype="boolean"),
        lambda: pd.array(words, dtype="string"),
        lambda: np.array([[], {}, None, 1, "x", np.nan, b"b", 1j], dtype=object)[rng.integers(8, size=n)],
        lambda: np.where(rng.random(n) < 0.3, None, words),
        lambda: pd.arrays.SparseArray(np.where(number > 0, number, 0.0)),
        lambda: pd.interval_range(0, n)[:n],
        lambda: pd.date_range("2020-01-01", periods=n, tz="UTC"),
        lambda: pd.to_timedelta(number, unit="D"),
        lambda: number > 0,
        lambda: np.full(n, np.nan),
        lambda: rng.integers(0, 3, size=n),
    ]
    return made[rng.integers(len(made)) if rng.random() < 0.6 else 0]()


def frame(rng, n, p):
    X = pd.DataFrame({f"c{j}": pd.Series(column(rng, n)).reset_index(drop=True) for j in range(p)})
    how = rng.integers(9)
    if how == 0:
        X.columns = ["c"] * p
    elif how == 1:
        X.columns = [[1, "", None, ("a", 1), "c\x00", "c:d", "x" * 1000][rng.integers(7)] for _ in range(p)]
    elif how == 2:
        X.index = [f"s{i % max(n - 1, 1)}" for i in range(n)]
    elif how == 3:
        X.index = pd.MultiIndex.from_arrays([range(n), range(n)])
    elif how == 4 and p > 1:
        X.columns = pd.MultiIndex.from_tuples([("a", j) for j in range(p)])
    elif how == 5:
        X = X.iloc[::-1]
    return X


def views(rng, n, p):
    tables = {f"v{k}": (frame if rng.random() < 0.4 else array)(rng, n, 1 + k) for k in range(1 + rng.integers(3))}
    return mk.Views(how=["outer", "inner"][rng.integers(2)], **tables)


def kernels(rng, n, p):
    points = rng.normal(size=(n, p))
    K = points @ points.T
    how = rng.integers(6)
    K = [K, K.astype("f4"), K[:, ::-1], np.where(K > 2, np.nan, K), K[: n - 1], K][how]
    return mk.stack(*[K] * (1 + rng.integers(3)))


def labels(rng, n):
    codes = rng.integers(0, 2 + rng.integers(3), size=n)
    made = [
        lambda: codes,
        lambda: codes,
        lambda: np.array(["a", "b", "c", "d"])[codes],
        lambda: codes.astype("f8"),
        lambda: pd.Series(codes, index=rng.permutation(n)),
        lambda: pd.Categorical(codes),
        lambda: codes[:-1],
        lambda: np.c_[codes, codes],
        lambda: np.where(codes == 1, np.nan, codes),
        lambda: np.array([None, "x", 1, 2.5], dtype=object)[codes],
        lambda: np.zeros(n),
        lambda: codes > 0,
        lambda: codes.astype("S1"),
        lambda: rng.normal(size=n),
        lambda: None,
        lambda: list(map(str, codes)),
    ]
    return made[rng.integers(len(made))]()


def one(seed):
    """One run: what it ended in."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 24)), int(rng.integers(1, 5))
    make = [array, array, sparse, frame, frame, views, kernels][rng.integers(7)]
    X, y = make(rng, n, p), labels(rng, n)
    task = rng.integers(8)
    if make is kernels:
        model = mk.MKLClassifier("average", "precomputed")
    elif task == 0:
        model = mk.MKLRegressor("evidence", "linear")
    elif task == 1:
        model = mk.MKLClusterer("mkc", "linear")
    elif task == 2:
        model = mk.OnlineMKLClassifier("ufomkl", "linear")
    else:
        model = mk.MKLClassifier(["majority", "average"][rng.integers(2)])
    if rng.random() < 0.1:
        model.set_params(**{["views", "missing", "scale", "precision"][rng.integers(4)]: [None, 3, "x", {"a": [0]}][rng.integers(4)]})
    model.fit(X, y)
    found = np.asarray(model.predict(X))
    assert len(found) == len(np.asarray(X) if isinstance(X, list) else X) if not sp.issparse(X) else len(found) == X.shape[0]
    if make is array and isinstance(X, np.ndarray) and X.dtype == np.float64 and not np.ma.isMaskedArray(X):
        again = np.asarray(model.predict(np.asfortranarray(X.astype(">f8"))))
        assert np.array_equal(found, again), "another layout, another prediction"
    if rng.random() < 0.2:
        model.predict((frame if rng.random() < 0.5 else array)(rng, n, p))
    return "a model"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    ends, faults, begin, runs = collections.Counter(), {}, time.time(), 0
    for seed in range(args.seed, args.seed + args.runs):
        if time.time() - begin > args.seconds:
            break
        runs += 1
        try:
            ends[one(seed)] += 1
        except ALLOWED as error:
            ends[type(error).__name__] += 1
            if not str(error).strip():
                faults.setdefault(f"{type(error).__name__} without a word", seed)
        # A panic of the library is no Exception.
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            where = traceback.extract_tb(error.__traceback__)[-1]
            faults.setdefault(f"{type(error).__name__}: {str(error)[:200]} ({where.filename.rsplit('/', 1)[-1]}:{where.lineno})", seed)
    print(f"{runs} runs in {time.time() - begin:.0f} s: {dict(ends)}; {len(faults)} faults")
    for fault, seed in faults.items():
        print(f"  --seed {seed} --runs 1: {fault}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
