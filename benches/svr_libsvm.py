"""Our support vector regression beside LIBSVM as scikit-learn links it: same Gram matrices, one thread.

    python benches/svr_libsvm.py [--data-dir DIR] [--agreement-only]

DIR holds tables as NAME.csv.gz with `types.json` (target and kind of every column). Prints two tables: agreement at a tight
tolerance (dual objective, dual variables, predictions of the training rows) and the time of the fit alone at LIBSVM's default
tolerance. Ends with status 1 when the two do not agree. Needs numpy, pandas, scikit-learn and cargo; sets that are not in DIR are
left out with a message. The kernel is the mean of gaussian(2^-6..2^7) and polynomial(1..3) on the scaled numeric columns; the
target is standardised. Agreement is that on matrices rounded to float32, as LIBSVM rounds them inside, and that of dual variables
with an eighth added to the diagonal: smooth kernels leave them undetermined.
As for classes (benches/svm_libsvm.py), LIBSVM gets a contiguous float64 matrix and a cache of 1000 MB.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
import pandas as pd
from sklearn.svm import SVR
from svm_libsvm import kernel, standardise

ROOT = pathlib.Path(__file__).resolve().parent.parent
EPSILON = 0.1
WANTED = 1e-6
# Set, rows at most, C.
AGREEMENT = [("diabetes", 442, 1), ("diabetes", 442, 10), ("boston_housing", 506, 10), ("college", 777, 100), ("sacramento_houses", 932, 10)]
# Set, rows at most, C, repeats.
SPEED = [("diabetes", 442, 10, 50), ("college", 777, 10, 30), ("wage_midatlantic", 3000, 10, 5), ("diamonds", 4000, 10, 3)]


def read(folder, name, most):
    """Gram matrix and standardised numbers."""
    about = json.loads((folder / "types.json").read_text())[name]
    table = pd.read_csv(folder / f"{name}.csv.gz", keep_default_na=False, na_values=["NA", ""]).iloc[:most]
    y = pd.to_numeric(table[about["target"]]).to_numpy(float)
    columns = [name for name, kind in about["columns"].items() if kind == "numeric" and name in table and name != about["target"]]
    x = table[columns].apply(pd.to_numeric)
    (x,) = standardise(x.fillna(x.median()).to_numpy(float))
    return kernel(x, x), (y - y.mean()) / y.std()


def ours(gram, y, c, tolerance, repeats):
    with tempfile.TemporaryDirectory() as folder:
        problem, result = pathlib.Path(folder, "problem.bin"), pathlib.Path(folder, "result.json")
        with problem.open("wb") as file:
            np.array([len(y)], "<u8").tofile(file)
            y.astype("<f8").tofile(file)
            gram.astype("<f8", copy=False).tofile(file)
        options = ["--c", str(c), "--epsilon", str(EPSILON), "--tolerance", str(tolerance), "--repeats", str(repeats)]
        command = ["cargo", "bench", "--quiet", "-p", "multikernel", "--bench", "svr", "--", str(problem), str(result)]
        done = subprocess.run(command + options, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"the bench failed:\n{done.stderr}")
        return json.loads(result.read_text())


def libsvm(gram, y, c, tolerance, repeats):
    """The fitted SVR, its signed dual variables and the seconds of every fit."""
    seconds = []
    for _ in range(repeats):
        model = SVR(kernel="precomputed", C=c, epsilon=EPSILON, tol=tolerance, cache_size=1000)
        begin = time.perf_counter()
        model.fit(gram, y)
        seconds.append(time.perf_counter() - begin)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    return model, beta, seconds


def agreement(folder):
    """Prints the first table; returns how many sets were compared and how many of them disagree."""
    n_sets = n_bad = 0
    print(f"Agreement with LIBSVM: epsilon = {EPSILON:g}, tolerance 1e-9\n")
    print("| set | rows | C | rel. diff. of objective | max diff. of predictions | of dual variables |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    for name, most, c in AGREEMENT:
        if not (folder / f"{name}.csv.gz").exists():
            print(f"{name}: not in {folder}, left out", file=sys.stderr)
            continue
        gram, y = read(folder, name, most)
        differences = []
        for ridge in (0.0, 0.125):
            # LIBSVM keeps kernel rows in float32.
            matrix = (gram + ridge * np.eye(len(y))).astype(np.float32).astype(float)
            found = ours(matrix, y, c, 1e-9, 1)
            model, theirs, _ = libsvm(matrix, y, c, 1e-9, 1)
            beta = np.array(found["beta"])
            want = 0.5 * theirs @ matrix @ theirs - y @ theirs + EPSILON * np.abs(theirs).sum()
            predicted = matrix @ beta + found["bias"] - model.predict(matrix)
            differences += [abs(found["objective"] / want - 1), np.abs(predicted).max(), np.abs(beta - theirs).max()]
        objective, predictions, duals = max(differences[0], differences[3]), max(differences[1], differences[4]), differences[5]
        n_sets += 1
        n_bad += max(objective, predictions, duals) > WANTED
        print(f"| {name} | {len(y)} | {c:g} | {objective:.1e} | {predictions:.1e} | {duals:.1e} |", flush=True)
    return n_sets, n_bad


def speed(folder):
    print(f"\nFit time: epsilon = {EPSILON:g}, tolerance 1e-3, one thread, best of equally many repeats\n")
    print("| set | rows | C | repeats | iterations ours / LIBSVM | ours s | LIBSVM s | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for name, most, c, repeats in SPEED:
        if not (folder / f"{name}.csv.gz").exists():
            continue
        gram, y = read(folder, name, most)
        found = ours(gram, y, c, 1e-3, repeats)
        model, _, seconds = libsvm(gram, y, c, 1e-3, repeats)
        best = min(found["seconds"])
        print(
            f"| {name} | {len(y)} | {c:g} | {repeats} | {found['n_iter']} / {model.n_iter_} | {best:.5f} | {min(seconds):.5f} "
            f"| {best / min(seconds):.2f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=pathlib.Path, default=ROOT.parent / "shared" / "data" / "regression")
    parser.add_argument("--agreement-only", action="store_true", help="leave the timing out")
    args = parser.parse_args()
    if not (args.data_dir / "types.json").exists():
        print("no tables: give --data-dir DIR with NAME.csv.gz and types.json; skipped")
        return
    n_sets, n_bad = agreement(args.data_dir)
    if not args.agreement_only:
        speed(args.data_dir)
    if n_bad:
        sys.exit(f"{n_bad} of {n_sets} sets differ by more than {WANTED:g}")


if __name__ == "__main__":
    main()
