"""Numbers from a stream: `multikernel online --target` beside scikit-learn's SGDRegressor, row by row.

    python benches/stream_numbers.py [--data-dir DIR] [--repeats R] [--rows N] [--sets NAME,...]

DIR holds tables as NAME.csv.gz with `types.json` (target and kind of every column); sets that are not there are left out with
a message. Rows are dealt at random, once for each repeat, N of them at most. Each is predicted, then learned; R2 is that of all
rows and of the second half. SGDRegressor is at its defaults, on the scaled numeric columns and one column for each level of a
category. Both have their scales, also that of the target, from the first 1,000 rows. Needs numpy, pandas, scikit-learn, and the
command line (`$MULTIKERNEL`, else target/release/multikernel).
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import pandas as pd
from sklearn.linear_model import SGDRegressor

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETS = ["boston_housing", "college", "sacramento_houses", "wage_midatlantic", "chicago_ridership", "diamonds"]
WARMUP = 1000


def r2(y, predicted):
    return 1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def both(y, predicted):
    half = len(y) // 2
    return r2(y, predicted), r2(y[half:], predicted[half:])


def linear(table, kinds, y):
    """Predictions of SGDRegressor, each made before its row was learned, and seconds."""
    numbers = table[[name for name in table if kinds[name] == "numeric"]].to_numpy(float)
    first = numbers[:WARMUP]
    numbers = np.where(np.isnan(numbers), np.nanmean(first, axis=0), numbers)
    deviation = np.nanstd(first, axis=0)
    numbers = (numbers - np.nanmean(first, axis=0)) / np.where(deviation > 0, deviation, 1)
    levels = [pd.get_dummies(table[name].astype(str)).to_numpy(float) for name in table if kinds[name] == "categorical"]
    x = np.hstack([numbers, *levels])
    mean, scale = y[:WARMUP].mean(), y[:WARMUP].std()
    target, found, model = (y - mean) / scale, np.zeros(len(y)), SGDRegressor(random_state=0)
    start = time.perf_counter()
    for i in range(len(y)):
        if i:
            found[i] = model.predict(x[i : i + 1])[0]
        model.partial_fit(x[i : i + 1], target[i : i + 1])
    return mean + scale * found, time.perf_counter() - start


def ours(binary, path, target, method):
    predictions = path.with_suffix(".predictions.csv")
    command = [binary, "online", path, "--target", target, "--method", method, "--predictions", predictions, "--quiet"]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return pd.read_csv(predictions)["predicted"].to_numpy(), time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=pathlib.Path, default=ROOT.parent / "shared" / "data" / "regression")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--sets", default=",".join(SETS), help="with commas between")
    args = parser.parse_args()
    binary = os.environ.get("MULTIKERNEL", ROOT / "target" / "release" / "multikernel")
    print("| set | rows | " + " | ".join(f"{name}: R2 / second half / s" for name in ("ufomkl", "mklda", "SGDRegressor")) + " |")
    print("|---|---|---|---|---|")
    types = json.loads((args.data_dir / "types.json").read_text()) if (args.data_dir / "types.json").exists() else {}
    for name in args.sets.split(","):
        source = args.data_dir / f"{name}.csv.gz"
        if not (source.exists() and name in types):
            print(f"{name}: not in {args.data_dir}, left out")
            continue
        table = pd.read_csv(source, keep_default_na=False, na_values=["NA", ""])
        target, kinds = types[name]["target"], types[name]["columns"]
        table = table[[target] + [column for column in table if column != target and kinds[column] in ("numeric", "categorical")]]
        figures = {method: [] for method in ("ufomkl", "mklda", "sgd")}
        for repeat in range(args.repeats):
            rows = table.sample(min(args.rows, len(table)), random_state=repeat).reset_index(drop=True)
            y = rows[target].to_numpy(float)
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "rows.csv"
                rows.to_csv(path, index=False, na_rep="NA")
                for method in ("ufomkl", "mklda"):
                    found, seconds = ours(binary, path, target, method)
                    figures[method].append((*both(y, found), seconds))
            found, seconds = linear(rows.drop(columns=target), kinds, y)
            figures["sgd"].append((*both(y, found), seconds))
        cells = ["{:.3f} / {:.3f} / {:.2f}".format(*np.mean(found, axis=0)) for found in figures.values()]
        print(f"| {name} | {len(y)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
