"""Many classes: CPU seconds of `multikernel train --method average` beside scikit-learn's SVC on one Gaussian kernel.

Both on one thread, in turns, three times each, the least counts; ours reads the file, combines ten kernels, trains, finds
shares and writes the model, scikit-learn's is its `fit` alone. Ends with status 1 when ours takes more than three times as
long. With --many it also runs 77 classes x 6,366 rows, wall seconds of training with all threads.

    cargo build --release && python benches/classes_sklearn.py
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

ROOT = pathlib.Path(__file__).resolve().parent.parent


def rows(n_rows, n_classes, n_columns, seed):
    """Three normal clusters for each class, near enough to overlap."""
    rng = np.random.default_rng(seed)
    centres = 1.3 * rng.normal(size=(3 * n_classes, n_columns))
    classes = rng.integers(0, n_classes, n_rows)
    return centres[3 * classes + rng.integers(0, 3, n_rows)] + rng.normal(size=(n_rows, n_columns)), classes


def write(path, values, classes):
    names = ",".join(f"x{j}" for j in range(values.shape[1])) + ",label"
    formats = ["%.5f"] * values.shape[1] + ["%d"]
    np.savetxt(path, np.c_[values, classes], delimiter=",", fmt=formats, header=names, comments="")


def train(binary, folder, extra):
    """CPU and wall seconds of training on the rows in a folder."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [binary, "train", folder / "rows.csv", "--method", "average", "--out", folder / "model", "-q", *extra]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=ROOT / "target" / "release" / "multikernel")
    parser.add_argument("--many", action="store_true", help="77 classes x 6,366 rows too")
    args = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        values, classes = rows(8000, 26, 16, seed=0)
        write(folder / "rows.csv", values, classes)
        scaled = StandardScaler().fit_transform(values)
        ours, theirs = [], []
        for _ in range(3):
            ours.append(train(args.binary, folder, ["--threads", "1"])[0])
            start = time.process_time()
            SVC(C=10).fit(scaled, classes)
            theirs.append(time.process_time() - start)
        ratio = min(ours) / min(theirs)
        print(f"26 classes x 8,000 rows: average {min(ours):.2f} s, SVC {min(theirs):.2f} s, ratio {ratio:.2f} (at most 3)")
        if args.many:
            write(folder / "rows.csv", *rows(6366, 77, 8, seed=1))
            print(f"77 classes x 6,366 rows: {train(args.binary, folder, [])[1]:.2f} s")
    sys.exit(ratio > 3)


if __name__ == "__main__":
    main()
