"""Our SVM solver beside LIBSVM as scikit-learn links it: same Gram matrices, same C, same tolerance, one thread.

    python benches/svm_libsvm.py [--data-dir DIR] [--agreement-only]

prints two tables: agreement at a tight tolerance (labels of the test half, of the solver alone on the same Gram matrix
and of `multikernel train` and `predict` on the same rows; dual objective of every pair of classes) and the time of the
fit alone at LIBSVM's default tolerance. Ends with status 1 when the two do not agree. Needs numpy, scikit-learn and
cargo; sets neither in DIR nor bundled are left out with a message.

Only fitting is timed, on both sides, as the best of equally many repeats. LIBSVM gets its best case: a C-contiguous
float64 matrix that needs no conversion, and a kernel cache of 1000 MB. scikit-learn's check of its input is part of
its fit, as checking is part of ours.
"""

import argparse
import csv
import gzip
import itertools
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
from sklearn.svm import SVC

ROOT = pathlib.Path(__file__).resolve().parent.parent
C = 50.0
BANK = "gaussian(2^-6..2^7), polynomial(1..3)"
# A row is called a tie when some pair decides it by less than this: two solutions of the same tolerance may differ.
TIE = 1e-5
LABELS_WANTED = 99.9
OBJECTIVE_WANTED = 1e-6
# Name, file, training rows (None: half), test rows (None: the rest).
AGREEMENT = [
    ("ionosphere", "ionosphere", None, None),
    ("sonar", "sonar", None, None),
    ("wdbc", "wdbc", None, None),
    ("vehicle", "vehicle", None, None),
    ("german.numer", "german.numer", None, None),
    ("pendigits", "pendigits.train", 2000, 2000),
]
# Name, file, training rows, whether they are drawn (else the first), repeats.
SPEED = [
    ("german.numer", "german.numer", 500, True, 200),
    ("pendigits", "pendigits.train", 3747, True, 10),
    ("ijcnn1", "ijcnn1.train", 8000, False, 10),
]


def read(path):
    """Features, and classes as numbers from 0 in the order of their sorted names."""
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.reader(file))[1:]
    x = np.array([[float(value) for value in row[:-1]] for row in rows])
    return x, np.unique([row[-1] for row in rows], return_inverse=True)[1]


def standardise(train, *others):
    """All by mean and population standard deviation of the training rows; a constant column keeps its scale."""
    mean, sd = train.mean(axis=0), train.std(axis=0)
    sd[sd == 0] = 1
    return [(x - mean) / sd for x in (train, *others)]


def kernel(a, b):
    """Uniform average of gaussian(2^-6..2^7) and polynomial(1..3), all with unit diagonal."""
    dot = a @ b.T
    aa, bb = (a * a).sum(axis=1)[:, None], (b * b).sum(axis=1)[None, :]
    distance = np.maximum(aa + bb - 2 * dot, 0)
    if a is b:
        np.fill_diagonal(distance, 0)
    t = (1 + dot) / np.sqrt((1 + aa) * (1 + bb))
    total = t + t**2 + t**3
    for power in range(-6, 8):
        total += np.exp(distance * (-0.5 / 4.0**power))
    total /= 17
    if a is b:
        # Exactly symmetric: both solvers may read either triangle.
        total = (total + total.T) / 2
    return np.ascontiguousarray(total)


def ours(gram, classes, test, tolerance, repeats):
    """What our solver says: runs the bench on files, see benches/svm.rs for their layout."""
    with tempfile.TemporaryDirectory() as folder:
        problem, result = pathlib.Path(folder, "problem.bin"), pathlib.Path(folder, "result.json")
        with problem.open("wb") as file:
            np.array([len(gram), len(test), classes.max() + 1], "<u8").tofile(file)
            classes.astype("<u8").tofile(file)
            gram.astype("<f8", copy=False).tofile(file)
            test.astype("<f8", copy=False).tofile(file)
        options = ["--c", str(C), "--tolerance", str(tolerance), "--repeats", str(repeats)]
        # Of all packages, as the tests are built: one alone would compile the library again.
        # Packages and features that are compiled already, if scripts/test asks.
        chosen = os.environ.get("CARGO_CHOICE", "").split()
        command = ["cargo", "bench", "--quiet", *chosen, "--bench", "svm", "--", str(problem), str(result)]
        done = subprocess.run(command + options, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"the bench failed:\n{done.stderr}")
        return json.loads(result.read_text())


def libsvm(gram, classes, tolerance, repeats):
    """The fitted SVC and the seconds of every fit."""
    seconds = []
    for _ in range(repeats):
        model = SVC(kernel="precomputed", C=C, tol=tolerance, cache_size=1000, decision_function_shape="ovo")
        begin = time.perf_counter()
        model.fit(gram, classes)
        seconds.append(time.perf_counter() - begin)
    return model, seconds


def objectives(model, gram):
    """LIBSVM's dual objective of every pair, from the coefficients: 1/2 c'Kc - sum |c|."""
    ends = np.cumsum(model.n_support_)
    of = [slice(end - n, end) for end, n in zip(ends, model.n_support_)]
    values = []
    for i, j in itertools.combinations(range(len(of)), 2):
        # Row j - 1 holds a support vector of class i against class j, row i the other way round.
        c = np.concatenate([model.dual_coef_[j - 1, of[i]], model.dual_coef_[i, of[j]]])
        rows = np.concatenate([model.support_[of[i]], model.support_[of[j]]])
        values.append(0.5 * c @ gram[np.ix_(rows, rows)] @ c - np.abs(c).sum())
    return np.array(values)


def split(n, n_train, n_test):
    order = np.random.default_rng(0).permutation(n)
    n_train = n // 2 if n_train is None else n_train
    return order[:n_train], order[n_train : None if n_test is None else n_train + n_test]


def find(folder, file):
    """The file of a set, in the folder or among the bundled ones; None if it is in neither."""
    places = [folder / f"{file}.csv.gz", ROOT / "crates" / "multikernel" / "data" / f"{file}.csv.gz"]
    return next((place for place in places if place.exists()), None)


def product(train, train_classes, test):
    """Labels of the test rows by the command line, from the raw rows: scaling, kernels, solver and vote are ours."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file, columns in (("train.csv", [train, train_classes[:, None]]), ("test.csv", [test])):
            np.savetxt(folder / file, np.hstack(columns), delimiter=",", fmt="%.17g")
        built = os.environ.get("MULTIKERNEL")
        command = [built] if built else ["cargo", "run", "--quiet", "--release", "--bin", "multikernel", "--"]
        model = folder / "model"
        options = ["--kernels", BANK, "--set", f"c={C}", "--set", "tol=1e-6", "--quiet", "--out", model]
        run = [command + ["train", folder / "train.csv", "--method", "average"] + options,
               command + ["predict", model, folder / "test.csv", "--quiet"]]
        subprocess.run(run[0], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        lines = subprocess.run(run[1], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()[1:]
    return np.array([int(float(line)) for line in lines])


def agreement(folder):
    """Prints the first table; returns how many sets were compared and how many of them disagree."""
    n_sets = n_bad = 0
    print(f"Agreement with LIBSVM: C = {C:g}, tolerance 1e-6\n")
    print("| set | train | test | classes | equal labels % | whole product % | ties | max abs. diff. of f | max rel. diff. of objective |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for name, file, n_train, n_test in AGREEMENT:
        path = find(folder, file)
        if path is None:
            print(f"{name}: no {file}.csv.gz in {folder}, left out", file=sys.stderr)
            continue
        x, classes = read(path)
        train, test = split(len(x), n_train, n_test)
        a, b = standardise(x[train], x[test])
        gram, cross = kernel(a, a), kernel(b, a)
        result = ours(gram, classes[train], cross, 1e-6, 1)
        model, _ = libsvm(gram, classes[train], 1e-6, 1)
        decision = np.array(result["decision"])
        theirs = model.decision_function(cross)
        # With two classes scikit-learn turns the sign so that positive means the second one.
        theirs = -theirs[:, None] if theirs.ndim == 1 else theirs
        tie = (np.abs(decision) < TIE).any(axis=1)
        equal = 100 * np.mean((np.array(result["labels"]) == model.predict(cross))[~tie])
        whole = 100 * np.mean((product(x[train], classes[train], x[test]) == model.predict(cross))[~tie])
        want = objectives(model, gram)
        got = np.array([pair["objective"] for pair in result["pairs"]])
        difference = np.max(np.abs(got - want) / np.abs(want))
        n_sets += 1
        converged = all(pair["converged"] for pair in result["pairs"])
        n_bad += not (min(equal, whole) >= LABELS_WANTED and difference <= OBJECTIVE_WANTED and converged)
        print(
            f"| {name} | {len(train)} | {len(test)} | {classes.max() + 1} | {equal:.2f} | {whole:.2f} | {tie.sum()} "
            f"| {np.max(np.abs(decision - theirs)):.1e} | {difference:.1e} |",
            flush=True,
        )
    return n_sets, n_bad


def speed(folder):
    """Prints the second table."""
    print(f"\nFit time: C = {C:g}, tolerance 1e-3, one thread, best of equally many repeats\n")
    print("| set | train | pairs | repeats | iterations ours / LIBSVM | ours s | LIBSVM s | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for name, file, n_train, drawn, repeats in SPEED:
        path = find(folder, file)
        if path is None:
            print(f"{name}: no {file}.csv.gz in {folder}, left out", file=sys.stderr)
            continue
        x, classes = read(path)
        train = split(len(x), n_train, None)[0] if drawn else np.arange(n_train)
        (a,) = standardise(x[train])
        gram, classes = kernel(a, a), classes[train]
        result = ours(gram, classes, np.empty((0, len(gram))), 1e-3, repeats)
        model, seconds = libsvm(gram, classes, 1e-3, repeats)
        n_iter = sum(pair["n_iter"] for pair in result["pairs"])
        best = min(result["seconds"])
        print(
            f"| {name} | {len(train)} | {len(result['pairs'])} | {repeats} | {n_iter} / {np.sum(model.n_iter_)} "
            f"| {best:.5f} | {min(seconds):.5f} | {best / min(seconds):.2f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--agreement-only", action="store_true", help="leave the timing out")
    args = parser.parse_args()
    n_sets, n_bad = agreement(args.data_dir)
    if not args.agreement_only:
        speed(args.data_dir)
    if n_sets == 0:
        sys.exit(f"nothing compared: no data set of the list in {args.data_dir}")
    if n_bad:
        sys.exit(f"{n_bad} of {n_sets} sets: fewer than {LABELS_WANTED} % equal labels, or objectives that differ "
                 f"by more than {OBJECTIVE_WANTED:g}")


if __name__ == "__main__":
    main()
