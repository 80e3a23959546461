"""Numbers among kernels that know nothing: do learned weights hold where uniform ones fall?

    python benches/noise_kernels.py --data-dir DIR [--only NAME,...]

DIR holds tables as NAME.csv.gz with `types.json` (target and kind of every column). Nine columns of noise are added to the numeric
columns of each. The bank is 17 kernels, gaussian(2^-6..2^7) and polynomial(1..3), on the true columns together, and the same 17 on
each column of noise: 170 in all. R2 on the other half of the rows, mean of three halves (seeds 0, 1, 2), on the 17 kernels alone
and on all 170.
"""

import argparse
import json
import pathlib
import time
import warnings

import numpy as np

SEEDS = (0, 1, 2)
METHODS = ("average", "evidence", "simplemkl")
KERNELS = ("gaussian(2^-6..2^7)", "polynomial(1..3)")
SETS = ("diabetes", "boston_housing", "ozone_la", "imports85_price")


def tables(folder, names):
    import pandas as pd

    types = json.loads((folder / "types.json").read_text())
    for name in names:
        path = folder / f"{name}.csv.gz"
        if not path.exists():
            print(f"{name}: not in {folder}, left out")
            continue
        about = types[name]
        table = pd.read_csv(path, keep_default_na=False, na_values=["NA", ""])
        y = pd.to_numeric(table[about["target"]]).to_numpy(float)
        columns = [column for column, kind in about["columns"].items() if kind == "numeric" and column in table and column != about["target"]]
        x = table[columns].apply(pd.to_numeric)
        yield name, x.fillna(x.median()).to_numpy(float), y


def r2(model, X, y, rows, tests):
    guess = model.fit(X[rows], y[rows]).predict(X[tests])
    return 1 - ((y[tests] - guess) ** 2).sum() / ((y[tests] - y[tests].mean()) ** 2).sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(SETS))
    args = parser.parse_args()
    if args.data_dir is None or not (args.data_dir / "types.json").exists():
        print("no tables: give --data-dir DIR with NAME.csv.gz and types.json; skipped")
        return
    import multikernel as mk
    from sklearn.model_selection import train_test_split

    warnings.simplefilter("ignore")
    print("| set | method | R2, 17 kernels | R2, 170 kernels | difference | s |\n|---|---|---:|---:|---:|---:|", flush=True)
    for name, x, y in tables(args.data_dir, args.only.split(",")):
        noise = np.random.default_rng(0).standard_normal((len(y), 9))
        both, d = np.hstack([x, noise]), x.shape[1]
        alone = ", ".join(f"{kernel} on [0:{d}]" for kernel in KERNELS)
        every = ", ".join([alone, *(f"{kernel} on [{d + j}]" for j in range(9) for kernel in KERNELS)])
        strata = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
        halves = [train_test_split(np.arange(len(y)), test_size=0.5, stratify=strata, random_state=seed) for seed in SEEDS]
        for method in METHODS:
            found, seconds = [], 0.0
            for bank in (alone, every):
                start = time.perf_counter()
                found.append(np.mean([r2(mk.MKLRegressor(method, bank), both, y, rows, tests) for rows, tests in halves]))
                seconds = time.perf_counter() - start
            print(f"| {name} | {method} | {found[0]:.3f} | {found[1]:.3f} | {found[1] - found[0]:+.3f} | {seconds / len(SEEDS):.2f} |", flush=True)


if __name__ == "__main__":
    main()
