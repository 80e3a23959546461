"""`auto` beside `average`, `average c=auto`, `evidence` and scikit-learn: accuracy, log-loss and CPU seconds, and ranks over sets.

    python benches/auto.py --data-dir DIR --sets chosen|confirm|NAME,... [--binary FILE] [--json FILE]

DIR holds NAME.csv.gz with a last column `label`, folders of views, and `mixed/` with `types.json`. `chosen` are the six sets that
the candidates of `auto` were chosen on, `confirm` the others; sets of more than 1,000 rows are cut to 1,000, evenly from each
class. Each is split into stratified halves with three seeds. Ours is `multikernel evaluate TRAIN --test TEST --proba`, one method at
a time, with everything else at its default. scikit-learn has one-hot columns for categories, medians for missing numbers, and views side by side:
a forest of 300 trees, histogram boosting, and an RBF SVC with a grid of c and gamma on five folds (fewer where a class has fewer rows), Platt's probabilities. CPU seconds are user
and system time of fitting and predicting, one thread each. Needs scikit-learn, pandas and cargo; without DIR it says so and ends.
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

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
warnings.filterwarnings("ignore")
ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = (0, 1, 2)
MOST_ROWS = 1000
CHOSEN = ["bupaliver", "german.numer", "ionosphere", "sonar", "vehicle", "nutrimouse"]
CONFIRM = [
    "balance-scale", "crabs", "glass", "glass6", "monks1", "svmguide3", "wdbc", "wisconsin", "segment", "pendigits.train", "mfeat",
    "mixed/chile_vote", "mixed/german_credit", "mixed/hmda_mortgage", "mixed/housevotes84", "mixed/penguins_raw", "mixed/soybean",
    "mixed/titanic_survival", "mixed/zoo",
]  # fmt: skip
OURS = {
    "auto": ["--method", "auto"],
    "average": ["--method", "average"],
    "average c=auto": ["--method", "average", "--set", "c=auto"],
    "evidence": ["--method", "evidence"],
}
PEERS = ["random forest", "histogram boosting", "RBF grid"]


def table_of(folder, name):
    """The columns of a set, by view (one without a name for a plain table), its labels, and the columns that hold words."""
    import pandas

    if (folder / name).is_dir():
        paths = sorted(path for path in (folder / name).glob("*.csv.gz") if path.name != "genotype.csv.gz")
        views = {path.name.split(".")[0]: pandas.read_csv(path) for path in paths}
        labels = next(iter(views.values()))["label"].astype(str)
        return {view: table.drop(columns="label", errors="ignore") for view, table in views.items()}, labels, []
    if name.startswith("mixed/"):
        about = json.loads((folder / "mixed/types.json").read_text())[name.split("/")[1]]
        table = pandas.read_csv(folder / f"{name}.csv.gz", dtype=str, keep_default_na=False, na_values=["NA", ""])
        labels = table.pop(about["target"])
        kinds = {column: kind for column, kind in about["columns"].items() if column in table}
        keep = [column for column, kind in kinds.items() if kind in ("numeric", "categorical")]
        words = [column for column in keep if kinds[column] == "categorical"]
        table = table[keep].copy()
        for column in keep:
            if column not in words:
                table[column] = pandas.to_numeric(table[column])
        return {"": table}, labels, words
    table = pandas.read_csv(folder / f"{name}.csv.gz")
    labels = table.pop("label").astype(str)
    return {"": table}, labels, []


def ours(binary, settings, views, labels, split, folder):
    """Accuracy, log-loss and CPU seconds of one of our methods."""
    files = {}
    for part, rows in zip(("train", "test"), split):
        for view, table in views.items():
            out = table.iloc[rows].copy()
            if view == next(iter(views)):
                out["label"] = labels.iloc[rows].map(lambda label: f"class {label}")
            files[part, view] = folder / f"{part}-{view or 'table'}.csv"
            out.to_csv(files[part, view], index=False, na_rep="NA")
    if "" in views:
        command = [binary, "evaluate", files["train", ""], "--test", files["test", ""]]
    else:
        command = [binary, "evaluate", "--test", ",".join(f"{view}={files['test', view]}" for view in views)]
        for view in views:
            command += ["--view", f"{view}={files['train', view]}"]
    command += ["--label", "label", *settings, "--proba", "--json", "-q", "--threads", "1"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        sys.exit(f"{command}: {run.stderr}")
    found = json.loads(run.stdout)["results"][0]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return found["accuracy"]["mean"], found["log_loss"]["mean"], cpu


def theirs(peer, views, labels, words, split):
    """The same of a model of scikit-learn."""
    import numpy
    import pandas
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    table = pandas.concat([views[view].add_prefix(view) for view in views], axis=1)
    numbers = [column for column in table if column not in words]
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)), words),
    )
    if peer == "random forest":
        model = RandomForestClassifier(300, random_state=0)
    elif peer == "histogram boosting":
        model = HistGradientBoostingClassifier(random_state=0)
    else:
        grid = {"svc__C": [0.1, 1, 10, 100, 1000], "svc__gamma": ["scale", 0.001, 0.01, 0.1, 1]}
        pipeline = make_pipeline(prepare, SVC(probability=True, random_state=0))
        # As many folds as rows of the rarest class, five at most.
        model = GridSearchCV(pipeline, grid, cv=int(min(5, labels.iloc[split[0]].value_counts().min())))
    model = model if peer == "RBF grid" else make_pipeline(prepare, model)
    start = time.process_time()
    model.fit(table.iloc[split[0]], labels.iloc[split[0]])
    probabilities = model.predict_proba(table.iloc[split[1]])
    predicted = model.predict(table.iloc[split[1]])
    cpu = time.process_time() - start
    known = {label: at for at, label in enumerate(model.classes_)}
    at = [known.get(label) for label in labels.iloc[split[1]]]
    true = numpy.array([row[k] if k is not None else 0.0 for row, k in zip(probabilities, at)])
    return (predicted == labels.iloc[split[1]]).mean(), -numpy.log(true.clip(1e-15)).mean(), cpu


def measured(binary, name, folder):
    """The figures of every method on one set: the mean over the seeds."""
    from sklearn.model_selection import train_test_split

    views, labels, words = table_of(folder, name)
    rows = list(range(len(labels)))
    # Two rows of each class in each half.
    counts = labels.value_counts()
    rows = [i for i in rows if counts[labels.iloc[i]] >= 4]
    if len(rows) > MOST_ROWS:
        rows = train_test_split(rows, train_size=MOST_ROWS, stratify=labels.iloc[rows], random_state=0)[0]
    found = {}
    for seed in SEEDS:
        split = train_test_split(rows, test_size=0.5, stratify=labels.iloc[rows], random_state=seed)
        with tempfile.TemporaryDirectory() as scratch:
            for method, settings in OURS.items():
                found.setdefault(method, []).append(ours(binary, settings, views, labels, split, pathlib.Path(scratch)))
        for peer in PEERS:
            found.setdefault(peer, []).append(theirs(peer, views, labels, words, split))
    return {method: [sum(values) / len(values) for values in zip(*figures)] for method, figures in found.items()}


def ranks(values, best_first):
    """Ranks from 1, those of equals averaged."""
    return [
        1 + sum(best_first(other, value) for other in values) + 0.5 * (sum(other == value for other in values) - 1)
        for value in values
    ]


def summary(tables):
    """Mean figures, mean ranks and the worst loss of each method."""
    methods = list(next(iter(tables.values())))
    column = lambda table, at: [table[method][at] for method in methods]
    of = {method: [0.0] * 6 for method in methods}
    for table in tables.values():
        accuracy = ranks([round(value, 6) for value in column(table, 0)], lambda a, b: a > b)
        loss = ranks([round(value, 6) for value in column(table, 1)], lambda a, b: a < b)
        best = max(column(table, 0))
        for k, method in enumerate(methods):
            for at in range(3):
                of[method][at] += table[method][at] / len(tables)
            of[method][3] += accuracy[k] / len(tables)
            of[method][4] += loss[k] / len(tables)
            of[method][5] = max(of[method][5], best - table[method][0])
    return of


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--sets", default="chosen")
    parser.add_argument("--binary", default=ROOT / "target/release/multikernel")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    if args.data_dir is None or not args.data_dir.exists():
        print("no sets: give --data-dir DIR; skipped")
        return
    names = {"chosen": CHOSEN, "confirm": CONFIRM}.get(args.sets) or args.sets.split(",")
    tables = {}
    methods = [*OURS, *PEERS]
    print(f"| set | {' | '.join(methods)} |\n|---|{'---|' * len(methods)}")
    for name in names:
        tables[name] = measured(args.binary, name, args.data_dir)
        cells = [f"{100 * a:.1f} / {b:.3f} / {c:.1f}" for a, b, c in (tables[name][method] for method in methods)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        if args.json:
            args.json.write_text(json.dumps(tables, indent=1) + "\n")
    print("\n| method | accuracy | log-loss | CPU s | rank by accuracy | by log-loss | worst loss |\n|---|---|---|---|---|---|---|")
    for method, (accuracy, loss, cpu, by_accuracy, by_loss, worst) in summary(tables).items():
        print(f"| {method} | {100 * accuracy:.2f} | {loss:.4f} | {cpu:.2f} | {by_accuracy:.2f} | {by_loss:.2f} | {100 * worst:.2f} |")


if __name__ == "__main__":
    main()
