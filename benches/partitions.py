"""Training on partitions: how time and memory grow with the rows, and what the driver itself costs.

    python benches/partitions.py [--only growth,driver,choice] [--rows 100000,300000,1000000] [--parquet] [--data-dir DIR]

`growth`: synthetic rows x 20 columns in npy (or Parquet) files of 100,000 rows, 10 kernels, 1,000 landmarks, read out of core one partition
after the other in a process of its own; CPU seconds, seconds of one pass, peak memory, and the exponent of time in rows. Four
steps, as passes do not get dearer. `driver`: 1,000 partitions of 64 rows in this process; what is left without the time of their
answers is the driver's: adding, the optimiser, a factor of landmarks x landmarks. Bytes are those of questions and answers.
`choice`: accuracy of logistic regression on Nystroem features of scikit-learn with landmarks drawn uniformly and by k-means++.
"""

import argparse
import itertools
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

KERNELS = "gaussian(median*2^-4..2^4), linear"
COLUMNS, LANDMARKS, STEPS, FILE_ROWS = 20, 1000, 4, 100_000


def make(folder, n, parquet):
    """Files of rows whose class is the sign of a bent function of four columns."""
    rng = np.random.default_rng(0)
    for k, start in enumerate(range(0, n, FILE_ROWS)):
        X = rng.standard_normal((min(FILE_ROWS, n - start), COLUMNS))
        f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.3 * rng.standard_normal(len(X))
        if parquet:
            import pandas as pd

            table = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)]).assign(way=f > 0)
            table.to_parquet(folder / f"rows-{k:04}.parquet")
        else:
            np.save(folder / f"rows-{k:04}.npy", np.column_stack([X, f > 0]))


def one(folder, steps):
    """Trains in this process; CPU seconds, those of a pass, and peak memory in MiB."""
    import multikernel as mk
    from multikernel._partitions import Here
    from multikernel.dask import train

    passes, each = [], Here.each

    def timed(self, function, calls, names):
        start = time.process_time()
        yield from each(self, function, calls, names)
        passes.append(time.process_time() - start)

    Here.each = timed
    start = time.process_time()
    model = mk.MKLClassifier("mklr", KERNELS, params={"landmarks": LANDMARKS, "iterations": steps})
    files = sorted(pathlib.Path(folder).iterdir())
    train(files, "way" if files[0].suffix == ".parquet" else -1, model, rows=FILE_ROWS)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # A look and two questions come first; the cheapest of the rest is a pass without curvature.
    print(f"{seconds} {min(passes[3:])} {max(passes[3:])} {memory} {len(model.kernels_)}")


def growth(sizes, parquet):
    print("\n| rows | kernels | CPU s | of a pass | with curvature | peak MiB |\n|---:|---:|---:|---:|---:|---:|", flush=True)
    found = []
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            make(pathlib.Path(folder), n, parquet)
            words = [sys.executable, "-W", "ignore", __file__, "--one", folder]
            line = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
            seconds, least, most, memory, kernels = map(float, line)
            found.append((n, seconds, least))
            print(f"| {n:,} | {kernels:.0f} | {seconds:.1f} | {least:.1f} | {most:.1f} | {memory:.0f} |", flush=True)
    for (n, seconds, least), (m, more, most) in itertools.pairwise(found):
        exponents = math.log(more / seconds) / math.log(m / n), math.log(most / least) / math.log(m / n)
        print(f"from {n:,} to {m:,}: exponent {exponents[0]:.3f} of all, {exponents[1]:.3f} of a pass", flush=True)


def driver(n_partitions=1000, n_rows=64):
    import multikernel as mk
    from multikernel._partitions import Here
    from multikernel.dask import train

    asked, each = [], Here.each

    def timed(self, function, calls, names):
        inside, outside, moved, start = 0.0, 0.0, 0, time.process_time()
        for call in calls:
            before = time.process_time()
            (found,) = each(self, function, [call], names)
            inside += time.process_time() - before
            moved += len(found) if isinstance(found, bytes) else 0
            yield found
        outside = time.process_time() - start - inside
        asked.append((inside, outside, moved / len(calls), len(calls[0][1]) if isinstance(calls[0][1], bytes) else 0))

    Here.each = timed
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        X = rng.standard_normal((n_partitions * n_rows, COLUMNS))
        np.save(f"{folder}/rows.npy", np.column_stack([X, X[:, 0] * X[:, 1] > 0]))
        model = mk.MKLClassifier("mklr", KERNELS, params={"landmarks": LANDMARKS, "iterations": STEPS})
        start = time.process_time()
        train(f"{folder}/rows.npy", -1, model, rows=n_rows)
        seconds = time.process_time() - start
    print("\n| question | CPU s in answers | adding them | bytes of an answer | of the request |\n|---|---:|---:|---:|---:|")
    words = ["look", "summary", "rows drawn"]
    for k, (inside, outside, moved, request) in enumerate(asked):
        word = words[k] if k < 3 else "curvature" if moved > 1e6 else "step"
        print(f"| {word} | {inside:.1f} | {outside:.2f} | {moved:,.0f} | {request:,} |")
    rest = seconds - sum(inside + outside for inside, outside, _, _ in asked)
    print(f"{n_partitions} partitions, {seconds:.1f} CPU s in all, {rest:.1f} s of them the optimiser and its factor", flush=True)


def choice(data):
    import pandas as pd
    from sklearn.cluster import kmeans_plusplus
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.preprocessing import StandardScaler

    print("\n| set | landmarks | uniform, % | k-means++, % |\n|---|---:|---:|---:|", flush=True)
    for name in ("svmguide1.train", "pendigits.train", "ijcnn1.train", "cod-rna.train", "phishing", "susy30k", "shuttle.train"):
        table = pd.read_csv(data / f"{name}.csv.gz")
        table = table.sample(min(len(table), 8000), random_state=0)
        X, y = StandardScaler().fit_transform(table.drop(columns="label")), table["label"].to_numpy()
        half = len(X) // 2
        gamma = 1 / X.shape[1]
        for m in (50, 200):
            figures = {"uniform": [], "k-means++": []}
            for seed in range(3):
                uniform = np.random.default_rng(seed).permutation(half)[:m]
                spread = kmeans_plusplus(X[:half], m, random_state=seed)[1]
                for way, chosen in (("uniform", uniform), ("k-means++", spread)):
                    values, vectors = np.linalg.eigh(rbf_kernel(X[chosen], gamma=gamma))
                    map_ = vectors / np.sqrt(np.maximum(values, 1e-10))
                    features = rbf_kernel(X, X[chosen], gamma=gamma) @ map_
                    fit = LogisticRegression(C=100, max_iter=300).fit(features[:half], y[:half])
                    figures[way].append(100 * fit.score(features[half:], y[half:]))
            print(f"| {name} | {m} | {np.mean(figures['uniform']):.2f} | {np.mean(figures['k-means++']):.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="growth,driver,choice")
    parser.add_argument("--rows", default="100000,300000,1000000")
    parser.add_argument("--parquet", action="store_true")
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one, STEPS)
        return
    parts = options.only.split(",")
    if "growth" in parts:
        growth([int(n) for n in options.rows.split(",")], options.parquet)
    if "driver" in parts:
        driver()
    if "choice" in parts and options.data_dir is not None and options.data_dir.is_dir():
        choice(options.data_dir)
    elif "choice" in parts:
        print("no folder of tables (--data-dir): landmarks are not compared")


if __name__ == "__main__":
    main()
