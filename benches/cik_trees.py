"""Gradient-boosted trees on the sets of `multikernel reproduce cik`, for scale: what a user without kernels would take.

    python benches/cik_trees.py DIR [SET ...]

DIR holds the sets. scikit-learn's histogram gradient boosting at its defaults, seeds 0 to 4. svmguide1 and pendigits have their
own test rows; of the others 80 % of the rows, stratified, are drawn by the seed: not the rows that `multikernel` draws, so
differences are not paired.
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

SETS = ["svmguide1", "pendigits", "phishing", "mushrooms", "cod-rna.train", "susy30k"]
FIXED = {"svmguide1", "pendigits"}


def read(path):
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    return table[:, :-1], table[:, -1]


def splits(folder, name):
    if name in FIXED:
        train, test = read(folder / f"{name}.train.csv.gz"), read(folder / f"{name}.test.csv.gz")
        for seed in range(5):
            yield seed, train[0], test[0], train[1], test[1]
        return
    rows, labels = read(folder / f"{name}.csv.gz")
    for seed in range(5):
        yield seed, *train_test_split(rows, labels, train_size=0.8, stratify=labels, random_state=seed)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    print("| set | accuracy % | train s |\n|---|---:|---:|")
    for name in sys.argv[2:] or SETS:
        if not list(folder.glob(f"{name}*.csv.gz")):
            print(f"{name}: not in {folder}, left out", file=sys.stderr)
            continue
        accuracies, seconds = [], []
        for seed, train, test, y_train, y_test in splits(folder, name):
            start = time.perf_counter()
            model = HistGradientBoostingClassifier(random_state=seed).fit(train, y_train)
            seconds.append(time.perf_counter() - start)
            accuracies.append(100 * np.mean(model.predict(test) == y_test))
        print(f"| {name} | {np.mean(accuracies):.2f} ± {np.std(accuracies, ddof=1):.2f} | {np.mean(seconds):.2f} |")


if __name__ == "__main__":
    main()
