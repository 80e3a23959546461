"""Numbers by `bm3kl` and `cik`, beside `evidence` and `average`.

    python benches/sampled_numbers.py --data-dir DIR [--only diabetes,college] [--seeds 3] [--methods bm3kl,cik]

DIR holds tables as NAME.csv.gz. Two thirds of the rows, 600 at most, are for training, the others (600 at most) for testing; mean
over seeds of R2, of CRPS in standard deviations of the test numbers, of the share of rows inside their 90 % intervals, and of
CPU seconds from reading the files to the figures. Needs MULTIKERNEL, the command line's program, or finds it on the path.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import pandas as pd

PROGRAM = os.environ.get("MULTIKERNEL", "multikernel")
TABLES = {"diabetes": "target", "boston_housing": "medv", "college": "Outstate", "sacramento_houses": "price", "wage_midatlantic": "wage"}
METHODS = {
    "average": ["--method", "average"],
    "evidence": ["--method", "evidence"],
    "bm3kl": ["--method", "bm3kl"],
    "bm3kl, normal noise": ["--method", "bm3kl", "--set", "likelihood=normal"],
    "cik": ["--method", "cik"],
    "cik, lambda=auto": ["--method", "cik", "--set", "lambda=auto"],
    "cik, lambda=auto, one cluster": ["--method", "cik", "--set", "lambda=auto", "--set", "start=1", "--set", "sampler=fixed"],
}


def evaluated(train, test, target, words):
    """The result of a method on the test file, and CPU seconds."""
    with tempfile.TemporaryFile("w+") as out:
        command = [PROGRAM, "evaluate", train, "--test", test, "--target", target, *words, "--json", "-q"]
        process = subprocess.Popen(list(map(str, command)), stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(map(str, command))} failed")
        out.seek(0)
        return json.load(out)["results"][0], usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", default=",".join(TABLES))
    parser.add_argument("--methods", default="")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    print("| set | rows | method | R2 | CRPS | in 90 % | CPU s |\n|---|---:|---|---:|---:|---:|---:|")
    for name in args.only.split(","):
        path = args.data_dir / f"{name}.csv.gz"
        if not path.exists():
            print(f"skipped: no {path}")
            continue
        table = pd.read_csv(path, keep_default_na=False, na_values=["NA", ""])
        n = min(600, 2 * len(table) // 3)
        for method, words in METHODS.items():
            if args.methods and not any(method.startswith(one) for one in args.methods.split(",")):
                continue
            found = []
            for seed in range(args.seeds):
                order = np.random.default_rng(seed).permutation(len(table))
                with tempfile.TemporaryDirectory() as folder:
                    train, test = (pathlib.Path(folder) / f"{part}.csv" for part in ("train", "test"))
                    table.iloc[order[:n]].to_csv(train, index=False)
                    held_out = table.iloc[order[n : n + 600]]
                    held_out.to_csv(test, index=False)
                    result, seconds = evaluated(train, test, TABLES[name], words)
                figure = lambda key, result=result: (result.get(key) or {}).get("mean", np.nan)
                found.append([figure("r2"), figure("crps") / held_out[TABLES[name]].std(), figure("coverage"), seconds])
            r2, crps, inside, seconds = np.mean(found, axis=0)
            told = " | ".join("" if np.isnan(value) else f"{value:.3f}" for value in (crps, inside))
            print(f"| {name} | {n} | {method} | {r2:.3f} | {told} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
