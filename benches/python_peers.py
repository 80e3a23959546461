"""multikernel in Python beside what people use today: MKLpy, himalaya, scikit-learn's SVC on a hand-summed kernel.

    python benches/python_peers.py [--data-dir DIR] [--repeats 5]

Every tool gets the same standardised rows, the same 17 kernels (14 Gaussians of fixed widths, three polynomials, unit
diagonals) and the same stratified halves (seeds 0 .. repeats-1; pendigits 2,000 training and 2,000 test rows), one thread, and is timed
from rows to predictions: kernels, fit, predict. Tool and set run in a process of their own, whose peak of memory beyond the
imports is told. A tool that is not installed is left out with a message, and so is a set that is neither in DIR nor
bundled. MKLpy 0.6 needs torch; himalaya is regression, so it regresses on one column of -1 and 1 for each class.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import resource
import subprocess
import sys
import time
import warnings

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
for name in THREADS:
    os.environ[name] = "1"

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

ROOT = pathlib.Path(__file__).resolve().parent.parent
C = 10.0
# For all splits of a set; a tool that takes longer is left out.
MAX_SECONDS = 300
WIDTHS = [2.0**k for k in range(-6, 8)]
DEGREES = [1, 2, 3]
BANK = "gaussian(2^-6..2^7), polynomial(1..3)"
# Name, file, rows to train on and to test on (None: a half each).
SETS = [
    ("sonar", "sonar", None),
    ("ionosphere", "ionosphere", None),
    ("german", "german.numer", None),
    ("pendigits", "pendigits.train", 2000),
]


def read(path):
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.reader(file))[1:]
    names = sorted({row[-1] for row in rows})
    return np.array([row[:-1] for row in rows], dtype=np.float64), np.array([names.index(row[-1]) for row in rows])


def grams(A, B):
    """The 17 kernels between rows of A and of B, on a unit diagonal; squared distances are computed once."""
    a, b = (A * A).sum(1), (B * B).sum(1)
    products = A @ B.T
    squares = np.maximum(a[:, None] + b[None, :] - 2 * products, 0)
    found = [np.exp(squares / (-2 * width * width)) for width in WIDTHS]
    for degree in DEGREES:
        scale = np.sqrt((a + 1) ** degree)[:, None] * np.sqrt((b + 1) ** degree)[None, :]
        found.append((products + 1) ** degree / scale)
    return found


def sum_svc(X, y, Z):
    clf = SVC(kernel="precomputed", C=C).fit(sum(grams(X, X)) / 17, y)
    return clf.predict(sum(grams(Z, X)) / 17)


def mklpy(name):
    def run(X, y, Z):
        import MKLpy.algorithms
        import torch

        torch.set_num_threads(1)
        tensors = lambda kernels: [torch.from_numpy(kernel) for kernel in kernels]
        learner = getattr(MKLpy.algorithms, name)(learner=SVC(C=C))
        learner.fit(tensors(grams(X, X)), torch.from_numpy(y))
        return np.asarray(learner.predict(tensors(grams(Z, X))))

    return run


def himalaya(X, y, Z):
    from himalaya.backend import set_backend
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    set_backend("numpy")
    targets = np.where(y[:, None] == np.arange(y.max() + 1), 1.0, -1.0)
    model = MultipleKernelRidgeCV(kernels="precomputed", solver_params={"progress_bar": False}, random_state=0)
    model.fit(np.stack(grams(X, X)), targets)
    return np.asarray(model.predict(np.stack(grams(Z, X)))).argmax(1)


def ours(method, **params):
    def run(X, y, Z):
        import multikernel as mk

        clf = mk.MKLClassifier(method, BANK, scale="none", params=params).fit(X, y)
        return clf.predict(Z)

    return run


TOOLS = {
    "scikit-learn SVC, summed": ("sklearn", sum_svc),
    "MKLpy AverageMKL": ("MKLpy", mklpy("AverageMKL")),
    "MKLpy EasyMKL": ("MKLpy", mklpy("EasyMKL")),
    "himalaya kernel ridge": ("himalaya", himalaya),
    "multikernel average": ("multikernel", ours("average", c=C)),
    "multikernel easymkl": ("multikernel", ours("easymkl", c=C)),
    "multikernel evidence": ("multikernel", ours("evidence", c=C)),
    "multikernel simplemkl": ("multikernel", ours("simplemkl", c=C)),
}


def splits(X, y, size, repeats):
    for seed in range(repeats):
        halves = StratifiedShuffleSplit(1, train_size=size or 0.5, test_size=size, random_state=seed)
        train, test = next(halves.split(X, y))
        scaler = StandardScaler().fit(X[train])
        yield scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def measure(tool, path, size, repeats):
    """Runs in a process of its own; prints one line of JSON."""
    warnings.simplefilter("ignore")
    package, run = TOOLS[tool]
    __import__(package)
    X, y = read(path)
    warm = next(splits(X[:200], y[:200], None, 1))
    run(*warm[:3])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    right, seconds = [], []
    for train, codes, test, truth in splits(X, y, size, repeats):
        start = time.perf_counter()
        predicted = run(train, codes, test)
        seconds.append(time.perf_counter() - start)
        right.append(float((predicted == truth).mean()))
    extra = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"accuracy": right, "seconds": seconds, "megabytes": extra / 1024}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        tool, path, size = args.one
        return measure(tool, path, int(size) or None, args.repeats)
    print("| set | tool | accuracy, % | seconds | MB beyond imports |\n|---|---|---|---|---|")
    for name, file, size in SETS:
        folders = [args.data_dir, ROOT / "crates" / "multikernel" / "data"]
        path = next((folder / f"{file}.csv.gz" for folder in folders if (folder / f"{file}.csv.gz").exists()), None)
        if path is None:
            print(f"{name}: no {file}.csv.gz in {args.data_dir}, left out", file=sys.stderr)
            continue
        for tool in TOOLS:
            command = [sys.executable, __file__, "--repeats", str(args.repeats), "--one", tool, str(path), str(size or 0)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=MAX_SECONDS)
            except subprocess.TimeoutExpired:
                print(f"| {name} | {tool} | | more than {MAX_SECONDS} in all | |", flush=True)
                continue
            if done.returncode:
                print(f"{name}, {tool}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            accuracy = 100 * np.array(found["accuracy"])
            shown = f"{accuracy.mean():.1f} ± {accuracy.std(ddof=1):.1f}" if len(accuracy) > 1 else f"{accuracy[0]:.1f}"
            print(f"| {name} | {tool} | {shown} | {np.median(found['seconds']):.3f} | {found['megabytes']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
