"""Numbers and times to predict, beside what people use today: himalaya, scikit-learn, scikit-survival.

    python benches/regression_peers.py --data-dir DIR [--only NAME,...] [--skip TOOL,...] [--json FILE] [--slow] [--max-rows N]

DIR holds tables as NAME.csv.gz with `types.json` (target and kind of every column) and `reference.json` (figures of scikit-survival).
Three halves each (seeds 0, 1, 2, stratified by five quantiles of the target, or by event); sets of more than 4,000 rows (--max-rows) are cut
to that. Ours gets the table as it is; the others one-hot columns, numbers with the median for missing ones, all scaled, and a
standardised target where they do not standardise it themselves. himalaya
gets ten kernels of these columns (seven Gaussians about the median distance, three polynomials, unit diagonals), and
`same kernels` is our evidence on the very same matrices. Times are those of one thread from rows to predictions. `minus himalaya` is
the mean difference in R2 with its 95 % interval, corrected for overlapping splits. With --slow also an SVR grid, a Gaussian process,
a random forest and histogram boosting. A tool that is not installed is left out with a message. Ends with status 1 if ours is
distinguishably behind himalaya on a set.
"""

import argparse
import json
import os
import pathlib
import sys
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

SEEDS = (0, 1, 2)
MAX_ROWS = 4000


def encoded(train, test, kinds):
    """One-hot categories, numbers with the median for missing ones and a flag; scaled on the training rows."""
    import pandas as pd

    columns = []
    for name in train.columns:
        both = [train[name], test[name]]
        if kinds[name] == "numeric":
            both = [pd.to_numeric(half) for half in both]
        elif kinds[name] == "date":
            both = [pd.to_datetime(half).astype("int64") / 8.64e13 for half in both]
        if kinds[name] in ("numeric", "date"):
            middle = both[0].median()
            columns.append([half.fillna(middle).to_numpy(float) for half in both])
            if both[0].isna().any():
                columns.append([half.isna().to_numpy(float) for half in both])
        else:
            levels = sorted(both[0].fillna("missing").unique())
            columns += [[(half.fillna("missing") == level).to_numpy(float) for half in both] for level in levels]
    X, Z = (np.column_stack([column[side] for column in columns]) for side in (0, 1))
    keep = X.std(0) > 0
    X, Z = X[:, keep], Z[:, keep]
    return (X - X.mean(0)) / X.std(0), (Z - X.mean(0)) / X.std(0)


def grams(A, X):
    """Ten kernels between rows A and X, with unit diagonals."""
    from scipy.spatial.distance import cdist, pdist

    square, width = cdist(A, X, "sqeuclidean"), np.median(pdist(X))
    inner, norms = A @ X.T, np.sqrt(np.outer((A * A).sum(1) + 1, (X * X).sum(1) + 1))
    return [np.exp(-square / (2 * (width * 2.0**k) ** 2)) for k in range(-3, 4)] + [((inner + 1) / norms) ** d for d in (1, 2, 3)]


def himalaya(task):
    from himalaya.backend import set_backend
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    set_backend("numpy")
    X, Z, y = task["X"], task["Z"], task["y"]
    model = MultipleKernelRidgeCV(kernels="precomputed", solver_params={"progress_bar": False}, random_state=0)
    # It has no intercept and no scale of its own.
    model.fit(np.stack(grams(X, X)), ((y - y.mean()) / y.std())[:, None])
    return y.mean() + y.std() * np.asarray(model.predict(np.stack(grams(Z, X))))[:, 0]


def same_kernels(task):
    import multikernel as mk

    X, Z = task["X"], task["Z"]
    reg = mk.MKLRegressor("evidence", "precomputed").fit(mk.stack(*grams(X, X)), task["y"])
    return reg.predict(mk.stack(*grams(Z, X)))


def ours(method):
    def run(task):
        import multikernel as mk

        return mk.MKLRegressor(method, kinds=task["kinds"]).fit(task["train"], task["y"]).predict(task["test"])

    return run


def sklearn_tool(build):
    return lambda task: build().fit(task["X"], task["y"]).predict(task["Z"])


def svr():
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    grid = {"C": [1, 10, 100], "gamma": ["scale", 0.01, 0.1]}
    return TransformedTargetRegressor(GridSearchCV(SVR(), grid, cv=3), transformer=StandardScaler())


def gp():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    return GaussianProcessRegressor(ConstantKernel() * RBF(3.0) + WhiteKernel(), normalize_y=True)


def forest():
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(300, random_state=0)


def boosting():
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=0)


TOOLS = {"evidence": ours("evidence"), "average": ours("average"), "same kernels": same_kernels, "himalaya": himalaya}
SLOW = {"SVR grid": sklearn_tool(svr), "GP": sklearn_tool(gp), "forest": sklearn_tool(forest), "boosting": sklearn_tool(boosting)}


def halves(table, strata, seed, max_rows):
    from sklearn.model_selection import train_test_split

    if len(table) > max_rows:
        at, _ = train_test_split(np.arange(len(table)), train_size=max_rows, random_state=99)
    else:
        at = np.arange(len(table))
    return train_test_split(at, test_size=0.5, stratify=strata[at], random_state=seed)


def regression(name, table, about, tools, max_rows):
    """R2 of each tool on each split, and seconds."""
    import pandas as pd

    target, kinds = about["target"], about["columns"]
    y = pd.to_numeric(table[target]).to_numpy(float)
    table = table.drop(columns=[target])
    strata = pd.qcut(y, 5, labels=False, duplicates="drop")
    found = {tool: ([], 0.0) for tool in tools}
    for seed in SEEDS:
        rows, tests = halves(table, strata, seed, max_rows)
        train, test = table.iloc[rows], table.iloc[tests]
        X, Z = encoded(train, test, kinds)
        for tool, run in list(tools.items()):
            told = {column: "number" for column, kind in kinds.items() if kind == "numeric" and column in table}
            numbers = {column: pd.to_numeric for column in told}
            parts = [half.assign(**{column: turn(half[column]) for column, turn in numbers.items()}) for half in (train, test)]
            task = {"X": X, "Z": Z, "y": y[rows], "train": parts[0], "test": parts[1], "kinds": {}}
            start = time.perf_counter()
            try:
                guess = run(task)
            except ImportError as error:
                print(f"{tool}: left out, {error}", file=sys.stderr)
                tools.pop(tool), found.pop(tool)
                continue
            seconds = time.perf_counter() - start
            r2 = 1 - ((y[tests] - guess) ** 2).sum() / ((y[tests] - y[tests].mean()) ** 2).sum()
            found[tool] = (found[tool][0] + [float(r2)], found[tool][1] + seconds)
    return found


def difference(a, b):
    """Mean difference and the half width of its 95 % interval over overlapping halves."""
    from scipy.stats import t

    gap = np.array(a) - np.array(b)
    return gap.mean(), t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) * np.sqrt(1 / len(gap) + 1)


def survival(name, table, about, reference, max_rows):
    """Concordance of ours on each split, beside the stored figures of scikit-survival."""
    import multikernel as mk
    import pandas as pd

    time_of, event_of = pd.to_numeric(table["time"]).to_numpy(float), pd.to_numeric(table["event"]).to_numpy() == 1
    table = table.drop(columns=["time", "event"])
    for column, kind in about["columns"].items():
        if kind == "numeric" and column in table:
            table[column] = pd.to_numeric(table[column])
    target = mk.survival_target(time_of, event_of)
    found, start = [], time.perf_counter()
    for seed in SEEDS:
        rows, tests = halves(table, event_of, seed, max_rows)
        est = mk.MKLSurvival("evidence").fit(table.iloc[rows], target[rows])
        found.append(est.score(table.iloc[tests], target[tests]))
    seconds = time.perf_counter() - start
    theirs = {peer: entry["concordance"]["mean"] for peer, entry in reference.items()}
    words = ", ".join(f"{peer} {value:.3f}" for peer, value in theirs.items())
    print(f"{name:<24} ours {np.mean(found):.3f} ({', '.join(f'{value:.3f}' for value in found)}), {words}, {seconds:.1f} s", flush=True)
    return {"set": name, "ours": found, "peers": theirs, "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="", help="tools to leave out")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--max-rows", type=int, default=MAX_ROWS)
    args = parser.parse_args()
    if args.data_dir is None or not (args.data_dir / "types.json").exists():
        print("no tables: give --data-dir DIR with NAME.csv.gz, types.json and reference.json; skipped")
        return
    import pandas as pd

    warnings.simplefilter("ignore")
    types = json.loads((args.data_dir / "types.json").read_text())
    reference = json.loads((args.data_dir / "reference.json").read_text())
    skipped = args.skip.split(",")
    tools = {tool: run for tool, run in (TOOLS | (SLOW if args.slow else {})).items() if tool not in skipped}
    only = [name for name in args.only.split(",") if name]
    lines, is_behind = [], False
    for name, about in types.items():
        path = args.data_dir / f"{name}.csv.gz"
        if not path.exists() or only and name not in only:
            continue
        table = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=["NA", ""])
        if about["task"] == "survival":
            lines.append(survival(name, table, about, reference[name], args.max_rows))
        if about["task"] != "regression":
            continue
        found = regression(name, table, about, tools, args.max_rows)
        told = ", ".join(f"{tool} {np.mean(r2):.3f} {seconds:.1f} s" for tool, (r2, seconds) in found.items())
        line = f"{name:<24} {told}"
        if "himalaya" in found:
            gap, wide = difference(found["evidence"][0], found["himalaya"][0])
            is_behind |= gap + wide < 0
            line += f"; minus himalaya {gap:+.3f} +- {wide:.3f}, {found['himalaya'][1] / found['evidence'][1]:.0f} times as fast"
        print(line, flush=True)
        lines.append({"set": name, "r2": {tool: r2 for tool, (r2, _) in found.items()}, "seconds": {tool: s for tool, (_, s) in found.items()}})
    if args.json:
        args.json.write_text(json.dumps(lines, indent=1) + "\n")
    sys.exit(1 if is_behind else 0)


if __name__ == "__main__":
    main()
