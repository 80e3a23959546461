"""What the Python package costs beyond the Rust library, which runs in turns with it.

    python benches/python_cost.py [--turns 5]

Least times of all turns on one thread: fit of `average` on wdbc and the prediction of one row, beside the same calls in
Rust (`cargo bench --bench fit`); two fits in two threads beside one after the other; the import beyond scikit-learn's own.
Needs the installed package and cargo.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import threading
import time
import warnings

import multikernel as mk
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent


def least(repeats, work):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def rust():
    done = subprocess.run(
        ["cargo", "bench", "--quiet", "--bench", "fit"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def import_seconds(code):
    measured = f"import time; import sklearn.base, sklearn.utils.estimator_checks; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", measured], capture_output=True, text=True, check=True).stdout)


def two_fits(together):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 20))
    y = (X[:, 0] > 0).astype(int)

    def fit():
        mk.EvidenceMKL().fit(X, y)

    fit()
    start = time.perf_counter()
    threads = [threading.Thread(target=fit) for _ in range(2)]
    for thread in threads:
        thread.start()
        if not together:
            thread.join()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = mk.datasets.load_wdbc(return_X_y=True)
    clf = mk.AverageMKL().fit(X, y)
    row = X[:1].copy()
    ours, theirs, apart, together, imports = {"fit": [], "predict_one": []}, [], [], [], []
    for _ in range(args.turns):
        theirs.append(rust())
        ours["fit"].append(least(30, lambda: mk.AverageMKL().fit(X, y)))
        ours["predict_one"].append(least(600, lambda: clf.predict(row)))
        apart.append(two_fits(False))
        together.append(two_fits(True))
        imports.append(import_seconds("import multikernel"))
    fit, fit_rust = min(ours["fit"]), min(one["fit"] for one in theirs)
    one, one_rust = min(ours["predict_one"]), min(one["predict_one"] for one in theirs)
    print("| what | Python | Rust | |\n|---|---|---|---|")
    print(f"| fit of average, wdbc | {1e3 * fit:.2f} ms | {1e3 * fit_rust:.2f} ms | 1.05 x Rust + 2 ms is {1e3 * (1.05 * fit_rust + 0.002):.2f} ms |")
    print(f"| predict of one row | {1e6 * one:.0f} us | {1e6 * one_rust:.0f} us | |")
    print(f"| two fits in two threads | {min(apart) / min(together):.2f} times one after the other | | |")
    print(f"| import beyond scikit-learn | {min(imports):.3f} s | | |")


if __name__ == "__main__":
    main()
