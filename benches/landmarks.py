"""`mklr` with landmarks: what they cost in accuracy, and what many rows take.

    python benches/landmarks.py --data-dir DIR [--only classes,accuracy,diamonds,cox,coverage] [--rows N] [--landmarks 2000]

DIR holds tables as NAME.csv.gz. `classes`: accuracy on eight sets with all rows as points and with some landmarks, with the
default penalty and a chosen one, beside Nystroem features and logistic regression of scikit-learn with as many landmarks on the
same rows, with its defaults and with width and penalty chosen from twelve by three folds. `accuracy`: R2 or concordance on one
half of each table, trained on the other, with all rows as points and with fewer landmarks. `diamonds`: price from the other
columns, four fifths of the rows for training, beside histogram boosting of scikit-learn on the same split. `cox`: N (100,000)
synthetic rows with ten columns, half of them censored. `coverage`: what 90 % intervals of numbers would hold if the fit were
read as a Gaussian process. Needs MULTIKERNEL, the command line's program, or finds it on the path; memory is the peak of its
process, times are those of all its threads together.
"""

import argparse
import functools
import io
import json
import os
import pathlib
import subprocess
import tempfile
import time

# Threads that wait for one another would count as CPU time.
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd

PROGRAM = os.environ.get("MULTIKERNEL", "multikernel")
# Name, options that say what is predicted, settings.
TABLES = [
    ("diabetes", ["--target", "target"]),
    ("sacramento_houses", ["--target", "price"]),
    ("surv_gbsg2", ["--time", "time", "--event", "event"]),
]


def run(*words):
    """Runs the program; what it wrote, its CPU seconds and its peak memory in MiB."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([PROGRAM, *map(str, words)], stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}: {err.read()}")
        return out.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def set_to(settings):
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def halves(table, fraction, folder):
    """Two files of a table's rows, dealt at random."""
    order = np.random.default_rng(0).permutation(len(table))
    cut = int(len(table) * fraction)
    paths = [folder / "train.csv", folder / "test.csv"]
    parts = [table.iloc[np.sort(part)] for part in (order[:cut], order[cut:])]
    for path, part in zip(paths, parts, strict=True):
        part.to_csv(path, index=False)
    return paths, parts


def evaluated(train, test, what, settings, method="mklr"):
    """R2 or concordance on the test file, and CPU seconds from reading it to the figures."""
    out, seconds, _ = run("evaluate", train, "--test", test, *what, "--method", method, *set_to(settings), "--json", "-q")
    result = json.loads(out)["results"][0]
    figure = result.get("r2") or result["concordance"]
    return figure["mean"], seconds


def predicted(folder, train, test, what, settings):
    """Predictions of the test file, and CPU seconds and memory of training."""
    model = folder / "model"
    model.unlink(missing_ok=True)
    _, seconds, memory = run("train", train, *what, "--method", "mklr", *set_to(settings), "--out", model, "-q")
    out, _, _ = run("predict", model, test, "-q")
    return pd.read_csv(io.StringIO(out)), seconds, memory


def accuracy(folder, data):
    print("\n| set | rows | landmarks | R2 or concordance | CPU s |\n|---|---:|---:|---:|---:|")
    for name, what in TABLES:
        table = pd.read_csv(data / f"{name}.csv.gz", keep_default_na=False, na_values=["NA", ""])
        (train, test), (rows, _) = halves(table, 0.5, folder)
        for landmarks in (len(rows), 200, 100, 50):
            figure, seconds = evaluated(train, test, what, {"landmarks": landmarks, "lambda": "auto"})
            told = "all" if landmarks == len(rows) else landmarks
            print(f"| {name} | {len(rows)} | {told} | {figure:.4f} | {seconds:.2f} |", flush=True)
        figure, seconds = evaluated(train, test, what, {}, "evidence")
        print(f"| {name} | {len(rows)} | (`evidence`) | {figure:.4f} | {seconds:.2f} |", flush=True)


CLASS_SETS = [
    "svmguide1.train",
    "pendigits.train",
    "ijcnn1.train",
    "cod-rna.train",
    "phishing",
    "susy30k",
    "mushrooms",
    "shuttle.train",
]


def nystroem(rows, rest, landmarks, chosen):
    """Which test rows are right, and CPU seconds of training in scikit-learn's way, on one thread."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    (X, y), (Z, truth) = ((part.drop(columns="label"), part["label"]) for part in (rows, rest))
    gamma = 1 / X.shape[1]
    steps = StandardScaler(), Nystroem(gamma=gamma, n_components=landmarks, random_state=0), LogisticRegression(max_iter=1000)
    model = make_pipeline(*steps)
    if chosen:
        grid = {"nystroem__gamma": [gamma / 4, gamma, 4 * gamma, 16 * gamma], "logisticregression__C": [1, 10, 100]}
        model = GridSearchCV(model, grid, cv=3)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    return model.predict(Z) == truth.to_numpy(), seconds


def hits_of_mklr(folder, train, test, truth, landmarks, penalty):
    """Which test rows are right, and CPU seconds of training."""
    found, seconds, _ = predicted(folder, train, test, [], {"landmarks": landmarks, "lambda": penalty})
    return found["label"].to_numpy() == truth, seconds


def against(hits, other):
    """The paired difference of two accuracies in points, with its 95 % interval."""
    gains = hits.astype(float) - other
    return f"{100 * gains.mean():+.2f} +- {196 * gains.std(ddof=1) / len(gains) ** 0.5:.2f}"


def classes(folder, data, counts):
    print(
        "\n| set | rows | classes | landmarks | method | accuracy, % | CPU s | against Nystroem, chosen | against all rows |\n"
        "|---|---:|---:|---:|---|---:|---:|---:|---:|"
    )
    for name in CLASS_SETS:
        table = pd.read_csv(data / f"{name}.csv.gz")
        table["label"] = "c" + table["label"].astype(str)
        table = table.sample(min(len(table), 14_000), random_state=0)
        (train, test), (rows, rest) = halves(table, min(4000 / len(table), 0.6), folder)
        mklr = functools.partial(hits_of_mklr, folder, train, test, rest["label"].to_numpy())
        for count in counts:
            count = min(count, len(rows))
            found = {
                "Nystroem": nystroem(rows, rest, count, False),
                "Nystroem, chosen": nystroem(rows, rest, count, True),
                "`mklr`": mklr(count, 0.1),
                "`mklr lambda=auto`": mklr(count, "auto"),
                "`mklr`, all rows": mklr(len(rows), 0.1),
                "`mklr lambda=auto`, all rows": mklr(len(rows), "auto"),
            }
            for way, (hits, seconds) in found.items():
                peer, exact = (
                    against(hits, found[other][0]) if "mklr" in way else ""
                    for other in ("Nystroem, chosen", f"{way.removesuffix(', all rows')}, all rows")
                )
                told = f"| {name} | {len(rows)} | {rows['label'].nunique()} | {count} | {way} |"
                print(f"{told} {100 * hits.mean():.2f} | {seconds:.1f} | {peer} | {exact} |", flush=True)


def diamonds(folder, data):
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.metrics import r2_score

    table = pd.read_csv(data / "diamonds.csv.gz", keep_default_na=False, na_values=["NA", ""])
    (train, test), (rows, rest) = halves(table, 0.8, folder)
    print("\n| method | rows | R2 | CPU s | peak MiB |\n|---|---:|---:|---:|---:|")
    X, Z = (pd.get_dummies(part.drop(columns="price")).astype(float) for part in (rows, rest))
    start = time.process_time()
    model = HistGradientBoostingRegressor(random_state=0).fit(X, rows["price"])
    seconds = time.process_time() - start
    print(
        f"| HistGradientBoosting | {len(rows)} | {r2_score(rest['price'], model.predict(Z)):.4f} | {seconds:.1f} | |", flush=True
    )
    for settings in ({"landmarks": 300}, {"landmarks": 1000}):
        found, seconds, memory = predicted(folder, train, test, ["--target", "price"], settings)
        r2 = r2_score(rest["price"], found["price"])
        told = ", ".join(f"{k}={v}" for k, v in settings.items())
        print(f"| `mklr` {told} | {len(rows)} | {r2:.4f} | {seconds:.1f} | {memory:.0f} |", flush=True)


def cox(folder, n):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 10))
    risk = 1.2 * np.sin(X[:, 0]) + 0.8 * X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    own, censored = rng.exponential(np.exp(-risk)), rng.exponential(1.0, n)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)])
    table["time"], table["event"] = np.minimum(own, censored), (own <= censored).astype(int)
    (train, test), (rows, rest) = halves(table, 0.9, folder)
    print(
        "\n| rows | landmarks | kernels | concordance | of the true risk | CPU s | peak MiB |\n"
        "|---:|---:|---:|---:|---:|---:|---:|"
    )
    for landmarks in (300, 1000):
        what = ["--time", "time", "--event", "event"]
        found, seconds, memory = predicted(folder, train, test, what, {"landmarks": landmarks})
        risks = found["risk"].to_numpy(), risk[rest.index.to_numpy()]
        figures = [concordance(rest["time"].to_numpy(), rest["event"].to_numpy(), f) for f in risks]
        print(
            f"| {len(rows)} | {landmarks} | 10 | {figures[0]:.4f} | {figures[1]:.4f} | {seconds:.0f} | {memory:.0f} |", flush=True
        )


BANK = "gaussian(0.5), gaussian(1), gaussian(2), gaussian(4)"
WIDTHS = (0.5, 1, 2, 4)


def kernels(A, X):
    square = ((A[:, None, :] - X[None, :, :]) ** 2).sum(-1) / X.shape[1]
    return np.stack([np.exp(-square / (2 * width**2)) for width in WIDTHS])


def held(folder, X, y, Z, truth, penalty):
    """The share of test rows in 90 % intervals of the Gaussian process that has this fit as its mean: its amplitude is
    1/(2 lambda) times the noise, which is that of the largest evidence."""
    scale = np.sqrt(X.shape[1])
    y_mean, y_scale = y.mean(), y.std()
    table = pd.DataFrame(X / scale, columns=[f"x{j}" for j in range(X.shape[1])])
    table["y"] = y
    table.to_csv(folder / "rows.csv", index=False)
    model = folder / "model"
    model.unlink(missing_ok=True)
    what = ["--target", "y", "--kernels", BANK, "--scale", "none", *set_to({"lambda": penalty})]
    run("train", folder / "rows.csv", "--method", "mklr", *what, "--out", model, "-q")
    facts = json.loads(run("inspect", model, "--json")[0])
    weights = np.array([kernel["weight"] for kernel in facts["kernels"]])
    ratio = 2 * float(facts["params"]["lambda"])
    K, C = np.tensordot(weights, kernels(X, X), 1), np.tensordot(weights, kernels(Z, X), 1)
    inverse = np.linalg.inv(K + ratio * np.eye(len(K)))
    t = (y - y_mean) / y_scale
    amplitude = t @ inverse @ t / len(t)
    mean = C @ inverse @ t
    variance = amplitude * (weights.sum() - np.einsum("ij,jk,ik->i", C, inverse, C) + ratio)
    return np.mean(np.abs((truth - y_mean) / y_scale - mean) <= 1.6449 * np.sqrt(variance))


def coverage(folder, data):
    print("\n| set | lambda | rows in 90 % intervals, % |\n|---|---:|---:|")
    for penalty in (0.1, "auto"):
        shares = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((400, 3))
            K = kernels(X, X).mean(0)
            y = np.linalg.cholesky(K + 1e-8 * np.eye(400)) @ rng.standard_normal(400) + 0.3 * rng.standard_normal(400)
            shares.append(held(folder, X[:200], y[:200], X[200:], y[200:], penalty))
        print(f"| 10 draws | {penalty} | {100 * np.mean(shares):.1f} |", flush=True)
        for name, target in (("diabetes", "target"), ("boston_housing", "medv"), ("college", "Outstate"), ("cpus", "perf")):
            table = pd.read_csv(data / f"{name}.csv.gz", keep_default_na=False, na_values=["NA", ""])
            numbers = table.drop(columns=target).select_dtypes("number")
            X = ((numbers - numbers.mean()) / numbers.std()).to_numpy()
            order = np.random.default_rng(0).permutation(len(X))
            X, y = X[order], table[target].to_numpy(float)[order]
            half = len(X) // 2
            share = held(folder, X[:half], y[:half], X[half:], y[half:], penalty)
            print(f"| {name} | {penalty} | {100 * share:.1f} |", flush=True)


def concordance(time, event, risk):
    """Of 2,000 random rows."""
    some = np.random.default_rng(2).permutation(len(time))[:2000]
    time, event, risk = time[some], event[some] > 0, risk[some]
    before = (time[:, None] < time[None, :]) & event[:, None]
    right = (risk[:, None] > risk[None, :]) + 0.5 * (risk[:, None] == risk[None, :])
    return right[before].mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--only", default="classes,accuracy,diamonds,cox")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--landmarks", default="2000")
    options = parser.parse_args()
    parts = options.only.split(",")
    if options.data_dir is None or not options.data_dir.is_dir():
        print("no folder of tables (--data-dir): only what needs none is run")
        parts = [part for part in parts if part == "cox"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if "classes" in parts:
            classes(folder, options.data_dir, [int(count) for count in options.landmarks.split(",")])
        if "accuracy" in parts:
            accuracy(folder, options.data_dir)
        if "diamonds" in parts:
            diamonds(folder, options.data_dir)
        if "coverage" in parts:
            coverage(folder, options.data_dir)
        if "cox" in parts:
            cox(folder, options.rows)


if __name__ == "__main__":
    main()
