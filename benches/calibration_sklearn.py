"""Our calibrated probabilities beside scikit-learn's, on the same splits with the same kernel.

    python benches/calibration_sklearn.py [--data-dir DIR] [--splits 10] [--binary FILE]

Both sides get the uniform combination of gaussian(2^-6..2^7), polynomial(1..3) on standardised columns and C = 10, trained
on half of the rows (pendigits: of 2,000). Ours is `multikernel train --proba` and `predict --proba`; theirs is
CalibratedClassifierCV(SVC) at its defaults (sigmoid, 5 folds, an ensemble of five machines; one machine with `ensemble=False`
is printed beside it). The Brier score is the mean over rows of sum_c (p_c - y_c)^2 for all. Differences ours - theirs come
with 95 % intervals whose standard error is corrected for the overlap of splits. Needs scikit-learn and cargo; sets that are
not in DIR are left out with a message.
"""

import argparse
import csv
import gzip
import os
import pathlib
import subprocess
import tempfile

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from scipy import stats
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETS = {"wdbc": None, "german.numer": None, "pendigits.train": 2000}
WIDTHS = [2.0**power for power in range(-6, 8)]
DEGREES = [1, 2, 3]
BANK = "gaussian(2^-6..2^7), polynomial(1..3)"


def read(path, most):
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.reader(file))[1:]
    if most is not None:
        # Evenly spread over the file.
        rows = [rows[i] for i in np.linspace(0, len(rows) - 1, most).astype(int)]
    return np.array([[float(value) for value in row[:-1]] for row in rows]), np.array([row[-1] for row in rows])


def average_kernel(a, b):
    """The uniform combination of the bank."""
    products = a @ b.T
    left, right = (a * a).sum(1)[:, None], (b * b).sum(1)[None, :]
    distances = np.maximum(left + right - 2 * products, 0)
    cosines = (1 + products) / np.sqrt((1 + left) * (1 + right))
    total = sum(np.exp(-distances / (2 * width * width)) for width in WIDTHS)
    return (total + sum(cosines**degree for degree in DEGREES)) / (len(WIDTHS) + len(DEGREES))


def brier(p, y, classes):
    return ((p - (y[:, None] == classes[None, :])) ** 2).sum(1).mean()


def ours(binary, folder, x, y, train, test):
    def write(name, rows):
        with open(folder / name, "w", newline="") as file:
            out = csv.writer(file)
            out.writerow([f"f{j}" for j in range(x.shape[1])] + ["label"])
            out.writerows([*map(repr, map(float, x[i])), y[i]] for i in rows)
        return folder / name

    model, found = folder / "m.multikernel", folder / "p.csv"
    common = ["--quiet"]
    subprocess.run(
        [binary, "train", write("train.csv", train), "--method", "average", "--kernels", BANK, "--set", "c=10", "--proba"]
        + ["--out", model, *common],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run([binary, "predict", model, write("test.csv", test), "--proba", "--out", found, *common], check=True)
    with open(found, newline="") as file:
        rows = list(csv.reader(file))
    classes = np.array([name.removeprefix("p:") for name in rows[0][1:]])
    p = np.array([[float(value) for value in row[1:]] for row in rows[1:]])
    labels = np.array([row[0] for row in rows[1:]])
    assert (classes[p.argmax(1)] == labels).all(), "a label is not the most probable class"
    return p, classes


def theirs(x, y, train, test, ensemble):
    machine = SVC(kernel=average_kernel, C=10)
    model = make_pipeline(StandardScaler(), CalibratedClassifierCV(machine, ensemble=ensemble))
    model.fit(x[train], y[train])
    return model.predict_proba(x[test]), model.classes_


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--binary", help="a built multikernel; without it cargo builds one")
    args = parser.parse_args()
    if args.binary is None:
        subprocess.run(["cargo", "build", "--release", "-p", "multikernel-cli"], cwd=ROOT, check=True)
    binary = pathlib.Path(args.binary or ROOT / "target" / "release" / "multikernel").resolve()
    for name, most in SETS.items():
        path = args.data_dir / f"{name}.csv.gz"
        if not path.exists():
            print(f"{name}: skipped, no {path.name} in {args.data_dir.name}")
            continue
        x, y = read(path, most)
        found = {"ours": [], "theirs": [], "theirs, one machine": []}
        splits = StratifiedShuffleSplit(args.splits, train_size=0.5, random_state=0)
        for train, test in splits.split(x, y):
            with tempfile.TemporaryDirectory() as folder:
                results = {
                    "ours": ours(binary, pathlib.Path(folder), x, y, train, test),
                    "theirs": theirs(x, y, train, test, True),
                    "theirs, one machine": theirs(x, y, train, test, False),
                }
            for side, (p, classes) in results.items():
                found[side].append((brier(p, y[test], classes), log_loss(y[test], p, labels=classes)))
        print(f"\n{name}: {len(y)} rows, {x.shape[1]} columns, {len(set(y))} classes, {args.splits} splits")
        for side, values in found.items():
            means, sds = np.mean(values, 0), np.std(values, 0, ddof=1)
            print(f"  {side:<20} Brier {means[0]:.4f} ± {sds[0]:.4f}   log-loss {means[1]:.4f} ± {sds[1]:.4f}")
        for side in list(found)[1:]:
            d = np.array([a[0] - b[0] for a, b in zip(found["ours"], found[side])])
            half = stats.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) * np.sqrt(1 / len(d) + 1)
            word = "not distinguishable" if abs(d.mean()) <= half else ("better" if d.mean() < 0 else "WORSE")
            print(f"  ours - {side}: Brier {d.mean():+.4f} [{d.mean() - half:+.4f}, {d.mean() + half:+.4f}] {word}")


if __name__ == "__main__":
    main()
