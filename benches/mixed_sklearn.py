"""Tables as people have them, beside scikit-learn: kinds found and accuracy.

    python benches/mixed_sklearn.py --data-dir DIR [--method NAME] [--only NAME,...] [--binary FILE] [--json FILE]

DIR holds tables as NAME.csv.gz, `types.json` (target and kind of every column) and `reference.json` (accuracies of scikit-learn:
one-hot columns and an RBF SVC with a grid, a random forest, histogram boosting, for texts and sequences a linear SVC on tf-idf
or 3-mers), each on three stratified halves. Ours is `multikernel evaluate TRAIN --test TEST --label TARGET` on the same halves,
with nothing else said about the columns. `behind` is the best of SVC and forest less ours, in points. Ends with status 1 if a
table is more than 1.5 points and two standard errors behind. Needs scikit-learn, pandas and cargo; without DIR it says so and
ends.
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
    print(f"{'table':<24}{'kinds':>8}{'ours':>9}{'svc':>8}{'forest':>8}{'boost':>8}{'text':>8}{'behind':>8}{'seconds':>9}")
    for name, about in types.items():
        path = args.data_dir / f"{name}.csv.gz"
        if not path.exists() or about["task"] != "classification" or only and name not in only:
            continue
        table = pandas.read_csv(path, dtype=str, keep_default_na=False, na_values=["NA", ""])
        right, n = kinds(args.binary, path, about)
        ours, seconds = accuracies(args.binary, table, about["target"], args.method, extra)
        theirs = {peer: entry["accuracy"] for peer, entry in reference.get(name, {}).items()}
        best = max((theirs[peer]["mean"] for peer in PEERS if peer in theirs), default=0.0)
        mean = sum(ours) / len(ours)
        spread = (sum((value - mean) ** 2 for value in ours) / (len(ours) - 1)) ** 0.5 / len(ours) ** 0.5
        behind = best - mean
        is_behind |= behind > 0.015 and behind > 2 * spread
        n_right, n_all = n_right + right, n_all + n
        svc = max((theirs[peer]["mean"] for peer in PEERS[:2] if peer in theirs), default=None)
        show = lambda value: f"{100 * value:8.1f}" if value is not None else f"{'':8}"
        one = lambda peer: theirs.get(peer, {}).get("mean")
        text = one("tfidf_linsvc") or one("3mer_linsvc")
        print(
            f"{name:<24}{f'{right}/{n}':>8} {show(mean)}{show(svc)}{show(one('rf300'))}{show(one('hgb_native_cat'))}"
            f"{show(text)}{100 * behind:8.1f}{seconds:9.1f}",
            flush=True,
        )
        rows.append({"table": name, "kinds": [right, n], "ours": ours, "peers": theirs, "seconds": seconds})
    print(f"kinds guessed right: {n_right} of {n_all}")
    if args.json:
        args.json.write_text(json.dumps({"method": args.method, "tables": rows}, indent=1) + "\n")
    sys.exit(1 if is_behind else 0)


if __name__ == "__main__":
    main()
