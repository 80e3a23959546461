"""`auto` on made rows: how it does as rows grow, and among columns of noise.

    python benches/auto_made.py rows [--counts 200,2000,20000,200000] [--binary FILE]
    python benches/auto_made.py noise [--binary FILE]

`rows`: ten normal columns, of which six matter through a sine, a product, a line, a square and a step; the class is the sign of their
sum with noise. `auto` beside scikit-learn's histogram boosting on so many training rows and 20,000 others: accuracy, log-loss, CPU
seconds of training, and the most memory of the process. `noise`: five of these columns beside 100 that are noise, 300 rows to train on and 5,000
to test, five seeds: `auto` beside our methods and three of scikit-learn. Needs scikit-learn and the release build; without them it says so
and ends.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
ROOT = pathlib.Path(__file__).resolve().parent.parent
N_TEST = 20_000


def made(n, seed, n_noise=0, n_real=10):
    """Rows and classes. The first six columns matter."""
    import numpy

    rng = numpy.random.default_rng(seed)
    X = rng.normal(size=(n, n_real + n_noise))
    sum_ = numpy.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] - 0.5 * X[:, 4] ** 2
    if n_real > 5:
        sum_ += 0.5 * (abs(X[:, 5]) > 1)
    return X, (sum_ + 0.5 * rng.normal(size=n) > 0).astype(int)


def written(path, X, y):
    """The rows as a file."""
    import numpy

    head = ",".join(f"x{j}" for j in range(X.shape[1]))
    # Classes are words, so that nobody takes them for a number.
    with open(path, "w") as file:
        file.write(f"{head},label\n")
        for row, label in zip(numpy.char.mod("%.6g", X), y):
            file.write(f"{','.join(row)},{'yes' if label else 'no'}\n")


def ours(binary, method, folder):
    """Accuracy, log-loss, seconds, memory in GiB, and what was told, of one of our methods."""
    model, found = folder / "m", folder / "predicted.csv"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    train = subprocess.run(
        [binary, "train", folder / "train.csv", "--method", *method.split(), "--proba", "--out", model], capture_output=True, text=True
    )
    if train.returncode:
        sys.exit(f"{method}: {train.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The largest of all processes so far: this one, as rows only grow.
    memory = after.ru_maxrss / 2**20
    subprocess.run([binary, "predict", model, folder / "test.csv", "--proba", "-q", "--out", found], check=True, capture_output=True)
    import pandas

    predicted, true = pandas.read_csv(found), pandas.read_csv(folder / "test.csv")["label"]
    likely = predicted["p:yes"].where(true == "yes", predicted["p:no"]).clip(1e-15)
    import numpy

    return (predicted["label"] == true).mean(), -numpy.log(likely).mean(), seconds, memory, train.stderr


def theirs(name, X, y, test, truth):
    """The same of a model of scikit-learn."""
    import numpy
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    grid = {"svc__C": [0.1, 1, 10, 100, 1000], "svc__gamma": ["scale", 0.001, 0.01, 0.1, 1]}
    model = {
        "histogram boosting": HistGradientBoostingClassifier(random_state=0),
        "random forest": RandomForestClassifier(300, random_state=0),
        "RBF grid": GridSearchCV(make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)), grid, cv=5),
    }[name]
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    likely = model.predict_proba(test)[numpy.arange(len(truth)), truth].clip(1e-15)
    return model.score(test, truth), -numpy.log(likely).mean(), seconds


def rows(binary, counts):
    """`auto` beside boosting as rows grow."""
    test, truth = made(N_TEST, 99)
    print("| rows | method | accuracy | log-loss | CPU s | GiB |\n|---|---|---|---|---|---|")
    for n in counts:
        X, y = made(n, 1)
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            written(folder / "train.csv", X, y)
            written(folder / "test.csv", test, truth)
            accuracy, loss, seconds, memory, told = ours(binary, "auto", folder)
        print(f"| {n} | `auto` | {100 * accuracy:.2f} | {loss:.4f} | {seconds:.1f} | {memory:.2f} |", flush=True)
        accuracy, loss, seconds = theirs("histogram boosting", X, y, test, truth)
        print(f"| {n} | histogram boosting | {100 * accuracy:.2f} | {loss:.4f} | {seconds:.1f} | |", flush=True)
        for line in told.splitlines():
            print(f"  {line}", file=sys.stderr)


def noise(binary):
    """`auto` among columns of noise."""
    methods = ["auto", "average", "evidence", "simplemkl --set c=auto", "random forest", "histogram boosting", "RBF grid"]
    found = {method: [] for method in methods}
    for seed in range(5):
        X, y = made(300, seed, n_noise=100, n_real=5)
        test, truth = made(5000, 1000 + seed, n_noise=100, n_real=5)
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            written(folder / "train.csv", X, y)
            written(folder / "test.csv", test, truth)
            for method in methods:
                peer = method in ("random forest", "histogram boosting", "RBF grid")
                one = theirs(method, X, y, test, truth) if peer else ours(binary, method, folder)
                found[method].append(one[:3])
    print("| method | accuracy | log-loss | CPU s |\n|---|---|---|---|")
    for method, all_ in found.items():
        accuracy, loss, seconds = (sum(values) / len(all_) for values in zip(*all_))
        print(f"| {method} | {100 * accuracy:.2f} | {loss:.4f} | {seconds:.1f} |")
    print(json.dumps({method: [round(100 * one[0], 2) for one in all_] for method, all_ in found.items()}), file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["rows", "noise"])
    parser.add_argument("--counts", default="200,2000,20000,200000")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/multikernel")
    args = parser.parse_args()
    try:
        import pandas  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError:
        print("needs scikit-learn and pandas; skipped")
        return
    if not os.access(args.binary, os.X_OK):
        print("no release build; skipped")
        return
    if args.what == "rows":
        rows(args.binary, [int(count) for count in args.counts.split(",")])
    else:
        noise(args.binary)


if __name__ == "__main__":
    main()
