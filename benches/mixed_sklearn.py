"""Tables as people have them, beside scikit-learn: kinds found and accuracy.

    python benches/mixed_sklearn.py --data-dir DIR [--method NAME] [--only NAME,...] [--binary FILE] [--json FILE]

DIR holds tables as NAME.csv.gz, `types.json` (target and kind of every column) and `reference.json` (accuracies of scikit-
learn: one-hot columns and an RBF SVC with a grid, a random forest, histogram boosting, for texts and sequences a linear SVC on
tf-idf or 3-mers), each on three stratified halves. Ours is `multikernel evaluate TRAIN --test TEST --label TARGET` on the same
halves, with nothing else said about the columns. `behind` is the best of SVC and forest less ours, in points. Where that is
more than 1.5, the better of SVC and forest is fitted again on the very halves, and `paired` is the 95 % interval of the
difference (the corrected t of `multikernel evaluate`). Ends with status 1 if a table is more than 1.5 points behind beyond that
interval. Needs scikit-learn, pandas and cargo; without DIR it says so and ends.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = (0, 1, 2)
PEERS = ("svc_rbf_onehot_scaled", "svc_rbf_onehot01_numscaled", "rf300", "tfidf_linsvc", "3mer_linsvc")
SAME = {
    "numeric": {"number", "yesno", "ordered", "constant"},
    "categorical": {"category", "yesno", "ordered", "constant"},
    "text": {"text"},
    "sequence": {"sequence"},
    "date": {"date"},
}


def kinds(binary, path, about):
    """How many columns are guessed right, of how many."""
    run = subprocess.run([binary, "columns", path, "--label", about["target"], "--json", "-q"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    found = {column["name"]: column["kind"] for column in json.loads(run.stdout)["columns"]}
    wanted = {name: kind for name, kind in about["columns"].items() if name != about["target"]}
    return sum(found[name] in SAME[kind] for name, kind in wanted.items()), len(wanted)


def accuracies(binary, table, target, method, extra):
    """Ours on each split, and the seconds they took."""
    from sklearn.model_selection import train_test_split

    found, start = [], time.perf_counter()
    for seed in SEEDS:
        halves = train_test_split(table, test_size=0.5, stratify=table[target], random_state=seed)
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, name) for name in ("train.csv", "test.csv")]
            for half, path in zip(halves, paths):
                half.to_csv(path, index=False, na_rep="NA")
            command = [binary, "evaluate", paths[0], "--test", paths[1], "--label", target, "--method", method, "--json", "-q"]
            run = subprocess.run(command + extra, capture_output=True, text=True)
        if run.returncode:
            sys.exit(run.stderr)
        found.append(json.loads(run.stdout)["results"][0]["accuracy"]["mean"])
    return found, time.perf_counter() - start


def one_hot(table, about, scale_all):
    """Columns for scikit-learn as the reference has them, without texts: medians, levels, letters, parts of dates."""
    import pandas
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    made, numbers, levels = {}, [], []
    for name, kind in about["columns"].items():
        if name == about["target"] or table[name].nunique() < 2:
            continue
        if kind == "numeric":
            made[name] = pandas.to_numeric(table[name])
            numbers.append(name)
        elif kind == "date":
            date = pandas.to_datetime(table[name])
            for part, values in (
                ("day", date.map(lambda d: d.toordinal())),
                ("month", date.dt.month),
                ("weekday", date.dt.weekday),
            ):
                made[f"{name}.{part}"] = values
                numbers.append(f"{name}.{part}")
        elif kind == "sequence":
            for at in range(table[name].str.len().max()):
                made[f"{name}.{at}"] = table[name].str[at].fillna("absent")
                levels.append(f"{name}.{at}")
        elif kind == "categorical":
            made[name] = table[name].fillna("absent")
            levels.append(name)
    filled = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    coded = make_pipeline(
        OneHotEncoder(handle_unknown="ignore", sparse_output=False), StandardScaler() if scale_all else FunctionTransformer()
    )
    return pandas.DataFrame(made), ColumnTransformer([("numbers", filled, numbers), ("levels", coded, levels)])


def refitted(table, about, peer):
    """The peer's accuracy on each of the halves."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV, train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    labels, found = table[about["target"]], []
    columns, coding = one_hot(table, about, peer != "svc_rbf_onehot01_numscaled")
    for seed in SEEDS:
        train, test = train_test_split(table.index, test_size=0.5, stratify=labels, random_state=seed)
        if peer == "rf300":
            model = make_pipeline(coding, RandomForestClassifier(300, random_state=seed))
        else:
            wide = coding.fit_transform(columns.loc[train])
            unit = 1.0 / (wide.shape[1] * wide.var())
            grid = {"svc__C": [1, 10, 100], "svc__gamma": [0.1 * unit, unit, 10 * unit]}
            model = GridSearchCV(make_pipeline(coding, SVC()), grid, cv=3)
        found.append(model.fit(columns.loc[train], labels[train]).score(columns.loc[test], labels[test]))
    return found


def interval(differences):
    """95 % interval of the mean difference over halves; the variance is corrected for training parts that overlap."""
    from math import sqrt

    n = len(differences)
    mean = sum(differences) / n
    variance = sum((value - mean) ** 2 for value in differences) / (n - 1)
    # Student's t with two degrees of freedom; test and training parts are of one size.
    half = 4.302653 * sqrt((1 / n + 1) * variance)
    return mean - half, mean + half


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--method", default="average")
    parser.add_argument("--only", default="")
    parser.add_argument("--binary", default=ROOT / "target/release/multikernel")
    parser.add_argument("--json", type=pathlib.Path)
    args, extra = parser.parse_known_args()
    if args.data_dir is None or not (args.data_dir / "types.json").exists():
        print("no tables: give --data-dir DIR with NAME.csv.gz, types.json and reference.json; skipped")
        return
    import pandas

    types = json.loads((args.data_dir / "types.json").read_text())
    reference = json.loads((args.data_dir / "reference.json").read_text())
    only = [name for name in args.only.split(",") if name]
    rows, is_behind, n_right, n_all = [], False, 0, 0
    print(
        f"{'table':<24}{'kinds':>8}{'ours':>9}{'svc':>8}{'forest':>8}{'boost':>8}{'text':>8}{'behind':>8}{'seconds':>9}  paired"
    )
    for name, about in types.items():
        path = args.data_dir / f"{name}.csv.gz"
        if not path.exists() or about["task"] != "classification" or only and name not in only:
            continue
        table = pandas.read_csv(path, dtype=str, keep_default_na=False, na_values=["NA", ""])
        right, n = kinds(args.binary, path, about)
        ours, seconds = accuracies(args.binary, table, about["target"], args.method, extra)
        theirs = {peer: entry["accuracy"] for peer, entry in reference.get(name, {}).items()}
        ahead = sorted((peer for peer in PEERS if peer in theirs), key=lambda peer: -theirs[peer]["mean"])
        best = theirs[ahead[0]]["mean"] if ahead else 0.0
        mean = sum(ours) / len(ours)
        behind, paired = best - mean, None
        if behind > 0.015 and ahead[0] in PEERS[:3]:
            again = refitted(table, about, ahead[0])
            paired = interval([theirs - own for theirs, own in zip(again, ours)])
        is_behind |= behind > 0.015 and (paired is None or paired[0] > 0.0)
        n_right, n_all = n_right + right, n_all + n
        svc = max((theirs[peer]["mean"] for peer in PEERS[:2] if peer in theirs), default=None)
        show = lambda value: f"{100 * value:8.1f}" if value is not None else f"{'':8}"
        one = lambda peer: theirs.get(peer, {}).get("mean")
        text = one("tfidf_linsvc") or one("3mer_linsvc")
        print(
            f"{name:<24}{f'{right}/{n}':>8} {show(mean)}{show(svc)}{show(one('rf300'))}{show(one('hgb_native_cat'))}"
            f"{show(text)}{100 * behind:8.1f}{seconds:9.1f}"
            + (f"  {ahead[0]} less ours {100 * paired[0]:.1f} .. {100 * paired[1]:.1f}" if paired else ""),
            flush=True,
        )
        rows.append({"table": name, "kinds": [right, n], "ours": ours, "peers": theirs, "seconds": seconds, "paired": paired})
    print(f"kinds guessed right: {n_right} of {n_all}")
    if args.json:
        args.json.write_text(json.dumps({"method": args.method, "tables": rows}, indent=1) + "\n")
    sys.exit(1 if is_behind else 0)


if __name__ == "__main__":
    main()
